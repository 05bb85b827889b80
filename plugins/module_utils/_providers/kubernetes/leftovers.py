# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What was made for Pods that are gone: Secrets, NetworkPolicies and Services."""

from __future__ import annotations

import re
import typing as t

from ...provider import Context, Reason
from .api import NETWORK_POLICIES, PODS, SECRETS, SERVICES, Json, KubernetesApi, Resource
from .config import KubernetesConfig
from .errors import Refusal, classify
from .pod import GUEST_LABEL, SHARED_PREFIX, USED_ANNOTATION
from .schema import DNS_LABEL, DNS_NAME
from .state import seconds

_KINDS = {SECRETS: "Secret", NETWORK_POLICIES: "NetworkPolicy", SERVICES: "Service"}
_ID = re.compile(
    f"namespaces/(?P<namespace>{DNS_LABEL})/(?P<plural>secrets|networkpolicies|services)/(?P<name>{DNS_NAME})"
)
_TIME = re.compile(r"[0-9]+(\.[0-9]+)?")


def find(api: KubernetesApi, config: KubernetesConfig, labels: str, ctx: Context) -> list[tuple[Resource, Json]]:
    """Marked objects that no Pod uses.

    The Pods are listed last: one that was made meanwhile is seen, and one that is made later touches what it uses.
    """
    namespace = config.namespace
    candidates = [(resource, item) for resource in _KINDS for item in _listed(api, config, resource, labels, ctx)]
    if not candidates:
        return []
    pods = api.find(PODS, namespace, ctx, labels=labels)
    names = {pod["metadata"]["name"] for pod in pods}
    guests = {(pod["metadata"].get("labels") or {}).get(GUEST_LABEL) for pod in pods}

    def is_used(resource: Resource, item: Json) -> bool:
        if resource is SERVICES:
            return item["metadata"]["name"] in names
        return item["metadata"]["labels"].get(GUEST_LABEL) in guests

    # The items of a list don't say their kind.
    return [(r, {**item, "kind": _KINDS[r]}) for r, item in candidates if not is_used(r, item)]


def _listed(
    api: KubernetesApi, config: KubernetesConfig, resource: Resource, labels: str, ctx: Context
) -> t.Sequence[Json]:
    used = {SECRETS: True, NETWORK_POLICIES: config.network_policy, SERVICES: config.service is not None}
    try:
        return api.find(resource, config.namespace, ctx, labels=labels)
    except Refusal as refusal:
        # Who may not even list what this entry does not use has not made any of it either.
        if used[resource] or classify(refusal, op="list_leftovers", provider="").reason is not Reason.FORBIDDEN:
            raise
        return ()


def last_used(item: Json) -> float | None:
    """Unix seconds."""
    text = (item["metadata"].get("annotations") or {}).get(USED_ANNOTATION, "")
    return float(text) if _TIME.fullmatch(text) else seconds(item["metadata"].get("creationTimestamp"))


def identity(resource: Resource, item: Json) -> str:
    return f"namespaces/{item['metadata']['namespace']}/{resource.plural}/{item['metadata']['name']}"


def parse(leftover_id: str) -> tuple[Resource, str, str]:
    """Resource, namespace and name; raises ValueError."""
    match = _ID.fullmatch(leftover_id)
    if match is None:
        raise ValueError(f"{leftover_id!r} is no leftover of this provider")
    resource = next(r for r in _KINDS if r.plural == match.group("plural"))
    return resource, match.group("namespace"), match.group("name")


def is_shared_by_pods(api: KubernetesApi, resource: Resource, namespace: str, name: str, ctx: Context) -> bool:
    """Whether Pods use it now. What belongs to one Pod (a Service) is written to before that is made."""
    token = name[len(SHARED_PREFIX) :]
    return resource is not SERVICES and bool(api.find(PODS, namespace, ctx, labels=f"{GUEST_LABEL}={token}"))


def incarnation(item: Json) -> str:
    """Of exactly this state of the object: whoever uses it again, or marks it otherwise, changes its version."""
    return f"{item['metadata']['uid']}/{item['metadata']['resourceVersion']}"


def unchanged(incarnation_: str) -> Json:
    """C(DeleteOptions) that spare the object when it is not what it was."""
    uid, _slash, version = incarnation_.partition("/")
    return {"preconditions": {"uid": uid, "resourceVersion": version}}


def exactly(item: Json) -> Json:
    return unchanged(incarnation(item))
