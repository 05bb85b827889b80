# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  state_dir:
    description:
      - Folder on the host of the task in which a run keeps its lock and what it has learnt for the next run.
      - It is made when it is missing. Without it, nothing is kept and nothing is locked.
    type: path
  concurrency:
    description:
      - How many calls to backends may be under way at the same time.
    type: int
    default: 16
"""
