# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules of section 5 of the design, each over whole runs: what the backend has afterwards, what was called, why."""

from __future__ import annotations

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._engine.ledger import Locked
from ansible_collections.crawl.egress.plugins.module_utils._engine.reconcile import OutcomeName
from ansible_collections.crawl.egress.plugins.module_utils._errors import EgressError, Reason
from ansible_collections.crawl.egress.plugins.module_utils._models import Placement, Scope, State
from ansible_collections.crawl.egress.plugins.module_utils._plan.memory import Wishes
from ansible_collections.crawl.egress.plugins.module_utils._plan.model import Status
from ansible_collections.crawl.egress.plugins.module_utils._run.outcome import error_of
from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import Candidate, Limit
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import (
    PREFIX,
    FakeProvider,
    Fault,
    TellingProvider,
)
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.world import World, desired, pool, spec

LARGE = Placement(zone="a", machine_type="large")


def names(world: World) -> list[str]:
    world.one.settle()
    return sorted(m.labels[f"{PREFIX}-name"] for m in world.one.machines.values())


def converged(world: World, *args, **kwargs):
    report = world.run(*args, **kwargs)
    assert report.outcome is OutcomeName.CONVERGED, (report.outcome, report.failures, report.final.reports)
    return report


def test_a_fleet_converges_and_a_second_run_changes_nothing_for_one_list():
    world = World.of(boot=7.0)
    report = converged(world, desired(*pool(5)))
    assert len(report.done) == 5
    assert names(world) == [f"eu-{i}" for i in range(5)]
    world.one.journal.clear()
    again = converged(world, desired(*pool(5)))
    assert again.done == []
    assert again.intended.actions == ()
    assert world.one.journal == [("list", "")]


def test_check_mode_plans_the_same_and_does_nothing():
    world = World.of()
    predicted = world.run(desired(*pool(3)), check=True)
    assert world.one.machines == {}
    assert [a.as_result() for a in predicted.intended.actions] == [
        a.as_result() for a in converged(world, desired(*pool(3))).intended.actions
    ]


def test_without_wait_one_pass_submits_and_says_converging():
    world = World.of(boot=60.0)
    report = world.run(desired(*pool(2)), wait=False)
    assert report.outcome is OutcomeName.CONVERGING
    assert len(report.done) == 2
    assert {r.status for r in report.final.reports} == {Status.PROVISIONING}


def test_what_a_create_has_told_is_not_asked_for_again():
    world = World.of(boot=60.0)
    world.provider = TellingProvider
    report = world.run(desired(*pool(9)), wait=False)
    assert [op for op, _name in world.one.journal] == ["list", *["create"] * 9]
    assert report.outcome is OutcomeName.CONVERGING
    assert {r.status for r in report.final.reports} == {Status.PROVISIONING}
    assert sorted(r.instance.incarnation for r in report.final.reports) == sorted(
        m.incarnation for m in world.one.machines.values()
    )


def test_what_a_create_has_told_is_looked_at_until_it_serves():
    world = World.of(boot=3.0)
    world.provider = TellingProvider
    converged(world, desired(*pool(2)))
    journal = [op for op, _name in world.one.journal]
    assert journal[:3] == ["list", "create", "create"]
    assert set(journal[3:]) == {"get"}
    world.one.journal.clear()
    converged(world, desired(*pool(2, LARGE), max_unavailable=Limit(2)))
    world.one.settle()
    assert names(world) == ["eu-0", "eu-1"]
    assert all(m.gone_at is None for m in world.one.machines.values())


def test_what_serves_at_once_is_looked_at_once_more():
    world = World.of()
    world.provider = TellingProvider
    world.one.faults.append(Fault("create", Reason.TIMEOUT, after=True))
    converged(world, desired(*pool(1)))
    assert [op for op, _name in world.one.journal] == ["list", "create", "create", "get"]


