"""Whatever a command line names as its output: nothing that a user has is overwritten or deleted."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import Made, make_run

import tollbench.cli
from checkouts import ROOT
from full_disk import may_mount, on_own_disk
from tollbench.catalog import machine
from tollbench.cli import machine_use, measuring
from tollbench.cli.edition import edition
from tollbench.errors import Exit, TollError
from tollbench.home import COMMAND
from tollbench.interpreters import interpreter_with_path
from tollbench.plan import PROFILES, Plan
from tollbench.store import RunFile
from tollbench.writing import alone

MINE = "what took me a year\n"
FORMS = ("parquet", "csv", "json", "google-benchmark")
Told = tuple[int, str]
Call = Callable[..., Told]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "made.toll"
    return make_run(path, [Made("quick", [10.0, 11.0, 12.0]), Made("slow", [20.0, 21.0, 22.0])])


@pytest.fixture
def here(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run in it, where the command line is used."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy2(made, folder / "a.toll")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(machine_use, "LOCK_FILES", ())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return folder


@pytest.fixture
def toll(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """The command line in this process: its exit code and what it said of what went wrong."""

    def call(*arguments: str) -> Told:
        capfd.readouterr()
        monkeypatch.setattr("sys.argv", ["toll", *arguments])
        code = tollbench.cli.main()
        return code, capfd.readouterr().err

    return call


def content(folder: Path) -> dict[str, bytes | str]:
    """All that is there: a file's bytes, where a link leads, what else it is. Of `runs`, what is in it."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == "runs":
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder" if path.is_dir() else "special"
    return found


def refused(told: Told, *words: str) -> None:
    """Exit code 2, never 1; what happened and what to do next."""
    code, said = told
    assert code == 2, said
    assert "Traceback" not in said
    assert "this is a bug" not in said
    assert "\n  next: " in said
    for word in words:
        assert word in said


def test_folders_are_added_to_and_never_emptied(here: Path, toll: Call) -> None:
    (here / "mine/chapters").mkdir(parents=True)
    (here / "mine/thesis.csv").write_text(MINE)
    (here / "mine/chapters/one.parquet").write_text(MINE)
    for form in ("csv", "parquet"):
        code, said = toll("export", "a.toll", "--format", form, "--output", "mine")
        assert code == 0, said
        assert (here / f"mine/launches.{form}").stat().st_size > 100
    assert (here / "mine/thesis.csv").read_text() == MINE
    assert (here / "mine/chapters/one.parquet").read_text() == MINE


@pytest.mark.parametrize("form", ["json", "google-benchmark"])
def test_no_folder_becomes_a_file(here: Path, toll: Call, form: str) -> None:
    (here / "mine").mkdir()
    before = content(here)
    refused(toll("export", "a.toll", "--format", form, "--output", "mine"), "mine is a folder")
    refused(toll("export", "a.toll", "--format", form, "--output", "mine", "--force"), "mine is a folder")
    assert content(here) == before


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_no_file_becomes_a_folder(here: Path, toll: Call, form: str) -> None:
    (here / "mine").write_text(MINE)
    before = content(here)
    for force in ([], ["--force"]):
        refused(toll("export", "a.toll", "--format", form, "--output", "mine", *force), "mine")
        assert content(here) == before


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [".x.partial", ".x-data.json.partial", ".mine.partial", ".mine.old"])
def test_a_partial_file_of_somebody_else_stays(here: Path, toll: Call, form: str, name: str) -> None:
    (here / name).write_text(MINE)
    (here / ".folder.partial").mkdir()
    toll("export", "a.toll", "--format", form, "--output", "/proc/nothing/mine")
    assert toll("export", "a.toll", "--format", form, "--output", "mine")[0] == 0
    assert (here / name).read_text() == MINE
    assert (here / ".folder.partial").is_dir()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("there", ["cases.csv", "launches.parquet", "mine"])
def test_what_a_user_made_is_replaced_only_by_force(here: Path, toll: Call, form: str, there: str) -> None:
    table = there != "mine"
    if table != (form in ("csv", "parquet")) or (table and not there.endswith(form)):
        pytest.skip("this form writes no file of that name")
    target = here / "out"
    (here / "out").mkdir()
    target = here / "out" if table else here / "out/mine"
    (here / "out" / there).write_text(MINE)
    before = content(here)
    refused(toll("export", "a.toll", "--format", form, "--output", str(target)), there, "--force")
    assert content(here) == before
    assert toll("export", "a.toll", "--format", form, "--output", str(target), "--force")[0] == 0
    assert (here / "out" / there).read_bytes() != MINE.encode()


