"""Catch2 executables, by what versions 2 and 3 print; and real ones where their compilers are at hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tollbench.compare import (
    ComparisonSettings,
    MeasuringOptions,
    Verdict,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)
from tollbench.compare.adapters.catch2 import literal
from tollbench.compare.subject import NameShare, Standing

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<{root}>
  <TestCase name="{case}">
    <BenchmarkResults name="plain" samples="5"><mean value="{plain}" lowerBound="1"/></BenchmarkResults>
    <Section name="{section}">
      <BenchmarkResults name="half"><mean value="350.5"/></BenchmarkResults>
      <OverallResults successes="0"/>
    </Section>
    <OverallResult success="{success}"/>
  </TestCase>
  <TestCase name="nothing"><OverallResult success="true"/></TestCase>{more}
</{root}>
"""

# Its benchmark has the name of the one in the section "deep" of "sums, of [ints]".
DEEP = """<TestCase name="sums, of [ints] / deep">
  <BenchmarkResults name="half"><mean value="9"/></BenchmarkResults>
</TestCase>"""


@pytest.fixture
def executable(tmp_path: Path):
    def make(name: str, code: int = 0, root: str = "Catch2TestRun", **values: str) -> str:
        usual = {"plain": "1400.5", "success": "true", "case": "sums, of [ints]"}
        usual |= {"section": "deep", "more": ""}
        report = REPORT.format(root=root, **usual | values)
        (tmp_path / f"{name}.xml").write_text(report)
        path = tmp_path / name
        path.write_text(
            f"#!/bin/sh\n# benchmark-no-analysis\necho \"$1\" >> '{tmp_path / name}.asked'\n"
            f"cat '{tmp_path / name}.xml'\nexit {code}\n"
        )
        path.chmod(0o755)
        return str(path)

    return make


def compared(a: str, b: str, pattern: str = ""):
    kind, sides = resolve([WrittenSide(a), WrittenSide(b)])
    assert kind == "catch2"
    subject = subject_of(kind, sides, MeasuringOptions(20.0, pattern=pattern))
    return compare(subject, ComparisonSettings(most_rounds=14, seed=2))


@pytest.mark.parametrize("root", ["Catch", "Catch2TestRun"])
def test_benchmarks_have_the_names_of_their_sections(executable, root: str) -> None:
    found = compared(executable("a", root=root), executable("b", root=root, plain="1500"))
    rows = {item.benchmark: item for item in found.comparisons}
    assert list(rows) == ["sums, of [ints] / plain", "sums, of [ints] / deep / half"]
    plain, half = rows.values()
    assert plain.verdict is Verdict.SLOWER
    assert plain.ratio == pytest.approx(1500 / 1400.5)
    assert half.verdict is Verdict.NO_DIFFERENCE


def test_who_has_tests_alone_is_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "tests"
    path.write_text("#!/bin/sh\n# benchmark-no-analysis\necho '<Catch><TestCase name=\"a\"/></Catch>'\n")
    path.chmod(0o755)
    (item,) = compared(str(path), str(path)).comparisons
    assert "tests offers no benchmark; next: hidden ones are chosen by their tag" in item.reason


def test_only_test_cases_with_benchmarks_are_launched(executable, tmp_path: Path) -> None:
    compared(executable("a"), executable("b"), pattern="half")
    asked = (tmp_path / "a.asked").read_text().splitlines()
    assert asked[0] == "--reporter"  # everything once, to see what there is
    assert set(asked[1:]) == {r"sums\, of \[ints\]"}


def test_a_test_case_may_have_the_separator_in_its_own_name(executable, tmp_path: Path) -> None:
    found = compared(executable("a", case="sums / ints"), executable("b", case="sums / ints"))
    names = [item.benchmark for item in found.comparisons]
    assert names == ["sums / ints / plain", "sums / ints / deep / half"]
    asked = (tmp_path / "a.asked").read_text().splitlines()
    assert set(asked[1:]) == {"sums / ints"}


AGAIN = """<BenchmarkResults name="plain"><mean value="{}"/></BenchmarkResults>"""


