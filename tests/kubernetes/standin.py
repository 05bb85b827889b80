# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stand-in for scheduler, node and kubelet: writes into the API what they would, and runs nothing.

A Pod gets a node and, once the Secrets that it mounts are there, becomes Running and Ready within milliseconds, with
an address of its own in 127.0.0.0/8 on which nobody listens (a test may); a deleted Pod goes. A test can have it
otherwise.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import urllib3

from ansible_collections.crawl.egress.tests.kubernetes.api import Api, Refused
from ansible_collections.crawl.egress.tests.kubernetes.outcomes import RUNNING, Outcome

NODE = "stand-in"
WORKERS = 4


def add_node(api: Api) -> None:
    """Make the node that all stand-ins of a cluster share."""
    labels = {"topology.kubernetes.io/region": "region-1", "topology.kubernetes.io/zone": "zone-1"}
    node = {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE, **labels}}}
    api.post("/api/v1/nodes", node)
    status = {
        "capacity": {"cpu": "1000", "memory": "4Ti", "pods": "10000"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    api.patch(f"/api/v1/nodes/{NODE}/status", {"status": status})


class StandIn:
    """Serves the Pods of one namespace.

    Args:
        addresses: of its Pods, one after another.
    """

    def __init__(self, kubeconfig: Path, namespace: str, addresses: Iterator[int]) -> None:
        self._api = Api(kubeconfig)
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._addresses = addresses
        self._default = RUNNING
        self._outcomes: dict[str, Outcome] = {}
        self._settled: dict[str, str] = {}  # address by UID of the Pods that have become something
        self._locks = [threading.Lock() for number in range(8 * WORKERS)]  # no two changes of one Pod at once
        self._events: queue.SimpleQueue[tuple[str, dict[str, Any]] | None] = queue.SimpleQueue()
        self._at_work = threading.Event()
        self._at_work.set()
        self._stopping = threading.Event()
        self._response: urllib3.HTTPResponse | None = None
        # several, since a Pod takes a few round trips, and some tests have many Pods
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._serve, *WORKERS * [self._work])
        ]
        for thread in self._threads:
            thread.start()

    def becomes(self, outcome: Outcome, *names: str) -> None:
        """Say what becomes of new Pods: of those names, or of all others."""
        self._outcomes.update(dict.fromkeys(names, outcome))
        if not names:
            self._default = outcome

    def report(self, name: str, outcome: Outcome) -> None:
        """Change the status of a Pod that is there, now."""
        uid = self._api.get(f"{self._path}/{name}")["metadata"]["uid"]
        with self._lock(uid):
            self._settle(self._api.get(f"{self._path}/{name}"), outcome)

    def pause(self) -> None:
        """Do nothing any more, as a lost or slow node does: new Pods stay Pending, deleted ones stay."""
        self._at_work.clear()

    def resume(self) -> None:
        """Go on, and make up for it."""
        self._at_work.set()

    def close(self) -> None:
        self._stopping.set()
        self._at_work.set()
        self._end_watch()
        self._events.put(None)
        for thread in self._threads:
            thread.join()
        self._api.close()

    def _end_watch(self) -> None:
        response = self._response
        if response is not None:
            with contextlib.suppress(ValueError, OSError):  # it has ended by itself
                response.shutdown()

    def _lock(self, uid: str) -> threading.Lock:
        return self._locks[hash(uid) % len(self._locks)]

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                listing = self._api.get(self._path)
                for pod in listing["items"]:
                    self._events.put(("ADDED", pod))
                version = listing["metadata"]["resourceVersion"]
                with self._api.watch(f"{self._path}?watch=1&resourceVersion={version}") as response:
                    self._response = response
                    if not self._stopping.is_set():
                        self._follow(response)
            except (Refused, urllib3.exceptions.HTTPError, OSError, ValueError):
                self._stopping.wait(0.05)  # the server is away, or the namespace is going: ask again
            finally:
                self._response = None

    def _follow(self, response: urllib3.HTTPResponse) -> None:
        rest = b""
        for chunk in response.stream(amt=None):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                self._events.put((event["type"], event["object"]))

    def _work(self) -> None:
        while (event := self._events.get()) is not None:
            self._at_work.wait()
            if self._stopping.is_set():
                continue
            try:
                self._handle(*event)
            except (Refused, urllib3.exceptions.HTTPError) as error:
                # it may have changed meanwhile, and then there is another event; else a new listing brings it again
                if getattr(error, "status", None) not in (404, 409):
                    self._end_watch()
        self._events.put(None)  # for the next worker

    def _handle(self, kind: str, pod: dict[str, Any]) -> None:
        """Do what an event calls for."""
        meta = pod["metadata"]
        with self._lock(meta["uid"]):
            if kind == "DELETED":
                self._settled.pop(meta["uid"], None)
            elif "deletionTimestamp" in meta:
                if pod["spec"].get("nodeName") == NODE and meta.get("deletionGracePeriodSeconds") != 0:
                    self._finish(meta)
            elif meta["uid"] not in self._settled and self._has_its_secrets(pod):
                self._settle(pod, self._outcomes.get(meta["name"], self._default))

    def _has_its_secrets(self, pod: dict[str, Any]) -> bool:
        """A Pod does not start without them. As a kubelet does, look again after a while, as long as it is there."""
        namespace, name = self._path.rpartition("/")[0], pod["metadata"]["name"]
        names = [volume["secret"]["secretName"] for volume in pod["spec"].get("volumes", ()) if "secret" in volume]
        if all(self._api.find(f"{namespace}/secrets/{secret}") for secret in names):
            return True
        if self._api.find(f"{self._path}/{name}") and not self._stopping.wait(0.05):
            self._events.put(("ADDED", pod))
        return False

    def _finish(self, meta: dict[str, Any]) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        self._api.delete(f"{self._path}/{meta['name']}", options)

    def _settle(self, pod: dict[str, Any], outcome: Outcome) -> None:
        meta = pod["metadata"]
        path = f"{self._path}/{meta['name']}"
        if "nodeName" not in pod["spec"] and outcome.unscheduled is None:
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            self._api.post(
                f"{path}/binding", {"metadata": {"name": meta["name"], "uid": meta["uid"]}, "target": target}
            )
        address = self._settled.get(meta["uid"]) or str(ip_address(next(self._addresses)))
        status = outcome.status(pod, address)
        self._api.patch(f"{path}/status", {"metadata": {"uid": meta["uid"]}, "status": status})
        self._settled[meta["uid"]] = address
