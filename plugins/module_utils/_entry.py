# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What both doors have in common: signals that stop a run, and errors that become results."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import types
import typing as t

from ._errors import EgressError, Reason
from ._host import Host
from .provider import ProviderType

Params = t.Mapping[str, t.Any]
Result = dict[str, t.Any]


class Part(t.Protocol):
    """What a task does: a file of C(_run)."""

    @property
    def RULES(self) -> t.Mapping[str, t.Any]:
        """Further arguments of C(AnsibleModule)."""

    def argument_spec(self) -> dict[str, dict[str, t.Any]]:
        """Its options."""

    def check(self, params: Params, types: t.Mapping[str, ProviderType]) -> None:
        """Find all that is wrong with the options; touches nothing. Raises C(EgressError)."""

    def run(self, params: Params, host: Host) -> Result:
        """Do it; the options have been checked. Raises C(EgressError)."""


#: Beside a module's options: our action plugins have checked them on the controller, before anything was sent. Then it
#: is not done again, and the target needs no jsonschema. Whoever runs a module without them says nothing of the kind.
CHECKED = "_checked"

#: Seconds that a run gets to come to an end by itself, once it is told to stop.
GRACE = 15

#: SIGALRM is how Ansible implements the task keyword C(timeout).
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)


class Stop:
    """:ivar signum: the first signal that told the run to stop, or None."""

    def __init__(self) -> None:
        self.signum: int | None = None

    def pass_on(self) -> None:
        """To be called once the earlier handlers are back: let them do with the signal what they do."""
        if self.signum is not None:
            signal.raise_signal(self.signum)


@contextlib.contextmanager
def stoppable(cancel: threading.Event) -> t.Iterator[Stop]:
    """Let signals cancel a run instead of killing it, so that it unlocks, cleans up and says what it has done.

    A run that does not come to an end within GRACE seconds meets the earlier handler of the signal after all. More
    signals change nothing: when Ansible is interrupted, its workers get a SIGINT and at once a SIGTERM.
    """
    stop = Stop()
    earlier: dict[int, t.Any] = {}

    def restore() -> None:
        for signum, handler in earlier.items():
            signal.signal(signum, handler)

    def on_signal(signum: int, _frame: types.FrameType | None) -> None:
        cancel.set()
        if stop.signum is None:
            stop.signum = signum
            signal.alarm(GRACE)
        elif signum == signal.SIGALRM:
            restore()
            stop.pass_on()

    for signum in _STOPS:
        earlier[signum] = signal.signal(signum, on_signal)
    try:
        yield stop
    finally:
        if stop.signum is not None:
            signal.alarm(0)
        restore()


def perform(part: Part, params: Params, host: Host, *, checked: bool = False) -> Result:
    """The result of a run, as JSON has it. One that failed has C(failed), C(msg) and C(error) beside what it found out.

    Bytes that are no text (they come as surrogates, in the names of files) become question marks.

    :param checked: the options have been checked already.
    """
    try:
        if not checked:
            part.check(params, host.types)
        result = part.run(params, host)
    except EgressError as error:
        result = failure(error, host.python)
    plain: Result = json.loads(json.dumps(result, ensure_ascii=False).encode(errors="replace"))
    return plain


def failure(error: EgressError, python: str) -> Result:
    details = error.as_result()
    if error.reason is Reason.MISSING_SDK:
        details["message"] = f"{error.message}; install it for {python}"
    # What to do about a bad option is said by the message itself.
    hint = "" if error.reason is Reason.INVALID_ARGUMENT else f" ({error.reason.advice})"
    return {"changed": False, **error.result, "failed": True, "msg": details["message"] + hint, "error": details}
