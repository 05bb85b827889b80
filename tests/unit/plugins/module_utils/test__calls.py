# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to a backend, as children of the operation that makes them."""

from __future__ import annotations

import contextvars
import threading

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._context import Context
from ansible_collections.crawl.egress.plugins.module_utils._telemetry import ObservedProvider, Recorder
from ansible_collections.crawl.egress.plugins.module_utils.provider import Selector, backend_call, observed_api
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.clock import FakeClock


class Api:
    limit = 7

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    def page(self, number: int) -> int:
        """One page."""
        self.clock.advance(1.5)
        if number > self.limit:
            raise LookupError(number)
        return number


class Lister:
    name = "one"
    profile = None

    def __init__(self, clock: FakeClock) -> None:
        self.api = observed_api(Api(clock))
        self.pages = [1, 2]
        self.spread = lambda call: call()

    def list_by_tag(self, selector, ctx):
        return [self.spread(lambda number=number: self.api.page(number)) for number in self.pages]


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def lister(clock):
    return Lister(clock)


@pytest.fixture
def run(lister, clock, recorder):
    observed = ObservedProvider(lister, recorder, clock)
    return lambda: observed.list_by_tag(Selector("test"), Context.within(9, clock))


def test_each_request_is_recorded_under_its_operation(run, recorder):
    assert run() == [1, 2]
    assert recorder.children() == [{"provider": "one", "op": "list", "call": "page", "calls": 2, "seconds": 3.0}]
    assert recorder.summary() == [{"provider": "one", "op": "list", "class": "ok", "calls": 1, "seconds": 3.0}]


def test_a_request_that_fails_is_one_too(run, lister, recorder):
    lister.pages = [1, 8]
    with pytest.raises(LookupError):
        run()
    assert [row["calls"] for row in recorder.children()] == [2]


def test_outside_of_an_operation_nothing_is_recorded(run, lister, recorder):
    lister.api.page(1)
    run()
    lister.api.page(1)
    assert [row["calls"] for row in recorder.children()] == [2]


def test_an_operation_ends_with_its_call_even_when_that_fails(run, lister, recorder):
    lister.pages = [8]
    with pytest.raises(LookupError):
        run()
    lister.api.page(1)
    assert [row["calls"] for row in recorder.children()] == [1]


@pytest.mark.parametrize("with_context", [True, False])
def test_a_thread_needs_the_context_of_the_operation(with_context, run, lister, recorder):
    def spread(call):
        context = contextvars.copy_context() if with_context else contextvars.Context()
        thread = threading.Thread(target=context.run, args=(call,))
        thread.start()
        thread.join()

    lister.spread = spread
    run()
    assert sum(row["calls"] for row in recorder.children()) == (2 if with_context else 0)


def test_what_is_no_method_is_handed_through(lister):
    assert lister.api.limit == 7
    assert lister.api.page.__doc__ == "One page."


def test_a_request_by_hand(clock, recorder):
    with backend_call("page"):
        clock.advance(1)
    assert recorder.children() == []
