"""Configures and builds one environment's programs in its own folder, build/<environment>.

CMake writes contenders.json there: for each contender its target and executable, or why there is none. ninja
goes on after a failure, so that one contender that does not compile costs its own row and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tollbench.building import code_layouts, languages
from tollbench.building.code_layouts import InLayouts
from tollbench.building.configuring import OnLine, configure
from tollbench.building.known import FAILURES, entries, failures, reason_on_host
from tollbench.building.log import first_error, split_failures, tried_all
from tollbench.catalog.machine import usable_cpus
from tollbench.catalog.tools import run_tool
from tollbench.errors import TollError
from tollbench.interpreters import environment_of_tools
from tollbench.words import Environment, Program, Status, Workload
from tollbench.writing import alone, write_own

OnProgress = Callable[[int, int, str], None]  # steps done, steps in all, what is built
OWN_TARGETS = ("toll_canary", "toll_allocations")


@dataclass(frozen=True, slots=True)
class Build:
    """One build folder. `root` is the checkout, `folder` is build/<environment>."""

    root: Path
    folder: Path
    enter: tuple[str, ...] = ()  # goes before the commands that build


def programs(
    workloads: Sequence[Workload],
    environment: Environment,
    *,
    build_dir: Path,
    root: Path,
    layouts: int = 1,
    on_line: OnLine = lambda _line: None,
    on_progress: OnProgress = lambda _done, _total, _what: None,
) -> tuple[Program, ...]:
    """Builds what `workloads` hold and returns one Program per contender, always, in their order.

    A contender that does not build is BUILD_FAILED with its first error and the log's path, one that CMake
    leaves out is SKIPPED with CMake's reason. C++ programs are linked in so many `layouts` of their code,
    with 1 in none but their own. Raises TollError where CMake itself cannot configure.
    """
    build = Build(root, build_dir, environment.enter)
    with _alone(build):
        configure(
            build.root,
            build.folder,
            environment.toolset,
            on_line,
            enter=environment.enter,
            file_system=f"{environment.root}/root" if environment.root else "",
        )
        index = {(entry["workload"], entry["contender"]): entry for entry in entries(build.folder)}
        wanted = [
            (workload.name, contender.name) for workload in workloads for contender in workload.contenders
        ]
        targets = [index[key]["target"] for key in wanted if key in index and index[key].get("target")]
        failed = _compile(build, [*targets, *OWN_TARGETS], on_progress)
        _remember(build, targets, failed)
        again = _in_layouts(build, index, targets, failed, layouts, on_progress)
        others = languages.programs(
            workloads, environment, build_dir=build_dir, root=root, layouts=layouts, on_progress=on_progress
        )
    flags = _flags_by_target(build.folder)
    return tuple(
        others.get(key) or _program(build, environment, key, index.get(key), failed, flags, again)
        for key in wanted
    )


def _in_layouts(
    build: Build,
    index: Mapping[tuple[str, str], dict[str, Any]],
    targets: Sequence[str],
    failed: Mapping[str, str],
    layouts: int,
    on_progress: OnProgress,
) -> dict[str, InLayouts]:
    """By target, of the programs that were built."""
    executables = {
        entry["target"]: build.folder / entry["executable"]
        for entry in index.values()
        if entry.get("target") in targets and entry["target"] not in failed
    }
    relinked = code_layouts.LinkedBuild(build.folder, build.enter)
    return code_layouts.linked(relinked, executables, layouts, on_progress)


def _program(
    build: Build,
    environment: Environment,
    key: tuple[str, str],
    entry: dict[str, Any] | None,
    failed: dict[str, str],
    compiled: Mapping[str, str],
    again: Mapping[str, InLayouts],
) -> Program:
    def program(status: Status, reason: str, command: tuple[str, ...] = ()) -> Program:
        version = str((entry or {}).get("library_version") or "")
        target = str((entry or {}).get("target"))
        flags = deciding(compiled.get(target, "")) if command else ""
        made = again.get(target, InLayouts()) if command else InLayouts()
        files = tuple(map(str, made.files))
        return Program(*key, environment.name, command, status, reason, version, flags, files, made.reason)

    if entry is None:
        return program(Status.SKIPPED, "CMake does not know it; next: rm -r build and run again")
    if not entry.get("target"):
        return program(Status.SKIPPED, _where_looked_for(entry, environment))
    if reason := failed.get(entry["target"]):
        return program(Status.BUILD_FAILED, reason)
    executable = build.folder / entry["executable"]
    if not os.access(executable, os.X_OK):
        return program(
            Status.BUILD_FAILED, f"the build left no executable at {executable}; next: rm -r build"
        )
    return program(Status.OK, "", (*environment.enter, str(executable)))


def _where_looked_for(entry: Mapping[str, Any], environment: Environment) -> str:
    """The host's package helps neither a root nor 32-bit programs."""
    reason = str(entry.get("reason") or "CMake left it out without a reason")
    if entry.get("missing") and environment.root:
        return f"{reason}; the root {environment.name} does not bring it"
    if entry.get("missing") and "-m32" in environment.toolset.flags:
        return f"{reason} for 32-bit programs"
    return reason_on_host(entry)


