# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a Pod's status says about a proxy. Pure.

A Pod is an instance of its own: one that is evicted stays Failed and keeps its name, and never recovers.

A node that is lost can't say so. What shows it is the node controller's hand: it sets the Pod's C(Ready) to False and
leaves C(ContainersReady), which only the kubelet writes, at True. The kubelet itself changes both together.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ...provider import State
from .pod import CONTAINER

Json = t.Mapping[str, t.Any]

NODE_LOST = "NodeLost"
#: Waiting for these is normal and needs no word.
_USUAL = ("ContainerCreating", "PodInitializing")


@dataclasses.dataclass(frozen=True)
class Condition:
    """:ivar since: Unix seconds of the last change, where the status tells. :ivar address: the Pod's, if it has one."""

    state: State
    cause: str | None = None
    message: str | None = None
    since: float | None = None
    address: str | None = None
    deleting: bool = False


def read(pod: Json, now: float, lost_node_timeout: float | None) -> Condition:
    """
    :param now: Unix seconds.
    :param lost_node_timeout: seconds after which a Pod on a lost node counts as Terminated; None for never.
    """
    status: Json = pod.get("status") or {}
    found = _alive(status, now, lost_node_timeout)
    found = dataclasses.replace(found, address=status.get("podIP") or None)
    if not pod["metadata"].get("deletionTimestamp"):
        return found
    if found.state in (State.RUNNING, State.PROVISIONING):
        found = dataclasses.replace(found, state=State.STOPPED)
    since = seconds(pod["metadata"]["deletionTimestamp"])
    return dataclasses.replace(found, deleting=True, since=since, message=found.message or _holding(pod))


def _alive(status: Json, now: float, lost_node_timeout: float | None) -> Condition:
    phase = status.get("phase", "Pending")
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    ready = conditions.get("Ready", {})
    since = seconds(ready.get("lastTransitionTime"))
    if phase in ("Succeeded", "Failed"):
        return _ended(status, phase, since)
    if phase == "Unknown" or status.get("reason") == NODE_LOST or _left_by_node(conditions):
        cause = NODE_LOST if phase != "Unknown" else status.get("reason") or "Unknown"
        message = status.get("message") or "its node does not answer"
        return _lost(cause, message, since, now, lost_node_timeout)
    if phase == "Running" and ready.get("status") == "True" and status.get("podIP"):
        return Condition(State.RUNNING, since=since)
    if phase not in ("Pending", "Running"):
        return Condition(State.STOPPED, phase, status.get("message"))
    cause, message = _obstacle(status, conditions)
    return Condition(State.PROVISIONING, cause, message, since)


def _left_by_node(conditions: t.Mapping[str, Json]) -> bool:
    ready, containers = conditions.get("Ready", {}), conditions.get("ContainersReady", {})
    return ready.get("status") == "False" and containers.get("status") == "True" and not ready.get("reason")


def _lost(cause: str, message: str, since: float | None, now: float, timeout: float | None) -> Condition:
    if timeout is None or since is None or now - since < timeout:
        return Condition(State.UNKNOWN, cause, message, since)
    return Condition(State.TERMINATED, cause, f"{message}, for more than {timeout:.0f} s", since)


def _ended(status: Json, phase: str, since: float | None) -> Condition:
    ended = _container(status).get("state", {}).get("terminated") or {}
    cause = status.get("reason") or ended.get("reason") or phase
    message = status.get("message") or ended.get("message")
    if not message and "exitCode" in ended:
        message = f"exit status {ended['exitCode']}"
    return Condition(State.TERMINATED, cause, message, since)


def _obstacle(status: Json, conditions: t.Mapping[str, Json]) -> tuple[str | None, str | None]:
    """Why it does not serve yet, as far as anybody says so."""
    container = _container(status)
    waiting = container.get("state", {}).get("waiting") or {}
    if waiting.get("reason") and waiting["reason"] not in _USUAL:
        return waiting["reason"], _waiting_message(waiting, container)
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return scheduled.get("reason") or "NotScheduled", scheduled.get("message")
    if status.get("reason"):
        return status["reason"], status.get("message")
    if "running" in container.get("state", {}) and not container.get("ready"):
        return "NotReady", "the proxy's port does not answer"
    return None, None


def _waiting_message(waiting: Json, container: Json) -> str | None:
    """The kubelet's words, and how the container ended the last time, which those about a crash loop leave out."""
    words = waiting.get("message")
    last = container.get("lastState", {}).get("terminated") or {}
    if not last:
        return words
    how = f"last ended as {last.get('reason', 'Error')} with exit status {last.get('exitCode')}"
    return f"{words}; {how}" if words else how


def _container(status: Json) -> Json:
    """There is one container; admission may have put others (sidecars) beside it."""
    statuses: t.Sequence[Json] = status.get("containerStatuses") or ()
    return next((c for c in statuses if c.get("name") == CONTAINER), {})


def _holding(pod: Json) -> str | None:
    finalizers = pod["metadata"].get("finalizers")
    return f"held by its finalizers: {', '.join(finalizers)}" if finalizers else None


def seconds(timestamp: str | None) -> float | None:
    """Unix seconds of a C(metav1.Time); None for what is none."""
    if not isinstance(timestamp, str):
        return None
    text = timestamp[:19]
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    # newer Pythons take other forms, too
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp() if moment.isoformat() == text else None
