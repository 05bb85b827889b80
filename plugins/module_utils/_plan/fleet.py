# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(plan()): everything that one pass decides, from data alone."""

from __future__ import annotations

import re
import typing as t

from .._marks import HOLD
from .._models import Instance
from .._spec.desired import Desired, Policy
from .evidence import Evidence, Listings
from .memory import Memory, Wishes
from .model import Action, Cause, Plan, Released, Report, Status, Subject, Verb, When
from .resolve import Slot
from .slot import Question, answer


def plan(
    desired: Desired, slots: t.Sequence[Slot], listings: Listings, memory: Memory, wishes: Wishes, now: float
) -> Plan:
    """Decide one pass. Pure: check mode and real mode call it with the same arguments and so agree.

    :param slots: C(resolve(desired, providers)).
    :param now: Unix seconds.
    """
    evidence = Evidence.of(listings, wishes.assume_gone)
    answers = [
        answer(
            Question(
                slot,
                evidence.by_uid.get(slot.spec.uid, ()),
                evidence,
                memory,
                wishes,
                desired.policy.provision_timeout,
                now,
            )
        )
        for slot in slots
    ]
    reports = [a.report for a in answers]
    undesired = _undesired(desired, evidence, {slot.spec.uid for slot in slots})
    removals, leaving, released, notes = _removals(undesired, wishes, memory, now)
    actions = [action for a in answers for action in a.actions] + removals
    actions = _within_budget(actions, reports, memory, desired.policy)
    actions, fuse = _within_fuse(actions, _observed(desired, evidence), memory, desired.policy)
    actions += _holds(slots, undesired, evidence, wishes, now)
    if desired.policy.paused:
        actions = [a.later("paused") for a in actions]
    return Plan(
        actions=tuple(actions),
        reports=tuple(reports),
        leaving=tuple(leaving) + tuple(i for a in answers for i in a.leaving),
        fuse=tuple(fuse),
        gaps=tuple(evidence.gaps(desired)),
        budget=tuple(_arithmetic(actions, reports, desired.policy)),
        notes=tuple(notes) + tuple(f"{i.provider_id} carries no UID and is left alone" for i in evidence.unidentified),
        released=tuple(released),
        paused=desired.policy.paused,
    )


def _undesired(desired: Desired, evidence: Evidence, uids: t.AbstractSet[str]) -> list[Instance]:
    """Instances of this install, in the pools this run was given, that no desired proxy explains."""
    return [
        instance
        for uid, instances in evidence.by_uid.items()
        if uid not in uids and desired.uid in (None, uid)
        for instance in instances
        if instance.marks.install == desired.install and instance.marks.pool in desired.pools
    ]


def _removals(
    undesired: t.Sequence[Instance], wishes: Wishes, memory: Memory, now: float
) -> tuple[list[Action], list[Instance], list[Released], list[str]]:
    actions, leaving, notes = [], [], []
    left: dict[str, list[str]] = {uid: [] for uid in wishes.skip_cleanup}
    for instance in sorted(undesired, key=lambda i: _natural(Subject.of_instance(i))):
        subject = Subject.of_instance(instance)
        if subject.uid in left:
            left[subject.uid].append(instance.provider_id)
        elif instance.deleting:
            leaving.append(instance)
        elif wishes.held(instance, now):
            notes.append(f"{subject} is not desired but held")
        else:
            action = Action(
                Verb.DELETE, Cause.UNDESIRED, subject, instance.provider, instance=instance, fused=instance.serves
            )
            actions.append(_paced(action, instance, memory, now))
    released = [Released(name, namespace, tuple(left[uid])) for uid, (namespace, name) in wishes.skip_cleanup.items()]
    return actions, leaving, released, notes


def _paced(action: Action, instance: Instance, memory: Memory, now: float) -> Action:
    if instance.provider in memory.providers:
        return action.later(f"provider {instance.provider} refuses us")
    if instance.incarnation in memory.spent:
        return action.later("given up for this run")
    due = memory.not_before.get(instance.incarnation, 0.0) <= now
    return action if due else action.later("backing off", soon=True)


