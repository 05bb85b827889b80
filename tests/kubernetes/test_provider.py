# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the provider makes on a real API server, and what it makes of its answers, beyond the conformance kit."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import subprocess
from collections.abc import Callable, Iterator

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._names import derived_uid, instance_name
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes import leftovers
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.api import SECRETS
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.errors import Refusal
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Completeness,
    CreateOutcome,
    Deleted,
    DeleteOutcome,
    Placement,
    ProviderError,
    Reason,
    Scope,
    Selector,
    State,
)
from ansible_collections.crawl.egress.tests.kubernetes import outcomes
from ansible_collections.crawl.egress.tests.kubernetes.fleets import converge, document
from ansible_collections.crawl.egress.tests.kubernetes.gate import Answer, Once, Request
from ansible_collections.crawl.egress.tests.kubernetes.proxies import (
    HASH,
    SQUID,
    ctx,
    listing,
    provider,
    reference,
    refused,
    request,
    through,
    wait_for,
)
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

NETWORKING = "/apis/networking.k8s.io/v1"
SCHEDULING = "/apis/scheduling.k8s.io/v1"


# --- what lands on the cluster


def test_what_is_written_does_not_come_back(namespace) -> None:
    """Only its metadata: that is less to read, and the answers hold no secret."""
    api = provider(namespace)._api
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "data": {"passwords": "c2VjcmV0"}}
    # held by a finalizer, or a delete had nothing left to answer with
    changes = {"data": {"passwords": "b3RoZXI="}, "metadata": {"finalizers": ["example.com/kept"]}}
    answers = [
        api.create(SECRETS, namespace.name, secret, ctx(), dry_run=True),
        api.create(SECRETS, namespace.name, secret, ctx()),
        api.patch(SECRETS, namespace.name, "one", changes, ctx()),
        api.delete(SECRETS, namespace.name, "one", {}, ctx()),
    ]
    for answer in answers:
        assert set(answer) == {"kind", "apiVersion", "metadata"}
        assert answer["metadata"]["uid"]
    assert api.get(SECRETS, namespace.name, "one", ctx())["data"] == changes["data"]
    namespace.api.patch(f"{namespace.path}/secrets/one", {"metadata": {"finalizers": None}})


def test_a_pod_with_every_option_is_accepted_and_keeps_them(namespace) -> None:
    namespace.api.post(f"{namespace.path}/serviceaccounts", {"metadata": {"name": "proxies"}})
    lab = provider(
        namespace,
        image_pull_policy="IfNotPresent",
        image_pull_secrets=["pull"],
        machine_types={"small": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}},
        service_account="proxies",
        priority_class="system-node-critical" if namespace.name == "kube-system" else "system-cluster-critical",
        tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
        labels={"team": "crawl"},
        annotations={"example.com/note": "any text: at all"},
        spread="require",
        grace_seconds=3,
    )
    placement = Placement(region="region-1", zone="zone-1", machine_type="small", image="localhost/other:2")
    _allow_critical_pods(namespace)
    lab.create(request(namespace, placement=placement), ctx())
    pod = namespace.pod(request(namespace).name)
    spec, (container,) = pod["spec"], pod["spec"]["containers"]
    assert container["image"] == "localhost/other:2"
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["resources"] == {
        "requests": {"cpu": "10m", "memory": "16Mi"},
        "limits": {"memory": "64Mi"},
    }
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert spec["serviceAccountName"] == "proxies"
    assert spec["automountServiceAccountToken"] is False
    assert [volume["name"] for volume in spec["volumes"] if "token" in volume["name"]] == []
    assert spec["priorityClassName"] == "system-cluster-critical"
    assert {"key": "spot", "operator": "Exists", "effect": "NoSchedule"} in spec["tolerations"]
    lost = [each for each in spec["tolerations"] if each["key"].startswith("node.kubernetes.io/")]
    assert sorted(each["key"].partition("/")[2] for each in lost) == ["not-ready", "unreachable"]
    assert not any("tolerationSeconds" in each for each in lost)  # admission would give them five minutes
    assert spec["topologySpreadConstraints"][0]["whenUnsatisfiable"] == "DoNotSchedule"
    assert spec["terminationGracePeriodSeconds"] == 3
    assert pod["metadata"]["labels"]["team"] == "crawl"
    assert pod["metadata"]["annotations"]["example.com/note"] == "any text: at all"


