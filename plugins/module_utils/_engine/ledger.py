# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The ledger: what a later run should know, one small JSON file per pool, and the lock that lies beside it.

Losing it costs retries, never correctness. C(<state_dir>/<install>/<pool>.json) is replaced atomically;
C(<pool>.lock) is never replaced, since a lock is on the file and not on its name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import math
import os
import pathlib
import typing as t

from .._errors import EgressError, Reason
from .._plan.memory import Latch, Memory, Sighting

_FORMAT = 1
_Entries = t.Mapping[str, t.Union[Latch, Sighting]]


class Locked(EgressError):
    """Another run is at it."""

    def __init__(self, what: str, path: pathlib.Path) -> None:
        super().__init__(Reason.LOCKED, f"another run is working on {what} (it holds {path})")


class Ledger:
    """One file per pool; for a run about a single proxy, which takes no lock, a file of its own.

    :param directory: C(state_dir), or None for no ledger and no lock.
    :param uid: of the single proxy.
    :param warn: told of damaged files.
    """

    def __init__(
        self,
        directory: str | None,
        install: str,
        pools: t.Sequence[str],
        warn: t.Callable[[str], None],
        uid: str | None = None,
    ) -> None:
        self._home = pathlib.Path(directory, install) if directory else None
        self._pools = sorted(pools)
        self._uid = uid
        self._warn = warn
        self._written: dict[str, str] = {}

    @contextlib.contextmanager
    def locked(self) -> t.Iterator[None]:
        """Hold the locks of all pools; raises Locked at once when one is taken. A run that dies frees them."""
        with contextlib.ExitStack() as held:
            for pool in self._pools if self._home and not self._uid else ():
                held.enter_context(_lock(self._path(pool, "lock"), f"pool {pool}"))
            yield

    def load(self, *, keep_damaged: bool) -> Memory:
        """:param keep_damaged: leave a file that can't be read where it is (check mode) instead of setting it aside."""
        memory = Memory()
        for pool in self._pools if self._home else ():
            path = self._path(pool, "json")
            text = self._read(path)
            if text is None:
                continue
            try:
                latches, sightings = _parse(text)
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                self._damaged(path, keep_damaged)
                continue
            self._written[pool] = text
            memory.latches.update(latches)
            memory.sightings.update(sightings)
        return memory

    def save(self, memory: Memory, pool_of: t.Mapping[str, str]) -> None:
        """Write what has changed.

        :param pool_of: UID -> pool of every proxy that is desired or was seen; what is known of others is forgotten.
        """
        if self._home is None:
            return
        for pool in self._pools:
            mine = {uid for uid, name in pool_of.items() if name == pool}
            text = _render(memory, mine)
            if text != self._written.get(pool, _NOTHING):
                self._write(self._path(pool, "json"), text)
                self._written[pool] = text

    def _path(self, pool: str, suffix: str) -> pathlib.Path:
        if self._home is None:
            raise ValueError("there is no state_dir")
        return self._home / ".".join(filter(None, (pool, self._uid, suffix)))

    def _read(self, path: pathlib.Path) -> str | None:
        with _usable(path):
            try:
                return path.read_text(encoding="utf-8", errors="replace")
            except FileNotFoundError:
                return None

    def _damaged(self, path: pathlib.Path, keep: bool) -> None:
        if keep:
            self._warn(f"{path} is damaged and is ignored")
            return
        aside = path.with_name(path.name + ".damaged")
        with _usable(path):
            path.replace(aside)
        self._warn(f"{path} is damaged; it was set aside as {aside.name} and the run goes on without it")

    def _write(self, path: pathlib.Path, text: str) -> None:
        scratch = path.with_name(path.name + ".new")
        with _usable(path):
            if text == _NOTHING:
                path.unlink(missing_ok=True)
                return
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(scratch, "w", encoding="utf-8") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            scratch.replace(path)


@contextlib.contextmanager
def gc_locked(directory: str | None, install: str) -> t.Iterator[None]:
    """The lock of the collector; no pool can have its name."""
    if directory is None:
        yield
        return
    with _lock(pathlib.Path(directory, install, ".gc.lock"), f"the collection of {install}"):
        yield


@contextlib.contextmanager
def _lock(path: pathlib.Path, what: str) -> t.Iterator[None]:
    with _usable(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(what, path) from None
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _usable(path: pathlib.Path) -> t.Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EgressError(Reason.STATE_DIR, f"state_dir: {path}: {error.strerror or error}") from None


def _render(memory: Memory, uids: t.AbstractSet[str]) -> str:
    def some(entries: _Entries) -> dict[str, t.Any]:
        return {uid: dataclasses.asdict(entries[uid]) for uid in sorted(uids) if uid in entries}

    body = {"format": _FORMAT, "latches": some(memory.latches), "sightings": some(memory.sightings)}
    return json.dumps(body, indent=1, sort_keys=True) + "\n"


_NOTHING = _render(Memory(), set())


def _parse(text: str) -> tuple[dict[str, Latch], dict[str, Sighting]]:
    body = json.loads(text)
    if body["format"] != _FORMAT:
        raise ValueError("another format")
    latches = {
        uid: Latch(*(_text(row, key) for key in ("key", "reason", "message"))) for uid, row in body["latches"].items()
    }
    sightings = {
        uid: Sighting(_text(row, "incarnation"), _text(row, "state"), _finite(row["since"]))
        for uid, row in body["sightings"].items()
    }
    return latches, sightings


def _finite(value: t.Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no time")
    return number


def _text(row: t.Mapping[str, t.Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value
