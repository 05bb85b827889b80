# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What an API server can answer, and what can go wrong on the way to it, as the reasons of the contract.

Quota, RBAC, LimitRange, admission and a namespace that is being deleted are all C(403 Forbidden): only the message
(and for the namespace a cause) tells them apart. The tests hold the captured answers.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ...provider import ProviderError, Reason

_LONGEST = 500


class Fault(Exception):
    """What went wrong before there was an answer: the reason is known where it is raised."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclasses.dataclass(frozen=True)
class Cause:
    """One entry of C(details.causes)."""

    reason: str
    field: str
    message: str


class Refusal(Exception):
    """An answer of the API server, or of something in between, that is not a success.

    :ivar code: HTTP status. :ivar reason: the server's word; empty when the body is no Status.
    :ivar kind: what the answer is about, as the server spells it (C(pods), C(namespaces), C(Pod)).
    :ivar retry_after: seconds.
    """

    def __init__(
        self,
        code: int,
        reason: str = "",
        message: str = "",
        kind: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"HTTP {code} {reason}")
        self.code = code
        self.reason = reason
        self.message = message
        self.kind = kind
        self.causes = causes
        self.retry_after = retry_after

    @classmethod
    def from_answer(cls, code: int, body: bytes, headers: t.Mapping[str, str]) -> Refusal:
        """:param body: a Status in JSON, plain text (429, 503), or a page of a proxy in between."""
        try:
            status = json.loads(body)
        except ValueError:
            status = None
        if not isinstance(status, dict):
            text = body[:_LONGEST].decode(errors="replace").strip()
            return cls(code, message="" if text.startswith("<") else text, retry_after=_seconds(headers))
        details = status.get("details") or {}
        causes = tuple(
            Cause(c.get("reason", ""), c.get("field", ""), c.get("message", "")) for c in details.get("causes") or ()
        )
        retry_after = _seconds(headers)
        if retry_after is None and details.get("retryAfterSeconds"):
            retry_after = float(details["retryAfterSeconds"])
        reason, message = status.get("reason") or "", status.get("message") or ""
        return cls(code, reason, message, details.get("kind") or "", causes, retry_after)

    @property
    def exists(self) -> bool:
        return self.code == 409 and self.reason == "AlreadyExists"

    def lacks(self, kind: str) -> bool:
        """Whether the API server itself says that an object of this kind (C(pods)) is not there."""
        return self.code == 404 and self.reason == "NotFound" and self.kind == kind

    @property
    def lacks_permission(self) -> bool:
        """Whether it is for want of a role: nothing was done, and another role would change that."""
        return self.code == 403 and bool(_RBAC.search(self.message))

    @property
    def terminating(self) -> bool:
        """Whether the namespace is being deleted."""
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes) or (
            "being terminated" in self.message
        )

    @property
    def other_incarnation(self) -> bool:
        """Whether a precondition on the UID failed: the object under this name is another one than was meant."""
        return self.code in (409, 422) and bool(_OTHER_UID.search(self.message))


def _seconds(headers: t.Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "")
    return float(text) if re.fullmatch(r"[0-9]{1,6}", text) else None


_OTHER_UID = re.compile(r"the UID in the precondition|uid mismatch|metadata\.uid: Invalid value")
_RBAC = re.compile(r'User "[^"]*" cannot |cannot impersonate ')
_NO_ACCOUNT = re.compile(r"error looking up service account [^/\s]+/([^:\s]+):")
_WEBHOOK = re.compile(r"admission webhook .* denied the request")

_OTHER_CODES: t.Mapping[int, Reason] = {
    400: Reason.INVALID_CONFIG,
    401: Reason.UNAUTHORIZED,
    405: Reason.INVALID_CONFIG,
    408: Reason.TIMEOUT,
    409: Reason.BUSY,
    413: Reason.INVALID_CONFIG,
    415: Reason.INVALID_CONFIG,
    422: Reason.INVALID_CONFIG,
    429: Reason.RATE_LIMITED,
    504: Reason.TIMEOUT,
}


def classify(
    error: Fault | Refusal, *, op: str, provider: str, provider_id: str | None = None, scope: str | None = None
) -> ProviderError:
    """The one place that decides what an answer means."""
    if isinstance(error, Fault):
        reason, message, retry_after = error.reason, error.message, None
    else:
        reason, message = _reason(error, op)
        retry_after = error.retry_after
    return ProviderError(
        reason,
        message,
        op=op,
        provider=provider,
        provider_id=provider_id,
        scope=scope,
        retry_after=retry_after,
    )


def _reason(refusal: Refusal, op: str) -> tuple[Reason, str]:
    message = _message(refusal)
    if 400 <= refusal.code < 500 and _WEBHOOK.search(refusal.message):
        return Reason.INVALID_CONFIG, message
    if refusal.code == 403:
        return _forbidden(refusal), message
    if refusal.code == 404:
        return _missing(refusal, op), message
    return _OTHER_CODES.get(refusal.code, Reason.API_ERROR), message


def _forbidden(refusal: Refusal) -> Reason:
    message = refusal.message
    if 'User "system:anonymous" cannot ' in message:
        return Reason.UNAUTHORIZED  # no credentials were sent, and the server lets anonymous requests through to RBAC
    if _RBAC.search(message):
        return Reason.FORBIDDEN
    if "exceeded quota:" in message:
        return Reason.QUOTA
    if refusal.terminating or "status unknown for quota:" in message:
        return Reason.BUSY  # the latter of a new quota: the controller has not counted yet
    account = _NO_ACCOUNT.search(message)
    if account and account.group(1) == "default":
        return Reason.BUSY  # a new namespace: the controller has not made it yet
    # What is left with these words comes from admission (LimitRange, PodSecurity, a quota that wants requests, an
    # unknown priority class, a policy): another specification would be let in.
    return Reason.INVALID_CONFIG if " is forbidden: " in message else Reason.FORBIDDEN


def _missing(refusal: Refusal, op: str) -> Reason:
    """Gone is said only when the API server itself says so of a Pod; a page of a proxy in between proves nothing."""
    if refusal.lacks("pods") and op != "create":
        return Reason.GONE
    if refusal.reason != "NotFound":
        return Reason.API_ERROR
    # Without a kind, it is the whole resource that the server does not know: a wrong URL, or an API it does not have.
    return Reason.INVALID_CONFIG if refusal.kind in ("namespaces", "") else Reason.BUSY


def _message(refusal: Refusal) -> str:
    """The server's words; of an invalid object the fields alone, since the whole message can hold a long diff."""
    fields = list(dict.fromkeys(f"{c.field}: {c.message}" for c in refusal.causes if c.field))
    if refusal.code == 422 and fields:
        text = "; ".join(fields)
    elif refusal.code == 401:
        text = "the API server does not accept the credentials"
    elif refusal.code == 400 and refusal.kind != "pods":
        # A malformed Secret is answered with a piece of what it holds.
        text = refusal.message.partition(", error found in #")[0]
    else:
        text = refusal.message or f"HTTP {refusal.code} from something that does not talk like an API server"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
