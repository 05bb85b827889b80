# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Options that several modules share, as functions: an argument spec is changed by the validators that read it."""

from __future__ import annotations

import typing as t

from .._marks import DEFAULT_PREFIX
from .._models import State

Spec = t.Dict[str, t.Dict[str, t.Any]]


def provider_options() -> Spec:
    """Where the instances of one install are; the keys of the desired document."""
    return {
        "install": {"type": "str", "required": True},
        "providers": {"type": "list", "elements": "dict", "required": True},
        "mark_prefix": {"type": "str", "default": DEFAULT_PREFIX},
    }


def run_options() -> Spec:
    """How a run that changes something works."""
    return {
        "state_dir": {"type": "path"},
        "concurrency": {"type": "int", "default": 8},
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
