"""What a command line imports before its work: the set of modules, which does not depend on the machine.

How long that takes is measured by tests/bench/start_cost.py.
"""

from __future__ import annotations

import importlib
import os
import subprocess

import pytest
from made_runs import Made, make_run

from checkouts import ROOT
from tollbench.cli import MODULES, VERBS
from tollbench.interpreters import interpreter_with_path

# What takes longest to import, or is not everywhere.
SLOW = {"numpy", "scipy", "pydantic", "jinja2", "elftools", "iced_x86", "pyarrow", "pandas", "sqlite3"}
REPORT_MODULES = "import atexit, sys; atexit.register(lambda: print('MODULES', *sys.modules))\n"
TOLL = REPORT_MODULES + "from tollbench.cli import main; sys.argv[0] = 'toll'; main()"
# Stands in for the measuring: whatever is imported by now is imported before the first launch.
READY = (
    REPORT_MODULES
    + """
from tollbench.cli import comparing, machine_use, main
machine_use.LOCK_FILES = ()
def measure(*_):
    sys.exit()
comparing._measure = measure
sys.argv[0] = "toll"
main()
"""
)


def imported(script: str, *arguments: str, cwd: os.PathLike[str] | str = "/") -> set[str]:
    """All modules of an interpreter that ran the script."""
    done = subprocess.run(
        interpreter_with_path("-c", script, *arguments),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("MODULES ")]
    assert told, done.stdout + done.stderr
    return set(told[-1].split()[1:])


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["-h"], []])
def test_help_imports_no_verb_and_nothing_that_measures(arguments):
    found = imported(TOLL, *arguments)
    assert not found & SLOW
    assert not {f"tollbench.cli.{MODULES.get(verb, verb)}" for verb in VERBS} & found


def test_the_list_imports_nothing_that_computes():
    found = imported(TOLL, "list", "--json")
    assert "tollbench.cli.list_" in found
    assert not found & (SLOW - {"pydantic"})


def test_a_comparison_that_proves_nothing_launches_before_it_imports_what_proves(tmp_path):
    found = imported(READY, "compare", "--measure-all", "/bin/true", "/bin/false", cwd=tmp_path)
    assert "tollbench.compare.engine" in found
    assert not found & (SLOW - {"numpy", "pydantic", "sqlite3"})
    assert not {"tollbench.compare.untouched", "tollbench.linking.relinking"} & found


def test_the_report_of_a_run_imports_nothing_that_compares_or_launches(tmp_path):
    run = make_run(tmp_path / "made.toll", [Made("a", [1.0] * 12), Made("b", [2.0] * 12)])
    found = imported(TOLL, "report", str(run), cwd=tmp_path)
    assert "tollbench.report.terminal" in found
    assert not [name for name in found if name.startswith(("tollbench.compare", "tollbench.launching"))]


@pytest.mark.parametrize("verb", VERBS)
def test_the_line_in_the_help_is_that_of_the_verb(verb):
    module = importlib.import_module(f"tollbench.cli.{MODULES.get(verb, verb)}")
    text = module.app.info.help if hasattr(module, "app") else module.command.__doc__
    assert VERBS[verb] == " ".join(text.strip().split("\n\n")[0].split())
