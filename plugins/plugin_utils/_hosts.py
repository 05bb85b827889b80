# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""From listings to inventory hosts: rows of plain data, their names, variables and groups. Pure.

A row is what C(Instance.as_result()) says, without the backend's free text; it survives a cache of JSON.
"""

from __future__ import annotations

import functools
import re
import sys
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ansible import constants as C
from ansible.template import trust_as_template

from ..module_utils._errors import EgressError, MissingSDK, Reason
from ..module_utils._models import Listing, State
from ..module_utils._plan.evidence import Evidence, Listings
from ..module_utils._spec.desired import DEFAULT_NAMESPACE

Row = Mapping[str, t.Any]

#: Nothing that is made of these can be a template, whatever delimiters a C(#jinja2:) header may set.
_BARE = re.compile(r"[A-Za-z0-9_.:/@+=, -]*")

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@+=-]*")

_ADVICE = {reason.wire: reason.advice for reason in Reason}


def bare(value: t.Any) -> t.Any:
    """The value with trust in those of its strings that can't be templates.

    C(ansible-inventory) wraps every other string as C(__ansible_unsafe), and AWX takes the wrapping for the value.
    """
    if isinstance(value, str):
        return _bare_text(value)
    if isinstance(value, Mapping):
        return {key: bare(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bare(item) for item in value]
    return value


@functools.lru_cache(maxsize=1024)  # most hosts have the provider, pool, scope, state … of another
def _bare_text(text: str) -> str:
    return trust_as_template(text) if _BARE.fullmatch(text) else text


def rows(listings: Listings, install: str) -> list[dict[str, t.Any]]:
    """The install's instances, each incarnation once; of several of one proxy, the one to be used first."""
    result = [i.as_result() for i in Evidence.of(listings, frozenset()).instances if i.marks.install == install]
    for row in result:
        del row["message"]
    return sorted(result, key=_order)


def gaps(listings: Listings) -> list[str]:
    """Why hosts may be missing: one sentence for each provider or scope that did not answer in full."""
    return [sentence for name in sorted(listings) for sentence in _gaps(name, listings[name])]


def _gaps(provider: str, answer: Listing | EgressError) -> Iterator[str]:
    if isinstance(answer, MissingSDK):
        yield f"{answer.message}; install it for {sys.executable}"
    elif isinstance(answer, EgressError):
        yield f"provider {provider}: {answer.reason.wire}: {answer.message}; {answer.reason.advice}"
    else:
        incomplete = [(scope, status) for scope, status in sorted(answer.scopes.items()) if not status.complete]
        for scope, status in incomplete:
            why = ": ".join(filter(None, (status.completeness.value, status.reason, status.message)))
            yield "; ".join(
                filter(None, (f"provider {provider}, {scope.name}: {why}", _ADVICE.get(status.reason or "")))
            )
        if not answer.scopes:
            yield f"provider {provider}: it named no scope in its list"
        elif answer.unreadable and not incomplete:
            yield f"provider {provider}: {len(answer.unreadable)} instances could not be read"


def serves(row: Row) -> bool:
    return row["state"] == State.RUNNING.value and not row["deleting"]


def wanted(row: Row, states: Sequence[str], pools: Sequence[str], namespaces: Sequence[str]) -> bool:
    """No values of a filter let everything through. What is being deleted is not running, whatever it says."""
    return (
        (not states or (row["state"] in states and (serves(row) or row["state"] != State.RUNNING.value)))
        and (not pools or row["pool"] in pools)
        and (not namespaces or row["namespace"] in namespaces)
    )


def _proxy(row: Row) -> str | None:
    """One name for one proxy of the install, whatever else there is. A dot, since a mark has none; and a slash in the
    name of a host is a folder below C(host_vars) and in fact caches."""
    name, namespace = row["name"], row["namespace"]
    return name if not name or namespace == DEFAULT_NAMESPACE else f"{name}.{namespace}"


#: What a host can be called after.
HOSTNAMES: Mapping[str, Callable[[Row], str | None]] = {
    "proxy": _proxy,
    **{key: lambda row, key=key: row[key] for key in ("name", "uid", "instance_name", "provider_id", "address")},
}

#: For those that the wanted names leave without one.
_LAST_NAMES: tuple[Callable[[Row], str | None], ...] = (
    HOSTNAMES["proxy"],
    HOSTNAMES["instance_name"],
    lambda row: f"{row['provider']}:{row['provider_id']}",
)


def named(found: Sequence[Row], preferences: Iterable[str]) -> tuple[dict[str, Row], list[str]]:
    """A name for each row, and what is wrong with the preferences: names that several proxies would have.

    Each row gets the first of the preferences that it has a value for and that no other has. Of the instances of one
    proxy, the first in C(rows()) has precedence; where several proxies claim a name, none of them gets it: that name
    would be another proxy's as soon as one of them is gone.

    :raises ValueError: for an instance that nothing can be called after.
    """
    result: dict[str, Row] = {}
    clashes = []
    waiting = list(found)
    levels = [(key, HOSTNAMES[key]) for key in preferences] + [("", last) for last in _LAST_NAMES]
    for key, name_of in levels:
        claims: dict[str, list[Row]] = {}
        left = []
        for row in waiting:
            name = name_of(row)
            if name and _HOST.fullmatch(name) and name not in _RESERVED:
                claims.setdefault(name, []).append(row)
            else:
                left.append(row)
        for name, rivals in claims.items():
            proxies = sorted({f"{row['namespace']}/{row['name']}" for row in rivals})
            if name not in result and len(proxies) == 1:
                result[name] = rivals.pop(0)
            elif key and len(proxies) > 1:
                clashes.append(f"hostnames: {key} gives {name!r} to {', '.join(proxies)}")
            left += rivals
        waiting = sorted(left, key=_order)
    for row in waiting:
        raise ValueError(f"provider {row['provider']}: {row['provider_id']!r} has no name that a host can have")
    return result, clashes


#: As hosts they would be something else.
_RESERVED = frozenset({"all", "ungrouped", *C.LOCALHOST})


def variables(row: Row, complete: bool) -> dict[str, t.Any]:
    facts = {f"egress_{key}": bare(value) for key, value in row.items()}
    facts["egress_enabled"] = serves(row)
    facts["egress_complete"] = complete
    if row["address"]:
        facts["ansible_host"] = bare(row["address"])
    return facts


def groups(row: Row) -> Iterator[tuple[str, str]]:
    """(Kind, value) of each group that the row belongs to."""
    yield "provider", row["provider"]
    yield "scope", row["scope"]
    yield "state", row["state"].lower()
    if row["pool"]:
        yield "pool", row["pool"]


def _order(row: Row) -> tuple[t.Any, ...]:
    """By proxy; of several instances of one, those first that serve, then the lower slot, then the older one."""
    return (
        row["namespace"],
        row["name"],
        not serves(row),
        row["slot"],
        row["created_at"] or 0,
        row["provider"],
        row["provider_id"],
    )
