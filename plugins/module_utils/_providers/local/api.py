# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The seam: the folder of the proxies, their processes and their sockets. Raises OSError and L(Fault), no more.

    directory/
      lock                        held while an address is chosen and while the last traces are removed
      egress_launcher.py, egress_proxypy.py
      addresses/127.80.3.4        symbolic link to HOST/NAME: taken
      hosts/HOST/NAME.lock        held during each change of that instance
      hosts/HOST/NAME/            state.json, process.json, the engine's files and its log
      hosts/HOST/NAME.deleting/   the same, being deleted

Renaming the folder of an instance is at once the flag that it is being deleted, what stops a launch that is still under
way (it can't write its record any more), and possible on a full disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import inspect
import ipaddress
import json
import os
import re
import shutil
import signal
import types
import typing as t

from ...provider import Context, Reason, Runner
from .egress_launcher import PROCESS_FILE
from .errors import REASONS, Damaged, Fault
from .files import ROOT_SECRETS, File, exists, is_at, make_folders, read_file, write_file, write_root_secret
from .processes import Probe, bind_error, holder
from .records import NAME, Process, Record

if t.TYPE_CHECKING:
    from .engines import Launch

STATE_FILE = "state.json"
LOG_FILE = "engine.log"
PASSWORD_FILE = "passwords"
DELETING = ".deleting"
LOCK = ".lock"

POLL_SECONDS = 0.02
LAUNCH_SECONDS = 10
STOP_SECONDS = 1.0  # from SIGTERM to SIGKILL: Squid never exits in less than two seconds, even without connections
KILL_SECONDS = 5.0

#: So many addresses on which another program listens are passed over before that is called a conflict.
BUSY_ADDRESSES = 16

TAIL_BYTES = 4096
TAIL_LINES = 6
TAIL_CHARACTERS = 600

_SECRET = re.compile(r"\$[0-9a-z]{1,8}\$\S+|(?i:\b(?:basic|bearer)\s+\S+|://[^/\s@]+@)")


@dataclasses.dataclass(frozen=True)
class Found:
    """One instance as its folder says.

    :ivar process: None while no engine was ever started for it.
    """

    record: Record
    process: Process | None
    deleting: bool


@dataclasses.dataclass(frozen=True)
class Scan:
    """:ivar damaged: what is wrong, by name."""

    found: tuple[Found, ...]
    damaged: t.Mapping[str, Damaged]


class LocalApi:
    """Safe to be used from many threads and by many processes at once."""

    def __init__(self, directory: str, host: str, runner: Runner, python: str) -> None:
        self.directory = directory
        self.host = host
        self._hosts = os.path.join(directory, "hosts")
        self._base = os.path.join(self._hosts, host)
        self._addresses = os.path.join(directory, "addresses")
        self._runner = runner
        self._python = python

    def folder(self, name: str) -> str:
        return os.path.join(self._base, name)

    @property
    def proxypy_script(self) -> str:
        return os.path.join(self.directory, "egress_proxypy.py")

    def password_file(self, record: Record, engine: str) -> str:
        if engine == "squid" and os.geteuid() == 0:
            return os.path.join(ROOT_SECRETS, record.incarnation)
        return os.path.join(self.folder(record.name), PASSWORD_FILE)

    # --- reading

    def scan(self) -> Scan:
        """All instances of the host; nothing at all is an answer too, when nothing was ever made here."""
        try:
            os.stat(self.directory)
            entries = os.listdir(self._base)
        except FileNotFoundError:
            return Scan((), {})
        found, damaged = [], {}
        for name in sorted({_without_suffix(entry) for entry in entries if not entry.endswith(LOCK)}):
            if NAME.fullmatch(name):
                try:
                    instance = self.read(name)
                except Damaged as error:
                    damaged[name] = error
                else:
                    found += [instance] if instance else []
        return Scan(tuple(found), damaged)

    def read(self, name: str) -> Found | None:
        """None when there is no such instance; raises L(Damaged)."""
        for deleting in (False, True):
            folder = self.folder(name) + (DELETING if deleting else "")
            try:
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except NotADirectoryError:
                if exists(folder):  # else a folder above it is none
                    raise Damaged(folder, "it is no folder") from None
                continue
            try:
                found = _read_folder(descriptor, folder, self.host, name, deleting)
            finally:
                os.close(descriptor)
            if found:
                return found
        return None

    def present(self, name: str) -> bool:
        """Whether there is anything under that name, an unfinished or damaged instance included."""
        return any(exists(self.folder(name) + suffix) for suffix in ("", DELETING))

    def probe(self, processes: t.Collection[Process]) -> Probe:
        return Probe(processes, lambda argv: self._runner(argv)[1])

    def log_tail(self, found: Found) -> str:
        """The last lines of the engine's log: short, printable, without what looks like a secret."""
        folder = self.folder(found.record.name) + (DELETING if found.deleting else "")
        try:
            with open(os.path.join(folder, LOG_FILE), "rb") as stream:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - TAIL_BYTES))
                text = stream.read().decode(errors="replace")
        except FileNotFoundError:
            return ""
        return _for_people(text.splitlines())

    # --- locks

    def is_being_changed(self, name: str) -> bool:
        """Whether a run is at work on an instance right now. Who waits for its lock may have to look once more."""
        try:
            descriptor = os.open(self.folder(name) + LOCK, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @contextlib.contextmanager
    def instance_lock(self, name: str, ctx: Context) -> t.Iterator[None]:
        """Held for each change of one instance. Take it before the lock of the directory, never after."""
        path = self.folder(name) + LOCK
        with self._locked(path, ctx):
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    if not self.present(name):
                        os.unlink(path)

    @contextlib.contextmanager
    def _locked(self, path: str, ctx: Context) -> t.Iterator[None]:
        descriptor = self._open_locked(path, ctx)
        try:
            yield
        finally:
            os.close(descriptor)

    def _open_locked(self, path: str, ctx: Context) -> int:
        while True:
            make_folders(os.path.dirname(path))
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:  # the last proxy has just gone, and the folder with it
                continue
            try:
                self._wait_for_lock(descriptor, path, ctx)
                if is_at(descriptor, path):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # who held it has removed it

    def _wait_for_lock(self, descriptor: int, path: str, ctx: Context) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                _pause(ctx, f"another run is at work ({path} is locked)", Reason.BUSY)

    # --- making

    @contextlib.contextmanager
    def directory_lock(self, ctx: Context) -> t.Iterator[None]:
        with self._locked(os.path.join(self.directory, "lock"), ctx):
            yield

    def choose_address(self, name: str, port: int, network: ipaddress.IPv4Network, current: str | None) -> str:
        """Reserve an address for an instance; call it under the lock of the directory.

        It is derived from the instance's folder; the next one when another instance has it, or another program
        listens there.

        :param current: what the instance had before.
        """
        make_folders(self._addresses)
        busy: list[str] = []
        # Of this folder's own, so that two folders with a proxy of one name don't contend for one address.
        for address in _candidates(self.folder(name), network, current):
            key = f"{address}:{port}" if network.num_addresses == 1 else address
            other = self._reservation(key)
            if other not in (None, f"{self.host}/{name}"):
                continue
            error = bind_error(address, port)
            if error is None:
                self._reserve(key, name)
                return address
            if error.errno != errno.EADDRINUSE:
                raise OSError(error.errno, f"{error.strerror} (local.addresses is {network})", f"{address}:{port}")
            busy.append(address)
            if len(busy) == BUSY_ADDRESSES:
                break
        if busy:
            raise Fault(Reason.CONFLICT, f"port {port} of {busy[0]} is taken by {holder(busy[0], port)}")
        if network.num_addresses == 1:
            other = self._reservation(f"{network.network_address}:{port}")
            raise Fault(Reason.CONFLICT, f"port {port} of {network.network_address} is taken by the proxy {other}")
        raise Fault(Reason.CAPACITY, f"all addresses of local.addresses {network} are taken in {self.directory}")

    def _reservation(self, key: str) -> str | None:
        """HOST/NAME of who has it; a link left by a crash counts for nothing."""
        try:
            owner = os.readlink(os.path.join(self._addresses, key))
        except FileNotFoundError:
            return None
        folder = os.path.join(self._hosts, owner)
        return owner if exists(folder) or exists(folder + DELETING) else None

    def _reserve(self, key: str, name: str) -> None:
        path = os.path.join(self._addresses, key)
        owner = f"{self.host}/{name}"
        if self._reservation(key) != owner:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            os.symlink(owner, path)

    def write_state(self, record: Record) -> None:
        """Atomic; makes the instance when it is not there yet."""
        folder = self.folder(record.name)
        make_folders(folder)
        write_file(File(os.path.join(folder, STATE_FILE), record.encode()), durable=True)

    def launch(self, record: Record, launch: Launch) -> None:
        """Write the engine's files and start it; a second launch of the same instance does nothing."""
        for file in launch.files:
            (write_root_secret if os.path.dirname(file.path) == ROOT_SECRETS else write_file)(file)
        if launch.check:
            status, output, errors = self._runner(launch.check)
            if status != 0:
                faults = [line for line in (output + errors).splitlines() if "FATAL" in line]
                raise Fault(Reason.INVALID_CONFIG, f"squid.extra_lines: Squid says {_for_people(faults)}")
        folder = self.folder(record.name)
        order = {
            "folder": folder,
            "incarnation": record.incarnation,
            "argv": launch.argv,
            "log": os.path.join(folder, LOG_FILE),
            "seconds": LAUNCH_SECONDS,
        }
        script = os.path.join(self.directory, "egress_launcher.py")
        status, output, errors = self._runner([self._python, script], stdin=json.dumps(order))
        if status != 0:
            raise _launch_error(status, output, errors)

    def install_programs(self) -> None:
        """Copy them out of wherever this collection was unpacked: they have to be there when that is gone.

        Call it under the lock of the directory.
        """
        from . import egress_launcher, egress_proxypy

        for module in (egress_launcher, egress_proxypy):
            self._install(module)

    def _install(self, module: types.ModuleType) -> None:
        name = module.__name__.rpartition(".")[2]
        path = os.path.join(self.directory, f"{name}.py")
        text = inspect.getsource(module)  # out of the archive that a module runs from, too
        try:
            with open(path, encoding="utf-8") as stream:
                if stream.read() == text:
                    return
        except FileNotFoundError:
            pass
        write_file(File(path, text))

    # --- unmaking

    def begin_delete(self, name: str) -> None:
        """Idempotent. From here on no launch of this instance can succeed."""
        with contextlib.suppress(FileNotFoundError):
            os.rename(self.folder(name), self.folder(name) + DELETING)

    def stop(self, process: Process, ctx: Context) -> None:
        """End the engine and everything it started; raises L(Fault) when it won't end, or OSError when we may not."""
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
            if not self.probe([process]).alive(process):
                return
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            patience = ctx.narrowed(seconds)
            while self.probe([process]).alive(process) and patience.remaining() > 0:
                _pause(ctx, f"process {process.pid} is ending", Reason.TIMEOUT)
        if self.probe([process]).alive(process):
            raise Fault(Reason.BUSY, f"process {process.pid} does not end even when it is killed")

    def finish_delete(self, found: Found | None, name: str) -> None:
        """Remove all files of an instance whose engine has ended, its state last; idempotent."""
        from .engines import shared_memory

        folder = self.folder(name) + DELETING
        if found:
            incarnation = found.record.incarnation
            for path in (os.path.join(ROOT_SECRETS, incarnation), *shared_memory(incarnation)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            with contextlib.suppress(OSError):
                os.rmdir(ROOT_SECRETS)  # others may still have something there
            for key in (found.record.address, f"{found.record.address}:{found.record.port}"):
                if self._reservation(key) == f"{self.host}/{name}":
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(self._addresses, key))
        with contextlib.suppress(FileNotFoundError):
            for entry in os.listdir(folder):
                path = os.path.join(folder, entry)
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                elif entry != STATE_FILE:
                    os.unlink(path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, STATE_FILE))
            os.rmdir(folder)

    def discard_unborn(self, name: str) -> None:
        """Remove what a Create left that never got as far as writing its state."""
        folder = self.folder(name)
        known = (os.path.join(folder, file) for file in (STATE_FILE, PROCESS_FILE))
        if exists(folder) and not any(map(exists, known)):
            shutil.rmtree(folder)

    def tidy(self, ctx: Context) -> None:
        """Remove what all proxies share when there is none left; the directory itself stays."""
        for folder in (self._base, self._hosts):
            try:
                os.rmdir(folder)
            except OSError:
                return  # not empty, or another run has done it
        with self.directory_lock(ctx):
            if exists(self._hosts):
                return
            shutil.rmtree(self._addresses, ignore_errors=True)
            for name in ("egress_launcher.py", "egress_proxypy.py", "lock"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.directory, name))


