#!/usr/bin/python

# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: egress_fleet
short_description: Make a fleet of forward proxies what a document says
version_added: 0.1.0
description:
  - Reads a document that says which proxies are to exist, asks every backend once what exists, and creates, replaces
    and deletes until the two agree.
  - A fleet that is as it should be costs one call to each backend, however large it is.
  - Absence is believed only when every place where a proxy may live has answered. A backend that is down stops only
    the proxies that may live on it.
  - Instances of other installations, of other pools, and those without the marks of this collection are never
    touched.
author:
  - crawl.egress contributors (!UNKNOWN)
extends_documentation_fragment:
  - crawl.egress._document
  - crawl.egress._run
  - crawl.egress._wait
  - crawl.egress._attributes
  - crawl.egress._attributes.actiongroup
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  only:
    description:
      - The pools that this run is about; V(named) for the proxies under C(proxies). By default all pools of the
        document, and V(named). An empty list is an error.
      - To get rid of a pool, give it C(replicas=0) before it leaves the document. What is left of a pool that is not
        in the document any more is collected by M(crawl.egress.egress_gc).
    type: list
    elements: str
  max_deletions:
    description:
      - The fuse. A run that would delete more serving proxies that are not desired any more than this, in one pool,
        deletes none of that pool and fails.
      - A number, or a percentage of the pool's instances that is rounded up. It overrides C(policy.max_deletions) of
        the document.
      - Replacements are bounded by C(policy.max_unavailable) instead, and removing what does not serve is free.
    type: str
  expect_plan:
    description:
      - RV(plan.destructive) of an earlier run, usually one in check mode. The run fails before it changes anything
        when it would delete or replace something else.
    type: list
    elements: dict
  assume_gone:
    description:
      - Scopes whose instances are taken to be gone although they can't be asked any more, each as
        C(<provider>:<scope>), such as V(lab:hosts/localhost).
    type: list
    elements: str
  hold:
    description:
      - Proxies to be left as they are for a while, neither replaced nor deleted. The hold is kept on the instance, so
        it also binds later runs.
    type: list
    elements: dict
    suboptions:
      name:
        description:
          - Name of the proxy.
        type: str
        required: true
      namespace:
        description:
          - Namespace of that name.
        type: str
        default: default
      until:
        description:
          - When the hold ends, an ISO 8601 time with offset such as V(2027-01-31T18:00:00Z). A time in the past ends
            it now.
        type: str
        required: true
  skip_cleanup:
    description:
      - Proxies that have left the document and are to be let go of without deleting their instances, because their
        backend can't be reached any more. RV(released) says what may be left.
      - Each is a C(name) or C(namespace/name).
    type: list
    elements: str
  retry:
    description:
      - Proxies that are to be tried again although an earlier error says that only an edit of the document can help.
      - Each is a C(name) or C(namespace/name).
    type: list
    elements: str
  results:
    description:
      - Which proxies RV(proxies) lists. V(changed) means those that were changed or are not as they should be.
    type: str
    choices: [changed, all, none]
    default: changed
notes:
  - While it waits, it shows a line on standard error when the counts change. The environment variable
    E(EGRESS_PROGRESS=never) silences that, as does C(no_log), and it is not possible when the task runs as a module
    (see the attribute C(action)).
  - With O(state_dir), two runs never work on the same pool at the same time. The second one fails with
    RV(outcome=locked).
  - "What the values of RV(outcome) mean. V(converged): everything is as it should be. V(converging): more is to be
    done; the task fails only if it was to wait and ran out of time. V(needs_attention): something cannot be done
    without help, see RV(blocked) and RV(failures); the task fails. V(incomplete_evidence): a backend did not answer,
    so it is unknown what exists; the task fails. V(locked): another run works on the same pool; the task fails."
  - A run that is interrupted leaves nothing that the next run does not take up.
seealso:
  - module: crawl.egress.egress_gc
  - module: crawl.egress.egress_proxy
  - module: crawl.egress.egress_proxy_info
"""

EXAMPLES = r"""
- name: Make the fleet what the document says
  crawl.egress.egress_fleet:
    desired_file: egress.yml
    state_dir: "{{ state_dir }}"

- name: The same with the document at hand, five proxies that this host's programs may use
  crawl.egress.egress_fleet:
    desired:
      install: demo
      providers:
        - name: here
          type: local
          local:
            directory: "{{ directory }}"
      pools:
        - name: eu
          replicas: 5
      squid:
        allowed_sources: [127.0.0.0/8]

- name: See what would be deleted or replaced
  crawl.egress.egress_fleet:
    desired_file: egress.yml
  check_mode: true
  register: review

- name: Do that, and nothing more destructive
  crawl.egress.egress_fleet:
    desired_file: egress.yml
    expect_plan: "{{ review.plan.destructive }}"

