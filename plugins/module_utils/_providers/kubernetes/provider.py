# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The C(kubernetes) provider: each proxy is a Pod of one namespace.

The Pods of a pool that are configured alike share a Secret, and perhaps a NetworkPolicy. These are made before the
first of the Pods and collected when none uses them any more. Whoever makes the first Pod writes to them before and
after: a collector that has seen no Pod by then finds out by their resource version, or has deleted them already.
"""

from __future__ import annotations

import contextlib
import logging
import os
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
from .config import KubernetesConfig
from .errors import Fault, Refusal, classify
from .schema import DNS_LABEL, DNS_NAME, LABEL_VALUE
from .state import NODE_LOST, read, seconds

#: How often what is shared is written to by a run that goes on making Pods with it; far below C(egress_gc)'s min_age.
_TOUCH_AFTER = 120.0

#: A selector with more pools than these would make a URL that is too long; their instances are filtered here.
_MOST_POOLS = 50

_ID = re.compile(f"namespaces/(?P<namespace>{DNS_LABEL})/pods/(?P<name>{DNS_NAME})")
_ID_HELP = "namespaces/<namespace>/pods/<name>"

#: Stands for all namespaces in the scopes of a list.
EVERYWHERE = Scope("namespaces/*")

#: Of a Pod whose labels were wiped.
NO_MARKS = Marks("", "", "", "", "", "", 0)


def build(name: str, config: t.Mapping[str, t.Any], host: ProviderHost) -> KubernetesProvider:
    """Dials nothing. Raises MissingSDK, and C(InvalidArgument) for a bad configuration block."""
    parsed = KubernetesConfig.parse(name, config, host.mark_prefix, os.environ)
    require_sdk(name)
    log = logging.getLogger(f"crawl.egress.{name}")
    return KubernetesProvider(name, parsed, host, Client(parsed.access, parsed.request_timeout, name, log))


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
        self._ready: dict[str, float] = {}
        self._used: dict[str, float] = {}

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
        identity = f"{self._scope.name}/pods/{request.name}"
        if request.scope != self._scope:
            message = f"{request.scope.name} is not the namespace of this provider entry ({self._scope.name})"
            raise self._error(Reason.INVALID_PLACEMENT, message, "create", identity)
        with self._classified("create", identity, ctx):
            token = pod.guest_token(squid, request.port, request.marks, self._prefix)
            self._ensure_shared(token, request, squid, identity, ctx, self._ready)
            if self._config.service:
                self._ensure(SERVICES, self._service(request), identity, ctx)
            ctx.check("create", self.name, identity)
            body = pod.pod(request.name, request.marks, token, shape, request.port, self._config, self._prefix)
            created = self._create_pod(identity, request, body, ctx)
            self._ensure_shared(token, request, squid, identity, ctx, self._used)
            return created

    def _create_pod(self, identity: str, request: CreateRequest, body: Json, ctx: Context) -> Created:
        for _attempt in range(2):
            try:
                made = self._api.create(PODS, self._namespace, body, ctx)
            except Refusal as refusal:
                if not refusal.exists:
                    raise
            else:
                return self._made(made, CreateOutcome.CREATED)
            there = self._read(PODS, self._namespace, request.name, ctx)
            if there is not None:
                self._check_ours(there, body, identity)
                return self._made(there, CreateOutcome.ADOPTED)
        raise self._error(Reason.BUSY, f"{identity} comes and goes", "create", identity)

    def _made(self, answer: Json, outcome: CreateOutcome) -> Created:
        proxy = self._instance(answer, None)
        # which address its Service has, the Pod can't tell
        told = None if self._config.address == "service" else proxy
        return Created(proxy.provider_id, proxy.incarnation, outcome, told)

    def _ensure_shared(
        self,
        token: str,
        request: CreateRequest,
        squid: SquidConfig,
        identity: str,
        ctx: Context,
        done: dict[str, float],
    ) -> None:
        """Make or touch what the Pod shares with others, unless that was done lately.

        :param token: names it. :param done: when it was done, by token.
        """
        with self._shared:
            now = self._host.clock.monotonic()
            if token not in done or now - done[token] >= _TOUCH_AFTER:
                for resource, body in self._shared_objects(token, request, squid):
                    self._ensure(resource, body, identity, ctx)
                done[token] = now

    def _ensure(self, resource: Resource, body: Json, identity: str, ctx: Context) -> None:
        """Create an object, or make one of ours under its name what it should be, and fresh."""
        name = body["metadata"]["name"]
        for _attempt in range(3):
            try:
                self._api.create(resource, self._namespace, body, ctx)
                return
            except Refusal as refusal:
                if not refusal.exists:
                    raise
            there = self._read(resource, self._namespace, name, ctx)
            if there is None:
                continue
            self._check_ours(there, body, identity)
            precondition = {key: there["metadata"][key] for key in ("uid", "resourceVersion")}
            changes = {key: body[key] for key in ("data", "spec") if key in body}
            try:
                metadata = {**body["metadata"], **precondition}
                self._api.patch(resource, self._namespace, name, {**changes, "metadata": metadata}, ctx)
                return
            except Refusal as refusal:
                if not (refusal.code == 409 or refusal.lacks(resource.plural)):
                    raise
        raise self._error(Reason.BUSY, f"{resource.plural} {name} is being changed by others", "create", identity)

    def _check_ours(self, there: Json, wanted: Json, identity: str) -> None:
        """Nothing is adopted that is not ours, whoever gave it the name."""
        name = f"{self._scope.name}: {wanted['kind']} {wanted['metadata']['name']}"
        theirs, ours = there["metadata"].get("labels") or {}, wanted["metadata"]["labels"]
        for mark in ("managed", "install", "uid", "slot", "pool"):
            key = f"{self._prefix}-{mark}"
            if theirs.get(key) != ours.get(key):
                found = f"its label {key} is {theirs[key]!r}" if key in theirs else f"it has no label {key}"
                message = f"{name} is there already, and is not ours: {found}, not {ours.get(key)!r}"
                raise self._error(Reason.CONFLICT, message, "create", identity)
        if there["metadata"].get("deletionTimestamp"):
            raise self._error(Reason.BUSY, f"{name} is being deleted", "create", identity)

    def get(self, provider_id: str, ctx: Context) -> Instance:
        namespace, name = self._parsed(provider_id, "get")
        with self._classified("get", provider_id, ctx):
            found = self._api.get(PODS, namespace, name, ctx)
            service = self._read(SERVICES, namespace, name, ctx) if self._config.address == "service" else None
            return self._instance(found, service)

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        namespace, name = self._parsed(ref.provider_id, "delete")
        with self._classified("delete", ref.provider_id, ctx):
            outcome = self._delete_pod(namespace, name, ref.incarnation, ctx)
            if outcome is None:
                return Deleted(DeleteOutcome.GONE)
            if self._config.service:
                self._delete_service(namespace, name, ctx)
            return Deleted(outcome)

    def _delete_pod(self, namespace: str, name: str, incarnation: str, ctx: Context) -> DeleteOutcome | None:
        """None when another incarnation has the name: then nothing that belongs to the name is touched."""
        forced = self._config.force_delete_lost and self._is_lost(namespace, name, ctx)
        options = {
            "gracePeriodSeconds": 0 if forced else self._config.grace_seconds,
            "preconditions": {"uid": incarnation},
        }
        try:
            answer = self._api.delete(PODS, namespace, name, options, ctx)
        except Refusal as refusal:
            if refusal.other_incarnation:
                return None
            if refusal.lacks("pods"):
                return DeleteOutcome.GONE
            raise
        metadata = answer.get("metadata") or {}
        at_once = answer.get("kind") == "Status" or metadata.get("deletionGracePeriodSeconds") == 0
        return DeleteOutcome.GONE if at_once and not metadata.get("finalizers") else DeleteOutcome.DELETING

    def _is_lost(self, namespace: str, name: str, ctx: Context) -> bool:
        found = self._read(PODS, namespace, name, ctx)
        return found is not None and self._instance(found, None).cause == NODE_LOST

    def _delete_service(self, namespace: str, name: str, ctx: Context) -> None:
        service = self._read(SERVICES, namespace, name, ctx)
        if service is None or self._marks(service) is None:
            return
        try:
            self._api.delete(SERVICES, namespace, name, leftovers.exactly(service), ctx)
        except Refusal as refusal:
            # Changed since it was read: a Pod that is being made uses it again.
            if not (refusal.lacks("services") or refusal.code == 409):
                raise

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        labels = self._labels(selector)
        scopes: dict[Scope, ScopeStatus] = {self._scope: ScopeStatus(Completeness.COMPLETE)}
        with self._classified("list", None, ctx):
            where, items = self._find_pods(labels, scopes, ctx)
            services = self._find_services(where, labels, ctx) if self._config.address == "service" else {}
        instances = []
        for item in items:
            instance = self._instance(item, services.get(_key(item)))
            if selector.matches(instance.marks):
                instances.append(instance)
                scopes.setdefault(instance.scope, ScopeStatus(Completeness.COMPLETE))
        return Listing(tuple(instances), scopes)

    def _find_pods(
        self, labels: str, scopes: dict[Scope, ScopeStatus], ctx: Context
    ) -> tuple[str | None, t.Sequence[Json]]:
        """In all namespaces or, with a word in the scopes about the others, in ours. :returns: where, and the Pods."""
        if self._config.all_namespaces:
            try:
                found = self._api.find(PODS, None, ctx, labels=labels)
            except Refusal as refusal:
                error = classify(refusal, op="list", provider=self.name)
                if error.reason is not Reason.FORBIDDEN:
                    raise
                scopes[EVERYWHERE] = ScopeStatus(Completeness.FAILED, error.reason.wire, error.message)
            else:
                scopes[EVERYWHERE] = ScopeStatus(Completeness.COMPLETE)
                return None, found
        return self._namespace, self._api.find(PODS, self._namespace, ctx, labels=labels)

    def _find_services(self, where: str | None, labels: str, ctx: Context) -> dict[tuple[str, str], Json]:
        return {_key(item): item for item in self._api.find(SERVICES, where, ctx, labels=labels)}

    # --- optional interfaces

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        namespace, name = self._parsed(ref.provider_id, "mark")
        changes = {"metadata": {"uid": ref.incarnation, "labels": {f"{self._prefix}-{key}": value}}}
        with self._classified("mark", ref.provider_id, ctx):
            try:
                self._api.patch(PODS, namespace, name, changes, ctx)
            except Refusal as refusal:
                if not refusal.other_incarnation:
                    raise
                message = f"{ref.provider_id} is another instance by now"
                raise self._error(Reason.GONE, message, "mark", ref.provider_id) from None

    def check(self, ctx: Context) -> list[TargetStatus]:
        return [check.check(self.name, self._api, self._config, self._prefix, ctx)]

    def list_leftovers(self, selector: Selector, ctx: Context) -> LeftoverListing:
        with self._classified("list_leftovers", None, ctx):
            found = leftovers.find(self._api, self._config, self._labels(Selector(selector.install)), ctx)
        listed = [
            Leftover(
                provider=self.name,
                kind=item["kind"],
                leftover_id=leftovers.identity(resource, item),
                incarnation=leftovers.incarnation(item),
                scope=Scope(f"namespaces/{item['metadata']['namespace']}"),
                marks=self._marks(item) or NO_MARKS,
                created_at=leftovers.last_used(item),
            )
            for resource, item in found
        ]
        wanted = tuple(left for left in listed if selector.matches(left.marks))
        scopes = {scope: ScopeStatus(Completeness.COMPLETE) for scope in (self._scope, *(w.scope for w in wanted))}
        return LeftoverListing(wanted, scopes)

    def delete_leftover(self, leftover: Leftover, ctx: Context) -> None:
        with self._classified("delete_leftover", leftover.leftover_id, ctx):
            try:
                resource, namespace, name = leftovers.parse(leftover.leftover_id)
            except ValueError as error:
                raise self._error(Reason.MALFORMED_ID, str(error), "delete_leftover", leftover.leftover_id) from None
            if leftovers.is_shared_by_pods(self._api, resource, namespace, name, ctx):
                return
            try:
                self._api.delete(resource, namespace, name, leftovers.unchanged(leftover.incarnation), ctx)
            except Refusal as refusal:
                if not (refusal.lacks(resource.plural) or refusal.code == 409):
                    raise

    def diagnose(self, ref: InstanceRef, ctx: Context) -> str:
        namespace, name = self._parsed(ref.provider_id, "diagnose")
        with self._classified("diagnose", ref.provider_id, ctx):
            return diagnosis.diagnose(self._api, namespace, name, ref.incarnation, ctx)

    def preflight(self, request: CreateRequest, ctx: Context) -> list[str]:
        shape, squid = self._understood(request.placement, request.port, request.guest, "preflight")
        token = pod.guest_token(squid, request.port, request.marks, self._prefix)
        name = f"{request.name}-preflight"  # its own name may be taken by what is to be replaced
        body = pod.pod(name, request.marks, token, shape, request.port, self._config, self._prefix)
        objects = [*self._shared_objects(token, request, squid), (PODS, body)]
        if self._config.service:
            objects.append((SERVICES, self._service(request)))
        findings = []
        with self._classified("preflight", None, ctx):
            for resource, wanted in objects:
                try:
                    self._api.create(resource, self._namespace, wanted, ctx, dry_run=True)
                except Refusal as refusal:
                    if not (refusal.exists or "does not support dry run" in refusal.message):
                        error = classify(refusal, op="create", provider=self.name)
                        findings.append(f"{error.reason.wire}: {error.message}")
        return list(dict.fromkeys(findings))

    # --- helpers

    def _understood(self, placement: Placement, port: int, guest: Guest, op: str) -> tuple[pod.Shape, SquidConfig]:
        if guest.squid is None:
            raise self._error(Reason.INVALID_CONFIG, "cloud_init is for virtual machines (allowed: squid)", op, None)
        if port < pod.LOWEST_PORT:
            message = f"port: {port} is not allowed ({pod.LOWEST_PORT} to 65535, since nothing in the Pod is root)"
            raise self._error(Reason.INVALID_CONFIG, message, op, None)
        try:
            return pod.Shape.of(placement, self._config), guest.squid
        except pod.Unsatisfiable as error:
            raise self._error(Reason.INVALID_PLACEMENT, str(error), op, None) from None

    def _shared_objects(
        self, token: str, request: CreateRequest, squid: SquidConfig
    ) -> list[tuple[Resource, dict[str, t.Any]]]:
        marks, prefix, now = request.marks, self._prefix, self._host.clock.now()
        content = pod.files(squid, request.port, self._config)
        objects = [(SECRETS, pod.secret(token, marks, content, prefix, now))]
        if self._config.network_policy:
            policy = pod.network_policy(token, marks, squid, request.port, prefix, now)
            objects.append((NETWORK_POLICIES, policy))
        return objects

    def _service(self, request: CreateRequest) -> dict[str, t.Any]:
        now = self._host.clock.now()
        return pod.service(request.name, request.marks, request.port, self._config, self._prefix, now)

    def _read(self, resource: Resource, namespace: str, name: str, ctx: Context) -> Json | None:
        try:
            return self._api.get(resource, namespace, name, ctx)
        except Refusal as refusal:
            if refusal.lacks(resource.plural):
                return None
            raise

    def _marks(self, item: Json) -> Marks | None:
        return Marks.from_labels(item["metadata"].get("labels") or {}, self._prefix)

    def _instance(self, item: Json, service: Json | None) -> Instance:
        metadata = item["metadata"]
        scope = Scope(f"namespaces/{metadata['namespace']}")
        found = read(item, self._host.clock.now(), self._config.lost_node_timeout)
        state, cause, message, address = found.state, found.cause, found.message, found.address
        deleting = found.deleting
        if self._config.force_delete_lost and (state, cause) == (State.TERMINATED, NODE_LOST):
            # A deletion that its node can't end, but we can: it has not begun, so that the engine deletes.
            deleting = deleting and metadata.get("deletionGracePeriodSeconds") == 0
        if self._config.address == "service":
            address = _service_address(service)
            if state is State.RUNNING and not address:
                state, cause, message = State.PROVISIONING, "NoServiceAddress", "its Service has no address"
        return Instance(
            provider=self.name,
            provider_id=f"{scope.name}/pods/{metadata['name']}",
            incarnation=metadata["uid"],
            name=metadata["name"],
            scope=scope,
            state=state,
            marks=self._marks(item) or NO_MARKS,
            address=address,
            cause=cause,
            message=message,
            created_at=seconds(metadata.get("creationTimestamp")),
            since=found.since,
            deleting=deleting,
        )

    def _labels(self, selector: Selector) -> str:
        """What of a selector the API server can filter; no instance has a mark that is no label's value."""
        prefix = self._prefix
        terms = [f"{prefix}-managed=true"]
        for mark, value in (("install", selector.install), ("uid", selector.uid)):
            if value is not None and LABEL_VALUE.fullmatch(value):
                terms.append(f"{prefix}-{mark}={value}")
        if selector.pools and len(selector.pools) <= _MOST_POOLS and all(map(LABEL_VALUE.fullmatch, selector.pools)):
            terms.append(f"{prefix}-pool in ({','.join(selector.pools)})")
        return ",".join(terms)

    def _parsed(self, provider_id: str, op: str) -> tuple[str, str]:
        match = _ID.fullmatch(provider_id)
        if match is None:
            message = f"{provider_id!r} is no ID of an instance here (allowed: {_ID_HELP})"
            raise self._error(Reason.MALFORMED_ID, message, op, provider_id)
        return match.group("namespace"), match.group("name")

    def _error(self, reason: Reason, message: str, op: str, identity: str | None) -> ProviderError:
        return ProviderError(reason, message, op=op, provider=self.name, provider_id=identity, scope=self._scope.name)

    @contextlib.contextmanager
    def _classified(self, op: str, identity: str | None, ctx: Context) -> t.Iterator[None]:
        ctx.check(op, self.name, identity)
        try:
            yield
        except (Fault, Refusal) as error:
            raise classify(error, op=op, provider=self.name, provider_id=identity, scope=self._scope.name) from error


def _key(item: Json) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _service_address(service: Json | None) -> str | None:
    """Of a load balancer what clients outside of the cluster use; else the cluster's own address."""
    if service is None:
        return None
    if service["spec"].get("type") != "LoadBalancer":
        address: str | None = service["spec"].get("clusterIP")
        return address
    ingress = (service.get("status") or {}).get("loadBalancer", {}).get("ingress") or [{}]
    return ingress[0].get("ip") or ingress[0].get("hostname") or None
