# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""ListByTag: only what is marked, in every scope, and how far its silence can be believed."""

from __future__ import annotations

from ...module_utils.provider import Completeness, Created, ErrorClass, Listing, ProviderError, Scope
from ._bench import Bench, NotApplicable, must, require, should, told
from .harness import Trouble


@must
def list_shows_what_get_shows(bench: Bench) -> None:
    """A list has whole instances, equal to what Get says of them, under IDs that Get and Delete accept."""
    created = bench.create()
    bench.running(created)
    (listed,) = bench.listing().instances
    got = bench.get(listed.provider_id)
    keys = ("provider", "provider_id", "incarnation", "name", "scope", "state", "marks", "address", "created_at")
    for key in (*keys, "deleting"):
        old, new = getattr(got, key), getattr(listed, key)
        require(old == new, f"{key} is {new!r} in the list and {old!r} in Get")
    require(listed.provider == bench.harness.name, f"its provider is {listed.provider!r}")
    bench.provider.delete(listed.ref, bench.ctx())
    bench.gone(created)


@must
def list_excludes_the_unmarked(bench: Bench) -> None:
    """An instance without the managed mark is not listed, whatever its name and its other marks."""
    created, other = bench.create(), bench.create(bench.request("other"))
    bench.relabel(created, managed=None)
    for selector in ({}, {"install": None}, {"uid": bench.request().marks.uid}):
        listing = bench.listing(**selector)
        ids = [instance.provider_id for instance in listing.instances]
        require(created.provider_id not in ids, f"it is listed for {selector or 'the install'}")
        require(created.provider_id not in listing.unreadable, "it is listed as unreadable")
    require(bench.listed() == [other.provider_id], f"listed: {bench.listed()}")


@must
def list_of_another_prefix(bench: Bench) -> None:
    """Marks under another prefix are somebody else's: such instances are not listed."""
    bench.create()
    theirs = bench.build(prefix="kit-other")
    found = theirs.list_by_tag(bench.selector(), bench.ctx()).instances
    require(not found, f"with another prefix it lists {[instance.provider_id for instance in found]}")
    made = theirs.create(bench.request("other"), bench.ctx())
    require(made.provider_id not in bench.listed(), "it lists what was marked with another prefix")


@must
def list_filters(bench: Bench) -> None:
    """A selector by install, pools and UID is heeded, and one without an install lists those of all."""
    plain = {
        "one": bench.create(),
        "two": bench.create(bench.request("two", pool="left")),
        "three": bench.create(bench.request("three", pool="right")),
        "four": bench.create(bench.request("four", install=f"{bench.install}-other")),
    }
    uid = bench.request("three").marks.uid
    for selector, wanted in (
        ({}, "one two three"),
        ({"install": f"{bench.install}-other"}, "four"),
        ({"pools": ("left",)}, "two"),
        ({"pools": ("left", "right", "none")}, "two three"),
        ({"uid": uid}, "three"),
        ({"uid": uid, "pools": ("left",)}, ""),
    ):
        ids = bench.listed(**selector)
        expected = sorted(plain[name].provider_id for name in wanted.split())
        require(ids == expected, f"for {selector} it lists {ids}, not {expected}")
    every = bench.listed(install=None)
    missing = [created.provider_id for created in plain.values() if created.provider_id not in every]
    require(not missing, f"without an install it leaves out {missing}")


@must
def list_covers_every_scope(bench: Bench) -> None:
    """A list covers, and names as complete, every scope in which Create can make something, empty ones too."""
    for phase in ("empty", "full"):
        scopes = bench.listing().scopes
        for place in bench.places:
            status = scopes.get(Scope(place.scope))
            require(status is not None, f"{place.scope} is not mentioned while it is {phase}")
            require(status is not None and status.complete, f"{place.scope} is {status} while it is {phase}")
        if phase == "empty":
            made = [bench.create(bench.request(f"p{index}", index)) for index in range(len(bench.places))]
    ids, expected = bench.listed(), sorted(created.provider_id for created in made)
    require(ids == expected, f"it lists {ids}, not {expected}")


