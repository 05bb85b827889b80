# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every way to an API server and its trust, with a real one; TLS included."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes import api
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.provider import build
from ansible_collections.crawl.egress.plugins.module_utils.provider import ProviderError, Reason
from ansible_collections.crawl.egress.tests.kubernetes.certificates import Authority
from ansible_collections.crawl.egress.tests.kubernetes.fleets import converge, document
from ansible_collections.crawl.egress.tests.kubernetes.proxies import (
    ENTRY,
    HOST,
    ctx,
    listing,
    provider,
    refused,
    request,
)
from ansible_collections.crawl.egress.tests.kubernetes.rbac import permissions, rules
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

CLEARED = ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "K8S_AUTH_SSL_CA_CERT")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path) -> None:
    for name in (
        *CLEARED,
        "KUBERNETES_SERVICE_HOST",
        "http_proxy",
        "https_proxy",
        "HTTPS_PROXY",
        "NO_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def server(namespace) -> dict[str, str]:
    """URL, ca_file and token_file."""
    return {"host": namespace.api.url, "ca_file": namespace.api.ca_file, "token_file": str(namespace.token_file)}


def bare(namespace, **config):
    return build(ENTRY, {"namespace": namespace.name, **config}, HOST)


def answers(lab) -> bool:
    return listing(lab).instances == ()


def test_a_kubeconfig_and_a_context(namespace, tmp_path) -> None:
    document_ = yaml.safe_load(namespace.kubeconfig.read_text())
    (context,) = document_["contexts"]
    elsewhere = {"name": "elsewhere", "cluster": {"server": "https://127.0.0.1:1"}}
    document_["clusters"].append(elsewhere)
    document_["contexts"] = [
        {"name": "right", "context": context["context"]},
        {"name": "wrong", "context": {**context["context"], "cluster": "elsewhere"}},
    ]
    document_["current-context"] = "wrong"
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document_))
    assert answers(bare(namespace, kubeconfig=str(path), context="right"))
    refused(lambda: listing(bare(namespace, kubeconfig=str(path))), Reason.UNREACHABLE)
    error = refused(lambda: listing(bare(namespace, kubeconfig=str(path), context="absent")), Reason.INVALID_CONFIG)
    assert f"({path}, context absent)" in error.message
    result = converge(document({"kubeconfig": str(path), "context": "absent"}, namespace, 2))
    assert (result["outcome"], result["error"]["reason"]) == ("incomplete_evidence", "InvalidConfig")


@pytest.mark.parametrize("variable", ["KUBECONFIG", "K8S_AUTH_KUBECONFIG"])
def test_a_kubeconfig_of_the_environment(namespace, monkeypatch, variable) -> None:
    monkeypatch.setenv(variable, str(namespace.kubeconfig))
    assert answers(bare(namespace))


def test_the_default_kubeconfig(namespace, tmp_path) -> None:
    folder = tmp_path / ".kube"
    folder.mkdir()
    (folder / "config").write_text(namespace.kubeconfig.read_text())
    assert answers(bare(namespace))


def test_token_and_authority_by_files(namespace, server) -> None:
    assert answers(bare(namespace, **server))


def test_token_and_authority_by_the_environment(namespace, server, monkeypatch) -> None:
    monkeypatch.setenv("K8S_AUTH_HOST", server["host"])
    monkeypatch.setenv("K8S_AUTH_API_KEY", namespace.token)
    monkeypatch.setenv("K8S_AUTH_SSL_CA_CERT", server["ca_file"])
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", "")  # as AWX does
    assert answers(bare(namespace))


def test_the_service_account_of_a_pod(namespace, server, monkeypatch, tmp_path) -> None:
    url = urlsplit(server["host"])
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", url.hostname)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(url.port or 443))
    monkeypatch.setattr(api, "SERVICE_ACCOUNT", str(tmp_path))
    error = refused(lambda: listing(bare(namespace)), Reason.INVALID_CONFIG)
    assert error.message == "the service account of this Pod: Service token file does not exist."
    (tmp_path / "ca.crt").write_text(Path(server["ca_file"]).read_text())
    (tmp_path / "token").write_text(namespace.token)
    assert answers(bare(namespace))


