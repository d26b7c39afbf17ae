"""Which host a result is of: what a fleet's folder says to whoever reads the run files in it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tollbench.errors import TollError
from tollbench.fleet.fleet_folder import JOURNAL, FleetFolder
from tollbench.text import several

_RUN = ".toll"


def is_fleet(folder: Path) -> bool:
    """Whether a fleet's run lies there."""
    return (folder / JOURNAL).is_file()


def runs_of_fleet(folder: Path) -> list[tuple[Path, str]]:
    """(Run file, host) of each host that has one. Raises TollError where there is none."""
    fleet = FleetFolder.read(folder)
    if fleet.request.kind != "run":
        raise TollError(
            f"{folder} is a fleet's comparison, and a lake holds runs", "add what toll fleet run made"
        )
    rows = fleet.rows.values()
    found = [(folder / row.file, row.host) for row in rows if row.file.endswith(_RUN)]
    if not found:
        raise TollError(
            f"{folder} is a fleet of {several(len(rows), 'host')}, and none has a run file",
            f"see why: toll fleet status {folder}",
        )
    return found


def host_of(path: Path) -> str:
    """The host that a run file is of; "" where it lies in no fleet's folder. Raises TollError."""
    host = path.name.removesuffix(_RUN).partition("+")[0]  # HOST+2.toll is of a second attempt
    return host if host in _hosts(path.parent) else ""


@cache
def _hosts(folder: Path) -> frozenset[str]:
    return frozenset(FleetFolder.read(folder).rows) if is_fleet(folder) else frozenset()
