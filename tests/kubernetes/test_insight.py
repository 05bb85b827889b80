# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checker and Diagnoser on a real API server."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._entry import perform
from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes import diagnosis
from ansible_collections.crawl.egress.plugins.module_utils._run import proxy_info
from ansible_collections.crawl.egress.plugins.module_utils.provider import ErrorClass, ProviderError, Reason
from ansible_collections.crawl.egress.tests.kubernetes import outcomes
from ansible_collections.crawl.egress.tests.kubernetes.fleets import document
from ansible_collections.crawl.egress.tests.kubernetes.proxies import (
    HASH,
    ctx,
    no_program,
    provider,
    reference,
    refused,
    request,
)
from ansible_collections.crawl.egress.tests.kubernetes.rbac import permissions, rules
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until


def test_a_check_that_finds_nothing_wrong(namespace) -> None:
    (status,) = provider(namespace, service={}, network_policy=True).check(ctx())
    assert (status.target, status.ready, status.reason) == (f"namespaces/{namespace.name}", True, "Reachable")
    assert status.details["version"].startswith("v1.")
    assert namespace.pods() == []


def test_a_check_of_a_missing_namespace(namespace) -> None:
    absent = f"{namespace.name}-absent"
    (status,) = provider(absent, namespace.kubeconfig).check(ctx())
    assert (status.ready, status.reason) == (False, "NamespaceNotFound")
    assert status.message == f'namespaces "{absent}" not found'


@pytest.mark.parametrize("verb", ["list", "create", "get", "patch", "delete"])
def test_a_check_tells_what_is_not_allowed(namespace, verb) -> None:
    granted = [each for each in permissions("namespace") if (each.resource, each.verb) != ("pods", verb)]
    (status,) = provider(namespace, namespace.service_account(rules(granted))).check(ctx())
    assert (status.ready, status.reason) == (False, "Forbidden")
    assert verb in status.message
    assert "pods" in status.message


def test_a_check_asks_only_for_what_the_entry_uses(namespace) -> None:
    may = namespace.service_account(rules(permissions("namespace")))
    assert provider(namespace, may).check(ctx())[0].ready
    (status,) = provider(namespace, may, service={}, network_policy=True).check(ctx())
    wanted = [f"{verb} {kind}" for kind in ("networkpolicies", "services") for verb in ("create", "get", "patch")]
    assert status.message == "not allowed: " + ", ".join(wanted)


def test_a_check_tells_what_admission_refuses(namespace) -> None:
    spec = {"limits": [{"type": "Container", "max": {"memory": "32Mi"}}]}
    namespace.api.post(f"{namespace.path}/limitranges", {"metadata": {"name": "small"}, "spec": spec})
    lab = provider(namespace)
    (status,) = until("the limit is known", lambda: [s for s in lab.check(ctx()) if not s.ready])
    assert status.reason == "InvalidConfig"
    assert "maximum memory usage per Container is 32Mi" in status.message


def test_a_diagnosis_has_what_a_person_would_look_for(namespace, stand_in) -> None:
    stand_in.becomes(outcomes.crashing(3, "back-off 40s restarting failed container"))
    lab = provider(namespace)
    created = lab.create(request(namespace), ctx())
    name = request(namespace).name
    until("it crashes", lambda: namespace.pod(name)["status"].get("containerStatuses"))
    event = {
        "metadata": {"generateName": "e-"},
        "involvedObject": {"kind": "Pod", "namespace": namespace.name, "name": name, "uid": created.incarnation},
        "type": "Warning",
        "reason": "BackOff",
        "message": f"it was started with {HASH} and https://me:hunter2@host.example/",
        "count": 7,
        "lastTimestamp": "2026-11-29T12:00:00Z",
    }
    namespace.api.post(f"{namespace.path}/events", event)
    text = lab.diagnose(reference(created), ctx())
    for words in (
        f"Pod {namespace.name}/{name}: Running on stand-in",
        "condition Ready=False ContainersNotReady",
        "container squid: waiting, reason CrashLoopBackOff, message back-off 40s restarting failed container",
        "container squid: 3 restarts",
        "2026-11-29T12:00:00Z Warning BackOff (x7): it was started with [hash] and https://[redacted]@host.example/",
        "log: not readable: ",  # nobody has a log here
        "log before the last restart: not readable: ",
    ):
        assert words in text
    assert HASH not in text
    assert "hunter2" not in text


def test_a_diagnosis_of_another_incarnation_is_refused(namespace) -> None:
    lab = provider(namespace)
    created = lab.create(request(namespace), ctx())
    other = dataclasses.replace(reference(created), incarnation="another")
    refused(lambda: lab.diagnose(other, ctx()), Reason.GONE)
    gone = dataclasses.replace(other, provider_id=created.provider_id + "x")
    with pytest.raises(ProviderError) as error:
        lab.diagnose(gone, ctx())
    assert error.value.error_class is ErrorClass.NOT_FOUND


def test_a_diagnosis_is_no_longer_than_it_may_be() -> None:
    text = diagnosis.redact("first line\n" + "x" * 100_000 + "\nlast line")
    assert len(text) <= diagnosis.LONGEST + 4
    assert text.startswith("...\n")
    assert text.endswith("last line")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"crawler:{HASH}", "crawler:[hash]"),
        ("Proxy-Authorization: Basic Y3Jhd2xlcjpzZWNyZXQ=", "Proxy-Authorization: Basic [redacted]"),
        ("authorization: bearer abcdef.123456", "authorization: bearer [redacted]"),
        ("token eyJhbGciOi.eyJpc3MiOi.c2ln used", "token [token] used"),
        ("GET http://me:secret@host/", "GET http://[redacted]@host/"),
        ("an address like me@host.example", "an address like me@host.example"),
    ],
)
def test_secrets_are_taken_out(text, expected) -> None:
    assert diagnosis.redact(text) == expected


def test_a_list_shows_the_diagnoses_that_were_asked_for(namespace) -> None:
    lab = provider(namespace)
    for name in ("one", "two"):
        lab.create(request(namespace, name), ctx())
    entry = document(namespace, namespace, 0)["providers"][0]
    params = {name: spec.get("default") for name, spec in proxy_info.argument_spec().items()}
    asked = {**params, "install": "tests", "providers": [entry], "names": ["two"], "diagnose": True}
    (shown,) = perform(proxy_info, asked, Host(no_program, ""))["instances"]
    assert shown["diagnosis"].startswith(f"Pod {namespace.name}/{request(namespace, 'two').name}: ")
    (plain,) = perform(proxy_info, {**asked, "diagnose": False}, Host(no_program, ""))["instances"]
    assert "diagnosis" not in plain
