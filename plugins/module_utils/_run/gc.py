# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(egress_gc): instances and leftovers of the install that nobody wants."""

from __future__ import annotations

import collections
import typing as t

from .._engine.executor import DaemonThreads
from .._engine.ledger import gc_locked
from .._engine.observe import Providers
from .._errors import EgressError, Reason
from .._gc.plan import DEFAULT_FUSE, Kept, Rules
from .._gc.run import Collection, collect
from .._host import Host
from .._spec.expand import expand_document
from .._spec.narrow import require_not_empty, with_max_deletions
from .._telemetry import Recorder
from .options import Problems, Spec, Types, document_options, document_rules, run_options
from .outcome import scopes_of

RULES: dict[str, t.Any] = {**document_rules(), "required_if": [("collect_task", True, ("live_uids",))]}


def argument_spec() -> Spec:
    return {
        **document_options(),
        "live_uids": {"type": "list", "elements": "str"},
        "collect_task": {"type": "bool", "default": False},
        "min_age": {"type": "int", "default": 600},
        "sightings": {"type": "int", "choices": [1, 2], "default": 2},
        "timeout": {"type": "int", "default": 900},
        **run_options(),
    }


def check(params: t.Mapping[str, t.Any], types: Types) -> None:
    from .._spec.document import check_max_deletions, parse_document

    problems = Problems()
    problems.range(params, "concurrency", 1, 256)
    problems.range(params, "timeout", 1, 86_400)
    problems.range(params, "min_age", 0, 31_536_000)
    problems.refuse()
    desired = parse_document(params["desired"], types)
    check_max_deletions(params["max_deletions"])
    require_not_empty(desired, params["allow_empty"])


def run(params: t.Mapping[str, t.Any], host: Host) -> dict[str, t.Any]:
    """:raises EgressError: a document that can't be trusted, a taken lock, the fuse, failed deletions."""
    desired = with_max_deletions(expand_document(params["desired"]), params["max_deletions"])
    rules = Rules(
        min_age=params["min_age"],
        sightings=params["sightings"],
        live_uids=frozenset(params["live_uids"] or ()),
        collect_task=params["collect_task"],
        max_deletions=desired.policy.max_deletions or DEFAULT_FUSE,
    )
    recorder = Recorder()
    providers = Providers.build(desired.providers, host.types, host, desired.mark_prefix, recorder)
    executor = DaemonThreads(params["concurrency"])
    with gc_locked(None if host.check_mode else params["state_dir"], desired.install):
        collection = collect(desired, rules, providers, host, executor, params["timeout"])
    result = _result(collection, params["results"], host, recorder)
    error = _error(collection)
    if error is not None:
        error.result = result
        raise error
    return result


def _result(collection: Collection, which: str, host: Host, recorder: Recorder) -> dict[str, t.Any]:
    plan = collection.plan
    steps = [step.as_result() for step in plan.steps] if host.check_mode else [d.as_result() for d in collection.done]
    result: dict[str, t.Any] = {
        "changed": bool(plan.now) if host.check_mode else any(d.changed for d in collection.done),
        "actions": [] if which == "none" else steps,
        "kept": []
        if which == "none"
        else [k.as_result() for k in plan.kept if which == "all" or k.reason is not Kept.LIVE],
        "counts": dict(sorted(collections.Counter(k.reason.value for k in plan.kept).items())),
        "plan": {"id": plan.plan_id, "destructive": plan.destructive},
        "plan_id": plan.plan_id,
        "failures": [{**d.step.about, **d.error.as_result()} for d in collection.done if d.error is not None],
        "scopes": scopes_of(collection.listings),
        "calls": recorder.summary(),
    }
    if host.diff:
        result["diff"] = [_diff(step.as_result()) for step in plan.now]
    return result


def _diff(step: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    subject = {key: step.get(key) for key in ("provider", "provider_id", "leftover_id", "uid", "pool") if step.get(key)}
    title = f"{step['verb']}: {step['note']}"
    after = {} if step["verb"].startswith("delete") else {**subject, "quarantine": step["verb"] == "quarantine"}
    return {"before_header": title, "after_header": title, "before": subject, "after": after}


def _error(collection: Collection) -> EgressError | None:
    if collection.plan.fuse is not None:
        return EgressError(Reason.FUSE_TRIPPED, collection.plan.fuse)
    failed = [d for d in collection.done if d.error is not None and d.step.deletes]
    if failed:
        first = failed[0].error
        what = f"{len(failed)} of {sum(s.deletes for s in collection.plan.now)} deletions failed"
        return EgressError(Reason.DELETIONS_FAILED, f"{what}: {first.message if first else ''}")
    silent = [row for row in scopes_of(collection.listings) if row["completeness"] == "failed"]
    if silent:
        names = ", ".join(f"{row['provider']} {row['scope'] or ''}".strip() for row in silent)
        return EgressError(Reason.INCOMPLETE_EVIDENCE, f"nothing was collected from {names}: {silent[0]['message']}")
    return None
