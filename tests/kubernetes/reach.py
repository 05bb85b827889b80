# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a client on this machine gets to a proxy in a Pod, and what it can fetch through it."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import subprocess
from collections.abc import Iterator

from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
from ansible_collections.crawl.egress.tests.kubernetes.web import serving


@dataclasses.dataclass(frozen=True)
class Origin:
    """A page: its server's address (private in a cluster of the user's), its URL, and a part of its text."""

    address: str
    url: str
    text: str


@dataclasses.dataclass(frozen=True)
class ByAddress:
    """In the network of the test's own cluster: at the Pod's address. The origin is a server on C(outside)."""

    namespace: Namespace
    outside: str

    @contextlib.contextmanager
    def pod(self, name: str, port: int) -> Iterator[str]:
        """Yield C(ADDRESS:PORT) of a Pod that is Ready, for a client here."""
        yield f"{self.namespace.pod(name)['status']['podIP']}:{port}"

    @contextlib.contextmanager
    def origin(self) -> Iterator[Origin]:
        with serving(self.outside, 8080, "hello"):
            yield Origin(self.outside, f"http://{self.outside}:8080/", "hello")


@dataclasses.dataclass(frozen=True)
class ByForwarding:
    """To the Pods of any cluster: a port of the Pod is forwarded. The origin is the API server, seen from inside."""

    namespace: Namespace

    @contextlib.contextmanager
    def pod(self, name: str, port: int) -> Iterator[str]:
        command = ["kubectl", "--kubeconfig", self.namespace.kubeconfig, "port-forward", f"pod/{name}", f":{port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forwarder:
            try:
                line = forwarder.stdout.readline()
                yield re.fullmatch(r"Forwarding from (127\.0\.0\.1:\d+) -> .*\n", line).group(1)
            finally:
                forwarder.terminate()

    @contextlib.contextmanager
    def origin(self) -> Iterator[Origin]:
        address = self.namespace.api.get("/api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"]
        yield Origin(address, f"https://{address}/version", "gitVersion")
