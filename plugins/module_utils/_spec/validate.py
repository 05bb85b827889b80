# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""All faults of a value against a JSON schema (draft 2020-12), at once, in the words of people who write YAML.

The sentences are written by L(explain).
"""

from __future__ import annotations

import dataclasses
import sys
import typing as t

from .._errors import EgressError, Reason

#: Keys and list indices, from the root of what is validated.
Path = tuple[t.Union[str, int], ...]

_SHOWN_MAX = 80

TYPE_NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    :ivar path: where, as keys and indices; only for sorting.
    :ivar sentence: for people; names the path, the value and what is allowed.
    """

    path: Path
    sentence: str


def problems(value: t.Any, schema: t.Mapping[str, t.Any], root: str = "") -> list[str]:
    """Return one sentence for each fault, sorted by path; empty when the value is valid.

    :param root: path of the value itself, put before every path (C(providers[0].local)).
    :raises EgressError: C(MissingSDK) when jsonschema cannot be imported.
    """
    return sentences(faults(plain(value), schema, (root,) if root else ()))


def sentences(found: t.Iterable[Fault]) -> list[str]:
    """The sentences, sorted by path (list entries by their number), each once."""
    ordered = sorted(
        found, key=lambda fault: [(0, step, "") if isinstance(step, int) else (1, 0, step) for step in fault.path]
    )
    return list(dict.fromkeys(fault.sentence for fault in ordered))


def faults(value: t.Any, schema: t.Mapping[str, t.Any], root: Path = ()) -> list[Fault]:
    """The faults of a C(plain()) value, one for each path, in no particular order."""
    try:
        from jsonschema import Draft202012Validator
    except ImportError as missing:
        raise EgressError(
            Reason.MISSING_SDK,
            f"the Python package jsonschema (4.0 or later) cannot be imported by {sys.executable} ({missing})",
            package="jsonschema",
            interpreter=sys.executable,
        ) from missing
    errors = list(Draft202012Validator(schema).iter_errors(value))
    if not errors:
        return []
    from .explain import explain

    return explain(errors, schema, root)


def plain(value: t.Any) -> t.Any:
    """Plain JSON types: Ansible tags strings and wraps containers; arithmetic in a template makes whole floats.

    What JSON has no type for (a date, a set) stays as it is, to be refused by the schema.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, t.Mapping):
        return {plain(key) if isinstance(key, str) else show(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def show(value: t.Any) -> str:
    """A value as a message may hold it: scalars as YAML writes them, shortened; of containers only the type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        text = repr(value)
        return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
    return type_of(value)


def type_of(value: t.Any) -> str:
    """The value's type with its article, as YAML people call it."""
    for types, name in (
        (bool, "boolean"),
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (list, "array"),
        (dict, "object"),
        (type(None), "null"),
    ):
        if isinstance(value, types):
            return TYPE_NAMES[name]
    return f"a {type(value).__name__}"


def path_text(path: t.Iterable[str | int]) -> str:
    """C(('proxies', 0, 'port')) as C(proxies[0].port)."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
