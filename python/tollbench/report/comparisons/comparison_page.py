"""The files that pages of comparisons are made of."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined

from tollbench.text import clean

PAGE = Path(__file__).parent / "page"


def asset(name: str) -> str:
    """A template or a style sheet."""
    return (PAGE / name).read_text(encoding="utf-8")


@cache
def templates() -> Environment:
    """Which escape what they are given."""
    environment = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clean"] = clean
    return environment
