# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Checker: whether this API server would let us work in the namespace, and how much of its quota is left."""

from __future__ import annotations

import typing as t

from ...provider import CheckReason, Context, EgressError, Marks, Placement, Reason, TargetStatus
from .api import NETWORK_POLICIES, PODS, QUOTAS, SECRETS, SERVICES, Json, KubernetesApi, Resource
from .config import KubernetesConfig
from .errors import Fault, Refusal, classify
from .pod import Shape, pod
from .schema import DEFAULT_MACHINE_TYPE

#: An admin would fix these differently: make the namespace, wait or make it anew, correct the entry or the policy.
NAMESPACE_NOT_FOUND = "NamespaceNotFound"
NAMESPACE_TERMINATING = "NamespaceTerminating"
INVALID_CONFIG = "InvalidConfig"

_REASONS: t.Mapping[Reason, str] = {
    Reason.TIMEOUT: CheckReason.TIMEOUT.value,
    Reason.CANCELLED: CheckReason.TIMEOUT.value,
    Reason.UNREACHABLE: CheckReason.UNREACHABLE.value,
    Reason.UNAUTHORIZED: CheckReason.UNAUTHORIZED.value,
    Reason.FORBIDDEN: CheckReason.FORBIDDEN.value,
    Reason.INVALID_CONFIG: INVALID_CONFIG,
}


def check(entry: str, api: KubernetesApi, config: KubernetesConfig, prefix: str, ctx: Context) -> TargetStatus:
    """Lists one Pod, asks for the permissions, and lets the server try, but not carry out, a create."""
    target = f"namespaces/{config.namespace}"
    details: dict[str, str] = {}
    try:
        ctx.check("check", entry)
        details["version"] = api.version(ctx)
        api.peek(PODS, None if config.all_namespaces else config.namespace, ctx, labels=f"{prefix}-managed=true")
        details.update(_quotas(api, config.namespace, ctx))
        refused = [needed for needed in _needed(config) if not api.is_allowed(*needed, config.namespace, ctx)]
        if refused:
            message = "not allowed: " + ", ".join(f"{verb} {resource.plural}" for verb, resource in refused)
            return TargetStatus(target, False, CheckReason.FORBIDDEN.value, message, details)
        message = _try_create(entry, api, config, prefix, ctx)
    except Refusal as refusal:
        if refusal.lacks("namespaces"):
            return TargetStatus(target, False, NAMESPACE_NOT_FOUND, refusal.message, details)
        if refusal.terminating:
            return TargetStatus(target, False, NAMESPACE_TERMINATING, refusal.message, details)
        return _failed(target, classify(refusal, op="check", provider=entry), details)
    except Fault as fault:
        return _failed(target, classify(fault, op="check", provider=entry), details)
    except EgressError as error:
        return _failed(target, error, details)
    return TargetStatus(target, True, CheckReason.REACHABLE.value, message, details)


def _failed(target: str, error: EgressError, details: t.Mapping[str, str]) -> TargetStatus:
    reason = _REASONS.get(error.reason, CheckReason.API_ERROR.value)
    return TargetStatus(target, False, reason, error.message, details)


def _needed(config: KubernetesConfig) -> t.Iterator[tuple[str, Resource]]:
    """What create, get, delete and marks use; that lists are allowed has been seen."""
    for verb in ("create", "get", "patch", "delete"):
        yield verb, PODS
    shared = {SECRETS: True, NETWORK_POLICIES: config.network_policy, SERVICES: config.service is not None}
    for resource, is_used in shared.items():
        for verb in ("create", "get", "patch") if is_used else ():
            yield verb, resource


def _try_create(entry: str, api: KubernetesApi, config: KubernetesConfig, prefix: str, ctx: Context) -> str:
    """Raises what a create would be refused with; a full quota is no fault of the backend, and only told."""
    marks = Marks("check", "check", "check", "check", "check", entry, port=3128)
    shape = Shape.of(Placement(machine_type=DEFAULT_MACHINE_TYPE), config)
    body = pod("egress-check", marks, "check", shape, marks.port, config, prefix)
    try:
        api.create(PODS, config.namespace, body, ctx, dry_run=True)
    except Refusal as refusal:
        if refusal.exists or "does not support dry run" in refusal.message:
            return ""
        if classify(refusal, op="create", provider=entry).reason is not Reason.QUOTA:
            raise
        return refusal.message
    return ""


def _quotas(api: KubernetesApi, namespace: str, ctx: Context) -> dict[str, str]:
    try:
        quotas = api.find(QUOTAS, namespace, ctx)
    except Refusal as refusal:
        return {"quotas": f"not readable: {refusal.message}"}
    return dict(row for quota in quotas for row in _headroom(quota))


def _headroom(quota: Json) -> t.Iterator[tuple[str, str]]:
    status: Json = quota.get("status") or {}
    used = status.get("used") or {}
    for resource, hard in sorted((status.get("hard") or {}).items()):
        yield f"quota {quota['metadata']['name']}: {resource}", f"{used.get(resource, '0')} of {hard} used"
