# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no stability promise.
"""The guest configuration `squid:` as a model: validated, canonical, independent of any provider. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .networks import (
    REFUSED_NETWORKS,
    Network,
    merged,
    minimal_domains,
    parse_destination,
    parse_network,
    without,
)

PORT_MAX = 65535
DEFAULT_CONNECT_PORTS = (443,)

PROTECTED_DIRECTIVES: Mapping[str, str] = {
    "auth_param": "users decide how clients authenticate",
    "configuration_includes_quoted_values": "it changes how the other lines are read",
    "else": "a condition could switch off the final refusal",
    "endif": "a condition could switch off the final refusal",
    "follow_x_forwarded_for": "clients could forge an allowed source",
    "ftp_port": "the provider decides where a proxy listens",
    "http_port": "the provider decides where a proxy listens",
    "https_port": "the provider decides where a proxy listens",
    "if": "a condition could switch off the final refusal",
    "include": "what is included can't be checked",
}
"""Directives that `extra_lines` may not use, and why: each could open the proxy without saying so."""

ACL_PREFIX = "egress_"
"""Names of the ACLs that the renderer defines begin so; `extra_lines` may use them but not add to them."""


@dataclass(frozen=True)
class SquidUser:
    """One user of a proxy. `password_hash` is a SHA-crypt hash (``$5$`` or ``$6$``) and stays out of every message."""

    name: str
    password_hash: str = field(repr=False)


@dataclass(frozen=True)
class Destinations:
    """Networks (merged, ascending) and domains (lower case, sorted; a leading dot means all below, too)."""

    networks: tuple[Network, ...] = ()
    domains: tuple[str, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Destinations:
        """Sort texts into networks and domains. Raises ValueError as `parse_destination` does."""
        networks: list[Network] = []
        domains: list[str] = []
        for text in texts:
            destination = parse_destination(text)
            if isinstance(destination, str):
                domains.append(destination)
            else:
                networks.append(destination)
        return cls(merged(networks), minimal_domains(domains))

    def as_strings(self) -> list[str]:
        return [*map(str, self.networks), *self.domains]


@dataclass(frozen=True)
class SquidConfig:
    """What a proxy's Squid does. Two documents that mean the same give equal objects.

    Attributes:
        users: sorted by name.
        allowed_sources: merged, ascending.
        allowed_destinations: exceptions from the built-in refusal, not the only destinations.
        denied_destinations: refused in any case.
        connect_ports: ranges (first, last), merged, ascending; none: no tunnels.
        extra_lines: in the order given.
    """

    users: tuple[SquidUser, ...] = ()
    allowed_sources: tuple[Network, ...] = ()
    allowed_destinations: Destinations = Destinations()
    denied_destinations: Destinations = Destinations()
    connect_ports: tuple[tuple[int, int], ...] = ((443, 443),)
    extra_lines: tuple[str, ...] = ()

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> SquidConfig:
        """Return the model of a document that satisfies `SQUID_SCHEMA`.

        Raises:
            ValueError: `semantic_problems` has something to say; the message lists all of it.
        """
        problems = semantic_problems(document)
        if problems:
            raise ValueError("; ".join(f"{path}: {message}" if path else message for path, message in problems))
        users = (SquidUser(user["name"], user["password_hash"]) for user in document.get("users", ()))
        return cls(
            users=tuple(sorted(users, key=lambda user: user.name)),
            allowed_sources=merged(map(parse_network, document.get("allowed_sources", ()))),
            allowed_destinations=Destinations.parse(document.get("allowed_destinations", ())),
            denied_destinations=Destinations.parse(document.get("denied_destinations", ())),
            connect_ports=_merged_ports(map(_parse_ports, document.get("connect_ports", DEFAULT_CONNECT_PORTS))),
            extra_lines=tuple(document.get("extra_lines", ())),
        )

    @property
    def refused_networks(self) -> tuple[Network, ...]:
        """The built-in refusal less the networks in `allowed_destinations`.

        They are subtracted, not matched first: a name that resolves to an excepted address *and* to a refused one
        must stay refused.
        """
        return without(REFUSED_NETWORKS, self.allowed_destinations.networks)

    def hashable(self) -> dict[str, Any]:
        """Return the configuration in plain JSON types and canonical order, for a spec hash.

        It holds the password hashes: digest it, never show it.
        """
        return {
            "users": [[user.name, user.password_hash] for user in self.users],
            "allowed_sources": [str(network) for network in self.allowed_sources],
            "allowed_destinations": self.allowed_destinations.as_strings(),
            "denied_destinations": self.denied_destinations.as_strings(),
            "connect_ports": [list(ports) for ports in self.connect_ports],
            "extra_lines": list(self.extra_lines),
        }


def semantic_problems(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is wrong with a document that satisfies `SQUID_SCHEMA`, as (path below `squid`, message) pairs.

    The empty path is the document itself. A message names the value and what is allowed, and never a password hash.
    """
    return [
        *_access_problems(document),
        *_user_problems(document.get("users", ())),
        *_each(document, "allowed_sources", parse_network),
        *_each(document, "allowed_destinations", parse_destination),
        *_each(document, "denied_destinations", parse_destination),
        *_each(document, "connect_ports", _parse_ports),
        *_each(document, "extra_lines", _check_extra_line),
    ]


def _access_problems(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if document.get("users"):
        return
    sources = document.get("allowed_sources")
    if not sources:
        yield "", "no open proxies: give users or allowed_sources"
        return
    try:
        networks = merged(map(parse_network, sources))
    except ValueError:
        return  # reported entry by entry
    for network in networks:
        if network.prefixlen == 0:
            yield "allowed_sources", f"no open proxies: {str(network)!r} is everybody (give users, or smaller networks)"


def _user_problems(users: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    first: dict[str, int] = {}
    for index, user in enumerate(users):
        name = user["name"]
        if name in first:
            yield f"users[{index}].name", f"user {name!r} is already users[{first[name]}] (allowed: each name once)"
        first.setdefault(name, index)


def _each(document: Mapping[str, Any], key: str, parse: Any) -> Iterator[tuple[str, str]]:
    for index, value in enumerate(document.get(key, ())):
        try:
            parse(value)
        except ValueError as error:
            yield f"{key}[{index}]", str(error)


def _parse_ports(value: int | str) -> tuple[int, int]:
    """Return (first, last) of a port or a range ``first-last``. Raises ValueError."""
    if not isinstance(value, str):
        return int(value), int(value)  # JSON Schema takes 443.0 for an integer
    first, last = (int(port) for port in value.split("-"))
    if not first <= last <= PORT_MAX:
        raise ValueError(f"{value!r} is no port range (allowed: first-last, rising, from 1 to {PORT_MAX})")
    return first, last


def _merged_ports(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    result: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)


def _check_extra_line(line: str) -> None:
    directive, *arguments = line.split() or [""]
    if directive in PROTECTED_DIRECTIVES:
        raise ValueError(f"{directive!r} is not allowed here: {PROTECTED_DIRECTIVES[directive]}")
    if directive == "acl" and arguments and ACL_PREFIX in arguments[0]:
        raise ValueError(f"the ACL {arguments[0]!r} can't be changed (allowed: names without {ACL_PREFIX!r})")
