# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Compile what a module imports once.

Ansible runs a module from a zip file, in which no compiled code is kept, and Python's importer of zip files compiles
each file twice, the first time only to learn its name. Importing this file changes that, for what is imported later.
"""

from __future__ import annotations

import os
import sys
import zipimport


class ZipImporter(zipimport.zipimporter):
    def get_filename(self, fullname: str) -> str:
        """The path of a module, from the zip file's table of contents."""
        stem = self.archive + os.sep + self.prefix + fullname.rpartition(".")[2]
        return stem + (os.sep + "__init__.py" if self.is_package(fullname) else ".py")


sys.path_hooks.insert(0, ZipImporter)
for _path, _importer in list(sys.path_importer_cache.items()):
    if isinstance(_importer, zipimport.zipimporter):
        del sys.path_importer_cache[_path]  # asked again, the hook above answers
