# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Checker: one entry per target, never an exception. A provider without one is unsupported, which is no failure."""

from __future__ import annotations

import functools
import threading

from ...module_utils.provider import Checker, CheckReason, Context, TargetStatus
from ._bench import Bench, NotApplicable, expect, must, require, should
from .harness import Trouble


def _needs_checker(bench: Bench) -> None:
    if not bench.provider.has(Checker):
        raise NotApplicable("the provider is no Checker")


def _targets(found: list[TargetStatus]) -> list[str]:
    return [status.target for status in found]


@must
def check_has_one_entry_per_target(bench: Bench) -> None:
    """A check has one entry for each target, in an order that stays the same, ready or not."""
    _needs_checker(bench)
    found = bench.provider.check(bench.ctx())
    require(bool(found), "there is no target")
    targets = _targets(found)
    require(len(set(targets)) == len(targets), f"a target is there twice: {targets}")
    for status in found:
        fits = status.ready == (status.reason == CheckReason.REACHABLE.value)
        require(status.ready and fits, f"{status.target}: ready is {status.ready}, the reason is {status.reason}")
    again = _targets(bench.build().check(bench.ctx()))
    require(again == targets, f"another check says {again}, not {targets}")
    with bench.trouble(Trouble.UNREACHABLE):
        troubled = _targets(bench.provider.check(bench.ctx()))
    require(troubled == targets, f"in an outage it says {troubled}, not {targets}")


@must
def check_never_fails_as_a_whole(bench: Bench) -> None:
    """Whatever is wrong is a target that is not ready; a check raises nothing."""
    _needs_checker(bench)
    for kind in (Trouble.UNREACHABLE, Trouble.UNAVAILABLE, Trouble.UNAUTHORIZED, Trouble.FORBIDDEN):
        if kind.not_applicable(bench.profile) is None:
            with bench.trouble(kind):
                _all_well_formed(bench, bench.provider.check(bench.ctx()), kind.what)


def _all_well_formed(bench: Bench, found: list[TargetStatus], when: str) -> None:
    bad = [status for status in found if not status.ready]
    require(bool(bad), f"every target is ready, though {when}")
    for status in bad:
        wrong = status.reason in ("", CheckReason.REACHABLE.value)
        require(not wrong, f"{status.target} is not ready for the reason {status.reason!r}, though {when}")


@should
def check_uses_the_shared_reasons(bench: Bench) -> None:
    """For what every backend can have, a check gives the reasons that all providers share."""
    _needs_checker(bench)
    for kind, *reasons in (
        (Trouble.UNREACHABLE, CheckReason.UNREACHABLE, CheckReason.TIMEOUT),
        (Trouble.UNAVAILABLE, CheckReason.API_ERROR),
        (Trouble.UNAUTHORIZED, CheckReason.UNAUTHORIZED),
        (Trouble.FORBIDDEN, CheckReason.FORBIDDEN),
    ):
        if kind.not_applicable(bench.profile) is None:
            with bench.trouble(kind):
                found = {status.reason for status in bench.provider.check(bench.ctx()) if not status.ready}
            allowed = {reason.value for reason in reasons}
            require(bool(found) and found <= allowed, f"it says {sorted(found)}, though {kind.what}")


@must
def check_with_a_context_that_is_over(bench: Bench) -> None:
    """With a context that is cancelled or out of time a check returns at once, one entry per target, none ready."""
    _needs_checker(bench)
    targets = _targets(bench.provider.check(bench.ctx()))
    cancelled = threading.Event()
    cancelled.set()
    clock = bench.harness.clock
    for ctx in (Context.within(0, clock), Context.within(60, clock, cancelled)):
        check = bench.start("check", functools.partial(bench.provider.check, ctx))
        found: list[TargetStatus] = expect(check.outcome(bench.harness.patience), list, "check")
        require(_targets(found) == targets, f"it says {_targets(found)}, not {targets}")
        require(not any(status.ready for status in found), "a target is ready that was not asked")


@must
def check_ends_while_the_backend_hangs(bench: Bench) -> None:
    """A check returns promptly once its context ends, even when the backend does not answer."""
    _needs_checker(bench)
    with bench.trouble(Trouble.HANG):
        check = bench.start("check", lambda: bench.provider.check(bench.ctx(0.2)))
        expect(check.outcome(0.2 + bench.harness.patience), list, "check")


@should
def check_is_cheap(bench: Bench) -> None:
    """A check costs the same whether there are no instances or several: one page, one object."""
    _needs_checker(bench)

    def check() -> object:
        return bench.provider.check(bench.ctx())

    empty = bench.calls_of(check)
    for name in ("one", "two", "three"):
        bench.create(bench.request(name))
    full = bench.calls_of(check)
    require(full == empty, f"it costs {empty} requests without instances and {full} with three")
