# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the molecule scenario C(kubernetes): on a cluster with a real node, made for it in a network namespace, or on the
user's own that EGRESS_TEST_KUBERNETES_KUBECONFIG names. Either way in a namespace of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ansible_collections.crawl.egress.tests.kubernetes.cluster import GivenCluster, built_programs
from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
from ansible_collections.crawl.egress.tests.kubernetes.node import cluster_with_node

ROOT = Path(__file__).resolve().parents[1]
COMMAND = ["molecule", "test", "--no-command-borders", "--scenario-name", "kubernetes"]


def main() -> int:
    own = os.environ.get("EGRESS_TEST_KUBERNETES_KUBECONFIG")
    with contextlib.ExitStack() as stack:
        if own:
            cluster = stack.enter_context(contextlib.closing(GivenCluster(Path(own))))
            settings = {}
        else:
            cluster = stack.enter_context(cluster_with_node(built_programs()))
            settings = {"EGRESS_TEST_KUBERNETES_IMAGE": "localhost/proxy:1", "EGRESS_TEST_KUBERNETES_REACHABLE": "1"}
        stack.enter_context(cluster.inside())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        namespace = Namespace(cluster.kubeconfig, folder)
        stack.callback(namespace.remove)
        if own:
            cluster.namespaces.append(namespace.path)
        environment = {
            **os.environ,
            **settings,
            "EGRESS_TEST_KUBERNETES_KUBECONFIG": str(namespace.kubeconfig),
            "EGRESS_TEST_KUBERNETES_NAMESPACE": namespace.name,
        }
        return subprocess.run(COMMAND, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
