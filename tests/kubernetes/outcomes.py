# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can become of a Pod, as the kubelet (or scheduler, or node controller) of Kubernetes 1.20 writes it down."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A Pod's status.

    Attributes:
        state: of each container, as in C(containerStatuses) but for times; None: nothing is known of them.
        address: whether the Pod has one.
        reason, message: of the Pod itself.
        unscheduled: why no node takes the Pod; it then is on none.
        unreachable: its node does not answer, so that the rest is as the kubelet left it.
    """

    phase: str
    state: dict[str, Any] | None = None
    ready: bool = False
    address: bool = True
    restarts: int = 0
    reason: str | None = None
    message: str | None = None
    unscheduled: str | None = None
    unreachable: bool = False

    def status(self, pod: dict[str, Any], address: str) -> dict[str, Any]:
        """The whole C(status) as a merge patch."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

        def condition(name: str, holds: bool, reason: str | None = None, message: str | None = None) -> dict[str, Any]:
            said = {"reason": reason, "message": message} if reason else {}
            return {"type": name, "status": str(holds), "lastTransitionTime": now, **said}

        status: dict[str, Any] = {
            "phase": self.phase,
            "reason": self.reason,
            "message": self.message,
            "hostIP": "127.0.0.1",
            "podIP": address if self.address else None,
            "podIPs": [{"ip": address}] if self.address else None,
            "startTime": now,
            "conditions": None,
            "containerStatuses": None,
        }
        if self.unscheduled is not None:
            status |= {"hostIP": None, "startTime": None}
            status["conditions"] = [condition("PodScheduled", False, "Unschedulable", self.unscheduled)]
        elif self.state is not None:
            names = " ".join(container["name"] for container in pod["spec"]["containers"])
            unready = () if self.ready else ("ContainersNotReady", f"containers with unready status: [{names}]")
            status["conditions"] = [
                condition("Initialized", True),
                condition("Ready", self.ready and not self.unreachable, *unready),
                condition("ContainersReady", self.ready, *unready),
                condition("PodScheduled", True),
            ]
            ((state, details),) = self.state.items()
            times = {"running": ("startedAt",), "terminated": ("startedAt", "finishedAt")}.get(state, ())
            status["containerStatuses"] = [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": "",
                    "ready": self.ready,
                    "started": self.ready,
                    "restartCount": self.restarts,
                    "state": {state: {**details, **dict.fromkeys(times, now)}},
                }
                for container in pod["spec"]["containers"]
            ]
        return status


def _waiting(reason: str, message: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def _terminated(code: int, reason: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason}}


RUNNING = Outcome("Running", {"running": {}}, ready=True)
NOT_READY = Outcome("Running", {"running": {}})
CREATING = Outcome("Pending", _waiting("ContainerCreating", ""), address=False)
SUCCEEDED = Outcome("Succeeded", _terminated(0, "Completed"))
FAILED = Outcome("Failed", _terminated(1, "Error"))
EVICTED = Outcome("Failed", None, address=False, reason="Evicted", message="The node was low on resource: memory. ")
# by the node controller, which touches nothing but this condition
UNREACHABLE = dataclasses.replace(RUNNING, unreachable=True)
# by older ones, and by those of other makers
LOST = Outcome(
    "Running", {"running": {}}, reason="NodeLost", message="Node stand-in which was running pod is unresponsive"
)
UNKNOWN = Outcome("Unknown", {"running": {}})


def stuck(reason: str, message: str) -> Outcome:
    """A container that can't start: ImagePullBackOff, ErrImageNeverPull, CreateContainerConfigError and the like."""
    return Outcome("Pending", _waiting(reason, message))


def crashing(restarts: int, message: str) -> Outcome:
    return Outcome("Running", _waiting("CrashLoopBackOff", message), restarts=restarts)


def unschedulable(message: str) -> Outcome:
    return Outcome("Pending", unscheduled=message, address=False)
