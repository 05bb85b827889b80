# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Properties of whole runs, whatever happens: histories of edits, deaths, outages and faults made up by Hypothesis.

Nothing foreign ever changes. Nothing is created while the same proxy exists in one of its candidate places, seen or
not. No more serving proxies are taken down than may be. Once faults stop, one run converges and the next does nothing.
"""

from __future__ import annotations

import dataclasses
import typing as t

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ansible_collections.crawl.egress.plugins.module_utils._engine.reconcile import OutcomeName
from ansible_collections.crawl.egress.plugins.module_utils._errors import Reason
from ansible_collections.crawl.egress.plugins.module_utils._models import Placement, State
from ansible_collections.crawl.egress.plugins.module_utils._plan.memory import Wishes
from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import Candidate, Limit
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import (
    PREFIX,
    FakeProvider,
    Fault,
    Machine,
    TellingProvider,
)
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.world import World, desired, spec

ZONES = ("a", "b", "c")
FAULTS = (
    Reason.QUOTA,
    Reason.CAPACITY,
    Reason.TIMEOUT,
    Reason.API_ERROR,
    Reason.FORBIDDEN,
    Reason.CONFLICT,
    Reason.INVALID_PLACEMENT,
)


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.backend = self.world.add("one", scopes=[f"zones/{zone}" for zone in ZONES], boot=3.0, dying=2.0)
        self.replicas = 0
        self.machine_type = "small"
        self.zones: tuple[str, ...] = ("a",)
        foreign = {
            f"{PREFIX}-managed": "true",
            f"{PREFIX}-uid": "u",
            f"{PREFIX}-install": "other",
            f"{PREFIX}-pool": "eu",
        }
        self.foreign = [
            Machine("proxy-foreign", "f0", "zones/a", foreign, 0.0, 0.0),
            Machine("proxy-unmarked", "f1", "zones/b", {}, 0.0, 0.0),
        ]
        for machine in self.foreign:
            self.backend.machines[machine.scope, machine.name] = dataclasses.replace(machine)
        self.backend.on_create = self.no_twin
        self.twins: list[Machine] = []

    def wanted(self, **policy: t.Any):
        candidates = [Candidate("one", Placement(zone=zone, machine_type=self.machine_type)) for zone in self.zones]
        members = []
        for i in range(self.replicas):
            shift = i % len(candidates)
            members.append(spec(f"eu-{i}", *candidates[shift:], *candidates[:shift]))
        return desired(*members, **policy)

    def managed(self) -> list[Machine]:
        self.backend.settle()
        return [m for m in self.backend.machines.values() if m.labels.get(f"{PREFIX}-install") == "test"]

    @initialize(zones=st.permutations(ZONES), provider=st.sampled_from([FakeProvider, TellingProvider]))
    def begin(self, zones: list[str], provider: type[FakeProvider]) -> None:
        """Most histories are about a fleet that is there."""
        self.world.provider = provider
        self.replicas, self.zones = 3, tuple(zones[:2])
        self.world.run(self.wanted())

    @rule(replicas=st.integers(0, 6))
    def scale(self, replicas: int) -> None:
        self.replicas = replicas

    @rule(machine_type=st.sampled_from(["small", "large"]))
    def edit(self, machine_type: str) -> None:
        self.machine_type = machine_type

    @rule(zones=st.permutations(ZONES), count=st.integers(1, 3))
    def move(self, zones: list[str], count: int) -> None:
        self.zones = tuple(zones[:count])

    @precondition(lambda self: self.managed())
    @rule(data=st.data(), state=st.sampled_from([State.STOPPED, State.TERMINATED, State.UNKNOWN, None]))
    def strike(self, data: st.DataObject, state: State | None) -> None:
        """A machine dies, gets lost, or (None) is removed behind our back."""
        machine = data.draw(st.sampled_from(self.managed()))
        machine.state = state
        if state is None:
            del self.backend.machines[machine.scope, machine.name]

    @rule(zone=st.sampled_from(ZONES), how=st.sampled_from(["down", "partial", "up"]))
    def outage(self, zone: str, how: str) -> None:
        self.backend.down.discard(f"zones/{zone}")
        self.backend.partial.discard(f"zones/{zone}")
        if how != "up":
            getattr(self.backend, how).add(f"zones/{zone}")

    @rule(op=st.sampled_from(["create", "delete", "get", "list"]), error=st.sampled_from(FAULTS), after=st.booleans())
    def fault(self, op: str, error: Reason, after: bool) -> None:
        if op in ("get", "list"):
            error = Reason.API_ERROR
        self.backend.faults.append(Fault(op, error, after=after))

    @rule(seconds=st.sampled_from([1, 60, 400]))
    def wait(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule(wait=st.booleans(), most=st.integers(1, 3))
    def run(self, wait: bool, most: int) -> None:
        calm = not any(f.times for f in self.backend.faults)
        policy = {"max_unavailable": Limit(count=most), "max_deletions": Limit(percent=100)}
        predicted = self.world.run(self.wanted(**policy), check=True).intended
        voluntary = [a for a in predicted.now if a.voluntary]
        assert len(voluntary) <= most
        deletes = self.backend.calls("delete")
        self.world.run(self.wanted(**policy), wait=wait, wait_timeout=120.0)
        if calm and not (predicted.destructive or wait):
            assert self.backend.calls("delete") == deletes

    @rule()
    def fuse(self) -> None:
        report = self.world.run(self.wanted(max_deletions=Limit(count=0)), wait=False)
        assert not any(d.action.fused and d.changed for d in report.done)

    def no_twin(self, machine: Machine) -> None:
        places = [f"zones/{zone}" for zone in self.zones]
        # Recorded, not asserted: an exception in a provider is a bug that the engine survives.
        self.twins += [m for m in self.managed() if m.name == machine.name and m.scope in places]

    @invariant()
    def nothing_was_created_twice(self) -> None:
        assert self.twins == []

    @invariant()
    def nothing_foreign_changes(self) -> None:
        for machine in self.foreign:
            assert self.backend.machines[machine.scope, machine.name] == machine

    def teardown(self) -> None:
        """Faults stop: one run makes everything true, and the next finds nothing to do."""
        self.backend.faults.clear()
        self.backend.down.clear()
        self.backend.partial.clear()
        for machine in self.managed():
            machine.state = None if machine.state is State.UNKNOWN else machine.state
        wanted = self.wanted(max_deletions=Limit(percent=100))
        report = self.world.run(wanted, Wishes(retry=frozenset(s.uid for s in wanted.specs)))
        assert report.outcome is OutcomeName.CONVERGED, report
        again = self.world.run(wanted)
        assert again.done == []
        assert again.intended.actions == ()
        names = sorted(m.labels[f"{PREFIX}-name"] for m in self.managed())
        assert names == sorted(s.name for s in wanted.specs)


Histories.TestCase.settings = settings(max_examples=100, stateful_step_count=20, deadline=None)
TestHistories = Histories.TestCase
