# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The two engines: where they are found, what files they read, how they are started."""

from __future__ import annotations

import dataclasses
import glob
import importlib.util
import json
import os
import pwd
import shutil

from ..._squid.model import SquidConfig
from ..._squid.render import Listener, Runtime, render_conf, render_passwords, service_name, squid_command
from ...provider import Reason
from .errors import Fault
from .files import File
from .records import Record

#: Daemons are often not on the PATH of people.
PROGRAM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")

AUTH_HELPERS = (
    "/usr/lib/squid/basic_ncsa_auth",
    "/usr/lib64/squid/basic_ncsa_auth",
    "/usr/libexec/squid/basic_ncsa_auth",
    "/usr/local/libexec/squid/basic_ncsa_auth",
    "/usr/local/opt/squid/libexec/basic_ncsa_auth",
    "/opt/homebrew/opt/squid/libexec/basic_ncsa_auth",
)

#: Whom Squid becomes when root starts it; the first of them that exists.
SQUID_USERS = ("proxy", "squid", "_squid", "nobody")

INSTALL = "install Squid (Debian package squid) or the Python packages proxy.py and libpass"


@dataclasses.dataclass(frozen=True)
class Launch:
    """All that one engine needs.

    :ivar argv: without secrets.
    :ivar check: a program that fails if the engine would refuse its files; None when that can't happen.
    """

    engine: str
    argv: tuple[str, ...]
    files: tuple[File, ...]
    check: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Squid:
    """
    :ivar user: whom it becomes, None when it stays whom we are.
    """

    program: str
    auth_helper: str | None
    user: str | None

    def launch(self, record: Record, config: SquidConfig, folder: str, passwords: str) -> Launch:
        conf = os.path.join(folder, "squid.conf")
        listener = Listener(record.address, record.port, outgoing_address=record.address)
        try:
            runtime = Runtime(
                auth_helper=self.auth_helper,
                password_file=passwords if config.users else None,
                effective_user=self.user,
                shutdown_seconds=1,
            )
            files = [File(conf, render_conf(config, listener, runtime))]
        except ValueError as error:
            raise Fault(Reason.INVALID_CONFIG, str(error)) from None
        if config.users:
            owner = pwd.getpwnam(self.user).pw_uid if self.user else None
            files.append(File(passwords, render_passwords(config), owner))
        # -d 0: what ends it is written to standard error, which is our log
        argv = (*squid_command(self.program, conf, record.incarnation), "-d", "0")
        check = (self.program, "-k", "parse", "-f", conf) if config.extra_lines else None
        return Launch("squid", argv, tuple(files), check)


@dataclasses.dataclass(frozen=True)
class ProxyPy:
    """
    :ivar script: our program on the package proxy.py, copied beside the proxies.
    """

    python: str
    script: str

    def launch(self, record: Record, config: SquidConfig, folder: str, passwords: str) -> Launch:
        if config.extra_lines:
            raise Fault(Reason.INVALID_CONFIG, no_extra_lines())
        rules = os.path.join(folder, "rules.json")
        content = {
            "address": record.address,
            "port": record.port,
            "outgoing": record.address,
            "users_file": passwords if config.users else None,
            "sources": [str(network) for network in config.allowed_sources],
            "connect_ports": [list(ports) for ports in config.connect_ports],
            "denied": [str(network) for network in config.denied_destinations.networks],
            "denied_domains": list(config.denied_destinations.domains),
            "refused": [str(network) for network in config.refused_networks],
            "allowed_domains": list(config.allowed_destinations.domains),
        }
        files = [File(rules, json.dumps(content, indent=1) + "\n")]
        if config.users:
            files.append(File(passwords, render_passwords(config)))
        return Launch("proxy.py", (self.python, self.script, rules), tuple(files))


def no_extra_lines() -> str:
    return "squid.extra_lines needs the engine squid (local.engine): proxy.py reads no squid.conf"


def shared_memory(incarnation: str) -> list[str]:
    """What a killed Squid leaves in memory."""
    return glob.glob(f"/dev/shm/{service_name(incarnation)}-*.shm")


def find(wanted: str, config: SquidConfig, python: str, script: str) -> Squid | ProxyPy:
    """The engine to use now; raises L(Fault) that says what to install.

    :param wanted: auto, squid or proxy.py.
    """
    faults = []
    if wanted in ("auto", "squid"):
        squid = _squid()
        if squid is None:
            faults.append("there is no program squid on PATH")
        elif config.users and squid.auth_helper is None:
            faults.append(f"{squid.program} is there, but not its helper basic_ncsa_auth")
        else:
            return squid
    if wanted in ("auto", "proxy.py"):
        needed = {"proxy": "proxy.py", **({"passlib": "libpass"} if config.users else {})}
        missing = [package for module, package in needed.items() if importlib.util.find_spec(module) is None]
        if not missing:
            return ProxyPy(python, script)
        faults.append(f"{python} has no Python package {' and '.join(missing)}")
    raise Fault(Reason.INVALID_CONFIG, f"local.engine is {wanted}: {', and '.join(faults)} ({INSTALL})")


def _squid() -> Squid | None:
    program = shutil.which("squid", path=os.pathsep.join((os.environ.get("PATH", os.defpath), *PROGRAM_FOLDERS)))
    if program is None:
        return None
    helper = next((path for path in AUTH_HELPERS if os.access(path, os.X_OK)), None)
    user = next(filter(_exists, SQUID_USERS), None) if os.geteuid() == 0 else None
    return Squid(os.path.abspath(program), helper, user)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
