# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What one collection decides, and why everything else is kept. Pure.

C(egress_fleet) removes what is undesired in the pools it is given. Collected here is everything else of the install
that nobody desires: of pools that were dropped from the document, and, when asked, of tasks.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import re
import typing as t

from .._errors import EgressError
from .._marks import TASK_POOL, Marks
from .._models import Instance, Leftover, LeftoverListing, Scope, ScopeStatus
from .._plan.evidence import Evidence, Listings
from .._spec.desired import Desired, Limit

#: Marks on a living instance: since when it is an orphan, and how often its deletion has failed.
QUARANTINE = "quarantine"
FAILURES = "gc-failures"

#: Seconds after which a quarantine that nobody acted on is no evidence any more.
STALE = 86_400.0


DEFAULT_FUSE = Limit(percent=50)


@dataclasses.dataclass(frozen=True)
class Rules:
    """:ivar min_age: seconds; of an instance before it can be an orphan, and of a quarantine before it is acted on.
    :ivar sightings: 2, or 1 to delete an orphan when it is first seen.
    :ivar live_uids: UIDs that are alive besides those of the document.
    :ivar max_deletions: of all instances and leftovers of the install; the fuse.
    """

    min_age: float = 600.0
    sightings: int = 2
    live_uids: frozenset[str] = frozenset()
    collect_task: bool = False
    max_deletions: Limit = DEFAULT_FUSE


class Verb(enum.Enum):
    QUARANTINE = "quarantine"
    CLEAR = "clear"
    DELETE = "delete"
    DELETE_LEFTOVER = "delete_leftover"


class Kept(enum.Enum):
    """Why an instance was not collected; the words are API."""

    LIVE = "live"
    FLEET = "egress_fleet"
    TASK = "task"
    YOUNG = "young"
    HELD = "held"
    DELETING = "deleting"
    QUARANTINED = "quarantined"
    NO_UID = "no_uid"
    NO_POOL = "no_pool"
    NO_MARKER = "cannot_be_marked"
    INCOMPLETE = "incomplete_scope"


@dataclasses.dataclass(frozen=True)
class Step:
    """One intended step: exactly one of instance and leftover is set. :ivar value: of the mark that is written."""

    verb: Verb
    provider: str
    note: str
    instance: Instance | None = None
    leftover: Leftover | None = None
    value: str | None = None

    @property
    def deletes(self) -> bool:
        return self.verb in (Verb.DELETE, Verb.DELETE_LEFTOVER)

    @property
    def about(self) -> dict[str, t.Any]:
        return self.instance.as_result() if self.instance else self.leftover.as_result() if self.leftover else {}

    def as_result(self) -> dict[str, t.Any]:
        return {**self.about, "verb": self.verb.value, "note": self.note}


@dataclasses.dataclass(frozen=True)
class Keep:
    """An instance that stays, with the reason, and a sentence where there is more to say."""

    instance: Instance
    reason: Kept
    note: str = ""

    def as_result(self) -> dict[str, t.Any]:
        return {**self.instance.as_result(), "reason": self.reason.value, "note": self.note}


@dataclasses.dataclass(frozen=True)
class GcPlan:
    """:ivar fuse: why nothing is deleted at all, or None."""

    steps: tuple[Step, ...]
    kept: tuple[Keep, ...]
    fuse: str | None = None

    @functools.cached_property
    def now(self) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if not (self.fuse and s.deletes))

    @property
    def destructive(self) -> list[dict[str, t.Any]]:
        rows = []
        for step in self.steps:
            if step.verb is Verb.DELETE and step.instance:
                target = (step.instance.provider_id, step.instance.incarnation)
            elif step.verb is Verb.DELETE_LEFTOVER and step.leftover:
                target = (step.leftover.leftover_id, step.leftover.incarnation)
            else:
                continue
            rows.append({"verb": step.verb.value, "id": target[0], "incarnation": target[1]})
        return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))

    @property
    def plan_id(self) -> str:
        return hashlib.sha256(json.dumps(self.destructive, sort_keys=True).encode()).hexdigest()[:16]


#: What a Sweeper answered, by provider, or why it did not; providers without one are not in it.
Leftovers = t.Mapping[str, t.Union[LeftoverListing, EgressError]]


def newer_generation(desired: Desired, listings: Listings) -> int | None:
    """The generation on an instance that is newer than the document's, if any: then the document is an old copy."""
    seen = [
        instance.marks.generation
        for instances in Evidence.of(listings, frozenset()).by_uid.values()
        for instance in instances
        if instance.marks.generation is not None and instance.marks.install == desired.install
    ]
    newest = max(seen, default=-1)
    return newest if newest > (-1 if desired.generation is None else desired.generation) else None


