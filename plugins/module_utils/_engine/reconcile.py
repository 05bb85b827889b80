# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""One run: observe, plan, apply, observe what was touched; again until it has converged, is stuck or out of time."""

from __future__ import annotations

import dataclasses
import enum
import typing as t

from .._context import Context
from .._errors import EgressError, ErrorClass, ProviderError, Reason
from .._host import Host
from .._models import Instance, Listing, Selector
from .._plan.evidence import Evidence, Listings
from .._plan.fleet import observed_counts, plan
from .._plan.memory import Failure, Memory, Sighting, Wishes, sighted, worth_sighting
from .._plan.model import Plan, Status
from .._plan.resolve import Slot, resolve
from .._spec.desired import Desired
from .executor import Executor
from .ledger import Ledger
from .observe import Providers, Touched, observe, refresh, without
from .progress import Progress

if t.TYPE_CHECKING:
    from .apply import Done
    from .preflight import Finding

FIRST_POLL = 0.2


class OutcomeName(enum.Enum):
    CONVERGED = "converged"
    CONVERGING = "converging"
    NEEDS_ATTENTION = "needs_attention"
    INCOMPLETE_EVIDENCE = "incomplete_evidence"
    LOCKED = "locked"


@dataclasses.dataclass(frozen=True)
class Order:
    """What one run is asked to do.

    :ivar selector: pushed down to every list.
    :ivar wait_sleep: seconds; polls start at 0.2 s and double up to it.
    :ivar expect_plan: destructive actions that were approved; None for no such limit.
    """

    desired: Desired
    selector: Selector
    wishes: Wishes
    wait: bool = True
    wait_timeout: float = 900.0
    wait_sleep: float = 5.0
    expect_plan: t.Sequence[t.Mapping[str, t.Any]] | None = None


@dataclasses.dataclass
class Report:
    """How a run went.

    :ivar intended: the plan of the first pass: what check mode shows and diff renders.
    :ivar final: the plan of the last look: what is left to do.
    :ivar failures: what went wrong and has not been made good since.
    :ivar stopped: why the run ended before it was done, if it did.
    :ivar preflight: in check mode, what backends would refuse.
    """

    intended: Plan
    final: Plan
    done: list[Done]
    listings: Listings
    failures: list[Failure] = dataclasses.field(default_factory=list)
    stopped: EgressError | None = None
    preflight: list[Finding] = dataclasses.field(default_factory=list)

    @property
    def outcome(self) -> OutcomeName:
        plan = self.final
        if plan.converged:
            return OutcomeName.CONVERGED
        waiting = all(_is_quota(f.error) for f in self.failures)
        if plan.fuse or plan.blocked or not waiting:
            return OutcomeName.NEEDS_ATTENTION
        if plan.gaps or any(r.status is Status.UNKNOWN for r in plan.reports):
            return OutcomeName.INCOMPLETE_EVIDENCE
        return OutcomeName.CONVERGING


def reconcile(order: Order, providers: Providers, ledger: Ledger, host: Host, executor: Executor) -> Report:
    """Raises Locked, C(StateDir) errors and what C(host.cancel) causes; everything else is in the report."""
    if host.check_mode:
        return _Run(order, providers, ledger, host, executor).predict()
    with ledger.locked():
        return _Run(order, providers, ledger, host, executor).converge()


