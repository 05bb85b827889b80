# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""C(desired_file), as users give it; what it says is seen by the number of proxies that would be made."""

from __future__ import annotations

import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

FLEET, GC = "crawl.egress.egress_fleet", "crawl.egress.egress_gc"

DOCUMENT = {
    "install": "demo",
    "providers": [{"name": "here", "type": "egress_tests.doors.nowhere"}],
    "pools": [{"name": "eu", "replicas": 7}],
    "squid": {"allowed_sources": ["10.0.0.0/8"]},
}
TEXT = yaml.safe_dump(DOCUMENT)


def fleet(**options: t.Any) -> dict[str, t.Any]:
    return {FLEET: options, "check_mode": True}


def desired(result: dict[str, t.Any]) -> int:
    assert not result["failed"], result["msg"]
    return result["counts"]["desired"]


def test_where_it_is_looked_for(player, tmp_path) -> None:
    (player.home / "beside.yml").write_text(TEXT)
    (player.home / "files").mkdir()
    (player.home / "files" / "among_files.json").write_text(TEXT)
    (tmp_path / "elsewhere.yml").write_text(TEXT)
    role = player.home / "roles" / "fleet"
    for folder in ("files", "tasks"):
        (role / folder).mkdir(parents=True)
    (role / "files" / "of_the_role.yml").write_text(TEXT)
    (role / "tasks" / "main.yml").write_text(
        yaml.safe_dump([{**fleet(desired_file="of_the_role.yml"), "register": "of_the_role"}])
    )
    results = player.play(
        [
            fleet(desired_file="beside.yml"),
            fleet(desired_file="among_files.json"),
            fleet(desired_file=str(tmp_path / "elsewhere.yml")),
            fleet(desired_file="{{ playbook_dir }}/beside.yml"),
            {"ansible.builtin.include_role": {"name": "fleet"}},
            {"ansible.builtin.debug": {"var": "of_the_role"}},
        ]
    ).results
    assert [desired(result) for result in results[:4]] == [7, 7, 7, 7]
    assert desired(results[5]["of_the_role"]) == 7


def encrypt(player, text: str, *arguments: str) -> str:
    (player.home / "password").write_text("correct horse")
    return subprocess.run(
        [sys.executable, "-m", "ansible", "vault", *arguments, "--vault-password-file", str(player.home / "password")],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env=player.environ(),
    ).stdout


def test_vault(player) -> None:
    (player.home / "whole.yml").write_text(encrypt(player, TEXT, "encrypt", "--output", "-"))
    tagged = encrypt(player, "demo", "encrypt_string", "--stdin-name", "install")
    (player.home / "value.yml").write_text(TEXT.replace("install: demo\n", tagged))
    names = ("whole.yml", "value.yml")
    tasks = [fleet(desired_file=name) for name in names]
    for result in player.play(tasks, "--vault-password-file", "password").results:
        assert desired(result) == 7
    for name, result in zip(names, player.play(tasks).results):
        assert result["msg"].startswith(f"desired_file '{name}': ")
        assert "decrypt" in result["msg"]


BAD_FILES = [
    (None, "there is no such file"),
    ("", "it is empty"),
    ("# nothing\n---\n", "it is empty"),
    ("- one\n- two\n", "it holds a list, a mapping is needed"),
    ("just words", "it holds a string, a mapping is needed"),
    ("install: demo\nsquid:\n  users: [{password_hash: SENTINEL\n", "(line 4, column 1)"),
    ("install: demo\npassword_hash: SENTINEL: x\n", "(line 2, column 24)"),
    ("install: !secret SENTINEL\n", "could not determine a constructor"),
    (b"install: caf\xe9\n", "utf-8"),
    ("install: demo\nsquid: {}\nsquid: {users: SENTINEL}\n", "the key 'squid' is given twice (line 3, column 1)"),
    ("install: demo\npools: [{name: SENTINEL, name: eu}]\n", "the key 'name' is given twice (line 2, column 26)"),
    ('{"install": "demo",\n\t"squid": 1, "squid": "SENTINEL"}', "the key 'squid' is given twice"),
]


