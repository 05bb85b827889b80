# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks, domains, and the model of `squid:`."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ansible_collections.crawl.egress.plugins.module_utils._squid.model import (
    PROTECTED_DIRECTIVES,
    SquidConfig,
    semantic_problems,
)
from ansible_collections.crawl.egress.plugins.module_utils._squid.networks import (
    REFUSED_NETWORKS,
    merged,
    minimal_domains,
    parse_destination,
    without,
)
from ansible_collections.crawl.egress.plugins.module_utils._squid.schema import SQUID_SCHEMA

HASH = "$5$rounds=1000$saltsalt$" + "a" * 43
USERS = [{"name": "a", "password_hash": HASH}]

ipv4_networks = st.builds(
    lambda address, prefix: ip_network((address, prefix), strict=False), st.ip_addresses(v=4), st.integers(0, 32)
)
ipv6_networks = st.builds(
    lambda address, prefix: ip_network((address, prefix), strict=False), st.ip_addresses(v=6), st.integers(0, 128)
)
networks = st.lists(ipv4_networks | ipv6_networks, max_size=6)


def within(address, blocks):
    return any(address in block for block in blocks)


@st.composite
def networks_and_addresses(draw):
    """Two lists of networks, and addresses at and around their edges."""
    one, two = draw(networks), draw(networks)
    addresses = draw(st.lists(st.ip_addresses(), max_size=3))
    for block in [*one, *two]:
        kind = IPv4Address if block.version == 4 else IPv6Address
        first, last = int(block.network_address), int(block.broadcast_address)
        addresses += [kind(n) for n in (first - 1, first, last, last + 1) if 0 <= n < 2**block.max_prefixlen]
    return one, two, addresses


@given(networks_and_addresses())
def test_without(case):
    blocks, holes, addresses = case
    rest = without(blocks, holes)
    for address in addresses:
        assert within(address, rest) == (within(address, blocks) and not within(address, holes))
    assert merged(rest) == rest


@pytest.mark.parametrize(
    ("given_", "minimal"),
    [
        (["b.example", "a.example", "b.example"], ("a.example", "b.example")),
        ([".example", "a.example", ".a.example", "example"], (".example",)),
        (["a.example", ".b.example", "notb.example"], (".b.example", "a.example", "notb.example")),
    ],
)
def test_minimal_domains(given_, minimal):
    assert minimal_domains(given_) == minimal


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("10.0.0.0/8", ip_network("10.0.0.0/8")),
        ("10.0.0.1", ip_network("10.0.0.1/32")),
        ("2001:DB8::/32", ip_network("2001:db8::/32")),
        ("::1", ip_network("::1/128")),
        ("Example.COM", "example.com"),
        (".example.com", ".example.com"),
        ("localhost", "localhost"),
        ("dead.beef", "dead.beef"),
    ],
)
def test_parse_destination(text, parsed):
    assert parse_destination(text) == parsed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.1/8", "did you mean '10.0.0.0/8'?"),
        ("10.0.0.300", "is no network"),
        ("1.2.3", "is no network"),
        ("010.0.0.1", "is no network"),
        ("10.0.0.0/33", "is no network"),
        ("2001:db8::/129", "is no network"),
        ("::ffff:10.0.0.1", "IPv4-mapped"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("example.com:80", "is no network"),
        ("http://example.com/", "is no network"),
        ("..example.com", "is no domain"),
        ("example.com.", "is no domain"),
        ("-x.example.com", "is no domain"),
        (".", "is no domain"),
        ("a" * 64, "is no domain"),
        (".".join(["a" * 63] * 4), "is no domain"),
    ],
)
def test_bad_destinations(text, message):
    with pytest.raises(ValueError, match=r"allowed|did you mean") as raised:
        parse_destination(text)
    assert message in str(raised.value)
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        *("0.0.0.1", "10.9.9.9", "100.100.100.200", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1"),
        *("192.0.0.192", "192.168.1.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "::7f00:1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"),
        *("64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2001::1", "2002:7f00:1::"),
    ],
)
def test_refused(text):
    assert within(ip_address(text), REFUSED_NETWORKS)


@pytest.mark.parametrize(
    "text",
    [
        *("1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.0.0", "172.32.0.0", "192.0.1.0", "223.255.255.255"),
        *("2606:4700::1", "2001:4860::8888", "64:ff9b::808:808"),
        *("192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"),  # nobody's, so what tests use
    ],
)
def test_not_refused(text):
    assert not within(ip_address(text), REFUSED_NETWORKS)


def test_exceptions_are_cut_out():
    config = SquidConfig.from_document({"users": USERS, "allowed_destinations": ["10.1.0.0/16", "fd00::/8", "::1"]})
    for text, refused in [
        ("10.1.2.3", False),
        ("10.2.0.0", True),
        ("10.0.255.255", True),
        ("fd00::1", False),
        ("fc00::1", True),
        ("::1", False),
        ("::", True),
        ("127.0.0.1", True),
    ]:
        assert within(ip_address(text), config.refused_networks) == refused, text


