# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader

from ansible_collections.crawl.egress.plugins.module_utils._errors import ArgumentError, Reason
from ansible_collections.crawl.egress.plugins.module_utils._marks import VALUE_HELP
from ansible_collections.crawl.egress.plugins.module_utils._models import Placement
from ansible_collections.crawl.egress.plugins.module_utils._names import derived_uid
from ansible_collections.crawl.egress.plugins.module_utils._spec import document as module
from ansible_collections.crawl.egress.plugins.module_utils._spec import narrow
from ansible_collections.crawl.egress.plugins.module_utils._spec.desired import (
    Candidate,
    Desired,
    Limit,
    Policy,
    ProviderEntry,
)

SECRET = "SENTINEL"
HASH = "$5$abc$" + "x" * 43
SQUID = {"users": [{"name": "crawler", "password_hash": HASH}], "allowed_sources": ["10.0.0.0/8"]}
Types = Mapping[str, Any]


def document(**more: Any) -> dict[str, Any]:
    """A small valid document; None takes a key away."""
    base = {"install": "crawl", "providers": [{"name": "lab", "type": "local"}], "squid": SQUID}
    return {key: value for key, value in (base | more).items() if value is not None}


def two_providers(**more: Any) -> dict[str, Any]:
    entries = [{"name": "lab", "type": "local"}, {"name": "cloud", "type": "vm", "vm": {"project": "p"}}]
    return document(**{"providers": entries, **more})


