"""What `toll compare` says of two executables."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalogue import HERE

from tollbench.compare import MeasuringOptions, WrittenSide, resolve, subject_of
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.untouched import Untouched
from tollbench.launching.interrupt import Interrupt

ROOT = HERE.parents[2]
UNCHANGED = "unchanged_code"
DIFFERENT = ("slower", "faster")
# Shown for every row or of no interest here; what a later version adds is printed.
_KNOWN = {"benchmark", "a", "b", "ratio", "low", "high", "level", "verdict", "launches", "seconds", "reason"}
_KNOWN |= {"regression", "a_ns", "b_ns"}


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark."""

    benchmark: str
    verdict: str
    reason: str
    more: Mapping[str, Any]

    def __str__(self) -> str:
        told = {name: value for name, value in self.more.items() if value not in (None, "", [])}
        more = "".join(f" {name}={value!r}" for name, value in told.items())
        return f"{self.benchmark}: {self.verdict}: {self.reason}{more}"


@dataclass(frozen=True, slots=True)
class Judged:
    """One comparison."""

    rows: tuple[Row, ...]
    seconds: float
    trouble: str = ""  # why there are no rows
    command: str = ""

    def of(self, verdict: str) -> int:
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def wholly_unchanged(self) -> bool:
        return bool(self.rows) and self.of(UNCHANGED) == len(self.rows)


@dataclass(frozen=True, slots=True)
class Judge:
    """How toll is asked; times are of no interest, so that it gets next to none."""

    toll: Sequence[str]
    budget: str
    total_budget: str

    def __call__(self, base: Path, other: Path) -> Judged:
        options = ["--budget", self.budget, "--total-budget", self.total_budget, "--json", "--wait"]
        command = [*self.toll, "compare", str(base), str(other), *options]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [*command, "--raw", f"{folder}/raw.jsonl"],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        seconds = time.monotonic() - started
        try:
            found = json.loads(done.stdout)["comparisons"]
        except (ValueError, KeyError):
            said = (done.stderr or done.stdout).strip()[-400:]
            return Judged((), seconds, f"exit code {done.returncode}: {said}", " ".join(command))
        return Judged(tuple(map(_row, found)), seconds, command=" ".join(command))


@dataclass(frozen=True, slots=True)
class Prover:
    """Asks what `toll compare` asks before it times anything, and times nothing: a tenth of the time."""

    cache: Path  # of what runs execute, by content of the files
    interrupt: Interrupt

    def __call__(self, base: Path, other: Path) -> Judged:
        started = time.monotonic()
        kind, sides = resolve([WrittenSide(str(path)) for path in (base, other)])
        subject = subject_of(kind, sides, MeasuringOptions(60.0, self.interrupt))
        assert isinstance(subject, OneAfterAnother)
        names = subject.survey().common
        looks = Untouched(sides, subject.alone, cache=self.cache, interrupt=self.interrupt)
        standings = looks.standings(dict.fromkeys(names, (0, 1)))
        rows = [
            Row(name, UNCHANGED if standings[name, 1].unchanged else "changed", standings[name, 1].told, {})
            for name in names
        ]
        return Judged(tuple(rows), time.monotonic() - started)


def _row(told: Mapping[str, Any]) -> Row:
    more = {name: value for name, value in told.items() if name not in _KNOWN}
    return Row(told["benchmark"], told["verdict"], told.get("reason", ""), more)
