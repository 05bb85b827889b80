# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The seam: requests to one API server, over the official C(kubernetes) package.

The package finds credentials and sets up TLS, proxies and connections. Its typed calls are left out: they cost five to
ten times what plain JSON does, and importing them takes longer than listing a thousand Pods. Nothing else of this
collection imports it.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import importlib.util
import json
import logging
import re
import threading
import typing as t
import urllib.parse
import urllib.request

from ...provider import Context, MissingSDK, Reason, backend_call
from .config import Access
from .errors import Fault, Refusal

Json = t.Mapping[str, t.Any]

#: Seconds to make a connection; like the timeout of the request, cut to what the run has left.
_CONNECT_TIMEOUT = 10.0
#: Connections that may be kept open: as many as a run may have calls under way (the option C(concurrency)).
_POOL = 256
_PAGE = 500
#: An API server that asks to wait (C(Retry-After)) has done nothing, so any request is repeated, as kubectl does it: so
#: often, and when the wait is no longer than so many seconds. Longer ones are the engine's business.
_PATIENCE, _LONGEST_PAUSE = 10, 2.0

#: Kubernetes names it in C(managedFields) of what it makes and in its audit log.
_USER_AGENT = "crawl.egress"
_JSON = "application/json"
#: What an object consists of is known to who has just written it; whatever doesn't know the form answers in full.
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_MERGE_PATCH = "application/merge-patch+json"

#: Where Kubernetes puts a Pod's own credentials.
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclasses.dataclass(frozen=True)
class Resource:
    """:ivar root: the part of the path before C(namespaces). :ivar plural: as paths and RBAC spell it."""

    root: str
    plural: str

    @property
    def api_group(self) -> str:
        """As RBAC spells it; empty for the core."""
        return self.root.split("/")[2] if self.root.startswith("/apis/") else ""

    def path(self, namespace: str | None, name: str = "") -> str:
        """:param namespace: None for all. :param name: of one object, with a subresource behind a slash."""
        where = f"/namespaces/{namespace}" if namespace else ""
        return f"{self.root}{where}/{self.plural}{'/' if name else ''}{name}"


PODS = Resource("/api/v1", "pods")
SECRETS = Resource("/api/v1", "secrets")
SERVICES = Resource("/api/v1", "services")
EVENTS = Resource("/api/v1", "events")
QUOTAS = Resource("/api/v1", "resourcequotas")
NETWORK_POLICIES = Resource("/apis/networking.k8s.io/v1", "networkpolicies")
_ACCESS_REVIEWS = Resource("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews").path(None)


class KubernetesApi(t.Protocol):
    """What the provider asks of an API server. Every method raises Fault or Refusal, and nothing else."""

    def create(self, resource: Resource, namespace: str, body: Json, ctx: Context, *, dry_run: bool = False) -> Json:
        """Answers with C(metadata) at least, and as a rule no more."""

    def get(self, resource: Resource, namespace: str, name: str, ctx: Context) -> Json: ...

    def find(
        self, resource: Resource, namespace: str | None, ctx: Context, *, labels: str = "", fields: str = ""
    ) -> list[Json]:
        """List: all pages. One that expired on the way (410) begins it anew, in one page."""

    def peek(self, resource: Resource, namespace: str | None, ctx: Context, *, labels: str = "") -> None:
        """Find out whether a list would be answered, at the price of one object."""

    def patch(self, resource: Resource, namespace: str, name: str, changes: Json, ctx: Context) -> Json:
        """A JSON merge patch. C(metadata.uid) and C(metadata.resourceVersion) in it are preconditions.

        Answers as C(create()) does.
        """

    def delete(self, resource: Resource, namespace: str, name: str, options: Json, ctx: Context) -> Json:
        """:param options: C(DeleteOptions).

        Answers as C(create()) does for an object that is being deleted, or with a Status when it is gone.
        """

    def is_allowed(self, verb: str, resource: Resource, namespace: str, ctx: Context) -> bool:
        """Whether the credentials may do that (C(SelfSubjectAccessReview))."""

    def log(self, namespace: str, pod: str, ctx: Context, *, container: str, lines: int, previous: bool) -> str:
        """The last lines of a container; bytes that are no text are replaced."""

    def version(self, ctx: Context) -> str:
        """The API server's C(gitVersion)."""


