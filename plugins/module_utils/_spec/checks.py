# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What is wrong with a desired state beyond its schema: references, clashes, and who may use a proxy.

Every check looks only at what has the right type, so that it can say its part about a document with other faults too.
"""

from __future__ import annotations

import re
import typing as t

from .._marks import NAMED_POOL, TASK_POOL, VALUE, VALUE_HELP
from .._squid.model import semantic_problems
from .desired import DEFAULT_NAMESPACE
from .schema import MAX_REPLICAS
from .validate import Fault, Path, faults, path_text, show

if t.TYPE_CHECKING:
    from ..provider import ProviderType

Body = t.Mapping[str, t.Any]

_MEMBER = re.compile(r"(.+)-(0|[1-9][0-9]*)")


def document_faults(body: Body, types: t.Mapping[str, ProviderType], known: t.Collection[Fault]) -> t.Iterator[Fault]:
    """Check a whole document. :param known: what its schema has found."""
    yield from provider_faults(body, types)
    kinds = provider_kinds(body)
    for key in ("proxies", "pools"):
        for path, item in _entries(body, key):
            yield from member_faults(path, item, kinds, types)
            yield from squid_faults(path, item, known)
    yield from squid_faults((), body, known)
    yield from _missing_squid(body)
    yield from _proxy_clashes(body)
    yield from _pool_clashes(body)


def provider_faults(body: Body, types: t.Mapping[str, ProviderType]) -> t.Iterator[Fault]:
    """Check that names are unique, and that each entry has the block of its own type and no other."""
    yield from _repeated("name", ((path, entry.get("name")) for path, entry in _entries(body, "providers")))
    for path, entry in _entries(body, "providers"):
        kind = entry.get("type")
        if not (isinstance(kind, str) and kind in types):
            continue
        for key in types:
            if key in entry and key != kind:
                yield _fault((*path, key), f"does not belong to an entry of type {kind}")
        if kind not in entry:
            yield from faults({}, types[kind].schema, (*path, kind))


def provider_kinds(body: Body) -> dict[str, t.Any]:
    """The type of each provider entry that has a usable name, by that name; the type may be anything."""
    entries = [entry for _path, entry in _entries(body, "providers")]
    return {entry["name"]: entry.get("type") for entry in entries if _is_label(entry.get("name"))}


def member_faults(
    path: Path, item: Body, kinds: t.Mapping[str, t.Any], types: t.Mapping[str, ProviderType]
) -> t.Iterator[Fault]:
    """Check what a proxy or pool says of provider, placement and guest. :param kinds: C(provider_kinds())."""
    provider = item.get("provider")
    if "provider" not in item and len(kinds) == 1:
        (provider,) = kinds
    elif "provider" not in item and kinds:
        at = path_text((*path, "provider"))
        yield Fault((*path, "provider"), f"{at} is missing: there are several providers ({', '.join(kinds)})")
    elif _is_label(provider) and kinds and provider not in kinds:
        yield _fault((*path, "provider"), f"there is no provider {show(provider)} (allowed: {', '.join(kinds)})")

    if "placement" in item and "placements" in item:
        yield _fault((*path, "placements"), "give either placement or placements, not both")
    kind = kinds.get(provider) if isinstance(provider, str) else None
    if "cloud_init" not in item:
        return
    if "squid" in item:
        yield _fault((*path, "cloud_init"), "give either squid or cloud_init, not both")
    elif isinstance(kind, str) and kind in types and not types[kind].takes_cloud_init:
        yield _fault((*path, "cloud_init"), f"provider {provider} is of type {kind}, which takes squid only")


def squid_faults(path: Path, item: Body, known: t.Collection[Fault]) -> t.Iterator[Fault]:
    """Check the C(squid) of something, unless its schema has found faults in it already."""
    path = (*path, "squid")
    block = item.get("squid")
    if isinstance(block, dict) and not any(fault.path[: len(path)] == path for fault in known):
        for where, message in semantic_problems(block):
            yield _fault((*path, where) if where else path, message)


def _missing_squid(body: Body) -> t.Iterator[Fault]:
    without = [
        path_text(path)
        for key in ("proxies", "pools")
        for path, item in _entries(body, key)
        if "squid" not in item and "cloud_init" not in item
    ]
    if without and "squid" not in body:
        others = f" and {len(without) - 1} more" if len(without) > 1 else ""
        yield Fault(("squid",), f"squid is missing: {without[0]}{others} would have no users and no allowed_sources")


def _proxy_clashes(body: Body) -> t.Iterator[Fault]:
    proxies = list(_entries(body, "proxies"))
    yield from _repeated("uid", ((path, item.get("uid")) for path, item in proxies))
    first: dict[tuple[str, str], Path] = {}
    for path, item in proxies:
        namespace, name = item.get("namespace", DEFAULT_NAMESPACE), item.get("name")
        if _is_label(name) and _is_label(namespace):
            other = first.setdefault((namespace, name), path)
            if other is not path:
                at = path_text(other)
                yield _fault((*path, "name"), f"{show(name)} is already the name of {at} in namespace {namespace}")


def _pool_clashes(body: Body) -> t.Iterator[Fault]:
    pools = list(_entries(body, "pools"))
    yield from _repeated("name", ((path, pool.get("name")) for path, pool in pools))
    members: dict[tuple[str, str], tuple[Path, int]] = {}
    for path, pool in pools:
        name, namespace, replicas = pool.get("name"), pool.get("namespace", DEFAULT_NAMESPACE), pool.get("replicas")
        if name in (NAMED_POOL, TASK_POOL):
            yield _fault((*path, "name"), f"{show(name)} is reserved")
        if not (_is_label(name) and _is_number(replicas) and 0 < replicas <= MAX_REPLICAS):
            continue
        last = f"{name}-{replicas - 1}"
        if not _is_label(last):
            yield _fault(
                (*path, "name"), f"its last proxy would be {show(last)}, {len(last)} characters ({VALUE_HELP})"
            )
        if _is_label(namespace):
            members.setdefault((namespace, name), (path, replicas))
    for path, item in _entries(body, "proxies"):
        name, namespace = item.get("name"), item.get("namespace", DEFAULT_NAMESPACE)
        match = _MEMBER.fullmatch(name) if _is_label(name) else None
        if match is None or not _is_label(namespace) or (namespace, match[1]) not in members:
            continue
        pool_path, replicas = members[namespace, match[1]]
        if int(match[2]) < replicas:
            at = path_text(pool_path)
            yield _fault(
                (*path, "name"), f"{show(name)} clashes with a proxy of pool {match[1]} ({at}) in namespace {namespace}"
            )


def _repeated(key: str, values: t.Iterable[tuple[Path, t.Any]]) -> t.Iterator[Fault]:
    first: dict[str, Path] = {}
    for path, value in values:
        if isinstance(value, str):
            other = first.setdefault(value, path)
            if other is not path:
                yield _fault((*path, key), f"{show(value)} is already the {key} of {path_text(other)}")


def _entries(body: Body, key: str) -> t.Iterator[tuple[Path, Body]]:
    entries = body.get(key)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield (key, index), entry


def _is_label(value: t.Any) -> t.TypeGuard[str]:
    return isinstance(value, str) and VALUE.fullmatch(value) is not None


def _is_number(value: t.Any) -> t.TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _fault(path: Path, message: str) -> Fault:
    return Fault(path, f"{path_text(path)}: {message}")
