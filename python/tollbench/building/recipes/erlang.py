"""Erlang: one module with those of languages/erlang, in the emulator as the system sets it up."""

from __future__ import annotations

import re
from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithWrapper, files_below, starter, told
from tollbench.catalog.packages import older, table

MOST_PROCESSES = 4_000_000  # a tree of 1,000,000 leaves has 1,111,111; the emulator's default is 262,144

ROOM = ("+P", str(MOST_PROCESSES))


class Erlang(WithWrapper):
    """The module is the file's name; its main/0 runs the program."""

    need = "erlang"
    heeded: tuple[str, ...] = ("ERL_*FLAGS", "ERL_COMPILER_OPTIONS")
    # The emulator's own switches and their numbers. Others may hold a password: -setcookie does.
    plain: re.Pattern[str] | None = re.compile(r"\+\w+( [\d:]+| true| false)?")

    def tool(self, place: Path) -> Tool:
        ask = "io:put_chars(erlang:system_info(otp_release)), halt()."
        version = told(str(place.with_name("erl")), "-noshell", "-eval", ask)
        return Tool(place, f"OTP {version}", older("OTP", version, table()[self.need]))

    def sources(self, job: Job) -> list[Path]:
        return [job.source, *files_below(job.root / "languages/erlang", ".erl")]

    def steps(self, job: Job) -> list[BuildStep]:
        command = (str(job.tool.path), "-o", str(job.out), *map(str, sorted(self.sources(job))))
        return [BuildStep(command, job.out)]  # where it starts, the compiler looks for modules first

    def flags(self, job: Job) -> str:  # noqa: ARG002
        return f"erlc; erl {' '.join(ROOM)}"

    def wrapper(self, job: Job) -> str:
        emulator = (str(job.tool.path.with_name("erl")), "-noshell", *ROOM)
        return starter(*emulator, "-pa", str(job.out), "-s", job.source.stem, "main", "-extra")
