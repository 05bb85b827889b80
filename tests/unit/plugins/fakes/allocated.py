# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An in-memory cluster of hypervisors that allocates its own IDs, works in tasks and locks what they work on, and two
providers over it, each a third party's: they answer the axes of the template that no provider of ours answers so.

C(TaskProvider): a Create is a task whose failure Get reports; disks are removed one by one; Delete waits.
C(LockProvider): a Create waits for the lock to be gone; disks go with their machine; Delete returns early.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import hashlib
import json
import logging
import re
import threading
import typing as t
import uuid

from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    CheckReason,
    Clock,
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
    Reason,
    Scope,
    ScopeStatus,
    Selector,
    State,
    TargetStatus,
    observed_api,
)

PREFIX = "proxy-operator"
NOBODY = Marks("", "", "", "", "", "", 0)
FIRST_ID, IDS = 1000, 9000
T = t.TypeVar("T")


# --- the cluster


class HttpError(Exception):
    """:ivar status: 0 when nothing answered, 408 when the answer did not come in time, 499 when nobody waits for it."""

    def __init__(self, status: int, text: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text
        self.retry_after = retry_after


@dataclasses.dataclass
class Vm:
    """:ivar notes: free text, in which marks can be kept. :ivar lock: which task works on it (create, delete, backup).

    :ivar started: whether it ever was. :ivar failure: why the task that was to make it has failed.
    """

    vmid: int
    name: str
    notes: str
    disk: str
    user_data: bytes
    token: str
    up_at: float
    status: str | None = None
    lock: str | None = None
    started: bool = True
    failure: str | None = None
    has_address: bool = True
    readable: bool = True
    stuck: bool = False
    gone_at: float | None = None
    console: str = "it is up\n"


@dataclasses.dataclass
class Disk:
    volume: str
    notes: str
    token: str
    used: bool = False


class Cluster:
    """Nodes with machines by number and disks by name.

    :ivar answers: by node, how every request is answered. :ivar hung, lost, full, ghosts, slow: as in C(Backend).
    """

    def __init__(self, clock: Clock, nodes: t.Sequence[str], boot: float, dying: float, skew: float = 0.0) -> None:
        self.clock = clock
        self.vms: dict[str, dict[int, Vm]] = {node: {} for node in nodes}
        self.disks: dict[str, dict[str, Disk]] = {node: {} for node in nodes}
        self.boot = boot
        self.dying = dying
        self.skew = skew
        self.answers: dict[str, HttpError] = {}
        self.hung: set[str] = set()
        self.lost: set[str] = set()
        self.full: set[str] = set()
        self.ghosts: set[str] = set()
        self.slow: set[str] = set()
        self.requests = 0
        self.lock = threading.RLock()

    def now(self) -> float:
        return self.clock.now() + self.skew

    def settle(self) -> None:
        """Tasks end."""
        for node, vms in self.vms.items():
            for vm in list(vms.values()):
                if vm.gone_at is not None and vm.gone_at <= self.clock.now() and not vm.stuck:
                    self.drop(node, vm.vmid, purge=vm.lock == "purge")
                elif vm.lock == "create" and vm.up_at <= self.clock.now():
                    vm.lock = None

    def drop(self, node: str, vmid: int, purge: bool) -> None:
        vm = self.vms[node].pop(vmid)
        if purge:
            self.disks[node].pop(vm.disk, None)
        elif vm.disk in self.disks[node]:
            self.disks[node][vm.disk].used = False


class Api:
    """The seam: each method is one request."""

    def __init__(self, cluster: Cluster, token: str) -> None:
        self._cluster = cluster
        self._token = token

    def version(self, node: str, ctx: Context) -> str:
        with self._request(node, ctx):
            return "9.1"

    def vms(self, node: str, ctx: Context) -> list[tuple[int, str]]:
        with self._request(node, ctx):
            return [(vm.vmid, vm.name) for vm in self._cluster.vms[node].values()]

    def vm(self, node: str, vmid: int, ctx: Context) -> Vm:
        with self._request(node, ctx):
            vm = self._vm(node, vmid)
            if not vm.readable:
                raise HttpError(500, "the configuration can't be parsed")
            return dataclasses.replace(vm)

    def insert(self, node: str, vm: Vm, new_disk: bool, ctx: Context) -> str:
        """A task's handle. :param new_disk: make its disk, too."""
        with self._request(node, ctx, change=True):
            cluster = self._cluster
            if cluster.full.intersection([node]):
                raise HttpError(403, "quota of the pool is exceeded")
            if node in cluster.ghosts:
                cluster.ghosts.discard(node)
                raise HttpError(404, "the template does not exist")
            if vm.vmid in cluster.vms[node]:
                raise HttpError(409, f"{vm.vmid} already exists")
            if new_disk:
                cluster.disks[node][vm.disk] = Disk(vm.disk, vm.notes, str(uuid.uuid4()))
            elif vm.disk not in cluster.disks[node]:
                raise HttpError(404, f"{vm.disk} does not exist")
            up_at = float("inf") if node in cluster.slow else cluster.clock.now() + cluster.boot
            cluster.vms[node][vm.vmid] = dataclasses.replace(vm, token=str(uuid.uuid4()), up_at=up_at, lock="create")
            cluster.disks[node][vm.disk].used = True
            return f"UPID:{node}:create:{vm.vmid}"

    def refusal(self, node: str, ctx: Context) -> str | None:
        """What an insert would be refused for."""
        with self._request(node, ctx):
            return "quota of the pool is exceeded" if node in self._cluster.full else None

    def console(self, node: str, vmid: int, token: str, ctx: Context) -> str:
        with self._request(node, ctx):
            return self._vm(node, vmid, token).console

    def update(self, node: str, vmid: int, token: str, notes: str, ctx: Context) -> None:
        with self._request(node, ctx, change=True):
            self._vm(node, vmid, token).notes = notes

    def remove(self, node: str, vmid: int, token: str, purge: bool, ctx: Context) -> str:
        with self._request(node, ctx, change=True):
            vm = self._vm(node, vmid, token)
            if vm.lock not in (None, "create", "delete", "purge"):
                raise HttpError(423, f"{vmid} is locked ({vm.lock})")
            vm.lock = "purge" if purge else "delete"
            vm.gone_at = vm.gone_at or self._cluster.clock.now() + self._cluster.dying
            return f"UPID:{node}:delete:{vmid}"

    def disks(self, node: str, ctx: Context) -> list[Disk]:
        with self._request(node, ctx):
            return [dataclasses.replace(disk) for disk in self._cluster.disks[node].values()]

    def allocate(self, node: str, volume: str, notes: str, ctx: Context) -> None:
        with self._request(node, ctx, change=True):
            if volume in self._cluster.disks[node]:
                raise HttpError(409, f"{volume} already exists")
            self._cluster.disks[node][volume] = Disk(volume, notes, str(uuid.uuid4()))

    def free(self, node: str, volume: str, token: str | None, ctx: Context) -> None:
        """:param token: None for whichever it is."""
        with self._request(node, ctx, change=True):
            disk = self._cluster.disks[node].get(volume)
            if disk is None or token not in (None, disk.token):
                raise HttpError(404, f"{volume} does not exist")
            if disk.used:
                raise HttpError(409, f"{volume} is in use")
            del self._cluster.disks[node][volume]

    def _vm(self, node: str, vmid: int, token: str | None = None) -> Vm:
        vm = self._cluster.vms[node].get(vmid)
        if vm is None or token not in (None, vm.token):
            raise HttpError(404, f"{vmid} does not exist")
        return vm

    @contextlib.contextmanager
    def _request(self, node: str, ctx: Context, change: bool = False) -> t.Iterator[None]:
        cluster = self._cluster
        with cluster.lock:
            cluster.requests += 1
        while node in cluster.hung:
            ctx.sleep(0.01)
            if ctx.cancel.is_set():
                raise HttpError(499, "nobody waits for the answer")
            if ctx.remaining() <= 0:
                raise HttpError(408, "no answer in time")
        with cluster.lock:
            cluster.settle()
            if node in cluster.answers:
                raise cluster.answers[node]
            yield
            cluster.settle()
            if change and node in cluster.lost:
                cluster.lost.discard(node)
                raise HttpError(408, "no answer in time")


# --- the providers


_REASONS = {
    0: Reason.UNREACHABLE,
    401: Reason.UNAUTHORIZED,
    403: Reason.FORBIDDEN,
    404: Reason.GONE,
    408: Reason.TIMEOUT,
    409: Reason.BUSY,
    423: Reason.BUSY,
    429: Reason.RATE_LIMITED,
    499: Reason.CANCELLED,
}


def classify(error: HttpError, op: str) -> Reason:
    """What a Create lacks is not the instance."""
    if error.status == 403 and "quota" in error.text:
        return Reason.QUOTA
    if error.status == 404 and op == "create":
        return Reason.API_ERROR
    return _REASONS.get(error.status, Reason.API_ERROR)


class TaskProvider:
    """Provider, Marker, Checker, Sweeper, Preflight and Diagnoser.

    :param nodes: those that are configured. :param token: the credential.
    """

    images = ("debian", "squid")
    profile = Profile(
        type="cluster",
        contract_version=1,
        placement=("zone", "image"),
        cloud_init="user-data",
        primary_key="allocated-id",
        readiness="provisioning-window",
        ip_source="discovered",
        gc_mark="written-metadata",
        created_at="written-at-create",
        provisioning_state="marker",
        create_return="submit",
        async_ops="task-handle",
        delete_return="waits",
        secondary_resources="explicit",
        list_partial="omit-unreachable",
        list_cost="per-instance-rpc",
        not_found="status-404",
        quota="detected",
        credentials="environment",
        client_kind="thin-client",
        child_spans="transport-wrapper",
        timeouts="per-call",
        logging="tiered",
        backend_test="checked-double",
    )

    def __init__(self, name: str, cluster: Cluster, prefix: str, nodes: t.Sequence[str], token: str) -> None:
        self.name = name
        self._cluster = cluster
        self._prefix = prefix
        self._nodes = tuple(nodes)
        self._api = observed_api(Api(cluster, token))
        self._cascades = self.profile.secondary_resources == "cascade"
        self._log = logging.getLogger(f"crawl.egress.{name}")

    # --- pure

    def scope_of(self, placement: Placement) -> Scope | None:
        if placement.zone is None and len(self._nodes) > 1:
            return None
        node = placement.zone or self._nodes[0]
        if node not in self._nodes:
            raise self._error(Reason.INVALID_PLACEMENT, "create", f"zone: {node!r} is not one of {self._nodes}")
        return Scope(f"nodes/{node}")

    def scope_of_id(self, provider_id: str) -> Scope:
        return Scope(f"nodes/{self._parsed(provider_id, 'get')[0]}")

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        image = placement.image or self.images[0]
        if image not in self.images:
            raise self._error(Reason.INVALID_PLACEMENT, "create", f"image: {image!r} is not one of {self.images}")
        return {"image": image, "port": port, "guest": guest.cloud_init or _squid(guest)}

    # --- the contract

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        self.scope_of(request.placement)
        self.spec_content(request.placement, request.port, request.guest)
        ctx.check("create", self.name)
        node = request.scope.name.partition("/")[2]
        with self._asking("create", None):
            for vmid, name in self._api.vms(node, ctx):
                if name == request.name:
                    return self._adopted(node, vmid, request, ctx)
            return self._allocated(node, request, ctx)

    def _allocated(self, node: str, request: CreateRequest, ctx: Context) -> Created:
        """The number follows from the name; the next one when another machine has it, as two runs agree."""
        marks = dataclasses.replace(request.marks, created=int(self._cluster.now()))
        notes = json.dumps(marks.to_labels(self._prefix))
        disk = f"disk-{request.name}"
        if not self._cascades:
            with self._unless(409):
                self._api.allocate(node, disk, notes, ctx)
        user_data = json.dumps([request.guest.cloud_init, _squid(request.guest)]).encode()
        first = int.from_bytes(hashlib.sha256(request.name.encode()).digest()[:4], "big")
        for step in range(50):
            vmid = FIRST_ID + (first + step) % IDS
            vm = Vm(vmid, request.name, notes, disk, user_data, "", 0.0)
            try:
                handle = self._api.insert(node, vm, self._cascades, ctx)
            except HttpError as error:
                if error.status != 409:
                    raise
                with self._unless(404):
                    if self._api.vm(node, vmid, ctx).name == request.name:
                        return self._adopted(node, vmid, request, ctx)
                continue
            self._log.debug("%s %s: %s, %d bytes of user data", self.name, request.name, handle, len(user_data))
            return self._made(node, vmid, ctx)
        raise self._error(Reason.CAPACITY, "create", "no number is free")

    def _made(self, node: str, vmid: int, ctx: Context) -> Created:
        vm = self._api.vm(node, vmid, ctx)
        return Created(f"nodes/{node}/vms/{vmid}", vm.token, CreateOutcome.CREATED)

    def _adopted(self, node: str, vmid: int, request: CreateRequest, ctx: Context) -> Created:
        vm = self._api.vm(node, vmid, ctx)
        provider_id = f"nodes/{node}/vms/{vmid}"
        marks = self._marks(vm.notes)
        why = "it is not managed" if marks is None else marks.conflict_with(request.marks)
        if why:
            raise self._error(Reason.CONFLICT, "create", f"{provider_id} has that name: {why}", provider_id)
        if vm.gone_at is not None:
            raise self._error(Reason.BUSY, "create", f"{provider_id} is being deleted", provider_id)
        return Created(provider_id, vm.token, CreateOutcome.ADOPTED)

    def get(self, provider_id: str, ctx: Context) -> Instance:
        node, vmid = self._parsed(provider_id, "get")
        self._configured(node, provider_id)
        ctx.check("get", self.name, provider_id)
        with self._asking("get", provider_id):
            return self._instance(node, self._api.vm(node, vmid, ctx))

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        node, vmid = self._parsed(ref.provider_id, "delete")
        if node not in self._nodes:
            self._log.info("%s delete %s: its node is not configured any more", self.name, ref.provider_id)
            return Deleted(DeleteOutcome.GONE)
        ctx.check("delete", self.name, ref.provider_id)
        with self._asking("delete", ref.provider_id):
            try:
                vm = self._api.vm(node, vmid, ctx)
            except HttpError as error:
                if error.status != 404:
                    raise
                return Deleted(DeleteOutcome.GONE)
            if vm.token != ref.incarnation:
                return Deleted(DeleteOutcome.GONE)
            return Deleted(self._remove(node, vm, ctx))

    def _remove(self, node: str, vm: Vm, ctx: Context) -> DeleteOutcome:
        with self._unless(404):
            self._api.remove(node, vm.vmid, vm.token, False, ctx)
            while self._api.vm(node, vm.vmid, ctx).token == vm.token:
                ctx.sleep(0.01)
                ctx.check("delete", self.name)
        with self._unless(404, 409):  # somebody was quicker, to free it or to use it anew
            self._api.free(node, vm.disk, None, ctx)
        return DeleteOutcome.GONE

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        ctx.check("list", self.name)
        found: list[Instance] = []
        unreadable: list[str] = []
        scopes: dict[Scope, ScopeStatus] = {}
        for node, answer in self._each(lambda node: self._read(node, selector, ctx), "list").items():
            if isinstance(answer, ProviderError):
                self._left_out(node, answer, scopes)
                continue
            instances, damaged = answer
            found += instances
            unreadable += damaged
            status = ScopeStatus(Completeness.COMPLETE)
            if damaged:
                status = ScopeStatus(Completeness.PARTIAL, Reason.API_ERROR.wire, "some could not be read")
            scopes[Scope(f"nodes/{node}")] = status
        return Listing(tuple(found), scopes, tuple(unreadable))

    def _left_out(self, node: str, error: ProviderError, scopes: dict[Scope, ScopeStatus]) -> None:
        if error.reason is Reason.CANCELLED or len(self._nodes) == 1:
            raise error

    def _read(self, node: str, selector: Selector, ctx: Context) -> tuple[list[Instance], list[str]]:
        found: list[Instance] = []
        damaged: list[str] = []
        for vmid, name in self._api.vms(node, ctx):
            if not name.startswith("proxy-"):
                continue
            try:
                vm = self._api.vm(node, vmid, ctx)
            except HttpError as error:
                if error.status == 500:
                    damaged.append(self._damaged(node, vmid, error))
                elif error.status != 404:
                    raise
                continue
            marks = self._marks(vm.notes)
            if marks is not None and selector.matches(marks):
                found.append(self._instance(node, vm))
        return found, damaged

    def _damaged(self, node: str, vmid: int, error: HttpError) -> str:
        return f"nodes/{node}/vms/{vmid}"

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        node, vmid = self._parsed(ref.provider_id, "mark")
        ctx.check("mark", self.name, ref.provider_id)
        with self._asking("mark", ref.provider_id):
            labels = _labels(self._api.vm(node, vmid, ctx).notes)
            labels.pop(f"{self._prefix}-{key}", None)
            if value is not None:
                labels[f"{self._prefix}-{key}"] = value
            self._api.update(node, vmid, ref.incarnation, json.dumps(labels), ctx)

    def check(self, ctx: Context) -> list[TargetStatus]:
        answers = self._each(lambda node: self._ping(node, ctx), "check")
        return [self._target(node, answers[node]) for node in self._nodes]

    def _ping(self, node: str, ctx: Context) -> str:
        ctx.check("check", self.name)
        return self._api.version(node, ctx)

    def _target(self, node: str, answer: str | ProviderError) -> TargetStatus:
        if isinstance(answer, str):
            return TargetStatus(node, True, CheckReason.REACHABLE.value, details={"version": answer})
        shared = {reason.value for reason in CheckReason}
        reason = answer.reason.wire if answer.reason.wire in shared else CheckReason.TIMEOUT.value
        return TargetStatus(node, False, reason, answer.message)

    def list_leftovers(self, selector: Selector, ctx: Context) -> LeftoverListing:
        ctx.check("list", self.name)
        found: list[Leftover] = []
        scopes: dict[Scope, ScopeStatus] = {}
        for node, answer in self._each(lambda node: self._api.disks(node, ctx), "list").items():
            scope = Scope(f"nodes/{node}")
            if isinstance(answer, ProviderError):
                scopes[scope] = ScopeStatus(Completeness.FAILED, answer.reason.wire, answer.message)
                continue
            scopes[scope] = ScopeStatus(Completeness.COMPLETE)
            for disk in answer:
                marks = self._marks(disk.notes)
                if not disk.used and marks is not None and selector.matches(marks):
                    identity = f"{scope.name}/disks/{disk.volume}"
                    found.append(Leftover(self.name, "disk", identity, disk.token, scope, marks, marks.created))
        return LeftoverListing(tuple(found), scopes)

    def delete_leftover(self, leftover: Leftover, ctx: Context) -> None:
        ctx.check("delete", self.name, leftover.leftover_id)
        _nodes, node, _disks, volume = leftover.leftover_id.split("/")
        with self._asking("delete", leftover.leftover_id), self._unless(404, 409):
            self._api.free(node, volume, leftover.incarnation, ctx)

    def preflight(self, request: CreateRequest, ctx: Context) -> list[str]:
        self.scope_of(request.placement)
        self.spec_content(request.placement, request.port, request.guest)
        ctx.check("preflight", self.name)
        with self._asking("preflight", None):
            refusal = self._api.refusal(request.scope.name.partition("/")[2], ctx)
        return [refusal] if refusal else []

    def diagnose(self, ref: InstanceRef, ctx: Context) -> str:
        node, vmid = self._parsed(ref.provider_id, "diagnose")
        ctx.check("diagnose", self.name, ref.provider_id)
        with self._asking("diagnose", ref.provider_id):
            return self._readable(self._api.console(node, vmid, ref.incarnation, ctx))

    def _readable(self, console: str) -> str:
        return re.sub(r"\$6\$\S+", "[hash]", console)[-16_000:]

    # --- helpers

    def _instance(self, node: str, vm: Vm) -> Instance:
        marks = self._marks(vm.notes) or NOBODY
        state, cause = self._state(vm)
        return Instance(
            provider=self.name,
            provider_id=f"nodes/{node}/vms/{vm.vmid}",
            incarnation=vm.token,
            name=vm.name,
            scope=Scope(f"nodes/{node}"),
            state=state,
            marks=marks,
            address="192.0.2.1" if state is State.RUNNING else None,
            cause=cause,
            message=vm.failure,
            created_at=marks.created,
            deleting=vm.gone_at is not None,
        )

    def _state(self, vm: Vm) -> tuple[State, str | None]:
        status = vm.status or ("running" if vm.up_at <= self._cluster.clock.now() else "starting")
        if vm.gone_at is not None:
            return State.STOPPED, None
        if vm.failure:
            return State.STOPPED, "CreateFailed"
        if vm.lock is not None or status == "starting" or (status == "stopped" and not vm.started):
            return State.PROVISIONING, None
        if status == "running":
            return (State.RUNNING if vm.has_address else State.PROVISIONING), None
        return (State.UNKNOWN, None) if status == "unknown" else (State.STOPPED, "ShutOff")

    def _marks(self, notes: str) -> Marks | None:
        return Marks.from_labels(_labels(notes), self._prefix)

    def _configured(self, node: str, provider_id: str) -> None:
        if node not in self._nodes:
            message = f"node {node} is not configured any more"
            raise self._error(Reason.INVALID_CONFIG, "get", message, provider_id)

    def _parsed(self, provider_id: str, op: str) -> tuple[str, int]:
        match = re.fullmatch(r"nodes/([a-z0-9]+)/vms/([1-9][0-9]{0,8})", provider_id)
        if match is None:
            raise self._error(Reason.MALFORMED_ID, op, f"{provider_id!r} is not allowed", provider_id)
        return match[1], int(match[2])

    def _each(self, ask: t.Callable[[str], T], op: str) -> dict[str, T | ProviderError]:
        """Ask all nodes at once, each in a thread that belongs to the operation under way."""
        answers: dict[str, T | ProviderError] = {}
        bugs: list[Exception] = []

        def run(node: str) -> None:
            try:
                with self._asking(op, None):
                    answers[node] = ask(node)
            except ProviderError as error:
                answers[node] = error
            except Exception as bug:  # noqa: BLE001 - raised in the caller's thread
                bugs.append(bug)

        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(run, node), daemon=True)
            for node in self._nodes
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for bug in bugs:
            raise bug
        return {node: answers[node] for node in self._nodes}

    @contextlib.contextmanager
    def _asking(self, op: str, provider_id: str | None) -> t.Iterator[None]:
        try:
            yield
        except HttpError as error:
            self._log.info("%s %s %s: %s", self.name, op, provider_id or "", error)
            reason = classify(error, op)
            raise self._error(reason, op, error.text, provider_id, error.retry_after) from error

    @contextlib.contextmanager
    def _unless(self, *statuses: int) -> t.Iterator[None]:
        """These are as good as success."""
        try:
            yield
        except HttpError as error:
            if error.status not in statuses:
                raise

    def _error(
        self,
        reason: Reason,
        op: str,
        message: str,
        provider_id: str | None = None,
        retry_after: float | None = None,
    ) -> ProviderError:
        return ProviderError(
            reason, message, op=op, provider=self.name, provider_id=provider_id, retry_after=retry_after
        )


