# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The providers of one run, and asking them what exists."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._context import Context
from .._errors import ArgumentError, EgressError, ErrorClass, ProviderError
from .._host import Host
from .._models import Instance, Listing, Selector
from .._plan.evidence import Listings
from .._spec.desired import ProviderEntry
from .._telemetry import ObservedProvider, Recorder
from ..provider import ProviderType
from .executor import Executor, Job

#: What the backends get for the lists of a task that asks for nothing else.
LIST_SECONDS = 120.0

#: From so many instances of one provider on, one list is cheaper than a get for each.
LIST_FROM = 8


@dataclasses.dataclass(frozen=True)
class Providers:
    """:ivar broken: entries that could not be built (a missing SDK), and why; they cost only their own proxies."""

    ready: t.Mapping[str, ObservedProvider]
    broken: t.Mapping[str, EgressError]

    @classmethod
    def build(
        cls,
        entries: t.Iterable[ProviderEntry],
        types: t.Mapping[str, ProviderType],
        host: Host,
        mark_prefix: str,
        recorder: Recorder,
    ) -> Providers:
        """Never dials.

        :raises ArgumentError: with all that is wrong in the configuration of any entry.
        """
        ready: dict[str, ObservedProvider] = {}
        broken: dict[str, EgressError] = {}
        problems: list[str] = []
        for entry in entries:
            try:
                provider = types[entry.type].build(entry.name, entry.config, host.for_providers(mark_prefix))
            except ArgumentError as error:
                problems.extend(error.problems)
            except EgressError as error:
                broken[entry.name] = error
            else:
                ready[entry.name] = ObservedProvider(provider, recorder, host.clock)
        if problems:
            raise ArgumentError(problems)
        return cls(ready, broken)


def observe(
    providers: Providers, selector: Selector, ctx: Context, executor: Executor
) -> dict[str, Listing | EgressError]:
    """One C(list_by_tag) per provider, concurrently."""
    return {**providers.broken, **_lists(providers, sorted(providers.ready), selector, ctx, executor)}


def refresh(
    listings: Listings,
    stale: t.Mapping[Touched, Instance | None],
    providers: Providers,
    selector: Selector,
    ctx: Context,
    executor: Executor,
) -> tuple[dict[str, Listing | EgressError], list[EgressError]]:
    """Look again at what has changed or may have: a get for each, or one list where that is cheaper.

    Returns the listings as they are now, and what went wrong; where something did, the older answer stands.

    :param stale: what it is about; with the instance where the call that changed it has told it, which spares a look.
    """
    unknown = sorted(item for item, instance in stale.items() if instance is None)
    count = collections.Counter(item.provider for item in unknown)
    again = sorted(name for name in count if count[name] >= LIST_FROM)
    result = dict(listings)
    _put(result, {item: instance for item, instance in stale.items() if instance is not None})
    troubles = []
    for name, answer in _lists(providers, again, selector, ctx, executor).items():
        if isinstance(answer, Listing):
            result[name] = answer
        else:
            troubles.append(answer)
    one_by_one = [item for item in unknown if item.provider not in again]
    jobs = [_get_job(providers.ready[item.provider], item.provider_id, ctx) for item in one_by_one]
    found: dict[Touched, Instance | None] = {}
    for outcome in executor.run(jobs, ctx):
        if outcome.value is not None or _is_gone(outcome.error):
            found[one_by_one[outcome.index]] = outcome.value
        elif outcome.error is not None:
            troubles.append(outcome.error)
    _put(result, found)
    for name in sorted({item.provider for item in stale}):
        _forget_elsewhere(name, listings[name], result)
    return result, troubles


@dataclasses.dataclass(frozen=True, order=True)
class Touched:
    """One instance whose state is about to change."""

    provider: str
    provider_id: str


def _lists(
    providers: Providers, names: t.Sequence[str], selector: Selector, ctx: Context, executor: Executor
) -> dict[str, Listing | EgressError]:
    def job(provider: ObservedProvider) -> Job[Listing]:
        return Job("list", provider.name, lambda: provider.list_by_tag(selector, ctx))

    answers: dict[str, Listing | EgressError] = {}
    for outcome in executor.run([job(providers.ready[name]) for name in names], ctx):
        answer = outcome.error or outcome.value
        if answer is not None:
            answers[names[outcome.index]] = answer
    return answers


def _get_job(provider: ObservedProvider, provider_id: str, ctx: Context) -> Job[Instance]:
    return Job("get", provider.name, lambda: provider.get(provider_id, ctx))


def _is_gone(error: EgressError | None) -> bool:
    return isinstance(error, ProviderError) and error.error_class is ErrorClass.NOT_FOUND


def _forget_elsewhere(name: str, earlier: Listing | EgressError, result: dict[str, Listing | EgressError]) -> None:
    """Two entries may show the same scope: what one of them has just seen to be gone is gone for the others too."""
    result.update(without(result, _incarnations(earlier) - _incarnations(result[name])))


def without(listings: Listings, gone: t.AbstractSet[tuple[str, str]]) -> dict[str, Listing | EgressError]:
    """The listings but for what does not exist any more, by name and incarnation."""
    result = dict(listings)
    for name, listing in listings.items():
        if isinstance(listing, Listing) and gone & _incarnations(listing):
            left = tuple(i for i in listing.instances if (i.name, i.incarnation) not in gone)
            result[name] = dataclasses.replace(listing, instances=left)
    return result


def _incarnations(listing: Listing | EgressError) -> set[tuple[str, str]]:
    return {(i.name, i.incarnation) for i in listing.instances} if isinstance(listing, Listing) else set()


def _put(listings: dict[str, Listing | EgressError], found: t.Mapping[Touched, Instance | None]) -> None:
    """Exchange, add, or (None) take out instances."""
    for name in sorted({item.provider for item in found}):
        mine = {item.provider_id: instance for item, instance in found.items() if item.provider == name}
        there = tuple(instance for instance in mine.values() if instance is not None)
        listing = listings[name]
        if isinstance(listing, Listing):
            others = tuple(i for i in listing.instances if i.provider_id not in mine)
            listings[name] = dataclasses.replace(listing, instances=(*others, *there))
        elif there:
            listings[name] = Listing(there, {})
