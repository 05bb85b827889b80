# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Options that several modules share, as functions: an argument spec is changed by the validators that read it."""

from __future__ import annotations

import typing as t

from .._errors import ArgumentError
from .._marks import DEFAULT_PREFIX
from .._models import State

if t.TYPE_CHECKING:
    from ..provider import ProviderType

Spec = dict[str, dict[str, t.Any]]
Types = t.Mapping[str, "ProviderType"]


def provider_options() -> Spec:
    """Where the instances of one install are; the keys of the desired document."""
    return {
        "install": {"type": "str", "required": True},
        "providers": {"type": "list", "elements": "dict", "required": True},
        "mark_prefix": {"type": "str", "default": DEFAULT_PREFIX},
    }


def document_options() -> Spec:
    """The desired document, and the guards that go with it."""
    return {
        "desired": {"type": "dict"},
        "desired_file": {"type": "path"},
        # Only the action plugin sees these and desired_file; it hands on desired.
        "install": {"type": "str"},
        "providers": {"type": "list", "elements": "dict"},
        "mark_prefix": {"type": "str"},
        "allow_empty": {"type": "bool", "default": False},
        "max_deletions": {"type": "str"},
        "results": {"type": "str", "choices": ["changed", "all", "none"], "default": "changed"},
    }


def document_rules() -> dict[str, t.Any]:
    return {
        "mutually_exclusive": [("desired", "desired_file")],
        "required_one_of": [("desired", "desired_file")],
    }


def run_options() -> Spec:
    """How a run that changes something works."""
    return {
        "state_dir": {"type": "path"},
        "concurrency": {"type": "int", "default": 16},
    }


def wait_options() -> Spec:
    """Seconds."""
    return {
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 900},
        "wait_sleep": {"type": "float", "default": 5.0},
    }


def state_names() -> list[str]:
    return [state.value for state in State]


T = t.TypeVar("T")


class Problems:
    """Collects what is wrong with options, so that all of it is reported at once."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def each(self, option: str, values: t.Iterable[t.Any] | None, parse: t.Callable[[t.Any], T]) -> list[T]:
        """What C(parse) makes of each value; its ValueErrors become problems of the option."""
        parsed = []
        for value in values or ():
            try:
                parsed.append(parse(value))
            except ValueError as error:
                self.found.append(f"{option}: {error}")
        return parsed

    def refuse(self) -> None:
        if self.found:
            raise ArgumentError(self.found)

    def range(self, params: t.Mapping[str, t.Any], option: str, least: float, most: float) -> None:
        if not least <= params[option] <= most:
            self.found.append(f"{option}: {params[option]} is not allowed ({least} to {most})")


def check_run_options(params: t.Mapping[str, t.Any], problems: Problems) -> None:
    """The ranges of C(run_options()) and C(wait_options())."""
    problems.range(params, "concurrency", 1, 256)
    problems.range(params, "wait_timeout", 1, 86400)
    problems.range(params, "wait_sleep", 0.1, 3600)
