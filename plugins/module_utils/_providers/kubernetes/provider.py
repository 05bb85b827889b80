# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The C(kubernetes) provider: each proxy is a Pod of one namespace.

The Pods of a pool that are configured alike share a Secret, and perhaps a NetworkPolicy. These are made before the
first of the Pods and collected when none uses them any more; to use one again is to write to it, so that whoever
deletes it by its resource version finds out.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import typing as t

from ..._squid.model import SquidConfig
from ...provider import (
    Completeness,
    Context,
    Created,
    CreateOutcome,
    CreateRequest,
    Deleted,
    DeleteOutcome,
    Guest,
    Instance,
    InstanceRef,
    Leftover,
    LeftoverListing,
    Listing,
    Marks,
    Placement,
    Profile,
    ProviderError,
    ProviderHost,
    Reason,
    Scope,
    ScopeStatus,
    Selector,
    State,
    TargetStatus,
)
from . import check, diagnosis, leftovers, pod
from .api import NETWORK_POLICIES, PODS, SECRETS, SERVICES, Client, Json, KubernetesApi, Resource, require_sdk
from .config import DNS_LABEL, DNS_NAME, KubernetesConfig
from .errors import Fault, Refusal, classify
from .state import read, seconds

#: How often what is shared is written to by a run that goes on making Pods with it; far below C(egress_gc)'s min_age.
_TOUCH_AFTER = 120.0

_ID = re.compile(f"namespaces/({DNS_LABEL})/pods/({DNS_NAME})")
_ID_HELP = "namespaces/<namespace>/pods/<name>"

#: Stands for all namespaces in the scopes of a list.
EVERYWHERE = Scope("namespaces/*")


def build(name: str, config: t.Mapping[str, t.Any], host: ProviderHost) -> KubernetesProvider:
    """Dials nothing. Raises MissingSDK, and C(InvalidArgument) for a bad configuration block."""
    parsed = KubernetesConfig.parse(name, config, host.mark_prefix)
    require_sdk(name)
    log = logging.getLogger(f"crawl.egress.{name}")
    return KubernetesProvider(name, parsed, host, Client(parsed.access, log, name))


