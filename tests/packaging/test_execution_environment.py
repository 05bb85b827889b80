# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What C(meta/execution-environment.yml) asks for is there and works, and nothing that we import is missing in it."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
METADATA = yaml.safe_load((ROOT / "meta" / "execution-environment.yml").read_text())
DEPENDENCIES = METADATA["dependencies"]

#: Imported, and brought along by something that is required anyway.
BROUGHT = {"yaml": "ansible-core", "urllib3": "kubernetes"}


def lines(kind: str) -> list[str]:
    text = (ROOT / DEPENDENCIES[kind]).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


OWNERS = importlib.metadata.packages_distributions()
REQUIREMENTS = [Requirement(line) for line in lines("python")]


def imported() -> Iterator[str]:
    """The top-level names of all absolute imports in C(plugins/), wherever they stand."""
    for file in (ROOT / "plugins").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield (node.module or "").partition(".")[0]


def modules_of(distribution: str) -> list[str]:
    name = canonicalize_name(distribution)
    return [module for module, owners in OWNERS.items() if name in map(canonicalize_name, owners)]


def test_it_names_two_files_and_nothing_else() -> None:
    assert METADATA.keys() == {"version", "dependencies"}
    assert DEPENDENCIES.keys() == {"python", "system"}
    assert REQUIREMENTS
    assert lines("system")


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_a_python_package_is_installed_and_can_be_imported(requirement: Requirement) -> None:
    assert importlib.metadata.version(requirement.name) in requirement.specifier
    modules = [module for module in modules_of(requirement.name) if module.isidentifier()]
    assert modules
    for module in modules:
        importlib.import_module(module)


def test_every_import_is_met() -> None:
    ours = {"ansible", "ansible_collections", "__future__"}
    foreign = {name for name in imported() if name not in sys.stdlib_module_names and name not in ours}
    given = {module for requirement in REQUIREMENTS for module in modules_of(requirement.name)}
    assert foreign - given == set(BROUGHT)
    for module, bringer in BROUGHT.items():
        needs = [canonicalize_name(Requirement(text).name) for text in importlib.metadata.requires(bringer) or ()]
        assert any(canonicalize_name(owner) in needs for owner in OWNERS[module])


def test_every_package_is_used() -> None:
    used = set(imported())
    assert [requirement.name for requirement in REQUIREMENTS if used.isdisjoint(modules_of(requirement.name))] == []


def test_the_development_environment_has_the_same() -> None:
    text = (ROOT / "requirements" / "runtime.in").read_text()
    names = {canonicalize_name(line) for line in text.splitlines() if line and not line.startswith("#")}
    assert names == {canonicalize_name(requirement.name) for requirement in REQUIREMENTS}


@pytest.mark.parametrize("line", lines("system"))
def test_a_system_package_is_there_and_runs(line: str) -> None:
    match = re.fullmatch(r"([a-z0-9.+-]+) \[platform:(dpkg|rpm)\]", line)
    assert match, line
    name, platform = match.groups()
    if platform == "dpkg" and shutil.which("dpkg-query"):
        asked = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", name]
        assert subprocess.check_output(asked, text=True) == "installed"
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    assert program
    subprocess.run([program, "-v"], check=True, stdout=subprocess.DEVNULL)
