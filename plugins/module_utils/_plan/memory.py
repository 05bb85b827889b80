# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What planning may know besides the document and the listings: what this run and earlier ones have learnt."""

from __future__ import annotations

import dataclasses
import typing as t

from .._errors import EgressError, ProviderError
from .._models import Instance, Scope, State
from .model import Subject


@dataclasses.dataclass(frozen=True)
class Latch:
    """A create that was refused for good: not repeated until the specification is edited.

    :ivar key: C(Slot.latch_key) of what was refused.
    """

    key: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True)
class Sighting:
    """When an instance was first seen as it is now. :ivar since: Unix seconds."""

    incarnation: str
    state: str
    since: float


@dataclasses.dataclass(frozen=True)
class Failure:
    """The last thing that went wrong with one proxy, until it succeeds."""

    subject: Subject
    error: EgressError

    def as_result(self) -> dict[str, t.Any]:
        return {**self.subject.as_result(), **self.error.as_result()}


@dataclasses.dataclass
class Memory:
    """Filled by the engine, read by the planner.

    The first two outlive the run in the ledger, keyed by UID; the others are of this run.

    :ivar not_before: Unix seconds before which nothing is tried again, by UID or (deletes) by incarnation.
    :ivar attempts: how often something was tried, by the same keys.
    :ivar failures: by the same keys; removed when it succeeds.
    :ivar spent: keys that are not tried again in this run.
    :ivar providers: entries that refuse us altogether (Unauthorized, Forbidden).
    :ivar refused: pools in which a create met a quota or a lack of capacity.
    :ivar fused: serving proxies that this run has deleted, by pool. :ivar baseline: instances when it began, by pool.
    """

    latches: dict[str, Latch] = dataclasses.field(default_factory=dict)
    sightings: dict[str, Sighting] = dataclasses.field(default_factory=dict)
    not_before: dict[str, float] = dataclasses.field(default_factory=dict)
    attempts: dict[str, int] = dataclasses.field(default_factory=dict)
    failures: dict[str, Failure] = dataclasses.field(default_factory=dict)
    spent: set[str] = dataclasses.field(default_factory=set)
    providers: dict[str, ProviderError] = dataclasses.field(default_factory=dict)
    refused: set[str] = dataclasses.field(default_factory=set)
    fused: dict[str, int] = dataclasses.field(default_factory=dict)
    baseline: dict[str, int] = dataclasses.field(default_factory=dict)

    def since(self, instance: Instance, now: float) -> float:
        """When the instance came into its present state: the backend's word, else the first sighting, else now.

        Never in the future, so that a clock that was set back delays a timeout and never triggers one.
        """
        if instance.since is not None:
            return min(instance.since, now)
        seen = self.sightings.get(instance.marks.uid)
        if seen is not None and (seen.incarnation, seen.state) == (instance.incarnation, sighted(instance)):
            return min(seen.since, now)
        return now


def sighted(instance: Instance) -> str:
    return "deleting" if instance.deleting else instance.state.value


def worth_sighting(instance: Instance) -> bool:
    """Only what can time out needs a memory of when it began."""
    return instance.deleting or instance.state is State.PROVISIONING


@dataclasses.dataclass(frozen=True)
class Wishes:
    """The user's overrides for one run.

    :ivar assume_gone: (provider, scope) that count as complete and empty.
    :ivar hold: Unix seconds until which a proxy is protected, by UID; a time in the past releases it.
    :ivar skip_cleanup: UID -> (namespace, name) of undesired proxies that are let go without a delete.
    :ivar retry: UIDs that are replaced when stuck; the engine forgets their latches when it begins.
    """

    assume_gone: frozenset[tuple[str, Scope]] = frozenset()
    hold: t.Mapping[str, float] = dataclasses.field(default_factory=dict)
    skip_cleanup: t.Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    retry: frozenset[str] = frozenset()

    def held(self, instance: Instance, now: float) -> bool:
        """As wished; else as its mark says."""
        until = self.hold.get(instance.marks.uid)
        return instance.marks.held(now) if until is None else until > now
