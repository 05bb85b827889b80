# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(egress_proxy_info): one, some or all instances, and how far the list can be believed."""

from __future__ import annotations

import typing as t

from .._engine.executor import DaemonThreads, Job
from .._engine.observe import LIST_SECONDS, Providers, observe
from .._host import Host
from .._models import Instance, Selector
from .._plan.evidence import Evidence
from .._spec.expand import expand_providers
from .._telemetry import Recorder
from ..provider import Diagnoser
from .options import Spec, Types, provider_options, state_names
from .outcome import scopes_of

RULES: dict[str, t.Any] = {}


def argument_spec() -> Spec:
    return {
        **provider_options(),
        "names": {"type": "list", "elements": "str"},
        "uids": {"type": "list", "elements": "str"},
        "pools": {"type": "list", "elements": "str"},
        "states": {"type": "list", "elements": "str", "choices": state_names()},
        "foreign": {"type": "bool", "default": False},
        "diagnose": {"type": "bool", "default": False},
    }


def check(params: t.Mapping[str, t.Any], types: Types) -> None:
    from .._spec.document import parse_providers

    parse_providers(params["install"], params["providers"], params["mark_prefix"], types)


def run(params: t.Mapping[str, t.Any], host: Host) -> dict[str, t.Any]:
    """A backend that does not answer is told by C(scopes) and fails nothing."""
    install = params["install"]
    entries = expand_providers(params["providers"])
    recorder = Recorder()
    providers = Providers.build(entries, host.types, host, params["mark_prefix"], recorder)
    uids = params["uids"] or ()
    selector = Selector(
        install=None if params["foreign"] else install,
        pools=tuple(params["pools"] or ()),
        uid=uids[0] if len(uids) == 1 else None,
    )
    listings = observe(providers, selector, host.context(LIST_SECONDS), DaemonThreads(len(entries)))
    found = Evidence.of(listings, frozenset()).instances
    shown = [i for i in sorted(found, key=_order) if _wanted(i, params)]
    rows = [_row(i, install) for i in shown]
    if params["diagnose"]:
        for row, text in zip(rows, _diagnoses(shown, providers, host)):
            row["diagnosis"] = text
    return {
        "changed": False,
        "instances": rows,
        "scopes": scopes_of(listings),
        "calls": recorder.summary(),
    }


def _diagnoses(instances: t.Sequence[Instance], providers: Providers, host: Host) -> list[str | None]:
    """What a person would look at first, for each instance; None where its provider can't tell."""
    texts: list[str | None] = [None] * len(instances)
    ctx = host.context(LIST_SECONDS)
    able = [n for n, i in enumerate(instances) if isinstance(providers.ready[i.provider].inner, Diagnoser)]

    def job(instance: Instance) -> Job[str]:
        provider = providers.ready[instance.provider]
        return Job("diagnose", provider.name, lambda: provider.diagnose(instance.ref, ctx))

    for outcome in DaemonThreads(8).run([job(instances[n]) for n in able], ctx):
        texts[able[outcome.index]] = f"not available: {outcome.error.message}" if outcome.error else outcome.value
    return texts


def _wanted(instance: Instance, params: t.Mapping[str, t.Any]) -> bool:
    marks = instance.marks
    return (
        _among({marks.name, f"{marks.namespace}/{marks.name}"}, params["names"])
        and _among({marks.uid}, params["uids"])
        and _among({marks.pool}, params["pools"])
        and _among({instance.state.value}, params["states"])
    )


def _among(values: set[str], filter_: t.Sequence[str] | None) -> bool:
    """No filter lets everything through, and an empty one nothing."""
    return filter_ is None or not values.isdisjoint(filter_)


def _order(instance: Instance) -> tuple[t.Any, ...]:
    marks = instance.marks
    return marks.install, marks.namespace, marks.name, marks.slot, instance.provider, instance.provider_id


def _row(instance: Instance, install: str) -> dict[str, t.Any]:
    return {**instance.as_result(), "foreign": instance.marks.install != install}
