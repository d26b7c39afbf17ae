"""Builds programs of other languages than C++ (docs/languages.md): a recipe for each, results kept until
a source or the toolchain changes. What cannot be built is a row with a reason, as with CMake.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tollbench.building.recipes import RECIPES, BuildStep, Job, Recipe
from tollbench.building.recipes.parts import first_error, heeded_here, shown
from tollbench.catalog.packages import Need, command_for, newer, table
from tollbench.catalog.tools import run_tool
from tollbench.words import Contender, Environment, Program, Status, Workload
from tollbench.writing import write_own

FOLDER = "languages"  # in an environment's build folder
RESULTS = "results.json"
LONGEST_BUILD_S = 900.0  # the first build of a crate's dependencies over a slow network
Key = tuple[str, str]  # workload, contender


@dataclass(frozen=True, slots=True)
class Built:
    """What became of one source."""

    status: Status
    reason: str
    program: Path
    version: str = ""  # of the toolchain, as rows show it
    flags: str = ""  # that decided which code was made
    made_from: str = ""  # as `Program` has it


def takes(contender: Contender) -> bool:
    """Whether this module builds it."""
    return contender.language in RECIPES


def programs(
    workloads: Sequence[Workload],
    environment: Environment,
    *,
    build_dir: Path,
    root: Path,
    layouts: int = 1,
    on_progress: Callable[[int, int, str], None] = lambda _done, _total, _what: None,
) -> dict[Key, Program]:
    """A Program for each contender of another language, by (workload, contender). Raises nothing.

    They are linked once, which a row says where others have several `layouts` of their code.
    """
    chosen = [contender for workload in workloads for contender in workload.contenders if takes(contender)]
    sources = list(dict.fromkeys((contender.language, contender.source) for contender in chosen))
    built = {}
    for number, (language, source) in enumerate(sources):
        on_progress(number, len(sources), source.name)
        built[source] = _build(
            RECIPES[language], source, build_dir / FOLDER, root, tuned=environment.toolset.tuned
        )
    made = {
        (contender.workload, contender.name): _program(
            contender, environment, built[contender.source], layouts
        )
        for contender in chosen
    }
    _remember(build_dir / FOLDER, made)
    return made


def why_not(contender: Contender, build_dir: Path) -> str:
    """Why it cannot be measured as far as is known without building; "" where nothing speaks against it."""
    recipe = RECIPES[contender.language]
    if reason := _missing(recipe):
        return reason
    need = table()[recipe.need]
    if reason := _known_too_old(contender.language, need.found() or ""):
        return f"{reason}; next: {command_for([newer(need)])}"
    return _results(build_dir / FOLDER).get(f"{contender.workload} {contender.name}", "")


def too_old(need: Need) -> str:
    """A sentence where this toolchain is here in a version that will not do; "" where it will, or is none."""
    recipe = next((one for one in RECIPES.values() if one.need == need.name), None)
    place = need.found()
    return recipe.tool(Path(place)).too_old if recipe and place else ""


@cache
def _known_too_old(language: str, place: str) -> str:
    """Asked once for all contenders of a language, of which `toll list` has many."""
    return RECIPES[language].tool(Path(place)).too_old


def _program(contender: Contender, environment: Environment, built: Built, layouts: int) -> Program:
    command = (str(built.program),) if built.status is Status.OK else ()
    version = _locked_version(contender) or built.version
    return Program(
        contender.workload,
        contender.name,
        environment.name,
        command,
        built.status,
        built.reason,
        version,
        built.flags,
        one_layout="not C++" if layouts > 1 else "",
        made_from=built.made_from,
    )


def _missing(recipe: Recipe) -> str:
    """What is missing and the command that brings it; "" where the toolchain is there."""
    missing = [need for name in (*recipe.besides, recipe.need) if (need := table()[name]).found() is None]
    if not missing:
        return ""
    return f"{missing[0].name} not found ({missing[0].purpose}); next: {command_for(missing)}"


def _build(recipe: Recipe, source: Path, folder: Path, root: Path, *, tuned: bool) -> Built:
    program = folder / "programs" / source.parent.parent.name / source.parent.name / source.name
    place = table()[recipe.need].found()
    if place is None or _missing(recipe):
        return Built(Status.SKIPPED, _missing(recipe), program)
    tool = recipe.tool(Path(place))
    if tool.too_old:
        need = table()[recipe.need]
        return Built(Status.SKIPPED, f"{tool.too_old}; next: {command_for([newer(need)])}", program)
    job = Job(tool, root, source, folder / "made" / source.parent.name / source.name, program, tuned)
    steps = recipe.steps(job)
    variables = heeded_here(recipe, steps)
    flags = " ".join(filter(None, (shown(recipe, variables), recipe.flags(job))))
    mark, stamp = _fingerprint(job, recipe, steps, (variables, flags)), job.out / "fingerprint"
    if os.access(program, os.X_OK) and stamp.is_file() and stamp.read_text(encoding="utf-8") == mark:
        return Built(Status.OK, "", program, recipe.version(job), flags, mark)
    job.out.mkdir(parents=True, exist_ok=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    # An old program must not pass for the new source, whatever becomes of the build.
    stamp.unlink(missing_ok=True)
    program.unlink(missing_ok=True)
    try:
        recipe.begin(job)
    except OSError as error:
        reason = f"what is left of an older build stays: {error.strerror}: {error.filename}"
        return Built(Status.BUILD_FAILED, reason, program, tool.version)
    if reason := _run(steps, folder / "logs" / f"{source.parent.name}-{source.name}.log"):
        return Built(Status.BUILD_FAILED, reason.replace(f"{source.parent}/", "", 1), program, tool.version)
    try:
        recipe.finish(job)
    except OSError as error:
        reason = f"the build left no program: {error.strerror}: {error.filename}"
        return Built(Status.BUILD_FAILED, reason, program, tool.version)
    stamp.write_text(mark, encoding="utf-8")
    return Built(Status.OK, "", program, recipe.version(job), flags, mark)


def _run(steps: Sequence[BuildStep], log: Path) -> str:
    """Runs the steps until one fails; the reason, or "" where all went well."""
    log.parent.mkdir(parents=True, exist_ok=True)
    said = ""
    for step in steps:
        try:
            environment = {**os.environ, **step.environment}
            done = run_tool(
                step.command, one_stream=True, cwd=step.cwd, env=environment, limit_s=LONGEST_BUILD_S
            )
        except OSError as error:
            return f"could not start {step.command[0]}: {error.strerror}"
        except subprocess.TimeoutExpired:
            return f"{Path(step.command[0]).name} took longer than {LONGEST_BUILD_S:g} s"
        said += done.stdout
        log.write_text(said, encoding="utf-8")
        if done.returncode != 0:
            return f"{first_error(done.stdout)} (all of it: {log})"
    return ""


def _fingerprint(job: Job, recipe: Recipe, steps: Sequence[BuildStep], asked: object) -> str:
    """Of all that a program is made from: toolchain, commands, variables, the text of every source."""
    total = hashlib.sha256(repr((job.tool, steps, recipe.wrapper(job), asked)).encode())
    for path in sorted(recipe.sources(job)):
        total.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def _locked_version(contender: Contender) -> str:
    """A crate's version, where the contender's library is one that Cargo.lock holds."""
    lock = contender.source.with_name("Cargo.lock")
    if contender.language != "Rust" or not lock.is_file():
        return ""
    crates = tomllib.loads(lock.read_text(encoding="utf-8")).get("package", [])
    return next((str(crate["version"]) for crate in crates if crate["name"] == contender.library), "")


def _remember(folder: Path, made: Mapping[Key, Program]) -> None:
    """For `toll list`, which does not build: what failed, until it is built again."""
    results = _results(folder) | {
        " ".join(key): program.reason if program.status is Status.BUILD_FAILED else ""
        for key, program in made.items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_own(folder / RESULTS, json.dumps(results, indent=1))


def _results(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