class _Run:
    def __init__(self, order: Order, providers: Providers, ledger: Ledger, host: Host, executor: Executor) -> None:
        self._order = order
        self._providers = providers
        self._ledger = ledger
        self._host = host
        self._executor = executor
        self._ctx: Context = host.context(order.wait_timeout)
        self._slots: tuple[Slot, ...] = resolve(order.desired, providers.ready, providers.broken)
        self._memory: Memory = ledger.load(keep_damaged=host.check_mode)
        for uid in order.wishes.retry:
            self._memory.latches.pop(uid, None)
        self._progress = Progress(host)
        self._listings: Listings = {}
        self._done: list[Done] = []

    def predict(self) -> Report:
        """The plan of a real run, and what the backends would say to it."""
        from .preflight import preflight

        self._begin()
        intended = self._plan()
        findings = preflight(intended, self._providers.ready, self._ctx, self._executor)
        self._stop_if_cancelled()
        stopped = self._unexpected(intended)
        return Report(intended, intended, [], self._listings, stopped=stopped, preflight=findings)

    def converge(self) -> Report:
        self._begin()
        intended = current = self._plan()
        pause = FIRST_POLL
        stopped: EgressError | None = None
        while True:
            stopped = self._unexpected(current)
            if stopped is not None:
                break
            touched = self._apply(current)
            if current.now:
                pause = FIRST_POLL
            elif self._order.wait and current.pending:
                stopped = self._sleep(pause)
                pause = min(pause * 2, max(self._order.wait_sleep, FIRST_POLL))
            else:
                break
            if stopped is None:
                self._look_again(current, touched)
            current = self._plan()
            if stopped is not None or not self._order.wait:
                break
        self._progress.show(current, final=True)
        return Report(intended, current, self._done, self._listings, self._failures(current), stopped)

    def _begin(self) -> None:
        self._listings = observe(self._providers, self._order.selector, self._ctx, self._executor)
        self._stop_if_cancelled()
        self._memory.baseline = observed_counts(self._order.desired, self._listings)

    def _plan(self) -> Plan:
        now = self._host.clock.now()
        self._remember(now)
        made = plan(self._order.desired, self._slots, self._listings, self._memory, self._order.wishes, now)
        self._progress.show(made)
        return made

    def _unexpected(self, current: Plan) -> EgressError | None:
        """Rule 7: any plan whose destructive actions are a subset of what was approved is accepted."""
        if self._order.expect_plan is None:
            return None
        extra = [action for action in current.destructive if action not in self._order.expect_plan]
        if not extra:
            return None
        names = ", ".join(f"{a['verb']} {a['namespace']}/{a['name']} ({a['cause']})" for a in extra)
        return EgressError(Reason.PLAN_MOVED, f"expect_plan does not contain: {names}", unexpected=extra)

    def _apply(self, current: Plan) -> dict[Touched, Instance | None]:
        """:returns: what was touched, and what the backends said of it by the way."""
        touched: dict[Touched, Instance | None] = {}
        if current.now:
            from .apply import apply  # here, since a run that has nothing to do would compile it for nothing

            failed = 0
            gone: set[tuple[str, str]] = set()
            results = apply(
                current.now, self._providers.ready, self._memory, self._ctx, self._executor, self._host.random
            )
            for count, done in enumerate(results, 1):
                self._done.append(done)
                touched.update(done.touched)
                gone |= done.gone
                failed += done.error is not None
                self._progress.step(current, count, failed)
            self._listings = without(self._listings, gone)
            self._save()
        self._stop_if_cancelled()
        return touched

    def _look_again(self, current: Plan, touched: t.Mapping[Touched, Instance | None]) -> None:
        moving = [r.instance for r in current.reports if r.pending and r.instance is not None] + list(current.leaving)
        stale = {**dict.fromkeys(Touched(i.provider, i.provider_id) for i in moving), **touched}
        self._listings, troubles = refresh(
            self._listings, stale, self._providers, self._order.selector, self._ctx, self._executor
        )
        self._stop_if_cancelled()
        for trouble in troubles:
            self._progress.say(f"could not look again: {trouble.message}")

    def _sleep(self, seconds: float) -> EgressError | None:
        """Wait for the next poll; an error when that would be after the deadline."""
        if seconds >= self._ctx.remaining():
            message = f"wait_timeout: not converged after {self._order.wait_timeout:.0f} s"
            return EgressError(Reason.WAIT_TIMEOUT, message)
        self._ctx.sleep(seconds)
        self._stop_if_cancelled()
        return None

    def _remember(self, now: float) -> None:
        """Note when what may time out was first seen; forget the rest."""
        sightings = {}
        for instance in self._instances():
            if worth_sighting(instance):
                since = self._memory.since(instance, now)
                sightings[instance.marks.uid] = Sighting(instance.incarnation, sighted(instance), since)
        changed = sightings != self._memory.sightings
        self._memory.sightings = sightings
        if changed:
            self._save()

    def _save(self) -> None:
        if not self._host.check_mode:
            pool_of = {i.marks.uid: i.marks.pool for i in self._instances()}
            pool_of.update({slot.spec.uid: slot.spec.pool for slot in self._slots})
            self._ledger.save(self._memory, pool_of)

    def _instances(self) -> list[Instance]:
        return [i for found in Evidence.of(self._listings, frozenset()).by_uid.values() for i in found]

    def _stop_if_cancelled(self) -> None:
        if self._host.cancel.is_set():
            error = EgressError(Reason.CANCELLED, "the run was cancelled; the next run takes up what was begun")
            error.result = {
                "changed": any(d.changed for d in self._done),
                "actions": [d.as_result() for d in self._done],
            }
            raise error

    def _failures(self, final: Plan) -> list[Failure]:
        """What has not been made good, each proxy once."""
        open_uids = {r.subject.uid for r in final.reports if r.status is not Status.RUNNING or r.pending}
        open_uids |= {a.subject.uid for a in final.actions}
        return [f for f in self._memory.failures.values() if f.subject.uid in open_uids]


def _is_quota(error: EgressError) -> bool:
    return isinstance(error, ProviderError) and error.error_class is ErrorClass.QUOTA_EXCEEDED


def unreachable(listings: Listings) -> list[EgressError]:
    """Of each provider that did not answer at all its error, and of each scope that failed one."""
    errors: list[EgressError] = []
    for name, listing in sorted(listings.items()):
        if not isinstance(listing, Listing):
            errors.append(listing)
            continue
        for scope, status in sorted(listing.scopes.items()):
            if not status.complete:
                reason = next((r for r in Reason if r.wire == status.reason and r.error_class), Reason.UNCLASSIFIED)
                message = f"provider {name}, {scope.name}: {status.completeness.value}, {status.message}"
                errors.append(ProviderError(reason, message, op="list", provider=name, scope=scope.name))
    return errors
