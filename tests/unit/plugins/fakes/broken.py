# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Providers that are wrong in one way each, as real ones have been."""

from __future__ import annotations

import dataclasses
import json
import logging
import typing as t

from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Context,
    Created,
    CreateOutcome,
    CreateRequest,
    ErrorClass,
    Instance,
    InstanceRef,
    Listing,
    Marks,
    ProviderError,
    Reason,
    ScopeStatus,
    Selector,
    State,
    TargetStatus,
)
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.allocated import FIRST_ID, TaskProvider, Vm
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import FakeProvider, Machine


class AdoptsAnything(FakeProvider):
    """An instance with the right name is taken for ours, whoever it belongs to."""

    def _adopted(self, existing: Machine | None, request: CreateRequest, provider_id: str) -> Created:
        if existing is not None and existing.gone_at is None:
            return Created(provider_id, existing.incarnation, CreateOutcome.ADOPTED)
        return super()._adopted(existing, request, provider_id)


class TakesAnOutageForGone(FakeProvider):
    """Whatever Get could not read is NotFound."""

    def get(self, provider_id: str, ctx: Context) -> Instance:
        try:
            return super().get(provider_id, ctx)
        except ProviderError as error:
            if error.reason in (Reason.UNREACHABLE, Reason.API_ERROR):
                raise self._error(Reason.GONE, "get", error.message, provider_id) from error
            raise


class SaysGoneTooEarly(FakeProvider):
    """What is being deleted counts as deleted."""

    def get(self, provider_id: str, ctx: Context) -> Instance:
        instance = super().get(provider_id, ctx)
        if instance.deleting:
            raise self._error(Reason.GONE, "get", f"{provider_id} is being deleted", provider_id)
        return instance


class RunsWithoutAnAddress(FakeProvider):
    """The backend's word is good enough."""

    def _instance(self, machine: Machine) -> Instance:
        instance = super()._instance(machine)
        if machine.word == "UP" and instance.state is State.PROVISIONING:
            return dataclasses.replace(instance, state=State.RUNNING)
        return instance


class AnswersWhatItWasAskedFor(FakeProvider):
    """Create says what the instance will be, not what it is."""

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        created = super().create(request, ctx)
        instance = self.get(created.provider_id, ctx)
        wanted = dataclasses.replace(instance, state=State.RUNNING, marks=request.marks, deleting=False)
        return dataclasses.replace(created, instance=wanted)


class AnswersWithoutLooking(FakeProvider):
    """Create answers that nobody knows yet."""

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        created = super().create(request, ctx)
        unknown = dataclasses.replace(self.get(created.provider_id, ctx), state=State.UNKNOWN)
        return dataclasses.replace(created, instance=unknown)


class AnswersWithATimeOfItsOwn(FakeProvider):
    """Create tells a state that began before there was an instance."""

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        created = super().create(request, ctx)
        return dataclasses.replace(created, instance=dataclasses.replace(self.get(created.provider_id, ctx), since=0.0))


class RemembersWhenItMadeThem(FakeProvider):
    """CreatedAt is the moment at which this process first saw the instance."""

    def __init__(self, *args: t.Any) -> None:
        super().__init__(*args)
        self._seen: dict[str, float] = {}

    def _instance(self, machine: Machine) -> Instance:
        seen = self._seen.setdefault(machine.incarnation, self.backend.clock.now())
        return dataclasses.replace(super()._instance(machine), created_at=seen)


class CallsAHoleComplete(FakeProvider):
    """A list that left something out claims to be whole."""

    def _status(self, refused: t.Any, gaps: bool) -> ScopeStatus:
        return super()._status(refused, gaps=False)


class ListsTheUnmarked(FakeProvider):
    """What has our install's mark is ours, managed or not."""

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        listing = super().list_by_tag(selector, ctx)
        others = [m for m in self.backend.machines.values() if Marks.from_labels(m.labels, self._prefix) is None]
        found = [self._instance(m) for m in others if m.labels.get(f"{self._prefix}-install") == selector.install]
        return dataclasses.replace(listing, instances=(*listing.instances, *found))


class DeletesWhateverHasTheName(FakeProvider):
    """The incarnation is not looked at."""

    def delete(self, ref: InstanceRef, ctx: Context) -> t.Any:
        scope, _slash, name = ref.provider_id.rpartition("/")
        machine = self.backend.machines.get((scope, name))
        return super().delete(InstanceRef(ref.provider_id, machine.incarnation if machine else ref.incarnation), ctx)


class LogsWhatItSends(FakeProvider):
    """The request, for debugging."""

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        logging.getLogger(f"crawl.egress.{self.name}").debug("create %s: %s", request.name, request.guest.cloud_init)
        return super().create(request, ctx)


class NeverGivesUp(FakeProvider):
    """Get goes on asking, whatever became of the run."""

    def get(self, provider_id: str, ctx: Context) -> Instance:
        return super().get(provider_id, dataclasses.replace(ctx, deadline=ctx.deadline + 60, cancel=type(ctx.cancel)()))


class CreatesBlindly(TaskProvider):
    """The next free number, without a look at who is there."""

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        ctx.check("create", self.name)
        self.scope_of(request.placement)
        self.spec_content(request.placement, request.port, request.guest)
        node = request.scope.name.partition("/")[2]
        with self._asking("create", None):
            taken = {vmid for vmid, _name in self._api.vms(node, ctx)}
            vmid = next(number for number in range(FIRST_ID, 2 * FIRST_ID) if number not in taken)
            marks = dataclasses.replace(request.marks, created=int(self._cluster.now()))
            notes = json.dumps(marks.to_labels(self._prefix))
            disk = f"disk-{vmid}-{request.name}"
            with self._unless(409):
                self._api.allocate(node, disk, notes, ctx)
            self._api.insert(node, Vm(vmid, request.name, notes, disk, b"", "", 0.0), False, ctx)
            return self._made(node, vmid, ctx)


class ChecksOnlyWhatWorks(FakeProvider):
    """A target that does not answer is left out."""

    def check(self, ctx: Context) -> list[TargetStatus]:
        return [status for status in super().check(ctx) if status.ready]


class FreesItsDiskLast(TaskProvider):
    """Its disks go with their machine, it says; it is itself that removes them, when there is nobody left to ask."""

    profile = dataclasses.replace(TaskProvider.profile, secondary_resources="cascade")


class TriesForReal(TaskProvider):
    """A preflight is a Create."""

    def preflight(self, request: CreateRequest, ctx: Context) -> list[str]:
        self.create(request, ctx)
        return []


class TakesSilenceForConsent(TaskProvider):
    """What could not be asked is in order."""

    def preflight(self, request: CreateRequest, ctx: Context) -> list[str]:
        try:
            return super().preflight(request, ctx)
        except ProviderError as error:
            if error.error_class is ErrorClass.PERMANENT:
                raise
            return []


class ShowsTheWholeConsole(TaskProvider):
    """It may be of use."""

    def _readable(self, console: str) -> str:
        return console


class DiagnosesWhoeverHasTheNumber(TaskProvider):
    """The incarnation is not looked at."""

    def diagnose(self, ref: InstanceRef, ctx: Context) -> str:
        return super().diagnose(InstanceRef(ref.provider_id, self.get(ref.provider_id, ctx).incarnation), ctx)


class SaysNotFoundInCreate(FakeProvider):
    """A 404 is a 404."""

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        try:
            return super().create(request, ctx)
        except ProviderError as error:
            if error.error_class is ErrorClass.TRANSIENT and "image" in error.message:
                raise self._error(Reason.GONE, "create", error.message) from error
            raise
