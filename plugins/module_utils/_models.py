# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Models of the provider contract: one frozen dataclass per concept, C(as_result()) where it reaches a result.

This file is part of the public, versioned provider API; import its names from C(provider.py).
"""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from ._marks import Marks
from ._squid.model import SquidConfig


@dataclasses.dataclass(frozen=True, order=True)
class Scope:
    """What can answer or fail independently in a list: a namespace, a zone, a host.

    :ivar name: the location part of the provider ID, such as C(zones/europe-west1-b); unique within its provider.
    """

    name: str


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where and as what a proxy runs; each provider documents which fields it uses."""

    region: str | None = None
    zone: str | None = None
    machine_type: str | None = None
    image: str | None = None

    def as_result(self) -> dict[str, t.Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Guest:
    """What runs in the instance. Exactly one of the two is set; neither may reach a log, a result or a process list."""

    squid: SquidConfig | None = dataclasses.field(default=None, repr=False)
    cloud_init: str | None = dataclasses.field(default=None, repr=False)


class State(enum.Enum):
    """UNKNOWN: the backend can't tell (a lost node): never a reason to delete. A status word that a provider does not
    recognise is STOPPED. RUNNING only with an address that its clients can use."""

    PROVISIONING = "Provisioning"
    RUNNING = "Running"
    STOPPED = "Stopped"
    TERMINATED = "Terminated"
    UNKNOWN = "Unknown"


@dataclasses.dataclass(frozen=True)
class InstanceRef:
    """Exactly one incarnation of one instance.

    :ivar incarnation: the backend's immutable id of it (Pod UID, numeric id, domain UUID, random token).
    """

    provider_id: str
    incarnation: str


@dataclasses.dataclass(frozen=True)
class Instance:
    """What the backend has, read back from it and never from memory.

    :ivar provider: configured name of the provider entry that answered.
    :ivar name: the backend's name, C(proxy-…).
    :ivar cause: why it is in that state (Crashed, Preempted, Evicted, ShutOff …).
    :ivar message: the backend's own words on it, for people; without secrets.
    :ivar created_at: Unix seconds; None counts as very old.
    :ivar since: Unix seconds of its last change of state, where the backend tells.
    :ivar deleting: being torn down while the name is still taken; never RUNNING then. It goes without being asked
        again: what somebody has left half deleted is STOPPED or TERMINATED instead.
    """

    provider: str
    provider_id: str
    incarnation: str
    name: str
    scope: Scope
    state: State
    marks: Marks
    address: str | None = None
    cause: str | None = None
    message: str | None = None
    created_at: float | None = None
    since: float | None = None
    deleting: bool = False

    @property
    def ref(self) -> InstanceRef:
        return InstanceRef(self.provider_id, self.incarnation)

    @property
    def serves(self) -> bool:
        return self.state is State.RUNNING and not self.deleting

    def as_result(self) -> dict[str, t.Any]:
        hold = self.marks.hold_until()
        return {
            "name": self.marks.name,
            "namespace": self.marks.namespace,
            "uid": self.marks.uid,
            "install": self.marks.install,
            "pool": self.marks.pool,
            "slot": self.marks.slot,
            "provider": self.provider,
            "provider_id": self.provider_id,
            "incarnation": self.incarnation,
            "instance_name": self.name,
            "scope": self.scope.name,
            "state": self.state.value,
            "cause": self.cause,
            "message": self.message,
            "address": self.address,
            "port": self.marks.port or None,
            "deleting": self.deleting,
            "created_at": None if self.created_at is None else int(self.created_at),
            "spec_hash": self.marks.spec_hash or None,
            "spec_version": self.marks.spec_version or None,
            "generation": self.marks.generation,
            "hold_until": None if hold is None else int(hold),
        }


@dataclasses.dataclass(frozen=True)
class CreateRequest:
    """One instance to be made.

    :ivar name: C(_names.instance_name()); the key that makes Create idempotent.
    :ivar scope: where; always set by the engine.
    :ivar marks: to be written in the same call.
    """

    name: str
    scope: Scope
    placement: Placement
    port: int
    guest: Guest
    marks: Marks


class CreateOutcome(enum.Enum):
    CREATED = "created"
    ADOPTED = "adopted"


@dataclasses.dataclass(frozen=True)
class Created:
    """
    :ivar outcome: ADOPTED when an instance of that name and with fitting marks was there already.
    :ivar instance: as Get would tell it now, where the backend's own answer says all of that; else None. Never made up
        from the request. It spares a look at what is Provisioning; whether it serves is always asked.
    """

    provider_id: str
    incarnation: str
    outcome: CreateOutcome
    instance: Instance | None = None


class DeleteOutcome(enum.Enum):
    """DELETING: accepted, the name is still taken. GONE: this incarnation does not exist any more."""

    DELETING = "deleting"
    GONE = "gone"


@dataclasses.dataclass(frozen=True)
class Deleted:
    outcome: DeleteOutcome


@dataclasses.dataclass(frozen=True)
class Selector:
    """Which managed instances a list is to return; pushed down to the backend as far as it can.

    :ivar install: None for those of every install.
    :ivar pools: empty for all pools.
    :ivar uid: only this proxy's.
    """

    install: str | None
    pools: tuple[str, ...] = ()
    uid: str | None = None

    def matches(self, marks: Marks) -> bool:
        return (
            (self.install is None or marks.install == self.install)
            and (not self.pools or marks.pool in self.pools)
            and (self.uid is None or marks.uid == self.uid)
        )


class Completeness(enum.Enum):
    """PARTIAL: some instances of the scope could not be read. FAILED: none could."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclasses.dataclass(frozen=True)
class ScopeStatus:
    """:ivar reason: wire name of a reason when it is not complete. :ivar message: for people, without secrets."""

    completeness: Completeness
    reason: str | None = None
    message: str | None = None

    @property
    def complete(self) -> bool:
        return self.completeness is Completeness.COMPLETE

    def as_result(self) -> dict[str, t.Any]:
        return {"completeness": self.completeness.value, "reason": self.reason, "message": self.message}


@dataclasses.dataclass(frozen=True)
class Listing:
    """Instances, and how far their absence can be believed.

    Presence is evidence even in a partial scope, absence only in a complete one; a scope not mentioned is unknown.

    :ivar unreadable: provider IDs that are there but could not be read.
    """

    instances: tuple[Instance, ...]
    scopes: t.Mapping[Scope, ScopeStatus]
    unreadable: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Leftover:
    """A secondary resource (a disk, a seed, a Secret …) that no instance uses any more.

    :ivar kind: the backend's word for it. :ivar incarnation: its immutable id.
    """

    provider: str
    kind: str
    leftover_id: str
    incarnation: str
    scope: Scope
    marks: Marks
    created_at: float | None = None

    def as_result(self) -> dict[str, t.Any]:
        return {
            "provider": self.provider,
            "kind": self.kind,
            "leftover_id": self.leftover_id,
            "scope": self.scope.name,
            "install": self.marks.install,
            "uid": self.marks.uid,
            "created_at": None if self.created_at is None else int(self.created_at),
        }


@dataclasses.dataclass(frozen=True)
class LeftoverListing:
    leftovers: tuple[Leftover, ...]
    scopes: t.Mapping[Scope, ScopeStatus]


class CheckReason(enum.Enum):
    """The reasons that every Checker shares. A provider adds its own only for what an admin would fix differently."""

    REACHABLE = "Reachable"
    TIMEOUT = "Timeout"
    UNREACHABLE = "Unreachable"
    UNAUTHORIZED = "Unauthorized"
    FORBIDDEN = "Forbidden"
    API_ERROR = "APIError"


@dataclasses.dataclass(frozen=True)
class TargetStatus:
    """How one thing that can fail independently stands.

    :ivar reason: a CheckReason's value, or a word of the provider's own.
    :ivar details: facts for triage (versions, capacity), as strings; without secrets.
    """

    target: str
    ready: bool
    reason: str
    message: str = ""
    details: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def as_result(self) -> dict[str, t.Any]:
        return {
            "target": self.target,
            "ready": self.ready,
            "reason": self.reason,
            "message": self.message,
            "details": dict(self.details),
        }
