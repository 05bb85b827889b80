# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import collections
import random
import re

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._names import derived_uid, instance_name

# Computed once with other tools (sha1sum, openssl, base32) and frozen: a changed answer orphans every fleet.
UIDS = [
    (("crawl-prod", "default", "de-1"), "bc4b1ea0-f180-5cec-9d18-4645c58e44c8"),
    (("crawl-prod", "team-b", "de-1"), "ba31d748-42e8-57f1-adff-5ad5077a1f76"),
    (("crawl", "default", "a-1"), "8c41419a-869f-5d55-b6df-39c0029ff026"),
    (("a", "b", "c"), "19b9e4c8-cfa2-5509-a2d0-bec7be509ce5"),
]
NAMES = [
    (("8c41419a-869f-5d55-b6df-39c0029ff026", 0), "proxy-loemsgslajadop3o"),
    (("8c41419a-869f-5d55-b6df-39c0029ff026", 1), "proxy-xsatxo7go6lgiwz3"),
    (("00000000-0000-0000-0000-000000000000", 0), "proxy-ck4to7f6pzojj2fh"),
    (("my-proxy", 0), "proxy-3hoiwcrjmzkabbxr"),
    (("a", 0), "proxy-zklycewkdo64v6wc"),
]


@pytest.mark.parametrize(("parts", "uid"), UIDS)
def test_derived_uids_are_frozen(parts: tuple[str, str, str], uid: str) -> None:
    assert derived_uid(*parts) == uid


@pytest.mark.parametrize(("key", "name"), NAMES)
def test_instance_names_are_frozen(key: tuple[str, int], name: str) -> None:
    assert instance_name(*key) == name


def test_the_parts_of_a_uid_do_not_run_into_each_other() -> None:
    assert derived_uid("ab", "c", "d") != derived_uid("a", "bc", "d") != derived_uid("a", "b", "cd")


@pytest.mark.parametrize("parts", [("", "b", "c"), ("a", "", "c"), ("a", "b", "")])
def test_no_uid_without_all_its_parts(parts: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        derived_uid(*parts)


def test_no_name_without_a_uid() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        instance_name("")


def test_a_million_uids_have_a_million_names() -> None:
    source = random.Random(2)
    # By their first letter, and as bytes in a row, so that this takes 15 MB and not 100.
    rests: dict[str, bytearray] = collections.defaultdict(bytearray)
    for _unused in range(10**6):
        digits = f"{source.getrandbits(128):032x}"
        name = instance_name("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))
        rests[name[6]] += name[7:].encode()
    assert re.fullmatch(r"proxy-[a-z2-7]{16}", name)
    assert len(rests) == 32
    assert sum(len({bytes(rest[i : i + 15]) for i in range(0, len(rest), 15)}) for rest in rests.values()) == 10**6
