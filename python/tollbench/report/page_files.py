"""The files that pages are made of: templates and style sheets beside the module that fills them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined

from tollbench.text import clean


@dataclass(frozen=True)
class PageFiles:
    """Of one folder; `shorten` is what becomes of a template before it is filled in."""

    folder: Path
    shorten: Callable[[str], str] = str

    def text(self, name: str) -> str:
        """A template, a style sheet or a script, as it stands there."""
        return (self.folder / name).read_text(encoding="utf-8")

    @cached_property
    def templates(self) -> Environment:
        """Which escape what they are given, and fail for a name that they are not given."""
        environment = Environment(
            loader=FunctionLoader(lambda name: self.shorten(self.text(name))),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["clean"] = clean
        return environment