def require_sdk(entry: str) -> None:
    """:raises MissingSDK: the package is not there. It is not imported: that takes longer than most runs."""
    spec = importlib.util.find_spec("kubernetes")
    if spec is None or spec.origin is None:  # a folder of that name is no package
        raise MissingSDK("kubernetes", entry, "it is not installed")


@dataclasses.dataclass(frozen=True)
class Connection:
    """One set of credentials, loaded.

    :ivar pools: a urllib3 PoolManager that knows certificates and proxies.
    :ivar settings: a C(kubernetes.client.Configuration); asked for the token each time, since it may renew it.
    """

    host: str
    pools: t.Any
    settings: t.Any
    has_credentials: bool

    def authorization(self) -> str | None:
        """The header's value: secret. Reads a file or runs a plugin when it is time to."""
        value: str | None = self.settings.auth_settings().get("BearerToken", {}).get("value")
        return value


@dataclasses.dataclass(frozen=True)
class Request:
    """:ivar name: of the kind of request, for who counts them. :ivar body: may be secret, and is never logged."""

    name: str
    method: str
    target: str
    body: str | None = dataclasses.field(default=None, repr=False)
    accept: str = _JSON


class Client:
    """Safe to be used from many threads. Nothing is loaded, imported or dialled before the first request."""

    def __init__(self, access: Access, timeout: float, entry: str, log: logging.Logger) -> None:
        self._access = access
        self._timeout = timeout
        self._entry = entry
        self._log = log
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def create(self, resource: Resource, namespace: str, body: Json, ctx: Context, *, dry_run: bool = False) -> Json:
        query = {"dryRun": "All"} if dry_run else {}
        return _object(self._send("create", "POST", resource.path(namespace), ctx, query, body, _METADATA))

    def get(self, resource: Resource, namespace: str, name: str, ctx: Context) -> Json:
        return _object(self._send("get", "GET", resource.path(namespace, name), ctx))

    def find(
        self, resource: Resource, namespace: str | None, ctx: Context, *, labels: str = "", fields: str = ""
    ) -> list[Json]:
        query = {"labelSelector": labels, "fieldSelector": fields}
        try:
            return self._pages(resource.path(namespace), ctx, {**query, "limit": str(_PAGE)})
        except Refusal as refusal:
            if refusal.code != 410:
                raise
        return self._pages(resource.path(namespace), ctx, query)

    def _pages(self, path: str, ctx: Context, query: t.Mapping[str, str]) -> list[Json]:
        items: list[Json] = []
        token = ""
        while True:
            page = _object(self._send("list", "GET", path, ctx, {**query, "continue": token}))
            items += page.get("items") or ()
            token = page["metadata"].get("continue") or ""
            if not token:
                return items

    def peek(self, resource: Resource, namespace: str | None, ctx: Context, *, labels: str = "") -> None:
        self._send("list", "GET", resource.path(namespace), ctx, {"labelSelector": labels, "limit": "1"})

    def patch(self, resource: Resource, namespace: str, name: str, changes: Json, ctx: Context) -> Json:
        return _object(self._send("patch", "PATCH", resource.path(namespace, name), ctx, {}, changes, _METADATA))

    def delete(self, resource: Resource, namespace: str, name: str, options: Json, ctx: Context) -> Json:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return _object(self._send("delete", "DELETE", resource.path(namespace, name), ctx, {}, body, _METADATA))

    def is_allowed(self, verb: str, resource: Resource, namespace: str, ctx: Context) -> bool:
        attributes = {"namespace": namespace, "verb": verb, "group": resource.api_group, "resource": resource.plural}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = _object(self._send("create", "POST", _ACCESS_REVIEWS, ctx, content=review))
        return bool((answer.get("status") or {}).get("allowed"))

    def log(self, namespace: str, pod: str, ctx: Context, *, container: str, lines: int, previous: bool) -> str:
        query = {"container": container, "tailLines": str(lines), "previous": "true" if previous else ""}
        return self._send("log", "GET", PODS.path(namespace, f"{pod}/log"), ctx, query).decode(errors="replace")

    def version(self, ctx: Context) -> str:
        return str(_object(self._send("version", "GET", "/version", ctx)).get("gitVersion", "unknown"))

    # --- one request

    def _send(
        self,
        name: str,
        method: str,
        path: str,
        ctx: Context,
        query: t.Mapping[str, str] | None = None,
        content: Json | None = None,
        accept: str = _JSON,
    ) -> bytes:
        """The body of a successful answer."""
        text = urllib.parse.urlencode({key: value for key, value in (query or {}).items() if value})
        target = f"{path}?{text}" if text else path
        payload = None if content is None else json.dumps(content)
        request = Request(name, method, target, payload, accept)
        connection = self._connected(None)
        answer = self._patiently(connection, request, ctx)
        if answer.status == 401:
            # A token that was rotated, or a plugin's that expired: once more with what is there now.
            connection = self._connected(connection)
            answer = self._patiently(connection, request, ctx)
        if answer.status == 403 and Refusal.from_answer(403, answer.data, answer.headers).lacks_permission:
            answer = self._when_ready(connection, request, ctx)
        if 200 <= answer.status < 300:
            body: bytes = answer.data
            return body
        refusal = Refusal.from_answer(answer.status, answer.data, answer.headers)
        if refusal.code in (401, 403) and not connection.has_credentials:
            refusal.message = f"{refusal.message} ({self._access.source} gave no credentials)"
        raise refusal

    def _connected(self, stale: Connection | None) -> Connection:
        """The connection; made anew when there is none but the stale one."""
        with self._lock:
            if self._connection is None or self._connection is stale:
                self._connection = _connect(self._access, self._entry)
            return self._connection

    def _patiently(self, connection: Connection, request: Request, ctx: Context) -> t.Any:
        for attempt in range(_PATIENCE):
            answer = self._once(connection, request, ctx)
            pause = answer.headers.get("Retry-After", "")
            if not (answer.status == 429 or answer.status >= 500) or not pause.isdecimal():
                break
            if float(pause) > min(_LONGEST_PAUSE, ctx.remaining()) or attempt == _PATIENCE - 1:
                break
            ctx.sleep(float(pause))
            if ctx.cancel.is_set():
                break
        return answer

    def _when_ready(self, connection: Connection, request: Request, ctx: Context) -> t.Any:
        """An API server that has just begun knows no roles yet and forbids everything: believe one that is ready."""
        for _attempt in range(_PATIENCE):
            is_ready = self._once(connection, Request("ready", "GET", "/readyz"), ctx).status == 200
            answer = self._patiently(connection, request, ctx)
            if is_ready or answer.status != 403 or ctx.remaining() <= 1 or ctx.cancel.is_set():
                break
            ctx.sleep(1)
        return answer

    def _once(self, connection: Connection, request: Request, ctx: Context) -> t.Any:
        """:returns: a urllib3 HTTPResponse, read to its end."""
        import urllib3

        headers = {"Accept": request.accept, "User-Agent": _USER_AGENT}
        if request.body is not None:
            headers["Content-Type"] = _MERGE_PATCH if request.method == "PATCH" else _JSON
        with self._lock, _loading(self._access):
            authorization = connection.authorization()
        if authorization:
            headers["Authorization"] = authorization
        left = max(0.1, ctx.remaining())
        timeout = urllib3.Timeout(connect=min(_CONNECT_TIMEOUT, left), read=min(self._timeout, left))
        start = ctx.clock.monotonic()
        try:
            with backend_call(request.name):
                answer = connection.pools.request(
                    request.method,
                    connection.host + request.target,
                    body=request.body,
                    headers=headers,
                    timeout=timeout,
                    retries=False,
                    redirect=False,
                )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            fault = _fault(error, connection.host)
            self._log.debug("%s: %s %s: %s", self._entry, request.method, request.target, fault.message)
            raise fault from error
        seconds = ctx.clock.monotonic() - start
        about = (self._entry, request.method, request.target, answer.status, len(answer.data), seconds)
        self._log.debug("%s: %s %s: %d, %d bytes, %.3f s", *about)
        return answer


