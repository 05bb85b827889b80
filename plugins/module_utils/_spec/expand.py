# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""From a document that C(document.py) has checked to what the planner works on. Nothing here can find a fault."""

from __future__ import annotations

import typing as t

from .._marks import DEFAULT_PREFIX, NAMED_POOL, TASK_POOL
from .._models import Guest, Placement
from .._names import derived_uid
from .._squid.model import SquidConfig
from .desired import (
    DEFAULT_NAMESPACE,
    DEFAULT_PORT,
    Candidate,
    Desired,
    Limit,
    Policy,
    ProviderEntry,
    ProxySpec,
)
from .validate import plain

Body = t.Mapping[str, t.Any]

_SECONDS = {"s": 1, "m": 60, "h": 3600}


def expand_document(document: Body) -> Desired:
    """A desired document, its pools expanded."""
    body = plain(document)
    return Desired(
        install=body["install"],
        specs=tuple(expand_members(body)),
        pools=(*(pool["name"] for pool in body.get("pools", ())), NAMED_POOL),
        providers=expand_providers(body["providers"]),
        policy=_expand_policy(body.get("policy", {})),
        generation=body.get("generation"),
        mark_prefix=body.get("mark_prefix", DEFAULT_PREFIX),
    )


def expand_single(params: Body) -> Desired:
    """The options of C(egress_proxy). Of one that is to be absent nothing but its identity matters."""
    body = plain(given(params))
    namespace = body.get("namespace", DEFAULT_NAMESPACE)
    present = body.get("state", "present") == "present"
    return Desired(
        install=body["install"],
        specs=(_expand_proxy(body, body, TASK_POOL),) if present else (),
        pools=(TASK_POOL,),
        providers=expand_providers(body["providers"]),
        policy=Policy(max_deletions=None),
        uid=body.get("uid") or derived_uid(body["install"], namespace, body["name"]),
        mark_prefix=body.get("mark_prefix", DEFAULT_PREFIX),
    )


def expand_providers(entries: t.Sequence[Body]) -> tuple[ProviderEntry, ...]:
    return tuple(ProviderEntry(e["name"], e["type"], e.get(e["type"]) or {}) for e in plain(entries))


def _expand_policy(body: Body) -> Policy:
    given = dict(body)
    for key in ("max_unavailable", "max_deletions"):
        if key in given:
            given[key] = Limit.parse(given[key])
    if "provision_timeout" in given:
        given["provision_timeout"] = _seconds(given["provision_timeout"])
    return Policy(**given)


def expand_members(body: Body) -> t.Iterator[ProxySpec]:
    """All proxies of a document, named ones first. Those of a pool share their guest and their candidates."""
    common = Guest(squid=SquidConfig.from_document(body["squid"])) if "squid" in body else None
    for proxy in body.get("proxies", ()):
        yield _expand_proxy(body, proxy, NAMED_POOL, common)
    for pool in body.get("pools", ()):
        yield from _expand_pool(body, pool, common)


def _expand_proxy(body: Body, proxy: Body, pool: str, common: Guest | None = None) -> ProxySpec:
    """One proxy that is described on its own. :param common: guest of those that have none of their own."""
    placements = [proxy.get("placement", {})]
    return _spec(body, proxy, proxy["name"], pool, _preferences(body, proxy, placements)[0], _guest(proxy, common))


def _expand_pool(body: Body, pool: Body, common: Guest | None) -> t.Iterator[ProxySpec]:
    placements = pool.get("placements") or [pool.get("placement", {})]
    preferences = _preferences(body, pool, placements)
    guest = _guest(pool, common)
    for index in range(pool["replicas"]):
        name = f"{pool['name']}-{index}"
        yield _spec(body, pool, name, pool["name"], preferences[index % len(preferences)], guest)


def _spec(body: Body, member: Body, name: str, pool: str, candidates: tuple[Candidate, ...], guest: Guest) -> ProxySpec:
    namespace = member.get("namespace", DEFAULT_NAMESPACE)
    return ProxySpec(
        uid=member.get("uid") or derived_uid(body["install"], namespace, name),
        install=body["install"],
        namespace=namespace,
        name=name,
        pool=pool,
        port=member.get("port", DEFAULT_PORT),
        candidates=candidates,
        guest=guest,
        generation=body.get("generation"),
    )


def _preferences(body: Body, member: Body, placements: t.Sequence[Body]) -> list[tuple[Candidate, ...]]:
    """For each placement: it first, then the others in their order."""
    provider = member.get("provider") or body["providers"][0]["name"]
    all_of_them = [Candidate(provider, Placement(**placement)) for placement in placements]
    return [(first, *(c for c in all_of_them if c is not first)) for first in all_of_them]


def _guest(member: Body, common: Guest | None) -> Guest:
    if "cloud_init" in member:
        return Guest(cloud_init=member["cloud_init"])
    if "squid" in member:
        return Guest(squid=SquidConfig.from_document(member["squid"]))
    if common is None:
        raise ValueError("a proxy without a guest; the checks should have found it")
    return common


def _seconds(duration: int | str) -> float:
    if isinstance(duration, int):
        return float(duration)
    return float(int(duration[:-1]) * _SECONDS[duration[-1]])


def given(options: Body) -> dict[str, t.Any]:
    """Options of a task without what is None: Ansible fills that in for what was not given.

    In the block of a provider it stays, as in a document: the block's schema says what null means.
    """
    kept: dict[str, t.Any] = _without_none(options)
    entries = options.get("providers")
    if isinstance(entries, (list, tuple)):
        kept["providers"] = [
            {key: item for key, item in entry.items() if item is not None} if isinstance(entry, t.Mapping) else entry
            for entry in entries
        ]
    return kept


def _without_none(value: t.Any) -> t.Any:
    if isinstance(value, t.Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(item) for item in value]
    return value
