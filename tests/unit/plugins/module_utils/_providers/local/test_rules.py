# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The decisions of the proxy.py engine, without a network; C(test_access.py) compares the whole with Squid."""

from __future__ import annotations

import base64
import dataclasses
import ipaddress
import os

import pytest
from passlib.hash import sha256_crypt, sha512_crypt

from ansible_collections.crawl.egress.plugins.module_utils._providers.local.egress_proxypy import (
    CREDENTIALS_SECONDS,
    Refused,
    Rules,
    Users,
    _verifier,
)
from ansible_collections.crawl.egress.plugins.module_utils._squid.model import SquidConfig

NONE = Rules("127.0.0.1", 3128, "127.0.0.1", None, (), (), (), (), (), ())
NAT64_METADATA = "64:ff9b::a9fe:a9fe"


def _networks(*texts: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(map(ipaddress.ip_network, texts))


def _refuses(call, *args) -> bool:
    try:
        call(*args)
    except Refused as refusal:
        return refusal.status == 403
    return False


@pytest.mark.parametrize("port", [80, 443, 1025, 65535])
def test_plain_requests_go_to_the_ports_of_web_servers(port):
    assert not _refuses(NONE.check_port, port, False)
    assert _refuses(NONE.check_port, port, True)  # no connect_ports: no tunnels


@pytest.mark.parametrize("port", [0, 22, 25, 1024])
def test_plain_requests_go_to_no_other_port(port):
    assert _refuses(NONE.check_port, port, False)


def test_tunnels_go_to_the_ranges_given():
    rules = dataclasses.replace(NONE, connect_ports=((443, 443), (8000, 8100)))
    assert [
        port for port in (80, 442, 443, 444, 7999, 8000, 8100, 8101) if not _refuses(rules.check_port, port, True)
    ] == [
        443,
        8000,
        8100,
    ]


def test_sources():
    rules = dataclasses.replace(NONE, sources=_networks("10.0.0.0/8", "2001:db8::/32"))
    for client in ("10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1", "2001:db8::1%eth0"):
        assert not _refuses(rules.check_source, client)
    for client in ("11.0.0.1", "::ffff:11.0.0.1", "2001:db9::1"):
        assert _refuses(rules.check_source, client)
    assert not _refuses(NONE.check_source, "11.0.0.1")


def test_one_refused_address_spoils_a_name():
    config = SquidConfig.from_document({"allowed_sources": ["10.0.0.0/8"]})
    rules = dataclasses.replace(NONE, refused=config.refused_networks)
    assert not _refuses(rules.check_addresses, "a.example", ["93.184.216.34", "2606:2800:220:1::1"])
    for bad in ("127.0.0.1", "::1", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1%eth0", NAT64_METADATA):
        assert _refuses(rules.check_addresses, "a.example", ["93.184.216.34", bad])


def test_a_trusted_domain_may_resolve_to_anything_but_what_is_denied():
    rules = dataclasses.replace(
        NONE,
        refused=_networks("10.0.0.0/8"),
        denied=_networks("10.9.0.0/16"),
        allowed_domains=(".trusted.example", "one.example"),
    )
    for host in ("trusted.example", "a.b.trusted.example", "one.example"):
        assert not _refuses(rules.check_addresses, host, ["10.1.1.1"])
        assert _refuses(rules.check_addresses, host, ["10.1.1.1", "10.9.1.1"])
    for host in ("nottrusted.example", "a.one.example", "10.1.1.1", "example"):
        assert _refuses(rules.check_addresses, host, ["10.1.1.1"])


def test_denied_domains():
    rules = dataclasses.replace(NONE, denied_domains=(".ads.example", "one.example"))
    for host in ("ads.example", "x.ads.example", "one.example"):
        assert _refuses(rules.check_name, host)
    for host in ("badads.example", "x.one.example", "example"):
        assert not _refuses(rules.check_name, host)


class _Counting:
    """Verifies by comparing, and counts: the real thing is slow on purpose."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, password: str, stored: str) -> bool:
        self.calls += 1
        return stored == "hash of " + password


@pytest.fixture
def users(tmp_path):
    file = tmp_path / "passwords"
    file.write_text("crawler:hash of secret\ncolon:hash of a:b\n")
    users = Users(str(file), _Counting(), lambda: users.now)
    users.now = 0.0
    return users


def _header(name: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())


def _asks(users: Users, header: bytes) -> bool:
    try:
        users.check(header)
    except Refused as refusal:
        return refusal.status == 407
    return False


def test_who_is_known(users):
    assert not _asks(users, _header("crawler", "secret"))
    assert not _asks(users, _header("colon", "a:b"))
    assert not _asks(users, b"bAsIc   " + _header("crawler", "secret")[6:])
    for header in (
        b"",
        b"Basic",
        b"Basic !!!",
        b"Basic " + base64.b64encode(b"\xff:\xff"),
        b"Basic " + base64.b64encode(b"crawler"),
        b"Bearer " + _header("crawler", "secret")[6:],
        _header("crawler", ""),
        _header("crawler", "Secret"),
        _header("Crawler", "secret"),
        _header("", ""),
    ):
        assert _asks(users, header)


def test_a_right_password_is_computed_once_in_a_while_a_wrong_one_each_time(users):
    for _unused in range(3):
        assert not _asks(users, _header("crawler", "secret"))
    assert users._verify.calls == 1
    for _unused in range(3):
        assert _asks(users, _header("crawler", "wrong"))
    assert users._verify.calls == 4
    users.now = CREDENTIALS_SECONDS + 1
    assert not _asks(users, _header("crawler", "secret"))
    assert users._verify.calls == 5


def test_a_changed_file_counts_at_once(users):
    assert not _asks(users, _header("crawler", "secret"))
    replacement = users._path + ".new"
    with open(replacement, "w") as stream:
        stream.write("crawler:hash of other\n")
    os.replace(replacement, users._path)
    assert _asks(users, _header("crawler", "secret"))
    assert not _asks(users, _header("crawler", "other"))


@pytest.mark.parametrize("scheme", [sha256_crypt, sha512_crypt])
def test_both_schemes_are_verified(scheme):
    verify = _verifier()
    stored = scheme.using(rounds=1000).hash("pässwörd")
    assert verify("pässwörd", stored)
    assert not verify("password", stored)
