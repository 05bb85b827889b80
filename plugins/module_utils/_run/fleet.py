# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(egress_fleet): the whole desired state in one call."""

from __future__ import annotations

import typing as t

from .options import Spec, run_options, wait_options

RULES: dict[str, t.Any] = {
    "mutually_exclusive": [("desired", "desired_file")],
    "required_one_of": [("desired", "desired_file")],
}


def argument_spec() -> Spec:
    return {
        "desired": {"type": "dict"},
        "desired_file": {"type": "path"},
        "only": {"type": "list", "elements": "str"},
        "allow_empty": {"type": "bool", "default": False},
        "max_deletions": {"type": "str"},
        "expect_plan": {"type": "list", "elements": "dict"},
        "assume_gone": {"type": "list", "elements": "str"},
        "hold": {
            "type": "list",
            "elements": "dict",
            "options": {
                "name": {"type": "str", "required": True},
                "namespace": {"type": "str", "default": "default"},
                "until": {"type": "str", "required": True},
            },
        },
        "skip_cleanup": {"type": "list", "elements": "str"},
        "retry": {"type": "list", "elements": "str"},
        "results": {"type": "str", "choices": ["changed", "all", "none"], "default": "changed"},
        **run_options(),
        **wait_options(),
    }
