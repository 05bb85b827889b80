# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of the door that need no playbook."""

from __future__ import annotations

import datetime
import gc

import pytest
from ansible.template import trust_as_template

from ansible_collections.crawl.egress.plugins.module_utils._errors import ArgumentError
from ansible_collections.crawl.egress.plugins.plugin_utils._door import (
    _undisturbed,
    foreign_types,
    load_type,
    plain,
    run_program,
)


def test_options_become_what_json_makes_of_them() -> None:
    tagged = trust_as_template("{{ text }}")
    given = {"a": tagged, "b": [(1, 2.5), {3: None}], "c": None, "d": datetime.date(2026, 11, 29)}
    made = plain(given)
    assert made == {"a": "{{ text }}", "b": [[1, 2.5], {"3": None}], "d": "2026-11-29"}
    assert not isinstance(made["a"], type(tagged))


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_an_option_without_a_form_in_json_is_refused_by_its_type(value) -> None:
    with pytest.raises(ArgumentError, match=type(value).__name__):
        plain({"option": [value]})


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, []),
        ({"providers": None}, []),
        ({"providers": [{"type": "local"}, {"type": "acme.cloud.thing"}, {"type": 1}, {}]}, ["acme.cloud.thing"]),
        ({"desired": {"providers": [{"type": "acme.cloud.thing"}]}}, ["acme.cloud.thing"]),
        ({"desired": {"providers": "acme.cloud.thing"}}, []),
        ({"desired": {}}, []),
        ({"providers": [{"type": "acme.cloud.thing\n"}, {"type": "../acme.x.y"}, {"type": "a.b.c.d"}]}, []),
    ],
)
def test_types_of_other_collections_are_those_with_a_full_name(params, names) -> None:
    assert foreign_types(params) == names


def test_a_type_that_does_not_exist_is_refused_by_its_name() -> None:
    with pytest.raises(ArgumentError, match=r"no_such_namespace\.collection\.thing"):
        load_type("no_such_namespace.collection.thing")
    with pytest.raises(ArgumentError, match=r"crawl\.egress\._door"):  # it is there, but it is no type
        load_type("crawl.egress._door")


def test_a_program_gets_nothing_but_what_it_is_given() -> None:
    assert run_program(["cat"]) == (0, "", "")
    assert run_program(["cat"], stdin="ä\n") == (0, "ä\n", "")
    assert run_program(["sh", "-c", "printf '\\303' >&2; exit 7"]) == (7, "", "\ufffd")
    with pytest.raises(FileNotFoundError):
        run_program(["no-such-program"])


def test_what_was_there_is_out_of_the_garbage_collectors_way_for_as_long_as_a_run_takes() -> None:
    with _undisturbed():
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0
