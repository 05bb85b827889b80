# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The folder of a run, and what runs that were killed left behind.

A cluster's processes, mounts and network end with the test process (C(enclosure.py)). What can outlive a killed one is
its folder and the cgroup of the same name: the next run removes them. While a run lives it holds the lock in its
folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

CGROUPS = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def run_folder(runs: Path) -> Iterator[Path]:
    """Make a folder in C(runs) for as long as the context lasts; sweep up after dead runs first."""
    runs.mkdir(parents=True, exist_ok=True)
    with _locked(runs / "lock"):  # between making a folder and locking it, nobody may take it for a dead one
        for folder in runs.glob("egress-*"):
            _sweep(folder)
        folder = runs / f"egress-{secrets.token_hex(3)}"
        folder.mkdir(mode=0o700)  # keys and tokens lie in it
        lock = (folder / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        _remove(folder)
        lock.close()


def make_cgroup(name: str) -> None:
    for hierarchy in _hierarchies():
        if hierarchy == CGROUPS:  # v2: the kubelet wants those of these controllers that the machine has
            there = set((CGROUPS / "cgroup.controllers").read_text().split())
            wanted = {"cpu", "cpuset", "hugetlb", "memory", "pids"} & there
            (CGROUPS / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in wanted))
        (hierarchy / name).mkdir()
        if hierarchy.name == "cpuset":  # without these it takes no process
            for file in ("cpuset.cpus", "cpuset.mems"):
                (hierarchy / name / file).write_text((hierarchy / file).read_text())


def cgroups(name: str) -> list[Path]:
    """The directories of that cgroup, of all hierarchies."""
    return [hierarchy / name for hierarchy in _hierarchies() if (hierarchy / name).exists()]


def _hierarchies() -> list[Path]:
    """Where a cgroup has a directory: at one place with cgroup v2, at one for each controller with v1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [folder for folder in CGROUPS.iterdir() if (folder / "cgroup.procs").exists()]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _sweep(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError), (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        _remove(folder)


def _remove(folder: Path) -> None:
    for cgroup in cgroups(folder.name):
        until(f"nothing uses {cgroup}", lambda cgroup=cgroup: _remove_cgroup(cgroup), seconds=10)
    until(
        f"nothing writes to {folder}",
        lambda: shutil.rmtree(folder, ignore_errors=True) or not folder.exists(),
        seconds=10,
    )


def _remove_cgroup(cgroup: Path) -> bool:
    for directory, _folders, _files in os.walk(cgroup, topdown=False):
        with contextlib.suppress(OSError):  # its last process is still on the way out
            os.rmdir(directory)
    return not cgroup.exists()
