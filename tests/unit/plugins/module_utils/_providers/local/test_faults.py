# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Crashes, damage, full disks, taken ports, and runs that meet: nothing is lost, doubled or left behind."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.local import api, engines
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Completeness,
    Context,
    CreateOutcome,
    DeleteOutcome,
    InstanceRef,
    ProviderError,
    Reason,
    Scope,
    Selector,
    State,
)
from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import start_elsewhere

OURS = Selector(install="prod")
SCOPE = Scope("hosts/localhost")


class _Killed(BaseException):
    """Stands for SIGKILL: nobody may catch it."""


def _die(*_args: object, **_kwargs: object) -> None:
    raise _Killed


def _seam(provider):
    """Its LocalApi, behind what times the calls."""
    return provider._api._api


def _killed_at(provider, step: str, call: Callable[[], object]) -> None:
    """A run that dies when it comes to a step of the seam."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_seam(provider), step, _die)
        with pytest.raises(_Killed):
            call()


def _reason_of(call: Callable[[], object]) -> tuple[Reason, str]:
    with pytest.raises(ProviderError) as raised:
        call()
    return raised.value.reason, raised.value.message


def _main_process(backend, instance) -> int:
    return int(json.loads((backend.folder(instance.name) / "process.json").read_text())["pid"])


# --- crashes


@pytest.mark.parametrize("step", ["install_programs", "choose_address", "write_state", "launch", "_runner"])
def test_a_create_that_broke_off_is_taken_up(provider, backend, request_for, serving, ctx, step):
    """The run dies before the step. The next one makes it whole, under the same incarnation if there was one."""
    request = request_for()
    _killed_at(provider, step, lambda: provider.create(request, ctx))
    listed = provider.list_by_tag(OURS, ctx)
    assert listed.scopes[SCOPE].complete
    for left in listed.instances:
        assert left.state is State.PROVISIONING
    instance = serving(provider, request)
    assert [left.incarnation for left in listed.instances] in ([], [instance.incarnation])
    assert len({os.getsid(pid) for pid in backend.processes()}) == 1
    provider.delete(instance.ref, ctx)
    assert backend.traces(instance.incarnation) == []


def test_a_create_that_broke_off_is_taken_up_with_what_is_wanted_now(provider, request_for, serving, ctx):
    _killed_at(provider, "launch", lambda: provider.create(request_for(spec_hash="0" * 32), ctx))
    (left,) = provider.list_by_tag(OURS, ctx).instances
    instance = serving(provider, request_for(port=3129, spec_hash="1" * 32))
    assert instance.incarnation == left.incarnation
    assert (instance.marks.spec_hash, instance.marks.port) == ("1" * 32, 3129)


def test_a_create_that_broke_off_can_be_deleted(provider, backend, request_for, ctx):
    _killed_at(provider, "launch", lambda: provider.create(request_for(), ctx))
    (left,) = provider.list_by_tag(OURS, ctx).instances
    assert provider.delete(left.ref, ctx).outcome is DeleteOutcome.GONE
    assert backend.traces(left.incarnation) == []


@pytest.mark.parametrize("step", ["stop", "finish_delete"])
def test_a_delete_that_broke_off_is_finished(engine, provider, backend, request_for, serving, ctx, step):
    request = request_for()
    instance = serving(provider, request)
    _killed_at(provider, step, lambda: provider.delete(instance.ref, ctx))
    found = provider.get(instance.provider_id, ctx)
    assert (found.deleting, found.serves, found.ref) == (False, False, instance.ref)
    assert (found.state, found.cause) == (State.STOPPED, "DeletionInterrupted")
    assert provider.list_by_tag(OURS, ctx).instances == (found,)
    assert _reason_of(lambda: provider.create(request, ctx))[0] is Reason.BUSY
    assert _reason_of(lambda: provider.set_mark(instance.ref, "hold", "1", ctx))[0] is Reason.BUSY
    assert provider.delete(instance.ref, ctx).outcome is DeleteOutcome.GONE
    assert backend.traces(instance.incarnation) == []


def test_a_delete_under_way_is_no_broken_one(provider, backend, request_for, serving, ctx):
    instance = serving(provider, request_for())
    folder = backend.folder(instance.name)
    with provider._api.instance_lock(instance.name, ctx):
        folder.rename(folder.with_name(folder.name + ".deleting"))
        found = provider.get(instance.provider_id, ctx)
        assert (found.deleting, found.state, found.cause) == (True, State.STOPPED, None)
    assert provider.delete(instance.ref, ctx).outcome is DeleteOutcome.GONE


def test_a_delete_that_broke_off_at_the_very_end_is_in_nobody_s_way(provider, backend, request_for, serving, ctx):
    instance = serving(provider, request_for())
    os.kill(_main_process(backend, instance), signal.SIGKILL)
    folder = backend.folder(instance.name)
    folder.rename(folder.with_name(folder.name + ".deleting"))
    (backend.folder(instance.name + ".deleting") / "state.json").unlink()
    for segment in engines.shared_memory(instance.incarnation):
        os.unlink(segment)
    listing = provider.list_by_tag(OURS, ctx)
    assert listing.instances == ()
    assert listing.scopes[SCOPE].complete
    assert _reason_of(lambda: provider.get(instance.provider_id, ctx))[0] is Reason.GONE
    again = serving(provider, request_for())
    provider.delete(again.ref, ctx)
    assert not [trace for trace in backend.traces() if instance.name in trace]


def test_a_killed_proxy_has_crashed(engine, provider, backend, request_for, serving, until, ctx):
    instance = serving(provider, request_for())
    os.kill(_main_process(backend, instance), signal.SIGKILL)
    found = until(lambda: (now := provider.get(instance.provider_id, ctx)).state is State.STOPPED and now)
    assert (found.cause, found.deleting, found.serves) == ("Crashed", False, False)
    until(lambda: not backend.processes())  # no helper, no worker goes on listening
    assert provider.create(request_for(), ctx).outcome is CreateOutcome.ADOPTED  # to replace it, delete it first
    provider.delete(instance.ref, ctx)
    again = serving(provider, request_for())
    assert again.incarnation != instance.incarnation
    provider.delete(again.ref, ctx)
    assert backend.traces(instance.incarnation, again.incarnation) == []


def test_the_end_of_the_log_says_why_it_crashed(engine, backend, provider, request_for, serving, until, ctx):
    """The port is taken between the look at it and the engine's start: Stopped, and the reason is told."""
    request = request_for()
    with socket.socket() as rival:
        rival.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        launch = _seam(provider).launch

        def take_the_port_first(record, order):
            rival.bind((record.address, record.port))
            rival.listen()
            launch(record, order)

        _seam(provider).launch = take_the_port_first
        identity = provider.create(request, ctx).provider_id
        found = until(lambda: (now := provider.get(identity, ctx)).state is State.STOPPED and now)
        assert found.cause == "Crashed"
        assert "in use" in found.message
        assert len(found.message) <= 600


