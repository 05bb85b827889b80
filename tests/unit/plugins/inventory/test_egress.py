# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import stat
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.template import Templar

if t.TYPE_CHECKING:
    from .conftest import Sources

RUNNING = {"labels": {"name": "eu-0"}}


def hosts(inventory: t.Any, group: str = "egress") -> list[str]:
    return sorted(host.name for host in inventory.groups[group].get_hosts())


def own(inventory: t.Any, name: str) -> dict[str, t.Any]:
    return inventory.get_host(name).vars


# What a host is


def test_variables_of_a_host(sources: Sources) -> None:
    labels = {"name": "eu-0", "uid": "u-1", "spec-hash": "0" * 32, "spec-version": "1", "generation": "7", "hold": "9"}
    row = {"labels": labels, "cause": "Started", "message": "free text"}
    found = own(sources.read(sources.write(sources.backend(instances=[row]))), "eu-0")
    assert {key: value for key, value in found.items() if not key.startswith("inventory_")} == {
        "ansible_host": "192.0.2.0",
        "egress_address": "192.0.2.0",
        "egress_cause": "Started",
        "egress_complete": True,
        "egress_created_at": 1_795_951_200,
        "egress_deleting": False,
        "egress_enabled": True,
        "egress_generation": 7,
        "egress_hold_until": 9,
        "egress_incarnation": "lab-0",
        "egress_install": "demo",
        "egress_instance_name": "proxy-0",
        "egress_name": "eu-0",
        "egress_namespace": "default",
        "egress_pool": "eu",
        "egress_port": 3128,
        "egress_provider": "lab",
        "egress_provider_id": "zones/a/proxies/0",
        "egress_scope": "zones/a",
        "egress_slot": 0,
        "egress_spec_hash": "0" * 32,
        "egress_spec_version": 1,
        "egress_state": "Running",
        "egress_uid": "u-1",
    }
    assert found["egress_enabled"] is True


def test_without_an_address_there_is_no_ansible_host(sources: Sources) -> None:
    row = {**RUNNING, "state": "Provisioning", "address": None}
    found = own(sources.read(sources.write(sources.backend(instances=[row]), states=[])), "eu-0")
    assert "ansible_host" not in found
    assert (found["egress_address"], found["egress_enabled"]) == (None, False)


def test_groups(sources: Sources) -> None:
    first = sources.backend(
        instances=[RUNNING, {"labels": {"name": "us-0", "pool": "us"}, "state": "Stopped", "scope": "zones/b-1"}],
        scopes={"zones/a": {}, "zones/b-1": {}},
    )
    second = sources.backend("hv-1", instances=[{"labels": {"name": "lost", "pool": "", "provider": "hv-1"}}])
    inventory = sources.read(sources.write(first, second, states=[]))
    assert {name: hosts(inventory, name) for name in inventory.groups if name != "all"} == {
        "ungrouped": [],
        "egress": ["eu-0", "lost", "us-0"],
        "egress_provider_lab": ["eu-0", "us-0"],
        "egress_provider_hv_1": ["lost"],
        "egress_scope_zones_a": ["eu-0", "lost"],
        "egress_scope_zones_b_1": ["us-0"],
        "egress_state_running": ["eu-0", "lost"],
        "egress_state_stopped": ["us-0"],
        "egress_pool_eu": ["eu-0"],
        "egress_pool_us": ["us-0"],
    }
    parents = {name: [g.name for g in group.parent_groups] for name, group in inventory.groups.items()}
    assert all(parents[name] == ["egress"] for name in parents if name.startswith("egress_"))


def test_two_pools_in_one_group_are_told(sources: Sources) -> None:
    rows = [{"labels": {"name": n, "pool": pool}} for n, pool in (("a", "eu-1"), ("b", "eu_1"))]
    inventory = sources.read(sources.write(sources.backend(instances=rows)))
    assert hosts(inventory, "egress_pool_eu_1") == ["a", "b"]
    assert sources.warnings == ["the pool eu-1 and the pool eu_1 are one group, egress_pool_eu_1"]


def test_nothing_there(sources: Sources) -> None:
    assert hosts(sources.read(sources.write(sources.backend()))) == []


# Which


