# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nothing of a cluster stays behind, however its session ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.tests.kubernetes.runs import cgroups, run_folder
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

ONGOING = Path(__file__).with_name("ongoing.py")


@contextlib.contextmanager
def session(tell: Path, cache: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run pytest with a cluster that has a node and a Pod; its clusters have their folders in a cache of their own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", ONGOING],
        cwd=ONGOING.parents[2],
        env={**os.environ, "TELL": str(tell), "XDG_CACHE_HOME": str(cache)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        yield process
        process.kill()


@pytest.fixture
def cache(programs: Path, tmp_path: Path) -> Path:
    """A cache with the same programs, in which other sessions of this machine have no clusters."""
    folder = tmp_path / "cache" / "crawl.egress"
    folder.mkdir(parents=True)
    (folder / programs.name).symlink_to(programs)
    return folder.parent


def machine() -> dict[str, object]:
    """What of the machine's own a cluster could leave something in."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {"mounts": sorted(mounts), "links": sorted(os.listdir("/sys/class/net"))}


@contextlib.contextmanager
def namespaces_of(pid: int) -> Iterator[list[os.stat_result]]:
    """What tells the namespaces of an enclosure from all others, while the context lasts.

    They are held open: the kernel gives the number of one that is gone to the next that anybody makes, a Pod of another
    session for example. The mount namespace is not among them, for it would keep its mounts; all that is in it is in
    the pid namespace too.
    """
    with contextlib.ExitStack() as held:
        paths = [f"/proc/{pid}/ns/{name}" for name in ("net", "pid_for_children")]
        yield [os.stat(held.enter_context(open(path, "rb")).fileno()) for path in paths]


def processes_in(namespaces: list[os.stat_result]) -> set[str]:
    """Process ids and names."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/ns/*"):
        with contextlib.suppress(OSError):  # it has just ended
            if any(os.path.samestat(entry.stat(), namespace) for namespace in namespaces):
                found.add(f"{entry.parts[2]} {(entry.parents[1] / 'comm').read_text().strip()}")
    return found


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_session_that_is_ended(end, cache, tmp_path) -> None:
    before = machine()
    tell = tmp_path / "told"
    with session(tell, cache) as process:
        until("the Pod runs", lambda: tell.exists() and tell.read_text())
        told = json.loads(tell.read_text())
        folder = Path(told["folder"])
        with namespaces_of(told["pid"]) as namespaces:
            assert processes_in(namespaces)
            assert cgroups(folder.name)
            process.send_signal(end)
            process.communicate()
            with contextlib.suppress(TimeoutError):
                until("its processes have ended", lambda: not processes_in(namespaces), seconds=10)
            assert not processes_in(namespaces)
    assert machine() == before
    if end != signal.SIGINT:  # pytest could not clean up: the next session does
        assert cgroups(folder.name)
        with run_folder(folder.parent):
            pass
    assert not cgroups(folder.name)
    assert not folder.exists()


def test_a_session_that_is_killed_while_its_cluster_starts(cache, tmp_path) -> None:
    before = machine()
    clusters = cache / "crawl.egress" / "clusters"
    with session(tmp_path / "told", cache) as process:
        (log,) = until("etcd has started", lambda: list(clusters.glob("*/etcd.log")))
        process.kill()
    with run_folder(clusters):
        assert not log.parent.exists()
    assert not cgroups(log.parent.name)
    assert machine() == before


def test_a_session_that_goes_on_keeps_what_it_has(tmp_path) -> None:
    with run_folder(tmp_path) as mine, run_folder(tmp_path) as other:
        assert mine.exists()
        assert other.exists()
    assert list(tmp_path.iterdir()) == [tmp_path / "lock"]
