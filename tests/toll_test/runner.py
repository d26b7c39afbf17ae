"""Runs the steps of `toll test`: tests one after another, and beside them what is compiled for later ones.

A kept runner would not make this less: nox runs one step at a time, and CTest, which runs several, shows what
they print only at their end and knows neither the time left nor what a tool said last.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from toll_test.outcomes import NOT_RUN, Step, StepOutcome
from toll_test.pace import Pace

# What the runners say at their end: pytest, ctest, doctest, ruff, mypy.
CLOSING = re.compile(
    r"(\d+ (passed|failed|error)|tests passed|tests failed|\[doctest\] (test cases|Status)|All checks passed"
    r"|Success: no issues|Found \d+ error|files already formatted|would be reformatted|No tests were found)"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
# Tests copy the checkout and build the same library in each copy. By this CMake asks ccache first, in
# whatever folder it works: the library in a second one took 0.5 s of CPU time, not 32. Messages name files
# by whole paths.
COMPILED_ONCE = {
    "CMAKE_C_COMPILER_LAUNCHER": "ccache",
    "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
    "CCACHE_BASEDIR": "/",
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_ABSSTDERR": "1",
}
LAST_IN_LINE = 19  # of nice(1): what runs aside gets the CPU time that tests leave


def run_all(
    steps: Sequence[Step], root: Path, output: TextIO | None = None, pace: Pace | None = None
) -> list[StepOutcome]:
    """Runs every step; one whose `after` failed is not started, and counts as failed.

    What the steps print goes to `output`, standard output if not given; that of a step aside once it has
    ended and no other step is printing. What a step waits for stands before it, so that none waits for ever.
    """
    output = output or sys.stdout
    done = Done()
    with Aside([step for step in steps if step.aside], root, done) as aside:
        for step in (step for step in steps if not step.aside):
            began = time.monotonic()
            for name in [item.name for item in aside.steps] if step.alone else step.awaited():
                done.wait_for(name)
            waited = time.monotonic() - began
            aside.print_ended(output)
            done.put(replace(_run_or_not(step, root, output, pace, done), waited=waited))
        for step in aside.steps:
            done.wait_for(step.name)
        aside.print_ended(output)
    return done.of(steps)


class Done:
    """The outcomes so far, of both lines of steps."""

    def __init__(self) -> None:
        self._outcomes: dict[str, StepOutcome] = {}
        self._of_step: dict[int, StepOutcome] = {}  # names may be given twice
        self._changed = threading.Condition()

    def put(self, outcome: StepOutcome) -> None:
        """Wakes who waits for it."""
        with self._changed:
            self._outcomes[outcome.step.name] = outcome
            self._of_step[id(outcome.step)] = outcome
            self._changed.notify_all()

    def wait_for(self, name: str) -> StepOutcome:
        """The outcome of a step that has been started or will be."""
        with self._changed:
            self._changed.wait_for(lambda: name in self._outcomes)
            return self._outcomes[name]

    def of(self, steps: Sequence[Step]) -> list[StepOutcome]:
        """The outcomes of these steps, which all have ended."""
        with self._changed:
            return [self._of_step[id(step)] for step in steps]


class Aside:
    """While entered, runs its steps one after another in a thread, each after what it needs."""

    def __init__(self, steps: Sequence[Step], root: Path, done: Done) -> None:
        self.steps = steps
        self._root, self._done = root, done
        self._ended: list[str] = []  # what steps printed that nobody has seen yet
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()
        # Where the main thread is interrupted, nothing waits for this one.
        self._thread = threading.Thread(target=self._work, name="steps aside", daemon=True)

    def print_ended(self, output: TextIO) -> None:
        """What the steps that have ended printed."""
        with self._lock:
            texts, self._ended = self._ended, []
        output.write("".join(texts))
        output.flush()

    def _work(self) -> None:
        for step in self.steps:
            for name in step.awaited():
                self._done.wait_for(name)
            text = StringIO()
            try:
                outcome = _run_or_not(step, self._root, text, None, self._done, self._started)
            except Exception as error:  # whoever waits for this step would wait for ever
                outcome = StepOutcome(step, NOT_RUN, 0.0, (f"{type(error).__name__}: {error}",))
            with self._lock:
                self._ended.append(text.getvalue())
                if self._stopped:
                    return
            self._done.put(outcome)

    def _started(self, process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, LAST_IN_LINE)
        with self._lock:
            self._process = process
            if self._stopped:
                process.terminate()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._thread.join()
            return
        with self._lock:  # Ctrl-C: nobody will look at the rest
            self._stopped = True
            if self._process is not None:
                self._process.terminate()


def _run_or_not(
    step: Step,
    root: Path,
    output: TextIO,
    pace: Pace | None,
    done: Done,
    on_start: Callable[[subprocess.Popen[str]], None] | None = None,
) -> StepOutcome:
    if not step.after or done.wait_for(step.after).status == 0:
        return run(step, root, output, pace, on_start)
    print(f"\n=== {step.name}: not run, because {step.after} failed", file=output, flush=True)
    return StepOutcome(step, NOT_RUN, 0.0, (f"not run, because {step.after} failed",))


def run(
    step: Step,
    root: Path,
    output: TextIO | None = None,
    pace: Pace | None = None,
    on_start: Callable[[subprocess.Popen[str]], None] | None = None,
) -> StepOutcome:
    """Runs one step, passing its output on as it comes."""
    output = output or sys.stdout
    place = f" ({pace.place(step)})" if pace else ""
    print(f"\n=== {step.name}{place}: {_shown(step.command)}", file=output, flush=True)
    started = time.monotonic()
    try:
        process = _start(step.command, root)
    except OSError as error:
        print(f"cannot start {step.command[0]}: {error.strerror}", file=output, flush=True)
        return StepOutcome(step, 127, 0.0, (f"{step.command[0]} is not installed",))
    if on_start:
        on_start(process)
    closing: list[str] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if pace:
                pace.tell(step, time.monotonic() - started)
            output.write(line)
            output.flush()
            if CLOSING.search(plain := ESCAPES.sub("", line).strip()):
                closing = [*closing, plain][-2:]
    return StepOutcome(step, process.returncode, time.monotonic() - started, tuple(closing))


def _start(command: Sequence[str], root: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=root,
        env={
            **os.environ,
            **COMPILED_ONCE,
            # Copies of the checkout share what their Rust programs depend on, as they do by ccache in C++.
            "CARGO_BUILD_BUILD_DIR": str(root / "build/test-crates"),
            "PYTHONPATH": str(root / "python"),
            "MYPYPATH": str(root / "python"),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _shown(command: Sequence[str]) -> str:
    text = " ".join(command)
    return text if len(text) <= 120 else f"{text[:117]}..."
