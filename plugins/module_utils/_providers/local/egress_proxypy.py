# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""A forward proxy on the package proxy.py, with the access rules that the Squid renderer gives to Squid.

A program of its own: it is copied beside the proxies and run from there, so it imports nothing of ours. Its one
argument is a JSON file, L(Rules). proxy.py parses HTTP and moves the bytes; who may go where is decided here, and one
process with a thread for each connection does it all, so that killing it leaves nothing.

What proxy.py would do wrong by itself, and is therefore replaced: it sends the second request of a kept connection to
the server of the first one, ignores the source address for a destination given as an IP address, resolves a name
again after it was checked, and adds a Via header.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import ipaddress
import json
import os
import secrets
import socket
import sys
import threading
import time
import typing as t

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 300.0
CREDENTIALS_SECONDS = 300.0  # so long a password that was right is not computed again: SHA-crypt is slow on purpose

HIDDEN = (b"forwarded", b"proxy-authorization", b"proxy-connection", b"via", b"x-forwarded-for")

Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
Address = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


class Refused(Exception):
    """The answer to a client that may not: 403, or 407 for one that has not said who it is; 503 for a dead name."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclasses.dataclass(frozen=True)
class Rules:
    """Who may go where; the order of the checks is the Squid renderer's.

    :ivar users_file: lines C(name:hash) in SHA-crypt form; None for no users.
    :ivar sources: empty: all.
    :ivar connect_ports: ranges of ports to which CONNECT may go.
    :ivar denied: refused in any case.
    :ivar refused: the built-in refusal less the exceptions; a name is refused when any of its addresses lies there.
    :ivar outgoing: the source address towards loopback destinations.
    """

    address: str
    port: int
    outgoing: str
    users_file: str | None
    sources: tuple[Network, ...]
    connect_ports: tuple[tuple[int, int], ...]
    denied: tuple[Network, ...]
    denied_domains: tuple[str, ...]
    refused: tuple[Network, ...]
    allowed_domains: tuple[str, ...]

    @classmethod
    def load(cls, text: str) -> Rules:
        raw = json.loads(text)
        for key in ("sources", "denied", "refused"):
            raw[key] = tuple(map(ipaddress.ip_network, raw[key]))
        for key in ("denied_domains", "allowed_domains"):
            raw[key] = tuple(raw[key])
        raw["connect_ports"] = tuple((first, last) for first, last in raw["connect_ports"])
        return cls(**raw)

    def check_port(self, port: int, tunnel: bool) -> None:
        if tunnel:
            fine = any(first <= port <= last for first, last in self.connect_ports)
        else:
            fine = port in (80, 443) or port >= 1025
        if not fine:
            raise Refused(403)

    def check_source(self, client: str) -> None:
        if self.sources and not _within(_address(client), self.sources):
            raise Refused(403)

    def check_name(self, host: str) -> None:
        if _names(host, self.denied_domains):
            raise Refused(403)

    def check_addresses(self, host: str, addresses: t.Iterable[str]) -> None:
        """All addresses of a name at once: one that is refused spoils the rest, as with Squid."""
        excepted = _names(host, self.allowed_domains)
        for text in addresses:
            address = _address(text)
            if _within(address, self.denied) or (not excepted and _within(address, self.refused)):
                raise Refused(403)


def _address(text: str) -> Address:
    address = ipaddress.ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _within(address: Address, networks: t.Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _names(host: str, domains: t.Iterable[str]) -> bool:
    """Whether one of the domains is the host; C(.example.com) is that domain and everything below it."""
    return any(host == domain.lstrip(".") or (domain.startswith(".") and host.endswith(domain)) for domain in domains)


class Users:
    """The password file, read anew when it changes."""

    def __init__(self, path: str, verify: t.Callable[[str, str], bool], monotonic: t.Callable[[], float]) -> None:
        self._path = path
        self._verify = verify
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._hashes: dict[str, str] = {}
        self._known: dict[bytes, float] = {}
        self._salt = secrets.token_bytes(16)

    def check(self, header: bytes) -> None:
        """:param header: value of Proxy-Authorization, empty when there is none."""
        scheme, _blank, encoded = header.strip().partition(b" ")
        if scheme.lower() != b"basic":
            raise Refused(407)
        try:
            name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise Refused(407) from None
        stored = self._stored(name)
        if not colon or stored is None:
            raise Refused(407)
        digest = hashlib.sha256(b"\0".join((self._salt, stored.encode(), header))).digest()
        now = self._monotonic()
        if self._known.get(digest, now) > now:
            return
        if not self._verify(password, stored):
            raise Refused(407)
        with self._lock:
            self._known = {key: until for key, until in self._known.items() if until > now}
            self._known[digest] = now + CREDENTIALS_SECONDS

    def _stored(self, name: str) -> str | None:
        with self._lock:
            status = os.stat(self._path)
            if self._stamp != (status.st_mtime_ns, status.st_ino):
                with open(self._path, encoding="utf-8") as stream:
                    self._hashes = dict(line.rstrip("\n").split(":", 1) for line in stream)
                self._stamp = (status.st_mtime_ns, status.st_ino)
            return self._hashes.get(name)


def _verifier() -> t.Callable[[str, str], bool]:
    from passlib.hash import sha256_crypt, sha512_crypt

    def verify(password: str, stored: str) -> bool:
        scheme = sha256_crypt if stored.startswith("$5$") else sha512_crypt
        return bool(scheme.verify(password, stored))

    return verify


def resolve(host: str, port: int) -> list[t.Any]:
    """What C(getaddrinfo()) says; raises L(Refused) for a name without an address."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Refused(503) from None