def test_a_token_that_is_rotated_meanwhile_needs_no_restart(namespace, server, tmp_path) -> None:
    file = tmp_path / "rotated"
    accounts = [namespace.service_account(rules(permissions("namespace"))) for _unused in range(2)]
    old, new = (yaml.safe_load(path.read_text())["users"][0]["user"]["token"] for path in accounts)
    file.write_text(old)
    lab = bare(namespace, **{**server, "token_file": str(file)})
    assert answers(lab)
    file.write_text("expired")
    assert answers(lab)  # it still has the old one
    _forget(namespace, old)
    until("the API server has learnt of it", lambda: lab.check(ctx())[0].reason == "Unauthorized")
    refused(lambda: listing(lab), Reason.UNAUTHORIZED)
    file.write_text(new)
    assert answers(lab)


def test_a_token_whose_time_is_over(namespace, server, cluster, stand_in, tmp_path) -> None:
    """No API server gives one for less than ten minutes: this one's key makes it."""
    header, claims, _signature = namespace.token.split(".")
    described = json.loads(base64.urlsafe_b64decode(claims + "=="))
    key = serialization.load_pem_private_key((cluster.enclosure.folder / "accounts.key").read_bytes(), None)

    def token_until(expiry: int) -> dict[str, str]:
        told = {**described, "iat": expiry - 7200, "nbf": expiry - 7200, "exp": expiry}
        text = f"{header}.{_unpadded(json.dumps(told).encode())}"
        numbers = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        file = tmp_path / f"until-{expiry}"
        file.write_text(f"{text}.{_unpadded(b''.join(number.to_bytes(32, 'big') for number in numbers))}")
        return {**server, "token_file": str(file)}

    now = described["iat"]
    assert answers(bare(namespace, **token_until(now + 3600)))
    error = refused(lambda: listing(bare(namespace, **token_until(now - 3600))), Reason.UNAUTHORIZED)
    assert error.message == "the API server does not accept the credentials"


