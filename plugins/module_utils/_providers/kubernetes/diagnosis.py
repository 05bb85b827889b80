# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What a person would look at first when a Pod does not do what it should: conditions, containers, events, log."""

from __future__ import annotations

import re
import typing as t

from ...provider import Context
from .api import EVENTS, PODS, Json, KubernetesApi
from .errors import Refusal
from .pod import CONTAINER

#: Characters of the whole text, and lines of each log and of the events.
LONGEST, LINES = 16_000, 40

_SECRETS = (
    (re.compile(r"\$[56]\$[^\s:\"']+"), "[hash]"),
    (re.compile(r"(?i)\b(basic|bearer) [A-Za-z0-9._~+/=-]{6,}"), r"\1 [redacted]"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), "[token]"),
    (re.compile(r"(?<=://)[^/\s@]+@"), "[redacted]@"),
)


def diagnose(api: KubernetesApi, namespace: str, name: str, incarnation: str, ctx: Context) -> str:
    """Parts that may not be read are named, with the reason."""
    pod = api.get(PODS, namespace, name, ctx)
    if pod["metadata"]["uid"] != incarnation:
        # For the caller, the instance that is meant is gone.
        raise Refusal(404, "NotFound", f'pods "{name}" is another instance by now', "pods")
    status: Json = pod.get("status") or {}
    node = (pod.get("spec") or {}).get("nodeName") or "no node"
    parts = [f"Pod {namespace}/{name}: {status.get('phase')} on {node}"]
    parts += [_condition(c) for c in status.get("conditions") or ()]
    parts += [line for c in status.get("containerStatuses") or () for line in _container(c)]
    parts += _part("events", lambda: _events(api, namespace, incarnation, ctx))
    parts += _part("log", lambda: _log(api, namespace, name, ctx, previous=False))
    if any(c.get("restartCount") for c in status.get("containerStatuses") or ()):
        parts += _part("log before the last restart", lambda: _log(api, namespace, name, ctx, previous=True))
    return redact("\n".join(parts))


def redact(text: str) -> str:
    """Without what looks like a secret, and not too long: of too much the beginning goes."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text if len(text) <= LONGEST else "...\n" + text[-LONGEST:]


def _part(title: str, read: t.Callable[[], list[str]]) -> list[str]:
    try:
        lines = read()
    except Refusal as refusal:
        return [f"{title}: not readable: {refusal.message}"]
    return [f"{title}:", *(f"  {line}" for line in lines[-LINES:])] if lines else [f"{title}: none"]


def _condition(condition: Json) -> str:
    words = " ".join(filter(None, (condition.get("reason"), condition.get("message"))))
    return f"condition {condition['type']}={condition['status']} {words}".rstrip()


def _container(container: Json) -> t.Iterator[str]:
    for title, field in (("container", "state"), ("container before", "lastState")):
        for kind, about in (container.get(field) or {}).items():
            words = ", ".join(
                f"{key} {about[key]}"
                for key in ("reason", "exitCode", "signal", "message", "finishedAt")
                if key in about
            )
            yield f"{title} {container['name']}: {kind}, {words or 'no more to say'}"
    if container.get("restartCount"):
        yield f"container {container['name']}: {container['restartCount']} restarts"


def _events(api: KubernetesApi, namespace: str, incarnation: str, ctx: Context) -> list[str]:
    events = api.find(EVENTS, namespace, ctx, fields=f"involvedObject.uid={incarnation}")
    events.sort(key=lambda e: e.get("lastTimestamp") or e.get("eventTime") or "")
    return [
        f"{e.get('lastTimestamp') or e.get('eventTime')} {e.get('type')} {e.get('reason')}"
        f" (x{e.get('count') or 1}): {e.get('message')}"
        for e in events
    ]


def _log(api: KubernetesApi, namespace: str, name: str, ctx: Context, *, previous: bool) -> list[str]:
    return api.log(namespace, name, ctx, container=CONTAINER, lines=LINES, previous=previous).splitlines()
