# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An in-memory backend with faults on order, and the provider over it: a third party's, it uses only provider.py."""

from __future__ import annotations

import dataclasses
import random
import typing as t

from ansible_collections.crawl.egress.plugins.module_utils.provider import (
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
)
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.clock import FakeClock

PREFIX = "proxy-operator"


@dataclasses.dataclass
class Machine:
    """What the backend has. C(state) overrides what time would make of it."""

    name: str
    incarnation: str
    scope: str
    labels: dict[str, str]
    created: float
    ready: float
    state: State | None = None
    gone_at: float | None = None
    message: str | None = None


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


class Backend:
    """Machines by (scope, name). Survives every provider object, as a real one does."""

    def __init__(
        self, clock: FakeClock, scopes: t.Sequence[str] = ("zones/a",), boot: float = 0.0, dying: float = 0.0
    ) -> None:
        self.clock = clock
        self.scopes = list(scopes)
        self.boot = boot
        self.dying = dying
        self.machines: dict[tuple[str, str], Machine] = {}
        self.faults: list[Fault] = []
        self.down: set[str] = set()
        self.partial: set[str] = set()
        self.journal: list[tuple[str, str]] = []
        self.rng = random.Random(1)
        self.on_create: t.Callable[[Machine], None] = lambda machine: None

    def settle(self) -> None:
        for key, machine in list(self.machines.items()):
            if machine.gone_at is not None and machine.gone_at <= self.clock.now():
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