@pytest.mark.parametrize("provider", [FakeProvider, TellingProvider])
@pytest.mark.parametrize("count", [3, 9])
@pytest.mark.parametrize("op", ["get", "list"])
def test_what_was_deleted_does_not_come_back_when_the_look_after_it_fails(provider, count, op):
    world = World.of(scopes=["zones/a", "zones/b"])
    world.provider = provider
    converged(world, desired(*pool(count, Placement(zone="b"))))
    failing = Fault(op, Reason.API_ERROR, times=count)
    world.one.on_create = lambda _machine: world.one.faults.clear() or world.one.faults.append(failing)
    moved = desired(*pool(count, Placement(zone="a")), max_unavailable=Limit(count), max_deletions=Limit(1))
    converged(world, moved)
    assert {scope for scope, _name in world.one.machines} == {"zones/a"}


def test_replacements_through_one_of_two_entries_over_a_scope_are_told_to_both():
    world = World.of(boot=3.0)
    world.provider = TellingProvider
    world.backends["two"] = world.one
    converged(world, desired(*pool(3)))
    world.one.journal.clear()
    converged(world, desired(*pool(3, LARGE), max_unavailable=Limit(3), max_deletions=Limit(1)))
    journal = [op for op, _name in world.one.journal]
    assert journal[:8] == ["list", "list", *["delete", "create"] * 3]
    assert set(journal[8:]) == {"get"}


def test_absence_is_believed_only_in_a_complete_scope():
    world = World.of(scopes=["zones/a", "zones/b"])
    world.one.down.add("zones/b")
    wanted = desired(spec("x"), spec("y", Candidate("one", Placement(zone="b"))))
    report = world.run(wanted)
    assert names(world) == ["x"]
    assert report.outcome is OutcomeName.INCOMPLETE_EVIDENCE
    assert [(r.subject.name, r.status) for r in report.final.reports] == [("x", Status.RUNNING), ("y", Status.UNKNOWN)]


def test_every_candidate_scope_must_be_complete():
    world = World.of(scopes=["zones/a", "zones/b"])
    both = (Candidate("one", Placement(zone="a")), Candidate("one", Placement(zone="b")))
    world.one.down.add("zones/b")
    assert world.run(desired(spec("x", *both))).outcome is OutcomeName.INCOMPLETE_EVIDENCE
    assert names(world) == []
    assumed = Wishes(assume_gone=frozenset({("one", Scope("zones/b"))}))
    converged(world, desired(spec("x", *both)), assumed)
    assert names(world) == ["x"]


def test_nothing_is_created_where_everything_is_assumed_gone():
    world = World.of(scopes=["zones/a", "zones/b"])
    converged(world, desired(spec("x")))
    gone = Wishes(assume_gone=frozenset({("one", Scope("zones/b"))}))
    report = world.run(desired(spec("x", Candidate("one", Placement(zone="b")))), gone)
    assert [(r.status, r.reason) for r in report.final.reports] == [(Status.BLOCKED, "AssumedGone")]
    assert world.one.calls("delete") == 0
    both = (Candidate("one", Placement(zone="b")), Candidate("one", Placement(zone="a")))
    converged(world, desired(spec("y", *both), spec("z", Candidate("one", Placement()))), gone)
    assert {m.scope for m in world.one.machines.values()} == {"zones/a"}


def test_a_provider_that_is_dead_costs_only_its_own_proxies():
    world = World.of()
    world.add("two").faults.append(Fault("list", Reason.UNREACHABLE, times=99))
    wanted = desired(spec("x"), spec("y", Candidate("two", Placement(zone="a"))))
    report = world.run(wanted)
    assert names(world) == ["x"]
    assert report.outcome is OutcomeName.INCOMPLETE_EVIDENCE


def test_nothing_in_a_partial_scope_is_taken_for_absent():
    world = World.of()
    converged(world, desired(*pool(8)))
    before = {m.incarnation for m in world.one.machines.values()}
    world.one.partial.add("zones/a")
    report = world.run(desired(*pool(8)))
    assert report.outcome is OutcomeName.INCOMPLETE_EVIDENCE
    assert {m.incarnation for m in world.one.machines.values()} == before


