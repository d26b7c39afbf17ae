"""What toll costs before it does its work: CPU time as a multiple of `python -c pass`, beside its bars.

    PYTHONPATH=python python tests/bench/start_cost.py [QUICK.toll]

QUICK.toll is what `toll run` left; without it `toll report` is left out, and told so.

Each command runs some times, and the smallest CPU time (user + system) counts: all that disturbs adds to it.
`compare` is stopped where it would launch for the first time.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tollbench.interpreters import interpreter_with_path

RUNS = 7
# The commands run elsewhere: toll is found by its whole path. Bytecode is kept, as where toll is used.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "python")
# As the `toll` of a wheel starts, and for a while as this script did not: without what `start` sets, a report
# costs 5 % more than anybody waits for.
START = "import sys; from tollbench.__main__ import start; sys.argv[0] = 'toll'; sys.exit(start())"
READY = """
from tollbench.__main__ import start
from tollbench.cli import comparing, machine_use
import sys
machine_use.LOCK_FILES = ()
comparing._measure = lambda *_: sys.exit()
sys.exit(start())
"""
COMMANDS = {
    "toll --help": (START, ("--help",), 0.3),
    "toll list": (START, ("list",), 0.5),
    "toll compare --measure-all, until it launches": (
        READY,
        ("compare", "--measure-all", "/bin/true", "/bin/false"),
        0.6,
    ),
}


def cpu_s(script: str, arguments: tuple[str, ...]) -> float:
    """The smallest of some runs, seconds."""
    found = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as folder:
            command = interpreter_with_path("-c", script, *arguments)
            # What does not even start would be the quickest of all.
            subprocess.run(command, cwd=folder, capture_output=True, env=ENVIRONMENT, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def of_report(run: Path) -> dict[str, tuple[str, tuple[str, ...], float]]:
    """As tables, and as a page, which is written into a folder that goes."""
    file = str(run.resolve())
    page = ("report", file, "--format", "html", "--output", "page.html")
    return {
        "toll report, tables": (START, ("report", file), 2.0),
        "toll report, a page": (START, page, 2.0),
    }


def main(arguments: list[str]) -> None:
    """Entry point."""
    run = Path(arguments[0]) if arguments else None
    unit = cpu_s("pass", ())
    print(f"python -c pass: {unit * 1e3:.0f} ms of CPU time, the smallest of {RUNS}")
    for name, (script, words, bar_s) in (COMMANDS | (of_report(run) if run else {})).items():
        spent = cpu_s(script, words)
        print(f"{name}: {spent / unit:.1f} times that, {spent:.2f} s (bar {bar_s} s)")
    if run is None:
        print("toll report: not measured, name the run file of a quick run")


if __name__ == "__main__":
    main(sys.argv[1:])