REPORTS = ("terminal", "html", "markdown", "json", "csv")


@pytest.mark.parametrize("form", REPORTS)
def test_a_report_replaces_only_what_toll_made_for_the_same_purpose(
    here: Path, toll: Call, form: str
) -> None:
    command = ("report", "a.toll", "--format", form, "--output", "out")
    (here / "out").write_text(MINE)
    refused(toll(*command), "out: it is there already", "--force")
    assert (here / "out").read_text() == MINE
    assert toll(*command, "--force")[0] == 0
    first = (here / "out").read_bytes()
    assert first != MINE.encode()
    assert toll(*command)[0] == 0, "the same command again"
    for other in REPORTS:
        if other != form:
            refused(toll("report", "a.toll", "--format", other, "--output", "out"), "--force")
    assert (here / "out").read_bytes() == first


@pytest.mark.parametrize("there", ["run", "toll_compare", "toll_history", "toll_bisect", "toll_trust"])
def test_what_was_measured_is_replaced_by_nothing(here: Path, toll: Call, there: str) -> None:
    kept = (here / "a.toll").read_bytes() if there == "run" else json.dumps({there: 1, "seed": 3}).encode()
    (here / "out").write_bytes(kept)
    for force in ([], ["--force"]):
        for form in REPORTS:
            words = ("report", "a.toll", "--format", form, "--output", "out", *force)
            refused(toll(*words), "out: it holds measured data")
        refused(toll(*COMPARE, "--html", "out", *force), "out: it holds measured data")
    assert (here / "out").read_bytes() == kept


def test_a_run_is_not_gone_on_with_on_another_machine(here: Path) -> None:
    """Launches of both would be one row."""
    now = machine.describe(ask_compilers=False)

    def another(name: str, **changes: object) -> list[str]:
        toll_version = str(changes.pop("toll_version", tollbench.__version__))
        path = here / f"{name}.toll"
        make_run(path, [Made("a", [1.0])], machine={**now, **changes}, toll_version=toll_version)
        with RunFile.open(path) as run_file:
            return measuring.what_is_another(run_file)

    assert another("same") == []
    with pytest.raises(TollError, match=r"was begun on another machine: cpu was A VAX and is ") as refused:
        another("cpu", cpu="A VAX")
    assert refused.value.code is Exit.USAGE
    with pytest.raises(TollError, match="usable cpus was 77"):
        another("cpus", usable_cpus=list(range(77)))
    (told,) = another("kernel", kernel="Linux 2.6.1")
    assert told == f"The run was begun with kernel Linux 2.6.1 and gone on with {now['kernel']}."
    (told,) = another("old", toll_version="0.0.1")
    assert told == f"The run was begun by toll 0.0.1 and gone on with by {edition()}."
    (told,) = another("commit", toll_version=f"{tollbench.__version__}+0123456789")
    assert told.startswith(f"The run was begun by toll {tollbench.__version__}+0123456789 and gone on with")
    assert another("this", toll_version=edition()) == []
    assert another("unknown", usable_cpus=None, kernel=None) == []


