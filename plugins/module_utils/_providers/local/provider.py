# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The C(local) provider: each proxy is a process of this machine on a loopback address of its own.

Placement fields are ignored. The engine is not part of the specification: another engine, or another version of it,
serves those proxies that are made from then on.

What a run that has nothing to do doesn't need is imported where it is used: a module compiles whatever it imports.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
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
    observed_api,
)
from .api import Found, LocalApi
from .config import LocalConfig
from .errors import Fault, classify
from .processes import Probe
from .records import NAME, Record, parse_provider_id, provider_id

CRASHED = "Crashed"
DELETION_INTERRUPTED = "DeletionInterrupted"


def build(name: str, config: t.Mapping[str, t.Any], host: ProviderHost) -> LocalProvider:
    """Touches nothing; raises C(InvalidArgument) for a bad configuration block."""
    return LocalProvider(name, LocalConfig.parse(name, config, os.environ), host)


class LocalProvider:
    """Provider, Marker and Checker."""

    profile = Profile(
        type="local",
        contract_version=1,
        placement=(),
        cloud_init="not-delivered",
        primary_key="name-is-key",
        readiness="provisioning-window",
        ip_source="assigned-at-create",
        gc_mark="written-metadata",
        created_at="written-at-create",
        provisioning_state="native",
        create_return="submit",
        async_ops="none",
        delete_return="waits",
        secondary_resources="none",
        list_partial="report-scopes",
        list_cost="per-scope",
        not_found="error-code",
        quota="detected",
        credentials="none",
        client_kind="subprocess",
        child_spans="span-decorator",
        timeouts="per-call",
        logging="tiered",
        backend_test="real-backend",
    )

    def __init__(self, name: str, config: LocalConfig, host: ProviderHost) -> None:
        self.name = name
        self._config = config
        self._host = host
        self._prefix = host.mark_prefix
        self._scope = Scope(f"hosts/{config.host}")
        self._api = observed_api(LocalApi(config.directory, config.host, host.runner, host.python))
        self._log = logging.getLogger(f"crawl.egress.{name}")

    # --- pure

    def scope_of(self, placement: Placement) -> Scope:
        return self._scope

    def scope_of_id(self, provider_id: str) -> Scope:
        return Scope(f"hosts/{self._parsed(provider_id, 'scope')[0]}")

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        squid = self._squid(guest, "spec")
        if self._config.engine == "proxy.py" and squid.extra_lines:
            from . import engines

            raise self._error(Reason.INVALID_CONFIG, engines.no_extra_lines(), "spec", None)
        return {"port": port, "squid": squid.hashable()}

    # --- the contract

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        if not NAME.fullmatch(request.name):
            raise self._error(Reason.INVALID_CONFIG, f"{request.name!r} is no name of an instance here", "create", None)
        identity = provider_id(self._config.host, request.name)
        with self._classified("create", identity, ctx):
            try:
                with self._api.instance_lock(request.name, ctx):
                    return self._create(request, identity, ctx)
            except (OSError, Fault, ProviderError):
                with contextlib.suppress(OSError, Fault):
                    self._api.tidy(ctx)
                raise

    def _create(self, request: CreateRequest, identity: str, ctx: Context) -> Created:
        from . import engines

        squid = self._squid(request.guest, "create")
        found = self._api.read(request.name)
        if found:
            self._check_ours(found, request.marks, identity)
            if found.process:
                return Created(identity, found.record.incarnation, CreateOutcome.ADOPTED)
        engine = engines.find(self._config.engine, squid, self._host.python, self._api.proxypy_script)
        if not found and self._api.present(request.name):  # what a crash left of an earlier Create or Delete
            self._api.begin_delete(request.name)
            self._api.finish_delete(None, request.name)
        ctx.check("create", self.name, identity)
        record = self._write_state(request, found, ctx)
        kind = "squid" if isinstance(engine, engines.Squid) else "proxy.py"
        passwords = self._api.password_file(record, kind)
        launch = engine.launch(record, squid, self._api.folder(record.name), passwords)
        self._api.launch(record, launch)
        where = f"{record.address}:{record.port}"
        self._log.debug("%s %s: %s started on %s", self.name, record.name, launch.engine, where)
        return Created(identity, record.incarnation, CreateOutcome.ADOPTED if found else CreateOutcome.CREATED)

    def _check_ours(self, found: Found, marks: Marks, identity: str) -> None:
        theirs = Marks.from_labels(found.record.labels, self._prefix)
        conflict = theirs.conflict_with(marks) if theirs else "it has no mark of a managed proxy"
        if conflict:
            raise self._error(Reason.CONFLICT, f"{identity} is there already: {conflict}", "create", identity)
        if found.deleting:
            raise self._error(Reason.BUSY, f"{identity} is being deleted", "create", identity)

    def _write_state(self, request: CreateRequest, found: Found | None, ctx: Context) -> Record:
        """The state file of an instance whose engine never started: a new one, or the one that a crash left."""
        labels = request.marks.to_labels(self._prefix)
        old = found.record if found else None
        with self._api.directory_lock(ctx):
            try:
                self._api.install_programs()
                address = self._api.choose_address(
                    request.name, request.port, self._config.addresses, old.address if old else None
                )
                if old:
                    record = dataclasses.replace(
                        old, address=address, port=request.port, labels={**old.labels, **labels}
                    )
                else:
                    record = Record(
                        name=request.name,
                        host=self._config.host,
                        incarnation=f"{self._host.random.getrandbits(64):016x}",
                        address=address,
                        port=request.port,
                        created=self._host.clock.now(),
                        labels=labels,
                    )
                if record != old:
                    self._api.write_state(record)
            except (OSError, Fault):
                with contextlib.suppress(OSError):
                    self._api.discard_unborn(request.name)
                raise
        return record

    def get(self, provider_id: str, ctx: Context) -> Instance:
        name = self._name_in(provider_id, "get")
        with self._classified("get", provider_id, ctx):
            found = self._api.read(name)
            if found is None:
                raise self._error(Reason.GONE, f"{provider_id} does not exist", "get", provider_id)
            return self._instance(found, self._api.probe([found.process] if found.process else []))

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        host, name = self._parsed(ref.provider_id, "delete")
        if host != self._config.host:
            self._log.info("%s %s: nothing to delete, its host is not configured any more", self.name, ref.provider_id)
            return Deleted(DeleteOutcome.GONE)
        with self._classified("delete", ref.provider_id, ctx):
            if self._api.present(name):
                with self._api.instance_lock(name, ctx):
                    self._delete(name, ref, ctx)
            self._api.tidy(ctx)
        return Deleted(DeleteOutcome.GONE)

    def _delete(self, name: str, ref: InstanceRef, ctx: Context) -> None:
        found = self._api.read(name)
        if found and found.record.incarnation != ref.incarnation:
            return
        self._api.begin_delete(name)
        found = self._api.read(name)  # a launch may have got through before that
        if found and found.process:
            self._api.stop(found.process, ctx)
        self._api.finish_delete(found, name)
        self._log.debug("%s %s: removed", self.name, name)

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        ctx.check("list", self.name)
        try:
            with self._classified("list", None, ctx):
                scan = self._api.scan()
                wanted = [found for found in scan.found if self._selected(found, selector)]
                probe = self._api.probe([found.process for found in wanted if found.process])
                instances = tuple(self._instance(found, probe) for found in wanted)
        except ProviderError as error:
            status = ScopeStatus(Completeness.FAILED, error.reason.wire, error.message)
            return Listing((), {self._scope: status})
        status = ScopeStatus(Completeness.COMPLETE)
        if scan.damaged:
            message = "; ".join(str(error) for error in scan.damaged.values())
            status = ScopeStatus(Completeness.PARTIAL, Reason.API_ERROR.wire, message)
        unreadable = tuple(provider_id(self._config.host, name) for name in scan.damaged)
        return Listing(instances, {self._scope: status}, unreadable)

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        name = self._name_in(ref.provider_id, "mark")
        with self._classified("mark", ref.provider_id, ctx):
            if not self._api.present(name):
                raise self._error(Reason.GONE, f"{ref.provider_id} does not exist", "mark", ref.provider_id)
            with self._api.instance_lock(name, ctx):
                found = self._api.read(name)
                if found is None or found.record.incarnation != ref.incarnation:
                    raise self._error(Reason.GONE, f"{ref.provider_id} does not exist", "mark", ref.provider_id)
                if found.deleting:
                    raise self._error(Reason.BUSY, f"{ref.provider_id} is being deleted", "mark", ref.provider_id)
                labels = {name: text for name, text in found.record.labels.items() if name != f"{self._prefix}-{key}"}
                if value is not None:
                    labels[f"{self._prefix}-{key}"] = value
                if labels != found.record.labels:
                    self._api.write_state(dataclasses.replace(found.record, labels=labels))

    def check(self, ctx: Context) -> list[TargetStatus]:
        from .check import check

        return [check(self.name, self._api, self._config, self._host, ctx)]

    # --- helpers

    def _selected(self, found: Found, selector: Selector) -> bool:
        marks = Marks.from_labels(found.record.labels, self._prefix)
        return marks is not None and selector.matches(marks)

    def _instance(self, found: Found, probe: Probe) -> Instance:
        record, process = found.record, found.process
        state, cause, message = State.PROVISIONING, None, None
        since: float | None = process.started if process else record.created
        # Nobody finishes a deletion that broke off: whoever wants the proxy gone, or the name, has to ask once more.
        deleting = found.deleting and self._api.is_being_changed(record.name)
        if found.deleting and not deleting:
            state, cause, since = State.STOPPED, DELETION_INTERRUPTED, None
        elif process and not probe.alive(process):
            state, cause, message, since = State.STOPPED, CRASHED, self._api.log_tail(found) or None, None
        elif found.deleting:
            state = State.STOPPED
        elif process and probe.accepts(process, record.address, record.port):
            state = State.RUNNING
        marks = Marks.from_labels(record.labels, self._prefix)
        return Instance(
            provider=self.name,
            provider_id=provider_id(record.host, record.name),
            incarnation=record.incarnation,
            name=record.name,
            scope=self._scope,
            state=state,
            marks=marks or Marks("", "", "", "", "", "", 0),
            address=record.address,
            cause=cause,
            message=message,
            created_at=record.created,
            since=since,
            deleting=deleting,
        )

    def _squid(self, guest: Guest, op: str) -> SquidConfig:
        if guest.cloud_init is not None or guest.squid is None:
            raise self._error(Reason.INVALID_CONFIG, "cloud_init is for virtual machines (allowed: squid)", op, None)
        return guest.squid

    def _name_in(self, identity: str, op: str) -> str:
        host, name = self._parsed(identity, op)
        if host != self._config.host:
            message = f"{identity}: local.host is {self._config.host!r}, so that this can't be reached"
            raise self._error(Reason.INVALID_CONFIG, message, op, identity)
        return name

    def _parsed(self, identity: str, op: str) -> tuple[str, str]:
        try:
            return parse_provider_id(identity)
        except ValueError as error:
            raise self._error(Reason.MALFORMED_ID, str(error), op, identity) from None

    def _error(self, reason: Reason, message: str, op: str, identity: str | None) -> ProviderError:
        return ProviderError(reason, message, op=op, provider=self.name, provider_id=identity, scope=self._scope.name)

    @contextlib.contextmanager
    def _classified(self, op: str, identity: str | None, ctx: Context) -> t.Iterator[None]:
        ctx.check(op, self.name, identity)
        try:
            yield
        except (OSError, Fault) as error:
            raised = classify(error, op=op, provider=self.name, provider_id=identity, directory=self._config.directory)
            raised.scope = self._scope.name
            raise raised from error
