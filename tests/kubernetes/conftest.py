# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real Kubernetes API for the tests of the C(kubernetes) provider.

C(make cluster) builds it once per machine. With EGRESS_TEST_KUBERNETES_KUBECONFIG set, the cluster of that file is used
instead, with Pods of the image that EGRESS_TEST_KUBERNETES_IMAGE names: tests that stage what a cluster of the user's
can't be made to do are left out, and named in a warning at the end; nothing is touched but namespaces that the tests
make (and cluster roles that bear their names). Its Pods are reached with C(kubectl).

| fixture | scope | is | with a cluster of the user's |
| --- | --- | --- | --- |
| C(cluster) | session | a control plane on loopback; no Pod of it runs | that cluster |
| C(namespace) | test | a namespace of C(cluster); a stand-in for the kubelet makes its Pods Ready | a namespace |
| C(stand_in) | test | that stand-in: to decide what becomes of Pods | no |
| C(any_stand_in) | test | the same, for tests that can do without | None |
| C(gate) | test | a way to the API server on which requests are counted and spoiled | the same |
| C(daemons) | test | the daemons of C(cluster): to kill, pause and restart; all is well again after the test | no |
| C(real_namespace) | test | a namespace whose Pods run; the test's thread can reach them | a namespace |
| C(reach) | test | the way to Pods of C(real_namespace), and something to fetch through them | the same |
| C(image) | session | the image of Squid for C(real_namespace) | the one given |
| C(real_cluster) | session | the cluster of C(real_namespace): one node, in a network namespace of its own | no |
| C(real_daemons) | test | its daemons, C(kubelet) among them | no |
| C(programs) | session | the folder of what C(make cluster) built: C(bin/kubectl) | no |

With pytest-xdist each worker has a cluster of its own, so that a test may kill it; with C(--dist loadgroup) all tests
that need the real node are one worker's.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # at run time only inside functions: this file may be loaded before the root's makes that possible
    from ansible_collections.crawl.egress.tests.kubernetes.cluster import Cluster, GivenCluster
    from ansible_collections.crawl.egress.tests.kubernetes.daemons import Daemons
    from ansible_collections.crawl.egress.tests.kubernetes.gate import Gate
    from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
    from ansible_collections.crawl.egress.tests.kubernetes.reach import ByAddress, ByForwarding
    from ansible_collections.crawl.egress.tests.kubernetes.standin import StandIn

KUBECONFIG = os.environ.get("EGRESS_TEST_KUBERNETES_KUBECONFIG")
IMAGE = os.environ.get("EGRESS_TEST_KUBERNETES_IMAGE", "ubuntu/squid:latest")
STAGED = {"stand_in", "daemons", "real_cluster", "real_daemons", "programs"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    staged = []
    for item in items:
        wants = set(getattr(item, "fixturenames", ()))
        if KUBECONFIG and STAGED & wants:
            staged.append(item)
        if wants & {"real_cluster", "real_namespace"}:
            item.add_marker(pytest.mark.xdist_group("node"))
    if staged:
        config.hook.pytest_deselected(items=staged)
        items[:] = [item for item in items if item not in staged]
        # a warning, since it is told at the end of the run, with pytest-xdist too
        names = ", ".join(sorted({item.nodeid.partition("[")[0].rpartition("/")[2] for item in staged}))
        message = f"{len(staged)} tests need a cluster that they may hurt, and did NOT run on {KUBECONFIG}: {names}"
        warnings.warn(pytest.PytestWarning(message), stacklevel=1)


@pytest.fixture(scope="session")
def programs() -> Path:
    from ansible_collections.crawl.egress.tests.kubernetes.cluster import built_programs

    return built_programs()


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster | GivenCluster]:
    from ansible_collections.crawl.egress.tests.kubernetes.cluster import GivenCluster, cluster_on_loopback

    if KUBECONFIG:
        with contextlib.closing(GivenCluster(Path(KUBECONFIG))) as given:
            yield given
    else:
        with cluster_on_loopback(request.getfixturevalue("programs")) as made:
            yield made


@pytest.fixture(scope="session")
def _pod_addresses(cluster: Cluster) -> Iterator[int]:
    return itertools.count(int(ipaddress.ip_address(cluster.address)) + 1)


@contextlib.contextmanager
def _namespace_of(cluster: Cluster | GivenCluster, folder: Path) -> Iterator[Namespace]:
    from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace

    namespace = Namespace(cluster.kubeconfig, folder)
    try:
        yield namespace
    finally:
        if KUBECONFIG:
            cluster.namespaces.append(namespace.path)
        else:  # nobody waits for these
            cluster.api.delete(f"{namespace.path}/pods?gracePeriodSeconds=0")
        namespace.remove()


@pytest.fixture
def _place(
    request: pytest.FixtureRequest, cluster: Cluster | GivenCluster, tmp_path: Path
) -> Iterator[tuple[Namespace, StandIn | None]]:
    from ansible_collections.crawl.egress.tests.kubernetes.standin import StandIn

    with _namespace_of(cluster, tmp_path) as namespace:
        if KUBECONFIG:
            yield namespace, None
            return
        addresses = request.getfixturevalue("_pod_addresses")
        with contextlib.closing(StandIn(cluster.kubeconfig, namespace.name, addresses)) as stand_in:
            yield namespace, stand_in


@pytest.fixture
def namespace(_place: tuple[Namespace, StandIn | None]) -> Namespace:
    return _place[0]


@pytest.fixture
def stand_in(_place: tuple[Namespace, StandIn]) -> StandIn:
    return _place[1]


@pytest.fixture
def any_stand_in(_place: tuple[Namespace, StandIn | None]) -> StandIn | None:
    return _place[1]


@pytest.fixture
def gate(namespace: Namespace) -> Iterator[Gate]:
    from ansible_collections.crawl.egress.tests.kubernetes.gate import Gate

    with contextlib.closing(Gate(namespace.api, namespace.token_file)) as gate:
        yield gate


@pytest.fixture
def daemons(cluster: Cluster, namespace: Namespace) -> Iterator[Daemons]:
    # asks for the namespace so that all is well again before that is removed
    yield cluster.daemons
    cluster.daemons.restore()


@pytest.fixture(scope="session")
def image() -> str:
    return IMAGE if KUBECONFIG else "localhost/proxy:1"


@pytest.fixture(scope="session")
def real_cluster(programs: Path) -> Iterator[Cluster]:
    from ansible_collections.crawl.egress.tests.kubernetes.node import cluster_with_node

    with cluster_with_node(programs) as made:
        yield made


@pytest.fixture
def real_namespace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    cluster = request.getfixturevalue("cluster" if KUBECONFIG else "real_cluster")
    with cluster.inside(), _namespace_of(cluster, tmp_path) as namespace:
        yield namespace


@pytest.fixture
def reach(real_namespace: Namespace) -> ByAddress | ByForwarding:
    from ansible_collections.crawl.egress.tests.kubernetes.node import OUTSIDE
    from ansible_collections.crawl.egress.tests.kubernetes.reach import ByAddress, ByForwarding

    return ByForwarding(real_namespace) if KUBECONFIG else ByAddress(real_namespace, OUTSIDE)


@pytest.fixture
def real_daemons(real_cluster: Cluster, real_namespace: Namespace) -> Iterator[Daemons]:
    yield real_cluster.daemons
    real_cluster.daemons.restore()
