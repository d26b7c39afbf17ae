"""Sides as users bring them: real processes, well-behaved and not."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tollbench.compare import (
    Comparison,
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    Verdict,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)
from tollbench.compare.adapters import adapters
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark, exactly, undisturbed
from tollbench.compare.revisions import RevisionBuild, side_in
from tollbench.compare.sides import kind_of
from tollbench.compare.subject import Side, Until
from tollbench.errors import TollError
from tollbench.launching.command import Ended, run_command
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.measure import Interrupt

FAKE = str(Path(__file__).with_name("fake_google_benchmark.py"))


def compared(
    *texts: str, kind: str = "auto", limit_s: float = 20.0, pattern: str = "", **settings: Any
) -> Comparisons:
    found, sides = resolve([WrittenSide(text) for text in texts], kind)
    return compare(
        subject_of(found, sides, MeasuringOptions(limit_s, pattern=pattern)),
        ComparisonSettings(seed=5, **{"budget_s": 60.0, "most_rounds": 20} | settings),
    )


def by_name(found: Comparisons) -> dict[str, Comparison]:
    return {item.benchmark: item for item in found.comparisons}


def only(found: Comparisons) -> Comparison:
    assert len(found.comparisons) == 1
    return found.comparisons[0]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Writes an executable shell script into the folder that the test works in."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return f"./{name}"

    return write


def test_two_command_lines(script: Callable[[str, str], str]) -> None:
    item = only(compared("sleep 0.004", "sleep 0.03", most_rounds=400, until=Until.DIRECTION))
    assert item.verdict is Verdict.SLOWER
    assert item.regression
    assert item.a == "sleep 0.004"


def test_a_command_line_with_shell_syntax(script: Callable[[str, str], str]) -> None:
    # More than the usual 20 pairs: where a busy machine's noise lasts over pairs, 20 were seen to be too few.
    item = only(compared("true; sleep 0.03", "true; true", most_rounds=400, until=Until.DIRECTION))
    assert item.verdict is Verdict.FASTER


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kill -SEGV $$", "crashed with SIGSEGV"),
        ("echo usage: needs a size >&2; exit 2", "exited with code 2; its last words: usage: needs a size"),
        ("sleep 60", "did not end within 2 s"),
    ],
)
def test_a_command_that_fails_is_a_row(script: Callable[[str, str], str], text: str, reason: str) -> None:
    item = only(compared("true", script("b", text), limit_s=2.0 if "sleep" in text else 60.0))
    assert item.verdict is Verdict.FAILED
    assert reason in item.reason
    assert item.reason.startswith("./b ")


@pytest.mark.parametrize("folder", [".", "./sub", "sub"])
def test_a_folder_is_no_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """The shell took "." for a command that ends well, so that all else was slower."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "true").mkdir()  # beside a command of that name, which goes first
    assert kind_of(WrittenSide("true")) == "command"
    with pytest.raises(TollError, match="is a folder"):
        compared(folder, "true")


def test_output_without_end_is_a_reason() -> None:
    item = only(compared("true", "yes", limit_s=2.0))
    assert item.verdict is Verdict.FAILED
    assert re.search(r"did not end within 2 s and printed \d+ MiB by then", item.reason)


@pytest.mark.parametrize(("to", "told"), [("", True), (" >&2", False)])
def test_much_output_is_read_and_dropped(script: Callable[[str, str], str], to: str, told: bool) -> None:
    side = script("b", f"head -c 70000000 /dev/zero{to}")
    item = only(compared("true", side, most_rounds=1))
    assert item.launches == 1
    assert ("./b prints more than 64 MiB; what is beyond is read and dropped" in item.reason) is told


def test_what_is_dropped_still_counts_as_something_else(script: Callable[[str, str], str]) -> None:
    grows = "n=$(cat n 2>/dev/null || echo 68000000); echo $((n + 1)) > n; head -c $n /dev/zero"
    item = only(compared("true", script("b", grows), most_rounds=1))
    assert "./b prints something else from launch to launch" in item.reason


def test_a_report_that_is_cut_off_is_not_read(tmp_path: Path) -> None:
    ended = run_command(["/bin/sh", "-c", "head -c 70000000 /dev/zero"], own_environment(), tmp_path, 60.0)
    assert len(ended.stdout) == 64 * 2**20
    assert ended.dropped_bytes == 70_000_000 - 64 * 2**20
    with pytest.raises(LaunchFailed, match="printed more than 64 MiB where a report was expected"):
        ended.whole_stdout()


