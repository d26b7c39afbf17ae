"""A search that was killed goes on with what it measured, and with nothing else."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from bisected import GOOD_BUILD, WORDS, Project, Toll, answer, history, toll_in_project

from tollbench import __version__
from tollbench.cli.edition import edition
from tollbench.compare import raw_file
from tollbench.compare.raw_file import RawFile
from tollbench.history.commit_search import CommitSearch
from tollbench.history.kept_search import FORM
from tollbench.home import COMMAND

GUILTY = 8
ROUND = {"measurement": 1, "round": 1, "values": {"sum": [1, 2]}, "order": {"sum": [0, 1]}, "done": []}


@pytest.fixture
def toll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toll:
    return toll_in_project(tmp_path, monkeypatch)


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def records_of_whole(path: Path) -> list[dict[str, Any]]:
    """Without a line that was cut short."""
    return [json.loads(line) for line in path.read_bytes().rpartition(b"\n")[0].splitlines()]


def killed(toll: Toll, project: Project, monkeypatch: pytest.MonkeyPatch, moment: str, *more: str) -> Path:
    """The file of a search whose process was killed in the middle of a line, at this moment."""
    child = os.fork()
    if child == 0:
        try:
            append, at = RawFile._append, {"ends": "measurement", "search": "took_s", "last": "begin"}[moment]
            seen: list[object] = []

            def until(raw: RawFile, record: Any) -> None:
                append(raw, record)
                seen.extend([record] * (at in record and record.get("begin") != "ends"))
                if len(seen) == {"ends": 9, "search": 3, "last": 1}[moment]:
                    raw._file.write(b'{"commit": "cut')
                    os.kill(os.getpid(), signal.SIGKILL)

            monkeypatch.setattr(RawFile, "_append", until)
            toll(project.commits[0], "main", *WORDS, *more)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    (path,) = (project.folder.parent / "runs").glob("bisect-*.jsonl")
    return path


def rounds_by_what(records: list[dict[str, Any]]) -> dict[str, list[int]]:
    """The numbers of the rounds that stand under each comparison."""
    of = ""
    found: dict[str, list[int]] = {}
    for record in records:
        of = record.get("begin", of)
        if "measurement" in record and "done" in record:
            found.setdefault(of, []).append(record["round"])
    return found


def assert_rounds_stand_where_they_belong(records: list[dict[str, Any]]) -> None:
    """A comparison counts its rounds, those that were seen again too."""
    for rounds in rounds_by_what(records).values():
        assert rounds == list(range(1, len(rounds) + 1))


def test_rounds_of_the_ends_stand_under_the_ends(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last round of GOOD against BAD is lost, and others were compared since."""
    project = history(tmp_path / "project", {GUILTY: {"sum": 10_600}}, count=12)
    path = killed(toll, project, monkeypatch, "last")
    lines = path.read_text().splitlines(keepends=True)[:-1]
    ends = [at for at, line in enumerate(lines) if '"measurement"' in line and '"done"' in line]
    path.write_text("".join(lines[: ends[-1]] + lines[ends[-1] + 1 :]))
    capsys.readouterr()
    for _ in range(2):
        assert toll(project.commits[0], "main", *WORDS, "--json", "--resume", str(path)) == 0
        assert answer(capsys)[0]["commit"] == project.commits[GUILTY]
        assert_rounds_stand_where_they_belong(records_of(path))
        assert len(rounds_by_what(records_of(path))) == 2


