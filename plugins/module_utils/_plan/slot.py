# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What is to be done about one desired proxy: the reaction table, and rules 1 to 3, 5 and 10 of the design."""

from __future__ import annotations

import dataclasses

from .._errors import Reason
from .._models import Instance, Scope, State
from .evidence import Evidence, is_task
from .memory import Memory, Wishes
from .model import Action, Cause, Report, Status, Subject, Verb
from .resolve import Place, Slot

#: After so many creations in one run that ended dead, the proxy is given up until the next run.
MAX_ATTEMPTS = 3


@dataclasses.dataclass(frozen=True)
class Question:
    """All that is known about one slot."""

    slot: Slot
    instances: tuple[Instance, ...]
    evidence: Evidence
    memory: Memory
    wishes: Wishes
    provision_timeout: float
    now: float

    def held(self, instance: Instance) -> bool:
        return self.wishes.held(instance, self.now)


@dataclasses.dataclass(frozen=True)
class Answer:
    """:ivar leaving: further instances of the proxy that are being deleted already."""

    report: Report
    actions: tuple[Action, ...] = ()
    leaving: tuple[Instance, ...] = ()


def answer(question: Question) -> Answer:
    """One slot's report and intended actions; budgets, fuse and pause come afterwards."""
    slot, instances = question.slot, question.instances
    subject = Subject.of_slot(slot)
    stranger = next((i for i in instances if is_task(i.marks.pool) != is_task(slot.spec.pool)), None)
    if stranger is not None:
        maker = "egress_proxy" if is_task(stranger.marks.pool) else "a desired document"
        message = f"{stranger.provider_id} was made by {maker} for the same install, namespace and name"
        return Answer(_blocked(subject, Reason.CONFLICT.wire, message, stranger))
    living = [i for i in instances if not i.deleting]
    if living:
        kept, *surplus = sorted(living, key=lambda i: _worth(slot, i))
        extra = tuple(_surplus(subject, i) for i in surplus if not question.held(i))
        main = _existing(question, subject, kept)
        # The others go before anything is created under the name.
        actions = extra + tuple(a.later("surplus goes first") for a in main.actions) if extra else main.actions
        return Answer(main.report, actions, leaving=tuple(i for i in instances if i.deleting))
    if instances:
        return Answer(_leaving(question, subject, instances[0]))
    return _absent(question, subject)


def _worth(slot: Slot, instance: Instance) -> tuple[bool, bool, float]:
    place = _place_of(slot, instance)
    matches = place is not None and place.made(instance)
    return (not matches, not instance.serves, instance.created_at or 0.0)


def _place_of(slot: Slot, instance: Instance) -> Place | None:
    """Several candidates may be in one scope (zones of a Kubernetes namespace): then that which made it, if any did."""
    holding = [p for p in slot.places if p.holds(instance)]
    return next((p for p in holding if p.made(instance)), holding[0] if holding else None)


def _existing(question: Question, subject: Subject, instance: Instance) -> Answer:
    difference = _difference(question.slot, instance)
    if instance.serves:
        if difference is None:
            return Answer(Report(subject, Status.RUNNING, instance))
        return _replaced(question, subject, instance, *difference, voluntary=True)
    if instance.state is State.UNKNOWN:
        return Answer(
            Report(
                subject,
                Status.UNKNOWN,
                instance,
                instance.cause,
                instance.message or "the backend can't tell its state",
            )
        )
    if instance.state is not State.PROVISIONING:
        note = f"{instance.state.value}: {instance.cause}" if instance.cause else instance.state.value
        return _replaced(question, subject, instance, Cause.DEAD, note)
    if difference is not None:
        return _replaced(question, subject, instance, *difference)
    waited = question.now - question.memory.since(instance, question.now)
    if waited < question.provision_timeout:
        return Answer(Report(subject, Status.PROVISIONING, instance, instance.cause, instance.message, pending=True))
    note = f"has not begun to serve in {question.provision_timeout:.0f} s"
    if subject.uid in question.wishes.retry:
        return _replaced(question, subject, instance, Cause.STUCK, note)
    return Answer(
        _blocked(
            subject,
            "ProvisionTimeout",
            f"{note}: {instance.message or 'no reason given'}; name it in retry to replace it",
            instance,
        )
    )


def _difference(slot: Slot, instance: Instance) -> tuple[Cause, str] | None:
    """Why the instance is not what is desired. Its location counts only when it is no candidate any more."""
    place = _place_of(slot, instance)
    if place is None:
        return Cause.MISPLACED, f"{instance.provider} {instance.scope.name} is no candidate"
    if place.fault is not None:
        return Cause.DRIFTED, place.fault.message
    if not place.made(instance):
        return Cause.DRIFTED, f"specification {instance.marks.spec_hash} became {place.digest}"
    if instance.marks.pool and instance.marks.pool != slot.spec.pool:
        return Cause.DRIFTED, f"pool {instance.marks.pool} became {slot.spec.pool}"
    return None