def test_a_command_that_ends_in_another_way_later(script: Callable[[str, str], str]) -> None:
    flips = script("b", "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; [ $n -lt 5 ]")
    item = only(compared("true", flips))
    assert item.verdict is Verdict.FAILED
    assert "exited with code 1" in item.reason
    found, sides = resolve([WrittenSide("true"), WrittenSide(flips)])
    Path("n").unlink()
    item = only(
        compare(
            subject_of(found, sides, MeasuringOptions(5.0, any_exit_code=True)),
            ComparisonSettings(budget_s=3.0),
        )
    )
    assert "exited with code 0 first and with code 1 later" in item.reason


def test_what_a_reader_must_know_about_commands(script: Callable[[str, str], str]) -> None:
    item = only(compared("true", script("b", "date +%N; touch left_behind"), most_rounds=5))
    assert "./b prints something else from launch to launch" in item.reason
    assert "./b writes to its working folder: left_behind" in item.reason


@pytest.mark.parametrize(("short_ns", "told"), [(3.6e12, True), (0.0, False)])
def test_short_commands_are_told(monkeypatch: pytest.MonkeyPatch, short_ns: float, told: bool) -> None:
    # By limits that no run misses: on a busy machine even `true` takes its 5 ms.
    monkeypatch.setattr("tollbench.compare.adapters.command_line._SHORT_NS", short_ns)
    reason = only(compared("true", "true", most_rounds=5)).reason
    assert ("a run takes less than 5 ms" in reason) is told


def test_children_that_outlive_their_parent_are_ended(script: Callable[[str, str], str]) -> None:
    side = script("b", "sleep 600 & echo $! > child; true")
    compared("true", side, most_rounds=3)
    child = int(Path("child").read_text())
    deadline = time.monotonic() + 60
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{child}").exists()


def test_an_interrupt_ends_a_process_at_once() -> None:
    interrupt = Interrupt()
    interrupt.request()
    with pytest.raises(Interrupted):  # at its end would be too late: pytest does not wait so long
        run_command(["/bin/sleep", "3600"], own_environment(), Path("/"), 7200.0, interrupt)


def test_a_program_that_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "broken").chmod(0o755)
    with pytest.raises(LaunchFailed, match="could not be started"):
        run_command([str(tmp_path / "broken")], {}, tmp_path, 5.0)


@pytest.mark.parametrize("version", ["", " new"])
def test_google_benchmark_executables(version: str) -> None:
    found = compared(f"{FAKE}{version} only=sum,str/1", f"{FAKE}{version} only=sum,str/1 slow=1.05")
    assert found.kind == "google-benchmark"
    assert list(by_name(found)) == ["sum", "str/1"]
    for item in found.comparisons:
        assert item.verdict is Verdict.SLOWER
        assert item.regression
        assert item.a_ns == pytest.approx(100.0, rel=0.02)


def test_both_versions_in_one_comparison_do_with_what_both_understand() -> None:
    found = compared(f"{FAKE} only=sum", f"{FAKE} only=sum new")
    assert {item.verdict for item in found.comparisons} <= {Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE}


def test_what_a_program_says_whatever_it_is_asked_is_no_benchmark() -> None:
    found = compared(f"{FAKE} greets", FAKE)
    assert {item.benchmark for item in found.comparisons} == {"sum", "str/1", "str/2"}
    assert not found.lacking


def test_times_in_another_unit() -> None:
    found = compared(f"{FAKE} only=x", f"{FAKE} only=x unit=us")
    assert only(found).ratio == pytest.approx(1000.0, rel=0.05)


@pytest.mark.parametrize(
    "name", ["gr\u00f6\u00dfe", "gro\u0308\u00dfe", "a\u2192b", "latin\udce4", 'q"s\\\\t']
)
def test_names_in_any_encoding(name: str) -> None:
    """Google Benchmark filters bytes; \udce4 is one that is no UTF-8."""
    side = f"{FAKE} {shlex.quote(f'only={name}')}"
    (item,) = compared(side, f"{side} slow=1.5", most_rounds=14).comparisons
    assert item.verdict is Verdict.SLOWER, item.reason