def test_it_goes_on_with_the_benchmark_that_was_searched(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever changed most by what is seen since: looks at commits are of one alone."""
    changes = {0: {"other": 10_000}, 4: {"sum": 10_600}, 9: {"other": 10_590}}
    project = history(tmp_path / "project", changes, count=12)
    path = killed(toll, project, monkeypatch, "search")
    (searched,) = [record["searching"] for record in records_of_whole(path) if "searching" in record]
    compare_ends = CommitSearch._compare_ends

    def the_other_first(search: CommitSearch, *words: Any) -> Any:
        rows, told = compare_ends(search, *words)
        return tuple(sorted(rows, key=lambda row: row.benchmark == searched)), told

    monkeypatch.setattr(CommitSearch, "_compare_ends", the_other_first)
    capsys.readouterr()
    assert toll(project.commits[0], "main", *WORDS, "--json", "--resume", str(path)) == 0
    (found,) = answer(capsys)
    assert found["benchmark"] == searched
    assert found["commit"] == project.commits[{"sum": 4, "other": 9}[searched]]

    def without_it(search: CommitSearch, *words: Any) -> Any:
        rows, told = compare_ends(search, *words)
        return tuple(row for row in rows if row.benchmark != searched), told

    monkeypatch.setattr(CommitSearch, "_compare_ends", without_it)
    assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
    assert f"the earlier start searched {searched}, which does not differ" in capsys.readouterr().err


@pytest.mark.parametrize("moment", ["ends", "search", "last"])
def test_a_killed_search_goes_on(
    toll: Toll,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    project = history(tmp_path / "project", {GUILTY: {"sum": 10_600}}, count=12)
    path = killed(toll, project, monkeypatch, moment)
    before = path.read_bytes()
    whole = before[: before.rindex(b"\n") + 1]
    known = [json.loads(line) for line in whole.splitlines()]
    capsys.readouterr()
    assert toll(project.commits[0], "main", *WORDS, "--json", "--resume", str(path)) == 0
    (found,) = answer(capsys)
    assert found["commit"] == project.commits[GUILTY]
    assert path.read_bytes().startswith(whole)
    assert list(path.parent.iterdir()) == [path]
    after = records_of(path)
    assert_rounds_stand_where_they_belong(after)
    assert found["launches"] == sum("side" in record for record in after)
    assert found["launches"] > sum("side" in record for record in known)
    rounds = [record for record in after if "took_s" in record]
    assert sum(step["rounds"] for step in found["path"]) == len(rounds)
    if moment != "ends":  # the ends were known: not a round more of them
        assert rounds_by_what(after)["ends"] == rounds_by_what(known)["ends"]
    assert toll(project.commits[0], "main", *WORDS, "--json", "--resume", str(path)) == 0
    assert answer(capsys)[0]["commit"] == project.commits[GUILTY]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--threshold", "0.02"], "its --threshold was 0.01, and now it is 0.02"),
        (["--filter", "sum"], "its --filter was not given, and now it is sum"),
        (["--program", "./other"], "its --program was ./bench, and now it is ./other"),
        (["--build", "sh build.sh; true"], "its --build was sh build.sh, and now it is"),
        (["--first-parent"], "its --first-parent was not given, and now it is yes"),
        (["rewritten"], "its BAD was"),
        (["older"], "its GOOD was"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_another_search_is_refused(
    toll: Toll,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: str,
) -> None:
    project = history(tmp_path / "project", {2: {"sum": 10_600}}, count=3)
    path = killed(toll, project, monkeypatch, "ends")
    before = path.read_bytes()
    good = project.commits[0]
    if words == ["rewritten"]:
        words = []
        project.git("commit", "-q", "--amend", "-m", "the same, by another name")
    if words == ["older"]:
        words, good = [], project.commits[1]
    assert toll(good, "main", *WORDS, "--resume", str(path), *words) == 2
    error = capsys.readouterr().err
    assert "is of another search" in error
    assert told in error
    assert f"next: ask as it was asked ({COMMAND} bisect" in error
    assert path.read_bytes() == before


def test_a_file_that_is_none_of_bisect_is_refused(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = history(tmp_path / "project", {}, count=1)
    path = tmp_path / "file.jsonl"
    ends = [project.commits[0], "main", *WORDS]
    header = json.dumps({"toll_bisect": FORM, "question": {}})
    for content, told in (
        ("", "holds no launches of toll"),
        ("not JSON\n", "has no record of toll in line 1"),
        ('{"toll_compare": 1}\n', "is not of a search of this version of toll"),
        (f"{header}\n", "is of another search: its GOOD was not given"),
    ):
        path.write_text(content)
        assert toll(*ends, "--resume", str(path)) == 2
        assert told in capsys.readouterr().err
        assert path.read_text() == content
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert toll(*ends, "--resume", str(link)) == 2
    assert "cannot go on with" in capsys.readouterr().err
    assert toll(*ends, "--resume", str(tmp_path / "gone")) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_records_that_make_no_sense_are_refused(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = history(tmp_path / "project", {2: {"sum": 10_600}}, count=3)
    path = killed(toll, project, monkeypatch, "search")
    whole = path.read_bytes()[: path.read_bytes().rindex(b"\n") + 1]
    for record, told in (
        ({"took_s": 1.0, "commit": "x", "values": [0, 1, 2]}, "is no record of a search"),
        ({"took_s": 1e8, "commit": "x", "values": [1, 1, 2]}, "took longer than the whole search"),
        ({"at_s": 1e8}, "took longer than the whole search"),
        ({"counting_s": 1e8}, "took longer than the whole search"),
        ({"same": project.commits[1], "other": project.commits[1]}, "the file is damaged"),
        ({"searching": "else"}, "is of another benchmark than those before: else"),
        ({"counted": project.commits[1], "benchmark": "b", "how": "", "amounts": []}, "is no record of"),
        ({"counted": project.commits[1], "benchmark": "b", "how": "", "amounts": [[1, 0]]}, "is no record"),
        ({**ROUND, "values": {"sum": [1]}}, "do not fit 2 sides"),
        ({**ROUND, "order": {"sum": [0, 0]}}, "do not fit 2 sides"),
        ({**ROUND, "order": {"sum": [0, 7]}}, "do not fit 2 sides"),
        ({**ROUND, "seconds": {"sum": 1e8}}, "took longer than the whole search"),
        ({"took_s": 1.0, "commit": "x", "values": [1, 1, 2]}, "launches of x, which is no commit between"),
        ({"left_out": project.commits[0], "reason": ""}, "which is no commit between GOOD and BAD"),
    ):
        content = whole + json.dumps(record).encode() + b'\n{"cut short'
        path.write_bytes(content)
        assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
        error = capsys.readouterr().err
        assert told in error
        if "is damaged: line" in error:  # nothing is cut off before all is accepted
            assert path.read_bytes() == content


def test_looks_at_a_commit_that_was_left_out_are_damage(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = history(tmp_path / "project", {2: {"sum": 10_600}}, count=3)
    path = killed(toll, project, monkeypatch, "search")
    (look, *_) = [record for record in records_of_whole(path) if "took_s" in record]
    whole = path.read_bytes().rpartition(b"\n")[0] + b"\n"
    left_out = {"left_out": look["commit"], "reason": "it crashed"}
    path.write_bytes(whole + b"".join(json.dumps(one).encode() + b"\n" for one in (left_out, look)))
    assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
    assert "the file is damaged: item" in capsys.readouterr().err


def test_what_stands_behind_a_line_that_is_too_long_is_not_lost(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_file, "MAX_LINE_BYTES", 2**20)
    project = history(tmp_path / "project", {2: {"sum": 10_600}}, count=3)
    path = killed(toll, project, monkeypatch, "search")
    header, _, rest = path.read_bytes().partition(b"\n")
    for end in (b"\n" + rest, b""):
        content = header + b'\n{"x": "' + b"a" * 2**20 + b'"}' + end
        path.write_bytes(content)
        assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
        assert "is damaged: line 2 is longer than 1 MiB" in capsys.readouterr().err
        assert path.read_bytes() == content


def test_another_compiler_kernel_or_toll_is_another_search(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = history(tmp_path / "project", {2: {"sum": 10_600}}, count=3)
    path = killed(toll, project, monkeypatch, "ends")
    header, _, rest = path.read_bytes().partition(b"\n")
    for key in ("compilers", "kernel", "version of toll"):
        other = json.loads(header)
        other["question"][key] = "another"
        path.write_bytes(json.dumps(other).encode() + b"\n" + rest)
        assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
        said = capsys.readouterr().err
        assert f"is of another search: its {key} was another, and now it is " in said
        assert ("go on with that toll" in said) is (key == "version of toll")
    other["question"]["version of toll"] = f"{__version__}+0123456789"  # of another commit
    path.write_bytes(json.dumps(other).encode() + b"\n" + rest)
    assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
    assert f"and now it is {edition()}" in capsys.readouterr().err
    other["question"]["version of toll"] = __version__  # as older files have it
    path.write_bytes(json.dumps(other).encode() + b"\n" + rest)
    monkeypatch.setenv("CXXFLAGS", "-O3")
    assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
    assert "its CXXFLAGS was not given" in capsys.readouterr().err
    path.write_bytes(header + b"\n" + rest)
    monkeypatch.setenv("CXXFLAGS", "-O3")
    assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
    assert "its CXXFLAGS was not given, and now it is -O3" in capsys.readouterr().err


def test_two_searches_of_one_file_at_once(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = history(tmp_path / "project", {2: {"sum": 10_600}}, count=3)
    path = killed(toll, project, monkeypatch, "ends")
    before = path.read_bytes()
    raw, _ = RawFile.again(path, lambda _header: None)
    try:
        held = path.read_bytes()
        assert toll(project.commits[0], "main", *WORDS, "--resume", str(path)) == 2
        assert f"another toll adds to {path} at this moment" in capsys.readouterr().err
        assert path.read_bytes() == held == before[: before.rindex(b"\n") + 1]
    finally:
        raw.__exit__()


def test_a_commit_that_no_longer_builds_ends_it_with_what_is_known(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was built in the earlier start, and is built again for the last comparison."""
    flag = tmp_path / "no-compiler"
    before = {"build": f"test ! -e {flag} && {GOOD_BUILD}"}
    project = history(tmp_path / "project", {GUILTY: {"sum": 10_600}, GUILTY - 1: before}, count=12)
    path = killed(toll, project, monkeypatch, "last")
    flag.touch()
    capsys.readouterr()
    assert toll(project.commits[0], "main", *WORDS, "--json", "--resume", str(path)) == 3
    told = capsys.readouterr()
    assert project.commits[GUILTY] in [one["commit"] for one in json.loads(told.out)["found"]]
    assert "does not build" in told.err
    assert "though it was measured before" in told.err


def test_another_assignment_of_commands_is_another_search(
    toll: Toll, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same two commands, the second from another commit on."""
    project = history(tmp_path / "project", {}, count=3)
    file = tmp_path / "builds"
    words = (project.commits[0], "main", "--build", f"@{file}", *WORDS[2:], "--threshold", "0.05")
    file.write_text(f"{project.commits[0]} sh build.sh\n{project.commits[2]} sh ./build.sh\n")
    assert toll(*words) == 0
    (path,) = (tmp_path / "runs").iterdir()
    assert toll(*words, "--resume", str(path)) == 0
    file.write_text(f"{project.commits[0]} sh build.sh\n{project.commits[1]} sh ./build.sh\n")
    capsys.readouterr()
    assert toll(*words, "--resume", str(path)) == 2
    assert "is of another search: its --build was 2 commands, " in capsys.readouterr().err
