# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no stability promise.
"""Networks and domains of the guest configuration: parsing, merging, subtracting. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TypeVar, Union

Network = Union[IPv4Network, IPv6Network]
_Family = TypeVar("_Family", IPv4Network, IPv6Network)

# Squid keeps an IPv4 address as the IPv6 address that maps it, so this block *is* IPv4 to its ACLs.
IPV4_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address, reached through a translator

_REFUSED_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this host; Linux connects 0.0.0.0 to loopback
        "10.0.0.0/8",  # private, RFC 1918
        "100.64.0.0/10",  # carrier-grade NAT; Alibaba's metadata service is 100.100.100.200
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's wire server (metadata, in spite of the public address)
        "169.254.0.0/16",  # link-local; the metadata service of most clouds is 169.254.169.254
        "172.16.0.0/12",  # private, RFC 1918
        "192.0.0.0/24",  # IETF protocol assignments; Oracle's old metadata service is 192.0.0.192
        "192.168.0.0/16",  # private, RFC 1918
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_REFUSED_IPV6 = tuple(
    IPv6Network(text)
    for text in (
        "::/96",  # unspecified, loopback, and the obsolete IPv4-compatible addresses
        "64:ff9b:1::/48",  # NAT64 prefix of a local network, RFC 8215
        "2001::/32",  # Teredo, which embeds IPv4 addresses
        "2002::/16",  # 6to4, which embeds IPv4 addresses
        "fc00::/7",  # private, RFC 4193; Amazon's metadata service is fd00:ec2::254
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, obsolete
        "ff00::/8",  # multicast
    )
)


def _through_nat64(network: IPv4Network) -> IPv6Network:
    address = int(_NAT64.network_address) + int(network.network_address)
    return IPv6Network((address, _NAT64.prefixlen + network.prefixlen))


REFUSED_NETWORKS: tuple[Network, ...] = (
    *_REFUSED_IPV4,
    *_REFUSED_IPV6,
    *(_through_nat64(network) for network in _REFUSED_IPV4),
)
"""Destinations that a proxy refuses unless the configuration excepts them: nothing here is the public Internet."""

_DOMAIN_LABEL = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_DOMAIN = re.compile(rf"\.?{_DOMAIN_LABEL}(\.{_DOMAIN_LABEL})*")
_DOMAIN_MAX = 253  # RFC 1035 section 2.3.4, without the root label


def parse_network(text: str) -> Network:
    """Return the network that an address (``192.0.2.1``) or a CIDR block (``192.0.2.0/24``) names.

    Raises:
        ValueError: says what is wrong and what is allowed.
    """
    try:
        network = ip_network(text)
    except ValueError:
        try:
            meant = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(
                f"{text!r} is no network (allowed: an address, or a block such as 10.0.0.0/8 or 2001:db8::/32)"
            ) from None
        raise ValueError(f"{text!r} has bits set behind its prefix (did you mean {str(meant)!r}?)") from None
    if isinstance(network, IPv6Network) and network.subnet_of(IPV4_MAPPED):
        raise ValueError(f"{text!r} is an IPv4-mapped address (allowed: the IPv4 address or block itself)")
    return network


def parse_domain(text: str) -> str:
    """Return a domain in lower case: ``example.com`` is that host, ``.example.com`` it and everything below.

    Raises:
        ValueError: says what is wrong and what is allowed.
    """
    domain = text.lower()
    if not _DOMAIN.fullmatch(domain) or len(domain.lstrip(".")) > _DOMAIN_MAX:
        raise ValueError(
            f"{text!r} is no domain (allowed: example.com, or .example.com for all below it too; "
            "international names in their xn-- form)"
        )
    return domain


def parse_destination(text: str) -> Network | str:
    """Return a network, or a domain as a string. No top-level domain is a number, so ``10.0.0.300`` is a bad address.

    Raises:
        ValueError: see `parse_network` and `parse_domain`.
    """
    if ":" in text or "/" in text or text.rpartition(".")[2].isdecimal():
        return parse_network(text)
    return parse_domain(text)


def merged(networks: Iterable[Network]) -> tuple[Network, ...]:
    """Return the fewest networks that cover the same addresses, IPv4 first, each family in ascending order."""
    ipv4, ipv6 = _families(networks)
    return (*collapse_addresses(ipv4), *collapse_addresses(ipv6))


def without(networks: Iterable[Network], holes: Iterable[Network]) -> tuple[Network, ...]:
    """Return what is left of some networks when the holes are cut out, merged."""
    ipv4, ipv6 = _families(networks)
    holes_ipv4, holes_ipv6 = _families(holes)
    return merged([*_cut(ipv4, holes_ipv4), *_cut(ipv6, holes_ipv6)])


def minimal_domains(domains: Iterable[str]) -> tuple[str, ...]:
    """Return the domains sorted, without those that another entry covers (Squid takes such a pair for a mistake)."""
    given = set(domains)
    return tuple(sorted(domain for domain in given if not given.intersection(_covering(domain))))


def _covering(domain: str) -> list[str]:
    """Return the wildcard entries that would make this one superfluous."""
    wildcard = domain.startswith(".")
    labels = domain.lstrip(".").split(".")
    return ["." + ".".join(labels[skip:]) for skip in range(1 if wildcard else 0, len(labels))]


def _families(networks: Iterable[Network]) -> tuple[list[IPv4Network], list[IPv6Network]]:
    ipv4: list[IPv4Network] = []
    ipv6: list[IPv6Network] = []
    for network in networks:
        if isinstance(network, IPv4Network):
            ipv4.append(network)
        else:
            ipv6.append(network)
    return ipv4, ipv6


def _cut(networks: list[_Family], holes: list[_Family]) -> list[_Family]:
    for hole in holes:
        rest: list[_Family] = []
        for network in networks:
            if not network.overlaps(hole):
                rest.append(network)
            elif not network.subnet_of(hole):
                rest.extend(network.address_exclude(hole))
        networks = rest
    return networks