NAMES = [
    "BM_s\u00f6rt", "BM_sort", "BM_soort", "BM_short", "a\u2192b", "x.1", "x-1", "x+1", "f<int*>", "f<int&>",
    "b(1)", "b{1}", "b|1", "e$", "gr\u00f6\u00dfe", "gro\u0308\u00dfe", 'q"s\\t', "a[1]", "a^2", "tab\t",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_filter_of_a_name_fits_no_other(name: str) -> None:
    """Google Benchmark reads the bytes of both; the last four have characters for which a dot stands."""
    wanted = re.compile(os.fsencode(exactly([name])))
    assert [other for other in NAMES if wanted.search(other.encode())] == [name]


def test_the_filter_of_what_is_no_text_fits_its_bytes() -> None:
    for name in ("latin\udce4", "latin\udce4\udce5"):
        known = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        assert re.search(os.fsencode(exactly([known])), os.fsencode(name))


@pytest.mark.parametrize("other", ["two\udce4", "two\udce5"])  # noqa: PT014
def test_benchmarks_of_one_name_are_not_told_apart(other: str) -> None:
    """Also where the names differ in bytes that are no letters."""
    side = f"{FAKE} only=sum,two\udce4,{other}"
    found = by_name(compared(side, f"{side} slow=1.5", most_rounds=14))
    assert {name: item.verdict for name, item in found.items()} == {
        "sum": Verdict.SLOWER,
        "two\ufffd": Verdict.FAILED,
    }
    assert "has several benchmarks called two\ufffd" in found["two\ufffd"].reason


def test_common_benchmarks_are_compared_and_the_rest_listed() -> None:
    found = compared(f"{FAKE} only=a,b", f"{FAKE} only=b,c", most_rounds=3)
    assert list(by_name(found)) == ["b"]
    assert [(item.benchmark, *item.missing_in) for item in found.lacking] == [
        ("a", f"{FAKE} only=b,c"),
        ("c", f"{FAKE} only=a,b"),
    ]


def test_a_benchmark_that_one_of_three_lacks_is_compared_for_the_others() -> None:
    found = compared(f"{FAKE} only=a,b", f"{FAKE} only=b,a slow=1.5", f"{FAKE} only=b slow=1.5")
    assert [(item.benchmark, item.b, item.verdict) for item in found.comparisons] == [
        ("a", f"{FAKE} only=b,a slow=1.5", Verdict.SLOWER),
        ("b", f"{FAKE} only=b,a slow=1.5", Verdict.SLOWER),
        ("b", f"{FAKE} only=b slow=1.5", Verdict.SLOWER),
    ]
    assert [(item.benchmark, *item.missing_in) for item in found.lacking] == [
        ("a", f"{FAKE} only=b slow=1.5")
    ]


def test_a_round_tells_in_which_order_it_launched() -> None:
    _, sides = resolve([WrittenSide("true a"), WrittenSide("true b"), WrittenSide("true c")], "command")
    subject = subject_of("command", sides, MeasuringOptions(5.0))
    subject.survey()
    for seed in range(4):
        found = subject.round(["command"], seed)
        assert [subject.labels[side] for side in found.order["command"]] == [row["side"] for row in found.raw]


def test_a_benchmark_that_crashes_costs_no_other() -> None:
    rows = by_name(compared(FAKE, f"{FAKE} crash=str/1 slow=1.5"))
    assert "crashed with SIGSEGV" in rows["str/1"].reason
    assert rows["str/1"].verdict is Verdict.FAILED
    assert rows["sum"].verdict is rows["str/2"].verdict is Verdict.SLOWER


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("silent", "wrote no results that Google Benchmark would write"),
        ("error=sum", "reports an error: no such device"),
        ("code=3", "exited with code 3"),
        ("slow=0", "too short for its clock"),
        ("slow=nan", "too short for its clock"),
    ],
)
def test_results_that_make_no_sense(words: str, reason: str) -> None:
    item = only(compared(f"{FAKE} only=sum", f"{FAKE} only=sum {words}"))
    assert item.verdict is Verdict.FAILED
    assert reason in item.reason


def test_a_side_that_offers_nothing() -> None:
    item = only(compared(FAKE, f"{FAKE} only=none list_code=1"))
    assert (item.benchmark, item.verdict) == ("*", Verdict.FAILED)
    assert "does not list its benchmarks: it exited with code 1" in item.reason
    item = only(compared(FAKE, f"{FAKE} only="))
    assert item.reason.endswith("offers no benchmark")


def test_what_an_executable_writes_goes_with_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    compared(f"{FAKE} only=sum write", f"{FAKE} only=sum", most_rounds=3)
    assert list(tmp_path.iterdir()) == []


def test_a_filter_names_benchmarks_and_no_others() -> None:
    names = ["BM<int, 3>/8", "a.b", "-x", "map[7]+"]
    pattern = exactly(names)
    assert all(re.fullmatch(pattern, name) for name in names)
    assert not re.search(pattern, "a.bc")
    assert pattern.startswith("^")  # a leading minus would turn the filter round


