# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Says what would be changed, and changes nothing.
  diff_mode:
    description: Says what differs, before and after.
  idempotent:
    description: A second run with the same options reports no change.
  async:
    description: Supports the task keyword C(async).
    support: full
  action:
    description: A part of it runs on the controller.
    support: full
    details:
      - On a C(local) connection the whole task runs in the controller's own process, which is much faster and is the
        only way to show progress while it runs, unless the task has C(become), C(environment) or C(async), or
        C(ansible_python_interpreter) names another Python than the one that runs Ansible. Otherwise it is an ordinary
        module on the task's host.
      - The result is the same both ways. With C(-vv) it is said which way was taken, and why.
      - On a C(local) connection without a C(ansible_python_interpreter), the module is run by the Python that runs
        Ansible.
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module never changes anything.
  diff_mode:
    support: N/A
    details:
      - This module never changes anything.
  idempotent:
    support: full
    details:
      - This module never changes anything.
"""

    ACTIONGROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/crawl.egress.egress) in C(module_defaults) to set options of all modules at once.
    support: full
    membership:
      - crawl.egress.egress
"""