def test_drift_is_replaced_one_at_a_time():
    world = World.of(boot=5.0)
    converged(world, desired(*pool(4)))
    low = []

    class Watching(list):
        def append(self, item):
            super().append(item)
            low.append(sum(m.ready <= world.clock.now() for m in world.one.machines.values()))

    world.one.journal = Watching()
    report = converged(world, desired(*pool(4, LARGE)))
    assert [d.as_result()["result"] for d in report.done] == [["deleted", "created"]] * 4
    assert min(low) == 3
    assert "eu: max_unavailable 1 allows 1, 0 down already: 1 of 4 voluntary replacements now" in report.intended.budget


def test_only_the_changed_one_is_replaced():
    world = World.of()
    converged(world, desired(*pool(3)))
    before = {m.labels[f"{PREFIX}-name"]: m.incarnation for m in world.one.machines.values()}
    changed = (*pool(3)[:2], spec("eu-2", Candidate("one", LARGE)))
    converged(world, desired(*changed))
    after = {m.labels[f"{PREFIX}-name"]: m.incarnation for m in world.one.machines.values()}
    assert [n for n in before if before[n] != after[n]] == ["eu-2"]


def test_the_dead_cost_no_budget_and_no_fuse():
    world = World.of()
    converged(world, desired(*pool(4)))
    for machine in world.one.machines.values():
        machine.state = State.TERMINATED
    report = converged(world, desired(*pool(4), max_deletions=Limit(count=0)))
    assert len(report.done) == 4
    assert len(report.intended.now) == 4


@pytest.mark.parametrize("state", [State.UNKNOWN])
def test_what_the_backend_cannot_tell_is_no_reason_to_delete(state):
    world = World.of()
    converged(world, desired(*pool(1)))
    (machine,) = world.one.machines.values()
    machine.state = state
    report = world.run(desired(*pool(1)))
    assert report.outcome is OutcomeName.INCOMPLETE_EVIDENCE
    assert world.one.calls("delete") == 0


def test_scaling_down_removes_the_highest():
    world = World.of()
    converged(world, desired(*pool(5)))
    converged(world, desired(*pool(3)))
    assert names(world) == ["eu-0", "eu-1", "eu-2"]


def test_the_fuse_trips_before_the_first_deletion():
    world = World.of()
    converged(world, desired(*pool(10)))
    report = world.run(desired(*pool(4)))
    assert report.outcome is OutcomeName.NEEDS_ATTENTION
    assert len(names(world)) == 10
    assert report.final.fuse == (
        "pool eu: 6 serving proxies would be deleted, max_deletions 50% of 10 instances allows 5",
    )
    converged(world, desired(*pool(5)))
    assert len(names(world)) == 5


def test_the_fuse_counts_over_the_whole_run():
    world = World.of()
    converged(world, desired(*pool(4)))
    world.one.dying = 3.0
    report = converged(world, desired(*pool(2), max_deletions=Limit(count=2)))
    assert len(report.done) == 2


def test_instances_of_other_pools_installs_and_tasks_are_left_alone():
    world = World.of()
    converged(world, desired(*pool(2), *pool(1, name="us"), pools=("eu", "us", "named")))
    stranger = next(iter(world.one.machines.values()))
    foreign = {**stranger.labels, f"{PREFIX}-install": "other", f"{PREFIX}-uid": "somebody"}
    world.one.machines["zones/a", "proxy-foreign"] = type(stranger)("proxy-foreign", "ff", "zones/a", foreign, 0.0, 0.0)
    unmarked = {k: v for k, v in stranger.labels.items() if not k.endswith("uid")}
    world.one.machines["zones/a", "proxy-wiped"] = type(stranger)("proxy-wiped", "fe", "zones/a", unmarked, 0.0, 0.0)
    report = converged(world, desired(*pool(2)))
    assert report.done == []
    assert len(world.one.machines) == 5
    assert report.final.notes == ("zones/a/proxy-wiped carries no UID and is left alone",)


def test_two_entries_over_one_scope_show_each_instance_once():
    world = World.of()
    world.backends["two"] = world.one
    via_two = spec("y", Candidate("two", Placement(zone="a")))
    converged(world, desired(spec("x"), via_two))
    again = converged(world, desired(spec("x"), via_two))
    assert again.done == []
    assert [r.instance.provider for r in again.final.reports] == ["one", "two"]
    converged(world, desired(spec("x")))
    assert names(world) == ["x"]
    assert world.one.calls("delete") == 1


