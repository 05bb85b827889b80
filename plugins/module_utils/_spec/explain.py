# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The words for what a validator finds wrong.

What is allowed is said by the keyword itself where it can (ranges, enumerations), else by the schema's C(title), else
by its C(description). A value below C(writeOnly), or below one of C(SECRET_KEYS), never appears in a sentence.
"""

from __future__ import annotations

import typing as t

from .validate import TYPE_NAMES, Fault, Path, path_text, show, type_of

if t.TYPE_CHECKING:
    from jsonschema import ValidationError

#: Keys whose values are, or may hold, credentials: wherever they stand, whatever the schema says.
SECRET_KEYS = frozenset({"cloud_init", "extra_lines", "password_hash"})


def explain(errors: t.Iterable[ValidationError], schema: t.Mapping[str, t.Any], root: Path) -> list[Fault]:
    """One fault for each path, in no particular order."""
    found: dict[Path, Fault] = {}
    for error in _leaves(errors):
        for fault in _explain(error, schema, root):
            if error.validator == "type":  # explains the others at its path
                found[fault.path] = fault
            else:
                found.setdefault(fault.path, fault)
    return list(found.values())


def _leaves(errors: t.Iterable[ValidationError]) -> t.Iterator[ValidationError]:
    """The errors to report: of alternatives, those of the only one that has the value's type, if there is one."""
    for error in errors:
        fitting = _fitting(error) if error.validator in ("anyOf", "oneOf") else []
        if len(fitting) == 1:
            yield from _leaves(fitting[0])
        else:
            yield error


def _fitting(error: ValidationError) -> list[list[ValidationError]]:
    """The errors of each alternative that has the value's type."""
    branches: dict[t.Any, list[ValidationError]] = {}
    for cause in error.context or ():
        branches.setdefault(cause.relative_schema_path[0], []).append(cause)
    return [
        causes for causes in branches.values() if not any(c.validator == "type" and not c.relative_path for c in causes)
    ]


def _explain(error: ValidationError, schema: t.Mapping[str, t.Any], root: Path) -> t.Iterator[Fault]:
    path = (*root, *error.absolute_path)
    where = path_text(path)
    rule: t.Any = error.validator
    limit: t.Any = error.validator_value
    value: t.Any = error.instance
    own: t.Mapping[str, t.Any] = error.schema if isinstance(error.schema, t.Mapping) else {}
    if rule == "additionalProperties" and isinstance(own.get("properties"), dict):
        allowed = ", ".join(own["properties"])
        for key in value:
            if key not in own["properties"]:
                at = f" at {where}" if where else ""
                yield Fault((*path, key), f"unknown key {show(key)}{at} (allowed: {allowed})")
    elif rule == "required":
        for key in limit:
            if key not in value:
                yield Fault((*path, key), f"{path_text((*path, key))} is missing")
    else:
        verdict = _verdict(value, rule, limit, own, _is_secret(error, schema, path))
        yield Fault(path, f"{where}: {verdict}" if where else verdict)


def _verdict(value: t.Any, rule: t.Any, limit: t.Any, own: t.Mapping[str, t.Any], secret: bool) -> str:
    if rule == "type":
        return _wrong_type(value, [limit] if isinstance(limit, str) else list(limit), secret)
    if value in ("", []) and rule in ("minLength", "minItems", "pattern", "enum", "const"):
        return f"must not be empty{_allowed(own)}"
    if rule == "uniqueItems":
        return "the same entry stands there more than once"
    shown = "a value" if secret else show(value)
    if rule in ("enum", "const"):
        choices = limit if rule == "enum" else [limit]
        return f"{shown} is not allowed (allowed: {', '.join(c if isinstance(c, str) else show(c) for c in choices)})"
    if rule in ("minimum", "maximum") and "title" not in own and {"minimum", "maximum"} <= own.keys():
        return f"{shown} is not allowed ({own['minimum']} to {own['maximum']})"
    scalar = "" if isinstance(limit, (list, dict)) else f" ({rule}: {show(limit)})"
    return f"{shown} is not allowed{_allowed(own) or scalar}"


def _wrong_type(value: t.Any, wanted: list[str], secret: bool) -> str:
    needed = " or ".join(TYPE_NAMES[name] for name in wanted)
    # A string where a mapping or a list belongs may be anything, "user:password" too.
    revealing = isinstance(value, str) and not {"string", "integer", "number", "boolean"}.intersection(wanted)
    kind = type_of(value)
    shown = kind if secret or revealing or show(value) == kind else f"{show(value)} is {kind}"
    if shown == kind:
        shown = f"{kind} is given"
    text = f"{shown}, {needed} is needed"
    if "string" in wanted and value is not None and not isinstance(value, (list, dict)):
        return f"{text}: put it in quotes"  # YAML takes it for a number, a boolean or a date
    if wanted == ["integer"] and isinstance(value, str) and value.isdecimal() and not secret:
        return f"{text}: write it without quotes, or with the filter int"
    return text


def _allowed(own: t.Mapping[str, t.Any]) -> str:
    text = own.get("title") or own.get("description")
    return f" ({str(text).rstrip('.')})" if text else ""


def _is_secret(error: ValidationError, schema: t.Mapping[str, t.Any], path: t.Iterable[str | int]) -> bool:
    if SECRET_KEYS.intersection(step for step in path if isinstance(step, str)):
        return True
    node: t.Any = schema
    for step in error.absolute_schema_path:
        if isinstance(node, t.Mapping) and node.get("writeOnly"):
            return True
        try:
            node = node[step]
        except (LookupError, TypeError):  # behind a $ref: not followed, so assume the worst
            return True
    return False
