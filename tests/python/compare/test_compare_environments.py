"""`toll compare --env` for contenders of this checkout; what stands for their programs is built already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tollbench.catalog.environments import compilers, named
from tollbench.cli import comparing_contenders, comparing_environments
from tollbench.cli.builds import BuiltPlan
from tollbench.cli.comparing_sides import ComparisonRequest, subject_for
from tollbench.compare import MeasuringOptions, Subject
from tollbench.errors import TollError
from tollbench.launching.interrupt import Interrupt
from tollbench.plan import Plan
from tollbench.words import Program

FAKE = str(Path(__file__).with_name("fake_toll_program.py"))


@pytest.fixture(autouse=True)
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def built(plan: Plan, _layouts: int = 1) -> BuiltPlan:
        programs = {
            (case.contender, case.environment): Program(
                case.workload, case.contender, case.environment, (FAKE, "reads=answer")
            )
            for case in plan.cases
        }
        return BuiltPlan(tuple(programs.values()), tuple(plan.environments), tmp_path)

    for module in (comparing_contenders, comparing_environments):
        monkeypatch.setattr(module, "build_plan", built)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def subject(
    stack: ExitStack, *sides: str, env: str = "", kind: str = "auto", folder: Path | None = None
) -> Subject:
    """Of what `toll compare` was asked for."""
    request = ComparisonRequest(
        sides=sides, kind=kind, budget_s=5.0, total_s=5.0, threshold=0.01, level=0.95, pattern="",
        confirm=False, build="", program="", layouts=0, environments=tuple(env.split(",")) if env else (),
        folder=folder, any_exit_code=False, seed=1, raw=None, measure_all=True,
    )  # fmt: skip
    return subject_for(request, 1, stack.enter_context(Interrupt()), stack)[0]


def test_contenders_run_in_the_folder_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "answer").write_text("1")
    subject = comparing_environments.subject_in_environments(
        ["reference/operations/sum_4096"],
        ["host", "host-O3"],
        kind="auto",
        folder=tmp_path,
        options=MeasuringOptions(20.0),
    )
    assert subject.labels == ("host", "host-O3")
    found = subject.round(subject.survey().common, 1)
    assert found.failures == {}
    assert found.values


def test_all_compilers_are_as_many_environments_as_there_are(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ["gcc-12", "clang-19"]
    monkeypatch.setattr(compilers, "working", lambda: tuple(map(named, here)))
    one, both = "latency/lock/std_mutex", ("latency/lock/std_mutex", "latency/lock/spinlock")
    assert subject(stack, one, env="compilers").labels == ("gcc-12", "clang-19")
    here.pop()
    assert subject(stack, *both, env="compilers").labels == ("std_mutex", "spinlock")
    here.pop()
    with pytest.raises(TollError, match="no compiler works here"):
        subject(stack, *both, env="compilers")


def test_contenders_are_compared_in_one_environment(tmp_path: Path) -> None:
    both = ("latency/lock/std_mutex", "latency/lock/spinlock")
    options = MeasuringOptions(20.0)
    with pytest.raises(TollError, match="in one environment, not in host and host-O3"):
        comparing_contenders.subject_of_contenders(
            both, (), ("host", "host-O3"), folder=tmp_path, layouts=0, options=options
        )


@pytest.mark.parametrize("where", ["here", "folder"])
def test_a_file_is_a_file_whether_it_lies_here_or_where_sides_run(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    for name in ("here/a/b", "folder/a/b"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("old", "new"):
        (tmp_path / where / "a/b" / name).write_text("#!/bin/sh\n")
        (tmp_path / where / "a/b" / name).chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    folder = tmp_path / "folder"
    found = subject(stack, "a/b/old", "a/b/new", kind="command", folder=folder)
    assert found.labels == ("a/b/old", "a/b/new")
    assert found.round(found.survey().common, 1).failures == {}