class LockProvider(TaskProvider):
    """A list fails as a whole."""

    profile = dataclasses.replace(
        TaskProvider.profile,
        readiness="immediate",
        ip_source="assigned-at-create",
        provisioning_state="create-blocks",
        create_return="blocking",
        async_ops="backend-lock",
        delete_return="returns-early",
        secondary_resources="cascade",
        list_partial="fail-whole",
    )

    def _made(self, node: str, vmid: int, ctx: Context) -> Created:
        while (vm := self._api.vm(node, vmid, ctx)).lock == "create":
            ctx.sleep(0.01)
            ctx.check("create", self.name)
        return Created(f"nodes/{node}/vms/{vmid}", vm.token, CreateOutcome.CREATED)

    def _remove(self, node: str, vm: Vm, ctx: Context) -> DeleteOutcome:
        with self._unless(404):
            self._api.remove(node, vm.vmid, vm.token, True, ctx)
        return DeleteOutcome.DELETING

    def _left_out(self, node: str, error: ProviderError, scopes: dict[Scope, ScopeStatus]) -> None:
        raise error

    def _damaged(self, node: str, vmid: int, error: HttpError) -> str:
        raise error


def _labels(notes: str) -> dict[str, str]:
    """Somebody may have edited them."""
    try:
        labels = json.loads(notes)
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}


def _squid(guest: Guest) -> t.Any:
    return guest.squid.hashable() if guest.squid else None
