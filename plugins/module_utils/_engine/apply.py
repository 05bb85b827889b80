# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Carrying out the actions of one pass, and learning from what comes of them."""

from __future__ import annotations

import dataclasses
import random
import typing as t

from .._context import Context
from .._errors import LATCHING, LATCHING_PROVIDER, EgressError, ErrorClass, ProviderError, Reason
from .._marks import Marks
from .._models import CreateOutcome, CreateRequest, DeleteOutcome, Instance, InstanceRef, State
from .._names import instance_name
from .._plan.memory import Failure, Latch, Memory
from .._plan.model import Action, Verb
from .._plan.slot import MAX_ATTEMPTS
from .._spec.hashing import CURRENT_VERSION
from .._telemetry import ObservedProvider
from .executor import Executor, Job
from .observe import Touched

#: Seconds after which a create that met a quota is tried again, where the backend names no time of its own.
QUOTA_RETRY = 300.0
_BACKOFF_FIRST, _BACKOFF_MOST = 1.0, 60.0


@dataclasses.dataclass(frozen=True)
class Step:
    """One backend call that succeeded: created, adopted, deleted, deleting or marked.

    :ivar instance: what it is by now, where the call told and it need not be looked at before the next poll.
    """

    what: str
    provider: str
    provider_id: str
    instance: Instance | None = None


@dataclasses.dataclass(frozen=True)
class Done:
    """What came of one action. A replacement may have deleted and then failed to create: both are told."""

    action: Action
    steps: tuple[Step, ...]
    error: EgressError | None = None

    @property
    def changed(self) -> bool:
        return any(step.what != CreateOutcome.ADOPTED.value for step in self.steps)

    @property
    def touched(self) -> dict[Touched, Instance | None]:
        """What has changed, and what is known of it; a later step knows better."""
        return {Touched(step.provider, step.provider_id): step.instance for step in self.steps}

    @property
    def gone(self) -> set[tuple[str, str]]:
        """Name and incarnation of what a delete has ended: that is certain, also when the look after it fails."""
        instance = self.action.instance
        deleted = any(step.what == "deleted" for step in self.steps)
        return {(instance.name, instance.incarnation)} if deleted and instance is not None else set()

    def as_result(self) -> dict[str, t.Any]:
        result = [step.what for step in self.steps] + (["failed"] if self.error else [])
        return {**self.action.as_result(), "result": result or ["skipped"]}


def apply(
    actions: t.Sequence[Action],
    providers: t.Mapping[str, ObservedProvider],
    memory: Memory,
    ctx: Context,
    executor: Executor,
    rng: random.Random,
) -> t.Iterator[Done]:
    """Carry out what a plan intends now; yields as results come in.

    What costs nothing that serves goes first, so that a refusal is known before a serving proxy is taken down. The
    first call of each provider goes ahead of the others: wrong credentials cost one error, not a thousand.
    """
    order = sorted(actions, key=lambda a: (a.voluntary, a.destructive))
    proven = {a.provider: a for a in reversed(order)}
    canaries = [a for a in order if proven[a.provider] is a]
    for batch in (canaries, [a for a in order if proven[a.provider] is not a]):
        works = [_Work(action, providers, memory, ctx) for action in batch]
        jobs = [Job(work.op, work.action.provider, work.run) for work in works]
        for outcome in executor.run(jobs, ctx):
            work = works[outcome.index]
            _learn(work, outcome.error, memory, ctx.clock.now(), rng)
            yield Done(work.action, tuple(work.steps), outcome.error)


