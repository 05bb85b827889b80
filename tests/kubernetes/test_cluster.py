# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The test cluster itself: it is what the tests of the provider take it for, and nothing of it stays behind."""

from __future__ import annotations

import pytest
import urllib3
import yaml

from ansible_collections.crawl.egress.tests.kubernetes import outcomes
from ansible_collections.crawl.egress.tests.kubernetes.api import Api, Refused
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


def pod(name: str, **spec: object) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "nowhere:1"}], **spec}}


def test_the_api_server_is_a_real_one(cluster) -> None:
    version = cluster.api.get("/version")
    assert int(version["minor"].rstrip("+")) >= 20
    with pytest.raises(Refused) as refused:
        cluster.api.post("/api/v1/namespaces", {"metadata": {"name": "Not_A_Name"}})
    assert refused.value.status == 422
    assert refused.value.body["reason"] == "Invalid"


def test_a_namespace_belongs_to_the_test(cluster, namespace) -> None:
    assert namespace.pods() == []
    assert namespace.pod("a") is None
    kubeconfig = yaml.safe_load(namespace.kubeconfig.read_text())
    assert [context["context"]["namespace"] for context in kubeconfig["contexts"]] == [namespace.name]


def test_a_pod_becomes_ready_by_itself_and_goes_when_deleted(namespace, stand_in) -> None:
    namespace.api.post(f"{namespace.path}/pods", pod("a"))
    status = namespace.wait_for_pod("a")["status"]
    assert status["phase"] == "Running"
    assert status["podIP"].startswith("127.")
    namespace.api.delete(f"{namespace.path}/pods/a")
    until("the Pod is gone", lambda: namespace.pod("a") is None)


def test_a_pod_whose_secret_is_not_there_waits_for_it(namespace, stand_in) -> None:
    volume = {"name": "v", "secret": {"secretName": "later"}}
    for name, spec in (("a", {"volumes": [volume]}), ("b", {})):
        namespace.api.post(f"{namespace.path}/pods", pod(name, **spec))
    namespace.wait_for_pod("b")
    assert namespace.pod("a")["status"]["phase"] == "Pending"
    namespace.api.post(f"{namespace.path}/secrets", {"metadata": {"name": "later"}})
    namespace.wait_for_pod("a")


def test_pods_have_addresses_of_their_own(namespace, stand_in) -> None:
    for number in range(20):
        namespace.api.post(f"{namespace.path}/pods", pod(f"a{number}"))
    addresses = {namespace.wait_for_pod(f"a{number}")["status"]["podIP"] for number in range(20)}
    assert len(addresses) == 20


@pytest.mark.parametrize(
    "outcome",
    [
        outcomes.NOT_READY,
        outcomes.CREATING,
        outcomes.SUCCEEDED,
        outcomes.FAILED,
        outcomes.EVICTED,
        outcomes.UNREACHABLE,
        outcomes.LOST,
        outcomes.UNKNOWN,
        outcomes.stuck("ImagePullBackOff", 'Back-off pulling image "nowhere:1"'),
        outcomes.crashing(3, "back-off 40s restarting failed container"),
        outcomes.unschedulable("0/1 nodes are available: 1 Insufficient cpu."),
    ],
    ids=lambda outcome: f"{outcome.phase}-{outcome.reason or outcome.state}",
)
def test_a_pod_becomes_what_the_test_says(outcome, namespace, stand_in) -> None:
    stand_in.becomes(outcome, "chosen")
    for name in ("other", "chosen"):
        namespace.api.post(f"{namespace.path}/pods", pod(name))
    namespace.wait_for_pod("other")
    for name in ("chosen", "other"):
        stand_in.report(name, outcome)  # a Pod may become it later, too
        status = until("the status is written", lambda name=name: told(namespace.pod(name)))
        assert status["phase"] == outcome.phase
        assert status.get("reason") == outcome.reason
        assert ("podIP" in status) == outcome.address
        if outcome.state is not None:
            ((kind, details),) = status["containerStatuses"][0]["state"].items()
            assert outcome.state == {kind: {k: v for k, v in details.items() if k in ("reason", "message", "exitCode")}}
    assert ("nodeName" in namespace.pod("chosen")["spec"]) == (outcome.unscheduled is None)


