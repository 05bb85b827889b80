# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of squid.conf and of the password file; Squid itself checks that it can read every one."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ansible_collections.crawl.egress.plugins.module_utils._squid.model import SquidConfig, semantic_problems
from ansible_collections.crawl.egress.plugins.module_utils._squid.render import (
    Listener,
    Runtime,
    render_conf,
    render_passwords,
    squid_command,
)
from ansible_collections.crawl.egress.plugins.module_utils._squid.schema import SQUID_SCHEMA

HASH = "$5$rounds=1000$saltsalt$" + "a" * 43
USERS = [{"name": "a", "password_hash": HASH}]
LISTENER = Listener("127.0.77.1", 3128)
RUNTIME = Runtime(auth_helper="/helper", password_file="/passwords")
# Squid says these of every configuration that hides the proxy.
EXPECTED = re.compile(r"WARNING: HTTP requires the use of Via")

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
domains = st.builds(
    lambda dot, parts, top: dot + ".".join([*parts, top]),
    st.sampled_from(["", "."]),
    st.lists(labels, max_size=3),
    st.from_regex(r"[a-z]{2,6}", fullmatch=True),
)
blocks = st.builds(
    lambda address, keep: f"{address}/{address.max_prefixlen}" if keep else str(address),
    st.ip_addresses(),
    st.booleans(),
) | st.sampled_from(["0.0.0.0/0", "::/0", "10.0.0.0/8", "127.0.0.0/8", "::/1", "fc00::/7", "2000::/3", "0.0.0.0/1"])
ports = st.integers(1, 65535) | st.builds(
    lambda a, b: f"{min(a, b)}-{max(a, b)}", st.integers(1, 65535), st.integers(1, 65535)
)
names = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=":"), min_size=1, max_size=40)
documents = st.fixed_dictionaries(
    {"users": st.lists(st.builds(lambda name: {"name": name, "password_hash": HASH}, names), min_size=1, max_size=4)},
    optional={
        "allowed_sources": st.lists(blocks, max_size=5, unique=True),
        "allowed_destinations": st.lists(blocks | domains, max_size=5, unique=True),
        "denied_destinations": st.lists(blocks | domains, max_size=5, unique=True),
        "connect_ports": st.lists(ports, max_size=4, unique=True),
        "extra_lines": st.lists(st.sampled_from(["# note", "dns_timeout 5 seconds", "http_access deny localhost"])),
    },
)
listeners = st.builds(
    Listener,
    st.none() | st.ip_addresses().map(str),
    st.integers(1, 65535),
    st.none() | st.ip_addresses().filter(lambda address: not address.is_unspecified).map(str),
)


def warnings(said):
    return [line for line in said.splitlines() if re.search("WARNING|ERROR|FATAL", line) and not EXPECTED.search(line)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents, listeners)
def test_squid_reads_every_file_without_a_warning(parse, document, listener):
    assume(Draft202012Validator(SQUID_SCHEMA).is_valid(document) and not semantic_problems(document))
    assert not warnings(parse(SquidConfig.from_document(document), listener))


def test_squid_reads_everything_at_once(parse, directory):
    config = SquidConfig.from_document(
        {
            "users": USERS,
            "allowed_sources": ["10.0.0.0/8", "0.0.0.0/0", "::/0"],
            "allowed_destinations": ["10.0.0.0/8", "::/0", ".example.com", "www.example.com", "example.com"],
            "denied_destinations": ["10.1.0.0/16", "10.0.0.0/8", ".example.net", "::/1"],
            "connect_ports": [443, "1-65535"],
            "extra_lines": ["# an end", "http_access deny localhost"],
        }
    )
    said = parse(
        config,
        Listener(None, 3128, "192.0.2.1"),
        effective_user="nobody",
        access_log=f"{directory}/access",
        cache_log=f"{directory}/log",
        coredump_dir=str(directory),
        max_filedescriptors=1024,
        shutdown_seconds=30,
    )
    assert not warnings(said)


