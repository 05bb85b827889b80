# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The permissions that C(docs/kubernetes-rbac) grants, as the tests use them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import yaml

from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Rule

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "kubernetes-rbac"


class Permission(NamedTuple):
    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"

    @property
    def rule(self) -> Rule:
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb]}


def documents(name: str) -> list[dict]:
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text())["items"]


def permissions(*names: str) -> list[Permission]:
    """One by one, what the Roles and ClusterRoles of these files grant."""
    return [
        Permission(group, resource, verb)
        for name in names
        for document in documents(name)
        for rule in document.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def rules(granted: Iterable[Permission]) -> list[Rule]:
    return [permission.rule for permission in granted]