def test_the_second_benchmark_of_a_name_is_held_against_the_second(executable) -> None:
    """As GENERATE or a loop makes them: the largest was but one of a median's repetitions."""
    sides = []
    for name, largest in (("a", 9000), ("b", 18000)):
        side = executable(name)
        report = Path(f"{side}.xml")
        more = AGAIN.format(3000) + AGAIN.format(largest)
        report.write_text(report.read_text().replace("    <Section", f"{more}\n    <Section"))
        sides.append(side)
    rows = {item.benchmark.removeprefix("sums, of [ints] / "): item for item in compared(*sides).comparisons}
    assert list(rows) == ["plain", "plain (2)", "plain (3)", "deep / half"]
    assert [row.a_ns for row in rows.values()] == pytest.approx([1400.5, 3000, 9000, 350.5])
    slower, no_difference = Verdict.SLOWER, Verdict.NO_DIFFERENCE
    assert [row.verdict for row in rows.values()] == [no_difference, no_difference, slower, no_difference]
    (third,) = compared(sides[0], sides[1], "plain .3").comparisons
    assert third.verdict is slower


def test_what_runs_more_often_on_one_side_is_lacking_on_the_other(executable) -> None:
    again = REPORT[REPORT.index("  <TestCase") : REPORT.rindex("  <TestCase")]
    values = {"case": "sums, of [ints]", "section": "deep", "plain": "1400.5", "success": "true"}
    found = compared(executable("a"), executable("b", more=again.format(**values)))
    names = ["sums, of [ints] / plain", "sums, of [ints] / deep / half"]
    assert [item.benchmark for item in found.comparisons] == names
    assert [item.benchmark for item in found.lacking] == [f"{name} (2)" for name in names]


def test_each_side_is_asked_for_its_own_test_case(executable, tmp_path: Path) -> None:
    found = compared(executable("a"), executable("b", section="other", more=DEEP), pattern="deep / half")
    assert [item.verdict for item in found.comparisons] == [Verdict.FASTER]
    assert set((tmp_path / "b.asked").read_text().splitlines()[1:]) == {r"sums\, of \[ints\] / deep"}


def test_two_benchmarks_of_one_name_are_not_told_apart(executable) -> None:
    found = compared(executable("a"), executable("b", more=DEEP))
    assert found.comparisons[0].verdict is Verdict.FAILED
    assert "offers sums, of [ints] / deep / half twice" in found.comparisons[0].reason


OTHER = """<TestCase name="other" tags="[!benchmark]">
  <BenchmarkResults name="{own}"><mean value="9"/></BenchmarkResults>
  <OverallResult success="{success}"/>
</TestCase>"""


def test_a_test_case_that_fails_costs_its_own_rows_alone(executable, tmp_path: Path) -> None:
    wrong = executable("b", success="false", more=OTHER.format(own="ours", success="true"), code=1)
    found = compared(executable("a", more=OTHER.format(own="ours", success="true")), wrong)
    # Once to see what there is, then for the rows that can be told: for none that fails on the other side.
    assert set((tmp_path / "a.asked").read_text().splitlines()) == {"--reporter", "other"}
    rows = {item.benchmark: item for item in found.comparisons}
    assert rows.pop("other / ours").verdict is Verdict.NO_DIFFERENCE
    assert list(rows) == ["sums, of [ints] / plain", "sums, of [ints] / deep / half"]
    assert {item.verdict for item in rows.values()} == {Verdict.FAILED}
    assert all("b fails its test case 'sums, of [ints]': a wrong" in item.reason for item in rows.values())


def test_a_side_that_fails_before_it_measures_has_failed_rows_and_lacks_none(executable) -> None:
    nothing = '<TestCase name="other" tags="[!benchmark]"><OverallResult success="false"/></TestCase>'
    for a, b in ((nothing, OTHER), (OTHER, nothing), (nothing, nothing)):
        sides = [
            executable(name, more=more.format(own="ours", success="true"), code=int(more is nothing))
            for name, more in (("a", a), ("b", b))
        ]
        found = compared(*sides)
        (row,) = [item for item in found.comparisons if item.verdict is Verdict.FAILED]
        assert row.benchmark == ("other" if a == b else "other / ours")
        assert "fails its test case 'other'" in row.reason
        assert len(found.comparisons) == 3
        assert not found.lacking


