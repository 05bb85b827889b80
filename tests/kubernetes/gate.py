# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stands between a provider and a real API server, so that tests can count requests and spoil them."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ansible_collections.crawl.egress.tests.kubernetes.api import Api
from ansible_collections.crawl.egress.tests.kubernetes.outcomes import Outcome

#: Headers that concern one connection only, or that are written anew.
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}
#: The end of the path of one Pod, or of many.
PODS = re.compile(r"/pods(/[^/]+)?$")


@dataclasses.dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def changes(self) -> bool:
        return self.method != "GET" and "dryRun" not in self.target and "accessreviews" not in self.target


@dataclasses.dataclass(frozen=True)
class Answer:
    """:ivar body: plain text, or what becomes JSON."""

    status: int
    body: Any = ""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


class Lost(Exception):
    """No answer: the connection is cut."""


#: Gets the request, and what forwards it; returns an answer, or raises Lost.
Rule = Callable[[Request, Callable[[Request], Answer]], Answer]


class Gate:
    """Listens on loopback without TLS, and hands on what it is asked, credentials included.

    Attributes:
        requests: all of them so far.
        token_file: with the token of somebody who may do anything in the namespace, and list Pods everywhere.
    """

    def __init__(self, api: Api, token_file: Path) -> None:
        self.token_file = token_file
        self._upstream = api.url
        self._pool = api.anonymous()
        self._rule: Rule | None = None
        self.requests: list[Request] = []
        gate = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(self.command, self.path, dict(self.headers), body)
                gate.requests.append(request)
                try:
                    answer = gate._rule(request, gate._forward) if gate._rule else gate._forward(request)
                except Lost:
                    self.close_connection = True
                    return
                plain = isinstance(answer.body, (bytes, str))
                data = answer.body if plain else json.dumps(answer.body)
                data = data.encode() if isinstance(data, str) else data
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._pool.clear()

    @contextlib.contextmanager
    def spoiled(self, rule: Rule) -> Iterator[None]:
        self._rule = rule
        try:
            yield
        finally:
            self._rule = None

    def _forward(self, request: Request) -> Answer:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        answer = self._pool.request(
            request.method,
            self._upstream + request.target,
            body=request.body or None,
            headers=headers,
            retries=False,
            timeout=60,
        )
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP}
        return Answer(answer.status, answer.data, kept)


def always(answer: Answer) -> Rule:
    return lambda _request, _forward: answer


def unreachable(_request: Request, _forward: Callable[[Request], Answer]) -> Answer:
    raise Lost


@contextlib.contextmanager
def hanging(gate: Gate) -> Iterator[None]:
    """Requests are accepted, and never answered; the connections are cut when it is over."""
    over = threading.Event()

    def wait(_request: Request, _forward: Callable[[Request], Answer]) -> Answer:
        over.wait()
        raise Lost

    with gate.spoiled(wait):
        try:
            yield
        finally:
            over.set()


class Once:
    """A rule that applies to the first request that fits."""

    def __init__(self, fits: Callable[[Request], bool], rule: Rule) -> None:
        self._fits = fits
        self._rule = rule
        self._lock = threading.Lock()
        self.done = False

    def __call__(self, request: Request, forward: Callable[[Request], Answer]) -> Answer:
        with self._lock:
            mine = not self.done and self._fits(request)
            self.done = self.done or mine
        return self._rule(request, forward) if mine else forward(request)


def lost_answer(request: Request, forward: Callable[[Request], Answer]) -> Answer:
    """It has its effect, and nobody hears of it."""
    forward(request)
    raise Lost


def telling(outcome: Outcome, name: str | None = None) -> Rule:
    """Pods, or one of them, seem to be so: for a cluster whose kubelet can't be made to say it."""

    def tell(request: Request, forward: Callable[[Request], Answer]) -> Answer:
        answer = forward(request)
        if request.method != "GET" or answer.status != 200 or not PODS.search(request.path):
            return answer
        body = json.loads(answer.body)
        for pod in body.get("items", [body]):
            if name in (None, pod["metadata"]["name"]):
                told = {**pod["status"], **outcome.status(pod, pod["status"].get("podIP", ""))}
                pod["status"] = {key: value for key, value in told.items() if value is not None}
        return dataclasses.replace(answer, body=body)

    return tell
