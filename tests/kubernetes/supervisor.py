# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program beside pid 1 in the namespaces of a test cluster: starts and ends others, as C(enclosure.py) asks.

One JSON object a line, in and out. Its standard input ends when the test process does, however that ends; then it ends,
pid 1 with it, and the kernel kills whatever else runs in the pid namespace.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

daemons: dict[str, subprocess.Popen[bytes]] = {}


def start(name: str, argv: list[str], env: dict[str, str]) -> dict[str, Any]:
    """Start a daemon; it writes C(NAME.log)."""
    with open(f"{name}.log", "ab") as log:
        daemons[name] = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **env}
        )
    return {}


def signal(name: str, number: int) -> dict[str, Any]:
    daemons[name].send_signal(number)
    return {}


def wait(name: str) -> dict[str, Any]:
    return {"returncode": daemons[name].wait()}


def ended() -> dict[str, Any]:
    """The exit code of each daemon that has ended."""
    codes = {name: daemon.poll() for name, daemon in daemons.items()}
    return {"ended": {name: code for name, code in codes.items() if code is not None}}


def run(argv: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return {"returncode": done.returncode, "output": done.stdout}


VERBS = {verb.__name__: verb for verb in (start, signal, wait, ended, run)}


def main() -> None:
    for line in sys.stdin:
        verb, arguments = json.loads(line)
        try:
            answer = VERBS[verb](**arguments)
        except OSError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