def in_environment(programs: Sequence[Program], environment: Environment) -> tuple[Program, ...]:
    """The same executables, to be launched in `environment`; where it is not available, why not."""
    moved = [replace(program, environment=environment.name) for program in programs]
    if not environment.unavailable:
        return tuple(moved)
    reason = environment.unavailable
    return tuple(
        replace(program, command=(), status=Status.SKIPPED, reason=reason)
        if program.status is Status.OK
        else program
        for program in moved
    )


def failed(
    workloads: Sequence[Workload], environment: Environment, status: Status, reason: str
) -> tuple[Program, ...]:
    """A row for each contender of an environment in which nothing can be built."""
    return tuple(
        Program(workload.name, contender.name, environment.name, (), status, reason)
        for workload in workloads
        for contender in workload.contenders
    )


def canary(folder: Path) -> tuple[str, ...]:
    """The command of the canary in a build folder."""
    return (str(folder / "bin/toll_canary"),)


def allocation_counter(folder: Path) -> Path:
    """The library that a counting pass preloads."""
    return folder / "lib/libtoll_allocations.so"


def described(folder: Path, environment: Environment) -> Environment:
    """The environment with what CMake found: compiler, version, standard library, a contender's flags.

    As it is where nothing was built yet.
    """
    cache = _text(folder / "CMakeCache.txt")
    if not cache:
        return environment
    # One for each version of CMake that has been here; an older one's says what compiled then.
    told = sorted(
        folder.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"), key=lambda path: path.stat().st_mtime_ns
    )
    found = _text(told[-1]) if told else ""
    return replace(
        environment,
        compiler=_capture(r'set\(CMAKE_CXX_COMPILER_ID "(.*?)"\)', found),
        compiler_version=_capture(r'set\(CMAKE_CXX_COMPILER_VERSION "(.*?)"\)', found),
        standard_library=_capture(r"^TOLL_STANDARD_LIBRARY_VERSION:\w+=(.*)$", cache),
        flags=_flags_by_target(folder).get("toll_canary", ""),
        counter=str(allocation_counter(folder)),
    )


def deciding(flags: str) -> str:
    """Those of a compiler's flags that set one program apart from another: no warnings, no lines for
    debuggers, and nothing that all have, such as that code may lie anywhere. What `-Wp,`, `-Wa,` and `-Wl,`
    hand on to preprocessor, assembler and linker are no warnings."""
    alike = r"-(W(?![lpa],)|g\d?$|std=|pedantic|fPI[CE]$|fno-fat-lto-objects$|ffunction-sections$)"
    words = [word for word in flags.split() if not re.match(alike, word)]
    return " ".join(words)


