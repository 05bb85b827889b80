# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stranger's collection, built and installed beside ours: its provider passes the conformance kit with a test file of
ten lines, its broken twin does not, and playbooks use it by its full name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.tests.packaging.test_tarball import BIN, build, run

ACME = Path(__file__).with_name("acme")
THING = "ansible_collections/acme/cloud/plugins/plugin_utils/thing.py"
TESTS = "ansible_collections/acme/cloud/tests/unit"

#: What the twin does instead of asking whose an instance is.
VERIFIED = 'conflict = marks.conflict_with(request.marks) if marks else "it is not managed"'
BLIND = "conflict = None"

PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  module_defaults:
    group/crawl.egress.egress:
      install: packaged
      providers: &providers
        - name: toy
          type: acme.cloud.thing
          acme.cloud.thing: {file: "{{ file }}"}
    crawl.egress.egress_fleet:
      desired: &desired
        install: packaged
        providers: *providers
        squid: {allowed_sources: [127.0.0.0/8]}
        pools: [{name: eu, replicas: 3}]
  vars:
    as_module: {WHATEVER: "1"}
    unusable:
      acme.cloud.nothing: "No module named 'ansible_collections.acme.cloud.plugins.plugin_utils.nothing'"
      acme.mist.thing: "No module named 'ansible_collections.acme.mist'"
      crawl.egress.conformance: there is no such name
  tasks:
    - crawl.egress.egress_fleet:
      check_mode: true
      register: predicted
    - ansible.builtin.assert:
        that:
          - predicted.changed
          - predicted.actions | length == 3
          - file is not exists or lookup('ansible.builtin.file', file) in ('', '{}')

    - crawl.egress.egress_fleet:
      register: made
    - ansible.builtin.assert:
        that:
          - made.changed
          - made.outcome == 'converged'
          - made.proxies | map(attribute='provider') | unique == ['toy']

    - crawl.egress.egress_fleet:
      register: again
    - ansible.builtin.assert:
        that:
          - not again.changed
          - again.calls | map(attribute='op') == ['list']

    - crawl.egress.egress_proxy_info:
      register: found
    - ansible.builtin.assert:
        that:
          - found.instances | map(attribute='name') | sort == ['eu-0', 'eu-1', 'eu-2']

    - crawl.egress.egress_proxy_info:
      environment: "{{ as_module }}"
      register: refused
      failed_when: not refused.failed
    - ansible.builtin.assert:
        that:
          - refused.error.reason == 'InvalidArgument'
          - "'acme.cloud.thing is another collection' in refused.msg"
          - "refused.msg is search('works in-process only .* runs as a module: the task has environment$')"

    - crawl.egress.egress_proxy_info:
        providers: [{name: toy, type: "{{ item.key }}"}]
      loop: "{{ unusable | dict2items }}"
      register: unknown
      failed_when: not unknown.failed
    - ansible.builtin.assert:
        that:
          - item.error.reason == 'InvalidArgument'
          - item.msg is search('the provider type ' ~ item.item.key ~ ' can.t be used')
          - item.item.value in item.msg
      loop: "{{ unknown.results }}"

    - crawl.egress.egress_proxy_info:
        providers: [{name: toy, type: acme.cloud.thing, acme.cloud.thing: {shelf: UPPER}}]
      register: invalid
      failed_when: not invalid.failed
    - ansible.builtin.assert:
        that:
          - "'providers[0].acme.cloud.thing.file is missing' in invalid.msg"
          - "'(letters a to z)' in invalid.msg"

    - crawl.egress.egress_fleet:
        desired: "{{ {'install': 'packaged', 'providers': providers, 'squid': squid, 'pools': pools} }}"
        allow_empty: true
        max_deletions: 100%
      vars:
        providers: *providers
        squid: {allowed_sources: [127.0.0.0/8]}
        pools: [{name: eu, replicas: 0}]
      register: emptied
    - ansible.builtin.assert:
        that:
          - emptied.actions | length == 3
          - lookup('ansible.builtin.file', file) == '{}'
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both collections are."""
    folder = tmp_path_factory.mktemp("both")
    ours = build(tmp_path_factory.mktemp("ours"))
    run(BIN / "ansible-galaxy", "collection", "build", "--output-path", folder, cwd=ACME)
    (stranger,) = folder.glob("acme-cloud-*.tar.gz")
    install = (BIN / "ansible-galaxy", "collection", "install", "--offline", "-p", folder, ours, stranger)
    run(*install, cwd=folder, path=folder)
    return folder


def failures(installed: Path, home: Path, *arguments: str) -> tuple[dict[str, str], str]:
    """Run the stranger's tests as a stranger would, with nothing of ours but what is installed.

    Returns the ids of the cases that failed, each with what was said, and the last line.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--tb=line", *arguments, TESTS],
        cwd=installed,
        env={**os.environ, "PYTHONPATH": str(installed), "HOME": str(home), "COLUMNS": "1000", "PYTEST_ADDOPTS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    failed = re.findall(r"^FAILED \S+\[(\S+)\] - AssertionError: (.*)$", done.stdout, re.M)
    assert done.returncode == (1 if failed else 0), done.stdout
    return dict(failed), done.stdout.strip().splitlines()[-1]


def test_ten_lines_are_enough(installed: Path) -> None:
    lines = (installed / TESTS / "test_thing.py").read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= 10


def test_the_strangers_provider_conforms(installed: Path, tmp_path: Path) -> None:
    failed, summary = failures(installed, tmp_path)
    assert failed == {}
    assert re.fullmatch(r"\d+ passed in .*", summary)


def test_its_broken_twin_does_not(installed: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(installed / "ansible_collections", twin / "ansible_collections")
    source = (twin / THING).read_text()
    assert VERIFIED in source
    (twin / THING).write_text(source.replace(VERIFIED, BLIND))
    failed, _summary = failures(twin, tmp_path, "-k", "adopt or create or unmarked")
    wrong = {f"adoption-of-another-{key}" for key in ("install", "pool", "slot", "uid")}
    assert failed.keys() == {*wrong, "unmarked-instance-with-our-name"}
    assert failed["adoption-of-another-uid"].startswith("Create of its name for uid 'another-uid': it returns Created")


def test_playbooks_use_it_by_its_full_name(installed: Path, tmp_path: Path) -> None:
    playbook = tmp_path / "play.yml"
    playbook.write_text(PLAYBOOK)
    file = tmp_path / "things.json"
    run(BIN / "ansible-playbook", playbook, "-e", f"file={file}", cwd=tmp_path, path=installed)
    assert file.read_text() == "{}"
