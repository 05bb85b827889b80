# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The conformance kit on the fakes, which between them give every answer that the kit makes a difference of."""

from __future__ import annotations

import functools

import pytest

from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import Outcome, cases, run
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.allocated import LockProvider, TaskProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import TellingProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.harness import ClusterHarness, FakeHarness

HOUR = 3600.0

HARNESSES = {
    "names": FakeHarness,
    "names-told-clock-ahead": functools.partial(FakeHarness, TellingProvider, skew=HOUR),
    "tasks": functools.partial(ClusterHarness, TaskProvider),
    "locks": functools.partial(ClusterHarness, LockProvider),
    "locks-clock-behind": functools.partial(ClusterHarness, LockProvider, skew=-HOUR),
}

SILENT = "Create answers with no instance"
#: What does not apply, and the answer of the Profile that says so. Nothing else may be left out.
NAMES = {
    "create-answers-what-get-tells": SILENT,
    "missing-created-at-is-very-old": "created-at: backend-timestamp",
    "get-during-an-operation": "async-ops: none",
    "get-after-a-failed-operation": "async-ops: none",
    "leftovers-are-found-and-removed": "secondary-resources: none",
    "leftovers-in-use-are-left-alone": "secondary-resources: none",
    "unauthorized-is-permanent": "credentials: none",
    "forbidden-is-permanent": "credentials: none",
    "credentials-are-never-seen": "credentials: none",
    **dict.fromkeys((case.id for case in cases() if case.id.startswith("preflight-")), "the provider is no Preflight"),
    **dict.fromkeys((case.id for case in cases() if case.id.startswith("diagnosis-")), "the provider is no Diagnoser"),
}
TOLD = {case: why for case, why in NAMES.items() if why != SILENT}
TASKS = {
    "create-answers-what-get-tells": SILENT,
    "get-of-never-created-is-not-found": "primary-key: allocated-id: an ID can't be made up",
    "delete-of-never-created": "primary-key: allocated-id: an ID can't be made up",
}
LOCKS = {
    **TASKS,
    "create-returns-once-submitted": "create-return: blocking",
    "get-after-a-failed-operation": "async-ops: backend-lock",
    "never-started-is-never-stopped": "provisioning-state: create-blocks",
    "without-an-address-it-is-provisioning": "ip-source: assigned-at-create",
    "leftovers-are-found-and-removed": "secondary-resources: cascade",
    "leftovers-in-use-are-left-alone": "secondary-resources: cascade",
    "list-spares-the-other-scopes": "list-partial: fail-whole",
}
NOT_APPLICABLE = {
    "names": NAMES,
    "names-told-clock-ahead": TOLD,
    "tasks": TASKS,
    "locks": LOCKS,
    "locks-clock-behind": LOCKS,
}


@pytest.mark.parametrize("case", cases(), ids=str)
@pytest.mark.parametrize("harness", HARNESSES)
def test_conformance(harness: str, case) -> None:
    (result,) = run(HARNESSES[harness](), only=[case.id])
    assert result.ok, result.message
    reason = NOT_APPLICABLE[harness].get(case.id)
    assert (result.outcome is Outcome.NOT_APPLICABLE, result.message) == (reason is not None, reason or "")


def test_every_case_applies_to_one_of_them() -> None:
    assert not set(TOLD) & set(TASKS) & set(LOCKS)
