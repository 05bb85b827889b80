# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The harness of C(acme.cloud.thing): it edits the file, holds its lock, and fails requests at the seam."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.acme.cloud.plugins.plugin_utils.thing import Api, ThingProvider

from ansible_collections.crawl.egress.plugins.module_utils.provider import DEFAULT_PREFIX, Placement, Provider
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.harness import (
    Harness,
    MissingHook,
    Place,
    Trouble,
    Variant,
)

WORDS = {Trouble.UNRECOGNISED: "levitating", Trouble.CANNOT_TELL: "lost", Trouble.DEAD: "off"}
FAILURES = {
    Trouble.UNREACHABLE: OSError(errno.EHOSTUNREACH, "no route"),
    Trouble.UNAVAILABLE: ValueError("503"),
    Trouble.GHOST: ValueError("404"),
}


class CountingApi(Api):
    """:ivar before, after: called before every request, and after one that has changed something.

    :ivar slow: nothing is removed.
    """

    def __init__(self, file: str, clock: Any) -> None:
        super().__init__(file, clock)
        self.calls = 0
        self.before: Callable[[], None] = _nothing
        self.after: Callable[[], None] = _nothing
        self.slow = False

    @contextlib.contextmanager
    def _opened(self, ctx: Any) -> Iterator[dict[str, Any]]:
        self.calls += 1
        with super()._opened(ctx) as things:
            self.before()
            was = json.dumps(things)
            yield things
        if json.dumps(things) != was:
            self.after()

    def remove(self, key: str, token: str, ctx: Any) -> None:
        while self.slow:
            ctx.sleep(0.01)
        super().remove(key, token, ctx)


class ThingHarness(Harness):
    settle = 5.0
    patience = 2.0

    def __init__(self, folder: Path) -> None:
        self.file = folder / "things.json"
        self.api = CountingApi(str(self.file), self.clock)

    def build(self, variant: Variant = Variant.FULL, prefix: str = DEFAULT_PREFIX) -> Provider:
        return ThingProvider(self.name, "main" if variant is Variant.FULL else "other", prefix, self.api)

    def places(self) -> Sequence[Place]:
        return [Place(Placement(), "shelves/main")]

    def relabel(self, provider_id: str, labels: Mapping[str, str | None]) -> None:
        with self._edited(provider_id) as thing:
            merged = {**thing["labels"], **labels}
            thing["labels"] = {key: value for key, value in merged.items() if value is not None}

    @contextlib.contextmanager
    def trouble(self, kind: Trouble, subject: str) -> Iterator[None]:
        with contextlib.ExitStack() as ends:
            if kind in WORDS:
                ends.enter_context(self._with(subject, status=WORDS[kind]))
            elif kind is Trouble.PARTIAL:
                ends.enter_context(self._with(subject, status=["unreadable"]))
            elif kind in FAILURES:
                self.api.before = lambda: _fail(FAILURES[kind])
                ends.callback(setattr, self.api, "before", _nothing)
            elif kind is Trouble.LOST_ANSWER:
                self.api.after = self._lose
                ends.callback(setattr, self.api, "after", _nothing)
            elif kind is Trouble.SLOW_DELETE:
                self.api.slow = True
                ends.callback(setattr, self.api, "slow", False)
            elif kind is Trouble.HANG:
                fcntl.flock(ends.enter_context(self.file.open("a")), fcntl.LOCK_EX)
            else:
                raise MissingHook(kind.name)
            yield

    def _lose(self) -> None:
        self.api.after = _nothing
        raise OSError(errno.ECONNRESET, "connection reset")

    @contextlib.contextmanager
    def _with(self, provider_id: str, status: Any) -> Iterator[None]:
        with self._edited(provider_id) as thing:
            before, thing["status"] = thing["status"], status
        yield
        with contextlib.suppress(KeyError), self._edited(provider_id) as thing:
            thing["status"] = before

    @contextlib.contextmanager
    def _edited(self, provider_id: str) -> Iterator[dict[str, Any]]:
        things = json.loads(self.file.read_text())
        yield things[provider_id]
        self.file.write_text(json.dumps(things))

    def backend_calls(self) -> int:
        return self.api.calls

    def residue(self, name: str) -> Sequence[str]:
        things = json.loads(self.file.read_text()) if self.file.exists() else {}
        return [key for key in things if key.endswith(f"/{name}")]

    def clean(self) -> None:
        self.file.unlink(missing_ok=True)


def _nothing() -> None:
    pass


def _fail(error: Exception) -> None:
    raise error
