"""The steps of `toll test`: each one command with its own output and its own closing line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from toll.catalog.packages import table
from toll.cli.console import Progress, clock_time

# What the runners say at their end: pytest, ctest, doctest, ruff, mypy.
CLOSING = re.compile(
    r"(\d+ (passed|failed|error)|tests passed|tests failed|\[doctest\] (test cases|Status)|All checks passed"
    r"|Success: no issues|Found \d+ error|files already formatted|would be reformatted|No tests were found)"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
CXX_FOLDERS = ("include", "src", "suites", "tests")
PYTHON_FOLDERS = ("python", "tests", "cmake")
NOT_RUN = -1
SANITIZERS = ("asan", "tsan")  # asan is address, leak and undefined behaviour together
_EVERY_CONTENDER = (
    'rm -f build/contenders.toll* && exec "$0" -m toll run "*" --profile check'
    " --output build/contenders.toll --no-html --no-install --wait"
)


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


def steps(root: Path, *, fast: bool, bench: bool, everything: bool = False) -> Iterator[Step]:
    """All steps, the quick ones first. `fast` leaves out sanitizers, clang-tidy and slow tests.

    Contenders number hundreds. The step `contenders` builds all as they are measured and launches each;
    Debug and Clang build them, and clang-tidy looks at more than one a workload, only with `everything`.
    """
    dev, clang = ("ON", "ON") if everything else ("headline", "OFF")
    python = sys.executable
    yield Step("ruff", (python, "-m", "ruff", "check", *PYTHON_FOLDERS))
    yield Step("ruff format", (python, "-m", "ruff", "format", "--check", *PYTHON_FOLDERS))
    yield Step("mypy", (python, "-m", "mypy"))
    yield Step("clang-format", ("clang-format-19", "--dry-run", "--Werror", *_cxx_files(root)))
    yield from _cxx_steps("dev", f"-DTOLL_SUITES={dev}")
    if not fast:
        # Sanitizers build the library and its tests, which use all of it.
        yield from _cxx_steps("clang", f"-DCMAKE_CXX_COMPILER={_clang()}", f"-DTOLL_SUITES={clang}")
        for preset in SANITIZERS:
            yield from _cxx_steps(preset, "-DTOLL_SUITES=OFF", "-DTOLL_BENCH=OFF")
        yield Step("clang-tidy", _clang_tidy(root, everything=everything))
        yield Step("contenders", ("sh", "-c", _EVERY_CONTENDER, python))
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


class Pace:
    """How far the steps are and how long the rest will take, by what each took when it last passed."""

    def __init__(self, path: Path, steps: Sequence[Step], bar: Progress) -> None:
        """`path` holds {step: seconds}; where it cannot be read nothing is known yet."""
        self._path, self._steps, self._bar = path, steps, bar
        self._last_s: dict[str, float] = {}
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            stored = json.loads(path.read_text(encoding="utf-8"))
            self._last_s = {str(name): float(seconds) for name, seconds in stored.items()}

    def left_s(self, step: Step, spent_s: float = 0.0) -> float | None:
        """Seconds from `spent_s` after the start of `step` to the end; None where any is not known."""
        rest = [item.name for item in self._steps[self._steps.index(step) :]]
        if any(name not in self._last_s for name in rest):
            return None
        return max(0.0, self._last_s[step.name] - spent_s) + sum(self._last_s[name] for name in rest[1:])

    def place(self, step: Step) -> str:
        """ "3 of 20, about 4:05 left"."""
        left = self.left_s(step)
        about = "" if left is None else f", about {clock_time(left)} left"
        return f"{self._steps.index(step) + 1} of {len(self._steps)}{about}"

    def tell(self, step: Step, spent_s: float) -> None:
        """Moves the bar."""
        left = self.left_s(step, spent_s)
        if left is None:
            self._bar.step(self._steps.index(step), len(self._steps), step.name)
        else:
            total = sum(self._last_s[item.name] for item in self._steps if item.name in self._last_s)
            self._bar.step(max(0.0, total - left), total, step.name, left)

    def remember(self, outcomes: Iterable[Outcome]) -> None:
        """Keeps the times of the steps that passed; a folder that takes no file is no reason to fail."""
        passed = {outcome.step.name: round(outcome.seconds, 1) for outcome in outcomes if not outcome.status}
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._last_s | passed, indent=1), encoding="utf-8")


def run_all(
    steps: Sequence[Step], root: Path, output: TextIO | None = None, pace: Pace | None = None
) -> list[Outcome]:
    """Runs every step; one whose `after` failed is not started, and counts as failed.

    What the steps print goes to `output`, standard output if not given.
    """
    output = output or sys.stdout
    outcomes: list[Outcome] = []
    for step in steps:
        failed = {outcome.step.name for outcome in outcomes if outcome.status != 0}
        if step.after in failed:
            print(f"\n=== {step.name}: not run, because {step.after} failed", file=output, flush=True)
            outcomes.append(Outcome(step, NOT_RUN, 0.0, (f"not run, because {step.after} failed",)))
        else:
            outcomes.append(run(step, root, output, pace))
    return outcomes


def run(step: Step, root: Path, output: TextIO | None = None, pace: Pace | None = None) -> Outcome:
    """Runs one step, passing its output on as it comes."""
    output = output or sys.stdout
    place = f" ({pace.place(step)})" if pace else ""
    print(f"\n=== {step.name}{place}: {_shown(step.command)}", file=output, flush=True)
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
        print(f"cannot start {step.command[0]}: {error.strerror}", file=output, flush=True)
        return Outcome(step, 127, 0.0, (f"{step.command[0]} is not installed",))
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if pace:
                pace.tell(step, time.monotonic() - started)
            output.write(line)
            output.flush()
            if CLOSING.search(plain := ESCAPES.sub("", line).strip()):
                closing = [*closing, plain][-2:]
    return Outcome(step, process.returncode, time.monotonic() - started, tuple(closing))


def described(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """For programs; `closing` holds the runner's own last lines."""
    steps = [
        {
            "name": outcome.step.name,
            "passed": outcome.status == 0,
            "seconds": round(outcome.seconds, 3),
            "closing": list(outcome.closing),
        }
        for outcome in outcomes
    ]
    return {"passed": all(step["passed"] for step in steps), "steps": steps}


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


def _clang_tidy(root: Path, *, everything: bool) -> tuple[str, ...]:
    """Every translation unit of the library, and of each workload the first of its headline, or all of them.

    A contender is a few lines; what can be wrong with them stands in the headers that they share.
    """
    units = [file for file in _cxx_files(root) if file.endswith(".cpp") and file.startswith("src/")]
    for suite in sorted((root / "suites").glob("*/*/suite.toml")):
        units += [str(file.relative_to(root)) for file in _units(suite, everything=everything)]
    pattern = "|".join(re.escape(str(root / unit)) for unit in units)
    return ("run-clang-tidy-19", "-quiet", "-p", "build/dev", "-warnings-as-errors=*", f"^({pattern})$")


def _units(suite: Path, *, everything: bool) -> Iterator[Path]:
    """The C++ sources of a workload's contenders; without `everything` that of the first in its headline."""
    content = tomllib.loads(suite.read_text(encoding="utf-8"))
    contenders = content["contenders"]
    for name in contenders if everything else (content.get("headline") or list(contenders))[:1]:
        source = suite.parent / contenders[name].get("source", f"{name}.cpp")
        if source.suffix == ".cpp":
            yield source.resolve()


def _shown(command: Sequence[str]) -> str:
    text = " ".join(command)
    return text if len(text) <= 120 else f"{text[:117]}..."