def _allow_critical_pods(namespace) -> None:
    """Admission takes this priority outside of kube-system only where a quota allows it."""
    scope = {"operator": "In", "scopeName": "PriorityClass", "values": ["system-cluster-critical"]}
    spec = {"hard": {"pods": "10"}, "scopeSelector": {"matchExpressions": [scope]}}
    quotas = f"{namespace.path}/resourcequotas"
    namespace.api.post(quotas, {"metadata": {"name": "critical"}, "spec": spec})
    until("the quota counts", lambda: namespace.api.get(f"{quotas}/critical").get("status", {}).get("used"))


def test_host_network(namespace) -> None:
    provider(namespace, host_network=True).create(request(namespace), ctx())
    spec = namespace.pod(request(namespace).name)["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert spec["containers"][0]["ports"][0]["hostPort"] == 3128


def test_proxies_that_are_configured_alike_share_a_secret_and_cost_a_call_each(namespace, gate) -> None:
    lab = through(gate, namespace)
    for number in range(10):
        lab.create(request(namespace, f"a{number}"), ctx())
    asked = [(r.method, r.path.rpartition("/")[2].partition("-")[0]) for r in gate.requests]
    once = [("POST", "secrets"), ("GET", "proxy"), ("PATCH", "proxy")]  # to say that it is used now
    assert asked == [("POST", "secrets"), ("POST", "pods"), *once, *[("POST", "pods")] * 9]
    lab.create(request(namespace, "b", squid={"allowed_sources": ["10.0.0.0/8"]}), ctx())
    lab.create(request(namespace, "c", pool="other"), ctx())
    secrets = _secrets(namespace)
    assert len(secrets) == 3
    used = [pod["spec"]["volumes"][0]["secret"]["secretName"] for pod in namespace.pods()]
    assert {name: used.count(name) for name in secrets} == {name: used.count(name) for name in used}
    for pod in namespace.pods():
        assert HASH not in json.dumps(pod)
    shared = secrets[max(used, key=used.count)]
    assert base64.b64decode(shared["data"]["passwords"]).decode() == f"crawler:{HASH}\n"


def _secrets(namespace) -> dict[str, dict]:
    items = namespace.api.get(f"{namespace.path}/secrets?labelSelector=egress-guest")["items"]
    return {item["metadata"]["name"]: item for item in items}


def test_a_secret_that_was_edited_or_removed_is_right_again_before_the_next_pod(namespace) -> None:
    provider(namespace).create(request(namespace), ctx())
    ((name, before),) = _secrets(namespace).items()
    path = f"{namespace.path}/secrets/{name}"
    namespace.api.patch(path, {"data": {"squid.conf": base64.b64encode(b"http_access allow all").decode()}})
    provider(namespace).create(request(namespace, "two"), ctx())
    after = namespace.api.get(path)
    assert after["data"] == before["data"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    namespace.api.delete(path)
    provider(namespace).create(request(namespace, "three"), ctx())
    assert namespace.api.get(path)["data"] == before["data"]


@pytest.mark.parametrize("labels", [{"proxy-operator-install": "another"}, {"proxy-operator-managed": None}])
def test_a_secret_of_somebody_else_is_not_used(namespace, labels) -> None:
    provider(namespace).create(request(namespace), ctx())
    ((name, _unused),) = _secrets(namespace).items()
    path = f"{namespace.path}/secrets/{name}"
    namespace.api.patch(path, {"metadata": {"labels": labels}, "data": {"squid.conf": ""}})
    error = refused(lambda: provider(namespace).create(request(namespace, "two"), ctx()), Reason.CONFLICT)
    assert f"Secret {name} is there already, and is not ours" in error.message
    assert namespace.api.get(path)["data"]["squid.conf"] == ""
    assert namespace.pod(request(namespace, "two").name) is None


def test_the_network_policy_admits_the_allowed_sources(namespace) -> None:
    lab = provider(namespace, network_policy=True)
    for name in ("one", "two"):
        lab.create(request(namespace, name), ctx())
    (policy,) = namespace.api.get(f"{NETWORKING}/namespaces/{namespace.name}/networkpolicies")["items"]
    labels = policy["spec"]["podSelector"]["matchLabels"]
    assert (
        len(namespace.api.get(f"{namespace.path}/pods?labelSelector=egress-guest={labels['egress-guest']}")["items"])
        == 2
    )
    (rule,) = policy["spec"]["ingress"]
    assert [source["ipBlock"]["cidr"] for source in rule["from"]] == sorted(SQUID["allowed_sources"], key=len)
    assert rule["ports"] == [{"protocol": "TCP", "port": 3128}]


def test_a_service_has_the_pod_behind_it_and_keeps_its_address_over_a_replacement(namespace) -> None:
    lab = provider(namespace, service={"annotations": {"example.com/a": "b"}}, address="service")
    created = lab.create(request(namespace), ctx())
    instance = wait_for(lab, created, "it runs", lambda i: i.serves)
    name = request(namespace).name
    service = namespace.api.get(f"{namespace.path}/services/{name}")
    assert instance.address == service["spec"]["clusterIP"]
    assert [i.address for i in listing(lab).instances] == [instance.address]
    assert service["metadata"]["annotations"]["example.com/a"] == "b"

    selector = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
    (pod,) = namespace.api.get(f"{namespace.path}/pods?labelSelector={selector}")["items"]
    assert pod["metadata"]["name"] == name
    assert provider(namespace, service={}).get(created.provider_id, ctx()).address == pod["status"]["podIP"]

    namespace.api.delete(f"{namespace.path}/pods/{name}?gracePeriodSeconds=0")  # it is lost, and made anew
    again = lab.create(request(namespace), ctx())
    assert wait_for(lab, again, "it runs again", lambda i: i.serves).address == instance.address


def test_a_load_balancer_has_no_address_at_first(namespace) -> None:
    lab = provider(namespace, service={"type": "LoadBalancer"}, address="service")
    created = lab.create(request(namespace), ctx())
    namespace.wait_for_pod(request(namespace).name)
    instance = lab.get(created.provider_id, ctx())
    assert (instance.state, instance.cause, instance.address) == (State.PROVISIONING, "NoServiceAddress", None)
    path = f"{namespace.path}/services/{request(namespace).name}/status"
    namespace.api.patch(path, {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}})
    assert lab.get(created.provider_id, ctx()).address == "203.0.113.7"
    assert [(i.state, i.address) for i in listing(lab).instances] == [(State.RUNNING, "203.0.113.7")]
    namespace.api.patch(path, {"status": {"loadBalancer": {"ingress": [{"hostname": "lb.example"}]}}})
    assert lab.get(created.provider_id, ctx()).address == "lb.example"


def test_a_scope_that_is_not_the_entrys(namespace) -> None:
    wanted = dataclasses.replace(request(namespace), scope=Scope("namespaces/elsewhere"))
    refused(lambda: provider(namespace).create(wanted, ctx()), Reason.INVALID_PLACEMENT)


@pytest.mark.parametrize("port", [1, 80, 1023])
def test_a_port_that_only_root_may_open(namespace, port) -> None:
    error = refused(lambda: provider(namespace).create(request(namespace, port=port), ctx()), Reason.INVALID_CONFIG)
    assert error.message.startswith(f"port: {port} is not allowed (1024 to 65535")


# --- states


@pytest.mark.parametrize(
    ("outcome", "state", "cause", "words"),
    [
        (outcomes.RUNNING, State.RUNNING, None, None),
        (outcomes.NOT_READY, State.PROVISIONING, "NotReady", "port does not answer"),
        (outcomes.CREATING, State.PROVISIONING, None, None),
        (outcomes.SUCCEEDED, State.TERMINATED, "Completed", "exit status 0"),
        (outcomes.FAILED, State.TERMINATED, "Error", "exit status 1"),
        (outcomes.EVICTED, State.TERMINATED, "Evicted", "low on resource: memory"),
        (outcomes.LOST, State.UNKNOWN, "NodeLost", "unresponsive"),
        (outcomes.UNKNOWN, State.UNKNOWN, "Unknown", "does not answer"),
        (
            outcomes.stuck("ImagePullBackOff", 'Back-off pulling image "a"'),
            State.PROVISIONING,
            "ImagePullBackOff",
            "Back-off",
        ),
        (outcomes.stuck("ErrImageNeverPull", "is not present"), State.PROVISIONING, "ErrImageNeverPull", "not present"),
        (
            outcomes.stuck("CreateContainerConfigError", "not found"),
            State.PROVISIONING,
            "CreateContainerConfigError",
            "not",
        ),
        (outcomes.crashing(3, "back-off 40s"), State.PROVISIONING, "CrashLoopBackOff", "back-off 40s"),
        (
            outcomes.unschedulable("0/1 nodes: Insufficient cpu."),
            State.PROVISIONING,
            "Unschedulable",
            "Insufficient cpu",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_states(namespace, stand_in, outcome, state, cause, words) -> None:
    stand_in.becomes(outcome)
    lab = provider(namespace)
    created = lab.create(request(namespace), ctx())

    def settled(instance) -> bool:
        # a Pod that nobody has looked at yet is Provisioning, too, but not since anything
        return (instance.state, instance.cause) == (state, cause) and bool(instance.since or words)

    instance = wait_for(lab, created, f"it is {state.value} because of {cause}", settled)
    assert (words or "") in (instance.message or "")
    assert listing(lab).instances == (lab.get(created.provider_id, ctx()),)


@pytest.fixture
def node_controller(cluster, programs):
    """A context in which Kubernetes' own node controller works; it gives nodes up that don't report for two seconds."""

    @contextlib.contextmanager
    def working() -> Iterator[None]:
        flags = {
            "kubeconfig": cluster.kubeconfig,
            "controllers": "nodelifecycle",
            "leader-elect": "false",
            "port": 0,
            "secure-port": 0,
            "node-monitor-period": "200ms",
            "node-monitor-grace-period": "2s",
            "node-startup-grace-period": "2s",
        }
        program = programs / "bin" / "kube-controller-manager"
        command = ["setpriv", "--pdeathsig", "KILL", program, *(f"--{name}={value}" for name, value in flags.items())]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield
            finally:
                process.kill()
        cluster.api.patch("/api/v1/nodes/stand-in", {"spec": {"taints": None}})

    return working


def test_a_lost_node_is_found_by_what_the_node_controller_leaves(namespace, node_controller) -> None:
    lab, patient = (provider(namespace, lost_node_timeout=seconds) for seconds in (3, None))
    created = lab.create(request(namespace), ctx())
    wait_for(lab, created, "it runs", lambda i: i.serves)
    with node_controller():
        instance = wait_for(patient, created, "its node is lost", lambda i: not i.serves)
        assert (instance.state, instance.cause) == (State.UNKNOWN, "NodeLost")
        instance = wait_for(lab, created, "it is given up", lambda i: i.state is not State.UNKNOWN)
    assert (instance.state, instance.cause, instance.deleting) == (State.TERMINATED, "NodeLost", False)
    assert patient.get(created.provider_id, ctx()).state is State.UNKNOWN


# --- delete


def test_delete_has_the_grace_that_was_configured_and_no_less(namespace, stand_in) -> None:
    lab = provider(namespace, grace_seconds=77)
    created = lab.create(request(namespace), ctx())
    namespace.wait_for_pod(request(namespace).name)
    stand_in.pause()
    assert lab.delete(reference(created), ctx()) == Deleted(DeleteOutcome.DELETING)
    assert namespace.pod(request(namespace).name)["metadata"]["deletionGracePeriodSeconds"] == 77
    assert lab.delete(reference(created), ctx()) == Deleted(DeleteOutcome.DELETING)
    (instance,) = listing(lab).instances
    assert (instance.deleting, instance.serves) == (True, False)


def test_a_server_that_answers_in_full_is_understood(namespace, gate, stand_in) -> None:
    """One that does not know the form in which metadata comes alone."""
    kinds = []

    def in_full(request: Request, forward: Callable[[Request], Answer]) -> Answer:
        others = {name: value for name, value in request.headers.items() if name.lower() != "accept"}
        answer = forward(dataclasses.replace(request, headers={**others, "Accept": "application/json"}))
        kinds.append((request.method, json.loads(answer.body)["kind"]))
        return answer

    with gate.spoiled(in_full):
        lab = through(gate, namespace)
        created = lab.create(request(namespace), ctx())
        assert created.instance.state is State.PROVISIONING
        wait_for(lab, created, "it runs", lambda i: i.serves)
        stand_in.pause()
        assert lab.delete(reference(created), ctx()) == Deleted(DeleteOutcome.DELETING)
    assert {("POST", "Pod"), ("PATCH", "Secret"), ("DELETE", "Pod")} <= set(kinds)


def test_a_pod_of_a_lost_node_is_deleted_by_force_only_when_that_is_wanted(namespace, stand_in) -> None:
    kept, forced = provider(namespace), provider(namespace, force_delete_lost=True)
    created = kept.create(request(namespace), ctx())
    namespace.wait_for_pod(request(namespace).name)
    stand_in.report(request(namespace).name, outcomes.LOST)
    stand_in.pause()
    assert kept.delete(reference(created), ctx()).outcome is DeleteOutcome.DELETING
    assert forced.delete(reference(created), ctx()).outcome is DeleteOutcome.GONE
    assert namespace.pod(request(namespace).name) is None


def test_a_deletion_that_a_lost_node_can_not_end_is_ended_by_force(namespace, stand_in) -> None:
    """Somebody has deleted the Pod already: Kubernetes itself, or a run that was not allowed to use force."""
    options = {"lost_node_timeout": 1}
    desired = document(namespace, namespace, 1, **options)
    name = instance_name(derived_uid("tests", "default", "pool-0"))
    converge(desired)
    before = namespace.pod(name)["metadata"]["uid"]
    stand_in.report(name, outcomes.LOST)
    stand_in.pause()
    namespace.api.delete(f"{namespace.path}/pods/{name}")
    kept, forced = provider(namespace, **options), provider(namespace, force_delete_lost=True, **options)
    until("it is given up", lambda: listing(kept).instances[0].state is State.TERMINATED)
    assert [lab.list_by_tag(Selector("tests"), ctx()).instances[0].deleting for lab in (kept, forced)] == [True, False]
    assert not converge(desired, wait=False)["actions"]
    assert namespace.pod(name)["metadata"]["uid"] == before
    result = converge(document(namespace, namespace, 1, force_delete_lost=True, **options), wait=False)
    assert [action["result"] for action in result["actions"]] == [["deleted", "created"]]
    assert namespace.pod(name)["metadata"]["uid"] != before


def test_force_does_not_end_what_a_finalizer_holds(namespace, stand_in) -> None:
    forced = provider(namespace, lost_node_timeout=1, force_delete_lost=True)
    created = forced.create(request(namespace), ctx())
    name = request(namespace).name
    namespace.wait_for_pod(name)
    namespace.api.patch(f"{namespace.path}/pods/{name}", {"metadata": {"finalizers": ["example.com/kept"]}})
    stand_in.report(name, outcomes.LOST)
    wait_for(forced, created, "it is given up", lambda i: i.state is State.TERMINATED)
    assert forced.delete(reference(created), ctx()).outcome is DeleteOutcome.DELETING
    assert forced.get(created.provider_id, ctx()).deleting


def test_a_healthy_pod_is_never_deleted_by_force(namespace, stand_in) -> None:
    forced = provider(namespace, force_delete_lost=True)
    created = forced.create(request(namespace), ctx())
    namespace.wait_for_pod(request(namespace).name)
    stand_in.pause()
    assert forced.delete(reference(created), ctx()).outcome is DeleteOutcome.DELETING
    assert namespace.pod(request(namespace).name)["metadata"]["deletionGracePeriodSeconds"] == 10


def test_delete_takes_the_service_too_but_not_a_strangers(namespace) -> None:
    lab = provider(namespace, service={})
    mine, theirs = lab.create(request(namespace), ctx()), lab.create(request(namespace, "two"), ctx())
    path = f"{namespace.path}/services"
    namespace.api.patch(
        f"{path}/{request(namespace, 'two').name}", {"metadata": {"labels": {"proxy-operator-managed": None}}}
    )
    for created in (mine, theirs, theirs):
        lab.delete(reference(created), ctx())
    assert namespace.api.find(f"{path}/{request(namespace).name}") is None
    assert namespace.api.find(f"{path}/{request(namespace, 'two').name}")


# --- list


def test_all_namespaces_are_searched_with_one_call(namespace, gate) -> None:
    there = through(gate, namespace)
    created = there.create(request(namespace, install=namespace.name), ctx())
    gate.requests.clear()
    moved = through(gate, "default", all_namespaces=True)
    found = listing(moved, namespace.name)
    assert [(i.provider_id, i.scope.name) for i in found.instances] == [
        (created.provider_id, f"namespaces/{namespace.name}")
    ]
    assert [r.path for r in gate.requests] == ["/api/v1/pods"]
    assert {scope.name: status.completeness for scope, status in found.scopes.items()} == {
        "namespaces/*": Completeness.COMPLETE,
        "namespaces/default": Completeness.COMPLETE,
        f"namespaces/{namespace.name}": Completeness.COMPLETE,
    }
    wait_for(there, created, "it runs", lambda i: i.serves)  # one that has no node yet goes at once
    assert moved.delete(reference(created), ctx()).outcome is DeleteOutcome.DELETING


def test_who_may_list_one_namespace_only_is_told_so(namespace) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "create", "get"]}
    provider(namespace).create(request(namespace), ctx())
    may = namespace.service_account([rule])
    found = listing(provider(namespace, may, all_namespaces=True))
    assert len(found.instances) == 1
    assert found.scopes[Scope(f"namespaces/{namespace.name}")].complete
    everywhere = found.scopes[Scope("namespaces/*")]
    assert (everywhere.completeness, everywhere.reason) == (Completeness.FAILED, Reason.FORBIDDEN.wire)
    assert 'cannot list resource "pods" in API group "" at the cluster scope' in everywhere.message
    empty = document({"kubeconfig": str(may)}, namespace, 0, install="empty", all_namespaces=True)
    result = converge(empty, allow_empty=True)
    assert (result["outcome"], result["failed"]) == ("incomplete_evidence", True)


def test_what_no_label_could_hold_selects_nothing(namespace) -> None:
    lab = provider(namespace)
    lab.create(request(namespace), ctx())
    for selector in ({"uid": "a b,c"}, {"pools": ("pool", "x)=y")}, {"install": "tests,proxy-operator-uid=x"}):
        found = listing(lab, **selector)
        expected = 1 if "pools" in selector else 0
        assert len(found.instances) == expected, selector


def test_many_pools_are_filtered_here(namespace) -> None:
    lab = provider(namespace)
    lab.create(request(namespace), ctx())
    assert len(listing(lab, pools=("pool", *(f"pool-{n}" for n in range(1000)))).instances) == 1
    assert not listing(lab, pools=tuple(f"pool-{n}" for n in range(1000))).instances


# --- marks, leftovers


def test_a_mark_that_is_no_label_is_refused(namespace) -> None:
    lab = provider(namespace)
    created = lab.create(request(namespace), ctx())
    error = refused(lambda: lab.set_mark(reference(created), "hold", "not a label", ctx()), Reason.INVALID_CONFIG)
    assert "metadata.labels" in error.message


def test_leftovers_are_what_no_pod_uses(namespace) -> None:
    lab = provider(namespace, service={}, network_policy=True)
    selector = Selector("tests")
    first = lab.create(request(namespace), ctx())
    second = lab.create(request(namespace, "two"), ctx())
    assert not lab.list_leftovers(selector, ctx()).leftovers
    namespace.api.delete(f"{namespace.path}/pods/{request(namespace).name}?gracePeriodSeconds=0")
    (service,) = lab.list_leftovers(selector, ctx()).leftovers
    assert (service.kind, service.marks.uid) == ("Service", request(namespace).marks.uid)
    namespace.api.delete(f"{namespace.path}/pods/{request(namespace, 'two').name}?gracePeriodSeconds=0")
    found = lab.list_leftovers(selector, ctx())
    assert sorted(left.kind for left in found.leftovers) == ["NetworkPolicy", "Secret", "Service", "Service"]
    assert all(left.created_at for left in found.leftovers)
    assert not lab.list_leftovers(Selector("another"), ctx()).leftovers
    for left in found.leftovers:
        lab.delete_leftover(left, ctx())
    assert not lab.list_leftovers(selector, ctx()).leftovers
    assert (first.provider_id, second.provider_id) == (
        lab.scope_of_id(first.provider_id).name + "/pods/" + request(namespace).name,
        second.provider_id,
    )


def test_a_leftover_that_is_used_again_is_spared(namespace) -> None:
    provider(namespace).create(request(namespace), ctx())
    namespace.api.delete(f"{namespace.path}/pods/{request(namespace).name}?gracePeriodSeconds=0")
    sweeper = provider(namespace)
    (left,) = sweeper.list_leftovers(Selector("tests"), ctx()).leftovers
    namespace.api.patch(
        f"{namespace.path}/secrets/{left.leftover_id.rpartition('/')[2]}",
        {"metadata": {"annotations": {"egress-used": "5"}}},
    )
    # another run is about to make a Pod with it: it has written to the Secret, and the Pod is not there yet
    sweeper.delete_leftover(left, ctx())
    (again,) = sweeper.list_leftovers(Selector("tests"), ctx()).leftovers
    assert (again.created_at, again.leftover_id) == (5.0, left.leftover_id)
    provider(namespace).create(request(namespace), ctx())
    sweeper.delete_leftover(again, ctx())
    assert len(_secrets(namespace)) == 1


def test_a_leftover_that_the_same_run_uses_again_is_spared(namespace) -> None:
    """It was made ready moments ago, so that nothing is written to it."""
    lab = provider(namespace)
    lab.create(request(namespace), ctx())
    namespace.api.delete(f"{namespace.path}/pods/{request(namespace).name}?gracePeriodSeconds=0")
    (left,) = lab.list_leftovers(Selector("tests"), ctx()).leftovers
    created = lab.create(request(namespace, "two"), ctx())
    provider(namespace).delete_leftover(left, ctx())
    wait_for(lab, created, "it runs", lambda i: i.serves)


@pytest.mark.parametrize("when", ["before the Pod", "after it"])
def test_what_is_collected_while_the_first_pod_is_made_is_there_again(namespace, gate, when) -> None:
    lab, sweeper = through(gate, namespace), provider(namespace)
    found = []

    def collect(left) -> None:
        # as a collector does that has looked for Pods already
        api, (resource, where, name) = sweeper._api, leftovers.parse(left.leftover_id)
        with contextlib.suppress(Refusal):
            api.delete(resource, where, name, leftovers.unchanged(left.incarnation), ctx())

    def first(request_, forward):
        found.extend(sweeper.list_leftovers(Selector("tests"), ctx()).leftovers)
        if when == "before the Pod":
            collect(*found)
        return forward(request_)

    with gate.spoiled(Once(lambda r: (r.method, r.path) == ("POST", f"{namespace.path}/pods"), first)):
        created = lab.create(request(namespace), ctx())
    if when == "after it":
        collect(*found)
    wait_for(lab, created, "it runs", lambda i: i.serves)
    assert len(_secrets(namespace)) == 1


def test_who_may_not_list_what_the_entry_does_not_use_sweeps_the_rest(namespace) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["list"]},
    ]
    provider(namespace).create(request(namespace), ctx())
    namespace.api.delete(f"{namespace.path}/pods?gracePeriodSeconds=0")
    limited = provider(namespace, namespace.service_account(rules))
    until("the Pod is gone", lambda: not namespace.pods())
    (left,) = limited.list_leftovers(Selector("tests"), ctx()).leftovers
    assert left.kind == "Secret"
    uses = provider(namespace, namespace.service_account(rules), service={})
    refused(lambda: uses.list_leftovers(Selector("tests"), ctx()), Reason.FORBIDDEN)


