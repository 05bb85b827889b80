# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Delete: idempotent, one incarnation only, everything that Create made."""

from __future__ import annotations

from ...module_utils._calls import operation
from ...module_utils.provider import Created, Deleted, DeleteOutcome, ErrorClass, ProviderError
from ._bench import Bench, NotApplicable, must, ref, require, should, told
from ._cases_get import never_created
from .harness import Trouble, Variant


def _is_gone(deleted: Deleted, what: str) -> None:
    require(deleted.outcome is DeleteOutcome.GONE, f"Delete of {what} says {deleted.outcome.value}")


@must
def delete_twice(bench: Bench) -> None:
    """A Delete of what is being deleted succeeds, and so does one of what is gone already."""
    created = bench.create()
    bench.delete(created)
    bench.delete(created)
    bench.gone(created)
    _is_gone(bench.delete(created), "what is gone")


@must
def delete_during_delete(bench: Bench) -> None:
    """While a delete is under way another one is accepted and says deleting, or waits for it to end."""
    created = bench.create()
    with bench.being_deleted(created):
        second = bench.start("delete", lambda: bench.delete(created))
        if bench.profile.delete_return == "returns-early":
            outcome = second.outcome(bench.harness.patience)
            accepted = isinstance(outcome, Deleted) and outcome.outcome is DeleteOutcome.DELETING
            require(accepted, f"a second Delete: {outcome!r}")
    outcome = second.outcome(bench.harness.settle)
    busy = isinstance(outcome, ProviderError) and outcome.error_class is ErrorClass.TRANSIENT
    require(isinstance(outcome, Deleted) or busy, f"a second Delete: {outcome!r}")


@must
def delete_of_never_created(bench: Bench) -> None:
    """A Delete of an ID that was never created succeeds."""
    _is_gone(bench.delete(never_created(bench)), "what never was")


@must
def delete_of_another_incarnation(bench: Bench) -> None:
    """When the name has another incarnation by now, Delete says gone and leaves that one alone."""
    old = bench.create()
    bench.delete(old)
    bench.gone(old)
    new = bench.create()
    require(new.incarnation != old.incarnation, f"the new instance has the old incarnation {old.incarnation}")
    before = bench.get(new.provider_id)
    _is_gone(bench.delete(old), "an earlier incarnation")
    bench.untouched(before)


@should
def delete_with_a_location_no_longer_configured(bench: Bench) -> None:
    """A Delete in a location that is configured no more succeeds: nobody could be released otherwise."""
    created = bench.create()
    deleted = bench.build(Variant.REDUCED).delete(ref(created), bench.ctx())
    require(isinstance(deleted, Deleted), f"it returns {deleted!r}")


@must
def delete_removes_everything(bench: Bench) -> None:
    """Once an instance is gone, nothing is left of what Create made: disks, seeds, files, addresses."""
    request = bench.request()
    created = bench.create(request)
    require(bool(bench.harness.residue(request.name)), "the harness sees no residue of an instance that exists")
    bench.delete(created)
    bench.gone(created)
    if bench.profile.secondary_resources == "cascade":
        bench.until(lambda: not bench.harness.residue(request.name), "the backend removes secondary resources")
    left = bench.harness.residue(request.name)
    require(not left, f"left behind: {', '.join(left)}")


@must
def delete_tells_the_truth(bench: Bench) -> None:
    """When Delete says gone, Get says NotFound at once."""
    created = bench.create()
    outcome = bench.delete(created).outcome
    waits = bench.profile.delete_return == "waits"
    require(not waits or outcome is DeleteOutcome.GONE, f"delete-return is waits, but Delete says {outcome.value}")
    if outcome is DeleteOutcome.GONE:
        require(bench.is_gone(created.provider_id), "Delete says gone, and Get returns it")


@must
def delete_whose_answer_is_lost_is_taken_up(bench: Bench) -> None:
    """When the answer to a Delete is lost, that is Transient at worst, and the next Delete succeeds."""
    created = bench.create()
    with bench.trouble(Trouble.LOST_ANSWER):
        try:
            bench.delete(created)
        except ProviderError as error:
            require(error.error_class is ErrorClass.TRANSIENT, f"a lost answer is {told(error)}")
    bench.delete(created)
    bench.gone(created)


