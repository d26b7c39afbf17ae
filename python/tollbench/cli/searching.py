"""One `toll bisect` from its words to its answer; `tollbench.cli.bisect` is the table of contents."""

from __future__ import annotations

import hashlib
import math
import os
import re
import secrets
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tollbench.catalog import machine
from tollbench.cli.comparing import IN_RUNS, check_pattern, machine_line, raw_path
from tollbench.cli.console import Progress, progress, say, tell, tell_json
from tollbench.cli.edition import edition, is_this_edition
from tollbench.cli.machine_use import machine_taken
from tollbench.cli.submodule_notes import note_submodules
from tollbench.compare import MeasuringOptions
from tollbench.compare.adapters import AUTO, COMMAND, check_kind
from tollbench.compare.adapters.read_output import KIND as READ
from tollbench.compare.raw_file import Keeping, RawFile
from tollbench.compare.readings import Reading
from tollbench.compare.revisions import RevisionBuild, changed
from tollbench.errors import Exit, TollError, joined, no_room
from tollbench.history.bisecting import Search
from tollbench.history.bisections import BisectionOutcome, SearchEnd
from tollbench.history.commit_range import CommitRange, commit_range, merges_in
from tollbench.history.commit_search import SearchProgress, SearchSettings
from tollbench.history.counted_search import CountedSearch
from tollbench.history.history_folder import BUILD_VARIABLES
from tollbench.history.kept_search import (
    FORM,
    MARK,
    VERSION_OF_TOLL,
    KeptSearch,
    Question,
    check_question,
    elapsed_s,
    kept_search,
)
from tollbench.history.same_code import SameCode
from tollbench.history.several_searches import SeveralSearches
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.clock import SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed, NoRoom
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.meanwhile import Meanwhile
from tollbench.launching.sandbox import Sandbox, sandboxed
from tollbench.report import bisection_lines
from tollbench.text import as_text, several
from tollbench.writing import Output, check_outputs, scratch_folder

LOOKING_SHARE = 0.1  # of the time for launches, besides it: for runs under callgrind that compare code


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """What the command line asked for."""

    good: str
    bad: str
    build: str
    program: str
    pattern: str
    threshold: float
    probability: float
    budget_s: float  # of launches
    total_s: float | None  # of everything; None: no limit
    first_parent: bool
    kind: str
    read: str
    folder: Path | None
    any_exit_code: bool
    seed: int | None
    sandbox: Sandbox | None
    resume: Path | None = None  # the file of an earlier start
    every: bool = False  # several changes are looked for
    counted: bool = False  # by instructions
    commands: Mapping[str, str] = field(default_factory=dict)  # by commit, of --build @FILE
    pages: Mapping[str, Output] = field(default_factory=dict)  # by form

    def question(self, commits: CommitRange) -> Question:
        """What is searched; two starts of one search agree in all of it."""
        row = hashlib.blake2b("".join(one.commit for one in commits.commits).encode(), digest_size=8)
        return {
            "GOOD": commits.commits[0].commit,
            "BAD": commits.commits[-1].commit,
            "--first-parent": self.first_parent,
            "row of commits": f"{commits.last} commits, {row.hexdigest()}",
            "--build": self._told_of_builds(),
            "--program": self.program,
            "--kind": self.kind,
            "--read": self.read,
            "--filter": self.pattern,
            "--threshold": self.threshold,
            "--all": self.every,
            "--count": "instructions" if self.counted else "",
            "--folder": str(self.folder) if self.folder is not None else "",
            "--any-exit-code": self.any_exit_code,
            # A search is gone on with at another one, but of several searches each begins where one ended.
            **({"--probability": self.probability} if self.every and not self.counted else {}),
            "--sandbox": self.sandbox.told() if self.sandbox is not None else "",
            **_surroundings(),
        }

    def _told_of_builds(self) -> str:
        """The command; of --build @FILE which commit has which."""
        if not self.commands:
            return self.build
        pairs = "".join(f"{commit}\0{command}\0" for commit, command in sorted(self.commands.items()))
        which = hashlib.blake2b(pairs.encode(), digest_size=8).hexdigest()
        return f"{several(len(set(self.commands.values())), 'command')}, {which}"

    def settings(self, interrupt: Interrupt | None) -> SearchSettings:
        """How it is searched."""
        total_s = math.inf if self.total_s is None else self.total_s
        return SearchSettings(
            threshold=self.threshold,
            probability=self.probability,
            measuring_s=self.budget_s,
            total_s=total_s,
            every=self.every,
            seed=secrets.randbelow(2**31) if self.seed is None else self.seed,
            kind=self.kind,
            measuring=MeasuringOptions(
                min(self.budget_s, total_s),
                interrupt,
                self.pattern,
                self.any_exit_code,
                read=self.read,
                threshold=self.threshold,
            ),
        )


def _surroundings() -> Question:
    """What builds and times are of besides the commit: they may differ by more than what is searched."""
    found = machine.describe(ask_compilers=True)
    return {
        "processor": str(found["cpu"]),
        "kernel": str(found["kernel"]),
        "compilers": "; ".join(map(str, found["compilers"])),
        VERSION_OF_TOLL: edition(),
        **{name: os.environ.get(name, "") for name in BUILD_VARIABLES},
    }


