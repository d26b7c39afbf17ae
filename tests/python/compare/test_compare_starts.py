"""Executables that take longer to start than to measure: benchmarks share their launches."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_compare_sides import FAKE, by_name, compared

from tollbench.compare import Verdict

LONG = ("starts=0.5", "long=b12")
NAMES = [f"b{number}" for number in range(10, 22)]


def side(log: Path, *more: str) -> str:
    return " ".join([FAKE, f"only={','.join(NAMES)}", "starts=0.2", f"log={log}", *more])


def asked(log: Path) -> list[str]:
    """The filters and repetitions of launches that measured something."""
    return [line for line in log.read_text().splitlines() if not line.startswith("no filter")]


@pytest.mark.parametrize("version", ["", "new"])
def test_benchmarks_of_a_program_that_starts_slowly_share_launches(tmp_path: Path, version: str) -> None:
    """32 benchmarks of a program that read data for 15 s had 64 launches before any of them was timed."""
    one, other = tmp_path / "one", tmp_path / "other"
    found = compared(side(one, version), side(other, version), most_rounds=3)
    assert [item.launches for item in found.comparisons] == [3] * len(NAMES)
    assert len(asked(one)) == len(asked(other)) == 1 + 3
    assert all(name in line for line in asked(one) for name in NAMES)


def test_a_long_benchmark_shares_the_launch_of_short_ones_where_starting_takes_longer(tmp_path: Path) -> None:
    log = tmp_path / "log"
    compared(side(log, *LONG, "longer=4e5"), side(log, *LONG, "longer=4e5"), most_rounds=5)
    assert len(asked(log)) == 2 * (1 + 5)
    assert all(line.endswith(" 7") for line in asked(log)[2:])


def test_one_that_takes_longer_than_starting_has_launches_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    compared(side(log, *LONG, "longer=4e7"), side(log, *LONG, "longer=4e7"), most_rounds=2)
    assert "^(b12)$ 1" in asked(log)


def test_a_second_long_one_does_not_stretch_the_first(tmp_path: Path) -> None:
    """One of 1 ms beside two of 10 s, of one repetition each: seven of both took 70 s in place of 10."""
    log = tmp_path / "log"
    both = (*LONG[:1], "long=b12,b13", "longer=4e6")
    compared(side(log, *both), side(log, *both), most_rounds=2)
    assert not any(
        line.endswith((" 7", " 21")) and ("b12" in line or "b13" in line) for line in asked(log)[2:]
    )


@pytest.mark.parametrize("fault", ["error=b15", "skip=b15"])
def test_one_that_is_skipped_does_not_keep_the_others_apart(tmp_path: Path, fault: str) -> None:
    one = tmp_path / "one"
    compared(side(one, fault), side(tmp_path / "other"), most_rounds=3)
    assert len(asked(one)) <= 1 + 1 + 3  # for all of them; for the one; rounds


@pytest.mark.parametrize("fault", ["crash=b15", "error=b15", "skip=b15"])
def test_one_that_fails_costs_its_own_row(tmp_path: Path, fault: str) -> None:
    found = by_name(compared(side(tmp_path / "one"), side(tmp_path / "other", fault), most_rounds=3))
    assert found.pop("b15").verdict is Verdict.FAILED
    assert {item.launches for item in found.values()} == {3}
    assert not any(item.verdict is Verdict.FAILED for item in found.values())


def test_too_few_pairs_tell_how_long_enough_would_take(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = compared(side(log), side(log), budget_s=60.0, total_s=4.0)
    assert {item.verdict for item in found.comparisons} == {Verdict.INCONCLUSIVE}
    told = found.comparisons[0]
    assert "pairs of launches fitted into the time; at least" in told.reason
    assert "which takes about" in told.reason
    assert "`--total-budget " in told.reason
    assert told.forecast_s
