# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What the options of a module make of a desired state."""

from __future__ import annotations

import dataclasses
import typing as t

from .._errors import ArgumentError, Reason
from .desired import Desired, Limit
from .validate import show


def select(desired: Desired, only: t.Sequence[str]) -> Desired:
    """Restrict a run to some pools; no pools mean no restriction.

    :raises ArgumentError: a pool that the document does not have.
    """
    if not only:
        return desired
    unknown = [name for name in only if name not in desired.pools]
    if unknown:
        allowed = ", ".join(desired.pools)
        raise ArgumentError([f"only: the document has no pool {show(name)} (allowed: {allowed})" for name in unknown])
    return dataclasses.replace(
        desired,
        specs=tuple(spec for spec in desired.specs if spec.pool in only),
        pools=tuple(name for name in desired.pools if name in only),
    )


def with_max_deletions(desired: Desired, value: str | None) -> Desired:
    """Put a module's C(max_deletions), which has been checked, in place of the document's; None changes nothing."""
    if value is None:
        return desired
    return dataclasses.replace(desired, policy=dataclasses.replace(desired.policy, max_deletions=Limit.parse(value)))


def require_not_empty(desired: Desired, allow_empty: bool) -> None:
    """Refuse to work from a document without proxies, which is more often a mistake than a wish.

    :raises ArgumentError: C(EmptyDesired).
    """
    if not desired.specs and not allow_empty:
        pools = ", ".join(desired.pools)
        raise ArgumentError(
            [f"no proxy is desired in {pools}: all that are there would be deleted (allowed with allow_empty)"],
            Reason.EMPTY_DESIRED,
        )