class _Work:
    """One action under way. C(op) tells what was being tried when an error came out."""

    def __init__(
        self, action: Action, providers: t.Mapping[str, ObservedProvider], memory: Memory, ctx: Context
    ) -> None:
        self.action = action
        self.op = "create" if action.verb is Verb.CREATE else "mark" if action.verb is Verb.MARK else "delete"
        self.steps: list[Step] = []
        self._providers = providers
        self._memory = memory
        self._ctx = ctx

    @property
    def key(self) -> str:
        """What the memory files a failure under: the proxy for a create, this one instance for anything else."""
        instance = self.action.instance
        return instance.incarnation if self.op != "create" and instance else self.action.subject.uid

    def run(self) -> None:
        action, memory = self.action, self._memory
        if action.provider in memory.providers or (action.voluntary and action.subject.pool in memory.refused):
            return  # learnt since the plan was made; the next plan says so
        if action.mark is not None and action.instance is not None:
            key, value = action.mark
            self._providers[action.instance.provider].set_mark(action.instance.ref, key, value, self._ctx)
            self._step("marked", action.instance.provider, action.instance.provider_id)
            return
        if action.instance is not None and not self._deleted(action.instance.provider, action.instance.ref):
            return
        if action.verb is not Verb.DELETE:
            self._create()

    def _deleted(self, provider: str, ref: InstanceRef) -> bool:
        outcome = self._providers[provider].delete(ref, self._ctx).outcome
        self._step("deleted" if outcome is DeleteOutcome.GONE else "deleting", provider, ref.provider_id)
        return outcome is DeleteOutcome.GONE

    def _create(self) -> None:
        self.op = "create"
        created = self._providers[self.action.provider].create(request_for(self.action), self._ctx)
        told = created.instance
        if told is not None and (told.state is not State.PROVISIONING or told.deleting):
            told = None  # whether it serves is for a look to say, after the pass; what provisions gets one anyway
        self._step(created.outcome.value, self.action.provider, created.provider_id, told)

    def _step(self, what: str, provider: str, provider_id: str, instance: Instance | None = None) -> None:
        self.steps.append(Step(what, provider, provider_id, instance))


def request_for(action: Action) -> CreateRequest:
    """The create that an action asks for."""
    if action.slot is None or action.place is None or action.scope is None:
        raise ValueError(f"{action.verb.value} of {action.subject} has no place to create in")
    spec = action.slot.spec
    marks = Marks(
        uid=spec.uid,
        install=spec.install,
        namespace=spec.namespace,
        name=spec.name,
        pool=spec.pool,
        provider=action.provider,
        port=spec.port,
        spec_hash=action.place.digest,
        spec_version=CURRENT_VERSION,
        generation=spec.generation,
    )
    return CreateRequest(instance_name(spec.uid), action.scope, action.place.placement, spec.port, spec.guest, marks)


def _learn(work: _Work, error: EgressError | None, memory: Memory, now: float, rng: random.Random) -> None:
    """The reaction to each class of error, with its deletion column (C(providers.md), section 3)."""
    key, subject = work.key, work.action.subject
    tried = bool(work.steps) or error is not None
    if tried:
        memory.attempts[key] = memory.attempts.get(key, 0) + 1
    attempts = memory.attempts.get(key, 0)
    if any(step.what in ("deleted", "deleting") for step in work.steps) and work.action.fused:
        memory.fused[subject.pool] = memory.fused.get(subject.pool, 0) + 1
    if error is None:
        memory.failures.pop(key, None)
        if attempts > 1:
            # What dies at once is not made anew at once, nor is a delete repeated in a hurry that showed no effect.
            memory.not_before[key] = now + _backoff(attempts - 1, rng)
        return
    if error.reason is Reason.CANCELLED:
        return
    memory.failures[key] = Failure(subject, error)
    if not isinstance(error, ProviderError) or error.reason is Reason.BUG:
        memory.spent.add(key)
    elif error.reason in LATCHING_PROVIDER:
        memory.providers[error.provider] = error
    elif error.error_class is ErrorClass.QUOTA_EXCEEDED:
        memory.refused.add(subject.pool)
        memory.not_before[key] = now + (error.retry_after or QUOTA_RETRY)
    elif error.error_class is ErrorClass.PERMANENT and work.op == "create":
        memory.spent.add(key)
        if error.reason in LATCHING and work.action.slot is not None:
            memory.latches[key] = Latch(work.action.slot.latch_key, error.reason.wire, error.message)
    elif error.error_class is ErrorClass.PERMANENT and attempts >= MAX_ATTEMPTS:
        memory.spent.add(key)
    else:
        memory.not_before[key] = now + max(error.retry_after or 0.0, _backoff(attempts, rng))


def _backoff(attempts: int, rng: random.Random) -> float:
    """Exponential with full jitter above half."""
    most: float = min(_BACKOFF_MOST, _BACKOFF_FIRST * 2 ** (attempts - 1))
    return most * rng.uniform(0.5, 1.0)
