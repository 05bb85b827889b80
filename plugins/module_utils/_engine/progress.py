# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a long run shows: one line whenever its counts change, but not more than one a second."""

from __future__ import annotations

from .._host import Host
from .._plan.model import Plan, Verb

_INTERVAL = 1.0


class Lines:
    """Shows a line that differs from the last one, at most one a second unless it must be seen."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._last_at: float | None = None
        self.last = ""

    def show(self, line: str, *, at_once: bool = False) -> None:
        now = self._host.clock.monotonic()
        due = self._last_at is None or now - self._last_at >= _INTERVAL
        if line != self.last and (due or at_once):
            self.last, self._last_at = line, now
            self._host.progress(line)


class Progress:
    """The lines of a fleet's run."""

    def __init__(self, host: Host) -> None:
        self._lines = Lines(host)

    def show(self, plan: Plan, *, final: bool = False) -> None:
        """The counts of a plan; silent while nothing is to be done."""
        if not (plan.actions or plan.pending or self._lines.last):
            return
        counts = plan.counts()
        others = [f"{counts[key]} {key}" for key in _OTHERS if counts[key]]
        removals = sum(a.verb is Verb.DELETE for a in plan.actions)
        if removals:
            others.append(f"{removals} to remove")
        line = [f"{counts['running']}/{counts['desired']} running", *others, f"{counts['blocked']} failed"]
        self._lines.show(", ".join(line), at_once=final)

    def step(self, plan: Plan, done: int, failed: int) -> None:
        """How far one pass has got."""
        self._lines.show(f"{done} of {len(plan.now)} actions submitted, {failed} failed")

    def say(self, line: str) -> None:
        self._lines.show(line, at_once=True)


_OTHERS = ("provisioning", "deleting", "stopped", "absent", "unknown", "leaving")
