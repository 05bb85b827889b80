# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples of the documentation are run, as they stand."""

from __future__ import annotations

import importlib

import pytest
import yaml

MODULES = ["egress_fleet", "egress_gc", "egress_proxy", "egress_proxy_info"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_work(player, backend, name) -> None:
    module = importlib.import_module(f"ansible_collections.crawl.egress.plugins.modules.{name}")
    examples = yaml.safe_load(module.EXAMPLES)
    assert any(f"crawl.egress.{name}" in task for task in examples)
    (player.home / "examples.yml").write_text(module.EXAMPLES)
    providers = [{"name": "here", "type": "local", "local": {"directory": str(backend.directory)}}]
    document = {
        "install": "demo",
        "providers": providers,
        "pools": [{"name": "eu", "replicas": 2}],
        "squid": {"allowed_sources": ["127.0.0.0/8"]},
    }
    (player.home / "egress.yml").write_text(yaml.safe_dump(document))
    variables = {
        "directory": str(backend.directory),
        "state_dir": str(player.home / "state"),
        "providers": providers,
        "password_hash": "$6$salt$" + "x" * 86,
    }
    include = {"ansible.builtin.include_tasks": "examples.yml", "ignore_errors": False}
    played = player.play([include], "--check", play={"vars": variables})
    assert played.output.count("TASK [") == len(examples) + 2, played.output
