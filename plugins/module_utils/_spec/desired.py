# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The desired state as the planner sees it: expanded, validated, without a trace of YAML."""

from __future__ import annotations

import dataclasses
import math
import typing as t

from .._marks import DEFAULT_PREFIX
from .._models import Guest, Placement

DEFAULT_NAMESPACE = "default"
DEFAULT_PORT = 3128


@dataclasses.dataclass(frozen=True)
class ProviderEntry:
    """One named provider of the document.

    :ivar config: the block under the key of its type, validated against that type's schema.
    """

    name: str
    type: str
    config: t.Mapping[str, t.Any] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A place where a proxy may live."""

    provider: str
    placement: Placement


@dataclasses.dataclass(frozen=True)
class ProxySpec:
    """One proxy that is to exist.

    :ivar candidates: the preferred place first; an instance at any of them is in the right place.
    """

    uid: str
    install: str
    namespace: str
    name: str
    pool: str
    port: int
    candidates: tuple[Candidate, ...]
    guest: Guest = dataclasses.field(repr=False)
    generation: int | None = None


@dataclasses.dataclass(frozen=True)
class Limit:
    """A number of proxies, or a percentage of them that is rounded up."""

    count: int | None = None
    percent: int | None = None

    @classmethod
    def parse(cls, text: str | int) -> Limit:
        """C(3) or C("40%"); anything else raises ValueError."""
        if isinstance(text, str) and text.endswith("%"):
            return cls(percent=int(text[:-1]))
        return cls(count=int(text))

    def of(self, total: int) -> int:
        if self.percent is None:
            return self.count or 0
        return math.ceil(total * self.percent / 100)

    def __str__(self) -> str:
        return str(self.count) if self.percent is None else f"{self.percent}%"


@dataclasses.dataclass(frozen=True)
class Policy:
    """Guards and budgets; the defaults are the document's.

    :ivar max_unavailable: how many of a pool's proxies may be down for voluntary reasons at a time.
    :ivar provision_timeout: seconds in which a proxy must begin to serve.
    :ivar max_deletions: the fuse; None for one explicitly named proxy.
    """

    max_unavailable: Limit = Limit(count=1)
    provision_timeout: float = 600.0
    max_deletions: Limit | None = Limit(percent=50)
    paused: bool = False


@dataclasses.dataclass(frozen=True)
class Desired:
    """All that one run is to make true.

    :ivar pools: whose undesired instances this run may delete; instances of other pools are not its business.
    :ivar uid: set when the run is about one proxy only; then nothing but that UID is looked at.
    """

    install: str
    specs: tuple[ProxySpec, ...]
    pools: tuple[str, ...]
    providers: tuple[ProviderEntry, ...] = ()
    policy: Policy = Policy()
    generation: int | None = None
    uid: str | None = None
    mark_prefix: str = DEFAULT_PREFIX
