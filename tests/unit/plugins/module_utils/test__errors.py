# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._errors import (
    LATCHING,
    LATCHING_PROVIDER,
    ArgumentError,
    EgressError,
    ErrorClass,
    MissingSDK,
    ProviderError,
    Reason,
)

CALLS = [reason for reason in Reason if reason.error_class is not None]
OTHERS = [reason for reason in Reason if reason.error_class is None]


def test_each_reason_has_a_wire_name_of_its_own() -> None:
    wires = [reason.wire for reason in Reason.__members__.values()]
    assert len(wires) == len(set(wires)) == len(Reason.__members__)  # equal rows would be aliases of one member
    assert all(re.fullmatch(r"[A-Z][A-Za-z]+", wire) for wire in wires)


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.wire)
def test_each_reason_says_what_to_do(reason: Reason) -> None:
    assert len(reason.advice) > 10
    assert not reason.advice.endswith(".")


def test_each_class_has_reasons() -> None:
    assert {reason.error_class for reason in Reason} == {*ErrorClass, None}


def test_what_latches_is_permanent_and_latches_one_thing() -> None:
    assert {reason.error_class for reason in LATCHING | LATCHING_PROVIDER} == {ErrorClass.PERMANENT}
    assert not LATCHING & LATCHING_PROVIDER


@pytest.mark.parametrize("reason", CALLS, ids=lambda reason: reason.wire)
def test_a_provider_error_has_the_class_of_its_reason(reason: Reason) -> None:
    error = ProviderError(reason, "no", op="create", provider="lab", provider_id="x/y", retry_after=3.0, scope="x")
    assert error.error_class is reason.error_class
    assert error.as_result() == {
        "class": reason.error_class.value,
        "reason": reason.wire,
        "message": "no",
        "advice": reason.advice,
        "op": "create",
        "provider": "lab",
        "provider_id": "x/y",
        "retry_after": 3.0,
        "scope": "x",
    }


@pytest.mark.parametrize("reason", OTHERS, ids=lambda reason: reason.wire)
def test_a_reason_without_a_class_is_no_reason_of_a_provider(reason: Reason) -> None:
    with pytest.raises(ValueError, match=reason.wire):
        raise ProviderError(reason, "no", op="get", provider="lab")


@pytest.mark.parametrize("reason", OTHERS, ids=lambda reason: reason.wire)
def test_a_reason_without_a_class_reaches_the_result_with_its_details(reason: Reason) -> None:
    result = EgressError(reason, "no", holder=7).as_result()
    assert result == {"class": None, "reason": reason.wire, "message": "no", "advice": reason.advice, "holder": 7}


def test_an_argument_error_holds_every_problem() -> None:
    error = ArgumentError(["a is missing", "b: 3 is not allowed"])
    assert str(error) == error.message == "a is missing; b: 3 is not allowed"
    assert error.as_result()["problems"] == ["a is missing", "b: 3 is not allowed"]
    assert error.reason is Reason.INVALID_ARGUMENT


def test_a_missing_sdk_names_the_package_and_who_needs_it() -> None:
    error = MissingSDK("libvirt-python", "lab", "No module named 'libvirt'")
    assert error.reason is Reason.MISSING_SDK
    assert error.as_result()["package"] == "libvirt-python"
    assert {"lab", "libvirt-python"} <= set(re.findall(r"[\w-]+", error.message))
