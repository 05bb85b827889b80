# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Starts one engine so that it outlives the task, and writes down which process it is before it becomes the engine.

A program of its own: it is copied beside the proxies and run from there, so it imports nothing of ours. Standard
input is one JSON object: C(folder) of the instance, C(incarnation), C(argv) of the engine, C(log), C(seconds).
Exit status 0: the engine runs (or ran; its record says which process). Otherwise standard output is one JSON object:
C(errno) (0 if there is none), C(path), C(message).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
import typing as t

#: The record of which process is the engine; it is made once, by link(2), and never changed.
PROCESS_FILE = "process.json"

#: What an engine gets of the environment; the rest may hold credentials and is none of its business.
ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TZ")


#: Runs a program and returns what it prints.
Run = t.Callable[[t.Sequence[str]], str]


def identities(pids: t.Collection[int], run: Run) -> dict[int, str]:
    """Of those processes that live: what tells each from a later process with the same pid. A zombie doesn't live."""
    if not pids:
        return {}
    return _from_proc(pids) if sys.platform == "linux" else from_ps(pids, run)


def _from_proc(pids: t.Collection[int]) -> dict[int, str]:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        boot = stream.read().strip()
    living = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stream:
                # the second field, the program's name in parentheses, may hold anything
                fields = stream.read().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] not in (b"Z", b"X"):
            living[pid] = f"{boot}/{int(fields[19])}"  # field 22 of proc(5): clock ticks from boot to its start
    return living


def from_ps(pids: t.Collection[int], run: Run) -> dict[int, str]:
    """The same by ps(1), whose start time has a resolution of one second."""
    argv = ["env", "LC_ALL=C", "ps", "-o", "pid=,stat=,lstart=", "-p", ",".join(map(str, pids))]
    rows = [line.split(None, 2) for line in run(argv).splitlines()]
    return {int(pid): " ".join(start.split()) for pid, stat, start in rows if not stat.startswith("Z")}


def output_of(argv: t.Sequence[str]) -> str:
    """For this program alone, which has one thread and no Runner."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(write, 1)
            os.execvp(argv[0], list(argv))
        finally:
            os._exit(127)
    os.close(write)
    with os.fdopen(read, encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text


def _record(folder: str, incarnation: str) -> bool:
    """Claim the instance for this process; False when another launch was first."""
    pid = os.getpid()
    record = {
        "incarnation": incarnation,
        "pid": pid,
        "start": identities([pid], output_of)[pid],
        "started": time.time(),
    }
    draft = os.path.join(folder, f"{PROCESS_FILE}.{pid}")
    try:
        with open(draft, "w", encoding="ascii") as stream:
            json.dump(record, stream)
            stream.flush()
            os.fsync(stream.fileno())
        # Fails when there is a record already, or when the folder has been renamed for deletion.
        os.link(draft, os.path.join(folder, PROCESS_FILE))
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
    return True


def _detach(log: str) -> None:
    os.setsid()
    os.umask(0o077)
    os.chdir("/")
    streams = [os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)]
    os.dup2(streams[0], 0)
    os.dup2(streams[1], 1)
    os.dup2(streams[1], 2)
    for fd in map(int, os.listdir("/dev/fd")):
        if fd > 2:
            with contextlib.suppress(OSError):  # the one that listdir had open
                os.set_inheritable(fd, False)
    for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold passwords


def _become_engine(order: dict[str, t.Any], report: int) -> None:
    """Runs in the child. Returns only when there is nothing to do; C(report) closes by itself on exec."""
    signal.alarm(order["seconds"])
    try:
        _detach(order["log"])
        if not _record(order["folder"], order["incarnation"]):
            return
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        signal.alarm(0)  # exec would keep it
        try:
            os.execve(order["argv"][0], order["argv"], environment)
        except OSError:
            os.unlink(os.path.join(order["folder"], PROCESS_FILE))  # it never ran: the next Create is to try again
            raise
    except OSError as error:
        os.write(report, _fault(error.errno or 0, error.filename, error.strerror).encode())


def _fault(errno: int, path: t.Any, message: t.Any) -> str:
    return json.dumps({"errno": errno, "path": str(path or ""), "message": str(message or "")})


def main() -> int:
    order = json.load(sys.stdin)
    signal.alarm(order["seconds"] + 1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            _become_engine(order, write)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as stream:
        fault = stream.read()  # ends with exec, or with the child
    sys.stdout.write(fault)
    if fault:
        return 1
    if not os.path.exists(os.path.join(order["folder"], PROCESS_FILE)):
        sys.stdout.write(_fault(0, order["folder"], "the process that was to become the engine died"))
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
