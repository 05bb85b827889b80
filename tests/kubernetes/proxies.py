# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Providers and requests as the engine makes them, for one namespace of a cluster."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._names import derived_uid, instance_name
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.provider import (
    KubernetesProvider,
    build,
)
from ansible_collections.crawl.egress.plugins.module_utils._squid.model import SquidConfig
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Context,
    Created,
    CreateRequest,
    Guest,
    Instance,
    InstanceRef,
    Listing,
    Marks,
    Placement,
    ProviderError,
    ProviderHost,
    Reason,
    Scope,
    Selector,
)
from ansible_collections.crawl.egress.tests.kubernetes.gate import Gate
from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

ENTRY = "lab"
ANYWHERE = Placement()
#: Of the password C(secret), in the form that Squid's helper reads.
HASH = "$5$FkV6zyOqvMmhXLLk$KbM7sAaCm/4QedcOUc7fvPVb6ZM5TWiogcOl8l7yOHD"
SQUID = {"users": [{"name": "crawler", "password_hash": HASH}], "allowed_sources": ["127.0.0.0/8", "10.0.0.0/8"]}


def no_program(argv: Sequence[str], *, stdin: str = "") -> tuple[int, str, str]:
    raise AssertionError(f"the provider starts {argv[0]}")


HOST = ProviderHost(no_program, "")
#: On a cluster of the user's Pods really run, with this image.
IMAGE = {"image": os.environ["EGRESS_TEST_KUBERNETES_IMAGE"]} if "EGRESS_TEST_KUBERNETES_IMAGE" in os.environ else {}


def ctx(seconds: float = 60) -> Context:
    return Context.within(seconds)


def provider(namespace: Namespace | str, kubeconfig: Path | None = None, **config: Any) -> KubernetesProvider:
    """A provider of a namespace; with the namespace's own kubeconfig unless another one, or a host, is given."""
    if isinstance(namespace, Namespace):
        kubeconfig = kubeconfig or namespace.kubeconfig
        namespace = namespace.name
    access = {} if "host" in config else {"kubeconfig": str(kubeconfig)}
    return build(ENTRY, {"namespace": namespace, **access, **IMAGE, **config}, HOST)


def request(
    namespace: Namespace | str,
    name: str = "one",
    *,
    placement: Placement = ANYWHERE,
    squid: Mapping[str, Any] | None = None,
    port: int = 3128,
    **marks: Any,
) -> CreateRequest:
    install = marks.pop("install", "tests")
    uid = derived_uid(install, "default", name)
    wanted = Marks(
        uid=uid,
        install=install,
        namespace="default",
        name=name,
        pool="pool",
        provider=ENTRY,
        port=port,
        spec_hash="0123456789abcdef" * 2,
        spec_version=1,
        generation=7,
    )
    where = namespace.name if isinstance(namespace, Namespace) else namespace
    return CreateRequest(
        name=instance_name(uid),
        scope=Scope(f"namespaces/{where}"),
        placement=placement,
        port=port,
        guest=Guest(squid=SquidConfig.from_document(squid or SQUID)),
        marks=dataclasses.replace(wanted, **marks),
    )


def reference(created: Created) -> InstanceRef:
    return InstanceRef(created.provider_id, created.incarnation)


def listing(of: KubernetesProvider, install: str | None = "tests", **selector: Any) -> Listing:
    return of.list_by_tag(Selector(install, **selector), ctx())


def wait_for(of: KubernetesProvider, created: Created, what: str, condition: Any, seconds: float = 60) -> Instance:
    """The instance, as soon as it is as wanted."""

    def look() -> Instance | None:
        instance = of.get(created.provider_id, ctx())
        return instance if condition(instance) else None

    return until(what, look, seconds)


def through(gate: Gate, namespace: Namespace | str, **config: Any) -> KubernetesProvider:
    """A provider whose requests go through a gate, as the administrator."""
    return provider(namespace, host=gate.url, token_file=str(gate.token_file), **config)


def refused(call: Callable[[], Any], reason: Reason) -> ProviderError:
    """The error of a call that must fail for this reason."""
    with pytest.raises(ProviderError) as raised:
        call()
    assert raised.value.reason is reason, raised.value.as_result()
    assert raised.value.provider == ENTRY
    return raised.value
