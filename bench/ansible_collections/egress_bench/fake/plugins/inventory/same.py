# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.template import trust_as_template as trusted

DOCUMENTATION = r"""
name: same
short_description: Sets the variables that C(crawl.egress.egress) sets, and does nothing else
description: The measure of that plugin.
author: [crawl.egress contributors (!UNKNOWN)]
options:
  plugin: {type: str, required: true, description: Its name.}
  count: {type: int, required: true, description: How many hosts.}
"""


class InventoryModule(BaseInventoryPlugin):
    NAME = "egress_bench.fake.same"

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        for n in range(self.get_option("count")):
            inventory.add_host(f"p-{n}")
            for key, value in self._variables(n).items():
                inventory.set_variable(f"p-{n}", key, value)

    def _variables(self, n: int) -> dict[str, t.Any]:
        return {
            "ansible_host": trusted(f"10.0.{n // 250}.{n % 250}"),
            "egress_address": trusted(f"10.0.{n // 250}.{n % 250}"),
            "egress_cause": None,
            "egress_complete": True,
            "egress_created_at": 1_795_951_200,
            "egress_deleting": False,
            "egress_enabled": True,
            "egress_generation": 7,
            "egress_hold_until": None,
            "egress_incarnation": trusted(f"incarnation-{n}"),
            "egress_install": trusted("bench"),
            "egress_instance_name": trusted(f"proxy-{n:016d}"),
            "egress_name": trusted(f"p-{n}"),
            "egress_namespace": trusted("default"),
            "egress_pool": trusted(f"pool-{n % 10}"),
            "egress_port": 3128,
            "egress_provider": trusted("lab"),
            "egress_provider_id": trusted(f"zones/a/proxies/proxy-{n:016d}"),
            "egress_scope": trusted("zones/a"),
            "egress_slot": 0,
            "egress_spec_hash": trusted(f"{n:032d}"),
            "egress_spec_version": 1,
            "egress_state": trusted("Running"),
            "egress_uid": trusted(f"00000000-0000-0000-0000-{n:012d}"),
        }
