# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the core costs without a backend: planning 10,000 proxies, collecting among them, a no-op run over 1,000."""

from __future__ import annotations

import collections
import dataclasses
import resource
import statistics
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / ".ansible" / "tree"))

from ansible_collections.crawl.egress.plugins.module_utils import provider as contract
from ansible_collections.crawl.egress.plugins.module_utils._engine.apply import request_for
from ansible_collections.crawl.egress.plugins.module_utils._engine.executor import DaemonThreads
from ansible_collections.crawl.egress.plugins.module_utils._engine.ledger import Ledger
from ansible_collections.crawl.egress.plugins.module_utils._engine.observe import Providers
from ansible_collections.crawl.egress.plugins.module_utils._engine.reconcile import Order, reconcile
from ansible_collections.crawl.egress.plugins.module_utils._gc.plan import Rules
from ansible_collections.crawl.egress.plugins.module_utils._gc.run import collect
from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._plan.fleet import plan
from ansible_collections.crawl.egress.plugins.module_utils._plan.memory import Memory, Wishes
from ansible_collections.crawl.egress.plugins.module_utils._plan.resolve import resolve
from ansible_collections.crawl.egress.plugins.module_utils._registry import TYPES
from ansible_collections.crawl.egress.plugins.module_utils._spec.document import parse_document
from ansible_collections.crawl.egress.plugins.module_utils._telemetry import ObservedProvider, Recorder

if t.TYPE_CHECKING:
    from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import Desired

SCOPE = contract.Scope("hosts/memory")


class InMemory:
    """A provider that only counts how often it is called."""

    profile: t.Any = None  # nothing here asks for it

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: collections.Counter[str] = collections.Counter()
        self.instances: tuple[contract.Instance, ...] = ()

    def scope_of(self, placement: contract.Placement) -> contract.Scope:
        return SCOPE

    def scope_of_id(self, provider_id: str) -> contract.Scope:
        return SCOPE

    def spec_content(self, placement: contract.Placement, port: int, guest: contract.Guest) -> dict[str, t.Any]:
        return {"port": port, "allowed_sources": ["127.0.0.0/8"]}

    def list_by_tag(self, selector: contract.Selector, ctx: contract.Context) -> contract.Listing:
        self.calls["list"] += 1
        return self.listing()

    def get(self, provider_id: str, ctx: contract.Context) -> contract.Instance:
        self.calls["get"] += 1
        return next(i for i in self.instances if i.provider_id == provider_id)

    def create(self, request: contract.CreateRequest, ctx: contract.Context) -> contract.Created:
        raise NotImplementedError

    def delete(self, ref: contract.InstanceRef, ctx: contract.Context) -> contract.Deleted:
        self.calls["delete"] += 1
        return contract.Deleted(contract.DeleteOutcome.GONE)

    def set_mark(self, ref: contract.InstanceRef, key: str, value: str | None, ctx: contract.Context) -> None:
        self.calls["mark"] += 1

    def listing(self) -> contract.Listing:
        return contract.Listing(self.instances, {SCOPE: contract.ScopeStatus(contract.Completeness.COMPLETE)})

    def fill(self, desired: Desired, drifted: int = 0) -> None:
        """Make everything that is desired; every so many in another way than it is desired."""
        slots = resolve(desired, {self.name: self}, {})
        actions = plan(desired, slots, {self.name: self.listing()}, Memory(), Wishes(), time.time()).actions
        requests = [request_for(action) for action in actions]
        self.instances = tuple(
            contract.Instance(
                provider=self.name,
                provider_id=f"hosts/memory/proxies/{request.name}",
                incarnation=str(number),
                name=request.name,
                scope=SCOPE,
                state=contract.State.RUNNING,
                marks=dataclasses.replace(request.marks, spec_hash="0" * 32)
                if drifted and number % drifted == 0
                else request.marks,
                address="127.0.0.2",
            )
            for number, request in enumerate(requests)
        )


def document(replicas: int, old: int = 0) -> Desired:
    return parse_document(
        {
            "install": "bench",
            "providers": [{"name": "memory", "type": "local"}],
            "pools": [{"name": "eu", "replicas": replicas}, *([{"name": "old", "replicas": old}] if old else [])],
            "squid": {"allowed_sources": ["127.0.0.0/8"]},
        },
        TYPES,
    )


def seconds(work: t.Callable[[], object], times: int = 5) -> float:
    taken = []
    for _time in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def planning(replicas: int, drifted: int) -> None:
    desired = document(replicas)
    memory = InMemory("memory")
    memory.fill(desired, drifted)
    listings = {"memory": memory.listing()}
    parsing = seconds(lambda: document(replicas))
    resolving = seconds(lambda: resolve(desired, {"memory": memory}, {}))
    slots = resolve(desired, {"memory": memory}, {})
    deciding = seconds(lambda: plan(desired, slots, listings, Memory(), Wishes(), time.time()))
    made = plan(desired, slots, listings, Memory(), Wishes(), time.time())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{replicas} proxies, {100 // drifted if drifted else 0} % drifted: parse {parsing:.2f} s, "
        f"resolve {resolving:.2f} s, plan {deciding:.2f} s CPU ({len(made.actions)} actions); process peak {peak} MiB"
    )


def no_op(replicas: int) -> None:
    desired = document(replicas)
    memory = InMemory("memory")
    memory.fill(desired)
    providers = Providers({"memory": memory}, {})
    order = Order(desired, contract.Selector("bench", desired.pools), Wishes())
    host = Host(runner=lambda argv, stdin="": (1, "", ""), python=sys.executable, cancel=threading.Event())
    start = time.process_time()
    report = reconcile(order, providers, Ledger(None, "bench", desired.pools, print), host, DaemonThreads(8))
    taken = time.process_time() - start
    print(f"{replicas} proxies, no-op run: {report.outcome.value}, calls {dict(memory.calls)}, {taken:.2f} s CPU")


def collecting(instances: int, orphans: int) -> None:
    """Orphans are instances of a pool that the document does not have any more."""
    memory = InMemory("memory")
    memory.fill(document(instances - orphans, orphans))
    desired = document(instances - orphans)
    host = Host(runner=lambda argv, stdin="": (1, "", ""), python=sys.executable, cancel=threading.Event())
    for sightings, what in ((2, "first sighting"), (1, "deletion")):
        memory.calls.clear()
        providers = Providers({"memory": ObservedProvider(memory, Recorder(), host.clock)}, {})
        start = time.process_time()
        collect(desired, Rules(sightings=sightings), providers, host, DaemonThreads(8), 900.0)
        taken = time.process_time() - start
        print(f"GC of {instances} instances, {orphans} orphans, {what}: calls {dict(memory.calls)}, {taken:.2f} s CPU")


CASES: dict[str, t.Callable[[], None]] = {
    "right": lambda: planning(10_000, 0),
    "drifted": lambda: planning(10_000, 10),
    "no-op": lambda: no_op(1_000),
    "gc": lambda: collecting(10_000, 100),
}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        CASES[sys.argv[1]]()
    else:
        for case in CASES:  # each in a process of its own, for the peak
            subprocess.run([sys.executable, __file__, case], check=True)
