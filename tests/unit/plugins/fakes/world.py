# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole engine run over fake backends, in one thread and virtual time: reproducible from its seed."""

from __future__ import annotations

import dataclasses
import random
import threading
import typing as t

from ansible_collections.crawl.egress.plugins.module_utils._engine.executor import InTurn
from ansible_collections.crawl.egress.plugins.module_utils._engine.ledger import Ledger
from ansible_collections.crawl.egress.plugins.module_utils._engine.observe import Providers
from ansible_collections.crawl.egress.plugins.module_utils._engine.reconcile import Order, Report, reconcile
from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._models import Guest, Placement, Selector
from ansible_collections.crawl.egress.plugins.module_utils._names import derived_uid
from ansible_collections.crawl.egress.plugins.module_utils._plan.memory import Wishes
from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import Candidate, Desired, Policy, ProxySpec
from ansible_collections.crawl.egress.plugins.module_utils._telemetry import ObservedProvider, Recorder
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import Backend, FakeProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.clock import FakeClock

INSTALL = "test"
GUEST = Guest(cloud_init="#cloud-config")


def spec(name: str, *candidates: Candidate, pool: str = "eu", port: int = 3128, **more: t.Any) -> ProxySpec:
    places = candidates or (Candidate("one", Placement(zone="a")),)
    return ProxySpec(derived_uid(INSTALL, "default", name), INSTALL, "default", name, pool, port, places, GUEST, **more)


def pool(count: int, placement: Placement | None = None, name: str = "eu", **more: t.Any) -> tuple[ProxySpec, ...]:
    candidate = Candidate("one", placement or Placement(zone="a"))
    return tuple(spec(f"{name}-{i}", candidate, pool=name, **more) for i in range(count))


def desired(*specs: ProxySpec, pools: t.Sequence[str] = ("eu", "named"), **policy: t.Any) -> Desired:
    return Desired(INSTALL, specs, tuple(pools), policy=Policy(**policy))


def run_host(clock: FakeClock, **more: t.Any) -> Host:
    def no_runner(argv: t.Sequence[str], *, stdin: str = "") -> tuple[int, str, str]:
        raise NotImplementedError(f"nothing is to be started here: {argv}")

    return Host(no_runner, "/usr/bin/python3", clock=clock, random=random.Random(7), **more)


@dataclasses.dataclass
class World:
    """Providers by name over their backends, and what a run of them says."""

    clock: FakeClock = dataclasses.field(default_factory=FakeClock)
    backends: dict[str, Backend] = dataclasses.field(default_factory=dict)
    state_dir: str | None = None
    warnings: list[str] = dataclasses.field(default_factory=list)
    progress: list[str] = dataclasses.field(default_factory=list)
    cancel: threading.Event = dataclasses.field(default_factory=threading.Event)
    provider: type[FakeProvider] = FakeProvider

    @classmethod
    def of(cls, **backend: t.Any) -> World:
        world = cls()
        world.add("one", **backend)
        return world

    def add(self, name: str, **backend: t.Any) -> Backend:
        self.backends[name] = Backend(self.clock, **backend)
        return self.backends[name]

    @property
    def one(self) -> Backend:
        return self.backends["one"]

    def run(self, wanted: Desired, wishes: Wishes | None = None, *, check: bool = False, **order: t.Any) -> Report:
        recorder = Recorder()
        ready = {n: ObservedProvider(self.provider(n, b), recorder, self.clock) for n, b in self.backends.items()}
        host = run_host(
            self.clock,
            check_mode=check,
            warn=self.warnings.append,
            progress=self.progress.append,
            cancel=self.cancel,
        )
        ledger = Ledger(self.state_dir, wanted.install, wanted.pools, self.warnings.append, wanted.uid)
        selector = order.pop("selector", Selector(wanted.install, uid=wanted.uid))
        return reconcile(
            Order(wanted, selector, wishes or Wishes(), **order), Providers(ready, {}), ledger, host, InTurn()
        )
