# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Kubernetes control plane on this machine, for as long as a test run lasts."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.crawl.egress.tests.kubernetes.api import Api
from ansible_collections.crawl.egress.tests.kubernetes.certificates import Authority, new_key
from ansible_collections.crawl.egress.tests.kubernetes.daemons import Daemon, Daemons
from ansible_collections.crawl.egress.tests.kubernetes.enclosure import Enclosure, enclosed
from ansible_collections.crawl.egress.tests.kubernetes.standin import add_node
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

SERVICES = "10.96.0.0/24"


class Cluster:
    """etcd, kube-apiserver and kube-controller-manager.

    Args:
        programs: the folder that C(tools/cluster.sh) made.
        enclosure: where they run.
        address: what they listen on.
        port: of the API.
        controllers: flags of kube-controller-manager besides the usual ones.

    Attributes:
        kubeconfig: of an administrator.
        api: the same, opened.
        daemons: to kill and restart.
    """

    def __init__(self, programs: Path, enclosure: Enclosure, address: str, port: int, *controllers: str) -> None:
        self.enclosure = enclosure
        self.programs = programs
        self.address = address
        self.url = f"https://{address}:{port}"
        self._write_credentials()
        self.kubeconfig = enclosure.folder / "kubeconfig"
        self.api = Api(self.kubeconfig)
        self.daemons = Daemons(enclosure)
        self._start(port, controllers)

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """Move the calling thread to where the cluster can be reached, for a while."""
        return self.enclosure.inside()

    def _write_credentials(self) -> None:
        folder = self.enclosure.folder
        authority = Authority("test cluster")
        (folder / "ca.crt").write_bytes(authority.certificate)
        authority.issue("apiserver", [self.address], folder)
        new_key(folder / "accounts.key")
        token = secrets.token_hex(16)
        (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "test", "cluster": {"server": self.url, "certificate-authority": f"{folder}/ca.crt"}}
            ],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        (folder / "kubeconfig").write_text(json.dumps(kubeconfig))  # YAML, too

    def _start(self, port: int, controllers: tuple[str, ...]) -> None:
        folder, programs = self.enclosure.folder, self.programs / "bin"
        etcd, peer = f"http://{self.address}:12379", f"http://{self.address}:12380"

        def etcd_serves() -> bool:
            with urllib.request.urlopen(f"{etcd}/health", timeout=5) as answer:
                return json.load(answer)["health"] == "true"

        def api_serves() -> bool:
            return self.api.get("/readyz") == "ok"

        etcd_flags = {
            "data-dir": folder / "etcd",
            "unsafe-no-fsync": "true",
            "listen-client-urls": etcd,
            "advertise-client-urls": etcd,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "log-level": "error",
        }
        api_flags = {
            "etcd-servers": etcd,
            "bind-address": self.address,
            "advertise-address": self.address,
            "secure-port": port,
            "tls-cert-file": folder / "apiserver.crt",
            "tls-private-key-file": folder / "apiserver.key",
            "token-auth-file": folder / "tokens.csv",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": folder / "accounts.key",
            "service-account-signing-key-file": folder / "accounts.key",
            "authorization-mode": "RBAC",
            "service-cluster-ip-range": SERVICES,
            "endpoint-reconciler-type": "none",
            "kubelet-preferred-address-types": "InternalIP",
            "profiling": "false",
        }
        controller_flags = {
            "kubeconfig": self.kubeconfig,
            "leader-elect": "false",
            "port": 0,
            "secure-port": 0,
            "service-account-private-key-file": folder / "accounts.key",
            "root-ca-file": folder / "ca.crt",
            "kube-api-qps": 500,
            "kube-api-burst": 1000,
        }
        self.daemons.add(Daemon("etcd", [Path(sys.prefix, "bin", "etcd"), *flags(etcd_flags)], etcd_serves))
        self.daemons.add(Daemon("kube-apiserver", [programs / "kube-apiserver", *flags(api_flags)], api_serves))
        command = [programs / "kube-controller-manager", *flags(controller_flags), *controllers]
        self.daemons.add(Daemon("kube-controller-manager", command, lambda: True))


def built_programs() -> Path:
    """Return the folder of what C(make cluster) built.

    Raises:
        RuntimeError: there is none.
    """
    command = [Path(__file__).resolve().parents[2] / "tools" / "cluster.sh", "where"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return Path(done.stdout.strip())


@contextlib.contextmanager
def cluster_on_loopback(programs: Path, controllers: str = "*,-nodelifecycle") -> Iterator[Cluster]:
    """Yield a control plane, with a node for stand-ins of the kubelet.

    Args:
        programs: the folder of what C(make cluster) built.
        controllers: those that run; no node controller by default, since nobody reports for the stand-in's node.
    """
    # An address that nobody else uses, so that no port of it is ever taken.
    first, second = os.urandom(2)
    address = f"127.{1 + first % 250}.{second}.1"
    with enclosed(programs, network=False) as enclosure:
        cluster = Cluster(programs, enclosure, address, 16443, f"--controllers={controllers}")
        add_node(cluster.api)
        yield cluster


class GivenCluster:
    """The user's own cluster: what can be done with one that is not ours to hurt."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.api = Api(kubeconfig)
        self.namespaces: list[str] = []  # the paths of those that tests made and deleted

    def close(self) -> None:
        """Wait until what the tests made is gone."""
        for path in self.namespaces:
            until(f"{path} is gone", lambda path=path: self.api.find(path) is None, seconds=300)

    def inside(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def flags(values: dict[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]
