# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Harnesses of the fakes, for the conformance kit."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from ansible_collections.crawl.egress.plugins.module_utils.provider import Placement, Provider, Reason
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.harness import (
    PASSWORD_HASH,
    Harness,
    MissingHook,
    Place,
    Refusal,
    Trouble,
    Variant,
)
from ansible_collections.crawl.egress.tests.unit.plugins.fakes import allocated
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.allocated import Cluster, HttpError, TaskProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import (
    PREFIX,
    Backend,
    FakeProvider,
    Machine,
    Refused,
)

BOOT = DYING = 0.03

#: Troubles of a scope, as attributes of either backend: sets of scopes.
MEMBERS = {
    Trouble.HANG: "hung",
    Trouble.QUOTA: "full",
    Trouble.LOST_ANSWER: "lost",
    Trouble.GHOST: "ghosts",
    Trouble.SLOW_BOOT: "slow",
}


@contextlib.contextmanager
def _while(thing: object, **values: object) -> Iterator[None]:
    """Attributes that are different for a while."""
    before = {key: getattr(thing, key) for key in values}
    _set(thing, values)
    try:
        yield
    finally:
        _set(thing, before)


def _set(thing: object, values: Mapping[str, object]) -> None:
    for key, value in values.items():
        setattr(thing, key, value)


class FakeHarness(Harness):
    """:param provider: the class to be tested. :param skew: of the backend's clock."""

    settle = 5.0
    patience = 2.0

    answers: Mapping[Trouble, Exception] = {
        Trouble.UNREACHABLE: Refused(Reason.UNREACHABLE, "it does not answer"),
        Trouble.UNAVAILABLE: Refused(Reason.API_ERROR, "503 Service Unavailable"),
        Trouble.RATE_LIMITED: Refused(Reason.RATE_LIMITED, "429 Too Many Requests", 7.0),
    }

    def __init__(self, provider: Callable[..., FakeProvider] = FakeProvider, skew: float = 0.0) -> None:
        self._provider = provider
        self._skew = skew
        self.clean()

    def clean(self) -> None:
        self.backend = Backend(self.clock, ["zones/a", "zones/b"], BOOT, DYING, self._skew)

    def build(self, variant: Variant = Variant.FULL, prefix: str = PREFIX) -> Provider:
        scopes = None if variant is Variant.FULL else ["zones/b"]
        return self._provider(self.name, self.backend, prefix, scopes)

    def places(self) -> Sequence[Place]:
        return [Place(Placement(zone=zone), f"zones/{zone}") for zone in ("a", "b")]

    def refusals(self) -> Sequence[Refusal]:
        return [
            Refusal(Placement(zone="nowhere"), "zone"),
            Refusal(Placement(zone="a", machine_type="immense"), "machine_type"),
            Refusal(Placement(zone="a", image="unheard-of"), "image"),
        ]

    def relabel(self, provider_id: str, labels: Mapping[str, str | None]) -> None:
        _relabel(self._machine(provider_id).labels, labels)

    def _machine(self, provider_id: str) -> Machine:
        scope, _slash, name = provider_id.rpartition("/")
        return self.backend.machines[scope, name]

    @contextlib.contextmanager
    def trouble(self, kind: Trouble, subject: str) -> Iterator[None]:
        with self._trouble(kind, subject):
            yield
        for machine in self.backend.machines.values():
            machine.ready = min(machine.ready, self.backend.clock.now())

    def _trouble(self, kind: Trouble, subject: str) -> contextlib.AbstractContextManager[None]:
        if kind in self.answers:
            return _while(self.backend, answers={subject: self.answers[kind]})
        if kind in MEMBERS:
            return _while(self.backend, **{MEMBERS[kind]: {subject}})
        changes = {
            Trouble.UNRECOGNISED: {"word": "HIBERNATING"},
            Trouble.CANNOT_TELL: {"word": "LOST"},
            Trouble.DEAD: {"word": "DOWN"},
            Trouble.NEVER_STARTED: {"word": "PENDING"},
            Trouble.NO_ADDRESS: {"word": "UP", "has_address": False},
            Trouble.PARTIAL: {"readable": False},
            Trouble.SLOW_DELETE: {"stuck": True},
        }
        if kind not in changes:
            raise MissingHook(kind.name)
        return _while(self._machine(subject), **changes[kind])

    def backend_calls(self) -> int:
        return self.backend.requests

    def residue(self, name: str) -> Sequence[str]:
        self.backend.settle()
        return [f"{scope}/{own}" for scope, own in self.backend.machines if own == name]