def test_sides_of_different_kinds_are_refused() -> None:
    with pytest.raises(TollError, match="is a Google Benchmark executable, sleep 1 is a command line"):
        resolve([WrittenSide(FAKE), WrittenSide("sleep 1")])
    kind, sides = resolve([WrittenSide(FAKE), WrittenSide("sleep 1")], "command")
    assert kind == "command"
    assert sides[1].command == ("/usr/bin/sleep", "1") or sides[1].command[0].endswith("/sleep")


@pytest.mark.parametrize("texts", [["one"], ["", "x"], ["'open", "x"]])
def test_sides_that_make_no_sense(texts: list[str]) -> None:
    with pytest.raises(TollError):
        resolve([WrittenSide(text) for text in texts])


def test_an_executable_that_is_not_there() -> None:
    with pytest.raises(TollError, match=r"there is no executable \./gone"):
        resolve([WrittenSide("./gone"), WrittenSide("./gone")], "google-benchmark")


@pytest.mark.parametrize("kind", ["auto", "command"])
def test_a_path_to_nothing_is_no_command_line(kind: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program\n")
    there = WrittenSide("true")
    with pytest.raises(TollError, match=r"there is no executable \./gone"):
        resolve([WrittenSide("./gone --all"), there], kind, as_typed=True)
    # What is there and cannot be run is a row that says so: of a revision it ends no other one's measuring.
    text = WrittenSide("./text", base=tmp_path)
    assert resolve([there, text], kind, as_typed=True)[0] == "command"


@pytest.mark.parametrize("kind", ["auto", "command"])
def test_a_bare_name_that_no_shell_knows_is_a_mistake(
    kind: str, script: Callable[[str, str], str], tmp_path: Path
) -> None:
    """It was timed as a shell that finds nothing, or called another kind than the other side."""
    script("bench_new", "exit 0")
    there = WrittenSide("true")
    with pytest.raises(TollError, match=r"there is no executable bench_nwe$") as told:
        resolve([there, WrittenSide("bench_nwe --all", base=tmp_path)], kind, as_typed=True)
    assert told.value.next_step == "build it, or name another one: is bench_new meant?"
    with pytest.raises(TollError, match=r"there is no executable no-such-thing$") as told:
        resolve([there, WrittenSide("no-such-thing", base=tmp_path)], kind, as_typed=True)
    assert told.value.next_step == "build it, or name another one"


def test_what_was_built_and_is_gone_is_told_by_its_launch() -> None:
    assert resolve([WrittenSide("./made 1"), WrittenSide("./made 2")])[0] == "command"


@pytest.mark.parametrize(
    "text", ["./gon? --all", "A=/b ./gone", "~/gone", "cd /tmp && ./gone", "ulimit -s", "true 1", ": 1"]
)
def test_what_a_shell_may_find_is_left_to_it(text: str) -> None:
    assert resolve([WrittenSide(text), WrittenSide("true")], as_typed=True)[0] == "command"


def test_a_command_may_lie_in_the_folder_where_it_runs(
    script: Callable[[str, str], str], tmp_path: Path
) -> None:
    script("here", "exit 0")
    assert (
        resolve([WrittenSide("./here", folder=tmp_path), WrittenSide("true")], as_typed=True)[0] == "command"
    )


def in_checkouts(tmp_path: Path, program: str, folder: Path | None = None) -> list[WrittenSide]:
    """The sides of two revisions, each with what a project may have built."""
    for name in ("old", "new", "elsewhere"):
        (tmp_path / name / "data").mkdir(parents=True)
        for file in ("bench", "run.sh", "sort"):
            path = tmp_path / name / file
            path.write_text(f"#!/bin/sh\n: {name}\n")
            path.chmod(0o755)
        (tmp_path / name / "bench.py").write_text(f"print('{name}')\n")
    recipe = RevisionBuild("true", program, folder)
    return [side_in(tmp_path / name, recipe, name) for name in ("old", "new")]


@pytest.mark.parametrize(
    ("program", "behind"),
    [
        ("./bench", ""),
        ("./bench --size 9 data", " --size 9 data"),
        ("./run.sh ./bench", " {}/bench"),
        ("./bench bench.py", " bench.py"),  # what it reads, which is that in the folder
        ("python3 bench.py data", " {}/bench.py data"),
        ("env -u X ./data", " -u X {}/data"),
    ],
)
def test_revisions_in_one_folder_start_what_each_of_them_built(
    tmp_path: Path, program: str, behind: str
) -> None:
    written = in_checkouts(tmp_path, program, tmp_path / "elsewhere")
    _, sides = resolve(written, as_typed=True)
    assert [side.folder for side in sides] == [tmp_path / "elsewhere"] * 2
    for side in sides:
        own = tmp_path / side.label
        first = str(own / program.split()[0]) if program.startswith("./") else side.command[0]
        assert shlex.join(side.command) == first + behind.format(own)
    assert sides[0].command != sides[1].command


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("./bench < bench.py", "a shell in --folder"),
        ("./bench *.py", "a shell in --folder"),  # which is a pattern to a benchmark executable alone
        ("python3 -m benches", "no file in the checkout of old"),
        ("sleep 1", "no file in the checkout of old"),
    ],
)
def test_revisions_that_one_folder_would_make_the_same_command_are_refused(
    tmp_path: Path, program: str, told: str
) -> None:
    with pytest.raises(TollError, match=told):
        resolve(in_checkouts(tmp_path, program, tmp_path / "elsewhere"), as_typed=True)
    resolve(in_checkouts(tmp_path / "apart", program), as_typed=True)


