"""Does `toll why` put the function at fault among the first three lines? Of regressions of known place.

    PYTHONPATH=python .venv/bin/python tests/bench/why/ranks.py [NAME ...] [--options='-O2 -g'] [--strip]

Each source of programs/ is compiled twice, the second time with -DAFTER, and the two are held against each
other. Needs Debian's libbenchmark-dev, Valgrind and binutils. Exits 1 where fewer than nine in ten of the
functions at fault are among the first three.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tollbench.interpreters import interpreter_with_path

HERE = Path(__file__).resolve().parent
FIRST = 3
SHARE = 0.9
# The function in which the change was made, as its name begins or ends before its parameters.
AT_FAULT = {
    "colliding_hash": ("HashOfKey::operator()",),
    "copy_added": ("checked_sum",),
    "debug_check": ("check_sorted", "contains"),  # the check, or who it is inlined into
    "extra_pass": ("normalise",),
    "false_sharing": ("count_up",),
    "lock_added": ("count",),
    "more_calls": ("vowels",),
    "ordered_map": ("Registry::find",),
    "reserve_removed": ("split",),
    "virtual_call": ("measured",),
}
# Written when the order was settled: nothing was changed for these.
AFTERWARDS = {
    "changed_table": ("steps_to",),
    "column_order": ("sum_of",),
    "copied_text": ("first_field", "widest"),  # or who it is inlined into
    "flushed_lines": ("write_line",),
    "many_changes": ("contains",),
}
# Nobody else measures here who would be disturbed, and nothing is timed.
SCRIPT = """
import sys
from tollbench.cli import machine_use, main
machine_use.LOCK_FILES = ()
sys.argv[0] = "toll"
sys.exit(main())
"""


def compiled(name: str, folder: Path, options: argparse.Namespace) -> list[Path]:
    """Before and after."""
    made = []
    for word, define in (("before", ()), ("after", ("-DAFTER",))):
        program = folder / f"{name}-{word}"
        command = [options.compiler, "-std=c++20", *shlex.split(options.options), *define]
        command += [str(HERE / "programs" / f"{name}.cpp"), "-o", str(program), "-lbenchmark", "-lpthread"]
        subprocess.run(command, check=True)
        if options.strip:
            subprocess.run(["strip", str(program)], check=True)
        made.append(program)
    return made


def is_at_fault(function: str, wanted: tuple[str, ...]) -> bool:
    """By the name before its parameters, without the namespace without a name."""
    short = function.replace("(anonymous namespace)::", "").replace("[abi:cxx11]", "")
    head = (
        short.split("(", 1)[0] if "operator()" not in short else short.split("operator()")[0] + "operator()"
    )
    return head.split(" ")[-1] in wanted


def rank(name: str, folder: Path, options: argparse.Namespace) -> tuple[int, str]:
    """The line of the function at fault, 0 where it is in none, and the sentence above them."""
    programs = compiled(name, folder, options)
    command = interpreter_with_path("-c", SCRIPT, "why", *map(str, programs), "--json")
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        return 0, ended.stderr.strip()
    found = json.loads(ended.stdout)["explanations"][0]
    functions = [each["function"] for each in found["functions"]]
    places = [
        line for line, each in enumerate(functions, 1) if is_at_fault(each, (AT_FAULT | AFTERWARDS)[name])
    ]
    return (places[0] if places else 0), found["sentence"]


def main() -> int:
    """A line for each regression."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join((*AT_FAULT, *AFTERWARDS)))
    parser.add_argument("--options", default="-O2 -g")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--strip", action="store_true")
    options = parser.parse_args()
    among_the_first = 0
    names = options.names or [*AT_FAULT, *AFTERWARDS]
    with tempfile.TemporaryDirectory(prefix="toll-why-") as folder:
        for name in names:
            began = time.monotonic()
            line, sentence = rank(name, Path(folder), options)
            among_the_first += 1 <= line <= FIRST
            print(
                f"{name:16} line {line or 'none':4} {time.monotonic() - began:5.1f} s  {sentence}", flush=True
            )
    print(f"among the first {FIRST}: {among_the_first} of {len(names)}")
    return int(among_the_first < SHARE * len(names))


if __name__ == "__main__":
    sys.exit(main())
