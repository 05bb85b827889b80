# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of the provider contract: four classes, and one table of reasons for the whole product.

The class decides what the engine does next, the reason tells people and playbooks why. An error that is not about a
provider call (a bad argument, a tripped fuse, a lock) has no class: its reason says everything.

This file is part of the public, versioned provider API; import its names from C(provider.py).
"""

from __future__ import annotations

import enum
import typing as t


class ErrorClass(enum.Enum):
    """How the engine reacts, in normal reconciling and (after the semicolon) while deleting.

    NOT_FOUND: get: create again; gone. QUOTA_EXCEEDED: retry after 5 minutes, not an error; the same.
    TRANSIENT: back off exponentially; the same. PERMANENT: latch or back off, by reason; never latched, it is tried.
    """

    NOT_FOUND = "NotFound"
    QUOTA_EXCEEDED = "QuotaExceeded"
    TRANSIENT = "Transient"
    PERMANENT = "Permanent"


class Reason(enum.Enum):
    """Every reason of the product: (wire name, class it belongs to or None, what the reader does next)."""

    # Not found.
    GONE = ("Gone", ErrorClass.NOT_FOUND, "nothing; the instance does not exist any more")
    # Quota and capacity.
    QUOTA = ("Quota", ErrorClass.QUOTA_EXCEEDED, "raise the quota or lower the number of proxies")
    CAPACITY = ("Capacity", ErrorClass.QUOTA_EXCEEDED, "wait, or use another zone, machine type or provider")
    RATE_LIMITED = ("RateLimited", ErrorClass.QUOTA_EXCEEDED, "wait; lower concurrency if it keeps happening")
    # Transient.
    TIMEOUT = ("Timeout", ErrorClass.TRANSIENT, "try again; check the backend's load and the network in between")
    UNREACHABLE = ("Unreachable", ErrorClass.TRANSIENT, "check the address, the network and that the backend runs")
    API_ERROR = ("APIError", ErrorClass.TRANSIENT, "try again; the backend answered with an error of its own")
    CANCELLED = ("Cancelled", ErrorClass.TRANSIENT, "run again; the next run takes up what was begun")
    BUSY = ("Busy", ErrorClass.TRANSIENT, "try again; another operation on the same instance is under way")
    NOT_READY = ("ImageNotReady", ErrorClass.TRANSIENT, "wait until the image has been fetched, or run egress_image")
    STORAGE_FULL = ("StorageFull", ErrorClass.TRANSIENT, "free space where the provider keeps its files")
    UNCLASSIFIED = ("Unclassified", ErrorClass.TRANSIENT, "look at the message; a bug report helps to classify it")
    BUG = ("Bug", ErrorClass.TRANSIENT, "report it; this is a fault of the collection or of a third party's provider")
    # Permanent.
    UNAUTHORIZED = ("Unauthorized", ErrorClass.PERMANENT, "fix the credentials of the provider entry")
    FORBIDDEN = ("Forbidden", ErrorClass.PERMANENT, "grant the missing permission")
    CONFLICT = ("Conflict", ErrorClass.PERMANENT, "free the name or the address, which somebody else holds")
    INVALID_PLACEMENT = ("InvalidPlacement", ErrorClass.PERMANENT, "correct the placement field that is named")
    INVALID_CONFIG = ("InvalidConfig", ErrorClass.PERMANENT, "correct the option that is named")
    MALFORMED_ID = ("MalformedID", ErrorClass.PERMANENT, "give a provider ID as this provider writes them")
    # Not about a provider call.
    INVALID_ARGUMENT = ("InvalidArgument", None, "correct the option that is named")
    EMPTY_DESIRED = ("EmptyDesired", None, "check where the document comes from; set allow_empty if it is meant")
    FUSE_TRIPPED = ("FuseTripped", None, "read the plan; raise max_deletions if the deletions are meant")
    STALE_DOCUMENT = ("StaleDocument", None, "use the newest desired document")
    PLAN_MOVED = ("PlanMoved", None, "read the new plan and give it as expect_plan")
    LOCKED = ("Locked", None, "wait for the other run, or look for a hung one")
    WAIT_TIMEOUT = ("WaitTimeout", None, "run again, or raise wait_timeout")
    NEEDS_ATTENTION = ("NeedsAttention", None, "see blocked and failures in the result")
    DELETIONS_FAILED = ("DeletionsFailed", None, "see failures in the result")
    INCOMPLETE_EVIDENCE = ("IncompleteEvidence", None, "bring the named scopes back, or (egress_fleet) use assume_gone")
    MISSING_SDK = ("MissingSDK", None, "install the package that is named for this interpreter")
    STATE_DIR = ("StateDir", None, "make state_dir a directory that this user can write")

    def __init__(self, wire: str, error_class: ErrorClass | None, advice: str) -> None:
        self.wire = wire
        self.error_class = error_class
        self.advice = advice


#: These latch one slot until its specification is edited (design: rule 5); every other Permanent reason backs off.
LATCHING = frozenset({Reason.INVALID_PLACEMENT, Reason.INVALID_CONFIG, Reason.MALFORMED_ID})

#: These latch the whole provider for the rest of the run: one error, not one per proxy.
LATCHING_PROVIDER = frozenset({Reason.UNAUTHORIZED, Reason.FORBIDDEN})


class EgressError(Exception):
    """Everything that this collection raises on purpose.

    :param reason: entry of the table above.
    :param message: one sentence for people: names the option or object, the value, and what is allowed. Never a secret.
    :param details: further plain JSON values for playbooks, added to C(as_result()).
    :ivar result: what a module had found out before it failed; returned beside the error.
    """

    def __init__(self, reason: Reason, message: str, **details: t.Any) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = details
        self.result: dict[str, t.Any] = {}

    def as_result(self) -> dict[str, t.Any]:
        error_class = self.reason.error_class
        return {
            "class": error_class.value if error_class else None,
            "reason": self.reason.wire,
            "message": self.message,
            "advice": self.reason.advice,
            **self.details,
        }


class ArgumentError(EgressError):
    """Bad input, found before any backend call.

    :param problems: every fault found, one sentence each: option or path, value, what is allowed.
    """

    def __init__(self, problems: t.Sequence[str], reason: Reason = Reason.INVALID_ARGUMENT) -> None:
        super().__init__(reason, "; ".join(problems), problems=list(problems))
        self.problems = tuple(problems)


class ProviderError(EgressError):
    """What a provider method raises: seed's C(Wrap(class, op, provider, id, err)).

    :param op: create, get, delete, list, check, mark …
    :param provider: configured name of the provider entry, never its type.
    :param retry_after: seconds the backend asked us to wait, if it did.
    :param scope: the scope that failed, if it is known.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        op: str,
        provider: str,
        provider_id: str | None = None,
        retry_after: float | None = None,
        scope: str | None = None,
    ) -> None:
        if reason.error_class is None:
            raise ValueError(f"{reason.wire} is not a reason for a provider call")
        super().__init__(reason, message)
        self.error_class: ErrorClass = reason.error_class
        self.op = op
        self.provider = provider
        self.provider_id = provider_id
        self.retry_after = retry_after
        self.scope = scope

    def as_result(self) -> dict[str, t.Any]:
        return {
            **super().as_result(),
            "op": self.op,
            "provider": self.provider,
            "provider_id": self.provider_id,
            "retry_after": self.retry_after,
            "scope": self.scope,
        }


class MissingSDK(EgressError):
    """A Python package that one provider entry needs cannot be imported."""

    def __init__(self, package: str, provider: str, cause: str) -> None:
        super().__init__(
            Reason.MISSING_SDK,
            f"provider {provider}: the Python package {package} cannot be imported ({cause})",
            package=package,
            provider=provider,
        )
