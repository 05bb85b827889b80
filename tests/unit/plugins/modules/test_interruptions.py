# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fleet run that is stopped in the middle of something: the next run takes it up, and meanwhile it is locked."""

from __future__ import annotations

import os
import signal
import sys
import typing as t

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.crawl.egress.plugins.module_utils._entry import perform
from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._run import fleet
from ansible_collections.crawl.egress.plugins.plugin_utils._door import run_program

SQUID = {"allowed_sources": ["127.0.0.0/8"]}


def options(backend: t.Any, replicas: int, slow: dict[str, str] | None = None) -> dict[str, t.Any]:
    kind = "egress_tests.doors.slow" if slow else "local"
    return {
        "desired": {
            "install": "demo",
            "providers": [{"name": "here", "type": kind, kind: {**backend.config, **(slow or {})}}],
            "pools": [{"name": "eu", "replicas": replicas}],
            "squid": SQUID,
        },
        "state_dir": str(backend.directory.parent / "state"),
        "wait_sleep": 0.2,
        "allow_empty": True,
        "max_deletions": "100%",
    }


def run_fleet(backend: t.Any, replicas: int) -> dict[str, t.Any]:
    """The same run without Ansible around it."""
    checked = ArgumentSpecValidator(fleet.argument_spec()).validate(options(backend, replicas))
    assert not checked.error_messages
    return perform(fleet, checked.validated_parameters, Host(run_program, sys.executable))


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "timeout"])
@pytest.mark.parametrize(("op", "before", "after"), [("create", 0, 2), ("get", 0, 2), ("delete", 2, 0)])
def test_the_next_run_takes_it_up(player, backend, killed, until, tmp_path, op, before, after, how) -> None:
    signs = tmp_path / "signs"
    signs.mkdir()
    assert run_fleet(backend, before)["outcome"] == "converged"

    task = {"crawl.egress.egress_fleet": options(backend, after, {"op": op, "signs": str(signs)})}
    running = player.start([{**task, "timeout": 5} if how == "timeout" else task])
    killed.append(running)
    until((signs / "begun").exists)
    if how != "timeout":
        locked = run_fleet(backend, after)
        assert (locked["failed"], locked["changed"], locked["outcome"]) == (True, False, "locked")
        assert locked["error"]["reason"] == "Locked"
    if how == "SIGKILL":
        for pid in [*_children(running.pid), running.pid]:
            os.kill(pid, signal.SIGKILL)
    elif how == "SIGTERM":
        running.terminate()
    output = running.communicate(timeout=60)[0]
    assert running.returncode != 0, output
    assert ("Timed out after 5 second(s)." in output) == (how == "timeout")
    if how != "SIGKILL":
        until((signs / "ended").exists)
    until(lambda: run_fleet(backend, after).get("outcome") == "converged")
    again = run_fleet(backend, after)
    assert (again["outcome"], again["changed"]) == ("converged", False)
    assert len(list(backend.directory.glob("hosts/*/*/state.json"))) == after
    assert bool(backend.processes()) == bool(after)


@pytest.mark.parametrize("after", [2, 0])
def test_a_deletion_that_broke_off_halfway_is_finished(backend, after) -> None:
    assert run_fleet(backend, 2)["outcome"] == "converged"
    left = sorted(backend.directory.glob("hosts/*/*/state.json"))[0].parent
    left.rename(left.with_name(left.name + ".deleting"))  # what a deletion does first; the engine still lives
    taken_up = run_fleet(backend, after)
    assert (taken_up["outcome"], taken_up["changed"]) == ("converged", True)
    assert len(taken_up["actions"]) == (1 if after else 2)
    assert run_fleet(backend, after)["changed"] is False
    assert len(list(backend.directory.glob("hosts/*/*"))) == 2 * after  # a folder and a lock each
    assert bool(backend.processes()) == bool(after)


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(text) for text in file.read().split()]
