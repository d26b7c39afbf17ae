"""--read, and the commands around launches: programs that print JSON or CSV, and what runs beside them."""

from __future__ import annotations

import json
import math
import resource
import shlex
import shutil
from pathlib import Path

import pytest

from tollbench.cli.comparing_sides import check_around
from tollbench.compare import (
    Comparison,
    ComparisonSettings,
    MeasuringOptions,
    Verdict,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.around import NOTHING_AROUND, Around
from tollbench.compare.counters import WholeProcess
from tollbench.compare.counting_sides import counter_for
from tollbench.compare.profiling import profiled
from tollbench.compare.readings import Reading
from tollbench.compare.subject import Unusable
from tollbench.errors import TollError
from tollbench.report.comparisons.comparison_lines import footnotes


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        ("json", '{"name": "sum", "ns": 12.5}\n', [("sum", 12.5)]),
        ("json", 'words [1]\n{"name": "a", "ns": 1}\n{"name": "a", "ns": "2"}', [("a", 1.0), ("a", 2.0)]),
        ("json:n,t.median,us", '{"runs": [{"n": "x/y", "t": {"median": 2}}]}', [("x/y", 2000.0)]),
        ("json:a.b,t,ms", '[{"a.b": 7, "t": 1}, {"a": {"b": "z"}, "t": 2}]', [("7", 1e6), ("z", 2e6)]),
        ("json:suite+name,rate,/s", '{"suite": "s", "name": "größe", "rate": 1000}', [("s / größe", 1e6)]),
        (  # as nanobench's template writes it
            "csv:title+name,elapsed,s",
            '"title";"name";"elapsed"\n"sort";"a";1e-09\n"map";"a";2e-09\n',
            [("sort / a", 1.0), ("map / a", 2.0)],
        ),
        ("csv", "made by me\nname,ns\nsum,3.5\nx y,4\ntotal: 2\n", [("sum", 3.5), ("x y", 4.0)]),
        ("csv:name,elapsed,s", '"title";"name";"elapsed"\n"t";"a;b";1e-9\n', [("a;b", 1.0)]),
        ("csv:name,time,us", "name\ttime\nA\t1\na\t2\n", [("A", 1000.0), ("a", 2000.0)]),
        ("csv", "ns,other\n1,2\n", []),
        ("json", '{"name": "sum"}\n{"name": ["x"], "ns": 1}\n{not json', []),
        ("json", "[" * 100_000, []),
    ],
)
def test_names_and_times_are_found(read: str, text: str, found: list[tuple[str, float]]) -> None:
    results = Reading.of(read).results(text)
    assert [name for name, _ in results] == [name for name, _ in found]
    assert [ns for _, ns in results] == pytest.approx([ns for _, ns in found])


@pytest.mark.parametrize("value", ["true", '"fast"', "NaN"])
def test_what_is_no_number_is_no_time(value: str) -> None:
    ((_, ns),) = Reading.of("json").results(f'{{"name": "sum", "ns": {value}}}')
    assert math.isnan(ns)


@pytest.mark.parametrize("read", ["xml", "json:name", "json:name,ns,ns,ns", "csv:name,,ns", "csv:a+,ns", ""])
def test_what_cannot_be_understood_is_refused(read: str) -> None:
    with pytest.raises(TollError, match="cannot be understood"):
        Reading.of(read)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(TollError, match="unknown unit"):
        Reading.of("json:name,time,days")


def printing(*pairs: tuple[str, float]) -> str:
    """A command line that prints them."""
    return "printf '%s\\n' " + shlex.join(json.dumps({"name": name, "ns": ns}) for name, ns in pairs)


def compared(
    *texts: str, folder: Path, read: str = "json", around: Around = NOTHING_AROUND, rounds: int = 8
) -> dict[str, Comparison]:
    kind, sides = resolve([WrittenSide(text, folder=folder) for text in texts], "read" if read else "auto")
    subject = subject_of(kind, sides, MeasuringOptions(20.0, read=read, around=around))
    assert isinstance(subject, OneAfterAnother)
    found = compare(subject, ComparisonSettings(seed=5, most_rounds=rounds))
    subject.clean_up()
    return {item.benchmark: item for item in found.comparisons}


def test_what_a_command_line_prints_is_compared(tmp_path: Path) -> None:
    sides = printing(("Sum", 10), ("sum", 50)), printing(("sum", 60), ("Sum", 10), ("only here", 1))
    found = compared(*sides, folder=tmp_path)
    assert {name: item.verdict for name, item in found.items()} == {
        "Sum": Verdict.NO_DIFFERENCE,  # names that differ in case are two
        "sum": Verdict.SLOWER,
    }
    assert found["sum"].ratio == pytest.approx(1.2)


def test_sides_that_differ_in_their_repetitions_are_told(tmp_path: Path) -> None:
    sides = printing(("sum", 10), ("sum", 11), ("sum", 12)), printing(("sum", 11))
    (item,) = compared(*sides, folder=tmp_path).values()
    assert item.ratio == pytest.approx(1.0)
    assert "3 repetitions a launch on one side and 1 on another" in item.reason


