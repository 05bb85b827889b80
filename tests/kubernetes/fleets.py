# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whole runs of C(egress_fleet) in this process, as its action plugin makes them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ansible_collections.crawl.egress.plugins.module_utils._entry import perform
from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._run import fleet
from ansible_collections.crawl.egress.tests.kubernetes.gate import Gate
from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
from ansible_collections.crawl.egress.tests.kubernetes.proxies import ENTRY, IMAGE, SQUID, no_program


def document(
    access: Namespace | Gate | Mapping[str, Any],
    namespace: Namespace | str,
    replicas: int,
    *,
    policy: Mapping[str, Any] | None = None,
    install: str = "tests",
    **config: Any,
) -> dict[str, Any]:
    """One pool in one namespace. :param access: whose kubeconfig, or the gate, or the options themselves."""
    if isinstance(access, Namespace):
        access = {"kubeconfig": str(access.kubeconfig)}
    elif isinstance(access, Gate):
        access = {"host": access.url, "token_file": str(access.token_file)}
    name = namespace.name if isinstance(namespace, Namespace) else namespace
    block = {"namespace": name, "request_timeout": 5, **access, **IMAGE, **config}
    return {
        "install": install,
        "providers": [{"name": ENTRY, "type": "kubernetes", "kubernetes": block}],
        "pools": [{"name": "pool", "replicas": replicas}],
        "squid": dict(SQUID),
        "policy": dict(policy or {}),
    }


def converge(desired: Mapping[str, Any], *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    """The task's result."""
    params = {name: spec.get("default") for name, spec in fleet.argument_spec().items()}
    params.update({"desired": desired, "wait_timeout": 60, "wait_sleep": 0.5, "results": "all", **options})
    return perform(fleet, params, Host(no_program, "", check_mode=check_mode))


class Converging(threading.Thread):
    """A run under way in a thread of its own."""

    def __init__(self, desired: Mapping[str, Any], **options: Any) -> None:
        super().__init__(daemon=True)
        self._desired = desired
        self._options = options
        self._result: dict[str, Any] = {}
        self.start()

    def run(self) -> None:
        self._result = converge(self._desired, **self._options)

    def result(self) -> dict[str, Any]:
        self.join(120)
        assert not self.is_alive(), "the run does not end"
        return self._result


def told(result: Mapping[str, Any]) -> str:
    """What a person would read."""
    return f"{result.get('outcome')}: {result.get('msg')} {result.get('counts')}"
