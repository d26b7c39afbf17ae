"""What Erlang programs read about themselves: the sources are compiled with one program of the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median

import pytest
from talking import LIMIT_S, ROOT, Conversation

from tollbench.building.recipes import RECIPES, Job
from tollbench.catalog.packages import table
from tollbench.words import HOST, Program, Status

READINGS = """
-module(readings).
-export([main/0]).

main() -> toll:main([offered(<<"nothing">>, fun() -> 0 end),
                     offered(<<"one_reading">>, fun() -> toll_resources:now(), 0 end)]).

offered(Name, Run) ->
    State = #{run => Run, expected => 0, units => 1, footing => #{}},
    #{workload => <<"tasks/skynet">>, name => Name, library => <<"none">>, unit => <<"ns">>,
      per => <<"task">>, parameters => [], set_up => fun(_) -> State end}.
"""


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Job:
    recipe, found = RECIPES["Erlang"], table()["erlang"].found()
    if found is None:
        pytest.skip("erlang not found")
    folder = tmp_path_factory.mktemp("readings")
    (folder / "readings.erl").write_text(READINGS)
    job = Job(recipe.tool(Path(found)), ROOT, folder / "readings.erl", folder, folder / "readings")
    for step in recipe.steps(job):
        subprocess.run(step.command, cwd=step.cwd, check=True, timeout=LIMIT_S)
    recipe.finish(job)
    return job


def used(job: Job, contender: str) -> list[dict[str, float]]:
    """By batches of one iteration."""
    program = Program("tasks/skynet", contender, HOST.name, (str(job.program),), Status.OK, "")
    with Conversation(program) as talk:
        talk.hear("ready")
        answers = []
        for _ in range(15):
            talk.say({"type": "batch", "iterations": 1})
            answers.append(talk.hear("batch"))
        return answers


@pytest.mark.parametrize("name", ["cpu_ns", "voluntary_switches"])
def test_what_reading_costs_is_no_part_of_a_batch(readings: Job, name: str) -> None:
    """An empty batch had all that one reading of /proc takes, and one that reads once twice that."""
    nothing, one_reading = (
        median(answer[name] for answer in used(readings, contender))
        for contender in ("nothing", "one_reading")
    )
    assert nothing < one_reading / 4


def test_the_limits_of_all_control_groups_around_count(readings: Job, tmp_path: Path) -> None:
    (tmp_path / "slice/job").mkdir(parents=True)

    def limits(group: str) -> str:
        ask = f'io:format("~w", [toll_resources:cgroup_limits(<<"{tmp_path}">>, <<"{group}">>)]), halt().'
        emulator = readings.tool.path.with_name("erl")
        return subprocess.run(
            [emulator, "-noshell", "-pa", readings.out, "-eval", ask],
            capture_output=True, text=True, check=True, timeout=LIMIT_S,
        ).stdout  # fmt: skip

    assert limits("/slice/job") == "[]"
    (tmp_path / "slice/memory.max").write_text("1000000\n")
    (tmp_path / "slice/job/memory.max").write_text("max\n")
    assert limits("/slice/job") == "[1000000]"
    assert limits("") == "[]"
    (tmp_path / "slice/job/memory.max").write_text("500\n")
    (tmp_path / "memory.max").write_text("300\n")
    assert limits("/slice/job") == "[500,1000000,300]"
    assert limits("") == "[300]"
