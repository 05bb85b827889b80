# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""C(concurrency): so many calls are under way at a time, and no more."""

from __future__ import annotations

import threading
import typing as t

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._run import fleet, gc
from ansible_collections.crawl.egress.plugins.module_utils.provider import ProviderType, SystemClock
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import Backend, FakeProvider

#: One call goes ahead of the others, to find out whether we are let in at all.
COUNT = 1 + 6


class Meeting(FakeProvider):
    """Each Create and Delete but the first waits until there are as many of them as there may be.

    :ivar most: there ever were.
    """

    size = 1

    def __init__(self, *args: t.Any) -> None:
        super().__init__(*args)
        self.barrier = threading.Barrier(self.size)
        self.lock = threading.Lock()
        self.calls = self.inside = self.most = 0

    def create(self, request: t.Any, ctx: t.Any) -> t.Any:
        return self.meeting(lambda: super(Meeting, self).create(request, ctx))

    def delete(self, ref: t.Any, ctx: t.Any) -> t.Any:
        return self.meeting(lambda: super(Meeting, self).delete(ref, ctx))

    def meeting(self, call: t.Callable[[], t.Any]) -> t.Any:
        with self.lock:
            self.calls += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
            ahead = self.calls == 1
        if not ahead:
            self.barrier.wait(20)
        try:
            return call()
        finally:
            with self.lock:
                self.inside -= 1


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_as_many_as_allowed_and_no_more(size):
    backend = Backend(SystemClock())
    built: list[Meeting] = []

    def build(name: str, config: t.Any, host: t.Any) -> Meeting:
        built.append(type("Sized", (Meeting,), {"size": size})(name, backend))
        return built[-1]

    host = Host(lambda argv, stdin="": (1, "", ""), "", types={"fake": ProviderType({"type": "object"}, False, build)})
    document = {
        "install": "demo",
        "providers": [{"name": "lab", "type": "fake", "fake": {}}],
        "squid": {"allowed_sources": ["127.0.0.0/8"]},
    }

    def run(module: t.Any, pool: str, **options: t.Any) -> int:
        """How many calls there were at once, at most."""
        params = {name: spec.get("default") for name, spec in module.argument_spec().items()}
        pools = [{"name": pool, "replicas": COUNT, "provider": "lab", "placement": {"zone": "a"}}]
        module.run({**params, "desired": {**document, "pools": pools}, "concurrency": size, **options}, host)
        return built[-1].most

    assert run(fleet, "old", wait=False) == size
    assert len(backend.machines) == COUNT
    assert run(gc, "eu", min_age=0, sightings=1, max_deletions="100%") == size
    assert not backend.machines
