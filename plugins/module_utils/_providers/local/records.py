# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The files that say what an instance is, and its provider ID. Pure: text in, text out."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
import typing as t

from .config import HOST, LOOPBACK

#: Backend names as C(_names.instance_name()) makes them; a dot would clash with the suffixes of an instance's files.
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

FORMAT = 1
SIZE_LIMIT = 65536


def provider_id(host: str, name: str) -> str:
    return f"hosts/{host}/proxies/{name}"


def parse_provider_id(text: str) -> tuple[str, str]:
    """Host and name in a provider ID; raises ValueError."""
    match = re.fullmatch(f"hosts/(?P<host>{HOST.pattern})/proxies/(?P<name>{NAME.pattern})", text)
    if not match:
        raise ValueError(
            f"{text!r} is no provider ID here (allowed: {provider_id('HOST', 'NAME')}, NAME of a-z, 0-9 and '-')"
        )
    return match["host"], match["name"]


@dataclasses.dataclass(frozen=True)
class Record:
    """C(state.json): one instance, written before its process starts.

    :ivar incarnation: random token, 16 hex characters.
    :ivar created: Unix seconds, informative only; None when somebody removed it, which counts as very old.
    :ivar labels: the marks by full name, as C(Marks.to_labels()) gives them.
    """

    name: str
    host: str
    incarnation: str
    address: str
    port: int
    created: float | None
    labels: t.Mapping[str, str]

    def encode(self) -> str:
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def decode(cls, text: str, host: str, name: str) -> Record:
        """Raises ValueError that says what is wrong; a person may have edited it, so nothing is taken on trust."""
        raw = _object(text)
        if raw.pop("format", None) != FORMAT:
            raise ValueError(f"format is not {FORMAT}")
        _check_fields(raw, {"name": str, "host": str, "incarnation": str, "address": str, "port": int, "labels": dict})
        if not _is_number(raw.setdefault("created", None)):
            raw["created"] = None
        if (raw["host"], raw["name"]) != (host, name):
            raise ValueError(f"it is about {raw['name']!r} on {raw['host']!r}")
        if not re.fullmatch(r"[0-9a-f]{16}", raw["incarnation"]):
            raise ValueError("incarnation is not 16 hex characters")
        if ipaddress.IPv4Address(raw["address"]) not in LOOPBACK:
            raise ValueError("address is no loopback address")
        if not 1 <= raw["port"] <= 65535:
            raise ValueError("port is not in 1 to 65535")
        if not all(isinstance(value, str) for value in raw["labels"].values()):
            raise ValueError("labels are not all strings")
        return cls(**raw)


@dataclasses.dataclass(frozen=True)
class Process:
    """C(process.json): which process is the engine, as the launcher wrote it.

    :ivar start: what L(egress_launcher.identities()) said of it; another process with that pid has another one.
    :ivar started: Unix seconds.
    """

    incarnation: str
    pid: int
    start: str
    started: float

    @classmethod
    def decode(cls, text: str) -> Process:
        """Raises ValueError."""
        raw = _object(text)
        _check_fields(raw, {"incarnation": str, "pid": int, "start": str})
        _check_number(raw, "started")
        if raw["pid"] < 2:
            raise ValueError("pid is below 2")
        return cls(**raw)


def _object(text: str) -> dict[str, t.Any]:
    raw = json.loads(text)  # JSONDecodeError is a ValueError
    if not isinstance(raw, dict):
        raise ValueError("not a JSON object")
    return raw


def _check_fields(raw: t.Mapping[str, t.Any], types: t.Mapping[str, type]) -> None:
    allowed = {*types, "created", "started"}
    for key in raw:
        if key not in allowed:
            raise ValueError(f"unknown key {key!r}")
    for key, kind in types.items():
        if not isinstance(raw.get(key), kind) or isinstance(raw[key], bool):
            raise ValueError(f"{key} is missing or of the wrong type")


def _check_number(raw: t.Mapping[str, t.Any], key: str) -> None:
    if not _is_number(raw.get(key)):
        raise ValueError(f"{key} is missing or no number")


def _is_number(value: t.Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
