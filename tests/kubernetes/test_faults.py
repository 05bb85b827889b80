# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input, and everything that can go wrong with a cluster, on a real API server and over whole runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._names import derived_uid, instance_name
from ansible_collections.crawl.egress.plugins.module_utils.provider import DeleteOutcome, Reason
from ansible_collections.crawl.egress.tests.kubernetes import gate as gates
from ansible_collections.crawl.egress.tests.kubernetes import outcomes
from ansible_collections.crawl.egress.tests.kubernetes.fleets import Converging, converge, document, told
from ansible_collections.crawl.egress.tests.kubernetes.gate import Once
from ansible_collections.crawl.egress.tests.kubernetes.proxies import (
    ctx,
    listing,
    provider,
    reference,
    refused,
    request,
    wait_for,
)
from ansible_collections.crawl.egress.tests.kubernetes.rbac import permissions, rules
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until


def pod_of(index: int, install: str = "tests") -> str:
    """The name of the Pod of a pool's member."""
    return instance_name(derived_uid(install, "default", f"pool-{index}"))


def plural(resource: str, method: str) -> Callable[[gates.Request], bool]:
    """Whether a request is about objects of this kind."""
    return lambda request: request.method == method and f"/{resource}" in request.path


# --- the namespace


def test_a_missing_namespace(namespace) -> None:
    absent = f"{namespace.name}-absent"
    result = converge(document(namespace, absent, 3))
    assert (result["failed"], result["outcome"]) == (True, "needs_attention")
    assert {row["reason"] for row in result["failures"]} == {"InvalidConfig"}
    assert f'namespaces "{absent}" not found' in result["msg"]
    (call,) = (row for row in result["calls"] if row["op"] == "create")
    assert call["calls"] == 3
    (finding,) = converge(document(namespace, absent, 3), check_mode=True)["preflight"]
    assert (finding["proxies"], finding["message"]) == (3, f'InvalidConfig: namespaces "{absent}" not found')


def test_another_namespace_in_the_document_lifts_the_latch(namespace, tmp_path) -> None:
    absent = f"{namespace.name}-absent"
    assert converge(document(namespace, absent, 1), state_dir=str(tmp_path))["failed"]
    again = converge(document(namespace, absent, 1), state_dir=str(tmp_path))
    assert not [row for row in again["calls"] if row["op"] == "create"]
    assert converge(document(namespace, namespace, 1), state_dir=str(tmp_path))["outcome"] == "converged"


def test_a_namespace_that_is_being_deleted(namespace) -> None:
    assert converge(document(namespace, namespace, 1))["outcome"] == "converged"
    namespace.api.patch(f"{namespace.path}/pods/{pod_of(0)}", {"metadata": {"finalizers": ["example.com/kept"]}})
    namespace.api.delete(namespace.path)
    lab = provider(namespace)
    error = refused(lambda: lab.create(request(namespace), ctx()), Reason.BUSY)
    assert "because it is being terminated" in error.message
    (status,) = lab.check(ctx())
    assert (status.ready, status.reason) == (False, "NamespaceTerminating")
    result = converge(document(namespace, namespace, 2), wait=False)
    assert {row["reason"] for row in result["failures"]} == {"Busy"}
    assert {row["class"] for row in result["failures"]} == {"Transient"}


# --- names and owners


def test_the_name_is_taken_by_a_strangers_pod(namespace) -> None:
    spec = {"containers": [{"name": "c", "image": "nowhere:1"}]}
    namespace.api.post(f"{namespace.path}/pods", {"metadata": {"name": pod_of(0)}, "spec": spec})
    before = namespace.pod(pod_of(0))["metadata"]
    result = converge(document(namespace, namespace, 2))
    assert result["failed"]
    (failure,) = result["failures"]
    assert (failure["name"], failure["class"], failure["reason"]) == ("pool-0", "Permanent", "Conflict")
    assert "is there already, and is not ours: it has no label proxy-operator-managed" in failure["message"]
    after = namespace.pod(pod_of(0))["metadata"]
    assert after["uid"] == before["uid"]
    assert "labels" not in after
    assert "deletionTimestamp" not in after
    assert result["counts"]["running"] == 1


