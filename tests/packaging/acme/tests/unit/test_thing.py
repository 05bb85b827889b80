# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest
from thing_harness import ThingHarness

from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import cases, run


@pytest.mark.parametrize("case", cases(), ids=str)
def test_conformance(case, tmp_path):
    (result,) = run(ThingHarness(tmp_path), only=[case.id])
    assert result.ok, result.message
