# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
requirements:
  - jsonschema (on the controller)
options:
  desired:
    description:
      - The document. Exactly one of O(desired) and O(desired_file) is needed.
      - C(install) is the name of the installation, the owner of the instances. It is required.
      - C(providers) is the list of backends, as in O(crawl.egress.egress_proxy#module:providers). It is required.
      - C(proxies) is a list of named proxies. Each has a C(name), and may have C(namespace), C(uid), C(provider) (the
        name of an entry; needed when there are several), C(port) (3128 by default), C(placement) (C(region), C(zone),
        C(machine_type), C(image)), and C(squid) or C(cloud_init). They form the pool V(named).
      - C(pools) is a list of counted proxies. Each has a C(name) and C(replicas), and may have the same keys as a
        proxy but C(uid), and C(placements), a list over which it is spread. The proxies of pool V(eu) are V(eu-0),
        V(eu-1) and so on. When there are to be fewer, the highest numbers go.
      - C(squid) is the configuration of all proxies that have none of their own, as in
        O(crawl.egress.egress_proxy#module:squid).
      - C(policy) may have C(max_unavailable) (how many serving proxies of a pool may be down for replacement at a
        time, a number or a percentage, 1 by default), C(provision_timeout) (how long a proxy may take until it
        serves, V(10m) by default), C(max_deletions) (like the option of that name, V(50%) by default) and C(paused)
        (change nothing).
      - C(generation) is a number that rises with every edition of the document.
      - C(mark_prefix) is as in O(crawl.egress.egress_proxy#module:mark_prefix).
      - Unknown keys, wrong types and clashing names are errors, all of them reported at once.
    type: dict
  desired_file:
    description:
      - A YAML or JSON file with the document. It is read on the controller, may be encrypted with Ansible Vault or
        contain C(!vault) values, and is not templated.
      - A key that is given twice in one mapping is an error.
      - A relative path is looked for in C(files) of the role and beside the playbook, as other modules do it.
    type: path
  install:
    description:
      - Taken when the document has no C(install). So this, O(providers) and O(mark_prefix) can be set once for all
        modules, by C(module_defaults).
    type: str
  providers:
    description:
      - Taken when the document has no C(providers).
    type: list
    elements: dict
  mark_prefix:
    description:
      - Taken when the document has no C(mark_prefix).
    type: str
  allow_empty:
    description:
      - Whether a document in which nothing is desired is meant so. Otherwise it is an error, since everything would be
        deleted.
    type: bool
    default: false
"""
