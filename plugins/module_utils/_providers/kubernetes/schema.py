# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The C(kubernetes:) block of a provider entry, as JSON schema, and the names that Kubernetes allows."""

from __future__ import annotations

import re
import typing as t

#: Debian's layout of Squid and its user C(proxy), see C(pod.py).
DEFAULT_IMAGE = "ubuntu/squid:latest"

#: What a proxy gets whose placement names no machine type; C(machine_types.default) replaces it.
DEFAULT_MACHINE_TYPE = "default"
DEFAULT_RESOURCES: t.Mapping[str, t.Mapping[str, str]] = {
    "requests": {"cpu": "50m", "memory": "64Mi"},
    "limits": {"memory": "256Mi"},
}

#: End of the text. Python's C($) also matches before a final newline.
_END = r"$(?!\n)"

DNS_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
DNS_NAME = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")
IMAGE_HELP = "an image reference such as registry.example/squid:6.6, without blanks"

_LABEL_KEY = r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_QUANTITY = r"[0-9]{1,15}(\.[0-9]{1,6})?(m|k|Ki|M|Mi|G|Gi|T|Ti)?"
_RESOURCES = ("cpu", "memory", "ephemeral-storage")

_Schema = dict[str, t.Any]


def _text(description: str, pattern: str | None = None, title: str | None = None) -> _Schema:
    schema: _Schema = {"type": "string", "minLength": 1, "description": description}
    if pattern:
        schema["pattern"] = f"^{pattern}{_END}"
    if title:
        schema["title"] = title
    return schema


def _named(description: str, pattern: str = DNS_NAME) -> _Schema:
    return _text(description, pattern, "a name as Kubernetes allows it: a-z, 0-9, '-' and mostly '.'")


def _mapping(description: str, properties: _Schema, required: t.Sequence[str] = ()) -> _Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
        "description": description,
    }


def _texts(description: str, value: _Schema) -> _Schema:
    return {
        "type": "object",
        "additionalProperties": value,
        "propertyNames": {"pattern": f"^{_LABEL_KEY}{_END}"},
        "description": description,
    }


def _amounts(description: str) -> _Schema:
    amount = _text("A quantity.", _QUANTITY, "a quantity such as 100m, 0.5, 64Mi or 1G")
    return _mapping(description, dict.fromkeys(_RESOURCES, amount))


_TOLERATION = _mapping(
    "One toleration of a Pod.",
    {
        "key": _text("Key of the taint."),
        "operator": {"type": "string", "enum": ["Equal", "Exists"], "description": "How the key is compared."},
        "value": {"type": "string", "description": "Value of the taint, with the operator Equal."},
        "effect": {
            "type": "string",
            "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"],
            "description": "Effect of the taint; without it, all effects.",
        },
        "tolerationSeconds": {
            "type": "integer",
            "minimum": 0,
            "description": "For how long a taint with the effect NoExecute is tolerated.",
        },
    },
)

SCHEMA: t.Mapping[str, t.Any] = _mapping(
    "A namespace of a Kubernetes cluster; each proxy is a Pod.",
    {
        "namespace": _named("Namespace in which Pods are created. It must exist.", DNS_LABEL),
        "all_namespaces": {
            "type": "boolean",
            "default": False,
            "description": "Look for proxies in all namespaces, such as one that this entry named earlier. Needs the "
            "permission to list Pods in the whole cluster.",
        },
        "kubeconfig": _text("Path of a kubeconfig, or several with ':' between them."),
        "context": _text("Context of the kubeconfig, instead of its current one."),
        "host": _text("URL of the API server, instead of a kubeconfig.", r"https?://[^\s/@]+(/[^\s@]*)?", "a URL"),
        "token_file": _text("Path of a file with a bearer token, with C(host). It is read again when it was refused."),
        "ca_file": _text("Path of the certificate authority's certificates, with C(host)."),
        "cert_file": _text("Path of a client certificate, with C(host)."),
        "key_file": _text("Path of the client certificate's key, with C(host)."),
        "insecure": {
            "type": "boolean",
            "default": False,
            "description": "Don't check the API server's certificate: whoever is in between gets the credentials.",
        },
        "request_timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": 600,
            "default": 30,
            "description": "Seconds that the API server gets to answer one request.",
        },
        "image": _text(
            f"Container image of proxies whose placement names none; by default C({DEFAULT_IMAGE}).",
            IMAGE.pattern,
            IMAGE_HELP,
        ),
        "image_pull_policy": {
            "type": "string",
            "enum": ["Always", "IfNotPresent", "Never"],
            "description": "When the image is pulled; by default as Kubernetes does it.",
        },
        "image_pull_secrets": {
            "type": "array",
            "uniqueItems": True,
            "items": _named("Name of a Secret of the namespace."),
            "description": "Secrets with the credentials of the image's registry.",
        },
        "machine_types": {
            "type": "object",
            "propertyNames": {"pattern": f"^{LABEL_VALUE.pattern}{_END}"},
            "additionalProperties": _mapping(
                "Resources of the container.",
                {"requests": _amounts("What it is sure to get."), "limits": _amounts("What it may use at most.")},
            ),
            "description": f"Resources by the name that C(placement.machine_type) uses; C({DEFAULT_MACHINE_TYPE}) is "
            "for proxies that name none.",
        },
        "service_account": _named("Service account of the Pods. Its token is not mounted."),
        "priority_class": _named("Priority class of the Pods."),
        "tolerations": {"type": "array", "items": _TOLERATION, "description": "Tolerations of the Pods."},
        "labels": _texts(
            "Further labels of the Pods.", {"type": "string", "pattern": f"^({LABEL_VALUE.pattern})?{_END}"}
        ),
        "annotations": _texts("Further annotations of the Pods.", {"type": "string"}),
        "spread": {
            "type": "string",
            "enum": ["prefer", "require", "none"],
            "default": "prefer",
            "description": "Whether the Pods of a pool are spread evenly over the nodes.",
        },
        "host_network": {
            "type": "boolean",
            "default": False,
            "description": "Use the node's own network and address: then one proxy a port and node.",
        },
        "network_policy": {
            "type": "boolean",
            "default": False,
            "description": "Make a NetworkPolicy that admits only C(squid.allowed_sources), and only to the port.",
        },
        "service": _mapping(
            "Make a Service for each proxy.",
            {
                "type": {
                    "type": "string",
                    "enum": ["ClusterIP", "LoadBalancer"],
                    "default": "ClusterIP",
                    "description": "Type of the Services.",
                },
                "annotations": _texts("Annotations of the Services.", {"type": "string"}),
            },
        ),
        "address": {
            "type": "string",
            "enum": ["pod", "service"],
            "default": "pod",
            "description": "Which address is reported, that of the Pod or that of its Service.",
        },
        "grace_seconds": {
            "type": "integer",
            "minimum": 1,
            "maximum": 3600,
            "default": 10,
            "description": "How long a Pod that is deleted may take to end open connections.",
        },
        "lost_node_timeout": {
            "type": ["integer", "null"],
            "minimum": 1,
            "default": 900,
            "description": "Seconds after which a Pod is replaced whose node is lost; null for never.",
        },
        "force_delete_lost": {
            "type": "boolean",
            "default": False,
            "description": "Delete Pods of a lost node at once, without the node's word that they have ended.",
        },
    },
    required=("namespace",),
)
