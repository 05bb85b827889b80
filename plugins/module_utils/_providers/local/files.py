# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Files and folders that many runs make and remove at the same time."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat

from .errors import Damaged
from .records import SIZE_LIMIT

#: Root's Squid becomes another user, who can often not enter the folder of the proxies (below /root, for one).
ROOT_SECRETS = "/run/crawl.egress" if os.path.isdir("/run") else "/var/run/crawl.egress"

#: So often may another run remove a folder that this one has just made sure of.
MEETINGS = 50


@dataclasses.dataclass(frozen=True)
class File:
    """:ivar owner: uid of the only reader, None for ourselves."""

    path: str
    text: str = dataclasses.field(repr=False)
    owner: int | None = None


def exists(path: str) -> bool:
    """Unlike C(os.path.exists()), doesn't take "not allowed" for "no"."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def make_folders(path: str) -> None:
    """All that are missing, for nobody but us; an existing one stays as it is."""
    for attempts_left in reversed(range(MEETINGS)):
        if os.path.isdir(path):
            return
        make_folders(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            return
        except FileNotFoundError:  # the last proxy has just gone, and the folder above with it
            if not attempts_left:
                raise


def is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def read_file(descriptor: int, folder: str, name: str) -> str | None:
    try:
        opened = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=descriptor)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise Damaged(os.path.join(folder, name), "it is no file")
    with os.fdopen(opened, "rb") as stream:
        try:
            return stream.read(SIZE_LIMIT).decode()
        except UnicodeDecodeError:
            raise Damaged(os.path.join(folder, name), "it is not UTF-8") from None


def write_file(file: File, durable: bool = False) -> None:
    """Replace a file as a whole, readable by its owner only."""
    draft = f"{file.path}.tmp"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(file.text)
            stream.flush()
            if file.owner is not None:
                os.fchown(descriptor, file.owner, -1)
            if durable:
                os.fsync(descriptor)
        os.rename(draft, file.path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def write_root_secret(file: File) -> None:
    """In a folder that any user may pass through, whatever the umask, but not list."""
    while True:
        with contextlib.suppress(FileExistsError):
            os.mkdir(ROOT_SECRETS, 0o700)
        try:
            os.chmod(ROOT_SECRETS, 0o711)
            write_file(file)
            return
        except FileNotFoundError:  # another run has just removed the last file in it, and the folder
            continue
