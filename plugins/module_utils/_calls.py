# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each request to a backend as a child of the operation (create, get, list …) that is under way in this thread.

A provider wraps its seam once, C(self._api = observed_api(api)), and otherwise neither times nor counts. Without an
operation nothing is recorded. A thread that a provider starts itself has no operation, unless it is run by
C(contextvars.copy_context().run).

This file is part of the public, versioned provider API; import its names from C(provider.py).
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import typing as t

from ._context import Clock

T = t.TypeVar("T")


@dataclasses.dataclass(frozen=True)
class _Operation:
    clock: Clock
    record: t.Callable[[str, float], None]


_under_way: contextvars.ContextVar[_Operation | None] = contextvars.ContextVar("egress_operation", default=None)


@contextlib.contextmanager
def operation(clock: Clock, record: t.Callable[[str, float], None]) -> t.Iterator[None]:
    """What is called within is one operation. :param record: told of each request, its name and its seconds."""
    token = _under_way.set(_Operation(clock, record))
    try:
        yield
    finally:
        _under_way.reset(token)


@contextlib.contextmanager
def backend_call(name: str) -> t.Iterator[None]:
    """What happens within is one request to the backend, whether it succeeds or not."""
    current = _under_way.get()
    if current is None:
        yield
        return
    start = current.clock.monotonic()
    try:
        yield
    finally:
        current.record(name, current.clock.monotonic() - start)


def observed_api(api: T) -> T:
    """The same object, each of whose methods is a C(backend_call()) of its own name.

    A method that returns an iterator is over before the first page is fetched: use C(backend_call()) inside instead.
    """
    return t.cast(T, _Observed(api))


class _Observed:
    def __init__(self, api: t.Any) -> None:
        self._api = api

    def __getattr__(self, name: str) -> t.Any:
        value = getattr(self._api, name)
        if not callable(value):
            return value

        @functools.wraps(value)
        def call(*args: t.Any, **kwargs: t.Any) -> t.Any:
            with backend_call(name):
                return value(*args, **kwargs)

        return call
