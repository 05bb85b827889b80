# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""How far listings can be believed, and what they say about one proxy."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

from .._errors import EgressError
from .._marks import TASK_POOL
from .._models import Instance, Listing, Placement, Scope
from .._spec.desired import Desired
from .resolve import Place, Slot

#: What a provider answered to C(list_by_tag), or why it did not.
Listings = t.Mapping[str, t.Union[Listing, EgressError]]


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The listings of one pass, indexed.

    :ivar by_uid: live and dying instances that have a UID, each incarnation once.
    :ivar unidentified: managed instances without a UID; reported, never acted on.
    """

    listings: Listings
    assume_gone: frozenset[tuple[str, Scope]]
    by_uid: t.Mapping[str, tuple[Instance, ...]]
    unidentified: tuple[Instance, ...]

    @classmethod
    def of(cls, listings: Listings, assume_gone: frozenset[tuple[str, Scope]]) -> Evidence:
        by_uid: dict[str, list[Instance]] = {}
        unidentified = []
        for instance in _distinct(listings):
            if instance.marks.uid:
                by_uid.setdefault(instance.marks.uid, []).append(instance)
            else:
                unidentified.append(instance)
        return cls(listings, assume_gone, {uid: tuple(found) for uid, found in by_uid.items()}, tuple(unidentified))

    @property
    def instances(self) -> list[Instance]:
        """All of them, each incarnation once, whichever entries show it."""
        return [*(i for found in self.by_uid.values() for i in found), *self.unidentified]

    def doubts(self, slot: Slot) -> list[str]:
        """Why absence of this proxy can't be believed; empty when every candidate scope is complete (rule 1)."""
        return list(dict.fromkeys(doubt for place in slot.places for doubt in self._doubts(place)))

    def gaps(self, desired: Desired) -> list[str]:
        """Every incomplete scope that matters to this run.

        A fleet run must know all scopes, or it could not tell what it has to remove; a run for one present proxy only
        those where it may live (rule 10).
        """
        one = desired.uid is not None and desired.specs
        names = {c.provider for spec in desired.specs for c in spec.candidates} if one else set(self.listings)
        return [doubt for name in sorted(names) for doubt in self._doubts(Place(name, Placement()))]

    def target(self, slot: Slot) -> tuple[Place, Scope | None] | None:
        """Where to create: the first candidate that is not assumed to be gone; None when all of them are."""
        for place in slot.places:
            scope = self._scope_for(slot.spec.uid, place)
            if (place.provider, scope) not in self.assume_gone:
                return place, scope
        return None

    def _scope_for(self, uid: str, place: Place) -> Scope | None:
        """The place's scope, or one by rendezvous hash of (uid, scope), so that two runs agree."""
        if place.scope is not None:
            return place.scope
        listing = self.listings[place.provider]
        known = listing.scopes if isinstance(listing, Listing) else ()
        usable = [s for s in known if (place.provider, s) not in self.assume_gone]
        return max(usable, key=lambda s: hashlib.sha256(f"{uid}\0{s.name}".encode()).digest(), default=None)

    def _doubts(self, place: Place) -> list[str]:
        assumed = {scope for provider, scope in self.assume_gone if provider == place.provider}
        listing = self.listings[place.provider]
        if not isinstance(listing, Listing):
            if place.scope in assumed:
                return []
            return [f"provider {place.provider} could not be listed: {listing.message}"]
        wanted = [place.scope] if place.scope is not None else sorted(listing.scopes)
        if not wanted:
            return [f"provider {place.provider} named no scope in its list"]
        return [
            f"provider {place.provider}, {scope.name}: {why}"
            for scope in wanted
            for why in [_incomplete(listing, scope)]
            if why and scope not in assumed
        ]


def is_task(pool: str) -> bool:
    """Proxies of tasks and of documents never adopt each other."""
    return pool == TASK_POOL


def _incomplete(listing: Listing, scope: Scope) -> str | None:
    status = listing.scopes.get(scope)
    if status is None:
        return "not in the list's answer"
    if status.complete:
        return None
    return f"{status.completeness.value}, {status.reason}: {status.message}"


def _distinct(listings: Listings) -> t.Iterable[Instance]:
    """Two entries over one scope show the same incarnation twice; the provider mark decides whose it is."""
    seen: dict[tuple[str, str], Instance] = {}
    for name in sorted(listings):
        listing = listings[name]
        if not isinstance(listing, Listing):
            continue
        for instance in listing.instances:
            key = (instance.name, instance.incarnation)
            if key not in seen or instance.provider == instance.marks.provider:
                seen[key] = instance
    return seen.values()
