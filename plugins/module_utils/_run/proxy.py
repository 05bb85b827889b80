# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(egress_proxy): one proxy of the pool C(task)."""

from __future__ import annotations

import typing as t

from .._engine.reconcile import Order
from .._host import Host
from .._models import Selector
from .._plan.memory import Wishes
from .._spec.expand import expand_single
from .options import Problems, Spec, Types, check_run_options, provider_options, run_options, wait_options
from .outcome import carry_out, error_of

RULES: dict[str, t.Any] = {"mutually_exclusive": [("squid", "cloud_init")]}


def argument_spec() -> Spec:
    return {
        **provider_options(),
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str", "default": "default"},
        "uid": {"type": "str"},
        "provider": {"type": "str"},
        "port": {"type": "int"},
        "placement": {"type": "dict"},
        "squid": {"type": "dict"},
        "cloud_init": {"type": "str", "no_log": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        **run_options(),
        **wait_options(),
    }


def check(params: t.Mapping[str, t.Any], types: Types) -> None:
    from .._spec.document import parse_single

    problems = Problems()
    check_run_options(params, problems)
    problems.refuse()
    parse_single(params, types)


def run(params: t.Mapping[str, t.Any], host: Host) -> dict[str, t.Any]:
    """:raises EgressError: every outcome that fails the task, with the result so far."""
    desired = expand_single(params)
    order = Order(
        desired=desired,
        selector=Selector(desired.install, uid=desired.uid),
        wishes=Wishes(),
        wait=params["wait"],
        wait_timeout=params["wait_timeout"],
        wait_sleep=params["wait_sleep"],
    )
    report, result = carry_out(order, params, host)
    # One proxy: what a fleet counts and lists is told by the one row.
    for key in ("counts", "blocked", "released"):
        del result[key]
    result["proxy"] = next((r.as_result() for r in report.final.reports), None)
    error = error_of(report)
    if error is not None:
        error.result = result
        raise error
    return result
