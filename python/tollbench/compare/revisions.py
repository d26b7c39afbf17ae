"""Two git revisions, each built in a clone of its own: the user's checkout and its .git are only read.

A clone that borrows the objects (`git clone --shared`) rather than a work tree, which would leave an entry in
the user's .git when it is killed.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.compare.git import git, without_git
from tollbench.compare.sides import WrittenSide, can_run, refuse_shell_elsewhere
from tollbench.compare.source_diffs import FileHunk, parsed
from tollbench.errors import TollError
from tollbench.launching.command import Ended, is_full, run_command
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed, fault_of
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.sandbox import Confined, show_inside
from tollbench.linking.layouts import linked_alike
from tollbench.linking.relinking import Linkable, linkable
from tollbench.linking.wrapped import WrappedBuild
from tollbench.text import shown
from tollbench.words import Status

BUILD_LIMIT_S = 3600.0
_LAST_LINES = 3
_LAST_BYTES = 64 * 1024
_NO_ROOM = os.strerror(errno.ENOSPC).encode()  # in English: builds have no locale of a user's
_MOST_NAMED = 5
_BARE = re.compile(r"\s*([\w.+@%-]+)(?=[\s|&;<>]|$)")  # a program's name, as a shell begins with one
_OUT_OF_MEMORY = re.compile(rb"\bKilled\b|Cannot allocate memory|virtual memory exhausted")


@dataclass(frozen=True, slots=True)
class Revision:
    """One commit as the user named it."""

    name: str
    commit: str

    @property
    def label(self) -> str:
        """What reports call it: "HEAD (1a2b3c4d5e)"."""
        short = self.commit[:10]
        return self.name if self.commit.startswith(self.name) else f"{self.name} ({short})"


@dataclass(frozen=True, slots=True)
class RevisionBuild:
    """How every revision is built; `program` is compared afterwards, a path in the checkout and words."""

    build: str
    program: str
    folder: Path | None = None  # where the programs run; None: in their own checkout
    layouts: int = 0  # that each program is linked in; 0: as the command links it
    seed: int = 0  # of the layouts


@dataclass(frozen=True, slots=True)
class Hearing:
    """Who is told how far building is."""

    on_build: Callable[[Revision], None] = lambda _revision: None
    on_link: Callable[[int], None] = lambda _done: None  # how many links of all are done
    on_note: Callable[[str], None] = lambda _sentence: None


SILENT = Hearing()


def revisions(repository: Path, names: Sequence[str], *, fewest: int = 2) -> list[Revision]:
    """The commits that the user named. Raises TollError outside of a repository and for an unknown name."""
    if len(names) < fewest:
        raise TollError("a comparison needs two revisions", "for example: main HEAD")
    top = git(repository, "rev-parse", "--show-toplevel")
    if "dubious ownership" in top.stderr:  # git looks at no repository of another user: it may name programs
        owned = next(place for place in (repository, *repository.parents) if (place / ".git").exists())
        raise TollError(
            f"the repository {owned} belongs to another user, and git does not read it",
            "clone it as yourself, or say that you trust its owner:"
            f" git config --global --add safe.directory {shlex.quote(str(owned))}",
        )
    if top.returncode != 0:
        raise TollError(
            f"{repository} is not in a git repository: {shown(top.stderr.strip(), 200)}",
            "change to the checkout whose revisions are to be compared",
        )
    found = []
    for name in names:
        asked = git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if asked.returncode != 0:
            raise TollError(
                f"there is no revision {shown(name, 100)!r} in {top.stdout.strip()}",
                "`git log --oneline --all` lists some; `git fetch` brings those of others",
            )
        found.append(Revision(name, asked.stdout.strip()))
    return found


def built(
    repository: Path,
    wanted: Sequence[Revision],
    recipe: RevisionBuild,
    scratch: Path,
    *,
    interrupt: Interrupt | None = None,
    hear: Hearing = SILENT,
    go_on: bool = False,
) -> list[WrittenSide]:
    """Every revision checked out below `scratch` and built, ready for `tollbench.compare.resolve`.

    Raises LaunchFailed for one that does not build (`Status.BUILD_FAILED`), with its last words, cannot be
    checked out, or cannot be linked in layouts. With `go_on` one that does not build is a side that says so,
    where two others do. Raises TollError before anything is built for a --folder in which all sides would
    start the same.
    """
    refuse_shell_elsewhere(side_in(scratch, recipe, ""))
    show_inside(scratch)
    show_inside(Path(_common(repository)))  # the clones' objects are there
    sides: list[WrittenSide] = []
    wrapped: list[WrappedBuild] = []
    for index, revision in enumerate(wanted):
        hear.on_build(revision)
        checkout = scratch / f"{index}-{revision.commit[:10]}"
        _check_out(repository, revision, checkout)
        environment = _building_environment(scratch)
        if recipe.layouts:
            wrapped.append(WrappedBuild(scratch / f"wrapped-{index}", _program_path(recipe.program)))
            environment = wrapped[-1].environment(environment)
        try:
            sides.append(_built(checkout, revision, recipe, environment, interrupt))
        except LaunchFailed as failure:
            if not go_on:
                raise
            sides.append(WrittenSide(recipe.program, revision.label, checkout, unusable=failure.reason))
    broken = [side.unusable for side in sides if side.unusable]
    if broken and len(sides) - len(broken) < 2:
        raise LaunchFailed(broken[0])
    return _in_layouts(sides, wrapped, recipe, interrupt, hear) if recipe.layouts else sides


def built_to_link_again(
    repository: Path,
    revision: Revision,
    recipe: RevisionBuild,
    scratch: Path,
    interrupt: Interrupt | None = None,
) -> tuple[WrittenSide, Linkable]:
    """One revision built, and its program ready to be linked again. Raises LaunchFailed."""
    checkout = scratch / revision.commit[:10]
    _check_out(repository, revision, checkout)
    program = _program_path(recipe.program)
    wrapped = WrappedBuild(scratch / "wrapped", program)
    environment = wrapped.environment(_building_environment(scratch))
    side = _built(checkout, revision, recipe, environment, interrupt)
    try:
        return side, linkable(wrapped, checkout / program, interrupt)
    except LaunchFailed as failure:
        raise LaunchFailed(f"{revision.label} {failure.reason}") from None


def _building_environment(scratch: Path) -> dict[str, str]:
    """A compiler that is killed leaves its temporary files in what goes with the comparison."""
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    return {**without_git(own_environment()), "TMPDIR": str(temporary)}


def _built(
    checkout: Path,
    revision: Revision,
    recipe: RevisionBuild,
    environment: Mapping[str, str],
    interrupt: Interrupt | None,
) -> WrittenSide:
    ended = _build(recipe.build, checkout, environment, revision, interrupt)
    if ended.exit_code != 0 and _OUT_OF_MEMORY.search(_last_words(ended)):  # the machine's fault: once more
        ended = _build(recipe.build, checkout, environment, revision, interrupt)
    if ended.exit_code != 0:
        reason = f"{revision.label} does not build: `{recipe.build}` {_how(ended)}"
        # A search takes what does not build out of its row for good: not for want of room.
        no_room = _NO_ROOM in _last_words(ended) or is_full(checkout)
        raise LaunchFailed(reason, Status.FAILED if no_room else Status.BUILD_FAILED)
    if (missing := _missing(recipe.program, checkout)) is not None:
        reason = f"{revision.label} builds, but `{recipe.build}` makes no {missing}"
        raise LaunchFailed(reason, Status.BUILD_FAILED)
    return side_in(checkout, recipe, revision.label)


def side_in(checkout: Path, recipe: RevisionBuild, label: str) -> WrittenSide:
    """What was built in a checkout, ready for `tollbench.compare.resolve`.

    A name without a path is that of the checkout's own file, if it can be run: a program that is called
    `sort` or `test` is not the system's.
    """
    program, bare = recipe.program, _BARE.match(recipe.program)
    if bare is not None and can_run(checkout / bare[1]):
        program = f"./{program.lstrip()}"
    return WrittenSide(program, label, checkout, recipe.folder or checkout, is_checkout=True)


def _in_layouts(
    sides: Sequence[WrittenSide],
    builds: Sequence[WrappedBuild],
    recipe: RevisionBuild,
    interrupt: Interrupt | None,
    hear: Hearing,
) -> list[WrittenSide]:
    """Each program linked again and again. Raises LaunchFailed with the label of the one that refuses."""
    program = _program_path(recipe.program)
    try:
        programs = []
        for index, (side, build) in enumerate(zip(sides, builds, strict=True)):
            with fault_of(index):
                programs.append(linkable(build, side.base / program, interrupt))
        for library in dict.fromkeys(Path(path).name for one in programs for path in one.libraries):
            hear.on_note(f"the code of {library}, a shared library of the build, stays as it was linked")
        if whole := list(dict.fromkeys(name for one in programs for name in one.moved_whole)):
            hear.on_note(_moved_whole(whole))
        made = linked_alike(programs, recipe.layouts, recipe.seed, interrupt, hear.on_link)
    except LaunchFailed as failure:
        label = sides[failure.side].label if failure.side is not None else "a side"
        raise LaunchFailed(f"{label} {failure.reason}") from None
    return [replace(side, layouts=tuple(map(str, paths))) for side, paths in zip(sides, made, strict=True)]


def _moved_whole(objects: Sequence[str]) -> str:
    named = ", ".join(objects[:_MOST_NAMED]) + (", ..." if len(objects) > _MOST_NAMED else "")
    verb = "moves" if len(objects) == 1 else "move"
    return (
        f"{len(objects)} of the build's objects {verb} as a whole, without a section for each function"
        f" ({named}): assembled, made before, or by a compiler that the build gave an environment of its own"
    )


def _program_path(program: str) -> str:
    """The first word. Raises TollError where there is none, or it is no path in the checkout."""
    try:
        words = shlex.split(program)
    except ValueError as error:
        raise TollError(
            f"--program {program!r} cannot be split into words: {error}", "mend its quotes"
        ) from None
    if not words or "/" not in words[0]:
        raise TollError(
            f"--program {program!r} is no path in the checkout, so that it cannot be linked in layouts",
            "write for example --program ./bench",
        )
    return words[0]


def changed(repository: Path) -> bool:
    """Whether tracked files differ from HEAD. Those in submodules do not count: their gits heed no setting.

    Not even the index's time stamps are refreshed.
    """
    options = ("--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    status = git(repository, "--no-optional-locks", "status", *options)
    return status.returncode == 0 and bool(status.stdout.strip())


def difference(repository: Path, a: Revision, b: Revision) -> list[FileHunk]:
    """What changed from one to the other, line by line. Empty where git cannot tell."""
    options = ["--unified=0", "--no-prefix", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"]
    options += ["--submodule=short"]
    told = git(repository, "-c", "core.quotePath=false", "diff", *options, a.commit, b.commit)
    return parsed(told.stdout) if told.returncode == 0 else []


def _missing(program: str, checkout: Path) -> str | None:
    """The program's path where it names one that is not there; a bare name may be found in PATH."""
    try:
        words = shlex.split(program)
    except ValueError:
        return None  # a command for the shell, or a mistake that is told later
    if not words or "/" not in words[0] or (checkout / words[0]).exists():
        return None
    return words[0]


