# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kit itself: its cases, and how it judges a harness that does not work."""

from __future__ import annotations

import dataclasses
import logging
import re

import pytest

from ansible_collections.crawl.egress.plugins.module_utils.provider import Marker, Reason
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.harness import Harness, MissingHook, Trouble
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import Outcome, cases, run
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import Api, FakeProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.harness import FakeHarness


def one(harness: Harness, case_id: str):
    (result,) = run(harness, only=[case_id])
    return result


def test_every_case_has_a_name_of_its_own_and_one_sentence() -> None:
    ids = [case.id for case in cases()]
    assert len(set(ids)) == len(ids)
    for case in cases():
        assert re.fullmatch("[a-z]+(-[a-z]+)+", case.id)
        assert case.rule.endswith(".")
        assert ". " not in case.rule
        assert case.level in ("MUST", "SHOULD")


def test_a_case_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="there is no case get-twice"):
        run(FakeHarness(), only=["get-twice", "delete-twice"])


def test_a_result_in_words() -> None:
    assert str(one(FakeHarness(), "delete-twice")).startswith("delete-twice: passed: A Delete of what is being deleted")


def test_a_trouble_that_the_profile_does_not_exclude_has_to_be_made() -> None:
    class Lazy(FakeHarness):
        def trouble(self, kind, subject):
            raise MissingHook(kind.name)

    result = one(Lazy(), "what-cannot-be-told-is-unknown")
    assert result.outcome is Outcome.FAILED
    assert result.message == "the harness has no trouble CANNOT_TELL, and the Profile does not say it can't happen"


def test_a_trouble_that_the_profile_excludes_is_not_asked_for() -> None:
    result = one(FakeHarness(), "get-during-an-operation")
    assert (result.outcome, result.message) == (Outcome.NOT_APPLICABLE, "async-ops: none")


@pytest.mark.parametrize("kind", Trouble)
def test_what_excludes_a_trouble_is_an_answer_of_the_template(kind: Trouble) -> None:
    for axis, answers in kind.spared.items():
        for answer in answers:
            profile = dataclasses.replace(FakeProvider.profile, **{axis: answer})
            assert kind.not_applicable(profile) == f"{axis.replace('_', '-')}: {answer}"


def test_a_harness_that_fails_is_an_error_and_no_verdict() -> None:
    class Wrong(FakeHarness):
        def places(self):
            raise ZeroDivisionError("a bug")

    result = one(Wrong(), "delete-twice")
    assert result.outcome is Outcome.ERROR
    assert not result.ok
    assert re.fullmatch(r"ZeroDivisionError: a bug in .*test_kit\.py:\d+", result.message)


def test_a_harness_that_cannot_clean_up_is_an_error() -> None:
    class Dirty(FakeHarness):
        cleaned = 0

        def clean(self):
            super().clean()
            self.cleaned += 1
            if self.cleaned > 1:
                raise OSError("busy")

    result = one(Dirty(), "delete-twice")
    assert result.outcome is Outcome.ERROR
    assert result.message.startswith("the harness can't clean up: OSError: busy")


def test_an_exception_that_is_no_provider_error_is_the_providers_fault() -> None:
    class Careless(FakeProvider):
        def get(self, provider_id, ctx):
            return self.backend.machines[provider_id]

    result = one(FakeHarness(Careless), "create-writes-the-marks")
    assert result.outcome is Outcome.FAILED
    assert result.message.startswith("get raises KeyError")


def test_an_error_that_no_case_expects_is_the_providers_fault() -> None:
    class Moody(FakeProvider):
        def get(self, provider_id, ctx):
            raise self._error(Reason.API_ERROR, "get", "not today")

    result = one(FakeHarness(Moody), "create-writes-the-marks")
    assert (result.outcome, result.message) == (Outcome.FAILED, "get fails: Transient/APIError (not today)")


def test_a_delete_without_requests_that_are_seen_can_not_be_broken_off() -> None:
    class Unobserved(FakeProvider):
        def __init__(self, *args):
            super().__init__(*args)
            self._api = Api(self.backend)

    result = one(FakeHarness(Unobserved), "delete-that-broke-off-is-finished-by-the-next")
    assert result.message == "no request of a Delete is seen: the provider's seam is no observed_api()"


def test_a_profile_with_a_word_of_its_own() -> None:
    class Inventive(FakeProvider):
        profile = dataclasses.replace(FakeProvider.profile, quota="sometimes")

    result = one(FakeHarness(Inventive), "profile-has-the-words-of-the-template")
    assert result.message == "quota is 'sometimes' (allowed: detected, absent)"


def test_without_a_marker_the_cases_of_marks_do_not_apply() -> None:
    class Bare(FakeHarness):
        def build(self, *args, **kwargs):
            inner = super().build(*args, **kwargs)
            assert isinstance(inner, Marker)
            return _Without(inner, {"set_mark"})

    result = one(Bare(), "mark-is-set-and-removed")
    assert (result.outcome, result.message) == (Outcome.NOT_APPLICABLE, "the provider is no Marker")


class _Without:
    def __init__(self, inner, missing):
        self._inner = inner
        self._missing = missing

    def __getattr__(self, name):
        if name in self._missing:
            raise AttributeError(name)
        return getattr(self._inner, name)


def test_logging_is_as_it_was_afterwards() -> None:
    quiet = logging.getLogger("crawl.egress.kit-quiet")
    quiet.setLevel(logging.ERROR)
    quiet.propagate = False
    before = (logging.root.level, list(logging.root.handlers))
    assert one(FakeHarness(), "guest-is-never-seen").ok
    assert (quiet.level, quiet.propagate, (logging.root.level, list(logging.root.handlers))) == (40, False, before)