- name: Work on one pool, submit the work and go on
  crawl.egress.egress_fleet:
    desired_file: egress.yml
    only: [eu]
    wait: false

- name: Keep one proxy as it is until somebody has looked at it
  crawl.egress.egress_fleet:
    desired_file: egress.yml
    hold:
      - name: eu-1
        until: "2027-01-31T18:00:00Z"
"""

RETURN = r"""
outcome:
  description:
    - One of V(converged), V(converging), V(needs_attention), V(incomplete_evidence) and V(locked); see the notes.
  returned: always, except for bad options
  type: str
  sample: converged
plan_id:
  description: A digest of RV(plan.destructive), the same for equal plans.
  returned: when the backends were asked
  type: str
  sample: 4f53cda18c2baa0c
plan:
  description: What the first pass intended.
  returned: when the backends were asked
  type: dict
  contains:
    id:
      description: The same as RV(plan_id).
      type: str
      returned: always
    destructive:
      description: What is deleted or replaced, for O(expect_plan).
      type: list
      elements: dict
      returned: always
      sample:
        - {verb: replace, name: eu-1, namespace: default, slot: 0, incarnation: 3f9c2a, cause: drifted}
    budget:
      description: How many replacements C(policy.max_unavailable) leaves room for, one sentence a pool.
      type: list
      elements: str
      returned: always
preflight:
  description:
    - What a backend would refuse if the plan were carried out, as far as it can say so without doing it. One entry
      for each reason and each specification of a pool; other proxies of the pool that are alike are only counted.
    - No part of RV(plan_id), and no failure of the task.
  returned: in check mode, when the backends were asked
  type: list
  elements: dict
  contains:
    name:
      description: Name of the first proxy that it is about.
      type: str
      returned: always
    namespace:
      description: Namespace of that name.
      type: str
      returned: always
    pool:
      description: The pool to which it belongs.
      type: str
      returned: always
    slot:
      description: Number of the slot.
      type: int
      returned: always
    provider:
      description: Name of the provider entry.
      type: str
      returned: always
    scope:
      description: Where.
      type: str
      returned: always
    proxies:
      description: How many proxies are to be made from this specification.
      type: int
      returned: always
    message:
      description: One word for the reason, and what the backend says.
      type: str
      returned: always
      sample: "Quota: pods \"proxy-hvrbi6rzuxthlldj-preflight\" is forbidden: exceeded quota: few, requested: pods=1"
actions:
  description:
    - Every intended step, those that were taken or in check mode would be, and those that have to wait.
  returned: when the backends were asked
  type: list
  elements: dict
  contains:
    verb:
      description: V(create), V(replace), V(delete) or V(mark).
      type: str
      returned: always
    cause:
      description:
        - One of V(absent), V(drifted), V(misplaced), V(dead), V(stuck), V(surplus), V(undesired) and V(hold).
      type: str
      returned: always
    when:
      description: V(now) or V(later).
      type: str
      returned: always
    note:
      description: For people, what differs, or what is waited for.
      type: str
      returned: always
    name:
      description: Name of the proxy.
      type: str
      returned: always
    namespace:
      description: Namespace of that name.
      type: str
      returned: always
    pool:
      description: The pool to which it belongs.
      type: str
      returned: always
    slot:
      description: Number of the slot.
      type: int
      returned: always
    provider:
      description: Name of the provider entry.
      type: str
      returned: always
    scope:
      description: Where.
      type: str
      returned: always
    incarnation:
      description: The instance that is deleted, replaced or marked.
      type: str
      returned: always
    result:
      description:
        - What became of it, one word for each call of the backend. V(created), V(adopted), V(deleted), V(deleting),
          V(marked), V(failed) or V(skipped). Empty when it has to wait.
      type: list
      elements: str
      returned: unless in check mode