PLAIN = '<TestCase name="other" tags="[unit]"><OverallResult success="false"/></TestCase>'


def test_a_failing_test_that_measures_nothing_is_no_row_and_is_told(executable) -> None:
    found = compared(executable("a", more=PLAIN, code=1), executable("b"))
    assert [item.verdict for item in found.comparisons] == [Verdict.NO_DIFFERENCE] * 2
    assert "a fails test cases that have no row here: 1, 'other' first" in found.comparisons[0].reason


def test_what_one_side_fails_and_the_other_lacks_is_told(executable) -> None:
    fails = '<TestCase name="other" tags="[!benchmark]"><OverallResult success="false"/></TestCase>'
    found = compared(executable("a", more=fails, code=1), executable("b"))
    assert [item.missing_in for item in found.lacking]
    assert "fails test cases that have no row here: 1, 'other' first" in found.comparisons[0].reason


def test_a_filter_that_chooses_what_fails_alone_says_so(executable) -> None:
    more = OTHER.format(own="ours", success="false")
    plain = '<TestCase name="third" tags="[x]"><OverallResult success="false"/></TestCase>'
    (item,) = compared(
        executable("a", more=plain, code=1), executable("b", more=more, code=1), pattern="third / p"
    ).comparisons
    assert "offers no benchmark that matches 'third / p', and fails its test case 'third'" in item.reason


def test_a_signal_is_told_with_the_test_case_that_it_came_in(executable) -> None:
    died = "kill -SEGV $$"
    fails = '<TestCase name="other" tags="[x]"><OverallResult success="false"/></TestCase>'
    passes = '<TestCase name="last" tags="[x]"><OverallResult success="true"/></TestCase>'
    for more, told in (
        (fails, "in its test case 'other' crashed with SIGSEGV"),
        (fails + passes, "b crashed with"),
    ):
        broken = Path(executable("b", more=more))
        broken.write_text(broken.read_text().replace("exit 0", died))
        (item,) = compared(executable("a"), str(broken)).comparisons
        assert told in item.reason


def crashing(path: str, *cases: str) -> str:
    """An executable of `executable`, killed in the first of these test cases that it is to run."""
    report = Path(f"{path}.xml").read_text().replace("</Catch2TestRun>", "")
    lines = []
    for case in cases:
        died = (
            f'<TestCase name="{case}" tags="[x]"><OverallResult success="false"/></TestCase></Catch2TestRun>'
        )
        Path(f"{path}.{case}").write_text(report + died)
        lines.append(
            f"case \"$*\" in *'~\"{case}\"'*|other*|sums*) ;; *) cat '{path}.{case}'; kill -SEGV $$;; esac"
        )
    script = Path(path)
    script.write_text(script.read_text().replace("cat ", "\n".join([*lines, "cat "]), 1))
    return path


def test_a_test_case_that_crashes_costs_its_own_rows_alone(executable, tmp_path: Path) -> None:
    found = compared(executable("a"), crashing(executable("b"), "third", "fourth"))
    assert [item.verdict for item in found.comparisons] == [Verdict.NO_DIFFERENCE] * 2
    assert "b fails test cases that have no row here: 2, 'third' first" in found.comparisons[0].reason
    asked = (tmp_path / "b.asked").read_text().splitlines()
    assert asked[:3] == ["--reporter", '~"third" ~[.]', '~"third" ~"fourth" ~[.]']
    assert set(asked[3:]) == {"sums\\, of \\[ints\\]"}


def test_the_benchmarks_of_a_test_case_that_crashes_are_rows_that_say_so(executable) -> None:
    more = OTHER.format(own="ours", success="true")
    found = compared(executable("a", more=more), crashing(executable("b"), "other"))
    rows = {item.benchmark: item for item in found.comparisons}
    assert rows.pop("other / ours").reason.endswith("b in its test case 'other' crashed with SIGSEGV")
    assert {item.verdict for item in rows.values()} == {Verdict.NO_DIFFERENCE}
    assert len(rows) == 2


