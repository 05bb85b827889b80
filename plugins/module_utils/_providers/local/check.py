# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""Checker: whether proxies could be made here, and what would run them. Changes nothing, not even the folder's time."""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import os
import re
import stat
import typing as t

from ..._squid.model import SquidConfig, SquidUser
from ...provider import CheckReason, Context, ProviderError, ProviderHost, Reason, TargetStatus
from . import engines
from .api import LocalApi
from .config import LocalConfig
from .errors import Fault, classify

#: An admin would fix these differently: install something, free space, correct the entry.
ENGINE_MISSING = "EngineMissing"
STORAGE_FULL = "StorageFull"
INVALID_CONFIG = "InvalidConfig"

_REASONS: t.Mapping[Reason, str] = {
    Reason.TIMEOUT: CheckReason.TIMEOUT.value,
    Reason.CANCELLED: CheckReason.TIMEOUT.value,
    Reason.UNREACHABLE: CheckReason.UNREACHABLE.value,
    Reason.FORBIDDEN: CheckReason.FORBIDDEN.value,
    Reason.STORAGE_FULL: STORAGE_FULL,
    Reason.INVALID_CONFIG: INVALID_CONFIG,
}

#: With less, in bytes, the files and logs of a few proxies may not fit.
LEAST_SPACE = 16 * 2**20


def check(entry: str, api: LocalApi, config: LocalConfig, host: ProviderHost, ctx: Context) -> TargetStatus:
    """:param entry: configured name of the provider entry."""
    target = f"hosts/{config.host}"
    details = {"directory": config.directory}
    try:
        ctx.check("check", entry)
        details["free"] = f"{_free_space(api, config) // 2**20} MiB"
        ctx.check("check", entry)
        details.update(_engine(api, config, host))
    except ProviderError as error:
        return _failed(target, error, details)
    except (OSError, Fault) as error:
        about = classify(error, op="check", provider=entry, provider_id=None, directory=config.directory)
        return _failed(target, about, details)
    except _EngineMissing as missing:
        return TargetStatus(target, False, ENGINE_MISSING, str(missing), details)
    return TargetStatus(target, True, CheckReason.REACHABLE.value, "", details)


class _EngineMissing(Exception):
    pass


def _failed(target: str, error: ProviderError, details: t.Mapping[str, str]) -> TargetStatus:
    reason = _REASONS.get(error.reason, CheckReason.API_ERROR.value)
    return TargetStatus(target, False, reason, error.message, details)


def _free_space(api: LocalApi, config: LocalConfig) -> int:
    """Bytes that are free where proxies are, or would be. Raises what would keep a Create from writing there."""
    return min(_usable(_deepest(path)) for path in (api.folder("x"), os.path.join(config.directory, "addresses", "x")))


def _usable(folder: str) -> int:
    volume = os.statvfs(folder)
    problem = None
    if not stat.S_ISDIR(os.stat(folder).st_mode):
        problem = errno.ENOTDIR
    elif volume.f_flag & os.ST_RDONLY:
        problem = errno.EROFS
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        problem = errno.EACCES
    if problem:
        raise OSError(problem, os.strerror(problem), folder)
    free = volume.f_bavail * volume.f_frsize
    if free < LEAST_SPACE:
        raise Fault(Reason.STORAGE_FULL, f"{folder}: {free} bytes are free, {LEAST_SPACE} are needed")
    if volume.f_files and not volume.f_favail:
        raise Fault(Reason.STORAGE_FULL, f"{folder}: there is no room for another file (inodes)")
    return free


def _deepest(path: str) -> str:
    """The lowest folder above that path which is there."""
    while True:
        path = os.path.dirname(path)
        with contextlib.suppress(FileNotFoundError):
            os.stat(path)
            return path


def _engine(api: LocalApi, config: LocalConfig, host: ProviderHost) -> dict[str, str]:
    try:
        found = engines.find(config.engine, SquidConfig(), host.python, api.proxypy_script)
    except Fault as fault:
        raise _EngineMissing(fault.message) from None
    if isinstance(found, engines.Squid):
        details = {"engine": "squid", "version": _squid_version(found.program, host), "program": found.program}
    else:
        details = {"engine": "proxy.py", "version": _package_version("proxy.py"), "program": host.python}
    users = SquidConfig(users=(SquidUser("a", ""),))
    try:
        engines.find(config.engine, users, host.python, api.proxypy_script)
    except Fault as fault:  # no failure: proxies without users can be made
        return {**details, "users": f"no: {fault.message}"}
    return {**details, "users": "yes"}


def _package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # copied there by hand
        return "unknown"


def _squid_version(program: str, host: ProviderHost) -> str:
    status, output, _errors = host.runner([program, "-v"])
    found = re.search(r"\bVersion (\S+)", output)
    if status != 0 or not found:
        raise _EngineMissing(f"{program} is there, but does not run: {program} -v ends with status {status}")
    return found[1]
