# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""From a report of the engine to the result of a task, for every module that changes something."""

from __future__ import annotations

import typing as t

from .._engine.executor import DaemonThreads
from .._engine.ledger import Ledger
from .._engine.observe import Providers
from .._engine.reconcile import Order, OutcomeName, Report, reconcile, unreachable
from .._errors import EgressError, Reason
from .._host import Host
from .._models import Listing
from .._plan.evidence import Listings
from .._plan.model import Action, Status, Verb
from .._telemetry import Recorder

#: How each outcome that is not a success is reported when nothing more specific is known.
_REASONS = {
    OutcomeName.NEEDS_ATTENTION: Reason.NEEDS_ATTENTION,
    OutcomeName.INCOMPLETE_EVIDENCE: Reason.INCOMPLETE_EVIDENCE,
}


def carry_out(order: Order, params: t.Mapping[str, t.Any], host: Host) -> tuple[Report, dict[str, t.Any]]:
    """Run an order; returns the report and what every module says of it.

    :raises EgressError: for an outcome that fails the task, with the result in C(error.result).
    """
    recorder = Recorder()
    desired = order.desired
    providers = Providers.build(desired.providers, host.types, host, desired.mark_prefix, recorder)
    ledger = Ledger(params["state_dir"], desired.install, desired.pools, host.warn, desired.uid)
    report = reconcile(order, providers, ledger, host, DaemonThreads(params["concurrency"]))
    for note in report.final.notes:
        host.warn(note)
    return report, _result(report, order, host, recorder)


def error_of(report: Report) -> EgressError | None:
    """Why the task fails, or None. One underlying error is told as it is; several are summed up."""
    if report.stopped is not None:
        return _with_what_is_missing(report.stopped, report)
    reason = _REASONS.get(report.outcome)
    if reason is None:
        return None
    if report.final.fuse:
        return EgressError(Reason.FUSE_TRIPPED, "; ".join(report.final.fuse))
    errors = [f.error for f in report.failures]
    if report.outcome is OutcomeName.INCOMPLETE_EVIDENCE:
        errors += unreachable(report.listings)
    others = {r.subject.uid for r in report.final.blocked} - {f.subject.uid for f in report.failures}
    if len(errors) == 1 and not others:
        return errors[0]
    return EgressError(reason, _summary(report))


def _with_what_is_missing(stopped: EgressError, report: Report) -> EgressError:
    """That the time was up says nothing about why."""
    missing = _summary(report)
    if stopped.reason is not Reason.WAIT_TIMEOUT or not missing:
        return stopped
    return EgressError(stopped.reason, f"{stopped.message}: {missing}")


def _summary(report: Report) -> str:
    plan = report.final
    lines = [f"{r.subject}: {r.reason}: {r.message}" for r in plan.blocked]
    lines += [
        f"{f.subject}: {f.error.message}"
        for f in report.failures
        if f.subject.uid not in {r.subject.uid for r in plan.blocked}
    ]
    lines += plan.gaps
    if not lines:
        lines = [f"{r.subject}: {r.message or r.status.value}" for r in plan.reports if r.status is not Status.RUNNING]
    shown = lines[:_SHOWN]
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(shown) + more


#: How many faults the message of a task names; all of them stand in its result.
_SHOWN = 5


def _result(report: Report, order: Order, host: Host, recorder: Recorder) -> dict[str, t.Any]:
    intended, final = report.intended, report.final
    if host.check_mode:
        changed = bool(intended.now) or (order.wait and intended.pending and bool(intended.actions))
        actions = [action.as_result() for action in intended.actions]
    else:
        changed = any(done.changed for done in report.done)
        actions = [done.as_result() for done in report.done]
        actions += [{**action.as_result(), "result": []} for action in final.actions]
    result = {
        "changed": changed,
        "outcome": report.outcome.value,
        "plan": intended.as_result(),
        "plan_id": intended.plan_id,
        "actions": actions,
        "counts": final.counts(),
        "blocked": [r.as_result() for r in final.blocked],
        "failures": [f.as_result() for f in report.failures],
        "released": [r.as_result() for r in final.released],
        "scopes": scopes_of(report.listings),
        "calls": recorder.summary(),
    }
    if host.check_mode:
        result["preflight"] = [finding.as_result() for finding in report.preflight]
    if host.diff:
        result["diff"] = [_diff(action) for action in intended.actions]
    return result


def scopes_of(listings: Listings) -> list[dict[str, t.Any]]:
    """Every scope that was asked, and how far its answer can be believed; a provider that did not answer has none."""
    rows: list[dict[str, t.Any]] = []
    for name, listing in sorted(listings.items()):
        if isinstance(listing, Listing):
            rows += [
                {"provider": name, "scope": s.name, **status.as_result()}
                for s, status in sorted(listing.scopes.items())
            ]
        else:
            failed = {"completeness": "failed", "reason": listing.reason.wire, "message": listing.message}
            rows.append({"provider": name, "scope": None, **failed})
    return rows


def _diff(action: Action) -> dict[str, t.Any]:
    """One proxy before and after: comparable fields only, so no times, no addresses, no secrets."""
    title = f"{action.subject} ({action.verb.value}, {action.cause.value}, {action.when.value})"
    instance = action.instance
    before = {}
    after = {}
    if instance is not None:
        before = {
            "provider": instance.provider,
            "scope": instance.scope.name,
            "state": instance.state.value,
            "spec_hash": instance.marks.spec_hash,
            "pool": instance.marks.pool,
        }
    if action.verb is Verb.MARK and action.mark is not None:
        key, value = action.mark
        before[key] = instance.marks.extra.get(key) if instance else None
        after = {**before, key: value}
    elif action.verb is not Verb.DELETE and action.place is not None:
        after = {
            "provider": action.provider,
            "scope": action.scope.name if action.scope else None,
            "state": "Running",
            "spec_hash": action.place.digest,
            "pool": action.subject.pool,
        }
    return {"before_header": title, "after_header": title, "before": before, "after": after}
