# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check of this machine: it says what a Create would meet, and leaves no trace."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.local import check, engines
from ansible_collections.crawl.egress.plugins.module_utils._providers.local.provider import LocalProvider, build
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Checker,
    Context,
    ProviderHost,
    TargetStatus,
)
from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import run_program


def status_of(provider: LocalProvider, ctx: Context | None = None) -> TargetStatus:
    (status,) = provider.check(ctx or Context.within(60))
    return status


def tree(folder: Path) -> list[t.Any]:
    """Everything there, and when it was changed."""
    return [(str(path), path.lstat().st_mtime_ns) for path in [folder, *sorted(folder.rglob("*"))]]


def test_ready_with_either_engine(engine, backend, tmp_path) -> None:
    before = tree(tmp_path)
    provider = backend.provider(host="hv1")
    assert isinstance(provider, Checker)
    status = status_of(provider)
    assert (status.target, status.ready, status.reason, status.message) == ("hosts/hv1", True, "Reachable", "")
    details = dict(status.details)
    assert details.pop("free").endswith(" MiB")
    assert details.pop("version")[0].isdigit()
    program = shutil.which("squid", path=f"{os.environ['PATH']}:/usr/sbin") if engine == "squid" else sys.executable
    assert details == {"directory": str(backend.directory), "engine": engine, "program": program, "users": "yes"}
    assert tree(tmp_path) == before


def test_it_disturbs_nothing(provider, backend, request_for, serving, ctx) -> None:
    instance = serving(provider, request_for())
    before = tree(backend.directory / "hosts")
    assert status_of(provider).ready
    assert tree(backend.directory / "hosts") == before
    assert provider.get(instance.provider_id, ctx) == instance


@pytest.mark.parametrize("over", [Context.within(0), Context.within(60, cancel=threading.Event())])
def test_out_of_time(provider, over) -> None:
    over.cancel.set()
    status = status_of(provider, over)
    assert (status.target, status.ready, status.reason) == ("hosts/localhost", False, "Timeout")


def test_below_a_file(backend) -> None:
    backend.directory.write_text("")
    for directory in (backend.directory, backend.directory / "deeper"):
        status = status_of(backend.provider(directory=str(directory)))
        assert (status.ready, status.reason) == (False, "InvalidConfig")
        assert str(backend.directory) in status.message


def test_a_file_where_the_proxies_would_be(backend) -> None:
    backend.directory.mkdir()
    (backend.directory / "hosts").write_text("")
    assert status_of(backend.provider()).reason == "InvalidConfig"


@pytest.fixture
def passable() -> Iterator[Path]:
    """A folder that anybody may enter, as no folder above C(tmp_path) is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o300, 0o600])
def test_a_folder_that_may_not_be_used(backend, passable, mode) -> None:
    directory = passable / "local"
    directory.mkdir(mode)
    provider = backend.provider(directory=str(directory))
    user = os.geteuid()
    try:
        if user == 0:  # who may use everything
            os.chown(directory, 65534, -1)
            os.seteuid(65534)
        status = status_of(provider)
    finally:
        os.seteuid(user)
        directory.chmod(0o700)
    assert (status.ready, status.reason) == (False, "Forbidden")
    assert status.message.startswith(str(directory))
    assert status.message.endswith("Permission denied")


def test_a_full_disk(provider, monkeypatch) -> None:
    monkeypatch.setattr(check, "LEAST_SPACE", 2**62)
    status = status_of(provider)
    assert (status.ready, status.reason) == (False, "StorageFull")
    assert status.message.endswith(f"bytes are free, {2**62} are needed")


def without(monkeypatch: pytest.MonkeyPatch, *what: str) -> None:
    """Hide engines from this process."""
    for name in what:
        if name == "squid":
            monkeypatch.setenv("PATH", "/nowhere")
            monkeypatch.setattr(engines, "PROGRAM_FOLDERS", ())
        elif name == "helper":
            monkeypatch.setattr(engines, "AUTH_HELPERS", ())
        else:
            monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(
    ("wanted", "hidden", "expected"),
    [
        ("squid", ["squid"], "local.engine is squid: there is no program squid on PATH (install Squid"),
        ("proxy.py", ["proxy"], "has no Python package proxy.py (install Squid"),
        ("auto", ["squid", "proxy"], "there is no program squid on PATH, and "),
    ],
)
def test_no_engine(backend, monkeypatch, wanted, hidden, expected) -> None:
    without(monkeypatch, *hidden)
    status = status_of(backend.provider(engine=wanted))
    assert (status.ready, status.reason) == (False, "EngineMissing")
    assert expected in status.message


@pytest.mark.parametrize(
    ("wanted", "hidden", "engine", "users"),
    [
        ("auto", [], "squid", "yes"),
        ("auto", ["squid"], "proxy.py", "yes"),
        ("auto", ["helper"], "squid", "yes"),  # those with users get proxy.py
        ("squid", ["helper"], "squid", "no: local.engine is squid: /"),
        ("proxy.py", ["passlib"], "proxy.py", "no: local.engine is proxy.py: "),
    ],
)
def test_an_engine_that_may_have_no_users(backend, monkeypatch, wanted, hidden, engine, users) -> None:
    without(monkeypatch, *hidden)
    status = status_of(backend.provider(engine=wanted))
    assert (status.ready, status.details["engine"]) == (True, engine)
    assert status.details["users"].startswith(users)


def test_a_squid_that_does_not_run(backend, monkeypatch, tmp_path) -> None:
    program = tmp_path / "squid"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    provider = build("lab", {**backend.config, "engine": "squid"}, ProviderHost(run_program, sys.executable))
    status = status_of(provider)
    assert (status.ready, status.reason) == (False, "EngineMissing")
    assert status.message == f"{program} is there, but does not run: {program} -v ends with status 3"
