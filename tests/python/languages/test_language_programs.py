"""Every program of another language than C++ speaks protocol 1, and its sums are right.

A toolchain that is not on this machine costs its tests: they are skipped, and named in a warning.
"""

from __future__ import annotations

import json
import re
import subprocess
import warnings
from typing import Any

import pytest
from talking import LIMIT_S, ROOT, Conversation, all_built, built, check, contenders

from suite_facts import differences
from tollbench.words import Contender, Program, Status

NAMES = [contender.name for contender in contenders()]


@pytest.fixture(params=NAMES)
def contender(request: pytest.FixtureRequest) -> Contender:
    return next(found for found in contenders() if found.name == request.param)


@pytest.fixture
def program(contender: Contender) -> Program:
    found = built()[contender.name]
    if found.status is Status.SKIPPED:
        pytest.skip(found.reason)
    assert found.status is Status.OK, found.reason
    return found


def threads_of(contender: Contender) -> str:
    return f"threads={contender.parameters.get('threads', 2)}"


def test_toolchains_that_are_not_here_are_named() -> None:
    assert NAMES
    absent = {p.reason for p in built().values() if p.status is Status.SKIPPED}
    for reason in absent:
        assert "next: " in reason
        warnings.warn(f"not tested: {reason}", stacklevel=1)


def test_requests_that_come_together_are_answered_in_turn(program: Program, contender: Contender) -> None:
    with Conversation(program, "tasks=10", threads_of(contender)) as talk:
        talk.hear("ready")
        talk.say({"type": "batch", "iterations": 3, "layout": 5})
        talk.say({"type": "batch", "iterations": 2})
        assert [talk.hear("batch")["iterations"] for _ in range(2)] == [3, 2]
        talk.say({"type": "stop"})
        talk.hear("stopped")