def test_a_leftover_of_another_provider_is_malformed(namespace) -> None:
    lab = provider(namespace)
    provider(namespace).create(request(namespace), ctx())
    namespace.api.delete(f"{namespace.path}/pods?gracePeriodSeconds=0")
    until("the Pod is gone", lambda: not namespace.pods())
    (left,) = lab.list_leftovers(Selector("tests"), ctx()).leftovers
    for bad in ("", "disks/a", f"{left.leftover_id}/x", left.leftover_id.replace("secrets", "configmaps")):
        wrong = dataclasses.replace(left, leftover_id=bad)
        refused(lambda wrong=wrong: lab.delete_leftover(wrong, ctx()), Reason.MALFORMED_ID)


# --- preflight


def test_preflight_of_what_would_be_accepted_changes_nothing(namespace) -> None:
    lab = provider(namespace, service={}, network_policy=True)
    assert lab.preflight(request(namespace), ctx()) == []
    assert namespace.pods() == []
    assert _secrets(namespace) == {}
    lab.create(request(namespace), ctx())
    assert lab.preflight(request(namespace), ctx()) == []


def test_preflight_tells_limits(namespace) -> None:
    spec = {"limits": [{"type": "Container", "max": {"memory": "32Mi"}}]}
    namespace.api.post(f"{namespace.path}/limitranges", {"metadata": {"name": "small"}, "spec": spec})
    lab = provider(namespace)
    (finding,) = until("the limit is known", lambda: lab.preflight(request(namespace), ctx()))
    assert finding.startswith("InvalidConfig: ")
    assert "maximum memory usage per Container is 32Mi, but limit is 256Mi" in finding