STATES = [{"labels": {"name": state.lower()}, "state": state} for state in ("Provisioning", "Running", "Stopped")]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (None, ["running"]),
        (["Running", "Stopped"], ["running", "stopped"]),
        ("Stopped,Provisioning", ["provisioning", "stopped"]),
        ([], ["provisioning", "running", "stopped"]),
    ],
)
def test_states(sources: Sources, states: t.Any, expected: list[str]) -> None:
    assert hosts(sources.read(sources.write(sources.backend(instances=STATES), states=states))) == expected


def test_what_is_being_deleted_is_not_running(sources: Sources) -> None:
    backend = sources.backend(
        instances=[
            {"labels": {"name": "contrary"}, "deleting": True},
            {"labels": {"name": "dying"}, "state": "Terminated", "deleting": True},
        ]
    )
    assert hosts(sources.read(sources.write(backend))) == []
    everything = sources.read(sources.write(backend, states=[]))
    assert hosts(everything) == ["contrary", "dying"]
    assert own(everything, "contrary")["egress_enabled"] is False


def test_pools_and_namespaces(sources: Sources) -> None:
    rows = [
        {"labels": {"name": f"{pool}-{namespace}", "pool": pool, "namespace": namespace}}
        for pool in ("eu", "us")
        for namespace in ("default", "blue")
    ]
    backend = sources.backend(instances=rows)

    def listed(**options: t.Any) -> list[str]:
        return hosts(sources.read(sources.write(backend, **options)))

    assert listed(pools=["eu"]) == ["eu-blue.blue", "eu-default"]
    assert listed(namespaces=["blue"]) == ["eu-blue.blue", "us-blue.blue"]
    assert listed(pools=["us"], namespaces=["default"]) == ["us-default"]
    assert listed(pools=["none"]) == []
    assert len(listed(pools=[], namespaces=[])) == 4
    assert sources.calls()[0] == ["demo", "eu"], "the backend is asked for the pool only"


def test_other_installs_are_never_listed(sources: Sources) -> None:
    """Not even when the provider takes no notice of what it is asked for."""
    from ansible_collections.crawl.egress.plugins.module_utils.provider import Selector

    rows = [RUNNING, {"labels": {"name": "theirs", "install": "other"}}]
    source = sources.write(sources.backend(instances=rows))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Selector, "matches", lambda self, marks: True)
        assert hosts(sources.read(source)) == ["eu-0"]


def test_one_instance_of_two_entries_is_one_host(sources: Sources) -> None:
    row = {"labels": {"name": "eu-0", "provider": "second"}, "incarnation": "one"}
    entries = [sources.backend(name, instances=[row]) for name in ("first", "second", "third")]
    inventory = sources.read(sources.write(*entries))
    assert hosts(inventory) == ["eu-0"]
    assert own(inventory, "eu-0")["egress_provider"] == "second"


@pytest.mark.parametrize("count", [501, 1_200, 10_000])
def test_many(sources: Sources, count: int) -> None:
    inventory = sources.read(sources.write(sources.backend(count=count)))
    assert set(hosts(inventory)) == {f"p-{n}" for n in range(count)}
    assert len(inventory.groups["egress_pool_eu"].get_hosts()) == count
    assert sources.calls() == [["demo"]]


# What hosts are called


TWINS = [{"labels": {"name": "eu-0", "namespace": namespace}} for namespace in ("default", "blue")]


def test_one_name_in_two_namespaces(sources: Sources) -> None:
    both = sources.read(sources.write(sources.backend(instances=TWINS), strict=True))
    assert hosts(both) == ["eu-0", "eu-0.blue"]
    assert own(both, "eu-0")["egress_namespace"] == "default"
    assert own(both, "eu-0.blue")["egress_namespace"] == "blue"
    without = sources.read(sources.write(sources.backend(instances=TWINS[1:])))
    assert hosts(without) == ["eu-0.blue"], "its name does not depend on others"


def test_the_name_alone_may_clash(sources: Sources) -> None:
    backend = sources.backend(instances=[*TWINS, {"labels": {"name": "eu-1", "namespace": "blue"}}])
    assert hosts(sources.read(sources.write(backend, hostnames=["name"]))) == ["eu-0", "eu-0.blue", "eu-1"]
    clash = "hostnames: name gives 'eu-0' to blue/eu-0, default/eu-0"
    assert sources.warnings == [clash]
    assert sources.refusal(sources.write(backend, hostnames=["name"], strict=True)) == clash
    filtered = sources.read(sources.write(backend, hostnames=["name"], strict=True, namespaces=["blue"]))
    assert hosts(filtered) == ["eu-0", "eu-1"]


