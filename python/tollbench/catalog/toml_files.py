"""Reads a catalogue's TOML file into a model, strictly: what is wrong is named with its line and the nearest
right key.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tollbench.errors import TollError


class Entry(BaseModel):
    """A table of a file; a key that nobody reads is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


E_ = TypeVar("E_", bound=Entry)


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names that `name` was probably meant to be, best first; may be empty."""
    known = list(names)
    close = difflib.get_close_matches(name, known, n=count, cutoff=0.5)
    return close or [other for other in known if name and (name in other or other in name)][:count]


def read(file: Path, model: type[E_]) -> E_:
    """The file's content. Raises TollError with the file and the line."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TollError(f"cannot read {file}: {error}", "check the file and its permissions") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and Python's own of 5,000 digits
        raise TollError(f"{file}: {error}", "correct the TOML at that line") from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise _first(file, model, error) from None


def _first(file: Path, model: type[BaseModel], error: ValidationError) -> TollError:
    """The first thing that is wrong, in the file's own words."""
    # A misspelt key is both unknown and missing: the first says more.
    detail = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    *path, last = [str(part) for part in detail["loc"] if not _is_union_branch(part)] or [""]
    where = ".".join(path)
    if detail["type"] == "extra_forbidden":
        return unknown_key(file, last, _keys_at(model, path), f"unknown key in {where or 'the file'}:")
    if detail["type"] == "missing":
        what = f"{where or 'the file'} lacks {last}"
        return error_at(file, path[-1] if path else "", what, f"add: {last} = ...")
    told = f"{where + '.' if where else ''}{last} = {detail['input']!r}: {detail['msg'].lower()}"
    return error_at(file, last, told, "write a value of that type")


def _is_union_branch(part: int | str) -> bool:
    return part in ("int", "str", "float")


def _keys_at(model: type[BaseModel], path: list[str]) -> Iterable[str]:
    """The keys that a table may have: those of the model at `path`, walking through dicts and lists."""
    current: Any = model
    for part in path:
        if isinstance(current, type) and issubclass(current, BaseModel) and part in current.model_fields:
            current = current.model_fields[part].annotation
        else:
            current = getattr(current, "__args__", (current,))[-1]
    if getattr(current, "__args__", None):
        current = current.__args__[-1]
    return current.model_fields if isinstance(current, type) and issubclass(current, BaseModel) else ()


def unknown_key(file: Path, key: str, known: Iterable[str], what: str) -> TollError:
    """The error for a key that is none of `known`."""
    names = sorted(known)
    close = nearest(key, names, 1)
    step = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(names)}"
    return error_at(file, key, f"{what} {key}", step)


def error_at(file: Path, key: str, what: str, next_step: str) -> TollError:
    """The error for what stands at `key`, with its line."""
    line = _line_of(file, key)
    return TollError(f"{file}{f':{line}' if line else ''}: {what}", next_step)


def _line_of(file: Path, key: str) -> int | None:
    """The first line where `key` stands as a key, as a table's name or as a text value."""
    position = re.compile(rf'(^|[{{,.\[])\s*"?{re.escape(key)}"?\s*([=.\]])|=\s*"{re.escape(key)}"')
    lines = file.read_text(encoding="utf-8").splitlines() if key else []
    return next((number for number, line in enumerate(lines, 1) if position.search(line)), None)
