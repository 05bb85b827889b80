# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for what happens elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(what: str, condition: Callable[[], T], seconds: float = 60, every: float = 0.02) -> T:
    """Ask until the answer is true, and return it.

    Raises:
        TimeoutError: it did not become true in time.
    """
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what}; last answer: {answer!r}")
        time.sleep(every)
    return answer
