# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

VM_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["project"],
    "properties": {
        "project": {"type": "string", "description": "Where."},
        "key": {"type": "string", "maxLength": 10, "writeOnly": True, "description": "At most 10 characters."},
    },
}


@pytest.fixture(scope="session")
def types() -> Mapping[str, Any]:
    """The real type, and one that needs a block of its own, has a secret in it, and runs virtual machines."""
    # pytest reads this file before the collection can be imported
    from ansible_collections.crawl.egress.plugins.module_utils._registry import TYPES

    local = TYPES["local"]
    return {"local": local, "vm": dataclasses.replace(local, schema=VM_SCHEMA, takes_cloud_init=True)}
