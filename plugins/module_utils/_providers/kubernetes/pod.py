# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a proxy consists of on the cluster: a Pod, a Secret that it shares, perhaps a NetworkPolicy and a Service. Pure.

What the image has to provide, as one with Debian's or Ubuntu's package C(squid) does:

- C(/usr/sbin/squid) and C(/usr/lib/squid/basic_ncsa_auth), and what Squid reads below C(/usr/share/squid);
- a user C(proxy) with UID and GID 13, as which everything runs; entry point and command are not used;
- no folders to write to: the file system is read-only but for C(/tmp), an empty volume, and C(/dev/shm), where Squid
  keeps its configuration and which container runtimes give to each Pod. C(/etc/egress) is made by Kubernetes, and
  holds C(squid.conf) and C(passwords).
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import typing as t

from ..._squid.model import SquidConfig
from ..._squid.render import Listener, Runtime, render_conf, render_passwords, squid_command
from ...provider import Marks, Placement
from .config import KubernetesConfig
from .schema import DEFAULT_MACHINE_TYPE, IMAGE, IMAGE_HELP, LABEL_VALUE

Json = dict[str, t.Any]

CONTAINER = "squid"
SQUID = "/usr/sbin/squid"
AUTH_HELPER = "/usr/lib/squid/basic_ncsa_auth"
UID = GID = 13

_CONFIG = "/etc/egress"
_TMP = "/tmp"

#: Label of a Secret, a NetworkPolicy and the Pods that use them; its value is C(guest_token()).
GUEST_LABEL = "egress-guest"
#: Annotation of a Secret, a NetworkPolicy or a Service: Unix seconds of when it was last made ready for a Pod, exact
#: enough to make each time another version of it.
USED_ANNOTATION = "egress-used"

#: Of the names of Secrets and NetworkPolicies; the rest is C(guest_token()).
SHARED_PREFIX = "proxy-guest-"

LOWEST_PORT = 1024

#: Taints of a lost node. It may come back: when its Pods are given up is for C(lost_node_timeout) to say.
_LOST = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Unsatisfiable(ValueError):
    """A placement that nothing can ever fulfil. :ivar field: of the placement."""

    def __init__(self, field: str, value: str, allowed: str) -> None:
        super().__init__(f"{field}: {value!r} is not allowed ({allowed})")
        self.field = field


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a placement means in one configuration.

    :ivar topology: label of a node to the value that it must have.
    """

    image: str
    resources: t.Mapping[str, t.Mapping[str, str]]
    topology: t.Mapping[str, str]

    @classmethod
    def of(cls, placement: Placement, config: KubernetesConfig) -> Shape:
        """:raises Unsatisfiable: names field, value and what is allowed."""
        machine_type = placement.machine_type or DEFAULT_MACHINE_TYPE
        if machine_type not in config.machine_types:
            raise Unsatisfiable("machine_type", machine_type, ", ".join(sorted(config.machine_types)))
        image = placement.image or config.image
        if not IMAGE.fullmatch(image):
            raise Unsatisfiable("image", image, IMAGE_HELP)
        topology = {}
        for field in ("region", "zone"):
            value = getattr(placement, field)
            if value is None:
                continue
            if not LABEL_VALUE.fullmatch(value):
                raise Unsatisfiable(field, value, "the value of a node's label: letters, digits, '-', '_' and '.'")
            topology[f"topology.kubernetes.io/{field}"] = value
        return cls(image, config.machine_types[machine_type], topology)


def spec_content(shape: Shape, port: int, squid: SquidConfig, config: KubernetesConfig) -> Json:
    """What forces a replacement when it changes. What is not set is not in it, so that a new option changes nothing.

    Not in it is what matters only when a Pod is made or deleted: pull policy and secrets, tolerations, spread, grace.
    """
    service = config.service
    content = {
        "image": shape.image,
        "resources": {kind: dict(amounts) for kind, amounts in shape.resources.items() if amounts},
        "topology": dict(shape.topology),
        "port": port,
        "squid": squid.hashable(),
        "service_account": config.service_account,
        "priority_class": config.priority_class,
        "labels": dict(config.labels),
        "annotations": dict(config.annotations),
        "host_network": config.host_network,
        "network_policy": config.network_policy,
        "service": {"type": service.type, "annotations": dict(service.annotations)} if service else None,
    }
    return {key: value for key, value in content.items() if value}


def guest_token(squid: SquidConfig, port: int, marks: Marks, prefix: str) -> str:
    """16 lower-case characters, the same for all proxies of a pool and provider entry that are configured alike."""
    owner = [prefix, marks.install, marks.pool, marks.provider]
    text = json.dumps([*owner, port, squid.hashable()], sort_keys=True)
    return base64.b32encode(hashlib.sha256(text.encode()).digest()[:10]).decode().lower()


def shared_name(token: str) -> str:
    """Of the Secret and the NetworkPolicy."""
    return SHARED_PREFIX + token


def files(squid: SquidConfig, port: int, config: KubernetesConfig) -> dict[str, str]:
    """What is in C(/etc/egress): secret."""
    runtime = Runtime(
        auth_helper=AUTH_HELPER,
        password_file=f"{_CONFIG}/passwords",
        coredump_dir=_TMP,
        shutdown_seconds=max(1, config.grace_seconds - 2),
    )
    return {
        "squid.conf": render_conf(squid, Listener(None, port), runtime),
        "passwords": render_passwords(squid),
    }


def secret(token: str, marks: Marks, content: t.Mapping[str, str], prefix: str, now: float) -> Json:
    """The generated configuration, once for all Pods that are configured alike."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _shared_metadata(token, marks, prefix, now),
        "type": "Opaque",
        "data": {name: base64.b64encode(text.encode()).decode() for name, text in content.items()},
    }


