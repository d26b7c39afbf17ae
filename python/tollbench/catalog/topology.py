"""Where each logical CPU lies as sysfs tells: package, memory node, outermost shared cache, core.

hwloc knows more, but has no kept Python binding, and these four are all that an order needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

CPU_FOLDER = "sys/devices/system/cpu"


class Place(NamedTuple):
    """Sorts CPUs so that neighbours share most; `cache`, `core`: the first CPU of those that share it."""

    package: int
    node: int
    cache: int  # of the highest level
    core: int
    cpu: int


def places(cpus: Iterable[int], root: Path) -> dict[int, Place]:
    """The place of each CPU below `root` ("/" but in tests); what the kernel does not tell is shared."""
    return {cpu: _place(cpu, root / CPU_FOLDER / f"cpu{cpu}") for cpu in cpus}


def order(cpus: Iterable[int], root: Path) -> tuple[int, ...]:
    """The CPUs as a heat map lists them: by package, memory node, shared cache, core."""
    return tuple(place.cpu for place in sorted(places(cpus, root).values()))


def _place(cpu: int, folder: Path) -> Place:
    topology = folder / "topology"
    nodes = [int(path.name[4:]) for path in folder.glob("node[0-9]*") if path.name[4:].isdigit()]
    return Place(
        package=_first_number(topology / "physical_package_id", 0),
        node=min(nodes, default=0),
        cache=_outermost_cache(folder / "cache"),
        core=_first_number(topology / "thread_siblings_list", cpu),
        cpu=cpu,
    )


def _outermost_cache(folder: Path) -> int:
    """The first CPU of those that share this CPU's cache of the highest level."""
    levels = {_first_number(index / "level", 0): index for index in folder.glob("index[0-9]*")}
    return _first_number(levels[max(levels)] / "shared_cpu_list", 0) if levels else 0


def _first_number(path: Path, otherwise: int) -> int:
    try:
        found = re.match(r"\d+", path.read_text(errors="replace").strip())
    except OSError:
        return otherwise
    return int(found.group()) if found else otherwise
