# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real proxies of the local provider as hosts, and the examples of the documentation, which are about them."""

from __future__ import annotations

import importlib
import json
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

if t.TYPE_CHECKING:
    from .conftest import Sources

NAMES = ("eu-0", "eu-1")


@pytest.fixture
def proxies(player: t.Any) -> Iterator[Path]:
    """The directory of two proxies, where the provider would have it by default."""
    from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import local_backend

    directory = player.home / "state" / "crawl.egress" / "local"
    directory.mkdir(parents=True)
    entry = {"name": "here", "type": "local", "local": {"directory": str(directory), "engine": "proxy.py"}}
    document = {
        "install": "demo",
        "providers": [entry],
        "pools": [{"name": "eu", "replicas": 2}],
        "squid": {"allowed_sources": ["127.0.0.0/8"]},
    }
    player.home.joinpath("desired.yml").write_text(yaml.safe_dump(document))
    with local_backend(directory, engine="proxy.py"):
        played = player.play([{"crawl.egress.egress_fleet": {"desired": document}}])
        assert played.results[0]["outcome"] == "converged", played.output
        yield directory


@pytest.fixture
def environ(player: t.Any, proxies: Path) -> dict[str, str]:
    player.home.joinpath("proxies").symlink_to(proxies)
    return {
        "HOME": str(player.home),
        "XDG_STATE_HOME": str(player.home / "state"),
        "JOB_INSTALL": "demo",
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
    }


def test_proxies_are_hosts(sources: Sources, proxies: Path, environ: dict[str, str]) -> None:
    source = sources.write({"name": "here", "type": "local", "local": {"directory": str(proxies)}}, states=[])
    said = json.loads(sources.command("-i", str(source), "--list", "--export", environ=environ))
    assert (
        sorted(said["egress_pool_eu"]["hosts"]) == sorted(said["egress_scope_hosts_localhost"]["hosts"]) == list(NAMES)
    )
    assert "unsafe" not in json.dumps(said)
    for name in NAMES:
        found = said["_meta"]["hostvars"][name]
        assert found["ansible_host"] == found["egress_address"]
        assert found["egress_address"].startswith("127.80.")
        assert (found["egress_enabled"], found["egress_state"], found["egress_port"]) == (True, "Running", 3128)
        assert len(found["egress_spec_hash"]) == 32


def test_the_examples_work(sources: Sources, environ: dict[str, str]) -> None:
    plugin = importlib.import_module("ansible_collections.crawl.egress.plugins.inventory.egress")
    examples = plugin.EXAMPLES.split("---\n")[1:]
    assert len(examples) == 3
    said = []
    for example in examples:
        source = sources.text(example)
        said.append(json.loads(sources.command("-i", str(source), "--list", environ=environ)))
        assert sorted(said[-1]["_meta"]["hostvars"]) == list(NAMES), sources.warnings[-1]
    assert len(list(sources.home.joinpath(".cache", "egress").iterdir())) == 1
    last = said[-1]
    host = last["_meta"]["hostvars"]["eu-0"]
    assert host["proxy_url"] == f"http://{host['egress_address']}:3128"
    assert sorted(last["port_3128"]["hosts"]) == list(NAMES)
    assert "held" not in last
