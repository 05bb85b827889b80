# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What C(docs/) says about providers, against their Profiles, the contract and the kit."""

from __future__ import annotations

import importlib
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.plugins.module_utils.provider import Profile
from ansible_collections.crawl.egress.plugins.plugin_utils.conformance.kit import cases

ROOT = Path(__file__).resolve().parents[4]
DOCS = ROOT / "docs"
TEMPLATE = DOCS / "provider-spec-template.md"
SPECS = sorted(DOCS.glob("*-provider-spec.md"))

#: A line such as: - `primary-key`: `name-is-key`
ANSWER = re.compile(r"^- `([a-z-]+)`: `([a-z0-9_, -]+)`$", re.M)


def entries(file: Path) -> dict[str, str]:
    """The text below each heading, by heading."""
    parts = re.split(r"^## (.+)$", file.read_text(encoding="utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def answers(texts: t.Iterable[str]) -> list[tuple[str, str]]:
    return [match for text in texts for match in ANSWER.findall(text)]


def profile_of(kind: str) -> Profile:
    module = importlib.import_module(
        f"ansible_collections.crawl.egress.plugins.module_utils._providers.{kind}.provider"
    )
    (profile,) = {
        each.profile
        for each in vars(module).values()
        if isinstance(each, type) and isinstance(getattr(each, "profile", None), Profile)
    }
    return profile


def allowed(axis: str) -> tuple[str, ...]:
    hint = t.get_type_hints(Profile)[axis]
    if axis == "placement":
        return ("ignored", *t.get_args(t.get_args(hint)[0]))
    return t.get_args(hint)


def axes() -> list[str]:
    """As Profile spells them."""
    return [axis for axis in t.get_type_hints(Profile) if allowed(axis)]


def part(entry: str, name: str) -> str:
    match = re.search(rf"^\*\*{name}\.\*\*(.*?)(?=^\*\*|\Z)", entry, flags=re.M | re.S)
    assert match, f"no {name}"
    return match[1].strip()


def test_there_is_a_spec_of_local() -> None:
    assert [file.name for file in SPECS if file.name.startswith("local-")] == ["local-provider-spec.md"]


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.name)
def test_a_spec_and_the_profile_of_its_provider_agree(file: Path) -> None:
    kind = file.name.removesuffix("-provider-spec.md")
    found = answers(entries(file).values())
    assert sorted(found) == sorted(profile_of(kind).answers().items())
    assert f"| Type | `{kind}` |" in entries(file)["Header"]
    assert profile_of(kind).type == kind


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.name)
def test_a_spec_answers_every_entry_of_the_template_where_it_belongs(file: Path) -> None:
    spec, template = entries(file), entries(TEMPLATE)
    assert list(spec) == list(template)
    for title, text in spec.items():
        if title == "Header":
            assert re.findall(r"^\| ([^|]+) \|", text, re.M) == re.findall(r"^\| ([^|]+) \|", template[title], re.M)
            assert not re.search(r"\| +\|$", text.partition("---")[2], re.M)
            continue
        assert part(text, "Answer")
        assert part(text, "Evidence")
        asked = re.findall(r"`([a-z-]+)`:\s", part(template[title], "Allowed answers"))
        assert [axis for axis, _answer in answers([text])] == asked, title


def test_the_template_has_a_header_and_24_entries() -> None:
    titles = list(entries(TEMPLATE))
    assert titles[0] == "Header"
    assert [title.partition(".")[0] for title in titles[1:]] == [str(number) for number in range(1, 25)]
    for title in titles[1:]:
        for name in ("Question", "Allowed answers", "Obligations"):
            assert part(entries(TEMPLATE)[title], name), title
        assert part(entries(TEMPLATE)[title], "Evidence") == ""
        head, *rows = part(entries(TEMPLATE)[title], "Answer").partition("---")[::2]
        assert not head or head.startswith("| ")
        assert not re.search(r"\w", "".join(rows)), title


@pytest.mark.parametrize("axis", axes())
def test_the_template_allows_what_the_profile_allows(axis: str) -> None:
    said = [part(text, "Allowed answers") for title, text in entries(TEMPLATE).items() if title != "Header"]
    word = axis.replace("_", "-")
    (sentence,) = (match for text in said for match in re.findall(rf"`{word}`:\s(.*?)\.(?:\s|$)", text, re.S))
    assert re.findall(r"`([a-z0-9_-]+)`", re.sub(r"\((?:[^()]|\(\))*\)", "", sentence)) == list(allowed(axis))


def test_the_template_names_every_case_of_the_kit_and_no_other() -> None:
    texts = [part(text, "Obligations") for title, text in entries(TEMPLATE).items() if title != "Header"]
    named = {
        word
        for text in texts
        for word in re.findall(r"`([a-z-]+)`", text.rpartition("Kit:")[2] if "Kit:" in text else "")
    }
    assert named == {case.id for case in cases()}


def code_blocks(file: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", file.read_text(encoding="utf-8"), re.M | re.S)


def test_the_page_for_writers_shows_code_that_a_test_runs() -> None:
    blocks = code_blocks(DOCS / "writing-a-provider.md")
    acme = ROOT / "tests" / "packaging" / "acme"
    provider = (acme / "plugins" / "plugin_utils" / "thing.py").read_text()
    tests = (acme / "tests" / "unit" / "test_thing.py").read_text()
    assert len(blocks) == 2
    assert blocks[0] in provider
    assert tests.endswith(blocks[1])


@pytest.mark.parametrize("file", [TEMPLATE, *SPECS, DOCS / "writing-a-provider.md"], ids=lambda file: file.name)
def test_the_files_that_are_named_are_there(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)#]+\.md)\)", text) + re.findall(
        r"`((?:tests|docs|plugins|meta)/[A-Za-z0-9_./-]+)`", text
    )
    assert named
    missing = [
        name for name in named if not ((DOCS if name.endswith(".md") and "/" not in name else ROOT) / name).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.name)
def test_the_tests_that_are_evidence_are_there(file: Path) -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_[a-z_0-9]+)`", file.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if f"def {name}(" not in sources] == []
