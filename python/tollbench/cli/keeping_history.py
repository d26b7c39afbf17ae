"""One `toll history` from its words to what is shown; `tollbench.cli.history` is the table of contents."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tollbench.catalog import machine
from tollbench.cli import places
from tollbench.cli.comparing import IN_RUNS, check_pattern, machine_line, raw_path, seconds
from tollbench.cli.console import progress, say, tell, tell_json
from tollbench.cli.edition import edition
from tollbench.cli.machine_use import machine_taken
from tollbench.cli.submodule_notes import note_submodules
from tollbench.compare import ComparisonSettings, MeasuringOptions
from tollbench.compare.adapters import AUTO, check_kind
from tollbench.compare.adapters.read_output import KIND as READ
from tollbench.compare.raw_file import Keeping, RawFile
from tollbench.compare.readings import Reading
from tollbench.compare.revisions import RevisionBuild, changed
from tollbench.compare.sides import WrittenSide
from tollbench.errors import Exit, TollError, joined, no_room
from tollbench.history.build_file import build_commands
from tollbench.history.choosing_commits import order_of_measuring
from tollbench.history.commit_range import (
    Commit,
    CommitRange,
    any_known,
    commit_range,
    latest_commits,
    one_commit,
    tagged_commits,
)
from tollbench.history.histories import Histories
from tollbench.history.history_folder import HistoryFolder, build_environment, first_word
from tollbench.history.measuring_commits import CommitSession, SessionProgress, SessionSettings, group_folder
from tollbench.history.reading_history import ReadHistory, read_history
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.clock import SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed, NoRoom
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.meanwhile import Meanwhile
from tollbench.launching.sandbox import Sandbox, sandboxed
from tollbench.report.histories import history_feed, history_html, history_markdown, history_terminal
from tollbench.text import as_text, several, shown
from tollbench.writing import Output, check_outputs, delete_tree, scratch_folder
from tollbench.writing.marks import OF_HISTORY

if TYPE_CHECKING:
    from tollbench.store import RunFile

BY_FILE = "@FILE"
_USUAL_LAST = 50
_LIMIT_IN_COMMITS = 4.0  # the longest launch, in what a commit may have: one that is slower is no hanging one
_SHORTEST_LIMIT_S = 20.0  # however little a commit may have: a busy machine takes its time
_RENDERERS = {
    "html": history_html.render,
    "markdown": history_markdown.render,
}


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """What the command line asked for."""

    commits: str
    last: int | None
    tags: str
    merged: bool
    build: str  # "": nothing is measured
    program: str
    reference: str
    into: Path | None
    pattern: str
    threshold: float
    budget_s: float  # of launches; 0: nothing is measured
    commit_s: float
    kind: str
    read: str
    folder: Path | None
    any_exit_code: bool
    seed: int | None
    sandbox: Sandbox | None
    commands: Mapping[str, str] = field(default_factory=dict)  # by commit, of --build @FILE

    @property
    def build_told(self) -> str:
        """What makes a part of the history: which command builds which commit stands with each of these."""
        return BY_FILE if self.commands else self.build

    def settings(self, interrupt: Interrupt | None) -> SessionSettings:
        """How commits are measured."""
        return SessionSettings(
            threshold=self.threshold,
            measuring_s=self.budget_s,
            commit_s=self.commit_s,
            seed=secrets.randbelow(2**31) if self.seed is None else self.seed,
            kind=self.kind,
            measuring=MeasuringOptions(
                # One that hangs is ended by then, or it would have all of the night, and each night.
                max(0.001, min(self.budget_s, max(_LIMIT_IN_COMMITS * self.commit_s, _SHORTEST_LIMIT_S))),
                interrupt,
                self.pattern,
                self.any_exit_code,
                read=self.read,
                threshold=self.threshold,
            ),
        )


def budget_seconds(text: str) -> float:
    """A length of time, which here may be none. Raises TollError."""
    return 0.0 if text in ("0", "0s") else seconds("--budget", text)


def refuse_what_only_measuring_heeds(options: Sequence[str]) -> None:
    """Without --build they would be dropped without a word. Raises TollError."""
    if options:
        raise TollError(
            f"{options[0]} is of measuring, and without --build nothing is measured",
            f"leave out {options[0]}, or measure: --build COMMAND --program PATH",
        )


def outputs(html: Path | None, markdown: Path | None, feed: Path | None, *, force: bool) -> dict[str, Output]:
    """Files to be written, by form."""
    named = {"html": html, "markdown": markdown, "feed": feed}
    return {
        form: Output(path, OF_HISTORY[form], f"--{form}", force)
        for form, path in named.items()
        if path is not None
    }


def kept(
    request: HistoryRequest, files: Mapping[str, Output], *, wait: bool
) -> tuple[Histories, TollError | None]:
    """Measures what is new, as far as its time goes, and reads all that is known.

    The second is what ended it where the disk took no more. Raises TollError for what makes no sense or
    cannot be built at all.
    """
    _check(request)
    here = Path.cwd()
    row = _row(request, here)
    if request.build.startswith("@"):
        request = replace(request, commands=build_commands(Path(request.build[1:]), row))
    folder = HistoryFolder(request.into or places.in_runs("history"))
    check_outputs(list(files.values()), sorted(folder.path.glob("measured-*.jsonl")))
    error: TollError | None = None
    interrupted = False
    if request.budget_s > 0.0:
        note_submodules(here, [row.commits[0].commit, row.commits[-1].commit])
        if changed(here):
            say("note: changes in this checkout that are not committed are in none of the commits")
        if request.reference:
            one_commit(here, request.reference)  # before anything is made
        with folder.taken():
            _check_folder(request, row, folder)
            try:
                error = _measured(request, row, folder, wait=wait)
            except Interrupted:
                interrupted = True
            except TollError as raised:
                if not folder.sessions():
                    raise
                error = raised  # what is known is shown all the same
    elif not folder.path.is_dir():
        raise TollError(
            f"there is no history in {folder.path}", "measure one: --build COMMAND --program PATH"
        )
    known = _read(request, row, folder).told
    told = {
        "interrupted": interrupted,
        "toll_version": edition(),
        "machine": machine_line(),
    }
    return known.model_copy(update=told), error


def of_runs(
    names: Sequence[str],
    others: Sequence[str],
    files: Mapping[str, Output],
    *,
    threshold: float,
    pattern: str,
) -> Histories:
    """Run files as a history, in order of their dates; nothing is measured.

    `others` are options that were given and go with commits alone. Raises TollError for what makes no sense.
    """
    from tollbench.analysis.several import in_time
    from tollbench.fleet.fleet_results import host_of
    from tollbench.history.run_history import LEVEL, read_runs

    if others:
        raise TollError(f"{others[0]} is of commits, and --runs shows run files", "leave out one of the two")
    check_pattern(pattern)
    ComparisonSettings(threshold=threshold).check()
    paths = list(dict.fromkeys(places.run_path(name).resolve() for name in names))
    if len(paths) < 2:
        raise TollError(
            f"--runs needs two run files, and {several(len(paths), 'was', 'were')} named",
            "for example: toll history --runs runs/*.toll",
        )
    check_outputs(list(files.values()), paths)
    once, notes = _each_run_once(paths)
    if len(once) < 2:
        raise TollError(f"these files are of one run: {notes[0]}", "name those of other runs too")
    with progress("reading", after_s=1.0) as bar:
        results, rows = in_time(_opened(once), LEVEL, lambda done, total: bar.step(done, total, "launches"))
    hosts = [host_of(path) for path in once]
    found = read_runs(results, rows, threshold=threshold, pattern=pattern, hosts=hosts)
    return found.model_copy(update={"toll_version": edition(), "notes": (*found.notes, *notes)})


def _opened(paths: Sequence[Path]) -> Iterator[RunFile]:
    """One after the other: a process may have a thousand files open, and there may be more runs."""
    from tollbench.store import RunFile

    for path in paths:
        with RunFile.open(path) as run_file:
            yield run_file


def _instant(utc: str) -> datetime:
    """Of a run file, which may be a stranger's: as texts, instants of other time zones have another order."""
    try:
        found = datetime.fromisoformat(utc)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _each_run_once(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files in order of time, of copies of one run the first alone; and a sentence on each copy."""
    headers = zip((run_file.header() for run_file in _opened(paths)), paths, strict=True)
    first: dict[str, Path] = {}
    found, notes = [], []
    for header, path in sorted(headers, key=lambda one: _instant(one[0].started_utc)):
        other = first.setdefault(header.uuid, path) if header.uuid else path
        if other is path:
            found.append(path)
        else:
            notes.append(f"{shown(path.name)} is the run of {shown(other.name)} again, and left out")
    return found, notes


def _check(request: HistoryRequest) -> None:
    """Raises TollError."""
    request.settings(None).check()
    check_pattern(request.pattern)
    check_kind(request.kind)
    if request.read:
        Reading.of(request.read)
        if request.kind not in (AUTO, READ):
            raise TollError(f"--kind {request.kind} does not read with --read", "leave out one of the two")
    if request.build and not request.program.strip():
        raise TollError("--build without --program", "for example: --build 'make bench' --program ./bench")
    if request.program and not request.build.strip():
        raise TollError("--program without --build", "for example: --build 'make bench' --program ./bench")
    asked = [bool(request.commits), request.last is not None, bool(request.tags)]
    if sum(asked) > 1:
        raise TollError("a range, --last and --tags each name commits", "choose one of them")
    if request.tags and request.merged:
        raise TollError("--tags names commits, merged or not, and --merged more", "leave out one of the two")


def _row(request: HistoryRequest, here: Path) -> CommitRange:
    """The commits, oldest first."""
    if request.tags:
        return tagged_commits(here, request.tags)
    if request.commits:
        first, dots, last = request.commits.partition("..")
        if not dots or not first or last.startswith("."):
            raise TollError(
                f"{request.commits} is no range of commits", "write for example v1.0..HEAD, or --last 50"
            )
        return commit_range(here, first, last or "HEAD", first_parent=not request.merged)
    return latest_commits(here, request.last or _USUAL_LAST, first_parent=not request.merged)


def _read(request: HistoryRequest, row: CommitRange, folder: HistoryFolder) -> ReadHistory:
    notes: list[str] = []
    sessions = folder.sessions(notes.append)
    return read_history(
        row,
        sessions,
        threshold=request.threshold,
        pattern=request.pattern,
        notes=notes,
        commands=request.commands,
    )


def _check_folder(request: HistoryRequest, row: CommitRange, folder: HistoryFolder) -> None:
    """Raises TollError where the usual folder is of another program, or any folder of another project."""
    sessions = folder.sessions()
    programs = {first_word(one.header.program) for one in sessions} - {""}
    wanted = first_word(request.program)
    if request.into is None and programs and wanted not in programs:
        raise TollError(
            f"{folder.path} is the history of {shown(sorted(programs)[0])}, and not of {shown(wanted)}",
            "give each program a folder of its own: --into FOLDER",
        )
    measured = {commit.commit: commit.tree for one in sessions for commit in one.commits}
    known = [one.header.reference for one in sessions] + list(measured)
    if measured and not any_known(row.repository, known, list(measured.values())):
        raise TollError(
            f"{folder.path} is the history of another repository: none of its"
            f" {several(len(measured), 'commit')} is in {row.repository}",
            "give each project a folder of its own: --into FOLDER; where all of it was rewritten, bring a"
            " commit that was measured",
        )


def _measured(
    request: HistoryRequest, row: CommitRange, folder: HistoryFolder, *, wait: bool
) -> TollError | None:
    """One session. Raises TollError, Interrupted; returns what a full disk ended."""
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(machine_taken(interrupt, wait=wait))
        stack.enter_context(sandboxed(request.sandbox))
        meanwhile = stack.enter_context(Meanwhile())
        scratch = stack.enter_context(scratch_folder())
        settings = request.settings(interrupt)
        recipe = RevisionBuild(request.build, request.program, request.folder)
        reference = _reference(request, row, folder, recipe)

        def built(commit: Commit) -> tuple[WrittenSide, str]:
            own = _recipe_of(commit, request, row, folder, recipe)
            kept = folder.kept_reference(commit, own)
            if kept is None:
                say(f"building the reference {commit.short}")
                kept = folder.build_reference(row.repository, commit, own, interrupt)
            return kept

        written, digest = built(reference)
        header = _header(request, reference, digest)
        raw = stack.enter_context(RawFile(raw_path(None, "history"), header, IN_RUNS))
        keeping = Keeping(raw)
        elsewhere = "keep the history in another folder: --into FOLDER"
        session = stack.enter_context(RawFile(_session_path(folder), header, elsewhere))
        say(f"every launch goes to {raw.path}; Ctrl-C stops and reports")
        with progress("measuring") as bar:

            def hear(at: SessionProgress) -> None:
                left = max(0.0, at.budget_s - at.spent_s)
                bar.step(min(at.spent_s, at.budget_s), at.budget_s, at.told, left)

            commands = request.commands
            if commands and reference.commit not in commands:
                commands = {
                    **commands,
                    reference.commit: _recipe_of(reference, request, row, folder, recipe).build,
                }
            groups = _Groups(row.repository, recipe, scratch, interrupt, commands)
            work = CommitSession(
                written,
                groups.another,
                settings,
                session,
                keep=keeping,
                hear=hear,
                note=lambda sentence: say(f"note: {sentence}"),
                check_builds=lambda: groups.check(reference),
                other_reference=lambda name: (
                    folder.kept_reference(_gone(name), _kept_recipe(_gone(name), request, folder, recipe))
                    or built(one_commit(row.repository, name))
                ),
                meanwhile=meanwhile,
                commands=request.commands,
            )
            try:
                _all_groups(request, row, folder, work)
            except Interrupted as ended:
                if keeping.error is not None:  # a full disk, which ends a session like somebody's Ctrl-C
                    return keeping.error
                if isinstance(ended, NoRoom):
                    return no_room(ended.reason)
                raise
            except TollError as error:
                if error.code == Exit.INCONCLUSIVE:  # the session's file took no more
                    return error
                raise
            finally:
                groups.close()
                for sentence in meanwhile.look():
                    say(f"note: {sentence}")
    return None


def _all_groups(
    request: HistoryRequest, row: CommitRange, folder: HistoryFolder, work: CommitSession
) -> None:
    """Groups of the most important commits, until time is spent or none is left worth it."""
    tried: set[str] = set()  # trees: a bad day is told by visits of several nights
    while work.left_s > 0.0:
        known = _read(request, row, folder)
        work.others.update(known.others)
        order = order_of_measuring(
            len(row.commits), known.visits, known.runs, known.doubted, known.failed, known.suspected
        )
        chosen: dict[str, Commit] = {}
        for place in order:
            commit = row.commits[place]
            if commit.tree not in tried and len(chosen) < work.settings.together:
                tried.add(commit.tree)
                chosen[commit.tree] = commit
        if not chosen or work.left_s < work.round_s(len(chosen)):
            return
        say(f"{several(len(chosen), 'commit')}, {chosen[next(iter(chosen))].short} first")
        work.measure(list(chosen.values()))


class _Groups:
    """A folder of builds for each group: those of the one before go."""

    def __init__(
        self,
        repository: Path,
        recipe: RevisionBuild,
        scratch: Path,
        interrupt: Interrupt,
        commands: Mapping[str, str],
    ) -> None:
        self._repository, self._recipe, self._scratch = repository, recipe, scratch
        self._interrupt, self._commands = interrupt, commands
        self._number = 0
        self._folder: Path | None = None

    def another(self) -> TreeBuilds:
        """Empty."""
        self.close()
        self._number += 1
        self._folder = group_folder(self._scratch, self._number)
        return TreeBuilds(
            self._repository,
            self._recipe,
            self._folder,
            self._interrupt,
            lambda revision: say(f"building {revision.label}"),
            self._commands,
        )

    def check(self, reference: Commit) -> None:
        """Raises TollError where the reference, which was built, does not build any more."""
        if not reference.tree:
            return  # it is built, and no longer in the repository
        self._number += 1
        folder = group_folder(self._scratch, self._number)
        try:
            builds = TreeBuilds(
                self._repository, self._recipe, folder, self._interrupt, commands=self._commands
            )
            builds.anew(reference)
        except LaunchFailed as failure:
            raise TollError(
                f"the reference was built before, and now it is not: {failure.reason}",
                "look at the room on the disk and at what the build needs; then start again",
            ) from None
        finally:
            delete_tree(folder)

    def close(self) -> None:
        """Removes the builds of the last group."""
        if self._folder is not None:
            with suppress(OSError):
                delete_tree(self._folder)
            self._folder = None


def _recipe_of(
    commit: Commit,
    request: HistoryRequest,
    row: CommitRange,
    folder: HistoryFolder,
    recipe: RevisionBuild,
) -> RevisionBuild:
    """How a reference is built, which may be no commit of the row. Raises TollError."""
    if not request.commands:
        return recipe
    if not commit.tree:
        return _kept_recipe(commit, request, folder, recipe)
    commands = request.commands
    if commit.commit not in commands:
        commands = build_commands(Path(request.build[1:]), row, [commit])
    return replace(recipe, build=commands[commit.commit])


def _kept_recipe(
    commit: Commit, request: HistoryRequest, folder: HistoryFolder, recipe: RevisionBuild
) -> RevisionBuild:
    """How one that git has lost was built: of --build @FILE by that command which is noted there."""
    if not request.commands:
        return recipe
    commands = [*dict.fromkeys(request.commands.values())]
    built = (replace(recipe, build=command) for command in commands)
    return next((one for one in built if folder.kept_reference(commit, one) is not None), recipe)


def _gone(commit: str) -> Commit:
    """One that the repository need not have: rewritten, or this is another clone."""
    return Commit(commit, "", "", "")


def _reference(
    request: HistoryRequest, row: CommitRange, folder: HistoryFolder, recipe: RevisionBuild
) -> Commit:
    """As asked; else that of the last session, built or in the repository; else the newest commit."""
    if request.reference:
        return one_commit(row.repository, request.reference)
    sessions = [session for session in folder.sessions() if session.commits]
    if sessions:
        before = sessions[-1].header.reference
        try:
            return one_commit(row.repository, before)
        except TollError:
            gone = _gone(before)
            if folder.kept_reference(gone, _kept_recipe(gone, request, folder, recipe)) is not None:
                return gone
            say(
                f"note: the reference {before[:10]} is no longer in the repository;"
                " the newest commit takes its place"
            )
    return row.commits[-1]


def _session_path(folder: HistoryFolder) -> Path:
    now = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S-%f")
    return folder.path / f"measured-{now}.jsonl"


def _header(request: HistoryRequest, reference: Commit, digest: str) -> dict[str, object]:
    return {
        "toll_history": 1,
        "toll_version": edition(),
        "command_line": as_text(shlex.join(["toll", *sys.argv[1:]])),
        "started_utc": SystemClock().utc(),
        "reference": reference.commit,
        "reference_digest": digest,
        "build": as_text(request.build_told),
        "program": as_text(request.program),
        "kind": request.kind,
        "read": request.read,
        "folder": as_text(str(request.folder)) if request.folder is not None else "",
        "sandbox": request.sandbox.told() if request.sandbox is not None else "",
        "filter": as_text(request.pattern),
        "environment": build_environment(),
        "machine": machine.describe(ask_compilers=True),
        "conditions": machine.conditions(),
    }


def show(
    found: Histories, files: Mapping[str, Output], *, as_json: bool, error: TollError | None = None
) -> None:
    """Prints the summary or the JSON, and writes the files.

    Raises TollError at the end, with `error` and with every file that could not be written.
    """
    own, page = _places(files)
    renderers = _RENDERERS | {"feed": lambda found: history_feed.render(found, own, page)}
    errors = [error] if error is not None else []
    try:
        if as_json:
            tell_json(found.model_dump_json(indent=None))
        else:
            for line in history_terminal.lines(found):
                tell(line)
    finally:
        for form, output in files.items():
            try:
                again = "the history is kept: the same command with --budget 0s shows it"
                output.write(renderers[form](found), again)
            except TollError as refused:
                errors.append(refused)
    if errors:
        raise joined(errors)


def _places(files: Mapping[str, Output]) -> tuple[str, str]:
    """The feed's own name, and where the page lies beside it; "" where that is not asked for."""
    if "feed" not in files:
        return "", ""
    feed, page = files["feed"].path, files["html"].path if "html" in files else None
    beside = os.path.relpath(page, feed.parent) if page is not None else ""
    return feed.name, Path(beside).as_posix() if beside else ""


def exit_code(found: Histories) -> Exit:
    """130 after Ctrl-C, 3 where there is no value at all, else 0."""
    if found.interrupted:
        return Exit.INTERRUPTED
    return Exit.FINE if found.lines else Exit.INCONCLUSIVE
