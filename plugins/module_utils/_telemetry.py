# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The one decorator around every provider: times, counts, classifies and logs each call.

Providers don't count or trace by themselves; what each call asked of the backend comes in through C(_calls.py).
Exporters read the Recorder.
"""

from __future__ import annotations

import collections
import functools
import logging
import threading
import typing as t

from ._calls import operation
from ._context import Clock, Context
from ._errors import EgressError, ProviderError, Reason
from ._models import (
    Created,
    CreateRequest,
    Deleted,
    Guest,
    Instance,
    InstanceRef,
    Leftover,
    LeftoverListing,
    Listing,
    Placement,
    Scope,
    Selector,
    TargetStatus,
)
from .provider import Checker, Diagnoser, Marker, Preflight, Provider, Sweeper

T = t.TypeVar("T")

#: The class column of a call that succeeded.
OK = "ok"


class Recorder:
    """Counts and seconds per (provider, operation, class), and of the requests that these made to the backend; safe to
    be fed from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: dict[tuple[str, str, str], tuple[int, float]] = {}
        self._calls: dict[tuple[str, str, str], int] = collections.defaultdict(int)
        self._seconds: dict[tuple[str, str, str], float] = collections.defaultdict(float)

    def add(self, provider: str, op: str, outcome: str, seconds: float) -> None:
        with self._lock:
            self._calls[provider, op, outcome] += 1
            self._seconds[provider, op, outcome] += seconds

    def add_child(self, provider: str, op: str, call: str, seconds: float) -> None:
        with self._lock:
            calls, total = self._children.get((provider, op, call), (0, 0.0))
            self._children[provider, op, call] = calls + 1, total + seconds

    def children(self) -> list[dict[str, t.Any]]:
        """One row per provider, operation and kind of request, in that order."""
        with self._lock:
            return [
                {"provider": p, "op": op, "call": call, "calls": calls, "seconds": round(seconds, 3)}
                for (p, op, call), (calls, seconds) in sorted(self._children.items())
            ]

    def summary(self) -> list[dict[str, t.Any]]:
        """One row per provider, operation and class, in that order; C(seconds) is the sum over the calls."""
        with self._lock:
            return [
                {
                    "provider": p,
                    "op": op,
                    "class": outcome,
                    "calls": n,
                    "seconds": round(self._seconds[p, op, outcome], 3),
                }
                for (p, op, outcome), n in sorted(self._calls.items())
            ]


class ObservedProvider:
    """A Provider around a Provider. C(inner) is for asking which optional interfaces it has."""

    def __init__(self, inner: Provider, recorder: Recorder, clock: Clock) -> None:
        self.inner = inner
        self.name = inner.name
        self.profile = inner.profile
        self._recorder = recorder
        self._clock = clock
        self._log = logging.getLogger(f"crawl.egress.{inner.name}")

    def scope_of(self, placement: Placement) -> Scope | None:
        return self.inner.scope_of(placement)

    def scope_of_id(self, provider_id: str) -> Scope:
        return self.inner.scope_of_id(provider_id)

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        return self.inner.spec_content(placement, port, guest)

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        return self._call("create", request.name, ctx, lambda: self.inner.create(request, ctx))

    def get(self, provider_id: str, ctx: Context) -> Instance:
        return self._call("get", provider_id, ctx, lambda: self.inner.get(provider_id, ctx))

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        return self._call("delete", ref.provider_id, ctx, lambda: self.inner.delete(ref, ctx))

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        return self._call("list", None, ctx, lambda: self.inner.list_by_tag(selector, ctx))

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        inner = self.inner
        if not isinstance(inner, Marker):
            raise self._lacks("Marker", "mark")
        self._call("mark", ref.provider_id, ctx, lambda: inner.set_mark(ref, key, value, ctx))

    def check(self, ctx: Context) -> list[TargetStatus]:
        inner = self.inner
        if not isinstance(inner, Checker):
            raise self._lacks("Checker", "check")
        return self._call("check", None, ctx, lambda: inner.check(ctx))

    def list_leftovers(self, selector: Selector, ctx: Context) -> LeftoverListing:
        inner = self.inner
        if not isinstance(inner, Sweeper):
            raise self._lacks("Sweeper", "list_leftovers")
        return self._call("list_leftovers", None, ctx, lambda: inner.list_leftovers(selector, ctx))

    def delete_leftover(self, leftover: Leftover, ctx: Context) -> None:
        inner = self.inner
        if not isinstance(inner, Sweeper):
            raise self._lacks("Sweeper", "delete_leftover")
        self._call("delete_leftover", leftover.leftover_id, ctx, lambda: inner.delete_leftover(leftover, ctx))

    def preflight(self, request: CreateRequest, ctx: Context) -> list[str]:
        inner = self.inner
        if not isinstance(inner, Preflight):
            raise self._lacks("Preflight", "preflight")
        return self._call("preflight", request.name, ctx, lambda: inner.preflight(request, ctx))

    def diagnose(self, ref: InstanceRef, ctx: Context) -> str:
        inner = self.inner
        if not isinstance(inner, Diagnoser):
            raise self._lacks("Diagnoser", "diagnose")
        return self._call("diagnose", ref.provider_id, ctx, lambda: inner.diagnose(ref, ctx))

    def _lacks(self, interface: str, op: str) -> ProviderError:
        message = f"provider {self.name} (type {self.profile.type}) is no {interface}"
        return ProviderError(Reason.INVALID_CONFIG, message, op=op, provider=self.name)

    def _call(self, op: str, subject: str | None, ctx: Context, call: t.Callable[[], T]) -> T:
        ctx.check(op, self.name, subject)
        start = self._clock.monotonic()
        outcome = Reason.BUG.wire  # what stays when anything but an EgressError comes out
        try:
            with operation(self._clock, functools.partial(self._recorder.add_child, self.name, op)):
                result = call()
            outcome = OK
            return result
        except EgressError as error:
            outcome = error.reason.error_class.value if error.reason.error_class else error.reason.wire
            self._log.info("%s %s %s: %s: %s", self.name, op, subject or "", error.reason.wire, error.message)
            raise
        finally:
            seconds = self._clock.monotonic() - start
            self._recorder.add(self.name, op, outcome, seconds)
            if outcome == OK:
                self._log.info("%s %s %s: ok in %.3f s", self.name, op, subject or "", seconds)
