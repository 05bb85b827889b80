# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What API servers answer, as the reasons of the contract.

C(answers.json) holds answers that were captured from version 1.20.2, and three from others: a gateway's, and that of
the admission plug-in PodSecurity, which is younger.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.errors import (
    Fault,
    Refusal,
    classify,
)
from ansible_collections.crawl.egress.plugins.module_utils.provider import ErrorClass, Reason

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text())
NAMES = {"provider": "lab", "provider_id": "namespaces/proxies/pods/x", "scope": "namespaces/proxies"}

TABLE = [
    ("wrong token", "list", Reason.UNAUTHORIZED, "does not accept the credentials"),
    ("no token", "list", Reason.UNAUTHORIZED, "system:anonymous"),
    ("rbac create", "create", Reason.FORBIDDEN, 'cannot create resource "pods"'),
    ("rbac get", "get", Reason.FORBIDDEN, 'cannot get resource "pods"'),
    ("rbac list everywhere", "list", Reason.FORBIDDEN, "at the cluster scope"),
    ("rbac path", "check", Reason.FORBIDDEN, "/metrics"),
    ("quota", "create", Reason.QUOTA, "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1"),
    ("quota dry run", "create", Reason.QUOTA, "exceeded quota: few"),
    ("quota wants requests", "create", Reason.INVALID_CONFIG, "must specify limits.memory,requests.cpu"),
    ("limit range", "create", Reason.INVALID_CONFIG, "maximum memory usage per Container is 32Mi, but limit is 64Mi"),
    ("pod security", "create", Reason.INVALID_CONFIG, 'violates PodSecurity "restricted:latest"'),
    ("no such account", "create", Reason.INVALID_CONFIG, 'serviceaccount "absent" not found'),
    ("no such priority", "create", Reason.INVALID_CONFIG, "no PriorityClass with name absent"),
    ("namespace terminating", "create", Reason.BUSY, "because it is being terminated"),
    ("no such namespace", "create", Reason.INVALID_CONFIG, 'namespaces "absent" not found'),
    ("no such pod", "get", Reason.GONE, 'pods "absent" not found'),
    ("no such pod", "create", Reason.BUSY, 'pods "absent" not found'),
    ("no such resource", "list", Reason.API_ERROR, "404 page not found"),
    ("page of a gateway", "get", Reason.API_ERROR, "HTTP 404 from something that does not talk like an API server"),
    ("gateway without a backend", "list", Reason.API_ERROR, "upstream connect error"),
    ("already exists", "create", Reason.BUSY, 'pods "taken" already exists'),
    ("other uid on delete", "delete", Reason.BUSY, "the UID in the precondition"),
    ("other version on patch", "mark", Reason.BUSY, "the object has been modified"),
    ("no containers", "create", Reason.INVALID_CONFIG, "spec.containers: Required value"),
    ("request above limit", "create", Reason.INVALID_CONFIG, "spec.containers[0].resources.requests: Invalid value"),
    ("bad label on patch", "mark", Reason.INVALID_CONFIG, "metadata.labels: Invalid value: "),
    ("immutable", "mark", Reason.INVALID_CONFIG, "spec: Forbidden: pod updates may not change fields"),
    ("bad quantity", "create", Reason.INVALID_CONFIG, "quantities must match the regular expression"),
    ("huge secret", "create", Reason.INVALID_CONFIG, "data: Too long: must have at most 1048576 bytes"),
    ("very huge secret", "create", Reason.INVALID_CONFIG, "Request entity too large"),
    ("wrong content type", "mark", Reason.INVALID_CONFIG, "Unsupported Media Type"),
    ("bad selector", "list", Reason.INVALID_CONFIG, "unable to parse requirement"),
    ("method not allowed", "create", Reason.INVALID_CONFIG, "does not allow this method"),
    ("continue expired", "list", Reason.API_ERROR, "The provided continue parameter is too old"),
    ("too many requests", "create", Reason.RATE_LIMITED, "Too many requests, please try again later."),
    ("etcd is dead", "list", Reason.TIMEOUT, "request did not complete within 1m0s"),
    ("malformed secret", "create", Reason.INVALID_CONFIG, "illegal base64 data at input byte 7"),
    ("other resource version on delete", "delete", Reason.BUSY, "the ResourceVersion in the precondition"),
    ("other uid on patch", "mark", Reason.INVALID_CONFIG, "metadata.uid: Invalid value"),
]


