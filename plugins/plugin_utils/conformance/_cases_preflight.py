# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Preflight: what a Create would be refused for, without doing it. A provider without one is none the worse."""

from __future__ import annotations

from ...module_utils.provider import CreateOutcome, CreateRequest, ErrorClass, Preflight, ProviderError, Reason
from ._bench import Bench, NotApplicable, must, require, told
from .harness import Trouble


def _needs_preflight(bench: Bench) -> None:
    if not bench.provider.has(Preflight):
        raise NotApplicable("the provider is no Preflight")


def _findings(bench: Bench, request: CreateRequest | None = None) -> list[str]:
    found = bench.provider.preflight(request or bench.request(), bench.ctx())
    odd = [each for each in found if not (isinstance(each, str) and each.strip())]
    require(not odd, f"{odd!r} is no sentence")
    return found


@must
def preflight_of_what_is_accepted_finds_nothing(bench: Bench) -> None:
    """A preflight finds nothing where Create would be accepted, whether the name is free or to be used again."""
    _needs_preflight(bench)
    found = _findings(bench)
    require(not found, f"it finds {found}")
    bench.create()
    found = _findings(bench)
    require(not found, f"it finds {found} while there is one of that name")


@must
def preflight_changes_nothing(bench: Bench) -> None:
    """A preflight makes nothing, and leaves an instance of that name as it is."""
    _needs_preflight(bench)
    request = bench.request()
    _findings(bench, request)
    left = [*bench.harness.residue(request.name), *bench.listed()]
    require(not left, f"it has made {', '.join(left)}")
    created = bench.create(request)
    require(created.outcome is CreateOutcome.CREATED, f"Create after it: {created.outcome.value}")
    before = bench.get(created.provider_id)
    _findings(bench, request)
    bench.untouched(before)
    require(bench.listed() == [created.provider_id], f"listed after it: {bench.listed()}")


@must
def preflight_finds_what_create_is_refused_for(bench: Bench) -> None:
    """A preflight says what Create would, of a placement that can never be satisfied and of a quota that is used up."""
    _needs_preflight(bench)
    for refusal in bench.harness.refusals():
        try:
            said = " ".join(_findings(bench, bench.request(placement=refusal.placement)))
        except ProviderError as error:
            require(error.reason is Reason.INVALID_PLACEMENT, f"of {refusal.placement}: {told(error)}")
            said = error.message
        fits = refusal.field in said and refusal.value in said
        require(fits, f"of {refusal.placement} it says {said!r}, naming neither field nor value")
    if Trouble.QUOTA.not_applicable(bench.profile) is None:
        with bench.trouble(Trouble.QUOTA):
            require(bool(_findings(bench)), f"it finds nothing, though {Trouble.QUOTA.what}")


@must
def preflight_that_cannot_ask_does_not_find_nothing(bench: Bench) -> None:
    """A preflight that gets no answer, or is not allowed to ask, fails or says so."""
    _needs_preflight(bench)
    for kind in (Trouble.UNREACHABLE, Trouble.UNAVAILABLE, Trouble.UNAUTHORIZED, Trouble.FORBIDDEN):
        if kind.not_applicable(bench.profile) is None:
            with bench.trouble(kind):
                try:
                    require(bool(_findings(bench)), f"it finds nothing, though {kind.what}")
                except ProviderError as error:
                    wanted = error.error_class in (ErrorClass.TRANSIENT, ErrorClass.PERMANENT)
                    require(wanted, f"it is {told(error)}, though {kind.what}")
