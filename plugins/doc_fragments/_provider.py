# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  install:
    description:
      - Name of the installation, the owner of its instances. Instances of other installations are never touched.
      - 1 to 63 of a-z, 0-9, C(-) and C(_), beginning and ending with a letter or digit.
    type: str
    required: true
  providers:
    description:
      - The backends on which proxies may live, one entry each.
      - Every entry has a C(name), a C(type), and under the key of its type the configuration of that backend.
      - "Of the type C(kubernetes), each proxy is a Pod. The key C(namespace) is needed; the others are in the guide
        of that provider in the documentation of the collection, C(docs/kubernetes-provider.md)."
      - "Of the type C(local), each proxy is a process of this host with a loopback address of its own. The keys, all
        optional, are C(directory) (absolute path of the folder that holds everything about these proxies,
        by default C($XDG_STATE_HOME/crawl.egress/local)), C(host) (how this host is called in provider IDs, by
        default C(localhost)), C(engine) (C(auto), C(squid) or C(proxy.py)) and C(addresses) (the network within
        C(127.0.0.0/8) from which the proxies get their addresses, by default C(127.80.0.0/16))."
    type: list
    elements: dict
    required: true
  mark_prefix:
    description:
      - What the names of all marks (labels, metadata) begin with. Give another one when the proxy operator works in
        the same project, cluster or host.
    type: str
    default: proxy-operator
"""
