# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules, each through both doors: the same result but for what differs between any two runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.crawl.egress.plugins.modules import egress_proxy_info

AS_MODULE = {"environment": {"EGRESS_TEST": "yes"}}
SQUID = {"allowed_sources": ["127.0.0.0/8"]}


def tasks(directory: str) -> list[dict[str, t.Any]]:
    """A life, from nothing to nothing, with mistakes."""
    common = {
        "install": "demo",
        "providers": [
            {"name": "here", "type": "local", "local": {"directory": directory, "engine": "proxy.py"}},
            # What lies below a file can't be read.
            {"name": "gone", "type": "local", "local": {"directory": "/dev/null/none", "host": "gone"}},
        ],
    }
    document = {**common, "pools": [{"name": "eu", "replicas": 2, "provider": "here"}], "squid": SQUID}
    healthy = {**document, "providers": common["providers"][:1]}
    alone = {**common, "providers": common["providers"][:1]}

    def fleet(**options: t.Any) -> dict[str, t.Any]:
        return {"crawl.egress.egress_fleet": {"wait_sleep": 0.2, **options}}

    def proxy(**options: t.Any) -> dict[str, t.Any]:
        return {"crawl.egress.egress_proxy": {**alone, "name": "x", "wait_sleep": 0.2, "squid": SQUID, **options}}

    def info(**options: t.Any) -> dict[str, t.Any]:
        return {"crawl.egress.egress_proxy_info": {**common, **options}}

    return [
        {**fleet(desired=healthy), "check_mode": True, "diff": True},
        fleet(desired=healthy, results="all"),
        fleet(desired=healthy),
        fleet(desired=document),
        {**fleet(desired={**healthy, "squid": {"allowed_sources": ["10.0.0.0/8"]}}), "check_mode": True, "diff": True},
        fleet(desired={**healthy, "squid": {"allowed_sources": ["10.0.0.0/8"]}}, expect_plan=[]),
        fleet(desired={**healthy, "pools": []}),
        fleet(desired={**healthy, "pools": [{"name": "eu", "replicas": 0}]}, allow_empty=True, max_deletions=1),
        fleet(desired={"prot": 1, "proxies": [{"name": "a", "prot": 1}]}),
        proxy(),
        proxy(),
        proxy(port="abc"),
        proxy(port=70000),
        info(),
        info(names=["x"], states=["Running"]),
        info(names=[]),
        info(states=["Dancing"]),
        info(install=""),
        proxy(state="absent"),
        proxy(state="absent"),
        fleet(desired={**healthy, "pools": [{"name": "eu", "replicas": 0}]}, allow_empty=True, max_deletions="100%"),
    ]


def without_chance(value: t.Any) -> t.Any:
    """The value without what two runs never have in common."""
    if isinstance(value, dict):
        value = {key: without_chance(item) for key, item in value.items()}
        if "op" in value and "seconds" in value:
            # How often it is asked whether a proxy serves by now depends on time, and so does the time it takes.
            return {key: item for key, item in value.items() if key not in ("seconds", "calls")}
        # Another test may have a proxy on the address that would be this one's.
        chance = ("incarnation", "created_at", "invocation", "id", "plan_id", "address")
        return {key: item and "*" if key in chance else item for key, item in value.items()}
    if isinstance(value, list):
        return [without_chance(item) for item in value]
    return value


@pytest.mark.timeout(300)
def test_a_life_is_the_same_through_both_doors(player, backend, tmp_path) -> None:
    # One after the other in the same place, so that paths are the same, too.
    here = player.play(tasks(str(backend.directory)), "--diff")
    assert not backend.processes()
    backend.clean()
    module = player.play(
        [{**task, **AS_MODULE} for task in tasks(str(backend.directory))], "--diff", environ={"ANSIBLE_PIPELINING": "1"}
    )
    assert not backend.processes()

    assert len(here.results) == len(module.results) == len(tasks(""))
    for task, one, other in zip(tasks(""), here.results, module.results):
        assert without_chance(one) == without_chance(other), task
    seen = [(r["failed"], r["changed"], r.get("outcome") or r.get("error", {}).get("reason")) for r in here.results]
    assert seen == [
        (False, True, "converging"),
        (False, True, "converged"),
        (False, False, "converged"),
        (True, False, "incomplete_evidence"),
        (False, True, "converging"),
        (True, False, "converging"),
        (True, False, "EmptyDesired"),
        (True, False, "needs_attention"),
        (True, False, "InvalidArgument"),
        (False, True, "converged"),
        (False, False, "converged"),
        *[(True, False, "InvalidArgument")] * 2,
        *[(False, False, None)] * 3,
        *[(True, False, "InvalidArgument")] * 2,
        (False, True, "converged"),
        (False, False, "converged"),
        (False, True, "converged"),
    ]


def test_bad_options_are_found_before_anything_is_sent(player, backend) -> None:
    common = {"install": "demo", "providers": [{"name": "here", "type": "local", "local": {}}]}
    document = {**common, "pools": [{"name": "eu", "replicas": 1}], "squid": SQUID}
    bad = [
        {"crawl.egress.egress_fleet": {"desired": {**document, "prot": 1}}},
        {"crawl.egress.egress_fleet": {"desired": document, "max_deletions": "some"}},
        {"crawl.egress.egress_fleet": {"desired": document, "retry": ["nobody"]}},
        {"crawl.egress.egress_gc": {"desired": document, "min_age": -1}},
        {"crawl.egress.egress_proxy": {**common, "name": "x", "squid": SQUID, "port": 0}},
        {"crawl.egress.egress_proxy_info": {**common, "mark_prefix": "-"}},
        {"crawl.egress.egress_provider_check_info": {**common, "names": ["there"]}},
    ]
    good = {"crawl.egress.egress_proxy_info": common}
    nowhere = {"vars": {"ansible_python_interpreter": str(backend.directory / "python")}}
    *refused, sent = player.play([{**task, **nowhere} for task in [*bad, good]]).results
    assert [result["error"]["reason"] for result in refused] == ["InvalidArgument"] * len(bad)
    assert sent["failed"]
    assert "error" not in sent  # Ansible's own: there is no such interpreter


def test_a_target_needs_no_jsonschema(player, backend) -> None:
    bare = player.home / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    missing = subprocess.run([bare, "-c", "import jsonschema"], stderr=subprocess.PIPE, text=True, check=False)
    assert "No module named 'jsonschema'" in missing.stderr
    providers = [{"name": "here", "type": "local", "local": {"directory": str(backend.directory)}}]
    task = {"crawl.egress.egress_proxy_info": {"install": "demo", "providers": providers}}
    (result,) = player.play([{**task, "vars": {"ansible_python_interpreter": str(bare)}}]).results
    assert [scope["completeness"] for scope in result["scopes"]] == ["complete"]


def test_a_module_that_is_run_without_its_action_checks_its_options() -> None:
    options = {"install": "", "providers": [{"name": "here", "type": "locl"}]}
    done = subprocess.run(
        [sys.executable, "-m", egress_proxy_info.__name__],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": options}),
        env={**os.environ, "PYTHONPATH": os.environ["ANSIBLE_COLLECTIONS_PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    error = json.loads(done.stdout)["error"]
    assert error["reason"] == "InvalidArgument"
    assert len(error["problems"]) == 2
