# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The permissions that the documentation asks for: enough (C(test_conformance.py)), and not one too many."""

from __future__ import annotations

import json

import pytest

from ansible_collections.crawl.egress.plugins.module_utils.provider import Scope
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import Outcome, run
from ansible_collections.crawl.egress.tests.kubernetes.harness import LEAST, KubernetesHarness
from ansible_collections.crawl.egress.tests.kubernetes.proxies import ctx, listing, provider, reference, request
from ansible_collections.crawl.egress.tests.kubernetes.rbac import Permission, documents, permissions, rules

#: A case of the conformance kit that fails without one verb on what Create makes besides a Pod.
BESIDES = {
    "create": "create-writes-the-marks",
    "get": "create-after-a-crash-adopts",
    "patch": "create-after-a-crash-adopts",
    "list": "leftovers-are-found-and-removed",
    "delete": "leftovers-are-found-and-removed",
}
CASES = {
    Permission("", "pods", "create"): "create-writes-the-marks",
    Permission("", "pods", "get"): "get-after-delete-is-not-found",
    Permission("", "pods", "list"): "list-shows-what-get-shows",
    Permission("", "pods", "delete"): "delete-twice",
    Permission("", "pods", "patch"): "mark-is-set-and-removed",
    **{Permission("", "secrets", verb): case for verb, case in BESIDES.items()},
    **{Permission("", "services", verb): case for verb, case in BESIDES.items()},
    **{Permission("networking.k8s.io", "networkpolicies", verb): case for verb, case in BESIDES.items()},
}
INSIGHT = permissions("insight")


def test_every_permission_has_a_case():
    assert set(CASES) == set(LEAST)
    assert len(LEAST) == len(set(LEAST))


@pytest.mark.parametrize("permission", LEAST, ids=str)
def test_without_one_permission_a_case_fails(permission, namespace, any_stand_in, gate) -> None:
    granted = [each for each in LEAST if each != permission]
    (result,) = run(KubernetesHarness(namespace, any_stand_in, gate, granted), only=[CASES[permission]])
    assert result.outcome is Outcome.FAILED
    assert "Forbidden" in result.message
    assert f"cannot {permission.verb} resource" in result.message
    assert permission.resource in result.message


def test_a_plain_entry_needs_nothing_but_the_first_file(namespace) -> None:
    lab = provider(namespace, namespace.service_account(rules(permissions("namespace"))))
    created = lab.create(request(namespace), ctx())
    again = provider(namespace, namespace.service_account(rules(permissions("namespace"))))
    again.create(request(namespace), ctx())
    again.set_mark(reference(created), "hold", "1", ctx())
    assert len(listing(again).instances) == 1
    (status,) = again.check(ctx())
    assert status.ready
    again.delete(reference(created), ctx())


def insight(namespace, granted) -> tuple[str, str]:
    """What the check says of quotas, and a diagnosis."""
    may = namespace.service_account(rules([*permissions("namespace"), *granted]))
    lab = provider(namespace, may)
    created = lab.create(request(namespace), ctx())
    (status,) = lab.check(ctx())
    assert status.ready
    return json.dumps(status.details), lab.diagnose(reference(created), ctx())


@pytest.fixture
def quota(namespace):
    path = f"{namespace.path}/resourcequotas"
    namespace.api.post(path, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "5"}}})


def test_with_insight_nothing_is_hidden(namespace, quota) -> None:
    details, diagnosis = insight(namespace, INSIGHT)
    assert "not readable" not in details
    assert "cannot" not in diagnosis


@pytest.mark.parametrize("permission", INSIGHT, ids=str)
def test_without_one_kind_of_insight_that_is_said(permission, namespace, quota) -> None:
    details, diagnosis = insight(namespace, [each for each in INSIGHT if each != permission])
    told = details if permission.resource == "resourcequotas" else diagnosis
    assert "not readable: " in told
    assert f"cannot {permission.verb} resource" in told


def test_all_namespaces_need_the_cluster_role(namespace) -> None:
    (everywhere,) = permissions("all-namespaces")
    plain = rules(permissions("namespace"))
    scope = Scope("namespaces/*")
    for cluster_rules, complete in (([everywhere.rule], True), ([], False)):
        lab = provider(namespace, namespace.service_account(plain, cluster_rules), all_namespaces=True)
        assert listing(lab).scopes[scope].complete is complete


@pytest.mark.parametrize("name", ["namespace", "network-policy", "service", "insight", "all-namespaces"])
def test_the_files_are_accepted(name, namespace) -> None:
    """By the API server, in a namespace of the user's choice."""
    for document in documents(name):
        group = document["apiVersion"] if "/" in document["apiVersion"] else ""
        root = f"/apis/{group}" if group else "/api/v1"
        where = ""
        if document["metadata"].get("namespace"):
            document["metadata"]["namespace"] = namespace.name
            where = f"/namespaces/{namespace.name}"
        plural = document["kind"].lower() + "s"
        namespace.api.post(f"{root}{where}/{plural}?dryRun=All", document)
