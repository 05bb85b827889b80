# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What C(egress_gc) refuses before it asks any backend, and its lock."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._engine.ledger import Locked, gc_locked
from ansible_collections.crawl.egress.plugins.module_utils._errors import EgressError, Reason
from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._run.gc import argument_spec, check, run


def collect(directory: t.Any, **options: t.Any) -> dict[str, t.Any]:
    """Over an entry whose folder holds nothing."""
    document = {
        "install": "demo",
        "providers": [{"name": "here", "type": "local", "local": {"directory": str(directory)}}],
        "pools": [{"name": "eu", "replicas": 1}],
        "squid": {"allowed_sources": ["127.0.0.0/8"]},
        **options.pop("document", {}),
    }
    params = {name: spec.get("default") for name, spec in argument_spec().items()}
    host = Host(lambda argv, stdin="": (1, "", ""), "python3")
    params.update({"desired": document, **options})
    check(params, host.types)
    return run(params, host)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"desired": {}}, Reason.INVALID_ARGUMENT),
        ({"desired": []}, Reason.INVALID_ARGUMENT),
        ({"document": {"pools": []}}, Reason.EMPTY_DESIRED),
        ({"document": {"generation": "new"}}, Reason.INVALID_ARGUMENT),
        ({"max_deletions": "many"}, Reason.INVALID_ARGUMENT),
        ({"min_age": -1}, Reason.INVALID_ARGUMENT),
        ({"concurrency": 0}, Reason.INVALID_ARGUMENT),
    ],
)
def test_what_can_not_be_worked_from_is_refused(tmp_path, options, reason):
    with pytest.raises(EgressError) as caught:
        collect(tmp_path, **options)
    assert caught.value.reason is reason
    assert list(tmp_path.iterdir()) == []


def test_an_empty_document_is_taken_when_it_is_meant(tmp_path):
    result = collect(tmp_path, document={"pools": []}, allow_empty=True)
    assert (result["changed"], result["kept"], result["actions"]) == (False, [], [])


def test_two_collections_of_one_install_never_run_at_once(tmp_path):
    state = str(tmp_path / "state")
    with gc_locked(state, "demo"), pytest.raises(Locked) as caught:
        collect(tmp_path / "proxies", state_dir=state)
    assert "another run is working on the collection of demo" in caught.value.message
    assert collect(tmp_path / "proxies", state_dir=state)["changed"] is False
