# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The C(kubernetes:) block of a provider entry: defaults, and the checks that a schema cannot make."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._errors import ArgumentError
from .schema import DEFAULT_IMAGE, DEFAULT_MACHINE_TYPE, DEFAULT_RESOURCES


@dataclasses.dataclass(frozen=True)
class Access:
    """Where the API server and the credentials for it are found. Exactly one of three: C(host), C(kubeconfig), or
    neither for the service account of the Pod that we run in.

    :ivar source: what this was taken from, for messages.
    :ivar token: given by the environment; C(token_file) is read when it is needed.
    """

    source: str
    kubeconfig: str | None = None
    context: str | None = None
    host: str | None = None
    token: str | None = dataclasses.field(default=None, repr=False)
    token_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    insecure: bool = False


@dataclasses.dataclass(frozen=True)
class Service:
    """The Service that each proxy gets."""

    type: str
    annotations: t.Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class KubernetesConfig:
    """One checked C(kubernetes:) block; the schema says what each field means.

    :ivar machine_types: what is put into C(resources) of the container, by name; C(default) is always there.
    :ivar lost_node_timeout: seconds, or None for never.
    """

    namespace: str
    all_namespaces: bool = False
    access: Access = Access("")
    request_timeout: float = 30.0
    image: str = DEFAULT_IMAGE
    image_pull_policy: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    machine_types: t.Mapping[str, t.Mapping[str, t.Mapping[str, str]]] = dataclasses.field(default_factory=dict)
    service_account: str | None = None
    priority_class: str | None = None
    tolerations: tuple[t.Mapping[str, t.Any], ...] = ()
    labels: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    annotations: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    spread: str = "prefer"
    host_network: bool = False
    network_policy: bool = False
    service: Service | None = None
    address: str = "pod"
    grace_seconds: int = 10
    lost_node_timeout: float | None = 900.0
    force_delete_lost: bool = False

    @classmethod
    def parse(
        cls,
        entry: str,
        block: t.Mapping[str, t.Any],
        mark_prefix: str,
        environ: t.Mapping[str, str],
    ) -> KubernetesConfig:
        """
        :param entry: configured name of the provider entry, for the messages.
        :param block: satisfies the schema.
        :param environ: the environment variables.
        :raises ArgumentError: one sentence for each fault that the schema can't find.
        """
        given = {key: value for key, value in block.items() if key not in _ACCESS}
        given["access"] = _access(block, environ)
        given["machine_types"] = {DEFAULT_MACHINE_TYPE: DEFAULT_RESOURCES, **block.get("machine_types", {})}
        for key in ("image_pull_secrets", "tolerations"):
            given[key] = tuple(block.get(key, ()))
        if "service" in block:
            service = block["service"]
            given["service"] = Service(service.get("type", "ClusterIP"), service.get("annotations", {}))
        config = cls(**given)
        problems = [f"provider {entry}: kubernetes.{problem}" for problem in _problems(block, config, mark_prefix)]
        if problems:
            raise ArgumentError(problems)
        return config


_BY_HOST = ("token_file", "ca_file", "cert_file", "key_file")
_ACCESS = ("kubeconfig", "context", "host", "insecure", *_BY_HOST)


def _problems(block: t.Mapping[str, t.Any], config: KubernetesConfig, mark_prefix: str) -> t.Iterator[str]:
    if "host" in block:
        for key in ("kubeconfig", "context"):
            if key in block:
                yield f"{key} can't be used with host (allowed: one of the two)"
    else:
        for key in _BY_HOST:
            if key in block:
                yield f"{key} needs host"
    if ("cert_file" in block) != ("key_file" in block):
        yield "cert_file and key_file need each other"
    if config.address == "service" and config.service is None:
        yield "address is 'service', but there is no service (allowed: pod, or give service)"
    if config.host_network and config.network_policy:
        yield "network_policy has no effect on host_network (allowed: one of the two)"
    for key in ("labels", "annotations"):
        for name in block.get(key, ()):
            if name.startswith((f"{mark_prefix}-", "egress-")):
                yield f"{key}: {name!r} is not allowed (names that begin with {mark_prefix}- or egress- are ours)"


def _access(block: t.Mapping[str, t.Any], environ: t.Mapping[str, str]) -> Access:
    """The block comes first, then C(K8S_AUTH_*), then what kubectl would use. What is empty counts as not set."""
    insecure = block.get("insecure", False)
    if "host" in block:
        files = {key: _path(block[key]) for key in _BY_HOST if key in block}
        return Access("host", host=block["host"].rstrip("/"), insecure=insecure, **files)
    context = block.get("context") or environ.get("K8S_AUTH_CONTEXT") or None
    if "kubeconfig" in block:
        return Access("kubeconfig", kubeconfig=_paths(block["kubeconfig"]), context=context, insecure=insecure)
    if environ.get("K8S_AUTH_HOST") and not context:
        return Access(
            "K8S_AUTH_HOST",
            host=environ["K8S_AUTH_HOST"].rstrip("/"),
            token=environ.get("K8S_AUTH_API_KEY") or None,
            ca_file=environ.get("K8S_AUTH_SSL_CA_CERT") or None,
            cert_file=environ.get("K8S_AUTH_CERT_FILE") or None,
            key_file=environ.get("K8S_AUTH_KEY_FILE") or None,
            insecure=insecure,
        )
    for variable in ("K8S_AUTH_KUBECONFIG", "KUBECONFIG"):
        paths = _paths(environ.get(variable, ""))
        if any(path and not _is_empty(path) for path in paths.split(os.pathsep)):
            return Access(variable, kubeconfig=paths, context=context, insecure=insecure)
    default = os.path.join(os.path.expanduser("~"), ".kube", "config")
    is_there = os.path.exists(default) and not _is_empty(default)
    if context or is_there or not environ.get("KUBERNETES_SERVICE_HOST"):
        return Access("the default kubeconfig", kubeconfig=default, context=context, insecure=insecure)
    return Access("the service account of this Pod", insecure=insecure)


def _path(text: str) -> str:
    return os.path.expanduser(os.path.expandvars(text))


def _is_empty(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) == 0


def _paths(text: str) -> str:
    return os.pathsep.join(_path(part) for part in text.split(os.pathsep))
