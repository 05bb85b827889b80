# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no stability promise.
"""The JSON Schema (draft 2020-12) of `squid:`, the guest configuration that every provider honours.

It is written to be embedded in a larger schema, so it has no `$schema` and no `$id`. What a schema can't say is in
`model.semantic_problems`. A value under `writeOnly` is secret and may not appear in a message.
"""

from __future__ import annotations

from typing import Any

# Python's `$` also matches before a final newline, ECMA-262's does not; with this both reject it.
_END = r"$(?!\n)"

# RFC 7617 section 2 forbids control characters and a colon in a user name. Squid's helper skips lines of the password
# file that begin with '#' or a blank. Half a surrogate pair has no UTF-8 form.
_USER_NAME = r"^[^\x00-\x20\x7f:#\ud800-\udfff][^\x00-\x1f\x7f:\ud800-\udfff]*" + _END

# https://www.akkadia.org/drepper/SHA-crypt.txt: 1000 to 999999999 rounds, at most 16 characters of salt.
_ROUNDS_AND_SALT = r"(rounds=[1-9][0-9]{3,8}\$)?[./0-9A-Za-z]{1,16}\$"
_PASSWORD_HASH = rf"^(\$5\${_ROUNDS_AND_SALT}[./0-9A-Za-z]{{43}}|\$6\${_ROUNDS_AND_SALT}[./0-9A-Za-z]{{86}})" + _END

# A backslash at the end of a line makes Squid append the next one to it.
_EXTRA_LINE = r"^[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*[^\x00-\x1f\x7f\ud800-\udfff\\]" + _END

_PORT_RANGE = "^[1-9][0-9]{0,4}-[1-9][0-9]{0,4}" + _END


def _networks(description: str) -> dict[str, Any]:
    return {
        "type": "array",
        "uniqueItems": True,
        "items": {
            "type": "string",
            "pattern": "^[0-9A-Fa-f.:]{2,45}(/[0-9]{1,3})?" + _END,
            "description": "An address or a block in CIDR notation, IPv4 or IPv6.",
        },
        "description": description,
    }


def _destinations(description: str) -> dict[str, Any]:
    return {
        "type": "array",
        "uniqueItems": True,
        "items": {
            "type": "string",
            "pattern": "^[0-9A-Za-z_.:/-]{1,260}" + _END,
            "description": "An address, a block in CIDR notation, a domain (example.com: that host only), or a domain "
            "with all below it (.example.com).",
        },
        "description": description,
    }


SQUID_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "description": "What a proxy's Squid does, the same on every provider. One of users and allowed_sources is needed.",
    "properties": {
        "users": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "password_hash"],
                "properties": {
                    "name": {
                        "type": "string",
                        "maxLength": 255,
                        "pattern": _USER_NAME,
                        "description": "The user name: anything but a colon and control characters, and neither a "
                        "blank nor '#' first. Upper and lower case differ.",
                    },
                    "password_hash": {
                        "type": "string",
                        "writeOnly": True,
                        "pattern": _PASSWORD_HASH,
                        "description": "The password's SHA-crypt hash, $5$... or $6$..., as "
                        "ansible.builtin.password_hash('sha512') and mkpasswd make it. Never the password.",
                    },
                },
            },
            "description": "Who may use the proxy, by HTTP basic authentication.",
        },
        "allowed_sources": _networks(
            "The clients that may use the proxy, by address. Together with users, both must be right."
        ),
        "allowed_destinations": _destinations(
            "Exceptions from the built-in refusal of loopback, link-local, private, metadata, multicast and reserved "
            "addresses. The rest of the Internet stays reachable: this is no list of the only destinations. A domain "
            "given here is trusted with whatever it resolves to."
        ),
        "denied_destinations": _destinations(
            "Destinations that are refused, whatever allowed_destinations says. A network also refuses the names that "
            "resolve into it; a domain refuses that name in a URL, not the address behind it."
        ),
        "connect_ports": {
            "type": "array",
            "uniqueItems": True,
            "items": {
                "type": ["integer", "string"],
                "minimum": 1,
                "maximum": 65535,
                "pattern": _PORT_RANGE,
                "description": "A port from 1 to 65535, or a range of them such as '8000-8100'.",
            },
            "description": "Ports to which CONNECT may open a tunnel. The default is 443; an empty list means none.",
        },
        "extra_lines": {
            "type": "array",
            "items": {
                "type": "string",
                "maxLength": 2048,
                "pattern": _EXTRA_LINE,
                "description": "One line of squid.conf, without line breaks and with no backslash at its end.",
            },
            "description": "Further lines of squid.conf. They come after all refusals and before the final allow, so "
            "an http_access line can restrict the proxy further but can't open it.",
        },
    },
}
