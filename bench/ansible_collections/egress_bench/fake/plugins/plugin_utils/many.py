# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A provider type that has as many instances as it is told, of ten pools."""

from __future__ import annotations

import typing as t

from ansible_collections.crawl.egress.plugins.module_utils import provider as contract

SCOPE = contract.Scope("zones/a")
PROFILE = contract.Profile(
    type="egress_bench.fake.many",
    contract_version=contract.CONTRACT_VERSION,
    placement=(),
    cloud_init="not-delivered",
    primary_key="name-is-key",
    readiness="immediate",
    ip_source="assigned-at-create",
    gc_mark="native-labels",
    created_at="backend-timestamp",
    provisioning_state="native",
    create_return="submit",
    async_ops="none",
    delete_return="returns-early",
    secondary_resources="none",
    list_partial="report-scopes",
    list_cost="one-call",
    not_found="error-code",
    quota="absent",
    credentials="none",
    client_kind="thin-client",
    child_spans="none",
    timeouts="ctx-only",
    logging="none",
    backend_test="checked-double",
)


class Many:
    profile = PROFILE

    def __init__(self, name: str, config: t.Mapping[str, t.Any]) -> None:
        self.name = name
        self._count = config["count"]

    def list_by_tag(self, selector: contract.Selector, ctx: contract.Context) -> contract.Listing:
        complete = contract.ScopeStatus(contract.Completeness.COMPLETE)
        return contract.Listing(tuple(self._instance(n) for n in range(self._count)), {SCOPE: complete})

    def _instance(self, n: int) -> contract.Instance:
        return contract.Instance(
            provider=self.name,
            provider_id=f"zones/a/proxies/proxy-{n:016d}",
            incarnation=f"incarnation-{n}",
            name=f"proxy-{n:016d}",
            scope=SCOPE,
            state=contract.State.RUNNING,
            marks=contract.Marks(
                uid=f"00000000-0000-0000-0000-{n:012d}",
                install="bench",
                namespace="default",
                name=f"p-{n}",
                pool=f"pool-{n % 10}",
                provider=self.name,
                port=3128,
                spec_hash=f"{n:032d}",
                spec_version=1,
                generation=7,
            ),
            address=f"10.0.{n // 250}.{n % 250}",
            created_at=1_795_951_200.0,
        )


PROVIDER_TYPE = contract.ProviderType(
    schema={"type": "object", "properties": {"count": {"type": "integer"}}},
    takes_cloud_init=False,
    build=lambda name, config, host: Many(name, config),
)
