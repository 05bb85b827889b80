# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: egress
short_description: Forward proxies as hosts
version_added: 0.1.0
description:
  - Lists the proxies of one installation as hosts, in groups by provider, scope, state and pool.
  - The name of the configuration file must end with C(egress.yml) or C(egress.yaml).
  - When a provider or a part of it does not answer, nothing is listed and the source fails; see O(on_incomplete).
author:
  - crawl.egress contributors (!UNKNOWN)
requirements:
  - jsonschema
extends_documentation_fragment:
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
notes:
  - Every host has the variables that RV(crawl.egress.egress_proxy_info#module:instances) describes, with C(egress_)
    before their names and without C(message). Beside them, C(egress_enabled) is true for a proxy that serves (in AWX,
    make it the enabled variable), C(egress_complete) tells whether all providers answered in full, and C(ansible_host)
    is there when the proxy has an address.
  - "Every host is in the groups C(egress_provider_<name>), C(egress_scope_<scope>), C(egress_state_<state>) and
    C(egress_pool_<pool>), children of C(egress). Characters that a group can't have in its name become C(_). Groups
    of your own, by O(groups) and O(keyed_groups), cost much more: half a millisecond or more for each host and
    expression, and so do variables by O(compose)."
  - The options of this plugin may be templates or vault values, and extra variables may be used in them. An option
    that is empty, be it in the file, by its template or in the environment, counts as not given.
  - What backends say is never a template. Strings that could be one, such as labels that somebody has tampered with,
    are shown by C(ansible-inventory) as C(__ansible_unsafe).
  - All that the providers say is cached, and filters are applied afterwards. With another O(install), other
    O(providers), another O(mark_prefix) or other variables of the environment that clients heed, such as E(KUBECONFIG),
    what was cached before is not used. An incomplete answer is not cached.
seealso:
  - module: crawl.egress.egress_proxy_info
options:
  plugin:
    description:
      - Marks the file as one of this plugin.
    type: str
    required: true
    choices: [crawl.egress.egress]
  install:
    description:
      - Name of the installation. Proxies of others are never listed.
    type: str
    env:
      - name: EGRESS_INSTALL
  providers:
    description:
      - The backends to ask, a list of entries as in the desired document and in the modules.
      - It may be given as text in YAML or JSON, too.
    type: raw
    env:
      - name: EGRESS_PROVIDERS
  mark_prefix:
    description:
      - What the names of all marks (labels, metadata) begin with.
    type: str
    default: proxy-operator
    env:
      - name: EGRESS_MARK_PREFIX
  desired_file:
    description:
      - A desired document, from which O(install), O(providers) and O(mark_prefix) are taken. The options stand in for
        what it does not say.
      - A relative path begins in the folder of the configuration file. The document may be encrypted, or have vault
        values.
    type: str
    env:
      - name: EGRESS_DESIRED_FILE
  states:
    description:
      - Only proxies in one of these states. All, when the list is empty.
      - What is being deleted is not V(Running).
    type: list
    elements: str
    choices: [Provisioning, Running, Stopped, Terminated, Unknown]
    default: [Running]
    env:
      - name: EGRESS_STATES
  pools:
    description:
      - Only proxies of these pools; V(named) for those under C(proxies) of a document, V(task) for those of
        M(crawl.egress.egress_proxy). All, when the list is empty.
    type: list
    elements: str
    default: []
    env:
      - name: EGRESS_POOLS
  namespaces:
    description:
      - Only proxies of these namespaces. All, when the list is empty.
    type: list
    elements: str
    default: []
    env:
      - name: EGRESS_NAMESPACES
  hostnames:
    description:
      - What a host is called after, the first of these that it has and that no other proxy has.
      - V(proxy) is the name of the proxy, in other namespaces than V(default) followed by a dot and the namespace. So
        it does not depend on what other proxies there are.
      - V(name) is the name alone. When two of the listed proxies share it, neither is called by it, which is an error
        with O(strict) and a warning without; V(address) likewise.
      - While a proxy has several instances, the one that serves and has the lower slot comes first.
      - For those that are left without a name, V(proxy), V(instance_name) and C(provider:provider_id) are tried.
    type: list
    elements: str
    choices: [proxy, name, uid, instance_name, provider_id, address]
    default: [proxy]
    env:
      - name: EGRESS_HOSTNAMES
  on_incomplete:
    description:
      - What to do when a provider, or a scope of one, does not answer in full. V(fail) lists nothing. V(warn) lists
        what is known, with C(egress_complete) false for every host.
      - AWX with C(overwrite) deletes the hosts that a list leaves out; keep V(fail) there. Elsewhere, Ansible goes on
        with its other sources when one fails, unless C(ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED) is true.
    type: str
    choices: [fail, warn]
    default: fail
    env:
      - name: EGRESS_ON_INCOMPLETE
"""

EXAMPLES = r"""
---
# What serves, of the installation demo
plugin: crawl.egress.egress
install: demo
providers:
  - name: here
    type: local

---
# One pool of what the desired document is about, in any state; asked at most every ten minutes
plugin: crawl.egress.egress
desired_file: desired.yml
pools: [eu]
states: []
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/egress
cache_timeout: 600

---
# With the environment of a job, a variable for clients, and groups of its own
plugin: crawl.egress.egress
install: "{{ lookup('ansible.builtin.env', 'JOB_INSTALL') }}"
providers:
  - name: here
    type: local
    local:
      directory: "{{ lookup('ansible.builtin.env', 'HOME') }}/proxies"
strict: true
compose:
  proxy_url: "'http://' ~ egress_address ~ ':' ~ egress_port"
groups:
  held: egress_hold_until is not none
keyed_groups:
  - key: egress_port | string
    prefix: port
"""

import hashlib
import json
import os
import sys
import typing as t

import yaml
from ansible.errors import AnsibleError, AnsibleParserError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.template import trust_as_template

from ..module_utils._engine.executor import DaemonThreads
from ..module_utils._engine.observe import LIST_SECONDS, Providers, observe
from ..module_utils._errors import ArgumentError, EgressError
from ..module_utils._host import Host
from ..module_utils._models import Selector
from ..module_utils._registry import TYPES
from ..module_utils._spec.document import parse_providers
from ..module_utils._telemetry import Recorder
from ..plugin_utils._desired_file import load_document
from ..plugin_utils._door import foreign_types, load_type, plain, run_program
from ..plugin_utils._hosts import Row, bare, gaps, groups, named, rows, variables, wanted

if t.TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader

#: How many gaps a message names.
_SHOWN = 5

#: Changes with what a cached row consists of.
_ROWS_VERSION = 1

#: What providers take from the environment is a setting, too: another cluster or project has other rows.
_ENVIRONMENT = ("GCP_", "GOOGLE_", "K8S_AUTH_", "KUBECONFIG", "KUBERNETES_SERVICE_", "LIBVIRT_")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "crawl.egress.egress"

    def verify_file(self, path: str) -> bool:
        return super().verify_file(path) and path.endswith(("egress.yml", "egress.yaml"))

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        self._refuse_unknown(self._read_config_data(path))
        try:
            found, complete = self._rows(path, refresh=not cache)
        except EgressError as error:
            raise AnsibleParserError(error.message) from None
        self._add(
            [row for row in found if wanted(row, *map(self.get_option, ("states", "pools", "namespaces")))], complete
        )

    def set_options(self, task_keys: t.Any = None, var_options: t.Any = None, direct: t.Any = None) -> None:
        """A whole option may be a template, so ours become values before they get their types."""
        given = dict(direct or {})
        spec = {}
        for name, definition in self.option_definitions.items():
            variable = next((entry["name"] for entry in definition.get("env") or ()), "")
            if variable.startswith("EGRESS_"):
                value = self._value(name, given.get(name), os.environ.get(variable))
                given[name] = definition.get("default") if value in (None, "") else value
                spec[name] = {key: definition[key] for key in ("type", "elements", "choices") if key in definition}
        checked = ArgumentSpecValidator(spec).validate({name: given[name] for name in spec if given[name] is not None})
        if checked.error_messages:
            raise AnsibleParserError("; ".join(checked.error_messages))
        super().set_options(task_keys, var_options, {**given, **checked.validated_parameters})

    def _value(self, name: str, in_file: t.Any, in_environment: str | None) -> t.Any:
        self.templar.available_variables = self._vars or {}
        given = trust_as_template(in_environment) if in_file is None and in_environment else in_file
        try:
            return plain(self.templar.template(given))
        except (AnsibleError, ArgumentError) as error:
            # As a text: Ansible would show the lines of the file around it, and they may be secret.
            raise AnsibleParserError(f"{name}: {error}") from None

    def _refuse_unknown(self, config: t.Mapping[str, t.Any]) -> None:
        """Core takes no notice of them, and a filter that is misspelt would list everything."""
        unknown = ", ".join(repr(str(key)) for key in config if key not in self.option_definitions)
        if unknown:
            raise AnsibleParserError(
                f"unknown option {unknown} (allowed: {', '.join(sorted(self.option_definitions))})"
            )

    def _rows(self, path: str, *, refresh: bool) -> tuple[list[Row], bool]:
        """All rows, from the cache or from the providers, and whether that is all there are.

        :raises EgressError: bad options.
        """
        settings = self._settings(path)
        caching = self.get_option("cache")
        # A digest, since the settings may hold secrets, and the key becomes the name of a file.
        environment = {name: value for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)}
        body = json.dumps([_ROWS_VERSION, settings, environment], sort_keys=True)
        key = f"{self.get_cache_key(path)}_{hashlib.sha256(body.encode()).hexdigest()[:16]}"
        cached = self._cache.get(key) if caching and not refresh else None
        if isinstance(cached, dict) and "rows" in cached:
            return cached["rows"], True

        install, prefix = settings["install"], settings["mark_prefix"]
        types = {**TYPES, **{name: load_type(name) for name in foreign_types(settings)}}
        host = Host(runner=run_program, python=sys.executable, types=types, warn=self.display.warning)
        entries = parse_providers(install, settings["providers"], prefix, types)
        providers = Providers.build(entries, types, host, prefix, Recorder())
        selector = Selector(install, pools=() if caching else tuple(self.get_option("pools")))
        listings = observe(providers, selector, host.context(LIST_SECONDS), DaemonThreads(len(entries)))
        missing = gaps(listings)
        if missing:
            self._tell(missing)
        found = rows(listings, install)
        if caching and not missing:
            self._cache[key] = {"rows": found}
        return found, not missing

    def _settings(self, path: str) -> dict[str, t.Any]:
        document: t.Mapping[str, t.Any] = {}
        name = self.get_option("desired_file")
        if name:
            file = os.path.join(os.path.dirname(path), os.path.expanduser(name))
            document = load_document(self.loader, name, lambda: file)
        settings = {}
        for key in ("install", "providers", "mark_prefix"):
            option = self.get_option(key)
            settings[key] = document.get(key) or (None if option == "" else option)
        if isinstance(settings["providers"], str):
            try:
                settings["providers"] = plain(yaml.safe_load(settings["providers"]))
            except yaml.YAMLError:  # no word of it: there may be secrets
                raise ArgumentError(["providers: the text is neither YAML nor JSON"]) from None
        return settings

    def _tell(self, missing: list[str]) -> None:
        more = [f"and {len(missing) - _SHOWN} more"] if len(missing) > _SHOWN else []
        told = "; ".join([*missing[:_SHOWN], *more])
        if self.get_option("on_incomplete") == "fail":
            raise AnsibleParserError(f"nothing is listed, since proxies may be missing (see on_incomplete): {told}")
        self.display.warning(f"proxies may be missing: {told}")

    def _add(self, found: list[Row], complete: bool) -> None:
        strict = self.get_option("strict")
        try:
            hosts, clashes = named(found, self.get_option("hostnames"))
        except ValueError as error:
            raise AnsibleParserError(str(error)) from None
        for clash in clashes:
            if strict:
                raise AnsibleParserError(clash)
            self.display.warning(clash)

        self.inventory.add_group("egress")
        made: dict[tuple[str, str], str] = {}
        for name, row in hosts.items():
            self.inventory.add_host(name)
            host = self.inventory.get_host(name)
            for key, value in variables(row, complete).items():
                # Not through the inventory: to note where each value is from would take a third of all the time.
                host.set_variable(key, value)
            for of in groups(row):
                if of not in made:
                    made[of] = self._add_group(*of, made)
                self.inventory.add_child(made[of], name)
            self._construct(name, strict)

    def _add_group(self, kind: str, value: str, made: t.Mapping[tuple[str, str], str]) -> str:
        name = self._sanitize_group_name(f"egress_{kind}_{value}")
        for (other_kind, other), others_name in made.items():
            if others_name == name:
                self.display.warning(f"the {other_kind} {other} and the {kind} {value} are one group, {name}")
        self.inventory.add_group(name)
        self.inventory.add_child("egress", name)
        return name

    def _construct(self, name: str, strict: bool) -> None:
        compose, own_groups, keyed = map(self.get_option, ("compose", "groups", "keyed_groups"))
        if not (compose or own_groups or keyed):
            return
        host = self.inventory.get_host(name)
        self._set_composite_vars(compose, host.get_vars(), name, strict=strict)
        for key in compose:
            if key in host.vars:
                self.inventory.set_variable(name, key, bare(host.vars[key]))
        known = host.get_vars()
        self._add_host_to_composed_groups(own_groups, known, name, strict=strict, fetch_hostvars=False)
        self._add_host_to_keyed_groups(keyed, known, name, strict=strict, fetch_hostvars=False)
