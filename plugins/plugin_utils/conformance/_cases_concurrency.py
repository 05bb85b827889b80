# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Several at once: one provider object serves many threads, and one backend many runs."""

from __future__ import annotations

import functools
import random
import typing as t
from collections.abc import Sequence

from ...module_utils._engine.executor import DaemonThreads
from ...module_utils._engine.ledger import Ledger
from ...module_utils._engine.observe import Providers
from ...module_utils._engine.reconcile import Order, OutcomeName, Report, reconcile
from ...module_utils._gc.plan import Rules
from ...module_utils._gc.run import Collection, collect
from ...module_utils._host import Host
from ...module_utils._plan.memory import Wishes
from ...module_utils._spec.desired import Candidate, Desired, Limit, Policy, ProxySpec
from ...module_utils._telemetry import ObservedProvider, Recorder
from ...module_utils.provider import (
    Checker,
    Created,
    CreateOutcome,
    Deleted,
    ErrorClass,
    ProviderError,
    Reason,
    Selector,
)
from ._bench import Bench, Guarded, errors_in, must, require, told

_CROWD = 4
_DAY = 86_400


def _only_transient(outcomes: Sequence[t.Any], what: str) -> list[t.Any]:
    """Those that succeeded."""
    for error in errors_in(outcomes):
        require(error.error_class is ErrorClass.TRANSIENT, f"{what} at once: {told(error)}")
    succeeded = [outcome for outcome in outcomes if not isinstance(outcome, ProviderError)]
    require(bool(succeeded), f"{what} at once: none succeeds")
    return succeeded


@must
def create_and_create_at_once(bench: Bench) -> None:
    """Creates of one name at once make one instance; each returns it, or is Transient."""
    builds = [bench.provider, bench.build()]
    calls = [("create", functools.partial(_create, bench, builds[i % 2])) for i in range(_CROWD)]
    made: list[Created] = _only_transient(bench.together(*calls), "Creates")
    ids = bench.listed()
    require(len(ids) == 1, f"there are several now: {ids}")
    for each in made:
        require([each.provider_id] == ids, f"one of them returns {each.provider_id}, there is {ids}")
    (instance,) = bench.listing().instances
    require({each.incarnation for each in made} == {instance.incarnation}, "they return several incarnations")
    fresh = [each for each in made if each.outcome is CreateOutcome.CREATED]
    require(len(fresh) <= 1, f"{len(fresh)} of them say created")


def _create(bench: Bench, provider: Guarded) -> Created:
    return provider.create(bench.request(), bench.ctx())


@must
def delete_and_delete_at_once(bench: Bench) -> None:
    """Deletes of one instance at once all succeed, or are Transient, and it is gone."""
    created = bench.create()
    outcomes = bench.together(*[("delete", lambda: bench.delete(created))] * _CROWD)
    succeeded: list[Deleted] = _only_transient(outcomes, "Deletes")
    require(all(isinstance(each, Deleted) for each in succeeded), f"Deletes return {succeeded}")
    bench.gone(created)


@must
def create_and_delete_at_once(bench: Bench) -> None:
    """A Create and a Delete of one name at once leave either nothing or one instance; one made anew survives."""
    for _unused in range(_CROWD):
        old = bench.create()
        outcomes = bench.together(("create", bench.create), ("delete", functools.partial(bench.delete, old)))
        _only_transient(outcomes, "a Create and a Delete")
        made = outcomes[0]
        if isinstance(made, Created) and made.incarnation != old.incarnation:
            kept = bench.get(made.provider_id)
            require(kept.incarnation == made.incarnation, "the Delete of the old one took the new one")
        left = bench.listed()
        require(len(left) <= 1, f"there are several now: {left}")
        for instance in bench.listing().instances:
            bench.provider.delete(instance.ref, bench.ctx())
        bench.until(lambda: not bench.listed(), "everything is gone")


@must
def three_runs_a_collection_and_a_check_at_once(bench: Bench) -> None:
    """Three runs of the engine, a garbage collection and a check at once disturb each other in nothing."""
    orphan = bench.create(bench.request("orphan", pool="orphans"))
    fleet = _Fleet(bench)
    calls: list[tuple[str, t.Any]] = [("a run", fleet.run)] * 3
    calls.append(("a collection", fleet.collect))
    if bench.provider.has(Checker):
        calls.append(("a check", lambda: bench.provider.check(bench.ctx())))
    outcomes = bench.together(*calls)
    for error in errors_in(outcomes[3:]):
        require(error.error_class is ErrorClass.TRANSIENT, f"beside the runs: {told(error)}")
    for report in outcomes[:4]:
        for failure in report.failures:
            error = failure.error
            require(error is not None and error.reason is not Reason.BUG, f"a run or a collection: {error}")
    last = fleet.run()
    require(last.outcome is OutcomeName.CONVERGED, f"a run afterwards: {last.outcome.value}, {last.failures}")
    fleet.collect()
    bench.gone(orphan)
    found = sorted(instance.marks.name for instance in bench.listing().instances)
    require(found == fleet.names, f"there are {found}, not {fleet.names}")
    again = fleet.run()
    require(not again.done, f"another run has something to do: {[done.as_result() for done in again.done]}")


class _Fleet:
    """Three proxies as the engine wants them."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.names = ["f0", "f1", "f2"]
        requests = [bench.request(name, index % len(bench.places)) for index, name in enumerate(self.names)]
        self._desired = Desired(
            install=bench.install,
            specs=tuple(
                ProxySpec(
                    uid=request.marks.uid,
                    install=bench.install,
                    namespace="default",
                    name=request.marks.name,
                    pool="kit",
                    port=request.port,
                    candidates=(Candidate(bench.harness.name, request.placement),),
                    guest=request.guest,
                )
                for request in requests
            ),
            pools=("kit",),
            policy=Policy(),
            generation=bench.request().marks.generation,
        )
        self._providers = Providers(
            {bench.harness.name: ObservedProvider(bench.provider.inner, Recorder(), bench.harness.clock)}, {}
        )

    def _host(self) -> Host:
        clock = self._bench.harness.clock
        return Host(_no_program, "", clock=clock, random=random.Random(7), cancel=self._bench.cancel)

    def collect(self) -> Collection:
        """Every orphan at once, however young; the backend's clock may be ahead."""
        rules = Rules(min_age=-_DAY, sightings=1, max_deletions=Limit(percent=100))
        settle = self._bench.harness.settle
        return collect(self._desired, rules, self._providers, self._host(), DaemonThreads(2), settle)

    def run(self) -> Report:
        harness, host = self._bench.harness, self._host()
        order = Order(
            self._desired,
            Selector(self._bench.install, pools=("kit",)),
            Wishes(),
            wait_timeout=harness.settle,
            wait_sleep=0.2,
        )
        ledger = Ledger(None, self._bench.install, ("kit",), host.warn)
        return reconcile(order, self._providers, ledger, host, DaemonThreads(2))


def _no_program(argv: Sequence[str], *, stdin: str = "") -> tuple[int, str, str]:
    raise NotImplementedError(f"the engine starts no program: {argv[0]}")
