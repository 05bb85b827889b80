# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The ways into the desired state: a whole document, the options of one proxy, a list of providers.

Whatever can be checked without a backend is checked here, all of it before anything is reported.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import ArgumentError
from .checks import document_faults, member_faults, provider_faults, provider_kinds, squid_faults
from .desired import Desired, ProviderEntry, ProxySpec
from .expand import expand_document, expand_providers, expand_single, given
from .schema import document_schema, installation_schema, max_deletions_schema, single_schema
from .validate import Fault, faults, plain, sentences, type_of

if t.TYPE_CHECKING:
    from ..provider import ProviderType


def parse_document(document: t.Any, types: t.Mapping[str, ProviderType]) -> Desired:
    """Check a desired document and expand its pools.

    :param document: as YAML or JSON gives it; Ansible's tagged types are welcome.
    :raises ArgumentError: with every fault.
    :raises EgressError: C(MissingSDK) when jsonschema cannot be imported.
    """
    if document in (None, "", {}):
        raise ArgumentError(["the desired document is empty"])
    if not isinstance(document, t.Mapping):
        raise ArgumentError([f"the desired document is {type_of(document)}, a mapping is needed"])
    body = plain(document)
    found = faults(body, document_schema(types))
    _refuse([*found, *document_faults(body, types, found)])

    desired = expand_document(body)
    _refuse(_shared_uids(desired.specs))
    return desired


def parse_single(params: t.Mapping[str, t.Any], types: t.Mapping[str, ProviderType]) -> Desired:
    """Check the options of C(egress_proxy); one that is None counts as not given, and others are not looked at.

    With C(state=absent) neither C(squid) nor C(cloud_init) is looked at, nor is a C(provider) needed: the proxy is
    deleted wherever it is.

    :raises ArgumentError: with every fault, under the names of the options.
    """
    present = params.get("state", "present") == "present"
    schema = single_schema(types)
    unused = () if present else ("squid", "cloud_init")
    body = plain(given({key: params.get(key) for key in schema["properties"] if key not in unused}))
    found = faults(body, schema)
    found += provider_faults(body, types)
    if present or "provider" in body:
        found += member_faults((), body, provider_kinds(body), types)
    found += squid_faults((), body, found)
    if present and "squid" not in body and "cloud_init" not in body:
        found.append(Fault(("squid",), "squid is missing: the proxy would have no users and no allowed_sources"))
    _refuse(found)

    return expand_single(params)


def parse_providers(
    install: t.Any, providers: t.Any, mark_prefix: t.Any, types: t.Mapping[str, ProviderType]
) -> tuple[ProviderEntry, ...]:
    """Check the options that say whose instances and where; None counts as not given.

    :raises ArgumentError: with every fault, under the names of the options.
    """
    body = plain(given({"install": install, "providers": providers, "mark_prefix": mark_prefix}))
    _refuse([*faults(body, installation_schema(types)), *provider_faults(body, types)])
    return expand_providers(body["providers"])


def check_max_deletions(value: str | None) -> None:
    """Check the option C(max_deletions). :raises ArgumentError: neither a number nor a percentage."""
    if value is not None:
        limit = int(value) if re.fullmatch("[0-9]{1,9}", value) else plain(value)
        _refuse(faults(limit, max_deletions_schema(), ("max_deletions",)))


def _shared_uids(specs: t.Iterable[ProxySpec]) -> t.Iterator[Fault]:
    """Given UIDs that equal a derived one; that two given ones are equal has been seen by the checks."""
    first: dict[str, str] = {}
    for spec in specs:
        proxy = f"{spec.namespace}/{spec.name}"
        other = first.setdefault(spec.uid, proxy)
        if other != proxy:
            yield Fault((proxy,), f"the uid {spec.uid} belongs to two proxies, {other} and {proxy}")


def _refuse(found: t.Iterable[Fault]) -> None:
    listed = sentences(found)
    if listed:
        raise ArgumentError(listed)
