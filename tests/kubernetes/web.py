# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An origin server, and a client of it that can use a proxy."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator


@contextlib.contextmanager
def serving(address: str, port: int, text: str) -> Iterator[list[str]]:
    """Serve a text in the network namespace of the caller; yield the addresses of the clients that came."""
    clients: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            clients.append(self.client_address[0])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer((address, port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield clients
        finally:
            server.shutdown()
            thread.join()


@dataclasses.dataclass(frozen=True)
class Page:
    status: int
    text: str
    headers: dict[str, str]


def fetch(url: str, proxy: str, seconds: float = 10) -> Page:
    """Fetch a page through a proxy (C(http://[USER:PASSWORD@]ADDRESS:PORT)), whatever its status and certificate.

    Raises:
        OSError: no answer.
    """
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({"http": proxy, "https": proxy}),
        urllib.request.HTTPSHandler(context=ssl._create_unverified_context()),
    )
    try:
        answer = opener.open(url, timeout=seconds)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return Page(answer.status, answer.read().decode(errors="replace"), dict(answer.headers))