@pytest.mark.parametrize(
    ("document", "problems"),
    [
        ({"users": USERS}, []),
        ({"allowed_sources": ["10.0.0.0/8"]}, []),
        ({"users": USERS, "allowed_sources": ["0.0.0.0/0", "::/0"]}, []),
        ({}, [("", "no open proxies: give users or allowed_sources")]),
        ({"users": [], "allowed_sources": []}, [("", "no open proxies: give users or allowed_sources")]),
        ({"allowed_sources": ["0.0.0.0/0"]}, [("allowed_sources", "no open proxies: '0.0.0.0/0' is everybody")]),
        (
            {"allowed_sources": ["0.0.0.0/1", "128.0.0.0/1", "10.0.0.0/8"]},
            [("allowed_sources", "no open proxies: '0.0.0.0/0' is everybody")],
        ),
        ({"allowed_sources": ["::/0"]}, [("allowed_sources", "no open proxies: '::/0' is everybody")]),
        (
            {"allowed_sources": ["10.0.0.1", "10.0.0.1/8", "1.2.3"]},
            [("allowed_sources[1]", "'10.0.0.1/8' has bits set"), ("allowed_sources[2]", "'1.2.3' is no network")],
        ),
        (
            {"users": [*USERS, {"name": "b", "password_hash": HASH}, *USERS]},
            [("users[2].name", "user 'a' is already users[0] (allowed: each name once)")],
        ),
        ({"users": USERS, "allowed_destinations": ["1.2"]}, [("allowed_destinations[0]", "'1.2' is no network")]),
        ({"users": USERS, "denied_destinations": ["a..b"]}, [("denied_destinations[0]", "'a..b' is no domain")]),
        (
            {"users": USERS, "connect_ports": [443, "90-80", "1-70000"]},
            [("connect_ports[1]", "'90-80' is no port range"), ("connect_ports[2]", "'1-70000' is no port range")],
        ),
        (
            {"users": USERS, "extra_lines": ["  http_port 8080", "acl egress_users src all", "acl mine src all"]},
            [("extra_lines[0]", "'http_port' is not allowed here"), ("extra_lines[1]", "the ACL 'egress_users'")],
        ),
    ],
)
def test_semantic_problems(document, problems):
    assert Draft202012Validator(SQUID_SCHEMA).is_valid(document)
    found = semantic_problems(document)
    assert [path for path, _message in found] == [path for path, _message in problems]
    for (_path, message), (_path2, beginning) in zip(found, problems):
        assert message.startswith(beginning)
        assert HASH not in message
    if problems:
        with pytest.raises(ValueError):
            SquidConfig.from_document(document)
    else:
        SquidConfig.from_document(document)


@pytest.mark.parametrize("directive", sorted(PROTECTED_DIRECTIVES))
def test_protected_directives(directive):
    [(path, message)] = semantic_problems({"users": USERS, "extra_lines": [f"\t{directive} on"]})
    assert path == "extra_lines[0]"
    assert message == f"{directive!r} is not allowed here: {PROTECTED_DIRECTIVES[directive]}"


def test_defaults():
    config = SquidConfig.from_document({"users": USERS})
    assert config.connect_ports == ((443, 443),)
    assert config == SquidConfig(users=config.users)
    assert SquidConfig.from_document({"users": USERS, "connect_ports": []}).connect_ports == ()


def test_what_means_the_same_is_the_same():
    one = SquidConfig.from_document(
        {
            "users": [{"name": "b", "password_hash": HASH}, *USERS],
            "allowed_sources": ["10.1.0.0/16", "10.0.0.0/16", "192.0.2.1"],
            "denied_destinations": ["b.Example", "10.0.0.0/8", ".a.example", "x.a.example"],
            "connect_ports": ["8000-8010", 443, 8011, "8005-8020"],
        }
    )
    two = SquidConfig.from_document(
        {
            "users": [*USERS, {"name": "b", "password_hash": HASH}],
            "allowed_sources": ["192.0.2.1/32", "10.0.0.0/15"],
            "denied_destinations": [".A.example", "b.example", "10.0.0.0/9", "10.128.0.0/9"],
            "connect_ports": [443.0, "8000-8020"],
        }
    )
    assert one == two
    assert hash(one) == hash(two)
    assert json.dumps(one.hashable()) == json.dumps(two.hashable())


def test_hashable():
    config = SquidConfig.from_document(
        {"users": USERS, "allowed_sources": ["::1"], "denied_destinations": ["a.example", "192.0.2.0/24"]}
    )
    assert config.hashable() == {
        "users": [["a", HASH]],
        "allowed_sources": ["::1/128"],
        "allowed_destinations": [],
        "denied_destinations": ["192.0.2.0/24", "a.example"],
        "connect_ports": [[443, 443]],
        "extra_lines": [],
    }


@pytest.mark.parametrize(
    "change",
    [
        {"users": [{"name": "b", "password_hash": HASH}]},
        {"users": [{"name": "a", "password_hash": HASH.replace("saltsalt", "pepper")}]},
        {"allowed_sources": ["10.0.0.0/8"]},
        {"allowed_destinations": ["10.0.0.0/8"]},
        {"denied_destinations": ["10.0.0.0/8"]},
        {"connect_ports": []},
        {"extra_lines": ["via on"]},
    ],
)
def test_every_key_counts_in_the_hash(change):
    assert (
        SquidConfig.from_document({"users": USERS, **change}).hashable()
        != SquidConfig.from_document({"users": USERS}).hashable()
    )


def test_hashes_stay_out_of_repr():
    assert HASH not in repr(SquidConfig.from_document({"users": USERS}))
