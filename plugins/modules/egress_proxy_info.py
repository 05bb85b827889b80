#!/usr/bin/python

# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: egress_proxy_info
short_description: List proxies
version_added: 0.1.0
description:
  - Asks every backend once which instances it has, and lists one, some or all of them.
  - The filters narrow each other down; without any, all instances of the installation are listed. An empty list as a
    filter matches nothing.
  - A backend that can't be asked does not fail the task; RV(scopes) says how complete the list is.
author:
  - crawl.egress contributors (!UNKNOWN)
requirements:
  - jsonschema (on the controller)
extends_documentation_fragment:
  - crawl.egress._provider
  - crawl.egress._attributes
  - crawl.egress._attributes.info
  - crawl.egress._attributes.actiongroup
options:
  names:
    description:
      - Only these proxies, each as C(name) (in any namespace) or C(namespace/name).
    type: list
    elements: str
  uids:
    description:
      - Only the proxies with these identities.
    type: list
    elements: str
  pools:
    description:
      - Only proxies of these pools; V(named) for those under C(proxies) of a document, V(task) for those of
        M(crawl.egress.egress_proxy).
    type: list
    elements: str
  states:
    description:
      - Only instances in one of these states.
    type: list
    elements: str
    choices: [Provisioning, Running, Stopped, Terminated, Unknown]
  foreign:
    description:
      - Whether to list the instances of other installations, too. They are flagged, and nothing ever changes them.
    type: bool
    default: false
  diagnose:
    description:
      - Whether to fetch, for each instance that is listed, what a person would look at first when it does not work,
        such as events and the end of its log. Without secrets, and up to 16000 characters each, so name the proxies in
        question.
      - Providers of the type C(kubernetes) can tell.
    type: bool
    default: false
seealso:
  - module: crawl.egress.egress_fleet
  - module: crawl.egress.egress_proxy
"""

EXAMPLES = r"""
- name: Everything that the installation has
  crawl.egress.egress_proxy_info:
    install: demo
    providers:
      - name: here
        type: local
        local:
          directory: "{{ directory }}"
  register: all

- name: What of pool eu can be used now
  crawl.egress.egress_proxy_info:
    install: demo
    providers: "{{ providers }}"
    pools: [eu]
    states: [Running]
  register: eu

- name: Show the proxies as URLs
  ansible.builtin.debug:
    msg: "http://{{ item.address }}:{{ item.port }}"
  loop: "{{ eu.instances }}"
  loop_control:
    label: "{{ item.name }}"

- name: One proxy
  crawl.egress.egress_proxy_info:
    install: demo
    providers: "{{ providers }}"
    names: [default/crawler-1]

- name: What keeps it from running
  crawl.egress.egress_proxy_info:
    install: demo
    providers: "{{ providers }}"
    names: [default/crawler-1]
    diagnose: true

- name: Say so when the list may be incomplete
  ansible.builtin.debug:
    msg: "{{ item.provider }}: {{ item.message }}"
  loop: "{{ all.scopes | rejectattr('completeness', 'eq', 'complete') }}"
"""

RETURN = r"""
instances:
  description:
    - The instances, sorted by namespace, name and slot.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the proxy. Empty when somebody has removed that mark.
      type: str
      returned: always
    namespace:
      description: Namespace of that name.
      type: str
      returned: always
    uid:
      description: Its identity.
      type: str
      returned: always
    install:
      description: The installation that owns it.
      type: str
      returned: always
    foreign:
      description: Whether another installation owns it.
      type: bool
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
    provider_id:
      description: The instance, as the provider calls it.
      type: str
      returned: always
    incarnation:
      description: The backend's own immutable identity of the instance.
      type: str
      returned: always
    instance_name:
      description: The backend's name for it.
      type: str
      returned: always
    scope:
      description: Where it is.
      type: str
      returned: always
    state:
      description: V(Provisioning), V(Running), V(Stopped), V(Terminated), or V(Unknown) when the backend can't tell.
      type: str
      returned: always
    cause:
      description: One word that says why it is in that state.
      type: str
      returned: always
    message:
      description: The backend's own words on it.
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
    deleting:
      description: Whether it is being deleted.
      type: bool
      returned: always
    created_at:
      description: When it was made, in Unix seconds.
      type: int
      returned: always
    spec_hash:
      description: Digest of what it was made from.
      type: str
      returned: always
    spec_version:
      description: Version of that digest.
      type: int
      returned: always
    generation:
      description: Generation of the document it was made from.
      type: int
      returned: always
    hold_until:
      description: Until when it is held, in Unix seconds.
      type: int
      returned: always
    diagnosis:
      description:
        - What a person would look at first when it does not work. V(none) when its provider can't tell.
      type: str
      returned: with O(diagnose)
  sample:
    - name: eu-0
      namespace: default
      uid: 6f1c1d0e-6a1f-5b0e-9a37-5e2f7c7f3f11
      install: demo
      foreign: false
      pool: eu
      slot: 0
      provider: here
      provider_id: hosts/localhost/proxies/proxy-mfrggzdfmztwq2lk
      incarnation: 3f9c2a
      instance_name: proxy-mfrggzdfmztwq2lk
      scope: hosts/localhost
      state: Running
      cause: null
      message: null
      address: 127.80.0.1
      port: 3128
      deleting: false
      created_at: 1795951200
      spec_hash: 0f343b0931126a20f133d67c2b018a3b
      spec_version: 1
      generation: null
      hold_until: null
scopes:
  description:
    - What was asked, and how far the answer can be believed. A scope is what can answer or fail independently, such
      as a host, a zone or a namespace.
  returned: success
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
  returned: success
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
from ..module_utils._run import proxy_info


def main() -> None:
    serve(proxy_info)


if __name__ == "__main__":
    main()
