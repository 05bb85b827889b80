# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.crawl.egress.plugins.module_utils._marks import DEFAULT_PREFIX, VALUE, Marks

OWN = [
    *("managed", "uid", "install", "namespace", "name", "pool", "slot"),
    *("port", "provider", "spec-hash", "spec-version", "generation", "created"),
]
values = st.from_regex(VALUE, fullmatch=True)
numbers = st.integers(0, 10**15 - 1)
marks = st.builds(
    Marks,
    uid=values,
    install=values,
    namespace=values,
    name=values,
    pool=values,
    provider=values,
    port=st.integers(1, 65535),
    spec_hash=st.text("0123456789abcdef", min_size=32, max_size=32),
    spec_version=st.integers(1, 99),
    slot=st.sampled_from([0, 1]),
    generation=st.none() | numbers,
    created=st.none() | numbers,
    extra=st.dictionaries(values.filter(lambda key: key not in OWN), values, max_size=3),
)
prefixes = st.from_regex(r"[a-z]([a-z0-9_-]{0,48}[a-z0-9])?", fullmatch=True)

EXAMPLE = Marks(
    uid="8c41419a-869f-5d55-b6df-39c0029ff026",
    install="crawl",
    namespace="default",
    name="a-1",
    pool="a",
    provider="lab",
    port=3128,
    spec_hash="2d2d17eecf55627dc8cd681f5bc4ed23",
    spec_version=1,
    generation=412,
)


def test_labels_are_frozen() -> None:
    assert EXAMPLE.to_labels(DEFAULT_PREFIX) == {
        "proxy-operator-managed": "true",
        "proxy-operator-uid": "8c41419a-869f-5d55-b6df-39c0029ff026",
        "proxy-operator-install": "crawl",
        "proxy-operator-namespace": "default",
        "proxy-operator-name": "a-1",
        "proxy-operator-pool": "a",
        "proxy-operator-slot": "0",
        "proxy-operator-port": "3128",
        "proxy-operator-provider": "lab",
        "proxy-operator-spec-hash": "2d2d17eecf55627dc8cd681f5bc4ed23",
        "proxy-operator-spec-version": "1",
        "proxy-operator-generation": "412",
    }


@given(marks, prefixes)
def test_marks_come_back_from_labels(given_marks: Marks, prefix: str) -> None:
    assert Marks.from_labels(given_marks.to_labels(prefix), prefix) == given_marks


@given(marks)
def test_every_value_fits_the_strictest_backend(given_marks: Marks) -> None:
    assert all(VALUE.fullmatch(value) for value in given_marks.to_labels(DEFAULT_PREFIX).values())


@given(marks, st.sets(st.sampled_from(OWN[1:])))
def test_wiped_labels_are_empty_and_cost_no_others(given_marks: Marks, wiped: set[str]) -> None:
    labels = given_marks.to_labels(DEFAULT_PREFIX)
    for key in wiped:
        labels.pop(f"{DEFAULT_PREFIX}-{key}", None)
    found = Marks.from_labels(labels, DEFAULT_PREFIX)
    empty = Marks(uid="", install="", namespace="", name="", pool="", provider="", port=0)
    for key in OWN[1:]:
        field = key.replace("-", "_")
        assert getattr(found, field) == getattr(empty if key in wiped else given_marks, field)


@given(marks, st.dictionaries(st.sampled_from(OWN[1:]), st.text(max_size=20)))
def test_edited_labels_never_break_reading(given_marks: Marks, edits: Mapping[str, str]) -> None:
    labels = given_marks.to_labels(DEFAULT_PREFIX) | {f"{DEFAULT_PREFIX}-{k}": v for k, v in edits.items()}
    found = Marks.from_labels(labels, DEFAULT_PREFIX)
    assert found is not None
    for key in ("uid", "install", "namespace", "name", "pool", "provider"):
        assert getattr(found, key) == labels[f"{DEFAULT_PREFIX}-{key}"]
    assert isinstance(found.port, int)
    assert isinstance(found.slot, int)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", " 1", "1e3", "٣", "9" * 16, "1\n"])
def test_a_number_that_was_edited_into_something_else_counts_as_missing(text: str) -> None:
    labels = EXAMPLE.to_labels(DEFAULT_PREFIX)
    for key in ("port", "slot", "spec-version", "generation", "created"):
        labels[f"{DEFAULT_PREFIX}-{key}"] = text
    found = Marks.from_labels(labels, DEFAULT_PREFIX)
    assert (found.port, found.slot, found.spec_version, found.generation, found.created) == (0, 0, 0, None, None)


@pytest.mark.parametrize("value", [None, "", "yes", "True", "false"])
def test_only_the_exact_managed_mark_makes_an_instance_ours(value: str | None) -> None:
    labels = EXAMPLE.to_labels(DEFAULT_PREFIX)
    del labels["proxy-operator-managed"]
    if value is not None:
        labels["proxy-operator-managed"] = value
    assert Marks.from_labels(labels, DEFAULT_PREFIX) is None


@given(marks)
def test_another_prefix_sees_nothing(given_marks: Marks) -> None:
    assert Marks.from_labels(given_marks.to_labels("proxy-operator-b"), "proxy-operator") is None
    assert Marks.from_labels(given_marks.to_labels("proxy-operator"), "proxy-operator-b") is None


@pytest.mark.parametrize(
    ("value", "until", "held"),
    [
        ("1764421200", 1764421200, True),
        ("1764421199", 1764421199, False),
        ("0", 0, False),
        ("soon", None, True),
        ("", None, True),
    ],
)
def test_a_hold_is_a_time_and_a_damaged_one_protects(value: str, until: int | None, held: bool) -> None:
    labels = EXAMPLE.to_labels(DEFAULT_PREFIX) | {"proxy-operator-hold": value}
    read = Marks.from_labels(labels, DEFAULT_PREFIX)
    assert (read.hold_until(), read.held(1764421199)) == (until, held)
    assert not EXAMPLE.held(0)
