# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Cancellation and deadlines: every method ends when its context does."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator

from ...module_utils.provider import (
    HOLD,
    Context,
    Created,
    Diagnoser,
    ErrorClass,
    LeftoverListing,
    Listing,
    Marker,
    Preflight,
    ProviderError,
    Sweeper,
)
from ._bench import Bench, UnderWay, must, ref, require, told
from .harness import Trouble

Method = Callable[[Context], object]

_SHORT = 0.2


def _methods(bench: Bench, created: Created) -> Iterator[tuple[str, Method]]:
    """All that take a context and may fail."""
    provider = bench.provider
    yield "get", lambda ctx: provider.get(created.provider_id, ctx)
    yield "list_by_tag", lambda ctx: provider.list_by_tag(bench.selector(), ctx)
    yield "create", lambda ctx: provider.create(bench.request("other"), ctx)
    if provider.has(Marker):
        yield "set_mark", lambda ctx: provider.set_mark(ref(created), HOLD, "1900000000", ctx)
    if provider.has(Sweeper):
        yield "list_leftovers", lambda ctx: provider.list_leftovers(bench.selector(), ctx)
        if Trouble.ORPHANED.not_applicable(bench.profile) is None:
            orphan = bench.create(bench.request("orphan"))
            with bench.trouble(Trouble.ORPHANED, orphan.provider_id):
                leftover, *_others = provider.list_leftovers(bench.selector(), bench.ctx()).leftovers
            yield "delete_leftover", lambda ctx: provider.delete_leftover(leftover, ctx)
    if provider.has(Preflight):
        yield "preflight", lambda ctx: provider.preflight(bench.request("other"), ctx)
    if provider.has(Diagnoser):
        yield "diagnose", lambda ctx: provider.diagnose(ref(created), ctx)
    yield "delete", lambda ctx: provider.delete(ref(created), ctx)


def _told_so(value: object) -> bool:
    """Whether a method says that it could not do its work."""
    if isinstance(value, ProviderError):
        return value.error_class is ErrorClass.TRANSIENT
    if isinstance(value, (Listing, LeftoverListing)):
        return not any(status.complete for status in value.scopes.values())
    return False


def _words(value: object) -> str:
    return told(value) if isinstance(value, ProviderError) else repr(value)


def _is_over_before(bench: Bench, ctx: Context, how: str) -> None:
    created = bench.create()
    for name, method in list(_methods(bench, created)):
        before = bench.harness.backend_calls()
        value = bench.start(name, functools.partial(method, ctx)).outcome(bench.harness.patience)
        calls = bench.harness.backend_calls() - before
        require(_told_so(value), f"{name} with a context that {how}: {_words(value)}; Transient is expected")
        require(calls == 0, f"{name} with a context that {how} costs {calls} requests")
    bench.get(created.provider_id)


@must
def cancelled_before_it_begins(bench: Bench) -> None:
    """A context that is cancelled already makes every method Transient at once, without a request."""
    cancel = threading.Event()
    cancel.set()
    _is_over_before(bench, Context.within(60, bench.harness.clock, cancel), "is cancelled")


@must
def out_of_time_before_it_begins(bench: Bench) -> None:
    """A context whose deadline has passed makes every method Transient at once, without a request."""
    _is_over_before(bench, Context.within(0, bench.harness.clock), "is out of time")


def _ends_during(bench: Bench, seconds: float, end: Callable[[threading.Event], None], how: str) -> None:
    """Every method meets a backend that hangs; what it does not need of the backend it may finish."""
    methods = list(_methods(bench, bench.create()))
    hung = []
    with bench.trouble(Trouble.HANG):
        for name, method in methods:
            cancel = threading.Event()
            before = bench.harness.backend_calls()
            ctx = Context.within(seconds, bench.harness.clock, cancel)
            call = bench.start(name, functools.partial(method, ctx))
            bench.until(functools.partial(_has_begun, bench, call, before), f"{name} begins")
            hung.append(call.running)
            end(cancel)
            value = call.outcome(_SHORT + bench.harness.patience)
            failed = isinstance(value, ProviderError)
            require(
                not failed or _told_so(value), f"{name} whose context {how}: {_words(value)}; Transient is expected"
            )
    require(any(hung), "no method hangs: the harness does not make the trouble")


def _has_begun(bench: Bench, call: UnderWay[object], before: int) -> bool:
    return not call.running or bench.harness.backend_calls() > before


@must
def cancelled_while_the_backend_hangs(bench: Bench) -> None:
    """When its context is cancelled, a method that waits for the backend ends promptly, and that is Transient."""
    _ends_during(bench, bench.harness.settle, threading.Event.set, "is cancelled")


@must
def deadline_while_the_backend_hangs(bench: Bench) -> None:
    """When its deadline passes, a method that waits for the backend ends promptly, and that is Transient."""
    _ends_during(bench, _SHORT, lambda _cancel: None, "is out of time")
