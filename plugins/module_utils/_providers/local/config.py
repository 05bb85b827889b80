# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The C(local:) block of a provider entry: schema, defaults, and the checks that a schema cannot make."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import re
import sys
import typing as t

from ..._errors import ArgumentError

ENGINES = ("auto", "squid", "proxy.py")

#: A slash separates the parts of a provider ID, so a host has none; it is a folder's name too.
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
HOST_HELP = "1 to 63 letters, digits, '.', '_' and '-', beginning and ending with a letter or digit"

LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")

#: Linux answers on every loopback address; elsewhere there is one, and two proxies need different ports.
DEFAULT_ADDRESSES = "127.80.0.0/16" if sys.platform == "linux" else "127.0.0.1/32"

SCHEMA: t.Mapping[str, t.Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "directory": {
            "type": "string",
            "minLength": 1,
            "description": "absolute path of the folder that holds all about these proxies; made when it is missing",
        },
        "host": {"type": "string", "pattern": f"^{HOST.pattern}$(?!\\n)", "description": HOST_HELP},
        "engine": {"enum": list(ENGINES), "description": "auto: Squid where it is installed, else proxy.py"},
        "addresses": {"type": "string", "description": f"an IPv4 network within {LOOPBACK}, such as 127.80.0.0/16"},
    },
}


def default_directory(environ: t.Mapping[str, str]) -> str:
    """C($XDG_STATE_HOME/crawl.egress/local); by its specification, a relative variable counts as not set."""
    home = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "crawl.egress", "local")


@dataclasses.dataclass(frozen=True)
class LocalConfig:
    """One checked C(local:) block.

    :ivar directory: absolute path; nothing is made before the first Create.
    :ivar addresses: where each proxy gets an address of its own from.
    """

    directory: str
    host: str
    engine: str
    addresses: ipaddress.IPv4Network

    @classmethod
    def parse(cls, entry: str, block: t.Mapping[str, t.Any], environ: t.Mapping[str, str]) -> LocalConfig:
        """Check all options at once; raises C(ArgumentError) with one sentence for each fault.

        :param entry: configured name of the provider entry, for the messages.
        :param environ: the environment variables.
        """
        problems: list[str] = []

        def fault(option: str, allowed: str) -> None:
            problems.append(f"provider {entry}: local.{option} is {block[option]!r} (allowed: {allowed})")

        for key in block:
            if key not in SCHEMA["properties"]:
                allowed = ", ".join(SCHEMA["properties"])
                problems.append(f"provider {entry}: unknown key {key!r} in local (allowed: {allowed})")

        given = {key: block[key] for key in SCHEMA["properties"] if block.get(key) is not None}
        for key in list(given):
            if not isinstance(given[key], str):
                fault(key, "a string")
                del given[key]

        directory = default_directory(environ)
        if "directory" in given:
            directory = os.path.normpath(os.path.expanduser(os.path.expandvars(given["directory"])))
            if not os.path.isabs(directory) or not directory.isprintable():
                fault("directory", "an absolute path of printable characters")

        host = given.get("host", "localhost")
        if not HOST.fullmatch(host):
            fault("host", HOST_HELP)

        engine = given.get("engine", "auto")
        if engine not in ENGINES:
            fault("engine", ", ".join(ENGINES))

        addresses = LOOPBACK
        try:
            addresses = ipaddress.IPv4Network(given.get("addresses", DEFAULT_ADDRESSES))
        except ValueError:
            fault("addresses", f"an IPv4 network within {LOOPBACK}, such as 127.80.0.0/16")
        else:
            if not addresses.subnet_of(LOOPBACK):
                fault("addresses", f"an IPv4 network within {LOOPBACK}, such as 127.80.0.0/16")

        if problems:
            raise ArgumentError(problems)
        return cls(directory, host, engine, addresses)
