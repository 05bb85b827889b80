# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""One collection: list, decide, quarantine, re-read, delete."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import typing as t

from .._context import Context
from .._engine.executor import Executor, Job, Outcome
from .._engine.observe import Providers, observe
from .._engine.progress import Lines
from .._errors import LATCHING_PROVIDER, EgressError, ErrorClass, ProviderError, Reason
from .._host import Host
from .._models import LeftoverListing, Selector
from .._plan.evidence import Listings
from .._spec.desired import Desired
from .._telemetry import ObservedProvider
from ..provider import Marker, Sweeper
from .plan import FAILURES, QUARANTINE, GcPlan, Leftovers, Rules, Step, Verb, newer_generation, plan_gc


@dataclasses.dataclass(frozen=True)
class Done:
    """:ivar result: deleted, deleting, quarantined, cleared, skipped (with the reason in note) or failed."""

    step: Step
    result: str
    note: str = ""
    error: EgressError | None = None

    @property
    def changed(self) -> bool:
        return self.result in ("deleted", "deleting", "quarantined", "cleared")

    def as_result(self) -> dict[str, t.Any]:
        return {**self.step.as_result(), "note": self.note or self.step.note, "result": self.result}


@dataclasses.dataclass(frozen=True)
class Collection:
    """How a collection went."""

    plan: GcPlan
    done: tuple[Done, ...]
    listings: Listings
    leftovers: Leftovers

    @property
    def failures(self) -> tuple[Done, ...]:
        return tuple(d for d in self.done if d.error is not None)


def collect(
    desired: Desired, rules: Rules, providers: Providers, host: Host, executor: Executor, timeout: float
) -> Collection:
    """:raises EgressError: C(StaleDocument), or cancelled; what goes wrong with single instances is in the result."""
    ctx = host.context(timeout)
    selector = Selector(desired.install)
    listings = observe(providers, selector, ctx, executor)
    newer = newer_generation(desired, listings)
    if newer is not None:
        raise EgressError(
            Reason.STALE_DOCUMENT,
            f"generation: {desired.generation} is older than {newer}, which an instance carries",
        )
    leftovers = _leftovers(providers, selector, ctx, executor)
    _stop_if_cancelled(host, ())
    markers = {name for name, provider in providers.ready.items() if isinstance(provider.inner, Marker)}
    made = plan_gc(desired, listings, leftovers, markers, rules, host.clock.now())
    if host.check_mode:
        return Collection(made, (), listings, leftovers)
    done: list[Done] = []
    failed = 0
    lines = Lines(host)
    for one in _carry_out(made.now, providers.ready, ctx, executor):
        done.append(one)
        failed += one.error is not None
        last = len(done) == len(made.now)
        lines.show(f"{len(done)} of {len(made.now)} steps of the collection done, {failed} failed", at_once=last)
    _stop_if_cancelled(host, done)
    unmarked = [d for d in done if d.error is not None and not d.step.deletes]
    if unmarked:  # fails nothing this time, but where it goes on nothing is ever collected
        host.warn(f"{len(unmarked)} quarantine marks could not be changed: {unmarked[0].note}")
    return Collection(made, tuple(done), listings, leftovers)


def _stop_if_cancelled(host: Host, done: t.Sequence[Done]) -> None:
    if host.cancel.is_set():
        error = EgressError(Reason.CANCELLED, "the collection was cancelled; the next one goes on")
        error.result = {"changed": any(d.changed for d in done), "actions": [d.as_result() for d in done]}
        raise error


def _leftovers(providers: Providers, selector: Selector, ctx: Context, executor: Executor) -> Leftovers:
    def job(provider: ObservedProvider) -> Job[LeftoverListing]:
        return Job("list_leftovers", provider.name, lambda: provider.list_leftovers(selector, ctx))

    sweepers = [p for _name, p in sorted(providers.ready.items()) if isinstance(p.inner, Sweeper)]
    answers: dict[str, LeftoverListing | EgressError] = {}
    for outcome in executor.run([job(p) for p in sweepers], ctx):
        answer = outcome.error or outcome.value
        if answer is not None:
            answers[sweepers[outcome.index].name] = answer
    return answers


def _carry_out(
    steps: t.Sequence[Step], providers: t.Mapping[str, ObservedProvider], ctx: Context, executor: Executor
) -> t.Iterator[Done]:
    """Marks go before deletions. The first deletion of each provider goes ahead: a refusal costs one error."""
    refused: set[str] = set()
    deletions = [s for s in steps if s.deletes]
    first = {s.provider: s for s in reversed(deletions)}
    marks = [s for s in steps if not s.deletes]
    ahead = [s for s in deletions if first[s.provider] is s]
    for batch in (marks, ahead, [s for s in deletions if first[s.provider] is not s]):
        due = [s for s in batch if s.provider not in refused]
        for step in batch:
            if step.provider in refused:
                yield Done(step, "skipped", f"provider {step.provider} refuses us")
        for outcome in executor.run([_job(step, providers[step.provider], ctx) for step in due], ctx):
            done = _done(due[outcome.index], outcome)
            if done.error is not None and done.error.reason in LATCHING_PROVIDER:
                refused.add(done.step.provider)
            yield done


def _job(step: Step, provider: ObservedProvider, ctx: Context) -> Job[tuple[str, str]]:
    return Job(step.verb.value, step.provider, lambda: _perform(step, provider, ctx))


def _done(step: Step, outcome: Outcome[tuple[str, str]]) -> Done:
    if outcome.error is not None:
        return Done(step, "failed", outcome.error.message, outcome.error)
    result, note = outcome.value or ("skipped", "")
    return Done(step, result, note)


def _perform(step: Step, provider: ObservedProvider, ctx: Context) -> tuple[str, str]:
    """What was done, and why not more."""
    if step.leftover is not None:
        provider.delete_leftover(step.leftover, ctx)
        return "deleted", ""
    instance = step.instance
    if instance is None:
        raise ValueError("a step needs an instance or a leftover")
    if step.verb is not Verb.DELETE:
        provider.set_mark(instance.ref, QUARANTINE, step.value, ctx)
        return ("quarantined" if step.verb is Verb.QUARANTINE else "cleared"), ""
    changed = _changed_since(step, provider, ctx)
    if changed is not None:
        return "skipped", changed
    try:
        return provider.delete(instance.ref, ctx).outcome.value.replace("gone", "deleted"), ""
    except ProviderError:
        if isinstance(provider.inner, Marker):
            # So that whoever looks at the instance sees that this is not the first time.
            before = instance.marks.extra.get(FAILURES, "0")
            count = int(before) + 1 if re.fullmatch("[0-9]{1,9}", before) else 1
            with contextlib.suppress(ProviderError):  # what failed is the deletion
                provider.set_mark(instance.ref, FAILURES, str(count), ctx)
        raise


def _changed_since(step: Step, provider: ObservedProvider, ctx: Context) -> str | None:
    """Why the instance must not be deleted after all: it is read again right before *every* deletion (rule 8)."""
    seen = step.instance
    if seen is None:
        raise ValueError("only instances are read again")
    try:
        now = provider.get(seen.provider_id, ctx)
    except ProviderError as error:
        if error.error_class is ErrorClass.NOT_FOUND:
            return "it is gone already"
        raise
    if now.incarnation != seen.incarnation:
        return "another instance has that name by now"
    if now.marks != seen.marks:
        return "its marks have changed since it was listed"
    return "it is being deleted already" if now.deleting else None
