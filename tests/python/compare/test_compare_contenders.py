"""`toll compare` of contenders of the catalogue; what stands for their programs is built already."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tollbench.catalog import machine
from tollbench.cli import comparing_contenders
from tollbench.cli.builds import BuiltPlan
from tollbench.cli.comparing_contenders import subject_of_contenders
from tollbench.cli.comparing_sides import name_contenders
from tollbench.compare import ComparisonSettings, MeasuringOptions, Verdict, compare
from tollbench.compare.adapters.toll_program import Programs
from tollbench.compare.counts import not_timed
from tollbench.errors import TollError
from tollbench.plan import Plan
from tollbench.words import Case, Program, Status

FAKE = str(Path(__file__).with_name("fake_toll_program.py"))


@pytest.fixture(autouse=True)
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    made: list[Plan] = []

    def built(plan: Plan, layouts: int) -> BuiltPlan:
        assert layouts == 1
        made.append(plan)
        programs = {
            case.contender: Program(
                case.workload, case.contender, case.environment, (FAKE, "reads=answer"),
                Status.SKIPPED if case.contender == "absl_mutex" else Status.OK, "no Abseil here",
            )
            for case in plan.cases
        }  # fmt: skip
        return BuiltPlan(tuple(programs.values()), tuple(plan.environments), tmp_path)

    monkeypatch.setattr(comparing_contenders, "build_plan", built)
    return made


def contenders(tmp_path: Path, *sides: str, values: tuple[str, ...] = ()) -> Programs:
    options = MeasuringOptions(20.0)
    return subject_of_contenders(sides, values, (), folder=tmp_path, layouts=0, options=options)


BOTH = ("latency/lock/std_mutex", "latency/lock/spinlock")
LAYOUTS = 16


class InLayouts:
    """Programs in layouts, each of which writes down that it was started."""

    def __init__(self, folder: Path) -> None:
        (folder / "answer").write_text("1")
        self._folder = folder

    def file(self, name: str) -> str:
        path = self._folder / name
        path.write_text(f'#!/bin/sh\necho {name}$ENTERED >> started\nexec {FAKE} reads=answer "$@"\n')
        path.chmod(0o755)
        return str(path)

    def started(self) -> Counter[str]:
        return Counter((self._folder / "started").read_text().split())

    def built(self, plan: Plan, layouts: int) -> BuiltPlan:
        """All in layouts, one of them behind what enters a root."""
        assert layouts == LAYOUTS
        programs = [self._program(case) for case in plan.cases]
        return BuiltPlan(tuple(programs), tuple(plan.environments), self._folder)

    def _program(self, case: Case) -> Program:
        name = case.contender
        before = ("env", "ENTERED=+root") if name == "std_mutex" else ()
        files = tuple(self.file(f"{name}-{number}") for number in range(LAYOUTS))
        return Program(name, name, case.environment, (*before, self.file(name)), layouts=files)


def in_layouts(tmp_path: Path, *sides: str, all_pairs: bool = False) -> Programs:
    options = MeasuringOptions(20.0, all_pairs=all_pairs)
    return subject_of_contenders(sides, (), (), folder=tmp_path, layouts=LAYOUTS, options=options)


def test_contenders_are_compared_in_the_layouts_of_their_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = InLayouts(tmp_path)
    monkeypatch.setattr(comparing_contenders, "build_plan", programs.built)
    settings = ComparisonSettings(layouts=LAYOUTS, most_rounds=LAYOUTS, threshold=1e-6)
    (found,) = compare(in_layouts(tmp_path, *BOTH), settings).comparisons
    assert (found.layouts, found.launches, found.verdict) == (LAYOUTS, LAYOUTS, Verdict.INCONCLUSIVE)
    assert found.low is not None
    assert programs.started() == {
        f"{name}-{number}{entered}": 1
        for name, entered in (("std_mutex", "+root"), ("spinlock", ""))
        for number in range(LAYOUTS)
    }


def test_every_second_visit_of_a_layout_starts_the_contenders_in_the_other_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing_contenders, "build_plan", InLayouts(tmp_path).built)
    subject = in_layouts(tmp_path, *BOTH)
    subject.survey()
    orders: dict[int, list[list[str]]] = {}
    for seed in range(2 * LAYOUTS):
        for record in subject.round(["latency/lock"], seed).raw:
            orders.setdefault(record["layout"], []).append(record["order"])
    assert len(orders) == LAYOUTS
    assert all(first == second[::-1] for first, second in orders.values())


def test_a_contender_in_one_layout_is_refused_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(plan: Plan, layouts: int) -> BuiltPlan:
        made = InLayouts(tmp_path).built(plan, layouts)
        first, second = made.programs
        return replace(made, programs=(first, replace(second, layouts=(), one_layout="not C++")))

    monkeypatch.setattr(comparing_contenders, "build_plan", built)
    with pytest.raises(TollError, match=r"in one alone there are: spinlock \(not C\+\+\)"):
        in_layouts(tmp_path, *BOTH)


def test_so_many_layouts_as_a_contender_has() -> None:
    with pytest.raises(TollError, match="--layouts 65 is more than the 64"):
        subject_of_contenders(BOTH, (), (), folder=None, layouts=65, options=MeasuringOptions(20.0))


@pytest.mark.parametrize("missing", ["std_mutex", "spinlock", "std_shared_mutex"])
def test_of_layouts_a_contender_that_was_not_built_costs_its_own_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """The first one, too: how many layouts there are is not asked of it alone."""

    def built(plan: Plan, layouts: int) -> BuiltPlan:
        made = InLayouts(tmp_path).built(plan, layouts)
        programs = [
            replace(one, command=(), layouts=(), status=Status.SKIPPED, reason="no compiler")
            if one.contender == missing
            else one
            for one in made.programs
        ]
        return replace(made, programs=tuple(programs))

    monkeypatch.setattr(comparing_contenders, "build_plan", built)
    subject = in_layouts(tmp_path, *BOTH, "latency/lock/std_shared_mutex", all_pairs=True)
    settings = ComparisonSettings(layouts=LAYOUTS, most_rounds=LAYOUTS, threshold=1e-6, all_pairs=True)
    found = compare(subject, settings).comparisons
    assert [one.verdict for one in found if missing in (one.a, one.b)] == [Verdict.FAILED] * 2
    assert all("no compiler" in one.reason for one in found if missing in (one.a, one.b))
    (known,) = [one for one in found if missing not in (one.a, one.b)]
    assert (known.layouts, known.launches) == (LAYOUTS, LAYOUTS)
    assert known.low is not None


def test_contenders_are_sides_and_their_common_settings_benchmarks(tmp_path: Path) -> None:
    (tmp_path / "answer").write_text("1")
    subject = contenders(tmp_path, "latency/lock/std_mutex", "latency/lock/spinlock")
    assert subject.labels == ("std_mutex", "spinlock")
    assert subject.survey().common == ("latency/lock",)
    found = subject.round(("latency/lock",), 1)
    assert found.failures == {}
    assert len(found.values["latency/lock"]) == 2


def test_the_first_side_named_comes_first_whatever_the_catalogue_s_order(tmp_path: Path) -> None:
    subject = contenders(tmp_path, "latency/lock/spinlock", "latency/lock/std_*")
    assert subject.labels[0] == "spinlock"
    assert set(subject.labels[1:]) >= {"std_mutex", "std_shared_mutex"}
    assert len(set(subject.labels)) == len(subject.labels)


def test_each_value_of_a_swept_parameter_is_a_benchmark(tmp_path: Path, plans: list[Plan]) -> None:
    both = ("containers/count_words/map", "containers/count_words/unordered_map")
    assert contenders(tmp_path, *both).survey().common == tuple(
        f"containers/count_words group={group}" for group in (100, 500, 1000)
    )
    subject = contenders(tmp_path, *both, values=("group=1000",))
    assert subject.survey().common == ("containers/count_words group=1000",)
    assert {case.environment for case in plans[-1].cases} == {"host"}


def test_contenders_that_do_other_work_are_a_row_that_says_what_helps(tmp_path: Path) -> None:
    both = ("tasks/skynet/std_thread", "tasks/skynet/onetbb_task_group")
    subject = contenders(tmp_path, *both)
    reason = subject.round(subject.survey().common, 1).failures["tasks/skynet"][1]
    assert "it does other work: tasks=100000 (std_thread: 10000)" in reason
    assert "--set names one for all" in reason
    subject = contenders(tmp_path, *both, values=("tasks=1000",))
    (name,) = subject.survey().common
    assert name == "tasks/skynet tasks=1000"
    assert "tasks=1000" in subject.errand(1, name).command


def test_contenders_on_another_footing_are_noted_on_their_own_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of CPUs: some have a thread for each, others one, or as many as they need."""
    (tmp_path / "answer").write_text("1")
    monkeypatch.setattr(machine, "usable_cpus", lambda: tuple(range(4)))
    sides = [
        f"tasks/skynet/{name}" for name in ("std_thread", "boost_fiber_round_robin", "onetbb_task_group")
    ]
    subject = contenders(tmp_path, *sides, values=("tasks=1000",))
    (name,) = subject.survey().common
    assert subject.notes(name, 1) == ["boost_fiber_round_robin runs with threads=1 (std_thread: 0)"]
    assert subject.notes(name, 2) == ["onetbb_task_group runs with threads=4 (std_thread: 0)"]
    alike = contenders(tmp_path, "latency/lock/std_mutex", "latency/lock/spinlock")
    assert not alike.notes("latency/lock", 1)
    counted = not_timed(subject, ComparisonSettings(), lambda _record: None)
    assert "onetbb_task_group runs with threads=4 (std_thread: 0)" in counted.comparisons[1].reason


