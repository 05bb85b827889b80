# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a long run shows: one line whenever its counts change, but not more than one a second."""

from __future__ import annotations

import typing as t

from .._host import Host
from .._plan.model import Plan
from .apply import Done

_INTERVAL = 1.0


class Progress:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._last = ""
        self._last_at: float | None = None

    def show(self, plan: Plan, *, final: bool = False) -> None:
        """The counts of a plan; silent while nothing is to be done."""
        if not (plan.actions or plan.pending or self._last):
            return
        counts = plan.counts()
        others = [
            f"{counts[key]} {key}"
            for key in ("provisioning", "deleting", "stopped", "absent", "unknown", "leaving")
            if counts[key]
        ]
        line = ", ".join([f"{counts['running']}/{counts['desired']} running", *others, f"{counts['blocked']} failed"])
        self._say(line, at_once=final)

    def step(self, plan: Plan, done: t.Sequence[Done]) -> None:
        """How far one pass has got."""
        failed = sum(d.error is not None for d in done)
        self._say(f"{len(done)} of {len(plan.now)} actions submitted, {failed} failed", at_once=False)

    def say(self, line: str) -> None:
        self._say(line, at_once=True)

    def _say(self, line: str, *, at_once: bool) -> None:
        now = self._host.clock.monotonic()
        due = self._last_at is None or now - self._last_at >= _INTERVAL
        if line != self._last and (due or at_once):
            self._last, self._last_at = line, now
            self._host.progress(line)
