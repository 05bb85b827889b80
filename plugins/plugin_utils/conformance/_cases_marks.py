# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Marker: marks on a living instance. Mandatory for a provider that garbage collection serves."""

from __future__ import annotations

import dataclasses

from ...module_utils.provider import HOLD, ErrorClass, InstanceRef, Marker
from ._bench import Bench, NotApplicable, must, ref, require


def _needs_marker(bench: Bench) -> None:
    if not bench.provider.has(Marker):
        raise NotApplicable("the provider is no Marker")


@must
def mark_is_set_and_removed(bench: Bench) -> None:
    """A mark that is set is read back, twice makes no difference, None removes it; the others stay as they are."""
    _needs_marker(bench)
    created = bench.create()
    before = bench.get(created.provider_id).marks
    for value in ("1900000000", "1900000000", "1900000001", None, None):
        bench.provider.set_mark(ref(created), HOLD, value, bench.ctx())
        extra = {} if value is None else {HOLD: value}
        (listed,) = bench.listing().instances
        for marks in (bench.get(created.provider_id).marks, listed.marks):
            wanted = dataclasses.replace(before, extra=extra)
            require(marks == wanted, f"after setting {HOLD} to {value!r} the marks are {marks}")


@must
def mark_of_another_incarnation(bench: Bench) -> None:
    """A mark for an incarnation that is gone is NotFound, and the one that has the name by now does not get it."""
    _needs_marker(bench)
    old = bench.create()
    bench.delete(old)
    bench.gone(old)

    def late(target: InstanceRef) -> None:
        bench.refused(
            lambda: bench.provider.set_mark(target, HOLD, "1900000000", bench.ctx()),
            ErrorClass.NOT_FOUND,
            when="set_mark on what is gone",
        )

    late(ref(old))
    new = bench.create()
    late(ref(old))
    require(not bench.get(new.provider_id).marks.extra, "the new incarnation has the mark")