class KubernetesProvider:
    """Provider, Marker, Checker, Sweeper, Diagnoser and Preflight."""

    profile = Profile(
        type="kubernetes",
        contract_version=1,
        placement=("region", "zone", "machine_type", "image"),
        cloud_init="not-delivered",
        primary_key="name-is-key",
        readiness="provisioning-window",
        ip_source="discovered",
        gc_mark="native-labels",
        created_at="backend-timestamp",
        provisioning_state="native",
        create_return="submit",
        async_ops="none",
        delete_return="returns-early",
        secondary_resources="explicit",
        list_partial="report-scopes",
        list_cost="one-call",
        not_found="status-404",
        quota="detected",
        credentials="mounted-files",
        client_kind="vendor-sdk",
        child_spans="transport-wrapper",
        timeouts="per-call",
        logging="tiered",
        backend_test="real-backend",
    )

    def __init__(self, name: str, config: KubernetesConfig, host: ProviderHost, api: KubernetesApi) -> None:
        self.name = name
        self._config = config
        self._host = host
        self._prefix = host.mark_prefix
        self._namespace = config.namespace
        self._scope = Scope(f"namespaces/{config.namespace}")
        self._api = api
        self._shared = threading.Lock()
        self._touched: dict[str, float] = {}

    # --- pure

    def scope_of(self, placement: Placement) -> Scope:
        return self._scope

    def scope_of_id(self, provider_id: str) -> Scope:
        return Scope(f"namespaces/{self._parsed(provider_id, 'scope')[0]}")

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        shape, squid = self._understood(placement, port, guest, "spec")
        return pod.spec_content(shape, port, squid, self._config)

    # --- the contract

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        shape, squid = self._understood(request.placement, request.port, request.guest, "create")
        identity = self._identity(self._namespace, request.name)
        if request.scope != self._scope:
            message = f"{request.scope.name} is not the namespace of this provider ({self._scope.name})"
            raise self._error(Reason.INVALID_PLACEMENT, message, "create", identity)
        with self._classified("create", identity):
            token = self._ensure_shared(request, squid, ctx)
            if self._config.service:
                now = self._host.clock.now()
                service = pod.service(request.name, request.marks, request.port, self._config, self._prefix, now)
                self._ensure(SERVICES, service, request.marks, ctx)
            body = pod.pod(request.name, request.marks, token, shape, request.port, self._config, self._prefix)
            ctx.check("create", self.name, identity)
            for _attempt in range(2):
                try:
                    made = self._api.create(PODS, self._namespace, body, ctx)
                    return Created(identity, made["metadata"]["uid"], CreateOutcome.CREATED)
                except Refusal as refusal:
                    if not refusal.exists:
                        raise
                adopted = self._adopted(identity, request, ctx)
                if adopted is not None:
                    return adopted
        raise self._error(Reason.BUSY, f"{identity} comes and goes", "create", identity)

    def _adopted(self, identity: str, request: CreateRequest, ctx: Context) -> Created | None:
        """The Pod that has the name already, if it is ours; None when it is gone by now."""
        try:
            there = self._api.get(PODS, self._namespace, request.name, ctx)
        except Refusal as refusal:
            if refusal.lacks("pods"):
                return None
            raise
        marks = Marks.from_labels(there["metadata"].get("labels") or {}, self._prefix)
        conflict = marks.conflict_with(request.marks) if marks else "it has no mark of a managed proxy"
        if conflict:
            raise self._error(Reason.CONFLICT, f"{identity} is there already: {conflict}", "create", identity)
        if there["metadata"].get("deletionTimestamp"):
            raise self._error(Reason.BUSY, f"{identity} is being deleted", "create", identity)
        return Created(identity, there["metadata"]["uid"], CreateOutcome.ADOPTED)

    def get(self, provider_id: str, ctx: Context) -> Instance:
        namespace, name = self._parsed(provider_id, "get")
        with self._classified("get", provider_id):
            found = self._api.get(PODS, namespace, name, ctx)
            services: dict[tuple[str, str], Json] = {}
            if self._config.address == "service":
                with contextlib.suppress_missing("services"):
                    services[namespace, name] = self._api.get(SERVICES, namespace, name, ctx)
            return self._instance(found, services)

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        namespace, name = self._parsed(ref.provider_id, "delete")
        with self._classified("delete", ref.provider_id):
            outcome = self._delete_pod(namespace, name, ref, ctx)
            if outcome is not None and self._config.service:
                self._delete_service(namespace, name, ctx)
        return Deleted(outcome or DeleteOutcome.GONE)

    def _delete_pod(self, namespace: str, name: str, ref: InstanceRef, ctx: Context) -> DeleteOutcome | None:
        """None when another incarnation has the name: then nothing that belongs to the name is touched."""
        force = self._config.force_delete_lost and self._is_lost(namespace, name, ctx)
        options = {
            "gracePeriodSeconds": 0 if force else self._config.grace_seconds,
            "preconditions": {"uid": ref.incarnation},
        }
        try:
            answer = self._api.delete(PODS, namespace, name, options, ctx)
        except Refusal as refusal:
            if refusal.other_incarnation:
                return None
            if refusal.lacks("pods"):
                return DeleteOutcome.GONE
            raise
        # The answer to a delete that took effect at once is a Status, or the Pod as it was at last.
        metadata = answer.get("metadata") or {}
        at_once = answer.get("kind") != "Pod" or metadata.get("deletionGracePeriodSeconds") == 0
        return DeleteOutcome.GONE if at_once and not metadata.get("finalizers") else DeleteOutcome.DELETING

    def _is_lost(self, namespace: str, name: str, ctx: Context) -> bool:
        try:
            found = self._api.get(PODS, namespace, name, ctx)
        except Refusal as refusal:
            if refusal.lacks("pods"):
                return False
            raise
        return self._instance(found, {}).cause == "NodeLost"

    def _delete_service(self, namespace: str, name: str, ctx: Context) -> None:
        try:
            service = self._api.get(SERVICES, namespace, name, ctx)
            if Marks.from_labels(service["metadata"].get("labels") or {}, self._prefix):
                self._api.delete(SERVICES, namespace, name, leftovers.exactly(service), ctx)
        except Refusal as refusal:
            # Changed since it was read: a Pod that is being made uses it again.
            if not (refusal.lacks("services") or refusal.code == 409):
                raise

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        scopes: dict[Scope, ScopeStatus] = {}
        where: str | None = self._namespace
        found: list[Json] = []
        services: dict[tuple[str, str], Json] = {}
        try:
            with self._classified("list", None):
                if self._config.all_namespaces:
                    where, scopes[EVERYWHERE] = self._reach(selector, ctx)
        finally:
            pass
        return Listing(tuple(self._instance(item, services) for item in found), scopes)