def _object(body: bytes) -> Json:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Fault(Reason.API_ERROR, "a successful answer was no JSON object: is this an API server?")
    return value


def _connect(access: Access, entry: str) -> Connection:
    """Load the credentials; files are read and plugins are run, but nothing is dialled."""
    try:
        from kubernetes.client import Configuration
        from kubernetes.client.rest import RESTClientObject
    except ImportError as error:
        raise MissingSDK("kubernetes", entry, str(error)) from error

    settings = Configuration()
    settings.proxy = settings.no_proxy = None  # what it takes from the environment differs from release to release
    with _loading(access):
        _load(access, settings)
    if access.insecure:
        settings.verify_ssl = False
    _set_proxy(settings)
    settings.connection_pool_maxsize = _POOL
    pools = RESTClientObject(settings).pool_manager
    return Connection(settings.host, pools, settings, bool(settings.api_key or settings.cert_file))


@contextlib.contextmanager
def _loading(access: Access) -> t.Iterator[None]:
    """Name what is wrong with credentials, and repeat nothing of what stands in their files."""
    import yaml
    from kubernetes.config import ConfigException

    try:
        yield
    except ConfigException as error:
        # Cut off where it goes on with a piece of the file: that can be a user with a token.
        raise Fault(Reason.INVALID_CONFIG, f"{_named(access)}: {re.split(r'/?{', str(error))[0].strip()}") from None
    except OSError as error:
        raise Fault(Reason.INVALID_CONFIG, f"{error.filename or _named(access)}: {error.strerror or error}") from error
    except (ValueError, TypeError, AttributeError, KeyError, yaml.YAMLError):
        # What the package's loader makes of a file that is no kubeconfig.
        raise Fault(Reason.INVALID_CONFIG, f"{_named(access)}: is no kubeconfig") from None


