# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents that are refused, and what is said about them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.crawl.egress.plugins.module_utils._errors import ArgumentError, Reason
from ansible_collections.crawl.egress.plugins.module_utils._marks import VALUE_HELP
from ansible_collections.crawl.egress.plugins.module_utils._names import derived_uid
from ansible_collections.crawl.egress.plugins.module_utils._spec import document as module

SECRET = "SENTINEL"
SQUID = {"allowed_sources": ["10.0.0.0/8"]}
LABEL = f"({VALUE_HELP})"
TOP = "install, generation, providers, proxies, pools, squid, policy, mark_prefix"
PROXY = "name, namespace, uid, provider, port, placement, squid, cloud_init"
EU_1 = derived_uid("crawl", "default", "eu-1")
PREFIXES = "1 to 50 of a-z, 0-9, '-' and '_', the first one a letter, the last one a letter or digit"
DURATIONS = "seconds from 1 to 1000000, or a text such as '90s', '10m' or '2h'"
Types = Mapping[str, Any]


def document(**more: Any) -> dict[str, Any]:
    """A small valid document; None takes a key away."""
    base = {"install": "crawl", "providers": [{"name": "lab", "type": "local"}], "squid": SQUID}
    return {key: value for key, value in (base | more).items() if value is not None}


def problems_of(value: Any, types: Types) -> list[str]:
    with pytest.raises(ArgumentError) as caught:
        module.parse_document(value, types)
    assert caught.value.reason is Reason.INVALID_ARGUMENT
    return list(caught.value.problems)


class TestNoDocument:
    @pytest.mark.parametrize("empty", [None, "", {}])
    def test_empty(self, empty: Any, types: Types) -> None:
        assert problems_of(empty, types) == ["the desired document is empty"]

    @pytest.mark.parametrize(
        ("value", "kind"),
        [([], "a list"), ([{}], "a list"), ("install: x", "a string"), (3, "an integer"), (True, "a boolean")],
    )
    def test_no_mapping(self, value: Any, kind: str, types: Types) -> None:
        assert problems_of(value, types) == [f"the desired document is {kind}, a mapping is needed"]


