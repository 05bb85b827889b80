# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""C(egress_gc) as a playbook uses it, over real proxies and through both doors."""

from __future__ import annotations

import json
import re
import typing as t

import pytest

AS_MODULE = {"environment": {"EGRESS_TEST": "yes"}}
COMMON = {"squid": {"allowed_sources": ["127.0.0.0/8"]}, "generation": 7}

#: What two runs never have in common: times, incarnations, plans, addresses, durations.
CHANCE = re.compile(r'\b\d{10}(\.\d+)?\b|"[0-9a-f]{16}"|127\.\d+\.\d+\.\d+|"seconds": [0-9.]+')


def tasks(directory: str) -> list[dict[str, t.Any]]:
    here = {"name": "here", "type": "local", "local": {"directory": directory, "engine": "proxy.py"}}
    gone = {"name": "gone", "type": "local", "local": {"directory": "/dev/null/none", "host": "hv1"}}
    alone = {"install": "demo", "providers": [here]}

    def document(*pools: str, **more: t.Any) -> dict[str, t.Any]:
        return {
            **alone,
            **COMMON,
            "pools": [{"name": name, "replicas": 1, "provider": "here"} for name in pools],
            **more,
        }

    def gc(desired: t.Any, **options: t.Any) -> dict[str, t.Any]:
        return {"crawl.egress.egress_gc": {"desired": desired, "min_age": 0, "max_deletions": "100%", **options}}

    def check(task: dict[str, t.Any]) -> dict[str, t.Any]:
        return {**task, "check_mode": True, "diff": True}

    orphans = gc(document("eu"), results="all")
    foreign = {**document("old"), "install": "other"}
    return [
        {"crawl.egress.egress_fleet": {"desired": document("eu", "old", "older"), "wait_sleep": 0.2}},
        {"crawl.egress.egress_fleet": {"desired": foreign, "wait_sleep": 0.2}},
        {"crawl.egress.egress_proxy": {**alone, "squid": COMMON["squid"], "name": "t", "wait_sleep": 0.2}},
        gc(document("eu"), min_age=600),
        check(orphans),
        orphans,
        check(orphans),
        check(gc(document("eu"), max_deletions="1")),
        gc(document("eu"), max_deletions="1"),
        gc(document("eu", "old")),
        gc(document("eu"), results="none"),
        orphans,
        gc(document("eu", providers=[here, gone])),
        gc(document("eu", generation=6)),
        gc(document()),
        gc({}),
        gc(document("eu"), collect_task=True),
        gc(document("eu"), sightings=3),
        gc(document("eu"), sightings=1, collect_task=True, live_uids=[]),
        gc({**foreign, "pools": []}, sightings=1, allow_empty=True),
        {
            "crawl.egress.egress_fleet": {
                "desired": document("eu", pools=[{"name": "eu", "replicas": 0}]),
                "allow_empty": True,
                "max_deletions": "100%",
                "wait_sleep": 0.2,
            }
        },
    ]


def without_chance(result: dict[str, t.Any]) -> str:
    rest = {key: value for key, value in result.items() if key != "invocation"}
    if "actions" in rest:  # they are in the order in which they came to an end
        rest["actions"] = sorted(rest["actions"], key=lambda row: row["name"])
    return CHANCE.sub("*", json.dumps(rest, sort_keys=True))


@pytest.mark.timeout(300)
def test_a_collection_is_the_same_through_both_doors_and_predicted_in_check_mode(player, backend) -> None:
    here = player.play(tasks(str(backend.directory))).results
    assert not backend.processes()
    backend.clean()
    module = player.play(
        [{**task, **AS_MODULE} for task in tasks(str(backend.directory))], environ={"ANSIBLE_PIPELINING": "1"}
    ).results
    assert not backend.processes()
    for task, one, other in zip(tasks(""), here, module):
        if "crawl.egress.egress_gc" in task:
            assert without_chance(one) == without_chance(other), task

    seen = [(r["failed"], r["changed"], r.get("error", {}).get("reason"), steps(r)) for r in here[3:-1]]
    assert seen == [
        (False, False, None, []),
        (False, True, None, ["quarantine old-0", "quarantine older-0"]),
        (False, True, None, ["quarantine old-0 quarantined", "quarantine older-0 quarantined"]),
        (False, True, None, ["delete old-0", "delete older-0"]),
        (True, False, "FuseTripped", ["delete old-0", "delete older-0"]),
        (True, False, "FuseTripped", []),
        (False, True, None, ["clear old-0 cleared", "delete older-0 deleted"]),
        (False, True, None, []),
        (False, True, None, ["delete old-0 deleted"]),
        (True, False, "IncompleteEvidence", []),
        (True, False, "StaleDocument", None),
        (True, False, "EmptyDesired", None),
        *[(True, False, "InvalidArgument", None)] * 3,
        (False, True, None, ["delete t deleted"]),
        (False, True, None, ["delete old-0 deleted"]),
    ]
    predicted, done = here[4:6]
    assert predicted["plan"] == done["plan"]
    assert predicted["kept"] == done["kept"]
    assert [row["before_header"] for row in predicted["diff"]] == ["quarantine: orphan, first sighting"] * 2
    assert here[3]["counts"] == {"live": 1, "task": 1, "young": 2}


def steps(result: dict[str, t.Any]) -> list[str] | None:
    if "actions" not in result:
        return None
    rows = sorted(result["actions"], key=lambda row: row["name"])
    return [" ".join(filter(None, (row["verb"], row["name"], row.get("result")))) for row in rows]
