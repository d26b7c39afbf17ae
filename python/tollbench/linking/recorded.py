"""One link of a user's build as it was recorded, ready to be repeated with something else asked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tollbench.launching.command import Ended, run_command
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.linking.programs import source_of

LINK_LIMIT_S = 600.0
_LONGEST_BYTES = 100_000  # of a command line; the kernel takes more, of which the environment has a share
# What a second link must not do: write the first one's other outputs again, or drop the functions' names.
_DROPPED = {"-s", "--strip-all", "-M", "--print-map", "--cref", "--verbose", "-t", "--trace"}
_DROPPED_WITH_VALUE = ("-o", "--output", "-Map", "--Map", "--dependency-file", "--reproduce")
_OWN_SCRIPT = re.compile(r"(-T|--script|-script|-dT|--default-script)(=.*)?", re.DOTALL)
_SCRIPT_JOINED = re.compile(r"-T(?!text|data|bss|rodata|ldata).+", re.DOTALL)
_TEMPORARY_OF_GCC = re.compile(r"cc[A-Za-z0-9]{6}\.o")
_TEMPORARY_OF_CLANG = re.compile(r"(.+)-[0-9a-f]{6}\.o", re.DOTALL)


@dataclass(frozen=True)
class RecordedLink:
    """The link that made a program: who linked, what, where and in which environment."""

    linker: str
    arguments: list[str]  # response files expanded
    output: str
    folder: str
    environment: dict[str, str]
    inputs: dict[str, dict[str, Any]]  # see recorder.record

    @property
    def output_path(self) -> Path:
        return Path(self.folder, self.output)

    @property
    def is_of_executable(self) -> bool:
        return not {"-shared", "-Bshareable", "-r", "-i", "--relocatable", "--shared"} & set(self.arguments)

    @property
    def has_own_script(self) -> bool:
        """Whether the build places sections itself."""
        return any(_OWN_SCRIPT.fullmatch(word) or _SCRIPT_JOINED.fullmatch(word) for word in self.arguments)

    @cached_property
    def _places(self) -> dict[str, str]:
        """Where each input is that is no longer at its place. Raises LaunchFailed for one that is lost."""
        places = {}
        for path, told in self.inputs.items():
            if _is_still(Path(self.folder, path), told):
                continue
            copy = Path(told.get("copy", os.devnull))
            if not _is_still(copy, told):
                raise LaunchFailed(
                    f"cannot be linked in other layouts: {path}, which was linked into it, is gone or was "
                    "changed after the link; let the build keep what it links"
                )
            places[path] = str(copy)
        return places

    def command(self, output: Path, more: Sequence[str]) -> list[str]:
        """The same link with another output, and more options behind its own."""
        kept, words = [], iter(self.arguments)
        for word in words:
            if word in _DROPPED_WITH_VALUE:
                next(words, None)
            elif not self._is_dropped(word):
                kept.append(self._placed(word, output))
        return [self.linker, *kept, "-o", str(output), *more]

    def _is_dropped(self, word: str) -> bool:
        joined = word.startswith(tuple(f"{option}=" for option in _DROPPED_WITH_VALUE))
        return joined or word in _DROPPED or word == f"-o{self.output}"

    def _placed(self, word: str, output: Path) -> str:
        if word.startswith("-plugin-opt=-fresolution="):  # a file that GCC's plug-in writes
            return f"-plugin-opt=-fresolution={output}.resolution"
        option, equals, value = word.partition("=")
        if word in self._places:
            return self._places[word]
        return f"{option}={self._places[value]}" if equals and value in self._places else word

    def label(self, file: str) -> str:
        """What to call an input so that another build of the program calls it alike."""
        return self._labels.get(file, Path(file).name)

    @cached_property
    def _labels(self) -> dict[str, str]:
        """Of inputs whose own names are drawn at random, or which lie somewhere else by now."""
        labels: dict[str, str] = {}
        for path in self.inputs:
            name = Path(path).name
            if _TEMPORARY_OF_GCC.fullmatch(name):
                name = source_of(Path(self.folder, self._places.get(path, path))) or f"object {len(labels)}"
            elif found := _TEMPORARY_OF_CLANG.fullmatch(name):
                name = found.group(1)
            if name != Path(place := self._places.get(path, path)).name:
                labels[place] = name
        return labels

    def run(self, output: Path, more: Sequence[str], scratch: Path, interrupt: Interrupt | None) -> Ended:
        """Links again. Raises LaunchFailed where it does not come to its end, Interrupted.

        `scratch` takes what one link needs besides, under names that begin with the output's.
        """
        output.unlink(missing_ok=True)
        command = self.command(output, more)
        if sum(len(os.fsencode(word)) + 9 for word in command) > _LONGEST_BYTES:
            response = scratch / f"{output.name}.rsp"
            response.write_bytes(os.fsencode("\n".join(map(_escaped, command[1:]))))
            command = [command[0], f"@{response}"]
        return run_command(command, self.environment, Path(self.folder), LINK_LIMIT_S, interrupt)


def recorded_links(folder: Path) -> Iterator[RecordedLink]:
    """All that a build linked, the last first."""
    for path in sorted((folder / "links").glob("*/link.json"), reverse=True):
        yield RecordedLink(**json.loads(path.read_text(encoding="utf-8")))


def _is_still(path: Path, told: dict[str, Any]) -> bool:
    try:
        state = path.stat()
    except OSError:
        return False
    return (state.st_size, state.st_mtime_ns) == (told["bytes"], told["modified_ns"])


def _escaped(word: str) -> str:
    return re.sub(r"""([\s\\"'])""", r"\\\1", word) or '""'
