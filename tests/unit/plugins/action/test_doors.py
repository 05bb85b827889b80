# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Both doors, with a run that says what it was given. Each module's own tests do this again with the real run."""

from __future__ import annotations

import os
import signal
import sys
import typing as t
from pathlib import Path

import pytest

PROBE = "egress_tests.doors.probe"

#: A task that goes through the module's door.
AS_MODULE = {"environment": {"EGRESS_TEST": "yes"}}


def probe(options: t.Mapping[str, t.Any] | None = None, **task: t.Any) -> dict[str, t.Any]:
    return {PROBE: dict(options or {}), **task}


def test_which_door_is_taken(player) -> None:
    other = player.home / "other-python"
    other.symlink_to(os.path.realpath(sys.executable))  # the same program, perhaps another virtual environment
    here, module = ("in-process", sys.executable), ("module", sys.executable)
    # There Ansible looks for an interpreter by itself; not among the shims that may be on PATH.
    elsewhere = {
        "ansible_connection": "egress_tests.doors.elsewhere",
        "ansible_interpreter_python_fallback": [sys.executable],
    }
    expected = [
        (probe(), here),
        (probe(vars={"ansible_python_interpreter": "auto"}), here),
        (probe(vars={"ansible_python_interpreter": "auto_silent"}), here),
        (probe(vars={"ansible_python_interpreter": ""}), here),
        (probe(vars={"ansible_python_interpreter": sys.executable}), here),
        (probe(vars={"ansible_python_interpreter": "{{ ansible_playbook_python }}"}), here),
        (probe(delegate_to="another", vars={"ansible_connection": "local"}), here),
        (probe(environment={}), here),
        (probe(environment={"EGRESS_TEST": "yes"}), module),
        (probe(environment=[{"EGRESS_TEST": "{{ 'yes' }}"}]), module),
        (probe(become=True, become_method="egress_tests.doors.same"), module),
        (probe(**{"async": 60, "poll": 1}), module),
        (probe(delegate_to="another", **{"async": 60, "poll": 1}), module),
        (probe(vars={"ansible_python_interpreter": str(other)}), ("module", str(other))),
        (probe(vars={"ansible_connection": "egress_tests.doors.elsewhere"}), None),
        (
            probe(
                vars={"ansible_connection": "egress_tests.doors.elsewhere", "ansible_python_interpreter": str(other)}
            ),
            ("module", str(other)),
        ),
        (probe(delegate_to="another", vars=elsewhere), None),
    ]
    # Where Ansible looks for an interpreter by itself: not among the shims that may be on PATH.
    played = player.play(
        [task for task, _door in expected], play={"vars": {"ansible_interpreter_python_fallback": [sys.executable]}}
    )
    seen = [(result["door"], result["python"]) for result in played.results]
    for (task, wanted), found in zip(expected, seen):
        if wanted is None:  # Ansible looks for an interpreter; it is its own business which one it finds
            assert found[0] == "module", task
        else:
            assert found == wanted, task
    assert len(seen) == len(expected)


def test_a_worker_runs_undisturbed_by_what_it_has_inherited(player) -> None:
    here, module = player.play([probe({"do": "count_frozen"}), probe({"do": "count_frozen"}, **AS_MODULE)]).results
    assert here["frozen"] > 10_000
    assert module["frozen"] == 0


def test_the_door_is_told(player) -> None:
    output = player.play([probe(), probe(**AS_MODULE)], "-vv").output
    assert f"<localhost> {PROBE} runs in-process (the connection is local and" in output
    assert f"<localhost> {PROBE} runs as a module (the task has environment)" in output
    assert " runs in-process" not in player.play([probe()], "-v").output


OPTIONS = {
    "anything": {
        "template": "{{ 6 * 7 }}",
        "text": "äöü \u2028 {{ '{{' }} no template }}",
        "list": [1, 2.5, True, None, [], {}],
        3: "a key that is no text",
    },
    "number": "7",
    "numbers": "1,2",
}


TASKS = [
    probe(OPTIONS),
    probe(OPTIONS, check_mode=True, diff=True),
    probe({"number": None, "secret": None, "when": None}),
    probe({"do": "fail"}),
    probe({"do": "return_failure"}),
    probe({"do": "miss_sdk"}),
    probe({"do": "warn"}),
    probe({"do": "no_text"}),
    probe({"number": "three", "bogus": 1, "anything": {}, "secret": "hidden"}),
    probe({"do": "what"}),
    probe({"anything": ["no", "mapping"]}),
    probe({"do": "start", "argv": ["sh", "-c", "cat; echo oops >&2; exit 3"], "stdin": "a\nb"}),
    probe({"do": "start", "argv": ["sh", "-c", "echo $0 '~' \"$HOME\"; printf '\\303'", "$HOME"]}),
]


def test_both_doors_give_the_same_result(player) -> None:
    results = player.play([*TASKS, *({**task, **AS_MODULE} for task in TASKS)]).results
    for task, here, module in zip(TASKS, results, results[len(TASKS) :]):
        for result, door in ((here, "in-process"), (module, "module")):
            assert result.pop("door", door) == door
        assert here == module, task
    assert len(results) == 2 * len(TASKS)


