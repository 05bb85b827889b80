# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What can go wrong with files, processes and sockets, as the reasons of the contract."""

from __future__ import annotations

import errno
import typing as t

from ...provider import ProviderError, Reason

#: Anything else that the operating system says is Transient/Unclassified.
REASONS: t.Mapping[int, Reason] = {
    errno.ENOSPC: Reason.STORAGE_FULL,
    errno.EDQUOT: Reason.STORAGE_FULL,
    errno.EACCES: Reason.FORBIDDEN,
    errno.EPERM: Reason.FORBIDDEN,
    errno.EROFS: Reason.FORBIDDEN,
    errno.ENOTDIR: Reason.INVALID_CONFIG,
    errno.ELOOP: Reason.INVALID_CONFIG,
    errno.ENAMETOOLONG: Reason.INVALID_CONFIG,
    errno.EADDRNOTAVAIL: Reason.INVALID_CONFIG,
    errno.EADDRINUSE: Reason.CONFLICT,
    errno.EMFILE: Reason.API_ERROR,
    errno.ENFILE: Reason.API_ERROR,
    errno.ENOMEM: Reason.API_ERROR,
    errno.EAGAIN: Reason.API_ERROR,
    errno.EIO: Reason.API_ERROR,
    errno.ESTALE: Reason.UNREACHABLE,
    errno.ENOTCONN: Reason.UNREACHABLE,
    errno.ETIMEDOUT: Reason.TIMEOUT,
}


class Fault(Exception):
    """What this provider finds wrong by itself: the reason is known where it is raised."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Damaged(Fault):
    """A file of an instance that is there and can't be read. Not evidence of anything: neither deleted nor replaced."""

    def __init__(self, path: str, problem: str) -> None:
        advice = "put it right, or end the process it is about and remove its folder"
        super().__init__(Reason.CONFLICT, f"{path} can't be read: {problem} ({advice})")


def classify(
    error: OSError | Fault, *, op: str, provider: str, provider_id: str | None, directory: str
) -> ProviderError:
    """
    :param directory: of the provider entry; named in every message that the operating system is the cause of.
    """
    if isinstance(error, Fault):
        reason, message = error.reason, error.message
        if isinstance(error, Damaged) and op in ("get", "list"):
            reason = Reason.API_ERROR
    else:
        reason = REASONS.get(error.errno or 0, Reason.UNCLASSIFIED)
        message = f"{error.filename or directory}: {error.strerror or type(error).__name__}"
        if not message.startswith(directory):
            message = f"{message} (local.directory is {directory})"
    return ProviderError(reason, message, op=op, provider=provider, provider_id=provider_id)
