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
TESTS = [HERE / "test_cluster.py", HERE / "test_node.py"]


@pytest.fixture
def session(real_namespace, image, programs):
    """Run the tests on the given cluster, and return what pytest said."""

    def run(**env: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
            cwd=HERE.parents[1],
            env={
                **os.environ,
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
    output = session()
    passed, left_out = map(int, re.search(r"(\d+) passed, (\d+) deselected", output).groups())
    assert passed >= 5, output
    assert left_out > passed, output
    assert namespaces() <= before


def test_a_kubeconfig_that_leads_nowhere_is_a_failure(session, tmp_path) -> None:
    output = session(EGRESS_TEST_KUBERNETES_KUBECONFIG=str(tmp_path / "absent"))
    assert re.search(r"\d+ deselected, \d+ errors", output), output
    assert " passed" not in output