def told(a_pod):
    return a_pod["status"] if a_pod["status"].get("conditions") or a_pod["status"].get("reason") else None


def test_a_paused_stand_in_does_nothing_until_it_goes_on(namespace, stand_in) -> None:
    namespace.api.post(f"{namespace.path}/pods", pod("old"))
    namespace.wait_for_pod("old")
    stand_in.pause()
    namespace.api.post(f"{namespace.path}/pods", pod("new"))
    namespace.api.delete(f"{namespace.path}/pods/old")
    assert "deletionTimestamp" in namespace.pod("old")["metadata"]
    assert namespace.pod("new")["status"]["phase"] == "Pending"
    stand_in.resume()
    namespace.wait_for_pod("new")
    until("the Pod is gone", lambda: namespace.pod("old") is None)


def test_a_service_account_may_do_what_it_was_given_and_no_more(namespace) -> None:
    api = Api(namespace.service_account([READ_PODS]))
    assert api.get(f"{namespace.path}/pods")["items"] == []
    with pytest.raises(Refused, match="cannot create resource") as refused:
        api.post(f"{namespace.path}/pods", pod("a"))
    assert refused.value.status == 403
    with pytest.raises(Refused):
        api.get("/api/v1/pods")

    everywhere = Api(namespace.service_account([], [READ_PODS]))
    everywhere.get("/api/v1/pods")


def test_quota_is_counted(namespace) -> None:
    namespace.api.post(
        f"{namespace.path}/resourcequotas", {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    )
    until("it counts", lambda: namespace.api.get(f"{namespace.path}/resourcequotas/few")["status"].get("used"))
    namespace.api.post(f"{namespace.path}/pods", pod("a"))
    with pytest.raises(Refused, match="exceeded quota: few") as refused:
        namespace.api.post(f"{namespace.path}/pods", pod("b"))
    assert refused.value.status == 403


def test_the_api_server_can_be_killed_and_comes_back_with_other_flags(namespace, daemons, stand_in) -> None:
    namespace.api.post(f"{namespace.path}/pods", pod("a"))
    daemons.kill("kube-apiserver")
    with pytest.raises(urllib3.exceptions.HTTPError):
        namespace.pod("a")
    daemons.start("kube-apiserver", "--disable-admission-plugins=ServiceAccount", "--anonymous-auth=false")
    namespace.wait_for_pod("a")
    namespace.api.post(f"{namespace.path}/pods", pod("b", serviceAccountName="nobody-knows"))
    namespace.wait_for_pod("b")


def test_after_that_it_has_its_own_flags_again(namespace) -> None:
    with pytest.raises(Refused, match="nobody-knows") as refused:
        namespace.api.post(f"{namespace.path}/pods", pod("b", serviceAccountName="nobody-knows"))
    assert refused.value.status == 403


def test_a_paused_api_server_keeps_its_clients_waiting(namespace, daemons) -> None:
    daemons.pause("kube-apiserver")
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        namespace.api.send("GET", namespace.path, timeout=0.5)
    daemons.resume("kube-apiserver")
    namespace.api.get(namespace.path)


def test_etcd_can_be_killed_and_has_lost_nothing(namespace, daemons) -> None:
    namespace.api.post(f"{namespace.path}/configmaps", {"metadata": {"name": "kept"}})
    daemons.kill("etcd")
    with pytest.raises(Refused) as refused:
        namespace.api.get("/readyz")
    assert refused.value.status == 500
    daemons.restore()
    namespace.api.get(f"{namespace.path}/configmaps/kept")
