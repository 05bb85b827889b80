# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The JSON schema (draft 2020-12) of the desired document, and the parts of it that module options share.

C(description) is for the documentation, C(title) completes a message about a bad value. What a schema cannot say is in
C(checks.py).
"""

from __future__ import annotations

import typing as t

from .._marks import DEFAULT_PREFIX, NAMED_POOL, TASK_POOL, VALUE, VALUE_HELP
from .._squid.schema import SQUID_SCHEMA
from .desired import DEFAULT_NAMESPACE, DEFAULT_PORT

if t.TYPE_CHECKING:
    from ..provider import ProviderType

MAX_REPLICAS = 10_000
#: A mark's number has at most 15 digits.
MAX_GENERATION = 10**15 - 1
#: GCE label keys have at most 63 characters, and the longest mark is C(<prefix>-spec-version).
MAX_PREFIX = 63 - len("-spec-version")

#: End of the text. Python's C($) also matches before a final newline.
_END = r"$(?!\n)"

Schema = dict[str, t.Any]


def document_schema(types: t.Mapping[str, ProviderType]) -> Schema:
    """The whole desired document. It stands alone, without references."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_mapping(
            "The desired state of one installation: what exists when a run is through.",
            {
                "install": install_schema(),
                "generation": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_GENERATION,
                    "description": "A number that rises with every edition of the document. Instances carry that of "
                    "the document they were made from.",
                },
                "providers": providers_schema(types),
                "proxies": {
                    "type": "array",
                    "items": proxy_schema(),
                    "description": f"Named proxies, one by one. They form the pool C({NAMED_POOL}).",
                },
                "pools": {
                    "type": "array",
                    "items": pool_schema(),
                    "description": "Counted proxies, all alike but for their placement.",
                },
                "squid": SQUID_SCHEMA,
                "policy": policy_schema(),
                "mark_prefix": mark_prefix_schema(),
            },
            required=("install", "providers"),
        ),
    }


def single_schema(types: t.Mapping[str, ProviderType]) -> Schema:
    """The options of C(egress_proxy) that say what is desired."""
    return _mapping(
        "One proxy.",
        {**installation_schema(types)["properties"], **proxy_schema()["properties"]},
        required=("install", "providers", "name"),
    )


def installation_schema(types: t.Mapping[str, ProviderType]) -> Schema:
    """The options of every module that works without a document."""
    return _mapping(
        "Whose instances, and where.",
        {"install": install_schema(), "providers": providers_schema(types), "mark_prefix": mark_prefix_schema()},
        required=("install", "providers"),
    )


def install_schema() -> Schema:
    return _label(
        "Name of the installation, the owner of its instances. Instances of other installations are never touched."
    )


def mark_prefix_schema() -> Schema:
    return {
        "type": "string",
        "pattern": rf"^[a-z]([a-z0-9_-]{{0,{MAX_PREFIX - 2}}}[a-z0-9])?" + _END,
        "default": DEFAULT_PREFIX,
        "title": f"1 to {MAX_PREFIX} of a-z, 0-9, '-' and '_', the first one a letter, the last one a letter or digit",
        "description": "What the names of all marks (labels, metadata) begin with. Give another one when the proxy "
        "operator works in the same project, cluster or host.",
    }


def providers_schema(types: t.Mapping[str, ProviderType]) -> Schema:
    """The list of named provider entries; that only the block of its own type is there is checked elsewhere."""
    entry = _mapping(
        "One named backend.",
        {
            "name": _label("Name of the entry; proxies and pools refer to it."),
            "type": {"type": "string", "enum": sorted(types), "description": "Type of the backend."},
            **{name: dict(kind.schema) for name, kind in sorted(types.items())},
        },
        required=("name", "type"),
    )
    return {
        "type": "array",
        "minItems": 1,
        "items": entry,
        "title": "at least one entry is needed",
        "description": "The backends on which proxies may live.",
    }


def proxy_schema() -> Schema:
    """One entry of C(proxies)."""
    return _mapping(
        "One proxy.",
        {
            "name": _label("Name of the proxy, once in its namespace."),
            "namespace": namespace_schema(),
            "uid": _label(
                "The proxy's immutable identity, from which the backend's name for it is derived. Without it, one is "
                "derived from install, namespace and name."
            ),
            **_what_and_where({"placement": placement_schema()}),
        },
        required=("name",),
    )