def counted(count: str) -> bool:
    """Whether --count asks for instructions. Raises TollError for anything else."""
    if count not in ("", "instructions"):
        raise TollError(
            f"--count {count}: a search goes by one count, that of instructions", "write --count instructions"
        )
    return bool(count)


def searched(request: BisectRequest, *, wait: bool) -> tuple[BisectionOutcome, TollError | None]:
    """Takes the machine, builds, measures. Raises TollError for what makes no sense or cannot be measured.

    The second is what ended it where the disk took no more launches.
    """
    request.settings(None).check()
    check_pattern(request.pattern)
    check_kind(request.kind)
    if request.read:
        Reading.of(request.read)
        if request.kind not in (AUTO, READ):
            raise TollError(f"--kind {request.kind} does not read with --read", "leave out one of the two")
    if request.resume is not None and not request.resume.is_file():
        raise TollError(
            f"--resume {request.resume}: there is no such file",
            "name the file that toll bisect told when it began, in runs/",
        )
    for option, words in (("--build", request.build), ("--program", request.program)):
        if not words.strip():
            raise TollError(f"{option} is empty", "for example: --build 'make bench' --program ./bench")
    check_outputs(list(request.pages.values()), [request.resume] if request.resume is not None else [])
    here = Path.cwd()
    commits = commit_range(here, request.good, request.bad, first_parent=request.first_parent)
    merges = merges_in(commits)
    if merges and request.every:
        raise TollError(
            f"{several(merges, 'merge')} between {request.good} and {request.bad}: in the row of all commits"
            " branches stand one behind the other, and --all would take the step from one to the next for a"
            " change",
            "add --first-parent, and search within the merge that it names without --all",
        )
    if merges:
        say(
            f"note: {several(merges, 'merge')} between {request.good} and {request.bad}: branches stand one"
            " behind the other in the row, and what happened on one is not in the next; with --first-parent"
            " the row has whole merges alone"
        )
    request = _with_commands(request, commits)
    ends = (commits.commits[0].commit, commits.commits[-1].commit)
    note_submodules(here, ends)
    if changed(here):
        say("note: changes in this checkout that are not committed are in none of the commits")
    try:
        return _with_the_machine(request, commits, wait=wait)
    except LaunchFailed as failure:
        raise TollError(failure.reason, "see both by hand: toll compare --build ... GOOD BAD") from None
    except NoRoom as full:
        raise no_room(full.reason) from None
    except Interrupted:
        raise TollError(
            "interrupted before GOOD and BAD were compared", "start again when it suits", Exit.INTERRUPTED
        ) from None


def _with_commands(request: BisectRequest, commits: CommitRange) -> BisectRequest:
    """With what --build @FILE says of each commit. Raises TollError."""
    if not request.build.startswith("@"):
        return request
    from tollbench.history.build_file import build_commands

    return replace(request, commands=build_commands(Path(request.build[1:]), commits))


def _with_the_machine(
    request: BisectRequest, commits: CommitRange, *, wait: bool
) -> tuple[BisectionOutcome, TollError | None]:
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(machine_taken(interrupt, wait=wait))
        stack.enter_context(sandboxed(request.sandbox))
        meanwhile = stack.enter_context(Meanwhile())
        scratch = stack.enter_context(scratch_folder())
        settings = request.settings(interrupt)
        raw, before = _raw_file(request, commits, settings)
        keeping = Keeping(stack.enter_context(raw))
        say(f"{several(commits.last, 'commit')} from {request.good} to {request.bad}")
        say(f"every launch goes to {raw.path}; Ctrl-C stops and reports, --resume goes on")
        with progress("searching") as bar:
            recipe = RevisionBuild(request.build, request.program, request.folder)
            builds = TreeBuilds(
                commits.repository,
                recipe,
                scratch,
                interrupt,
                lambda revision: say(f"building {revision.label}"),
                request.commands,
            )
            search = _kind_of_search(request)(
                commits,
                builds,
                settings,
                keep=keeping,
                hear=lambda at: _step(bar, at),
                meanwhile=meanwhile,
                before=before,
                same_code=SameCode(
                    settings.kind, settings.measuring, LOOKING_SHARE * request.budget_s, before.looking_s
                ),
            )
            try:
                outcome = search.run()
                outcome = replace(_with_why(request, commits, outcome), raw=str(raw.path))
            except Interrupted:
                if keeping.error is not None:  # a full disk, which ends a search like somebody's Ctrl-C
                    raise keeping.error from None
                raise
    return outcome, keeping.error or (no_room(outcome.no_room) if outcome.no_room else None)


def _kind_of_search(request: BisectRequest) -> type[Search | CountedSearch | SeveralSearches]:
    if request.counted:
        return CountedSearch  # of every change, too
    return SeveralSearches if request.every else Search