def test_preflight_tells_missing_permissions(namespace) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    lab = provider(namespace, namespace.service_account([rule]))
    findings = lab.preflight(request(namespace), ctx())
    assert [finding.partition(":")[0] for finding in findings] == ["Forbidden", "Forbidden"]
    assert 'cannot create resource "secrets"' in findings[0]
    assert 'cannot create resource "pods"' in findings[1]


def test_preflight_tells_a_full_quota(namespace, full_quota) -> None:
    (finding,) = provider(namespace).preflight(request(namespace), ctx())
    assert finding.startswith("Quota: ")
    assert "exceeded quota: few" in finding


def test_preflight_tells_a_missing_namespace_once(namespace) -> None:
    absent = f"{namespace.name}-absent"
    lab = provider(absent, namespace.kubeconfig, service={}, network_policy=True)
    assert lab.preflight(request(absent), ctx()) == [f'InvalidConfig: namespaces "{absent}" not found']


@pytest.fixture
def full_quota(namespace):
    """A quota that is used up by nothing, and known to admission."""
    quotas = f"{namespace.path}/resourcequotas"
    namespace.api.post(quotas, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "0"}}})

    def enforced() -> bool:
        try:
            provider(namespace).create(request(namespace, "trial"), ctx())
        except ProviderError as error:
            return error.reason is Reason.QUOTA
        namespace.api.delete(f"{namespace.path}/pods/{request(namespace, 'trial').name}?gracePeriodSeconds=0")
        return False

    until("the quota is enforced", enforced)


def test_adoption_says_so(namespace) -> None:
    lab = provider(namespace)
    first = lab.create(request(namespace), ctx())
    second = lab.create(request(namespace), ctx())
    assert (first.outcome, second.outcome) == (CreateOutcome.CREATED, CreateOutcome.ADOPTED)
    assert first.incarnation == second.incarnation


def test_what_a_service_has_for_an_address_is_not_told_by_the_pod(namespace) -> None:
    lab = provider(namespace, service={"type": "ClusterIP"}, address="service")
    assert lab.create(request(namespace), ctx()).instance is None
