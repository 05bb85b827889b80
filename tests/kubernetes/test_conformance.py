# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The conformance kit on C(kubernetes), with a real API server."""

from __future__ import annotations

import pytest

from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import Outcome, cases, run
from ansible_collections.crawl.egress.tests.kubernetes.harness import KubernetesHarness

#: What does not apply, and the answer of the Profile that says so. Nothing else may be left out.
NOT_APPLICABLE = {
    "ignored-placement-is-not-hashed": "placement: every field is used",
    "missing-created-at-is-very-old": "created-at: backend-timestamp",
    "get-during-an-operation": "async-ops: none",
    "get-after-a-failed-operation": "async-ops: none",
    "list-spares-the-other-scopes": "the provider has one scope only",
}


@pytest.mark.parametrize("case", cases(), ids=str)
def test_conformance(case, namespace, any_stand_in, gate) -> None:
    (result,) = run(KubernetesHarness(namespace, any_stand_in, gate), only=[case.id])
    assert result.ok, result.message
    reason = NOT_APPLICABLE.get(case.id)
    assert (result.outcome is Outcome.NOT_APPLICABLE, result.message) == (reason is not None, reason or "")