def test_a_proxy_without_a_zone_goes_where_every_run_would_put_it():
    homes = []
    for _unused in range(2):
        world = World.of(scopes=["zones/a", "zones/b", "zones/c"])
        anywhere = [spec(f"p{i}", Candidate("one", Placement())) for i in range(12)]
        converged(world, desired(*anywhere))
        homes.append({m.name: m.scope for m in world.one.machines.values()})
    assert homes[0] == homes[1]
    assert len(set(homes[0].values())) == 3


def test_surplus_goes_before_anything_else_and_the_better_one_stays():
    world = World.of(scopes=["zones/a", "zones/b"])
    both = (Candidate("one", Placement(zone="a")), Candidate("one", Placement(zone="b")))
    converged(world, desired(spec("x", *both)))
    (first,) = world.one.machines.values()
    twin = type(first)(first.name, "0", "zones/b", dict(first.labels), first.created - 5, first.ready)
    twin.state = State.STOPPED
    world.one.machines["zones/b", first.name] = twin
    report = converged(world, desired(spec("x", *both)))
    assert [m.incarnation for m in world.one.machines.values()] == [first.incarnation]
    assert [d.action.cause.value for d in report.done] == ["surplus"]


def test_a_proxy_whose_place_is_no_candidate_moves():
    world = World.of(scopes=["zones/a", "zones/b"])
    converged(world, desired(spec("x")))
    report = converged(world, desired(spec("x", Candidate("one", Placement(zone="b")))))
    assert [m.scope for m in world.one.machines.values()] == ["zones/b"]
    assert [d.action.cause.value for d in report.done] == ["misplaced"]


def test_a_deleting_instance_is_waited_for_before_the_name_is_used_again():
    world = World.of(dying=30.0)
    converged(world, desired(*pool(1)))
    report = converged(world, desired(*pool(1, LARGE)))
    assert [d.as_result()["result"] for d in report.done] == [["deleting"], ["created"]]


def test_a_permanent_refusal_is_latched_until_the_specification_changes(tmp_path):
    world = World.of()
    world.state_dir = str(tmp_path)
    world.one.faults.append(Fault("create", Reason.INVALID_PLACEMENT))
    report = world.run(desired(*pool(1)))
    assert report.outcome is OutcomeName.NEEDS_ATTENTION
    assert [(r.status, r.reason) for r in report.final.reports] == [(Status.BLOCKED, "InvalidPlacement")]
    assert world.one.calls("create") == 1
    assert world.run(desired(*pool(1))).outcome is OutcomeName.NEEDS_ATTENTION
    assert world.one.calls("create") == 1
    retried = Wishes(retry=frozenset({pool(1)[0].uid}))
    converged(world, desired(*pool(1)), retried)
    world.one.machines.clear()
    world.one.faults.append(Fault("create", Reason.INVALID_PLACEMENT))
    world.run(desired(*pool(1)))
    converged(world, desired(*pool(1, LARGE)))


def test_what_can_never_be_satisfied_blocks_before_any_call_and_keeps_what_serves():
    world = World.of()
    converged(world, desired(*pool(1)))
    world.one.journal.clear()
    report = world.run(desired(*pool(1, Placement(zone="a", machine_type="huge"))))
    assert report.outcome is OutcomeName.NEEDS_ATTENTION
    assert report.final.reports[0].message == "machine_type: 'huge' is not allowed"
    assert world.one.journal == [("list", "")]


def test_a_provider_that_refuses_us_costs_one_error():
    world = World.of()
    world.one.faults.append(Fault("create", Reason.FORBIDDEN, times=99))
    report = world.run(desired(*pool(20)))
    assert world.one.calls("create") == 1
    assert len(report.failures) == 1
    assert len(report.final.blocked) == 20


def test_a_conflict_is_not_repeated_in_the_run_but_in_the_next(tmp_path):
    world = World.of()
    world.state_dir = str(tmp_path)
    world.one.faults.append(Fault("create", Reason.CONFLICT))
    assert world.run(desired(*pool(1))).outcome is OutcomeName.NEEDS_ATTENTION
    assert world.one.calls("create") == 1
    converged(world, desired(*pool(1)))


