# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""State files and provider IDs."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.local.records import (
    Process,
    Record,
    parse_provider_id,
    provider_id,
)

RECORD = Record(
    "proxy-a", "localhost", "0123456789abcdef", "127.80.0.1", 3128, 1.5e9, {"proxy-operator-managed": "true"}
)
PROCESS = Process("0123456789abcdef", 4711, "boot/1", 1.5e9)


def test_a_record_survives_writing():
    assert Record.decode(RECORD.encode(), "localhost", "proxy-a") == RECORD


def test_a_process_record_survives_writing():
    assert Process.decode(json.dumps(dataclasses.asdict(PROCESS))) == PROCESS


@pytest.mark.parametrize(
    "edit",
    [
        {"format": 2},
        {"name": "proxy-b"},
        {"host": "other"},
        {"incarnation": "short"},
        {"incarnation": "0123456789ABCDEF"},
        {"address": "10.0.0.1"},
        {"address": "localhost"},
        {"port": 0},
        {"port": 70000},
        {"port": "3128"},
        {"port": True},
        {"labels": []},
        {"labels": {"a": 1}},
        {"more": 1},
    ],
)
def test_an_edited_state_file_is_not_taken_on_trust(edit):
    raw = {**json.loads(RECORD.encode()), **edit}
    with pytest.raises(ValueError):
        Record.decode(json.dumps(raw), "localhost", "proxy-a")


@pytest.mark.parametrize("key", ["format", "name", "host", "incarnation", "address", "port", "labels"])
def test_nothing_may_be_missing(key):
    raw = json.loads(RECORD.encode())
    del raw[key]
    with pytest.raises(ValueError):
        Record.decode(json.dumps(raw), "localhost", "proxy-a")


@pytest.mark.parametrize("created", [None, "yesterday", True])
def test_a_creation_time_that_is_none_counts_as_very_old(created):
    raw = {**json.loads(RECORD.encode()), "created": created}
    assert Record.decode(json.dumps(raw), "localhost", "proxy-a").created is None
    del raw["created"]
    assert Record.decode(json.dumps(raw), "localhost", "proxy-a").created is None


def test_a_truncated_state_file_is_never_read():
    text = RECORD.encode().rstrip()
    for length in range(len(text)):
        with pytest.raises(ValueError):
            Record.decode(text[:length], "localhost", "proxy-a")


@pytest.mark.parametrize("text", ["null", "[]", '"x"', "7", "\0", "{}", '{"pid": 1}'])
def test_other_json_is_no_record(text):
    with pytest.raises(ValueError):
        Record.decode(text, "localhost", "proxy-a")
    with pytest.raises(ValueError):
        Process.decode(text)


@pytest.mark.parametrize("edit", [{"pid": 0}, {"pid": -1}, {"pid": 1}, {"pid": "7"}, {"start": 7}, {"started": None}])
def test_a_process_record_that_could_hit_others_is_refused(edit):
    with pytest.raises(ValueError):
        Process.decode(json.dumps({**dataclasses.asdict(PROCESS), **edit}))


def test_a_provider_id_says_host_and_name():
    assert provider_id("localhost", "proxy-a") == "hosts/localhost/proxies/proxy-a"
    assert parse_provider_id("hosts/localhost/proxies/proxy-a") == ("localhost", "proxy-a")
    assert parse_provider_id("hosts/a.b_c/proxies/proxy-a") == ("a.b_c", "proxy-a")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "proxy-a",
        "hosts/localhost/proxies/",
        "hosts/localhost/proxies/a/b",
        "hosts/localhost/proxies/../x",
        "hosts/localhost/proxies/a.lock",
        "hosts/localhost/proxies/A",
        "hosts/localhost/proxies/a\n",
        "hosts/localhost/proxies/" + "a" * 64,
        "hosts/-other/proxies/proxy-a",
        "hosts/other/more/proxies/proxy-a",
        "/hosts/localhost/proxies/proxy-a",
        "zones/localhost/instances/proxy-a",
    ],
)
def test_other_provider_ids_are_malformed(text):
    with pytest.raises(ValueError, match="allowed: hosts/HOST/proxies/NAME"):
        parse_provider_id(text)
