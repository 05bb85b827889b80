# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The door of modules, and the only place that calls C(exit_json) and C(fail_json). A module imports it first."""

from __future__ import annotations

import select
import sys
import threading
import typing as t

from ansible.module_utils.basic import AnsibleModule

# First, since it makes importing the others faster.
from . import _zipped  # noqa: F401  pylint: disable=unused-import
from ._entry import CHECKED, Part, perform, stoppable
from ._host import Host
from .provider import Runner


class Module(AnsibleModule):
    """:ivar checked: whether the options have been checked."""

    def _load_params(self) -> None:
        super()._load_params()
        self.checked = self.params.pop(CHECKED, False) is True


def serve(part: Part) -> t.NoReturn:
    """Run a part as a module."""
    module = Module(argument_spec=part.argument_spec(), supports_check_mode=True, **part.RULES)
    host = Host(
        runner=_runner(module),
        python=sys.executable,
        check_mode=module.check_mode,
        diff=module._diff,
        warn=module.warn,
    )
    threading.Thread(target=_cancel_unheard, args=(host.cancel,), daemon=True, name="egress-unheard").start()
    with stoppable(host.cancel):
        result = perform(part, module.params, host, checked=module.checked)
    # The options hold password hashes and cloud-init, so they are not repeated in the result.
    result["invocation"] = {}
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


def _cancel_unheard(cancel: threading.Event) -> None:
    """Cancel the run when nobody reads its output any more: the task keyword C(timeout) leaves modules running."""
    reader = select.poll()
    reader.register(1, 0)  # nothing but an error, or that the other end is closed
    reader.poll()
    cancel.set()


def _runner(module: t.Any) -> Runner:
    def run_command(argv: t.Sequence[str], *, stdin: str = "") -> tuple[int, str, str]:
        answer: tuple[int, str, str] = module.run_command(
            list(argv),
            data=stdin,
            binary_data=True,
            errors="replace",
            expand_user_and_vars=False,
            handle_exceptions=False,
        )
        return answer

    return run_command
