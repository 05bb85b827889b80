# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a playbook is told when a backend, an option or a disk is not as it should be: one word and one sentence."""

from __future__ import annotations

import typing as t

SQUID = {"allowed_sources": ["127.0.0.0/8"]}


def test_each_fault_is_told_by_its_reason(player, backend, tmp_path) -> None:
    here = {"name": "here", "type": "local", "local": backend.config}
    # What lies below a file can't be read.
    down = {"name": "down", "type": "local", "local": {"directory": "/dev/null/none", "host": "hv1"}}
    astray = {"name": "astray", "type": "local", "local": {"directory": "not/absolute"}}
    full = {"name": "full", "type": "local", "local": {**backend.config, "addresses": "127.80.7.7/32"}}
    (tmp_path / "file").write_text("")

    def fleet(*providers: t.Any, replicas: int = 1, **options: t.Any) -> dict[str, t.Any]:
        pools = [{"name": "eu", "replicas": replicas, "provider": providers[0]["name"]}]
        document = {"install": "demo", "providers": list(providers), "pools": pools, "squid": SQUID}
        return {"crawl.egress.egress_fleet": {"desired": document, "wait_sleep": 0.2, **options}}

    def proxy(provider: t.Any, **options: t.Any) -> dict[str, t.Any]:
        common = {"install": "demo", "providers": [provider], "name": "x", "wait_sleep": 0.2}
        return {"crawl.egress.egress_proxy": {**common, **options}}

    def told(result: dict[str, t.Any]) -> tuple[t.Any, ...]:
        error = result["error"]
        return error["class"], error["reason"], error.get("provider"), error.get("scope")

    later = {"until": "2037-01-01T00:00:00Z"}
    tasks = [
        proxy(down, state="absent"),
        fleet(here, down),
        proxy(astray, state="absent"),
        {"crawl.egress.egress_proxy_info": {"install": "demo", "providers": [here, astray]}},
        fleet(here, only=[]),
        fleet(here, state_dir=str(tmp_path / "file")),
        fleet(full, replicas=2),
        proxy(full, squid=SQUID),
        fleet(here, hold=[{"name": "eu-0", **later}, {"name": "eu-7", **later}], wait=False),
    ]
    results = player.play(tasks).results
    absent, partly, option, info, nothing, state_dir, filled, taken, held = results

    assert told(absent) == ("Permanent", "InvalidConfig", "down", "hosts/hv1")
    assert (absent["changed"], absent["outcome"]) == (False, "incomplete_evidence")
    assert absent["msg"].startswith("provider down, hosts/hv1: failed, /dev/null/none: Not a directory")

    assert told(partly) == ("Permanent", "InvalidConfig", "down", "hosts/hv1")
    assert partly["counts"]["running"] == 1

    for result in (option, info):
        assert told(result) == (None, "InvalidArgument", None, None)
        assert result["msg"].startswith("provider astray: local.directory is 'not/absolute'")
    assert told(nothing) == (None, "InvalidArgument", None, None)
    assert nothing["msg"] == "only: must not be empty (leave it out for all pools)"
    assert told(state_dir) == (None, "StateDir", None, None)

    assert not filled["failed"]
    assert told(taken) == ("Permanent", "Conflict", "full", "hosts/localhost")
    assert taken["msg"].startswith("port 3128 of 127.80.7.7 is taken by")
    assert taken["outcome"] == "needs_attention"

    assert not held["failed"]
    (warning,) = held["warnings"]
    assert warning.startswith("hold: default/eu-7 is no proxy of this run")
