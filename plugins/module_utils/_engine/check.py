# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""One round of checks: every provider's Checker at the same time, under one deadline."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from .._context import Context
from .._errors import EgressError
from .._models import CheckReason, TargetStatus
from .._spec.desired import ProviderEntry
from .._telemetry import ObservedProvider
from ..provider import Checker
from .executor import Executor, Job
from .observe import Providers


class Verdict(enum.Enum):
    """UNSUPPORTED: the provider is no Checker, which is no failure."""

    READY = "ready"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


@dataclasses.dataclass(frozen=True)
class Check:
    """How one provider stands.

    :ivar targets: in the provider's own order; none when the provider as a whole gave no answer.
    :ivar error: why it gave none.
    """

    entry: ProviderEntry
    verdict: Verdict
    targets: tuple[TargetStatus, ...] = ()
    error: EgressError | None = None

    def as_result(self) -> dict[str, t.Any]:
        return {
            "provider": self.entry.name,
            "type": self.entry.type,
            "status": self.verdict.value,
            "reason": self.error.reason.wire if self.error else None,
            "message": self.error.message if self.error else None,
            "targets": [target.as_result() for target in self.targets],
        }


def check_all(
    entries: t.Sequence[ProviderEntry], providers: Providers, ctx: Context, executor: Executor
) -> list[Check]:
    """One entry for each, in their order, whatever happens. A Checker that raises, or is late, costs only its own."""
    checks = {
        entry.name: Check(entry, Verdict.FAILED, error=providers.broken[entry.name])
        if entry.name in providers.broken
        else Check(entry, Verdict.UNSUPPORTED)
        for entry in entries
    }
    asked = [e for e in entries if e.name in providers.ready and isinstance(providers.ready[e.name].inner, Checker)]
    for outcome in executor.run([_job(providers.ready[entry.name], ctx) for entry in asked], ctx):
        entry = asked[outcome.index]
        if outcome.value is None:
            checks[entry.name] = Check(entry, Verdict.FAILED, error=outcome.error)
        else:
            ready = all(target.ready for target in outcome.value)
            checks[entry.name] = Check(entry, Verdict.READY if ready else Verdict.FAILED, outcome.value)
    return list(checks.values())


def _job(provider: ObservedProvider, ctx: Context) -> Job[tuple[TargetStatus, ...]]:
    return Job("check", provider.name, lambda: _targets(provider, ctx))


def _targets(provider: ObservedProvider, ctx: Context) -> tuple[TargetStatus, ...]:
    found = tuple(provider.check(ctx))
    if not all(isinstance(status, TargetStatus) for status in found):
        raise TypeError("a bug of the provider, told as one")
    if found:
        return found
    message = "its check named no target"
    return (TargetStatus(provider.name, False, CheckReason.API_ERROR.value, message),)
