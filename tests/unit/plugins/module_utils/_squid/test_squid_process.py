# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What real Squid processes do with a rendered configuration."""

from __future__ import annotations

import pytest

DEADLINE = 20.0  # seconds

LOOPBACK = {"allowed_sources": ["127.0.0.0/8", "::1"], "allowed_destinations": ["127.0.0.0/8"]}

# Bytes that mean something to a shell, to squid.conf, to the helper's line protocol, to URLs or to Python.
HOSTILE = [
    ("plain", "simple"),
    ("Alice", "CaseMatters"),
    ("quo\"ted'", "pa\"ss'word"),
    ("dollar$HOME", "pa$$word${x}"),
    ("back\\slash\\n", "\\\\x41\\"),
    ("two words", " leading and trailing "),
    ("per%20cent%", "%41%%00%zz"),
    ("hash#tag", "#pass#"),
    ("-leading", "-p --help"),
    ("jürgen", "pässwörd"),
    ("用户", "密码🔑"),
    ("trailing ", "a:b:c"),
    ("a@b/c?d=e&f", "<&>;|`!*~"),
    ("ERR", "OK"),
    ("n" * 255, "p" * 200),
]


def test_hostile_credentials_authenticate(start, origin, make_hash):
    proxy = start(
        {
            "users": [
                {"name": name, "password_hash": make_hash(password, 5 + index % 2)}
                for index, (name, password) in enumerate(HOSTILE)
            ],
            "allowed_destinations": ["127.0.0.0/8"],
        }
    )
    assert proxy.get(origin.url).status == 407
    right = {user: proxy.get(origin.url, user).status for user in HOSTILE}
    assert right == dict.fromkeys(HOSTILE, 200)
    wrong = {name: proxy.get(origin.url, (name, password + "x")).status for name, password in HOSTILE}
    assert wrong == {name: 407 for name, _password in HOSTILE}


def test_user_names_are_told_apart_by_case(start, origin, make_hash):
    proxy = start({**LOOPBACK, "users": [{"name": "Alice", "password_hash": make_hash("secret")}]})
    assert proxy.get(origin.url, ("alice", "secret")).status == 407
    assert proxy.get(origin.url, ("Alice", "secret")).status == 200


def test_tunnels_need_credentials_too(start, origin, make_hash):
    proxy = start(
        {
            "users": [{"name": "a", "password_hash": make_hash("b")}],
            "allowed_destinations": ["127.0.0.0/8"],
            "connect_ports": [origin.port],
        }
    )
    target = f"127.0.77.1:{origin.port}"
    assert proxy.connect(target).status == 407
    assert proxy.connect(target, ("a", "wrong")).status == 407
    assert proxy.connect(target, ("a", "b")).status == 200


def test_sources_and_users_are_both_needed(start, origin, make_hash):
    users = [{"name": "a", "password_hash": make_hash("b")}]
    elsewhere = start({**LOOPBACK, "users": users, "allowed_sources": ["192.0.2.0/24"]})
    assert elsewhere.get(origin.url, ("a", "b")).status == 403
    here = start({**LOOPBACK, "users": users, "allowed_sources": ["127.0.0.0/8"]}, address="127.0.77.3")
    assert here.get(origin.url).status == 407
    assert here.get(origin.url, ("a", "b")).status == 200


def test_sources_alone(start, origin):
    assert start(LOOPBACK).get(origin.url).status == 200
    elsewhere = start({**LOOPBACK, "allowed_sources": ["192.0.2.0/24", "::/1"]}, address="127.0.77.3")
    assert elsewhere.get(origin.url).status == 403, "to Squid, ::/1 would be IPv4 too"


def test_ipv6_client_and_listener(start, origin_at):
    origin = origin_at("::1")
    proxy = start({"allowed_sources": ["::1"], "allowed_destinations": ["::1"]}, address="::1")
    assert proxy.get(origin.url).status == 200


REFUSED_HOSTS = [
    "127.0.77.1",
    "127.1",
    "2130726145",  # 127.0.77.1
    "0x7f004d01",  # 127.0.77.1
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.77.1]",
    "[::127.0.77.1]",
    "[64:ff9b::a9fe:a9fe]",  # 169.254.169.254 through NAT64
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[ff02::1]",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "10.1.2.3",
    "172.31.255.254",
    "192.168.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "localhost",
    "LocalHost.",
    "metadata.test",
    "private.test",
    "private6.test",
    "both.test",
]