def connect(found: t.Iterable[t.Any], outgoing: str) -> socket.socket:
    """To the first of the resolved addresses that answers."""
    for family, kind, protocol, _name, target in found:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(CONNECT_SECONDS)
            if family == socket.AF_INET and _address(target[0]).is_loopback:
                connection.bind((outgoing, 0))
            connection.connect(target)
        except OSError:
            connection.close()
        else:
            return connection
    raise Refused(503)


def plugin(rules: Rules, users: Users | None) -> t.Any:
    """The handler that proxy.py gets in place of its own."""
    from proxy.core.connection import TcpServerConnection
    from proxy.http.exception import HttpRequestRejected, ProxyAuthenticationFailed
    from proxy.http.proxy import HttpProxyPlugin

    class EgressProxyPlugin(HttpProxyPlugin):  # type: ignore[misc]
        """One connection of a client."""

        def on_request_complete(self) -> t.Any:
            request = self.request
            try:
                host = (request.host or b"").decode("ascii").strip("[]").rstrip(".").lower()
                port = int(request.port or 0)
                if not request.is_https_tunnel and request._url.scheme not in (None, b"http"):
                    raise Refused(403)
                rules.check_port(port, bool(request.is_https_tunnel))
                rules.check_source(self.client.addr[0])
                if users:
                    name = b"proxy-authorization"
                    users.check(request.header(name) if request.has_header(name) else b"")
                rules.check_name(host)
                found = resolve(host, port)
                rules.check_addresses(host, (entry[4][0] for entry in found))
                connection = connect(found, rules.outgoing)
            except Refused as refusal:
                if refusal.status == 407:
                    raise ProxyAuthenticationFailed() from None
                raise HttpRequestRejected(status_code=refusal.status, reason=b"Refused") from None
            except UnicodeDecodeError:
                raise HttpRequestRejected(status_code=400, reason=b"Bad Request") from None
            self.upstream = TcpServerConnection(host, port)
            self.upstream._conn = connection
            self.upstream.closed = False
            connection.setblocking(False)
            if not request.is_https_tunnel:
                request.add_header(b"Host", request.host if port == 80 else b"%s:%d" % (request.host, port))
                if not request.is_connection_upgrade:
                    request.add_header(b"Connection", b"close")  # the next request may be for another server
            return super().on_request_complete()

        def connect_upstream(self) -> None:
            """Nothing: it is connected."""

        def on_client_data(self, raw: t.Any) -> None:
            if self.request.is_https_tunnel or self.request.is_connection_upgrade:
                self.upstream.queue(raw)
            else:  # a second request although the first said close: to whom it may go was not checked
                raise HttpRequestRejected()

        def access_log(self, log_attrs: t.Any) -> None:
            """None: it would name every page fetched."""

    return EgressProxyPlugin


def serve(rules: Rules) -> None:
    """For ever. Makes folders for proxy.py, which wants them although they stay empty, in the current one."""
    from proxy.common.flag import FlagParser
    from proxy.core.work.threaded import start_threaded_work

    users = Users(rules.users_file, _verifier(), time.monotonic) if rules.users_file else None
    arguments = ["--threaded", "--disable-http-proxy", "--log-level", "CRITICAL", "--timeout", str(int(IDLE_SECONDS))]
    arguments += ["--data-dir", "proxy.py", "--cache-dir", "proxy.py"]
    flags = FlagParser.initialize(arguments, plugins=[plugin(rules, users)], disable_headers=list(HIDDEN))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((rules.address, rules.port))
        listener.listen(128)
        while True:
            try:
                connection, client = listener.accept()
            except OSError as error:  # out of file descriptors, or the client went away
                sys.stderr.write(f"accept: {error}\n")
                time.sleep(0.1)
                continue
            start_threaded_work(flags, connection, client)


def main() -> None:
    os.chdir(os.path.dirname(sys.argv[1]))  # so that nothing is made anew once that folder is renamed for deletion
    with open(os.path.basename(sys.argv[1]), encoding="utf-8") as stream:
        rules = Rules.load(stream.read())
    serve(rules)


if __name__ == "__main__":
    main()
