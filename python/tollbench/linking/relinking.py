"""A program of a user's build that can be linked again: its link found, repeated once, and understood."""

from __future__ import annotations

import filecmp
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.launching.command import Ended, run_command
from tollbench.launching.failure import LaunchFailed, fault_of
from tollbench.launching.interrupt import Interrupt, breakable
from tollbench.linking.link_maps import (
    MappedSection,
    section_after_text,
    text_sections_of_gnu,
    text_sections_of_lld,
)
from tollbench.linking.placing import LINE_BYTES, Block
from tollbench.linking.programs import LinkedProgram, NoProgram, read_program
from tollbench.linking.recorded import RecordedLink, recorded_links
from tollbench.linking.scripts import (
    Pattern,
    TextScript,
    can_be_named,
    probed_align,
    script_of_gnu,
    script_of_lld,
)
from tollbench.linking.wrapped import WrappedBuild

_VERSION_LIMIT_S = 30.0
_MOST_CANDIDATES = 4  # each costs a link
# Sections that are not named after one function: all such code of an object.
_COMMON = (".text", ".text.unlikely", ".text.startup", ".text.hot", ".text.exit")
_START_UP = re.compile(r"\w?crt(1|i|n|(begin|end)\w*)\.o")  # objects of a compiler
_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/nix/", "/opt/")


