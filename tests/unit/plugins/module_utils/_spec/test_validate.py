# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader

from ansible_collections.crawl.egress.plugins.module_utils._spec import validate
from ansible_collections.crawl.egress.plugins.module_utils._spec.validate import plain, problems

LABEL = {"type": "string", "pattern": "^[a-z]+$(?!\\n)", "title": "small letters"}
PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "type"],
    "properties": {
        "name": LABEL,
        "type": {"type": "string", "enum": ["local", "vm"]},
        "port": PORT,
        "ratio": {"type": "number", "exclusiveMinimum": 0},
        "paused": {"type": "boolean"},
        "limit": {
            "type": ["integer", "string"],
            "minimum": 1,
            "pattern": "^[0-9]+%$",
            "title": "1 or a share",
        },
        "zones": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string", "maxLength": 3}},
        "place": {"type": "object", "additionalProperties": False, "properties": {"zone": LABEL, "port": PORT}},
        "where": {"anyOf": [LABEL, {"type": "array", "items": LABEL}]},
        "which": {"oneOf": [{"type": "string", "const": "all"}, PORT], "description": "All of them, or one."},
        "both": {"anyOf": [LABEL, {"type": "string", "minLength": 9}]},
        "password_hash": {"type": "string", "pattern": "^[$]6[$]"},
        "cloud_init": {"type": "string", "minLength": 1},
        "key": {"type": "string", "writeOnly": True, "enum": ["k"]},
        "login": {"writeOnly": True, "type": "object", "properties": {"pin": {"type": "integer", "maximum": 9}}},
        "behind": {"$ref": "#/$defs/hidden"},
    },
    "$defs": {"hidden": {"type": "string", "writeOnly": True, "maxLength": 2, "description": "Short."}},
}
GOOD = {"name": "a", "type": "vm"}
KEYS = ", ".join(SCHEMA["properties"])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"port": 1, "ratio": 0.5, "paused": False, "limit": 3, "zones": ["a", "b"], "place": {"zone": "a"}},
        {"port": 3128.0, "ratio": 2, "limit": "40%", "where": "here", "which": 7, "both": "a-long-text"},
        {"where": ["here", "there"], "which": "all", "both": "short"},
        {"password_hash": "$6$", "cloud_init": "#", "key": "k", "login": {"pin": 9}, "behind": "ab"},
    ],
)
def test_a_valid_value_has_no_problems(more: dict[str, Any]) -> None:
    assert problems(GOOD | more, SCHEMA) == []


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"prot": 1}, f"unknown key 'prot' (allowed: {KEYS})"),
        ({True: 1}, f"unknown key 'true' (allowed: {KEYS})"),
        ({"place": {"Zone": "a"}}, "unknown key 'Zone' at place (allowed: zone, port)"),
        ({"port": 0}, "port: 0 is not allowed (1 to 65535)"),
        ({"port": 70000}, "port: 70000 is not allowed (1 to 65535)"),
        ({"port": "abc"}, "port: 'abc' is a string, an integer is needed"),
        (
            {"port": "3128"},
            "port: '3128' is a string, an integer is needed: write it without quotes, or with the filter int",
        ),
        ({"port": 3128.5}, "port: 3128.5 is a number, an integer is needed"),
        ({"port": True}, "port: true is a boolean, an integer is needed"),
        ({"port": None}, "port: null is given, an integer is needed"),
        ({"port": [1]}, "port: a list is given, an integer is needed"),
        ({"port": {"a": 1}}, "port: a mapping is given, an integer is needed"),
        ({"ratio": 0}, "ratio: 0 is not allowed (exclusiveMinimum: 0)"),
        ({"ratio": "1.5"}, "ratio: '1.5' is a string, a number is needed"),
        ({"paused": "no"}, "paused: 'no' is a string, a boolean is needed"),
        ({"name": 123}, "name: 123 is an integer, a string is needed: put it in quotes"),
        ({"name": True}, "name: true is a boolean, a string is needed: put it in quotes"),
        ({"name": 1.5}, "name: 1.5 is a number, a string is needed: put it in quotes"),
        (
            {"name": datetime.date(2026, 1, 1)},
            "name: a date is given, a string is needed: put it in quotes",
        ),
        ({"name": None}, "name: null is given, a string is needed"),
        ({"name": ""}, "name: must not be empty (small letters)"),
        ({"name": "A"}, "name: 'A' is not allowed (small letters)"),
        ({"name": "a\n"}, "name: 'a\\n' is not allowed (small letters)"),
        ({"name": "A" * 500}, f"name: '{'A' * 78}… is not allowed (small letters)"),
        ({"type": "locl"}, "type: 'locl' is not allowed (allowed: local, vm)"),
        ({"limit": 0}, "limit: 0 is not allowed (1 or a share)"),
        ({"limit": "half"}, "limit: 'half' is not allowed (1 or a share)"),
        ({"limit": []}, "limit: a list is given, an integer or a string is needed"),
        ({"zones": []}, "zones: must not be empty"),
        ({"zones": "a"}, "zones: a string is given, a list is needed"),
        ({"zones": ["a", "b", "a"]}, "zones: the same entry stands there more than once"),
        ({"zones": ["a", "abcd"]}, "zones[1]: 'abcd' is not allowed (maxLength: 3)"),
        ({"place": "a"}, "place: a string is given, a mapping is needed"),
        ({"place": {"port": 0}}, "place.port: 0 is not allowed (1 to 65535)"),
        ({"where": "A"}, "where: 'A' is not allowed (small letters)"),
        ({"where": ["a", "B"]}, "where[1]: 'B' is not allowed (small letters)"),
        ({"where": 3}, "where: 3 is not allowed"),
        ({"which": 70000}, "which: 70000 is not allowed (1 to 65535)"),
        ({"which": "some"}, "which: 'some' is not allowed (allowed: all)"),
        ({"both": "B"}, "both: 'B' is not allowed"),
        ({"password_hash": "SECRET"}, "password_hash: a value is not allowed (pattern: '^[$]6[$]')"),
        ({"password_hash": 123}, "password_hash: an integer is given, a string is needed: put it in quotes"),
        ({"cloud_init": ["SECRET"]}, "cloud_init: a list is given, a string is needed"),
        ({"cloud_init": ""}, "cloud_init: must not be empty"),
        ({"key": "SECRET"}, "key: a value is not allowed (allowed: k)"),
        ({"login": {"pin": 12345}}, "login.pin: a value is not allowed (maximum: 9)"),
        ({"login": {"pin": "12345"}}, "login.pin: a string is given, an integer is needed"),
        ({"behind": "SECRET"}, "behind: a value is not allowed (Short)"),
    ],
)
def test_one_fault_is_one_sentence(more: dict[Any, Any], sentence: str) -> None:
    assert problems(GOOD | more, SCHEMA) == [sentence]