def test_a_log_gives_no_secret_away(provider, backend, request_for, serving, until, ctx, password_hash):
    instance = serving(provider, request_for())
    os.kill(_main_process(backend, instance), signal.SIGKILL)
    log = backend.folder(instance.name) / "engine.log"
    log.write_bytes(
        b"x" * 10_000
        + f"\nold\n{password_hash}\nProxy-Authorization: Basic Y3Jhd2xlcjpzZWNyZXQ=\nhttp://u:secret@h/\n".encode()
        + b"\x1b[31mred\xff\0\n"
    )
    found = until(lambda: (now := provider.get(instance.provider_id, ctx)).state is State.STOPPED and now)
    for secret in (password_hash, "Y3Jhd2xlcjpzZWNyZXQ", "secret"):
        assert secret not in found.message
    assert found.message.isprintable()
    assert "old" in found.message


def test_a_recycled_pid_is_never_killed(provider, backend, request_for, serving, until, ctx):
    instance = serving(provider, request_for())
    os.kill(_main_process(backend, instance), signal.SIGKILL)
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        file = backend.folder(instance.name) / "process.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "pid": stranger.pid}))
        found = provider.get(instance.provider_id, ctx)
        assert (found.state, found.cause) == (State.STOPPED, "Crashed")
        provider.delete(instance.ref, ctx)
        assert stranger.poll() is None
    finally:
        stranger.communicate()


