# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The harness of C(kubernetes): a real API server, a stand-in for the kubelet, and a gate for what goes wrong."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.provider import build
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    DEFAULT_PREFIX,
    Placement,
    Provider,
    ProviderHost,
)
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.harness import (
    PASSWORD_HASH,
    Harness,
    MissingHook,
    Place,
    Refusal,
    Trouble,
    Variant,
)
from ansible_collections.crawl.egress.tests.kubernetes import gate as gates
from ansible_collections.crawl.egress.tests.kubernetes import outcomes
from ansible_collections.crawl.egress.tests.kubernetes.api import Absent, Refused
from ansible_collections.crawl.egress.tests.kubernetes.gate import Answer, Gate, Once
from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
from ansible_collections.crawl.egress.tests.kubernetes.proxies import IMAGE, no_program
from ansible_collections.crawl.egress.tests.kubernetes.rbac import Permission, permissions, rules
from ansible_collections.crawl.egress.tests.kubernetes.standin import StandIn
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

LEAST = permissions("namespace", "network-policy", "service")
FINALIZER = "example.com/kit"
NO_NAMESPACE = {
    "kind": "Status",
    "status": "Failure",
    "message": 'namespaces "absent" not found',
    "reason": "NotFound",
    "details": {"name": "absent", "kind": "namespaces"},
    "code": 404,
}