def test_all_faults_are_found_at_once_and_in_order() -> None:
    schema = {"type": "array", "items": SCHEMA}
    value = [GOOD] * 9 + [{"type": "x", "port": 0, "place": {"b": 1, "a": 1}}, GOOD, 5, {"name": 1, "type": "vm"}]
    assert problems(value, schema, root="proxies") == [
        "proxies[9].name is missing",
        "unknown key 'a' at proxies[9].place (allowed: zone, port)",
        "unknown key 'b' at proxies[9].place (allowed: zone, port)",
        "proxies[9].port: 0 is not allowed (1 to 65535)",
        "proxies[9].type: 'x' is not allowed (allowed: local, vm)",
        "proxies[11]: 5 is an integer, a mapping is needed",
        "proxies[12].name: 1 is an integer, a string is needed: put it in quotes",
    ]


def test_what_is_missing_at_the_top_has_no_path() -> None:
    assert problems({}, SCHEMA) == ["name is missing", "type is missing"]
    assert problems({}, SCHEMA, root="providers[0].vm") == [
        "providers[0].vm.name is missing",
        "providers[0].vm.type is missing",
    ]


def test_plain_takes_ansibles_types_apart() -> None:
    tagged = DataLoader().load("{name: a, port: 3128, zones: [b, null, true, 1.5], place: {zone: c}}")
    assert tagged["name"].__class__ is not str  # else this test shows nothing
    value = plain(tagged)
    assert value == {"name": "a", "port": 3128, "zones": ["b", None, True, 1.5], "place": {"zone": "c"}}
    leaves = [*value, value["name"], value["port"], *value["zones"], *value["place"], value["place"]["zone"]]
    assert {type(leaf) for leaf in leaves} == {str, int, type(None), bool, float}
    assert {type(value), type(value["place"]), type(value["zones"])} == {dict, list}


def test_whole_floats_become_integers_and_others_stay() -> None:
    value = plain([10 / 2, 0.5, float("nan"), float("inf")])
    assert repr(value) == "[5, 0.5, nan, inf]"


def test_without_jsonschema_the_package_and_the_interpreter_are_named() -> None:
    tree = Path(validate.__file__).parents[6]
    script = """
from ansible_collections.crawl.egress.plugins.module_utils._spec.validate import problems
from ansible_collections.crawl.egress.plugins.module_utils._errors import EgressError, Reason
try:
    problems(1, {})
except EgressError as error:
    print(error.reason is Reason.MISSING_SDK, error.details["package"], error.message)
"""
    # -S: no site-packages, so jsonschema is really not there
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("True jsonschema the Python package jsonschema (4.0 or later) cannot be imported by ")
    assert sys.executable in done.stdout
