"""`toll compare --env` for contenders of this checkout; what stands for their programs is built already."""

from __future__ import annotations

from pathlib import Path

import pytest

from tollbench.cli import comparing_environments
from tollbench.cli.builds import BuiltPlan
from tollbench.compare import MeasuringOptions
from tollbench.plan import Plan
from tollbench.words import Program

FAKE = str(Path(__file__).with_name("fake_toll_program.py"))


def test_contenders_run_in_the_folder_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(plan: Plan) -> BuiltPlan:
        programs = tuple(
            Program(case.workload, case.contender, case.environment, (FAKE, "reads=answer"))
            for case in plan.cases
        )
        return BuiltPlan(programs, tuple(plan.environments), tmp_path)

    monkeypatch.setattr(comparing_environments, "build_plan", built)
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
