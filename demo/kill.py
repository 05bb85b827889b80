# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kill whatever listens on an address and port, as a crash would: C(kill.py 127.80.0.3 3128)."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

LISTEN = "0A"


def sockets(address: str, port: int) -> Iterator[str]:
    local = f"{socket.inet_aton(address)[::-1].hex().upper()}:{port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == local and fields[3] == LISTEN:
            yield f"socket:[{fields[9]}]"


def holders(links: set[str]) -> Iterator[int]:
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(descriptor) in links:
                yield int(descriptor.parts[2])
        except OSError:
            continue  # gone meanwhile


if __name__ == "__main__":
    victims = set(holders(set(sockets(sys.argv[1], int(sys.argv[2])))))
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    sys.exit(not victims)