def test_quota_is_tried_again_after_five_minutes_and_is_no_failure():
    world = World.of()
    world.one.faults.append(Fault("create", Reason.QUOTA, times=2))
    start = world.clock.now()
    converged(world, desired(*pool(1)))
    assert world.clock.now() - start >= 600
    world.one.machines.clear()
    world.one.faults.append(Fault("create", Reason.QUOTA, times=99))
    report = world.run(desired(*pool(1)), wait=False)
    assert report.outcome is OutcomeName.CONVERGING
    assert report.final.reports[0].reason == "Quota"


def test_a_refusal_stops_voluntary_deletions_of_its_pool():
    world = World.of()
    converged(world, desired(*pool(4)))
    world.one.faults.append(Fault("create", Reason.CAPACITY, times=99))
    report = world.run(desired(*pool(4, LARGE), max_unavailable=Limit(count=3)), wait=False)
    serving = [r for r in report.final.reports if r.status is Status.RUNNING]
    assert len(serving) == 3
    assert world.one.calls("delete") == 1


def test_transient_errors_back_off():
    world = World.of()
    world.one.faults.append(Fault("create", Reason.API_ERROR, times=4))
    start = world.clock.now()
    report = converged(world, desired(*pool(1)))
    assert world.one.calls("create") == 5
    assert world.clock.now() - start >= (1 + 2 + 4 + 8) / 2
    assert report.failures == []


def test_a_create_that_succeeded_unheard_is_adopted():
    world = World.of()
    world.one.faults.append(Fault("create", Reason.TIMEOUT, after=True))
    report = converged(world, desired(*pool(1)))
    assert len(names(world)) == 1
    assert [d.as_result()["result"] for d in report.done] == [["failed"], ["adopted"]]


def test_a_bug_in_a_provider_costs_its_slot_and_does_not_show_its_message():
    world = World.of()
    first = pool(2)[0]
    from ansible_collections.crawl.egress.plugins.module_utils._names import instance_name

    world.one.faults.append(Fault("create", RuntimeError("sentinel"), name=instance_name(first.uid)))
    report = world.run(desired(*pool(2)))
    assert names(world) == ["eu-1"]
    assert [r.reason for r in report.final.blocked] == ["Bug"]
    assert "sentinel" not in str(report)


def test_what_keeps_dying_is_given_up_after_three_times():
    world = World.of()

    class Doomed(dict):
        def __setitem__(self, key, machine):
            machine.state, machine.message = State.STOPPED, "out of memory"
            super().__setitem__(key, machine)

    world.one.machines = Doomed()
    report = world.run(desired(*pool(1)))
    assert world.one.calls("create") == 3
    assert report.outcome is OutcomeName.NEEDS_ATTENTION
    assert report.final.reports[0].reason == "CrashLoop"
    assert "out of memory" in report.final.reports[0].message


def test_a_proxy_that_never_begins_to_serve_is_blocked_and_replaced_on_request():
    world = World.of(boot=1e9)
    report = world.run(desired(*pool(1), provision_timeout=60.0))
    assert report.outcome is OutcomeName.NEEDS_ATTENTION
    assert report.final.reports[0].reason == "ProvisionTimeout"
    world.one.boot = 0.0
    converged(world, desired(*pool(1), provision_timeout=0.0), Wishes(retry=frozenset({pool(1)[0].uid})))


def test_the_timeout_runs_from_the_first_sighting_also_across_runs_and_a_clock_set_back(tmp_path):
    world = World.of(boot=1e9)
    world.state_dir = str(tmp_path)
    wanted = desired(*pool(1), provision_timeout=600.0)
    assert world.run(wanted, wait=False).outcome is OutcomeName.CONVERGING
    world.clock.wall -= 86_400
    assert world.run(wanted, wait=False).outcome is OutcomeName.CONVERGING
    world.clock.advance(601)
    assert world.run(wanted, wait=False).outcome is OutcomeName.NEEDS_ATTENTION