def test_labels_wiped_by_somebody_else(namespace) -> None:
    desired = document(namespace, namespace, 3)
    converge(desired)
    wiped = dict.fromkeys(namespace.pod(pod_of(0))["metadata"]["labels"])
    namespace.api.patch(f"{namespace.path}/pods/{pod_of(0)}", {"metadata": {"labels": wiped}})
    namespace.api.patch(f"{namespace.path}/pods/{pod_of(1)}", {"metadata": {"labels": {"proxy-operator-uid": None}}})
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in namespace.pods()}
    result = converge(desired)
    assert {row["name"]: row["reason"] for row in result["failures"]} == {"pool-0": "Conflict", "pool-1": "Conflict"}
    assert {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in namespace.pods()} == before
    assert result["counts"]["running"] == 1


def test_an_evicted_pod_that_still_has_the_name_is_replaced(namespace, stand_in) -> None:
    desired = document(namespace, namespace, 2)
    converge(desired)
    before = namespace.pod(pod_of(0))["metadata"]["uid"]
    stand_in.report(pod_of(0), outcomes.EVICTED)
    result = converge(desired)
    assert result["outcome"] == "converged", told(result)
    (action,) = result["actions"]
    assert (action["verb"], action["cause"], action["note"]) == ("replace", "dead", "Terminated: Evicted")
    assert namespace.pod(pod_of(0))["metadata"]["uid"] != before


def test_a_pod_deleted_and_recreated_between_list_and_delete_is_spared(namespace, gate) -> None:
    lab = provider(namespace)
    old = lab.create(request(namespace), ctx())
    (seen,) = listing(lab).instances
    namespace.api.delete(f"{namespace.path}/pods/{seen.name}?gracePeriodSeconds=0")
    new = lab.create(request(namespace), ctx())
    assert new.incarnation != old.incarnation
    assert lab.delete(seen.ref, ctx()).outcome is DeleteOutcome.GONE
    assert namespace.pod(seen.name)["metadata"]["uid"] == new.incarnation
    assert "deletionTimestamp" not in namespace.pod(seen.name)["metadata"]


def test_the_same_in_the_middle_of_a_run(namespace, gate) -> None:
    """Another run replaces what this one is about to delete: it finds that out, and takes the new one."""
    patient = {"request_timeout": 60, "grace_seconds": 1}  # the other run takes its time in the middle of a request
    converge(document(gate, namespace, 1, **patient))
    changed = document(gate, namespace, 1, labels={"team": "crawl"}, **patient)

    def replaced_first(request_, forward):
        converge(document(namespace, namespace, 1, labels={"team": "crawl"}, **patient))
        replaced_first.uid = namespace.pod(pod_of(0))["metadata"]["uid"]
        return forward(request_)

    with gate.spoiled(Once(plural("pods", "DELETE"), replaced_first)):
        result = converge(changed)
    assert result["outcome"] == "converged", told(result)
    assert namespace.pod(pod_of(0))["metadata"]["uid"] == replaced_first.uid
    assert [action["result"] for action in result["actions"]] == [["deleted", "adopted"]]


def test_a_finalizer_that_never_goes(namespace) -> None:
    converge(document(namespace, namespace, 2))
    namespace.api.patch(f"{namespace.path}/pods/{pod_of(0)}", {"metadata": {"finalizers": ["example.com/kept"]}})
    changed = document(namespace, namespace, 2, policy={"provision_timeout": 2}, labels={"team": "crawl"})
    result = converge(changed)
    (row,) = (row for row in result["blocked"] if row["name"] == "pool-0")  # the other's Pod may take longer, too
    assert row["reason"] == "DeleteTimeout"
    assert "held by its finalizers: example.com/kept" in row["message"]
    namespace.api.patch(f"{namespace.path}/pods/{pod_of(0)}", {"metadata": {"finalizers": None}})
    assert converge({**changed, "policy": {}})["outcome"] == "converged"


# --- quota, and Pods that don't come up