def _raw_file(
    request: BisectRequest, commits: CommitRange, settings: SearchSettings
) -> tuple[RawFile, KeptSearch]:
    """A new file, or that of an earlier start with what it holds. Raises TollError for another search's."""
    if request.resume is None:
        header = _header(request, commits, settings)
        return RawFile(raw_path(None, "bisect"), header, IN_RUNS), KeptSearch()
    name = str(request.resume)
    asked = request.question(commits)
    ended_s = request.resume.stat().st_mtime

    def accept(records: Sequence[Mapping[str, Any]]) -> KeptSearch:
        check_question(records[0], _by_this_toll(records[0], asked), name)
        return kept_search(records[1:], name, most_s=elapsed_s(records[0], ended_s, name))

    raw, before = RawFile.again(request.resume, accept)
    say(f"{several(before.all_launches, 'launch', 'launches')} of an earlier start in {name}")
    return raw, before


def _by_this_toll(header: Mapping[str, Any], asked: Question) -> Question:
    """What is asked, in the words of a search that an older file has of this toll."""
    question = header.get("question")
    told = question.get(VERSION_OF_TOLL) if isinstance(question, dict) else None
    return {**asked, VERSION_OF_TOLL: told} if isinstance(told, str) and is_this_edition(told) else asked


def _step(bar: Progress, at: SearchProgress) -> None:
    bar.step(min(at.spent_s, at.budget_s), at.budget_s, at.told, max(0.0, at.budget_s - at.spent_s))


def _header(request: BisectRequest, commits: CommitRange, settings: SearchSettings) -> dict[str, object]:
    return {
        MARK: FORM,
        "toll_version": edition(),
        "started_utc": SystemClock().utc(),
        "command_line": as_text(shlex.join(["toll", *sys.argv[1:]])),
        "question": request.question(commits),
        "probability": settings.probability,
        "seed": settings.seed,
        "machine": machine.describe(ask_compilers=True),
        "conditions": machine.conditions(),
    }


def _with_why(request: BisectRequest, commits: CommitRange, outcome: BisectionOutcome) -> BisectionOutcome:
    """With `toll why` of what each of its searches found."""
    parts = tuple(_with_why(request, commits, part) for part in outcome.searches)
    why = () if parts else why_commands(request, commits, outcome)
    return replace(outcome, searches=parts, why=why)


def why_commands(request: BisectRequest, commits: CommitRange, outcome: BisectionOutcome) -> tuple[str, ...]:
    """`toll why` for each change that was found, as it can be typed; "" where it could not explain it."""
    if outcome.end is not SearchEnd.FOUND or request.read:
        return ()
    places = {commit.commit: place for place, commit in enumerate(commits.commits)}
    told = []
    for found, suspects in zip(outcome.printed.found, outcome.suspects, strict=True):
        before = commits.commits[places[suspects[0].commit] - 1]
        own = [commits.commits[places[one]] for one in suspects[0].parents if one in places]
        if [before.tree] != [parent.tree for parent in own] != []:
            before = own[0]  # what stands before it in the row is of another branch
        build = request.commands.get(suspects[-1].commit, request.build)
        if request.commands and request.commands.get(before.commit) != build:
            told.append("")  # one command cannot build both
            continue
        words = ["toll", "why", "--build", build, "--program", request.program]
        if request.kind != AUTO:
            words += ["--kind", request.kind]
        if request.folder is not None:
            words += ["--folder", str(request.folder)]
        words += ["--any-exit-code"] * request.any_exit_code + ["--sandbox"] * (request.sandbox is not None)
        if request.kind != COMMAND:  # which has one benchmark
            words += ["--filter", f"^{re.escape(found.benchmark)}$"]
        told.append(shlex.join([*words, before.short, suspects[-1].short]))
    return tuple(told)


def show(
    outcome: BisectionOutcome, pages: Mapping[str, Output], *, as_json: bool, error: TollError | None = None
) -> None:
    """Prints what was found and writes its page; as JSON, the reason where there is none goes to whoever
    watches. Raises TollError at the end, with `error`, and where the page cannot be written."""
    errors = [error] if error is not None else []
    try:
        if as_json:
            tell_json(outcome.printed.model_dump_json(indent=2))
            if outcome.reason:
                say(f"{outcome.end.value.replace('_', ' ')}: {outcome.reason}")
        else:
            for line in bisection_lines.lines(outcome):
                tell(line)
    finally:
        if pages:
            from tollbench.report.comparisons import bisection_html

            told = {
                "machine": machine_line(),
                "started_utc": SystemClock().utc(),
                "command_line": as_text(shlex.join(["toll", *sys.argv[1:]])),
            }
            try:
                pages["html"].write(bisection_html.render(outcome, told), f"every launch is in {outcome.raw}")
            except TollError as refused:
                errors.append(refused)
    if errors:
        raise joined(errors)


def exit_code(outcome: BisectionOutcome) -> Exit:
    """0 where a commit was found or nothing changed, 3 where that is open, 130 after Ctrl-C."""
    return {
        SearchEnd.FOUND: Exit.FINE,
        SearchEnd.NO_CHANGE: Exit.FINE,
        SearchEnd.UNDECIDED: Exit.INCONCLUSIVE,
        SearchEnd.INTERRUPTED: Exit.INTERRUPTED,
    }[outcome.end]
