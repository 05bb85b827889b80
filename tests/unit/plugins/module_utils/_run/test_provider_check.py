# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A round of checks, as the module runs it, over providers that behave and providers that do not."""

from __future__ import annotations

import dataclasses
import logging
import sys
import threading
import typing as t

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._errors import ArgumentError
from ansible_collections.crawl.egress.plugins.module_utils._host import Host
from ansible_collections.crawl.egress.plugins.module_utils._run import provider_check
from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Context,
    MissingSDK,
    ProviderError,
    ProviderType,
    Reason,
    TargetStatus,
)
from ansible_collections.crawl.egress.tests.unit.plugins.fakes.backend import FakeProvider

Answer = t.Callable[[Context], t.Any]


@dataclasses.dataclass
class Checked:
    """A provider of which only the check is used."""

    name: str
    answer: Answer
    profile: t.Any = FakeProvider.profile

    def check(self, ctx: Context) -> list[TargetStatus]:
        return self.answer(ctx)


@dataclasses.dataclass
class Unchecked:
    name: str
    profile: t.Any = FakeProvider.profile


def reachable(*targets: str) -> Answer:
    return lambda ctx: [TargetStatus(target, True, "Reachable") for target in targets]


def checked(providers: t.Mapping[str, Answer | None], cancel: threading.Event | None = None, **options: t.Any) -> t.Any:
    """The result of a round. :param providers: how each answers; None for one that is no Checker."""

    def build(name: str, config: t.Any, host: t.Any) -> t.Any:
        answer = providers[name]
        if answer is missing:
            raise MissingSDK("acme-cloud", name, "No module named 'acme_cloud'")
        return Unchecked(name) if answer is None else Checked(name, answer)

    host = Host(
        runner=lambda argv, stdin="": (127, "", ""),
        python=sys.executable,
        cancel=cancel or threading.Event(),
        types={"fake": ProviderType({"type": "object"}, False, build)},
    )
    params = {
        "install": "demo",
        "providers": [{"name": name, "type": "fake", "fake": {}} for name in providers],
        "mark_prefix": "proxy-operator",
        "names": None,
        "timeout": 30,
        **options,
    }
    provider_check.check(params, host.types)
    return provider_check.run(params, host)


def missing(ctx: Context) -> t.NoReturn:
    """Its SDK is missing."""
    raise AssertionError


def verdicts(result: t.Any) -> list[tuple[str, str, str | None]]:
    return [(row["provider"], row["status"], row["reason"]) for row in result["checks"]]


def test_a_round(caplog: pytest.LogCaptureFixture) -> None:
    down = TargetStatus("zones/b", False, "Acme", "no power", {"version": "1"})
    with caplog.at_level(logging.INFO, "crawl.egress"):
        result = checked({"one": lambda ctx: [*reachable("zones/a")(ctx), down], "two": reachable("x"), "old": None})
    assert [row.pop("seconds") >= 0 for row in result["calls"]] == [True, True]
    assert result == {
        "changed": False,
        "healthy": False,
        "checks": [
            {
                "provider": "one",
                "type": "fake",
                "status": "failed",
                "reason": None,
                "message": None,
                "targets": [
                    {"target": "zones/a", "ready": True, "reason": "Reachable", "message": "", "details": {}},
                    {
                        "target": "zones/b",
                        "ready": False,
                        "reason": "Acme",
                        "message": "no power",
                        "details": {"version": "1"},
                    },
                ],
            },
            {
                "provider": "two",
                "type": "fake",
                "status": "ready",
                "reason": None,
                "message": None,
                "targets": [{"target": "x", "ready": True, "reason": "Reachable", "message": "", "details": {}}],
            },
            {
                "provider": "old",
                "type": "fake",
                "status": "unsupported",
                "reason": None,
                "message": None,
                "targets": [],
            },
        ],
        "calls": [
            {"provider": "one", "op": "check", "class": "ok", "calls": 1},
            {"provider": "two", "op": "check", "class": "ok", "calls": 1},
        ],
    }
    assert "one check : ok in" in caplog.text


