# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""C(egress_provider_check_info) as a playbook uses it, through both doors."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import yaml

AS_MODULE = {"environment": {"EGRESS_TEST": "yes"}}
SCRIPTED = "egress_tests.scripted"


def check(**options: t.Any) -> dict[str, t.Any]:
    return {"crawl.egress.egress_provider_check_info": options}


def tasks(directory: str) -> list[dict[str, t.Any]]:
    providers = [
        {"name": "here", "type": "local", "local": {"directory": directory}},
        # What lies below a file can't be read.
        {"name": "gone", "type": "local", "local": {"directory": "/dev/null/none", "host": "hv1"}},
        {"name": "other", "type": "local", "local": {"directory": directory, "engine": "proxy.py"}},
    ]
    common = {"install": "demo", "providers": providers}
    return [
        check(**common),
        {**check(**common), "check_mode": True, "diff": True},
        check(**common, names=["other", "here"], timeout=60),
        check(**common, names=[]),
        check(**common, names=["nobody"], timeout=0),
        check(**common, timeout="soon"),
        check(install="No Name", providers=[*providers, providers[0]]),
        check(install="demo", providers=[]),
        check(providers=providers),
    ]


def without_chance(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {k: "*" if k in ("seconds", "free") else without_chance(v) for k, v in value.items()}
    return [without_chance(item) for item in value] if isinstance(value, list) else value


def test_both_doors_say_the_same(player, tmp_path: Path) -> None:
    directory = tmp_path / "local"
    here = player.play(tasks(str(directory))).results
    module = player.play([{**task, **AS_MODULE} for task in tasks(str(directory))]).results
    assert not directory.exists()
    for result in module:
        result.pop("invocation", None)
    assert without_chance(here) == without_chance(module)
    assert len(here) == len(tasks(""))
    assert [(r["failed"], r["changed"], r.get("healthy")) for r in here] == [
        (False, False, False),
        (False, False, False),
        (False, False, True),
        (False, False, True),
        *[(True, False, None)] * 5,
    ]
    rows = [(row["provider"], row["type"], row["status"]) for row in here[0]["checks"]]
    assert rows == [("here", "local", "ready"), ("gone", "local", "failed"), ("other", "local", "ready")]
    assert [row["provider"] for row in here[2]["checks"]] == ["here", "other"]
    assert here[4]["msg"] == (
        "timeout: 0 is not allowed (1 to 3600); names: there is no provider 'nobody' (allowed: here, gone, other)"
    )
    assert {result["error"]["reason"] for result in here[4:]} == {"InvalidArgument"}


def test_types_of_another_collection(player, tmp_path: Path) -> None:
    target = {"target": "zones/a", "ready": True, "reason": "Reachable", "details": {"room": "7"}}
    scripts: dict[str, t.Any] = {
        "fine": {"targets": [target]},
        "sick": {"targets": [target, {**target, "target": "zones/b", "ready": False, "reason": "Acme"}]},
        "broken": {"raise": ["ZeroDivisionError", "s3cret"]},
        "slow": {"hang": True, "targets": [{**target, "ready": False, "reason": "Timeout"}]},
    }
    providers = []
    for name, script in scripts.items():
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(script))
        kind = f"{SCRIPTED}.backend"
        providers.append({"name": name, "type": kind, kind: {"file": str(file), "token": "s3cret"}})
    providers += [
        {"name": "lacks", "type": f"{SCRIPTED}.sdkless", f"{SCRIPTED}.sdkless": {}},
        {"name": "old", "type": f"{SCRIPTED}.unchecked", f"{SCRIPTED}.unchecked": {"file": "/nowhere"}},
    ]
    played = player.play([check(install="demo", providers=providers, timeout=1)], "-vvv")
    (result,) = played.results
    assert (result["failed"], result["changed"], result["healthy"]) == (False, False, False)
    assert [(row["provider"], row["status"], row["reason"]) for row in result["checks"]] == [
        ("fine", "ready", None),
        ("sick", "failed", None),
        ("broken", "failed", "Bug"),
        ("slow", "failed", None),
        ("lacks", "failed", "MissingSDK"),
        ("old", "unsupported", None),
    ]
    assert "acme-cloud" in result["checks"][4]["message"]
    assert result["checks"][0]["targets"] == [{**target, "message": ""}]
    assert "s3cret" not in json.dumps(result)


def test_the_examples_work_and_the_options_may_be_defaults(player, tmp_path: Path) -> None:
    from ansible_collections.crawl.egress.plugins.modules import egress_provider_check_info

    (player.home / "examples.yml").write_text(egress_provider_check_info.EXAMPLES)
    providers = [{"name": "here", "type": "local", "local": {"directory": str(tmp_path / "local")}}]
    bare = check()
    play = {
        "vars": {"directory": str(tmp_path / "local"), "providers": providers},
        "module_defaults": {"group/crawl.egress.egress": {"install": "demo", "providers": providers}},
    }
    include = {"ansible.builtin.include_tasks": "examples.yml", "ignore_errors": False}
    played = player.play([include, {**bare, "ignore_errors": False}], play=play)
    assert played.output.count("TASK [") == len(yaml.safe_load(egress_provider_check_info.EXAMPLES)) + 3
    assert played.results[1]["healthy"] is True
