# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a run gets from the door it came through; nothing below knows whether that was a module or an action."""

from __future__ import annotations

import dataclasses
import random
import threading
import typing as t

from ._context import Clock, Context, SystemClock
from ._registry import TYPES
from .provider import ProviderHost, ProviderType, Runner


def _silent(_line: str) -> None:
    return None


@dataclasses.dataclass(frozen=True)
class Host:
    """The outside world, injected.

    :ivar python: the interpreter that runs us.
    :ivar cancel: set by the door when the task is to stop (SIGTERM, SIGINT, timeout).
    :ivar types: the provider types that there are; the in-process door adds those of other collections.
    :ivar progress: shows one line to the user now; silent as a module.
    :ivar warn: adds a warning to the task.
    """

    runner: Runner
    python: str
    check_mode: bool = False
    diff: bool = False
    clock: Clock = dataclasses.field(default_factory=SystemClock)
    random: random.Random = dataclasses.field(default_factory=random.SystemRandom)
    cancel: threading.Event = dataclasses.field(default_factory=threading.Event)
    types: t.Mapping[str, ProviderType] = dataclasses.field(default_factory=lambda: TYPES)
    progress: t.Callable[[str], None] = _silent
    warn: t.Callable[[str], None] = _silent

    def context(self, seconds: float) -> Context:
        return Context.within(seconds, self.clock, self.cancel)

    def for_providers(self, mark_prefix: str) -> ProviderHost:
        return ProviderHost(self.runner, self.python, self.clock, self.random, mark_prefix)
