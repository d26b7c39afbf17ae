"""p99 of two rows beside each other, in a whole result and in its reports."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from made_runs import Made, make_run

from tollbench import analysis
from tollbench.analysis.results import ClaimVerdict, Latency, Results
from tollbench.report import csv as csv_report
from tollbench.report import percentiles
from tollbench.report.showing import each
from tollbench.store import RunFile
from tollbench.words import Claim, ClaimCheck, ClaimSide, Kind, Relation

ROUNDS = 30


def samples(rng: np.random.Generator, tail: float, machine: np.ndarray, base: float) -> list[np.ndarray]:
    """2,000 operations a launch, 5 % of them `tail` times as long, all by what befell the round."""
    slow = rng.random((ROUNDS, 2000)) < 0.05
    times = base * np.where(slow, tail, 1.0) * rng.lognormal(0.0, 0.02, slow.shape) * machine[:, None]
    return list(times.astype(np.float32))


def run(folder: Path) -> Results:
    """`even` has the lowest median; the p99 of `odd` is a quarter of its, that of `far` twice."""
    rng = np.random.default_rng(5)
    machine = rng.lognormal(0.0, 0.5, ROUNDS)
    cases = [
        Made(name, [100.0] * ROUNDS, samples=samples(rng, tail, machine, base))
        for name, tail, base in (("even", 8.0, 1000.0), ("odd", 1.6, 1250.0), ("far", 8.0, 2000.0))
    ]
    path = make_run(folder / "made.toll", cases, kind=Kind.SAMPLES)
    with RunFile.open(path) as opened:
        return analysis.results(opened)


def test_ratios_are_of_rounds_to_the_fastest_row(tmp_path: Path) -> None:
    found = {one.contender: one for one in run(tmp_path).workloads[0].latencies}
    assert {key: one.value for key, one in found["even"].ratios.items()} == {
        "p90": 1.0,
        "p99": 1.0,
        "p999": 1.0,
    }
    for name, wanted in (("odd", 0.25), ("far", 2.0)):
        ratio = found[name].ratios["p99"]
        assert ratio.low is not None
        assert ratio.high is not None
        assert ratio.low < ratio.value < ratio.high
        assert ratio.value == pytest.approx(wanted, rel=0.02)
        assert ratio.high / ratio.low < 1.05  # rounds differ by half, which is no part of it
        assert _column(found[name], "p99") > 1.2
    assert "p50" not in found["odd"].ratios
    assert "p9999" not in found["odd"].ratios


def _column(entry: Latency, key: str) -> float:
    """How wide the interval of a percentile by itself is."""
    one = entry.quantiles[key]
    assert one.low is not None
    assert one.high is not None
    return one.high / one.low


STEP = {"clock": {"source": "tsc", "resolution_ns": 10.0}}


def ticks(rng: np.random.Generator, ns: float) -> list[np.ndarray]:
    """What a clock with steps of 10 ns tells of a time that hardly varies."""
    times = ns * rng.lognormal(0.0, 0.02, (ROUNDS, 2000))
    return list((10.0 * np.round(times / 10.0)).astype(np.float32))


def test_an_interval_is_no_finer_than_the_clock(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    cases = [Made(str(ns), [100.0] * ROUNDS, samples=ticks(rng, ns)) for ns in (32.0, 34.2)]
    path = make_run(tmp_path / "ticks.toll", cases, kind=Kind.SAMPLES, launch_changes=STEP)
    with RunFile.open(path) as opened:
        found = {one.contender: one for one in analysis.results(opened).workloads[0].latencies}
    ratio = next(one.ratios["p99"] for one in found.values() if one.ratios["p99"].low != 1.0)
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 34.2 / 32.0 < ratio.high
    assert ratio.value == pytest.approx(4 / 3)  # which is all that the clock tells


def test_rows_alike_to_the_last_digit_show_it(tmp_path: Path) -> None:
    one = samples(np.random.default_rng(5), 8.0, np.ones(ROUNDS), 1000.0)
    path = make_run(
        tmp_path / "twins.toll",
        [Made(name, [100.0] * ROUNDS, samples=one) for name in "ab"],
        kind=Kind.SAMPLES,
    )
    with RunFile.open(path) as opened:
        shown = percentiles.columns(analysis.results(opened).workloads[0].latencies)
    assert "p99_ratio" in [column.key for column in each(shown)]


def test_csv_has_them_and_names_them_for_every_run(tmp_path: Path) -> None:
    rows = {row["contender"]: row for row in csv.DictReader(io.StringIO(csv_report.render(run(tmp_path))))}
    assert float(rows["far"]["p99_ratio"]) == pytest.approx(2.0, rel=0.02)
    assert float(rows["far"]["p99_ratio_low"]) < 2.0 < float(rows["far"]["p99_ratio_high"])
    assert rows["far"]["p9999_ratio"] == ""
    batches = make_run(tmp_path / "batches.toll", [Made("a", [1.0] * 9)])
    with RunFile.open(batches) as opened:
        head = csv_report.render(analysis.results(opened)).splitlines()[0]
    assert "p99_ratio" in head


def of_layouts(folder: Path, *, known: bool) -> tuple[Latency, ClaimVerdict]:
    """Two programs whose 20 layouts differ by 3 %, in 100 rounds: the second's p90, and a claim of both."""
    rng = np.random.default_rng(9)
    layouts = np.concatenate([rng.permutation(20) for _ in range(5)])
    cases = []
    for name, base in (("one", 1000.0), ("other", 1100.0)):
        moved = np.exp((0.03 * rng.standard_normal(20))[layouts] + 0.003 * rng.standard_normal(100))
        times = (base * moved[:, None] * rng.lognormal(0.0, 0.02, (100, 200))).astype(np.float32)
        told = (1 + layouts).tolist() if known else []
        cases.append(Made(name, [base] * 100, samples=list(times), layouts=told))
    one, other = (
        ClaimSide(workload="tasks/made", contender=name, statistic="p90") for name in ("one", "other")
    )
    claim = Claim(
        name="c", claim="", document="", year=2000, place="", command="", workload="tasks/made",
        checks=(ClaimCheck(one, Relation.LESS, other),),
    )  # fmt: skip
    with RunFile.open(make_run(folder / f"{known}.toll", cases, kind=Kind.SAMPLES)) as opened:
        found = analysis.results(opened, claims=[claim])
    return found.workloads[0].latencies[1], found.claims[0]


def test_rounds_of_one_layout_make_no_interval_narrower(tmp_path: Path) -> None:
    """Of a percentile, of its ratio, and of a claim of it: five rounds of each of 20 layouts."""
    (told, claim), (alone, claim_alone) = (of_layouts(tmp_path, known=known) for known in (True, False))
    assert _column(told, "p90") > 1.4 * (_column(alone, "p90") - 1.0) + 1.0
    widths = []
    for ends in (told.ratios["p90"], alone.ratios["p90"], claim, claim_alone):
        assert ends.low is not None
        assert ends.high is not None
        widths.append(np.log(ends.high / ends.low))
    assert widths[0] > 1.4 * widths[1]
    assert widths[2] > 1.4 * widths[3]
