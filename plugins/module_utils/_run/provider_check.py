# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(egress_provider_check_info): whether the backends would serve us."""

from __future__ import annotations

import typing as t

from .._engine.check import Verdict, check_all
from .._engine.executor import DaemonThreads
from .._engine.observe import Providers
from .._host import Host
from .._spec.expand import expand_providers
from .._telemetry import Recorder
from .options import Problems, Spec, Types, provider_options

RULES: dict[str, t.Any] = {}


def argument_spec() -> Spec:
    return {
        **provider_options(),
        "names": {"type": "list", "elements": "str"},
        "timeout": {"type": "int", "default": 30},
    }


def check(params: t.Mapping[str, t.Any], types: Types) -> None:
    from .._spec.document import parse_providers

    entries = parse_providers(params["install"], params["providers"], params["mark_prefix"], types)
    known = [entry.name for entry in entries]

    def existing(name: str) -> str:
        if name not in known:
            raise ValueError(f"there is no provider {name!r} (allowed: {', '.join(known)})")
        return name

    problems = Problems()
    problems.range(params, "timeout", 1, 3600)
    problems.each("names", params["names"], existing)
    problems.refuse()


def run(params: t.Mapping[str, t.Any], host: Host) -> dict[str, t.Any]:
    """What the checks find fails nothing."""
    entries = expand_providers(params["providers"])
    # No filter lets everything through, and an empty one nothing.
    asked = [entry for entry in entries if params["names"] is None or entry.name in params["names"]]
    recorder = Recorder()
    providers = Providers.build(asked, host.types, host, params["mark_prefix"], recorder)
    checks = check_all(asked, providers, host.context(params["timeout"]), DaemonThreads(len(asked)))
    return {
        "changed": False,
        "healthy": all(check.verdict is not Verdict.FAILED for check in checks),
        "checks": [check.as_result() for check in checks],
        "calls": recorder.summary(),
    }
