# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The C(local:) block of a provider entry."""

from __future__ import annotations

import ipaddress
import sys

import jsonschema
import pytest

from ansible_collections.crawl.egress.plugins.module_utils._errors import ArgumentError
from ansible_collections.crawl.egress.plugins.module_utils._providers.local.config import SCHEMA, LocalConfig


def test_defaults():
    config = LocalConfig.parse("lab", {}, {"XDG_STATE_HOME": "/var/state"})
    assert config.directory == "/var/state/crawl.egress/local"
    assert (config.host, config.engine) == ("localhost", "auto")
    assert str(config.addresses) == ("127.80.0.0/16" if sys.platform == "linux" else "127.0.0.1/32")


@pytest.mark.parametrize("state_home", [{}, {"XDG_STATE_HOME": ""}, {"XDG_STATE_HOME": "relative/path"}])
def test_a_state_home_that_is_not_absolute_counts_as_not_set(monkeypatch, state_home):
    monkeypatch.setenv("HOME", "/home/me")
    assert LocalConfig.parse("lab", {}, state_home).directory == "/home/me/.local/state/crawl.egress/local"


def test_home_and_variables_are_expanded(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("WHERE", "there")
    assert LocalConfig.parse("lab", {"directory": "~/$WHERE/"}, {}).directory == "/home/me/there"


def test_all_that_may_be_said():
    block = {"directory": "/srv/e", "host": "node-1.example", "engine": "proxy.py", "addresses": "127.9.0.0/24"}
    jsonschema.validate(block, SCHEMA)
    expected = LocalConfig("/srv/e", "node-1.example", "proxy.py", ipaddress.IPv4Network("127.9.0.0/24"))
    assert LocalConfig.parse("lab", block, {}) == expected


@pytest.mark.parametrize(
    ("block", "named"),
    [
        ({"directory": "relative"}, ["local.directory", "'relative'", "absolute"]),
        ({"directory": ""}, ["local.directory", "''", "absolute"]),
        ({"directory": "/a\nb"}, ["local.directory", "printable"]),
        ({"directory": 7}, ["local.directory", "7", "a string"]),
        ({"host": "a/b"}, ["local.host", "'a/b'", "letters"]),
        ({"host": ""}, ["local.host", "''", "letters"]),
        ({"host": ".."}, ["local.host", "'..'", "letters"]),
        ({"host": "a\n"}, ["local.host", "letters"]),
        ({"host": "x" * 64}, ["local.host", "1 to 63"]),
        ({"engine": "nginx"}, ["local.engine", "'nginx'", "auto, squid, proxy.py"]),
        ({"addresses": "10.0.0.0/8"}, ["local.addresses", "'10.0.0.0/8'", "127.0.0.0/8"]),
        ({"addresses": "127.0.0.1/8"}, ["local.addresses", "127.0.0.0/8"]),
        ({"addresses": "126.0.0.0/7"}, ["local.addresses", "127.0.0.0/8"]),
        ({"addresses": "::1/128"}, ["local.addresses", "'::1/128'", "IPv4"]),
        ({"addresses": "many"}, ["local.addresses", "'many'", "IPv4"]),
        ({"adresses": "127.0.0.0/8"}, ["'adresses'", "directory, host, engine, addresses"]),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(block, named):
    with pytest.raises(ArgumentError) as raised:
        LocalConfig.parse("lab", block, {})
    assert len(raised.value.problems) == 1
    for part in ["provider lab", *named]:
        assert part in raised.value.message


def test_all_faults_are_told_at_once():
    with pytest.raises(ArgumentError) as raised:
        LocalConfig.parse("lab", {"host": "a/b", "engine": "nginx", "addresses": "x", "more": 1}, {})
    assert len(raised.value.problems) == 4


@pytest.mark.parametrize("block", [{"host": "a/b"}, {"host": "a\n"}, {"engine": "nginx"}, {"directory": ""}, {"x": 1}])
def test_the_schema_finds_what_it_can(block):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(block, SCHEMA)


def test_building_a_provider_touches_nothing(backend):
    backend.provider()
    assert not backend.directory.exists()
