"""The steps of `toll test`: each one command with its own output and its own closing line."""

from __future__ import annotations

import os
import re
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

from toll_test.outcomes import Step
from tollbench.catalog.environments import roots
from tollbench.catalog.packages import table
from tollbench.catalog.suite_rules import headline_of, source_of
from tollbench.interpreters import interpreter, toll_itself

CXX_FOLDERS = ("include", "src", "suites", "tests")
PYTHON_FOLDERS = ("python", "tests", "cmake")
# What hangs is ended, with its name: the slowest test takes a tenth of that.
CTEST_OPTIONS = ("--no-tests=error", "--output-on-failure", "--timeout", "300")
ANYTHING = "proof or not proof"  # the slow proofs too, which are left out where nobody names them
SANITIZERS = ("asan", "tsan")  # asan is address, leak and undefined behaviour together
_LAUNCHED_ONCE = (
    'rm -f build/contenders.toll* && exec "$0" "$@" --profile check'
    " --output build/contenders.toll --no-html --no-install --wait"
)


def steps(root: Path, *, fast: bool, bench: bool, everything: bool = False) -> Iterator[Step]:
    """All steps, the quick ones first. `fast` leaves out sanitizers, clang-tidy and slow tests.

    Contenders number hundreds, and building them as they are measured takes a third of the whole: the step
    `contenders` builds and launches each workload's headline, which the build of the tests has compiled with
    the same options, so that ccache has it. Only with `everything` it takes all of them, Debug and Clang
    build them too, clang-tidy looks at more than one a workload, the roots are made that some of them need,
    and the proofs are run, which take a minute each.

    Tests wait, and most use one CPU at a time: what is compiled for the next ones is compiled aside.
    """
    yield Step("ruff", _python("-m", "ruff", "check", *PYTHON_FOLDERS))
    yield Step("ruff format", _python("-m", "ruff", "format", "--check", *PYTHON_FOLDERS))
    yield Step("clang-format", ("clang-format-19", "--dry-run", "--Werror", *_cxx_files(root)))
    builds = dict(_builds(fast=fast, everything=everything))
    for name, options in builds.items():
        yield from _compiled_aside(name, *options)
    yield Step("mypy", _python("-m", "mypy"))
    if everything:
        for name in roots.NAMES:
            yield Step(f"root {name}", tuple(toll_itself("env", "add", name)))
        yield Step("audit", _python("tests/toll_test/audit.py"))
    chosen = ("-m", "not slow") if fast else ("-m", ANYTHING) if everything else ()
    workers = str(len(os.sched_getaffinity(0)))
    # A file at a time, as its tests share what they build, in the order of tests/python/conftest.py.
    beside = ("-n", workers, "--dist", "loadfile", "--no-loadscope-reorder")
    yield Step("pytest", _python("-m", "pytest", *beside, *chosen))
    chosen_contenders = ("*",) if everything else ()
    if not fast:
        # Beside pytest, whose end the next one waits for.
        first = next(iter(builds))
        tidy = _clang_tidy(root, first, everything=everything)
        yield Step("clang-tidy", tidy, f"{first}: configure", aside=True)
        # pytest builds in the same folder, and would wait for the whole of it.
        compiled = _python("tests/toll_test/contenders.py", *chosen_contenders)
        yield Step("contenders: build", compiled, aside=True, behind="pytest")
    for name in builds:
        ctest = ("ctest", "--test-dir", f"build/{name}", *CTEST_OPTIONS)
        yield Step(f"{name}: ctest", ctest, f"{name}: build")
    if not fast:
        yield Step(
            "contenders",
            ("sh", "-c", _LAUNCHED_ONCE, *toll_itself("run", *chosen_contenders)),
            "contenders: build",
        )
    if bench:
        yield Step("bench", _python("tests/bench/run.py"), alone=True)


def _python(*words: str) -> tuple[str, ...]:
    return tuple(interpreter(*words))


def _builds(*, fast: bool, everything: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The builds that have tests, and CMake's options for each; the first has contenders too.

    As they are measured, but where Debug compiles sooner or all of them are built in every way: assertions
    are on with the sanitizers. (Debug for headlines too was 550 s of CPU time, of 3,700 for the whole.)
    """
    if fast or everything:
        yield "dev", (f"-DTOLL_SUITES={'ON' if everything else 'headline'}",)
    if not fast:
        yield "release", (f"-DTOLL_SUITES={'OFF' if everything else 'headline'}",)
    if everything:
        yield "clang", (f"-DCMAKE_CXX_COMPILER={_clang()}", "-DTOLL_SUITES=ON")
    if not fast:
        # Sanitizers build the library and its tests, which use all of it.
        for preset in SANITIZERS:
            yield preset, ("-DTOLL_SUITES=OFF", "-DTOLL_BENCH=OFF")


def _compiled_aside(name: str, *options: str) -> Iterator[Step]:
    """Configure and build in build/NAME."""
    folder = f"build/{name}"
    preset = "dev" if name == "clang" else name
    configure = ("cmake", "--preset", preset, "-B", folder, *options)
    yield Step(f"{name}: configure", configure, aside=True)
    yield Step(f"{name}: build", ("cmake", "--build", folder), f"{name}: configure", aside=True)


def _clang() -> str:
    """The Clang that packages.toml found."""
    return table()["clang"].found() or "clang++"


def _cxx_files(root: Path) -> list[str]:
    found = (
        path.relative_to(root)
        for folder in CXX_FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in (".cpp", ".hpp") and path.is_file()
    )
    return sorted(map(str, found))


def _clang_tidy(root: Path, build: str, *, everything: bool) -> tuple[str, ...]:
    """Every translation unit of the library, and of each workload the first of its headline, or all of them.

    A contender is a few lines; what can be wrong with them stands in the headers that they share.
    """
    units = [file for file in _cxx_files(root) if file.endswith(".cpp") and file.startswith("src/")]
    for suite in sorted((root / "suites").glob("*/*/suite.toml")):
        units += [str(file.relative_to(root)) for file in _units(suite, everything=everything)]
    pattern = "|".join(re.escape(str(root / unit)) for unit in units)
    scripts = Path(sysconfig.get_path("scripts"))  # of the lock's version
    runner = str(scripts / "run-clang-tidy.py")
    binary = ("-clang-tidy-binary", str(scripts / "clang-tidy"))
    return _python(
        runner, *binary, "-quiet", "-p", f"build/{build}", "-warnings-as-errors=*", f"^({pattern})$"
    )


def _units(suite: Path, *, everything: bool) -> Iterator[Path]:
    """The C++ sources of a workload's contenders; without `everything` that of the first in its headline."""
    content = tomllib.loads(suite.read_text(encoding="utf-8"))
    contenders = content["contenders"]
    for name in contenders if everything else headline_of(content.get("headline", ()), contenders)[:1]:
        source = suite.parent / source_of(name, contenders[name].get("source", ""))
        if source.suffix == ".cpp":
            yield source.resolve()
