# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a proxy consists of on the cluster."""

from __future__ import annotations

import base64
import json

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes import pod as rendered
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.config import KubernetesConfig
from ansible_collections.crawl.egress.plugins.module_utils._squid.model import SquidConfig
from ansible_collections.crawl.egress.plugins.module_utils.provider import Marks, Placement

PREFIX = "proxy-operator"
ANYWHERE = Placement()
HASH = "$5$saltsaltsaltsalt$" + "h" * 43
SQUID = SquidConfig.from_document(
    {"users": [{"name": "crawler", "password_hash": HASH}], "allowed_sources": ["10.0.0.0/8", "2001:db8::/32"]}
)
MARKS = Marks(
    uid="u-1",
    install="prod",
    namespace="default",
    name="eu-0",
    pool="eu",
    provider="lab",
    port=3128,
    spec_hash="f" * 32,
)


def config(**block):
    return KubernetesConfig.parse("lab", {"namespace": "proxies", "kubeconfig": "/k", **block}, PREFIX, {})


def pod(placement=ANYWHERE, marks=MARKS, port=3128, **block):
    made = config(**block)
    shape = rendered.Shape.of(placement, made)
    return rendered.pod("proxy-aaaa", marks, token(marks=marks), shape, port, made, PREFIX)


def token(squid=SQUID, port=3128, marks=MARKS, prefix=PREFIX):
    return rendered.guest_token(squid, port, marks, prefix)


def content(placement=ANYWHERE, port=3128, squid=SQUID, **block):
    made = config(**block)
    return rendered.spec_content(rendered.Shape.of(placement, made), port, squid, made)


def test_nothing_in_the_pod_is_root_or_may_write_where_it_should_not():
    spec = pod()["spec"]
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
    }
    security = spec["securityContext"]
    assert security["runAsNonRoot"]
    assert security["runAsUser"] == security["runAsGroup"] == security["fsGroup"] == 13
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    for forbidden in ("hostNetwork", "hostPID", "hostIPC", "serviceAccountName", "priorityClassName"):
        assert forbidden not in spec


def test_every_mount_has_its_volume():
    spec = pod()["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
    assert mounts == {"config": "/etc/egress", "tmp": "/tmp"}
    assert {volume["name"] for volume in spec["volumes"]} == set(mounts)
    assert all("sizeLimit" in volume["emptyDir"] for volume in spec["volumes"] if "emptyDir" in volume)


def test_the_port_is_probed():
    (container,) = pod(port=8888)["spec"]["containers"]
    assert container["ports"] == [{"name": "proxy", "containerPort": 8888, "protocol": "TCP"}]
    assert container["readinessProbe"]["tcpSocket"] == {"port": 8888}


def test_no_password_is_in_the_pod():
    assert HASH not in json.dumps(pod())
    assert base64.b64encode(HASH.encode()).decode()[:20] not in json.dumps(pod())


def test_marks_are_labels_and_the_rest_is_the_users():
    metadata = pod(labels={"team": "crawl"}, annotations={"example.com/note": "any text"})["metadata"]
    assert metadata["labels"] == {"team": "crawl", "egress-guest": token(), **MARKS.to_labels(PREFIX)}
    assert metadata["annotations"] == {"example.com/note": "any text"}


def test_the_secret_holds_what_squid_reads():
    files = rendered.files(SQUID, 3128, config(grace_seconds=7))
    secret = rendered.secret(token(), MARKS, files, PREFIX, 1000.9)
    decoded = {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}
    assert decoded == files
    assert decoded["passwords"] == f"crawler:{HASH}\n"
    assert "http_port 3128\n" in decoded["squid.conf"]
    assert "/usr/lib/squid/basic_ncsa_auth /etc/egress/passwords" in decoded["squid.conf"]
    assert "shutdown_lifetime 5 seconds" in decoded["squid.conf"]
    assert HASH not in decoded["squid.conf"]
    assert secret["metadata"]["name"] == pod()["spec"]["volumes"][0]["secret"]["secretName"]
    labels = secret["metadata"]["labels"]
    assert Marks.from_labels(labels, PREFIX) == Marks("", "prod", "", "", "eu", "lab", 0)
    assert secret["metadata"]["annotations"] == {"egress-used": "1000.900"}


def test_one_secret_for_all_that_are_configured_alike_in_one_pool():
    other = Marks(
        uid="u-2", install="prod", namespace="x", name="eu-1", pool="eu", provider="lab", port=3128, generation=9
    )
    assert token(marks=other) == token()
    different = [
        token(port=3129),
        token(prefix="other"),
        token(squid=SquidConfig.from_document({"allowed_sources": ["10.0.0.0/8"]})),
        *(token(marks=Marks(**{**vars(MARKS), key: "other"})) for key in ("install", "pool", "provider")),
    ]
    assert len({token(), *different}) == 7


def test_the_network_policy_admits_only_the_allowed_sources_and_only_to_the_port():
    policy = rendered.network_policy(token(), MARKS, SQUID, 3128, PREFIX, 1000)
    assert policy["spec"] == {
        "podSelector": {"matchLabels": {"egress-guest": token()}},
        "policyTypes": ["Ingress"],
        "ingress": [
            {
                "ports": [{"protocol": "TCP", "port": 3128}],
                "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}, {"ipBlock": {"cidr": "2001:db8::/32"}}],
            }
        ],
    }
    users_only = SquidConfig.from_document({"users": [{"name": "a", "password_hash": HASH}]})
    assert "from" not in rendered.network_policy("t", MARKS, users_only, 3128, PREFIX, 0)["spec"]["ingress"][0]


def test_the_service_finds_the_pods_of_one_proxy():
    made = config(service={"type": "LoadBalancer", "annotations": {"example.com/internal": "true"}})
    service = rendered.service("proxy-aaaa", MARKS, 3128, made, PREFIX, 1000)
    labels = pod()["metadata"]["labels"]
    assert {key: labels[key] for key in service["spec"]["selector"]} == service["spec"]["selector"]
    assert set(service["spec"]["selector"]) == {f"{PREFIX}-{key}" for key in ("managed", "install", "uid", "slot")}
    assert service["spec"]["externalTrafficPolicy"] == "Local"
    assert service["metadata"]["annotations"] == {"example.com/internal": "true", "egress-used": "1000.000"}
    marks = Marks.from_labels(service["metadata"]["labels"], PREFIX)
    assert marks == Marks(**{**vars(MARKS), "spec_hash": ""})


def test_the_options_of_a_pod():
    spec = pod(
        Placement(region="r", zone="z", machine_type="small", image="other:2"),
        machine_types={"small": {"requests": {"cpu": "1"}}},
        image_pull_policy="Never",
        image_pull_secrets=["pull"],
        service_account="proxies",
        priority_class="low",
        tolerations=[{"key": "spot", "operator": "Exists"}],
        host_network=True,
        spread="require",
        grace_seconds=3,
    )["spec"]
    (container,) = spec["containers"]
    assert container["image"] == "other:2"
    assert container["imagePullPolicy"] == "Never"
    assert container["resources"] == {"requests": {"cpu": "1"}}
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert spec["serviceAccountName"] == "proxies"
    assert spec["priorityClassName"] == "low"
    assert spec["tolerations"][0] == {"key": "spot", "operator": "Exists"}
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert spec["terminationGracePeriodSeconds"] == 3
    assert spec["topologySpreadConstraints"][0]["whenUnsatisfiable"] == "DoNotSchedule"
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "topology.kubernetes.io/region", "operator": "In", "values": ["r"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]},
    ]


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ({}, ["not-ready", "unreachable"]),
        ({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 60}, ["unreachable"]),
        ({"key": "node.kubernetes.io/unreachable"}, ["not-ready"]),
        ({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}, ["not-ready", "unreachable"]),
        ({"effect": "NoExecute", "tolerationSeconds": 60}, []),
    ],
)
def test_a_lost_node_keeps_its_pods_unless_the_user_says_how_long(given, ours):
    tolerations = [{"operator": "Exists", **given}] if given else []
    added = pod(tolerations=tolerations)["spec"]["tolerations"][len(tolerations) :]
    forever = {"operator": "Exists", "effect": "NoExecute"}
    assert added == [{"key": f"node.kubernetes.io/{key}", **forever} for key in ours]


