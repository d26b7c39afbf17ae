"""The messages of protocol 1 that programs send, as models: every field is checked before it is used.

docs/protocol.md tells what the fields mean. Unknown fields are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tollbench.launching.failure import LaunchFailed
from tollbench.text import shown
from tollbench.words import Batch

MAX_SAMPLES = 1_000_000  # a request
MAX_NS = 1e18  # 30 years: the analysis refuses a run file with a longer time
_MAX_NUMBER = 2**63 - 1  # what the run file can hold
_MAX_ENTRIES = 64  # of an observed footing, a clock, hardware counts or details
_MAX_KEY = 64  # characters of a cell's name
_MAX_DETAIL = 1e18
_DETAIL = re.compile(r"[a-z][a-z0-9_]{0,63}")
_HALF_PAIR = re.compile("[\ud800-\udfff]")  # of surrogates: can neither be printed nor read back from a file


def _integral(value: object) -> object:
    """Erlang and JavaScript write 3.0 for 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= 1000 and _HALF_PAIR.search(value) is None
    return isinstance(value, int | float) and abs(value) <= _MAX_NUMBER


def _plain(value: object) -> object:
    """An object of plain values, bounded, so that it can be stored as it is."""
    if not isinstance(value, dict) or len(value) > _MAX_ENTRIES:
        raise ValueError(f"an object of at most {_MAX_ENTRIES} entries")
    if not all(_is_plain(item) for item in (*value, *value.values())):
        raise ValueError("an object of plain numbers and short texts")
    return value


def _named_numbers(value: object) -> object:
    found = _plain(value)
    assert isinstance(found, dict)
    for name, number in found.items():
        if not _DETAIL.fullmatch(name):
            raise ValueError("an object whose names are lower-case letters, digits and '_'")
        if isinstance(number, bool) or not isinstance(number, int | float) or abs(number) > _MAX_DETAIL:
            raise ValueError(f"an object of numbers between -{_MAX_DETAIL:g} and {_MAX_DETAIL:g}")
    return {name: float(number) for name, number in found.items()}


def _unsigned(value: object) -> object:
    good = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20
    if not good or int(str(value)) >= 2**64:
        raise ValueError("an unsigned 64-bit number as decimal text")
    return int(str(value))


def _cells(value: object) -> object:
    if not isinstance(value, list) or not all(map(_is_cell, value)):
        raise ValueError(f"a list of {{key: text of at most {_MAX_KEY} characters, count: number}}")
    return tuple((cell["key"], cell["count"]) for cell in value)


def _is_cell(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    key, count = value.get("key"), value.get("count")
    named = isinstance(key, str) and 0 < len(key) <= _MAX_KEY and _is_plain(key)
    counted = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_SAMPLES
    return named and counted


# A field's description completes "sent wall_ns = -1, not ...".
_NS = Field(ge=0, le=MAX_NS, allow_inf_nan=False,
            description="a time in nanoseconds: finite, at least 0, at most 30 years")  # fmt: skip
Nanoseconds = Annotated[float, _NS]
# (Bounds before the function: they are checked with the number then, in a tenth of the time.)
Count = Annotated[int, Field(ge=0, le=_MAX_NUMBER, description="a whole number of at least 0"),
                  BeforeValidator(_integral)]  # fmt: skip
Positive = Annotated[int, Field(ge=1, le=_MAX_NUMBER, description="a whole number of at least 1"),
                     BeforeValidator(_integral)]  # fmt: skip
Text = Annotated[str, Field(description="text")]
Entries = Annotated[dict[str, Any], BeforeValidator(_plain)]
Details = Annotated[dict[str, float], BeforeValidator(_named_numbers)]
Cells = Annotated[tuple[tuple[str, int], ...], BeforeValidator(_cells)]
Checksum = Annotated[int, BeforeValidator(_unsigned),
                     Field(description="an unsigned 64-bit number as decimal text")]  # fmt: skip


class Message(BaseModel):
    """What a program sends; numbers are numbers, never text or truth values."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


_OF_BATCH = set(Batch._fields)


class Ready(Message):
    """The program has made its state."""

    protocol: Count
    setup_ns: Nanoseconds
    clock: Entries = {}
    footing: Entries = {}
    warmup_limit_ns: Count = 0  # how long this program may be warmed; 0: one warm-up batch is enough


class TimedAnswer(Message):
    """The answer to one timed request; samples follow it where it announces some."""

    iterations: Positive
    units: Positive
    wall_ns: Nanoseconds
    cpu_ns: Nanoseconds
    voluntary_switches: Count
    involuntary_switches: Count
    minor_faults: Count
    major_faults: Count
    peak_bytes: Count
    checksum: Checksum
    counters: Entries = {}
    details: Details = {}
    gauge_ns: Nanoseconds = 0.0

    def batch(self) -> Batch:
        """As it is stored."""
        return Batch(**{name: getattr(self, name) for name in type(self).model_fields if name in _OF_BATCH})


class SamplesAnswer(TimedAnswer):
    """A timed answer that raw samples follow: `count` numbers in `bytes` bytes."""

    count: Positive
    bytes: Count
    format: Text
    unit: Text
    cells: Cells = ()

    @model_validator(mode="after")
    def _cells_add_up(self) -> SamplesAnswer:
        if self.cells and sum(count for _, count in self.cells) != self.count:
            raise ValueError("a list whose counts add up to the number of samples")
        return self


class AllocationsAnswer(Message):
    """The answer to the counting pass."""

    iterations: Positive
    units: Positive
    calls: Count
    bytes: Count
    peak_bytes: Count
    checksum: Checksum


M = TypeVar("M", bound=Message)


def checked(model: type[M], message: Mapping[str, Any]) -> M:
    """The message as a model. Raises LaunchFailed that names the first field that is not as it must be."""
    try:
        return model.model_validate(message)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "cells"
        described = model.model_fields[name].description
        own = first.get("ctx", {}).get("error")
        wanted = str(own) if own is not None else described or first["msg"]
    found = shown(json.dumps(message.get(name)), 60)
    raise LaunchFailed(f"sent {name} = {found} in its {message['type']!r}, not {wanted}")
