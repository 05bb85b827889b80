# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run C(ansible-test sanity), of the environment whose Python runs this, on a staged copy. Arguments are passed on."""

from __future__ import annotations

import ast
import configparser
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ansible_test

ROOT = Path(__file__).resolve().parent.parent
# ansible-test keeps its many small environments in the home directory, and drops the environment variables that may be
# what pip needs here: so it gets a home of its own, with pip's settings in a file.
HOME = ROOT / ".ansible" / "home"

# ansible-test downloads a script that installs pip, unless one is in its cache. Every Python brings what that takes.
GET_PIP = """\
import subprocess, sys
args = [a for a in sys.argv[1:] if a not in ("--no-setuptools", "--no-wheel")]
# in a process of its own: it switches pip's configuration files off
subprocess.check_call([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", *args])
"""


def pip_settings() -> configparser.RawConfigParser:
    listing = subprocess.check_output([sys.executable, "-m", "pip", "config", "list"], text=True)
    settings = configparser.RawConfigParser()
    settings.add_section("global")
    for line in reversed(listing.splitlines()):  # those from the environment come first, and win
        name, value = line.split("=", 1)
        settings.set("global", name.rpartition(".")[2], ast.literal_eval(value))
    settings.set("global", "quiet", "2")
    return settings


def prepare_home() -> None:
    with open_for_writing(HOME / ".config" / "pip" / "pip.conf") as file:
        pip_settings().write(file)
    source = Path(ansible_test.__file__).parent / "_internal" / "python_requirements.py"
    for version in re.findall(r"\bpip='([\d.]+)'", source.read_text()):
        with open_for_writing(HOME / ".ansible" / "test" / "cache" / f"get_pip_{version.replace('.', '_')}.py") as file:
            file.write(GET_PIP)


def open_for_writing(path: Path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w")


def environment() -> dict[str, str]:
    # The folders of the real interpreters first: on the first pyenv shim that it finds ansible-test would give up.
    pythons = subprocess.check_output([ROOT / "tools" / "python.sh", "all"], text=True).split()
    folders = [os.path.join(sys.prefix, "bin"), *map(os.path.dirname, pythons), os.environ["PATH"]]
    return {**os.environ, "HOME": str(HOME), "PATH": os.pathsep.join(folders)}


def main() -> int:
    prepare_home()
    with tempfile.TemporaryDirectory(prefix="egress-sanity-") as stage:
        subprocess.check_call([ROOT / "tools" / "stage.sh", stage])
        running = subprocess.Popen(
            [os.path.join(sys.prefix, "bin", "ansible-test"), "sanity", "--local", "--color", "no", *sys.argv[1:]],
            cwd=os.path.join(stage, "ansible_collections", "crawl", "egress"),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        skipped = False
        for line in running.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            skipped = skipped or "All targets skipped" in line
    if skipped:
        print("ansible-test found nothing to look at: that is a failure", file=sys.stderr)
    return running.wait() or int(skipped)


if __name__ == "__main__":
    sys.exit(main())