@pytest.mark.parametrize("program", ["sort", "sort -n bench.py", "sort < bench.py", "  sort|cat"])
def test_a_program_is_the_checkouts_and_not_the_systems_of_that_name(tmp_path: Path, program: str) -> None:
    _, sides = resolve(in_checkouts(tmp_path, program), as_typed=True)
    for side in sides:
        if side.command[0] == "/bin/sh":
            assert side.command[2].startswith("./sort")
        else:
            assert side.command[0] == str(tmp_path / side.label / "sort")
    _, (one, _) = resolve(in_checkouts(tmp_path / "another", "cat bench.py"), as_typed=True)
    assert one.command == (shutil.which("cat"), "bench.py")


def test_the_same_side_twice_gets_a_number() -> None:
    _, sides = resolve([WrittenSide("sleep 1"), WrittenSide("sleep 1"), WrittenSide("sleep 1")])
    assert [side.label for side in sides] == ["sleep 1", "sleep 1 (2)", "sleep 1 (3)"]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (["x (2)", "x"], ["x (2)", "x"]),
        (["x", "x (2)", "x"], ["x", "x (2)", "x (3)"]),
        (["x", "x", "x (2)"], ["x", "x (3)", "x (2)"]),
    ],
)
def test_a_side_that_is_called_like_a_number_of_another_one_keeps_its_name(
    named: list[str], expected: list[str]
) -> None:
    _, sides = resolve([WrittenSide("sleep 1", label=label) for label in named])
    assert [side.label for side in sides] == expected


def test_a_command_line_runs_here_and_an_executable_elsewhere(tmp_path: Path) -> None:
    _, commands = resolve([WrittenSide("pwd", base=tmp_path), WrittenSide("pwd", base=tmp_path)])
    _, executables = resolve([WrittenSide(FAKE), WrittenSide(FAKE)])
    assert commands[0].folder == tmp_path
    assert executables[0].folder is None


def test_preloaded_libraries_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/already.so")
    _, sides = resolve([WrittenSide("true"), WrittenSide("true", preload=("/mine.so",))])
    assert sides[0].environment["LD_PRELOAD"] == "/already.so"
    assert sides[1].environment["LD_PRELOAD"] == "/mine.so:/already.so"


def test_a_program_that_would_switch_randomisation_off_is_told_a_name_that_leads_nowhere(
    tmp_path: Path,
) -> None:
    """Not even to a file of its own name in the folder where it runs: that would run in its place."""
    (tmp_path / Path(FAKE).name).touch(0o755)
    side = f"{FAKE} only=sum"
    kind, sides = resolve([WrittenSide(text, folder=tmp_path) for text in (side, f"{side} aslr")])
    subject = subject_of(kind, sides, MeasuringOptions(20.0))
    assert isinstance(subject, GoogleBenchmark)
    subject.survey()
    subject.round(["sum"], 1)
    assert subject.called(sides[0]) == (FAKE, None)
    told, file = subject.called(sides[1])
    assert (Path(told).name, file) == (Path(FAKE).name, FAKE)
    assert not (tmp_path / told).exists()
    assert subject.round(["sum"], 2).failures == {}


