# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Kubernetes API as JSON, reached by a kubeconfig: what the tests see of a cluster without the provider's help."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import config
from kubernetes.client.rest import RESTClientObject

MERGE_PATCH = "application/merge-patch+json"
PATHS = {"certificate-authority", "client-certificate", "client-key", "tokenFile"}


class Refused(Exception):
    """The server said no: C(status) is the HTTP status, C(body) what it said."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class Absent(Refused):
    """404"""


class Api:
    """All methods take a path and return the body of the answer.

    Raises:
        Refused: an answer other than 2xx.
        urllib3.exceptions.HTTPError: no answer.
    """

    def __init__(self, kubeconfig: Path) -> None:
        # the client knows every way to prove oneself that a kubeconfig may name
        self._client = config.new_client_from_config(str(kubeconfig), persist_config=False)

    def close(self) -> None:
        self._client.rest_client.pool_manager.clear()

    @property
    def url(self) -> str:
        return self._client.configuration.host

    @property
    def ca_file(self) -> str:
        return self._client.configuration.ssl_ca_cert

    def anonymous(self) -> urllib3.PoolManager:
        """Connections to the same server that prove nobody's identity by a certificate."""
        settings = copy.copy(self._client.configuration)
        settings.cert_file = settings.key_file = None
        return RESTClientObject(settings).pool_manager

    def get(self, path: str) -> Any:
        return self.send("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self.send("POST", path, body)

    def put(self, path: str, body: Any) -> Any:
        return self.send("PUT", path, body)

    def patch(self, path: str, body: Any) -> Any:
        return self.send("PATCH", path, body, MERGE_PATCH)

    def delete(self, path: str, body: Any = None) -> Any:
        return self.send("DELETE", path, body)

    def find(self, path: str) -> Any:
        """What is there; None if nothing is."""
        try:
            return self.get(path)
        except Absent:
            return None

    def send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", timeout: float = 30
    ) -> Any:
        response = self._open(method, path, body, content_type, timeout=timeout)
        try:
            answer = json.loads(response.data)
        except ValueError:
            answer = response.data.decode(errors="replace")
        if not 200 <= response.status < 300:
            raise (Absent if response.status == 404 else Refused)(response.status, answer)
        return answer

    @contextlib.contextmanager
    def watch(self, path: str) -> Iterator[urllib3.HTTPResponse]:
        """A response whose C(stream) goes on; its C(shutdown) ends it from another thread."""
        response = self._open("GET", path, None, "application/json", preload_content=False, timeout=3600)
        try:
            if response.status != 200:
                raise Refused(response.status, response.data)
            yield response
        finally:
            response.close()

    def _open(self, method: str, path: str, body: Any, content_type: str, **more: Any) -> urllib3.HTTPResponse:
        headers = {"Accept": "application/json", "Content-Type": content_type}
        for auth in self._client.configuration.auth_settings().values():
            headers[auth["key"]] = auth["value"]
        return self._client.rest_client.pool_manager.request(
            method,
            self._client.configuration.host + path,
            body=None if body is None else json.dumps(body),
            headers=headers,
            retries=False,
            **more,
        )


def changed_kubeconfig(kubeconfig: Path, target: Path, *, token: str | None = None, **context: str) -> Path:
    """Write a kubeconfig like another one, with a token instead of its credentials, or with changes of its context."""
    document = yaml.safe_load(kubeconfig.read_text())
    (current,) = (entry for entry in document["contexts"] if entry["name"] == document["current-context"])
    current["context"].update(context)
    if token is not None:
        document["users"] = [{"name": "token", "user": {"token": token}}]
        current["context"]["user"] = "token"
    document["contexts"] = [current]
    for section in ("clusters", "users"):
        for entry in document[section]:
            for key, value in entry[section[:-1]].items():
                if key in PATHS:  # relative to the file, which gets another place
                    entry[section[:-1]][key] = str(kubeconfig.parent / value)
    target.touch(mode=0o600)
    target.write_text(yaml.safe_dump(document))
    return target