proxies:
  description:
    - The desired proxies, how they are after the task. O(results) says which of them.
  returned: when the backends were asked
  type: list
  elements: dict
  contains:
    name:
      description: Name of the proxy.
      type: str
      returned: always
    namespace:
      description: Namespace of that name.
      type: str
      returned: always
    pool:
      description: The pool to which it belongs.
      type: str
      returned: always
    slot:
      description: Number of the slot.
      type: int
      returned: always
    uid:
      description: Its identity.
      type: str
      returned: always
    status:
      description:
        - One of V(running), V(provisioning), V(deleting), V(stopped), V(absent), V(unknown) and V(blocked).
      type: str
      returned: always
    reason:
      description: One word that says why it does not run.
      type: str
      returned: always
    message:
      description: The same for people.
      type: str
      returned: always
    provider:
      description: Name of the provider entry.
      type: str
      returned: always
    provider_id:
      description: The instance, as the provider calls it.
      type: str
      returned: always
    incarnation:
      description: The backend's own immutable identity of the instance.
      type: str
      returned: always
    scope:
      description: Where the instance is.
      type: str
      returned: always
    state:
      description: State of the instance, like RV(crawl.egress.egress_proxy_info#module:instances[].state).
      type: str
      returned: always
    address:
      description: Address at which clients reach the proxy.
      type: str
      returned: always
    port:
      description: Port at which clients reach the proxy.
      type: int
      returned: always
counts:
  description:
    - Of the desired proxies, how many there are, and how many of them have each status. C(leaving) counts instances
      that are not desired and still being deleted.
  returned: when the backends were asked
  type: dict
  sample:
    desired: 5
    running: 5
    provisioning: 0
    deleting: 0
    stopped: 0
    absent: 0
    unknown: 0
    blocked: 0
    leaving: 0
blocked:
  description: The proxies for which nothing can be done without help, like RV(proxies).
  returned: when the backends were asked
  type: list
  elements: dict
released:
  description: The proxies of O(skip_cleanup) that were let go of.
  returned: when the backends were asked
  type: list
  elements: dict
  contains:
    name:
      description: Name of the proxy.
      type: str
      returned: always
    namespace:
      description: Namespace of that name.
      type: str
      returned: always
    left:
      description: Instances that were seen and may stay behind. Empty when the backend could not be asked.
      type: list
      elements: str
      returned: always
failures:
  description:
    - What went wrong and has not been made good since, each like RV(error) with the C(name), C(namespace), C(pool)
      and C(slot) of the proxy.
  returned: when the backends were asked
  type: list
  elements: dict
scopes:
  description:
    - What was asked, and how far the answer can be believed. A scope is what can answer or fail independently, such
      as a host, a zone or a namespace.
  returned: when the backends were asked
  type: list
  elements: dict
  contains:
    provider:
      description: Name of the provider entry.
      type: str
      returned: always
    scope:
      description: Name of the scope. V(none) when the provider as a whole gave no answer.
      type: str
      returned: always
    completeness:
      description: V(complete), V(partial) (some of its instances could not be read) or V(failed).
      type: str
      returned: always
    reason:
      description: One word that says why it is not complete.
      type: str
      returned: always
    message:
      description: The same for people.
      type: str
      returned: always
  sample:
    - {provider: here, scope: hosts/localhost, completeness: complete, reason: null, message: null}
calls:
  description: How often the backends were called, and how long it took.
  returned: when the backends were asked
  type: list
  elements: dict
  contains:
    provider:
      description: Name of the provider entry.
      type: str
      returned: always
    op:
      description: V(create), V(get), V(delete), V(list) or V(mark).
      type: str
      returned: always
    class:
      description: V(ok), or the class of the error.
      type: str
      returned: always
    calls:
      description: How many.
      type: int
      returned: always
    seconds:
      description: How long they took together.
      type: float
      returned: always
  sample:
    - {provider: here, op: list, class: ok, calls: 2, seconds: 0.004}
error:
  description: Why the task failed, for playbooks.
  returned: failure
  type: dict
  contains:
    class:
      description:
        - How the error of a backend is dealt with, one of V(NotFound), V(QuotaExceeded), V(Transient) and
          V(Permanent).
        - V(none) when it is not about a backend.
      type: str
      returned: always
      sample: Transient
    reason:
      description:
        - One word that says what happened. Apart from those of backends (V(Unreachable), V(Forbidden), V(Conflict)
          and so on) there are V(InvalidArgument), V(EmptyDesired), V(FuseTripped), V(PlanMoved), V(Locked),
          V(WaitTimeout), V(NeedsAttention), V(IncompleteEvidence), V(MissingSDK) and V(StateDir).
      type: str
      returned: always
      sample: Unreachable
    message:
      description: What RV(ignore:msg) says, without RV(error.advice).
      type: str
      returned: always
    advice:
      description: What to do next.
      type: str
      returned: always
    problems:
      description: Every fault that was found in the options, one sentence each.
      type: list
      elements: str
      returned: when RV(error.reason=InvalidArgument)
    op:
      description: What the backend was asked to do.
      type: str
      returned: when it is about a backend
      sample: list
    provider:
      description: Name of the provider entry.
      type: str
      returned: when it is about a backend
    provider_id:
      description: The instance, as the provider calls it.
      type: str
      returned: when it is about one instance
    scope:
      description: What failed to answer.
      type: str
      returned: when it is about a backend
    retry_after:
      description: For how many seconds the backend asked to be left alone.
      type: float
      returned: when it is about a backend
"""

from ..module_utils._module import serve
from ..module_utils._run import fleet


def main() -> None:
    serve(fleet)


if __name__ == "__main__":
    main()