def test_a_daemon_that_keeps_the_output_open_is_not_waited_for(player, tmp_path) -> None:
    pids = tmp_path / "pids"
    task = probe({"do": "start", "argv": ["sh", "-c", f"sleep 100 & echo $! >> {pids}; echo begun"]})
    try:
        here, module = player.play([task, {**task, **AS_MODULE}]).results
        assert here["answer"] == module["answer"] == [0, "begun\n", ""]
        assert all(_lives(int(pid)) for pid in pids.read_text().split())
    finally:
        for pid in pids.read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def test_a_date_is_its_iso_form(player) -> None:
    # Written by hand, since PyYAML would put it in quotes.
    player.home.joinpath("tasks.yml").write_text(
        f"- {PROBE}: {{when: 2026-11-29, anything: {{at: 2026-11-29T10:00:00Z}}}}\n"
        "  register: inner\n"
        f"- {PROBE}: {{when: 2026-11-29, anything: {{at: 2026-11-29T10:00:00Z}}}}\n"
        "  environment: {EGRESS_TEST: yes}\n"
        "  register: inner_module\n"
    )
    played = player.play(
        [
            {"ansible.builtin.include_tasks": "tasks.yml"},
            {"ansible.builtin.debug": {"msg": "{{ [inner.params, inner_module.params] }}"}},
        ]
    )
    here, module = played.results[1]["msg"]
    assert here == module
    assert (here["when"], here["anything"]["at"]) == ("2026-11-29", "2026-11-29T10:00:00+00:00")


def test_a_failed_run_tells_what_it_had_found_out(player) -> None:
    (result,) = player.play([probe({"do": "fail"})]).results
    assert result["failed"]
    assert result["changed"]
    assert result["outcome"] == "needs_attention"
    assert result["msg"].startswith("something is wrong with eu-1 (")
    assert result["error"]["reason"] == "NeedsAttention"
    assert result["error"]["names"] == ["eu-1"]


def test_a_missing_package_is_named_with_its_interpreter(player) -> None:
    (result,) = player.play([probe({"do": "miss_sdk"})]).results
    assert "google-cloud-compute" in result["msg"]
    assert sys.executable in result["msg"]


def test_all_bad_options_are_told_at_once(player) -> None:
    (result,) = player.play([probe({"number": "three", "bogus": 1})]).results
    assert len(result["error"]["problems"]) == 2
    assert f"Unsupported parameters for ({PROBE}) module: bogus. Supported parameters include: " in result["msg"]
    assert "argument 'number' is of type str" in result["msg"]


@pytest.mark.parametrize("how", [{}, AS_MODULE], ids=["in-process", "module"])
def test_a_bug_fails_the_task_with_its_traceback(player, how) -> None:
    played = player.play([probe({"do": "break"}, **how)], environ={"ANSIBLE_DISPLAY_TRACEBACK": "error"})
    assert played.results[0]["failed"]
    assert "a bug" in played.results[0]["msg"]
    assert "in _break" in played.output
    assert "ZeroDivisionError" in played.output


def test_warnings_belong_to_the_task(player) -> None:
    (result,) = player.play([probe({"do": "warn"})]).results
    assert result["warnings"] == ["first from a thread", "then from the run"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ([], {"progress: [localhost] 1/2 running"}),
        (["-v"], {"progress: [localhost] 1/2 running", "<localhost> an outcome"}),
        (["-vvv"], {"progress: [localhost] 1/2 running", "<localhost> an outcome", "<localhost> a summary"}),
    ],
)
def test_progress_and_logs(player, arguments, shown) -> None:
    lines = set(player.play([probe({"do": "show"})], *arguments).output.splitlines())
    every = {"progress: [localhost] 1/2 running", "<localhost> an outcome", "<localhost> a summary"}
    assert lines & every == shown


def test_progress_is_not_in_the_way_of_what_reads_the_output(player) -> None:
    without_errors = ["/bin/sh", "-c", 'exec "$@" 2>/dev/null', "sh"]
    output = player.play([probe({"do": "show"})], below=without_errors).output
    assert "PLAY RECAP" in output
    assert "1/2 running" not in output


def test_no_progress_on_request(player) -> None:
    assert "1/2 running" not in player.play([probe({"do": "show"})], environ={"EGRESS_PROGRESS": "never"}).output


def test_no_log_hides_everything(player) -> None:
    output = player.play([probe({"do": "show", "secret": "SENTINEL"}, no_log=True)], "-vvvvv").output
    assert "1/2 running" not in output
    assert "an outcome" not in output
    assert "a summary" not in output
    assert "SENTINEL" not in output


def test_progress_is_seen_while_the_task_runs(player, killed, until, tmp_path) -> None:
    """On a terminal, where it is for people."""
    running = player.start([probe({"do": "wait", "directory": str(tmp_path)})])
    killed.append(running)
    until((tmp_path / "begun").exists)
    assert running.poll() is None
    for line in running.stdout:
        if "progress: [localhost] 0/1 running" in line:
            break
    assert not (tmp_path / "ended").exists()


@pytest.mark.parametrize("how", [{}, AS_MODULE], ids=["in-process", "module"])
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_ansible_lets_the_run_end(player, killed, until, tmp_path, how, signum) -> None:
    running = player.start([probe({"do": "wait", "directory": str(tmp_path)}, **how)])
    killed.append(running)
    pid = int(until(lambda: _text(tmp_path / "begun")))
    running.send_signal(signum)
    assert until(lambda: _text(tmp_path / "ended")) == "True"
    until(lambda: not _lives(pid))
    assert running.wait(60) != 0


@pytest.mark.parametrize("how", [{}, AS_MODULE], ids=["in-process", "module"])
def test_a_timeout_of_the_task_lets_the_run_end(player, until, tmp_path, how) -> None:
    played = player.play([probe({"do": "wait", "directory": str(tmp_path)}, timeout=3, **how), probe()])
    assert "Timed out after 3 second(s)." in played.results[0]["msg"]
    assert played.results[0]["timedout"]["period"] == 3
    assert played.results[1]["door"] == "in-process"
    assert until(lambda: _text(tmp_path / "ended")) == "True"
    until(lambda: not _lives(int(_text(tmp_path / "begun"))))


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
