# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Names and UIDs: derived, never invented, so that a repeated run finds what an interrupted one made.

Test vectors stand in C(tests/unit/plugins/module_utils/test__names.py); changing an answer here orphans every fleet.
"""

from __future__ import annotations

import base64
import hashlib
import uuid

#: Namespace of the UUIDv5 that proxies without a UID of their own get. Fixed for ever.
UID_NAMESPACE = uuid.UUID("5d2c7a4e-9b1f-5c36-8a70-3f6e1d94b2c8")


def derived_uid(install: str, namespace: str, name: str) -> str:
    """UUIDv5 of the three, NUL between them; each must be non-empty and NUL-free (the schema sees to it)."""
    if not (install and namespace and name):
        raise ValueError("install, namespace and name must not be empty")
    return str(uuid.uuid5(UID_NAMESPACE, "\0".join((install, namespace, name))))


def instance_name(uid: str, slot: int = 0) -> str:
    """C(proxy-) and the lower-case base32 of the first 10 bytes of SHA-256 of the UID (slot n: of C(uid#n)).

    22 characters: a DNS label, a GCE name and a libvirt domain name. The rule is the operator's C(NameFromUID).
    """
    if not uid:
        raise ValueError("uid must not be empty")
    key = uid if slot == 0 else f"{uid}#{slot}"
    digest = hashlib.sha256(key.encode()).digest()[:10]
    return "proxy-" + base64.b32encode(digest).decode().lower()
