# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The door of the action plugins: the task runs right here, in Ansible's worker, or as a module. Either way it has the
same options, messages and result.

Right here is an order of magnitude faster, and the only way to show progress. It is possible on a local connection
when nothing asks for another process: no C(become), C(environment) or C(async), and no other interpreter.
"""

from __future__ import annotations

import contextlib
import datetime
import gc
import importlib
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import typing as t
from collections.abc import Iterator, Mapping, Sequence

from ansible import constants as C
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError
from ansible.parsing.vault import EncryptedString
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils._entry import CHECKED, Part, failure, perform, stoppable
from ..module_utils._errors import ArgumentError, EgressError
from ..module_utils._host import Host
from ..module_utils._registry import TYPES
from ..module_utils.provider import ProviderType

display = Display()

#: Ansible loads an action plugin once and forks a worker for each task: what is imported here is not imported in each.
for _module in ("jsonschema", "ansible_collections.crawl.egress.plugins.module_utils._providers.local.provider"):
    with contextlib.suppress(ImportError):  # said by whoever needs it
        importlib.import_module(_module)

#: Interpreters that leave the choice to us.
_ANY_INTERPRETER = ("", "auto", "auto_silent", sys.executable)

#: namespace.collection.name
_FOREIGN_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*){2}")


class Door(ActionBase):
    """:cvar part: what the action does."""

    _supports_async = True
    part: t.ClassVar[Part]

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        try:
            return self._enter(task_vars or {})
        except EgressError as error:
            return failure(error, sys.executable)

    def _enter(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        args = self.prepare(plain(self._task.args))
        params = self.validate(args)
        interpreter = self._interpreter(task_vars)
        obstacle = self._obstacle(interpreter)
        if obstacle is None:
            self._say_door("in-process", "the connection is local and nothing asks for another process", task_vars)
            return self._run_here(params, task_vars)
        self._say_door("as a module", obstacle, task_vars)
        for name in foreign_types(params):
            raise ArgumentError(
                [
                    f"the provider type {name} is another collection's and works in-process only (a module takes along "
                    f"no files but those of its own collection), and this task runs as a module: {obstacle}"
                ]
            )
        self.part.check(params, TYPES)
        if self._is_local() and interpreter in _ANY_INTERPRETER:
            # Otherwise Ansible would look for one, which need not have the packages that this one has.
            self._set_interpreter(sys.executable, task_vars)
        return self._run_module(args, task_vars)

    def prepare(self, args: dict[str, t.Any]) -> dict[str, t.Any]:
        """The options that are handed on, made of those that the task has. Raises C(ArgumentError)."""
        return args

    def validate(self, args: dict[str, t.Any]) -> dict[str, t.Any]:
        """The options with types and defaults, as C(AnsibleModule) would make them; raises C(ArgumentError) with all
        faults. The module checks them again; here it is done for equal messages, and so that it fails before it starts:
        what it says about options it can't accept would repeat the others, secrets and all."""
        checked = ArgumentSpecValidator(self.part.argument_spec(), **self.part.RULES).validate(args)
        problems = [
            f"Unsupported parameters for ({self._task.action}) module: {message}"
            if isinstance(error, UnsupportedError)
            else message
            for error, message in zip(checked.errors.errors, checked.error_messages)
        ]
        if problems:
            raise ArgumentError(problems)
        return checked.validated_parameters

    def _obstacle(self, interpreter: str) -> str | None:
        """Why it can't run right here."""
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        if not self._is_local():
            return f"the connection is {self._connection.transport}"
        if self._connection.become:
            return "the task has become"
        if environment:
            return "the task has environment"
        if self._task.async_val:
            return "the task has async"
        # As strings: two virtual environments may share one real interpreter.
        if interpreter not in _ANY_INTERPRETER:
            return "another interpreter is wanted"
        return None

    def _is_local(self) -> bool:
        return self._connection.transport == "local"

    def _interpreter(self, task_vars: dict[str, t.Any]) -> str:
        configured = C.config.get_config_value("INTERPRETER_PYTHON", variables=self._host_vars(task_vars))
        return str(self._templar.template(configured) or "").strip()

    def _set_interpreter(self, interpreter: str, task_vars: dict[str, t.Any]) -> None:
        """In place: when the task has C(async), Ansible will ask for its result with the same variables."""
        self._host_vars(task_vars)["ansible_python_interpreter"] = interpreter

    def _host_vars(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        delegate = self._task.delegate_to
        return task_vars["ansible_delegated_vars"][delegate] if delegate else task_vars

    def _run_module(self, args: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        # A module begins with writing its options to the system log, password hashes and all.
        task_vars = {**task_vars, "ansible_no_target_syslog": True}
        args = {**args, CHECKED: True}
        result = self._execute_module(module_args=args, task_vars=task_vars, wrap_async=bool(self._task.async_val))
        result.pop("invocation", None)
        return result

    def _run_here(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        name = task_vars.get("inventory_hostname", "")
        warnings: list[str] = []  # they belong to the task only when they come from its own thread
        host = Host(
            runner=run_program,
            python=sys.executable,
            check_mode=self._task.check_mode,
            diff=self._task.diff,
            types={**TYPES, **{name: load_type(name) for name in foreign_types(params)}},
            progress=self._progress(name),
            warn=warnings.append,
        )
        with self._logging(name), stoppable(host.cancel) as stop, _undisturbed():
            result = perform(self.part, params, host)
        stop.pass_on()
        for warning in warnings:
            display.warning(warning)
        return result

    def _say_door(self, door: str, why: str, task_vars: dict[str, t.Any]) -> None:
        display.vv(f"{self._task.action} runs {door} ({why})", host=task_vars.get("inventory_hostname"))

    def _progress(self, name: str) -> t.Callable[[str], None]:
        silent = self._task.no_log or os.environ.get("EGRESS_PROGRESS") == "never"

        def show(line: str) -> None:
            # Not on stdout: what a callback writes there may be JSON, for a program to read.
            display.display(f"progress: [{name}] {line}", stderr=True)

        return (lambda _line: None) if silent else show

    @contextlib.contextmanager
    def _logging(self, name: str) -> Iterator[None]:
        """Show what our loggers say, as far as the verbosity goes: outcomes at C(-v), what was sent at C(-vvv)."""
        verbosity = max(display.verbosity, display.log_verbosity)
        if self._task.no_log or not verbosity:
            yield
            return
        logger = logging.getLogger("crawl.egress")
        handler = DisplayHandler(name)
        earlier = logger.level, logger.propagate
        logger.setLevel(logging.DEBUG if verbosity >= 3 else logging.INFO)
        logger.propagate = False  # the display writes to Ansible's log file itself
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(earlier[0])
            logger.propagate = earlier[1]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep garbage collections away from what is there already.

    A worker has inherited all that Ansible has loaded. A full collection would go through it, and copy the memory that
    both processes share until one of them writes to it.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class DisplayHandler(logging.Handler):
    """Lines of a log, on Ansible's display; from any thread, since a worker only queues them."""

    def __init__(self, host: str) -> None:
        super().__init__()
        self._host = host

    def emit(self, record: logging.LogRecord) -> None:
        caplevel = 0 if record.levelno >= logging.INFO else 2
        display.verbose(self.format(record), host=self._host, caplevel=caplevel)


def plain(value: t.Any) -> t.Any:
    """What JSON makes of it: the options of a task carry tags, and may be encrypted strings or dates.

    Both doors get the same. An option that is null counts as not given.

    :raises ArgumentError: when it has no form in JSON.
    """
    try:
        result = json.loads(json.dumps(value, default=_plain_scalar))
    except (TypeError, ValueError) as error:
        raise ArgumentError([f"an option can't be written as JSON: {error}"]) from None
    return {key: item for key, item in result.items() if item is not None} if isinstance(result, dict) else result


def _plain_scalar(value: t.Any) -> str:
    if isinstance(value, EncryptedString):
        return str(value)
    if isinstance(value, datetime.date):  # a datetime, too
        return value.isoformat()
    raise TypeError(f"a value is of type {type(value).__name__}")


def foreign_types(params: Mapping[str, t.Any]) -> list[str]:
    """The provider types of other collections that the options name."""
    entries = (params.get("desired") or params).get("providers")
    names = [e.get("type") for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []
    return [name for name in names if isinstance(name, str) and _FOREIGN_TYPE.fullmatch(name)]


def load_type(name: str) -> ProviderType:
    """:raises ArgumentError: when there is no such type, or it can't be imported."""
    namespace, collection, module = name.split(".")
    path = f"ansible_collections.{namespace}.{collection}.plugins.plugin_utils.{module}"
    try:
        found = getattr(importlib.import_module(path), "PROVIDER_TYPE", None)
        problem = "that is no PROVIDER_TYPE of crawl.egress" if found else "there is no such name"
    except ImportError as error:
        found, problem = None, str(error)
    if not isinstance(found, ProviderType):
        raise ArgumentError(
            [f"the provider type {name} can't be used: it would be {path}.PROVIDER_TYPE, but {problem}"]
        )
    return found


def run_program(argv: Sequence[str], *, stdin: str = "") -> tuple[int, str, str]:
    """The Runner of a worker. Output goes to files: a daemon that the program leaves behind may keep a pipe open."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given: dict[str, t.Any] = {"input": stdin.encode()} if stdin else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(list(argv), stdout=out, stderr=err, check=False, **given)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return done.returncode, texts[0], texts[1]