@pytest.mark.parametrize("module", [FLEET, GC])
def test_a_bad_file_is_named_and_not_quoted(player, module) -> None:
    names = [f"bad-{index}.yml" for index in range(len(BAD_FILES))]
    for name, (text, _problem) in zip(names, BAD_FILES):
        if text is not None:
            (player.home / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    played = player.play([{module: {"desired_file": name}} for name in names], "-vvvvv")
    for name, (text, problem), result in zip(names, BAD_FILES, played.results):
        assert result["failed"], text
        assert result["error"]["reason"] == "InvalidArgument", text
        assert result["msg"].startswith(f"desired_file '{name}': "), text
        assert problem.lower() in result["msg"].lower(), text
    assert "SENTINEL" not in played.output


def test_a_folder_is_no_file(player) -> None:
    for result in player.play([{module: {"desired_file": "."}} for module in (FLEET, GC)]).results:
        assert result["error"]["reason"] == "InvalidArgument"
        assert result["msg"].startswith("desired_file '.': ")
        assert "Is a directory" in result["msg"]


#: Takes from root what makes it read every file.
AS_ANYBODY = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


def test_a_file_that_may_not_be_read(player) -> None:
    file = player.home / "egress.yml"
    file.write_text(TEXT)
    file.chmod(0o000)
    tasks = [{module: {"desired_file": "egress.yml"}} for module in (FLEET, GC)]
    for result in player.play(tasks, below=AS_ANYBODY).results:
        assert result["error"]["reason"] == "InvalidArgument"
        assert result["msg"].startswith("desired_file 'egress.yml': ")
        assert "Permission denied" in result["msg"]
    file.chmod(0o400)
    (readable,) = player.play([fleet(desired_file="egress.yml")], below=AS_ANYBODY).results
    assert desired(readable) == 7


def test_one_of_the_two_is_needed(player) -> None:
    neither, both = player.play([fleet(), fleet(desired=DOCUMENT, desired_file="egress.yml")]).results
    assert neither["msg"] == "one of the following is required: desired, desired_file"
    assert both["msg"] == "parameters are mutually exclusive: desired|desired_file"


def test_it_is_no_template(player) -> None:
    (player.home / "egress.yml").write_text(TEXT.replace("demo", "'{{ 6 * 7 }}'"))
    (result,) = player.play([fleet(desired_file="egress.yml")]).results
    assert result["failed"]
    assert "{{ 6 * 7 }}" in result["msg"]


def test_module_defaults_stand_in_for_keys_that_the_document_lacks(player) -> None:
    short = {key: value for key, value in DOCUMENT.items() if key not in ("install", "providers")}
    (player.home / "egress.yml").write_text(yaml.safe_dump(short))
    defaults = {key: DOCUMENT[key] for key in ("install", "providers")}
    play = {"module_defaults": {"group/crawl.egress.egress": defaults}}
    tasks = [
        fleet(desired_file="egress.yml"),
        fleet(desired=short),
        fleet(desired={**DOCUMENT, "install": "BAD NAME"}),
        fleet(desired={}),
        {"crawl.egress.egress_proxy_info": {}},
    ]
    results = player.play(tasks, play=play).results
    assert [desired(result) for result in results[:2]] == [7, 7]
    assert "BAD NAME" in results[2]["msg"]
    assert results[3]["msg"] == "the desired document is empty"
    assert results[4]["instances"] == []


def test_the_file_is_not_cached(player) -> None:
    path = player.home / "egress.yml"
    path.write_text(TEXT)
    more = {"ansible.builtin.copy": {"dest": str(path), "content": TEXT.replace("7", "8")}}
    task = fleet(desired_file=Path("egress.yml").name)
    before, _copied, after = player.play(
        [task, {**more, "vars": {"ansible_python_interpreter": sys.executable}}, task]
    ).results
    assert (desired(before), desired(after)) == (7, 8)
