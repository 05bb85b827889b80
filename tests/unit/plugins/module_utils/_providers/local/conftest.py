# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real Squid and proxy.py processes, and a web server, all on loopback addresses."""

from __future__ import annotations

import base64
import dataclasses
import http.client
import json
import threading
import typing as t
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from passlib.hash import sha512_crypt

# The collection is imported inside of functions: pytest loads the conftest.py of a folder named on its command line
# before the one at the root has made the collection importable.

DEADLINE = 30.0  # seconds, for anything that should take well under one


@pytest.fixture(params=["squid", "proxy.py"])
def engine(request: pytest.FixtureRequest) -> str:
    """Tests that use it run with both."""
    return str(request.param)


@pytest.fixture
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[t.Any]:
    """With the engine of the fixture above if the test uses it, else with Squid."""
    from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import local_backend

    engine = request.getfixturevalue("engine") if "engine" in request.fixturenames else "squid"
    with local_backend(tmp_path / "local", engine) as made:
        yield made


@pytest.fixture
def provider(backend: t.Any) -> t.Any:
    return backend.provider()


@pytest.fixture
def ctx() -> t.Any:
    from ansible_collections.crawl.egress.plugins.module_utils.provider import Context

    return Context.within(DEADLINE)


@pytest.fixture(scope="session")
def password_hash() -> str:
    """Of C(secret)."""
    return str(sha512_crypt.using(rounds=1000).hash("secret"))


@pytest.fixture
def request_for(password_hash: str, tmp_path: Path) -> Callable[..., t.Any]:
    """Return request_for(uid, …): a CreateRequest; the UID is this test's own, so addresses rarely meet others'."""
    from ansible_collections.crawl.egress.plugins.module_utils import _names, provider
    from ansible_collections.crawl.egress.plugins.module_utils._squid.model import SquidConfig

    def make(
        key: str = "a",
        port: int = 3128,
        host: str = "localhost",
        squid: Mapping[str, t.Any] | None = None,
        **marks: t.Any,
    ) -> t.Any:
        document = squid or {
            "users": [{"name": "crawler", "password_hash": password_hash}],
            "allowed_destinations": ["127.0.0.0/8"],
            "connect_ports": ["1-65535"],
        }
        uid = _names.derived_uid("prod", str(tmp_path), key)
        name = _names.instance_name(uid, marks.get("slot", 0))
        fields = {"uid": uid, "install": "prod", "namespace": "default", "name": key, "pool": "named", **marks}
        return provider.CreateRequest(
            name=name,
            scope=provider.Scope(f"hosts/{host}"),
            placement=provider.Placement(),
            port=port,
            guest=provider.Guest(squid=SquidConfig.from_document(document)),
            marks=provider.Marks(provider="lab", port=port, **fields),
        )

    return make


@pytest.fixture
def serving(until: Callable[..., t.Any], ctx: t.Any) -> Callable[..., t.Any]:
    """Return serving(provider, request): create it and wait until it runs; the instance."""

    def create(provider: t.Any, request: t.Any) -> t.Any:
        created = provider.create(request, ctx)
        return until(lambda: (found := provider.get(created.provider_id, ctx)).serves and found)

    return create


@dataclasses.dataclass
class Origin:
    """A web server that answers with what it saw: the client's address, the method and the headers."""

    address: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}/"


@pytest.fixture(scope="session")
def origin() -> Iterator[Origin]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0))).decode()
            seen = {"client": self.client_address[0], "method": self.command, "headers": headers, "body": body}
            answer = json.dumps(seen).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield Origin("127.0.0.1", server.server_address[1])
    server.shutdown()
    server.server_close()
    thread.join(DEADLINE)


@dataclasses.dataclass(frozen=True)
class Client:
    """Of one proxy. The answers are (status, what the origin saw or None)."""

    address: str
    port: int
    user: tuple[str, str] | None = ("crawler", "secret")

    @property
    def _credentials(self) -> dict[str, str]:
        if self.user is None:
            return {}
        return {"Proxy-Authorization": "Basic " + base64.b64encode(":".join(self.user).encode()).decode()}

    def get(
        self, url: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, dict[str, t.Any] | None]:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=DEADLINE)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, url, body, {**given, **self._credentials})
            response = connection.getresponse()
            answer = response.read()
            return response.status, json.loads(answer) if response.status == 200 else None
        finally:
            connection.close()

    def tunnel(self, host: str, port: int) -> tuple[int, dict[str, t.Any] | None]:
        """CONNECT, then GET through the tunnel."""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=DEADLINE)
        connection.set_tunnel(host, port, headers=self._credentials)
        try:
            connection.request("GET", "/")
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except OSError as error:  # "Tunnel connection failed: 403 Forbidden" is all that http.client tells
            return int(str(error).split(": ")[1].split()[0]), None
        finally:
            connection.close()


@pytest.fixture
def client_of() -> Callable[..., Client]:
    """Return client_of(instance, user=(name, password) or None)."""

    def make(instance: t.Any, **more: t.Any) -> Client:
        return Client(instance.address, instance.marks.port, **more)

    return make