class KubernetesHarness(Harness):
    """One namespace, as somebody who may do what the documentation says that it takes, and nothing else.

    :cvar options: of the provider's configuration; what a proxy needs besides its Pod, too.
    :param stand_in: None where Pods really run.
    :param granted: other permissions than those.
    """

    settle = 120.0
    patience = 8.0
    options: Mapping[str, Any] = {
        "request_timeout": 2,
        "machine_types": {"small": {"requests": {"cpu": "1m"}}},
        "grace_seconds": 1,
        "service": {},
        "network_policy": True,
    }

    def __init__(
        self, namespace: Namespace, stand_in: StandIn | None, gate: Gate, granted: Sequence[Permission] = LEAST
    ) -> None:
        self._namespace = namespace
        self._stand_in = stand_in
        self._api = namespace.api
        self._gate = gate
        self.credentials = [self._token_of(granted)]
        gate.token_file.write_text(self.credentials[0])

    def build(self, variant: Variant = Variant.FULL, prefix: str = DEFAULT_PREFIX) -> Provider:
        namespace = self._namespace.name if variant is Variant.FULL else "default"
        access = {"host": self._gate.url, "token_file": str(self._gate.token_file)}
        block = {"namespace": namespace, **access, **self.options}
        return build(self.name, block, ProviderHost(no_program, "", mark_prefix=prefix))

    def places(self) -> Sequence[Place]:
        scope = f"namespaces/{self._namespace.name}"
        small = Placement(machine_type="small", image=IMAGE.get("image", "ubuntu/squid:latest"))
        labels = self._api.get("/api/v1/nodes")["items"][0]["metadata"]["labels"]
        zone = {field: labels.get(f"topology.kubernetes.io/{field}") for field in ("region", "zone")}
        return [Place(small, scope), Place(dataclasses.replace(small, **zone), scope)]

    def refusals(self) -> Sequence[Refusal]:
        return [
            Refusal(Placement(region="no label"), "region"),
            Refusal(Placement(zone="-a"), "zone"),
            Refusal(Placement(machine_type="huge"), "machine_type"),
            Refusal(Placement(image="squid 6"), "image"),
        ]

    def relabel(self, provider_id: str, labels: Mapping[str, str | None]) -> None:
        self._api.patch(f"/api/v1/{provider_id}", {"metadata": {"labels": dict(labels)}})

    def backend_calls(self) -> int:
        return len(self._gate.requests)

    def residue(self, name: str) -> Sequence[str]:
        return [kind for kind in ("pods", "services") if self._api.find(f"{self._namespace.path}/{kind}/{name}")]

    def clean(self) -> None:
        path = self._namespace.path
        for pod in self._namespace.pods():
            with contextlib.suppress(Absent):
                self._api.patch(f"{path}/pods/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})
        self._api.delete(f"{path}/pods?gracePeriodSeconds=0")
        self._api.delete(f"{path}/secrets?labelSelector=egress-guest")
        self._api.delete(f"/apis/networking.k8s.io/v1/namespaces/{self._namespace.name}/networkpolicies")
        for service in self._api.get(f"{path}/services")["items"]:
            self._api.delete(f"{path}/services/{service['metadata']['name']}")

    # --- troubles

    @contextlib.contextmanager
    def trouble(self, kind: Trouble, subject: str) -> Iterator[None]:
        troubles: dict[Trouble, Callable[[str], contextlib.AbstractContextManager[None]]] = {
            Trouble.UNRECOGNISED: self._reported(dataclasses.replace(outcomes.RUNNING, phase="Hibernating")),
            Trouble.CANNOT_TELL: self._reported(outcomes.LOST),
            Trouble.DEAD: self._reported(outcomes.FAILED),
            Trouble.NEVER_STARTED: self._reported(outcomes.CREATING),
            Trouble.NO_ADDRESS: self._reported(dataclasses.replace(outcomes.RUNNING, address=False)),
            Trouble.SLOW_DELETE: self._held,
            Trouble.ORPHANED: self._vanished,
            Trouble.PARTIAL: lambda _id: self._gate.spoiled(_breaking_off),
            Trouble.VERBOSE: lambda _id: self._gate.spoiled(_verbose),
            Trouble.SLOW_BOOT: lambda _scope: self._slow_boot(),
            Trouble.UNREACHABLE: lambda _scope: self._gate.spoiled(gates.unreachable),
            Trouble.HANG: lambda _scope: gates.hanging(self._gate),
            Trouble.UNAVAILABLE: self._answered(503, "the backend is being restarted"),
            Trouble.RATE_LIMITED: self._answered(429, "Too many requests, please try again later.\n", "7"),
            Trouble.QUOTA: lambda _scope: self._full(),
            Trouble.UNAUTHORIZED: lambda _scope: self._as_somebody_else("Bearer wrong"),
            Trouble.FORBIDDEN: lambda _scope: self._as_somebody_else(f"Bearer {self._powerless()}"),
            Trouble.LOST_ANSWER: lambda _scope: self._gate.spoiled(Once(lambda r: r.changes, gates.lost_answer)),
            Trouble.GHOST: lambda _scope: self._gate.spoiled(
                Once(lambda r: r.method == "POST", gates.always(Answer(404, NO_NAMESPACE)))
            ),
        }
        if kind not in troubles:
            raise MissingHook(kind.name)
        with troubles[kind](subject):
            yield

    def _answered(
        self, status: int, body: str, retry_after: str | None = None
    ) -> Callable[[str], contextlib.AbstractContextManager[None]]:
        headers = {"Retry-After": retry_after} if retry_after else {}
        return lambda _scope: self._gate.spoiled(gates.always(Answer(status, body, headers)))

    def _reported(self, outcome: outcomes.Outcome) -> Callable[[str], contextlib.AbstractContextManager[None]]:
        stand_in = self._stand_in
        if stand_in is None:
            return lambda provider_id: self._gate.spoiled(gates.telling(outcome, provider_id.rpartition("/")[2]))

        @contextlib.contextmanager
        def trouble(provider_id: str) -> Iterator[None]:
            name = provider_id.rpartition("/")[2]
            self._namespace.wait_for_pod(name)
            stand_in.report(name, outcome)
            if not outcome.address:
                nothing = {"status": {"podIP": None, "podIPs": None}}
                self._api.patch(f"/api/v1/{provider_id}/status", nothing)
            yield
            with contextlib.suppress(Absent):
                stand_in.report(name, outcomes.RUNNING)

        return trouble

    @contextlib.contextmanager
    def _slow_boot(self) -> Iterator[None]:
        if self._stand_in is None:
            with self._gate.spoiled(gates.telling(outcomes.CREATING)):
                yield
            return
        self._stand_in.becomes(outcomes.CREATING)
        try:
            yield
        finally:
            self._stand_in.becomes(outcomes.RUNNING)
            for pod in self._namespace.pods():
                with contextlib.suppress(Absent):  # it was on its way out
                    self._stand_in.report(pod["metadata"]["name"], outcomes.RUNNING)

    @contextlib.contextmanager
    def _held(self, provider_id: str) -> Iterator[None]:
        path = f"/api/v1/{provider_id}"
        self._api.patch(path, {"metadata": {"finalizers": [FINALIZER]}})
        try:
            yield
        finally:
            with contextlib.suppress(Absent):
                self._api.patch(path, {"metadata": {"finalizers": None}})

    @contextlib.contextmanager
    def _vanished(self, provider_id: str) -> Iterator[None]:
        path = f"/api/v1/{provider_id}"
        self._api.delete(f"{path}?gracePeriodSeconds=0")
        until("the Pod is gone", lambda: self._api.find(path) is None)
        yield

    @contextlib.contextmanager
    def _full(self) -> Iterator[None]:
        """A quota that is used up by nothing, and known to admission."""
        quotas = f"{self._namespace.path}/resourcequotas"
        self._api.post(quotas, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
        until("the quota is enforced", lambda: not self._would_be_admitted())
        try:
            yield
        finally:
            self._api.delete(f"{quotas}/none")
            until("the quota is forgotten", self._would_be_admitted)

    def _would_be_admitted(self) -> bool:
        pod = {"metadata": {"name": "trial"}, "spec": {"containers": [{"name": "c", "image": "nowhere:1"}]}}
        try:
            self._api.post(f"{self._namespace.path}/pods?dryRun=All", pod)
        except Refused:
            return False
        return True

    def _as_somebody_else(self, authorization: str) -> contextlib.AbstractContextManager[None]:
        def swap(request: gates.Request, forward: Callable[[gates.Request], Answer]) -> Answer:
            return forward(dataclasses.replace(request, headers={**request.headers, "Authorization": authorization}))

        return self._gate.spoiled(swap)

    def _powerless(self) -> str:
        """The token of somebody who may do nothing with Pods."""
        return self._token_of([Permission("", "configmaps", "get")])

    def _token_of(self, granted: Sequence[Permission]) -> str:
        document = yaml.safe_load(self._namespace.service_account(rules(granted)).read_text())
        return document["users"][0]["user"]["token"]


def _breaking_off(request: gates.Request, forward: Callable[[gates.Request], Answer]) -> Answer:
    """Pages of one instance; the second one is lost."""
    if "limit=" not in request.target:
        return forward(request)
    if "continue=" in request.target:
        return Answer(500, "the page is lost")
    return forward(dataclasses.replace(request, target=request.target.replace("limit=500", "limit=1")))


def _verbose(request: gates.Request, forward: Callable[[gates.Request], Answer]) -> Answer:
    """The log of a Pod, which no kubelet here has; what is asked for is its last 40 lines."""
    if "/log?" not in request.target:
        return forward(request)
    return Answer(200, ("x" * 2_500 + "\n") * 39 + f"user kit {PASSWORD_HASH}\n")
