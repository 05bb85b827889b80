# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Create: idempotent by name, verified adoption, never NotFound."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.provider import Created, CreateOutcome, ErrorClass, Instance, ProviderError, Reason, State
from ._bench import Bench, NotApplicable, expect, must, require, should, told
from .harness import Trouble


def _adopted(bench: Bench, first: Created, second: Created) -> None:
    same = (second.provider_id, second.incarnation) == (first.provider_id, first.incarnation)
    require(same, f"it made {second.provider_id} ({second.incarnation}) beside {first.provider_id}")
    require(second.outcome is CreateOutcome.ADOPTED, f"the outcome is {second.outcome}")
    require(len(bench.listed()) == 1, f"there are several now: {bench.listed()}")


@must
def create_writes_the_marks(bench: Bench) -> None:
    """What Create makes has the name that was asked for, in that scope, and all marks."""
    request = bench.request()
    created = bench.create(request)
    require(created.outcome is CreateOutcome.CREATED, f"the outcome is {created.outcome}")
    instance = bench.get(created.provider_id)
    require(
        instance.incarnation == created.incarnation, f"Create says {created.incarnation}, Get {instance.incarnation}"
    )
    require(instance.name == request.name, f"its name is {instance.name!r}, not {request.name!r}")
    require(instance.scope == request.scope, f"its scope is {instance.scope}, not {request.scope}")
    marks = dataclasses.replace(instance.marks, created=None)  # the provider's own
    require(marks == request.marks, f"its marks are {marks}, not {request.marks}")


@must
def repeated_create_adopts(bench: Bench) -> None:
    """A repeated Create of one name returns the same instance and makes no other."""
    first = bench.create()
    _adopted(bench, first, bench.create())


@must
def create_answers_what_get_tells(bench: Bench) -> None:
    """An instance that Create answers with, made or adopted, is the one of Get, and nothing in it is the request's."""
    first = bench.create()
    if first.instance is None:
        raise NotApplicable("Create answers with no instance")
    for created in (first, bench.create(bench.request(spec_hash="f" * 32))):
        instance, later = created.instance, bench.get(created.provider_id)
        if instance is None:
            continue
        require(_lasting(instance) == _lasting(later), f"it is {instance}, and Get says {later}")
        now, then = (instance.state, instance.deleting), (later.state, later.deleting)
        same = now in (then, (State.PROVISIONING, False))
        require(same, f"it is {instance.state.value} at once, and {later.state.value} for Get")
        same = now != then or instance.address == later.address
        require(same, f"its address is {instance.address} at once, and {later.address} for Get")
        same = instance.since is None or (later.since is not None and instance.since <= later.since)
        require(same, f"it has been so since {instance.since} at once, and since {later.since} for Get")


def _lasting(instance: Instance) -> Instance:
    """Without what may change at any time."""
    return dataclasses.replace(
        instance, state=State.UNKNOWN, address=None, cause=None, message=None, since=None, deleting=False
    )


@must
def create_after_a_crash_adopts(bench: Bench) -> None:
    """When a run died after Create and before it noted the ID, the next run's Create finds the instance."""
    first = bench.create()
    _adopted(bench, first, bench.build().create(bench.request(), bench.ctx()))


@must
def create_whose_answer_is_lost_is_taken_up(bench: Bench) -> None:
    """When the answer to a Create is lost, that is Transient at worst, and the next Create finds what was made."""
    with bench.trouble(Trouble.LOST_ANSWER):
        try:
            bench.create()
        except ProviderError as error:
            require(error.error_class is ErrorClass.TRANSIENT, f"a lost answer is {told(error)}")
    second = bench.create()
    require(bench.listed() == [second.provider_id], f"there are several now: {bench.listed()}")


@must
def lost_create_is_found_by_its_marks(bench: Bench) -> None:
    """The marks are written in the call that creates: what a Create makes before it fails is listed as ours, or is a
    leftover of ours."""
    if bench.profile.gc_mark == "mark-window":
        raise NotApplicable("gc-mark: mark-window")
    request = bench.request()
    with bench.trouble(Trouble.LOST_ANSWER):
        try:
            bench.create(request)
        except ProviderError:
            found = [instance.provider_id for instance in bench.listing(uid=request.marks.uid).instances]
            if not found and bench.profile.secondary_resources == "explicit":
                leftovers = bench.provider.list_leftovers(bench.selector(uid=request.marks.uid), bench.ctx()).leftovers
                found = [leftover.leftover_id for leftover in leftovers]
            residue = bench.harness.residue(request.name)
            require(not residue or len(found) == 1, f"the backend has {', '.join(residue)}, listed: {found}")


