# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collector over a cluster whose disks outlive their machines."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._engine.executor import InTurn
from ansible_collections.crawl.egress.plugins.module_utils._engine.observe import Providers
from ansible_collections.crawl.egress.plugins.module_utils._errors import EgressError, MissingSDK, Reason
from ansible_collections.crawl.egress.plugins.module_utils._gc.plan import Rules
from ansible_collections.crawl.egress.plugins.module_utils._gc.run import Collection, collect
from ansible_collections.crawl.egress.plugins.module_utils._names import instance_name
from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import Limit
from ansible_collections.crawl.egress.plugins.module_utils._telemetry import ObservedProvider, Recorder
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Context,
    CreateRequest,
    Marks,
    Placement,
    Scope,
)
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.allocated import PREFIX, Cluster, HttpError, TaskProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.clock import FakeClock
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.world import GUEST, INSTALL, desired, run_host, spec

HOUR = 3600.0
UP = ("up-n1", "up-n2")


class Lab:
    """Two nodes, and proxies of which some have lost their machine."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cluster = Cluster(self.clock, ("n1", "n2"), 0.0, 0.0)
        self.provider = TaskProvider("one", self.cluster, PREFIX, ("n1", "n2"), "token")
        self.progress: list[str] = []

    def make(self, name: str, node: str = "n1", lost: bool = True, install: str = INSTALL) -> None:
        wanted = spec(name, pool="old")
        marks = Marks(wanted.uid, install, "default", name, "old", "one", 3128)
        request = CreateRequest(
            instance_name(wanted.uid), Scope(f"nodes/{node}"), Placement(zone=node), 3128, GUEST, marks
        )
        made = self.provider.create(request, Context.within(60, self.clock))
        self.cluster.settle()
        if lost:
            self.cluster.drop(node, int(made.provider_id.rpartition("/")[2]), purge=False)

    def gc(self, *names: str, check: bool = False, broken: t.Any = None, **rules: t.Any) -> Collection:
        """:param names: of the proxies that are wanted."""
        ready = {"one": ObservedProvider(self.provider, Recorder(), self.clock)}
        host = run_host(self.clock, check_mode=check, progress=self.progress.append)
        wanted = Rules(**{"max_deletions": Limit(percent=100), **rules})
        specs = [spec(name, pool="eu") for name in names]
        return collect(desired(*specs), wanted, Providers(ready, broken or {}), host, InTurn(), 900.0)

    @property
    def disks(self) -> list[str]:
        return sorted(f"{node}/{disk}" for node, disks in self.cluster.disks.items() for disk in disks)


@pytest.fixture
def lab() -> Lab:
    """One that serves, and one that is lost, on either node; an hour ago."""
    lab = Lab()
    for node in ("n1", "n2"):
        lab.make(f"up-{node}", node, lost=False)
        lab.make(f"lost-{node}", node)
    lab.clock.advance(HOUR)
    return lab


def lost(node: str) -> str:
    return f"{node}/disk-{instance_name(spec(f'lost-{node}').uid)}"


def steps(collection: Collection) -> list[tuple[str, str]]:
    return sorted((d.step.leftover.marks.name, d.result) for d in collection.done if d.step.leftover)


def test_leftovers_are_removed_at_once_and_predicted_in_check_mode(lab):
    before = lab.disks
    predicted = lab.gc(*UP, check=True)
    assert lab.disks == before
    done = lab.gc(*UP)
    assert predicted.plan.destructive == done.plan.destructive
    assert steps(done) == [("lost-n1", "deleted"), ("lost-n2", "deleted")]
    assert lab.disks == [disk for disk in before if disk not in (lost("n1"), lost("n2"))]
    assert lab.gc(*UP).done == ()
    assert lab.progress == [
        "1 of 2 steps of the collection done, 0 failed",
        "2 of 2 steps of the collection done, 0 failed",
    ]


def test_the_young_the_wanted_and_the_foreign_are_kept(lab):
    lab.make("young")
    lab.make("theirs", install="other")
    assert steps(lab.gc(*UP, "lost-n1", live_uids=frozenset({spec("lost-n2").uid}))) == []
    lab.clock.advance(HOUR)
    assert steps(lab.gc(*UP, "lost-n1")) == [("lost-n2", "deleted"), ("young", "deleted")]


def test_a_node_that_does_not_answer_costs_only_its_own(lab):
    lab.cluster.answers["n2"] = HttpError(503, "Service Unavailable")
    assert steps(lab.gc()) == [("lost-n1", "deleted")]
    assert lost("n2") in lab.disks


def test_a_sweep_that_fails_costs_no_instance(lab):
    def fail(*_args: t.Any) -> t.NoReturn:
        raise ZeroDivisionError

    lab.provider.list_leftovers = fail
    seen = lab.gc(sightings=1)
    assert sorted(d.result for d in seen.done) == ["deleted", "deleted"]
    assert isinstance(seen.leftovers["one"], EgressError)
    assert {lost("n1"), lost("n2")} <= set(lab.disks)


def test_one_that_is_used_again_since_the_list_is_left_alone(lab):
    real = lab.provider.delete_leftover

    def reuse(leftover: t.Any, ctx: t.Any) -> None:
        lab.cluster.disks["n1"][lost("n1").partition("/")[2]].used = True
        real(leftover, ctx)

    lab.provider.delete_leftover = reuse
    lab.gc()
    assert lost("n1") in lab.disks
    assert lost("n2") not in lab.disks


def test_the_fuse_counts_them(lab):
    lab.gc(*UP, max_deletions=Limit(count=1))
    assert {lost("n1"), lost("n2")} <= set(lab.disks)
    plan = lab.gc(*UP, max_deletions=Limit(count=1), check=True).plan
    assert plan.fuse == "2 deletions are due, max_deletions 1 of 4 instances and leftovers allows 1"


def test_one_that_can_not_be_removed_is_a_deletion_that_failed(lab):
    def refuse(leftover: t.Any, ctx: t.Any) -> t.NoReturn:
        raise lab.provider._error(Reason.FORBIDDEN, "delete", "no", leftover.leftover_id)

    lab.provider.delete_leftover = refuse
    seen = lab.gc()
    assert [result for _name, result in steps(seen)] == ["failed", "skipped"]
    (failure,) = seen.failures
    assert (failure.error.reason, failure.step.deletes) == (Reason.FORBIDDEN, True)


def test_an_entry_without_its_sdk_costs_only_its_own(lab):
    seen = lab.gc(broken={"two": MissingSDK("acme-cloud", "two", "no module")})
    assert steps(seen) == [("lost-n1", "deleted"), ("lost-n2", "deleted")]
    assert seen.listings["two"].reason is Reason.MISSING_SDK
