# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What is recorded and what must not be: requests to the backend, and secrets."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import os
import traceback
import typing as t
from collections.abc import Callable, Iterator

from ...module_utils._telemetry import ObservedProvider, Recorder
from ...module_utils.provider import (
    HOLD,
    Checker,
    Created,
    CreateRequest,
    Diagnoser,
    Guest,
    Marker,
    Preflight,
    ProviderError,
    Sweeper,
)
from ._bench import CLOUD_INIT, SECRET, Bench, NotApplicable, must, ref, require
from .harness import Trouble


@must
def requests_are_children_of_their_operation(bench: Bench) -> None:
    """Each request to the backend is recorded as a child of the operation that makes it, those in threads too."""
    if bench.profile.child_spans == "none":
        raise NotApplicable("child-spans: none")
    recorder = Recorder()
    observed = ObservedProvider(bench.provider.inner, recorder, bench.harness.clock)
    created = observed.create(bench.request(), bench.ctx())
    steps: list[tuple[str, Callable[[], t.Any]]] = [
        ("create", lambda: observed.create(bench.request("other"), bench.ctx())),
        ("get", lambda: observed.get(created.provider_id, bench.ctx())),
        ("list", lambda: observed.list_by_tag(bench.selector(), bench.ctx())),
    ]
    if bench.provider.has(Marker):
        steps.append(("mark", lambda: observed.set_mark(ref(created), HOLD, "1900000000", bench.ctx())))
    if bench.provider.has(Sweeper):
        steps.append(("list_leftovers", lambda: observed.list_leftovers(bench.selector(), bench.ctx())))
    if bench.provider.has(Preflight):
        steps.append(("preflight", lambda: observed.preflight(bench.request("other"), bench.ctx())))
    if bench.provider.has(Diagnoser):
        steps.append(("diagnose", lambda: observed.diagnose(ref(created), bench.ctx())))
    steps.append(("delete", lambda: observed.delete(ref(created), bench.ctx())))
    for op, step in steps:
        recorded = _children(recorder, op)
        calls = bench.calls_of(step)
        recorded = _children(recorder, op) - recorded
        require(calls > 0, f"{op}: the harness counts no request")
        require(recorded == calls, f"{op} costs {calls} requests, {recorded} are recorded as its children")


def _children(recorder: Recorder, op: str) -> int:
    return sum(row["calls"] for row in recorder.children() if row["op"] == op)


@must
def guest_is_never_seen(bench: Bench) -> None:
    """No password hash and no cloud-init is in a result, an error, a log line of any level or a process list."""
    with _Ear() as ear:
        _live(bench, ear, bench.guest())
        if bench.profile.cloud_init == "not-delivered":
            ear.hear(lambda: bench.create(_with(bench, "init", Guest(cloud_init=CLOUD_INIT))))
        else:
            _live(bench, ear, Guest(cloud_init=CLOUD_INIT))
    ear.judge((SECRET, "k" * 40))


@must
def credentials_are_never_seen(bench: Bench) -> None:
    """No credential is in a result, an error, a log line of any level or a process list."""
    if bench.profile.credentials == "none":
        raise NotApplicable("credentials: none")
    secrets = tuple(bench.harness.credentials)
    require(bool(secrets), f"credentials is {bench.profile.credentials}, but the harness names none")
    with _Ear() as ear:
        ear.hear(lambda: repr(bench.build().inner))
        _live(bench, ear, bench.guest())
    ear.judge(secrets)


def _with(bench: Bench, proxy: str, guest: Guest) -> CreateRequest:
    return dataclasses.replace(bench.request(proxy), guest=guest)


def _live(bench: Bench, ear: _Ear, guest: Guest) -> None:
    """A whole life, with everything that can go wrong on the way."""
    request = _with(bench, "init" if guest.cloud_init else "one", guest)
    made: list[Created] = []

    def create() -> Created:
        made.append(bench.create(request))
        return made[-1]

    for kind in Trouble:
        if kind.whom == "scope" and kind.not_applicable(bench.profile) is None and kind is not Trouble.HANG:
            with bench.trouble(kind):
                ear.hear(create)
                ear.hear(bench.listing)
                if bench.provider.has(Preflight):
                    ear.hear(lambda: bench.provider.preflight(request, bench.ctx()))
    ear.hear(create)
    ear.look()
    require(bool(made), "nothing could be created")
    created = made[-1]
    ear.hear(lambda: bench.create(request))
    ear.hear(lambda: bench.create(_of_another(request)))
    ear.hear(lambda: bench.running(created))
    ear.look()
    ear.hear(lambda: [instance.as_result() for instance in bench.listing().instances])
    if bench.provider.has(Marker):
        ear.hear(lambda: bench.provider.set_mark(ref(created), HOLD, "1900000000", bench.ctx()))
    if bench.provider.has(Checker):
        ear.hear(lambda: [status.as_result() for status in bench.provider.check(bench.ctx())])
    if bench.provider.has(Diagnoser):
        with bench.trouble(Trouble.VERBOSE, created.provider_id):
            ear.hear(lambda: bench.provider.diagnose(ref(created), bench.ctx()))
    ear.hear(lambda: bench.delete(created))
    bench.gone(created)


def _of_another(request: CreateRequest) -> CreateRequest:
    return dataclasses.replace(request, marks=dataclasses.replace(request.marks, uid="another-uid"))


class _Ear(logging.Handler):
    """Everything that can be heard of a provider: log records of all loggers and levels, output, results, errors, and
    the arguments of all processes."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self._heard: list[tuple[str, str]] = []
        self._stack = contextlib.ExitStack()
        self._output = io.StringIO()

    def __enter__(self) -> _Ear:
        self._stack.enter_context(_all_levels(self))
        self._stack.enter_context(contextlib.redirect_stdout(self._output))
        self._stack.enter_context(contextlib.redirect_stderr(self._output))
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append((f"a log line of {record.name} at level {record.levelname}", self.format(record)))

    def hear(self, call: Callable[[], t.Any]) -> None:
        try:
            self._heard.append(("a result", repr(call())))
        except ProviderError as error:
            self._heard.append((f"an error of {error.op}", "".join(traceback.format_exception(error))))
            self._heard.append((f"the result of an error of {error.op}", repr(error.as_result())))

    def look(self) -> None:
        self._heard += [("a process list", text) for text in _process_list()]

    def judge(self, secrets: tuple[str, ...]) -> None:
        self._heard.append(("the output", self._output.getvalue()))
        for where, text in self._heard:
            require(not any(secret in text for secret in secrets), f"a secret is in {where}")


@contextlib.contextmanager
def _all_levels(handler: logging.Handler) -> Iterator[None]:
    """Every logger lets every record through, to the handler."""
    known = logging.root.manager.loggerDict.values()
    loggers = [logging.getLogger(), *(each for each in known if isinstance(each, logging.Logger))]
    before = [(each, each.level, each.propagate, each.disabled) for each in loggers]
    disabled = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    for each in loggers:
        each.setLevel(1)
        each.propagate, each.disabled = True, False
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        logging.disable(disabled)
        for each, level, propagate, was_disabled in before:
            each.setLevel(level)
            each.propagate, each.disabled = propagate, was_disabled


def _process_list() -> Iterator[str]:
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc/self") else ()):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as stream:
            yield stream.read().decode(errors="replace")
