"""What a comparison can have for sides: one file a kind, found because it lies here and has an ADAPTER."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache

from tollbench.compare.subject import Adapter, MeasuringOptions, Side, Subject
from tollbench.errors import TollError

AUTO = "auto"  # what a side is, is to be seen from its executable
COMMAND = "command"  # what a side is where nothing speaks for more


@cache
def adapters() -> Mapping[str, Adapter]:
    """All kinds of sides by their word for --kind, in the order in which their marks are looked for."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    found: list[Adapter] = [module.ADAPTER for module in modules if hasattr(module, "ADAPTER")]
    return {adapter.kind: adapter for adapter in sorted(found, key=lambda one: -one.priority)}


def check_kind(kind: str) -> None:
    """Raises TollError for a word that is no kind of side."""
    if kind not in (AUTO, *adapters()):
        raise TollError(f"--kind {kind} is not known", f"one of: {', '.join([AUTO, *adapters()])}")


def subject_of(kind: str, sides: Sequence[Side], options: MeasuringOptions) -> Subject:
    """What the engine measures, called by its kind in reports."""
    subject = adapters()[kind].subject_of(sides, options)
    subject.kind = kind
    return subject
