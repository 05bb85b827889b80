# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Signals and a run, in a process of its own: they are the whole process's business."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

BEFORE = """
import os, signal, sys, threading, time
from ansible_collections.crawl.egress.plugins.module_utils import _entry
cancel = threading.Event()
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    path = os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep)[0]
    return subprocess.run(
        [sys.executable, "-c", BEFORE + script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM])
def test_the_first_signal_cancels_and_is_passed_on_at_the_end(signum) -> None:
    done = run(
        f"""
signal.signal({int(signum)}, lambda number, frame: sys.exit(f"got {{number}}"))
with _entry.stoppable(cancel) as stop:
    for _again in range(3):
        os.kill(os.getpid(), {int(signum) if signum != signal.SIGALRM else int(signal.SIGTERM)})
        os.kill(os.getpid(), signal.SIGTERM)
    print("cancelled:", cancel.wait(30))
print("passing on", flush=True)
stop.signum = {int(signum)}
stop.pass_on()
print("not reached")
"""
    )
    assert done.stdout == "cancelled: True\npassing on\n"
    assert done.stderr == f"got {int(signum)}\n"


def test_a_run_that_does_not_end_meets_the_earlier_handler() -> None:
    done = run(
        """
class TimedOut(BaseException):
    pass

def on_alarm(number, frame):
    raise TimedOut

_entry.GRACE = 1
signal.signal(signal.SIGALRM, on_alarm)
try:
    with _entry.stoppable(cancel):
        signal.alarm(1)
        while True:
            time.sleep(60)
except TimedOut:
    print("timed out, cancelled:", cancel.is_set(), "handler is back:", signal.getsignal(signal.SIGALRM) is on_alarm)
"""
    )
    assert done.stdout == "timed out, cancelled: True handler is back: True\n", done.stderr


def test_without_a_signal_nothing_stays_behind() -> None:
    done = run(
        """
before = [signal.getsignal(s) for s in _entry._STOPS]
signal.alarm(50)
with _entry.stoppable(cancel) as stop:
    pass
stop.pass_on()
print([signal.getsignal(s) for s in _entry._STOPS] == before, cancel.is_set(), 40 < signal.alarm(0) <= 50)
"""
    )
    assert done.stdout == "True False True\n", done.stderr
