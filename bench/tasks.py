# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a task costs that has nothing to do: C(egress_proxy) against C(ansible.builtin.ping), through both doors.

One playbook of 4 x 100 tasks. Another interpreter than the one that runs Ansible, if only by name, means the module.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TASKS = 100
PROXY = {"name": "bench", "wait_timeout": 60}

Task = dict[str, t.Any]


def play(folder: str) -> Task:
    other_name = os.path.join(os.path.dirname(sys.executable), "python" if sys.executable[-1].isdigit() else "python3")
    proxy: Task = {"crawl.egress.egress_proxy": PROXY, "register": "last"}
    unchanged: Task = {"ansible.builtin.assert": {"that": "last is not changed", "quiet": True}}
    ping: Task = {"ansible.builtin.ping": {}}
    as_module: Task = {"vars": {"ansible_python_interpreter": other_name}}
    marks = (mark(name) for name in ("start", "in_process", "ping", "module", "ping_again"))
    series = [[proxy], [ping], [proxy | as_module], [ping | as_module]]
    timed = itertools.chain([next(marks)], *([*(one * TASKS), next(marks)] for one in series))
    return {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
        "module_defaults": {
            "crawl.egress.egress_proxy": {
                "install": "bench",
                "providers": [{"name": "here", "type": "local", "local": {"directory": folder}}],
                "squid": {"allowed_sources": ["127.0.0.0/8"]},
            }
        },
        "tasks": [proxy, {"block": [*timed, unchanged, report()], "always": [gone()]}],
    }


def mark(name: str) -> Task:
    return {"ansible.builtin.set_fact": {f"at_{name}": "{{ now(utc=true).timestamp() }}"}}


def gone() -> Task:
    return {"crawl.egress.egress_proxy": PROXY | {"state": "absent"}}


def report() -> Task:
    def ratio(name: str, begin: str, end: str, ping_begin: str, ping_end: str) -> str:
        took, ping = f"(at_{end} - at_{begin})", f"(at_{ping_end} - at_{ping_begin})"
        return (
            f"{name}: {{{{ ({took} * 1000 / {TASKS}) | round(1) }}}} ms a task, "
            f"ping {{{{ ({ping} * 1000 / {TASKS}) | round(1) }}}} ms: {{{{ ({took} / {ping}) | round(2) }}}} times"
        )

    return {
        "ansible.builtin.debug": {
            "msg": [
                ratio("in-process", "start", "in_process", "in_process", "ping"),
                ratio("as a module", "ping", "module", "module", "ping_again"),
            ]
        }
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        playbook = Path(scratch, "play.json")
        playbook.write_text(json.dumps([play(os.path.join(scratch, "proxies"))]))
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible" / "tree"),
            "ANSIBLE_HOME": str(ROOT / ".ansible"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        }
        command = [os.path.join(sys.prefix, "bin", "ansible-playbook"), "-i", "localhost,", playbook]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(run.stdout if run.returncode else "\n".join(line for line in run.stdout.splitlines() if " times" in line))
    sys.exit(run.returncode)
