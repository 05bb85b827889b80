# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder for the C(local) provider, whose processes and files don't outlive the test, whatever the test does to it.

with local_backend(tmp_path / "local") as backend:
    entry = {"name": "lab", "type": "local", "local": backend.config}
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from collections.abc import Iterator, Sequence
from pathlib import Path

from ansible_collections.crawl.egress.plugins.module_utils._providers.local.api import ROOT_SECRETS
from ansible_collections.crawl.egress.plugins.module_utils._providers.local.provider import LocalProvider, build
from ansible_collections.crawl.egress.plugins.module_utils.provider import ProviderHost

DEADLINE = 30.0  # seconds, for anything that should take well under one


#: Begins a program that a test runs in a process of its own: it reads what was pickled to its standard input.
ELSEWHERE = """
import os, pickle, sys
sys.path[:0] = os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep)
from ansible_collections.crawl.egress.plugins.module_utils.provider import Context, InstanceRef, ProviderError
given = pickle.load(sys.stdin.buffer)
"""


def start_elsewhere(program: str, *given: t.Any) -> subprocess.Popen[bytes]:
    """Start it with the C(given) pickled, in a session of its own."""
    argv = [sys.executable, "-c", ELSEWHERE + program]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    pickle.dump(given, process.stdin)
    process.stdin.flush()
    return process


def run_program(argv: Sequence[str], *, stdin: str = "") -> tuple[int, str, str]:
    """A Runner."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=DEADLINE, check=False)
    return done.returncode, done.stdout, done.stderr


@dataclasses.dataclass(frozen=True)
class LocalBackend:
    directory: Path
    engine: str = "auto"

    @property
    def config(self) -> dict[str, t.Any]:
        """The C(local:) block of a provider entry."""
        return {"directory": str(self.directory), "engine": self.engine}

    def provider(self, name: str = "lab", **config: t.Any) -> LocalProvider:
        return build(name, {**self.config, **config}, ProviderHost(run_program, sys.executable))

    def folder(self, name: str, host: str = "localhost") -> Path:
        """Of one instance, by its backend name."""
        return self.directory / "hosts" / host / name

    def processes(self) -> list[int]:
        """Living processes that were started from a file of this folder, whatever the state files say."""
        needle = os.fsencode(self.directory) + b"/"
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if needle in Path("/proc", entry, "cmdline").read_bytes() and int(entry) != os.getpid():
                    found.append(int(entry))
        return found

    def traces(self, *incarnations: str) -> list[str]:
        """All that is left on this machine: processes, files, secrets, shared memory (of these incarnations too)."""
        left = [f"process {pid}" for pid in self.processes()]
        if self.directory.is_dir():
            left += [str(path) for path in sorted(self.directory.rglob("*"))]
        return left + self._elsewhere(incarnations)

    def _elsewhere(self, incarnations: tuple[str, ...] = ()) -> list[str]:
        tokens = {*incarnations, *self._incarnations()}
        places = (Path(ROOT_SECRETS), Path("/dev/shm"))
        files = [file for place in places if place.is_dir() for file in place.iterdir()]
        return [str(file) for file in files if any(token in file.name for token in tokens)]

    def _incarnations(self) -> set[str]:
        texts = [file.read_text(errors="replace") for file in self.directory.rglob("*.json") if file.is_file()]
        return {*re.findall(r'"incarnation": "([0-9a-f]{16})"', "".join(texts))}

    def clean(self, keep_directory: bool = False) -> None:
        end = time.monotonic() + DEADLINE
        tokens: set[str] = set()
        while pids := self.processes():
            tokens |= {token for pid in pids for token in _service_names(pid)}
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert time.monotonic() < end, f"{pids} don't end"
            time.sleep(0.02)
        for path in self._elsewhere(tuple(tokens)):
            Path(path).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.rmdir(ROOT_SECRETS)
        if self.directory.is_dir() and not keep_directory:
            shutil.rmtree(self.directory)


def _service_names(pid: int) -> list[str]:
    """The incarnation in the command line of a Squid; its state file may have been damaged by the test."""
    try:
        return re.findall(r"\b[0-9a-f]{16}\b", Path("/proc", str(pid), "cmdline").read_text(errors="replace"))
    except OSError:
        return []


@contextlib.contextmanager
def local_backend(directory: Path, engine: str = "auto") -> Iterator[LocalBackend]:
    backend = LocalBackend(directory, engine)
    try:
        yield backend
    finally:
        backend.clean()
