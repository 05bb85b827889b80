# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deadline and cancellation of one run, and the clock they are read from.

This file is part of the public, versioned provider API; import its names from C(provider.py).
"""

from __future__ import annotations

import dataclasses
import threading
import time
import typing as t

from ._errors import ProviderError, Reason


class Clock(t.Protocol):
    """Two clocks, C(now()) in Unix seconds, which may jump, and C(monotonic()) for durations; and sleeping by them."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, cancel: threading.Event) -> None:
        """Return after so many seconds, or at once when C(cancel) is set."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float, cancel: threading.Event) -> None:
        cancel.wait(seconds)


@dataclasses.dataclass(frozen=True)
class Context:
    """What every provider method receives.

    :ivar deadline: in seconds of C(clock.monotonic()).
    :ivar cancel: set when the run is to stop.
    """

    deadline: float
    cancel: threading.Event
    clock: Clock

    @classmethod
    def within(cls, seconds: float, clock: Clock | None = None, cancel: threading.Event | None = None) -> Context:
        clock = clock or SystemClock()
        return cls(clock.monotonic() + seconds, cancel or threading.Event(), clock)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.deadline - self.clock.monotonic())

    def narrowed(self, seconds: float) -> Context:
        """The same run with an earlier deadline: for one backend call, or one round of checks."""
        return dataclasses.replace(self, deadline=min(self.deadline, self.clock.monotonic() + seconds))

    def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond the deadline nor after a cancel; C(check()) tells afterwards."""
        self.clock.sleep(min(seconds, self.remaining()), self.cancel)

    def check(self, op: str, provider: str, provider_id: str | None = None) -> None:
        """Raise C(Transient/Cancelled) or C(Transient/Timeout) when the run is over; for before each backend call."""
        if self.cancel.is_set():
            raise ProviderError(
                Reason.CANCELLED, "the run was cancelled", op=op, provider=provider, provider_id=provider_id
            )
        if self.remaining() <= 0:
            raise ProviderError(
                Reason.TIMEOUT, "the run is out of time", op=op, provider=provider, provider_id=provider_id
            )
