"""`toll trust --rebuild`: false alarms over edits that change no code, counted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fake_sides import FakeClock, FakeSubject, steady
from rich.console import Console

from tollbench import cli
from tollbench.cli import machine_use, places, rebuilding
from tollbench.cli.rebuilding import exit_code
from tollbench.compare import Comparisons, ComparisonSettings, compare
from tollbench.compare.rebuilds import EVERY, Rebuilds, RebuildTerms, tried
from tollbench.compare.subject import Standing, Unusable
from tollbench.errors import Exit
from tollbench.launching.failure import Interrupted, LaunchFailed, NoRoom
from tollbench.report.comparisons import rebuild_tables

SCHEMA = Path(__file__).parents[3] / "schemas/trust-rebuild.schema.json"
TERMS = RebuildTerms(
    program="./bench",
    level=0.95,
    threshold=0.01,
    layouts=0,
    measured_all=True,
    trial_budget_s=10.0,
    seed=1,
)


def table(moved_by: float, *, proved: bool = False, round_s: float = 0.1) -> Comparisons:
    """What comparing a program with itself finds, where layout makes one benchmark of two slower by that."""
    benchmarks = {"sum": (steady(100.0), steady(100.0 * (1.0 + moved_by))), "add": (steady(5.0), steady(5.0))}
    sides = FakeSubject(FakeClock(), benchmarks, round_s=round_s)
    same = {("sum", 1): Standing(True, "same"), ("add", 1): Standing(True, "same")}
    return compare(
        sides,
        ComparisonSettings(seed=3, budget_s=10.0),
        clock=sides.clock,
        look_at_code=(lambda _sides: same) if proved else None,
    )


def counted(tables: Mapping[str, Comparisons], **more: Any) -> Rebuilds:
    more.setdefault("keep", lambda _record: None)
    return tried(TERMS, tables, tables.__getitem__, seconds=lambda: 12.0, **more)


def test_rows_and_tables_that_cry_wolf_are_counted() -> None:
    found = counted({"nops": table(0.05), "dead": table(-0.05), "order": table(0.0)})
    every = found.everything
    assert (every.move, every.differing.count, every.differing.trials) == (EVERY, 2, 6)
    assert every.regressions.count == 1
    assert (found.alarming_tables.count, found.alarming_tables.trials) == (2, 3)
    assert [line.differing.count for line in found.lines] == [1, 1, 0, 2]
    assert exit_code(found) is Exit.REGRESSION_OR_FAILED_CHECK  # 2 of 3 tables are more than 5 %, surely


def test_what_is_proved_counts_as_no_alarm() -> None:
    found = counted({"nops": table(0.05, proved=True)})
    assert (found.everything.unchanged.count, found.everything.differing.trials) == (2, 2)
    assert exit_code(found) is Exit.FINE


def test_rows_without_an_interval_could_raise_no_alarm() -> None:
    found = counted({"nops": table(0.05, round_s=4.0)})
    assert found.everything.differing.trials == 0
    assert found.everything.no_interval == 2
    assert exit_code(found) is Exit.INCONCLUSIVE


def test_a_table_that_was_cut_short_counts_nowhere() -> None:
    short = table(0.05).model_copy(update={"interrupted": True})
    found = counted({"dead": table(0.0), "nops": short, "order": table(0.0)})
    assert found.interrupted
    assert {row.move for row in found.rows} == {"dead"}
    assert exit_code(found) is Exit.INTERRUPTED


def test_a_full_disk_ends_it_with_what_is_known() -> None:
    def full(_record: Mapping[str, object]) -> None:
        raise Interrupted

    found = counted({"dead": table(0.0), "nops": table(0.0)}, keep=full)
    assert found.interrupted
    assert {row.move for row in found.rows} == {"dead"}


def test_an_interrupt_while_a_move_is_linked_keeps_the_tables_before_it() -> None:
    def table_of(move: str) -> Comparisons:
        if move == "nops":
            raise Interrupted
        return table(0.0)

    moves = ("dead", "nops", "order")
    found = tried(TERMS, moves, table_of, seconds=lambda: 1.0, keep=lambda _record: None)
    assert found.interrupted
    assert {row.move for row in found.rows} == {"dead"}


@pytest.mark.parametrize("within", [False, True])
def test_a_full_place_for_programs_is_named(within: bool) -> None:
    full = "/tmp, where programs run, is full"

    def table_of(move: str) -> Comparisons:
        if move == "nops" and not within:
            raise NoRoom(full)
        ended = {"interrupted": True, "no_room": full} if move == "nops" else {}
        return table(0.0).model_copy(update=ended)

    found = tried(TERMS, ("dead", "nops"), table_of, seconds=lambda: 1.0, keep=lambda _record: None)
    assert (found.interrupted, found.no_room) == (True, full)
    assert {row.move for row in found.rows} == {"dead"}
    assert rebuild_tables.markdown(found).count(f"It ended early ({full})") == 1


def test_the_report_says_what_was_counted() -> None:
    found = counted({"nops": table(0.05), "dead [red]": table(0.0)})
    text = StringIO()
    rebuild_tables.show(found, Console(file=text, width=200))
    shown = text.getvalue()
    assert "False alarms: 1 of 4 rows about edits that change no code, 25" in shown
    assert "dead [red]" in shown
    assert "Tables with a false alarm: 1 of 2." in shown
    markdown = rebuild_tables.markdown(found)
    assert "| nops | 1 of 2 |" in markdown
    jsonschema.validate(json.loads(found.model_dump_json()), json.loads(SCHEMA.read_text()))


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs `toll trust --rebuild` in a repository with one program."""
    functions = "".join(
        f"__attribute__((noinline)) int f{number}(int x) {{ volatile int y = x; return y + {number}; }}\n"
        for number in range(4)
    )
    calls = " + ".join(f"f{number}(i)" for number in range(4))
    loop = f"for (int i = 0; i < 2000000; ++i) x += {calls};"
    (tmp_path / "bench.c").write_text(f"{functions}int main(void) {{ int x = 0; {loop} return x == 1; }}\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.example"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setattr(places, "RUNS", tmp_path / "runs")

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["toll", "trust", "--rebuild", *words])
        return cli.main()

    return run


