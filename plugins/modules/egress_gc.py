#!/usr/bin/python

# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: egress_gc
short_description: Collect proxies and leftovers that nobody wants any more
version_added: 0.1.0
description:
  - Deletes orphans, which are instances of this installation whose proxy is not in the document, and which are not of a
    pool of the document. In those pools M(crawl.egress.egress_fleet) deletes what is not desired.
  - Deletes leftovers too, such as a disk whose instance is gone, where a provider can list them. What O(collect_task)
    says does not matter to them, since nothing uses them any more.
  - An orphan is deleted on its second sighting. The first one leaves a mark with the time on the instance itself, so
    two runs need nothing in common. A mark that is younger than O(min_age) is waited for, and one older than a day
    counts as none. A run that finds the proxy in the document again removes the mark.
  - Right before every deletion the instance is read again, and left alone when its marks or its identity have changed.
  - Nothing is collected in a scope that was not listed completely, and nothing without the marks of this installation.
  - It works on the whole installation. There is no way to restrict it to some pools.
author:
  - crawl.egress contributors (!UNKNOWN)
extends_documentation_fragment:
  - crawl.egress._document
  - crawl.egress._run
  - crawl.egress._attributes
  - crawl.egress._attributes.actiongroup
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details:
      - While there are orphans, a second run does the second step. A run without orphans changes nothing.
options:
  max_deletions:
    description:
      - The fuse. When more deletions than this are due, none is done and the task fails. First sightings are marked all
        the same.
      - A number, or a percentage of all instances and leftovers of the installation that is rounded up. It overrides
        C(policy.max_deletions) of the document.
    type: str
  live_uids:
    description:
      - UIDs of proxies that are wanted although they are not in the document, such as those of
        M(crawl.egress.egress_proxy).
    type: list
    elements: str
  collect_task:
    description:
      - Whether proxies that were made by M(crawl.egress.egress_proxy) are collected too, unless O(live_uids) has them.
    type: bool
    default: false
  min_age:
    description:
      - For how many seconds an instance must have existed, and must have been known as an orphan, before it is deleted.
    type: int
    default: 600
  sightings:
    description:
      - With V(1) an orphan is deleted when it is first seen. That is for tests and for cleaning up by hand.
    type: int
    choices: [1, 2]
    default: 2
  timeout:
    description:
      - For how many seconds the whole collection may take.
    type: int
    default: 900
  results:
    description:
      - What RV(actions) and RV(kept) list. With V(changed), RV(kept) leaves out the instances of proxies that are
        wanted.
    type: str
    choices: [changed, all, none]
    default: changed
notes:
  - While it works, it shows a line on standard error when the counts change. The environment variable
    E(EGRESS_PROGRESS=never) silences that, as does C(no_log), and it is not possible when the task runs as a module
    (see the attribute C(action)).
  - A provider that fails is skipped, and the task fails after the others were done.
  - With O(state_dir), two collections of one installation never run at the same time. The second one fails.
seealso:
  - module: crawl.egress.egress_fleet
  - module: crawl.egress.egress_proxy_info
"""

EXAMPLES = r"""
- name: See what would be collected, and why the rest is kept
  crawl.egress.egress_gc:
    desired_file: egress.yml
  check_mode: true
  register: review

- name: Collect what was an orphan ten minutes ago and still is one; for a schedule
  crawl.egress.egress_gc:
    desired_file: egress.yml
    state_dir: "{{ state_dir }}"

- name: Collect proxies of tasks too, but for one
  crawl.egress.egress_gc:
    desired_file: egress.yml
    collect_task: true
    live_uids:
      - 2f1d2c3a-6b1e-5a6f-9d0b-6c1d6f0f7a11
"""

RETURN = r"""
actions:
  description: Every step that was taken, or in check mode would be.
  returned: when the backends were asked
  type: list
  elements: dict
  contains:
    verb:
      description: V(quarantine), V(clear), V(delete) or V(delete_leftover).
      type: str
      returned: always
    note:
      description: Why it is done, or why it was not.
      type: str
      returned: always
    result:
      description: V(quarantined), V(cleared), V(deleted), V(deleting), V(skipped) or V(failed).
      type: str
      returned: not in check mode
    provider:
      description: Name of the provider entry.
      type: str
      returned: always
    provider_id:
      description: The instance, as the provider calls it.
      type: str
      returned: for instances
    leftover_id:
      description: The leftover, as the provider calls it.
      type: str
      returned: for leftovers
kept:
  description: The instances that were not collected, like RV(crawl.egress.egress_proxy_info#module:instances).
  returned: when the backends were asked
  type: list
  elements: dict
  contains:
    reason:
      description:
        - V(live) for a wanted proxy, V(egress_fleet) for one in a pool of the document, V(task) for one made by
          M(crawl.egress.egress_proxy), V(young), V(held), V(deleting), V(quarantined) when it was seen as an orphan too
          recently, V(no_uid) and V(no_pool) when its marks are damaged, V(cannot_be_marked) and V(incomplete_scope).
      type: str
      returned: always
    note:
      description: The same for people.
      type: str
      returned: always
counts:
  description: How many instances were kept for each reason.
  returned: when the backends were asked
  type: dict
  sample:
    live: 20
    young: 1
plan_id:
  description: A digest of RV(plan.destructive), the same for equal plans.
  returned: when the backends were asked
  type: str
  sample: 4f53cda18c2baa0c
plan:
  description: What is to be deleted.
  returned: when the backends were asked
  type: dict
  contains:
    id:
      description: The same as RV(plan_id).
      type: str
      returned: always
    destructive:
      description: What is deleted.
      type: list
      elements: dict
      returned: always
failures:
  description: What could not be done, each like RV(error).
  returned: when the backends were asked
  type: list
  elements: dict
scopes:
  description: What was asked, like RV(crawl.egress.egress_fleet#module:scopes).
  returned: when the backends were asked
  type: list
  elements: dict
calls:
  description: Calls to the backends, like RV(crawl.egress.egress_fleet#module:calls).
  returned: when the backends were asked
  type: list
  elements: dict
error:
  description: Why the task failed, like RV(crawl.egress.egress_fleet#module:error).
  returned: failure
  type: dict
"""

from ..module_utils._module import serve
from ..module_utils._run import gc


def main() -> None:
    serve(gc)


if __name__ == "__main__":
    main()
