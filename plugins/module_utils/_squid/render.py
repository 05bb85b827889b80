# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no stability promise.
"""Rendering of squid.conf and of the password file, for any provider. Pure.

Tested with Squid 5.7. The order of access is:

1. tunnels (CONNECT) to other ports than `connect_ports`, plain requests to privileged ports but 80 and 443: refused;
2. clients outside `allowed_sources` (if given): refused; clients without valid credentials (if there are users): 407;
3. `denied_destinations`: refused;
4. loopback, private, link-local, metadata, multicast and reserved destinations, and names of which *any* address lies
   there: refused, less `allowed_destinations`;
5. `extra_lines`. All refusals came before, so they can refuse more and can't allow more;
6. those who passed 2: allowed; everything else: refused.

Clients prove themselves before any name is resolved for them. User names stay out of squid.conf, where quotes,
backslashes and '#' have a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from .model import PORT_MAX, Destinations, SquidConfig
from .networks import IPV4_MAPPED, Network, without

# squid.conf has no dependable way to quote a path: blanks end it, and these have a meaning of their own.
_PATH = re.compile(r"/[^\x00-\x20\x7f\"'`#$%\\]*")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")

_HIDDEN_REQUEST_HEADERS = ("Forwarded", "Proxy-Authorization", "Proxy-Connection", "Via", "X-Forwarded-For")


@dataclass(frozen=True)
class Listener:
    """Where a proxy listens (`address` None: everywhere) and the address it goes out from (None: the system's choice).

    A loopback `outgoing_address` is used towards loopback only; no other host could answer it.

    Raises:
        ValueError: an address that is none, or a port outside of 1 to 65535.
    """

    address: str | None
    port: int
    outgoing_address: str | None = None

    def __post_init__(self) -> None:
        for address in (self.address, self.outgoing_address):
            if address is not None and "%" in str(ip_address(address)):
                raise ValueError(f"{address!r} has a zone (allowed: an address without)")  # may hold anything
        if not 1 <= self.port <= PORT_MAX:
            raise ValueError(f"port {self.port} is out of range (allowed: 1 to {PORT_MAX})")


@dataclass(frozen=True)
class Runtime:
    """What the machine that runs Squid provides. All paths are absolute, and as seen by Squid.

    Attributes:
        auth_helper: the program basic_ncsa_auth; needed when there are users.
        password_file: where `render_passwords` was written; needed when there are users. Squid's helper reads it again
            when it changes.
        effective_user: whom Squid becomes when started as root; None: the default of its build.
        access_log: a file, or None for no access log (it would name every page fetched).
        cache_log: Squid's own messages; None drops them.
        coredump_dir: Squid's working directory; None leaves it where it was started.
        max_filedescriptors: at most two a connection. A bound is needed: Squid sizes a table by the limit of the
            process, which in a container is often 2**30.
        shutdown_seconds: how long SIGTERM waits for open connections (SIGINT doesn't wait).

    Raises:
        ValueError: a path or a user name that squid.conf can't hold.
    """

    auth_helper: str | None = None
    password_file: str | None = None
    effective_user: str | None = None
    access_log: str | None = None
    cache_log: str | None = None
    coredump_dir: str | None = None
    max_filedescriptors: int = 4096
    shutdown_seconds: int = 1

    def __post_init__(self) -> None:
        for path in (self.auth_helper, self.password_file, self.access_log, self.cache_log, self.coredump_dir):
            if path is not None and not _PATH.fullmatch(path):
                raise ValueError(
                    f"Squid can't use the path {path!r} (allowed: absolute, no blanks, quotes, or any of # $ % \\)"
                )
        if self.effective_user is not None and not _USER.fullmatch(self.effective_user):
            raise ValueError(f"{self.effective_user!r} is no user name")


def render_passwords(config: SquidConfig) -> str:
    """Return the text of the password file (to be written as UTF-8, readable by Squid's user only): secret."""
    return "".join(f"{user.name}:{user.password_hash}\n" for user in config.users)


def service_name(instance: str) -> str:
    """Return the service name for an instance: its name less what Squid refuses (all but ASCII letters and digits).

    Raises:
        ValueError: nothing would be left.
    """
    name = re.sub("[^0-9A-Za-z]", "", instance)
    if not name:
        raise ValueError(f"{instance!r} makes no service name (allowed: some ASCII letters or digits)")
    return name


def squid_command(executable: str, conf: str, instance: str) -> list[str]:
    """Return the command that runs Squid in the foreground, in one process.

    A Squid makes shared memory `/dev/shm/<service_name>-cf__*.shm` when it starts, and can't start if those of another
    user, or left behind by one (SIGKILL), are there: with the default service name a Squid of the distribution, or a
    second user's, would stop ours. So each instance needs a service name of its own on its machine.
    """
    return [executable, "-N", "-n", service_name(instance), "-f", conf]


def render_conf(config: SquidConfig, listener: Listener, runtime: Runtime) -> str:
    """Return the text of squid.conf, for `squid_command`. It holds no secret.

    Raises:
        ValueError: there are users, but the runtime has no helper or no password file.
    """
    sections = {
        "made by crawl.egress: changes will be lost": _process(runtime),
        "where": _listener(listener),
        "who": _identity(config, runtime),
        "what leaks": _privacy(),
        "which destinations": _destinations(config),
        "access: the first line that matches decides": _refusals(config),
        "extra_lines": list(config.extra_lines),
        "the rest": _grants(config),
    }
    blocks = ([f"# {title}", *lines] for title, lines in sections.items() if lines)
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks)


def _process(runtime: Runtime) -> list[str]:
    lines = [
        "pid_filename none",  # one left behind by a crash would stop the next start
        "cache deny all",
        "cache_mem 8 MB",
        f"max_filedescriptors {runtime.max_filedescriptors}",
        f"shutdown_lifetime {runtime.shutdown_seconds} seconds",
        f"access_log {f'stdio:{runtime.access_log}' if runtime.access_log else 'none'}",
        f"cache_log {runtime.cache_log or '/dev/null'}",
        "logfile_rotate 0",
        "client_db off",
        "pinger_enable off",  # ICMP needs root
        "netdb_filename none",
    ]
    if runtime.coredump_dir:
        lines.append(f"coredump_dir {runtime.coredump_dir}")
    if runtime.effective_user:
        lines.append(f"cache_effective_user {runtime.effective_user}")
    return lines


def _listener(listener: Listener) -> list[str]:
    lines = [f"http_port {_endpoint(listener)}"]
    if listener.outgoing_address:
        outgoing = ip_address(listener.outgoing_address)
        condition = ""
        if outgoing.is_loopback:
            lines += _acl("loopback", "dst", map(_literal, [ip_network("127.0.0.0/8"), ip_network("::1/128")]))
            condition = " egress_loopback"
        lines.append(f"tcp_outgoing_address {outgoing}{condition}")
    return lines


def _endpoint(listener: Listener) -> str:
    if listener.address is None:
        return str(listener.port)
    address = ip_address(listener.address)
    return f"[{address}]:{listener.port}" if isinstance(address, IPv6Address) else f"{address}:{listener.port}"


def _identity(config: SquidConfig, runtime: Runtime) -> list[str]:
    lines = _acl("sources", "src", _literals(config.allowed_sources))
    if config.users:
        if not (runtime.auth_helper and runtime.password_file):
            raise ValueError("users need the runtime's auth_helper and password_file")
        lines += [
            f"auth_param basic program {runtime.auth_helper} {runtime.password_file}",
            # By default Squid quits when its helpers are overloaded for three minutes: guessers could cause that.
            "auth_param basic children 4 startup=1 idle=1 queue-size=256 on-persistent-overload=ERR",
            "auth_param basic realm proxy",
            "auth_param basic credentialsttl 5 minutes",  # so long a removed user may go on
            "auth_param basic casesensitive on",  # else Squid lower-cases the name that it asks the helper for
            "acl egress_users proxy_auth REQUIRED",
        ]
    return lines


def _privacy() -> list[str]:
    return [
        "via off",
        "forwarded_for delete",
        "visible_hostname proxy",
        "httpd_suppress_version_string on",
        *(f"request_header_access {name} deny all" for name in _HIDDEN_REQUEST_HEADERS),
        # Squid adds "Cache-Control: max-age=259200" to requests that have none, which gives it away.
        "acl egress_own_cache_control req_header Cache-Control .",
        "request_header_access Cache-Control allow egress_own_cache_control",
        "request_header_access Cache-Control deny all",
    ]


def _destinations(config: SquidConfig) -> list[str]:
    return [
        "acl egress_connect method CONNECT",
        *_acl("connect_ports", "port", (_port_range(*ports) for ports in config.connect_ports)),
        "acl egress_plain_ports port 80 443 1025-65535",
        "acl egress_plain_protocols proto HTTP HTTPS",
        *_destination_acls("denied", config.denied_destinations),
        *_domain_acl("allowed", config.allowed_destinations),
        *_acl("refused", "dst", _literals(config.refused_networks)),
    ]


def _refusals(config: SquidConfig) -> list[str]:
    lines = ["http_access deny manager"]
    lines.append("http_access deny egress_connect" + (" !egress_connect_ports" if config.connect_ports else ""))
    lines.append("http_access deny !egress_connect !egress_plain_ports")
    lines.append("http_access deny !egress_connect !egress_plain_protocols")
    if config.allowed_sources:
        lines.append("http_access deny !egress_sources")
    if config.users:
        lines.append("http_access deny !egress_users")
    if config.denied_destinations.domains:
        lines.append("http_access deny egress_denied_domains")
    if config.denied_destinations.networks:
        lines.append("http_access deny egress_denied")
    if config.refused_networks:
        # The domains first: they cost no look-up.
        exception = "!egress_allowed_domains " if config.allowed_destinations.domains else ""
        lines.append(f"http_access deny {exception}egress_refused")
    return lines


def _grants(config: SquidConfig) -> list[str]:
    # All that comes here has passed the same tests as refusals; saying them again makes a mistake there harmless.
    conditions = []
    if config.allowed_sources:
        conditions.append("egress_sources")
    if config.users:
        conditions.append("egress_users")
    allow = [f"http_access allow {' '.join(conditions)}"] if conditions else []
    return [*allow, "http_access deny all"]


def _destination_acls(name: str, destinations: Destinations) -> list[str]:
    return [*_domain_acl(name, destinations), *_acl(name, "dst", _literals(destinations.networks))]


def _domain_acl(name: str, destinations: Destinations) -> list[str]:
    # -n: no reverse look-up of an address in a URL, whose owner could claim any name.
    return _acl(f"{name}_domains", "dstdomain -n", destinations.domains)


def _acl(name: str, kind: str, values: Iterable[str]) -> list[str]:
    return [f"acl egress_{name} {kind} {value}" for value in values]


def _literals(networks: Iterable[Network]) -> list[str]:
    """Return networks as Squid should read them.

    To Squid 0.0.0.0/0 means every IPv6 address too, and an IPv6 block around the mapped addresses every IPv4 address.
    """
    split: list[Network] = []
    for network in networks:
        if network.version == 4 and network.prefixlen == 0:
            split.extend(network.subnets())
        else:
            split.extend(without([network], [IPV4_MAPPED]))
    return [_literal(network) for network in split]


def _literal(network: Network) -> str:
    return str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def _port_range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