def cannot(why: str) -> LaunchFailed:
    """For a program that cannot be linked in other layouts; `why` goes on behind a colon."""
    return LaunchFailed(f"cannot be linked in other layouts: {why}")


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Raises LaunchFailed where the disk refuses what is written to `folder` or beside the program."""
    try:
        yield
    except OSError as error:
        raise cannot(
            f"{folder} takes no more of what linking needs ({error.strerror or error}); make room there, let"
            " TMPDIR name another disk, or ask for fewer layouts"
        ) from None


@dataclass(frozen=True)
class Linkable:
    """A program whose functions can be placed, as its build linked it."""

    executable: Path
    link: RecordedLink
    scratch: Path
    is_lld: bool
    program: LinkedProgram
    script: TextScript
    blocks: tuple[Block, ...]  # that move, in the order of the build's own link
    patterns: dict[tuple[int, str], list[Pattern]]
    unique: frozenset[str]  # sections whose name alone tells which they are
    parts: tuple[MappedSection, ...]  # what .text is made of in the build's own link
    sections: Counter[tuple[str, int]]  # name and size of all that .text is made of
    # Objects of the build itself whose functions stay beside one another, as no wrapper saw them compiled, or
    # they were assembled. Installed ones are not told: theirs always do.
    moved_whole: tuple[str, ...]

    @property
    def libraries(self) -> tuple[str, ...]:
        """Shared libraries of the build itself: their code stays as it was linked."""
        shared = [path for path in self.link.inputs if ".so" in Path(path).name]
        return tuple(path for path in shared if not is_of_system(path))

    def key_of(self, section: MappedSection) -> str:
        """What a section is called in every link of the program, and in other revisions of it."""
        return _key(section, self.link, self.unique)

    def linked(
        self, output: Path, more: Sequence[str], interrupt: Interrupt | None
    ) -> tuple[LinkedProgram, list[MappedSection]]:
        """Links again. Raises LaunchFailed where that fails or makes another program; Interrupted."""
        _, sections = _linked(self.link, output, more, self.scratch, self.is_lld, interrupt)
        program = _checked(output)
        if (difference := program.unlike(self.program)) is not None:
            raise cannot(f"a second link makes another program of it: {difference}")
        if Counter((section.name, section.size) for section in sections) != self.sections:
            raise cannot("a second link takes in other code than the first")
        return program, sections


def linkable(build: WrappedBuild, executable: Path, interrupt: Interrupt | None = None) -> Linkable:
    """The program that `build` made, after one link more that tells what it is made of.

    Raises LaunchFailed, with a reason that goes on behind the program's name, where it cannot be linked with
    its functions at other places; Interrupted.
    """
    executable = executable.absolute()
    scratch = build.folder / "again" / executable.name
    made = _as_built(executable)
    failures = []
    for link in _candidates(build, executable):
        try:
            return understood(executable, link, scratch, interrupt, made)
        except LaunchFailed as failure:
            failures.append(failure)
    raise failures[0] if failures else _unseen(build)


def understood(
    executable: Path,
    link: RecordedLink,
    scratch: Path,
    interrupt: Interrupt | None,
    made: LinkedProgram | None = None,
) -> Linkable:
    """What this link, which made the executable, is made of, and how it can be moved.

    `scratch` takes what further links leave, and `made` is what the executable holds, where that is known.
    Raises LaunchFailed where it is not the link that made the executable, or nothing can be moved.
    """
    with room_in(scratch.parent):
        scratch.mkdir(parents=True, exist_ok=True)
    made = made or _as_built(executable)
    is_lld = _is_lld(link, interrupt)
    if link.has_own_script:
        raise cannot("its build places its sections by a linker script of its own (-T)")
    output = scratch / "base"
    ended, sections = _linked(link, output, [] if is_lld else ["--verbose"], scratch, is_lld, interrupt)
    again = _checked(output)
    if again.content != made.content:
        what = again.unlike(made) or "its code or data differ"
        raise cannot(
            f"it is not what its link makes, as {what}; name the program as it was linked, not as it was "
            "installed or edited afterwards"
        )
    script = _script(is_lld, ended, scratch / "base.map")
    names = Counter(section.name for section in sections)
    unique = frozenset(name for name, times in names.items() if times == 1 and name not in _COMMON)
    known = _described(executable, link, scratch, is_lld, again, script, sections, unique)
    return _probed(known, interrupt)


def keyed_alike(programs: Sequence[Linkable], interrupt: Interrupt | None = None) -> list[Linkable]:
    """The programs with one key for what they share: a name alone is one where it is that in all of them.

    Where a second file has a static function of some name on one side alone, that of the first file had its
    name for a key on the other side, and name and file on this one: it stood at another place. Raises
    LaunchFailed, with `side` the index of the program; Interrupted.
    """
    ambiguous = {name for program in programs for name, _ in program.sections if name not in program.unique}
    found = []
    for side, program in enumerate(programs):
        with fault_of(side):
            if program.unique & ambiguous:
                known = _described(
                    program.executable,
                    program.link,
                    program.scratch,
                    program.is_lld,
                    program.program,
                    program.script,
                    program.parts,
                    program.unique - ambiguous,
                )
                program = _probed(known, interrupt)
            found.append(program)
    return found


def _as_built(executable: Path) -> LinkedProgram:
    try:
        return read_program(executable)
    except NoProgram as no:
        raise cannot(f"the file {no}; name the executable itself, and no script that starts it") from None
    except OSError as error:
        raise cannot(f"the file cannot be read: {error.strerror}") from None


def _candidates(build: WrappedBuild, executable: Path) -> list[RecordedLink]:
    """The links that may have written the executable, or the file that it is a copy of; likely ones first."""
    links = [link for link in recorded_links(build.folder) if link.is_of_executable]
    there = [link for link in links if link.output_path.exists()]
    likely = [
        *(link for link in there if link.output_path.samefile(executable)),
        *(link for link in there if filecmp.cmp(link.output_path, executable, shallow=False)),
        *(link for link in links if link.output_path.name == executable.name),
        *(link for link in links if not link.output_path.exists() and _is_alike(link, executable)),
    ]
    return list({id(link): link for link in likely}.values())[:_MOST_CANDIDATES]


def _is_alike(link: RecordedLink, executable: Path) -> bool:
    """Whether what is moved to its place afterwards may have had this name: bench.tmp, bench-1a2b3c."""
    return executable.name.split(".")[0] in link.output_path.name


def _unseen(build: WrappedBuild) -> LaunchFailed:
    trouble = build.folder / "trouble"
    if trouble.exists():
        words = trouble.read_text(encoding="utf-8").strip().split("\n")[0]
        return cannot(f"its link could not be recorded: {words}")
    return cannot(
        f"the build did not link {build.program} through the wrapper; let the build command compile and link "
        "it anew, by GCC or Clang (not by ld itself), with the linker that these find (no -B, no --ld-path,"
        " no COMPILER_PATH)"
    )


def _is_lld(link: RecordedLink, interrupt: Interrupt | None) -> bool:
    """Raises LaunchFailed for a linker that cannot be told where functions go."""
    folder = Path(link.folder)
    ended = run_command([link.linker, "--version"], link.environment, folder, _VERSION_LIMIT_S, interrupt)
    first = ended.stdout.decode("utf-8", "replace").strip().split("\n")[0]
    if "LLD" in first:
        return True
    if first.startswith("GNU ld"):
        return False
    raise cannot(
        f"its linker, {first or link.linker}, cannot be told where functions go; link with GNU ld "
        "(-fuse-ld=bfd) or LLD (-fuse-ld=lld)"
    )


def _linked(
    link: RecordedLink,
    output: Path,
    more: Sequence[str],
    scratch: Path,
    is_lld: bool,
    interrupt: Interrupt | None,
) -> tuple[Ended, list[MappedSection]]:
    """One link, and the sections of its .text by their addresses."""
    written = scratch / f"{output.name}.map"
    own = ["--threads=1"] if is_lld else []
    try:
        ended = link.run(output, [*own, *more, f"-Map={written}"], scratch, interrupt)
    except LaunchFailed as failure:
        raise cannot(f"its linker {failure.reason}") from None
    if ended.exit_code != 0:
        raise cannot(f"its linker {ended.how()}")
    with breakable():
        text = os.fsdecode(written.read_bytes())
        found = text_sections_of_lld(text) if is_lld else text_sections_of_gnu(text)
        return ended, sorted(found, key=lambda section: section.address)


def _checked(output: Path) -> LinkedProgram:
    try:
        return read_program(output)
    except NoProgram as no:
        raise cannot(f"what a second link makes {no}") from None


def _script(is_lld: bool, ended: Ended, written: Path) -> TextScript:
    if is_lld:
        behind = section_after_text(os.fsdecode(written.read_bytes()))
        script = script_of_lld(behind) if behind is not None else None
    else:
        script = script_of_gnu(os.fsdecode(ended.whole_stdout()))
    if script is None:
        raise cannot("its linker has no .text of the usual kind in its own script")
    return script


def _key(section: MappedSection, link: RecordedLink, unique: frozenset[str]) -> str:
    if section.name in unique:
        return section.name
    return f"{section.name}\0{_label(section, link)}"


def _label(section: MappedSection, link: RecordedLink) -> str:
    """The object that it came from, as every build of the program calls it."""
    inside = section.archive_and_member
    return f"{Path(inside[0]).name}:{inside[1]}" if inside else link.label(section.file)


def _described(
    executable: Path,
    link: RecordedLink,
    scratch: Path,
    is_lld: bool,
    program: LinkedProgram,
    script: TextScript,
    sections: Sequence[MappedSection],
    unique: frozenset[str],
) -> Linkable:
    """Before anything is known of alignment. Raises LaunchFailed where no function can be moved."""
    blocks: dict[tuple[int, str], Block] = {}
    patterns: dict[tuple[int, str], list[Pattern]] = {}
    moving = []
    for section in sections:
        group = script.group_of(section.name)
        if group is None or not _can_be_named(section, link, unique):
            continue
        moving.append(section)
        key = _key(section, link, unique)
        file = None if section.name in unique else script.file_pattern(section)
        several = (group, key) in blocks
        blocks[group, key] = Block(key, group, section.size, LINE_BYTES if several else 1)
        written = patterns.setdefault((group, key), [])
        if (file, section.name) not in written:
            written.append((file, section.name))
    if not any(section.name not in _COMMON and not section.file.startswith(_SYSTEM) for section in moving):
        raise cannot(
            "the build did not compile it through the wrapper: no function has a section of its own; let "
            "the build command compile it anew, by GCC or Clang, and not with objects of an earlier build"
        )
    return Linkable(
        executable,
        link,
        scratch,
        is_lld,
        program,
        script,
        tuple(blocks.values()),
        patterns,
        unique,
        tuple(sections),
        Counter((section.name, section.size) for section in sections),
        _moved_whole(moving, link),
    )


def _moved_whole(moving: Iterable[MappedSection], link: RecordedLink) -> tuple[str, ...]:
    """What the build calls them, each once."""
    whole = []
    for section in moving:
        inside = section.archive_and_member
        file = Path(link.folder, inside[0] if inside else section.file)
        brought = is_of_system(str(file)) or _START_UP.fullmatch(file.name)  # the latter lies anywhere
        if section.name in _COMMON and section.size and not brought:
            whole.append(_label(section, link))
    return tuple(dict.fromkeys(whole))


def is_of_system(file: str) -> bool:
    """Whether a file belongs to what is installed, by its path."""
    return os.path.realpath(file).startswith(_SYSTEM)


def _can_be_named(section: MappedSection, link: RecordedLink, unique: frozenset[str]) -> bool:
    """Whether a script can tell this section from all others, in every link."""
    if section.name in unique:
        return can_be_named(section.name)
    inside = section.archive_and_member  # or an object of link-time optimisation, with another name each time
    exists = Path(link.folder, inside[0] if inside else section.file).exists()
    return exists and can_be_named(section.name) and can_be_named(section.file)


def _probed(known: Linkable, interrupt: Interrupt | None) -> Linkable:
    """With sizes and alignments as one more link shows them."""
    script = known.scratch / "probe.x"
    with room_in(known.scratch):
        script.write_bytes(os.fsencode(known.script.with_probes(known.blocks, known.patterns)))
    _, sections = known.linked(known.scratch / "probe", ["-T", str(script)], interrupt)
    order = check_order(known, known.blocks, sections)
    blocks = []
    for block in known.blocks:
        parts = order[block.group, block.key]
        size = parts[-1].address + parts[-1].size - parts[0].address
        align = block.align if block.align > 1 else probed_align(parts[0].address)
        blocks.append(replace(block, size=size, align=align))
    return replace(known, blocks=tuple(blocks))


def check_order(
    program: Linkable, wanted: Iterable[Block], sections: Iterable[MappedSection]
) -> dict[tuple[int, str], list[MappedSection]]:
    """The sections of each block, by group and key. Raises LaunchFailed where the order is not as wanted."""
    moving = {(block.group, block.key) for block in program.blocks}
    found: dict[tuple[int, str], list[MappedSection]] = {}
    for section in sections:
        group = program.script.group_of(section.name)
        if group is not None and (group, key := program.key_of(section)) in moving:
            found.setdefault((group, key), []).append(section)
    if list(found) != [(block.group, block.key) for block in wanted]:
        raise cannot("its linker does not put functions where a linker script says")
    return found
