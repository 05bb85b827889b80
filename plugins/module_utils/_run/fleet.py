# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(egress_fleet): the whole desired state in one call."""

from __future__ import annotations

import datetime
import re
import typing as t

from .._engine.ledger import Locked
from .._engine.reconcile import Order, OutcomeName, Report
from .._host import Host
from .._models import Listing, Scope, Selector
from .._names import derived_uid
from .._plan.memory import Wishes
from .._plan.model import Status
from .._spec.desired import DEFAULT_NAMESPACE, Desired
from .._spec.expand import expand_document
from .._spec.narrow import require_not_empty, select, with_max_deletions
from .options import (
    Problems,
    Spec,
    Types,
    check_run_options,
    document_options,
    document_rules,
    run_options,
    wait_options,
)
from .outcome import carry_out, error_of

RULES: dict[str, t.Any] = document_rules()


def argument_spec() -> Spec:
    return {
        **document_options(),
        "only": {"type": "list", "elements": "str"},
        "expect_plan": {"type": "list", "elements": "dict"},
        "assume_gone": {"type": "list", "elements": "str"},
        "hold": {
            "type": "list",
            "elements": "dict",
            "options": {
                "name": {"type": "str", "required": True},
                "namespace": {"type": "str", "default": "default"},
                "until": {"type": "str", "required": True},
            },
        },
        "skip_cleanup": {"type": "list", "elements": "str"},
        "retry": {"type": "list", "elements": "str"},
        **run_options(),
        **wait_options(),
    }


def check(params: t.Mapping[str, t.Any], types: Types) -> None:
    from .._spec.document import check_max_deletions, parse_document

    whole = parse_document(params["desired"], types)
    check_max_deletions(params["max_deletions"])
    _order(params, whole)


def run(params: t.Mapping[str, t.Any], host: Host) -> dict[str, t.Any]:
    """:raises EgressError: every outcome that fails the task, with the result so far."""
    order = _order(params, expand_document(params["desired"]))
    try:
        report, result = carry_out(order, params, host)
    except Locked as locked:
        locked.result = {"changed": False, "outcome": OutcomeName.LOCKED.value}
        raise
    result["proxies"] = _proxies(report, params["results"])
    for name in _vain_holds(order, params["hold"] or (), report):
        host.warn(f"hold: {name} is no proxy of this run, neither desired nor there; nothing is held")
    error = error_of(report)
    if error is not None:
        error.result = result
        raise error
    return result


def _order(params: t.Mapping[str, t.Any], whole: Desired) -> Order:
    """:raises ArgumentError: options that don't fit the document."""
    desired = with_max_deletions(select(whole, params["only"] or ()), params["max_deletions"])
    names = _Names(whole)
    problems = Problems()
    check_run_options(params, problems)
    if params["only"] == []:  # what an expression finds that finds nothing, and never meant for everything
        problems.found.append("only: must not be empty (leave it out for all pools)")
    wishes = Wishes(
        assume_gone=frozenset(problems.each("assume_gone", params["assume_gone"], lambda text: _scope(text, whole))),
        hold=dict(problems.each("hold", params["hold"], names.hold)),
        skip_cleanup=dict(problems.each("skip_cleanup", params["skip_cleanup"], names.undesired)),
        retry=frozenset(problems.each("retry", params["retry"], names.desired)),
    )
    problems.refuse()
    require_not_empty(desired, params["allow_empty"])
    return Order(
        desired=desired,
        # All pools, unless told otherwise: a proxy that moved from one pool to another must be seen.
        selector=Selector(desired.install, pools=desired.pools if params["only"] else ()),
        wishes=wishes,
        wait=params["wait"],
        wait_timeout=params["wait_timeout"],
        wait_sleep=params["wait_sleep"],
        expect_plan=params["expect_plan"],
    )


class _Names:
    """What the user calls a proxy, C(name) or C(namespace/name), and its UID."""

    def __init__(self, desired: Desired) -> None:
        self._install = desired.install
        self._uids = {(spec.namespace, spec.name): spec.uid for spec in desired.specs}

    def desired(self, text: str) -> str:
        key = _split(text)
        if key not in self._uids:
            raise ValueError(f"{text!r} is not in the document")
        return self._uids[key]

    def undesired(self, text: str) -> tuple[str, tuple[str, str]]:
        key = _split(text)
        if key in self._uids:
            raise ValueError(f"{text!r} is still desired; take it out of the document first")
        return self._uid(key), key

    def hold(self, row: t.Mapping[str, t.Any]) -> tuple[str, float]:
        """Desired or not: a hold protects from collection too."""
        return self._uid((row["namespace"], row["name"])), _time(row["until"])

    def _uid(self, key: tuple[str, str]) -> str:
        namespace, name = key
        return self._uids.get(key) or derived_uid(self._install, namespace, name)


def _split(text: str) -> tuple[str, str]:
    namespace, slash, name = text.rpartition("/")
    if not name or (slash and not namespace):
        raise ValueError(f"{text!r} is not allowed (name or namespace/name)")
    return namespace or DEFAULT_NAMESPACE, name


def _scope(text: str, desired: Desired) -> tuple[str, Scope]:
    provider, _colon, scope = text.partition(":")
    known = [entry.name for entry in desired.providers]
    if not scope or provider not in known:
        raise ValueError(f"{text!r} is not allowed (provider:scope, the provider one of: {', '.join(known)})")
    return provider, Scope(scope)


def _time(text: str) -> float:
    """ISO 8601; without an offset it is UTC."""
    try:
        moment = datetime.datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
    except ValueError:
        raise ValueError(f"until: {text!r} is not allowed (an ISO 8601 time such as 2027-01-31T18:00:00Z)") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)).timestamp()


def _vain_holds(order: Order, rows: t.Sequence[t.Mapping[str, t.Any]], report: Report) -> t.Iterator[str]:
    """More often a slip of the pen than a wish. Where a backend did not answer, nobody knows."""
    listings = report.listings.values()
    if not all(isinstance(answer, Listing) and all(s.complete for s in answer.scopes.values()) for answer in listings):
        return
    seen = {i.marks.uid for answer in listings if isinstance(answer, Listing) for i in answer.instances}
    seen |= {r.subject.uid for r in report.final.reports}
    names = _Names(order.desired)
    for row in rows:
        if names.hold(row)[0] not in seen:
            yield f"{row['namespace']}/{row['name']}"


def _proxies(report: Report, which: str) -> list[dict[str, t.Any]]:
    """C(changed): those that something was done to, is to be done to, or that do not serve."""
    if which == "none":
        return []
    concerned = {done.action.subject.uid for done in report.done}
    concerned |= {action.subject.uid for action in (*report.intended.actions, *report.final.actions)}
    return [
        r.as_result()
        for r in report.final.reports
        if which == "all" or r.subject.uid in concerned or r.status is not Status.RUNNING
    ]
