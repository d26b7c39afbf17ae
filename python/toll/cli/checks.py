"""The steps of `toll test`: each one command with its own output and its own closing line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toll.catalog.packages import table

# What the runners say at their end: pytest, ctest, doctest, ruff, mypy.
CLOSING = re.compile(
    r"(\d+ (passed|failed|error)|tests passed|tests failed|\[doctest\] (test cases|Status)|All checks passed"
    r"|Success: no issues|Found \d+ error|files already formatted|would be reformatted|No tests were found)"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
CXX_FOLDERS = ("include", "src", "suites", "tests")
PYTHON_FOLDERS = ("python", "tests", "cmake")
NOT_RUN = -1
SANITIZERS = ("asan", "ubsan", "tsan")


@dataclass(frozen=True, slots=True)
class Step:
    """One command; `name` is what the summary calls it, `after` the step without which it means nothing."""

    name: str
    command: tuple[str, ...]
    after: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step came to: its exit status, wall time in seconds, and the runner's own closing lines."""

    step: Step
    status: int
    seconds: float
    closing: tuple[str, ...]


def steps(root: Path, *, fast: bool, bench: bool) -> Iterator[Step]:
    """All steps, the quick ones first. `fast` leaves out sanitizers, clang-tidy and slow tests."""
    python = sys.executable
    yield Step("ruff", (python, "-m", "ruff", "check", *PYTHON_FOLDERS))
    yield Step("ruff format", (python, "-m", "ruff", "format", "--check", *PYTHON_FOLDERS))
    yield Step("mypy", (python, "-m", "mypy"))
    yield Step("clang-format", ("clang-format-19", "--dry-run", "--Werror", *_cxx_files(root)))
    yield from _cxx_steps("dev")
    if not fast:
        # Another compiler builds everything; sanitizers build the library and its tests, which use all of it.
        yield from _cxx_steps("clang", f"-DCMAKE_CXX_COMPILER={_clang()}")
        for preset in SANITIZERS:
            yield from _cxx_steps(preset, "-DTOLL_SUITES=OFF", "-DTOLL_BENCH=OFF")
        yield Step("clang-tidy", _clang_tidy(root))
    chosen = ("-m", "not slow") if fast else ()
    workers = str(len(os.sched_getaffinity(0)))
    yield Step("pytest", (python, "-m", "pytest", "-n", workers, "--dist", "loadfile", *chosen))
    if bench:
        yield Step("bench", (python, "tests/bench/run.py"))


def _cxx_steps(name: str, *options: str) -> Iterator[Step]:
    """Configure, build and test in build/NAME."""
    folder = f"build/{name}"
    preset = "dev" if name == "clang" else name
    yield Step(f"{name}: configure", ("cmake", "--preset", preset, "-B", folder, *options))
    yield Step(f"{name}: build", ("cmake", "--build", folder), f"{name}: configure")
    ctest = ("ctest", "--test-dir", folder, "--no-tests=error", "--output-on-failure")
    yield Step(f"{name}: ctest", ctest, f"{name}: build")


def _clang() -> str:
    """The Clang that packages.toml found."""
    return table()["clang"].found() or "clang++"


def run_all(steps: Iterable[Step], root: Path) -> list[Outcome]:
    """Runs every step; one whose `after` failed is not started, and counts as failed."""
    outcomes: list[Outcome] = []
    for step in steps:
        failed = {outcome.step.name for outcome in outcomes if outcome.status != 0}
        if step.after in failed:
            print(f"\n=== {step.name}: not run, because {step.after} failed", flush=True)
            outcomes.append(Outcome(step, NOT_RUN, 0.0, (f"not run, because {step.after} failed",)))
        else:
            outcomes.append(run(step, root))
    return outcomes


def run(step: Step, root: Path) -> Outcome:
    """Runs one step, passing its output on as it comes."""
    print(f"\n=== {step.name}: {_shown(step.command)}", flush=True)
    started = time.monotonic()
    closing: list[str] = []
    environment = {**os.environ, "PYTHONPATH": str(root / "python"), "MYPYPATH": str(root / "python")}
    try:
        process = subprocess.Popen(
            step.command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        print(f"cannot start {step.command[0]}: {error.strerror}", flush=True)
        return Outcome(step, 127, 0.0, (f"{step.command[0]} is not installed",))
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            if CLOSING.search(plain := ESCAPES.sub("", line).strip()):
                closing = [*closing, plain][-2:]
    return Outcome(step, process.returncode, time.monotonic() - started, tuple(closing))


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line a step with its time, and below it what its runner said last."""
    lines = ["", "=== summary"]
    for outcome in outcomes:
        verdict = "ok    " if outcome.status == 0 else "FAILED"
        lines.append(f"{verdict} {outcome.seconds:6.1f} s  {outcome.step.name}")
        lines += [f"                  {line}" for line in outcome.closing]
    failed = sum(outcome.status != 0 for outcome in outcomes)
    total = sum(outcome.seconds for outcome in outcomes)
    lines.append(f"{len(outcomes) - failed} of {len(outcomes)} steps passed in {total:.0f} s")
    return "\n".join(lines)


def _cxx_files(root: Path) -> list[str]:
    found = (
        path.relative_to(root)
        for folder in CXX_FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in (".cpp", ".hpp") and path.is_file()
    )
    return sorted(map(str, found))


def _clang_tidy(root: Path) -> tuple[str, ...]:
    """Every translation unit of the library and the suites, with the dev preset's compile commands."""
    units = [
        file for file in _cxx_files(root) if file.endswith(".cpp") and file.startswith(("src/", "suites/"))
    ]
    pattern = "|".join(re.escape(str(root / unit)) for unit in units)
    return ("run-clang-tidy-19", "-quiet", "-p", "build/dev", "-warnings-as-errors=*", f"^({pattern})$")


def _shown(command: Sequence[str]) -> str:
    text = " ".join(command)
    return text if len(text) <= 120 else f"{text[:117]}..."