class TestDocument:
    def test_the_smallest(self, types: Types) -> None:
        assert module.parse_document({"install": "i", "providers": [{"name": "l", "type": "local"}]}, types) == Desired(
            install="i",
            specs=(),
            pools=("named",),
            providers=(ProviderEntry("l", "local", {}),),
            policy=Policy(),
            generation=None,
            uid=None,
            mark_prefix="proxy-operator",
        )

    def test_everything(self, types: Types) -> None:
        desired = module.parse_document(
            {
                "install": "crawl-prod",
                "generation": 412,
                "mark_prefix": "egress",
                "providers": [
                    {"name": "lab", "type": "local", "local": {"directory": "/srv/egress"}},
                    {"name": "cloud", "type": "vm", "vm": {"project": "p", "key": "k"}},
                ],
                "proxies": [
                    {"name": "de-1", "provider": "lab", "squid": {"allowed_sources": ["192.0.2.1"]}},
                    {
                        "name": "de-1",
                        "namespace": "team-b",
                        "uid": "my-uid",
                        "provider": "cloud",
                        "port": 8080,
                        "placement": {"region": "r", "zone": "z", "machine_type": "m", "image": "i"},
                        "cloud_init": "#cloud-config",
                    },
                ],
                "pools": [{"name": "eu", "replicas": 2, "provider": "lab", "placement": {"zone": "a"}}],
                "squid": SQUID,
                "policy": {
                    "max_unavailable": "25%",
                    "provision_timeout": "90s",
                    "max_deletions": 7,
                    "paused": True,
                },
            },
            types,
        )
        assert desired.install == "crawl-prod"
        assert desired.generation == 412
        assert desired.mark_prefix == "egress"
        assert desired.pools == ("eu", "named")
        assert desired.providers == (
            ProviderEntry("lab", "local", {"directory": "/srv/egress"}),
            ProviderEntry("cloud", "vm", {"project": "p", "key": "k"}),
        )
        assert desired.policy == Policy(Limit(percent=25), 90.0, Limit(count=7), True)
        first, second, eu_0, eu_1 = desired.specs
        assert [(s.namespace, s.name, s.pool, s.port, s.generation, s.install) for s in desired.specs] == [
            ("default", "de-1", "named", 3128, 412, "crawl-prod"),
            ("team-b", "de-1", "named", 8080, 412, "crawl-prod"),
            ("default", "eu-0", "eu", 3128, 412, "crawl-prod"),
            ("default", "eu-1", "eu", 3128, 412, "crawl-prod"),
        ]
        assert [s.uid for s in desired.specs] == [
            "bc4b1ea0-f180-5cec-9d18-4645c58e44c8",
            "my-uid",
            derived_uid("crawl-prod", "default", "eu-0"),
            derived_uid("crawl-prod", "default", "eu-1"),
        ]
        assert first.candidates == (Candidate("lab", Placement()),)
        assert second.candidates == (Candidate("cloud", Placement("r", "z", "m", "i")),)
        assert eu_0.candidates == eu_1.candidates == (Candidate("lab", Placement(zone="a")),)
        assert [str(n) for n in first.guest.squid.allowed_sources] == ["192.0.2.1/32"]
        assert first.guest.squid.users == ()  # its own squid replaces the document's as a whole
        assert second.guest.squid is None
        assert second.guest.cloud_init == "#cloud-config"
        assert eu_0.guest.squid.users[0].name == "crawler"

    def test_members_prefer_their_placement_and_may_live_at_any(self, types: Types) -> None:
        places = [{"zone": "a"}, {"zone": "b"}, {"zone": "c"}]
        desired = module.parse_document(
            document(pools=[{"name": "eu", "replicas": 5, "namespace": "n", "placements": places}]), types
        )
        zones = ["".join(c.placement.zone for c in spec.candidates) for spec in desired.specs]
        assert zones == ["abc", "bac", "cab", "abc", "bac"]
        assert [spec.name for spec in desired.specs] == ["eu-0", "eu-1", "eu-2", "eu-3", "eu-4"]
        assert {spec.namespace for spec in desired.specs} == {"n"}

    def test_ten_thousand_members_share_what_they_have_in_common(self, types: Types) -> None:
        places = [{"zone": "a"}, {"zone": "b"}]
        pools = [{"name": "eu", "replicas": 10_000, "placements": places}, {"name": "us", "replicas": 1}]
        desired = module.parse_document(document(pools=pools), types)
        assert len({spec.uid for spec in desired.specs}) == 10_001
        assert desired.specs[9_999].name == "eu-9999"
        assert len({id(spec.guest) for spec in desired.specs}) == 1
        assert len({id(spec.candidates) for spec in desired.specs[:-1]}) == 2

    def test_ansibles_types_are_taken_apart(self, types: Types) -> None:
        tagged = DataLoader().load(json.dumps(document(proxies=[{"name": "a", "port": 1}])))
        desired = module.parse_document(tagged, types)
        assert desired == module.parse_document(document(proxies=[{"name": "a", "port": 1}]), types)
        spec = desired.specs[0]
        kinds = [value.__class__ for value in (desired.install, spec.name, spec.guest.squid.users[0].name, spec.port)]
        assert kinds == [str, str, str, int]

    def test_whole_floats_from_templates_are_numbers(self, types: Types) -> None:
        desired = module.parse_document(document(pools=[{"name": "eu", "replicas": 10 / 5}]), types)
        assert len(desired.specs) == 2

    @pytest.mark.parametrize(
        ("text", "seconds"), [(1, 1.0), (600, 600.0), ("90s", 90.0), ("10m", 600.0), ("2h", 7200.0), (1.0, 1.0)]
    )
    def test_durations(self, text: Any, seconds: float, types: Types) -> None:
        policy = module.parse_document(document(policy={"provision_timeout": text}), types).policy
        assert policy == Policy(provision_timeout=seconds)

    @pytest.mark.parametrize(
        ("text", "limit"),
        [(0, Limit(count=0)), (3, Limit(count=3)), ("0%", Limit(percent=0)), ("100%", Limit(percent=100))],
    )
    def test_fuses(self, text: Any, limit: Limit, types: Types) -> None:
        assert module.parse_document(document(policy={"max_deletions": text}), types).policy == Policy(
            max_deletions=limit
        )

    def test_secrets_are_in_no_repr(self, types: Types) -> None:
        desired = module.parse_document(
            two_providers(
                providers=[{"name": "cloud", "type": "vm", "vm": {"project": "p", "key": SECRET}}],
                proxies=[{"name": "a", "cloud_init": SECRET}, {"name": "b"}],
            ),
            types,
        )
        assert SECRET not in repr(desired)
        assert HASH not in repr(desired)


