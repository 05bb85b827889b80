# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Get: NotFound when, and only when, gone; states; what is read back."""

from __future__ import annotations

import dataclasses

from ...module_utils.provider import Created, ErrorClass, Instance, ProviderError, State
from ._bench import Bench, NotApplicable, must, require, should, told
from .harness import Trouble, Variant

_DEAD = (State.STOPPED, State.TERMINATED)


@must
def uid_and_created_at_are_read_back(bench: Bench) -> None:
    """UID, marks and CreatedAt come from the backend: another process reads the same."""
    request = bench.request()
    created = bench.create(request)
    first = bench.get(created.provider_id)
    require(first.marks.uid == request.marks.uid, f"the UID is {first.marks.uid!r}")
    require(first.created_at is not None, "CreatedAt is missing")
    for again in (bench.get(created.provider_id), bench.build().get(created.provider_id, bench.ctx())):
        for key in ("incarnation", "marks", "created_at"):
            old, new = getattr(first, key), getattr(again, key)
            require(old == new, f"{key} was {old!r} and is {new!r} when it is read again")


@must
def missing_uid_is_empty(bench: Bench) -> None:
    """A UID that somebody removed is the empty one, in Get and in a list: it is never made up."""
    created = bench.create()
    bench.relabel(created, uid=None)
    for instance in (bench.get(created.provider_id), *bench.listing().instances):
        require(instance.marks.uid == "", f"the UID is {instance.marks.uid!r}")
    require(bench.listed() == [created.provider_id], f"the list has {bench.listed()}")


@must
def missing_created_at_is_very_old(bench: Bench) -> None:
    """A CreatedAt that is missing or can't be read is None, which counts as very old; it is never made up."""
    if bench.profile.created_at == "backend-timestamp":
        raise NotApplicable("created-at: backend-timestamp")
    created = bench.create()
    for value in (None, "yesterday"):
        bench.relabel(created, created=value)
        when = bench.get(created.provider_id).created_at
        require(when is None, f"CreatedAt is {when!r} when the mark is {value!r}")


@must
def get_after_delete_is_not_found(bench: Bench) -> None:
    """Once a Delete is through, Get says NotFound."""
    created = bench.create()
    bench.delete(created)
    bench.gone(created)


@must
def get_of_never_created_is_not_found(bench: Bench) -> None:
    """An ID that is well formed and was never created is NotFound."""
    error = bench.refused(
        lambda: bench.get(never_created(bench).provider_id), ErrorClass.NOT_FOUND, when="Get of what never was"
    )
    require(error.provider_id is not None, "the error does not name the ID")


def never_created(bench: Bench) -> Created:
    if bench.profile.primary_key == "allocated-id":
        raise NotApplicable("primary-key: allocated-id: an ID can't be made up")
    request, other = bench.request("one"), bench.request("never")
    created = bench.create(request)
    identity = created.provider_id.replace(request.name, other.name)
    require(identity != created.provider_id, f"the name {request.name} is not in the ID {created.provider_id}")
    return dataclasses.replace(created, provider_id=identity)


@must
def get_during_delete(bench: Bench) -> None:
    """While a delete is under way Get returns the instance, as deleting and not as Running; never NotFound."""
    created = bench.create()
    bench.running(created)
    with bench.being_deleted(created) as deletion:
        for instance in (_kept(bench, created, "a delete is under way"), *bench.listing().instances):
            says = instance.deleting or bench.profile.delete_return == "waits"
            require(says, "it does not say that it is being deleted")
            require(not instance.serves and instance.state is not State.RUNNING, "it is Running while it is deleted")
        require(len(bench.listing().instances) == 1, "the list does not have it any more")
        waits = bench.profile.delete_return == "waits"
        require(deletion.running or not waits, "delete-return is waits, but Delete returned")


@must
def get_during_an_operation(bench: Bench) -> None:
    """While an asynchronous operation or a lock has the instance it is neither dead nor NotFound."""
    created = bench.create()
    with bench.trouble(Trouble.OPERATION, created.provider_id):
        instance = _kept(bench, created, "an operation has it")
        require(instance.state not in _DEAD, f"it is {instance.state.value} while an operation has it")
        (listed,) = bench.listing().instances
        require(listed.state not in _DEAD, f"a list says {listed.state.value} while an operation has it")


@must
def get_after_a_failed_operation(bench: Bench) -> None:
    """When the operation that makes an instance fails after all, Get says so: dead, with the backend's reason."""
    created = bench.create()
    with bench.trouble(Trouble.OPERATION_FAILED, created.provider_id):
        try:
            instance = bench.get(created.provider_id)
        except ProviderError as error:
            require(error.error_class is ErrorClass.NOT_FOUND, f"Get: {told(error)}")
            return  # nothing is left of it
        require(instance.state in _DEAD, f"it is {instance.state.value}")
        require(bool(instance.cause or instance.message), "neither cause nor message says why")


