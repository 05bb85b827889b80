# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The harness of C(local): real processes and files, and a saboteur at the seam for what healthy machines do not do."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shlex
import signal
import sys
import threading
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ansible_collections.crawl.egress.plugins.module_utils._providers.local.errors import Fault
from ansible_collections.crawl.egress.plugins.module_utils._providers.local.provider import build
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    DEFAULT_PREFIX,
    Placement,
    Provider,
    ProviderHost,
    Reason,
)
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.harness import (
    Harness,
    MissingHook,
    Place,
    Trouble,
    Variant,
)
from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import LocalBackend, run_program

SCOPE = "hosts/localhost"


class Seam:
    """What stands between the provider and the machine, for all providers that a harness builds.

    :ivar before, after: by method, what happens before and after it.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.before: dict[str, Callable[..., None]] = {}
        self.after: dict[str, Callable[..., None]] = {}
        self._lock = threading.Lock()

    def count(self) -> None:
        with self._lock:
            self.calls += 1


class Saboteur:
    """A LocalApi, with things happening before and after its methods."""

    def __init__(self, api: t.Any, seam: Seam) -> None:
        self._inner = api
        self._seam = seam

    def __getattr__(self, name: str) -> t.Any:
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*args: t.Any) -> t.Any:
            self._seam.count()
            for key in (name, "*"):
                if key in self._seam.before:
                    self._seam.before[key](self._inner, *args)
            result = value(*args)
            if name in self._seam.after:
                self._seam.after[name](self._inner, *args)
            return result

        return call


class LocalHarness(Harness):
    patience = 10.0

    def __init__(self, directory: Path) -> None:
        self._backend = LocalBackend(directory, "squid")
        self._seam = Seam()

    def build(self, variant: Variant = Variant.FULL, prefix: str = DEFAULT_PREFIX) -> Provider:
        host = "localhost" if variant is Variant.FULL else "elsewhere"
        config = {**self._backend.config, "host": host}
        provider = build(self.name, config, ProviderHost(run_program, sys.executable, mark_prefix=prefix))
        observed = t.cast(t.Any, provider._api)
        observed._api = Saboteur(observed._api, self._seam)
        return provider

    def places(self) -> Sequence[Place]:
        return [Place(Placement(), SCOPE)]

    def relabel(self, provider_id: str, labels: Mapping[str, str | None]) -> None:
        with self._edited(self._folder(provider_id) / "state.json") as state:
            for key, value in labels.items():
                place, name = (state, "created") if key.endswith("-created") else (state["labels"], key)
                place.pop(name, None)
                if value is not None:
                    place[name] = value

    def backend_calls(self) -> int:
        return self._seam.calls

    def residue(self, name: str) -> Sequence[str]:
        directory = self._backend.directory
        files = [path for path in directory.rglob("*") if path.name.startswith(name) or name in os.path.realpath(path)]
        commands = [(pid, Path("/proc", str(pid), "cmdline")) for pid in self._backend.processes()]
        return [str(file) for file in files] + [f"process {pid}" for pid, file in commands if name in file.read_text()]

    def clean(self) -> None:
        self._backend.clean()

    # --- troubles

    @contextlib.contextmanager
    def trouble(self, kind: Trouble, subject: str) -> Iterator[None]:
        troubles: dict[Trouble, Callable[[str], contextlib.AbstractContextManager[None]]] = {
            Trouble.UNREACHABLE: lambda _scope: self._failing(errno.ESTALE),
            Trouble.UNAVAILABLE: lambda _scope: self._failing(errno.EIO),
            Trouble.QUOTA: lambda _scope: self._hooked(choose_address=_no_address),
            Trouble.GHOST: lambda _scope: self._hooked(launch=_no_program),
            Trouble.LOST_ANSWER: lambda _scope: self._losing(),
            Trouble.HANG: lambda _scope: self._hanging(),
            Trouble.SLOW_BOOT: lambda _scope: self._slow_boot(),
            Trouble.DEAD: self._dead,
            Trouble.NEVER_STARTED: self._never_started,
            Trouble.PARTIAL: self._damaged,
            Trouble.SLOW_DELETE: lambda _id: self._slow_delete(),
        }
        if kind not in troubles:
            raise MissingHook(kind.name)
        with troubles[kind](subject):
            yield

    @contextlib.contextmanager
    def _hooked(self, *, after: bool = False, **hooks: Callable[..., None]) -> Iterator[None]:
        moment = self._seam.after if after else self._seam.before
        moment.update(hooks)
        try:
            yield
        finally:
            moment.clear()

    def _failing(self, number: int) -> contextlib.AbstractContextManager[None]:
        def fail(*_args: t.Any) -> None:
            raise OSError(number, os.strerror(number), str(self._backend.directory))

        return self._hooked(**{"*": fail})

    def _losing(self) -> contextlib.AbstractContextManager[None]:
        def lose(*_args: t.Any) -> None:
            self._seam.after.clear()
            raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))

        return self._hooked(after=True, launch=lose, finish_delete=lose)

    @contextlib.contextmanager
    def _hanging(self) -> Iterator[None]:
        """Another run has the lock of every instance."""
        with contextlib.ExitStack() as held:

            def hold(api: t.Any, name: str, _ctx: t.Any) -> None:
                path = Path(f"{api.folder(name)}.lock")
                path.parent.mkdir(parents=True, exist_ok=True)
                file = held.enter_context(path.open("w"))
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

            with self._hooked(instance_lock=hold):
                yield

    @contextlib.contextmanager
    def _slow_boot(self) -> Iterator[None]:
        flag = self._backend.directory.with_name("slow-boot")
        flag.touch()

        def wait_first(_api: t.Any, _record: t.Any, launch: t.Any) -> None:
            waiting = f"while [ -e {shlex.quote(str(flag))} ]; do sleep 0.05; done; exec {shlex.join(launch.argv)}"
            object.__setattr__(launch, "argv", ["/bin/sh", "-c", waiting])

        try:
            with self._hooked(launch=wait_first):
                yield
        finally:
            flag.unlink()

    @contextlib.contextmanager
    def _slow_delete(self) -> Iterator[None]:
        over = threading.Event()

        def wait(_api: t.Any, _process: t.Any, ctx: t.Any) -> None:
            while not over.is_set() and not ctx.cancel.is_set() and ctx.remaining() > 0:
                over.wait(0.01)

        with self._hooked(stop=wait):
            try:
                yield
            finally:
                over.set()

    @contextlib.contextmanager
    def _dead(self, provider_id: str) -> Iterator[None]:
        process = json.loads((self._folder(provider_id) / "process.json").read_text())
        os.killpg(process["pid"], signal.SIGKILL)
        yield

    @contextlib.contextmanager
    def _never_started(self, provider_id: str) -> Iterator[None]:
        file = self._folder(provider_id) / "process.json"
        aside = file.with_suffix(".aside")
        file.rename(aside)
        try:
            yield
        finally:
            aside.rename(file)

    @contextlib.contextmanager
    def _damaged(self, provider_id: str) -> Iterator[None]:
        file = self._folder(provider_id) / "state.json"
        before = file.read_text()
        file.write_text(before[:20])
        try:
            yield
        finally:
            file.write_text(before)

    def _folder(self, provider_id: str) -> Path:
        return self._backend.folder(provider_id.rpartition("/")[2])

    @contextlib.contextmanager
    def _edited(self, file: Path) -> Iterator[dict[str, t.Any]]:
        content = json.loads(file.read_text())
        yield content
        file.write_text(json.dumps(content))


def _no_address(*_args: t.Any) -> None:
    raise Fault(Reason.CAPACITY, "all addresses are taken")


def _no_program(*_args: t.Any) -> None:
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/usr/sbin/squid")
