"""What toll costs before it does its work: CPU time as a multiple of `python -c pass`, beside its bars.

    PYTHONPATH=python python tests/bench/start_cost.py

Each command runs some times, and the smallest CPU time (user + system) counts: all that disturbs adds to it.
`compare` is stopped where it would launch for the first time.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile

from tollbench.interpreters import interpreter_with_path

RUNS = 7
START = "import sys; from tollbench.cli import main; sys.argv[0] = 'toll'; main()"
READY = """
from tollbench.cli import comparing, machine_use, main
import sys
machine_use.LOCK_FILES = ()
comparing._measure = lambda *_: sys.exit()
main()
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
            subprocess.run(command, cwd=folder, capture_output=True, env=dict(os.environ), check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def main() -> None:
    """Entry point."""
    unit = cpu_s("pass", ())
    print(f"python -c pass: {unit * 1e3:.0f} ms of CPU time, the smallest of {RUNS}")
    for name, (script, arguments, bar_s) in COMMANDS.items():
        spent = cpu_s(script, arguments)
        print(f"{name}: {spent / unit:.1f} times that, {spent:.2f} s (bar {bar_s} s)")


if __name__ == "__main__":
    main()
