# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Processes, listening sockets, and who holds a port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.local import egress_launcher, processes
from ansible_collections.crawl.egress.plugins.module_utils._providers.local.records import Process
from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import run_program

IDLE = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]


@pytest.fixture
def idle():
    """A process that does nothing until its input ends."""
    process = subprocess.Popen(IDLE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.communicate()


def _run(argv: t.Sequence[str]) -> str:
    return run_program(argv)[1]


def _living(*pids: int) -> dict[int, str]:
    return egress_launcher.identities(pids, _run)


def _process(pid: int, start: str) -> Process:
    return Process("0123456789abcdef", pid, start, 0.0)


@pytest.fixture(params=[egress_launcher.identities, egress_launcher.from_ps], ids=["proc", "ps"])
def identities(request):
    return lambda pids: request.param(pids, _run)


def test_the_living_have_an_identity(identities, idle):
    found = identities([os.getpid(), idle.pid])
    assert set(found) == {os.getpid(), idle.pid}
    assert found == identities([os.getpid(), idle.pid])


def test_the_dead_have_none(identities, idle):
    idle.kill()
    assert os.waitid(os.P_PID, idle.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    assert identities([idle.pid]) == {}
    idle.wait()
    assert identities([idle.pid]) == {}


def test_nobody_is_asked_about():
    assert _living() == {}


def test_the_launcher_asks_ps_by_itself():
    folder = os.path.dirname(egress_launcher.__file__)
    program = f"import sys; sys.path.append({folder!r}); import egress_launcher as it; "
    program += f"print(it.from_ps([{os.getpid()}], it.output_of))"
    expected = egress_launcher.from_ps([os.getpid()], _run)
    assert run_program([sys.executable, "-B", "-c", program]) == (0, f"{expected}\n", "")


def test_two_processes_differ(idle):
    found = _living(os.getpid(), idle.pid)
    assert found[os.getpid()] != found[idle.pid]


def test_a_recycled_pid_is_another_process(idle):
    start = _living(idle.pid)[idle.pid]
    ours, recycled = _process(idle.pid, start), _process(idle.pid, "an earlier one")
    probe = processes.Probe([ours, recycled], _run)
    assert probe.alive(ours)
    assert not probe.alive(recycled)


def test_a_name_with_parentheses_and_blanks_confuses_nobody(tmp_path):
    program = tmp_path / "a) Z (b 1 2"
    program.write_text("#!/bin/sh\necho\nread x\n")
    program.chmod(0o755)
    with subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert process.pid in _living(process.pid)
        process.stdin.close()


def test_only_the_process_s_own_socket_counts(idle):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address, port = server.getsockname()
        living = _living(os.getpid(), idle.pid)
        ours, other = _process(os.getpid(), living[os.getpid()]), _process(idle.pid, living[idle.pid])
        probe = processes.Probe([ours, other], _run)
        assert probe.accepts(ours, address, port)
        assert not probe.accepts(other, address, port)
        assert not probe.accepts(ours, "127.0.0.2", port)


def test_a_connection_tells_where_there_is_no_table(monkeypatch):
    monkeypatch.setattr(processes.sys, "platform", "darwin")
    ours = _process(os.getpid(), "x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        probe = processes.Probe([ours], lambda argv: "")
        assert probe.accepts(ours, *server.getsockname())
        port = server.getsockname()[1]
    assert not probe.accepts(ours, "127.0.0.1", port)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_who_holds_a_port_is_named(address):
    with socket.create_server((address, 0)) as server:
        port = server.getsockname()[1]
        comm = Path("/proc/self/comm").read_text().strip()
        assert processes.holder("127.0.0.1", port) == f"process {os.getpid()} ({comm})"


def test_who_holds_a_port_of_all_ipv6_addresses_is_named():
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        assert f"process {os.getpid()} " in processes.holder("127.0.0.1", server.getsockname()[1])


def test_a_port_that_nobody_holds_has_no_name():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert processes.holder("127.0.0.1", free.getsockname()[1]) == "another program"


def test_binding_tells_what_an_engine_would_meet():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert processes.bind_error("127.0.0.2", port) is None
        assert isinstance(processes.bind_error("127.0.0.1", port), OSError)