def test_an_engine_that_ignores_sigterm_is_killed(provider, backend, request_for, serving, until, ctx, monkeypatch):
    request = request_for()
    launch = _seam(provider).launch
    script = "trap '' TERM INT; echo started; while :; do sleep 0.05; done"
    argv = ("/bin/sh", "-c", script, str(backend.directory / "marker"))
    monkeypatch.setattr(
        _seam(provider), "launch", lambda record, it: launch(record, dataclasses.replace(it, argv=argv))
    )
    created = provider.create(request, ctx)
    log = backend.folder(request.name) / "engine.log"
    until(lambda: log.exists() and "started" in log.read_text())
    assert provider.get(created.provider_id, ctx).state is State.PROVISIONING  # it lives and doesn't listen
    provider.delete(InstanceRef(created.provider_id, created.incarnation), ctx)
    assert backend.traces(created.incarnation) == []


def test_a_clock_set_back_changes_nothing(provider, backend, request_for, serving, ctx):
    instance = serving(provider, request_for())
    for file in ("state.json", "process.json"):
        path = backend.folder(instance.name) / file
        raw = json.loads(path.read_text())
        future = {key: value + 1e9 for key, value in raw.items() if key in ("created", "started")}
        path.write_text(json.dumps({**raw, **future}))
    assert provider.get(instance.provider_id, ctx).serves
    assert provider.create(request_for(), ctx).outcome is CreateOutcome.ADOPTED
    provider.delete(instance.ref, ctx)
    assert backend.traces(instance.incarnation) == []


# --- launches


def _launch(backend, folder: Path, incarnation: str, *argv: str) -> tuple[int, str]:
    order = {"folder": str(folder), "incarnation": incarnation, "argv": argv, "log": str(folder / "log"), "seconds": 10}
    seam = _seam(backend.provider())
    status, output, _errors = seam._runner(
        [seam._python, str(backend.directory / "egress_launcher.py")], stdin=json.dumps(order)
    )
    return status, output


@pytest.fixture
def folder(backend) -> Path:
    folder = backend.directory / "some"
    folder.mkdir(parents=True)
    _seam(backend.provider()).install_programs()
    return folder


def test_only_one_launch_wins(backend, folder):
    engine = ("/bin/sh", "-c", "echo engine; sleep 60", str(folder / "x"))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        outcomes = [pool.submit(_launch, backend, folder, "a" * 16, *engine) for _unused in range(4)]
    assert [outcome.result() for outcome in outcomes] == [(0, "")] * 4
    pid = json.loads((folder / "process.json").read_text())["pid"]
    assert {os.getsid(process) for process in backend.processes()} == {pid}
    assert sorted(os.listdir(folder)) == ["log", "process.json"]


def test_a_launch_into_a_folder_being_deleted_starts_nothing(backend, folder):
    status, output = _launch(backend, folder / "renamed", "a" * 16, "/bin/sh", "-c", "sleep 60", str(folder / "x"))
    assert status == 1
    assert json.loads(output)["errno"] == 2
    assert backend.processes() == []


def test_an_engine_that_can_t_be_started_can_be_tried_again(backend, folder):
    status, output = _launch(backend, folder, "a" * 16, str(folder / "nowhere"))
    assert status == 1
    assert json.loads(output)["path"] == str(folder / "nowhere")
    assert os.listdir(folder) == ["log"]


