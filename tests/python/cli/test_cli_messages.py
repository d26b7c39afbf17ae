"""Bad input: the right exit code, what happened, what to do next; never a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
from made_runs import Made, make_run

import tollbench.cli
from checkouts import copy_checkout
from tollbench import __version__, home
from tollbench.catalog import suites
from tollbench.cli import as_typed
from tollbench.home import COMMAND
from tollbench.interpreters import interpreter_with_path

VERBS = ("run", "report", "list", "doctor", "setup", "export", "lake", "new", "test")


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "made.toll"
    make_run(path, [Made("quick", [10.0, 11.0, 12.0]), Made("slow", [20.0, 21.0, 22.0])])
    return path


def fails(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(toll, verb):
    done = toll(verb, "--help")
    assert done.returncode == 0
    assert f"Example: {COMMAND} {verb}" in done.stdout


@pytest.mark.parametrize(
    "words", [("compare", "./a"), ("why", "./a"), ("list", "nothing/of_it"), ("lake", "runs", "--lake", "x")]
)
def test_what_to_do_next_is_told_as_it_is_typed_here(toll, words):
    done = toll(*words)
    assert done.returncode == 2
    told = done.stderr.partition("next: ")[2]
    assert f"{COMMAND} " in told
    assert COMMAND == "toll" or not re.search(r"(?<![./\w])toll (list|lake|compare|why)\b", told)


def test_no_name_of_a_file_is_taken_for_a_command():
    theirs = "--resume 'my toll run.toml', 'toll run.txt', my-toll run, /opt/toll report.html; toll runs here"
    assert as_typed(theirs) == theirs
    assert as_typed("`toll list` shows all; toll lake add X") == (
        f"`{COMMAND} list` shows all; {COMMAND} lake add X"
    )


def test_the_help_names_every_verb(toll):
    done = toll("--help")
    assert all(f" {verb} " in done.stdout for verb in VERBS)


def test_the_version_tells_one_commit_from_the_next(toll):
    assert toll("--version").stdout == f"toll {__version__}+{home.fingerprint()[:10]}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], ["No such command", "run"]),
        (["list", "--jsn"], ["--json"]),
        (["list", "tasks/skinet"], ["'tasks/skinet'", "Did you mean tasks/skynet"]),
        (["run", "tasks/skinet"], ["'tasks/skinet'", "Did you mean tasks/skynet"]),
        (["run", "tasks/skynet/std_thred"], ["std_thred", "Did you mean tasks/skynet/std_thread"]),
        (["run", "--set", "tasks"], ["'tasks' is not a setting", "--set NAME=VALUE"]),
        (["run", "--set", "taks=10"], ["no selected workload", "taks", "tasks"]),
        (["run", "tasks/skynet", "--set", "tasks=many"], ["many", "whole number", "--set tasks="]),
        (["run", "--budget", "soon"], ["'soon' is not a length of time", "60s"]),
        (["run", "--budget", "0"], ["not a length of time"]),
        (["run", "--precision", "2"], ["between 0 and 1", "0.01"]),
        (["run", "--layouts", "0"], ["--layouts 0 is neither 1 nor between 16 and 64"]),
        (["run", "--seed", "-1"], ["--seed -1 is not between 0 and"]),
        (["run", "--profile", "fast"], ["quick", "standard", "thorough"]),
        (["run", "--resume", "nowhere.toll"], ["nowhere.toll"]),
        (["run", "tasks", "--resume", "x.toll"], ["takes no new one", "leave the rest out"]),
        (["run", "--resume", "x.toll", "--profile", "thorough"], ["takes no new one", "leave the rest out"]),
        (
            ["run", "--resume", "x.toll", "--profile", "quick"],
            ["new one: --profile"],
        ),
        (["run", "--input", "~nobody-of-this-name/x"], ["cannot read", "name a text file"]),
        (["report", "n" * 300], ["no run file nnn", "toll run"]),
        (
            ["fleet", "run", "--resume", "x", "--limit", "6h"],
            ["--limit", "fleet run --resume x"],
        ),
        (["fleet", "compare", "--resume", "x", "--kind", "auto"], ["--kind", "fleet compare --resume x"]),
        (["history", "--runs", "a.toll", "b.toll", "--seed", "3"], ["--seed is of commits"]),
        (["setup", "erlang", "--languages"], ["each a choice of their own"]),
        (["trust", "--json", "--markdown"], ["two forms of one answer"]),
        (["run", "--output", "/proc/nothing/x.toll"], ["/proc/nothing", "--output"]),
        (["report", "nowhere"], ["no run file nowhere", "toll run"]),
        (["report", "."], ["is a folder"]),
        (["export", "nowhere", "--format", "csv"], ["no run file nowhere"]),
        (["export", "nowhere", "--format", "xml"], ["parquet", "google-benchmark"]),
        (["new", "tasks/skinet", "mine"], ["no workload tasks/skinet", "tasks/skynet"]),
        (["new", "tasks/skynet", "Mine"], ["'Mine'", "a-z"]),
        (["new", "tasks/skynet", "../mine"], ["'../mine'", "a-z"]),
        (["new", "tasks/skynet", "double"], ["double", "my_double"]),
        (["new", "tasks/skynet", "std_thread"], ["has a contender std_thread already"]),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(toll, arguments, words):
    done = toll(*arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    text = done.stderr.lower()
    assert all(word.lower() in text for word in words), done.stderr


def test_a_mistyped_run_is_answered_with_the_nearest(toll, checkout, run_file):
    runs = checkout / "runs"
    runs.mkdir(exist_ok=True)
    shutil.copy2(run_file, runs / "monday.toll")
    fails(toll("report", "mondey"), 2, "no run file mondey", "monday.toll")
    assert toll("report", "monday").returncode == 0
    (runs / "old.toll").symlink_to("gone.toll")
    fails(toll("report", "mondey"), 2, "no run file mondey", "monday.toll")


def test_files_that_are_not_runs_are_refused(toll, tmp_path, run_file):
    stranger = tmp_path / "stranger.toll"
    stranger.write_text("not a database")
    fails(toll("report", str(stranger)), 2, "stranger.toll")
    cut = tmp_path / "cut.toll"
    cut.write_bytes(run_file.read_bytes()[:5000])
    fails(toll("report", str(cut)), 2, "cut.toll")


@pytest.mark.parametrize("place", ["/proc/nothing/report.html", "/nowhere/at/all.html"])
def test_a_report_that_cannot_be_written_says_where_to(toll, run_file, place):
    fails(toll("report", str(run_file), "--format", "html", "--output", place), 2, place, "--output")


@pytest.mark.parametrize("form", ["parquet", "csv", "json", "google-benchmark"])
def test_an_export_that_cannot_be_written_says_where_to(toll, run_file, form):
    fails(toll("export", str(run_file), "--format", form, "--output", "/proc/nothing/x"), 2, "/proc/nothing")


def test_programs_get_a_report(toll, run_file):
    short = toll("report", str(run_file), "--json")
    assert short.returncode == 0, short.stderr
    assert json.loads(short.stdout) == json.loads(toll("report", str(run_file), "-f", "json").stdout)
    fails(toll("report", str(run_file), "--json", "-f", "csv"), 2, "exclude each other")


def test_one_table_of_a_run_is_shown(toll, run_file):
    everything = json.loads(toll("report", str(run_file), "--json").stdout)
    (name,) = (workload["workload"] for workload in everything["workloads"])
    for asked in (name, name.split("/")[0], "*"):
        shown = toll("report", str(run_file), asked, "--json")
        assert json.loads(shown.stdout)["workloads"] == everything["workloads"], shown.stderr
    fails(toll("report", str(run_file), name[:-1]), 2, f"no workload {name[:-1]}", f"did you mean {name}")


def test_a_run_ends_with_tables_or_json_not_with_both(toll):
    fails(toll("run", "--full", "--json"), 2, "exclude each other")


def test_a_run_gives_programs_the_same_as_its_report(toll, run_file, capsys):
    from tollbench.cli.measuring import Session
    from tollbench.plan import PROFILES, Plan

    Session(Plan((), (), (), PROFILES["quick"]), run_file, resume=False).show(html=False, form="json")
    assert json.loads(capsys.readouterr().out) == json.loads(toll("report", str(run_file), "--json").stdout)


def test_programs_get_what_new_wrote(tmp_path, monkeypatch, capsys):
    root = copy_checkout(tmp_path / "toll")
    monkeypatch.setattr("tollbench.cli.places.ROOT", root)
    monkeypatch.setattr("sys.argv", ["toll", "new", "tasks/skynet", "mine", "--json"])
    assert tollbench.cli.main() == 0
    found = json.loads(capsys.readouterr().out)
    folder = root / "suites/tasks/skynet"
    assert found == {
        "written": [str(folder / "mine.cpp"), str(folder / "suite.toml")],
        "next": "./toll run tasks/skynet/mine",
    }
    assert (folder / "mine.cpp").is_file()


@pytest.mark.parametrize("verb", [*sorted({*VERBS} - {"lake"}), "env list", "lake runs", "lake add"])
def test_every_verb_offers_its_answer_to_programs(toll, verb):
    assert "--json" in toll(*verb.split(), "--help").stdout


@pytest.mark.parametrize(
    ("form", "tables"),
    [
        ("parquet", {"cases": 2, "samples": 0}),
        ("csv", {"cases": 2, "samples": 0}),
        ("json", {"cases": 2, "samples": 0}),
        ("google-benchmark", {}),
    ],
)
def test_programs_get_what_an_export_wrote(toll, run_file, tmp_path, form, tables):
    target = tmp_path / "out"
    done = toll("export", str(run_file), "-f", form, "-o", str(target), "--json")
    assert done.returncode == 0, done.stderr
    written = json.loads(done.stdout)["written"]
    assert all(
        Path(one["path"]).is_file() and target in (Path(one["path"]), Path(one["path"]).parent)
        for one in written
    )
    if tables:
        rows = {one["table"]: one["rows"] for one in written}
        assert tables.items() <= rows.items()
        assert rows["launches"] >= 6
    else:
        assert written[0]["rows"] == len(json.loads(target.read_text())["benchmarks"]) > 0


def in_a_shell(checkout: Path, command: str, *arguments: object, **environment: str):
    """`command` is one line of bash; $toll starts the command line, $1 ... are the arguments."""
    python = " ".join(interpreter_with_path("-m", "tollbench"))
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command, "bash", *map(str, arguments)],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "python"), "toll": python, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_reader_that_leaves_early_is_no_error(checkout):
    done = in_a_shell(checkout, "$toll list --json | head -c 1")
    assert (done.stdout, done.stderr, done.returncode) == ("[", "", 0)


@pytest.mark.parametrize("arguments", ["--help", "run --help", "--version", "env list", "env --help"])
def test_help_that_nobody_reads_is_no_error(checkout, arguments):
    done = in_a_shell(checkout, f"$toll {arguments} | true")
    # Where compilers have not been tried yet, or slowly, their progress is told.
    told = [line for line in done.stderr.splitlines() if not line.startswith("trying compilers")]
    assert (told, done.returncode) == ([], 0)


@pytest.mark.parametrize("form", ["terminal", "json", "csv"])
def test_a_reader_that_never_reads_is_no_error(checkout, run_file, form):
    done = in_a_shell(checkout, f'$toll report "$1" --format {form} | true', run_file)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    "arguments",
    [
        "list", "list --json", "doctor", 'report "$1"', 'report "$1" -f json',
        "--help", "run --help", "--version", "env list", "env --help",
    ],
)  # fmt: skip
def test_output_that_finds_no_room_is_named(checkout, run_file, arguments):
    done = in_a_shell(checkout, f"$toll {arguments} > /dev/full", run_file)
    fails(done, 2, "cannot write the output: No space left", "make room")


def test_a_closed_output_is_no_bug(checkout):
    assert "bug" not in in_a_shell(checkout, "$toll list >&-").stderr


def test_letters_that_the_locale_lacks_do_not_end_a_report(checkout, run_file):
    done = in_a_shell(checkout, '$toll report "$1" -f markdown', run_file, PYTHONIOENCODING="ascii")
    assert (done.stderr, done.returncode) == ("", 0)
    assert "quick" in done.stdout


@pytest.mark.parametrize("verb", ["report", "export"])
def test_a_pipe_given_as_output_is_written_to_and_stays(toll, checkout, run_file, tmp_path, verb):
    """As root, a file moved to the place of /dev/null would break the machine."""
    os.mkfifo(tmp_path / "pipe")
    done = in_a_shell(
        checkout, f'cat "$2" & $toll {verb} "$1" -f json -o "$2" && wait', run_file, tmp_path / "pipe"
    )
    assert done.returncode == 0, done.stderr
    assert '"quick"' in done.stdout
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe"]


def test_a_bug_is_one_line_and_a_saved_traceback(monkeypatch, capsys, tmp_path):
    def broken(_root: Path) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(suites, "load", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["toll", "list"])
    assert tollbench.cli.main() == 70, "a gate lets 3 pass"
    captured = capsys.readouterr()
    assert "this is a bug: ZeroDivisionError: of all things" in captured.err
    assert "Traceback" not in captured.err
    (saved,) = tmp_path.glob("toll-error-*.txt")
    assert str(saved) in captured.err
    assert "in broken" in saved.read_text()


def test_ctrl_c_outside_of_measuring_is_one_sentence(monkeypatch, capsys):
    def interrupted(_root: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(suites, "load", interrupted)
    monkeypatch.setattr("sys.argv", ["toll", "list"])
    assert tollbench.cli.main() == 130
    assert "interrupted" in capsys.readouterr().err


def test_the_list_keeps_its_contract(toll, checkout):
    schema = json.loads((checkout / "schemas/list.schema.json").read_text())
    rows = json.loads(toll("list", "--json").stdout)
    jsonschema.validate(rows, schema)
    declared = {(w.name, c.name) for w in suites.load(checkout) for c in w.contenders}
    assert {(row["workload"], row["contender"]) for row in rows} == declared
    assert len(rows) == len(declared)


def test_the_list_takes_a_selection(toll):
    rows = json.loads(toll("list", "tasks/*/std_*", "--json").stdout)
    assert rows
    assert all(row["workload"].startswith("tasks/") and row["contender"].startswith("std_") for row in rows)


def test_the_list_stands_by_topic_and_library_and_each_line_names_its_library(toll, checkout):
    workloads = suites.load(checkout)
    topics: dict[str, int] = Counter(workload.name.partition("/")[0] for workload in workloads)
    lines = toll("list").stdout.splitlines()
    heads = [line for line in lines if re.match("[a-z]+: ", line)]
    assert heads == [f"{name}: {count} workload{'s' * (count > 1)}" for name, count in topics.items()]
    assert len(heads) > 4
    mixed = 0  # workloads in which contenders of other libraries stand between those of one
    for workload in workloads:
        at = next(number for number, line in enumerate(lines) if line.startswith(f"  {workload.name}  "))
        assert lines[at].endswith(workload.question)
        in_order = list(dict.fromkeys(one.library for one in workload.contenders))
        wanted = sorted(workload.contenders, key=lambda one: in_order.index(one.library))
        mixed += wanted != list(workload.contenders)
        shown = [re.split("  +", line[6:])[:2] for line in lines[at + 1 : at + 1 + len(wanted)]]
        assert shown == [[one.library, one.name] for one in wanted]
    assert mixed > 0


def test_the_list_for_programs_has_contenders_as_suites_declare_them(toll, checkout):
    rows = json.loads(toll("list", "--json").stdout)
    declared = [(w.name, c.name) for w in suites.load(checkout) for c in w.contenders]
    assert [(row["workload"], row["contender"]) for row in rows] == declared


def test_the_list_counts_the_workloads_that_it_shows(toll):
    lines = toll("list", "tasks/skynet/std_*", "latency/lock").stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")][:3] == [
        "latency: 1 workload", "", "tasks: 1 workload",
    ]  # fmt: skip


def test_the_list_says_where_a_contender_is_measured(toll):
    lines = toll("list", "containers/allocate").stdout.splitlines()
    (malloc,) = (line for line in lines if " malloc " in line)
    assert malloc.endswith(" in host, tcmalloc, jemalloc, mimalloc")
    assert " in " not in toll("list", "tasks/skynet/sequential_recursion").stdout.splitlines()[2]


def test_the_list_believes_the_last_build(toll, checkout):
    folder = checkout / "build/host"
    folder.mkdir(parents=True)
    entry = {"workload": "tasks/skynet", "library_version": ""}
    built = [
        entry | {"contender": "std_thread", "target": "t", "executable": "x", "reason": ""},
        entry | {"contender": "onetbb_task_group", "target": "", "executable": "", "reason": "too old"},
        entry | {"contender": "boost_fiber_round_robin", "target": "b", "executable": "x", "reason": ""},
    ]
    (folder / "contenders.json").write_text(json.dumps(built))
    (folder / "failures.json").write_text(json.dumps({"b": "x.cpp:1: error: no"}))
    try:
        rows = {row["contender"]: row for row in json.loads(toll("list", "tasks/skynet", "--json").stdout)}
        text = toll("list", "tasks/skynet").stdout
    finally:
        shutil.rmtree(checkout / "build")
    assert rows["std_thread"]["available"] is True
    assert (rows["onetbb_task_group"]["available"], rows["onetbb_task_group"]["reason"]) == (False, "too old")
    assert "error: no" in rows["boost_fiber_round_robin"]["reason"]
    assert re.search(r"^    - oneTBB +onetbb_task_group +too old$", text, re.MULTILINE)
    # More than the two where a toolchain is missing.
    missing = sum(not row["available"] for row in rows.values())
    assert missing >= 2
    assert f"{missing} of {len(rows)} cannot be measured" in text


def test_doctor_tells_programs_and_people_the_same(toll):
    found = json.loads(toll("doctor", "--json").stdout)
    assert {"machine", "conditions", "needs", "missing_command", "contenders"} <= set(found)
    for need in found["needs"]:
        assert need["packages"] or need["group"] == "extra"
        assert bool(need["command"]) is (need["found"] is None)
    for finding in found["conditions"]["noise"]:
        assert all(finding[key] for key in ("name", "value", "consequence", "remedy"))
    text = toll("doctor").stdout
    assert found["machine"]["cpu"] in text
    brief = json.loads(toll("doctor", "--json", "--brief").stdout)
    assert set(brief) == {"machine", "conditions", "toll"}
    assert brief["toll"] == found["toll"]
    assert toll("doctor", "--brief").returncode == 2
    assert all(need["purpose"] in text for need in found["needs"])
    assert found["missing_command"] in text
    for need in found["needs"]:
        assert need["group"] != "extra" or need["command"] in text


@pytest.mark.parametrize("form", ["terminal", "html", "markdown", "json", "csv"])
def test_every_report_names_the_contenders(toll, run_file, tmp_path, form):
    shown = toll("report", str(run_file), "--format", form)
    assert shown.returncode == 0, shown.stderr
    written = toll("report", str(run_file), "--format", form, "--output", str(tmp_path / "report"))
    assert written.returncode == 0, written.stderr
    for text in (shown.stdout, (tmp_path / "report").read_text()):
        assert "quick" in text
        assert "slow" in text


@pytest.mark.parametrize("finished", ["2026-01-02T03:05:05.000+00:00", None])
def test_a_name_that_is_not_utf_8_is_a_name(toll, tmp_path, finished):
    path = tmp_path / os.fsdecode(b"caf\xe9.toll")
    made = make_run(
        path,
        [Made("quick", [10.0, 11.0])],
        name=path.stem,
        command_line=f"toll {path}",
        finished_utc=finished,
    )
    for arguments in (
        ["report", "-f", "html", "-o", tmp_path / "x.html"],
        ["report"],
        ["export", "-f", "json"],
    ):
        done = toll(*map(str, arguments), str(made))
        assert done.returncode == 0, done.stderr
    assert (
        "caf\\xe9" in (tmp_path / "x.html").read_text() or "caf\\udce9" in (tmp_path / "x.html").read_text()
    )
