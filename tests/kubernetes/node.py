# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster with a real node (scheduler, kubelet, containerd, runc, CNI) in a network namespace of its own.

In there the API has the address that Pods expect it at, so that no kube-proxy is needed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.crawl.egress.tests.kubernetes.cluster import Cluster, flags
from ansible_collections.crawl.egress.tests.kubernetes.daemons import Daemon
from ansible_collections.crawl.egress.tests.kubernetes.enclosure import Enclosure, enclosed
from ansible_collections.crawl.egress.tests.kubernetes.runs import make_cgroup

NODE = "node"
API = "10.96.0.1"
BRIDGE = "cni0"
POD_NETWORK = "10.98.0.0/24"
GATEWAY = "10.98.0.1"  # the node, seen from its Pods
OUTSIDE = "203.0.113.10"  # for servers of the tests: a public address (it is TEST-NET-3)
METADATA = "169.254.169.254"  # where clouds have their metadata server
LABELS = {"topology.kubernetes.io/region": "region-1", "topology.kubernetes.io/zone": "zone-1"}

# Everything that these daemons have a fixed path for lies in one of them.
HIDDEN = ("/run", "/var/lib", "/var/log")


@contextlib.contextmanager
def cluster_with_node(programs: Path) -> Iterator[Cluster]:
    """Yield it when the node is Ready. It can be reached C(inside) only."""
    for path in (programs, Path(__file__)):
        if str(path).startswith(HIDDEN):
            raise RuntimeError(f"the test cluster can't use {path}: it hides {', '.join(HIDDEN)} from its daemons")
    with enclosed(programs, network=True) as enclosure:
        for path in HIDDEN:
            enclosure.run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
        _make_network(enclosure)
        make_cgroup(enclosure.folder.name)
        with enclosure.inside():
            cluster = Cluster(programs, enclosure, API, 443, "--node-monitor-grace-period=10s")
            _start_containerd(cluster)
            _start_scheduler_and_kubelet(cluster)
        yield cluster


def _make_network(enclosure: Enclosure) -> None:
    enclosure.run("ip", "link", "set", "lo", "up")
    for address in (API, OUTSIDE, METADATA):  # on lo: not every kernel has dummy interfaces
        enclosure.run("ip", "address", "add", f"{address}/32", "dev", "lo")
    enclosure.run("ip", "link", "add", BRIDGE, "type", "bridge")
    enclosure.run("ip", "address", "add", f"{GATEWAY}/24", "dev", BRIDGE)
    enclosure.run("ip", "link", "set", BRIDGE, "up")


def _start_containerd(cluster: Cluster) -> None:
    folder = cluster.enclosure.folder
    network = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isDefaultGateway": True,  # the Pods' way to the addresses on lo
        "ipam": {"type": "host-local", "ranges": [[{"subnet": POD_NETWORK, "gateway": GATEWAY}]]},
    }
    (folder / "cni").mkdir()
    _write(folder / "cni" / "10-test.conflist", {"cniVersion": "0.4.0", "name": "test", "plugins": [network]})
    # root in a container may lack the right to make its children less likely to be killed: hence no oom scores
    (folder / "containerd.toml").write_text(f"""\
version = 2
oom_score = 0
[grpc]
address = "/run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:1"
restrict_oom_score_adj = true
disable_apparmor = true
disable_hugetlb_controller = true
tolerate_missing_hugetlb_controller = true
stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{cluster.programs}/cni"
conf_dir = "{folder}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
""")
    programs = cluster.programs / "bin"
    ctr = (programs / "ctr", "--address", "/run/containerd.sock", "--namespace", "k8s.io")

    def serves() -> bool:
        try:
            return bool(cluster.enclosure.run(*ctr, "version"))
        except RuntimeError:
            return False

    command = [programs / "containerd", "--config", folder / "containerd.toml"]
    # it looks for its shim, and the shim for runc, on the path
    cluster.daemons.add(Daemon("containerd", command, serves, {"PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin"}))
    for name in ("pause", "proxy"):
        archive = cluster.programs / "images" / f"{name}.tar"
        cluster.enclosure.run(*ctr, "images", "import", "--snapshotter", "overlayfs", archive)


def _start_scheduler_and_kubelet(cluster: Cluster) -> None:
    folder, programs = cluster.enclosure.folder, cluster.programs / "bin"
    settings = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "address": GATEWAY,
        "readOnlyPort": 0,
        "healthzPort": 0,
        # nobody but the API server is here
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{folder.name}",
        "enforceNodeAllocatable": [],
        "oomScoreAdj": 0,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "hairpinMode": "none",
        "resolvConf": "/dev/null",  # a Pod must not ask a name server outside
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "syncFrequency": "1s",
        "nodeStatusUpdateFrequency": "1s",
        "kubeAPIQPS": 100,
        "kubeAPIBurst": 200,
    }
    _write(folder / "kubelet.json", settings)
    scheduler_flags = {"kubeconfig": cluster.kubeconfig, "leader-elect": "false", "port": 0, "secure-port": 0}
    kubelet_flags = {
        "config": folder / "kubelet.json",
        "kubeconfig": cluster.kubeconfig,
        "container-runtime": "remote",
        "container-runtime-endpoint": "unix:///run/containerd.sock",
        "hostname-override": NODE,
        "node-ip": GATEWAY,
        "node-labels": ",".join(f"{key}={value}" for key, value in LABELS.items()),
        "volume-plugin-dir": "/var/lib/kubelet/volume-plugins",
    }

    def node_is_ready() -> bool:
        node = cluster.api.find(f"/api/v1/nodes/{NODE}")
        conditions = node["status"].get("conditions", []) if node else []
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    command = [programs / "kube-scheduler", *flags(scheduler_flags)]
    cluster.daemons.add(Daemon("kube-scheduler", command, lambda: True))
    command = [programs / "kubelet", *flags(kubelet_flags)]
    # else it asks the cloud's metadata server for registry credentials
    env = {"AWS_EC2_METADATA_DISABLED": "true"}
    cluster.daemons.add(Daemon("kubelet", command, node_is_ready, env))


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document))
