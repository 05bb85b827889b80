# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""The provider types that there are, and how one is built.

The imports are written out inside functions: AnsiballZ ships the files that it sees imported, and an SDK is imported
only when an entry of its type is used.
"""

from __future__ import annotations

import typing as t

from ._providers.kubernetes.schema import SCHEMA as KUBERNETES_SCHEMA
from ._providers.local.config import SCHEMA as LOCAL_SCHEMA
from .provider import Provider, ProviderHost, ProviderType


def _build_kubernetes(name: str, config: t.Mapping[str, t.Any], host: ProviderHost) -> Provider:
    from ._providers.kubernetes.provider import build

    return build(name, config, host)


def _build_local(name: str, config: t.Mapping[str, t.Any], host: ProviderHost) -> Provider:
    from ._providers.local.provider import build

    return build(name, config, host)


TYPES: t.Mapping[str, ProviderType] = {
    "kubernetes": ProviderType(schema=KUBERNETES_SCHEMA, takes_cloud_init=False, build=_build_kubernetes),
    "local": ProviderType(schema=LOCAL_SCHEMA, takes_cloud_init=False, build=_build_local),
}