@pytest.mark.parametrize(
    ("boot", "faults", "why"),
    [(1e6, [], "provisioning"), (0.0, [Fault("create", Reason.STORAGE_FULL, times=99)], "create failed on order")],
)
def test_out_of_time_says_so_and_what_it_waited_for(boot, faults, why):
    world = World.of(boot=boot)
    world.one.faults += faults
    error = error_of(world.run(desired(*pool(1), provision_timeout=1e5), wait_timeout=30.0))
    assert error is not None
    assert error.reason is Reason.WAIT_TIMEOUT
    assert error.message.startswith("wait_timeout: not converged after 30 s: default/eu-0: ")
    assert why in error.message


def test_paused_does_nothing():
    world = World.of()
    report = world.run(desired(*pool(2), paused=True))
    assert names(world) == []
    assert report.outcome is OutcomeName.CONVERGING
    assert {a.note for a in report.final.actions} == {"paused"}


def test_a_hold_protects_is_marked_once_and_expires():
    world = World.of()
    converged(world, desired(*pool(2)))
    until = world.clock.now() + 3600
    hold = Wishes(hold={pool(2)[0].uid: until})
    converged(world, desired(*pool(2)), hold)
    assert converged(world, desired(*pool(2)), hold).done == []
    report = converged(world, desired(*pool(2, LARGE)))
    assert [d.action.subject.name for d in report.done] == ["eu-1"]
    assert report.final.reports[0].reason == "Held"
    assert world.run(desired(*pool(2, LARGE)), check=True).intended.actions == ()
    world.clock.advance(3601)
    report = converged(world, desired(*pool(2, LARGE)))
    assert [d.action.subject.name for d in report.done] == ["eu-0"]


def test_a_hold_in_the_past_releases():
    world = World.of()
    converged(world, desired(*pool(1)))
    uid = pool(1)[0].uid
    converged(world, desired(*pool(1)), Wishes(hold={uid: world.clock.now() + 60}))
    converged(world, desired(*pool(1)), Wishes(hold={uid: world.clock.now() - 60}))
    assert not any(key.endswith("hold") for m in world.one.machines.values() for key in m.labels)


def test_a_damaged_hold_protects_until_it_is_released():
    world = World.of()
    converged(world, desired(*pool(1)))
    (machine,) = world.one.machines.values()
    machine.labels["proxy-operator-hold"] = "forever"
    assert converged(world, desired(*pool(1, LARGE))).done == []
    assert world.run(desired(), wishes=Wishes()).done == []
    released = Wishes(hold={pool(1)[0].uid: world.clock.now()})
    verbs = [d.action.verb.value for d in converged(world, desired(*pool(1, LARGE)), released).done]
    assert verbs == ["mark", "replace"]


def test_held_proxies_survive_their_removal_from_the_document():
    world = World.of()
    converged(world, desired(*pool(2)))
    report = converged(world, desired(*pool(1)), Wishes(hold={pool(2)[1].uid: world.clock.now() + 60}))
    assert names(world) == ["eu-0", "eu-1"]
    assert report.final.notes == ("default/eu-1 is not desired but held",)


def test_skip_cleanup_lets_go_and_says_what_may_be_left():
    world = World.of()
    converged(world, desired(*pool(2)))
    gone = pool(2)[1]
    report = converged(world, desired(*pool(1)), Wishes(skip_cleanup={gone.uid: ("default", "eu-1")}))
    assert names(world) == ["eu-0", "eu-1"]
    (released,) = report.final.released
    assert released.name == "eu-1"
    assert len(released.left) == 1


def test_expect_plan_accepts_a_subset_and_nothing_else():
    world = World.of()
    converged(world, desired(*pool(4)))
    approved = world.run(desired(*pool(2)), check=True).intended.destructive
    report = world.run(desired(*pool(1), max_deletions=Limit(percent=100)), expect_plan=approved)
    assert report.stopped is not None
    assert report.stopped.reason is Reason.PLAN_MOVED
    assert len(names(world)) == 4
    converged(world, desired(*pool(3)), expect_plan=approved)
    assert len(names(world)) == 3