def _load(access: Access, settings: t.Any) -> None:
    if access.host:
        settings.host = access.host
        settings.ssl_ca_cert = _existing(access.ca_file)
        settings.cert_file, settings.key_file = _existing(access.cert_file), _existing(access.key_file)
        token = access.token or _first_line(access.token_file)
        if token:
            settings.api_key["authorization"] = f"Bearer {token}"
    elif access.kubeconfig:
        from kubernetes.config import load_kube_config

        load_kube_config(access.kubeconfig, access.context, settings)
    else:
        from kubernetes.config.incluster_config import InClusterConfigLoader

        InClusterConfigLoader(f"{SERVICE_ACCOUNT}/token", f"{SERVICE_ACCOUNT}/ca.crt").load_and_set(settings)


def _existing(path: str | None) -> str | None:
    """Open it, so that a file that can't be read is told by name: TLS only says that something is wrong."""
    if path is not None:
        with open(path, "rb"):
            pass
    return path


def _first_line(path: str | None) -> str:
    if path is None:
        return ""
    with open(path, encoding="utf-8") as file:
        return file.readline().strip()


def _named(access: Access) -> str:
    if access.kubeconfig:
        context = f", context {access.context}" if access.context else ""
        return f"{access.source} ({access.kubeconfig}{context})"
    return access.source


def _set_proxy(settings: t.Any) -> None:
    """The proxy of the kubeconfig's cluster, or that of the environment as other programs read it."""
    proxies = urllib.request.getproxies_environment()
    url = settings.proxy or proxies.get(urllib.parse.urlsplit(settings.host).scheme) or proxies.get("all")
    if not url:
        return
    parts = urllib.parse.urlsplit(url)
    if parts.username is not None:
        # Its credentials belong in a header, and in no message that names the proxy.
        credentials = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        encoded = base64.b64encode(credentials.encode()).decode()
        settings.proxy_headers = {"Proxy-Authorization": f"Basic {encoded}"}
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    settings.proxy = url
    settings.no_proxy = proxies.get("no")


_UNTRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|doesn't match|Hostname mismatch", re.I)
_BAD_FILE = re.compile(r"KEY_VALUES_MISMATCH|PEM|NO_CERTIFICATE|\[Errno ")


def _fault(error: Exception, host: str) -> Fault:
    from urllib3 import exceptions

    words = " ".join(str(error).split())[:300]
    if isinstance(error, exceptions.NewConnectionError):  # although urllib3 counts it among the timeouts
        return Fault(Reason.UNREACHABLE, f"{host} can't be reached: {words}")
    if isinstance(error, (exceptions.TimeoutError, TimeoutError)):
        return Fault(Reason.TIMEOUT, f"{host} did not answer in time: {words}")
    if isinstance(error, exceptions.SSLError):
        if _UNTRUSTED.search(words):
            return Fault(
                Reason.INVALID_CONFIG, f"{host}: its certificate is not trusted (ca_file, kubeconfig): {words}"
            )
        if _BAD_FILE.search(words):
            return Fault(Reason.INVALID_CONFIG, f"{host}: a certificate or key file can't be used: {words}")
    if isinstance(error, exceptions.LocationValueError):
        return Fault(Reason.INVALID_CONFIG, f"{host} is no URL of an API server: {words}")
    return Fault(Reason.UNREACHABLE, f"{host} can't be reached: {words}")