def _flags_by_target(folder: Path) -> dict[str, str]:
    """What ninja compiles each target with, its definitions left out."""
    step = re.compile(r"^build CMakeFiles/([^/\s]+)\.dir/.*\n(?:  (?!FLAGS).*\n)*  FLAGS = (.*)$", re.M)
    return dict(step.findall(_text(folder / "build.ninja")))


def _capture(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@contextmanager
def _alone(build: Build) -> Iterator[None]:
    """Two builds in one folder would write the same files: the second waits for the first."""
    with ExitStack() as held:
        try:
            build.folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(alone(build.folder / ".toll-lock"))
        except OSError as error:
            raise TollError(
                f"cannot build in {build.folder}: {error.strerror}",
                "make the checkout writable, or copy it to a folder that is",
            ) from None
        yield


def _remember(build: Build, targets: Sequence[str], failed: dict[str, str]) -> None:
    """For `toll list`, which does not build: what failed, until it is built again."""
    kept = {target: reason for target, reason in failures(build.folder).items() if target not in targets}
    write_own(build.folder / FAILURES, json.dumps(kept | failed, indent=1))


def _compile(build: Build, targets: Sequence[str], on_progress: OnProgress) -> dict[str, str]:
    """Builds the targets; returns {target: reason} of those that did not get built."""
    jobs = str(len(usable_cpus()))
    command = [*build.enter, "ninja", "-C", str(build.folder), "-k", "0", "-j", jobs, *targets]
    # ninja's own format is the only progress it offers to a program that reads a pipe.
    tools = environment_of_tools(entered=bool(build.enter))
    environment = {**tools, "NINJA_STATUS": "[%f/%t] ", "CLICOLOR_FORCE": "0"}
    log = build.folder / "build.log"
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            cwd=build.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                if step := re.match(r"\[(\d+)/(\d+)\] (.*)", line):
                    on_progress(int(step.group(1)), int(step.group(2)), step.group(3))
        except BaseException:  # Ctrl-C reaches ninja too, SIGTERM toll alone: ninja ends its compilers first
            process.terminate()
            process.wait()
            raise
    return {} if process.returncode == 0 else _failed(build, targets, log)


def _failed(build: Build, targets: Sequence[str], log: Path) -> dict[str, str]:
    """Which targets a failed build did not bring up to date, and why.

    Told by the log, and asked of ninja where something failed that targets share, or ninja itself did before
    it had tried all: a library that is gone is no failed step, and nothing is built then. Never by looking
    for the executable: that of an earlier build may still lie there, and timing it would show a number for a
    source that does not compile.
    """
    told = log.read_text(encoding="utf-8")
    blocks = split_failures(told)
    own = {target: text for target in targets for outputs, text in blocks if _makes(outputs, target)}
    of_one_each = all(any(_makes(outputs, target) for target in targets) for outputs, _ in blocks)
    if blocks and of_one_each and tried_all(told):
        return {target: _reason(build, target, text) for target, text in own.items()}
    reasons = {}
    for target in targets:
        command = [*build.enter, "ninja", "-C", str(build.folder), target]
        tools = environment_of_tools(entered=bool(build.enter))
        again = run_tool(command, one_stream=True, env=tools)  # what ninja itself has to say are errors
        if again.returncode != 0:
            reasons[target] = _reason(build, target, own.get(target, again.stdout))
    return reasons


def _makes(outputs: str, target: str) -> bool:
    """Whether a step's outputs are a target's: its object files, or .../topic/workload/name once linked."""
    return (
        f"/{target}.dir/" in outputs or outputs.replace("/", "-").endswith(f"-{target}") or outputs == target
    )


def _reason(build: Build, target: str, text: str) -> str:
    """One line, with the place of the whole log of this target."""
    part = build.folder / "logs" / f"{target}.log"
    part.parent.mkdir(exist_ok=True)
    part.write_text(text, encoding="utf-8")
    return f"{first_error(text)} (all of it: {part})"
