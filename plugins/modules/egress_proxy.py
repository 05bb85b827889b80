#!/usr/bin/python

# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: egress_proxy
short_description: Make one forward proxy present or absent
version_added: 0.1.0
description:
  - Makes sure that one proxy exists as described, or does not exist.
  - One that does not run, or differs from its description, is replaced.
  - These proxies form the pool V(task). M(crawl.egress.egress_fleet) never touches them, and this module touches no
    others.
author:
  - crawl.egress contributors (!UNKNOWN)
requirements:
  - jsonschema (on the controller)
extends_documentation_fragment:
  - crawl.egress._provider
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
  name:
    description:
      - Name of the proxy, once in its namespace.
    type: str
    required: true
  namespace:
    description:
      - Namespace of the name, part of the derived identity.
    type: str
    default: default
  uid:
    description:
      - The proxy's immutable identity, from which the backend's name for it is derived. Without it, one is derived
        from O(install), O(namespace) and O(name).
    type: str
  provider:
    description:
      - Name of the entry of O(providers) on which the proxy is to live. It is not needed when there is only one, or
        when O(state=absent).
    type: str
  port:
    description:
      - Port on which the proxy listens, 3128 by default.
    type: int
  placement:
    description:
      - Where and as what the proxy runs, with the keys C(region), C(zone), C(machine_type) and C(image). Each
        provider says which of these it uses; C(local) uses none.
    type: dict
  squid:
    description:
      - What the proxy's Squid does, the same on every provider. Needed when O(state=present), unless O(cloud_init) is
        given.
      - C(users) is a list of C(name) and C(password_hash) (the SHA-crypt hash of the password, C($5$...) or
        C($6$...), as the filter C(ansible.builtin.password_hash) makes it). C(allowed_sources) is a list of client
        networks. One of the two is needed.
      - Loopback, link-local, private and metadata destinations are refused. C(allowed_destinations) lists exceptions,
        C(denied_destinations) more refusals; both are networks or domains.
      - C(connect_ports) is a list of ports or ranges to which tunnels may be opened, 443 by default.
      - C(extra_lines) is a list of further lines of the configuration.
    type: dict
  cloud_init:
    description:
      - User data for cloud-init instead of O(squid), for virtual machines only.
    type: str
  state:
    description:
      - Whether the proxy is to exist. When V(absent), it is deleted wherever it is.
    type: str
    choices: [present, absent]
    default: present
notes:
  - While it waits, it shows a line on standard error when something changes. The environment variable
    E(EGRESS_PROGRESS=never) silences that, as does C(no_log), and it is not possible when the task runs as a module
    (see the attribute C(action)).
  - A run that is interrupted leaves nothing that the next run does not take up.
  - Many proxies are better kept by M(crawl.egress.egress_fleet), which asks each backend once for all of them.
seealso:
  - module: crawl.egress.egress_fleet
  - module: crawl.egress.egress_proxy_info
"""

EXAMPLES = r"""
- name: A proxy on this host, for programs of this host
  crawl.egress.egress_proxy:
    install: demo
    providers:
      - name: here
        type: local
        local:
          directory: "{{ directory }}"
    name: crawler-1
    port: 3129
    squid:
      allowed_sources: [127.0.0.0/8]
  register: crawler

- name: Show where it is
  ansible.builtin.debug:
    msg: "http://{{ crawler.proxy.address }}:{{ crawler.proxy.port }}"
  when: crawler.proxy.address is not none

- name: A proxy for whoever knows the password
  crawl.egress.egress_proxy:
    install: demo
    providers: "{{ providers }}"
    name: crawler-2
    squid:
      users:
        - name: crawler
          password_hash: "{{ password_hash }}"

- name: No such proxy
  crawl.egress.egress_proxy:
    install: demo
    providers: "{{ providers }}"
    name: crawler-1
    state: absent
"""

RETURN = r"""
outcome:
  description:
    - One of V(converged), V(converging), V(needs_attention), V(incomplete_evidence) and V(locked), as explained at
      M(crawl.egress.egress_fleet).
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
      description: The action, if it deletes or replaces an instance.
      type: list
      elements: dict
      returned: always
      sample:
        - {verb: replace, name: crawler-1, namespace: default, slot: 0, incarnation: 3f9c2a, cause: drifted}
    budget:
      description: Why a replacement has to wait, if it has.
      type: list
      elements: str
      returned: always
proxy:
  description:
    - The proxy as it is after the task. V(none) when O(state=absent).
  returned: when the backends were asked
  type: dict
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
preflight:
  description:
    - What a backend would refuse if the plan were carried out, as far as it can say so without doing it. One entry for
      each reason and each specification of a pool; other proxies of the pool that are alike are only counted.
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
from ..module_utils._run import proxy


def main() -> None:
    serve(proxy)


if __name__ == "__main__":
    main()