def test_a_refused_resume_leaves_the_run_as_it_was(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was noted as a look, and the run's interruption forgotten."""
    path = here / "b.toll"
    vax = {**machine.describe(ask_compilers=False), "cpu": "A VAX"}
    make_run(path, [Made("a", [1.0])], machine=vax, finished_utc=None, stopped_by="interrupt")
    before = path.read_bytes()
    session = measuring.Session(Plan((), (), (), PROFILES["quick"]), path, resume=True)
    with pytest.raises(TollError, match="was begun on another machine"), session:
        session.take_machine(wait=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize("form", FORMS)
def test_an_export_is_replaced_by_the_same_export(here: Path, toll: Call, form: str) -> None:
    command = ("export", "a.toll", "--format", form, "--output", "out")
    assert toll(*command)[0] == 0
    first = content(here)
    assert toll(*command)[0] == 0
    assert content(here).keys() == first.keys()


@pytest.mark.parametrize(
    "spelled", ["a.toll", "./a.toll", "../here/a.toll", "linked", "hard", "folder/a.toll"]
)
@pytest.mark.parametrize("verb", [("report",), ("export",)])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_run_itself_is_no_output(
    here: Path, toll: Call, verb: tuple[str], force: tuple[str], spelled: str
) -> None:
    (here / "linked").symlink_to("a.toll")
    (here / "hard").hardlink_to("a.toll")
    (here / "folder").symlink_to(".")
    before = content(here)
    for form in ("json", "csv" if verb == ("report",) else "google-benchmark"):
        refused(
            toll(*verb, "a.toll", "--format", form, "--output", spelled, *force), spelled.removeprefix("./")
        )
    assert content(here) == before


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_what_belongs_to_the_run_is_no_output(here: Path, toll: Call, ending: str) -> None:
    before = content(here)
    refused(toll("report", "a.toll", "--format", "json", "--output", f"a.toll{ending}", "--force"), "a.toll")
    assert content(here) == before


@pytest.mark.parametrize("where", ["victim", "nowhere"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_planted_links_are_not_followed(here: Path, toll: Call, force: tuple[str], where: str) -> None:
    (here / "victim").write_text(MINE)
    links = (".x-data.json.partial", ".report.html.partial", "x-data.json", "report.html", "csv/cases.csv")
    (here / "csv").mkdir()
    for name in links:
        (here / name).symlink_to(here / where)
    (here / "x.toll").write_bytes((here / "a.toll").read_bytes())
    refused(toll("export", "x.toll", "--format", "json", *force), "x-data.json: it is a link to", where)
    refused(
        toll("export", "x.toll", "--format", "csv", "--output", "csv", *force), "cases.csv: it is a link to"
    )
    refused(toll("report", "a.toll", "--format", "html", "--output", "report.html", *force), "is a link to")
    assert all((here / name).is_symlink() for name in links)
    assert (here / "victim").read_text() == MINE
    assert not (here / "nowhere").exists()
    (here / "x-data.json").unlink()
    (here / "report.html").unlink()
    assert toll("export", "x.toll", "--format", "json")[0] == 0
    assert toll("report", "a.toll", "--format", "html", "--output", "report.html")[0] == 0
    assert (here / "victim").read_text() == MINE
    assert not (here / "nowhere").exists()


def test_linked_folders_are_followed(here: Path, toll: Call) -> None:
    (here / "real").mkdir()
    (here / "linked").symlink_to("real")
    assert toll("export", "a.toll", "--format", "csv", "--output", "linked")[0] == 0
    assert toll("report", "a.toll", "--format", "html", "--output", "linked/a.html")[0] == 0
    assert (here / "linked").is_symlink()
    assert {path.name for path in (here / "real").iterdir()} >= {"cases.csv", "a.html"}


COMPARE = ("compare", "true", "true", "--budget", "1s", "--total-budget", "2s")


@pytest.mark.parametrize("form", ["--html", "--markdown", "--junit", "--save-baseline"])
@pytest.mark.parametrize("name", ["r", "./r", "folder/r"])
def test_two_outputs_of_one_command_are_two_files(here: Path, toll: Call, form: str, name: str) -> None:
    (here / "folder").symlink_to(".")
    for force in ([], ["--force"]):
        refused(toll(*COMPARE, "--raw", "r", form, name, *force), "--raw", form)
    assert not (here / "r").exists()
    if form != "--html":
        refused(toll(*COMPARE, "--html", "R", form, name), "--html", form)


@pytest.mark.parametrize("option", ["--html", "--markdown", "--junit", "--save-baseline", "--raw"])
@pytest.mark.parametrize("spelled", ["mybench", "./mybench", "folder/mybench"])
def test_what_is_compared_is_no_output(here: Path, toll: Call, option: str, spelled: str) -> None:
    (here / "folder").symlink_to(".")
    (here / "mybench").write_text("#!/bin/sh\ntouch began\n")
    (here / "mybench").chmod(0o755)
    (here / "data").write_text("")
    before = content(here)
    for side in ("./mybench", f"{here}/mybench", "sh ./mybench", "./mybench --data data"):
        for force in ([], ["--force"]):
            if force and option == "--raw":
                continue
            told = toll("compare", side, side, "--kind", "command", option, spelled, *force)
            refused(told, option, "mybench")
    for side in ("./mybench data", "./mybench --data=data", "true data"):
        refused(toll("compare", side, "true", "--html", "data"), "--html", "data")
    assert content(here) == before


@pytest.mark.parametrize("verb", ["compare", "why"])
def test_a_page_that_would_replace_something_is_refused_before_measuring(
    here: Path, toll: Call, verb: str
) -> None:
    (here / "page.html").write_text(MINE)
    refused(toll(verb, "touch began", "touch began", "--html", "page.html"), "page.html", "--force")
    assert not (here / "began").exists()
    assert (here / "page.html").read_text() == MINE
    (here / "page.html").unlink()
    (here / "page.html").symlink_to("nowhere")
    refused(toll(verb, "touch began", "touch began", "--html", "page.html"), "it is a link to nowhere")
    assert not (here / "began").exists()


def test_a_comparison_replaces_its_own_files_and_no_other_ones(here: Path, toll: Call) -> None:
    files = ("--html", "x.html", "--markdown", "x.md", "--junit", "x.xml", "--save-baseline", "x.json")
    assert toll(*COMPARE, *files)[0] in (0, 3)
    assert toll(*COMPARE, *files)[0] in (0, 3), "the same command again"
    for option, name in zip(files[::2], ("x.json", "x.xml", "x.md", "x.html"), strict=True):
        refused(toll(*COMPARE, option, name), option, name)


@pytest.mark.parametrize("page", ["of the user", "a link"])
def test_a_new_run_keeps_the_page_of_that_name(here: Path, toll: Call, page: str) -> None:
    (here / "victim").write_text(MINE)
    if page == "a link":
        (here / "page.html").symlink_to("victim")
    else:
        (here / "page.html").write_text(MINE)
    before = content(here)
    refused(toll("run", "tasks/skynet", "--output", "./page"), "page.html", "--no-html")
    assert content(here) == before


@pytest.fixture
def interrupted(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was interrupted, of a plan that this checkout can go on with."""
    monkeypatch.setattr(measuring, "_stored_plan", lambda _path: Plan((), (), (), PROFILES["quick"]))
    return make_run(here / "h.toll", [Made("quick", [10.0])], finished_utc=None, stopped_by=None)


def test_a_resumed_run_writes_through_no_link(here: Path, toll: Call, interrupted: Path) -> None:
    (here / "victim").write_text(MINE)
    (here / "h.html").symlink_to("victim")
    before = content(here)
    refused(toll("run", "--resume", "h.toll"), "h.html: it is a link to victim", "--no-html")
    assert content(here) == before


def test_a_run_is_not_gone_on_with_through_a_link(here: Path, toll: Call, interrupted: Path) -> None:
    (here / "linked.toll").symlink_to(interrupted)
    before = content(here)
    refused(toll("run", "--resume", "linked.toll"), "linked.toll is a link to", f"--resume {interrupted}")
    assert content(here) == before


def test_a_run_file_with_the_name_of_its_page_is_not_replaced(
    here: Path, toll: Call, interrupted: Path
) -> None:
    interrupted.rename(here / "h.html")
    before = content(here)
    refused(toll("run", "--resume", "h.html", "--force"), "h.html")
    assert content(here) == before


@pytest.mark.parametrize("name", ["x.toll", "x.toll-journal", "x.toll-wal", "x.toll-shm"])
@pytest.mark.parametrize("link", [False, True])
def test_a_new_run_takes_no_name_that_is_there(here: Path, toll: Call, name: str, link: bool) -> None:
    if link:
        (here / name).symlink_to("nowhere")
    else:
        (here / name).write_text(MINE)
    before = content(here)
    for force in ([], ["--force"]):
        refused(toll("run", "tasks/skynet", "--output", "x.toll", *force), name, "choose another name")
        assert content(here) == before


NAMED = (
    ("report", "a.toll", "--format", "json", "--output"),
    ("export", "a.toll", "--format", "json", "--output"),
    ("export", "a.toll", "--format", "csv", "--output"),
    *((*COMPARE, option) for option in ("--html", "--markdown", "--junit", "--save-baseline", "--raw")),
    ("why", "true", "true", "--html"),
    ("why", "true", "true", "--markdown"),
    ("trust", "--raw"),
    ("run", "tasks/skynet", "--output"),
)


@pytest.mark.parametrize("command", NAMED, ids=" ".join)
def test_what_cannot_be_a_name_is_refused_at_once(here: Path, toll: Call, command: tuple[str, ...]) -> None:
    (here / "folder").mkdir()
    (here / "file").write_text(MINE)
    before = content(here)
    names = ["n" * 300, "./" + "n" * 300, "file/x", "/proc/nothing/x"]
    if "csv" not in command:
        names += ["folder/", "x/", "file/", "./folder/."]
    if command[0] != "run":
        names += ["", "folder", ".", ".."] if "csv" not in command else [""]
    for name in names:
        refused(toll(*command, name))
    assert content(here) == before


def test_two_exports_into_one_folder_do_not_mix(here: Path) -> None:
    """The second waits for the first: here for the test, which stands for it."""
    (here / "folder").mkdir()
    with alone(here / "folder"):
        export = subprocess.Popen(
            interpreter_with_path("-m", "tollbench", "export", "a.toll", "-f", "csv", "--output", "folder"),
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            stdout=subprocess.DEVNULL,
        )
        waiting = re.compile(rf"-> FLOCK .* {export.pid} ")
        while not waiting.search(Path("/proc/locks").read_text()):
            assert export.poll() is None, "it did not wait"
            time.sleep(0.02)
        assert not list((here / "folder").iterdir())
    assert export.wait() == 0
    assert len(list((here / "folder").iterdir())) == 4


@pytest.mark.parametrize("verb", ["compare", "why"])
def test_what_comes_to_the_place_while_it_is_measured_stays(here: Path, toll: Call, verb: str) -> None:
    """And what was measured can be had again."""
    (here / "side").write_text("#!/bin/sh\n[ -e x.html ] || echo mine > x.html\n")
    (here / "side").chmod(0o755)
    budget = ("--budget", "1s", "--total-budget", "2s", "--raw", "r") if verb == "compare" else ()
    side = f"sh {here}/side"
    code, said = toll(verb, side, side, "--html", "x.html", "--folder", ".", *budget)
    assert code == 2, said
    assert (here / "x.html").read_text() == "mine\n"
    assert "x.html: it is there already, and toll did not make it" in said
    if verb == "compare":
        assert "every launch is in r" in said
        assert toll("report", "r", "--format", "html", "--output", "again.html")[0] == 0
    else:
        (kept,) = here.parent.glob("toll-kept-*/x.html")
        assert f"it is kept in {kept}" in said
        assert "toll why" in kept.read_text()


def test_a_page_that_is_refused_after_a_run_does_not_hide_how_it_ended(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = measuring.Session(Plan((), (), (), PROFILES["quick"]), here / "a.toll", resume=False)
    session.check_page()
    (here / "a.html").write_text(MINE)
    session.stopped_by = "interrupt"
    with pytest.raises(TollError) as told:
        session.show(html=True, form="tables")
    printed = capfd.readouterr()
    assert "quick" in printed.out
    assert f"go on with: {COMMAND} run --resume a.toll" in printed.err
    whole = f"every launch is in the run file: {COMMAND} report a.toll --format html --output FILE"
    assert whole in told.value.next_step
    assert (here / "a.html").read_text() == MINE


@pytest.mark.skipif(not may_mount(), reason="mounting a small file system takes root")
@pytest.mark.parametrize("verb", ["report", *FORMS])
def test_a_full_disk_leaves_what_was_there(here: Path, verb: str) -> None:
    disk = here.parent / "disk"
    disk.mkdir()
    command = (
        ["report", "a.toll", "--format", "html"] if verb == "report" else ["export", "a.toll", "-f", verb]
    )
    table = verb in ("csv", "parquet")
    start = interpreter_with_path("-m", "tollbench", *command, "--output", str(disk / "out"))
    script = f"{shlex.join(start)} && cat {disk}/out{'/*' if table else ''} | md5sum"
    script += f" && {{ cat /dev/zero > {disk}/filling 2> /dev/null; true; }} && ! {shlex.join(start)}"
    script += f" && cat {disk}/out{'/*' if table else ''} | md5sum; ls -A {disk} {disk}/out >&2"
    done = subprocess.run(
        on_own_disk(["bash", "-c", script], disk, "4m"),
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    before, after = (line for line in done.stdout.splitlines() if line.endswith(" -"))
    assert before == after, done.stderr
    assert "No space left on device\n  next: make room on that disk" in done.stderr
    assert ".partial" not in done.stderr


@pytest.mark.parametrize("verb", ["run", "report", "export", "compare", "why"])
def test_verbs_that_write_take_force(toll: Call, capfd: pytest.CaptureFixture[str], verb: str) -> None:
    shown = subprocess.run(
        interpreter_with_path("-m", "tollbench", verb, "--help"),
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--force" in shown.stdout
