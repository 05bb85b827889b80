# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The conformance kit: the provider contract as executable cases. Public.

    results = run(MyHarness())
    broken = [result for result in results if not result.ok]

C(docs/writing-a-provider.md) shows the whole of it.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection

from ...module_utils.provider import ProviderError
from . import (
    _cases_check,
    _cases_concurrency,
    _cases_context,
    _cases_create,
    _cases_delete,
    _cases_diagnose,
    _cases_errors,
    _cases_get,
    _cases_list,
    _cases_marks,
    _cases_preflight,
    _cases_profile,
    _cases_secrets,
)
from ._bench import Bench, Case, NotApplicable, Violation, told
from .harness import Harness, MissingHook

_ROOMS = (
    _cases_profile,
    _cases_create,
    _cases_get,
    _cases_delete,
    _cases_list,
    _cases_marks,
    _cases_errors,
    _cases_context,
    _cases_concurrency,
    _cases_check,
    _cases_preflight,
    _cases_diagnose,
    _cases_secrets,
)


class Outcome(enum.Enum):
    """FAILED: the provider breaks the rule. ERROR: the harness or the kit does not work, so nothing is known."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    ERROR = "error"


@dataclasses.dataclass(frozen=True)
class Result:
    """:ivar message: what was seen instead; or which answer of the Profile makes the rule pointless."""

    case_id: str
    rule: str
    outcome: Outcome
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.outcome in (Outcome.PASSED, Outcome.NOT_APPLICABLE)

    def __str__(self) -> str:
        return f"{self.case_id}: {self.outcome.value}: {self.message or self.rule}"


def cases() -> list[Case]:
    """Every case, in the order in which they are best read."""
    return [case for room in _ROOMS for case in vars(room).values() if isinstance(case, Case)]


def run(harness: Harness, only: Collection[str] | None = None) -> list[Result]:
    """One result for each case. :param only: ids of cases; None for all.

    :raises ValueError: there is no such case.
    """
    wanted = [case for case in cases() if only is None or case.id in only]
    unknown = set(only or ()) - {case.id for case in wanted}
    if unknown:
        raise ValueError(f"there is no case {', '.join(sorted(unknown))}")
    return [_run(case, harness) for case in wanted]


def _run(case: Case, harness: Harness) -> Result:
    outcome, message = _judge(case, harness)
    try:
        harness.clean()
    except Exception as error:  # noqa: BLE001 - a harness may be wrong in any way; it must not end the round
        if outcome in (Outcome.PASSED, Outcome.NOT_APPLICABLE):
            outcome, message = Outcome.ERROR, f"the harness can't clean up: {_told(error)}"
    return Result(case.id, case.rule, outcome, message)


def _judge(case: Case, harness: Harness) -> tuple[Outcome, str]:
    try:
        with Bench.over(harness) as bench:
            case.check(bench)
    except Violation as violation:
        return Outcome.FAILED, str(violation)
    except ProviderError as error:
        return Outcome.FAILED, f"{error.op} fails: {told(error)}"
    except MissingHook as missing:
        return Outcome.FAILED, f"the harness has no trouble {missing}, and the Profile does not say it can't happen"
    except NotApplicable as reason:
        return Outcome.NOT_APPLICABLE, str(reason)
    except Exception as error:  # noqa: BLE001 - as above
        return Outcome.ERROR, _told(error)
    return Outcome.PASSED, ""


def _told(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" in {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}: {error}{where}"
