# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Providers that are wrong in one way each are caught by the case that is meant for it, and by no unrelated one."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import Outcome, run
from ansible_collections.crawl.egress.tests.unit.plugins.fakes import broken
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.allocated import TaskProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.harness import ClusterHarness, FakeHarness


@dataclasses.dataclass(frozen=True)
class Catch:
    """:ivar meant: cases that must fail. :ivar consequences: others that may, each for the same reason.

    :ivar words: what the first of the meant cases says.
    """

    meant: tuple[str, ...]
    words: str
    consequences: tuple[str, ...] = ()


ADOPTION = (
    "adoption-of-another-uid",
    "adoption-of-another-install",
    "adoption-of-another-slot",
    "adoption-of-another-pool",
    "unmarked-instance-with-our-name",
)

CATCHES = {
    broken.AdoptsAnything: Catch(ADOPTION, "Create of its name for uid 'another-uid': it returns"),
    broken.TakesAnOutageForGone: Catch(
        ("get-in-an-outage-is-not-not-found",),
        "Get says NotFound though nothing answers",
        ("unreachable-is-transient", "an-error-of-the-backend-is-transient"),
    ),
    broken.SaysGoneTooEarly: Catch(
        ("get-during-delete",),
        "Get says NotFound though a delete is under way",
        (  # they wait for NotFound, and then the name is still taken
            "create-does-not-adopt-the-dying",
            "delete-twice",
            "delete-that-broke-off-is-finished-by-the-next",
            "delete-of-another-incarnation",
            "delete-removes-everything",
            "mark-of-another-incarnation",
            "three-runs-a-collection-and-a-check-at-once",
        ),
    ),
    broken.RunsWithoutAnAddress: Catch(("without-an-address-it-is-provisioning",), "it is Running"),
    broken.AnswersWhatItWasAskedFor: Catch(
        ("create-answers-what-get-tells",), "it is Running at once, and Provisioning for Get"
    ),
    broken.AnswersWithoutLooking: Catch(
        ("create-answers-what-get-tells",), "it is Unknown at once, and Provisioning for Get"
    ),
    broken.AnswersWithATimeOfItsOwn: Catch(
        ("create-answers-what-get-tells",), "it has been so since 0.0 at once, and since None for Get"
    ),
    broken.RemembersWhenItMadeThem: Catch(("uid-and-created-at-are-read-back",), "created_at was"),
    broken.CallsAHoleComplete: Catch(("list-that-is-partial",), "is called complete without"),
    broken.ListsTheUnmarked: Catch(("list-excludes-the-unmarked",), "it is listed for the install"),
    broken.DeletesWhateverHasTheName: Catch(
        ("delete-of-another-incarnation",),
        "Delete of an earlier incarnation says deleting",
        ("create-and-delete-at-once",),
    ),
    broken.LogsWhatItSends: Catch(
        ("guest-is-never-seen",), "a secret is in a log line of crawl.egress.kit-one at level"
    ),
    broken.NeverGivesUp: Catch(
        (
            "cancelled-while-the-backend-hangs",
            "deadline-while-the-backend-hangs",
            "cancelled-before-it-begins",
            "out-of-time-before-it-begins",
        ),
        "get has not ended after",
    ),
    broken.CreatesBlindly: Catch(
        ("repeated-create-adopts", "create-after-a-crash-adopts", "create-and-create-at-once"),
        "it made nodes/n1/vms/1001",
        (  # there is no adoption at all, and names are not unique
            *ADOPTION,
            "adoption-of-the-right-one",
            "create-whose-answer-is-lost-is-taken-up",
            "create-does-not-adopt-the-dying",
            "create-and-delete-at-once",
            "three-runs-a-collection-and-a-check-at-once",
        ),
    ),
    broken.ChecksOnlyWhatWorks: Catch(
        ("check-has-one-entry-per-target",),
        "in an outage it says ['zones/b'], not ['zones/a', 'zones/b']",
        ("check-never-fails-as-a-whole", "check-uses-the-shared-reasons", "check-with-a-context-that-is-over"),
    ),
    broken.FreesItsDiskLast: Catch(
        ("delete-that-broke-off-is-finished-by-the-next",),
        "nothing is left of a Delete that broke off after",
    ),
    broken.TriesForReal: Catch(
        ("preflight-changes-nothing",),
        "it has made n1/",
        ("preflight-finds-what-create-is-refused-for",),
    ),
    broken.TakesSilenceForConsent: Catch(
        ("preflight-that-cannot-ask-does-not-find-nothing",),
        "it finds nothing, though nothing answers",
        (
            "cancelled-while-the-backend-hangs",
            "deadline-while-the-backend-hangs",
            "cancelled-before-it-begins",
            "out-of-time-before-it-begins",
        ),
    ),
    broken.ShowsTheWholeConsole: Catch(("diagnosis-is-short-and-has-no-secrets", "guest-is-never-seen"), "it has 1051"),
    broken.DiagnosesWhoeverHasTheNumber: Catch(
        ("diagnosis-of-another-incarnation-is-not-found",), "of another incarnation: it returns 'it is up"
    ),
    broken.SaysNotFoundInCreate: Catch(("create-never-says-not-found",), "it says NotFound/Gone"),
}


@pytest.mark.parametrize("provider", CATCHES, ids=lambda provider: provider.__name__)
def test_a_broken_provider_is_caught(provider) -> None:
    catch = CATCHES[provider]
    harness = ClusterHarness if issubclass(provider, TaskProvider) else FakeHarness
    results = {result.case_id: result for result in run(harness(provider))}
    failed = {case_id for case_id, result in results.items() if not result.ok}
    assert set(catch.meant) <= failed
    assert failed <= {*catch.meant, *catch.consequences}, [str(results[case_id]) for case_id in failed]
    assert not [str(result) for result in results.values() if result.outcome is Outcome.ERROR]
    assert catch.words in results[catch.meant[0]].message
