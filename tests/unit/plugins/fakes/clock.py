# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A clock that only moves when somebody sleeps on it."""

from __future__ import annotations

import threading


class FakeClock:
    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.wall = now
        self.ticks = 0.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.ticks

    def sleep(self, seconds: float, cancel: threading.Event) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.wall += seconds
        self.ticks += seconds
