# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The test cluster with a node: Pods of it run, serve at their addresses, and nothing of them is seen from outside."""

from __future__ import annotations

import socket
import subprocess
import threading

import pytest

from ansible_collections.crawl.egress.tests.kubernetes import node, outcomes
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until
from ansible_collections.crawl.egress.tests.kubernetes.web import fetch, serving

SQUID = """\
http_port 3128
http_access allow all
pid_filename none
cache deny all
access_log none
cache_log /dev/stderr
cache_effective_user proxy
shutdown_lifetime 1 second
pinger_enable off
visible_hostname squid
"""


def squid(name: str, image: str, **spec: object) -> dict[str, object]:
    container = {
        "name": "squid",
        "image": image,
        "command": ["squid", "-N", "-f", "/configuration/squid.conf"],
        "volumeMounts": [{"name": "configuration", "mountPath": "/configuration"}],
        "readinessProbe": {"tcpSocket": {"port": 3128}, "periodSeconds": 1},
    }
    volume = {"name": "configuration", "configMap": {"name": "squid"}}
    return {
        "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container], "volumes": [volume], **spec},
    }


@pytest.fixture
def run_squid(real_namespace, image):
    """Run a Squid in a Pod, and return the Pod."""
    api, path = real_namespace.api, real_namespace.path
    api.post(f"{path}/configmaps", {"metadata": {"name": "squid"}, "data": {"squid.conf": SQUID}})

    def run(name: str, **spec: object) -> dict[str, object]:
        api.post(f"{path}/pods", squid(name, image, **spec))
        return real_namespace.wait_for_pod(name)

    return run


def test_a_client_fetches_a_page_through_a_squid_pod(run_squid, reach) -> None:
    run_squid("a")
    with reach.origin() as origin, reach.pod("a", 3128) as proxy:
        page = fetch(origin.url, f"http://{proxy}")
    assert page.status == 200
    assert origin.text in page.text


def test_it_is_at_the_pods_address_and_the_page_comes_through_it(run_squid, real_cluster) -> None:
    address = run_squid("a")["status"]["podIP"]
    with serving(node.OUTSIDE, 8080, "hello") as clients:
        page = fetch(f"http://{node.OUTSIDE}:8080/", f"http://{address}:3128")
    assert (page.status, page.text) == (200, "hello")
    assert "squid" in page.headers["Via"]
    assert clients == [address]


def test_a_deleted_pod_serves_no_more(run_squid, real_namespace, real_cluster) -> None:
    address = run_squid("a")["status"]["podIP"]
    real_namespace.api.delete(f"{real_namespace.path}/pods/a")
    until("the Pod is gone", lambda: real_namespace.pod("a") is None)
    with pytest.raises(OSError):
        fetch(f"http://{node.OUTSIDE}:8080/", f"http://{address}:3128", seconds=2)


def test_a_pod_reaches_the_metadata_server_unless_its_squid_refuses(run_squid, real_cluster) -> None:
    address = run_squid("a")["status"]["podIP"]
    with serving(node.METADATA, 80, "secret"):
        assert fetch(f"http://{node.METADATA}/", f"http://{address}:3128").text == "secret"


def test_a_pod_is_placed_where_its_affinity_says_or_says_why_not(
    run_squid, real_namespace, real_cluster, image
) -> None:
    def affinity(zone: str) -> dict[str, object]:
        term = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
        return {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
            }
        }

    run_squid("here", affinity=affinity(node.LABELS["topology.kubernetes.io/zone"]))
    real_namespace.api.post(f"{real_namespace.path}/pods", squid("nowhere", image, affinity=affinity("elsewhere")))

    def reasons() -> list[str]:
        conditions = real_namespace.pod("nowhere")["status"].get("conditions", [])
        return [c.get("reason") for c in conditions if c["type"] == "PodScheduled"]

    assert until("the scheduler has looked at it", reasons) == ["Unschedulable"]


def test_an_image_that_is_not_there_is_the_pods_condition(real_namespace) -> None:
    pod = squid("a", "localhost/absent:1")
    pod["spec"]["containers"][0]["imagePullPolicy"] = "Never"
    pod["spec"]["volumes"] = []
    pod["spec"]["containers"][0]["volumeMounts"] = []
    real_namespace.api.post(f"{real_namespace.path}/pods", pod)

    def reason() -> str | None:
        statuses = real_namespace.pod("a")["status"].get("containerStatuses")
        return statuses[0]["state"]["waiting"]["reason"] if statuses else None

    until("the kubelet says so", lambda: reason() == "ErrImageNeverPull")


def test_logs_and_commands_pass_through_the_api_server(run_squid, real_namespace, programs) -> None:
    run_squid("a")
    assert "Starting Squid" in real_namespace.api.get(f"{real_namespace.path}/pods/a/log")
    kubectl = [programs / "bin" / "kubectl", "--kubeconfig", real_namespace.kubeconfig]
    assert "uid=" in subprocess.check_output([*kubectl, "exec", "a", "--", "id"], text=True)


def test_a_node_without_kubelet_is_found_out_as_the_stand_in_says(run_squid, real_namespace, real_daemons) -> None:
    def conditions(status: dict[str, object]) -> dict[str, tuple[str, str | None]]:
        return {c["type"]: (c["status"], c.get("reason")) for c in status["conditions"]}

    pod = run_squid("a")
    assert conditions(pod["status"]) == conditions(outcomes.RUNNING.status(pod, ""))
    real_daemons.kill("kubelet")
    lost = conditions(outcomes.UNREACHABLE.status(pod, ""))
    until("the node controller has found out", lambda: conditions(real_namespace.pod("a")["status"]) == lost)
    real_daemons.restore()
    real_namespace.wait_for_pod("a")


def test_only_the_test_is_inside(real_cluster) -> None:
    def links() -> set[str]:
        return {name for _index, name in socket.if_nameindex()}

    outside, go, seen = links(), threading.Event(), []

    def watch() -> None:
        go.wait()
        seen.append(links())

    thread = threading.Thread(target=watch)
    thread.start()
    with real_cluster.inside():
        inside = links()
        go.set()
        thread.join()
    assert node.BRIDGE in inside
    assert seen == [outside]
    assert links() == outside
    assert node.BRIDGE not in outside
