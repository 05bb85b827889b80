# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a provider declares, and its pure functions."""

from __future__ import annotations

import dataclasses
import functools
import json
import typing as t

from ...module_utils._squid.model import SquidConfig
from ...module_utils.provider import CONTRACT_VERSION, ErrorClass, Guest, Profile, Reason, Scope
from ._bench import Bench, NotApplicable, must, require

_LOCATIONS = ("region", "zone")


@must
def profile_has_the_words_of_the_template(bench: Bench) -> None:
    """The Profile states this version of the contract, and on every axis an answer that the template allows."""
    profile = bench.profile
    require(isinstance(profile, Profile), f"profile is {profile!r}")
    version = profile.contract_version
    require(version == CONTRACT_VERSION, f"contract_version is {version}, the kit tests {CONTRACT_VERSION}")
    for axis, hint in t.get_type_hints(Profile).items():
        answer = getattr(profile, axis)
        if axis == "placement":
            (allowed,) = (t.get_args(part) for part in t.get_args(hint) if part is not Ellipsis)
            answers = answer
        else:
            allowed, answers = t.get_args(hint), (answer,)
        for each in answers if allowed else ():
            require(each in allowed, f"{axis} is {each!r} (allowed: {', '.join(allowed)})")


@must
def name_is_the_configured_one(bench: Bench) -> None:
    """A provider is called as its entry is, not as its type."""
    name = bench.provider.inner.name
    require(name == bench.harness.name, f"its name is {name!r}, configured as {bench.harness.name!r}")


@must
def building_does_not_dial(bench: Bench) -> None:
    """Building a provider asks nothing of the backend, so that one that is down takes no other with it."""
    calls = bench.calls_of(bench.build)
    require(calls == 0, f"building it costs {calls} requests")


@must
def scope_of_a_placement_is_pure(bench: Bench) -> None:
    """scope_of() names the scope of a placement, or None where any would do, and asks nothing of the backend."""
    for place in bench.places:
        scope = bench.provider.scope_of(place.placement)
        fits = scope is None or scope == Scope(place.scope)
        require(fits, f"scope_of({place.placement}) is {scope}, the harness says {place.scope}")
    calls = bench.calls_of(lambda: [bench.provider.scope_of(place.placement) for place in bench.places])
    require(calls == 0, f"scope_of() costs {calls} requests")


@must
def spec_content_is_plain_and_stable(bench: Bench) -> None:
    """spec_content() is the same in every process, made of plain JSON values, and asks nothing of the backend."""
    request = bench.request()
    arguments = (request.placement, request.port, request.guest)
    content = bench.provider.spec_content(*arguments)
    require(json.loads(json.dumps(content)) == content, f"{content!r} is not made of plain JSON values")
    again = bench.build().spec_content(*arguments)
    require(again == content, f"another process says {again!r}, not {content!r}")
    calls = bench.calls_of(lambda: bench.provider.spec_content(*arguments))
    require(calls == 0, f"spec_content() costs {calls} requests")


@must
def what_is_delivered_is_hashed(bench: Bench) -> None:
    """A change of the port or of the guest changes spec_content()."""
    request = bench.request()
    content = bench.provider.spec_content(request.placement, request.port, request.guest)
    other_port = bench.provider.spec_content(request.placement, request.port + 1, request.guest)
    require(other_port != content, "another port makes no difference")
    other = Guest(squid=SquidConfig.from_document({"allowed_sources": ["192.0.2.0/24"]}))
    other_guest = bench.provider.spec_content(request.placement, request.port, other)
    require(other_guest != content, "another guest makes no difference")


@must
def location_is_not_hashed(bench: Bench) -> None:
    """Placements that differ only in their location have the same spec_content(), since the scope tells them apart; in
    one and the same scope they have not, or nobody would notice that an instance is in the wrong place."""
    if not set(_LOCATIONS) & set(bench.profile.placement):
        raise NotApplicable("placement: no location")
    here, *others = [_content(bench, place.placement) for place in bench.places]
    elsewhere = [(scope, content) for place, scope, content in others if place == here[0]]
    require(bool(elsewhere), "the harness has no two places that differ only in their location")
    for scope, content in elsewhere:
        if scope is not None and scope == here[1]:
            require(content != here[2], f"another location in {scope.name} makes no difference")
        else:
            require(content == here[2], "another location makes a difference")


def _content(bench: Bench, placement: t.Any) -> tuple[t.Any, Scope | None, t.Any]:
    request = bench.request()
    plain = dataclasses.replace(placement, **dict.fromkeys(_LOCATIONS))
    content = bench.provider.spec_content(placement, request.port, request.guest)
    return plain, bench.provider.scope_of(placement), content


@must
def ignored_placement_is_not_hashed(bench: Bench) -> None:
    """A placement field that the Profile does not list changes nothing, and is not refused."""
    request = bench.request()
    ignored = [f.name for f in dataclasses.fields(request.placement) if f.name not in bench.profile.placement]
    if not ignored:
        raise NotApplicable("placement: every field is used")
    content = bench.provider.spec_content(request.placement, request.port, request.guest)
    for field in ignored:
        placement = dataclasses.replace(request.placement, **{field: "kit-ignored"})
        other = bench.provider.spec_content(placement, request.port, request.guest)
        require(other == content, f"{field} makes a difference")
        there = bench.provider.scope_of(placement)
        require(there == bench.provider.scope_of(request.placement), f"{field} changes the scope to {there}")


@must
def id_is_self_contained(bench: Bench) -> None:
    """A provider ID holds all that is needed to find its scope, without asking the backend."""
    for index, place in enumerate(bench.places):
        created = bench.create(bench.request(f"p{index}", index))
        scope = bench.build().scope_of_id(created.provider_id)
        require(scope == Scope(place.scope), f"scope_of_id({created.provider_id}) is {scope}, not {place.scope}")
        calls = bench.calls_of(functools.partial(bench.provider.scope_of_id, created.provider_id))
        require(calls == 0, f"scope_of_id() costs {calls} requests")


@must
def malformed_id_is_permanent(bench: Bench) -> None:
    """A malformed provider ID is Permanent/MalformedID in Get, Delete and scope_of_id(), without any request."""
    good = bench.create()
    identity = good.provider_id
    for bad in (
        "",
        "/",
        "nonsense",
        f"{identity}/",
        f"/{identity}",
        f"{identity}/more",
        f"{identity}\n",
        f" {identity}",
    ):
        wrong = dataclasses.replace(good, provider_id=bad)
        for method, call in (
            ("scope_of_id", functools.partial(bench.provider.scope_of_id, bad)),
            ("get", functools.partial(bench.get, bad)),
            ("delete", functools.partial(bench.delete, wrong)),
        ):
            calls = bench.calls_of(call)
            bench.refused(call, Reason.MALFORMED_ID, when=f"{method} of {bad!r}")
            require(calls == 0, f"{method} of {bad!r} costs {calls} requests")
    require(Reason.MALFORMED_ID.error_class is ErrorClass.PERMANENT, "MalformedID is Permanent")
    bench.get(identity)