def _unpadded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def test_a_client_certificate(namespace, server, daemons, tmp_path) -> None:
    authority, other = Authority("clients"), Authority("somebody else")
    (tmp_path / "clients.crt").write_bytes(authority.certificate)
    certificate, key = authority.issue("crawler", ["127.0.0.1"], tmp_path)
    unknown, its_key = other.issue("stranger", ["127.0.0.1"], tmp_path)
    binding = {
        "metadata": {"name": "crawler"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "crawler", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    namespace.api.post(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace.name}/rolebindings", binding)
    daemons.restart("kube-apiserver", f"--client-ca-file={tmp_path / 'clients.crt'}")
    del server["token_file"]

    def by(cert_file: Path, key_file: Path):
        return bare(namespace, **server, cert_file=str(cert_file), key_file=str(key_file))

    assert until("the role is known", lambda: _lists(by(certificate, key)))
    refused(lambda: by(certificate, key).create(request(namespace), ctx()), Reason.FORBIDDEN)
    refused(lambda: listing(by(unknown, its_key)), Reason.UNAUTHORIZED)
    error = refused(lambda: listing(by(certificate, its_key)), Reason.INVALID_CONFIG)
    assert "a certificate or key file can't be used" in error.message


def _lists(lab) -> bool:
    try:
        return answers(lab)
    except ProviderError:
        return False


def _forget(namespace, token: str) -> None:
    """Remove the service account that a token is for."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    status = namespace.api.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
    account = status["user"]["username"].rpartition(":")[2]
    namespace.api.delete(f"{namespace.path}/serviceaccounts/{account}")


def test_a_certificate_of_another_authority(namespace, server, tmp_path) -> None:
    other = tmp_path / "other.crt"
    other.write_bytes(Authority("somebody else").certificate)
    wrong = {**server, "ca_file": str(other)}
    error = refused(lambda: listing(bare(namespace, **wrong)), Reason.INVALID_CONFIG)
    assert "its certificate is not trusted" in error.message
    assert "CERTIFICATE_VERIFY_FAILED" in error.message
    (status,) = bare(namespace, **wrong).check(ctx())
    assert (status.ready, status.reason) == (False, "InvalidConfig")
    untrusted = {key: value for key, value in server.items() if key != "ca_file"}
    refused(lambda: listing(bare(namespace, **untrusted)), Reason.INVALID_CONFIG)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_nothing_but_the_flag_makes_it_insecure(namespace, server, monkeypatch) -> None:
    untrusted = {key: value for key, value in server.items() if key != "ca_file"}
    assert answers(bare(namespace, **untrusted, insecure=True))
    monkeypatch.setenv("K8S_AUTH_HOST", server["host"])
    monkeypatch.setenv("K8S_AUTH_API_KEY", namespace.token)
    monkeypatch.setenv("K8S_AUTH_VERIFY_SSL", "false")
    refused(lambda: listing(bare(namespace)), Reason.INVALID_CONFIG)
    assert answers(bare(namespace, insecure=True))


def test_a_file_that_is_no_certificate(namespace, server, tmp_path) -> None:
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("nonsense")
    error = refused(lambda: listing(bare(namespace, **{**server, "ca_file": str(nonsense)})), Reason.INVALID_CONFIG)
    assert "certificate" in error.message


def test_no_credentials_at_all(namespace, server) -> None:
    anonymous = {key: value for key, value in server.items() if key != "token_file"}
    error = refused(lambda: listing(bare(namespace, **anonymous)), Reason.UNAUTHORIZED)
    assert error.message.endswith("(host gave no credentials)")


def test_an_exec_plugin(namespace, tmp_path) -> None:
    plugin = tmp_path / "plugin"
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": namespace.token},
    }
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(credential)}'\n")
    plugin.chmod(0o700)
    document_ = yaml.safe_load(namespace.kubeconfig.read_text())
    exec_ = {"apiVersion": credential["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}
    document_["users"][0]["user"] = {"exec": exec_}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document_))
    assert answers(provider(namespace, path))


# --- through a proxy, with TLS to the API server


class Tunnel:
    """An HTTP proxy that knows CONNECT. :ivar asked: what it was to connect to, with the credentials given."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                outer.asked.append((self.path, self.headers.get("Proxy-Authorization")))
                address, _colon, port = self.path.rpartition(":")
                with contextlib.closing(socket.create_connection((address, int(port)))) as upstream:
                    self.send_response(200)
                    self.end_headers()
                    _relay(self.connection, upstream)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _relay(one: socket.socket, other: socket.socket) -> None:
    while True:
        for ready in select.select([one, other], [], [])[0]:
            data = ready.recv(65536)
            if not data:
                return
            (other if ready is one else one).sendall(data)


@pytest.fixture
def tunnel() -> Iterator[Tunnel]:
    with contextlib.closing(Tunnel()) as made:
        yield made


def test_a_proxy_of_the_environment_is_used_and_no_proxy_is_heeded(namespace, server, tunnel, monkeypatch) -> None:
    url = urlsplit(server["host"])
    monkeypatch.setenv("https_proxy", f"http://me:secret@127.0.0.1:{tunnel.port}")
    assert answers(bare(namespace, **server))
    assert tunnel.asked == [(f"{url.hostname}:{url.port or 443}", "Basic bWU6c2VjcmV0")]
    monkeypatch.setenv("no_proxy", url.hostname)
    assert answers(bare(namespace, **server))
    assert len(tunnel.asked) == 1


def test_a_proxy_of_the_kubeconfig(namespace, server, tunnel, tmp_path) -> None:
    document_ = yaml.safe_load(namespace.kubeconfig.read_text())
    document_["clusters"][0]["cluster"]["proxy-url"] = f"http://127.0.0.1:{tunnel.port}"
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document_))
    assert answers(provider(namespace, path))
    assert len(tunnel.asked) == 1
