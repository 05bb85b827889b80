# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collector over fake backends: what it deletes, in how many sightings, and the reason for everything it keeps."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._engine.executor import InTurn
from ansible_collections.crawl.egress.plugins.module_utils._engine.observe import Providers
from ansible_collections.crawl.egress.plugins.module_utils._errors import EgressError, Reason
from ansible_collections.crawl.egress.plugins.module_utils._gc.plan import FAILURES, QUARANTINE, Kept, Rules
from ansible_collections.crawl.egress.plugins.module_utils._gc.run import Collection, collect
from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import Limit
from ansible_collections.crawl.egress.plugins.module_utils._telemetry import ObservedProvider, Recorder
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import PREFIX, FakeProvider, Fault, Machine
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.world import World, desired, pool, run_host, spec

HOUR = 3600.0


def gc(world: World, *specs: t.Any, check: bool = False, generation: int | None = None, **rules: t.Any) -> Collection:
    recorder = Recorder()
    ready = {n: ObservedProvider(FakeProvider(n, b), recorder, world.clock) for n, b in world.backends.items()}
    host = run_host(
        world.clock,
        check_mode=check,
        warn=world.warnings.append,
        progress=world.progress.append,
        cancel=world.cancel,
    )
    wanted = dataclasses.replace(desired(*specs), generation=generation)
    rules = {"max_deletions": Limit(percent=100), **rules}
    return collect(wanted, Rules(**rules), Providers(ready, {}), host, InTurn(), 900.0)


def orphaned(count: int = 1, **backend: t.Any) -> World:
    """A world with two wanted proxies and orphans of a pool that was dropped, all old enough."""
    world = World.of(**backend)
    world.run(desired(*pool(2), *pool(count, name="old"), pools=("eu", "old", "named")))
    world.clock.advance(HOUR)
    world.one.journal.clear()
    return world


def names(world: World) -> list[str]:
    world.one.settle()
    return sorted(m.labels[f"{PREFIX}-name"] for m in world.one.machines.values())


def orphan(world: World) -> Machine:
    (machine,) = world.one.named("old-0")
    return machine


def kept(collection: Collection) -> dict[str, Kept]:
    return {k.instance.marks.name: k.reason for k in collection.plan.kept}


def results(collection: Collection) -> list[str]:
    return [d.result for d in collection.done]


def test_an_orphan_is_deleted_on_its_second_sighting():
    world = orphaned()
    first = gc(world, *pool(2))
    assert results(first) == ["quarantined"]
    assert world.one.calls("delete") == 0
    world.clock.advance(HOUR)
    assert results(gc(world, *pool(2))) == ["deleted"]
    assert names(world) == ["eu-0", "eu-1"]
    last = gc(world, *pool(2))
    assert last.done == ()
    assert kept(last) == {"eu-0": Kept.LIVE, "eu-1": Kept.LIVE}


def test_check_mode_says_the_same_and_does_nothing():
    world = orphaned()
    predicted = gc(world, *pool(2), check=True)
    assert not orphan(world).labels.get(f"{PREFIX}-{QUARANTINE}")
    assert predicted.plan.steps == gc(world, *pool(2)).plan.steps


def test_a_quarantine_younger_than_min_age_is_waited_for():
    world = orphaned()
    gc(world, *pool(2))
    world.clock.advance(599)
    again = gc(world, *pool(2))
    assert again.done == ()
    assert kept(again)["old-0"] is Kept.QUARANTINED


@pytest.mark.parametrize("mark", ["1790000000-orphan", "1900000000-orphan", "soon", "99999999999999999999-orphan", "-"])
def test_a_stale_future_or_unreadable_quarantine_counts_as_none(mark):
    world = orphaned()
    orphan(world).labels[f"{PREFIX}-{QUARANTINE}"] = mark
    assert results(gc(world, *pool(2))) == ["quarantined"]
    assert orphan(world).labels[f"{PREFIX}-{QUARANTINE}"] == f"{int(world.clock.now())}-orphan"


def test_a_month_old_quarantine_counts_as_none():
    world = orphaned()
    gc(world, *pool(2))
    world.clock.advance(30 * 24 * HOUR)
    assert results(gc(world, *pool(2))) == ["quarantined"]
    world.clock.advance(HOUR)
    assert results(gc(world, *pool(2))) == ["deleted"]


def test_a_proxy_that_is_wanted_again_between_the_sightings_is_cleared():
    world = orphaned()
    gc(world, *pool(2))
    world.clock.advance(HOUR)
    back = gc(world, *pool(2), *pool(1, name="old"))
    assert results(back) == ["cleared"]
    assert f"{PREFIX}-{QUARANTINE}" not in orphan(world).labels


def test_young_instances_are_kept():
    world = World.of()
    world.run(desired(*pool(1, name="old"), pools=("old",)))
    assert kept(gc(world)) == {"old-0": Kept.YOUNG}


def test_an_instance_whose_age_is_unknown_counts_as_old():
    world = World.of()
    world.run(desired(*pool(1, name="old"), pools=("old",)))
    orphan(world).created = None
    assert results(gc(world)) == ["quarantined"]


