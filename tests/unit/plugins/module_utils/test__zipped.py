# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from ansible_collections.crawl.egress.plugins.module_utils import _zipped

PROGRAM = """
import builtins, runpy, sys
sys.path.insert(0, "code.zip")
import before
compiled = []
original = builtins.compile
builtins.compile = lambda source, name, *rest, **more: compiled.append(name) or original(source, name, *rest, **more)
if sys.argv[1:]:
    runpy.run_path(sys.argv[1])
import package.inner
import after
print(compiled.count(after.__file__), compiled.count(package.__file__), compiled.count(package.inner.__file__))
print(after.__file__, package.__file__, package.inner.__file__, package.__path__)
"""


@pytest.fixture
def run(tmp_path):
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        for name in ("before.py", "after.py", "package/__init__.py", "package/inner.py"):
            archive.writestr(name, f"NAME = {name!r}")

    def run(*arguments):
        argv = [sys.executable, "-c", PROGRAM, *arguments]
        return subprocess.run(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    return run


def test_what_is_imported_from_a_zip_file_is_compiled_once_and_called_the_same(run) -> None:
    without, name_without = run()
    with_it, name_with_it = run(_zipped.__file__)
    assert with_it == "1 1 1"
    assert name_with_it == name_without
    assert without in ("1 1 1", "2 2 2")  # one day Python does it itself: then _zipped.py can go