@must
def list_costs_what_is_declared(bench: Bench) -> None:
    """A list costs one request (one-call), as many as there are scopes (per-scope), or some more for each instance."""
    costs = []
    for index in range(3):
        bench.create(bench.request(f"p{index}"))
        costs.append(bench.calls_of(bench.listing))
    scopes = len({place.scope for place in bench.places})
    declared = bench.profile.list_cost
    seen = f"list-cost is {declared}, and lists of 1, 2 and 3 instances in {scopes} scopes cost {costs} requests"
    require(costs[0] > 0, f"{seen}: the harness does not count")
    if declared == "one-call":
        require(costs == [1, 1, 1], seen)
    elif declared == "per-scope":
        require(costs[0] == costs[2] <= scopes + 1, seen)
    else:
        require(costs[2] - costs[1] <= costs[1] - costs[0], seen)


@must
def list_of_a_failed_scope(bench: Bench) -> None:
    """A scope that could not be asked is never complete, and what is complete has all its instances."""
    made = [bench.create(bench.request(f"p{index}", index)) for index in range(len(bench.places))]
    for kind in (
        Trouble.UNREACHABLE,
        Trouble.UNAVAILABLE,
        Trouble.RATE_LIMITED,
        Trouble.UNAUTHORIZED,
        Trouble.FORBIDDEN,
    ):
        if kind.not_applicable(bench.profile) is None:
            with bench.trouble(kind):
                _judge(bench, made, bench.places[0].scope, kind.what)


@must
def list_that_is_partial(bench: Bench) -> None:
    """A list that breaks off, or finds something unreadable, fails or does not call the scope complete."""
    made = [bench.create(bench.request(name)) for name in ("one", "two", "three")]
    with bench.trouble(Trouble.PARTIAL, made[1].provider_id):
        _judge(bench, made, bench.places[0].scope, Trouble.PARTIAL.what)
    require(len(bench.listed()) == 3, "afterwards it does not list all")


def _judge(bench: Bench, made: list[Created], troubled: str, when: str) -> None:
    try:
        listing = bench.listing()
    except ProviderError as error:
        require(error.error_class is not ErrorClass.NOT_FOUND, f"list: {told(error)}, though {when}")
        several = len({place.scope for place in bench.places}) > 1
        reports = bench.profile.list_partial != "fail-whole" and several
        require(not reports, f"list-partial is {bench.profile.list_partial}, but it fails: {told(error)}")
        return
    require(bench.profile.list_partial != "fail-whole", "list-partial is fail-whole, but it does not fail")
    _no_false_absence(bench, made, listing)
    status = listing.scopes.get(Scope(troubled))
    complete = status is not None and status.complete
    require(not complete, f"{troubled} is called complete, though {when}")
    if bench.profile.list_partial == "report-scopes":
        require(status is not None, f"list-partial is report-scopes, but {troubled} is not mentioned")
        require(status is not None and bool(status.reason), f"no reason is given for {troubled}")


def _no_false_absence(bench: Bench, made: list[Created], listing: Listing) -> None:
    listed = {instance.provider_id for instance in listing.instances}
    for created in made:
        scope = bench.provider.scope_of_id(created.provider_id)
        status = listing.scopes.get(scope)
        believed = status is not None and status.completeness is Completeness.COMPLETE
        missing = believed and created.provider_id not in listed
        require(not missing, f"{scope.name} is called complete without {created.provider_id}")


@should
def list_spares_the_other_scopes(bench: Bench) -> None:
    """Under report-scopes and omit-unreachable, one failed scope does not hide the instances of the others."""
    others = {place.scope for place in bench.places} - {bench.places[0].scope}
    if bench.profile.list_partial == "fail-whole":
        raise NotApplicable("list-partial: fail-whole")
    if not others:
        raise NotApplicable("the provider has one scope only")
    made = [bench.create(bench.request(f"p{index}", index)) for index in range(len(bench.places))]
    with bench.trouble(Trouble.UNREACHABLE):
        listing = bench.listing()
    for scope in others:
        status = listing.scopes.get(Scope(scope))
        require(status is not None and status.complete, f"{scope} is {status}, though only another one is down")
    _no_false_absence(bench, made, listing)