def _replaced(
    question: Question, subject: Subject, instance: Instance, cause: Cause, note: str, voluntary: bool = False
) -> Answer:
    """Replace what is there, unless nothing could take its place: what serves badly is better than nothing."""
    status = Status.RUNNING if instance.serves else _STATUS[instance.state]
    if question.held(instance):
        held = f"held, although {cause.value}: {note}"
        return Answer(Report(subject, status if instance.serves else Status.BLOCKED, instance, "Held", held))
    target = _target(question)
    if isinstance(target, Report):
        obstacle = target
        # What serves keeps serving, and keeps counting as such, where only the evidence is lacking.
        kept = status if instance.serves and obstacle.status is Status.UNKNOWN else obstacle.status
        return Answer(dataclasses.replace(obstacle, status=kept, instance=instance))
    place, scope = target
    action = Action(
        Verb.REPLACE,
        cause,
        subject,
        place.provider,
        note=note,
        instance=instance,
        slot=question.slot,
        place=place,
        scope=scope,
        voluntary=voluntary,
    )
    return _paced(question, Report(subject, status, instance, pending=True), action, instance.incarnation)


def _absent(question: Question, subject: Subject) -> Answer:
    target = _target(question)
    if isinstance(target, Report):
        return Answer(target)
    place, scope = target
    action = Action(Verb.CREATE, Cause.ABSENT, subject, place.provider, slot=question.slot, place=place, scope=scope)
    return _paced(question, Report(subject, Status.ABSENT, pending=True), action, subject.uid)


def _target(question: Question) -> tuple[Place, Scope | None] | Report:
    """Where to create, or what forbids a create for this slot at all (as opposed to: for now)."""
    slot, memory = question.slot, question.memory
    subject, target = Subject.of_slot(slot), question.evidence.target(slot)
    if target is None:
        return _blocked(subject, "AssumedGone", "every place where it may live is in assume_gone")
    place = target[0]
    if place.fault is not None:
        return _blocked(subject, place.fault.reason.wire, place.fault.message)
    latch = memory.latches.get(subject.uid)
    if latch is not None and latch.key == slot.latch_key:
        return _blocked(subject, latch.reason, f"{latch.message}; edit it, or name it in retry")
    if place.provider in memory.providers:
        refusal = memory.providers[place.provider]
        return _blocked(subject, refusal.reason.wire, f"provider {place.provider} refuses us: {refusal.message}")
    if subject.uid in memory.spent:
        error = memory.failures[subject.uid].error
        return _blocked(subject, error.reason.wire, error.message)
    doubts = question.evidence.doubts(slot)
    if doubts:
        return Report(subject, Status.UNKNOWN, reason=Reason.INCOMPLETE_EVIDENCE.wire, message="; ".join(doubts))
    return target


def _paced(question: Question, report: Report, action: Action, key: str) -> Answer:
    """Hold an action back while it backs off, and give up on what keeps dying."""
    memory = question.memory
    if action.cause is Cause.DEAD and memory.attempts.get(report.subject.uid, 0) >= MAX_ATTEMPTS:
        last = report.instance.message if report.instance else None
        message = f"died {MAX_ATTEMPTS} times in this run: {action.note}: {last or 'no reason given'}"
        return Answer(_blocked(report.subject, "CrashLoop", message, report.instance))
    if key in memory.spent:
        error = memory.failures[key].error
        return Answer(_blocked(report.subject, error.reason.wire, error.message, report.instance))
    wait = max(memory.not_before.get(key, 0.0), memory.not_before.get(report.subject.uid, 0.0)) - question.now
    if wait <= 0:
        return Answer(report, (action,))
    failure = memory.failures.get(key) or memory.failures.get(report.subject.uid)
    if failure is not None:
        report = dataclasses.replace(report, reason=failure.error.reason.wire, message=failure.error.message)
    return Answer(report, (action.later("backing off", soon=True),))


def _leaving(question: Question, subject: Subject, instance: Instance) -> Report:
    waited = question.now - question.memory.since(instance, question.now)
    if waited < question.provision_timeout:
        return Report(subject, Status.DELETING, instance, pending=True)
    note = f"is being deleted for more than {question.provision_timeout:.0f} s: {instance.message or 'no reason given'}"
    return _blocked(subject, "DeleteTimeout", note, instance)


def _surplus(subject: Subject, instance: Instance) -> Action:
    note = f"a second instance of {subject}"
    return Action(
        Verb.DELETE, Cause.SURPLUS, subject, instance.provider, note=note, instance=instance, fused=instance.serves
    )


def _blocked(subject: Subject, reason: str, message: str, instance: Instance | None = None) -> Report:
    return Report(subject, Status.BLOCKED, instance, reason, message)


_STATUS = {
    State.PROVISIONING: Status.PROVISIONING,
    State.STOPPED: Status.STOPPED,
    State.TERMINATED: Status.STOPPED,
}