def plan_gc(
    desired: Desired,
    listings: Listings,
    leftovers: Leftovers,
    markers: t.AbstractSet[str],
    rules: Rules,
    now: float,
) -> GcPlan:
    """Decide one collection.

    :param markers: providers that can set marks.
    :param now: Unix seconds.
    """
    live = {spec.uid for spec in desired.specs} | rules.live_uids
    mine = [i for i in Evidence.of(listings, frozenset()).instances if i.marks.install == desired.install]
    steps: list[Step] = []
    kept: list[Keep] = []
    for instance in sorted(mine, key=lambda i: (i.provider, i.provider_id)):
        decision = _decide(instance, desired, live, listings, markers, rules, now)
        if isinstance(decision, Keep):
            kept.append(decision)
            if decision.reason is Kept.LIVE and QUARANTINE in instance.marks.extra and instance.provider in markers:
                steps.append(Step(Verb.CLEAR, instance.provider, "its UID is live", instance))
        else:
            steps.append(decision)
    steps += _sweep(desired, leftovers, {i.marks.uid for i in mine} | live, rules, now)
    return GcPlan(tuple(steps), tuple(kept), _fuse(steps, len(mine), leftovers, rules.max_deletions))


def _decide(
    instance: Instance,
    desired: Desired,
    live: t.AbstractSet[str],
    listings: Listings,
    markers: t.AbstractSet[str],
    rules: Rules,
    now: float,
) -> Step | Keep:
    marks = instance.marks
    spared = _spared(instance, desired, live, rules)
    if spared is not None:
        return spared
    status = _status(listings, instance)
    if status is None or not status.complete:
        return Keep(instance, Kept.INCOMPLETE, f"{instance.scope.name} was not listed completely")
    if marks.held(now):
        until = marks.hold_until()
        return Keep(
            instance, Kept.HELD, "its hold mark is damaged; look at it" if until is None else f"until {until:.0f}"
        )
    if instance.created_at is not None and now - instance.created_at < rules.min_age:
        return Keep(instance, Kept.YOUNG, f"younger than {rules.min_age:.0f} s")
    if rules.sightings == 1:
        return Step(Verb.DELETE, instance.provider, "orphan", instance)
    if instance.provider not in markers:
        return Keep(instance, Kept.NO_MARKER, f"provider {instance.provider} cannot mark a first sighting")
    since = quarantined_since(marks, now)
    if since is None:
        return Step(Verb.QUARANTINE, instance.provider, "orphan, first sighting", instance, value=f"{int(now)}-orphan")
    if now - since < rules.min_age:
        return Keep(instance, Kept.QUARANTINED, f"since {int(since)}, for less than {rules.min_age:.0f} s")
    return Step(Verb.DELETE, instance.provider, f"orphan, in quarantine since {int(since)}", instance)


def _spared(instance: Instance, desired: Desired, live: t.AbstractSet[str], rules: Rules) -> Keep | None:
    """What is not ours to collect, whatever its age."""
    marks = instance.marks
    if not marks.uid:
        return Keep(instance, Kept.NO_UID, "its UID mark is missing; look at it")
    if marks.uid in live:
        return Keep(instance, Kept.LIVE)
    if instance.deleting:
        return Keep(instance, Kept.DELETING)
    if not marks.pool:
        return Keep(instance, Kept.NO_POOL, "its pool mark is missing, so it may be a task's; look at it")
    if marks.pool == TASK_POOL and not rules.collect_task:
        return Keep(instance, Kept.TASK, "proxies of tasks are collected only with collect_task")
    if marks.pool in desired.pools:
        return Keep(instance, Kept.FLEET, f"pool {marks.pool} is in the document, so egress_fleet removes it")
    return None


def quarantined_since(marks: Marks, now: float) -> float | None:
    """When a valid quarantine began: not one that is stale, unreadable or, by this clock, of the future."""
    match = re.match(r"([0-9]{1,12})-", marks.extra.get(QUARANTINE, ""))
    if match is None:
        return None
    since = float(match.group(1))
    return since if since <= now < since + STALE else None


def _status(listings: Listings, instance: Instance) -> ScopeStatus | None:
    listing = listings[instance.provider]
    return None if isinstance(listing, EgressError) else listing.scopes.get(instance.scope)


def _sweep(
    desired: Desired, leftovers: Leftovers, used: t.AbstractSet[str], rules: Rules, now: float
) -> t.Iterable[Step]:
    """Leftovers of this install that are old enough, in complete scopes, of proxies neither there nor wanted."""
    for name, answer in sorted(leftovers.items()):
        if isinstance(answer, EgressError):
            continue
        complete: set[Scope] = {scope for scope, status in answer.scopes.items() if status.complete}
        for leftover in sorted(answer.leftovers, key=lambda left: left.leftover_id):
            old = leftover.created_at is None or now - leftover.created_at >= rules.min_age
            idle = not leftover.marks.uid or leftover.marks.uid not in used
            if leftover.marks.install == desired.install and leftover.scope in complete and old and idle:
                yield Step(Verb.DELETE_LEFTOVER, name, f"{leftover.kind} that nothing uses", leftover=leftover)


def _fuse(steps: t.Sequence[Step], instances: int, leftovers: Leftovers, limit: Limit) -> str | None:
    count = sum(s.deletes for s in steps)
    total = instances + sum(len(a.leftovers) for a in leftovers.values() if isinstance(a, LeftoverListing))
    allowed = limit.of(total)
    if count <= allowed:
        return None
    return f"{count} deletions are due, max_deletions {limit} of {total} instances and leftovers allows {allowed}"
