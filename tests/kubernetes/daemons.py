# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The daemons of a cluster: started, watched, and hurt for a test."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable, Mapping

import urllib3

from ansible_collections.crawl.egress.tests.kubernetes.api import Refused
from ansible_collections.crawl.egress.tests.kubernetes.enclosure import Enclosure
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until


@dataclasses.dataclass(frozen=True)
class Daemon:
    """How a daemon is started; C(ready) says whether it serves yet; it may raise what C(Api) raises."""

    name: str
    command: list[object]
    ready: Callable[[], bool]
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Daemons:
    """Those of one cluster, by name."""

    def __init__(self, enclosure: Enclosure) -> None:
        self._enclosure = enclosure
        self._known: dict[str, Daemon] = {}
        self._hurt: set[str] = set()  # dead, or with other flags
        self._paused: set[str] = set()
        self._why_not: Exception | None = None

    def add(self, daemon: Daemon) -> None:
        """Start one for the first time, and wait until it serves."""
        self._known[daemon.name] = daemon
        self.start(daemon.name)

    def start(self, name: str, *flags: str) -> None:
        """Start one that was killed, with flags besides its usual ones, and wait until it serves."""
        daemon = self._known[name]
        self._hurt.add(name)
        self._enclosure.start(name, *daemon.command, *flags, **daemon.env)
        self._wait(daemon)
        if not flags:
            self._hurt.discard(name)

    def kill(self, name: str) -> None:
        """End one with SIGKILL."""
        self._hurt.add(name)
        self._enclosure.kill(name)

    def pause(self, name: str) -> None:
        """Stop one with SIGSTOP: it accepts connections (the kernel does that) and never answers."""
        self._paused.add(name)
        self._enclosure.signal(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self._paused.discard(name)
        self._enclosure.signal(name, signal.SIGCONT)

    def restart(self, name: str, *flags: str) -> None:
        self.kill(name)
        self.start(name, *flags)

    def restore(self) -> None:
        """Make all run as at first."""
        for name in list(self._paused):
            self.resume(name)
        for name in [name for name in self._known if name in self._hurt]:  # in order: each needs the ones before
            self.restart(name)
        for daemon in self._known.values():
            self._wait(daemon)

    def _wait(self, daemon: Daemon) -> None:
        def serves() -> bool:
            for name, code in self._enclosure.ended().items():
                if name not in self._hurt or name == daemon.name:
                    raise RuntimeError(f"{name} ended with {code}:\n{self._enclosure.log(name)[-3000:]}")
            try:
                return daemon.ready()
            except (OSError, Refused, urllib3.exceptions.HTTPError) as error:
                self._why_not = error
                return False

        with self._enclosure.inside():
            try:
                until(f"{daemon.name} serves", serves)
            except TimeoutError as error:
                raise TimeoutError(f"{error}: {self._why_not}\n{self._enclosure.log(daemon.name)[-3000:]}") from error