@pytest.mark.parametrize(
    ("preference", "name"),
    [
        ("proxy", "eu-0.blue"),
        ("name", "eu-0"),
        ("uid", "u-1"),
        ("instance_name", "proxy-0"),
        ("provider_id", "zones/a/proxies/0"),
        ("address", "2001:db8::1"),
    ],
)
def test_hostnames(sources: Sources, preference: str, name: str) -> None:
    row = {"labels": {"name": "eu-0", "namespace": "blue", "uid": "u-1"}, "address": "2001:db8::1"}
    assert hosts(sources.read(sources.write(sources.backend(instances=[row]), hostnames=[preference]))) == [name]


def test_a_host_takes_the_next_name_it_has(sources: Sources) -> None:
    rows = [{"labels": {"name": "a"}}, {"labels": {"name": "b"}, "address": None, "state": "Stopped"}]
    source = sources.write(sources.backend(instances=rows), hostnames=["address", "uid"], states=[])
    inventory = sources.read(source)
    assert [own(inventory, name)["egress_name"] for name in ("192.0.2.0", inventory.get_hosts()[1].name)] == ["a", "b"]
    assert inventory.get_hosts()[1].name == own(inventory, inventory.get_hosts()[1].name)["egress_uid"]


def test_several_instances_of_one_proxy(sources: Sources) -> None:
    """While surging, or with two of a slot: whoever serves and has the lower slot has the name of the proxy."""
    rows = [
        {"labels": {"name": "eu-0", "slot": "1"}, "name": "proxy-surge"},
        {"labels": {"name": "eu-0"}, "name": "proxy-same", "created_at": 2},
        {"labels": {"name": "eu-0"}, "name": "proxy-same", "created_at": 1, "provider_id": "zones/a/proxies/old"},
        {"labels": {"name": "eu-0"}, "name": "proxy-same", "created_at": 0, "state": "Stopped"},
    ]
    inventory = sources.read(sources.write(sources.backend(instances=rows), states=[], strict=True))
    assert {name: own(inventory, name)["egress_provider_id"] for name in hosts(inventory)} == {
        "eu-0": "zones/a/proxies/old",
        "proxy-same": "zones/a/proxies/1",
        "proxy-surge": "zones/a/proxies/0",
        "lab:zones/a/proxies/3": "zones/a/proxies/3",
    }


@pytest.mark.parametrize("name", ["", "localhost", "all", "ungrouped", "a b", "-x", "{{ 1 }}", "a\nb"])
def test_names_that_a_host_can_not_have(sources: Sources, name: str) -> None:
    assert hosts(sources.read(sources.write(sources.backend(instances=[{"labels": {"name": name}}])))) == ["proxy-0"]


def test_an_instance_that_nothing_can_be_called_after(sources: Sources) -> None:
    row = {"labels": {"name": ""}, "name": "{{ a }}", "provider_id": "{{ b }}"}
    refused = sources.refusal(sources.write(sources.backend(instances=[row])))
    assert refused == "provider lab: '{{ b }}' has no name that a host can have"


# Options


