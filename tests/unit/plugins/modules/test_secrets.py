# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A secret in the options is nowhere in what Ansible shows or registers, at the highest verbosity, right or wrong."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

AS_MODULE = {"environment": {"EGRESS_TEST": "yes"}}
ASYNC = {"async": 60, "poll": 1}

#: Has the form of a SHA-crypt hash.
HASH = "$6$SENTINEL$" + "SENTINEL" * 10 + "SENTIN"
SENTINEL = "SENTINEL"


def spread(directory: str) -> list[dict[str, t.Any]]:
    """Tasks with a secret in every place that can hold one, some of them wrong in a way that invites to quote it."""
    common = {
        "install": "demo",
        "providers": [{"name": "here", "type": "local", "local": {"directory": directory, "engine": "proxy.py"}}],
    }
    squid = {"users": [{"name": "crawler", "password_hash": HASH}]}
    document = {**common, "proxies": [{"name": "x"}], "squid": squid}

    def fleet(desired: t.Any, **options: t.Any) -> dict[str, t.Any]:
        return {"crawl.egress.egress_fleet": {"desired": desired, "wait_sleep": 0.2, **options}}

    def proxy(**options: t.Any) -> dict[str, t.Any]:
        return {"crawl.egress.egress_proxy": {**common, "name": "y", "wait_sleep": 0.2, **options}}

    def collection(desired: t.Any, **options: t.Any) -> dict[str, t.Any]:
        return {"crawl.egress.egress_gc": {"desired": desired, "results": "all", **options}}

    good = [
        {**fleet(document, results="all"), "diff": True},
        fleet({**common, "proxies": [{"name": "x", "squid": squid}]}),
        {"crawl.egress.egress_proxy_info": common},
        {**collection(document), "diff": True},
        {**proxy(squid=squid), "diff": True},
        proxy(state="absent", squid=squid),
        fleet({**document, "proxies": []}, allow_empty=True, max_deletions="100%"),
    ]
    bad = [
        fleet(document, bogus=1),
        fleet(document, only="nothing"),
        fleet({**document, "password": SENTINEL}),
        fleet({**document, "squid": {"users": [{"name": "crawler", "password_hash": SENTINEL}]}}),
        fleet({**document, "squid": {"users": [{"name": "crawler", "password_hash": [SENTINEL]}]}}),
        fleet({**document, "squid": {"users": [SENTINEL]}}),
        fleet({**document, "squid": {"users": {"crawler": SENTINEL}}}),
        fleet({**document, "squid": SENTINEL}),
        fleet({**document, "squid": {**squid, "extra_lines": ["auth_param basic program " + SENTINEL]}}),
        fleet({**common, "proxies": [{"name": "x", "cloud_init": SENTINEL}]}),
        fleet({**common, "proxies": [{"name": "x", "cloud_init": {"password": SENTINEL}}]}),
        fleet(SENTINEL),
        fleet([SENTINEL]),
        fleet("{" + SENTINEL),
        proxy(squid=SENTINEL),
        proxy(squid=[SENTINEL]),
        proxy(cloud_init=SENTINEL),
        proxy(cloud_init={"password": SENTINEL}),
        proxy(cloud_init=[SENTINEL], squid=squid),
        proxy(squid=squid, port="abc"),
        proxy(squid=squid, state="gone"),
        proxy(squid={"users": [{"name": "crawler", "password": SENTINEL}]}),
        collection(document, min_age="soon"),
        collection({**document, "password": SENTINEL}),
        collection({**document, "squid": {"users": [SENTINEL]}}),
        collection("{" + SENTINEL),
    ]
    return [*good, *bad]


@pytest.mark.timeout(300)
def test_no_secret_is_shown_or_registered(player, backend) -> None:
    tasks = spread(str(backend.directory))
    # The secrets come from a file of variables: of a playbook, Ansible itself shows the lines around a failed task.
    options = {f"options_{index}": task[_action(task)] for index, task in enumerate(tasks)}
    (player.home / "secrets.yml").write_text(yaml.safe_dump(options))
    hidden = [{**task, _action(task): f"{{{{ options_{index} }}}}"} for index, task in enumerate(tasks)]
    # Whatever the action plugin refuses is the same every way, so that most of what is wrong goes the short one only.
    for how, chosen in (({}, range(len(tasks))), (AS_MODULE, [0, 2, 3, 4, 6, 9, 10, 16]), (ASYNC, [1, 9])):
        played = player.play(
            [{**hidden[index], **how} for index in chosen],
            "-vvvvv",
            play={"vars_files": ["secrets.yml"]},
            environ={"ANSIBLE_INJECT_FACT_VARS": "false", "ANSIBLE_INJECT_INVOCATION": "true"},
        )
        assert [not result["failed"] for result in played.results] == [index < 7 for index in chosen], how
        for index, result in zip(chosen, played.results):
            assert SENTINEL not in json.dumps(result), (how, tasks[index])
        assert SENTINEL not in played.output, how


def _action(task: dict[str, t.Any]) -> str:
    return next(key for key in task if key.startswith("crawl.egress."))