def test_unsupported_is_not_failed() -> None:
    assert checked({"old": None, "new": reachable("x")})["healthy"] is True


def test_all_are_asked_at_once_and_reported_in_the_order_of_the_document() -> None:
    """Each waits for the one after it: in turn, none would ever answer."""
    names = [f"p{n}" for n in (7, 3, 9, 1, 5)]
    begun = {name: threading.Event() for name in names}

    def answer(name: str, follower: str | None) -> Answer:
        def check(ctx: Context) -> list[TargetStatus]:
            if follower is not None:
                assert begun[follower].wait(60)
            begun[name].set()
            return reachable(name)(ctx)

        return check

    result = checked({name: answer(name, follower) for name, follower in zip(names, [*names[1:], None])})
    assert verdicts(result) == [(name, "ready", None) for name in names]


def test_the_late_are_reported_as_late_and_the_others_as_they_are() -> None:
    asleep = threading.Event()
    try:
        result = checked(
            {
                "hung": lambda ctx: asleep.wait(600) and [],
                "polite": lambda ctx: ctx.sleep(600) or [TargetStatus("x", False, "Timeout", "no answer")],
                "fine": reachable("x"),
                "old": None,
            },
            timeout=1,
        )
    finally:
        asleep.set()
    assert verdicts(result) == [
        ("hung", "failed", "Timeout"),
        ("polite", "failed", None),
        ("fine", "ready", None),
        ("old", "unsupported", None),
    ]
    assert result["checks"][0]["message"] == "the run was out of time before this was finished"
    assert result["checks"][1]["targets"][0]["reason"] == "Timeout"


def test_a_cancelled_round_ends() -> None:
    cancel = threading.Event()
    result = checked({"hung": lambda ctx: cancel.set() or threading.Event().wait(600)}, cancel)
    assert verdicts(result) == [("hung", "failed", "Cancelled")]


def fails(error: Exception) -> Answer:
    def check(ctx: Context) -> t.NoReturn:
        raise error

    return check


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (missing, "MissingSDK", "provider bad: the Python package acme-cloud cannot be imported ("),
        (fails(ProviderError(Reason.FORBIDDEN, "no", op="check", provider="bad")), "Forbidden", "no"),
        (fails(ZeroDivisionError("s3cret")), "Bug", "unexpected ZeroDivisionError in test_provider_check.py:"),
        (lambda ctx: None, "Bug", "unexpected TypeError in "),
        (lambda ctx: ["x"], "Bug", "unexpected TypeError in "),
    ],
)
def test_what_is_wrong_with_one_costs_only_its_own(answer: Answer, reason: str, message: str) -> None:
    result = checked({"bad": answer, "good": reachable("x")})
    assert verdicts(result) == [("bad", "failed", reason), ("good", "ready", None)]
    assert result["checks"][0]["message"].startswith(message)
    assert result["healthy"] is False
    assert "s3cret" not in str(result)


def test_no_target_is_no_good_news() -> None:
    (check,) = checked({"mute": lambda ctx: []})["checks"]
    assert check["status"] == "failed"
    assert [(target["target"], target["reason"]) for target in check["targets"]] == [("mute", "APIError")]


def test_names() -> None:
    providers = {name: reachable(name) for name in ("a", "b", "c")}
    assert verdicts(checked(providers, names=["c", "a"])) == [("a", "ready", None), ("c", "ready", None)]
    nothing = checked(providers, names=[])
    assert (nothing["healthy"], nothing["checks"]) == (True, [])


def test_bad_options() -> None:
    with pytest.raises(ArgumentError) as refused:
        checked({"a": None, "b": None}, names=["a", "B"], timeout=0)
    assert refused.value.problems == (
        "timeout: 0 is not allowed (1 to 3600)",
        "names: there is no provider 'B' (allowed: a, b)",
    )
