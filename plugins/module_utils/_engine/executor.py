# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Threads for backend calls. They are daemons: any other thread would hang Ansible's C(timeout:) and a cancel."""

from __future__ import annotations

import collections
import dataclasses
import queue
import threading
import typing as t

from .._context import Context
from .._errors import EgressError, ProviderError, Reason

T = t.TypeVar("T")

#: Seconds that calls under way get to end by themselves once the run is cancelled or out of time.
GRACE = 2.0
_POLL = 0.1


@dataclasses.dataclass(frozen=True)
class Job(t.Generic[T]):
    """One unit of backend work. :ivar op, provider: what an error of it is about."""

    op: str
    provider: str
    call: t.Callable[[], T]


@dataclasses.dataclass(frozen=True)
class Outcome(t.Generic[T]):
    """Either a value or an error. :ivar index: of its job."""

    index: int
    value: T | None = None
    error: EgressError | None = None


class Executor(t.Protocol):
    def run(self, jobs: t.Sequence[Job[T]], ctx: Context) -> t.Iterator[Outcome[T]]:
        """Yield each job's outcome, in the caller's thread, as it is known; every job has exactly one."""


def perform(index: int, job: Job[T]) -> Outcome[T]:
    """The thread boundary: the one place where an exception nobody thought of is caught; a bug costs one job."""
    try:
        return Outcome(index, value=job.call())
    except EgressError as error:
        return Outcome(index, error=error)
    except Exception as bug:  # noqa: BLE001 - see above
        message = f"unexpected {type(bug).__name__} in {_origin(bug)}"
        return Outcome(index, error=ProviderError(Reason.BUG, message, op=job.op, provider=job.provider))


class InTurn:
    """One job after the other in the caller's thread: for tests that are to be reproducible."""

    def run(self, jobs: t.Sequence[Job[T]], ctx: Context) -> t.Iterator[Outcome[T]]:
        for index, job in enumerate(jobs):
            yield perform(index, job)


class DaemonThreads:
    """Up to C(size) jobs at a time."""

    def __init__(self, size: int) -> None:
        self._size = size

    def run(self, jobs: t.Sequence[Job[T]], ctx: Context) -> t.Iterator[Outcome[T]]:
        waiting = collections.deque(enumerate(jobs))
        results: queue.SimpleQueue[Outcome[T]] = queue.SimpleQueue()
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                try:
                    index, job = waiting.popleft()
                except IndexError:
                    return
                results.put(perform(index, job))

        for _unused in range(min(self._size, len(jobs))):
            threading.Thread(target=work, daemon=True, name="egress-call").start()
        missing = set(range(len(jobs)))
        grace_ends: float | None = None
        try:
            while missing:
                try:
                    outcome = results.get(timeout=_POLL)
                except queue.Empty:
                    pass
                else:
                    missing.discard(outcome.index)
                    yield outcome
                    continue
                if ctx.cancel.is_set() or ctx.remaining() <= 0:
                    stop.set()
                    grace_ends = grace_ends or ctx.clock.monotonic() + GRACE
                    if ctx.clock.monotonic() >= grace_ends:
                        break
        finally:
            stop.set()
        reason, why = (Reason.CANCELLED, "cancelled") if ctx.cancel.is_set() else (Reason.TIMEOUT, "out of time")
        for index in sorted(missing):
            job = jobs[index]
            message = f"the run was {why} before this was finished"
            yield Outcome(index, error=ProviderError(reason, message, op=job.op, provider=job.provider))


def _origin(bug: BaseException) -> str:
    """Where it was raised, without its message: that might hold anything."""
    trace = bug.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "unknown code"
    code = trace.tb_frame.f_code
    return f"{code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno} ({code.co_name})"