class ClusterHarness(Harness):
    """:param provider: the class to be tested. :param skew: of the cluster's clock."""

    settle = 5.0
    patience = 2.0
    credentials = ("PVEAPIToken=kit!secret-4f1c",)

    answers: Mapping[Trouble, HttpError] = {
        Trouble.UNREACHABLE: HttpError(0, "connection refused"),
        Trouble.UNAVAILABLE: HttpError(503, "Service Unavailable"),
        Trouble.RATE_LIMITED: HttpError(429, "Too Many Requests", 7.0),
        Trouble.UNAUTHORIZED: HttpError(401, "no ticket"),
        Trouble.FORBIDDEN: HttpError(403, "permission check failed"),
    }

    def __init__(self, provider: Callable[..., TaskProvider] = TaskProvider, skew: float = 0.0) -> None:
        self._provider = provider
        self._skew = skew
        self.clean()

    def clean(self) -> None:
        self.cluster = Cluster(self.clock, ("n1", "n2"), BOOT, DYING, self._skew)

    def build(self, variant: Variant = Variant.FULL, prefix: str = PREFIX) -> Provider:
        nodes = ["n1", "n2"] if variant is Variant.FULL else ["n2"]
        return self._provider(self.name, self.cluster, prefix, nodes, self.credentials[0])

    def places(self) -> Sequence[Place]:
        return [Place(Placement(zone=node), f"nodes/{node}") for node in ("n1", "n2")]

    def refusals(self) -> Sequence[Refusal]:
        return [Refusal(Placement(zone="n3"), "zone"), Refusal(Placement(zone="n1", image="windows"), "image")]

    def relabel(self, provider_id: str, labels: Mapping[str, str | None]) -> None:
        vm = self._vm(provider_id)
        own = allocated._labels(vm.notes)
        _relabel(own, labels)
        vm.notes = json.dumps(own)

    def _vm(self, provider_id: str) -> allocated.Vm:
        _nodes, node, _vms, vmid = provider_id.split("/")
        return self.cluster.vms[node][int(vmid)]

    @contextlib.contextmanager
    def trouble(self, kind: Trouble, subject: str) -> Iterator[None]:
        with self._trouble(kind, subject):
            yield
        for vms in self.cluster.vms.values():
            for vm in vms.values():
                vm.up_at = min(vm.up_at, self.clock.now())

    def _trouble(self, kind: Trouble, subject: str) -> contextlib.AbstractContextManager[None]:
        _nodes, node, *rest = subject.split("/")
        if kind in self.answers:
            return _while(self.cluster, answers={node: self.answers[kind]})
        if kind in MEMBERS:
            return _while(self.cluster, **{MEMBERS[kind]: {node}})
        if kind is Trouble.ORPHANED:
            self.cluster.drop(node, int(rest[1]), purge=False)
            return contextlib.nullcontext()
        changes = {
            Trouble.UNRECOGNISED: {"status": "hibernating"},
            Trouble.CANNOT_TELL: {"status": "unknown"},
            Trouble.DEAD: {"status": "stopped"},
            Trouble.NEVER_STARTED: {"status": "stopped", "started": False},
            Trouble.NO_ADDRESS: {"status": "running", "has_address": False},
            Trouble.OPERATION: {"lock": "backup"},
            Trouble.OPERATION_FAILED: {"failure": "out of space", "started": False},
            Trouble.PARTIAL: {"readable": False},
            Trouble.VERBOSE: {"console": "a line\n" * 15_000 + f"user kit {PASSWORD_HASH}\n"},
            Trouble.SLOW_DELETE: {"stuck": True},
        }
        if kind not in changes:
            raise MissingHook(kind.name)
        vm = self._vm(subject)
        if kind is not Trouble.SLOW_DELETE:  # the task that makes it has ended
            vm.lock = None
        return _while(vm, **changes[kind])

    def backend_calls(self) -> int:
        return self.cluster.requests

    def residue(self, name: str) -> Sequence[str]:
        self.cluster.settle()
        vms = [f"{node}/{vm.vmid}" for node, vms in self.cluster.vms.items() for vm in vms.values() if vm.name == name]
        volumes = [f"{node}/{volume}" for node, disks in self.cluster.disks.items() for volume in disks]
        return vms + [each for each in volumes if each.endswith(f"/disk-{name}")]


def _relabel(own: dict[str, str], labels: Mapping[str, str | None]) -> None:
    for key, value in labels.items():
        own.pop(key, None)
        if value is not None:
            own[key] = value
