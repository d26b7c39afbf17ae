"""`toll compare` as a whole: exit codes, files, revisions, Ctrl-C."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tollbench import cli
from tollbench.cli import comparing, counting, machine_use, places
from tollbench.compare import Comparison, Comparisons, Verdict, compare
from tollbench.compare.raw_file import RawFile
from tollbench.compare.stored import StoredComparison
from tollbench.errors import TollError
from tollbench.interpreters import interpreter_with_path
from tollbench.launching.failure import Interrupted
from tollbench.measure import Interrupt
from tollbench.report.comparisons import comparison_terminal
from tollbench.writing import check_outputs

ROOT = Path(__file__).parents[3]
FAKE = str(Path(__file__).with_name("fake_google_benchmark.py"))
SCHEMA = json.loads((ROOT / "schemas/compare.schema.json").read_text(encoding="utf-8"))
Toll = Callable[..., int]


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    """Runs `toll compare` in an empty folder, without the machine's lock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setattr(places, "RUNS", tmp_path / "runs")

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["toll", "compare", *words])
        return cli.main()

    return run


def answer(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def launches_in(raw: Path) -> list[dict[str, Any]]:
    """The lines that are of a launch."""
    records = [json.loads(line) for line in raw.read_text().splitlines()]
    return [record for record in records if "side" in record]


def test_a_regression_ends_with_1_and_all_files(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    side = "sleep 0.003"
    files = ["--html", "x.html", "--markdown", "x.md", "--junit", "x.xml", "--raw", "x.jsonl"]
    assert toll(side, "sleep 0.06", "--budget", "30s", "--until", "direction", "--json", *files) == 1
    found = answer(capsys)
    assert [row["verdict"] for row in found["comparisons"]] == ["slower"]
    assert found["raw"] == "x.jsonl"
    launches = [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]
    assert launches[0]["sides"] == [side, "sleep 0.06"]
    assert sum(launch.get("side") == side for launch in launches) == found["comparisons"][0]["launches"]
    assert ElementTree.parse("x.xml").getroot()[0].get("failures") == "1"
    assert "REGRESSION" in Path("x.html").read_text()
    assert "REGRESSION" in Path("x.md").read_text()


def test_files_that_cannot_be_written_cost_neither_the_answer_nor_the_others(
    toll: Toll, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--html", "/dev/full", "--markdown", "x.md", "--junit", "/dev/full"]
    assert (
        toll(
            "sleep 0.003",
            "sleep 0.06",
            "--budget",
            "30s",
            "--until",
            "direction",
            "--json",
            "--raw",
            "x.jsonl",
            *files,
        )
        == 1
    )
    told = capsys.readouterr()
    assert json.loads(told.out)["comparisons"][0]["regression"]
    assert "REGRESSION" in Path("x.md").read_text()
    assert told.err.count("cannot write /dev/full: No space left on device") == 2
    assert "name a writable place: --html FILE; the answer is printed, every launch is in x.jsonl" in told.err


@pytest.mark.parametrize("option", ["--html", "--markdown", "--junit"])
@pytest.mark.parametrize(("place", "what"), [("gone/x", "there is no folder"), (".", "is a folder")])
def test_a_place_that_nothing_can_be_written_to_is_refused_before_measuring(
    toll: Toll, capsys: pytest.CaptureFixture[str], option: str, place: str, what: str
) -> None:
    assert toll("touch began", "touch began", option, place) == 2
    assert not Path("began").exists()
    told = capsys.readouterr().err
    assert f"{option} {place}" in told
    assert what in told


def test_a_device_and_a_new_file_are_places(toll: Toll) -> None:
    files = comparing.reports(force=False, html=None, markdown=Path("/dev/null"), junit=Path("x.xml"))
    check_outputs(list(files.values()))


def test_a_reader_that_has_left_costs_no_file(
    toll: Toll, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(_found: Comparisons) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(comparison_terminal, "show", left)
    assert toll("true", "false", "--html", "x.html") == 0
    assert "failed" in Path("x.html").read_text()


def test_what_sides_print_is_compared_and_commands_stand_around_it(
    toll: Toll, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [f"echo name,us; echo sum,{time}" for time in (10, 11)]
    around = ["--setup", "echo s >> log", "--prepare", "echo p >> log", "--cleanup", "echo c >> log; exit 3"]
    assert toll(*sides, "--read", "csv:name,us,us", *around, "--budget", "60s", "--json") == 1
    told = capsys.readouterr()
    (row,) = json.loads(told.out)["comparisons"]
    assert (row["benchmark"], row["a_ns"], row["ratio"]) == ("sum", pytest.approx(1e4), pytest.approx(1.1))
    assert row["a_used"]["exit_codes"] == [0]
    assert Path("log").read_text().split() == ["s", *["p"] * 2 * (1 + row["launches"]), "c"]
    assert "note: --cleanup 'echo c >> log; exit 3' exited with code 3" in told.err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--read", "xml"], "--read xml cannot be understood"),
        (["--read", "json", "--kind", "catch2"], "--kind catch2 does not read with --read"),
        (["--prepare", "a"] * 3, "--prepare is there 3 times, and the sides are 2"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    toll: Toll, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    assert toll("true", "true", *words) == 2
    assert what in capsys.readouterr().err


def test_machines_share_a_table_by_parts(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [f"echo name,us; echo one,{us}; echo two,{us}; echo three,{us}" for us in (10, 11)]
    words = (*sides, "--read", "csv:name,us,us", "--budget", "1s", "--total-budget", "2s")
    assert toll(*words, "--share", "1/2", "--json") in (1, 3)
    first = answer(capsys)
    assert [row["benchmark"] for row in first["comparisons"]] == ["one", "three"]
    assert StoredComparison.read(Path(first["raw"])).comparisons.part_of == first["part_of"] != ""
    assert toll(*words, "--share", "2/2", "--json") in (1, 3)
    assert [row["benchmark"] for row in answer(capsys)["comparisons"]] == ["two"]
    assert toll(*words, "--share", "4/4", "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["comparisons"] == []
    assert "of 4 parts this one has no benchmark" in told.err
    for wrong in ("3/2", "0/2", "1", "1/2/3"):
        assert toll(*words, "--share", wrong) == 2
        assert "is no part of several" in capsys.readouterr().err


def test_faster_is_fine(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    assert toll("sleep 0.06", "sleep 0.003", "--budget", "30s", "--until", "direction") == 0
    assert "faster by" in capsys.readouterr().out
    assert [path.suffix for path in Path("runs").iterdir()] == [".jsonl"]


def test_what_is_open_ends_with_3(toll: Toll) -> None:
    assert toll("sleep 0.2", "sleep 0.2", "--budget", "1s", "--measure-all") == 3


def test_what_failed_ends_with_2(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    assert toll("true", "false", "--json") == 2
    assert answer(capsys)["comparisons"][0]["reason"] == "false exited with code 1"


@pytest.mark.parametrize(
    ("number", "told"), [("nan", "too short for its clock"), ("inf", "longer than any launch")]
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_time_that_is_no_number_costs_its_own_row(
    toll: Toll, capsys: pytest.CaptureFixture[str], number: str, told: str, side: int
) -> None:
    sides = [f"{FAKE} only=sum,str/1", f"{FAKE} only=sum,str/1 slow=1.5"]
    sides[side] += f" {number}=sum"
    assert toll(*sides, "--budget", "30s", "--json", "--raw", "x.jsonl") == 1
    rows = {row["benchmark"]: row for row in answer(capsys)["comparisons"]}
    assert rows["sum"]["verdict"] == "failed"
    assert f"measured {number} ns for sum: {told}" in rows["sum"]["reason"]
    assert rows["str/1"]["verdict"] == "slower"
    launches = [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]
    assert {None} in [set(launch.get("ns", {}).get("sum", ())) for launch in launches]


@pytest.mark.parametrize(
    ("slow", "told"),
    [("1e300", " ns for sum: longer than any launch"), ("1e-12", " ns for sum: too short for its clock")],
)
def test_a_time_that_nobody_can_have_measured_leaves_a_file_that_can_be_read(
    toll: Toll, capsys: pytest.CaptureFixture[str], slow: str, told: str
) -> None:
    sides = [f"{FAKE} only=sum,str/1", f"{FAKE} only=sum,str/1 slow={slow}"]
    assert toll(*sides, "--budget", "30s", "--json", "--raw", "x.jsonl") == 2
    rows = {row["benchmark"]: row for row in answer(capsys)["comparisons"]}
    assert rows["sum"]["verdict"] == "failed"
    assert told in rows["sum"]["reason"]
    again = StoredComparison.read(Path("x.jsonl")).comparisons.comparisons
    assert {row.benchmark: row.reason for row in again} == {name: row["reason"] for name, row in rows.items()}


@pytest.mark.parametrize(
    ("verdicts", "regression", "interrupted", "code"),
    [
        (["no_difference", "faster", "slower"], False, False, 0),
        (["no_difference", "inconclusive"], False, False, 3),
        (["inconclusive", "failed"], False, False, 2),
        (["inconclusive", "failed", "slower"], True, False, 1),
        (["inconclusive", "slower"], True, True, 1),
        (["failed"], False, True, 130),
        ([], False, False, 2),
    ],
)
def test_which_exit_code_comes_first(
    verdicts: list[str], regression: bool, interrupted: bool, code: int
) -> None:
    rows = tuple(
        Comparison(
            benchmark="x",
            a="a",
            b="b",
            ratio=1.0,
            low=None,
            high=None,
            level=0.95,
            verdict=Verdict(verdict),
            launches=1,
            seconds=1.0,
            reason="",
            regression=regression and verdict == "slower",
        )
        for verdict in verdicts
    )
    found = Comparisons(
        comparisons=rows,
        kind="command",
        sides=("a", "b"),
        level=0.95,
        threshold=0.01,
        seconds=1.0,
        interrupted=interrupted,
    )
    assert comparing.exit_code(found) == code


def test_setup_may_make_the_programs(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    made = "printf '#!/bin/sh\\nexit $1\\n' > made && chmod +x made"
    toll("./made 0", "./made 0", "--setup", made, "--budget", "1s", "--measure-all")
    told = capsys.readouterr().out
    assert "no regression beyond" in told
    assert "failed" not in told


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["one"], "a comparison needs two sides"),
        (["./gone", "./gone", "--kind", "google-benchmark"], "there is no executable ./gone"),
        (["./gone 1", "true"], "there is no executable ./gone"),
        (["a", "b", "--budget", "soon"], "'soon' is not a length of time"),
        (["a", "b", "--threshold", "0"], "the threshold has a value"),
        (["a", "b", "--level", "0.9999999999999999"], "it can be 0.5 to 0.999999"),
        (["a", "b", "--build", "make"], "--build and --program belong together"),
        (["a", "b", "--build", "make", "--program", "./x"], "is not in a git repository"),
        (
            ["a", "b", "--build", "make", "--program", "./x", "--env", "jemalloc"],
            "--env goes without --build",
        ),
        (["a", "b", "--build", "make", "--program", "./x", "--set", "x=1"], "--set goes without --build"),
        (
            ["tasks/skynet/pthread", "--env", "host,tcmalloc", "--set", "tasks=10"],
            "--set does not go with several --env",
        ),
        (["a", "b", "--count-only", "--why"], "--why is about times"),
        (["a", "b", "--count-only", "--count", ","], "--count , names nothing"),
        (["a", "b", "--count-by", "hardware", "--force"], "nothing is counted"),
        (["a", "b", "--layouts", "16"], "--layouts needs --build and --program"),
        (["a", "b", "--layouts", "1", "--build", "make", "--program", "./x"], "number of layouts"),
        (["x", "--env", "host"], "--env names one environment"),
        (["a", "b", "--env", "host,tcmalloc"], "--env compares one executable"),
        (["a", "b", "--filter", "("], "is not a regular expression"),
    ],
)
def test_what_makes_no_sense(
    toll: Toll, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    assert toll(*words) == 2
    told = capsys.readouterr().err
    assert what in told
    assert "next: " in told
    assert "Traceback" not in told


def test_an_existing_raw_file_is_not_overwritten(toll: Toll, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text("mine")
    assert toll("true", "true", "--raw", "x.jsonl") == 2
    assert Path("x.jsonl").read_text() == "mine"


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three revisions: a quick program, a slow one, one that does not build; and work in progress."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for message, build in (
        ("quick", "printf '#!/bin/sh\\nsleep 0.01\\n' > bench; chmod +x bench"),
        ("slow", "printf '#!/bin/sh\\nsleep 0.05\\n' > bench; chmod +x bench"),
        ("broken", "echo 'error: no such header' >&2; exit 3"),
    ):
        (folder / "build.sh").write_text(build)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", message)
    (folder / "build.sh").write_text("exit 9 # not committed")
    (folder / "notes.txt").write_text("mine")
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_revisions_are_built_apart_and_the_checkout_is_left_alone(
    toll: Toll, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(repository)
    monkeypatch.chdir(repository)
    build = ["--build", "sh build.sh", "--program", "./bench"]
    assert toll("HEAD~2", "HEAD~1", *build, "--budget", "20s", "--until", "direction", "--json") == 1
    row = answer(capsys)["comparisons"][0]
    assert row["verdict"] == "slower"
    assert row["a"].startswith("HEAD~2 (")
    assert snapshot(repository) == before


def test_revisions_that_run_in_the_working_tree_are_not_its_programs(
    toll: Toll, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    (repository / "bench").write_text("#!/bin/sh\nexit 7\n")
    (repository / "bench").chmod(0o755)
    here = ["--folder", ".", "--budget", "20s", "--until", "direction", "--json"]
    build = ["--build", "sh build.sh", "--program", "sh bench"]
    assert toll("HEAD~2", "HEAD~1", *build, *here) == 1
    assert answer(capsys)["comparisons"][0]["verdict"] == "slower"
    build = ["--build", f"touch {repository.parent}/was-built", "--program", "./bench < build.sh"]
    assert toll("HEAD~2", "HEAD~1", *build, *here) == 2
    assert "leave out --folder" in capsys.readouterr().err
    assert not (repository.parent / "was-built").exists()


def test_a_revision_that_does_not_build_is_a_row(
    toll: Toll, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    assert toll("HEAD~1", "HEAD", "--build", "sh build.sh", "--program", "./bench", "--json") == 2
    row = answer(capsys)["comparisons"][0]
    assert row["verdict"] == "failed"
    assert "does not build: `sh build.sh` exited with code 3: error: no such header" in row["reason"]


def test_in_all_pairs_a_revision_that_does_not_build_leaves_the_others(
    toll: Toll, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    build = ["--build", "sh build.sh", "--program", "./bench", "--budget", "20s", "--until", "direction"]
    assert toll("HEAD", "HEAD~2", "HEAD~1", *build, "--all-pairs", "--json") == 1
    timed, *failed = answer(capsys)["comparisons"]
    assert (timed["a"][:7], timed["b"][:7], timed["verdict"]) == ("HEAD~2 ", "HEAD~1 ", "slower")
    assert [(row["benchmark"], row["verdict"]) for row in failed] == [("*", "failed")] * 2
    assert all(row["reason"].startswith("HEAD (") and "does not build" in row["reason"] for row in failed)
    assert toll("HEAD", "HEAD~2", *build, "--all-pairs", "--json") == 2
    assert [row["verdict"] for row in answer(capsys)["comparisons"]] == ["failed"]


def test_a_revision_without_the_program_is_a_row(
    toll: Toll, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    (repository / "build.sh").write_text("exit 5\n")
    assert toll("HEAD~1", "HEAD~1", "--build", "true", "--program", "./gone", "--json") == 2
    told = capsys.readouterr()
    assert "builds, but `true` makes no ./gone" in json.loads(told.out)["comparisons"][0]["reason"]
    assert "changes in this checkout that are not committed are in none of the revisions" in told.err


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Two revisions of a program of some functions; the second one does thrice the work."""
    folder = tmp_path / "compiled"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for times in (200, 600):
        functions = "".join(
            f"__attribute__((noinline)) int f{number}(int x) {{ volatile int y = x; return y + {number}; }}\n"
            for number in range(8)
        )
        (folder / "bench.c").write_text(
            f"{functions}int main(void) {{ int x = 0; for (int i = 0; i < {times} * 10000; ++i)"
            f" x += {' + '.join(f'f{number}(i)' for number in range(8))}; return x == 1; }}\n"
        )
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"{times}")
    return folder


def test_each_side_is_linked_in_layouts_and_the_answer_is_about_the_change(
    toll: Toll, compiled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(compiled)
    monkeypatch.chdir(compiled)
    raw = compiled.parent / "raw.jsonl"
    unseen = "echo 'int g(void) { return 1; }' > extra.c && env -u COMPILER_PATH gcc -c extra.c"
    command = f"{unseen} && gcc -O1 bench.c extra.o -o bench"
    build = ["--build", command, "--program", "./bench", "--layouts", "8"]
    assert (
        toll("HEAD~1", "HEAD", *build, "--budget", "20s", "--until", "direction", "--json", "--raw", str(raw))
        == 1
    )
    printed = capsys.readouterr()
    assert "1 of the build's objects moves as a whole" in " ".join(printed.err.split())
    found = json.loads(printed.out)
    row = found["comparisons"][0]
    assert (found["layouts"], row["layouts"]) == (8, 8)
    assert row["verdict"] == "slower"
    assert row["ratio"] > 2
    assert "on average over 8 layouts" in row["reason"]
    launches = [json.loads(line) for line in raw.read_text().splitlines()]
    assert {one["layout"] for one in launches if "position" in one} == set(range(8))
    assert snapshot(compiled) == before


@pytest.mark.parametrize(
    ("build", "told"),
    [
        ("printf '#!/bin/sh\\n' > bench; chmod +x bench", "cannot be linked in other layouts"),
        ("env -u COMPILER_PATH gcc -O1 bench.c -o bench", "cannot be linked in other layouts"),
    ],
)
def test_a_build_that_cannot_be_linked_in_layouts_is_a_row(
    toll: Toll,
    compiled: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    build: str,
    told: str,
) -> None:
    monkeypatch.chdir(compiled)
    words = ["--build", build, "--program", "./bench", "--layouts", "8", "--json"]
    assert toll("HEAD~1", "HEAD", *words) == 2
    row = answer(capsys)["comparisons"][0]
    assert row["verdict"] == "failed"
    assert row["reason"].startswith("HEAD~1 (")
    assert told in row["reason"]


def test_an_interrupt_ends_a_wait_for_the_machine(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def interrupted(*_arguments: object, **_options: object) -> Iterator[None]:
        raise Interrupted
        yield

    monkeypatch.setattr(machine_use, "machine_lock", interrupted)
    assert toll("true", "false", "--wait") == 130
    assert "interrupted while waiting for another run" in capsys.readouterr().err


def test_an_interrupt_while_sides_are_built(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise Interrupted

    monkeypatch.setattr(comparing, "subject_for", interrupted)
    assert toll("true", "false") == 130
    assert "interrupted before anything was measured" in capsys.readouterr().err


def test_an_interrupt_ends_a_pause() -> None:
    interrupt = Interrupt()
    interrupt.request()
    comparing.PatientClock(interrupt).sleep(3600.0)  # pytest does not wait so long


def test_an_interrupt_before_sizes_are_read_leaves_what_was_measured(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*sides: Any, keep: Any, **options: Any) -> Comparisons:
        def kept(record: Mapping[str, Any]) -> None:
            keep(record)
            if record.get("round") == 8:
                signal.raise_signal(signal.SIGINT)

        return compare(*sides, keep=kept, **options)

    monkeypatch.setattr(comparing, "compare", interrupted)
    words = ["--measure-all", "--threshold", "1e-5", "--save-baseline", "kept.json", "--json"]
    assert toll("sleep 0.01", "sleep 0.01", "--count", "size", *words) == 130
    found = answer(capsys)
    (row,) = found["comparisons"]
    assert (found["interrupted"], found["files"]) == (True, [])
    assert row["launches"] == 8
    assert "No baseline was written to kept.json: somebody interrupted." in found["count_notes"]
    assert StoredComparison.read(Path(found["raw"])).comparisons == Comparisons.model_validate(found)


def test_what_was_measured_is_in_the_file_before_anything_is_counted(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, known = Path("raw.jsonl"), []
    counted = counting.counted

    def looked_at(*asked: Any) -> Any:
        known.append(StoredComparison.read(raw).comparisons)
        return counted(*asked)

    monkeypatch.setattr(counting, "counted", looked_at)
    words = ["--confirm", "--until", "direction", "--count", "size", "--raw", str(raw), "--json"]
    monkeypatch.setattr(comparing.PatientClock, "sleep", lambda _clock, _seconds: None)
    assert toll("sleep 0.001", "sleep 0.03", *words) == 1
    (row,) = answer(capsys)["comparisons"]
    assert row["reason"].endswith("confirmed by a second measurement")
    assert [item.reason for item in known[0].comparisons] == [row["reason"]]


@pytest.mark.parametrize("against", [True, False])
def test_an_interrupt_while_a_baseline_is_read_or_made_leaves_the_counts(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], against: bool
) -> None:
    if against:
        assert toll("sleep 0.01", "--count", "size", "--save-baseline", "kept.json") == 0
        capsys.readouterr()
        kept = json.loads(Path("kept.json").read_text())
        Path("kept.json").write_text(json.dumps(kept | {"counts": {"command": {}}}))  # a row of it

    def interrupted(*_sides: object) -> None:
        raise Interrupted

    monkeypatch.setattr(counting, "circumstances", interrupted)
    option = "--baseline" if against else "--save-baseline"
    assert toll("sleep 0.01", "--count", "size", option, "kept.json", "--json") == 130
    found = answer(capsys)
    assert [row["verdict"] for row in found["comparisons"]] == ["counted"]
    assert [file["count"]["verdict"] for file in found["files"]] == ["equal"]
    assert Path("kept.json").exists() is against


def sleeper(name: str, seconds: float) -> str:
    """A script that sleeps as long as a file beside it says at that time."""
    Path(f"{name}.s").write_text(f"{seconds}\n")
    Path(name).write_text(f"#!/bin/sh\nread seconds < {name}.s\nsleep $seconds\n")
    Path(name).chmod(0o755)
    return f"./{name}"


def test_what_the_second_measurement_does_not_find_is_inconclusive(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [sleeper("a", 0.03), sleeper("b", 0.09)]
    pauses: list[float] = []

    def pause(_clock: object, seconds: float) -> None:
        pauses.append(seconds)
        sleeper("b", 0.002)

    monkeypatch.setattr(comparing.PatientClock, "sleep", pause)
    assert toll(*sides, "--confirm", "--until", "direction", "--seed", "1", "--json", "--raw", "x.jsonl") == 3
    assert pauses == [20.0]
    row = answer(capsys)["comparisons"][0]
    assert (row["verdict"], row["regression"]) == ("inconclusive", False)
    assert row["reason"].startswith("not confirmed: first slower by")
    assert "; then faster by" in row["reason"]
    launches = launches_in(Path("x.jsonl"))
    assert row["launches"] == len(launches) // 2
    assert {launch["measurement"] for launch in launches} == {1, 2}
    seeds = [launch["seed"] for launch in launches]
    assert len(set(seeds)) == len(seeds)


def test_an_interrupt_in_the_pause_leaves_what_was_found_unconfirmed(
    toll: Toll, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pause = comparing.PatientClock.sleep

    def interrupted(clock: comparing.PatientClock, _seconds: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        pause(clock, 3600.0)  # pytest does not wait so long

    monkeypatch.setattr(comparing.PatientClock, "sleep", interrupted)
    assert (
        toll("sleep 0.003", "sleep 0.06", "--confirm", "--until", "direction", "--budget", "30s", "--json")
        == 130
    )
    row = answer(capsys)["comparisons"][0]
    assert (row["verdict"], row["regression"]) == ("inconclusive", False)
    assert row["reason"].startswith("interrupted before it was confirmed: slower by")


@pytest.mark.parametrize("name", ["nowhere", "--upload-pack=x"])
def test_a_revision_that_is_not_there(
    toll: Toll,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    monkeypatch.chdir(repository)
    assert toll("--build", "true", "--program", "./bench", "--", "HEAD", name) == 2
    assert f"there is no revision '{name}'" in capsys.readouterr().err


SCRIPT = """
import sys
from tollbench.cli import comparing, machine_use, main
machine_use.LOCK_FILES = ()
sys.argv[0] = "toll"
sys.exit(main())
"""


FULL_DISK = """
import resource
from tollbench.cli import comparing

class Small(comparing.RawFile):
    def __call__(self, record):
        super().__call__(record)
        # Rounds are counted, as what is said of each one grows: an interval needs six, the answer some
        # eighteen. The next launch finds room for a part of its record.
        if record.get("round") == 10 and "values" in record:
            room = self.path.stat().st_size + 100
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

comparing.RawFile = Small
"""


@pytest.mark.parametrize("regression", [True, False])
def test_a_disk_that_takes_no_more_ends_the_measuring_and_what_is_known_is_told(
    tmp_path: Path, regression: bool
) -> None:
    raw = tmp_path / "raw.jsonl"
    # Stand-ins, whose noise is their own: of sleeps, a neighbour that lasted over three of ten rounds left a
    # difference of 50 times in doubt. What differs by half a percent is not known well enough by ten.
    fast = f"{FAKE} only=sum,str"
    slow = f"{fast} slow=1.005 long=sum longer=2"
    words = ["compare", *((fast, slow) if regression else (slow, fast)), "--threshold", "0.0001"]
    words += ["--seed", "1", "--budget", "5m", "--raw", str(raw), "--json"]
    done = subprocess.run(
        interpreter_with_path("-c", FULL_DISK + SCRIPT, *words),
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "python"),
            "TOLL_FAKE_LAUNCHES": str(tmp_path / "launches"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (1 if regression else 2), done.stderr  # a gate lets 3 pass
    assert f"cannot write {raw}: File too large" in done.stderr
    assert "what was measured before is in the file" in done.stderr
    found = json.loads(done.stdout)
    assert found["interrupted"]
    twice, nearly = found["comparisons"]
    verdict = "slower" if regression else "faster"
    assert twice["verdict"] == verdict
    assert nearly["verdict"] in (verdict, "inconclusive")
    launches = launches_in(raw)
    assert 6 <= twice["launches"] <= nearly["launches"] == len(launches) // 2 == 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_from_outside_loses_no_launch(tmp_path: Path, number: signal.Signals) -> None:
    raw = tmp_path / "raw.jsonl"
    words = ["compare", "sleep 0.01", "sleep 0.01", "--measure-all", "--threshold", "0.0001"]
    words += ["--raw", str(raw), "--json"]
    toll = subprocess.Popen(
        interpreter_with_path("-c", SCRIPT, *words),
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not raw.exists() or raw.read_bytes().count(b"\n") < 8):
        time.sleep(0.02)
    toll.send_signal(number)
    out, _ = toll.communicate(timeout=60)
    kept = StoredComparison.read(raw)
    launches = launches_in(raw)
    assert len(launches) >= 4
    in_flight = len(launches) // 2 - len(kept.values("command"))
    assert 0 <= in_flight <= (number == signal.SIGKILL)  # a kill may come before a round's own line
    if number == signal.SIGINT:
        assert toll.returncode == 130
        found = json.loads(out)
        assert found["interrupted"]
        assert found["comparisons"][0]["launches"] == len(launches) // 2
        assert kept.comparisons == Comparisons.model_validate(found)


def test_a_raw_file_that_could_not_be_begun_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: RawFile, _record: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    raw = tmp_path / "raw.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(RawFile, "_append", full)
        with pytest.raises(TollError, match="No space left"):
            RawFile(raw, {})
    assert not raw.exists()
    with RawFile(raw, {}), pytest.raises(TollError, match="File exists"):
        RawFile(raw, {})
    assert raw.exists()


@pytest.mark.parametrize("against", [(), ("--baseline", "counts.json")])
def test_one_revision_is_counted_and_one_that_does_not_build_says_why(
    toll: Toll,
    compiled: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    against: tuple[str, ...],
) -> None:
    monkeypatch.chdir(compiled)
    build = ("--build", "gcc -O1 bench.c -o bench", "--program", "./bench")
    assert toll("HEAD", *build, "--count", "size", "--save-baseline", "counts.json") == 0
    assert "The counts of HEAD (" in capsys.readouterr().out
    saved = () if against else ("--save-baseline", "more.json")
    assert toll("HEAD", "--build", "exit 7", "--program", "./bench", "--count", "size", *against, *saved) == 2
    told = capsys.readouterr()
    assert "HEAD" in told.out
    assert "does not build: `exit 7`" in " ".join((told.out + told.err).split())


def test_parts_of_sides_that_share_no_benchmark_are_no_parts(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a part whose benchmarks one side lacks is as good as any."""
    for name, told in (("one", "a,5\nb,5\nc,5"), ("two", "x,5\ny,5\nz,5"), ("three", "a,5\nb,5\nd,5")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nprintf 'name,ns\\n{told}\\n'\n")
        program.chmod(0o755)
    words = ("--read", "csv:name,ns", "--budget", "1s", "--total-budget", "4s", "--json")
    for part in range(1, 4):
        assert toll(str(tmp_path / "one"), str(tmp_path / "two"), *words, "--share", f"{part}/3") == 2
        assert not json.loads(capsys.readouterr().out)["shared"]
    codes = []
    for part in range(1, 5):
        codes.append(toll(str(tmp_path / "one"), str(tmp_path / "three"), *words, "--share", f"{part}/4"))
        found = json.loads(capsys.readouterr().out)
        assert found["shared"]
        assert found["comparisons"] or codes[-1] == 0
    assert 2 not in codes
    (tmp_path / "four").write_text("#!/bin/sh\nprintf 'name,ns\\nx,5\\nz,5\\n'\n")
    (tmp_path / "four").chmod(0o755)
    three = [str(tmp_path / name) for name in ("one", "two", "four")]
    for part in range(1, 4):
        assert toll(*three, "--all-pairs", *words, "--share", f"{part}/3") in (0, 1, 3)
        assert json.loads(capsys.readouterr().out)["shared"], "two of three have x"


@pytest.mark.parametrize("against", [(), ("--baseline", "counts.json")])
def test_what_a_single_side_does_wrong_is_told_under_its_own_name(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], against: tuple[str, ...]
) -> None:
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\ntest -e fails && exit 3\ntrue\n")
    program.chmod(0o755)
    words = ("--kind", "command", "--count", "instructions")
    assert toll("true", *words, "--save-baseline", "counts.json") == 0
    capsys.readouterr()
    Path("fails").write_text("")
    saved = () if against else ("--save-baseline", "more.json")
    assert toll(str(program), *words, *against, *saved) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert "bench exited with code 3" in told
    assert "itself exited" not in told
    assert "counts.json exited" not in told
