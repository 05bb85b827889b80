# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Profile: what a provider declares about itself, along the axes of the provider spec template.

The conformance kit reads it to know which cases apply; a provider's filled spec is checked against it. This file is
part of the public, versioned provider API; import its names from C(provider.py).
"""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Profile:
    """One answer per axis. The words are the template's; C(docs/provider-spec-template.md) explains each.

    :ivar placement: the placement fields that are used; the others are ignored, not hashed, and named in the guide.
    """

    type: str
    contract_version: int
    placement: tuple[t.Literal["region", "zone", "machine_type", "image"], ...]
    cloud_init: t.Literal["user-data", "seed", "file", "not-delivered"]
    primary_key: t.Literal["name-is-key", "allocated-id"]
    readiness: t.Literal["immediate", "provisioning-window"]
    ip_source: t.Literal["assigned-at-create", "discovered"]
    gc_mark: t.Literal["native-labels", "written-metadata", "mark-window"]
    created_at: t.Literal["backend-timestamp", "written-at-create"]
    provisioning_state: t.Literal["native", "create-blocks", "marker"]
    create_return: t.Literal["submit", "blocking"]
    async_ops: t.Literal["none", "task-handle", "backend-lock"]
    delete_return: t.Literal["returns-early", "waits"]
    secondary_resources: t.Literal["none", "cascade", "explicit"]
    list_partial: t.Literal["fail-whole", "omit-unreachable", "report-scopes"]
    list_cost: t.Literal["one-call", "per-scope", "per-instance-rpc"]
    not_found: t.Literal["status-404", "error-code", "list-and-miss"]
    quota: t.Literal["detected", "absent"]
    credentials: t.Literal["none", "mounted-files", "environment", "workload-identity"]
    client_kind: t.Literal["vendor-sdk", "thin-client", "rpc-over-ssh", "subprocess"]
    child_spans: t.Literal["sdk-instrumentation", "transport-wrapper", "span-decorator", "none"]
    timeouts: t.Literal["per-call", "ctx-only"]
    logging: t.Literal["tiered", "outcome-only", "none"]
    backend_test: t.Literal["cluster-e2e", "integration-tag", "manual-runbook", "checked-double", "real-backend"]

    def answers(self) -> dict[str, str]:
        """Axis, as the template spells it, to the answer."""
        rows = dataclasses.asdict(self)
        del rows["type"], rows["contract_version"]
        rows["placement"] = ", ".join(self.placement) or "ignored"
        return {key.replace("_", "-"): value for key, value in rows.items()}