@must
def get_in_an_outage_is_not_not_found(bench: Bench) -> None:
    """What can't be asked is not gone: an outage, refused credentials or an unreadable instance are never NotFound."""
    created = bench.create()
    for kind in (
        Trouble.UNREACHABLE,
        Trouble.UNAVAILABLE,
        Trouble.RATE_LIMITED,
        Trouble.UNAUTHORIZED,
        Trouble.FORBIDDEN,
    ):
        if kind.not_applicable(bench.profile) is None:
            with bench.trouble(kind):
                _kept(bench, created, kind.what, or_fails=True)
    with bench.trouble(Trouble.PARTIAL, created.provider_id):
        _kept(bench, created, Trouble.PARTIAL.what, or_fails=True)
    bench.get(created.provider_id)


def _kept(bench: Bench, created: Created, when: str, or_fails: bool = False) -> Instance:
    try:
        return bench.get(created.provider_id)
    except ProviderError as error:
        require(error.error_class is not ErrorClass.NOT_FOUND, f"Get says NotFound though {when}")
        require(or_fails, f"Get says {told(error)} though only {when}")
        return None  # type: ignore[return-value]


@should
def get_with_a_location_no_longer_configured(bench: Bench) -> None:
    """An ID in a location that is configured no more is Permanent, unless the ID is enough to reach it; it is never
    NotFound."""
    created = bench.create()
    try:
        instance = bench.build(Variant.REDUCED).get(created.provider_id, bench.ctx())
    except ProviderError as error:
        require(error.error_class is ErrorClass.PERMANENT, f"Get: {told(error)}")
    else:
        require(instance.incarnation == created.incarnation, f"Get returns {instance}")


@must
def get_of_an_unmarked_instance_is_not_not_found(bench: Bench) -> None:
    """An instance that lost its marks is there: Get returns it without them, or says Conflict."""
    created = bench.create()
    bench.relabel(created, managed=None)
    try:
        instance = bench.get(created.provider_id)
    except ProviderError as error:
        require(error.error_class is ErrorClass.PERMANENT, f"Get: {told(error)}")
    else:
        require(instance.marks.uid == "", "it is returned with marks, as if it were managed")


@should
def unrecognised_status_is_stopped(bench: Bench) -> None:
    """A status word that the provider does not know is Stopped."""
    created = bench.create()
    with bench.trouble(Trouble.UNRECOGNISED, created.provider_id):
        state = bench.get(created.provider_id).state
        require(state is State.STOPPED, f"it is {state.value}")


@must
def what_cannot_be_told_is_unknown(bench: Bench) -> None:
    """When the backend can't tell how an instance is, it is Unknown: no reason to delete it."""
    created = bench.create()
    with bench.trouble(Trouble.CANNOT_TELL, created.provider_id):
        state = bench.get(created.provider_id).state
        require(state is State.UNKNOWN, f"it is {state.value}")


@must
def never_started_is_never_stopped(bench: Bench) -> None:
    """What is there and was never started is Provisioning: Create may be at work on it."""
    created = bench.create()
    with bench.trouble(Trouble.NEVER_STARTED, created.provider_id):
        state = bench.get(created.provider_id).state
        require(state is State.PROVISIONING, f"it is {state.value}")


@must
def dead_is_stopped_or_terminated(bench: Bench) -> None:
    """What has stopped by itself and won't recover is Stopped or Terminated, and has a cause."""
    created = bench.create()
    bench.running(created)
    with bench.trouble(Trouble.DEAD, created.provider_id):
        instance = bench.until(lambda: _if_dead(bench, created), "what has stopped is Stopped or Terminated")
        require(bool(instance.cause), "it has no cause")


def _if_dead(bench: Bench, created: Created) -> Instance | None:
    instance = bench.get(created.provider_id)
    return instance if instance.state in _DEAD else None


@must
def running_has_an_address(bench: Bench) -> None:
    """An instance comes to run, and then it has an address."""
    created = bench.create()
    while True:
        instance = bench.get(created.provider_id)
        require(instance.state is not State.RUNNING or bool(instance.address), "it is Running without an address")
        if instance.state is State.RUNNING:
            return
        require(instance.state is State.PROVISIONING, f"it is {instance.state.value} before it runs")
        bench.running(created)


@must
def without_an_address_it_is_provisioning(bench: Bench) -> None:
    """What runs but has no address that its clients could use is Provisioning."""
    created = bench.create()
    with bench.trouble(Trouble.NO_ADDRESS, created.provider_id):
        instance = bench.get(created.provider_id)
        require(instance.state is State.PROVISIONING, f"it is {instance.state.value}")
        require(not instance.address, f"its address is {instance.address!r}")
