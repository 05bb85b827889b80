# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An in-memory backend with faults on order, and the provider over it: a third party's, it uses only provider.py.

Its key is the name, its list is one request, its deletes return early. The conformance kit runs on it, and the engine's
tests rely on it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import re
import threading
import typing as t

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

#: The backend's words for how a machine is. Any other is not recognised.
STATES = {"PENDING": State.PROVISIONING, "UP": State.RUNNING, "DOWN": State.STOPPED, "LOST": State.UNKNOWN}


@dataclasses.dataclass
class Machine:
    """What the backend has.

    :ivar state: overrides what time would make of it. :ivar word: the status, as the backend calls it; overrides both.
    :ivar stuck: a delete of it does not end.
    """

    name: str
    incarnation: str
    scope: str
    labels: dict[str, str]
    created: float
    ready: float
    state: State | None = None
    gone_at: float | None = None
    message: str | None = None
    word: str | None = None
    has_address: bool = True
    readable: bool = True
    stuck: bool = False


@dataclasses.dataclass
class Fault:
    """The next C(times) calls of an operation fail. :ivar after: the call has its effect all the same.

    :ivar error: a Reason, or any exception, for a provider with a bug.
    """

    op: str
    error: Reason | Exception
    times: int = 1
    after: bool = False
    name: str | None = None
    retry_after: float | None = None


