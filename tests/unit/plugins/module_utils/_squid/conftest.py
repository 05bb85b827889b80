# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real Squid processes and a small origin server, all on loopback addresses."""

from __future__ import annotations

import base64
import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from passlib.hash import sha256_crypt, sha512_crypt

# The collection is imported inside of functions: pytest loads the conftest.py of a folder named on its command line
# before the one at the root has made the collection importable.

DEADLINE = 20.0  # seconds, for anything that should take well under one
HELPER_DIRECTORIES = ("/usr/lib/squid", "/usr/lib64/squid", "/usr/libexec/squid")


def _executable(name: str, directories: str) -> str:
    path = shutil.which(name, path=directories)
    if path is None:
        pytest.fail(f"{name} is not installed (Debian package: squid)")
    return path


@pytest.fixture(scope="session")
def squid() -> str:
    return _executable("squid", os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"]))


@pytest.fixture(scope="session")
def auth_helper() -> str:
    return _executable("basic_ncsa_auth", os.pathsep.join(HELPER_DIRECTORIES))


@pytest.fixture(scope="session")
def directory() -> Iterator[Path]:
    """A directory that the user Squid becomes may enter (pytest's own it may not)."""
    path = Path(tempfile.mkdtemp(prefix="egress-squid-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def make_hash() -> Callable[..., str]:
    """Return make_hash(password, scheme=5): a SHA-crypt hash with as few rounds as the scheme permits."""

    def make(password: str, scheme: int = 5) -> str:
        algorithm = {5: sha256_crypt, 6: sha512_crypt}[scheme]
        return str(algorithm.using(rounds=1000).hash(password))

    return make


@pytest.fixture
def parse(squid: str, auth_helper: str, directory: Path) -> Callable[..., str]:
    """Return parse(config, listener, **runtime): have Squid check a rendered file; give what it says about it."""
    from ansible_collections.crawl.egress.plugins.module_utils._squid import render

    def check(config: Any, listener: Any, **runtime: Any) -> str:
        passwords = directory / "parsed.passwords"
        passwords.write_text(render.render_passwords(config), encoding="utf-8")
        file = directory / "parsed.conf"
        full = render.Runtime(**{"auth_helper": auth_helper, "password_file": str(passwords), **runtime})
        file.write_text(render.render_conf(config, listener, full), encoding="utf-8")
        done = subprocess.run(
            [squid, "-k", "parse", "-f", str(file)], capture_output=True, text=True, timeout=DEADLINE, check=False
        )
        assert done.returncode == 0, f"{done.stderr}\n{file.read_text(encoding='utf-8')}"
        return done.stderr

    return check


@dataclass
class Origin:
    """An HTTP server that remembers who asked for what."""

    address: str
    port: int
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}/"


class _V6Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6


@pytest.fixture(scope="session")
def _origins() -> Iterator[Callable[[str], Origin]]:
    servers: dict[str, tuple[ThreadingHTTPServer, Origin, threading.Thread]] = {}

    def start(address: str) -> Origin:
        if address not in servers:

            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    origin.requests.append({"client": self.client_address[0], "headers": dict(self.headers)})
                    self.send_response(200)
                    self.send_header("Content-Length", "5")
                    self.end_headers()
                    self.wfile.write(b"hello")

                def log_message(self, *args: object) -> None:
                    pass

            server = (_V6Server if ":" in address else ThreadingHTTPServer)((address, 0), Handler)
            origin = Origin(address, server.server_address[1])
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            thread.start()
            servers[address] = (server, origin, thread)
        return servers[address][1]

    yield start
    for server, _origin, thread in servers.values():
        server.shutdown()
        server.server_close()
        thread.join(DEADLINE)


@pytest.fixture
def origin_at(_origins: Callable[[str], Origin]) -> Callable[[str], Origin]:
    """Return origin_at(address): the origin server there, with nothing remembered."""

    def get(address: str) -> Origin:
        origin = _origins(address)
        origin.requests.clear()
        return origin

    return get


@pytest.fixture
def origin(origin_at: Callable[[str], Origin]) -> Origin:
    return origin_at("127.0.77.1")


@dataclass(frozen=True)
class Answer:
    status: int
    error: str  # of Squid itself: "ERR_ACCESS_DENIED 0"; empty when the origin answered


@dataclass(frozen=True)
class Proxy:
    address: str
    port: int
    service: str
    process: subprocess.Popen[bytes]

    def segments(self) -> list[Path]:
        """The shared memory that Squid makes when it starts, and removes when it isn't killed."""
        return list(Path("/dev/shm").glob(f"{self.service}-*"))

    def get(self, url: str, user: tuple[str, str] | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=DEADLINE)
        try:
            connection.request("GET", url, headers={**(headers or {}), **_credentials(user)})
            response = connection.getresponse()
            response.read()
            return Answer(response.status, response.getheader("X-Squid-Error", ""))
        finally:
            connection.close()

    def connect(self, target: str, user: tuple[str, str] | None = None) -> Answer:
        """Ask for a tunnel to host:port, and close it."""
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        lines += [f"{name}: {value}" for name, value in _credentials(user).items()]
        with socket.create_connection((self.address, self.port), timeout=DEADLINE) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            response = http.client.HTTPResponse(connection, method="CONNECT")
            response.begin()
            return Answer(response.status, response.getheader("X-Squid-Error", ""))


def _credentials(user: tuple[str, str] | None) -> dict[str, str]:
    if user is None:
        return {}
    return {"Proxy-Authorization": "Basic " + base64.b64encode(":".join(user).encode()).decode()}


def _accepts(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def _free_port(address: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def names(directory: Path) -> Path:
    """A file in the form of /etc/hosts."""
    file = directory / "names"
    file.write_text(
        "127.0.0.1 localhost\n"
        "127.0.77.1 origin.test www.origin.test trusted.test\n"
        "169.254.169.254 metadata.test\n"
        "10.1.2.3 private.test\n"
        "fd00:ec2::254 private6.test\n"
        "127.0.77.1 both.test\n"
        "169.254.169.254 both.test\n",
        encoding="utf-8",
    )
    return file


@pytest.fixture
def start(squid: str, auth_helper: str, directory: Path, names: Path) -> Iterator[Callable[..., Proxy]]:
    """Return start(document, address=..., outgoing_address=...): a running proxy, stopped after the test.

    Names are those of `names` below; there is no DNS.
    """
    from ansible_collections.crawl.egress.plugins.module_utils._squid import model, render

    proxies: list[Proxy] = []

    def run(document: Mapping[str, Any], address: str = "127.0.77.2", outgoing_address: str | None = None) -> Proxy:
        lines = [f"hosts_file {names}", "dns_nameservers 127.0.77.250", "dns_timeout 1 second"]
        extra = [*document.get("extra_lines", ()), *lines]
        config = model.SquidConfig.from_document({**document, "extra_lines": extra})
        home = Path(tempfile.mkdtemp(dir=directory))
        home.chmod(0o777)  # Squid as root writes its log as another user
        passwords, log, file = home / "passwords", home / "log", home / "squid.conf"
        passwords.write_text(render.render_passwords(config), encoding="utf-8")
        runtime = render.Runtime(
            auth_helper=auth_helper, password_file=str(passwords), cache_log=str(log), coredump_dir=str(home)
        )
        listener = render.Listener(address, _free_port(address), outgoing_address)
        file.write_text(render.render_conf(config, listener, runtime), encoding="utf-8")
        service = f"test{os.getpid()}x{listener.port}"
        process = subprocess.Popen(
            render.squid_command(squid, str(file), service), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        proxy = Proxy(address, listener.port, service, process)
        proxies.append(proxy)
        end = time.monotonic() + DEADLINE
        while not _accepts(address, listener.port):
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"Squid does not listen:\n{log.read_text() if log.exists() else 'no log'}")
            time.sleep(0.02)
        return proxy

    yield run
    for proxy in proxies:
        proxy.process.kill()  # a signal that it can handle takes Squid two seconds
        proxy.process.wait()
        for segment in proxy.segments():
            segment.unlink()