LONG = "x" * 61
ONE_FAULT = [
    ({"install": None}, "install is missing"),
    ({"install": ""}, f"install: must not be empty {LABEL}"),
    ({"install": 123}, "install: 123 is an integer, a string is needed: put it in quotes"),
    ({"install": "Crawl"}, f"install: 'Crawl' is not allowed {LABEL}"),
    ({"generation": -1}, "generation: -1 is not allowed (0 to 999999999999999)"),
    (
        {"generation": "412"},
        "generation: '412' is a string, an integer is needed: write it without quotes, or with the filter int",
    ),
    (
        {"fleet": 1},
        f"unknown key 'fleet' (allowed: {TOP})",
    ),
    (
        {"mark_prefix": "x" * 51},
        f"mark_prefix: '{'x' * 51}' is not allowed ({PREFIXES})",
    ),
    # providers
    ({"providers": None}, "providers is missing"),
    ({"providers": []}, "providers: must not be empty (at least one entry is needed)"),
    ({"providers": {"lab": {}}}, "providers: a mapping is given, a list is needed"),
    ({"providers": [{"name": "lab", "type": "locl"}]}, "providers[0].type: 'locl' is not allowed (allowed: local, vm)"),
    ({"providers": [{"name": "Lab", "type": "local"}]}, f"providers[0].name: 'Lab' is not allowed {LABEL}"),
    ({"providers": [{"type": "local"}]}, "providers[0].name is missing"),
    ({"providers": [{"name": "lab"}]}, "providers[0].type is missing"),
    (
        {"providers": [{"name": "lab", "type": "local"}] * 2},
        "providers[1].name: 'lab' is already the name of providers[0]",
    ),
    ({"providers": [{"name": "lab", "type": "vm"}]}, "providers[0].vm.project is missing"),
    ({"providers": [{"name": "lab", "type": "vm", "vm": None}]}, "providers[0].vm: null is given, a mapping is needed"),
    (
        {"providers": [{"name": "lab", "type": "local", "vm": {"project": "p"}}]},
        "providers[0].vm: does not belong to an entry of type local",
    ),
    (
        {"providers": [{"name": "lab", "type": "local", "local": {"hots": "a"}}]},
        "unknown key 'hots' at providers[0].local (allowed: directory, host, engine, addresses)",
    ),
    (
        {"providers": [{"name": "lab", "type": "vm", "vm": {"project": "p", "key": SECRET * 9}}]},
        "providers[0].vm.key: a value is not allowed (At most 10 characters)",
    ),
    # proxies
    ({"pools": "x"}, "pools: a string is given, a list is needed"),
    ({"proxies": {"a": {}}}, "proxies: a mapping is given, a list is needed"),
    ({"proxies": ["a"]}, "proxies[0]: a string is given, a mapping is needed"),
    ({"proxies": [{}]}, "proxies[0].name is missing"),
    ({"proxies": [{"name": None}]}, "proxies[0].name: null is given, a string is needed"),
    ({"proxies": [{"name": ""}]}, f"proxies[0].name: must not be empty {LABEL}"),
    ({"proxies": [{"name": True}]}, "proxies[0].name: true is a boolean, a string is needed: put it in quotes"),
    ({"proxies": [{"name": "De"}]}, f"proxies[0].name: 'De' is not allowed {LABEL}"),
    ({"proxies": [{"name": "-de"}]}, f"proxies[0].name: '-de' is not allowed {LABEL}"),
    ({"proxies": [{"name": "de.1"}]}, f"proxies[0].name: 'de.1' is not allowed {LABEL}"),
    ({"proxies": [{"name": "x" * 64}]}, f"proxies[0].name: '{'x' * 64}' is not allowed {LABEL}"),
    ({"proxies": [{"name": "de\n"}]}, f"proxies[0].name: 'de\\n' is not allowed {LABEL}"),
    ({"proxies": [{"name": "a", "namespace": ""}]}, f"proxies[0].namespace: must not be empty {LABEL}"),
    ({"proxies": [{"name": "a", "uid": ""}]}, f"proxies[0].uid: must not be empty {LABEL}"),
    ({"proxies": [{"name": "a", "uid": "A-B"}]}, f"proxies[0].uid: 'A-B' is not allowed {LABEL}"),
    ({"proxies": [{"name": "a", "port": 0}]}, "proxies[0].port: 0 is not allowed (1 to 65535)"),
    ({"proxies": [{"name": "a", "port": 70000}]}, "proxies[0].port: 70000 is not allowed (1 to 65535)"),
    ({"proxies": [{"name": "a", "port": "abc"}]}, "proxies[0].port: 'abc' is a string, an integer is needed"),
    (
        {"proxies": [{"name": "a", "provider": "cloud"}]},
        "proxies[0].provider: there is no provider 'cloud' (allowed: lab)",
    ),
    (
        {"proxies": [{"name": "a", "prot": 1}]},
        f"unknown key 'prot' at proxies[0] (allowed: {PROXY})",
    ),
    (
        {"proxies": [{"name": "a", "placement": {"zones": "a"}}]},
        "unknown key 'zones' at proxies[0].placement (allowed: region, zone, machine_type, image)",
    ),
    (
        {"proxies": [{"name": "a", "placement": {"zone": ""}}]},
        "proxies[0].placement.zone: must not be empty (leave the key out instead)",
    ),
    (
        {"proxies": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
        "proxies[2].name: 'a' is already the name of proxies[0] in namespace default",
    ),
    (
        {"proxies": [{"name": "a", "uid": "u"}, {"name": "b", "uid": "u"}]},
        "proxies[1].uid: 'u' is already the uid of proxies[0]",
    ),
    (
        {
            "proxies": [{"name": "a", "uid": derived_uid("crawl", "default", "eu-1")}],
            "pools": [{"name": "eu", "replicas": 2}],
        },
        f"the uid {derived_uid('crawl', 'default', 'eu-1')} belongs to two proxies, default/a and default/eu-1",
    ),
    # pools
    ({"pools": [{"name": "eu"}]}, "pools[0].replicas is missing"),
    ({"pools": [{"name": "eu", "replicas": -1}]}, "pools[0].replicas: -1 is not allowed (0 to 10000)"),
    ({"pools": [{"name": "eu", "replicas": 10001}]}, "pools[0].replicas: 10001 is not allowed (0 to 10000)"),
    ({"pools": [{"name": "named", "replicas": 1}]}, "pools[0].name: 'named' is reserved"),
    ({"pools": [{"name": "task", "replicas": 0}]}, "pools[0].name: 'task' is reserved"),
    (
        {"pools": [{"name": "eu", "replicas": 1}, {"name": "eu", "namespace": "b", "replicas": 1}]},
        "pools[1].name: 'eu' is already the name of pools[0]",
    ),
    (
        {"pools": [{"name": LONG, "replicas": 11}]},
        f"pools[0].name: its last proxy would be '{LONG}-10', 64 characters {LABEL}",
    ),
    (
        {"pools": [{"name": "eu", "replicas": 1}], "proxies": [{"name": "eu-0"}]},
        "proxies[0].name: 'eu-0' clashes with a proxy of pool eu (pools[0]) in namespace default",
    ),
    (
        {"pools": [{"name": "eu", "replicas": 1, "placement": {}, "placements": [{}]}]},
        "pools[0].placements: give either placement or placements, not both",
    ),
    (
        {"pools": [{"name": "eu", "replicas": 1, "placements": []}]},
        "pools[0].placements: must not be empty (at least one placement is needed)",
    ),
    (
        {"pools": [{"name": "eu", "replicas": 1, "placements": [{"zone": "a"}, {"zone": "a"}]}]},
        "pools[0].placements: the same entry stands there more than once",
    ),
    # guests
    ({"squid": {}}, "squid: no open proxies: give users or allowed_sources"),
    ({"squid": {"users": [], "allowed_sources": []}}, "squid: no open proxies: give users or allowed_sources"),
    (
        {"squid": None, "proxies": [{"name": "a"}]},
        "squid is missing: proxies[0] would have no users and no allowed_sources",
    ),
    (
        {
            "squid": None,
            "proxies": [{"name": "a", "squid": SQUID}, {"name": "b"}],
            "pools": [{"name": "eu", "replicas": 1}],
        },
        "squid is missing: proxies[1] and 1 more would have no users and no allowed_sources",
    ),
    (
        {"proxies": [{"name": "a", "squid": {"allowed_destinations": ["127.0.0.0/8"]}}]},
        "proxies[0].squid: no open proxies: give users or allowed_sources",
    ),
    (
        {"squid": {"allowed_sources": ["10.0.0.1/8"]}},
        "squid.allowed_sources[0]: '10.0.0.1/8' has bits set behind its prefix (did you mean '10.0.0.0/8'?)",
    ),
    ({"squid": {"allowed_sources": "10.0.0.0/8"}}, "squid.allowed_sources: a string is given, a list is needed"),
    (
        {"squid": {"users": [{"name": "a", "password_hash": 12345}]}},
        "squid.users[0].password_hash: an integer is given, a string is needed: put it in quotes",
    ),
    ({"squid": {"users": [f"a:{SECRET}"]}}, "squid.users[0]: a string is given, a mapping is needed"),
    (
        {"proxies": [{"name": "a", "cloud_init": "#"}]},
        "proxies[0].cloud_init: provider lab is of type local, which takes squid only",
    ),
    (
        {"proxies": [{"name": "a", "squid": SQUID, "cloud_init": "#"}]},
        "proxies[0].cloud_init: give either squid or cloud_init, not both",
    ),
    # policy
    (
        {"policy": {"max_unavailable": 0}},
        "policy.max_unavailable: 0 is not allowed (1 or more, or '1%' to '100%': "
        "with none that may be down, nothing could ever be replaced)",
    ),
    (
        {"policy": {"provision_timeout": 0}},
        f"policy.provision_timeout: 0 is not allowed ({DURATIONS})",
    ),
    (
        {"policy": {"max_deletions": "101%"}},
        "policy.max_deletions: '101%' is not allowed (0 or more, or '0%' to '100%')",
    ),
    ({"policy": {"paused": "yes"}}, "policy.paused: 'yes' is a string, a boolean is needed"),
    (
        {"policy": {"max_surge": 1}},
        "unknown key 'max_surge' at policy (allowed: max_unavailable, provision_timeout, max_deletions, paused)",
    ),
]


class TestFaults:
    @pytest.mark.parametrize(("more", "sentence"), ONE_FAULT)
    def test_one(self, more: Mapping[str, Any], sentence: str, types: Types) -> None:
        assert problems_of(document(**more), types) == [sentence]
        assert SECRET not in sentence

    @pytest.mark.parametrize("text", ["0%", "101%", "50 %", "-1%", "1.5%", "half", "1", 0, -1, ""])
    def test_budgets_that_are_none(self, text: Any, types: Types) -> None:
        (sentence,) = problems_of(document(policy={"max_unavailable": text}), types)
        assert "nothing could ever be replaced" in sentence

    @pytest.mark.parametrize("text", ["600", "10", "1d", "1h30m", "0s", "-5m", "1.5h", "m", 0, -1, 1000001, ""])
    def test_durations_that_are_none(self, text: Any, types: Types) -> None:
        (sentence,) = problems_of(document(policy={"provision_timeout": text}), types)
        assert sentence.startswith("policy.provision_timeout: ")

    def test_with_several_providers_each_member_names_one(self, types: Types) -> None:
        entries = [{"name": "lab", "type": "local"}, {"name": "cloud", "type": "local"}]
        pools = [{"name": "eu", "replicas": 1, "provider": "x"}]
        found = problems_of(document(providers=entries, proxies=[{"name": "a"}], pools=pools), types)
        assert found == [
            "pools[0].provider: there is no provider 'x' (allowed: lab, cloud)",
            "proxies[0].provider is missing: there are several providers (lab, cloud)",
        ]

    def test_all_at_once_whatever_their_kind(self, types: Types) -> None:
        found = problems_of(
            {
                "instal": "crawl",
                "providers": [{"name": "lab", "type": "local"}, {"name": "lab", "type": "vm"}],
                "proxies": [{"name": "eu-1", "port": 0}, {"name": "eu-1", "prot": 1, "provider": "nope"}],
                "pools": [{"name": "eu", "replicas": 2, "provider": "lab", "placement": {}, "placements": [{}]}],
            },
            types,
        )
        clash = "'eu-1' clashes with a proxy of pool eu (pools[0]) in namespace default"
        assert found == [
            f"unknown key 'instal' (allowed: {TOP})",
            "install is missing",
            "pools[0].placements: give either placement or placements, not both",
            "providers[1].name: 'lab' is already the name of providers[0]",
            "providers[1].vm.project is missing",
            f"proxies[0].name: {clash}",
            "proxies[0].port: 0 is not allowed (1 to 65535)",
            "proxies[1].name: 'eu-1' is already the name of proxies[0] in namespace default",
            f"proxies[1].name: {clash}",
            f"unknown key 'prot' at proxies[1] (allowed: {PROXY})",
            "proxies[1].provider: there is no provider 'nope' (allowed: lab)",
            "squid is missing: proxies[0] and 2 more would have no users and no allowed_sources",
        ]

    def test_a_pool_does_not_clash_with_what_it_does_not_have(self, types: Types) -> None:
        names = ["eu-2", "eu-00", "eu", "eu-x", "us-0"]
        proxies = [{"name": name} for name in names] + [{"name": "eu-0", "namespace": "other"}]
        pools = [{"name": "eu", "replicas": 2}, {"name": "us", "replicas": 0}]
        assert len(module.parse_document(document(proxies=proxies, pools=pools), types).specs) == 8


PATHS = [
    ("install",), ("generation",), ("providers",), ("providers", 0), ("providers", 0, "name"), ("providers", 0, "type"),
    ("providers", 1, "vm"), ("providers", 1, "vm", "key"), ("proxies",), ("proxies", 0), ("proxies", 0, "name"),
    ("proxies", 0, "namespace"), ("proxies", 0, "uid"), ("proxies", 0, "provider"), ("proxies", 0, "cloud_init"),
    ("proxies", 0, "placement"), ("proxies", 0, "placement", "zone"), ("pools",), ("pools", 0), ("pools", 0, "name"),
    ("pools", 0, "replicas"), ("pools", 0, "namespace"), ("pools", 0, "placements"), ("pools", 0, "placements", 0),
    ("pools", 0, "squid"), ("squid",), ("squid", "users"), ("squid", "users", 0), ("squid", "users", 0, "name"),
    ("squid", "users", 0, "password_hash"), ("squid", "extra_lines"), ("squid", "extra_lines", 0), ("policy",),
    ("policy", "max_unavailable"), ("policy", "provision_timeout"), ("policy", "max_deletions"), ("mark_prefix",),
]  # fmt: skip
REPLACEMENTS = [
    *(None, True, -1, 0, 1.5, 10**20, "", "x", "eu-0", "eu-" + "9" * 5000, "task", "Ä\n", "1%"),
    *([], [[]], ["x"], [{}], {}, {"x": 1}, {"name": "x"}),
    "keep it in a list",
    "keep it in a mapping",
    "make it longer",
    "take it away",
]


def mutated(value: Any, path: tuple[Any, ...], replacement: Any) -> Any:
    *parents, last = path
    node = value
    for step in parents:
        try:
            node = node[step]
        except (LookupError, TypeError):
            return value  # an earlier mutation took it away
    if not (isinstance(node, dict) and last in node) and not (
        isinstance(node, list) and isinstance(last, int) and last < len(node)
    ):
        return value
    if replacement == "take it away":
        del node[last]
    elif replacement == "make it longer":
        node[last] = f"{node[last]}\n" * 10
    elif replacement == "keep it in a list":
        node[last] = [node[last]]
    elif replacement == "keep it in a mapping":
        node[last] = {"x": node[last]}
    else:
        node[last] = replacement
    return value


def with_secrets() -> dict[str, Any]:
    return {
        "install": "crawl",
        "generation": 1,
        "providers": [
            {"name": "lab", "type": "local"},
            {"name": "cloud", "type": "vm", "vm": {"project": "p", "key": SECRET}},
        ],
        "proxies": [
            {
                "name": "a",
                "namespace": "n",
                "uid": "u",
                "provider": "cloud",
                "cloud_init": SECRET,
                "placement": {"zone": "z"},
            }
        ],
        "pools": [
            {
                "name": "eu",
                "replicas": 2,
                "namespace": "n",
                "provider": "lab",
                "placements": [{"zone": "a"}],
                "squid": {
                    "allowed_sources": ["10.0.0.0/8"],
                    "extra_lines": [f"cache_peer a login=a:{SECRET}"],
                },
            }
        ],
        "squid": {
            "users": [{"name": "a", "password_hash": "$5$abc$" + SECRET.ljust(43, ".")}],
            "extra_lines": [f"cache_peer a login=a:{SECRET}"],
        },
        "policy": {"max_unavailable": 1, "provision_timeout": "1m", "max_deletions": 1},
        "mark_prefix": "x",
    }


def parsed(value: Any, types: Types) -> str:
    """What a log could hold of the outcome."""
    try:
        return repr(module.parse_document(value, types))
    except ArgumentError as error:
        return f"{error!r} {error.as_result()}"


def test_what_the_next_tests_begin_with_is_valid(types: Types) -> None:
    assert parsed(with_secrets(), types).startswith("Desired(")
    assert SECRET not in parsed(with_secrets(), types)


@pytest.mark.parametrize("replacement", REPLACEMENTS, ids=repr)
def test_no_edit_breaks_the_parser_or_gives_a_secret_away(replacement: Any, types: Types) -> None:
    for path in PATHS:
        outcome = parsed(mutated(with_secrets(), path, copy.deepcopy(replacement)), types)
        assert SECRET not in outcome, path


@given(st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(REPLACEMENTS)), min_size=2, max_size=3))
def test_nor_do_several_edits(types: Types, edits: list[tuple[Any, Any]]) -> None:
    value = with_secrets()
    for path, replacement in edits:
        value = mutated(value, path, copy.deepcopy(replacement))
    assert SECRET not in parsed(value, types)