@pytest.mark.parametrize(("here", "there"), [("Größe", "größe"), ("gr\u00f6\u00dfe", "gro\u0308\u00dfe")])
def test_names_that_differ_in_their_letters_alone_are_two_and_told(
    tmp_path: Path, here: str, there: str
) -> None:
    sides = printing(("sum", 10), (here, 1)), printing(("sum", 10), (there, 1))
    kind, resolved = resolve([WrittenSide(text, folder=tmp_path) for text in sides], "read")
    subject = subject_of(kind, resolved, MeasuringOptions(20.0))
    found = compare(subject, ComparisonSettings(seed=5, most_rounds=2))
    assert [item.benchmark for item in found.comparisons] == ["sum"]
    told = [note for note in footnotes(found) if note.startswith(f"{here} is missing in")]
    assert [note.endswith(f" {there} differs from it in case or encoding alone.") for note in told] == [True]


def test_a_side_that_takes_the_terminal_is_a_failed_row(tmp_path: Path) -> None:
    (item,) = compared("cat < /dev/tty", "true", folder=tmp_path, read="").values()
    assert item.verdict is Verdict.FAILED
    assert "/dev/tty" in item.reason.partition("last words")[2]


def test_without_a_result_there_is_one_failed_row(tmp_path: Path) -> None:
    (item,) = compared("echo hello", "echo hello", folder=tmp_path).values()
    assert (item.benchmark, item.verdict) == ("*", Verdict.FAILED)
    assert "printed no JSON with name, ns (--read)" in item.reason


def test_commands_run_around_launches_and_are_not_timed(tmp_path: Path) -> None:
    around = Around(
        setup=("echo setup >> log; sleep 0.1",),
        prepare=(
            "sleep 0.1; echo a > side; echo prepare >> log",
            "sleep 0.1; echo b > side; echo prepare >> log",
        ),
        conclude=("echo conclude >> log",),
        cleanup=("echo cleanup >> log",),
    )
    sides = "grep -q a side", "grep -q b side"
    (item,) = compared(*sides, folder=tmp_path, read="", around=around, rounds=6).values()
    assert item.verdict is not Verdict.FAILED, item.reason
    assert item.a_used is not None
    assert item.a_used.cpu_ns < 0.1e9
    log = (tmp_path / "log").read_text().split()
    launches = 2 + 2 * item.launches  # each side once before the measuring
    assert log == ["setup", *["prepare", "conclude"] * launches, "cleanup"]


@pytest.mark.parametrize("what", ["setup", "prepare", "conclude"])
def test_a_command_around_a_launch_that_fails_is_told(tmp_path: Path, what: str) -> None:
    around = Around(**{what: ("echo no disk >&2; exit 4",)})
    (item,) = compared("true", "true", folder=tmp_path, read="", around=around).values()
    assert item.verdict is Verdict.FAILED
    assert f"--{what} 'echo no disk >&2; exit 4' exited with code 4; its last words: no disk" in item.reason


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_commands_stand_around_launches_that_count_or_explain(tmp_path: Path) -> None:
    """Else a gate on counts would judge other work than what is timed."""
    around = Around(prepare=("echo made > made; echo prepare >> log",), conclude=("rm made",))
    kind, sides = resolve([WrittenSide("cat made", folder=tmp_path)] * 2)
    subject = subject_of(kind, sides, MeasuringOptions(60.0, around=around))
    subject.survey()
    counter = counter_for(subject, tmp_path / "cache")
    assert isinstance(counter, WholeProcess)
    counts = counter.read(1, "command", {"bytes", "instructions"})
    assert [told for told in counts.values() if isinstance(told, str)] == []
    assert profiled(counter, 0, "command").profile.costs
    assert (tmp_path / "log").read_text() == "prepare\n" * (2 + 2 + 1)
    assert not (tmp_path / "made").exists()


def test_commands_around_launches_may_take_longer_than_a_launch(tmp_path: Path) -> None:
    longer = ("sleep 0.5",)
    around = Around(setup=longer, prepare=longer, conclude=longer, cleanup=longer)
    kind, sides = resolve([WrittenSide("true", folder=tmp_path)] * 2)
    subject = subject_of(kind, sides, MeasuringOptions(0.1, around=around))
    assert isinstance(subject, OneAfterAnother)
    subject._surroundings.set_up(subject._places())
    with subject.surrounded(sides[0], tmp_path):
        pass
    subject.clean_up()


def test_commands_that_do_not_fit_the_sides_are_refused() -> None:
    with pytest.raises(TollError, match="--prepare is there 2 times, and the sides are 3"):
        check_around(Unusable("abc", ""), Around(prepare=("true", "true")))
    with pytest.raises(TollError, match="toll programs stay alive while they are measured"):
        check_around(Unusable("ab", ""), Around(cleanup=("true",)))  # as toll programs, not launched in turn
    check_around(Unusable("ab", ""), NOTHING_AROUND)


def test_what_launches_used_stands_beside_the_time(tmp_path: Path) -> None:
    own_bytes = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # less is hidden behind it
    most = own_bytes + 300_000_000
    side = f"python3 -c 'bytearray({most})'"
    (item,) = compared(side, "true", folder=tmp_path, read="", rounds=2).values()
    assert item.a_used is not None
    assert item.b_used is not None
    assert item.a_used.peak_bytes is not None
    assert item.a_used.peak_bytes > most
    assert item.b_used.peak_bytes is None  # hidden behind toll's own
    assert item.a_used.cpu_ns > item.b_used.cpu_ns
    assert item.b_used.exit_codes == (0,)