def test_the_description_is_what_the_suite_says(program: Program, contender: Contender) -> None:
    done = subprocess.run(
        [*program.command, "describe"], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    told = check(json.loads(done.stdout), "description")
    assert told["language"] == contender.language
    offered = {item["contender"]: item for item in told["contenders"]}[contender.name]
    assert offered["library_version"]
    assert program.library_version


@pytest.mark.proof  # builds every program there is in another language
@pytest.mark.slow
def test_every_workloads_facts_are_those_of_its_suite() -> None:
    programs = [program for program in all_built().values() if program.status is not Status.SKIPPED]
    for program in programs:
        assert program.status is Status.OK, program.reason
        done = subprocess.run(
            [*program.command, "describe"], capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
        offered = {item["contender"]: item for item in json.loads(done.stdout)["contenders"]}
        assert differences(ROOT / "suites", offered[program.contender]) == []


@pytest.mark.proof  # Maven fetches for the first build
@pytest.mark.slow
def test_kotlin_tells_the_version_of_its_coroutines_and_not_of_the_kit() -> None:
    program = all_built()["frameworks/cachecalc", "kotlin_coroutines"]
    if program.status is Status.SKIPPED:
        pytest.skip(program.reason)
    done = subprocess.run(
        [*program.command, "describe"], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    (offered,) = json.loads(done.stdout)["contenders"]
    assert f"{offered['library_version']} on " in program.library_version


@pytest.mark.parametrize("tasks", [10, 1000, 100_000])
def test_sums_are_right_and_batches_plausible(program: Program, contender: Contender, tasks: int) -> None:
    with Conversation(program, f"tasks={tasks}", threads_of(contender)) as talk:
        ready = talk.hear("ready")
        assert ready["footing"]["threads"] >= 1
        assert ready["footing"]["units_created"] - (tasks * 10 - 10) // 9 in (0, 1)  # the root or not
        more: dict[str, Any] = {"layout": 2**64 - 1, "unheard": [{"of": None}]}
        for count, request in ((3, {}), (2, more)):
            talk.say({"type": "batch", "iterations": count, **request})
            answer = talk.hear("batch")
            assert answer["iterations"] == count
            assert answer["units"] == count * tasks
            assert int(answer["checksum"]) == count * tasks * (tasks - 1) // 2
            assert answer["wall_ns"] > 0
            assert answer["peak_bytes"] > 100_000
            if tasks == 100_000:  # 300,000 tasks cost more than a clock tick of CPU time, and never hours
                assert 1e6 < answer["cpu_ns"] < 1e12
        talk.say({"type": "stop"})
        talk.hear("stopped")
        assert talk.end() == (0, "")


@pytest.mark.parametrize("tasks", [1, 1000])
def test_units_are_counted_where_the_runner_asks(
    program: Program, contender: Contender, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    def footing() -> dict[str, Any]:
        with Conversation(program, f"tasks={tasks}", threads_of(contender)) as talk:
            return talk.hear("ready")["footing"]

    derived = footing()
    assert "units_alive_peak" not in derived
    monkeypatch.setenv("TOLL_UNITS", "1")
    counted = footing()
    assert counted["units_created"] == derived["units_created"]
    root = counted["units_created"] - (tasks * 10 - 10) // 9
    # A node waits for its children: at least they and one chain of parents live at the same time.
    assert (12 if tasks > 1 else root) <= counted["units_alive_peak"] <= counted["units_created"]


def test_the_end_of_the_requests_ends_the_program(program: Program, contender: Contender) -> None:
    with Conversation(program, "tasks=10", threads_of(contender)) as talk:
        talk.hear("ready")
        assert talk.end() == (0, "")


WRONG_REQUESTS = [
    ("not JSON", "usage"),
    ('{"type": "batch", "iterations": 1', "usage"),
    ('{"type": "batch", "iterations": 1} x', "usage"),
    ('{"type": "batch", "iterations": 01}', "usage"),
    ('["batch", 1]', "usage"),
    ('{"iterations": 1}', "usage"),
    ('{"type": "bätch", "iterations": 1}', "usage"),
    ('{"type": "batch"}', "usage"),
    ('{"type": "batch", "iterations": 0}', "usage"),
    ('{"type": "batch", "iterations": -1}', "usage"),
    ('{"type": "batch", "iterations": 1.5}', "usage"),
    ('{"type": "batch", "iterations": "1"}', "usage"),
    ('{"type": "batch", "iterations": 9007199254740993}', "usage"),
    ('{"type": "samples", "count": 5}', "usage"),
    ('{"type": "allocations", "iterations": 1}', "unsupported"),
]


@pytest.mark.parametrize(("request_line", "kind"), WRONG_REQUESTS)
def test_a_wrong_request_is_an_error_with_a_kind(
    program: Program, contender: Contender, request_line: str, kind: str
) -> None:
    with Conversation(program, "tasks=10", threads_of(contender)) as talk:
        talk.hear("ready")
        talk.say(request_line)
        assert talk.hear("error")["kind"] == kind
        assert talk.end() == (1, "")


ODD_REQUESTS = [
    '{"type":"batch","iterations":1}',
    ' { "type" : "ba\\u0074ch" ,\t"iterations" : 1 } ',
    '{"a": [], "b": {}, "c": [1, -2.5e-3, 1E5, true, false, null, "\\"\\\\\\/\\n"], '
    '"type": "batch", "iterations": 1}',
    '{"a": "täglich \\ud83d\\ude00 😀", "b": {"type": "stop", "iterations": 7}, '
    '"type": "batch", "iterations": 1}',
]


@pytest.mark.parametrize("line", ODD_REQUESTS)
def test_any_way_to_write_a_request_is_understood(program: Program, contender: Contender, line: str) -> None:
    with Conversation(program, "tasks=10", threads_of(contender)) as talk:
        talk.hear("ready")
        talk.say(line)
        assert talk.hear("batch")["checksum"] == "45"


@pytest.mark.parametrize(
    ("parameter", "kind"),
    [
        ("tasks=12", "unsupported"),
        ("tasks=0", "unsupported"),
        ("tasks=x", "usage"),
        ("tasks=-10", "usage"),
        ("tasks", "usage"),
        ("wings=2", "usage"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_an_error(
    program: Program, contender: Contender, parameter: str, kind: str
) -> None:
    with Conversation(program, parameter, threads_of(contender)) as talk:
        assert talk.hear("error")["kind"] == kind
        assert talk.end() == (1, "")


def test_threads_that_no_program_here_ties_are_refused_with_a_reason(
    program: Program, contender: Contender
) -> None:
    with Conversation(program, "tasks=10", "pinning=none", threads_of(contender)) as talk:
        assert talk.hear("ready")["footing"].get("pinning", "none") == "none"
        talk.say({"type": "batch", "iterations": 1})
        talk.hear("batch")
    with Conversation(program, "tasks=10", "pinning=each_cpu", threads_of(contender)) as talk:
        answer = talk.hear("error")
        assert answer["kind"] == "unsupported"
        assert re.fullmatch(r"pinning=each_cpu: \w.{20,}; ask for pinning=none", answer["message"])
        assert talk.end() == (1, "")


def test_an_unknown_contender_and_impossible_threads_are_errors(program: Program) -> None:
    with Conversation(program, contender="unheard") as talk:
        assert talk.hear("error")["kind"] == "usage"
        assert talk.end() == (1, "")
    with Conversation(program, "threads=1000000") as talk:
        assert talk.hear("error")["kind"] in ("usage", "unsupported")
        assert talk.end() == (1, "")


def test_by_hand_it_prints_a_table(program: Program, contender: Contender) -> None:
    words = [contender.name, "tasks=1000", threads_of(contender)]
    done = subprocess.run(
        [*program.command, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert contender.name in done.stdout
    assert "ns/task" in done.stdout
    wrong = subprocess.run(
        [*program.command, "unheard"], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert wrong.returncode == 2
    assert "unheard" in wrong.stderr