def test_a_launcher_that_dies_is_no_proxy(provider, backend, request_for, serving, ctx, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(_seam(provider), "_runner", lambda argv, stdin="": (-14, "", "first\nAlarm clock\n"))
        reason, message = _reason_of(lambda: provider.create(request_for(), ctx))
    assert reason is Reason.API_ERROR
    assert "status -14" in message
    assert "Alarm clock" in message
    assert serving(provider, request_for()).serves


def test_the_environment_of_the_task_is_not_the_engine_s(engine, backend, provider, request_for, serving, monkeypatch):
    monkeypatch.setenv("SOME_CLOUD_TOKEN", "secret-of-the-task")
    instance = serving(provider, request_for())
    environment = Path("/proc", str(_main_process(backend, instance)), "environ").read_bytes()
    assert b"PATH=" in environment
    assert b"secret-of-the-task" not in environment


# --- secrets


def test_password_hashes_are_read_by_their_reader_only(
    engine, backend, provider, request_for, serving, ctx, password_hash, caplog
):
    caplog.set_level("DEBUG")
    request = request_for()
    instance = serving(provider, request)
    provider.list_by_tag(OURS, ctx)
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            assert password_hash.encode() not in Path("/proc", str(pid), "cmdline").read_bytes()
        except OSError:
            continue
    holding = []
    for root in (backend.directory, Path(api.ROOT_SECRETS), Path("/dev/shm")):
        for file in (path for path in root.rglob("*") if path.is_file()):
            if password_hash.encode() in file.read_bytes():
                holding.append(file)
    (file,) = [path for path in holding if instance.incarnation in str(path) or instance.name in str(path)]
    assert file.stat().st_mode & 0o077 == 0
    for path in (path for path in backend.directory.rglob("*") if path.is_file()):
        assert path.stat().st_mode & 0o077 == 0
    assert backend.directory.stat().st_mode & 0o077 == 0
    assert password_hash not in caplog.text
    assert password_hash not in repr((request, instance))
    provider.delete(instance.ref, ctx)
    assert not file.exists()


def test_every_log_line_names_provider_and_instance(provider, request_for, serving, ctx, caplog):
    caplog.set_level("DEBUG", "crawl.egress")
    instance = serving(provider, request_for())
    provider.delete(instance.ref, ctx)
    lines = [record for record in caplog.records if record.name == "crawl.egress.lab"]
    assert len(lines) >= 2
    assert all("lab" in line.getMessage() and instance.name in line.getMessage() for line in lines)


# --- ports and addresses


def test_a_taken_port_is_a_conflict_that_names_the_holder(provider, backend, request_for, ctx):
    with socket.create_server(("0.0.0.0", 0)) as holder:
        port = holder.getsockname()[1]
        reason, message = _reason_of(lambda: provider.create(request_for(port=port), ctx))
    assert reason is Reason.CONFLICT
    assert str(port) in message
    assert f"process {os.getpid()} (" in message
    assert backend.traces() == []


def test_another_program_s_address_is_passed_over(backend, provider, request_for, serving, ctx):
    first = serving(provider, request_for())
    provider.delete(first.ref, ctx)
    with socket.create_server((first.address, 3128)):
        second = serving(provider, request_for())
        assert second.address != first.address
        third = serving(backend.provider(host="other"), request_for(host="other"))  # the same name, thus next in line
    assert third.address not in (first.address, second.address)


def test_one_address_serves_several_ports(backend, request_for, serving, client_of, origin, ctx):
    with socket.socket() as probe:  # an address that other tests don't use at this moment
        probe.bind(("127.91.7.7", 0))
        ports = [probe.getsockname()[1], probe.getsockname()[1] ^ 1]
    provider = backend.provider(addresses="127.91.7.7/32")
    first, second = (serving(provider, request_for(str(port), port=port)) for port in ports)
    assert (first.address, second.address) == ("127.91.7.7", "127.91.7.7")
    assert client_of(second).get(origin.url)[1]["client"] == "127.91.7.7"
    reason, message = _reason_of(lambda: provider.create(request_for("third", port=ports[0]), ctx))
    assert reason is Reason.CONFLICT
    assert first.name in message
    provider.delete(first.ref, ctx)
    assert serving(provider, request_for("third", port=ports[0])).serves


def test_no_address_left_is_told(backend, request_for, ctx):
    provider = backend.provider(addresses="127.91.8.0/30")  # two addresses
    for key in ("a", "b"):
        provider.create(request_for(key), ctx)
    reason, message = _reason_of(lambda: provider.create(request_for("c"), ctx))
    assert reason is Reason.CAPACITY
    assert "127.91.8.0/30" in message


def test_a_reservation_left_by_a_crash_counts_for_nothing(backend, request_for, serving):
    provider = backend.provider(addresses="127.91.9.0/30")
    addresses = backend.directory / "addresses"
    addresses.mkdir(parents=True)
    for last in (1, 2):
        (addresses / f"127.91.9.{last}").symlink_to("localhost/proxy-of-old")
    assert serving(provider, request_for()).serves


# --- damage


DAMAGE = {
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "not JSON": lambda text: "port: 3128\n",
    "another host": lambda text: text.replace('"localhost"', '"other"'),
    "another version": lambda text: text.replace('"format": 1', '"format": 2'),
    "a port of its own": lambda text: text.replace("3128", '"3128"'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_state_file_is_neither_deleted_nor_taken_for_absence(
    provider, backend, request_for, serving, ctx, damage
):
    instance, healthy = serving(provider, request_for()), serving(provider, request_for("b"))
    file = backend.folder(instance.name) / "state.json"
    whole = file.read_text()
    file.write_text(damage(whole))
    listing = provider.list_by_tag(OURS, ctx)
    assert listing.instances == (healthy,)
    assert listing.unreadable == (instance.provider_id,)
    assert listing.scopes[SCOPE].completeness is Completeness.PARTIAL
    assert str(file) in listing.scopes[SCOPE].message
    assert _reason_of(lambda: provider.get(instance.provider_id, ctx))[0] is Reason.API_ERROR
    for call in (
        lambda: provider.create(request_for(), ctx),
        lambda: provider.delete(instance.ref, ctx),
        lambda: provider.set_mark(instance.ref, "hold", "1", ctx),
    ):
        reason, message = _reason_of(call)
        assert reason is Reason.CONFLICT
        assert str(file) in message
    assert file.read_text() == damage(whole)
    file.write_text(whole)
    assert provider.get(instance.provider_id, ctx) == instance


@pytest.mark.parametrize("name", ["state.json", "process.json"])
@pytest.mark.parametrize("kind", ["missing", "binary", "folder", "another incarnation's"])
def test_other_damage_is_none_either(provider, backend, request_for, serving, ctx, name, kind):
    instance = serving(provider, request_for())
    file = backend.folder(instance.name) / name
    pid = _main_process(backend, instance)
    text = file.read_text()
    file.unlink()
    if kind == "binary":
        file.write_bytes(b"\xff\xfe\0")
    elif kind == "folder":
        file.mkdir()
    elif kind != "missing":
        file.write_text(text.replace(instance.incarnation, "0" * 16))
    listing = provider.list_by_tag(OURS, ctx)
    if (name, kind) == ("process.json", "missing"):  # as before the first start; the port tells that it is not
        assert [found.state for found in listing.instances] == [State.PROVISIONING]
    else:
        assert listing.unreadable == (instance.provider_id,)
        assert listing.scopes[SCOPE].completeness is Completeness.PARTIAL
        assert _reason_of(lambda: provider.delete(instance.ref, ctx))[0] is Reason.CONFLICT
    assert pid in backend.processes()


def test_a_file_in_place_of_a_proxy_s_folder_is_damage(provider, backend, request_for, ctx):
    request = request_for()
    backend.folder(request.name).parent.mkdir(parents=True)
    backend.folder(request.name).write_text("?")
    listing = provider.list_by_tag(OURS, ctx)
    assert listing.unreadable == (f"hosts/localhost/proxies/{request.name}",)
    assert _reason_of(lambda: provider.create(request, ctx))[0] is Reason.CONFLICT


def test_what_is_none_of_ours_is_ignored(provider, backend, request_for, serving, ctx):
    instance = serving(provider, request_for())
    (backend.folder(instance.name).parent / "README.txt").write_text("?")
    (backend.folder(instance.name).parent / "lost+found").mkdir()
    listing = provider.list_by_tag(OURS, ctx)
    assert listing.instances == (instance,)
    assert listing.scopes[SCOPE].complete


def test_a_directory_that_is_none_is_told(provider, backend, request_for, ctx):
    backend.directory.write_text("?")
    listing = provider.list_by_tag(OURS, ctx)
    assert listing.scopes[SCOPE].completeness is Completeness.FAILED
    assert listing.scopes[SCOPE].reason == Reason.INVALID_CONFIG.wire
    for call in (
        lambda: provider.create(request_for(), ctx),
        lambda: provider.get("hosts/localhost/proxies/proxy-a", ctx),
        lambda: provider.delete(InstanceRef("hosts/localhost/proxies/proxy-a", "0" * 16), ctx),
    ):
        assert _reason_of(call)[0] is Reason.INVALID_CONFIG
    backend.directory.unlink()


@pytest.fixture
def as_nobody() -> Iterator[Callable[[], None]]:
    """Be a user without rights, if we are root, from the call until the end of the test."""
    user = os.geteuid()
    yield lambda: os.seteuid(65534) if user == 0 else None
    os.seteuid(user)


def test_a_directory_that_may_not_be_read_is_no_evidence(provider, backend, request_for, serving, ctx, as_nobody):
    instance = serving(provider, request_for())
    backend.directory.chmod(0)
    as_nobody()
    try:
        listing = provider.list_by_tag(OURS, ctx)
        calls = (
            lambda: provider.get(instance.provider_id, ctx),
            lambda: provider.create(request_for(), ctx),
            lambda: provider.delete(instance.ref, ctx),
        )
        reasons = [_reason_of(call) for call in calls]
    finally:
        os.seteuid(os.getuid())
        backend.directory.chmod(0o700)
    assert (listing.instances, listing.unreadable) == ((), ())
    assert listing.scopes[SCOPE].completeness is Completeness.FAILED
    assert listing.scopes[SCOPE].reason == Reason.FORBIDDEN.wire
    assert [reason for reason, _message in reasons] == [Reason.FORBIDDEN] * 3
    assert all(str(backend.directory) in message for _reason, message in reasons)
    assert provider.get(instance.provider_id, ctx) == instance


# --- full disks


@pytest.fixture
def small_disk(backend) -> Iterator[Path]:
    """The provider's directory is a file system of 64 KiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    backend.directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", backend.directory], check=True)
    yield backend.directory
    backend.clean(keep_directory=True)
    subprocess.run(["umount", "--lazy", backend.directory], check=True)


def _fill(directory: Path, leave: int = 0) -> None:
    filling = directory / "filling"
    with filling.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"\0" * 4096)
        except OSError:
            pass
    os.truncate(filling, max(0, filling.stat().st_size - leave))


@pytest.mark.parametrize("room", [0, 4096, 12288, 24576])
def test_a_full_disk_leaves_nothing_half_made(small_disk, provider, backend, request_for, serving, ctx, room):
    """However far Create gets, it says so, and the next one, with space, succeeds."""
    request = request_for()
    _fill(small_disk, leave=room)
    reason, message = _reason_of(lambda: provider.create(request, ctx))
    assert reason is Reason.STORAGE_FULL
    assert str(backend.directory) in message
    listing = provider.list_by_tag(OURS, ctx)
    assert listing.scopes[SCOPE].complete
    assert {instance.state for instance in listing.instances} <= {State.PROVISIONING}
    if not listing.instances:
        assert backend.traces() == [str(small_disk / "filling")]
    (small_disk / "filling").unlink()
    instance = serving(provider, request)
    assert [left.incarnation for left in listing.instances] in ([], [instance.incarnation])


def test_a_full_disk_keeps_marks_as_they_were_and_can_be_emptied(
    small_disk, provider, backend, request_for, serving, ctx
):
    instance = serving(provider, request_for())
    _fill(small_disk)
    assert _reason_of(lambda: provider.set_mark(instance.ref, "hold", "1", ctx))[0] is Reason.STORAGE_FULL
    assert provider.get(instance.provider_id, ctx) == instance
    assert provider.delete(instance.ref, ctx).outcome is DeleteOutcome.GONE
    assert backend.traces(instance.incarnation) == [str(small_disk / "filling")]


# --- runs that meet


def test_threads_that_create_the_same_proxy_make_one(engine, provider, backend, request_for, until, ctx):
    request = request_for()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        created = [pool.submit(provider.create, request, ctx) for _unused in range(6)]
    outcomes = [future.result() for future in created]
    assert len({outcome.incarnation for outcome in outcomes}) == 1
    assert sorted(outcome.outcome.value for outcome in outcomes) == ["adopted"] * 5 + ["created"]
    until(lambda: provider.get(outcomes[0].provider_id, ctx).serves)
    assert len({os.getsid(pid) for pid in backend.processes()}) == 1


def test_threads_that_create_different_proxies_get_different_addresses(backend, request_for, ctx):
    provider = backend.provider(addresses="127.91.16.0/28")
    requests = [request_for(str(number)) for number in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda request: provider.create(request, ctx), requests))
    listing = provider.list_by_tag(OURS, ctx)
    assert len({instance.address for instance in listing.instances}) == 8


def test_processes_that_create_and_delete_the_same_proxy_corrupt_nothing(backend, provider, request_for, ctx):
    """The last one out removes the folder that the next one is about to use, again and again."""
    program = """
backend, request = given
provider, ctx = backend.provider(), Context.within(60)
print("ready", flush=True)
sys.stdin.buffer.readline()
for _unused in range(5):
    try:
        created = provider.create(request, ctx)
        print(created.outcome.value)
        provider.delete(InstanceRef(created.provider_id, created.incarnation), ctx)
    except ProviderError as error:
        print(error.reason.wire)
"""
    fast = dataclasses.replace(backend, engine="proxy.py")  # it ends at once on SIGTERM
    runs = [start_elsewhere(program, fast, request_for()) for _unused in range(3)]
    assert [run.stdout.readline() for run in runs] == [b"ready\n"] * 3
    for run in runs:
        run.stdin.write(b"\n")
        run.stdin.flush()
    seen = b"".join(run.communicate()[0] for run in runs).decode().split()
    assert [run.returncode for run in runs] == [0] * 3
    assert len(seen) >= 15
    assert set(seen) <= {"created", "adopted", "Busy"}
    assert "created" in seen
    assert provider.list_by_tag(OURS, ctx).scopes[SCOPE].complete
    assert backend.traces() == []


def test_a_lock_held_by_another_run_is_waited_for_as_long_as_there_is_time(provider, request_for, serving, ctx):
    instance = serving(provider, request_for())
    with provider._api.instance_lock(instance.name, ctx):
        reason, message = _reason_of(lambda: provider.delete(instance.ref, Context.within(0.1)))
    assert reason is Reason.BUSY
    assert "locked" in message
    assert provider.get(instance.provider_id, ctx) == instance


class _Impatient(Context):
    """Is cancelled as soon as somebody waits."""

    def sleep(self, seconds: float) -> None:
        self.cancel.set()
        super().sleep(seconds)


def test_a_cancelled_run_stops_waiting_for_a_lock(provider, request_for, serving, ctx):
    instance = serving(provider, request_for())
    with provider._api.instance_lock(instance.name, ctx):
        assert _reason_of(lambda: provider.delete(instance.ref, _Impatient.within(60)))[0] is Reason.CANCELLED
    assert provider.get(instance.provider_id, ctx) == instance


def test_a_cancelled_run_calls_nothing(provider, backend, request_for):
    cancelled, late = threading.Event(), Context.within(0)
    cancelled.set()
    ref = InstanceRef("hosts/localhost/proxies/proxy-a", "0" * 16)
    for mine, reason in ((Context.within(60, cancel=cancelled), Reason.CANCELLED), (late, Reason.TIMEOUT)):
        for call in (
            lambda mine=mine: provider.create(request_for(), mine),
            lambda mine=mine: provider.get(ref.provider_id, mine),
            lambda mine=mine: provider.delete(ref, mine),
            lambda mine=mine: provider.list_by_tag(OURS, mine),
            lambda mine=mine: provider.set_mark(ref, "hold", "1", mine),
        ):
            assert _reason_of(call)[0] is reason
    assert backend.traces() == []


def test_a_delete_cancelled_while_the_engine_ends_is_finished_by_the_next(provider, backend, request_for, serving, ctx):
    instance = serving(provider, request_for())  # Squid, which takes its time
    assert _reason_of(lambda: provider.delete(instance.ref, _Impatient.within(60)))[0] is Reason.CANCELLED
    assert provider.get(instance.provider_id, ctx).cause == "DeletionInterrupted"
    assert provider.delete(instance.ref, ctx).outcome is DeleteOutcome.GONE
    assert backend.traces(instance.incarnation) == []
