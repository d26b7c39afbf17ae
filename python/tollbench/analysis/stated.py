"""What a run states of its machine: all by which its times are told from those of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# Keys of `RunHeader.machine`. Not the frequency of that moment, nor compilers: those are no machine.
_STATED: Final = (
    "cpu", "architecture", "product", "cpus", "packages", "cores", "threads_per_core", "numa_nodes", "caches",
    "memory_bytes", "page_bytes", "microcode", "firmware", "kernel", "mitigations", "virtualization",
)  # fmt: skip


def stated(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run's description, which may be a stranger's: unknown keys are left out, as are empty ones."""
    found = {name: machine[name] for name in _STATED if machine.get(name) not in (None, "")}
    usable = machine.get("usable_cpus")
    # How many, not which: a container may have others each time.
    found["usable_cpus"] = len(usable) if isinstance(usable, list) else None
    frequency = machine.get("frequency_mhz")
    if isinstance(frequency, Mapping):
        found["frequency_mhz"] = {name: frequency.get(name) for name in ("min", "max")}
    return found
