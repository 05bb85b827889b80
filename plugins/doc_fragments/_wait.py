# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  wait:
    description:
      - Whether to wait until everything is as it should be. Otherwise the work is submitted and the task ends with
        RV(outcome=converging).
      - Check mode never waits.
    type: bool
    default: true
  wait_timeout:
    description:
      - For how many seconds to wait. The task fails when the time is up; running it again takes up what was begun.
    type: int
    default: 900
  wait_sleep:
    description:
      - The longest pause between two looks at the backends, in seconds. The first pause is 0.2 seconds, and it
        doubles.
    type: float
    default: 5.0
"""