def refusal(name: str) -> Refusal:
    answer = ANSWERS[name]
    body = answer["body"]
    text = body if isinstance(body, str) else json.dumps(body)
    return Refusal.from_answer(answer["code"], text.encode(), answer.get("headers", {}))


@pytest.mark.parametrize(("name", "op", "reason", "words"), TABLE, ids=[f"{row[0]} ({row[1]})" for row in TABLE])
def test_answers(name, op, reason, words):
    error = classify(refusal(name), op=op, **NAMES)
    assert error.reason is reason
    assert words in error.message
    assert len(error.message) <= 510
    assert "\n" not in error.message
    assert (error.op, error.provider, error.provider_id, error.scope) == (op, *NAMES.values())


def test_every_captured_answer_is_in_the_table():
    assert {row[0] for row in TABLE} == set(ANSWERS)


def test_only_the_api_server_can_say_that_a_pod_is_gone():
    assert classify(refusal("no such pod"), op="delete", **NAMES).error_class is ErrorClass.NOT_FOUND
    for name in set(ANSWERS) - {"no such pod"}:
        for op in ("get", "delete", "mark", "list", "create"):
            assert classify(refusal(name), op=op, **NAMES).error_class is not ErrorClass.NOT_FOUND, (name, op)


def test_the_default_service_account_of_a_new_namespace_comes_by_itself():
    body = ANSWERS["no such account"]["body"]
    message = body["message"].replace("absent", "default")
    text = json.dumps({**body, "message": message}).encode()
    assert classify(Refusal.from_answer(403, text, {}), op="create", **NAMES).reason is Reason.BUSY


@pytest.mark.parametrize("code", [400, 403, 409, 422])
def test_a_webhook_may_refuse_with_any_code(code):
    message = 'admission webhook "policy.example" denied the request: no proxies here'
    body = json.dumps({"kind": "Status", "message": message, "reason": "Whatever", "code": code})
    error = classify(Refusal.from_answer(code, body.encode(), {}), op="create", **NAMES)
    assert (error.reason, error.message) == (Reason.INVALID_CONFIG, message)


def test_a_webhook_that_fails_is_tried_again():
    body = json.dumps({"kind": "Status", "message": 'failed calling webhook "policy.example": EOF', "code": 500})
    error = classify(Refusal.from_answer(500, body.encode(), {}), op="create", **NAMES)
    assert error.error_class is ErrorClass.TRANSIENT


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [({"Retry-After": "1"}, {}, 1.0), ({}, {"retryAfterSeconds": 3}, 3.0), ({"Retry-After": "Mon, 30 Nov"}, {}, None)],
)
def test_the_time_that_the_server_asks_for(headers, details, seconds):
    body = json.dumps({"kind": "Status", "message": "later", "details": details}).encode()
    assert classify(Refusal.from_answer(429, body, headers), op="list", **NAMES).retry_after == seconds


def test_nothing_of_a_malformed_secret_is_repeated():
    error = classify(refusal("malformed secret"), op="create", **NAMES)
    assert "$5$" not in json.dumps(error.as_result())
    assert "hash" not in error.message


def test_faults_keep_their_reason():
    error = classify(Fault(Reason.UNREACHABLE, "nobody there"), op="list", **NAMES)
    assert (error.reason, error.message, error.retry_after) == (Reason.UNREACHABLE, "nobody there", None)


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'{"details": null}', b"\xff\xfe", b'{"details": {"causes": [{}]}}']
)
@pytest.mark.parametrize("code", [302, 401, 403, 404, 409, 410, 418, 422, 429, 500, 502, 503, 504, 599])
def test_any_answer_has_a_reason(code, body):
    error = classify(Refusal.from_answer(code, body, {}), op="get", **NAMES)
    assert error.message
    assert error.error_class is not ErrorClass.NOT_FOUND
