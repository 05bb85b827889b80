# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A namespace for one test."""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.crawl.egress.tests.kubernetes.api import Absent, Api, Refused, changed_kubeconfig
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

RBAC = "/apis/rbac.authorization.k8s.io/v1"
Rule = dict[str, list[str]]
LIST_PODS: Rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


class Namespace:
    """Everything in it is the test's.

    Attributes:
        kubeconfig: an administrator's, with this as the default namespace.
        api: the cluster, for the same administrator.
        path: of the namespace in the API.
    """

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.name = f"egress-test-{secrets.token_hex(4)}"
        self.path = f"/api/v1/namespaces/{self.name}"
        self.kubeconfig = changed_kubeconfig(kubeconfig, folder / self.name, namespace=self.name)
        self.api = Api(self.kubeconfig)
        self._cluster_wide: list[str] = []
        self.api.post("/api/v1/namespaces", {"metadata": {"name": self.name}})
        until("its default service account is there", self._has_account)

    def remove(self) -> None:
        """Delete it, and what was made for it outside of it. It may take a while to go."""
        for pod in self.pods():
            if pod["metadata"].get("finalizers"):
                self.api.patch(f"{self.path}/pods/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})
        for path in [*self._cluster_wide, self.path]:
            with contextlib.suppress(Absent):
                self.api.delete(path)
        self.api.close()

    def _has_account(self) -> bool:
        """A controller makes it, and in old clusters its token; no Pod is admitted before."""
        pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        try:
            self.api.post(f"{self.path}/pods?dryRun=All", pod)
        except Refused as refused:
            return "service account" not in refused.body["message"]
        return True

    @functools.cached_property
    def token(self) -> str:
        """Of somebody who may do anything here, and list Pods everywhere."""
        anything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        kubeconfig = self.service_account([anything], [LIST_PODS])
        return yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]

    @property
    def token_file(self) -> Path:
        """Where it lies, on a line."""
        file = self.kubeconfig.with_name(f"{self.name}.token")
        file.write_text(f"{self.token}\n")
        return file

    def pods(self) -> list[dict[str, Any]]:
        return self.api.get(f"{self.path}/pods")["items"]

    def pod(self, name: str) -> dict[str, Any] | None:
        return self.api.find(f"{self.path}/pods/{name}")

    def wait_for_pod(self, name: str, seconds: float = 60) -> dict[str, Any]:
        """Return the Pod when it is Ready."""

        def ready() -> dict[str, Any] | None:
            pod = self.pod(name)
            conditions = pod["status"].get("conditions", []) if pod else []
            return pod if any(c["type"] == "Ready" and c["status"] == "True" for c in conditions) else None

        return until(f"Pod {name} is ready", ready, seconds)

    def service_account(self, rules: Sequence[Rule], cluster_rules: Sequence[Rule] = ()) -> Path:
        """Make a service account that may do just this here, and that everywhere; return a kubeconfig with its token.

        Rules are those of a Role: C({"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}).
        """
        account = f"account-{secrets.token_hex(4)}"
        self.api.post(f"{self.path}/serviceaccounts", {"metadata": {"name": account}})
        self._grant(account, f"{RBAC}/namespaces/{self.name}", "Role", rules)
        if cluster_rules:
            name = f"{self.name}-{account}"
            self._cluster_wide += [f"{RBAC}/clusterroles/{name}", f"{RBAC}/clusterrolebindings/{name}"]
            self._grant(account, RBAC, "ClusterRole", cluster_rules, name)
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        token = self.api.post(f"{self.path}/serviceaccounts/{account}/token", request)["status"]["token"]
        kubeconfig = changed_kubeconfig(self.kubeconfig, self.kubeconfig.with_name(account), token=token)
        self._wait_for_grants(kubeconfig, rules, cluster_rules)
        return kubeconfig

    def _grant(self, account: str, path: str, kind: str, rules: Sequence[Rule], name: str = "") -> None:
        meta = {"name": name or account}
        self.api.post(f"{path}/{kind.lower()}s", {"metadata": meta, "rules": list(rules)})
        binding = {
            "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": meta["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.name}],
        }
        self.api.post(f"{path}/{kind.lower()}bindings", binding)

    def _wait_for_grants(self, kubeconfig: Path, rules: Sequence[Rule], cluster_rules: Sequence[Rule]) -> None:
        """Wait until the API server has learnt of the roles: that takes it a moment."""
        api = Api(kubeconfig)
        for namespace, granted in ((self.name, rules), ("", cluster_rules)):
            for rule in granted:
                resource, _slash, subresource = rule["resources"][0].partition("/")
                attributes = {
                    "namespace": namespace,
                    "group": rule["apiGroups"][0],
                    "resource": resource,
                    "subresource": subresource,
                    "name": rule.get("resourceNames", [""])[0],
                    "verb": rule["verbs"][0],
                }
                until(f"{rule} is granted", lambda attributes=attributes: _may(api, attributes))
        api.close()


def _may(api: Api, attributes: dict[str, str]) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    try:
        return api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)["status"]["allowed"]
    except Refused as refused:
        if refused.status != 401:  # nor does it know the account at once
            raise
        return False
