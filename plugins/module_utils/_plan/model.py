# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a plan consists of. Pure data; the engine carries it out, check mode prints it, diff renders it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import typing as t

from .._models import Instance, Scope
from .resolve import Place, Slot


class Verb(enum.Enum):
    """REPLACE: delete, wait until it is gone, create under the same name."""

    CREATE = "create"
    REPLACE = "replace"
    DELETE = "delete"
    MARK = "mark"


class Cause(enum.Enum):
    """Why something is done; part of what C(expect_plan) compares, so the words are API."""

    ABSENT = "absent"
    DRIFTED = "drifted"
    MISPLACED = "misplaced"
    DEAD = "dead"
    STUCK = "stuck"
    SURPLUS = "surplus"
    UNDESIRED = "undesired"
    HOLD = "hold"


class When(enum.Enum):
    NOW = "now"
    LATER = "later"


class Status(enum.Enum):
    """Of one desired proxy. BLOCKED: nothing more can be done for it in this run; the reason says why."""

    RUNNING = "running"
    PROVISIONING = "provisioning"
    DELETING = "deleting"
    STOPPED = "stopped"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    BLOCKED = "blocked"


@dataclasses.dataclass(frozen=True)
class Subject:
    """Which proxy an action or a report is about."""

    uid: str
    namespace: str
    name: str
    pool: str
    slot: int = 0

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def as_result(self) -> dict[str, t.Any]:
        return {"name": self.name, "namespace": self.namespace, "pool": self.pool, "slot": self.slot}

    @classmethod
    def of_slot(cls, slot: Slot) -> Subject:
        spec = slot.spec
        return cls(spec.uid, spec.namespace, spec.name, spec.pool)

    @classmethod
    def of_instance(cls, instance: Instance) -> Subject:
        marks = instance.marks
        return cls(marks.uid, marks.namespace, marks.name or instance.name, marks.pool, marks.slot)


@dataclasses.dataclass(frozen=True)
class Action:
    """One intended step.

    :ivar note: for people: what differs, or why it has to wait.
    :ivar instance: what is deleted or marked.
    :ivar slot, place, scope: what is created, and where.
    :ivar mark: (key, value), the value None to remove it.
    :ivar voluntary: replaces something that serves, so it costs budget.
    :ivar fused: counts against C(max_deletions).
    :ivar soon: it is not due yet, and all that it waits for is time.
    """

    verb: Verb
    cause: Cause
    subject: Subject
    provider: str
    when: When = When.NOW
    note: str = ""
    instance: Instance | None = None
    slot: Slot | None = None
    place: Place | None = None
    scope: Scope | None = None
    mark: tuple[str, str | None] | None = None
    voluntary: bool = False
    fused: bool = False
    soon: bool = False

    def later(self, note: str, *, soon: bool = False) -> Action:
        return dataclasses.replace(self, when=When.LATER, note=note, soon=soon)

    @property
    def destructive(self) -> bool:
        return self.verb in (Verb.REPLACE, Verb.DELETE)

    def as_result(self) -> dict[str, t.Any]:
        scope = self.scope or (self.instance.scope if self.instance else None)
        return {
            "verb": self.verb.value,
            "cause": self.cause.value,
            "when": self.when.value,
            **self.subject.as_result(),
            "provider": self.provider,
            "scope": scope.name if scope else None,
            "incarnation": self.instance.incarnation if self.instance else None,
            "note": self.note,
        }

    def as_destructive(self) -> dict[str, t.Any]:
        """What C(expect_plan) compares: no times, no ages, nothing that differs between two equal plans."""
        return {
            "verb": self.verb.value,
            "name": self.subject.name,
            "namespace": self.subject.namespace,
            "slot": self.subject.slot,
            "incarnation": self.instance.incarnation if self.instance else "",
            "cause": self.cause.value,
        }


@dataclasses.dataclass(frozen=True)
class Report:
    """How one desired proxy stands.

    :ivar reason: wire name of a reason, or a word of our own, when it is blocked, unknown or waiting.
    :ivar pending: whether waiting can change it.
    """

    subject: Subject
    status: Status
    instance: Instance | None = None
    reason: str | None = None
    message: str | None = None
    pending: bool = False

    def as_result(self) -> dict[str, t.Any]:
        instance = self.instance
        return {
            **self.subject.as_result(),
            "uid": self.subject.uid,
            "status": self.status.value,
            "reason": self.reason,
            "message": self.message,
            "provider": instance.provider if instance else None,
            "provider_id": instance.provider_id if instance else None,
            "incarnation": instance.incarnation if instance else None,
            "scope": instance.scope.name if instance else None,
            "state": instance.state.value if instance else None,
            "address": instance.address if instance else None,
            "port": (instance.marks.port or None) if instance else None,
        }


@dataclasses.dataclass(frozen=True)
class Released:
    """A proxy that was let go without cleaning up, on request.

    :ivar left: provider IDs that were seen and may stay behind; empty when its backend could not be asked.
    """

    name: str
    namespace: str
    left: tuple[str, ...]

    def as_result(self) -> dict[str, t.Any]:
        return {"name": self.name, "namespace": self.namespace, "left": list(self.left)}


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that one pass intends, and why.

    :ivar leaving: undesired and surplus instances that are being deleted already.
    :ivar fuse: one sentence per pool whose fuse tripped.
    :ivar gaps: one sentence per scope whose listing can't be believed and matters to this run.
    :ivar budget: the arithmetic of voluntary replacement, one sentence per pool that wanted any.
    :ivar notes: what was seen and left alone.
    """

    actions: tuple[Action, ...]
    reports: tuple[Report, ...]
    leaving: tuple[Instance, ...] = ()
    fuse: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    budget: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    released: tuple[Released, ...] = ()
    paused: bool = False

    @functools.cached_property
    def now(self) -> tuple[Action, ...]:
        return tuple(a for a in self.actions if a.when is When.NOW)

    @property
    def destructive(self) -> list[dict[str, t.Any]]:
        """Sorted, so that equal plans are equal lists."""
        rows = [a.as_destructive() for a in self.actions if a.destructive]
        return sorted(rows, key=lambda row: (row["namespace"], row["name"], row["slot"], row["incarnation"]))

    @property
    def plan_id(self) -> str:
        return hashlib.sha256(json.dumps(self.destructive, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def blocked(self) -> tuple[Report, ...]:
        return tuple(r for r in self.reports if r.status is Status.BLOCKED)

    @property
    def pending(self) -> bool:
        """Whether another pass can bring the fleet nearer to what is desired."""
        if self.paused:
            return False
        moving = any(r.pending for r in self.reports) or any(a.soon for a in self.actions)
        return moving or bool(self.now or self.leaving)

    @property
    def converged(self) -> bool:
        left = self.actions or self.leaving or self.fuse or self.gaps
        return not left and all(r.status is Status.RUNNING for r in self.reports)

    def counts(self) -> dict[str, int]:
        counts = {"desired": len(self.reports), **{status.value: 0 for status in Status}}
        for report in self.reports:
            counts[report.status.value] += 1
        counts["leaving"] = len(self.leaving)
        return counts

    def as_result(self) -> dict[str, t.Any]:
        return {"id": self.plan_id, "destructive": self.destructive, "budget": list(self.budget)}