def test_a_quota_that_is_full_half_way_through(namespace) -> None:
    quotas = f"{namespace.path}/resourcequotas"
    namespace.api.post(quotas, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "8"}}})
    until("the quota counts", lambda: namespace.api.get(f"{quotas}/few").get("status", {}).get("used"))
    desired = document(namespace, namespace, 10)
    converge(desired, wait=False)
    lab = provider(namespace)
    until("eight run", lambda: sum(instance.serves for instance in listing(lab).instances) == 8)
    result = converge(desired, wait=False)
    assert (result["outcome"], result["counts"]["running"], result["counts"]["absent"]) == ("converging", 8, 2)
    assert not result.get("failed")
    assert [row["class"] for row in result["failures"]] == ["QuotaExceeded"] * 2
    assert all("exceeded quota: few" in row["message"] for row in result["failures"])
    (status,) = lab.check(ctx())
    assert status.ready
    assert status.details["quota few: pods"] == "8 of 8 used"
    assert "exceeded quota: few" in status.message


def test_a_quota_that_is_not_counted_yet_is_waited_for(namespace, daemons) -> None:
    daemons.pause("kube-controller-manager")
    hard = {"hard": {"pods": "1"}}
    quotas = f"{namespace.path}/resourcequotas"
    namespace.api.post(quotas, {"metadata": {"name": "few"}, "spec": hard})
    namespace.api.patch(f"{quotas}/few/status", {"status": hard})
    lab = provider(namespace)
    (finding,) = until("admission knows the quota", lambda: lab.preflight(request(namespace), ctx()))
    assert "status unknown for quota: few" in finding
    refused(lambda: lab.create(request(namespace), ctx()), Reason.BUSY)
    (status,) = lab.check(ctx())
    assert (status.ready, status.reason) == (False, "APIError")
    daemons.resume("kube-controller-manager")
    assert converge(document(namespace, namespace, 1))["outcome"] == "converged"


def _troubled(pod) -> bool:
    """The binding alone already writes a condition: that it is scheduled."""
    return any(condition["status"] == "False" for condition in pod["status"].get("conditions", ()))