class Refused(Exception):
    """How the backend answers a request that it does not carry out."""

    def __init__(self, reason: Reason, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


class Taken(Exception):
    """There is one of that name."""


class Backend:
    """Machines by (scope, name). Survives every provider object, as a real one does.

    :ivar answers: by scope, how every request is answered. :ivar hung: requests there are never answered.
    :ivar lost: the next change there has its effect, but the answer is lost. :ivar full: nothing more can be made.
    :ivar ghosts: the next insert there lacks something. :ivar slow: what is made there is not ready before it ends.
    :ivar skew: seconds by which its clock is ahead.
    """

    def __init__(
        self,
        clock: Clock,
        scopes: t.Sequence[str] = ("zones/a",),
        boot: float = 0.0,
        dying: float = 0.0,
        skew: float = 0.0,
    ) -> None:
        self.clock = clock
        self.scopes = list(scopes)
        self.boot = boot
        self.dying = dying
        self.skew = skew
        self.machines: dict[tuple[str, str], Machine] = {}
        self.faults: list[Fault] = []
        self.down: set[str] = set()
        self.partial: set[str] = set()
        self.answers: dict[str, Refused] = {}
        self.hung: set[str] = set()
        self.lost: set[str] = set()
        self.full: set[str] = set()
        self.ghosts: set[str] = set()
        self.slow: set[str] = set()
        self.requests = 0
        self.journal: list[tuple[str, str]] = []
        self.rng = random.Random(1)
        self.on_create: t.Callable[[Machine], None] = lambda machine: None
        self.lock = threading.RLock()

    def settle(self) -> None:
        for key, machine in list(self.machines.items()):
            if machine.gone_at is not None and machine.gone_at <= self.clock.now() and not machine.stuck:
                del self.machines[key]

    def named(self, name: str) -> list[Machine]:
        self.settle()
        return [m for m in self.machines.values() if m.labels.get(f"{PREFIX}-name") == name]

    def calls(self, op: str) -> int:
        return sum(o == op for o, _name in self.journal)

    def fault(self, op: str, name: str) -> Fault | None:
        for fault in self.faults:
            if fault.op == op and fault.times > 0 and fault.name in (None, name):
                fault.times -= 1
                return fault
        return None

    def word(self, machine: Machine) -> str:
        return machine.word or ("UP" if machine.ready <= self.clock.now() else "PENDING")


class Api:
    """The seam: each method is one request."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def insert(self, scope: str, name: str, labels: dict[str, str], ctx: Context) -> Machine:
        with self._request("create", scope, name, ctx) as effect:
            backend = self._backend
            if (scope, name) in backend.machines:
                raise Taken
            if scope in backend.full:
                raise Refused(Reason.QUOTA, "the quota is used up")
            if scope in backend.ghosts:
                backend.ghosts.discard(scope)
                raise Refused(Reason.GONE, "the image does not exist")
            now = backend.clock.now()
            ready = float("inf") if scope in backend.slow else now + backend.boot
            token = f"{backend.rng.getrandbits(64):016x}"
            machine = Machine(name, token, scope, labels, now + backend.skew, ready)
            effect()
            backend.on_create(machine)
            backend.machines[scope, name] = machine
        return machine

    def read(self, scope: str, name: str, ctx: Context) -> Machine | None:
        with self._request("get", scope, name, ctx):
            machine = self._backend.machines.get((scope, name))
            if machine is not None and not machine.readable:
                raise Refused(Reason.API_ERROR, "it can't be read")
            return machine

    def remove(self, scope: str, name: str, incarnation: str, ctx: Context) -> bool:
        """Whether it is gone."""
        with self._request("delete", scope, name, ctx) as effect:
            backend = self._backend
            machine = backend.machines.get((scope, name))
            if machine is None or machine.incarnation != incarnation:
                return True
            effect()
            if machine.gone_at is None:
                machine.gone_at = backend.clock.now() + backend.dying
            backend.settle()
        return (scope, name) not in backend.machines

    def label(self, scope: str, name: str, incarnation: str, key: str, value: str | None, ctx: Context) -> None:
        with self._request("mark", scope, name, ctx) as effect:
            machine = self._backend.machines.get((scope, name))
            if machine is None or machine.incarnation != incarnation:
                raise Refused(Reason.GONE, f"{scope}/{name} does not exist")
            effect()
            if value is None:
                machine.labels.pop(key, None)
            else:
                machine.labels[key] = value

    def search(self, scopes: t.Sequence[str], ctx: Context) -> tuple[list[Machine], dict[str, Refused]]:
        """The machines of those scopes that answer, and what the others say."""
        with self._request("list", None, "", ctx, scopes):
            refused = {scope: answer for scope in scopes if (answer := self._answer(scope)) is not None}
            machines = [m for m in self._backend.machines.values() if m.scope in scopes and m.scope not in refused]
        return machines, refused

    def ping(self, scope: str, ctx: Context) -> None:
        with self._request("check", scope, "", ctx):
            pass

    @contextlib.contextmanager
    def _request(
        self, op: str, scope: str | None, name: str, ctx: Context, waits_for: t.Sequence[str] = ()
    ) -> t.Iterator[t.Callable[[], None]]:
        """What is yielded is to be called right before the effect: a fault may come first. One that comes after it
        counts only for a change."""
        backend = self._backend
        with backend.lock:
            backend.requests += 1
        while backend.hung.intersection((scope, *waits_for)):
            ctx.sleep(0.01)
            if ctx.cancel.is_set():
                raise Refused(Reason.CANCELLED, "the request was cancelled")
            if ctx.remaining() <= 0:
                raise Refused(Reason.TIMEOUT, "the request was not answered in time")
        with backend.lock:
            backend.settle()
            answer = self._answer(scope) if scope else None
            if answer is not None:
                raise answer
            fault = backend.fault(op, name)
            late = fault is not None and fault.after

            def effect() -> None:
                if not late:
                    self._raise(fault)

            yield effect
            self._raise(fault)
            if scope in backend.lost and op in ("create", "delete", "mark"):
                backend.lost.discard(scope)
                raise Refused(Reason.TIMEOUT, "the answer was lost")

    def _answer(self, scope: str) -> Refused | None:
        if scope in self._backend.down:
            return Refused(Reason.UNREACHABLE, f"{scope} does not answer")
        return self._backend.answers.get(scope)

    def _raise(self, fault: Fault | None) -> None:
        if fault is None:
            return
        if isinstance(fault.error, Exception):
            raise fault.error
        raise Refused(fault.error, f"{fault.op} failed on order", fault.retry_after)


class FakeProvider:
    """Provider, Marker and Checker. :ivar types, images: those that it knows; another one is InvalidPlacement.

    :cvar tells: Create answers with the instance.
    :param scopes: those that are configured; all of the backend's if None.
    """

    tells = False
    types = ("small", "large")
    images = ("debian", "squid")
    profile = Profile(
        type="fake",
        contract_version=1,
        placement=("zone", "machine_type", "image"),
        cloud_init="user-data",
        primary_key="name-is-key",
        readiness="provisioning-window",
        ip_source="discovered",
        gc_mark="native-labels",
        created_at="backend-timestamp",
        provisioning_state="native",
        create_return="submit",
        async_ops="none",
        delete_return="returns-early",
        secondary_resources="none",
        list_partial="report-scopes",
        list_cost="one-call",
        not_found="error-code",
        quota="detected",
        credentials="none",
        client_kind="thin-client",
        child_spans="span-decorator",
        timeouts="ctx-only",
        logging="none",
        backend_test="checked-double",
    )

    def __init__(
        self, name: str, backend: Backend, prefix: str = PREFIX, scopes: t.Sequence[str] | None = None
    ) -> None:
        self.name = name
        self.backend = backend
        self._prefix = prefix
        self._scopes = scopes
        self._api = observed_api(Api(backend))

    @property
    def scopes(self) -> t.Sequence[str]:
        return self.backend.scopes if self._scopes is None else self._scopes

    def scope_of(self, placement: Placement) -> Scope | None:
        if placement.zone is None:
            return None
        if f"zones/{placement.zone}" not in self.scopes:
            raise self._error(Reason.INVALID_PLACEMENT, "create", f"zone: {placement.zone!r} is not allowed")
        return Scope(f"zones/{placement.zone}")

    def scope_of_id(self, provider_id: str) -> Scope:
        return Scope(self._parsed(provider_id, "get")[0])

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        machine_type = placement.machine_type or "small"
        for field, value, allowed in (
            ("machine_type", machine_type, self.types),
            ("image", placement.image, (None, *self.images)),
        ):
            if value not in allowed:
                raise self._error(Reason.INVALID_PLACEMENT, "create", f"{field}: {value!r} is not allowed")
        return {
            "machine_type": machine_type,
            "image": placement.image,
            "port": port,
            "squid": guest.squid.hashable() if guest.squid else None,
            "cloud_init": guest.cloud_init,
        }

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        self._enter("create", request.name, ctx)
        self.scope_of(request.placement)
        self.spec_content(request.placement, request.port, request.guest)
        scope, name = request.scope.name, request.name
        provider_id = f"{scope}/{name}"
        with self._asking("create", provider_id):
            try:
                machine = self._api.insert(scope, name, request.marks.to_labels(self._prefix), ctx)
            except Taken:
                existing = self._api.read(scope, name, ctx)
                return self._adopted(existing, request, provider_id)
        return self._created(machine, CreateOutcome.CREATED)

    def _adopted(self, existing: Machine | None, request: CreateRequest, provider_id: str) -> Created:
        if existing is None:
            raise self._error(Reason.BUSY, "create", f"{provider_id} has just been deleted", provider_id)
        marks = Marks.from_labels(existing.labels, self._prefix)
        why = "it is not managed" if marks is None else marks.conflict_with(request.marks)
        if why:
            raise self._error(Reason.CONFLICT, "create", f"{provider_id} exists: {why}", provider_id)
        if existing.gone_at is not None:
            raise self._error(Reason.BUSY, "create", f"{provider_id} is being deleted", provider_id)
        return self._created(existing, CreateOutcome.ADOPTED)

    def _created(self, machine: Machine, outcome: CreateOutcome) -> Created:
        instance = self._instance(machine)
        return Created(instance.provider_id, instance.incarnation, outcome, instance if self.tells else None)

    def get(self, provider_id: str, ctx: Context) -> Instance:
        self._enter("get", provider_id, ctx)
        scope, name = self._parsed(provider_id, "get")
        if scope not in self.scopes:
            raise self._error(Reason.INVALID_CONFIG, "get", f"{scope} is not configured any more", provider_id)
        with self._asking("get", provider_id):
            machine = self._api.read(scope, name, ctx)
        if machine is None:
            raise self._error(Reason.GONE, "get", f"{provider_id} does not exist", provider_id)
        return self._instance(machine)

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        self._enter("delete", ref.provider_id, ctx)
        scope, name = self._parsed(ref.provider_id, "delete")
        if scope not in self.scopes:
            return Deleted(DeleteOutcome.GONE)
        with self._asking("delete", ref.provider_id):
            gone = self._api.remove(scope, name, ref.incarnation, ctx)
        return Deleted(DeleteOutcome.GONE if gone else DeleteOutcome.DELETING)

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        self._enter("list", "", ctx)
        with self._asking("list", None):
            machines, refused = self._api.search(self.scopes, ctx)
        found = []
        unreadable = []
        for machine in machines:
            marks = Marks.from_labels(machine.labels, self._prefix)
            if marks is None or not selector.matches(marks):
                continue
            if self._unreadable(machine):
                unreadable.append(f"{machine.scope}/{machine.name}")
            else:
                found.append(self._instance(machine))
        gaps = {machine.scope for machine in machines if not machine.readable} | self.backend.partial
        statuses = {Scope(name): self._status(refused.get(name), name in gaps) for name in self.scopes}
        return Listing(tuple(found), statuses, tuple(unreadable))

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        self._enter("mark", ref.provider_id, ctx)
        scope, name = self._parsed(ref.provider_id, "mark")
        with self._asking("mark", ref.provider_id):
            self._api.label(scope, name, ref.incarnation, f"{self._prefix}-{key}", value, ctx)

    def check(self, ctx: Context) -> list[TargetStatus]:
        return [self._check(scope, ctx) for scope in self.scopes]

    def _check(self, scope: str, ctx: Context) -> TargetStatus:
        shared = {reason.value for reason in CheckReason}
        try:
            ctx.check("check", self.name)
            with self._asking("check", None):
                self._api.ping(scope, ctx)
        except ProviderError as error:
            reason = error.reason.wire if error.reason.wire in shared else CheckReason.TIMEOUT.value
            return TargetStatus(scope, False, reason, error.message)
        return TargetStatus(scope, True, CheckReason.REACHABLE.value)

    def _unreadable(self, machine: Machine) -> bool:
        """In a partial scope those with an odd incarnation can't be read."""
        return not machine.readable or (machine.scope in self.backend.partial and int(machine.incarnation, 16) % 2 == 1)

    def _status(self, refused: Refused | None, gaps: bool) -> ScopeStatus:
        if refused is not None:
            return ScopeStatus(Completeness.FAILED, refused.reason.wire, refused.message)
        if gaps:
            return ScopeStatus(Completeness.PARTIAL, Reason.API_ERROR.wire, "some could not be read")
        return ScopeStatus(Completeness.COMPLETE)

    def _instance(self, machine: Machine) -> Instance:
        deleting = machine.gone_at is not None
        state = machine.state or STATES.get(self.backend.word(machine), State.STOPPED)
        if state is State.RUNNING:
            state = State.STOPPED if deleting else state if machine.has_address else State.PROVISIONING
        return Instance(
            provider=self.name,
            provider_id=f"{machine.scope}/{machine.name}",
            incarnation=machine.incarnation,
            name=machine.name,
            scope=Scope(machine.scope),
            state=state,
            marks=Marks.from_labels(machine.labels, self._prefix) or NOBODY,
            address="192.0.2.1" if state is State.RUNNING else None,
            cause="ShutOff" if state is State.STOPPED else None,
            message=machine.message,
            created_at=machine.created,
            deleting=deleting,
        )

    def _enter(self, op: str, name: str, ctx: Context) -> None:
        ctx.check(op, self.name, name or None)
        self.backend.journal.append((op, name.rpartition("/")[2]))

    def _parsed(self, provider_id: str, op: str) -> tuple[str, str]:
        if not re.fullmatch(r"zones/[a-z0-9-]+/[a-z0-9-]+", provider_id):
            raise self._error(Reason.MALFORMED_ID, op, f"{provider_id!r} is not allowed", provider_id)
        scope, _slash, name = provider_id.rpartition("/")
        return scope, name

    @contextlib.contextmanager
    def _asking(self, op: str, provider_id: str | None) -> t.Iterator[None]:
        """The one place that classifies. What a Create lacks is not the instance."""
        try:
            yield
        except Refused as refused:
            reason = Reason.API_ERROR if op == "create" and refused.reason is Reason.GONE else refused.reason
            raise self._error(reason, op, refused.message, provider_id, refused.retry_after) from refused

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


class TellingProvider(FakeProvider):
    """Create answers with the instance."""

    tells = True
