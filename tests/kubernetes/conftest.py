# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real Kubernetes API for the tests of the C(kubernetes) provider.

C(make cluster) builds it once per machine. With EGRESS_TEST_KUBERNETES_KUBECONFIG set, the cluster of that file is used
instead: tests that stage what a cluster of the user's can't be made to do are left out, and nothing is touched but
namespaces that the tests make (and cluster roles that bear their names).

| fixture | scope | is |
| --- | --- | --- |
| C(cluster) | session | a control plane on loopback; no Pod of it runs |
| C(namespace) | test | a namespace of C(cluster), whose Pods a stand-in for the kubelet makes Running and Ready |
| C(stand_in) | test | that stand-in: to decide what becomes of Pods |
| C(daemons) | test | the daemons of C(cluster): to kill, pause and restart; all is well again after the test |
| C(real_cluster) | session | a cluster with a real node, in a network namespace of its own |
| C(real_namespace) | test | a namespace of it; the test's thread is in the network namespace meanwhile |
| C(real_daemons) | test | the daemons of it, C(kubelet) among them |
| C(image) | session | the image of Squid |
| C(programs) | session | the folder of what C(make cluster) built: C(bin/kubectl) |

With pytest-xdist each worker has a cluster of its own, so that a test may kill it; with C(--dist loadgroup) all tests
that need the real node are one worker's.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # at run time only inside functions: this file may be loaded before the root's makes that possible
    from ansible_collections.crawl.egress.tests.kubernetes.cluster import Cluster, GivenCluster
    from ansible_collections.crawl.egress.tests.kubernetes.daemons import Daemons
    from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
    from ansible_collections.crawl.egress.tests.kubernetes.standin import StandIn

ROOT = Path(__file__).resolve().parents[2]
KUBECONFIG = os.environ.get("EGRESS_TEST_KUBERNETES_KUBECONFIG")
STAGED = {"stand_in", "daemons", "real_cluster", "real_namespace", "real_daemons", "programs"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    staged = []
    for item in items:
        wants = set(getattr(item, "fixturenames", ()))
        if KUBECONFIG and STAGED & wants:
            staged.append(item)
        if "real_cluster" in wants:
            item.add_marker(pytest.mark.xdist_group("node"))
    config.hook.pytest_deselected(items=staged)
    items[:] = [item for item in items if item not in staged]


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of what C(make cluster) built."""
    done = subprocess.run([ROOT / "tools" / "cluster.sh", "where"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(done.stderr, pytrace=False)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster | GivenCluster]:
    from ansible_collections.crawl.egress.tests.kubernetes.cluster import Cluster, GivenCluster
    from ansible_collections.crawl.egress.tests.kubernetes.enclosure import enclosed
    from ansible_collections.crawl.egress.tests.kubernetes.standin import add_node

    if KUBECONFIG:
        yield GivenCluster(Path(KUBECONFIG))
        return
    programs = request.getfixturevalue("programs")
    with enclosed(programs, network=False) as enclosure:
        # An address that nobody else uses, so that no port of it is ever taken. No node controller: nobody reports for
        # the stand-in's node.
        first, second = os.urandom(2)
        address = f"127.{1 + first % 250}.{second}.1"
        made = Cluster(programs, enclosure, address, 16443, "--controllers=*,-nodelifecycle")
        add_node(made.api)
        yield made


@pytest.fixture(scope="session")
def _pod_addresses(cluster: Cluster) -> Iterator[str]:
    first = ipaddress.ip_address(cluster.address)
    return (str(first + number) for number in itertools.count(1))


@pytest.fixture
def _place(
    request: pytest.FixtureRequest, cluster: Cluster | GivenCluster, tmp_path: Path
) -> Iterator[tuple[Namespace, StandIn | None]]:
    from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
    from ansible_collections.crawl.egress.tests.kubernetes.standin import StandIn

    namespace = Namespace(cluster.kubeconfig, tmp_path)
    if KUBECONFIG:
        yield namespace, None
    else:
        stand_in = StandIn(cluster.kubeconfig, namespace.name, request.getfixturevalue("_pod_addresses"))
        yield namespace, stand_in
        stand_in.stop()
        cluster.api.delete(f"{namespace.path}/pods?gracePeriodSeconds=0")
    namespace.remove()


@pytest.fixture
def namespace(_place: tuple[Namespace, StandIn | None]) -> Namespace:
    return _place[0]


@pytest.fixture
def stand_in(_place: tuple[Namespace, StandIn]) -> StandIn:
    return _place[1]


@pytest.fixture
def daemons(cluster: Cluster, namespace: Namespace) -> Iterator[Daemons]:
    # asks for the namespace so that all is well again before that is removed
    yield cluster.daemons
    cluster.daemons.restore()


@pytest.fixture(scope="session")
def image() -> str:
    return "localhost/proxy:1"


@pytest.fixture(scope="session")
def real_cluster(programs: Path) -> Iterator[Cluster]:
    from ansible_collections.crawl.egress.tests.kubernetes.node import cluster_with_node

    with cluster_with_node(programs) as made:
        yield made


@pytest.fixture
def real_namespace(real_cluster: Cluster, tmp_path: Path) -> Iterator[Namespace]:
    from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace

    with real_cluster.inside():
        namespace = Namespace(real_cluster.kubeconfig, tmp_path)
        yield namespace
        real_cluster.api.delete(f"{namespace.path}/pods?gracePeriodSeconds=0")
        namespace.remove()


@pytest.fixture
def real_daemons(real_cluster: Cluster, real_namespace: Namespace) -> Iterator[Daemons]:
    yield real_cluster.daemons
    real_cluster.daemons.restore()