@pytest.mark.parametrize(
    ("outcome", "cause", "words"),
    [
        (outcomes.stuck("ImagePullBackOff", 'Back-off pulling image "a"'), "ImagePullBackOff", 'image "a"'),
        (outcomes.crashing(5, "back-off 2m40s restarting failed container"), "CrashLoopBackOff", "back-off 2m40s"),
        (outcomes.stuck("ErrImageNeverPull", "is not present"), "ErrImageNeverPull", "is not present"),
        (outcomes.stuck("CreateContainerConfigError", 'secret "x" not found'), "CreateContainerConfigError", "secret"),
        (outcomes.unschedulable("0/3 nodes are available"), "Unschedulable", "0/3 nodes are available"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_stuck_proxy_says_why_within_one_pass(namespace, stand_in, outcome, cause, words) -> None:
    stand_in.becomes(outcome)
    desired = document(namespace, namespace, 1)
    converge(desired, wait=False)
    until("it is stuck", lambda: _troubled(namespace.pod(pod_of(0))))
    result = converge(desired, wait=False)
    (row,) = result["proxies"]
    assert (row["status"], row["reason"]) == ("provisioning", cause)
    assert words in row["message"]


# --- several at once


def test_two_runs_of_one_pool_at_once(namespace) -> None:
    desired = document(namespace, namespace, 12)
    runs = [Converging(desired) for _unused in range(2)]
    for run in runs:
        assert run.result()["outcome"] == "converged", told(run.result())
    assert sorted(pod["metadata"]["name"] for pod in namespace.pods()) == sorted(map(pod_of, range(12)))
    made = [action["result"] for run in runs for action in run.result()["actions"]]
    assert made.count(["created"]) == 12
    assert converge(desired)["changed"] is False


def test_a_run_that_is_overtaken_takes_what_the_other_has_made(namespace, gate) -> None:
    """The other one begins when this one has seen that there is nothing, and ends before this one's first create."""
    overtaking = []

    def overtaken(request_, forward):
        overtaking.append(converge(document(namespace, namespace, 4)))
        return forward(request_)

    with gate.spoiled(Once(plural("pods", "POST"), overtaken)):
        result = converge(document(gate, namespace, 4, request_timeout=60))
    assert [run["outcome"] for run in (result, *overtaking)] == ["converged"] * 2
    made = [step for run in (result, *overtaking) for action in run["actions"] for step in action["result"]]
    assert (made.count("created"), len(made)) == (4, 8)
    assert ["adopted"] in [action["result"] for action in result["actions"]]
    assert len(namespace.pods()) == 4


def test_two_installs_in_one_namespace(namespace) -> None:
    first, second = (document(namespace, namespace, 3, install=name) for name in ("first", "second"))
    for desired in (first, second):
        assert converge(desired)["outcome"] == "converged"
    assert len(namespace.pods()) == 6
    emptied = document(namespace, namespace, 0, install="first")
    result = converge(emptied, allow_empty=True, max_deletions="100%")
    assert (result["outcome"], len(result["actions"])) == ("converged", 3), told(result)
    assert sorted(pod["metadata"]["name"] for pod in namespace.pods()) == sorted(pod_of(i, "second") for i in range(3))
    assert converge(second)["changed"] is False


# --- outages


@pytest.fixture
def dies(daemons):
    """Kill the API server at the first request that fits, and start it again; returns the rule of a gate."""
    threads = []

    def rule(fits) -> Once:
        def die(_request, _forward):
            daemons.kill("kube-apiserver")
            threads.append(threading.Thread(target=daemons.start, args=("kube-apiserver",)))
            threads[-1].start()
            raise gates.Lost

        return Once(fits, die)

    yield rule
    for thread in threads:
        thread.join()


def test_the_api_server_is_killed_during_create(namespace, gate, dies) -> None:
    with gate.spoiled(dies(plural("pods", "POST"))):
        result = converge(document(gate, namespace, 5))
    assert result["outcome"] == "converged", told(result)
    assert len(namespace.pods()) == 5
    became = [action["result"] for action in result["actions"]]
    assert ["failed"] in became
    assert became.count(["created"]) + became.count(["adopted"]) == 5


def test_the_api_server_is_killed_during_the_first_list(namespace, gate, dies) -> None:
    with gate.spoiled(dies(plural("pods", "GET"))):
        result = converge(document(gate, namespace, 2))
    assert (result["failed"], result["outcome"]) == (True, "incomplete_evidence")
    assert result["actions"] == []
    assert (result["error"]["class"], result["error"]["reason"]) == ("Transient", "Unreachable")
    until("it is back", lambda: converge(document(gate, namespace, 2))["outcome"] == "converged")


def test_the_api_server_is_killed_while_waiting(namespace, stand_in, gate, dies) -> None:
    stand_in.becomes(outcomes.CREATING)
    rule = dies(lambda r: r.method == "GET" and "/pods/" in r.path)
    with gate.spoiled(rule):
        run = Converging(document(gate, namespace, 3))
        until("it waits, and the API server is away", lambda: rule.done)
        stand_in.becomes(outcomes.RUNNING)
        until("it is back", lambda: len(_listed(namespace)) == 3)
        for pod in namespace.pods():
            stand_in.report(pod["metadata"]["name"], outcomes.RUNNING)
        assert run.result()["outcome"] == "converged", told(run.result())


def _listed(namespace) -> list:
    try:
        return namespace.pods()
    except Exception:  # noqa: BLE001 - whatever a server that is not there makes of it
        return []


def test_the_api_server_is_killed_during_delete(namespace, gate, dies) -> None:
    converge(document(gate, namespace, 6))
    with gate.spoiled(dies(plural("pods", "DELETE"))):
        result = converge(document(gate, namespace, 1), max_deletions="100%")
    assert result["outcome"] == "converged", told(result)
    assert [pod["metadata"]["name"] for pod in namespace.pods()] == [pod_of(0)]


def test_etcd_is_dead(namespace, daemons) -> None:
    desired = document(namespace, namespace, 2, request_timeout=2)
    assert converge(desired)["outcome"] == "converged"
    daemons.kill("etcd")
    result = converge(desired)
    assert (result["failed"], result["outcome"]) == (True, "incomplete_evidence")
    assert (result["error"]["class"], result["error"]["reason"]) == ("Transient", "Timeout")
    (status,) = provider(namespace, request_timeout=2).check(ctx())
    assert (status.ready, status.reason) == (False, "Timeout")
    daemons.restore()
    assert converge(desired)["changed"] is False


def test_a_storm_of_429(namespace, daemons, gate) -> None:
    """Fifty creates by sixteen threads on a server that takes one request at a time and refuses the others."""
    daemons.restart(
        "kube-apiserver",
        "--max-requests-inflight=1",
        "--max-mutating-requests-inflight=1",
        "--feature-gates=APIPriorityAndFairness=false",
    )
    refusals = []

    def count(request_, forward):
        answer = forward(request_)
        if answer.status == 429:
            refusals.append(answer)
        return answer

    with gate.spoiled(count):
        result = converge(document(gate, namespace, 50), concurrency=16)
    assert result["outcome"] == "converged", told(result)
    assert len(namespace.pods()) == 50
    assert refusals[0].headers["Retry-After"] == "1"
    assert refusals[0].body == b"Too many requests, please try again later.\n"


def test_a_server_that_refuses_for_long_is_left_alone_for_as_long_as_it_asks(namespace, gate) -> None:
    busy = gates.Answer(429, "Too many requests, please try again later.\n", {"Retry-After": "3600"})

    def refuse_creates(request_, forward):
        return busy if plural("pods", "POST")(request_) else forward(request_)

    with gate.spoiled(refuse_creates):
        result = converge(document(gate, namespace, 1), wait=False)
    (failure,) = result["failures"]
    assert (failure["class"], failure["reason"], failure["retry_after"]) == ("QuotaExceeded", "RateLimited", 3600)


# --- size


def compacted(cluster, namespace) -> None:
    """Let etcd forget all but the present."""
    made = namespace.api.post(f"{namespace.path}/configmaps", {"metadata": {"generateName": "now-"}})
    etcdctl = Path(sys.prefix, "bin", "etcdctl")
    command = [
        etcdctl,
        "--endpoints",
        f"http://{cluster.address}:12379",
        "compact",
        made["metadata"]["resourceVersion"],
    ]
    subprocess.run(command, env={**os.environ, "ETCDCTL_API": "3"}, check=True, capture_output=True)


def test_1200_pods_come_in_pages_and_a_list_survives_that_one_expires(namespace, stand_in, gate, cluster) -> None:
    stand_in.pause()  # none of them has to run
    desired = document(gate, namespace, 1200)
    made = converge(desired, wait=False, results="none")
    assert made["counts"]["desired"] == 1200
    assert len([r for r in gate.requests if plural("pods", "POST")(r)]) == 1200
    assert len([r for r in gate.requests if "/secrets" in r.path]) < 20
    gate.requests.clear()
    lab = provider(namespace, host=gate.url, token_file=str(gate.token_file))
    assert len(listing(lab).instances) == 1200
    assert len(gate.requests) == 3
    gate.requests.clear()

    def compact_first(request_, forward):
        compacted(cluster, namespace)
        return forward(request_)

    with gate.spoiled(Once(lambda r: "continue=" in r.target, compact_first)):
        found = listing(lab).instances
    assert len({instance.provider_id for instance in found}) == len(found) == 1200
    pages = [json.dumps("limit=" in r.target) for r in gate.requests]
    assert pages == ["true", "true", "false"]  # the second was refused with 410, the third is the whole


# --- credentials


def test_an_expired_token(namespace) -> None:
    """That of a service account that is gone, which is the same to the API server."""
    may = namespace.service_account(rules(permissions("namespace")))
    lab = provider(namespace, may)
    created = lab.create(request(namespace), ctx())
    wait_for(lab, created, "it runs", lambda i: i.serves)
    for account in namespace.api.get(f"{namespace.path}/serviceaccounts")["items"]:
        if account["metadata"]["name"].startswith("account-"):
            namespace.api.delete(f"{namespace.path}/serviceaccounts/{account['metadata']['name']}")

    def is_refused() -> bool:
        (status,) = lab.check(ctx())
        return status.reason == "Unauthorized"

    until("the API server has learnt of it", is_refused)
    for call in (
        lambda: lab.get(created.provider_id, ctx()),
        lambda: lab.create(request(namespace, "two"), ctx()),
        lambda: lab.delete(reference(created), ctx()),
        lambda: listing(lab),
    ):
        refused(call, Reason.UNAUTHORIZED)
    result = converge(document({"kubeconfig": str(may)}, namespace, 20))
    assert (result["outcome"], result["error"]["reason"]) == ("incomplete_evidence", "Unauthorized")


def test_missing_permissions_cost_one_create_not_a_thousand(namespace) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    may = namespace.service_account([rule])
    result = converge(document({"kubeconfig": str(may)}, namespace, 50))
    assert result["failed"]
    assert 'cannot create resource "secrets"' in result["msg"]
    assert sum(row["calls"] for row in result["calls"] if row["op"] == "create") == 1
