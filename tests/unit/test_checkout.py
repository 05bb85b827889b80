# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from pathlib import Path

from ansible.utils.collection_loader import _collection_finder

ROOT = Path(__file__).resolve().parents[2]


def test_this_checkout_is_the_collection() -> None:
    found = _collection_finder._get_collection_path("crawl.egress")
    assert Path(found).resolve() == ROOT


def test_the_users_own_backends_are_out_of_reach() -> None:
    users_own = ("KUBECONFIG", "K8S_AUTH_", "GOOGLE_", "GCP_", "LIBVIRT_")
    assert not [name for name in os.environ if name.startswith(users_own)]
