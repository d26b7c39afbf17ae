"""Programs of other languages as tests need them: built once, and talked to line by line."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import jsonschema

from tollbench.building import languages
from tollbench.catalog import suites
from tollbench.words import HOST, Contender, Program, Workload

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/test-languages"  # kept: the next test run builds what changed
SCHEMA = json.loads((ROOT / "schemas/protocol.schema.json").read_text())
LIMIT_S = 60.0


@cache
def workload(root: Path = ROOT) -> Workload:
    """tasks/skynet of a checkout."""
    return next(found for found in suites.load(root) if found.name == "tasks/skynet")


def contenders() -> list[Contender]:
    """Those of other languages than C++."""
    return [contender for contender in workload().contenders if languages.takes(contender)]


@cache
def built() -> dict[str, Program]:
    """A program, or why there is none, for each contender."""
    made = languages.programs([workload()], HOST, build_dir=BUILD, root=ROOT)
    return {name: program for (_, name), program in made.items()}


@cache
def all_built() -> dict[tuple[str, str], Program]:
    """The same for each contender of every workload, by the names of both."""
    found = [one for one in suites.load(ROOT) if any(languages.takes(each) for each in one.contenders)]
    return languages.programs(found, HOST, build_dir=BUILD, root=ROOT)


def copy_sources(target: Path) -> Path:
    """What languages are built from, to be changed."""
    for part in ("languages", "suites/tasks/skynet"):
        shutil.copytree(ROOT / part, target / part)
    shutil.copy(ROOT / "suites/documents.toml", target / "suites")
    return target


def check(message: dict[str, Any], kind: str) -> dict[str, Any]:
    """The message, once it is valid by the schema and of this kind."""
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}).validate(message)
    return message


class Conversation:
    """`program serve ...` with its pipes."""

    def __init__(self, program: Program, *parameters: str, contender: str = "") -> None:
        words = ["serve", "tasks/skynet", contender or program.contender, *parameters]
        self.process = subprocess.Popen(
            [*program.command, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hear(self, kind: str) -> dict[str, Any]:
        """The next line, valid as this kind of answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith("\n"), f"{line!r}; {self.process.stderr.read() if self.process.stderr else ''}"
        return check(json.loads(line), kind)

    def say(self, request: object) -> None:
        """Sends one request; text goes out as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write((request if isinstance(request, str) else json.dumps(request)) + "\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str]:
        """Exit status and what was still printed, after the end of our requests."""
        rest, _ = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, rest

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()
