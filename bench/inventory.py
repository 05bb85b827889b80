# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What C(ansible-inventory --list) costs with 10,000 instances: C(crawl.egress.egress) against a plugin that sets the
same variables and does nothing else, and what expressions of the user's own add. Nothing is asserted about time.

In CPU seconds, since other programs may use the machine; the medians of runs that take turns.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNT = 10_000
ROUNDS = 3

OURS = {
    "plugin": "crawl.egress.egress",
    "install": "bench",
    "providers": [{"name": "lab", "type": "egress_bench.fake.many", "egress_bench.fake.many": {"count": COUNT}}],
}
SOURCES: dict[str, dict[str, t.Any]] = {
    "same": {"plugin": "egress_bench.fake.same", "count": COUNT},
    "ours": OURS,
    "composed": {
        **OURS,
        "strict": True,
        "compose": {"url": "'http://' ~ egress_address", "odd": "egress_port % 2 == 1"},
        "keyed_groups": [{"key": "egress_pool", "prefix": "p"}, {"key": "egress_state", "prefix": "s"}],
    },
}


def inventory(source: Path) -> tuple[float, dict[str, t.Any]]:
    """CPU seconds of a run, and what it says."""
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join([str(ROOT / ".ansible" / "tree"), str(ROOT / "bench")]),
        "ANSIBLE_HOME": str(ROOT / ".ansible"),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
    }
    command = [os.path.join(sys.prefix, "bin", "ansible-inventory"), "-i", str(source), "--list"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(run.stdout)


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in SOURCES}
    said: dict[str, dict[str, t.Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for round_ in range(ROUNDS):
            for name, source in SOURCES.items():
                if name == "composed" and round_:  # takes much longer, and has no target
                    continue
                file = Path(scratch, f"{name}.egress.yml")
                file.write_text(json.dumps(source))
                taken, said[name] = inventory(file)
                seconds[name].append(taken)
    if said["ours"]["_meta"]["hostvars"] != said["same"]["_meta"]["hostvars"]:
        sys.exit("the two plugins do not set the same variables: the comparison would be worth nothing")
    same, ours, composed = (statistics.median(seconds[name]) for name in ("same", "ours", "composed"))
    print(
        f"ansible-inventory --list, {COUNT} instances: {ours:.1f} s CPU, "
        f"{same:.1f} s for the same variables and nothing else: {ours / same:.2f} times"
    )
    added = composed - ours
    print(f"two compose expressions and two keyed groups add {added:.1f} s CPU, {added / COUNT * 1000:.1f} ms a host")


if __name__ == "__main__":
    main()