def test_pools_of_the_document_are_the_fleets_and_tasks_are_their_owners():
    world = orphaned()
    world.run(desired(spec("t", pool="task"), pools=("task",)))
    world.clock.advance(HOUR)
    seen = gc(world, *pool(1), spec("new", pool="old"), check=True)
    assert kept(seen)["eu-1"] is Kept.FLEET
    assert kept(seen)["t"] is Kept.TASK


def test_tasks_are_collected_when_asked_but_for_those_said_to_be_live():
    world = World.of()
    a, b = spec("a", pool="task"), spec("b", pool="task")
    world.run(desired(a, b, pools=("task",)))
    world.clock.advance(HOUR)
    asked = gc(world, collect_task=True, live_uids=frozenset({a.uid}))
    assert kept(asked) == {"a": Kept.LIVE}
    assert [d.step.instance.marks.name for d in asked.done] == ["b"]


def test_a_foreign_install_and_the_unmarked_are_not_even_looked_at():
    world = orphaned()
    foreign = {**orphan(world).labels, f"{PREFIX}-install": "other"}
    world.one.machines["zones/a", "foreign"] = Machine("foreign", "f0", "zones/a", foreign, 0.0, 0.0)
    world.one.machines["zones/a", "unmarked"] = Machine("unmarked", "f1", "zones/a", {}, 0.0, 0.0)
    before = {k: dataclasses.replace(m, labels=dict(m.labels)) for k, m in world.one.machines.items()}
    gc(world, *pool(2), sightings=1)
    for name in ("foreign", "unmarked"):
        assert world.one.machines["zones/a", name] == before["zones/a", name]


def test_an_instance_without_a_uid_is_reported_and_never_touched():
    world = orphaned()
    del orphan(world).labels[f"{PREFIX}-uid"]
    seen = gc(world, *pool(2), sightings=1)
    assert kept(seen)["old-0"] is Kept.NO_UID
    assert seen.done == ()


def test_an_instance_without_a_pool_may_be_a_tasks_and_is_reported():
    world = orphaned()
    del orphan(world).labels[f"{PREFIX}-pool"]
    for more in ({}, {"collect_task": True}):
        seen = gc(world, *pool(2), sightings=1, **more)
        assert kept(seen)["old-0"] is Kept.NO_POOL
        assert seen.done == ()


def test_held_and_dying_instances_are_kept():
    world = orphaned(2)
    held, dying = world.one.named("old-0")[0], world.one.named("old-1")[0]
    held.labels[f"{PREFIX}-hold"] = str(int(world.clock.now() + 60))
    dying.gone_at = world.clock.now() + 60
    seen = gc(world, *pool(2), sightings=1)
    assert (kept(seen)["old-0"], kept(seen)["old-1"]) == (Kept.HELD, Kept.DELETING)
    assert seen.done == ()


@pytest.mark.parametrize("how", ["down", "partial"])
def test_nothing_is_collected_in_a_scope_that_was_not_listed_completely(how):
    world = orphaned(4)
    getattr(world.one, how).add("zones/a")
    seen = gc(world, *pool(2), sightings=1)
    assert seen.done == ()
    assert {r for n, r in kept(seen).items() if n.startswith("old")} <= {Kept.INCOMPLETE}


def test_a_provider_whose_list_fails_costs_only_its_own():
    world = orphaned()
    world.add("two").faults.append(Fault("list", Reason.UNREACHABLE, times=9))
    seen = gc(world, *pool(2), sightings=1)
    assert results(seen) == ["deleted"]
    assert isinstance(seen.listings["two"], EgressError)


@pytest.mark.parametrize("hold", ["forever", "true", "-1", "2037-01-01"])
def test_a_hold_that_can_not_be_read_holds(hold):
    world = orphaned()
    orphan(world).labels[f"{PREFIX}-hold"] = hold
    seen = gc(world, *pool(2), sightings=1)
    assert kept(seen)["old-0"] is Kept.HELD
    assert seen.done == ()


def test_a_hold_that_is_over_does_not():
    world = orphaned()
    orphan(world).labels[f"{PREFIX}-hold"] = str(int(world.clock.now()))
    assert results(gc(world, *pool(2), sightings=1)) == ["deleted"]


class Unmarking:
    """A provider that is no Marker."""

    def __init__(self, inner: FakeProvider) -> None:
        self.name, self.profile = inner.name, inner.profile
        self.get, self.delete, self.list_by_tag = inner.get, inner.delete, inner.list_by_tag


def test_what_can_not_be_marked_is_reported_and_deleted_only_on_a_first_sighting():
    world = orphaned()
    ready = {"one": ObservedProvider(Unmarking(FakeProvider("one", world.one)), Recorder(), world.clock)}

    def collected(sightings: int) -> Collection:
        rules = Rules(sightings=sightings, max_deletions=Limit(percent=100))
        return collect(desired(*pool(2)), rules, Providers(ready, {}), run_host(world.clock), InTurn(), 900.0)

    twice = collected(2)
    assert kept(twice)["old-0"] is Kept.NO_MARKER
    assert twice.done == ()
    world.one.faults.append(Fault("delete", Reason.API_ERROR))
    assert [results(collected(1)), results(collected(1))] == [["failed"], ["deleted"]]


