# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Error classes: what the engine reacts to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...module_utils.provider import Created, ErrorClass, ProviderError, Reason
from ._bench import Bench, expect, must, require, told
from .harness import Trouble

Call = Callable[[], object]


def _methods(bench: Bench, created: Created) -> Iterator[tuple[str, Call]]:
    yield "get", lambda: bench.get(created.provider_id)
    yield "list", bench.listing
    yield "create", lambda: bench.create(bench.request("other"))
    yield "delete", lambda: bench.delete(created)


def _reasons(bench: Bench, kind: Trouble, created: Created) -> Iterator[tuple[str, ErrorClass | None, Reason, object]]:
    """What each method says of a trouble of the first scope: an error, or the reason of a failed scope."""
    wire = {reason.wire: reason for reason in Reason}
    with bench.trouble(kind):
        for method, call in _methods(bench, created):
            try:
                value = call()
            except ProviderError as error:
                yield method, error.error_class, error.reason, error
                continue
            if method == "list":
                failed = [status for status in bench.listing().scopes.values() if not status.complete]
                for status in failed:
                    reason = expect(wire.get(status.reason or ""), Reason, f"the reason {status.reason!r} of a scope")
                    yield method, reason.error_class, reason, status
                require(bool(failed) or bench.profile.list_partial == "omit-unreachable", f"list: {value!r}")
            else:
                require(False, f"{method} returns {value!r}, though {kind.what}")


def _all_are(bench: Bench, kind: Trouble, wanted: ErrorClass, *reasons: Reason) -> list[ProviderError]:
    created = bench.create()
    errors = []
    for method, error_class, reason, said in _reasons(bench, kind, created):
        words = told(said) if isinstance(said, ProviderError) else reason.wire
        require(error_class is wanted, f"{method} is {words}, though {kind.what}; {wanted.value} is expected")
        expected = " or ".join(each.wire for each in reasons)
        require(not reasons or reason in reasons, f"{method} is {words}, though {kind.what}; {expected} is expected")
        if isinstance(said, ProviderError):
            errors.append(said)
    bench.get(created.provider_id)
    return errors


@must
def error_names_operation_and_provider(bench: Bench) -> None:
    """Every error names the operation, the configured name of the provider, and the instance if it is about one."""
    created = bench.create()
    with bench.trouble(Trouble.UNREACHABLE):
        for method, call in _methods(bench, created):
            try:
                call()
            except ProviderError as error:
                require(error.provider == bench.harness.name, f"{method}: provider is {error.provider!r}")
                require(error.op == method, f"{method}: op is {error.op!r}")
                about = created.provider_id if method in ("get", "delete") else error.provider_id
                require(error.provider_id == about, f"{method}: provider_id is {error.provider_id!r}")


@must
def unreachable_is_transient(bench: Bench) -> None:
    """A backend that does not answer is Transient."""
    _all_are(bench, Trouble.UNREACHABLE, ErrorClass.TRANSIENT)


@must
def an_error_of_the_backend_is_transient(bench: Bench) -> None:
    """An error that the backend calls its own (503) is Transient."""
    _all_are(bench, Trouble.UNAVAILABLE, ErrorClass.TRANSIENT)


@must
def too_many_requests_is_quota_exceeded(bench: Bench) -> None:
    """A rate limit is QuotaExceeded/RateLimited, with the time that the backend asks for."""
    for error in _all_are(bench, Trouble.RATE_LIMITED, ErrorClass.QUOTA_EXCEEDED, Reason.RATE_LIMITED):
        require(error.retry_after == 7, f"{error.op}: retry_after is {error.retry_after!r}, the backend said 7")


@must
def no_quota_is_quota_exceeded(bench: Bench) -> None:
    """A Create beyond the quota, or without room for it, is QuotaExceeded."""
    with bench.trouble(Trouble.QUOTA):
        bench.refused(bench.create, Reason.QUOTA, Reason.CAPACITY, when="Create beyond the quota")
    bench.create()


@must
def unauthorized_is_permanent(bench: Bench) -> None:
    """Refused credentials are Permanent/Unauthorized."""
    _all_are(bench, Trouble.UNAUTHORIZED, ErrorClass.PERMANENT, Reason.UNAUTHORIZED)


@must
def forbidden_is_permanent(bench: Bench) -> None:
    """A missing permission is Permanent/Forbidden, and never taken for a quota."""
    _all_are(bench, Trouble.FORBIDDEN, ErrorClass.PERMANENT, Reason.FORBIDDEN)