def test_refused_by_default(start, origin):
    proxy = start({"allowed_sources": ["127.0.0.0/8"], "connect_ports": ["1-65535"]})
    denied = dict.fromkeys(REFUSED_HOSTS, "ERR_ACCESS_DENIED 0")
    assert {host: proxy.get(f"http://{host}:{origin.port}/").error for host in REFUSED_HOSTS} == denied
    assert {host: proxy.connect(f"{host}:{origin.port}").error for host in REFUSED_HOSTS} == denied
    assert not origin.requests


def test_allowed_destinations_are_exceptions(start, origin):
    proxy = start({**LOOPBACK, "connect_ports": [origin.port]})
    for host in "127.0.77.1", "origin.test", "[::ffff:127.0.77.1]":
        assert proxy.get(f"http://{host}:{origin.port}/").status == 200, host
        assert proxy.connect(f"{host}:{origin.port}").status == 200, host
    for host in "10.1.2.3", "private.test", "metadata.test", "both.test":
        assert proxy.get(f"http://{host}:{origin.port}/").error.startswith("ERR_ACCESS_DENIED"), host


def test_allowed_destinations_leave_the_internet_reachable(start):
    # An address for documentation, which nobody has: that Squid tried to connect says that access was granted.
    proxy = start({**LOOPBACK, "extra_lines": ["connect_timeout 1 second"]})
    assert proxy.get("http://[2001:db8::1]/").error.startswith("ERR_CONNECT_FAIL")


@pytest.mark.parametrize(
    ("allowed", "reachable", "refused"),
    [
        (["trusted.test"], ["trusted.test", "TRUSTED.test."], ["origin.test", "127.0.77.1"]),
        (["origin.test"], ["origin.test"], ["www.origin.test", "trusted.test"]),
        ([".origin.test"], ["origin.test", "www.origin.test"], ["trusted.test"]),
    ],
)
def test_allowed_domains(start, origin, allowed, reachable, refused):
    proxy = start({"allowed_sources": ["127.0.0.0/8"], "allowed_destinations": allowed})
    assert {host: proxy.get(f"http://{host}:{origin.port}/").status for host in [*reachable, *refused]} == {
        **dict.fromkeys(reachable, 200),
        **dict.fromkeys(refused, 403),
    }


@pytest.mark.parametrize(
    ("denied", "refused", "reachable"),
    [
        (["127.0.77.0/24"], ["127.0.77.1", "origin.test", "[::ffff:127.0.77.1]"], []),
        (["origin.test"], ["origin.test", "ORIGIN.test."], ["trusted.test", "www.origin.test", "127.0.77.1"]),
        ([".origin.test"], ["origin.test", "www.origin.test"], ["trusted.test"]),
        (["::/0"], ["[::1]"], ["127.0.77.1", "origin.test"]),
        (["0.0.0.0/0"], ["127.0.77.1", "origin.test"], ["[::1]"]),
    ],
)
def test_denied_wins(start, origin_at, denied, refused, reachable):
    port = {"[::1]": origin_at("::1").port}
    default = origin_at("127.0.77.1").port
    proxy = start(
        {
            "allowed_sources": ["127.0.0.0/8"],
            "allowed_destinations": ["127.0.0.0/8", "::1", ".origin.test", "trusted.test"],
            "denied_destinations": denied,
        }
    )
    hosts = [*refused, *reachable]
    assert {host: proxy.get(f"http://{host}:{port.get(host, default)}/").status for host in hosts} == {
        **dict.fromkeys(refused, 403),
        **dict.fromkeys(reachable, 200),
    }


def test_ports(start, origin):
    proxy = start(LOOPBACK)
    assert proxy.connect(f"127.0.77.1:{origin.port}").error.startswith("ERR_ACCESS_DENIED")
    assert proxy.connect("127.0.77.1:443").error.startswith("ERR_CONNECT_FAIL")
    assert proxy.get("http://127.0.77.1:22/").error.startswith("ERR_ACCESS_DENIED")
    assert proxy.get("http://127.0.77.1:80/").error.startswith("ERR_CONNECT_FAIL")
    wide = start({**LOOPBACK, "connect_ports": [22, f"{origin.port}-{origin.port}"]}, address="127.0.77.3")
    assert wide.connect("127.0.77.1:22").error.startswith("ERR_CONNECT_FAIL")
    assert wide.connect(f"127.0.77.1:{origin.port}").status == 200
    assert wide.connect("127.0.77.1:443").error.startswith("ERR_ACCESS_DENIED")
    none = start({**LOOPBACK, "connect_ports": []}, address="127.0.77.4")
    assert none.connect("127.0.77.1:443").error.startswith("ERR_ACCESS_DENIED")


