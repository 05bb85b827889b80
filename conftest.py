# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make this checkout importable as C(ansible_collections.crawl.egress), whatever its folder is called.

Why not pytest-ansible: it fills C(collections/) in the checkout with symlinks (one of them to C(.git)), never refreshes
them, so that a new folder stays missing, and overwrites ANSIBLE_COLLECTIONS_PATH. One symlink to the root needs no
refreshing. The finder is the private class of ansible-core that pytest-ansible uses too; core is pinned.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest
from ansible.utils.collection_loader import _collection_finder

ROOT = Path(__file__).resolve().parent
TREE = ROOT / ".ansible" / "tree"
LINK = TREE / "ansible_collections" / "crawl" / "egress"

# Credentials and defaults of the user's own backends: no test may reach them by accident.
USERS_OWN = re.compile(r"KUBECONFIG|K8S_AUTH_.*|GOOGLE_.*|GCP_.*|LIBVIRT_.*")


# How fast a machine is says nothing about the code; and what CI found once it must find again.
hypothesis.settings.register_profile(
    "project",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("project")


def collections_root() -> Path:
    if ROOT.parts[-3:] == ("ansible_collections", "crawl", "egress"):
        return ROOT.parents[2]
    LINK.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):  # made by an earlier run, or by another worker
        LINK.symlink_to(os.path.relpath(ROOT, LINK.parent), target_is_directory=True)
    return TREE


def pytest_configure(config: pytest.Config) -> None:
    for name in filter(USERS_OWN.fullmatch, list(os.environ)):
        del os.environ[name]

    given = filter(None, os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep))
    paths = list(dict.fromkeys([str(collections_root()), *given]))
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join(paths)
    if not any(isinstance(finder, _collection_finder._AnsibleCollectionFinder) for finder in sys.meta_path):
        _collection_finder._AnsibleCollectionFinder(paths=paths)._install()


def _no_skip_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"nothing is skipped when CI is set: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _no_skip_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _no_skip_in_ci(report)
    return report