def timed(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    return [{"real_time": real, "cpu_time": cpu} for real, cpu in pairs]


def test_repetitions_that_lost_the_processor_are_left_out() -> None:
    calm = timed((100.0, 99.9), (101.0, 100.9))
    preempted = timed((400.0, 100.1), (180.0, 100.0))
    assert undisturbed([calm[0], preempted[0], calm[1], preempted[1]]) == (calm, preempted)


def test_a_program_that_waits_by_itself_keeps_all_repetitions() -> None:
    sleeping = timed((1000.0, 10.0), (1010.0, 9.0), (1005.0, 11.0))
    assert undisturbed(sleeping) == (sleeping, [])


def test_what_has_no_cpu_time_is_kept() -> None:
    rows: list[dict[str, Any]] = [{"real_time": 5.0}, {"real_time": "x", "cpu_time": 1.0}]
    assert undisturbed(rows) == (rows, [])
    assert undisturbed([]) == ([], [])


def test_a_side_that_failed_leaves_its_time_to_the_others() -> None:
    kind, sides = resolve(
        [WrittenSide(f"{FAKE} only=sum{words}") for words in ("", " crash=sum", " slow=1.5")]
    )
    subject = subject_of(kind, sides, MeasuringOptions(20.0))
    subject.survey()
    rounds = [subject.round(["sum"], seed) for seed in range(3)]
    launched = [launch["side"] for found in rounds for launch in found.raw]
    assert set(launched) == {sides[0].label, sides[2].label}
    assert all("crashed with SIGSEGV" in found.failures["sum"][1] for found in rounds)
    assert rounds[2].values["sum"][2] / rounds[2].values["sum"][0] == pytest.approx(1.5, rel=0.05)


def test_the_side_that_fails_in_its_trial_is_the_one_that_is_named() -> None:
    kind, sides = resolve([WrittenSide(f"{FAKE} only=sum crash=sum"), WrittenSide(f"{FAKE} only=sum")])
    subject = subject_of(kind, sides, MeasuringOptions(20.0))
    subject.survey()
    assert list(subject.round(["sum"], 1).failures["sum"]) == [0]


def test_a_filter_that_nothing_matches_is_in_the_reason() -> None:
    item = only(compared(FAKE, FAKE, pattern="gone"))
    assert item.reason.endswith("offers no benchmark that matches 'gone'")


@pytest.mark.parametrize(("pattern", "found"), [("(?i)SUM.1", ["sum/1"]), ("-2", []), ("1|x", ["sum/1"])])
def test_a_filter_is_read_alike_for_all_kinds_and_within_the_sides_own(
    pattern: str, found: list[str]
) -> None:
    """Google Benchmark takes "-2" for all but 2, and knows no "(?i)"."""
    side = f"{FAKE} only=sum/1,sum/2,str/1 '--benchmark_filter=^sum'"
    rows = compared(side, side, pattern=pattern, most_rounds=2).comparisons
    assert [row.benchmark for row in rows if row.verdict is not Verdict.FAILED] == found


def test_counters_of_a_benchmark_are_not_its_time() -> None:
    item = only(compared(f"{FAKE} only=sum counters", f"{FAKE} only=sum counters slow=1.5"))
    assert item.a_ns == pytest.approx(100.0, rel=0.05)
    assert item.ratio == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize(
    ("a", "b", "comparable"),
    [
        ("", "version=v1.9.0", False),
        ("version=v1.9.1-3-g12", "version=v1.8.5", False),
        ("version=v1.9.0", "version=1.10.2", True),
        ("", "version=v1.8.5", True),
        ("version=v1.9.0", "version=", True),  # nobody can tell
    ],
)
def test_several_threads_are_not_compared_across_versions_that_time_them_otherwise(
    a: str, b: str, comparable: bool
) -> None:
    item = only(compared(f"{FAKE} only=sum threads=4 {a}", f"{FAKE} only=sum threads=4 {b}", most_rounds=2))
    assert (item.verdict is not Verdict.FAILED) is comparable
    assert ("runs several threads, whose wall time here" in item.reason) is not comparable
    assert only(compared(f"{FAKE} only=sum {a}", f"{FAKE} only=sum {b}", most_rounds=2)).launches == 2


def test_a_benchmark_that_reports_aggregates_alone() -> None:
    item = only(compared(f"{FAKE} only=sum aggregates", f"{FAKE} only=sum aggregates slow=1.5"))
    assert item.ratio == pytest.approx(1.5, rel=0.05)


def test_a_benchmark_that_skips_itself_says_why() -> None:
    item = only(compared(f"{FAKE} only=sum", f"{FAKE} only=sum skip=sum"))
    assert "skips sum: not on this machine" in item.reason


@pytest.mark.parametrize(("name", "told"), [("a/min_time:0.1", "0.001"), ("new/iterations:5", "")])
def test_a_length_that_the_source_fixes_makes_one_repetition_a_launch(name: str, told: str) -> None:
    new = "" if told else " new"
    _, sides = resolve([WrittenSide(f"{FAKE} only={name} fixed=1000000{new}")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    subject.survey()
    assert not subject.prepare(name)
    assert subject.launch(sides[0], [name], 1)[0][name] == pytest.approx([100.0], rel=0.05)


@pytest.mark.parametrize("order", [1, -1])
def test_iterations_are_those_of_the_quickest_side_whichever_is_named_first(
    monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    """Fewer only beside one that is slower by orders of magnitude."""
    for slow, told in (("1", "4096x"), ("16", "4096x"), ("1e6", "1x")):
        asked: list[str] = []
        both = [WrittenSide(f"{FAKE} only=sum new"), WrittenSide(f"{FAKE} only=sum new slow={slow}")]
        _, sides = resolve(both[::order])
        subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
        monkeypatch.setattr(subject, "_beside_ns", lambda *_: 0.0)
        subject.survey()
        subject.prepare("sum")
        run = subject.run

        def noted(side: Any, arguments: Any, seed: Any = None, run: Any = run, asked: Any = asked) -> Ended:
            asked.extend(arguments)
            return run(side, arguments, seed)

        monkeypatch.setattr(subject, "run", noted)
        subject.launch(sides[0], ["sum"], 1)
        assert f"--benchmark_min_time={told}" in asked


@pytest.mark.parametrize(("words", "start_ns", "repetitions"), [("", 1e9, 7), ("works=30", 0.0, 3)])
def test_what_prepares_itself_for_each_repetition_has_few(
    words: str, start_ns: float, repetitions: int
) -> None:
    """30 ms of set-up before each 0.3 ms that count; where all is the start's, no set-up."""
    _, sides = resolve([WrittenSide(f"{FAKE} new only=sum {words}")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    subject.survey()
    subject.launch_overhead_ns = start_ns
    subject.prepare("sum")
    values, _ = subject.launch(sides[0], ["sum"], 1)
    assert len(values["sum"]) == repetitions


@pytest.mark.parametrize(
    ("beside_ms", "repetition_s"),
    [(-1.0, 0.0003), (0.9, 0.0003), (1.1, 0.001), (6.0, 0.002), (30.0, 0.008), (900.0, 0.001)],
)
def test_a_repetition_is_as_long_as_what_stands_beside_it_is_worth(
    beside_ms: float, repetition_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, sides = resolve([WrittenSide(f"{FAKE} only=sum")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    monkeypatch.setattr(subject, "_beside_ns", lambda *_: 1e6 * beside_ms)
    subject.survey()
    subject.prepare("sum")
    asked: list[str] = []
    run = subject.run

    def noted(side: Any, arguments: Any, seed: Any = None) -> Ended:
        asked.extend(arguments)
        return run(side, arguments, seed)

    monkeypatch.setattr(subject, "run", noted)
    subject.launch(sides[0], ["sum"], 1)
    assert f"--benchmark_min_time={repetition_s:g}" in asked


def test_a_launch_is_worth_the_quartile_of_its_repetitions() -> None:
    """A neighbour that takes a part of two thirds of them moves nothing."""
    _, sides = resolve([WrittenSide(f"{FAKE} only=sum")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    quiet, loud = [100.0, 101.0, 102.0, 103.0], [130.0, 150.0, 170.0, 190.0, 210.0, 230.0, 250.0]
    values = subject.values_of({0: [*quiet, *loud], 1: loud[:1] * 7})
    assert 101.0 < values[0] < 103.0
    assert values[1] == 130.0


def test_sides_with_other_numbers_of_repetitions_have_the_same_quartile() -> None:
    """NumPy's own of 3 and of 20 normal values lie 0.2 deviations apart: equal sides differed for that."""
    _, sides = resolve([WrittenSide(f"{FAKE} only=sum")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    chance = np.random.default_rng(1)
    pairs = [
        subject.values_of(
            {0: chance.normal(100.0, 1.0, 3).tolist(), 1: chance.normal(100.0, 1.0, 20).tolist()}
        )
        for _ in range(4000)
    ]
    assert abs(np.mean([pair[1] - pair[0] for pair in pairs])) < 0.06  # its own error is 0.011


def test_beside_a_median_of_its_own_the_other_side_has_one() -> None:
    _, sides = resolve([WrittenSide(f"{FAKE} only=sum")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    assert subject.values_of({0: [100.0], 1: [98.0, 99.0, 100.0, 101.0, 102.0]}) == {0: 100.0, 1: 100.0}


@pytest.mark.parametrize(
    "row",
    [{"iterations": math.nan}, {"run_type": "aggregate"}, {"run_name": "x/manual_time"}, {"iterations": ""}],
)
def test_rows_that_do_not_tell_their_length_say_nothing_of_set_up(row: dict[str, Any]) -> None:
    _, sides = resolve([WrittenSide(f"{FAKE} only=sum")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    whole = {"run_name": "x", "run_type": "iteration", "real_time": 1.0, "time_unit": "ms", "iterations": 2}
    ended = Ended(0, 100_000_000, 1, b"", b"", 0)
    assert subject._beside_ns([whole] * 3, ended) == pytest.approx(92e6 / 3)
    assert subject._beside_ns([whole, whole | row], ended) == 0.0


def test_a_timer_of_its_own_says_nothing_of_the_processor() -> None:
    rows = [row | {"run_name": "x/manual_time"} for row in timed((100.0, 90.0), (100.0, 10.0))]
    assert undisturbed(rows) == (rows, [])


@pytest.mark.parametrize("sleeps", [True, False])
def test_what_a_program_waited_by_itself_is_its_own_time(
    sleeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, sides = resolve([WrittenSide(f"{FAKE} only=sum waits")] * 2)
    subject = GoogleBenchmark(sides, MeasuringOptions(20.0))
    monkeypatch.setattr(subject, "_beside_ns", lambda *_: 0.0)
    subject.survey()
    subject.prepare("sum")
    run = subject.run

    def counted(*arguments: Any) -> Ended:
        return replace(run(*arguments), voluntary_switches=1000 if sleeps else 0)

    monkeypatch.setattr(subject, "run", counted)
    values, _ = subject.launch(sides[0], ["sum"], 1)
    assert len(values["sum"]) == (7 if sleeps else 4)
    assert len(subject.left_out.get("sum", [])) == (0 if sleeps else 3)


def test_a_voluntary_switch_is_counted(tmp_path: Path) -> None:
    sleeping = run_command(["/bin/sh", "-c", "for i in 1 2 3 4 5; do sleep 0.001; done"], {}, tmp_path, 60)
    assert sleeping.voluntary_switches >= 5


@pytest.mark.parametrize(
    "arguments",
    [
        "--benchmark_filter=BM_.*",
        "--benchmark_filter=^BM_[ab]?$",
        "'--benchmark_filter=BM_(a|b)$' --x",
        '"--benchmark_filter=BM_(a|b)" --x',
        r"--benchmark_filter=BM_\(a\|b\)",
        "--benchmark_filter=BM_(a|b)/[0-9]+$ --x",
        "--benchmark_filter=^((a|b)(c|d)?)$",
        '"with \\"quotes\\" | and a bar"',
        "a#b a~b",
    ],
)
def test_a_pattern_in_its_arguments_leaves_an_executable_what_it_is(arguments: str) -> None:
    side = WrittenSide(f"{FAKE} {arguments}")
    assert kind_of(side) == "google-benchmark"


@pytest.mark.parametrize(
    "arguments",
    [
        '"a\\\\b" > "out.txt"',
        '"a\\"b" | "cat"',
        '"\\$x" ; "ls"',
        "\"\\\"it's\" > 'x'",
        "~/data",
        "$HOME",
        '"$HOME"',
        "$$",
        "$?",
        "$(date)",
        "--x=$(date)/(a)",
        "--x=(a|b)|cat",
        "(date)",
        "--x=(a b)",
        '"`date`"',
        "# old",
        "> out.txt",
        "&",
        "&& ls",
        "< in.txt",
        "\n ls",
        "'unended",
    ],
)
def test_what_only_a_shell_understands_is_a_command_line(arguments: str) -> None:
    assert kind_of(WrittenSide(f"{FAKE} {arguments}")) == "command"


@pytest.mark.parametrize("kind", adapters())
def test_what_is_measured_is_called_by_its_kind(kind: str) -> None:
    sides = [Side("a", ("/bin/true",)), Side("b", ("/bin/true",))]
    assert subject_of(kind, sides, MeasuringOptions(1.0)).kind == kind


def test_a_word_that_is_no_kind_is_refused() -> None:
    with pytest.raises(TollError, match="--kind nope is not known") as raised:
        resolve([WrittenSide("true"), WrittenSide("true")], "nope")
    assert "auto, " in raised.value.next_step
    assert "go-test" in raised.value.next_step
