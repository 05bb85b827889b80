# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marks that a provider writes in the call that creates an instance, and reads back from it.

Names and values fit the strictest backend (GCE labels), so a provider stores them as they are: as labels, as
annotations or in a metadata document. This file is part of the public, versioned provider API; import its names
from C(provider.py).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

DEFAULT_PREFIX = "proxy-operator"

#: What every mark's value and every name in the desired state must match; an operator's UID matches it too.
VALUE = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")
VALUE_HELP = "1 to 63 of a-z, 0-9, '-' and '_', beginning and ending with a letter or digit"

#: Pools with a meaning of their own: the document's C(proxies), and the proxies of C(egress_proxy).
NAMED_POOL = "named"
TASK_POOL = "task"

#: Marks that are set on a living instance by a Marker.
HOLD = "hold"


@dataclasses.dataclass(frozen=True)
class Marks:
    """Who an instance belongs to and what it was made from.

    :ivar uid: UID of the proxy; empty when the mark is missing, and then nobody acts on the instance.
    :ivar slot: 0, or 1 while surging.
    :ivar spec_hash: 32 hex characters, to be read with spec_version.
    :ivar created: Unix seconds, only where the backend has no timestamp of its own.
    :ivar extra: marks set later, by short name (C(hold)).
    """

    uid: str
    install: str
    namespace: str
    name: str
    pool: str
    provider: str
    port: int
    spec_hash: str = ""
    spec_version: int = 0
    slot: int = 0
    generation: int | None = None
    created: int | None = None
    extra: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def to_labels(self, prefix: str) -> dict[str, str]:
        """The marks as strings, by full name; None and empty values are left out."""
        plain = {
            "managed": "true",
            "uid": self.uid,
            "install": self.install,
            "namespace": self.namespace,
            "name": self.name,
            "pool": self.pool,
            "slot": str(self.slot),
            "port": str(self.port),
            "provider": self.provider,
            "spec-hash": self.spec_hash,
            "spec-version": str(self.spec_version),
            "generation": "" if self.generation is None else str(self.generation),
            "created": "" if self.created is None else str(self.created),
            **self.extra,
        }
        return {f"{prefix}-{key}": value for key, value in plain.items() if value}

    @classmethod
    def from_labels(cls, labels: t.Mapping[str, str], prefix: str) -> Marks | None:
        """The marks of a managed instance, or None for one without the managed mark.

        Somebody may have wiped or edited labels, so a missing or unreadable value is the empty one: absence is
        reported by whoever needs the value, never guessed.
        """
        head = prefix + "-"
        own = {key[len(head) :]: value for key, value in labels.items() if key.startswith(head)}
        if own.pop("managed", None) != "true":
            return None
        return cls(
            uid=own.pop("uid", ""),
            install=own.pop("install", ""),
            namespace=own.pop("namespace", ""),
            name=own.pop("name", ""),
            pool=own.pop("pool", ""),
            provider=own.pop("provider", ""),
            port=_number(own.pop("port", "")) or 0,
            spec_hash=own.pop("spec-hash", ""),
            spec_version=_number(own.pop("spec-version", "")) or 0,
            slot=_number(own.pop("slot", "")) or 0,
            generation=_number(own.pop("generation", "")),
            created=_number(own.pop("created", "")),
            extra=own,
        )

    def conflict_with(self, wanted: Marks) -> str | None:
        """Why an instance with these marks must not be adopted for a request with those; None when it may.

        Verified adoption: same install, UID, slot and pool. The pool keeps proxies of tasks and of documents apart.
        """
        for key in ("install", "uid", "slot", "pool"):
            mine, theirs = getattr(self, key), getattr(wanted, key)
            if mine != theirs:
                return f"its {key} is {mine!r}, not {theirs!r}"
        return None

    def hold_until(self) -> float | None:
        """Until when (Unix seconds) the instance is protected from replacement and collection."""
        return _number(self.extra.get(HOLD, ""))

    def held(self, now: float) -> bool:
        """Whether it is protected; a mark that is damaged protects, too, until somebody corrects it."""
        until = self.hold_until()
        return HOLD in self.extra and (until is None or until > now)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else None
