# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def backend(tmp_path: Path) -> Iterator:
    """A folder for the local provider, with the engine that is always there."""
    # The collection can be imported only once pytest has read all of its configuration, this file included.
    from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import local_backend

    with local_backend(tmp_path / "local", engine="proxy.py") as backend:
        yield backend