def test_an_option_may_be_a_template_as_a_whole(sources: Sources) -> None:
    entry = json.dumps([sources.backend(instances=STATES)])
    source = sources.write(
        install="{{ ['de', 'mo'] | join }}",
        providers="{{ lookup('ansible.builtin.env', 'ENTRIES') | from_json }}",
        states="{{ ['Running', 'Stopped'] }}",
        hostnames="{{ none }}",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ENTRIES", entry)
        assert hosts(sources.read(source)) == ["running", "stopped"]


def test_a_part_of_an_option_may_be_a_template(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDER", str(sources.home))
    entry = sources.backend(count=1)
    entry[entry["type"]]["file"] = "{{ lookup('ansible.builtin.env', 'FOLDER') }}/lab.json"
    assert hosts(sources.read(sources.write(entry))) == ["p-0"]


def test_options_from_the_environment(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = sources.backend(instances=[*STATES, {"labels": {"name": "us", "pool": "us", "namespace": "blue"}}])
    for name, value in {
        "EGRESS_INSTALL": "{{ 'demo' }}",
        "EGRESS_PROVIDERS": json.dumps([backend]),
        "EGRESS_STATES": "Running,Stopped",
        "EGRESS_POOLS": "us,eu",
        "EGRESS_NAMESPACES": "blue",
        "EGRESS_HOSTNAMES": "name",
        "EGRESS_MARK_PREFIX": "egress",
        "EGRESS_ON_INCOMPLETE": "warn",
    }.items():
        monkeypatch.setenv(name, value)
    source = sources.text("plugin: crawl.egress.egress\n")
    assert hosts(sources.read(source)) == ["us"]
    assert sources.calls() == [["demo", "us", "eu"]]
    sources.backend(**{"raise": ["UNREACHABLE", "no answer"]})
    assert hosts(sources.read(source)) == []
    monkeypatch.setenv("EGRESS_MARK_PREFIX", "No")
    assert "mark_prefix: 'No' is not allowed" in sources.refusal(source)
    monkeypatch.setenv("EGRESS_MARK_PREFIX", "egress")
    monkeypatch.setenv("EGRESS_ON_INCOMPLETE", "perhaps")
    assert "value of on_incomplete must be one of: fail, warn" in sources.refusal(source)


def test_the_file_comes_before_the_environment(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EGRESS_INSTALL", "other")
    assert hosts(sources.read(sources.write(sources.backend(count=1)))) == ["p-0"]


OURS = "INSTALL PROVIDERS MARK_PREFIX DESIRED_FILE STATES POOLS NAMESPACES HOSTNAMES ON_INCOMPLETE"


def test_empty_variables_count_as_not_set(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS.split():
        monkeypatch.setenv(f"EGRESS_{name}", "")
    assert hosts(sources.read(sources.write(sources.backend(instances=STATES)))) == ["running"]
    assert sources.refusal(sources.text("plugin: crawl.egress.egress\n")) == "install is missing; providers is missing"


def vaulted(secret: str, text: str) -> str:
    return VaultLib([(None, VaultSecret(secret.encode()))]).encrypt(text).decode()


def loader_with(secret: str) -> DataLoader:
    loader = DataLoader()
    loader.set_vault_secrets([("default", VaultSecret(secret.encode()))])
    return loader


def test_vault_values(sources: Sources) -> None:
    backend = sources.backend(count=1)
    value = vaulted("pass", str(sources.home / "lab.json")).replace("\n", "\n          ")
    providers = (
        f"providers:\n  - name: lab\n    type: {backend['type']}\n    {backend['type']}:\n"
        f"        file: !vault |\n          {value}\n"
    )
    sources.home.joinpath("password").write_text("pass")
    sources.home.joinpath("desired.yml").write_text(providers)
    for more in (providers, "desired_file: desired.yml\n"):
        source = sources.text(f"plugin: crawl.egress.egress\ninstall: demo\n{more}")
        said = sources.command("-i", str(source), "--list", "--vault-password-file", "password")
        assert list(json.loads(said)["_meta"]["hostvars"]) == ["p-0"]
        sources.command("-i", str(source), "--list")
        assert "no vault secrets found" in sources.warnings[-1]
        assert backend["type"] not in sources.warnings[-1], "no line of the file is shown"


def test_a_desired_document(sources: Sources) -> None:
    document = {
        "install": "demo",
        "providers": [sources.backend(count=2)],
        "mark_prefix": "egress",
        "pools": [{"name": "eu", "replicas": "for other eyes"}],
    }
    sources.home.joinpath("desired.yml").write_text(vaulted("pass", json.dumps(document)))
    source = sources.text("plugin: crawl.egress.egress\ndesired_file: desired.yml\ninstall: stands-in\n")
    assert hosts(sources.read(source, loader=loader_with("pass"))) == ["p-0", "p-1"]
    assert sources.calls() == [["demo"]]
    assert sources.refusal(source).startswith("desired_file 'desired.yml': ")


def test_options_stand_in_for_what_the_document_does_not_say(sources: Sources) -> None:
    sources.home.joinpath("desired.yml").write_text(json.dumps({"providers": [sources.backend(count=1)]}))
    source = sources.text("plugin: crawl.egress.egress\ndesired_file: ./desired.yml\ninstall: demo\n")
    assert hosts(sources.read(source)) == ["p-0"]
    sources.home.joinpath("desired.yml").unlink()
    assert sources.refusal(source) == "desired_file './desired.yml': there is no such file"


# Expressions of the user's own


def test_constructed(sources: Sources) -> None:
    source = sources.write(
        sources.backend(instances=STATES),
        states=[],
        strict=True,
        compose={"url": "'http://' ~ egress_address ~ ':' ~ egress_port", "of": "[inventory_hostname, egress_slot]"},
        groups={"odd": "url is match('http') and egress_state != 'Running'"},
        keyed_groups=[
            {"key": "egress_port | string", "prefix": "port"},
            {"key": "url | length | string", "prefix": "long"},
        ],
    )
    inventory = sources.read(source)
    assert own(inventory, "running")["url"] == "http://192.0.2.1:3128"
    assert own(inventory, "running")["of"] == ["running", 0]
    assert hosts(inventory, "odd") == ["provisioning", "stopped"]
    assert hosts(inventory, "port_3128") == hosts(inventory, "long_21") == ["provisioning", "running", "stopped"]


@pytest.mark.parametrize(
    "options",
    [
        {"compose": {"url": "nope ~ egress_port"}},
        {"groups": {"g": "nope == 1"}},
        {"keyed_groups": [{"key": "nope"}]},
    ],
)
def test_strict(sources: Sources, options: dict[str, t.Any]) -> None:
    backend = sources.backend(count=1)
    assert hosts(sources.read(sources.write(backend, **options))) == ["p-0"]
    inventory = sources.read(sources.write(backend, **options))
    assert set(inventory.groups) - {"all", "ungrouped"} == {
        "egress",
        "egress_pool_eu",
        "egress_provider_lab",
        "egress_scope_zones_a",
        "egress_state_running",
    }
    assert "'nope' is undefined" in sources.refusal(sources.write(backend, strict=True, **options), hosts=1)


# What backends say


HOSTILE = {
    "pool": "{{ 6 * 7 }}",
    "namespace": "#jinja2: variable_start_string:'<<', variable_end_string:'>>'\n<< 6 * 7 >>",
    "name": "a\"b'c\\",
    "uid": "{% for x in y %}",
    "spec-hash": "x {# y",
}


def test_hostile_labels_stay_what_they_are(sources: Sources) -> None:
    source = sources.write(
        sources.backend(instances=[{"labels": HOSTILE, "cause": "{{ lookup('pipe', 'id') }}"}]),
        strict=True,
        compose={"again": "egress_pool", "more": "egress_namespace ~ '!'"},
        keyed_groups=[{"key": "egress_pool", "prefix": "k"}],
        groups={"all_of_them": "egress_pool == '{' ~ '{ 6 * 7 }' ~ '}'"},
    )
    inventory = sources.read(source)
    assert hosts(inventory) == ["proxy-0"]
    found = own(inventory, "proxy-0")
    templar = Templar(loader=DataLoader(), variables=found)
    for key, value in {**HOSTILE, "cause": "{{ lookup('pipe', 'id') }}"}.items():
        name = f"egress_{key.replace('-', '_')}"
        assert templar.template(found[name]) == value
        assert templar.evaluate_expression(trusted(name)) == value
    assert (found["again"], found["more"]) == (HOSTILE["pool"], HOSTILE["namespace"] + "!")
    assert hosts(inventory, "all_of_them") == ["proxy-0"]
    assert {"k____6___7___", "egress_pool____6___7___"} <= set(inventory.groups)


def trusted(text: str) -> str:
    from ansible.template import trust_as_template

    return trust_as_template(text)


@pytest.mark.parametrize("arguments", [["--list"], ["--list", "--export"], ["--host", "eu-0"]])
def test_no_value_is_wrapped(sources: Sources, arguments: list[str]) -> None:
    labels = {"name": "eu-0", "spec-hash": "0" * 32, "spec-version": "1", "generation": "7"}
    source = sources.write(
        sources.backend(instances=[{"labels": labels, "cause": "Started"}]),
        compose={"url": "'http://' ~ egress_address", "all": "[egress_pool, {'of': egress_scope}]"},
        strict=True,
    )
    output = sources.command("-i", str(source), *arguments)
    assert "unsafe" not in output
    assert sources.warnings == [""]
    said = json.loads(output)
    found = said if "--host" in arguments else said["_meta"]["hostvars"]["eu-0"]
    assert found["egress_enabled"] is True
    assert found["ansible_host"] == "192.0.2.0"
    assert found["all"] == ["eu", {"of": "zones/a"}]


def test_hostile_labels_are_wrapped_and_nothing_else_is(sources: Sources) -> None:
    source = sources.write(sources.backend(instances=[{"labels": HOSTILE}]))
    said = json.loads(sources.command("-i", str(source), "--list", "--export"))["_meta"]["hostvars"]["proxy-0"]
    wrapped = {key: value for key, value in said.items() if isinstance(value, dict)}
    assert wrapped == {f"egress_{key.replace('-', '_')}": {"__ansible_unsafe": v} for key, v in HOSTILE.items()}


def test_graph(sources: Sources) -> None:
    source = sources.write(sources.backend(count=1))
    assert sources.command("-i", str(source), "--graph").splitlines() == [
        "@all:",
        "  |--@ungrouped:",
        "  |--@egress:",
        "  |  |--@egress_provider_lab:",
        "  |  |  |--p-0",
        "  |  |--@egress_scope_zones_a:",
        "  |  |  |--p-0",
        "  |  |--@egress_state_running:",
        "  |  |  |--p-0",
        "  |  |--@egress_pool_eu:",
        "  |  |  |--p-0",
    ]


# Faults


def test_only_files_of_that_name(sources: Sources) -> None:
    source = sources.write(sources.backend(count=1))
    for name in ("egress.yaml", "prod.egress.yml", "my_egress.yaml"):
        assert hosts(sources.read(source.rename(sources.home / name))) == ["p-0"]
        source = sources.home / name
    sources.command("-i", str(source.rename(sources.home / "proxies.yml")), "--list")
    assert "could not be verified by inventory plugin 'crawl.egress.egress'" in sources.warnings[-1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"providers": None}, "providers is missing"),
        ({"providers": []}, "providers: must not be empty (at least one entry is needed)"),
        ({"providers": {"lab": {"token": "s3cret"}}}, "providers: a mapping is given, a list is needed"),
        ({"providers": "[{'token': s3cret"}, "providers: the text is neither YAML nor JSON"),
        ({"providers": "s3cret"}, "providers: a string is given, a list is needed"),
        ({"providers": [{"name": 5, "type": "local"}]}, "providers[0].name: 5 is an integer, a string is needed"),
        ({"providers": [{"name": "a", "type": "gpc"}]}, "providers[0].type: 'gpc' is not allowed (allowed: "),
        (
            {"providers": [{"name": "a", "type": "acme.cloud.thing"}]},
            "the provider type acme.cloud.thing can't be used: ",
        ),
        ({"install": None}, "install is missing"),
        ({"install": ["demo"]}, "install: \"['demo']\" is not allowed"),
        ({"install": "Not A Label"}, "install: 'Not A Label' is not allowed"),
        ({"install": "{{ nope }}"}, "install: 'nope' is undefined"),
        ({"states": ["Running", "Dancing"]}, "value of states must be one or more of: Provisioning, Running, "),
        ({"hostnames": ["{{ 'egress_name' }}"]}, "value of hostnames must be one or more of: proxy, name, "),
        ({"pool": ["eu"], "plogin": 1}, "unknown option 'pool', 'plogin' (allowed: cache, "),
    ],
)
def test_bad_options(sources: Sources, options: dict[str, t.Any], sentence: str) -> None:
    refused = sources.refusal(sources.write(sources.backend(count=1), **options))
    assert sentence in refused
    assert "s3cret" not in refused
    assert sources.calls() == []


def test_two_entries_of_one_name(sources: Sources) -> None:
    backend = sources.backend(count=1)
    refused = sources.refusal(sources.write(backend, backend))
    assert refused == "providers[1].name: 'lab' is already the name of providers[0]"


GAPS = [
    (
        {"raise": ["UNREACHABLE", "no route to host"]},
        "provider lab: Unreachable: no route to host; check the address, the network and that the backend runs",
    ),
    (
        {"raise": ["UNAUTHORIZED", "the token is refused"]},
        "provider lab: Unauthorized: the token is refused; fix the credentials of the provider entry",
    ),
    (
        {"raise": ["ZeroDivisionError", "s3cret"]},
        "provider lab: Bug: unexpected ZeroDivisionError in backend.py:",
    ),
    (
        {
            "count": 1,
            "scopes": {
                "zones/a": {},
                "zones/b": {"completeness": "failed", "reason": "Timeout", "message": "no answer in 10 s"},
            },
        },
        "provider lab, zones/b: failed: Timeout: no answer in 10 s; "
        "try again; check the backend's load and the network in between",
    ),
    (
        {"count": 1, "scopes": {"zones/a": {"completeness": "partial", "reason": "Acme"}}},
        "provider lab, zones/a: partial: Acme",
    ),
    ({"count": 1, "scopes": {}}, "provider lab: it named no scope in its list"),
    ({"count": 1, "unreadable": ["zones/a/proxies/9"]}, "provider lab: 1 instances could not be read"),
]


@pytest.mark.parametrize(("script", "sentence"), GAPS)
def test_an_incomplete_answer_fails(sources: Sources, script: dict[str, t.Any], sentence: str) -> None:
    entries = [sources.backend(token="s3cret", **script), sources.backend("healthy", count=1)]
    refused = sources.refusal(sources.write(*entries))
    assert refused.startswith(f"nothing is listed, since proxies may be missing (see on_incomplete): {sentence}")
    assert "s3cret" not in refused


@pytest.mark.parametrize(("script", "sentence"), GAPS)
def test_an_incomplete_answer_may_do(sources: Sources, script: dict[str, t.Any], sentence: str) -> None:
    other = {"labels": {"name": "other"}}
    entries = [sources.backend(**script), sources.backend("healthy", instances=[other])]
    inventory = sources.read(sources.write(*entries, on_incomplete="warn"))
    assert hosts(inventory) == ["other", *(["p-0"] if "count" in script else [])]
    assert {own(inventory, name)["egress_complete"] for name in hosts(inventory)} == {False}
    assert sources.warnings[0].startswith(f"proxies may be missing: {sentence}")


def test_few_gaps_are_told_of_many(sources: Sources) -> None:
    scopes = {f"zones/{n}": {"completeness": "failed", "reason": "Timeout"} for n in range(100)}
    refused = sources.refusal(sources.write(sources.backend(scopes=scopes)))
    assert refused.count("zones/") == 5
    assert refused.endswith("; and 95 more")


def test_a_missing_sdk_names_the_package(sources: Sources) -> None:
    kind = "egress_tests.scripted.sdkless"
    entries = [{"name": "acme", "type": kind, kind: {}}, sources.backend(count=1)]
    refused = sources.refusal(sources.write(*entries))
    assert "provider acme: the Python package acme-cloud cannot be imported (No module named 'acme_cloud'); " in refused
    assert hosts(sources.read(sources.write(*entries, on_incomplete="warn"))) == ["p-0"]


def test_what_a_user_sees_of_a_dead_provider(sources: Sources) -> None:
    source = sources.write(sources.backend(**{"raise": ["UNREACHABLE", "no route"]}), sources.backend("b", count=9))
    as_awx = {"ANSIBLE_INVENTORY_UNPARSED_FAILED": "true"}
    output = sources.command("-i", str(source), "--list", "--export", environ=as_awx, status=1)
    assert output == ""
    (said,) = sources.warnings
    assert "provider lab: Unreachable: no route; check the address" in said
    assert "Traceback" not in said


def test_extra_variables_in_options(sources: Sources) -> None:
    source = sources.write(sources.backend(instances=STATES), states="{{ which }}")
    said = json.loads(sources.command("-i", str(source), "--list", "-e", '{"which": ["Stopped"]}'))
    assert list(said["_meta"]["hostvars"]) == ["stopped"]


# The cache


def caching(sources: Sources, **more: t.Any) -> dict[str, t.Any]:
    return {
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(sources.home / "cache"),
        **more,
    }


def test_the_cache_is_used_and_filters_are_applied_afterwards(sources: Sources) -> None:
    backend = sources.backend(instances=STATES)
    assert hosts(sources.read(sources.write(backend, pools=["us"], **caching(sources)))) == []
    assert hosts(sources.read(sources.write(backend, **caching(sources)))) == ["running"]
    everything = sources.read(sources.write(backend, states=[], hostnames=["uid"], **caching(sources)))
    assert len(hosts(everything)) == 3
    assert own(everything, hosts(everything)[0])["egress_complete"] is True
    assert sources.calls() == [["demo"]], "it was asked once, for all pools"


def test_a_cached_host_is_like_any_other(sources: Sources) -> None:
    labels = {"name": "eu-0", **HOSTILE}
    source = sources.write(sources.backend(instances=[{"labels": labels}, RUNNING]), **caching(sources))
    first = sources.command("-i", str(source), "--list", "--export")
    assert sources.command("-i", str(source), "--list", "--export") == first
    assert len(sources.calls()) == 1


def test_a_refresh_writes_the_cache(sources: Sources) -> None:
    source = sources.write(sources.backend(count=1), **caching(sources))
    assert hosts(sources.read(source)) == ["p-0"]
    sources.backend(count=2)
    assert hosts(sources.read(source)) == ["p-0"]
    assert hosts(sources.read(source, cache=False)) == ["p-0", "p-1"]
    assert hosts(sources.read(source)) == ["p-0", "p-1"]
    sources.backend(count=3)
    flushed = json.loads(sources.command("-i", str(source), "--list", "--flush-cache"))
    assert set(flushed["_meta"]["hostvars"]) == {"p-0", "p-1", "p-2"}
    assert hosts(sources.read(source)) == ["p-0", "p-1", "p-2"]


def test_other_settings_do_not_use_it(sources: Sources) -> None:
    backend = sources.backend(instances=[RUNNING, {"labels": {"name": "theirs", "install": "other"}}])
    assert hosts(sources.read(sources.write(backend, **caching(sources)))) == ["eu-0"]
    assert hosts(sources.read(sources.write(backend, **caching(sources, install="other")))) == ["theirs"]
    backend["name"] = "renamed"
    assert hosts(sources.read(sources.write(backend, **caching(sources)))) == ["eu-0"]
    sources.read(sources.write(backend, **caching(sources, mark_prefix="egress")))
    assert len(sources.calls()) == 4


@pytest.mark.parametrize("variable", ["KUBECONFIG", "K8S_AUTH_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "GCP_PROJECT"])
def test_another_environment_does_not_use_it(sources: Sources, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    source = sources.write(sources.backend(count=1), **caching(sources))
    for value in ("one", "other", "one"):
        monkeypatch.setenv(variable, value)
        sources.read(source)
    assert len(sources.calls()) == 2


def test_no_secret_is_cached(sources: Sources) -> None:
    sources.read(sources.write(sources.backend(count=1, token="s3cret"), **caching(sources)))
    (file,) = sources.home.joinpath("cache").iterdir()
    assert "s3cret" not in file.name + file.read_text()


def test_an_incomplete_answer_is_not_cached(sources: Sources) -> None:
    options = caching(sources, on_incomplete="warn")
    source = sources.write(sources.backend(count=1, unreadable=["x"]), **options)
    assert hosts(sources.read(source)) == ["p-0"]
    sources.backend(count=2)
    inventory = sources.read(source)
    assert hosts(inventory) == ["p-0", "p-1"]
    assert own(inventory, "p-0")["egress_complete"] is True


@pytest.mark.parametrize("damage", ['{"rows": [', "", '{"__payload__": "{}"}'])
def test_a_damaged_cache_file(sources: Sources, damage: str) -> None:
    source = sources.write(sources.backend(count=1), **caching(sources))
    sources.read(source)
    (file,) = sources.home.joinpath("cache").iterdir()
    file.write_text(damage)
    sources.command("-i", str(source), "--list")
    assert "Traceback" not in sources.warnings[-1]
    assert hosts(sources.read(source)) == ["p-0"]
    assert stat.S_IMODE(os.stat(file).st_mode) & stat.S_IWOTH == 0
