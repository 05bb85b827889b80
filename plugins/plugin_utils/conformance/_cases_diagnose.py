# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Diagnoser: what a person would look at first. A provider without one is none the worse."""

from __future__ import annotations

import dataclasses

from ...module_utils.provider import Created, Diagnoser, ErrorClass
from ._bench import SECRET, Bench, NotApplicable, must, ref, require
from .harness import Trouble

#: "Some 16,000 characters at most".
_LONGEST = 17_000


def _needs_diagnoser(bench: Bench) -> None:
    if not bench.provider.has(Diagnoser):
        raise NotApplicable("the provider is no Diagnoser")


def _diagnosis(bench: Bench, created: Created) -> str:
    return bench.provider.diagnose(ref(created), bench.ctx())


@must
def diagnosis_says_something_and_changes_nothing(bench: Bench) -> None:
    """A diagnosis of an instance, serving or not, has some words, and leaves it as it is."""
    _needs_diagnoser(bench)
    created = bench.create()
    before = bench.running(created)
    require(bool(_diagnosis(bench, created).strip()), "it says nothing of an instance that runs")
    with bench.trouble(Trouble.DEAD, created.provider_id):
        require(bool(_diagnosis(bench, created).strip()), f"it says nothing, though {Trouble.DEAD.what}")
    bench.untouched(before)


@must
def diagnosis_is_short_and_has_no_secrets(bench: Bench) -> None:
    """A diagnosis has some 16,000 characters at most, and no password hash, whatever the instance has logged."""
    _needs_diagnoser(bench)
    created = bench.create()
    bench.running(created)
    with bench.trouble(Trouble.VERBOSE, created.provider_id):
        text = _diagnosis(bench, created)
    require(len(text) <= _LONGEST, f"it has {len(text)} characters")
    require(SECRET not in text and "k" * 40 not in text, "it quotes a password hash")


@must
def diagnosis_of_another_incarnation_is_not_found(bench: Bench) -> None:
    """A diagnosis of an incarnation that is gone is NotFound, whether its name is free or used again."""
    _needs_diagnoser(bench)
    created = bench.create()
    other = dataclasses.replace(created, incarnation=f"{created.incarnation}0")
    bench.refused(lambda: _diagnosis(bench, other), ErrorClass.NOT_FOUND, when="of another incarnation")
    bench.delete(created)
    bench.gone(created)
    bench.refused(lambda: _diagnosis(bench, created), ErrorClass.NOT_FOUND, when="of what is gone")


@must
def diagnosis_in_an_outage_is_not_not_found(bench: Bench) -> None:
    """A diagnosis of what can't be looked at fails, and never says NotFound."""
    _needs_diagnoser(bench)
    created = bench.create()
    with bench.trouble(Trouble.UNREACHABLE):
        bench.refused(
            lambda: _diagnosis(bench, created),
            ErrorClass.TRANSIENT,
            ErrorClass.PERMANENT,
            when="in a scope that does not answer",
        )
