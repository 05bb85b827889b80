# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.crawl.egress.plugins.module_utils._spec.hashing import CURRENT_VERSION, spec_hash

# Computed once with printf and sha256sum, and frozen: a changed answer replaces every fleet.
VECTORS = [
    ({}, "ddb70a4dc0bb8f94343fb00387667088"),
    ({"port": 3128}, "2d2d17eecf55627dc8cd681f5bc4ed23"),
    ({"b": 1, "a": [1, 2, {"d": True, "c": 1.5}]}, "b535518ccd6bc72890111d716aed4efc"),
    (
        {"image": "debian-12", "port": 3128, "squid": {"users": [["a", "x"]], "ä": None}},
        "44154fcfed16578eba9bc7d7860227ed",
    ),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
contents = st.dictionaries(st.text(), json_values, max_size=5)


def shuffled(value: Any, source: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, shuffled(item, source)) for key, item in value.items()]
        source.shuffle(items)
        return dict(items)
    return [shuffled(item, source) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("content", "digest"), VECTORS)
def test_version_1_is_frozen(content: dict[str, Any], digest: str) -> None:
    assert spec_hash(content, 1) == digest


@given(contents, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(content: dict[str, Any], source: random.Random) -> None:
    digest = spec_hash(content)
    assert re.fullmatch("[0-9a-f]{32}", digest)
    assert spec_hash(shuffled(content, source)) == digest


@pytest.mark.parametrize(
    "other",
    [
        {"a": [2, 1], "b": "1"},
        {"a": [1, 2], "b": 1},
        {"a": [1, 2], "b": None},
        {"a": [1, 2]},
        {"a": [[1], 2], "b": "1"},
        {"a": [1, 2], "b": "1", "c": False},
    ],
)
def test_any_other_content_has_another_hash(other: dict[str, Any]) -> None:
    assert spec_hash(other) != spec_hash({"a": [1, 2], "b": "1"})


@pytest.mark.parametrize("version", [-1, 0, CURRENT_VERSION + 1])
def test_an_unknown_version_is_not_comparable(version: int) -> None:
    assert spec_hash({"port": 3128}, version) is None
