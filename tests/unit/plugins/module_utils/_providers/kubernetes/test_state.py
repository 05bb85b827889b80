# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the status of a Pod says about a proxy. The statuses are those that a kubelet and the controllers write."""

from __future__ import annotations

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.state import read, seconds
from ansible_collections.crawl.egress.plugins.module_utils.provider import State

CREATED, READY_AT = "2026-11-29T12:00:00Z", "2026-11-29T12:00:05Z"
T0 = 1795953600.0
NOW = T0 + 100


def pod(phase="Running", *, container=None, conditions=None, deleted=None, finalizers=None, **status):
    if container is not None:
        status["containerStatuses"] = [{"name": "sidecar", "ready": True}, {"name": "squid", **container}]
    if conditions is not None:
        status["conditions"] = [
            {"type": kind, "status": value, "lastTransitionTime": READY_AT, **more}
            for kind, (value, more) in conditions.items()
        ]
    metadata = {"name": "proxy-a", "namespace": "proxies", "uid": "u", "creationTimestamp": CREATED}
    if deleted:
        metadata.update(deletionTimestamp=deleted, finalizers=finalizers or [])
    return {"metadata": metadata, "status": {"phase": phase, **status}}


READY = {"Ready": ("True", {}), "ContainersReady": ("True", {})}
NOT_READY = {
    "Ready": ("False", {"reason": "ContainersNotReady", "message": "containers with unready status: [squid]"}),
    "ContainersReady": ("False", {"reason": "ContainersNotReady"}),
}
RUNNING = {"ready": True, "state": {"running": {"startedAt": CREATED}}}


def waiting(reason, message=None, last=None):
    state = {"reason": reason, **({"message": message} if message else {})}
    return {"ready": False, "state": {"waiting": state}, "lastState": {"terminated": last} if last else {}}


@pytest.mark.parametrize(
    ("status", "state", "cause", "message"),
    [
        (pod(podIP="10.0.0.1", container=RUNNING, conditions=READY), State.RUNNING, None, None),
        (pod(container=RUNNING, conditions=READY), State.PROVISIONING, None, None),
        ({"metadata": {"name": "a", "namespace": "b", "uid": "u"}}, State.PROVISIONING, None, None),
        (pod("Pending"), State.PROVISIONING, None, None),
        (pod("Pending", container=waiting("ContainerCreating")), State.PROVISIONING, None, None),
        (
            pod(podIP="10.0.0.1", container={"ready": False, "state": {"running": {}}}, conditions=NOT_READY),
            State.PROVISIONING,
            "NotReady",
            "the proxy's port does not answer",
        ),
        (
            pod("Pending", container=waiting("ImagePullBackOff", 'Back-off pulling image "nowhere:1"')),
            State.PROVISIONING,
            "ImagePullBackOff",
            'Back-off pulling image "nowhere:1"',
        ),
        (
            pod("Pending", container=waiting("ErrImageNeverPull", "image is not present with pull policy of Never")),
            State.PROVISIONING,
            "ErrImageNeverPull",
            "image is not present with pull policy of Never",
        ),
        (
            pod("Pending", container=waiting("CreateContainerConfigError", 'secret "x" not found')),
            State.PROVISIONING,
            "CreateContainerConfigError",
            'secret "x" not found',
        ),
        (
            pod(
                podIP="10.0.0.1",
                container=waiting(
                    "CrashLoopBackOff", "back-off 10s restarting failed container", {"reason": "Error", "exitCode": 1}
                ),
                conditions=NOT_READY,
            ),
            State.PROVISIONING,
            "CrashLoopBackOff",
            "back-off 10s restarting failed container; last ended as Error with exit status 1",
        ),
        (
            pod("Pending", conditions={"PodScheduled": ("False", {"reason": "Unschedulable", "message": "0/1 nodes"})}),
            State.PROVISIONING,
            "Unschedulable",
            "0/1 nodes",
        ),
        (
            pod("Failed", reason="Evicted", message="The node was low on resource: memory."),
            State.TERMINATED,
            "Evicted",
            "The node was low on resource: memory.",
        ),
        (
            pod("Failed", container={"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}),
            State.TERMINATED,
            "OOMKilled",
            "exit status 137",
        ),
        (pod("Succeeded"), State.TERMINATED, "Succeeded", None),
        (pod("Unknown", conditions=NOT_READY), State.UNKNOWN, "Unknown", "its node does not answer"),
        (
            pod(reason="NodeLost", message="Node n which was running pod a is unresponsive", conditions=NOT_READY),
            State.UNKNOWN,
            "NodeLost",
            "Node n which was running pod a is unresponsive",
        ),
        (pod("Hibernating", message="zzz"), State.STOPPED, "Hibernating", "zzz"),
    ],
)
def test_states(status, state, cause, message):
    found = read(status, NOW, 900)
    assert (found.state, found.cause, found.message, found.deleting) == (state, cause, message, False)


def test_what_only_the_node_controller_does_shows_a_lost_node():
    conditions = {"Ready": ("False", {}), "ContainersReady": ("True", {})}
    lost = pod(podIP="10.0.0.1", container=RUNNING, conditions=conditions)
    found = read(lost, NOW, 900)
    assert (found.state, found.cause, found.since) == (State.UNKNOWN, "NodeLost", T0 + 5)
    gates = {"Ready": ("False", {"reason": "ReadinessGatesNotReady"}), "ContainersReady": ("True", {})}
    assert read(pod(container=RUNNING, conditions=gates), NOW, 900).state is State.PROVISIONING


def test_a_lost_node_is_waited_for():
    lost = pod(reason="NodeLost", message="Node n is unresponsive", conditions=NOT_READY)
    assert read(lost, T0 + 5 + 899, 900).state is State.UNKNOWN
    found = read(lost, T0 + 5 + 900, 900)
    assert (found.state, found.cause) == (State.TERMINATED, "NodeLost")
    assert "for more than 900 s" in found.message
    assert read(lost, T0 + 10**6, None).state is State.UNKNOWN
    assert read(pod("Unknown"), T0 + 10**6, 900).state is State.UNKNOWN  # since when is not known


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed", "Unknown", "Hibernating"])
def test_what_is_being_deleted_never_runs(phase):
    found = read(pod(phase, podIP="10.0.0.1", container=RUNNING, conditions=READY, deleted=READY_AT), NOW, 900)
    assert found.deleting
    assert found.state is not State.RUNNING
    assert found.since == T0 + 5


def test_finalizers_are_named():
    found = read(pod(deleted=READY_AT, finalizers=["example.com/a", "example.com/b"]), NOW, 900)
    assert found.message == "held by its finalizers: example.com/a, example.com/b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CREATED, T0),
        ("2026-11-29T12:00:00.123456Z", T0),
        ("0001-01-01T00:00:00Z", -62135596800.0),
        (None, None),
        ("", None),
        ("yesterday", None),
        ("2026-11-29", None),
        ("20261129T120000Z", None),
        ("2026-11-29 12:00:00", None),
        (5, None),
        ({"a": 1}, None),
    ],
)
def test_times(text, expected):
    assert seconds(text) == expected
