# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode asks backends what they would refuse; and candidates that share a scope are told apart."""

from __future__ import annotations

import dataclasses

from ansible_collections.crawl.egress.plugins.module_utils._engine.executor import InTurn
from ansible_collections.crawl.egress.plugins.module_utils._engine.ledger import Ledger
from ansible_collections.crawl.egress.plugins.module_utils._engine.observe import Providers
from ansible_collections.crawl.egress.plugins.module_utils._engine.reconcile import Order, OutcomeName, reconcile
from ansible_collections.crawl.egress.plugins.module_utils._models import Placement, Scope, Selector
from ansible_collections.crawl.egress.plugins.module_utils._plan.memory import Wishes
from ansible_collections.crawl.egress.plugins.module_utils._plan.resolve import resolve
from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import Candidate, ProviderEntry
from ansible_collections.crawl.egress.plugins.module_utils._telemetry import ObservedProvider, Recorder
from ansible_collections.crawl.egress.plugins.module_utils.provider import Preflight, ProviderError, Reason
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import Backend, FakeProvider
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.clock import FakeClock
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.world import INSTALL, desired, pool, run_host, spec


class Foreseeing(FakeProvider):
    """Refuses large machines, and can't be asked about port 9."""

    asked = ()

    def preflight(self, request, ctx):
        self.asked = (*self.asked, request.marks.name)
        if request.port == 9:
            raise ProviderError(Reason.UNREACHABLE, "nobody there", op="preflight", provider=self.name)
        return ["Quota: too large"] if request.placement.machine_type == "large" else []


class OneScope(FakeProvider):
    """As namespaces of Kubernetes are: its zones are no scopes, and part of what it makes."""

    def scope_of(self, placement):
        return Scope("zones/a")

    def spec_content(self, placement, port, guest):
        return {**super().spec_content(placement, port, guest), "zone": placement.zone}


def run(provider, wanted, check=False):
    host = run_host(provider.backend.clock, check_mode=check)
    providers = Providers({"one": ObservedProvider(provider, Recorder(), host.clock)}, {})
    order = Order(wanted, Selector(INSTALL), Wishes())
    return reconcile(order, providers, Ledger(None, INSTALL, wanted.pools, print), host, InTurn())


def large(name, **more):
    return spec(name, Candidate("one", Placement(zone="a", machine_type="large")), **more)


def test_each_specification_is_asked_about_once():
    provider = Foreseeing("one", Backend(FakeClock()))
    assert isinstance(provider, Preflight)
    wanted = desired(*pool(3), large("x"), large("y"), large("z", pool="named"), large("w", port=9))
    report = run(provider, wanted, check=True)
    assert [finding.as_result() for finding in report.preflight] == [
        {
            "name": name,
            "namespace": "default",
            "pool": of,
            "slot": 0,
            "provider": "one",
            "scope": "zones/a",
            "proxies": count,
            "message": message,
        }
        for name, of, count, message in (
            ("w", "eu", 1, "could not be tried: nobody there"),
            ("x", "eu", 2, "Quota: too large"),
            ("z", "named", 1, "Quota: too large"),
        )
    ]
    assert sorted(provider.asked) == ["eu-0", "w", "x", "z"]
    assert provider.backend.machines == {}
    assert report.outcome is OutcomeName.CONVERGING


def test_replacements_are_asked_about_and_what_is_right_is_not():
    provider = Foreseeing("one", Backend(FakeClock()))
    run(provider, desired(*pool(2)))
    assert run(provider, desired(*pool(2)), check=True).preflight == []
    report = run(provider, desired(large("eu-0"), *pool(2)[1:]), check=True)
    assert [(f.subject.name, f.message) for f in report.preflight] == [("eu-0", "Quota: too large")]


def test_findings_change_neither_the_plan_nor_a_real_run():
    plain, foreseeing = (cls("one", Backend(FakeClock())) for cls in (FakeProvider, Foreseeing))
    wanted = desired(large("x"))
    assert run(plain, wanted, check=True).intended.plan_id == run(foreseeing, wanted, check=True).intended.plan_id
    assert run(plain, wanted, check=True).preflight == []
    report = run(foreseeing, wanted)
    assert (report.outcome, report.preflight) == (OutcomeName.CONVERGED, [])


def test_an_instance_at_any_candidate_of_one_scope_is_right():
    provider = OneScope("one", Backend(FakeClock()))
    a, b, c = (Candidate("one", Placement(zone=zone)) for zone in "abc")
    assert len(run(provider, desired(spec("x", a, b))).done) == 1
    assert run(provider, desired(spec("x", b, a))).done == []
    (done,) = run(provider, desired(spec("x", b, c))).done
    assert (done.action.verb.value, done.action.cause.value) == ("replace", "drifted")


def test_every_edit_of_an_entry_lifts_a_latch():
    provider = FakeProvider("one", Backend(FakeClock()))
    keys = {
        resolve(dataclasses.replace(desired(spec("x")), providers=(entry,)), {"one": provider}, {})[0].latch_key
        for entry in (
            ProviderEntry("one", "fake", {"namespace": "a"}),
            ProviderEntry("one", "fake", {"namespace": "b"}),
            ProviderEntry("one", "fake", {"namespace": "a", "more": [1]}),
        )
    }
    assert len(keys) == 3
