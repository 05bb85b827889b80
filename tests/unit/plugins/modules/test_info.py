# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters of C(egress_proxy_info) as a playbook uses them, over providers that answer what files say."""

from __future__ import annotations

import json
import typing as t

import pytest

TYPE = "egress_tests.scripted.backend"
UID = "11111111-2222-3333-4444-555555555555"


def instance(name: str, **labels: str) -> dict[str, t.Any]:
    return {"labels": {"name": name, **labels}}


INSTANCES = [
    instance("eu-0", uid=UID),
    instance("eu-1"),
    instance("us-0", pool="us"),
    instance("t", pool="task"),
    instance("eu-0", install="other"),
    instance("wiped", install=""),
]


@pytest.fixture
def providers(player) -> list[dict[str, t.Any]]:
    file = player.home / "lab.json"
    file.write_text(json.dumps({"instances": INSTANCES}))
    return [{"name": "lab", "type": TYPE, TYPE: {"file": str(file)}}]


def test_filters(player, providers) -> None:
    cases: list[tuple[dict[str, t.Any], list[str]]] = [
        ({}, ["eu-0", "eu-1", "t", "us-0"]),
        ({"uids": [UID]}, ["eu-0"]),
        ({"uids": [UID, "another"]}, ["eu-0"]),
        ({"uids": ["another"]}, []),
        ({"uids": []}, []),
        ({"pools": ["us", "task"]}, ["t", "us-0"]),
        ({"pools": ["none"]}, []),
        ({"pools": []}, []),
        ({"pools": ["us"], "uids": [UID]}, []),
        ({"names": ["eu-0", "default/us-0"]}, ["eu-0", "us-0"]),
        ({"foreign": True}, ["wiped!", "eu-0", "eu-1", "t", "us-0", "eu-0!"]),
        ({"foreign": True, "names": ["eu-0"]}, ["eu-0", "eu-0!"]),
        ({"foreign": True, "uids": [UID]}, ["eu-0"]),
        ({"foreign": True, "pools": ["us"]}, ["us-0"]),
    ]
    tasks = [
        {"crawl.egress.egress_proxy_info": {"install": "demo", "providers": providers, **options}}
        for options, _names in cases
    ]
    for (options, names), result in zip(cases, player.play(tasks).results):
        shown = [row["name"] + "!" * row["foreign"] for row in result["instances"]]
        assert (result["failed"], result["changed"], shown) == (False, False, names), options


def test_an_instance_of_two_entries_is_one(player, providers) -> None:
    row = {**instance("eu-0", provider="lab-b"), "incarnation": "one"}
    (player.home / "lab.json").write_text(json.dumps({"instances": [row]}))
    entries = [{**providers[0], "name": name} for name in ("lab-a", "lab-b", "lab-c")]
    (result,) = player.play([{"crawl.egress.egress_proxy_info": {"install": "demo", "providers": entries}}]).results
    assert [(row["name"], row["provider"]) for row in result["instances"]] == [("eu-0", "lab-b")]