def test_what_crashes_all_along_ends(executable, tmp_path: Path) -> None:
    """Nor is a test case taken out of those that the side's own words choose."""
    many = crashing(executable("b"), *(f"c{number}" for number in range(12)))
    (item,) = compared(executable("a"), many).comparisons
    assert "in its test case 'c10' crashed with SIGSEGV" in item.reason
    (tmp_path / "b.asked").unlink()
    (item,) = compared(executable("a"), f"{many} [x]").comparisons
    assert "in its test case 'c0' crashed with SIGSEGV" in item.reason
    assert (tmp_path / "b.asked").read_text().splitlines() == ["[x]"]


def test_a_test_case_that_fails_in_company_alone_is_not_accused(executable, tmp_path: Path) -> None:
    """As one that needs a state that another one changes: launched by itself it is measured."""
    more = OTHER.format(own="ours", success="true")
    sides = executable("a", more=more), executable("b", more=more)
    text = (tmp_path / "b.xml").read_text()
    (tmp_path / "b.company").write_text(text.replace('success="true"', 'success="false"', 1))
    script = Path(sides[1])
    company = f"case $1 in other,*) cat '{tmp_path}/b.company'; exit 1;; esac"
    script.write_text(script.read_text().replace("cat ", f"{company}\ncat ", 1))
    found = compared(*sides)
    assert {item.verdict for item in found.comparisons} == {Verdict.NO_DIFFERENCE}
    assert any(line.startswith("other,") for line in (tmp_path / "b.asked").read_text().splitlines())


def test_where_nothing_was_measured_a_failing_test_case_is_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "tests"
    path.write_text(f"#!/bin/sh\n# benchmark-no-analysis\necho '<Catch>{PLAIN}</Catch>'\nexit 1\n")
    path.chmod(0o755)
    (item,) = compared(str(path), str(path)).comparisons
    assert "tests fails its test case 'other': a wrong answer has no time" in item.reason


def test_equal_code_does_not_excuse_a_test_case_that_fails(executable) -> None:
    sides = executable("a", success="false", code=1), executable("b", success="false", code=1)
    looked: list[str] = []

    def look(wanted):
        looked.extend(wanted)
        return {(name, side): Standing(True, "the same") for name, each in wanted.items() for side in each}

    subject = subject_of(*resolve([WrittenSide(side) for side in sides]), MeasuringOptions(20.0))
    found = compare(subject, ComparisonSettings(most_rounds=14, seed=2), look_at_code=look)
    assert {item.verdict for item in found.comparisons} == {Verdict.FAILED}
    assert not looked


def test_a_side_may_run_test_cases_that_were_not_asked_for(executable, tmp_path: Path) -> None:
    """'./tests [a],[b]' runs all of [a] whatever else is chosen: its failures are no other's."""
    more = OTHER.format(own="ours", success="false")
    found = compared(executable("a", more=more, code=1), executable("b", more=more, code=1), pattern="plain")
    assert [item.verdict for item in found.comparisons] == [Verdict.NO_DIFFERENCE]


def test_a_benchmark_keeps_its_place_beside_a_side_that_does_not_come_to_it(executable) -> None:
    """Else two shares of one comparison would not be of the same names."""
    broken = executable("a", success="false", code=1)
    text = Path(f"{broken}.xml").read_text()
    start, end = text.index("    <BenchmarkResults"), text.index("    <OverallResult success")
    more = OTHER.format(own="ours", success="true")
    Path(f"{broken}.xml").write_text(
        (text[:start] + text[end:]).replace("</Catch2TestRun>", f"{more}</Catch2TestRun>")
    )
    kind, sides = resolve([WrittenSide(broken), WrittenSide(executable("b", more=more))])
    subject = subject_of(kind, sides, MeasuringOptions(20.0))
    names = ["sums, of [ints] / plain", "sums, of [ints] / deep / half", "other / ours"]
    assert sorted(subject.survey().common) == sorted(names)
    half = [
        set(subject_of(kind, sides, MeasuringOptions(20.0, share=NameShare(index, 2))).survey().common)
        for index in (0, 1)
    ]
    assert half[0] | half[1] == set(names)
    assert not half[0] & half[1]