class FakeProvider:
    """:ivar types: the machine types it knows; another one is InvalidPlacement."""

    types = ("small", "large")
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
        child_spans="none",
        timeouts="ctx-only",
        logging="none",
        backend_test="checked-double",
    )

    def __init__(self, name: str, backend: Backend) -> None:
        self.name = name
        self.backend = backend

    def scope_of(self, placement: Placement) -> Scope | None:
        if placement.zone is None:
            return None
        if f"zones/{placement.zone}" not in self.backend.scopes:
            raise self._error(Reason.INVALID_PLACEMENT, "create", f"zone: {placement.zone!r} is not allowed")
        return Scope(f"zones/{placement.zone}")

    def scope_of_id(self, provider_id: str) -> Scope:
        scope, sep, _name = provider_id.rpartition("/")
        if not sep or scope not in self.backend.scopes:
            raise self._error(Reason.MALFORMED_ID, "get", f"{provider_id!r} is not allowed")
        return Scope(scope)

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        machine_type = placement.machine_type or "small"
        if machine_type not in self.types:
            raise self._error(Reason.INVALID_PLACEMENT, "create", f"machine_type: {machine_type!r} is not allowed")
        return {
            "machine_type": machine_type,
            "image": placement.image,
            "port": port,
            "squid": guest.squid.hashable() if guest.squid else None,
            "cloud_init": guest.cloud_init,
        }

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        self._enter("create", request.name, ctx)
        fault = self._fault("create", request.name)
        backend = self.backend
        key = (request.scope.name, request.name)
        backend.settle()
        existing = backend.machines.get(key)
        if existing is not None:
            provider_id = f"{existing.scope}/{existing.name}"
            marks = Marks.from_labels(existing.labels, PREFIX)
            why = "it is not managed" if marks is None else marks.conflict_with(request.marks)
            if why:
                raise self._error(Reason.CONFLICT, "create", f"{provider_id} exists: {why}")
            if existing.gone_at is not None:
                raise self._error(Reason.BUSY, "create", f"{provider_id} is being deleted")
            self._raise(fault, "create")
            return Created(provider_id, existing.incarnation, CreateOutcome.ADOPTED)
        if request.scope.name in backend.down:
            raise self._error(Reason.UNREACHABLE, "create", f"{request.scope.name} does not answer")
        now = backend.clock.now()
        machine = Machine(
            request.name,
            f"{backend.rng.getrandbits(64):016x}",
            request.scope.name,
            request.marks.to_labels(PREFIX),
            now,
            now + backend.boot,
        )
        if fault is not None and not fault.after:
            self._raise(fault, "create")
        backend.on_create(machine)
        backend.machines[key] = machine
        self._raise(fault, "create")
        return Created(f"{machine.scope}/{machine.name}", machine.incarnation, CreateOutcome.CREATED)

    def get(self, provider_id: str, ctx: Context) -> Instance:
        self._enter("get", provider_id, ctx)
        self._raise(self._fault("get", provider_id), "get")
        scope = self.scope_of_id(provider_id).name
        if scope in self.backend.down:
            raise self._error(Reason.UNREACHABLE, "get", f"{scope} does not answer")
        self.backend.settle()
        machine = self.backend.machines.get((scope, provider_id.rpartition("/")[2]))
        if machine is None or (instance := self._instance(machine)) is None:
            raise self._error(Reason.GONE, "get", f"{provider_id} does not exist")
        return instance

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        self._enter("delete", ref.provider_id, ctx)
        fault = self._fault("delete", ref.provider_id)
        if fault is not None and not fault.after:
            self._raise(fault, "delete")
        scope = self.scope_of_id(ref.provider_id).name
        if scope in self.backend.down:
            raise self._error(Reason.UNREACHABLE, "delete", f"{scope} does not answer")
        self.backend.settle()
        key = (scope, ref.provider_id.rpartition("/")[2])
        machine = self.backend.machines.get(key)
        if machine is None or machine.incarnation != ref.incarnation:
            return Deleted(DeleteOutcome.GONE)
        if machine.gone_at is None:
            machine.gone_at = self.backend.clock.now() + self.backend.dying
        self.backend.settle()
        self._raise(fault, "delete")
        return Deleted(DeleteOutcome.DELETING if key in self.backend.machines else DeleteOutcome.GONE)

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        self._enter("list", "", ctx)
        self._raise(self._fault("list", ""), "list")
        self.backend.settle()
        found = []
        unreadable = []
        for machine in self.backend.machines.values():
            instance = self._instance(machine)
            if machine.scope in self.backend.down or instance is None or not selector.matches(instance.marks):
                continue
            if machine.scope in self.backend.partial and int(machine.incarnation, 16) % 2:
                unreadable.append(instance.provider_id)
                continue
            found.append(instance)
        return Listing(
            tuple(found), {Scope(name): self._status(name) for name in self.backend.scopes}, tuple(unreadable)
        )

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        self._enter("mark", ref.provider_id, ctx)
        machine = self.backend.machines[self.scope_of_id(ref.provider_id).name, ref.provider_id.rpartition("/")[2]]
        if value is None:
            machine.labels.pop(f"{PREFIX}-{key}", None)
        else:
            machine.labels[f"{PREFIX}-{key}"] = value

    def _status(self, scope: str) -> ScopeStatus:
        if scope in self.backend.down:
            return ScopeStatus(Completeness.FAILED, Reason.UNREACHABLE.wire, "does not answer")
        if scope in self.backend.partial:
            return ScopeStatus(Completeness.PARTIAL, Reason.API_ERROR.wire, "some could not be read")
        return ScopeStatus(Completeness.COMPLETE)

    def _instance(self, machine: Machine) -> Instance | None:
        marks = Marks.from_labels(machine.labels, PREFIX)
        if marks is None:
            return None
        up = machine.ready <= self.backend.clock.now()
        state = machine.state or (State.RUNNING if up else State.PROVISIONING)
        deleting = machine.gone_at is not None
        return Instance(
            provider=self.name,
            provider_id=f"{machine.scope}/{machine.name}",
            incarnation=machine.incarnation,
            name=machine.name,
            scope=Scope(machine.scope),
            state=State.STOPPED if deleting and state is State.RUNNING else state,
            marks=marks,
            address="192.0.2.1" if state is State.RUNNING else None,
            message=machine.message,
            created_at=machine.created,
            deleting=deleting,
        )

    def _enter(self, op: str, name: str, ctx: Context) -> None:
        ctx.check(op, self.name, name)
        self.backend.journal.append((op, name.rpartition("/")[2]))

    def _fault(self, op: str, name: str) -> Fault | None:
        return self.backend.fault(op, name.rpartition("/")[2])

    def _raise(self, fault: Fault | None, op: str) -> None:
        if fault is None:
            return
        if isinstance(fault.error, Exception):
            raise fault.error
        raise self._error(fault.error, op, f"{op} failed on order", fault.retry_after)

    def _error(self, reason: Reason, op: str, message: str, retry_after: float | None = None) -> ProviderError:
        return ProviderError(reason, message, op=op, provider=self.name, retry_after=retry_after)
