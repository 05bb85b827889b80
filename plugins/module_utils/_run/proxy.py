# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(egress_proxy): one proxy of the pool C(task)."""

from __future__ import annotations

import typing as t

from .options import Spec, provider_options, run_options, wait_options

RULES: dict[str, t.Any] = {"mutually_exclusive": [("squid", "cloud_init")]}


def argument_spec() -> Spec:
    return {
        **provider_options(),
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str", "default": "default"},
        "uid": {"type": "str"},
        "provider": {"type": "str"},
        "port": {"type": "int"},
        "placement": {"type": "dict"},
        "squid": {"type": "dict"},
        "cloud_init": {"type": "str", "no_log": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        **run_options(),
        **wait_options(),
    }
