# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Where each desired proxy may live and what it would be made of there; resolved once per run, before planning."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from .._errors import EgressError, ProviderError
from .._models import Guest, Instance, Placement, Scope
from .._spec.desired import Candidate, Desired, ProxySpec
from .._spec.hashing import CURRENT_VERSION, spec_hash
from ..provider import Provider


@dataclasses.dataclass(frozen=True)
class Place:
    """One candidate of a proxy, as its provider understands it.

    :ivar scope: None when any scope of the provider may serve.
    :ivar content: what the spec hash is taken of; empty when there is a fault.
    :ivar settings: digest of the provider entry's whole configuration block.
    :ivar fault: why nothing can ever be created here as it is specified.
    """

    provider: str
    placement: Placement
    scope: Scope | None = None
    content: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict, repr=False)
    digest: str = ""
    settings: str = ""
    fault: EgressError | None = None

    def holds(self, instance: Instance) -> bool:
        return self.provider == instance.provider and self.scope in (None, instance.scope)

    def made(self, instance: Instance) -> bool:
        """Whether the instance is what would be made here. Where it can't be compared, it is given the benefit.

        An instance whose hash was wiped, or written by a newer release, must not be replaced for that.
        """
        marks = instance.marks
        if self.fault is not None or not marks.spec_hash:
            return True
        expected = self.digest if marks.spec_version == CURRENT_VERSION else spec_hash(self.content, marks.spec_version)
        return expected is None or expected == marks.spec_hash


@dataclasses.dataclass(frozen=True)
class Slot:
    """One name under which one proxy may live.

    :ivar places: the preferred one first.
    """

    spec: ProxySpec
    places: tuple[Place, ...]

    @property
    def latch_key(self) -> str:
        """Changes with every edit that could cure a permanent refusal."""
        place = self.places[0]
        return _digest(place.provider, place.placement, place.digest, place.settings)


def resolve(
    desired: Desired, providers: t.Mapping[str, Provider], broken: t.Mapping[str, EgressError]
) -> tuple[Slot, ...]:
    """Pure, since C(scope_of) and C(spec_content) are. Members of a pool share their places.

    :param broken: entries that could not be built, and why.
    """
    known: dict[tuple[Candidate, int, int], Place] = {}
    settings = {e.name: _digest(json.dumps(e.config, sort_keys=True, default=str)) for e in desired.providers}

    def place(candidate: Candidate, port: int, guest: Guest) -> Place:
        # A guest can be large and is shared by the members of a pool: its identity is enough within one run.
        key = (candidate, port, id(guest))
        if key not in known:
            fault = broken.get(candidate.provider)
            made = (
                Place(candidate.provider, candidate.placement, fault=fault)
                if fault
                else _place(candidate, port, guest, providers[candidate.provider])
            )
            known[key] = dataclasses.replace(made, settings=settings.get(candidate.provider, ""))
        return known[key]

    return tuple(Slot(spec, tuple(place(c, spec.port, spec.guest) for c in spec.candidates)) for spec in desired.specs)


def _place(candidate: Candidate, port: int, guest: Guest, provider: Provider) -> Place:
    try:
        scope = provider.scope_of(candidate.placement)
        content = provider.spec_content(candidate.placement, port, guest)
    except ProviderError as fault:
        return Place(candidate.provider, candidate.placement, fault=fault)
    return Place(candidate.provider, candidate.placement, scope, content, spec_hash(content) or "")


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