def _within_budget(
    actions: t.Sequence[Action], reports: t.Sequence[Report], memory: Memory, policy: Policy
) -> list[Action]:
    """Rule 4: one budget for all voluntary reasons; what doesn't serve is replaced free of charge."""
    left = {pool: max(0, allowed - down) for pool, (allowed, down) in _budgets(reports, policy).items()}
    decided = []
    for action in sorted(actions, key=lambda a: _natural(a.subject)):
        if action.voluntary and action.when is When.NOW:
            pool = action.subject.pool
            if pool in memory.refused:
                action = action.later("a create of this pool was refused for lack of quota or capacity")
            elif left[pool] == 0:
                action = action.later("max_unavailable is used up")
            else:
                left[pool] -= 1
        decided.append(action)
    return decided


def _budgets(reports: t.Sequence[Report], policy: Policy) -> dict[str, tuple[int, int]]:
    """Pool -> (proxies that may be down, proxies that are). Blocked ones count neither as desired nor as down."""
    counted: dict[str, list[Report]] = {}
    for report in reports:
        members = counted.setdefault(report.subject.pool, [])
        if report.status is not Status.BLOCKED:
            members.append(report)
    return {
        pool: (policy.max_unavailable.of(len(members)), sum(r.status is not Status.RUNNING for r in members))
        for pool, members in counted.items()
    }


def _arithmetic(actions: t.Sequence[Action], reports: t.Sequence[Report], policy: Policy) -> t.Iterable[str]:
    wanted: dict[str, list[Action]] = {}
    for action in actions:
        if action.voluntary:
            wanted.setdefault(action.subject.pool, []).append(action)
    for pool, (allowed, down) in _budgets(reports, policy).items():
        if pool in wanted:
            now = sum(a.when is When.NOW for a in wanted[pool])
            yield (
                f"{pool}: max_unavailable {policy.max_unavailable} allows {allowed}, {down} down already:"
                f" {now} of {len(wanted[pool])} voluntary replacements now"
            )


def _within_fuse(
    actions: t.Sequence[Action], observed: t.Mapping[str, int], memory: Memory, policy: Policy
) -> tuple[list[Action], list[str]]:
    """Rule 6: the fuse of a pool trips before its first deletion, over the whole run."""
    if policy.max_deletions is None:
        return list(actions), []
    tripped = {}
    fused: dict[str, int] = {}
    for action in actions:
        if action.fused:
            fused[action.subject.pool] = fused.get(action.subject.pool, 0) + 1
    for pool, count in sorted(fused.items()):
        done = memory.fused.get(pool, 0)
        total = memory.baseline.get(pool, observed.get(pool, 0))
        allowed = policy.max_deletions.of(total)
        if done + count > allowed:
            before = f" after {done} in this run" if done else ""
            tripped[pool] = (
                f"pool {pool}: {count} serving proxies would be deleted{before}, max_deletions {policy.max_deletions}"
                f" of {total} instances allows {allowed}"
            )
    decided = [a.later("max_deletions tripped") if a.fused and a.subject.pool in tripped else a for a in actions]
    return decided, list(tripped.values())


def _observed(desired: Desired, evidence: Evidence) -> dict[str, int]:
    counts: dict[str, int] = {}
    for instances in evidence.by_uid.values():
        for instance in instances:
            if instance.marks.install == desired.install:
                counts[instance.marks.pool] = counts.get(instance.marks.pool, 0) + 1
    return counts


def _holds(
    slots: t.Sequence[Slot], undesired: t.Sequence[Instance], evidence: Evidence, wishes: Wishes, now: float
) -> list[Action]:
    """Marks to be set or removed so that holds are as wished."""
    mine = [i for slot in slots for i in evidence.by_uid.get(slot.spec.uid, ())] + list(undesired)
    actions = []
    for instance in mine:
        until = wishes.hold.get(instance.marks.uid)
        if until is None or instance.deleting:
            continue
        value = str(int(until)) if until > now else None
        if instance.marks.extra.get(HOLD) != value:
            note = f"held until {value}" if value else "released"
            actions.append(
                Action(
                    Verb.MARK,
                    Cause.HOLD,
                    Subject.of_instance(instance),
                    instance.provider,
                    note=note,
                    instance=instance,
                    mark=(HOLD, value),
                )
            )
    return actions


def observed_counts(desired: Desired, listings: Listings) -> dict[str, int]:
    """Instances per pool when a run begins: what the fuse's percentage is taken of."""
    return _observed(desired, Evidence.of(listings, frozenset()))


def _natural(subject: Subject) -> tuple[str, str, list[tuple[int, str]]]:
    """eu-2 before eu-10."""
    parts = [(int(p), "") if p.isdigit() else (0, p) for p in re.split(r"([0-9]+)", subject.name)]
    return subject.pool, subject.namespace, parts