@pytest.mark.parametrize(
    ("listener", "lines"),
    [
        (Listener(None, 3128), ["http_port 3128"]),
        (Listener("127.0.0.2", 1), ["http_port 127.0.0.2:1"]),
        (Listener("2001:DB8:0::1", 65535), ["http_port [2001:db8::1]:65535"]),
        (Listener("192.0.2.1", 80, "192.0.2.2"), ["http_port 192.0.2.1:80", "tcp_outgoing_address 192.0.2.2"]),
        (
            Listener("127.0.0.2", 80, "127.0.0.2"),
            ["http_port 127.0.0.2:80", "tcp_outgoing_address 127.0.0.2 egress_loopback"],
        ),
    ],
)
def test_listener(listener, lines):
    conf = render_conf(SquidConfig.from_document({"users": USERS}), listener, RUNTIME).splitlines()
    assert [line for line in conf if line.startswith(("http_port", "tcp_outgoing"))] == lines


@pytest.mark.parametrize(
    "arguments",
    [
        *(("localhost", 3128), ("127.0.0.1\nhttp_port 1", 3128), ("fe80::1%\nhttp_port 1", 3128), ("", 3128)),
        *((None, 0), (None, 65536), (None, 1, "x"), (None, 1, "fe80::1%a")),
    ],
)
def test_bad_listener(arguments):
    with pytest.raises(ValueError):
        Listener(*arguments)


@pytest.mark.parametrize("path", ["relative", "", "/two words", "/a\nb", '/"a', "/a#b", "/a\\b", "/${a}", "/%a", "/'"])
@pytest.mark.parametrize("field", ["auth_helper", "password_file", "access_log", "cache_log", "coredump_dir"])
def test_bad_paths(field, path):
    with pytest.raises(ValueError, match="can't use the path"):
        Runtime(**{field: path})


@pytest.mark.parametrize("user", ["", "a b", "-a", "a\nb"])
def test_bad_effective_user(user):
    with pytest.raises(ValueError):
        Runtime(effective_user=user)


def test_users_need_a_helper():
    config = SquidConfig.from_document({"users": USERS})
    for runtime in Runtime(), Runtime(auth_helper="/helper"), Runtime(password_file="/passwords"):
        with pytest.raises(ValueError, match="auth_helper and password_file"):
            render_conf(config, LISTENER, runtime)


def test_sources_need_no_helper():
    conf = render_conf(SquidConfig.from_document({"allowed_sources": ["192.0.2.1"]}), LISTENER, Runtime())
    assert "auth_param" not in conf
    assert conf.endswith("http_access allow egress_sources\nhttp_access deny all\n")


def test_neither_users_nor_sources_is_closed():
    conf = render_conf(SquidConfig(), LISTENER, Runtime())
    assert "http_access allow" not in conf


@given(st.lists(names, min_size=1, max_size=4, unique=True))
def test_users_are_in_the_password_file_only(user_names):
    document = {"users": [{"name": name, "password_hash": HASH} for name in user_names]}
    assume(Draft202012Validator(SQUID_SCHEMA).is_valid(document))
    config = SquidConfig.from_document(document)
    assert render_conf(config, LISTENER, RUNTIME) == render_conf(
        SquidConfig.from_document({"users": USERS}), LISTENER, RUNTIME
    )
    lines = render_passwords(config).encode("utf-8").split(b"\n")
    assert lines.pop() == b""
    assert [line.split(b":") for line in lines] == [[name.encode(), HASH.encode()] for name in sorted(user_names)]


def test_extra_lines_come_after_the_refusals_and_before_the_grant():
    conf = render_conf(
        SquidConfig.from_document({"users": USERS, "extra_lines": ["http_access allow all"]}), LISTENER, RUNTIME
    )
    access = [line for line in conf.splitlines() if line.startswith("http_access")]
    assert access[-3:] == ["http_access allow all", "http_access allow egress_users", "http_access deny all"]
    assert all(line.startswith("http_access deny") for line in access[:-3])
    assert "http_access deny !egress_users" in access[:-3]
    assert "http_access deny egress_refused" in access[:-3]


def test_command():
    command = ["/usr/sbin/squid", "-N", "-n", "proxyab12c", "-f", "/etc/squid/squid.conf"]
    assert squid_command("/usr/sbin/squid", "/etc/squid/squid.conf", "proxy-ab12_c") == command
    with pytest.raises(ValueError):
        squid_command("squid", "/etc/squid/squid.conf", "-")