def _for_people(lines: t.Iterable[str]) -> str:
    kept = [line for line in ("".join(filter(str.isprintable, line)).strip() for line in lines) if line]
    return _SECRET.sub("***", " | ".join(kept[-TAIL_LINES:]))[-TAIL_CHARACTERS:]


def _without_suffix(entry: str) -> str:
    return entry[: -len(DELETING)] if entry.endswith(DELETING) else entry


def _pause(ctx: Context, message: str, late: Reason) -> None:
    """Wait a moment; raises L(Fault) when the run is cancelled or out of time."""
    ctx.sleep(POLL_SECONDS)
    if ctx.cancel.is_set():
        raise Fault(Reason.CANCELLED, f"the run was cancelled: {message}")
    if ctx.remaining() <= 0:
        raise Fault(late, f"the run is out of time: {message}")


def _read_folder(descriptor: int, folder: str, host: str, name: str, deleting: bool) -> Found | None:
    process_text = read_file(descriptor, folder, PROCESS_FILE)
    state_text = read_file(descriptor, folder, STATE_FILE)
    if state_text is None:
        if process_text is not None and not deleting:
            raise Damaged(os.path.join(folder, STATE_FILE), "it is missing although an engine was started")
        return None  # a Create or a Delete broke off there; no process is left
    path = os.path.join(folder, STATE_FILE)
    try:
        record = Record.decode(state_text, host, name)
        path = os.path.join(folder, PROCESS_FILE)
        process = None if process_text is None else Process.decode(process_text)
        if process and process.incarnation != record.incarnation:
            raise ValueError("it is about another incarnation than state.json")
    except ValueError as error:
        raise Damaged(path, str(error)) from None
    return Found(record, process, deleting)


def _candidates(key: str, network: ipaddress.IPv4Network, current: str | None) -> t.Iterator[str]:
    if current is not None:
        yield current
    first, count = (1, network.num_addresses - 2) if network.num_addresses > 2 else (0, network.num_addresses)
    start = int.from_bytes(hashlib.sha256(os.fsencode(key)).digest()[:8], "big")
    for step in range(count):
        yield str(network[first + (start + step) % count])


def _launch_error(status: int, output: str, errors: str) -> OSError | Fault:
    try:
        fault = json.loads(output)
    except ValueError:
        return Fault(Reason.API_ERROR, f"the launcher ended with status {status}: {_for_people(errors.splitlines())}")
    if fault["errno"] in REASONS:
        return OSError(fault["errno"], fault["message"], fault["path"])
    return Fault(Reason.API_ERROR, f"the engine could not be started: {fault['path']}: {fault['message']}")