@must
def create_refuses_what_can_never_be(bench: Bench) -> None:
    """A placement that can never be satisfied is Permanent, names field and value, and costs no request."""
    if not bench.profile.placement:
        raise NotApplicable("placement: ignored")
    refusals = bench.harness.refusals()
    missing = set(bench.profile.placement) - {refusal.field for refusal in refusals}
    require(not missing, f"the harness has no refusal for {', '.join(sorted(missing))}")
    for refusal in refusals:
        request = bench.request(placement=refusal.placement)

        def judge(request: t.Any = request) -> None:
            bench.provider.scope_of(request.placement)
            bench.provider.spec_content(request.placement, request.port, request.guest)

        where = f"{refusal.field} {refusal.value!r}"
        for method, call in (("planning", judge), ("Create", lambda request=request: bench.create(request))):
            calls = bench.calls_of(call)
            error = bench.refused(call, Reason.INVALID_PLACEMENT, when=f"{method} with {where}")
            require(calls == 0, f"{method} with {where} costs {calls} requests")
            named = refusal.field in error.message and refusal.value in error.message
            require(named, f"{method} with {where}: {error.message!r} does not name both")


@must
def create_never_says_not_found(bench: Bench) -> None:
    """Create never says NotFound, not even when something that it needs does not exist."""
    with bench.trouble(Trouble.GHOST):
        try:
            bench.create()
        except ProviderError as error:
            require(error.error_class is not ErrorClass.NOT_FOUND, f"it says {told(error)}")


@must
def adoption_of_the_right_one(bench: Bench) -> None:
    """An instance of the same install, UID, slot and pool is adopted, whatever it was made from."""
    first = bench.create()
    second = bench.create(bench.request(spec_hash="f" * 32, generation=8))
    _adopted(bench, first, second)
    kept = bench.get(first.provider_id).marks.spec_hash
    require(kept == bench.request().marks.spec_hash, f"adoption changed the spec hash to {kept}")


def _not_adopted(bench: Bench, **marks: t.Any) -> None:
    before = bench.get(bench.create().provider_id)
    words = ", ".join(f"{key} {value!r}" for key, value in marks.items())
    bench.refused(lambda: bench.create(bench.request(**marks)), Reason.CONFLICT, when=f"Create of its name for {words}")
    bench.untouched(before)


@must
def adoption_of_another_uid(bench: Bench) -> None:
    """An instance of that name with another UID is Permanent/Conflict and stays untouched."""
    _not_adopted(bench, uid="another-uid")


@must
def adoption_of_another_install(bench: Bench) -> None:
    """An instance of that name of another install is Permanent/Conflict and stays untouched."""
    _not_adopted(bench, install="another-install")


@must
def adoption_of_another_slot(bench: Bench) -> None:
    """An instance of that name in another slot is Permanent/Conflict and stays untouched."""
    _not_adopted(bench, slot=1)


@must
def adoption_of_another_pool(bench: Bench) -> None:
    """An instance of that name of another pool is Permanent/Conflict: tasks and documents don't adopt each other's."""
    _not_adopted(bench, pool="task")


@must
def unmarked_instance_with_our_name(bench: Bench) -> None:
    """An instance of that name without the managed mark is Permanent/Conflict and stays untouched."""
    created = bench.create()
    bench.relabel(created, managed=None)
    bench.refused(bench.create, Reason.CONFLICT, when="Create of the name of an unmarked instance")
    bench.relabel(created, managed="true")
    instance = bench.get(created.provider_id)
    require(instance.incarnation == created.incarnation, "the unmarked instance was replaced")


@must
def create_does_not_adopt_the_dying(bench: Bench) -> None:
    """While the name is being deleted Create is Transient/Busy; afterwards it makes a new instance."""
    created = bench.create()
    with bench.being_deleted(created):
        attempt = bench.start("create", bench.create)
        if bench.profile.delete_return == "returns-early":
            outcome = attempt.outcome(bench.harness.patience)
            busy = isinstance(outcome, ProviderError) and outcome.reason is Reason.BUSY
            require(busy, f"Create of a name that is being deleted: {outcome!r}")
    outcome = attempt.outcome(bench.harness.settle)
    if isinstance(outcome, ProviderError):
        require(outcome.error_class is ErrorClass.TRANSIENT, f"Create of a name that is being deleted: {told(outcome)}")
        outcome = bench.create()
    require(outcome.incarnation != created.incarnation, "Create hands out the dying instance")
    bench.get(outcome.provider_id)


@should
def create_returns_once_submitted(bench: Bench) -> None:
    """Create returns once the request is submitted; until it is ready, the instance is Provisioning."""
    with bench.trouble(Trouble.SLOW_BOOT):
        outcome = bench.start("create", bench.create).outcome(bench.harness.patience)
        created = expect(outcome, Created, "Create of what starts slowly")
        state = bench.get(created.provider_id).state
        require(state is State.PROVISIONING, f"it is {state.value} while it starts")
    bench.running(created)