def test_a_test_case_that_fails_later_is_told(executable, tmp_path: Path) -> None:
    """When the side was asked it was right: what a launch then says of it is the reason."""
    sides = executable("a"), executable("b")
    broken = (tmp_path / "b.xml").read_text().replace('success="true"', 'success="false"', 1)
    (tmp_path / "b.broken").write_text(broken)
    script = Path(sides[1])
    again = (
        f"[ -e '{tmp_path}/asked' ] && cp '{tmp_path}/b.broken' '{tmp_path}/b.xml'\n: > '{tmp_path}/asked'"
    )
    script.write_text(script.read_text().replace("cat ", f"{again}\ncat "))
    found = compared(*sides)
    assert {item.verdict for item in found.comparisons} == {Verdict.FAILED}
    assert all("b fails its test case 'sums, of [ints]'" in item.reason for item in found.comparisons)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {"success": "false", "code": 1},
            "fails its test case 'sums, of [ints]': a wrong answer",
        ),
        ({"code": 23}, "exited with code 23"),  # LeakSanitizer's, behind a whole report
        ({"plain": "soon"}, "too short for its clock"),
        ({"plain": "0"}, "too short for its clock"),
        ({"root": "broken", "plain": "<", "code": 4}, "exited with code 4"),
    ],
)
def test_reports_that_make_no_sense(executable, more: dict[str, Any], reason: str) -> None:
    found = compared(executable("a"), executable("b", **more))
    failed = [item for item in found.comparisons if item.verdict is Verdict.FAILED]
    assert failed
    assert reason in failed[0].reason


def test_catch2_may_end_with_a_code_where_nothing_failed(executable) -> None:
    """With 4 where every test case was skipped, some of them behind a benchmark."""
    found = compared(executable("a", code=4), executable("b", code=4))
    assert {item.verdict for item in found.comparisons} == {Verdict.NO_DIFFERENCE}


def test_names_that_a_test_specification_would_read_otherwise() -> None:
    assert literal('~a, "b" [c]\\') == '\\~a\\, \\"b\\" \\[c\\]\\\\'


SOURCE = """
#include <benchmark/benchmark.h>
#include <numeric>
#include <vector>
template <class T> void sum(benchmark::State& state) {
    std::vector<T> values(state.range(0), T{1});
    for (auto _ : state) {
        for (int i = 0; i < REPEAT; ++i) {
            benchmark::DoNotOptimize(std::accumulate(values.begin(), values.end(), T{}));
        }
    }
}
BENCHMARK_TEMPLATE(sum, long)->Arg(512)->Arg(4096);
BENCHMARK_MAIN();
"""


def test_real_google_benchmark_executables(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/benchmark/benchmark.h").exists():
        pytest.skip("g++ and libbenchmark-dev are not installed")
    (tmp_path / "bench.cpp").write_text(SOURCE)
    for name, repeat in (("once", 4), ("more", 5)):
        words = [compiler, "-O2", f"-DREPEAT={repeat}", "bench.cpp", "-o", name, "-lbenchmark", "-lpthread"]
        subprocess.run(words, cwd=tmp_path, check=True)
    kind, sides = resolve([WrittenSide("./once", base=tmp_path), WrittenSide("./more", base=tmp_path)])
    assert kind == "google-benchmark"
    found = compare(
        subject_of(kind, sides, MeasuringOptions(60.0)),
        # Without a limit of rounds, as users have it: by 60, beside a neighbour that lasted, it was in doubt.
        ComparisonSettings(budget_s=60.0, seed=2),
    )
    rows = {item.benchmark: item for item in found.comparisons}
    assert list(rows) == ["sum<long>/512", "sum<long>/4096"]
    assert all(item.verdict is Verdict.SLOWER and item.regression for item in rows.values())
