# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What the creates of a plan would be refused with, as far as backends can say so without doing them."""

from __future__ import annotations

import dataclasses
import typing as t

from .._context import Context
from .._plan.model import Action, Plan, Subject, Verb
from .._telemetry import ObservedProvider
from ..provider import Preflight
from .apply import request_for
from .executor import Executor, Job


@dataclasses.dataclass(frozen=True)
class Finding:
    """One reason to refuse.

    :ivar subject: the first of the proxies that it is about.
    :ivar proxies: how many are made from the same specification.
    """

    subject: Subject
    provider: str
    scope: str | None
    proxies: int
    message: str

    def as_result(self) -> dict[str, t.Any]:
        return {
            **self.subject.as_result(),
            "provider": self.provider,
            "scope": self.scope,
            "proxies": self.proxies,
            "message": self.message,
        }


def preflight(
    plan: Plan, providers: t.Mapping[str, ObservedProvider], ctx: Context, executor: Executor
) -> list[Finding]:
    """One question for each distinct specification of a pool; what could not be asked is a finding too."""
    alike: dict[tuple[str, str, str], list[Action]] = {}
    for action in plan.actions:
        if action.verb in (Verb.CREATE, Verb.REPLACE) and isinstance(providers[action.provider].inner, Preflight):
            digest = action.place.digest if action.place else ""
            alike.setdefault((action.provider, action.subject.pool, digest), []).append(action)
    groups = list(alike.values())
    findings = []
    for outcome in executor.run([_job(group[0], providers, ctx) for group in groups], ctx):
        first = groups[outcome.index][0]
        messages = [f"could not be tried: {outcome.error.message}"] if outcome.error else outcome.value or []
        scope = first.scope.name if first.scope else None
        findings += [Finding(first.subject, first.provider, scope, len(groups[outcome.index]), m) for m in messages]
    return sorted(findings, key=lambda f: (f.provider, f.subject.pool, f.subject.name, f.message))


def _job(action: Action, providers: t.Mapping[str, ObservedProvider], ctx: Context) -> Job[list[str]]:
    provider = providers[action.provider]
    return Job("preflight", action.provider, lambda: provider.preflight(request_for(action), ctx))
