# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventory sources, read by Ansible's own manager and command, over providers that answer what files say."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.inventory.data import InventoryData
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader
from ansible.utils.display import Display

TYPE = "egress_tests.scripted.backend"
Entry = dict[str, t.Any]


@pytest.fixture(autouse=True)
def _tests_own_collection(request: pytest.FixtureRequest) -> None:
    """Another collection with provider types."""
    import ansible_collections

    folder = str(Path(request.config.rootpath, "tests/unit/plugins/fixtures/ansible_collections"))
    if folder not in ansible_collections.__path__:
        ansible_collections.__path__.append(folder)


@dataclasses.dataclass
class Sources:
    """:ivar warnings: of what was read in this process."""

    home: Path
    environ: t.Mapping[str, str]
    warnings: list[str]

    def backend(self, name: str = "lab", *, type: str = TYPE, token: str | None = None, **script: t.Any) -> Entry:
        """A provider entry; what it answers can be changed by calling this again."""
        file = self.home / f"{name}.json"
        file.write_text(json.dumps(script))
        return {"name": name, "type": type, type: {"file": str(file), **({"token": token} if token else {})}}

    def calls(self, name: str = "lab") -> list[t.Any]:
        file = self.home / f"{name}.json.calls"
        return [json.loads(line)[2] for line in file.read_text().splitlines()] if file.exists() else []

    def write(self, *entries: Entry, **options: t.Any) -> Path:
        given = {"install": "demo", "providers": list(entries), **options}
        return self.text(yaml.safe_dump({"plugin": "crawl.egress.egress", **given}, sort_keys=False))

    def text(self, text: str) -> Path:
        file = self.home / "egress.yml"
        file.write_text(text)
        return file

    def read(self, source: Path, *, cache: bool = True, loader: DataLoader | None = None) -> InventoryManager:
        inventory = InventoryManager(loader or DataLoader(), [str(source)], cache=cache)
        assert inventory._inventory.processed_sources == [str(source)], self.refusal(source, loader=loader)
        return inventory

    def refusal(self, source: Path, loader: DataLoader | None = None, hosts: int = 0) -> str:
        """Why a source is not accepted. :param hosts: how many have been added by then."""
        data = InventoryData()
        plugin = inventory_loader.get("crawl.egress.egress")
        assert plugin.verify_file(str(source))
        with pytest.raises(AnsibleError) as refused:
            plugin.parse(data, loader or DataLoader(), str(source), cache=False)
        assert len(data.hosts) == hosts
        return str(refused.value)

    def command(self, *arguments: str, environ: t.Mapping[str, str] | None = None, status: int = 0) -> str:
        """What C(ansible-inventory) says; its warnings are in C(warnings)."""
        done = subprocess.run(
            [sys.executable, "-m", "ansible", "inventory", *arguments],
            cwd=self.home,
            env={**self.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == status, done.stderr
        self.warnings.append(done.stderr)
        return done.stdout


@pytest.fixture
def sources(player: t.Any, monkeypatch: pytest.MonkeyPatch) -> Sources:
    warnings: list[str] = []
    monkeypatch.setattr(Display(), "warning", lambda text, **_more: warnings.append(text))
    return Sources(player.home, player.environ(), warnings)
