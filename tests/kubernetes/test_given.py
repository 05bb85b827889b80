# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fixtures on a cluster of the user's: here one with a node, given to another session by its kubeconfig."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FEW = ["test_cluster.py", "test_node.py"]
#: Where it matters most that Pods really run; all others run there, too.
MORE = [
    "test_provider.py",
    "test_faults.py::test_two_runs_of_one_pool_at_once",
    "test_conformance.py::test_conformance[create-returns-once-submitted]",
    "test_conformance.py::test_conformance[dead-is-stopped-or-terminated]",
    "test_conformance.py::test_conformance[leftovers-in-use-are-left-alone]",
    "test_conformance.py::test_conformance[three-runs-a-collection-and-a-check-at-once]",
]


@pytest.fixture
def session(real_namespace, image, programs):
    """Run tests on the given cluster, and return what pytest said."""

    def run(*tests: str, **env: str) -> str:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "-n",
                "2",
                *(HERE / test for test in tests),
            ],
            cwd=HERE.parents[1],
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
                "PATH": f"{programs}/bin:{os.environ['PATH']}",
                "EGRESS_TEST_KUBERNETES_KUBECONFIG": str(real_namespace.kubeconfig),
                "EGRESS_TEST_KUBERNETES_IMAGE": image,
                "CI": "true",
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    return run


def test_the_tests_run_on_it_and_leave_no_namespace(session, real_namespace) -> None:
    def namespaces() -> set[str]:
        return {item["metadata"]["name"] for item in real_namespace.api.get("/api/v1/namespaces")["items"]}

    before = namespaces()
    output = session(*FEW, *MORE)
    assert re.search(r"^\d+ passed, \d+ warnings? in ", output, re.M), output
    named = re.search(r"\d+ tests need a cluster that they may hurt, and did NOT run on \S+: (.*)", output)
    assert "test_cluster.py::test_etcd_can_be_killed_and_has_lost_nothing" in named.group(1)
    assert "test_provider.py::test_states" in named.group(1)
    assert namespaces() <= before


def test_a_kubeconfig_that_leads_nowhere_is_a_failure(session, tmp_path) -> None:
    output = session(*FEW, EGRESS_TEST_KUBERNETES_KUBECONFIG=str(tmp_path / "absent"))
    assert re.search(r"^\d+ warnings?, \d+ errors in ", output, re.M), output
    assert " passed" not in output
