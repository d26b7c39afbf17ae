"""What an earlier start of a search left in its file: read back, checked, in the order in which it was seen.

The file may have been cut short anywhere. Nothing in it is run; what does not fit is refused with its line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tollbench.compare.stored import Nanoseconds, RoundRecord, checked
from tollbench.errors import TollError

MARK = "toll_bisect"  # the key that only the header of such a file begins with
PART = "part"  # the key of a record with which a search in a part of the row begins, a range A..B
FORM = 4  # of the file: that of another one is not gone on with
VERSION_OF_TOLL = "version of toll"  # what is asked with, too
ENDS = "ends"  # what a comparison within the search is of, as `begin` says; else "BEFORE..COMMIT"
Question = Mapping[str, Any]  # what is searched: by the option that asks for it

CLOCKS_DIFFER_S = 3600.0  # the date's from the one that times
_SIDES = 2  # of a comparison within a search
MOST_AMOUNT = 10**30  # more instructions than anything executes

Text = Annotated[str, Field(max_length=100_000)]
Seconds = Annotated[float, Field(ge=0.0, le=1e9)]


class _SearchRecord(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class LookRecord(_SearchRecord):
    """One round of GOOD, a commit and BAD: nanoseconds of each."""

    commit: Text
    values: tuple[Nanoseconds, Nanoseconds, Nanoseconds]
    took_s: Seconds


class _TimesRecord(_SearchRecord):
    """What any record may tell of time."""

    at_s: Seconds = 0.0  # since the first start
    took_s: Seconds = 0.0
    looking_s: Seconds = 0.0
    counting_s: Seconds = 0.0


class LeftOutRecord(_SearchRecord):
    """A commit that could not be measured."""

    left_out: Text
    reason: Text


class SameRecord(_SearchRecord):
    """A commit that executes what another one does."""

    same: Text
    other: Text


class CountRecord(_SearchRecord):
    """What one commit was counted as: numerator and denominator of each launch; and how long that took."""

    counting_s: Seconds = 0.0
    counted: Text
    benchmark: Text
    how: Text
    amounts: Annotated[
        tuple[
            tuple[Annotated[int, Field(ge=0, le=MOST_AMOUNT)], Annotated[int, Field(gt=0, le=MOST_AMOUNT)]],
            ...,
        ],
        Field(min_length=1, max_length=1000),
    ]


class CutRecord(_SearchRecord):
    """A part of the row that was searched without an answer: its halves were searched instead."""

    cut: Text
    measuring_s: Seconds  # that it was given
    spent_s: Seconds
    reason: Text


Seen = LookRecord | LeftOutRecord | SameRecord | CountRecord
_KINDS: Sequence[tuple[str, type[Seen]]] = (
    ("took_s", LookRecord),
    ("left_out", LeftOutRecord),
    ("same", SameRecord),
    ("counted", CountRecord),
)


@dataclass(slots=True)
class KeptSearch:
    """All of it. `rounds` are of comparisons within the search, by what was compared.

    All looks, commits left out and proofs of the same code are of one benchmark, the one that was searched.
    `parts` are searches in parts of the row, by its range A..B; with them nothing else is here.
    """

    rounds: dict[str, deque[RoundRecord]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    looking_s: float = 0.0  # of which code was looked at
    searching: str = ""  # the benchmark; "": it was not known yet
    launches: int = 0
    seconds: float = 0.0  # since the first start, as far as it is known
    parts: dict[str, KeptSearch] = field(default_factory=dict)
    cut: CutRecord | None = None

    @property
    def seconds_of_rounds(self) -> float:
        """Of those that are not measured again yet, and take their time when they are."""
        return sum(sum(one.seconds.values()) for rounds in self.rounds.values() for one in rounds)

    @property
    def all_launches(self) -> int:
        """Those of its parts as well."""
        return self.launches + sum(part.launches for part in self.parts.values())


def launches_of(record: Mapping[str, Any]) -> int:
    """How many programs a record of the file was the launch of: of those that took turns, several."""
    if "side" in record:
        return 1
    if "counted" in record and isinstance(record.get("amounts"), list | tuple):
        return len(record["amounts"])
    if isinstance(record.get("order"), list) and "ns" in record:
        return len(record["order"])
    return 0


def elapsed_s(header: Mapping[str, Any], ended_s: float, path: str) -> float:
    """From the first start to when the file was written last: nothing in it took longer.

    Raises TollError for a header without a date.
    """
    try:
        started = datetime.fromisoformat(str(header.get("started_utc")))
        return max(0.0, ended_s - started.timestamp()) + CLOCKS_DIFFER_S
    except (ValueError, OverflowError):
        raise TollError(
            f"{path} is damaged: its first line has no date", "begin anew, without --resume"
        ) from None


def kept_search(records: Sequence[Mapping[str, Any]], path: str, *, most_s: float) -> KeptSearch:
    """The records behind the header, none of which took longer than `most_s`.

    Raises TollError for one that makes no sense.
    """
    found = now = KeptSearch()
    of = ""
    for number, record in enumerate(records, 2):
        if isinstance(part := record.get(PART), str):
            now, of = found.parts.setdefault(part, KeptSearch()), ""
        try:
            of = _take(record, now, of)
            if max(_times(record), default=0.0) > most_s:
                raise ValueError("says that it took longer than the whole search")
        except ValueError as error:
            told = "is no record of a search" if isinstance(error, ValidationError) else str(error)
            raise TollError(
                f"{path} is damaged: line {number} {told}", "begin anew, without --resume"
            ) from None
    looking_s = max((part.looking_s for part in found.parts.values()), default=0.0)
    found.looking_s = max(found.looking_s, looking_s)  # it goes on from part to part
    return found


def _take(record: Mapping[str, Any], found: KeptSearch, of: str) -> str:
    """Adds a record; rounds are `of` that comparison, those of the next record of what is returned.

    Raises ValueError.
    """
    if isinstance(record.get("begin"), str):
        of = record["begin"]
        found.rounds.setdefault(of, deque())  # it may have begun in an earlier start, too
    elif isinstance(name := record.get("searching"), str):
        if found.searching not in ("", name):
            raise ValueError(f"is of another benchmark than those before: {name[:80]}")
        found.searching = name
    elif "measurement" in record and "done" in record and of:
        found.rounds[of].append(checked(RoundRecord.model_validate(record), _SIDES))
    elif "cut" in record:
        found.cut = CutRecord.model_validate(record)
    elif (kind := next((kind for key, kind in _KINDS if key in record), None)) is not None:
        if kind is not CountRecord and not found.searching:
            raise ValueError("is of no benchmark")
        found.seen.append(kind.model_validate(record))
    found.launches += launches_of(record)
    times = _TimesRecord.model_validate(record)
    found.seconds = max(found.seconds, times.at_s)
    found.looking_s = max(found.looking_s, times.looking_s)
    return of


def _times(record: Mapping[str, Any]) -> list[float]:
    times = _TimesRecord.model_validate(record)
    rounds = RoundRecord.model_validate(record).seconds if "done" in record else {}
    return [times.at_s, times.took_s, times.looking_s, times.counting_s, sum(rounds.values())]


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
            way = f"ask as it was asked ({told}), or {anew}" if told else anew
            if key == VERSION_OF_TOLL:
                way = f"go on with that toll, which `toll --version` names so, or {anew}"
            raise TollError(
                f"{path} is of another search: its {key} was {_shown(before.get(key))}, and now it is"
                f" {_shown(now)}",
                way,
            )


def _shown(value: object) -> str:
    text = "not given" if value in ("", None) else "yes" if value is True else str(value)
    return "not given" if value is False else text[:100]
