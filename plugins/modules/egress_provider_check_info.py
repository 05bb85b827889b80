#!/usr/bin/python

# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: egress_provider_check_info
short_description: Check whether the backends would serve
version_added: 0.1.0
description:
  - Asks every provider at the same time whether its backend can be reached and would let proxies be listed and made.
  - Nothing is made or changed, and a check is cheap; it can run as often as a monitoring system likes.
  - What is wrong with a backend does not fail the task; RV(healthy) sums it up.
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
      - Only these entries of O(providers). An empty list checks nothing.
    type: list
    elements: str
  timeout:
    description:
      - For how many seconds the whole round may last, however many providers there are; V(1) to V(3600). A provider
        that has not answered by then has failed, with the reason V(Timeout); the others are reported as they are.
    type: int
    default: 30
seealso:
  - module: crawl.egress.egress_fleet
  - module: crawl.egress.egress_proxy_info
"""

EXAMPLES = r"""
- name: Look at all backends
  crawl.egress.egress_provider_check_info:
    install: demo
    providers:
      - name: here
        type: local
        local:
          directory: "{{ directory }}"
  register: round

- name: Say what is wrong
  ansible.builtin.debug:
    msg: "{{ item.message or (item.targets | rejectattr('ready') | map(attribute='message') | join(', ')) }}"
  loop: "{{ round.checks | selectattr('status', 'eq', 'failed') }}"
  loop_control:
    label: "{{ item.provider }}"

- name: Make it a failure
  ansible.builtin.assert:
    that: round.healthy

- name: One backend, with little patience
  crawl.egress.egress_provider_check_info:
    install: demo
    providers: "{{ providers }}"
    names: [here]
    timeout: 5
"""

RETURN = r"""
healthy:
  description: Whether no check has failed.
  returned: success
  type: bool
  sample: true
checks:
  description: One entry for each provider, in the order of O(providers).
  returned: success
  type: list
  elements: dict
  contains:
    provider:
      description: Name of the provider entry.
      type: str
      returned: always
    type:
      description: Its type.
      type: str
      returned: always
    status:
      description:
        - V(ready) when all targets are ready, V(failed) when one is not or there was no answer, V(unsupported) when
          this type has no check, which is no failure.
      type: str
      returned: always
    reason:
      description:
        - Why the provider as a whole gave no answer, one word such as V(Timeout) or V(MissingSDK). V(none) when it
          gave one.
      type: str
      returned: always
    message:
      description: The same for people.
      type: str
      returned: always
    targets:
      description:
        - Whatever can fail independently in that backend, such as a host, a zone or a namespace, always in the same
          order.
      type: list
      elements: dict
      returned: always
      contains:
        target:
          description: Name of the target.
          type: str
          returned: always
        ready:
          description: Whether proxies can be listed and made there.
          type: bool
          returned: always
        reason:
          description:
            - One word. V(Reachable) when it is ready, else V(Timeout), V(Unreachable), V(Unauthorized), V(Forbidden)
              or V(APIError), which all types share, or a word of the type's own.
            - Those of the type C(local) are V(EngineMissing), V(StorageFull) and V(InvalidConfig), those of the type
              C(kubernetes) V(NamespaceNotFound), V(NamespaceTerminating) and V(InvalidConfig).
          type: str
          returned: always
        message:
          description: What is wrong, for people. It may hold a remark on a target that is ready.
          type: str
          returned: always
        details:
          description: Facts such as versions and free capacity, as texts. They are for people, and may change.
          type: dict
          returned: always
  sample:
    - provider: here
      type: local
      status: ready
      reason: null
      message: null
      targets:
        - target: hosts/localhost
          ready: true
          reason: Reachable
          message: ""
          details:
            directory: /home/me/.local/state/crawl.egress/local
            free: 51200 MiB
            engine: squid
            version: "5.7"
            program: /usr/sbin/squid
            users: "yes"
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
      description: V(check).
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
    - {provider: here, op: check, class: ok, calls: 1, seconds: 0.004}
error:
  description: Why the task failed, for playbooks.
  returned: failure
  type: dict
  contains:
    class:
      description: Always V(none), since no error of a backend fails the task.
      type: str
      returned: always
    reason:
      description: V(InvalidArgument), or V(MissingSDK) when the package jsonschema is missing.
      type: str
      returned: always
      sample: InvalidArgument
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
"""

from ..module_utils._module import serve
from ..module_utils._run import provider_check


def main() -> None:
    serve(provider_check)


if __name__ == "__main__":
    main()