def pool_schema() -> Schema:
    """One entry of C(pools)."""
    return _mapping(
        "A number of proxies that are alike, C(<name>-0), C(<name>-1) and so on.",
        {
            "name": _label(f"Name of the pool, once in the document; neither C({NAMED_POOL}) nor C({TASK_POOL})."),
            "namespace": namespace_schema(),
            "replicas": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_REPLICAS,
                "description": "How many proxies. With fewer than before, the highest numbers go.",
            },
            **_what_and_where({"placement": placement_schema(), "placements": _placements_schema()}),
        },
        required=("name", "replicas"),
    )


def namespace_schema() -> Schema:
    return {**_label("Namespace of the name, part of the derived identity."), "default": DEFAULT_NAMESPACE}


def placement_schema() -> Schema:
    """Where and as what; which fields a provider uses is in its guide."""
    return _mapping(
        "Where and as what a proxy runs. Each provider says which of these it uses.",
        {
            "region": _text("Region in which the provider may choose a zone."),
            "zone": _text("Zone, node or host."),
            "machine_type": _text("Machine type, or a key of the provider's catalogue."),
            "image": _text("Image, or a key of the provider's catalogue."),
        },
    )


def _placements_schema() -> Schema:
    return {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": placement_schema(),
        "title": "at least one placement is needed",
        "description": "Instead of one placement several, to spread the pool over: proxy number i prefers placement "
        "number i modulo their number, and may live at any of them.",
    }


def policy_schema() -> Schema:
    return _mapping(
        "Guards and budgets of a run.",
        {
            "max_unavailable": {
                "type": ["integer", "string"],
                "minimum": 1,
                "pattern": "^(100|[1-9][0-9]?)%" + _END,
                "default": 1,
                "title": "1 or more, or '1%' to '100%': with none that may be down, nothing could ever be replaced",
                "description": "How many proxies of a pool may be down at a time because they are being replaced: "
                "a number, or a percentage that is rounded up.",
            },
            "provision_timeout": {
                "type": ["integer", "string"],
                "minimum": 1,
                "maximum": 10**6,
                "pattern": "^[1-9][0-9]{0,5}[smh]" + _END,
                "default": "10m",
                "title": "seconds from 1 to 1000000, or a text such as '90s', '10m' or '2h'",
                "description": "How long a proxy may take until it serves.",
            },
            "max_deletions": max_deletions_schema(),
            "paused": {
                "type": "boolean",
                "default": False,
                "description": "Change nothing; only say what would be changed.",
            },
        },
    )


def max_deletions_schema() -> Schema:
    return {
        "type": ["integer", "string"],
        "minimum": 0,
        "pattern": "^(100|[1-9]?[0-9])%" + _END,
        "default": "50%",
        "title": "0 or more, or '0%' to '100%'",
        "description": "The fuse: a run that would delete more unwanted proxies of a pool that serve deletes "
        "none. A number, or a percentage of the pool's instances that is rounded up.",
    }


def _what_and_where(placement: Schema) -> Schema:
    """The keys that proxies and pools have in common. :param placement: those in which they differ."""
    return {
        "provider": _label("Name of the provider entry; not needed when there is only one."),
        "port": {
            "type": "integer",
            "minimum": 1,
            "maximum": 65535,
            "default": DEFAULT_PORT,
            "description": "Port on which the proxy listens.",
        },
        **placement,
        "squid": {**SQUID_SCHEMA, "description": "Used instead of the document's C(squid), as a whole."},
        "cloud_init": {
            "type": "string",
            "minLength": 1,
            "writeOnly": True,
            "description": "User data for cloud-init, instead of C(squid); for virtual machines only. It is secret.",
        },
    }


def _mapping(description: str, properties: Schema, required: t.Sequence[str] = ()) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
        "description": description,
    }


def _label(description: str) -> Schema:
    """A text that becomes a mark's value, or part of one."""
    return {"type": "string", "pattern": f"^{VALUE.pattern}{_END}", "title": VALUE_HELP, "description": description}


def _text(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "title": "leave the key out instead", "description": description}
