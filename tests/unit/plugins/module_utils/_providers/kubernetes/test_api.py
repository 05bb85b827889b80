# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The seam over the official client, against a server that answers what a test says.

What a real API server does is tested with one (C(tests/kubernetes)); here is what it can't be made to do on order.
"""

from __future__ import annotations

import base64
import concurrent.futures
import http.server
import json
import logging
import socket
import stat
import threading

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.api import PODS, SECRETS, Client
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.config import Access
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.errors import Fault, Refusal
from ansible_collections.crawl.egress.plugins.module_utils.provider import Context, Reason
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.clock import FakeClock

TOKEN = "s3cr3t-t0ken"
STATUS = {"kind": "Status", "status": "Failure"}
LATER = (429, {"Retry-After": "1"}, "Too many requests, please try again later.\n")


class Server:
    """Answers in turn what it was told to, the last one for ever; keeps what it was asked."""

    def __init__(self):
        self.answers = [(200, {}, {"items": [], "metadata": {}})]
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                outer.requests.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                if callable(answer):
                    answer = answer(self)
                if answer is None:
                    return
                code, headers, body = answer
                data = body if isinstance(body, bytes) else body if isinstance(body, str) else json.dumps(body)
                data = data.encode() if isinstance(data, str) else data
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_DELETE = do_CONNECT = _answer

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def tokens(self):
        return [headers.get("Authorization") for _method, _path, headers, _body in self.requests]


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def client(access, timeout=5.0):
    return Client(access, timeout, "lab", logging.getLogger("crawl.egress.lab"))


def open_to(server, **access):
    return client(Access("host", host=server.url, **access))


def ctx(seconds=60.0, clock=None):
    return Context.within(seconds, clock)


def refused(call):
    with pytest.raises(Refusal) as error:
        call()
    return error.value


def faulty(call):
    with pytest.raises(Fault) as error:
        call()
    return error.value


# --- requests


def test_requests_are_plain_json(server):
    api = open_to(server)
    api.create(SECRETS, "proxies", {"kind": "Secret"}, ctx(), dry_run=True)
    api.patch(PODS, "proxies", "a", {"metadata": {}}, ctx())
    api.delete(PODS, "proxies", "a", {"gracePeriodSeconds": 1}, ctx())
    api.find(PODS, None, ctx(), labels="a=b,c in (d,e)")
    seen = [(method, path, headers.get("Content-Type"), body) for method, path, headers, body in server.requests]
    assert seen == [
        ("POST", "/api/v1/namespaces/proxies/secrets?dryRun=All", "application/json", b'{"kind": "Secret"}'),
        ("PATCH", "/api/v1/namespaces/proxies/pods/a", "application/merge-patch+json", b'{"metadata": {}}'),
        (
            "DELETE",
            "/api/v1/namespaces/proxies/pods/a",
            "application/json",
            b'{"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 1}',
        ),
        ("GET", "/api/v1/pods?labelSelector=a%3Db%2Cc+in+%28d%2Ce%29&limit=500", None, b""),
    ]
    assert {headers["User-Agent"] for _m, _p, headers, _b in server.requests} == {"crawl.egress"}


def test_all_pages_are_read(server):
    server.answers = [
        (200, {}, {"metadata": {"continue": "A"}, "items": [1, 2]}),
        (200, {}, {"metadata": {"continue": "B"}, "items": [3]}),
        (200, {}, {"metadata": {}, "items": None}),
    ]
    assert open_to(server).find(PODS, "proxies", ctx()) == [1, 2, 3]
    assert [path.partition("?")[2] for _m, path, _h, _b in server.requests] == [
        "limit=500",
        "limit=500&continue=A",
        "limit=500&continue=B",
    ]


def test_a_page_that_expired_begins_the_list_anew_without_pages(server):
    server.answers = [
        (200, {}, {"metadata": {"continue": "A"}, "items": [1, 2]}),
        (410, {}, {**STATUS, "reason": "Expired", "code": 410}),
        (200, {}, {"metadata": {}, "items": [2, 3]}),
    ]
    assert open_to(server).find(PODS, "proxies", ctx(), labels="a=b") == [2, 3]
    assert server.requests[-1][1] == "/api/v1/namespaces/proxies/pods?labelSelector=a%3Db"


def test_a_second_expiry_is_reported(server):
    server.answers = [(410, {}, {**STATUS, "reason": "Expired", "message": "too old", "code": 410})]
    assert refused(lambda: open_to(server).find(PODS, "proxies", ctx())).code == 410
    assert len(server.requests) == 2


@pytest.mark.parametrize("body", ["<html>welcome</html>", "[]", "null", b"\xff\xfe"])
def test_success_that_is_no_object_is_no_success(server, body):
    server.answers = [(200, {}, body)]
    fault = faulty(lambda: open_to(server).get(PODS, "proxies", "a", ctx()))
    assert (fault.reason, "is this an API server?" in fault.message) == (Reason.API_ERROR, True)


def test_redirects_are_not_followed(server):
    server.answers = [(302, {"Location": f"{server.url}/elsewhere"}, "")]
    assert refused(lambda: open_to(server, token=TOKEN).get(PODS, "proxies", "a", ctx())).code == 302
    assert len(server.requests) == 1


# --- waiting


def test_a_server_that_asks_to_wait_is_asked_again(server):
    server.answers = [LATER, LATER, (503, {"Retry-After": "2"}, ""), (200, {}, {"metadata": {"uid": "u"}})]
    clock = FakeClock()
    before = clock.monotonic()
    made = open_to(server).create(PODS, "proxies", {"kind": "Pod"}, ctx(clock=clock))
    assert made["metadata"]["uid"] == "u"
    assert clock.monotonic() - before == 4
    assert len({body for _m, _p, _h, body in server.requests}) == 1


def test_patience_ends(server):
    server.answers = [LATER]
    refusal = refused(lambda: open_to(server).find(PODS, "proxies", ctx(clock=FakeClock())))
    assert (refusal.code, refusal.retry_after) == (429, 1.0)
    assert refusal.message == "Too many requests, please try again later."
    assert len(server.requests) == 10


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        ((429, {"Retry-After": "7"}, ""), 60),  # the engine's business
        ((429, {}, ""), 60),
        ((429, {"Retry-After": "Mon, 30 Nov 2026 07:28:00 GMT"}, ""), 60),
        ((500, {}, ""), 60),
        ((429, {"Retry-After": "2"}, ""), 1),  # the run would be over
    ],
)
def test_what_is_not_waited_for(server, answer, seconds):
    server.answers = [answer]
    assert refused(lambda: open_to(server).get(PODS, "p", "a", ctx(seconds, FakeClock()))).code == answer[0]
    assert len(server.requests) == 1


def test_a_cancelled_run_does_not_ask_again(server):
    server.answers = [LATER]
    context = ctx()
    server.answers = [lambda _handler: context.cancel.set() or LATER]
    assert refused(lambda: open_to(server).get(PODS, "p", "a", context)).code == 429
    assert len(server.requests) == 1


# --- not ready yet

FORBIDDEN = (403, {}, {**STATUS, "message": 'pods is forbidden: User "me" cannot create resource "pods"'})
NOT_READY = (500, {}, "[-]informer-sync failed: reason withheld\n")
READY = (200, {}, "ok")
MADE = (201, {}, {"metadata": {"uid": "u"}})


def create(server, context):
    return open_to(server, token=TOKEN).create(PODS, "proxies", {"kind": "Pod"}, context)


def test_a_server_that_has_just_begun_is_asked_again_when_it_is_ready(server):
    server.answers = [FORBIDDEN, FORBIDDEN, FORBIDDEN, NOT_READY, FORBIDDEN, READY, MADE]
    clock = FakeClock()
    before = clock.monotonic()
    assert create(server, ctx(clock=clock))["metadata"]["uid"] == "u"
    assert [path for _method, path, _headers, _body in server.requests][1::2] == ["/readyz"] * 3
    assert clock.monotonic() - before == 2


def test_one_that_is_ready_is_believed(server):
    server.answers = [FORBIDDEN, READY, FORBIDDEN]
    assert refused(lambda: create(server, ctx(clock=FakeClock()))).lacks_permission
    assert len(server.requests) == 3


@pytest.mark.parametrize(("seconds", "requests"), [(60, 21), (1, 3)])
def test_one_that_never_says_whether_it_is_ready_is_believed_in_the_end(server, seconds, requests):
    server.answers = [FORBIDDEN]
    assert refused(lambda: create(server, ctx(seconds, FakeClock()))).lacks_permission
    assert len(server.requests) == requests


def test_what_no_role_would_change_is_not_asked_again(server):
    server.answers = [(403, {}, {**STATUS, "message": 'pods "x" is forbidden: exceeded quota: few'})]
    refused(lambda: create(server, ctx()))
    assert len(server.requests) == 1


# --- no answer


def test_nobody_there():
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        fault = faulty(lambda: client(Access("host", host=url)).find(PODS, None, ctx()))
    assert fault.reason is Reason.UNREACHABLE
    assert url in fault.message


def test_no_answer_in_time(server):
    release = threading.Event()
    server.answers = [lambda _handler: release.wait(30) and None]
    try:
        for api, seconds in ((client(Access("host", host=server.url), 0.2), 60), (open_to(server), 0.2)):
            assert faulty(lambda api=api, s=seconds: api.get(PODS, "p", "a", ctx(s))).reason is Reason.TIMEOUT
    finally:
        release.set()


def test_an_answer_that_breaks_off(server):
    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        handler.close_connection = True

    server.answers = [cut]
    assert faulty(lambda: open_to(server).get(PODS, "p", "a", ctx())).reason is Reason.UNREACHABLE


def test_no_url():
    fault = faulty(lambda: client(Access("host", host="http://")).get(PODS, "p", "a", ctx()))
    assert fault.reason is Reason.INVALID_CONFIG


# --- credentials


def test_a_rotated_token_is_read_again(server, tmp_path):
    file = tmp_path / "token"
    file.write_text("old\n")

    def check(handler):
        good = handler.headers["Authorization"] == f"Bearer {file.read_text().strip()}"
        return (200, {}, {"metadata": {"uid": "u"}}) if good else (401, {}, STATUS)

    server.answers = [check]
    api = open_to(server, token_file=str(file))
    api.get(PODS, "p", "a", ctx())
    file.write_text("new\n")
    api.get(PODS, "p", "a", ctx())
    api.get(PODS, "p", "a", ctx())
    assert server.tokens() == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]


def test_a_refused_token_is_tried_twice_and_not_shown(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.answers = [(401, {}, STATUS)]
    refusal = refused(lambda: open_to(server, token=TOKEN).get(PODS, "p", "a", ctx()))
    assert refusal.code == 401
    assert server.tokens() == [f"Bearer {TOKEN}"] * 2
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(refusal) + str(refusal) + refusal.message


def test_payloads_are_not_logged(server, caplog):
    caplog.set_level(logging.DEBUG)
    open_to(server).create(SECRETS, "proxies", {"data": {"passwords": "aGFzaA=="}}, ctx())
    assert "POST /api/v1/namespaces/proxies/secrets: 200" in caplog.text
    assert "aGFzaA" not in caplog.text


@pytest.mark.parametrize("option", ["token_file", "ca_file", "cert_file", "key_file"])
def test_a_file_that_is_not_there_is_named(server, option, tmp_path):
    fault = faulty(lambda: open_to(server, **{option: str(tmp_path / "absent")}).get(PODS, "p", "a", ctx()))
    assert fault.reason is Reason.INVALID_CONFIG
    assert fault.message == f"{tmp_path}/absent: No such file or directory"


def kubeconfig(path, server, user=None, **more):
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }
    path.write_text(json.dumps(document))
    return Access("kubeconfig", kubeconfig=str(path))


def plugin(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path), "interactiveMode": "Never"}}


CREDENTIAL = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}'


def test_an_exec_plugin_is_asked_again_when_its_token_is_refused(server, tmp_path):
    current = tmp_path / "current"
    current.write_text(CREDENTIAL % "one")
    access = kubeconfig(tmp_path / "config", server, plugin(tmp_path / "plugin", f"cat {current}"))
    accepted = "one"

    def check(handler):
        good = handler.headers["Authorization"] == f"Bearer {accepted}"
        return (200, {}, {"metadata": {}}) if good else (401, {}, STATUS)

    server.answers = [check]
    api = client(access)
    api.get(PODS, "p", "a", ctx())
    accepted = "two"
    current.write_text(CREDENTIAL % "two")
    api.get(PODS, "p", "a", ctx())
    assert server.tokens() == ["Bearer one", "Bearer one", "Bearer two"]


def test_an_exec_plugin_that_fails_is_told(server, tmp_path):
    server.answers = [(401, {}, {**STATUS, "message": "Unauthorized"})]
    access = kubeconfig(tmp_path / "config", server, plugin(tmp_path / "plugin", "echo not logged in >&2; exit 1"))
    refusal = refused(lambda: client(access).get(PODS, "p", "a", ctx()))
    assert refusal.message == "Unauthorized (kubeconfig gave no credentials)"
    assert server.tokens() == [None, None]


def test_many_threads_load_the_credentials_once(server, tmp_path):
    script = f"echo x >> {tmp_path}/count; echo '{CREDENTIAL % 'one'}'"
    api = client(kubeconfig(tmp_path / "config", server, plugin(tmp_path / "plugin", script)))
    threads = [threading.Thread(target=api.get, args=(PODS, "p", "a", ctx())) for _unused in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 8
    assert (tmp_path / "count").read_text() == "x\n"


def test_each_call_under_way_keeps_its_connection(server):
    size = 40
    together, connections = threading.Barrier(size), set()

    def answer(handler):
        connections.add(handler.client_address)
        together.wait(30)
        return 200, {}, {}

    server.answers = [answer]
    api = open_to(server, token="t")
    with concurrent.futures.ThreadPoolExecutor(size) as threads:
        for _round in range(2):
            list(threads.map(lambda _: api.get(PODS, "ns", "a", ctx()), range(size)))
    assert len(connections) == size


USER = {"name": "u", "user": {"token": TOKEN, "auth-provider": {"name": "gcp"}}}


@pytest.mark.parametrize(
    ("text", "context", "words"),
    [
        ("", None, "file is empty"),
        ("- a\n- b\n", None, "is no kubeconfig"),
        ("just text", None, "is no kubeconfig"),
        (f"users: [{{name: u, user: {{token: {TOKEN}", None, "is no kubeconfig"),
        (b"\xff\xfe\x00", None, "is no kubeconfig"),
        ("{}", None, "Expected key current-context"),
        (None, "absent", "Expected object with name absent in"),
        ({"current-context": "gone"}, None, "Expected object with name gone in"),
        ({"clusters": []}, None, "Expected object with name c in"),
        ({"users": [USER]}, None, ""),
        ({"users": [{"user": {"token": TOKEN}}]}, None, "Expected all values in"),
    ],
    ids=str,
)
def test_a_kubeconfig_that_is_none(server, tmp_path, text, context, words):
    path = tmp_path / "config"
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif isinstance(text, str):
        path.write_text(text)
    else:
        kubeconfig(path, server, **(text or {}))
    fault = faulty(lambda: client(Access("KUBECONFIG", kubeconfig=str(path), context=context)).find(PODS, "p", ctx()))
    assert fault.reason is Reason.INVALID_CONFIG
    assert words in fault.message
    assert str(path) in fault.message
    assert TOKEN not in fault.message


def test_a_kubeconfig_that_is_not_there(tmp_path):
    path = tmp_path / "absent"
    fault = faulty(lambda: client(Access("KUBECONFIG", kubeconfig=str(path))).find(PODS, "p", ctx()))
    assert fault.reason is Reason.INVALID_CONFIG
    assert fault.message.startswith(f"KUBECONFIG ({path}): ")


# --- proxies


def through(server, proxy):
    """What the proxy was asked, when the API server is one that only the proxy could reach."""
    proxy.answers = [(200, {}, {"metadata": {}})]
    client(Access("host", host="http://api.cluster.example:6443", token=TOKEN)).get(PODS, "p", "a", ctx())
    return proxy.requests


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_proxy_of_the_environment_is_used(server, monkeypatch, variable):
    monkeypatch.setenv(variable, server.url)
    monkeypatch.delenv("REQUEST_METHOD", raising=False)
    ((method, target, headers, _body),) = through(None, server)
    assert (method, target) == ("GET", "http://api.cluster.example:6443/api/v1/namespaces/p/pods/a")
    assert "Proxy-Authorization" not in headers


def test_the_proxy_gets_its_credentials_and_they_are_not_shown(server, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("http_proxy", server.url.replace("://", "://me:p%40ss@"))
    ((_method, _target, headers, _body),) = through(None, server)
    assert headers["Proxy-Authorization"] == "Basic " + base64.b64encode(b"me:p@ss").decode()
    assert "p%40ss" not in caplog.text
    assert "p@ss" not in caplog.text


@pytest.mark.parametrize("value", ["127.0.0.1", "127.0.0.0/8", "*", "example.com,127.0.0.1"])
def test_what_needs_no_proxy_gets_none(server, monkeypatch, value):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", value)
    open_to(server).get(PODS, "p", "a", ctx())
    assert len(server.requests) == 1


def test_the_proxy_of_a_kubeconfig_comes_first(server, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    cluster = {"server": "http://api.cluster.example:6443", "proxy-url": server.url}
    access = kubeconfig(tmp_path / "config", server, clusters=[{"name": "c", "cluster": cluster}])
    client(access).get(PODS, "p", "a", ctx())
    assert server.requests[0][1].startswith("http://api.cluster.example:6443/")


def test_a_proxy_that_is_not_there_is_told_apart_from_its_credentials(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://me:p4ss@127.0.0.1:1")
    api = client(Access("host", host="http://api.cluster.example:6443"))
    fault = faulty(lambda: api.get(PODS, "p", "a", ctx()))
    assert fault.reason is Reason.UNREACHABLE
    assert "p4ss" not in fault.message