def test_other_protocols_and_the_cache_manager(start, origin):
    proxy = start(LOOPBACK)
    for url in (
        f"ftp://127.0.77.1:{origin.port}/",
        "urn:isbn:0451450523",
        f"gopher://127.0.77.1:{origin.port}/",
        "cache_object://localhost/info",
        f"http://127.0.77.2:{proxy.port}/squid-internal-mgr/info",
        "/squid-internal-mgr/info",
    ):
        assert proxy.get(url).status in (400, 403, 501), url
    assert not origin.requests


def test_nothing_tells_the_origin_of_the_proxy(start, origin):
    proxy = start(LOOPBACK)
    revealing = {
        "Via": "1.0 mine",
        "X-Forwarded-For": "192.0.2.1",
        "Forwarded": "for=192.0.2.1",
        "Proxy-Connection": "keep-alive",
        "Proxy-Authorization": "Basic Zm9vOmJhcg==",
    }
    assert proxy.get(origin.url, headers=revealing).status == 200
    assert proxy.get(origin.url).status == 200
    assert proxy.get(origin.url, headers={"Cache-Control": "no-cache", "X-Own": "kept"}).status == 200
    first, second, third = (request["headers"] for request in origin.requests)
    assert first == second
    assert {name.lower() for name in second} == {"host", "accept-encoding", "connection"}
    assert third["Cache-Control"] == "no-cache"
    assert third["X-Own"] == "kept"


def test_credentials_do_not_reach_the_origin(start, origin, make_hash):
    proxy = start({**LOOPBACK, "users": [{"name": "a", "password_hash": make_hash("b")}]})
    assert proxy.get(origin.url, ("a", "b"), {"Authorization": "Bearer for-the-origin"}).status == 200
    headers = origin.requests[0]["headers"]
    assert "Proxy-Authorization" not in headers
    assert headers["Authorization"] == "Bearer for-the-origin"


def test_nothing_is_cached(start, origin):
    proxy = start(LOOPBACK)
    assert [proxy.get(origin.url).status for _unused in range(2)] == [200, 200]
    assert len(origin.requests) == 2


@pytest.mark.parametrize("host", ["127.0.77.1", "origin.test"])
def test_outgoing_address(start, origin, host):
    proxy = start({**LOOPBACK, "connect_ports": [origin.port]}, outgoing_address="127.0.77.9")
    assert proxy.get(f"http://{host}:{origin.port}/").status == 200
    assert [request["client"] for request in origin.requests] == ["127.0.77.9"]


def test_ipv4_outgoing_address_does_not_stop_ipv6(start, origin_at):
    origin = origin_at("::1")
    document = {**LOOPBACK, "allowed_destinations": ["127.0.0.0/8", "::1"]}
    assert start(document, outgoing_address="127.0.77.9").get(origin.url).status == 200


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([], 403),
        (["http_access allow all"], 403),
        (["acl everybody src all", "http_access allow everybody"], 403),
        (["http_access allow all", "http_access allow localhost"], 403),
    ],
)
def test_extra_lines_open_nothing(start, origin, lines, status):
    closed = {**LOOPBACK, "allowed_sources": ["192.0.2.0/24"], "extra_lines": lines}
    assert start(closed).get(origin.url).status == status
    inward = {"allowed_sources": ["127.0.0.0/8"], "extra_lines": lines}
    assert start(inward, address="127.0.77.3").get(origin.url).status == status


def test_stops_when_told_and_leaves_no_shared_memory(start):
    proxy = start(LOOPBACK)
    assert proxy.segments()
    proxy.process.terminate()
    proxy.process.wait(DEADLINE)
    assert not proxy.segments()


def test_many_on_one_machine(start, origin):
    proxies = [start(LOOPBACK, address=f"127.0.77.{last}") for last in range(10, 15)]
    assert [proxy.get(origin.url).status for proxy in proxies] == [200] * 5


def test_extra_lines_close_more(start, origin):
    lines = ["# nobody reads /secret", "acl secret urlpath_regex ^/secret", "http_access deny secret"]
    proxy = start({**LOOPBACK, "extra_lines": lines})
    assert proxy.get(origin.url).status == 200
    assert proxy.get(origin.url + "secret").status == 403