def test_the_plan_id_depends_on_the_destructive_actions_only():
    world = World.of()
    converged(world, desired(*pool(4)))
    first = world.run(desired(*pool(2)), check=True).intended
    world.clock.advance(1000)
    second = world.run(desired(*pool(2), spec("new", pool="named")), check=True).intended
    assert first.plan_id == second.plan_id


def test_proxies_of_tasks_and_documents_never_adopt_each_other():
    world = World.of()
    task = spec("eu-0", pool="task")
    converged(world, desired(task, pools=("task",)))
    report = world.run(desired(*pool(1)))
    assert report.outcome is OutcomeName.NEEDS_ATTENTION
    assert report.final.reports[0].reason == "Conflict"
    assert world.one.calls("create") == 1


def test_a_second_run_is_locked_out_and_a_dead_one_is_not_in_the_way(tmp_path):
    world = World.of()
    world.state_dir = str(tmp_path)
    inner = []
    real = world.one.fault

    def meddle(op, name):
        if op == "create" and not inner:
            with pytest.raises(Locked) as caught:
                world.run(desired(*pool(1)))
            inner.append(caught.value)
        return real(op, name)

    world.one.fault = meddle
    converged(world, desired(*pool(1)))
    assert inner[0].as_result()["reason"] == "Locked"
    converged(world, desired(*pool(1)))


def test_a_cancelled_run_stops_and_the_next_one_takes_up_what_was_begun():
    world = World.of()
    real = world.one.fault

    def cancel(op, name):
        if op == "create" and world.one.calls("create") == 2:
            world.cancel.set()
        return real(op, name)

    world.one.fault = cancel
    with pytest.raises(EgressError) as caught:
        world.run(desired(*pool(4)))
    assert caught.value.reason is Reason.CANCELLED
    assert caught.value.result["changed"] is True
    assert len(names(world)) == 2
    world.cancel.clear()
    world.one.fault = real
    report = converged(world, desired(*pool(4)))
    assert len(report.done) == 2


SIGHTING = (
    '{"format": 1, "latches": {}, "sightings": {"x": {"incarnation": "x", "state": "Provisioning", "since": %s}}}'
)


@pytest.mark.parametrize(
    "damage",
    [
        *("", "{", "[]", '{"format": 1}', '{"format": 9, "latches": {}, "sightings": {}}', "\0", "[" * 100_000),
        *(SIGHTING % since for since in ("NaN", "Infinity", "1" + 400 * "0", "null", '"soon"')),
    ],
)
def test_a_damaged_ledger_is_set_aside(tmp_path, damage):
    world = World.of()
    world.state_dir = str(tmp_path)
    path = tmp_path / "test" / "eu.json"
    path.parent.mkdir()
    path.write_text(damage)
    world.run(desired(*pool(1)), check=True)
    assert path.read_text() == damage
    converged(world, desired(*pool(1)))
    assert not path.exists()
    assert (tmp_path / "test" / "eu.json.damaged").read_text() == damage
    assert len(world.warnings) == 2


def test_a_state_dir_that_cannot_be_written_is_an_error_before_any_call(tmp_path):
    world = World.of()
    (tmp_path / "file").write_text("")
    world.state_dir = str(tmp_path / "file")
    with pytest.raises(EgressError) as caught:
        world.run(desired(*pool(1)))
    assert caught.value.reason is Reason.STATE_DIR
    assert world.one.journal == []


def test_one_proxy_alone_leaves_its_neighbours_alone():
    world = World.of()
    a, b = spec("a", pool="task"), spec("b", pool="task")
    converged(world, desired(a, b, pools=("task",), max_deletions=None))
    import dataclasses

    only_a = dataclasses.replace(desired(pools=("task",), max_deletions=None), uid=a.uid)
    converged(world, only_a)
    assert names(world) == ["b"]


def test_a_delete_that_fails_for_now_is_tried_again_in_the_same_run():
    world = World.of()
    converged(world, desired(*pool(4)))
    world.one.faults.append(Fault("delete", Reason.UNREACHABLE, times=3))
    report = converged(world, desired(*pool(1), max_deletions=None))
    assert names(world) == ["eu-0"]
    assert sum(done.error is not None for done in report.done) == 3
