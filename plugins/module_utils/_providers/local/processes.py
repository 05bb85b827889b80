# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Which processes live and what listens where, read from the kernel."""

from __future__ import annotations

import os
import socket
import struct
import sys
import typing as t

from .egress_launcher import Run, identities
from .records import Process

CONNECT_SECONDS = 0.25

_LISTEN = "0A"


class Listeners:
    """All listening TCP sockets of the machine at one moment: {(address, port): inodes}; wildcards as C(0.0.0.0)."""

    def __init__(self) -> None:
        self.inodes: dict[tuple[str, int], set[str]] = {}
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            try:
                with open(table, encoding="ascii") as stream:
                    rows = [line.split() for line in stream]
            except FileNotFoundError:  # a kernel without IPv6
                continue
            for row in rows:
                if len(row) > 9 and row[3] == _LISTEN:
                    self.inodes.setdefault(_endpoint(row[1]), set()).add(row[9])

    def on(self, address: str, port: int) -> set[str]:
        return self.inodes.get((address, port), set())


def _endpoint(text: str) -> tuple[str, int]:
    """C(0100007F:0C38), with the address in the machine's byte order, 32 bits at a time."""
    host, _colon, port = text.partition(":")
    words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
    return socket.inet_ntoa(struct.pack("=I", words[-1])), int(port, 16)  # of IPv6, the part that may map IPv4


class Probe:
    """What the kernel says about some engines, asked once for all of them."""

    def __init__(self, processes: t.Collection[Process], run: Run) -> None:
        self._living = identities({process.pid for process in processes}, run)
        self._listeners = Listeners() if sys.platform == "linux" and processes else None

    def alive(self, process: Process) -> bool:
        return self._living.get(process.pid) == process.start

    def accepts(self, process: Process, address: str, port: int) -> bool:
        """Whether this very process listens there; another program's socket doesn't count."""
        if self._listeners is None:
            return _connects(address, port)
        inodes = self._listeners.on(address, port)
        return bool(inodes) and not inodes.isdisjoint(_sockets(process.pid))


def _connects(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _sockets(pid: int) -> set[str]:
    """Inodes of the sockets that a process has open; empty when it is gone or somebody else's."""
    found: set[str] = set()
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return found
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def holder(address: str, port: int) -> str:
    """For people: which program listens there, or on all addresses; its arguments may be secret and are not told."""
    if sys.platform != "linux":
        return "another program"
    listeners = Listeners()
    inodes = listeners.on(address, port) | listeners.on("0.0.0.0", port)
    for name in filter(str.isdigit, os.listdir("/proc")):
        if inodes and not inodes.isdisjoint(_sockets(int(name))):
            try:
                with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as stream:
                    return f"process {name} ({stream.read().strip()})"
            except OSError:
                continue
    return "another user's program" if inodes else "another program"


def bind_error(address: str, port: int) -> OSError | None:
    """Why an engine could not listen there; None when it could."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as engines do: closed connections don't matter
        try:
            probe.bind((address, port))
        except OSError as error:
            return error
    return None
