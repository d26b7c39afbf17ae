"""What an earlier start of a search left in its file: read back, checked, in the order in which it was seen.

The file may have been cut short anywhere. Nothing in it is run; what does not fit is refused with its line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tollbench.compare.stored import Nanoseconds, RoundRecord
from tollbench.errors import TollError

MARK = "toll_bisect"  # the key that only the header of such a file begins with
FORM = 2  # of the file: that of another one is not gone on with
ENDS = "ends"  # what a comparison within the search is of, as `begin` says; else "BEFORE..COMMIT"
Question = Mapping[str, Any]  # what is searched: by the option that asks for it

Text = Annotated[str, Field(max_length=100_000)]


class _SearchRecord(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class LookRecord(_SearchRecord):
    """One round of GOOD, a commit and BAD: nanoseconds of each."""

    commit: Text
    values: tuple[Nanoseconds, Nanoseconds, Nanoseconds]
    took_s: Annotated[float, Field(ge=0.0, le=1e9)] = 0.0
    at_s: Annotated[float, Field(ge=0.0, le=1e12)] = 0.0


class LeftOutRecord(_SearchRecord):
    """A commit that could not be measured."""

    left_out: Text
    reason: Text


class SameRecord(_SearchRecord):
    """A commit that executes what another one does."""

    same: Text
    other: Text


class CountRecord(_SearchRecord):
    """What one commit was counted as: numerator and denominator of each launch."""

    counted: Text
    benchmark: Text
    how: Text
    amounts: Annotated[tuple[tuple[int, int], ...], Field(max_length=1000)]


Seen = LookRecord | LeftOutRecord | SameRecord | CountRecord
_KINDS: Sequence[tuple[str, type[Seen]]] = (
    ("took_s", LookRecord),
    ("left_out", LeftOutRecord),
    ("same", SameRecord),
    ("counted", CountRecord),
)


@dataclass(slots=True)
class KeptSearch:
    """All of it. `rounds` are of comparisons within the search, by what was compared."""

    rounds: dict[str, deque[RoundRecord]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    launches: int = 0
    seconds: float = 0.0  # since the first start, as far as it is known


def launches_of(record: Mapping[str, Any]) -> int:
    """How many programs a record of the file was the launch of: of those that took turns, several."""
    if "side" in record:
        return 1
    if "counted" in record and isinstance(record.get("amounts"), list | tuple):
        return len(record["amounts"])
    if isinstance(record.get("order"), list) and "ns" in record:
        return len(record["order"])
    return 0


def kept_search(records: Sequence[Mapping[str, Any]], path: str) -> KeptSearch:
    """The records behind the header. Raises TollError for one that makes no sense."""
    found = KeptSearch()
    of = ""
    for number, record in enumerate(records, 2):
        try:
            if isinstance(record.get("begin"), str):
                of = record["begin"]
                found.rounds[of] = deque()
            elif "measurement" in record and "done" in record and of:
                found.rounds[of].append(RoundRecord.model_validate(record))
            elif (kind := next((kind for key, kind in _KINDS if key in record), None)) is not None:
                found.seen.append(kind.model_validate(record))
            found.launches += launches_of(record)
            at_s = record.get("at_s")
            if isinstance(at_s, int | float) and 0.0 <= at_s < 1e12:
                found.seconds = max(found.seconds, float(at_s))
        except ValidationError:
            raise TollError(
                f"{path} is damaged: line {number} is no record of a search", "begin anew, without --resume"
            ) from None
    return found


def check_question(header: Mapping[str, Any], asked: Question, path: str) -> None:
    """Raises TollError where the file is of another search than the one that is asked for."""
    anew = "begin anew, without --resume"
    if header.get(MARK) != FORM or not isinstance(header.get("question"), dict):
        raise TollError(
            f"{path} is not of a search of this version of toll",
            f"name the file that toll bisect told when it began, in runs/; or {anew}",
        )
    before = header["question"]
    for key, now in asked.items():
        if before.get(key) != now:
            told = str(header.get("command_line", ""))[:500]
            raise TollError(
                f"{path} is of another search: its {key} was {_shown(before.get(key))}, and now it is"
                f" {_shown(now)}",
                f"ask as it was asked ({told}), or {anew}" if told else anew,
            )


def _shown(value: object) -> str:
    text = "not given" if value in ("", None) else "yes" if value is True else str(value)
    return "not given" if value is False else text[:100]