def network_policy(token: str, marks: Marks, squid: SquidConfig, port: int, prefix: str, now: float) -> Json:
    """Admits the allowed sources, or everybody when only users are asked for, and only to the port."""
    rule: Json = {"ports": [{"protocol": "TCP", "port": port}]}
    if squid.allowed_sources:
        rule["from"] = [{"ipBlock": {"cidr": str(network)}} for network in squid.allowed_sources]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _shared_metadata(token, marks, prefix, now),
        "spec": {
            "podSelector": {"matchLabels": {GUEST_LABEL: token}},
            "policyTypes": ["Ingress"],
            "ingress": [rule],
        },
    }


def service(name: str, marks: Marks, port: int, config: KubernetesConfig, prefix: str, now: float) -> Json:
    """The Service of one proxy; it outlives the Pods that replace each other under its name."""
    wanted = config.service
    if wanted is None:
        raise ValueError("there is no service in this configuration")
    labels = marks.to_labels(prefix)
    spec: Json = {
        "type": wanted.type,
        "selector": {f"{prefix}-{key}": labels[f"{prefix}-{key}"] for key in ("managed", "install", "uid", "slot")},
        "ports": [{"name": "proxy", "protocol": "TCP", "port": port, "targetPort": port}],
    }
    if wanted.type == "LoadBalancer":
        spec["externalTrafficPolicy"] = "Local"  # else Squid sees a node's address instead of the client's
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "labels": _some(labels, prefix, _OF_SERVICE),
            "annotations": {**wanted.annotations, USED_ANNOTATION: f"{now:.3f}"},
        },
        "spec": spec,
    }


def pod(name: str, marks: Marks, token: str, shape: Shape, port: int, config: KubernetesConfig, prefix: str) -> Json:
    """One proxy. It holds no secret."""
    # -d 1: Squid's own messages go to the container's log; the file that it would like better is /dev/null.
    command = [*squid_command(SQUID, f"{_CONFIG}/squid.conf", name), "-d", "1"]
    container: Json = {
        "name": CONTAINER,
        "image": shape.image,
        "command": command,
        "ports": [{"name": "proxy", "containerPort": port, "protocol": "TCP"}],
        "resources": {kind: dict(amounts) for kind, amounts in shape.resources.items()},
        "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 2, "timeoutSeconds": 2},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        },
        "volumeMounts": [
            {"name": "config", "mountPath": _CONFIG, "readOnly": True},
            {"name": "tmp", "mountPath": _TMP},
        ],
    }
    if config.image_pull_policy:
        container["imagePullPolicy"] = config.image_pull_policy
    spec: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": config.grace_seconds,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": UID,
            "runAsGroup": GID,
            "fsGroup": GID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "config", "secret": {"secretName": shared_name(token), "defaultMode": 0o440}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
        **_scheduling(marks, shape, config, prefix),
    }
    if config.service_account:
        spec["serviceAccountName"] = config.service_account
    if config.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in config.image_pull_secrets]
    if config.host_network:
        spec["hostNetwork"] = True
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {**config.labels, GUEST_LABEL: token, **marks.to_labels(prefix)},
            "annotations": dict(config.annotations),
        },
        "spec": spec,
    }


def _scheduling(marks: Marks, shape: Shape, config: KubernetesConfig, prefix: str) -> Json:
    spec: Json = {"tolerations": [*map(dict, config.tolerations), *_patience(config)]}
    if config.priority_class:
        spec["priorityClassName"] = config.priority_class
    if shape.topology:
        terms = [{"key": key, "operator": "In", "values": [value]} for key, value in shape.topology.items()]
        required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if config.spread != "none":
        pool = {f"{prefix}-install": marks.install, f"{prefix}-pool": marks.pool}
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule" if config.spread == "require" else "ScheduleAnyway",
                "labelSelector": {"matchLabels": pool},
            }
        ]
    return spec


def _patience(config: KubernetesConfig) -> t.Iterator[Json]:
    """Kubernetes itself deletes what is on a lost node after five minutes, if nothing is said about that."""
    spoken = {each.get("key") for each in config.tolerations if each.get("effect") in (None, "NoExecute")}
    for key in _LOST:
        if not spoken & {None, key}:
            yield {"key": key, "operator": "Exists", "effect": "NoExecute"}


def _shared_metadata(token: str, marks: Marks, prefix: str, now: float) -> Json:
    return {
        "name": shared_name(token),
        "labels": {**_some(marks.to_labels(prefix), prefix, _OF_SHARED), GUEST_LABEL: token},
        "annotations": {USED_ANNOTATION: f"{now:.3f}"},
    }


def _some(labels: t.Mapping[str, str], prefix: str, marks: t.Iterable[str]) -> dict[str, str]:
    names = (f"{prefix}-{mark}" for mark in marks)
    return {name: labels[name] for name in names if name in labels}


#: The marks of what several Pods share, and of a Service: whose it is. The others are about one incarnation of a Pod.
_OF_SHARED = ("managed", "install", "pool", "provider")
_OF_SERVICE = (*_OF_SHARED, "namespace", "name", "uid", "slot", "port")
