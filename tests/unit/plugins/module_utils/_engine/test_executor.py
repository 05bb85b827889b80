# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Threads for backend calls: each job has one outcome, a bug costs one job, a cancel does not wait for the slow."""

from __future__ import annotations

import threading
import typing as t

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._context import Context
from ansible_collections.crawl.egress.plugins.module_utils._engine.executor import DaemonThreads, InTurn, Job
from ansible_collections.crawl.egress.plugins.module_utils._errors import EgressError, ProviderError, Reason

EXECUTORS = [InTurn(), DaemonThreads(1), DaemonThreads(4)]


def job(call: t.Callable[[], t.Any]) -> Job[t.Any]:
    return Job("get", "one", call)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_job_has_one_outcome(executor):
    jobs = [job(lambda i=i: i * i) for i in range(50)]
    outcomes = {o.index: o.value for o in executor.run(jobs, Context.within(60))}
    assert outcomes == {i: i * i for i in range(50)}
    assert list(executor.run([], Context.within(60))) == []


@pytest.mark.parametrize("executor", EXECUTORS)
def test_errors_and_bugs_cost_their_own_job_and_a_bug_keeps_its_message_to_itself(executor):
    def refuse():
        raise ProviderError(Reason.QUOTA, "full", op="get", provider="one")

    def stumble():
        raise KeyError("sentinel")

    outcomes = {o.index: o for o in executor.run([job(refuse), job(stumble), job(lambda: 1)], Context.within(60))}
    assert outcomes[0].error.reason is Reason.QUOTA
    assert outcomes[1].error.reason is Reason.BUG
    assert "sentinel" not in str(outcomes[1].error.as_result())
    assert "test_executor.py" in outcomes[1].error.message
    assert outcomes[2].value == 1


def test_no_more_calls_at_a_time_than_allowed():
    gate, inside, most = threading.Lock(), [], []

    def call():
        with gate:
            inside.append(1)
            most.append(len(inside))
        threading.Event().wait(0.01)
        with gate:
            inside.pop()

    list(DaemonThreads(3).run([job(call) for _unused in range(12)], Context.within(60)))
    assert max(most) <= 3


@pytest.mark.parametrize(
    ("seconds", "cancelled", "reason"), [(60, True, Reason.CANCELLED), (0.05, False, Reason.TIMEOUT)]
)
def test_what_hangs_is_left_behind(seconds, cancelled, reason):
    forever, started = threading.Event(), []
    ctx = Context.within(seconds)

    def hang():
        started.append(1)
        if cancelled:
            ctx.cancel.set()
        forever.wait()

    outcomes = list(DaemonThreads(2).run([job(hang) for _unused in range(5)], ctx))
    assert sorted(o.index for o in outcomes) == [0, 1, 2, 3, 4]
    assert {o.error.reason for o in outcomes} == {reason}
    assert len(started) == 2
    left = [thread for thread in threading.enumerate() if thread.name == "egress-call"]
    assert left
    assert all(thread.daemon for thread in left)
    forever.set()


def test_a_call_that_ends_within_the_grace_is_still_heard():
    ctx = Context.within(60)

    def slow():
        ctx.cancel.set()
        threading.Event().wait(0.3)
        return "done"

    assert [o.value for o in DaemonThreads(1).run([job(slow)], ctx)] == ["done"]


def test_an_error_is_told_as_it_is():
    def refuse():
        raise EgressError(Reason.MISSING_SDK, "no such package")

    (outcome,) = InTurn().run([job(refuse)], Context.within(60))
    assert outcome.error.reason is Reason.MISSING_SDK
