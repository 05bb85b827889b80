# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Namespaces of a cluster's own, and a supervisor in them.

    pytest -- pipes -- setpriv, unshare -- catatonit (pid 1) -- supervisor.py -- daemons -- containers

When the test process ends, however that happens, the supervisor loses its standard input and the kernel kills
C(unshare). Either ends pid 1, and with pid 1 everything in its pid namespace: no daemon, container, mount, bridge or
address survives. The namespaces have no names that could be left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.crawl.egress.tests.kubernetes.runs import run_folder

SUPERVISOR = Path(__file__).with_name("supervisor.py")
CLONE_NEWNET = 0x40000000


class Enclosure:
    """Daemons in pid and mount namespaces of their own; with C(network), in a network namespace too.

    Args:
        folder: their working directory, and where they log.
        init: the program C(catatonit).

    The kernel looks at the thread that makes it: the enclosure ends with that thread.
    """

    def __init__(self, folder: Path, init: Path, *, network: bool) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL"),
                *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
                *(["--net"] if network else []),
                *(init, "--", sys.executable, "-I", SUPERVISOR),
            ],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for pytest, which then ends it in order
        )
        self._ask("ended")  # when it answers it is inside
        self._network = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)

    @property
    def pid(self) -> int:
        """A process in the network namespace: C(nsenter --net -t PID COMMAND) runs another one there."""
        return self._process.pid

    def close(self) -> None:
        os.close(self._network)
        self._process.stdin.close()
        try:
            self._process.wait(10)  # it ends after all that is inside
        except subprocess.TimeoutExpired:
            self._process.kill()
        with self._process:
            pass

    def start(self, name: str, *argv: object, **env: str) -> None:
        self._ask("start", name=name, argv=[*map(str, argv)], env=env)

    def signal(self, name: str, number: signal.Signals) -> None:
        self._ask("signal", name=name, number=number)

    def kill(self, name: str) -> None:
        self.signal(name, signal.SIGKILL)
        self._ask("wait", name=name)

    def ended(self) -> dict[str, int]:
        """The exit code of each daemon that has ended."""
        return self._ask("ended")["ended"]

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def run(self, *argv: object) -> str:
        """Run a command inside and return its output.

        Raises:
            RuntimeError: it failed.
        """
        answer = self._ask("run", argv=[*map(str, argv)])
        if answer["returncode"]:
            raise RuntimeError(f"{' '.join(map(str, argv))}: {answer['output'].strip()}")
        return answer["output"]

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Move the calling thread into the network namespace for a while.

        What it makes there is inside too: sockets, threads, child processes. Threads that are already there, and what
        they make, stay outside.
        """
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            _enter(self._network)
            try:
                yield
            finally:
                _enter(before)
        finally:
            os.close(before)

    def _ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        with self._lock:
            print(json.dumps([verb, arguments]), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the supervisor of the cluster ended with {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{verb} {arguments}: {answer['error']}")
        return answer


@contextlib.contextmanager
def enclosed(programs: Path, *, network: bool) -> Iterator[Enclosure]:
    """An enclosure with a folder of this run's own, beside the folder of programs. What dead runs left goes first."""
    with (
        run_folder(programs.parent / "clusters") as folder,
        contextlib.closing(Enclosure(folder, programs / "bin" / "catatonit", network=network)) as enclosure,
    ):
        yield enclosure


def _enter(network: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)  # os.setns needs Python 3.12
    if libc.setns(network, CLONE_NEWNET):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