def _check_out(repository: Path, revision: Revision, checkout: Path) -> None:
    words = ("clone", "--quiet", "--shared", "--no-checkout", _common(repository), str(checkout))
    cloned = git(repository, *words, protocols="file")
    if cloned.returncode == 0:
        cloned = git(checkout, "checkout", "--quiet", "--detach", revision.commit)
    if cloned.returncode != 0:
        raise LaunchFailed(f"{revision.label} cannot be checked out: {shown(cloned.stderr.strip(), 300)}")


def _common(repository: Path) -> str:
    """The repository's own folder, also where `repository` is a work tree of it."""
    found = git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return found.stdout.strip()


def _build(
    command: str,
    checkout: Path,
    environment: Mapping[str, str],
    revision: Revision,
    interrupt: Interrupt | None,
) -> Ended:
    try:
        confined = Confined((checkout,))
        return run_command(
            ["/bin/sh", "-c", command], environment, checkout, BUILD_LIMIT_S, interrupt, confined=confined
        )
    except LaunchFailed as failure:
        reason = f"{revision.label} does not build: `{command}` {failure.reason}"
        raise LaunchFailed(reason, Status.BUILD_FAILED) from None


def _last_words(ended: Ended) -> bytes:
    """Of both: ninja prints what a compiler said on its own standard output."""
    return ended.stderr + ended.stdout[-_LAST_BYTES:]


def _how(ended: Ended) -> str:
    """The last lines, where compilers and make say what they could not do."""
    words = (ended.stderr.strip() or ended.stdout.strip()).decode("utf-8", "replace")
    lines = " / ".join(words.splitlines()[-_LAST_LINES:])
    return f"exited with code {ended.exit_code}: {shown(lines, 500)}"
