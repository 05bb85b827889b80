# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Not collected by itself: a session for C(test_leftovers.py) to end in the middle of its only test."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def test_is_going_on(real_cluster, real_namespace, image) -> None:
    container = {"name": "a", "image": image, "command": ["sleep", "1000"]}
    real_namespace.api.post(
        f"{real_namespace.path}/pods", {"metadata": {"name": "a"}, "spec": {"containers": [container]}}
    )
    real_namespace.wait_for_pod("a")
    told = {"folder": str(real_cluster.enclosure.folder), "pid": real_cluster.enclosure.pid}
    Path(os.environ["TELL"]).write_text(json.dumps(told))
    sys.stdin.read()