BUILD = ("--build", "gcc -O1 -c bench.c && gcc bench.o -o bench", "--program", "./bench")


def test_programs_have_the_words_that_they_were_named_with(
    toll: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without them this one would do another work."""
    source = (tmp_path / "bench.c").read_text()
    reads = 'int main(int n, char **v) { if (n != 3 || *v[2] != \'9\' || !fopen("bench.c", "r")) return 7;'
    (tmp_path / "bench.c").write_text("#include <stdio.h>\n" + source.replace("int main(void) {", reads))
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.example"]
    subprocess.run(["git", *identity, "commit", "-qam", "two"], cwd=tmp_path, check=True)
    words = ("--measure-all", "--trial-budget", "1s", "--budget", "0.1s", "--json")
    assert toll(*BUILD[:-1], "./bench --size 9", *words) in (0, 1, 3)
    found = json.loads(capsys.readouterr().out)
    assert found["rows"]
    assert [row["found"]["reason"] for row in found["rows"] if row["found"]["verdict"] == "failed"] == []
    assert found["program"] == "./bench --size 9"


def test_a_table_that_failed_could_not_cry_wolf() -> None:
    failed = compare(Unusable(("a", "b"), "it cannot be linked"), ComparisonSettings())
    tables = {"nops": table(0.05), "dead": table(0.05), **dict.fromkeys(("red", "blue", "order"), failed)}
    found = counted(tables)
    assert (found.alarming_tables.count, found.alarming_tables.trials) == (2, 2)
    assert exit_code(found) is Exit.REGRESSION_OR_FAILED_CHECK
    assert exit_code(found.model_copy(update={"interrupted": True})) is Exit.REGRESSION_OR_FAILED_CHECK


def test_edits_of_a_real_build_are_proved_to_change_nothing(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert toll(*BUILD, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    every = found["lines"][-1]
    assert every["unchanged"]["count"] == every["unchanged"]["trials"] >= 4
    assert every["differing"]["count"] == 0
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))


def test_layouts_of_moved_programs_are_timed(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--layouts", "8", "--measure-all", "--trial-budget", "1s", "--budget", "0.1s", "--json")
    assert toll(*BUILD, *words) in (0, 1)  # a verdict about 1 s of a busy machine is not what is tested
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 1  # the budget was spent after the first move
    assert found["rows"][0]["found"]["layouts"] == 8
    assert found["rows"][0]["found"]["code"] == "both sides execute the same code on the same constants"


def test_a_move_that_cannot_be_put_in_layouts_is_a_row(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_arguments: object) -> None:
        raise LaunchFailed("cannot be linked in other layouts: the disk is full")

    monkeypatch.setattr(rebuilding, "linked_alike", refuses)
    assert toll(*BUILD, "--layouts", "8", "--json") == 3  # nothing could be judged
    found = json.loads(capsys.readouterr().out)
    assert {row["found"]["verdict"] for row in found["rows"]} == {"failed"}
    assert "the disk is full" in found["rows"][0]["found"]["reason"]


def test_options_that_would_be_ignored_are_refused(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert toll(*BUILD, "sort*", "--slowdowns", "1") == 2
    assert "OPERATIONS, --slowdowns go without --rebuild" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["toll", "trust", "--layouts", "16"])
    assert cli.main() == 2
    assert "--layouts goes with --rebuild" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--rebuild needs a program that is built: --build and --program"),
        (("--build", "true", "--program", "./gone"), "builds, but `true` makes no ./gone"),
        (("--build", "exit 3", "--program", "./bench"), "does not build: `exit 3`"),
        (("--build", "true", "--program", "bench"), "is no path in the checkout"),
        (("--build", "true", "--program", "./bench.c"), "cannot be linked in other layouts"),
        ((*BUILD, "--layouts", "1"), "number of layouts"),
    ],
)
def test_what_makes_no_sense(
    toll: Callable[..., int], capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert toll(*words) == 2
    errors = capsys.readouterr().err
    assert told in errors
    assert "next: " in errors
    assert "Traceback" not in errors
