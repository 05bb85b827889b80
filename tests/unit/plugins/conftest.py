# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks that are run as a user runs them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

#: The collection with what only tests need.
TESTS_OWN = Path(__file__).parent / "fixtures"

Task = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Played:
    """:ivar results: what each task registered, in their order, as JSON; of those that were reached."""

    status: int
    output: str
    results: list[dict[str, t.Any]]


class Player:
    """Runs C(ansible-playbook) of the ansible-core that is under test, away from the user's files and settings."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._count = 0

    def play(self, tasks: list[Task], *arguments: str, status: int = 0, **more: t.Any) -> Played:
        """Run all tasks, whether one fails or not."""
        running, results = self._start([{"ignore_errors": True, **task} for task in tasks], arguments, **more)
        output = running.communicate(timeout=250)[0]
        assert running.returncode == status, output
        return Played(running.returncode, output, json.loads(results.read_text()) if results.exists() else [])

    def start(self, tasks: list[Task], *arguments: str, **more: t.Any) -> subprocess.Popen[str]:
        return self._start(tasks, arguments, **more)[0]

    def _start(
        self,
        tasks: list[Task],
        arguments: tuple[str, ...],
        environ: Mapping[str, str] | None = None,
        play: Mapping[str, t.Any] | None = None,
        below: Sequence[str] = (),
    ) -> tuple[subprocess.Popen[str], Path]:
        self._count += 1
        results = self.home / f"results-{self._count}.json"
        names = [f"result_{index}" for index in range(len(tasks))]
        registered = "{{ [" + ", ".join(names) + "] | to_json }}"
        keep = {
            "ansible.builtin.copy": {"content": registered, "dest": str(results), "mode": "0600"},
            "vars": {"ansible_python_interpreter": sys.executable},
            "no_log": True,
        }
        book = {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [*({**task, "register": name} for task, name in zip(tasks, names)), keep],
            **(play or {}),
        }
        file = self.home / f"playbook-{self._count}.yml"
        file.write_text(yaml.safe_dump([book], sort_keys=False))
        command = [*below, sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", str(file), *arguments]
        running = subprocess.Popen(
            command,
            cwd=self.home,
            env={**self.environ(), **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return running, results

    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "EGRESS_"))}
        return {
            **kept,
            "ANSIBLE_ASYNC_DIR": str(self.home / "async"),
            "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join([os.environ["ANSIBLE_COLLECTIONS_PATH"], str(TESTS_OWN)]),
            "ANSIBLE_FORKS": "1",
            "ANSIBLE_HOME": str(self.home),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_REMOTE_TMP": str(self.home / "remote"),
            "ANSIBLE_TRANSPORT": "local",
        }


@pytest.fixture
def player(tmp_path: Path) -> Player:
    home = tmp_path / "home"
    home.mkdir()
    return Player(home)


@pytest.fixture
def until() -> Callable[[Callable[[], t.Any]], t.Any]:
    """Look again and again until there is something, and return it."""

    def look(what: Callable[[], t.Any], seconds: float = 60) -> t.Any:
        end = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.02)
        return found

    return look


@pytest.fixture
def killed() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that do not outlive the test."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()
