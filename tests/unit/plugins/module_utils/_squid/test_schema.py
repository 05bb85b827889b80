# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the schema of `squid:` accepts and rejects."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.crawl.egress.plugins.module_utils._squid.schema import SQUID_SCHEMA

VALIDATOR = Draft202012Validator(SQUID_SCHEMA)
SHA256 = "$5$rounds=1000$saltsalt$" + "a" * 43
SHA512 = "$6$saltsalt$" + "b" * 86


def valid(document):
    return VALIDATOR.is_valid(document)


def user(**changes):
    return {"users": [{"name": "a", "password_hash": SHA256, **changes}]}


def test_schema_is_one():
    Draft202012Validator.check_schema(SQUID_SCHEMA)
    json.dumps(SQUID_SCHEMA, ensure_ascii=False).encode("utf-8")


def test_every_key_is_described():
    assert all(part["description"] for part in SQUID_SCHEMA["properties"].values())


def test_everything_at_once():
    assert valid(
        {
            "users": [{"name": "crawler", "password_hash": SHA512}],
            "allowed_sources": ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1", "::1"],
            "allowed_destinations": ["127.0.0.0/8", "intranet.example", ".example.com", "_srv.example.com"],
            "denied_destinations": ["192.0.2.7", "xn--mnchen-3ya.example"],
            "connect_ports": [443, 65535, "8000-8100"],
            "extra_lines": ["", "# comment", "acl a\tsrc 192.0.2.1", 'note "quoted" $x % é'][1:],
        }
    )


@pytest.mark.parametrize(
    "document",
    [
        {"user": []},
        {"users": [{"name": "a"}]},
        {"users": [{"name": "a", "password_hash": SHA256, "password": "x"}]},
        {"users": {}},
        {"allowed_sources": "10.0.0.0/8"},
        {"allowed_sources": ["10.0.0.0/8", "10.0.0.0/8"]},
        {"allowed_sources": ["example.com"]},
        {"allowed_sources": ["10.0.0.0/255.0.0.0"]},
        {"allowed_sources": ["fe80::1%eth0"]},
        {"allowed_sources": ["10.0.0.1\n"]},
        {"allowed_sources": ["10.0.0.0-10.0.0.9"]},
        {"allowed_sources": ["all"]},
        {"denied_destinations": ["a b"]},
        {"denied_destinations": ['"/etc/passwd"']},
        {"denied_destinations": ["a\n"]},
        {"denied_destinations": [""]},
        {"denied_destinations": ["münchen.example"]},
        {"connect_ports": [0]},
        {"connect_ports": [65536]},
        {"connect_ports": [True]},
        {"connect_ports": ["443"]},
        {"connect_ports": ["1-2\n"]},
        {"connect_ports": ["0-2"]},
        {"connect_ports": 443},
        {"extra_lines": "via off"},
        {"extra_lines": [""]},
        {"extra_lines": ["a\nb"]},
        {"extra_lines": ["a\r"]},
        {"extra_lines": ["a\x00b"]},
        {"extra_lines": ["swallows the next line \\"]},
        {"extra_lines": ["a\n"]},
    ],
)
def test_rejected(document):
    assert not valid(document)


@pytest.mark.parametrize(
    "name",
    ["a", "-x", "two words", "a#b", 'a"b', "a'b", "$HOME", "a\\", "50%", "用户", "é", "a ", "\u0085\u2028", "x" * 255],
)
def test_user_names(name):
    assert valid(user(name=name))


@pytest.mark.parametrize(
    "name", ["", "a:b", "a\n", "\na", "a\rb", "a\x00", "#a", " a", "\ta", "a\x7f", "a\ud800", "x" * 256, 7, None]
)
def test_rejected_user_names(name):
    assert not valid(user(name=name))


@pytest.mark.parametrize(
    "password_hash",
    [SHA256, SHA512, "$5$s$" + "." * 43, "$6$rounds=999999999$0123456789abcdef$" + "/" * 86],
)
def test_password_hashes(password_hash):
    assert valid(user(password_hash=password_hash))


@pytest.mark.parametrize(
    "password_hash",
    [
        "",
        "secret",
        "$1$salt$" + "a" * 22,
        "$2b$12$" + "a" * 53,
        "$y$j9T$salt$" + "a" * 43,
        "$apr1$salt$" + "a" * 22,
        "$5$salt$" + "a" * 42,
        "$5$salt$" + "a" * 86,
        "$6$salt$" + "a" * 43,
        "$5$" + "s" * 17 + "$" + "a" * 43,
        "$5$rounds=999$salt$" + "a" * 43,
        "$5$rounds=01000$salt$" + "a" * 43,
        SHA256 + "\n",
        SHA256 + ":x",
        " " + SHA256,
    ],
)
def test_rejected_password_hashes(password_hash):
    assert not valid(user(password_hash=password_hash))


def test_a_secret_is_marked():
    error = next(VALIDATOR.iter_errors(user(password_hash="plain")))
    assert error.schema["writeOnly"], "what prints the error must be able to tell that it may not show the value"


def test_real_hashes(make_hash):
    assert all(valid(user(password_hash=make_hash("secret", scheme))) for scheme in (5, 6))
