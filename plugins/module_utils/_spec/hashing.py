# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The spec hash: a digest of what forces replacement. Old functions stay here, so that an upgrade replaces nothing."""

from __future__ import annotations

import hashlib
import json
import typing as t

CURRENT_VERSION = 1


def _v1(content: t.Mapping[str, t.Any]) -> str:
    body = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(b"crawl.egress/spec/1\0" + body.encode()).hexdigest()[:32]


_FUNCTIONS: dict[int, t.Callable[[t.Mapping[str, t.Any]], str]] = {1: _v1}


def spec_hash(content: t.Mapping[str, t.Any], version: int = CURRENT_VERSION) -> str | None:
    """32 hex characters; None for a version that this release does not know, which is then not comparable.

    :param content: plain JSON values, as C(Provider.spec_content()) returns them.
    """
    function = _FUNCTIONS.get(version)
    return None if function is None else function(content)
