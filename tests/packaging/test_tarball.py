# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tarball that C(ansible-galaxy collection build) makes: what is in it, and that it works once installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.prefix, "bin")

CONTENT = {
    "CHANGELOG.md",
    "CHANGELOG.rst",
    "COPYING",
    "FILES.json",
    "LICENSES",
    "MANIFEST.json",
    "README.md",
    "changelogs",
    "docs",
    "extensions",
    "meta",
    "playbooks",
    "plugins",
    "roles",
}
# What a checkout may hold besides: none of it may get in, wherever the tarball is built.
LITTER = [
    ".ansible/tmp/x",
    ".git/config",
    ".mypy_cache/x",
    ".venv/newest/bin/python",
    ".vscode/settings.json",
    "build/x",
    "collections/x",
    "crawl-egress-0.0.9.tar.gz",
    "plugins/modules/__pycache__/egress_proxy.cpython-313.pyc",
]

PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  tasks:
    - crawl.egress.egress_proxy_info:
        install: packaged
        providers: [{name: lab, type: local, local: {directory: "{{ directory }}"}}]
      register: found
    - ansible.builtin.assert:
        that: found.instances == []
"""


def run(*command: str | Path, cwd: Path, path: Path | str = os.devnull) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        # only what is installed there, neither this checkout nor ~/.ansible
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(path), "ANSIBLE_HOME": str(cwd / ".ansible")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("build"))


def build(folder: Path) -> Path:
    """The tarball of a checkout with everything in it that must not get into the tarball."""
    run(ROOT / "tools" / "stage.sh", folder, cwd=ROOT)
    checkout = folder / "ansible_collections" / "crawl" / "egress"
    for name in LITTER:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    tree = checkout / ".ansible" / "tree" / "ansible_collections" / "crawl"
    tree.mkdir(parents=True)
    (tree / "egress").symlink_to("../../../..")
    run(BIN / "ansible-galaxy", "collection", "build", "--output-path", folder, cwd=checkout)
    (built,) = folder.glob("crawl-egress-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    run(BIN / "ansible-galaxy", "collection", "install", "--offline", "-p", folder, tarball, cwd=folder, path=folder)
    return folder


def test_it_holds_the_content_and_nothing_else(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = archive.getnames()
    assert {name.split("/")[0] for name in names} <= CONTENT
    unwanted = ("extensions/molecule", ".venv", ".ansible", "__pycache__", ".pyc", "tests/", "conftest")
    assert not [name for name in names if any(word in name for word in unwanted)]
    assert {"meta/runtime.yml", "LICENSES/GPL-3.0-or-later.txt", "README.md"} <= set(names)


def test_every_plugin_is_in_it(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = set(archive.getnames())
    listed = subprocess.check_output(["git", "ls-files", "plugins"], cwd=ROOT, text=True).split()
    assert {name for name in listed if (ROOT / name).exists()} <= names


def test_its_modules_are_documented_and_in_the_action_group(installed: Path) -> None:
    listing = run(BIN / "ansible-doc", "--list", "--json", "crawl.egress", cwd=installed, path=installed)
    modules = set(json.loads(listing))
    group = (installed / "ansible_collections/crawl/egress/meta/runtime.yml").read_text()
    assert modules
    assert not [name for name in modules if name.removeprefix("crawl.egress.") not in group]
    run(BIN / "ansible-doc", *sorted(modules), cwd=installed, path=installed)


def test_a_playbook_runs_with_it(installed: Path, tmp_path: Path) -> None:
    playbook = tmp_path / "play.yml"
    playbook.write_text(PLAYBOOK)
    run(BIN / "ansible-playbook", playbook, "-e", f"directory={tmp_path}/proxies", cwd=tmp_path, path=installed)
