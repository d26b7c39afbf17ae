"""What an environment brings: the whole and each row, beside the first environment."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, make_run

from tollbench import analysis
from tollbench.analysis.results import EnvironmentChange
from tollbench.estimates import Estimate
from tollbench.report import environment_lines
from tollbench.store import RunFile
from tollbench.words import Status


def changes(path: Path, cases: list[Made]) -> list[EnvironmentChange]:
    with RunFile.open(make_run(path, cases)) as run_file:
        return analysis.results(run_file).workloads[0].environment_changes


def cases_of(
    rng: np.random.Generator, gains: dict[str, dict[str, float]], launches: int = 20, noise: float = 0.02
) -> list[Made]:
    """`gains`: ratios by environment and contender; rounds share a noise of 30 %, as machines make it."""
    machine = rng.normal(0, 0.3, launches)
    base = {"list": 50.0, "map": 200.0, "vector": 3.0}
    return [
        Made(
            contender,
            list(base[contender] * ratio * np.exp(machine + rng.normal(0, noise, launches))),
            environment=environment,
        )
        for environment, ratios in gains.items()
        for contender, ratio in ratios.items()
    ]


def without_1(ratio: Estimate | None) -> bool:
    assert ratio is not None
    assert ratio.low is not None
    assert ratio.high is not None
    return not ratio.low <= 1 <= ratio.high


ALIKE = {"list": 1.0, "map": 1.0, "vector": 1.0}


def test_a_row_weighs_alike_whatever_it_takes(tmp_path: Path) -> None:
    gains = {
        "gcc-11": ALIKE,
        "gcc-12": ALIKE,
        "clang-19": {"list": 1.0, "map": 1.0, "vector": 0.5},
        "clang-22": {"list": 2.0, "map": 1.0, "vector": 0.5},
    }
    found = changes(tmp_path / "r.toll", cases_of(np.random.default_rng(1), gains))
    assert [(one.environment, one.against, one.of_rows, one.rounds) for one in found] == [
        ("gcc-12", "gcc-11", 3, 20),
        ("clang-19", "gcc-11", 3, 20),
        ("clang-22", "gcc-11", 3, 20),
    ]
    ratios = [one.ratio for one in found]
    for ratio, wanted in zip(ratios, (1.0, 0.5 ** (1 / 3), 1.0), strict=True):
        assert ratio is not None
        assert ratio.value == pytest.approx(wanted, rel=0.02)
        assert ratio.low is not None
        assert ratio.high is not None
        assert ratio.low < wanted < ratio.high
        assert ratio.high / ratio.low < 1.1, "what befell a whole round cancels"
    rows = {row.contender: row.ratio for row in found[2].rows}
    for name, wanted in gains["clang-22"].items():
        ratio = rows[name]
        assert ratio is not None
        assert ratio.value == pytest.approx(wanted, rel=0.05)


def test_only_rows_that_both_have_are_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    cases = cases_of(rng, {"host": ALIKE, "clang-19": ALIKE})
    cases += [Made("hive", [5.0] * 20, environment="clang-19")]  # the first cannot build it
    cases += [Made("broken", [], environment="host", status=Status.BUILD_FAILED, reason="no")]
    cases += [Made("broken", [9.0] * 20, environment="clang-19")]
    (found,) = changes(tmp_path / "r.toll", cases)
    assert {row.contender for row in found.rows} == {"list", "map", "vector"}
    assert found.of_rows == 3


def test_parameters_belong_to_a_row(tmp_path: Path) -> None:
    cases = [
        Made("map", [value] * 8, {"size": size}, environment=environment)
        for environment, factor in (("a", 1.0), ("b", 0.5))
        for size, value in ((10, 4.0 * factor), (1000, 900.0))
    ]
    (found,) = changes(tmp_path / "r.toll", cases)
    assert [(row.parameters, row.ratio and round(row.ratio.value, 3)) for row in found.rows] == [
        ({"size": 10}, 0.5),
        ({"size": 1000}, 1.0),
    ]
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(math.sqrt(0.5))


def test_a_row_that_few_rounds_have_does_not_take_the_whole_its_rounds(tmp_path: Path) -> None:
    rare: list[float | Status | None] = [30.0 if round_ % 4 == 0 else None for round_ in range(20)]
    cases = cases_of(np.random.default_rng(3), {"a": ALIKE, "b": ALIKE})
    cases += [Made("dear", rare, environment=environment) for environment in ("a", "b")]
    (found,) = changes(tmp_path / "r.toll", cases)
    assert (found.of_rows, found.rounds) == (3, 20)
    assert {row.contender: row.rounds for row in found.rows}["dear"] == 5


def test_rows_that_lack_rounds_of_their_own_leave_enough_to_the_whole(tmp_path: Path) -> None:
    """Ten rows, each without 15 % of the rounds: only some 4 of 40 rounds have them all."""
    rng = np.random.default_rng(8)
    cases = []
    for environment, factor in (("a", 1.0), ("b", 0.8)):
        for at in range(10):
            values = list(factor * 10 * np.exp(rng.normal(0, 0.01, 40)))
            known: list[float | Status | None] = [None if rng.random() < 0.15 else one for one in values]
            cases.append(Made(f"c{at}", known, environment=environment))
    (found,) = changes(tmp_path / "r.toll", cases)
    assert found.rounds >= 20
    assert 2 <= found.of_rows < 10
    assert found.ratio is not None
    assert found.ratio.low is not None
    assert found.ratio.value == pytest.approx(0.8, rel=0.02)
    assert len(found.rows) == 10
    with RunFile.open(tmp_path / "r.toll") as run_file:
        (workload,) = analysis.results(run_file).workloads
    (line,) = environment_lines.environment_lines(workload)
    assert line.of_rows == f"{found.of_rows} of 10 rows"
    assert environment_lines.sentence(workload).startswith(f"{found.of_rows} of 10 rows beside a: b 0.")


def test_rows_of_other_rounds_altogether_are_told_by_themselves(tmp_path: Path) -> None:
    even: list[float | Status | None] = [30.0 if round_ % 2 == 0 else None for round_ in range(24)]
    odd: list[float | Status | None] = [30.0 if round_ % 2 else None for round_ in range(24)]
    cases = [Made(name, rounds, environment=e) for e in "ab" for name, rounds in (("x", even), ("y", odd))]
    (found,) = changes(tmp_path / "r.toll", cases)
    assert (found.of_rows, found.rounds) == (1, 12)


def test_one_row_in_several_environments_is_told_by_its_table(tmp_path: Path) -> None:
    cases = [Made("malloc", [20.0 * factor] * 12, environment=e) for e, factor in (("a", 1.0), ("b", 0.7))]
    path = make_run(tmp_path / "r.toll", cases)
    with RunFile.open(path) as run_file:
        (workload,) = analysis.results(run_file).workloads
    assert workload.environment_changes[0].of_rows == 1
    assert workload.environments == ["a", "b"]
    assert environment_lines.sentence(workload) == ""


def test_few_rounds_give_a_ratio_without_an_interval(tmp_path: Path) -> None:
    (found,) = changes(tmp_path / "r.toll", cases_of(np.random.default_rng(4), {"a": ALIKE, "b": ALIKE}, 3))
    assert found.ratio is not None
    assert (found.ratio.low, found.ratio.high) == (None, None)


def test_one_environment_has_none(tmp_path: Path) -> None:
    assert changes(tmp_path / "r.toll", cases_of(np.random.default_rng(5), {"host": ALIKE})) == []


@pytest.mark.parametrize("environments", [2, 5])
def test_equal_environments_are_called_different_no_more_often_than_the_level_says(
    environments: int, tmp_path: Path
) -> None:
    """Noise with outliers; rows of one environment share a part of it, as their company does. At 95 %, both
    for the wholes together and for all rows together: at most 16 of 150 (a binomial of 5 % exceeds that in
    one of 3,000 runs)."""
    rng = np.random.default_rng(6)
    trials, wholes, rows = 150, 0, 0
    for trial in range(trials):
        machine = rng.normal(0, 0.3, 16)
        cases = []
        for environment in range(environments):
            shared = rng.normal(0, 0.02, 16)
            for name in ("list", "map"):
                noise = rng.normal(0, 0.02, 16) + 0.3 * (rng.random(16) < 0.05)
                values = list(20 * np.exp(machine + shared + noise))
                cases.append(Made(name, values, environment=f"e{environment}"))
        found = changes(tmp_path / f"{trial}.toll", cases)
        wholes += any(without_1(one.ratio) for one in found)
        rows += any(without_1(row.ratio) for one in found for row in one.rows)
    assert wholes <= 16
    assert rows <= 16


def test_the_sentence_names_each_environment_with_its_interval(tmp_path: Path) -> None:
    gains = {"gcc-11": ALIKE, "gcc-12": ALIKE, "clang-19": dict.fromkeys(ALIKE, 0.5)}
    path = make_run(tmp_path / "r.toll", cases_of(np.random.default_rng(7), gains, noise=0.001))
    with RunFile.open(path) as run_file:
        (workload,) = analysis.results(run_file).workloads
    told = environment_lines.sentence(workload)
    assert told.startswith("3 rows beside gcc-11: gcc-12 1.0000× [0.99")
    assert ", clang-19 0.5000× [0.49" in told
    assert environment_lines.sentence(workload, 1).endswith("], 1 more")
    lines = environment_lines.environment_lines(workload)
    assert [line.decided for line in lines] == [0, -1]
    assert all(" (clang-19" not in line.gains for line in lines), "the row's environment stands before it"
    assert lines[1].of_rows == "3 rows"
