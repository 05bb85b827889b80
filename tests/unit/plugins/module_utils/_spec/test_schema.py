# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest

from ansible_collections.crawl.egress.plugins.module_utils._marks import DEFAULT_PREFIX, Marks
from ansible_collections.crawl.egress.plugins.module_utils._registry import TYPES
from ansible_collections.crawl.egress.plugins.module_utils._spec import schema
from ansible_collections.crawl.egress.plugins.module_utils._spec.validate import problems


def mappings(node: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every subschema that knows its keys, by its path."""
    if "properties" in node:
        yield path, node
    if isinstance(node.get("additionalProperties"), dict):  # names of the user's own
        yield from mappings(node["additionalProperties"], f"{path}.*")
    for key, inner in node.get("properties", {}).items():
        yield from mappings(inner, f"{path}.{key}")
    if "items" in node:
        yield from mappings(node["items"], f"{path}[]")


def test_the_schema_is_one_and_stands_alone(types: Mapping[str, Any]) -> None:
    document = schema.document_schema(types)
    jsonschema.Draft202012Validator.check_schema(document)
    assert "$ref" not in str(document)


def test_no_mapping_takes_unknown_keys_and_every_key_is_described() -> None:
    found = dict(mappings(schema.document_schema(TYPES)))
    assert {"", ".providers[]", ".providers[].local", ".proxies[].placement", ".pools[].squid.users[]"} <= found.keys()
    for path, node in found.items():
        assert node["additionalProperties"] is False, path
        for key, inner in node["properties"].items():
            if key not in TYPES:  # a provider's block is described in its guide
                assert inner["description"], f"{path}.{key}"


@pytest.mark.parametrize(
    "path", [".policy.max_surge", ".policy.max_age", ".policy.breaker", ".pools[].fallbacks", ".pools[].weights"]
)
def test_keys_of_later_issues_are_unknown(path: str) -> None:
    parent, _dot, key = path.rpartition(".")
    assert key not in dict(mappings(schema.document_schema(TYPES)))[parent]["properties"]


def test_the_longest_prefix_still_fits_every_label_key() -> None:
    longest = "a" * schema.MAX_PREFIX
    assert problems(longest, schema.mark_prefix_schema()) == []
    assert problems(longest + "a", schema.mark_prefix_schema()) != []
    marks = Marks("u", "i", "n", "a", "p", "l", 1, "0" * 32, 1, generation=1, created=1, extra={"hold": "1"})
    assert max(map(len, marks.to_labels(longest))) == 63


@pytest.mark.parametrize("prefix", [DEFAULT_PREFIX, "a", "a1", "a_b-c"])
def test_good_prefixes(prefix: str) -> None:
    assert problems(prefix, schema.mark_prefix_schema()) == []


@pytest.mark.parametrize("prefix", ["", "1a", "-a", "a-", "A", "a.b", "a/b", "a\n"])
def test_bad_prefixes(prefix: str) -> None:
    assert len(problems(prefix, schema.mark_prefix_schema())) == 1


def test_the_generation_fits_a_mark() -> None:
    marks = Marks("u", "i", "n", "a", "p", "l", 1, generation=schema.MAX_GENERATION)
    assert Marks.from_labels(marks.to_labels("x"), "x") == marks


def test_defaults_are_valid() -> None:
    for _path, node in mappings(schema.document_schema(TYPES)):
        for key, inner in node["properties"].items():
            if "default" in inner:
                assert problems(inner["default"], inner) == [], key