def parameters(**more: Any) -> dict[str, Any]:
    """What a module has after Ansible filled in what was not given."""
    return {
        "install": "crawl",
        "providers": [{"name": "lab", "type": "local", "local": None}],
        "mark_prefix": "proxy-operator",
        "name": "de-1",
        "namespace": "default",
        "uid": None,
        "provider": None,
        "port": 3128,
        "placement": {"region": None, "zone": "a", "machine_type": None, "image": None},
        "squid": {"users": None, "allowed_sources": ["10.0.0.0/8"]},
        "cloud_init": None,
        "state": "present",
        "wait": True,
        "state_dir": "/somewhere",
    } | more


class TestSingle:
    def test_present(self, types: Types) -> None:
        desired = module.parse_single(parameters(), types)
        (spec,) = desired.specs
        uid = derived_uid("crawl", "default", "de-1")
        assert (spec.uid, spec.pool, spec.port, spec.generation) == (uid, "task", 3128, None)
        assert spec.candidates == (Candidate("lab", Placement(zone="a")),)
        assert [str(n) for n in spec.guest.squid.allowed_sources] == ["10.0.0.0/8"]
        assert (desired.install, desired.uid, desired.pools) == ("crawl", uid, ("task",))
        assert desired.providers == (ProviderEntry("lab", "local", {}),)
        assert desired.policy == Policy(max_deletions=None)

    def test_without_defaults_filled_in(self, types: Types) -> None:
        given = {"install": "crawl", "providers": [{"name": "l", "type": "local"}], "name": "a", "squid": SQUID}
        (spec,) = module.parse_single(given, types).specs
        assert (spec.namespace, spec.port, spec.candidates) == ("default", 3128, (Candidate("l", Placement()),))

    def test_a_given_uid_is_used(self, types: Types) -> None:
        desired = module.parse_single(parameters(uid="my-uid", mark_prefix="x"), types)
        assert desired.uid == desired.specs[0].uid == "my-uid"
        assert desired.mark_prefix == "x"

    def test_absent_needs_neither_guest_nor_provider(self, types: Types) -> None:
        entries = two_providers()["providers"]
        desired = module.parse_single(parameters(state="absent", squid={}, providers=entries, cloud_init=""), types)
        assert desired.specs == ()
        assert desired.uid == derived_uid("crawl", "default", "de-1")
        assert [entry.name for entry in desired.providers] == ["lab", "cloud"]

    def test_cloud_init_instead_of_squid(self, types: Types) -> None:
        entries = two_providers()["providers"]
        (spec,) = module.parse_single(
            parameters(squid=None, cloud_init="#cloud-config", providers=entries, provider="cloud"), types
        ).specs
        assert spec.guest.cloud_init == "#cloud-config"
        assert spec.candidates[0].provider == "cloud"

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ({"install": None}, "install is missing"),
            ({"install": ""}, f"install: must not be empty ({VALUE_HELP})"),
            ({"name": ""}, f"name: must not be empty ({VALUE_HELP})"),
            ({"uid": ""}, f"uid: must not be empty ({VALUE_HELP})"),
            ({"namespace": ""}, f"namespace: must not be empty ({VALUE_HELP})"),
            ({"name": "De"}, f"name: 'De' is not allowed ({VALUE_HELP})"),
            ({"port": 70000}, "port: 70000 is not allowed (1 to 65535)"),
            (
                {"placement": {"zones": "a"}},
                "unknown key 'zones' at placement (allowed: region, zone, machine_type, image)",
            ),
            ({"providers": None}, "providers is missing"),
            ({"providers": [{"name": "l", "type": "x"}]}, "providers[0].type: 'x' is not allowed (allowed: local, vm)"),
            ({"providers": [{"name": "l", "type": "vm"}]}, "providers[0].vm.project is missing"),
            ({"provider": "x"}, "provider: there is no provider 'x' (allowed: lab)"),
            ({"provider": "x", "state": "absent"}, "provider: there is no provider 'x' (allowed: lab)"),
            (
                {"providers": two_providers()["providers"]},
                "provider is missing: there are several providers (lab, cloud)",
            ),
            ({"squid": None}, "squid is missing: the proxy would have no users and no allowed_sources"),
            ({"squid": {"users": None}}, "squid: no open proxies: give users or allowed_sources"),
            ({"squid": None, "cloud_init": "#"}, "cloud_init: provider lab is of type local, which takes squid only"),
            ({"squid": SQUID, "cloud_init": "#"}, "cloud_init: give either squid or cloud_init, not both"),
        ],
    )
    def test_faults_name_the_option(self, more: Mapping[str, Any], sentence: str, types: Types) -> None:
        with pytest.raises(ArgumentError) as caught:
            module.parse_single(parameters(**more), types)
        assert caught.value.problems == (sentence,)