@must
def delete_that_broke_off_is_finished_by_the_next(bench: Bench) -> None:
    """When a run dies between any two requests of a Delete, the next Delete ends it, and nothing is left behind but
    what is found and removed as a leftover."""
    if bench.profile.child_spans == "none":
        raise NotApplicable("child-spans: none: it can't be seen where one request ends")
    requests = 1
    while _breaks_off(bench, requests):
        requests += 1


def _breaks_off(bench: Bench, requests: int) -> bool:
    """Whether a Delete needs more requests than that; if so, it is taken up after so many."""
    request = bench.request(f"after-{requests}")
    created = bench.create(request)
    died = _dies_after(bench, requests, created)
    bench.delete(created)
    bench.gone(created)
    when = f"a Delete that broke off after {requests} requests"
    _is_gone(bench.delete(created), when)
    if bench.profile.secondary_resources == "explicit":
        for leftover in bench.provider.list_leftovers(bench.selector(), bench.ctx()).leftovers:
            bench.provider.delete_leftover(leftover, bench.ctx())
    elif bench.profile.secondary_resources == "cascade":
        bench.until(lambda: not bench.harness.residue(request.name), f"nothing is left of {when}")
    left = bench.harness.residue(request.name)
    require(not left, f"left behind of {when}: {', '.join(left)}")
    return died


class _Death(BaseException):
    """Passes through whatever catches exceptions, as the end of a process would."""


def _dies_after(bench: Bench, requests: int, created: Created) -> bool:
    left = requests

    def count(_request: str, _seconds: float) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise _Death

    try:
        with operation(bench.harness.clock, count):
            bench.delete(created)
    except _Death:
        return True
    require(left < requests, "no request of a Delete is seen: the provider's seam is no observed_api()")
    return False


@must
def delete_in_an_outage_fails(bench: Bench) -> None:
    """Delete never says gone when it could not look."""
    created = bench.create()
    with bench.trouble(Trouble.UNREACHABLE):
        bench.refused(
            lambda: bench.delete(created),
            ErrorClass.TRANSIENT,
            ErrorClass.PERMANENT,
            when="Delete in a scope that does not answer",
        )
    bench.get(created.provider_id)


@must
def leftovers_are_found_and_removed(bench: Bench) -> None:
    """Secondary resources that outlived their instance are listed with their marks (without a UID, where several
    instances can share them), and removed; twice does no harm."""
    if bench.profile.secondary_resources != "explicit":
        raise NotApplicable(f"secondary-resources: {bench.profile.secondary_resources}")
    request = bench.request()
    created = bench.create(request)
    with bench.trouble(Trouble.ORPHANED, created.provider_id):
        selector = bench.selector()
        found = bench.provider.list_leftovers(selector, bench.ctx()).leftovers
        require(bool(found), "nothing is listed")
        for leftover in found:
            whose = leftover.marks.uid
            require(whose in ("", request.marks.uid), f"{leftover.leftover_id} has the UID {whose!r}")
            install = leftover.marks.install
            require(install == bench.install, f"{leftover.leftover_id} is of the install {install!r}")
            require(leftover.provider == bench.harness.name, f"its provider is {leftover.provider!r}")
            bench.provider.delete_leftover(leftover, bench.ctx())
            bench.provider.delete_leftover(leftover, bench.ctx())
        left = bench.provider.list_leftovers(selector, bench.ctx()).leftovers
        require(not left, f"still listed: {', '.join(each.leftover_id for each in left)}")
        residue = bench.harness.residue(request.name)
        require(not residue, f"left behind: {', '.join(residue)}")


@must
def leftovers_in_use_are_left_alone(bench: Bench) -> None:
    """A secondary resource that an instance uses is no leftover; one that is used again is left alone."""
    if bench.profile.secondary_resources != "explicit":
        raise NotApplicable(f"secondary-resources: {bench.profile.secondary_resources}")
    request = bench.request()
    created = bench.create(request)
    listed = bench.provider.list_leftovers(bench.selector(), bench.ctx()).leftovers
    require(not listed, f"resources in use are listed: {', '.join(each.leftover_id for each in listed)}")
    with bench.trouble(Trouble.ORPHANED, created.provider_id):
        orphans = bench.provider.list_leftovers(bench.selector(), bench.ctx()).leftovers
        again = bench.create(request)
    for leftover in orphans:
        bench.provider.delete_leftover(leftover, bench.ctx())
    state = bench.running(again).state
    require(bool(bench.harness.residue(request.name)), f"its resources are gone while it is {state.value}")