def test_spread():
    (constraint,) = pod()["spec"]["topologySpreadConstraints"]
    assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"
    assert constraint["labelSelector"]["matchLabels"] == {f"{PREFIX}-install": "prod", f"{PREFIX}-pool": "eu"}
    assert "topologySpreadConstraints" not in pod(spread="none")["spec"]


@pytest.mark.parametrize(
    ("placement", "field", "words"),
    [
        (Placement(machine_type="huge"), "machine_type", "machine_type: 'huge' is not allowed (default, small)"),
        (Placement(image="squid 6"), "image", "image: 'squid 6' is not allowed (an image reference"),
        (Placement(zone="zone a"), "zone", "zone: 'zone a' is not allowed (the value of a node's label"),
        (Placement(region="x" * 64), "region", "is not allowed (the value of a node's label"),
    ],
)
def test_a_placement_that_can_never_be(placement, field, words):
    with pytest.raises(rendered.Unsatisfiable) as error:
        rendered.Shape.of(placement, config(machine_types={"small": {}}))
    assert error.value.field == field
    assert words in str(error.value)


def test_what_replaces_a_pod():
    plain = content()
    small = {"small": {"requests": {"cpu": "1"}}}
    different = {
        "port": content(port=3129),
        "squid": content(squid=SquidConfig.from_document({"allowed_sources": ["10.0.0.0/8"]})),
        "image": content(Placement(image="other:2")),
        "image by default": content(image="other:3"),
        "resources": content(Placement(machine_type="small"), machine_types=small),
        "resources by default": content(machine_types={"default": {"requests": {"cpu": "2"}}}),
        "zone": content(Placement(zone="a")),
        "region": content(Placement(region="a")),
        "service account": content(service_account="a"),
        "priority class": content(priority_class="a"),
        "labels": content(labels={"a": "b"}),
        "annotations": content(annotations={"a": "b"}),
        "host network": content(host_network=True),
        "network policy": content(network_policy=True),
        "service": content(service={}),
        "kind of service": content(service={"type": "LoadBalancer"}),
    }
    texts = {json.dumps(each, sort_keys=True) for each in (plain, *different.values())}
    assert len(texts) == 1 + len(different)


def test_what_replaces_no_pod():
    for options in (
        {"image_pull_policy": "Never"},
        {"image_pull_secrets": ["a"]},
        {"tolerations": [{"operator": "Exists"}]},
        {"spread": "none"},
        {"grace_seconds": 60},
        {"lost_node_timeout": None},
        {"force_delete_lost": True},
        {"request_timeout": 1},
        {"all_namespaces": True},
        {"insecure": True},
        {"machine_types": {"unused": {"requests": {"cpu": "9"}}}},
    ):
        assert content(**options) == content(), options


def test_the_content_of_a_plain_proxy_never_changes():
    """An upgrade that adds an option must not replace the fleets that don't use it."""
    assert content() == {
        "image": "ubuntu/squid:latest",
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "port": 3128,
        "squid": SQUID.hashable(),
    }
