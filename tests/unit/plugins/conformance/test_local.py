# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The conformance kit on C(local), with real Squid processes."""

from __future__ import annotations

import pytest

from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import Outcome, cases, run
from ansible_collections.crawl.egress.tests.unit.plugins.conformance.local_harness import LocalHarness

#: What does not apply, and the answer of the Profile that says so. Nothing else may be left out.
NOT_APPLICABLE = {
    "create-answers-what-get-tells": "Create answers with no instance",
    "location-is-not-hashed": "placement: no location",
    "create-refuses-what-can-never-be": "placement: ignored",
    "get-during-an-operation": "async-ops: none",
    "get-after-a-failed-operation": "async-ops: none",
    "unrecognised-status-is-stopped": "client-kind: subprocess",
    "what-cannot-be-told-is-unknown": "client-kind: subprocess",
    "without-an-address-it-is-provisioning": "ip-source: assigned-at-create",
    "leftovers-are-found-and-removed": "secondary-resources: none",
    "leftovers-in-use-are-left-alone": "secondary-resources: none",
    "list-spares-the-other-scopes": "the provider has one scope only",
    "too-many-requests-is-quota-exceeded": "client-kind: subprocess",
    "unauthorized-is-permanent": "credentials: none",
    "forbidden-is-permanent": "credentials: none",
    "credentials-are-never-seen": "credentials: none",
    **dict.fromkeys((case.id for case in cases() if case.id.startswith("preflight-")), "the provider is no Preflight"),
    **dict.fromkeys((case.id for case in cases() if case.id.startswith("diagnosis-")), "the provider is no Diagnoser"),
}


@pytest.mark.parametrize("case", cases(), ids=str)
def test_conformance(case, tmp_path) -> None:
    (result,) = run(LocalHarness(tmp_path / "local"), only=[case.id])
    assert result.ok, result.message
    reason = NOT_APPLICABLE.get(case.id)
    assert (result.outcome is Outcome.NOT_APPLICABLE, result.message) == (reason is not None, reason or "")
