"""Standard streams that are closed, full or not read: no exit code that means a regression, nothing lost."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_runs import Made, make_run

import tollbench.cli
from checkouts import ROOT
from tollbench.interpreters import interpreter_with_path

# toll as a user starts it, but for the machine's lock and where launches are kept.
TOLL = f"""
import sys; sys.path.insert(0, {str(ROOT / "python")!r}); sys.argv[0] = "toll"
import tollbench.__main__
from tollbench.cli import comparing, machine_use
from pathlib import Path
machine_use.LOCK_FILES = ()
sys.exit(tollbench.__main__.start())
"""


def in_bash(tmp_path: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of bash in which `$toll` is the command; its exit code, and what it could still write."""
    words = interpreter_with_path("-c", TOLL)
    command = f'toll() {{ "${{words[@]}}" "$@"; }}; words=("$@"); set -o pipefail; {line}'
    return subprocess.run(
        ["bash", "-c", command, "bash", *words],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("streams", "code"),
    [
        ("2>/dev/full", 0), ("2>&-", 0), ("2</dev/null", 0), ("1>&-", 0), ("0<&-", 0), ("0<&- 1>&- 2>&-", 0),
        ("| true", 0), ("2>&1 | true", 0), (">/dev/full", 2), ("1</dev/null", 2), (">/dev/full 2>&1", 2),
    ],
)  # fmt: skip
def test_no_stream_makes_a_regression_or_a_bug(tmp_path: Path, streams: str, code: int) -> None:
    done = in_bash(tmp_path, f"toll list containers {streams}")
    assert (done.returncode, "bug" in done.stderr) == (code, False), done.stderr
    done = in_bash(tmp_path, f"toll compare true true --budget 0.5s --seed 1 {streams}")
    known = {0, 3} if not code else {2}  # half a second may be too short for an answer
    assert done.returncode in known, done.stderr
    assert "bug" not in done.stderr
    (raw,) = (tmp_path / "runs").glob("compare-*.jsonl")
    lines = [json.loads(line) for line in raw.read_text().splitlines()]  # no word of progress got into it
    assert "found" in lines[-1]


@pytest.mark.parametrize("streams", ["2>/dev/full", "2>&-", "1>&-", "| true", "2>&1 | true", ">/dev/full"])
def test_a_regression_stays_one_whoever_listens(tmp_path: Path, streams: str) -> None:
    done = in_bash(tmp_path, f"toll compare true 'sleep 0.03' --budget 15s --until direction {streams}")
    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize("streams", ["2>/dev/full", "2>&-", "2>&1 | true"])
@pytest.mark.parametrize("words", ["list --nonsense", "report nowhere.toll", "env nonsense", ""])
def test_an_error_that_nobody_hears_keeps_its_code(tmp_path: Path, words: str, streams: str) -> None:
    assert in_bash(tmp_path, f"toll {words} {streams}").returncode == 2


def test_what_is_written_reaches_a_pipe_that_does_not_wait(tmp_path: Path) -> None:
    """Somebody else's program may have made the terminal or the pipe so: half a JSON text is none."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    words = interpreter_with_path("-c", TOLL)
    with subprocess.Popen([*words, "list", "--json"], stdout=write, cwd=tmp_path) as process:
        os.close(write)
        time.sleep(1.0)  # the pipe is full by now
        with os.fdopen(read, "rb") as pipe:
            rows = json.loads(pipe.read())
    assert process.returncode == 0
    assert len(json.dumps(rows)) > 65536  # more than a pipe holds


def test_an_interrupt_before_a_verb_has_begun_is_one(tmp_path: Path) -> None:
    broken = TOLL.replace("sys.exit", "import importlib; importlib.import_module = stop; sys.exit")
    stop = f"import os, signal\ndef stop(_): os.kill(os.getpid(), {int(signal.SIGINT)}); raise SystemError\n"
    done = subprocess.run(
        interpreter_with_path("-c", stop + broken, "list"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr


def test_a_checkout_that_is_not_whole_is_no_regression(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "python", tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "python/tollbench/errors.py").unlink()
    start = str(tmp_path / "python/tollbench/__main__.py")
    done = subprocess.run(
        [*interpreter_with_path(), "-I", start, "list"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "cannot start: No module named 'tollbench.errors'" in done.stderr


@pytest.mark.parametrize("streams", ["", "2>/dev/full", "2>&-"])
def test_the_start_script_fails_with_another_code(tmp_path: Path, streams: str) -> None:
    """A tool that it calls fails with 1, after what it says found no room: neither is a regression."""
    checkout, tools = tmp_path / "checkout", tmp_path / "tools"
    checkout.mkdir()
    tools.mkdir()
    shutil.copy2(ROOT / "toll", checkout)
    (checkout / "requirements.lock").touch()
    (tools / "flock").write_text("#!/bin/sh\necho >> called\nexit 1\n")
    (tools / "flock").chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", f"./toll list {streams}"],
        cwd=checkout,
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (checkout / "called").read_text() == "\n\n", "it stopped for another reason"
    assert done.returncode == 2, done.stderr


def test_a_name_that_is_no_text_and_a_folder_that_goes_are_rows(tmp_path: Path) -> None:
    done = in_bash(tmp_path, r"toll compare $'true \xff' true --budget 0.5s --json")
    assert "bug" not in done.stderr
    assert json.loads(done.stdout)["sides"] == ["true \\udcff", "true"]
    there = "mkdir here && cd here && toll compare"
    removes = "'rmdir \"$PWD\"; true'"
    line = f"{there} {removes} true --budget 0.5s --raw ../x.jsonl --json"
    done = in_bash(tmp_path, line)
    assert (done.returncode, "bug" in done.stderr) == (2, False), done.stderr
    assert [row["verdict"] for row in json.loads(done.stdout)["comparisons"]] == ["failed"]


DOCUMENTS = ("html", "json", "csv", "markdown")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_document_is_utf8_whatever_the_locale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, encoding: str
) -> None:
    """A page's script, of which one letter is another one, is not what the page allows itself to run."""
    path = make_run(tmp_path / "a.toll", [Made("quick", [10.0, 11.0])], machine={"cpu": "α 9 µs ± …"})
    command = ["toll", "report", str(path), "--format", form]

    def printed(*more: str) -> bytes:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
        monkeypatch.setattr(sys, "argv", [*command, *more])
        monkeypatch.setattr(sys, "stdout", stream)
        assert tollbench.cli.main() == 0
        stream.flush()
        return stream.buffer.getvalue()

    assert printed("--output", str(tmp_path / "file")) == b""
    written = (tmp_path / "file").read_bytes()
    assert printed().rstrip(b"\n") == written.rstrip(b"\n")
    assert not written.isascii() or form == "csv"
    assert b"?" in printed_in_tables(path, monkeypatch, encoding)


def printed_in_tables(path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> bytes:
    """What a terminal gets: its own letters, "?" for those that it lacks."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    monkeypatch.setattr(sys, "argv", ["toll", "report", str(path)])
    monkeypatch.setattr(sys, "stdout", stream)
    assert tollbench.cli.main() == 0
    stream.flush()
    return stream.buffer.getvalue()