def test_a_contender_that_was_not_built_is_a_row(tmp_path: Path) -> None:
    subject = contenders(tmp_path, "latency/lock/std_mutex", "latency/lock/absl_mutex")
    found = subject.round(("latency/lock",), 1)
    assert found.failures["latency/lock"] == {1: "cannot be launched: no Abseil here"}


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        (("latency/lock/std_mutex", "latency/wakeup/spinlock"), "contenders of different workloads"),
        (("latency/lock/std_mutex",), "latency/lock/std_mutex alone is named"),
        (("latency/lock/std_mutex", "latency/lock/std_mutex"), "alone is named"),
        (("latency/lock/std_mutex", "latency/lock/spinlck"), "no contender 'latency/lock/spinlck'"),
    ],
)
def test_sides_that_are_no_comparison_are_refused(tmp_path: Path, sides: tuple[str, ...], told: str) -> None:
    with pytest.raises(TollError, match=told):
        contenders(tmp_path, *sides)


def test_a_file_of_that_name_is_a_file(tmp_path: Path) -> None:
    sides = ["latency/lock/std_mutex", "latency/lock/spinlock"]
    assert name_contenders(sides, tmp_path)
    assert not name_contenders(["./old", "./new"], tmp_path)
    assert not name_contenders([], tmp_path)
    (tmp_path / "latency/lock").mkdir(parents=True)
    for side in sides:
        (tmp_path / side).touch()
    assert not name_contenders(sides, tmp_path)
    (tmp_path / sides[1]).unlink()
    with pytest.raises(TollError, match="reads as a contender of the catalogue"):
        name_contenders(sides, tmp_path)