def test_the_fuse_trips_before_the_first_deletion():
    world = orphaned(6)
    seen = gc(world, *pool(2), sightings=1, max_deletions=Limit(percent=50))
    assert seen.plan.fuse == "6 deletions are due, max_deletions 50% of 8 instances and leftovers allows 4"
    assert world.one.calls("delete") == 0
    assert len(names(world)) == 8


def test_an_older_document_is_refused():
    world = World.of()
    members = [dataclasses.replace(s, generation=7) for s in pool(2)]
    world.run(dataclasses.replace(desired(*members), generation=7))
    world.clock.advance(HOUR)
    for old in (6, None):
        with pytest.raises(EgressError) as caught:
            gc(world, generation=old)
        assert caught.value.reason is Reason.STALE_DOCUMENT
    gc(world, *members, generation=7)


def test_a_name_that_was_used_again_since_the_list_is_left_alone():
    world = orphaned()
    real, victim = world.one.fault, orphan(world)

    def reuse(op, name):
        if op == "get":
            victim.incarnation = "beef"
        return real(op, name)

    world.one.fault = reuse
    seen = gc(world, *pool(2), sightings=1)
    assert [(d.result, d.note) for d in seen.done] == [("skipped", "another instance has that name by now")]
    assert world.one.calls("delete") == 0


def test_marks_that_changed_since_the_list_stop_the_deletion():
    world = orphaned()
    real, victim = world.one.fault, orphan(world)

    def touch(op, name):
        if op == "get":
            victim.labels[f"{PREFIX}-hold"] = "1900000000"
        return real(op, name)

    world.one.fault = touch
    seen = gc(world, *pool(2), sightings=1)
    assert [(d.result, d.note) for d in seen.done] == [("skipped", "its marks have changed since it was listed")]


def test_the_same_delete_failing_in_every_run_is_counted_on_the_instance():
    world = orphaned()
    world.one.faults.append(Fault("delete", Reason.API_ERROR, times=3))
    for count in (1, 2, 3):
        seen = gc(world, *pool(2), sightings=1)
        assert results(seen) == ["failed"]
        assert orphan(world).labels[f"{PREFIX}-{FAILURES}"] == str(count)
    assert results(gc(world, *pool(2), sightings=1)) == ["deleted"]


def test_a_deletion_that_failed_is_told_as_such_when_the_mark_fails_too():
    world = orphaned(2)
    world.one.faults += [Fault("delete", Reason.FORBIDDEN, times=9), Fault("mark", Reason.API_ERROR, times=9)]
    seen = gc(world, *pool(2), sightings=1)
    assert [(f.error.op, f.error.reason) for f in seen.failures] == [("delete", Reason.FORBIDDEN)]
    assert sorted(results(seen)) == ["failed", "skipped"]


@pytest.mark.parametrize("damaged", ["many", "-3", "²", "9" * 50])
def test_a_damaged_count_of_failures_begins_anew(damaged):
    world = orphaned()
    orphan(world).labels[f"{PREFIX}-{FAILURES}"] = damaged
    world.one.faults.append(Fault("delete", Reason.API_ERROR))
    gc(world, *pool(2), sightings=1)
    assert orphan(world).labels[f"{PREFIX}-{FAILURES}"] == "1"


def test_orphans_that_can_not_be_marked_are_warned_of():
    world = orphaned(2)
    world.one.faults.append(Fault("mark", Reason.API_ERROR, times=9))
    assert results(gc(world, *pool(2))) == ["failed", "failed"]
    assert world.warnings == ["2 quarantine marks could not be changed: mark failed on order"]


def test_a_refusal_costs_one_error():
    world = orphaned(5)
    world.one.faults.append(Fault("delete", Reason.FORBIDDEN, times=99))
    seen = gc(world, *pool(2), sightings=1)
    assert sorted(results(seen)) == ["failed", "skipped", "skipped", "skipped", "skipped"]
    assert world.one.calls("delete") == 1


def test_a_cancelled_collection_says_what_it_has_done():
    world = orphaned(4)
    real = world.one.fault

    def cancel(op, name):
        if op == "delete" and world.one.calls("delete") == 2:
            world.cancel.set()
        return real(op, name)

    world.one.fault = cancel
    with pytest.raises(EgressError) as caught:
        gc(world, *pool(2), sightings=1)
    assert caught.value.reason is Reason.CANCELLED
    assert caught.value.result["changed"] is True
    world.cancel.clear()
    world.one.fault = real
    gc(world, *pool(2), sightings=1)
    assert names(world) == ["eu-0", "eu-1"]


def test_a_collection_without_orphans_costs_one_list():
    world = orphaned(0)
    assert gc(world, *pool(2)).done == ()
    assert world.one.journal == [("list", "")]