class TestProviders:
    def test_entries(self, types: Types) -> None:
        entries = two_providers()["providers"]
        assert module.parse_providers("crawl", entries, None, types) == (
            ProviderEntry("lab", "local", {}),
            ProviderEntry("cloud", "vm", {"project": "p"}),
        )

    def test_faults(self, types: Types) -> None:
        with pytest.raises(ArgumentError) as caught:
            module.parse_providers(None, [{"name": "a", "type": "locl"}, {"name": "a", "type": "vm"}], "-", types)
        assert caught.value.problems == (
            "install is missing",
            "mark_prefix: '-' is not allowed (1 to 50 of a-z, 0-9, '-' and '_', "
            "the first one a letter, the last one a letter or digit)",
            "providers[0].type: 'locl' is not allowed (allowed: local, vm)",
            "providers[1].name: 'a' is already the name of providers[0]",
            "providers[1].vm.project is missing",
        )


class TestSelect:
    @pytest.fixture
    def desired(self, types: Types) -> Desired:
        pools = [{"name": "eu", "replicas": 2}, {"name": "us", "replicas": 1}, {"name": "none", "replicas": 0}]
        return module.parse_document(document(pools=pools, proxies=[{"name": "de-1"}]), types)

    @pytest.mark.parametrize(
        ("only", "pools", "names"),
        [
            (["eu"], ("eu",), ["eu-0", "eu-1"]),
            (["named", "us"], ("us", "named"), ["de-1", "us-0"]),
            (["us", "us"], ("us",), ["us-0"]),
            (["none"], ("none",), []),
        ],
    )
    def test_only_these(self, desired: Desired, only: list[str], pools: tuple[str, ...], names: list[str]) -> None:
        selected = narrow.select(desired, only)
        assert selected.pools == pools
        assert [spec.name for spec in selected.specs] == names
        assert selected.providers == desired.providers

    def test_none_means_all(self, desired: Desired) -> None:
        assert narrow.select(desired, []) is desired

    def test_unknown_pools(self, desired: Desired) -> None:
        with pytest.raises(ArgumentError) as caught:
            narrow.select(desired, ["eu", "asia", "task"])
        assert caught.value.problems == (
            "only: the document has no pool 'asia' (allowed: eu, us, none, named)",
            "only: the document has no pool 'task' (allowed: eu, us, none, named)",
        )

    def test_nothing_desired_must_be_meant(self, desired: Desired) -> None:
        empty = narrow.select(desired, ["none"])
        with pytest.raises(ArgumentError, match="allow_empty") as caught:
            narrow.require_not_empty(empty, allow_empty=False)
        assert caught.value.reason is Reason.EMPTY_DESIRED
        narrow.require_not_empty(empty, allow_empty=True)
        narrow.require_not_empty(desired, allow_empty=False)

    @pytest.mark.parametrize(
        ("value", "limit"), [("0", Limit(count=0)), ("12", Limit(count=12)), ("5%", Limit(percent=5))]
    )
    def test_the_fuse_of_a_module_wins(self, desired: Desired, value: str, limit: Limit) -> None:
        assert narrow.with_max_deletions(desired, value).policy == Policy(max_deletions=limit)
        assert narrow.with_max_deletions(desired, None) is desired

    @pytest.mark.parametrize("value", ["-1", "101%", "x", "", "1.5", "5 %", "9" * 5000])
    def test_a_fuse_that_is_none(self, desired: Desired, value: str) -> None:
        with pytest.raises(ArgumentError, match=r"^max_deletions: .*0 or more, or '0%' to '100%'"):
            module.check_max_deletions(value)
