"""A comparison read back from its raw file: what was found, every launch, and the values of every round.

The file may be a stranger's: every record is checked before it is used, and nothing in it is run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tollbench.compare.counts import counted_rows
from tollbench.compare.engine import LAST_LOOK, unconfirmed
from tollbench.compare.judging import Judge
from tollbench.compare.orders import with_orders
from tollbench.compare.printed import Finite
from tollbench.compare.raw_file import FOUND_LISTS, LONGEST_NS, MAX_LINE_BYTES, SHORTEST_NS
from tollbench.compare.subject import Two
from tollbench.compare.tracks import Track, sequence_for
from tollbench.compare.twos import MOST_ROWS, MOST_SIDES, left_out, rows_of, twos_of
from tollbench.compare.verdicts import Comparison, Comparisons, CountChange, Lacking
from tollbench.errors import TollError
from tollbench.stats import bonferroni

_ROWS: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(Comparisons.model_fields[name].annotation or tuple) for name in FOUND_LISTS
}
MAX_SIDES = 1000
MAX_BENCHMARKS = 100_000
MAX_LAYOUTS = 10_000
MOST_SENTENCES = 12  # a kind has one
Nanoseconds = Annotated[float, Field(ge=SHORTEST_NS, le=LONGEST_NS)]
Ratio = Annotated[float, Field(ge=1e-24, le=1e24)]
Ordinal = Annotated[int, Field(ge=0)]


def _encodable(text: str) -> str:
    text.encode()  # half a surrogate pair can neither be printed nor written
    return text


Text = Annotated[str, AfterValidator(_encodable)]

_CUT_SHORT = "the measuring was cut short, and this is what its file holds"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Header(_Record):
    """The first line."""

    toll_compare: Annotated[int, Field(ge=1, le=1)]
    kind: Text
    sides: Annotated[tuple[Text, ...], Field(min_length=2, max_length=MAX_SIDES)]
    all_pairs: bool = False
    level: Annotated[Finite, Field(ge=0.5, le=0.9999996)]  # as ComparisonSettings.check has them
    threshold: Annotated[Finite, Field(gt=0.0, lt=10.0)]
    toll_version: Text = ""
    command_line: Text = ""
    confirm: bool = False
    until: Text = ""
    layouts: Annotated[int, Field(ge=0, le=MAX_LAYOUTS)] = 0  # of each side
    count_only: bool = False
    fail_on: tuple[Text, ...] = ()
    sandbox: Text = ""
    machine: dict[str, Any] = {}
    conditions: dict[str, Any] = {}


class CodeRecord(_Record):
    """What is known of the code of one benchmark on one side; `timed`: it was measured all the same."""

    benchmark: Text
    side: Ordinal
    against: Ordinal = 0
    unchanged: bool
    timed: bool
    told: Text


class SurveyRecord(_Record):
    """What the sides offer: by benchmark the sides that are compared with the first, and who lacks what.

    In all pairs: the sides that are compared with each other, the first among them where it has it.
    """

    sides_of: Annotated[
        dict[Text, Annotated[tuple[Ordinal, ...], Field(max_length=MAX_SIDES)]],
        Field(max_length=MAX_BENCHMARKS),
    ]
    missing: dict[Text, tuple[Text, ...]] = {}
    unusable: dict[Ordinal, Text] = {}  # side -> why; in all pairs alone
    code: Annotated[tuple[CodeRecord, ...], Field(max_length=MAX_BENCHMARKS)] = ()
    part_of: Text = ""


class CountsRecord(_Record):
    """The counts of one benchmark on one side."""

    of: Text
    a: Text = ""  # empty: the first
    b: Text
    found: Annotated[tuple[CountChange, ...], Field(max_length=100)]


class PartRecord(_Record):
    """Some of a list that would make the line of what was found, or measured, too long to be read."""

    part: dict[Literal["comparisons", "lacking", "files", "why", "orders"], list[Any]]
    part_of: Literal["found", "measured"]


class MeanwhileRecord(_Record):
    """What befell the machine so far; the last such record has all of it."""

    meanwhile: Annotated[tuple[Text, ...], Field(max_length=MOST_SENTENCES)]


class RoundRecord(_Record):
    """The values of a round, ns an operation in the order of sides; null where a side has none."""

    measurement: Ordinal
    round: Ordinal
    values: dict[Text, tuple[Nanoseconds | None, ...]]
    order: dict[Text, tuple[Ordinal, ...]]
    layouts: dict[Text, Ordinal] = {}  # which one the values are of, where the sides have some
    failures: dict[Text, dict[int, Text]] = {}
    ratios: dict[Text, tuple[tuple[Ordinal, Ordinal, Ratio], ...]] = {}  # of two sides: a, b, b over a
    means: dict[Text, tuple[Nanoseconds | None, ...]] = {}  # as values, over all of a launch
    looks: dict[Text, Annotated[float, Field(ge=0.0, le=1e6)]] = {}  # benchmark -> share of its time
    done: tuple[Text, ...] = ()  # benchmarks that are not measured again
    seconds: dict[Text, Annotated[float, Field(ge=0.0, le=1e9)]] = {}  # wall time, shared by those of a round


@dataclass(frozen=True, slots=True)
class StoredComparison:
    """All that a raw file says."""

    path: Path
    header: Header
    comparisons: Comparisons
    rounds: Sequence[RoundRecord] = field(default_factory=tuple)

    @staticmethod
    def read(path: Path) -> StoredComparison:
        """Raises TollError for a file that cannot be read, or is no comparison's."""
        header, survey, found, measured = None, None, None, None
        parts: dict[str, dict[str, list[Any]]] = {"found": {}, "measured": {}}
        rounds: list[RoundRecord] = []
        meanwhile: tuple[str, ...] = ()
        counts: dict[tuple[str, str, str], tuple[CountChange, ...]] = {}
        for number, record in _records(path):
            try:
                if header is None:
                    header = _possible(Header.model_validate(record))
                elif "values" in record:
                    rounds.append(_fitting(RoundRecord.model_validate(record), header))
                elif "survey" in record:
                    survey = _within(SurveyRecord.model_validate(record["survey"]), header)
                elif "meanwhile" in record:
                    meanwhile = MeanwhileRecord.model_validate(record).meanwhile
                elif "counts" in record:
                    counted = CountsRecord.model_validate(record["counts"])
                    counts[counted.of, counted.a or header.sides[0], counted.b] = counted.found
                elif "part" in record:
                    _add_part(parts, PartRecord.model_validate(record))
                elif "found" in record:
                    found = _agreeing(_whole(record["found"], parts["found"]), header, record)
                elif "measured" in record:
                    measured = _agreeing(_whole(record["measured"], parts["measured"]), header, record)
            except ValidationError as error:
                place = ".".join(map(str, error.errors()[0]["loc"]))
                raise _damaged(path, f"line {number} has an impossible {place or 'record'}") from None
            except ValueError as error:
                raise _damaged(path, f"line {number} {error}") from None
        if header is None:
            raise _damaged(path, "is empty")
        if found is None and measured is not None:  # cut short while it counted or explained
            found = _with_counts(measured, counts).model_copy(
                update={"interrupted": True, "fail_on": header.fail_on}
            )
        elif found is None:
            if survey is None:
                raise TollError(
                    f"{path} ends before anything was measured, or an older toll wrote it.",
                    "compare again: toll compare keeps what it finds in this file",
                )
            try:
                found = _with_counts(_judged(header, survey, rounds), counts)
            except ValueError as error:
                raise _damaged(path, str(error)) from None
            found = found.model_copy(update={"meanwhile": meanwhile})
        return StoredComparison(path, header, found, tuple(rounds))

    def launches(self) -> Iterator[Mapping[str, Any]]:
        """Every launch as it was stored."""
        for _, record in _records(self.path):
            if "benchmark" in record or "benchmarks" in record or "position" in record:
                yield record

    def values(self, benchmark: str, measurement: int = 1) -> NDArray[np.float64]:
        """ns an operation, shape (rounds, sides); NaN where a side has none. 2 is what --confirm measured."""
        rows = [
            [math.nan if value is None else value for value in item.values[benchmark]]
            for item in self.rounds
            if item.measurement == measurement and benchmark in item.values
        ]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.header.sides))


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Lines as objects with their numbers; a last one that was cut short by a kill is left out."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise _damaged(path, f"line {number} is longer than {MAX_LINE_BYTES // 2**20} MiB")
                if not line.endswith(b"\n"):
                    return
                yield number, _object(path, number, line)
    except OSError as error:
        raise TollError(
            f"cannot read {path}: {error.strerror}", "name a file that toll compare wrote"
        ) from None


def _object(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise _damaged(path, f"line {number} is not JSON") from None
    if not isinstance(record, dict):
        raise _damaged(path, f"line {number} is not an object")
    return record


def _possible(header: Header) -> Header:
    """Raises ValueError for more sides than all pairs are compared of."""
    if header.all_pairs and len(header.sides) > MOST_SIDES:
        raise ValueError(f"has all pairs of {len(header.sides)} sides, of which {MOST_SIDES} are possible")
    return header


def _within(survey: SurveyRecord, header: Header) -> SurveyRecord:
    """Raises ValueError for sides that are not there, or stand there twice, and for too many rows."""
    least = 0 if header.all_pairs else 1
    for name, sides in survey.sides_of.items():
        if len(set(sides)) != len(sides) or any(not least <= side < len(header.sides) for side in sides):
            raise ValueError(f"compares sides of {name[:80]!r} that are not there")
    if survey.unusable and not (header.all_pairs and max(survey.unusable) < len(header.sides)):
        raise ValueError("has sides that could not be asked, and are not there")
    if header.all_pairs and rows_of(survey.sides_of) > MOST_ROWS:
        raise ValueError(f"compares more than {MOST_ROWS:,} pairs of sides")
    if len({(item.benchmark, item.against, item.side) for item in survey.code}) < len(survey.code):
        raise ValueError("knows the code of the same sides twice")
    for item in survey.code:
        sides = survey.sides_of.get(item.benchmark, ())
        against = sides if header.all_pairs else (0,)
        if item.side not in sides or item.against not in against or item.against >= item.side:
            raise ValueError(f"knows code of {item.benchmark[:80]!r} on a side that is not there")
    return survey


def _fitting(record: RoundRecord, header: Header) -> RoundRecord:
    return checked(record, len(header.sides), header.layouts, all_pairs=header.all_pairs)


def checked(record: RoundRecord, sides: int, layouts: int = 0, *, all_pairs: bool = False) -> RoundRecord:
    """Raises ValueError for values that belong to no side, or an order that names one that is not there."""
    for name, values in record.values.items():
        order = record.order.get(name, ())
        if name not in record.order:
            raise ValueError(f"has values of {name[:80]!r} and no order")
        number = record.layouts.get(name)
        if (number is None) != (not layouts) or (number or 0) > max(0, layouts - 1):
            raise ValueError(f"has values of {name[:80]!r} in a layout that is not there")
        if len(values) != sides or len(set(order)) != len(order) or any(side >= sides for side in order):
            raise ValueError(f"has values of {name[:80]!r} that do not fit {sides} sides")
        if any(side not in order for side, value in enumerate(values) if value is not None):
            raise ValueError(f"has a value of {name[:80]!r} for a side that was not launched")
    for name, ratios in record.ratios.items():
        launched = set(record.order.get(name, ()))
        if not all_pairs or len(ratios) > len(launched) * (len(launched) - 1) // 2:
            raise ValueError(f"has more ratios of {name[:80]!r} than pairs of sides")
        if any(a >= b or not {a, b} <= launched for a, b, _ in ratios):
            raise ValueError(f"has a ratio of {name[:80]!r} for sides that were not launched")
        if len({(a, b) for a, b, _ in ratios}) < len(ratios):
            raise ValueError(f"has two ratios of {name[:80]!r} for the same sides")
    for name, means in record.means.items():
        values = record.values.get(name, ())
        if [mean is None for mean in means] != [value is None for value in values]:
            raise ValueError(f"has means of {name[:80]!r} that do not fit its values")
    return record


def _add_part(parts: Mapping[str, dict[str, list[Any]]], record: PartRecord) -> None:
    """Raises ValueError for what is no part of what was found; what is one takes hardly more room."""
    json.dumps(record.part, ensure_ascii=False).encode()
    for name, items in record.part.items():
        parts[record.part_of].setdefault(name, []).extend(_ROWS[name].validate_python(items))


def _whole(record: Any, parts: Mapping[str, list[Any]]) -> Comparisons:
    """What was found, with those parts of its lists that stand before it."""
    found = Comparisons.model_validate(record)
    return found.model_copy(update={name: (*items, *getattr(found, name)) for name, items in parts.items()})


def _agreeing(found: Comparisons, header: Header, record: Mapping[str, Any]) -> Comparisons:
    """Raises ValueError where the last line is not of the comparison that the first one begins.

    Orders follow from the rows, and are made of them again: nothing that a stranger writes there is told.
    """
    json.dumps(record, ensure_ascii=False).encode()
    if (found.sides, found.threshold) != (header.sides, header.threshold):
        raise ValueError("is of other sides or another threshold than the first")
    if found.all_pairs != header.all_pairs:
        raise ValueError("is of all pairs of sides where the first is not, or the other way round")
    if found.all_pairs and not {side for item in found.comparisons for side in (item.a, item.b)} <= {
        *found.sides
    }:
        raise ValueError("has a row of sides that are not there")
    if not all(0.5 <= item.level <= 1.0 for item in found.comparisons):
        raise ValueError("has a row whose interval holds at a level that is none")
    return with_orders(found.model_copy(update={"orders": ()}))


def _judged(header: Header, survey: SurveyRecord, rounds: Sequence[RoundRecord]) -> Comparisons:
    """What is known where the measuring was killed: the first measurement's looks again, and one at its end.

    As after an interrupt: nobody chose the end by the values. Looking once at all of them would be wrong, as
    those looks decided which benchmark was measured for how long.
    """
    if header.count_only:
        wanted = twos_of(survey.sides_of, all_pairs=header.all_pairs)
        judge = Judge(header.sides, header.threshold, 1.0 - header.level)
        rows = [*counted_rows(wanted, header.sides, header.level), *_left_out(judge, survey)]
        return _cut_short(header, survey, rows)
    level = (1.0 + header.level) / 2.0 if header.confirm else header.level  # as `before_confirming` has it
    code = {(item.benchmark, Two(item.against, item.side)): item for item in survey.code}
    untouched = {key: item.told for key, item in code.items() if not item.timed}
    timed = {
        name: [two for two in each if (name, two) not in untouched]
        for name, each in twos_of(survey.sides_of, all_pairs=header.all_pairs).items()
    }
    alpha = 1.0 - bonferroni(level, sum(map(len, timed.values())) or 1)
    judge = Judge(header.sides, header.threshold, alpha, header.layouts)
    tracks = {
        name: Track(name, {two: sequence_for(header.layouts, alpha) for two in each})
        for name, each in timed.items()
        if each
    }
    for item in rounds:
        if item.measurement == 1:
            for name in {*item.values, *item.failures, *item.looks, *item.done} & tracks.keys():
                _replay(tracks[name], item)
    found = []
    for track in tracks.values():
        if not track.done:
            track.look(last=True)
        found += judge.verdicts(track, lambda _two: (_CUT_SHORT,))
    labels = header.sides
    told = {(name, labels[a], labels[b]): item.told for (name, (a, b)), item in code.items()}
    found = [
        item.model_copy(update={"code": told.get((item.benchmark, item.a, item.b), "")}) for item in found
    ]
    found += [judge.untouched(name, two, text) for (name, two), text in untouched.items()]
    found += _left_out(judge, survey)
    return _cut_short(header, survey, list(map(unconfirmed, found)) if header.confirm else found)


def _left_out(judge: Judge, survey: SurveyRecord) -> list[Comparison]:
    return judge.unusable(left_out(survey.unusable, len(judge.labels)))


def _with_counts(
    found: Comparisons, counts: Mapping[tuple[str, str, str], tuple[CountChange, ...]]
) -> Comparisons:
    rows = [
        item.model_copy(update={"counts": counts.get((item.benchmark, item.a, item.b), ())})
        for item in found.comparisons
    ]
    return found.model_copy(update={"comparisons": tuple(rows)})


def _cut_short(header: Header, survey: SurveyRecord, found: Sequence[Comparison]) -> Comparisons:
    told = Comparisons(
        comparisons=tuple(found),
        lacking=Lacking.of(survey.missing),
        part_of=survey.part_of,
        kind=header.kind,
        sides=header.sides,
        all_pairs=header.all_pairs,
        level=header.level,
        threshold=header.threshold,
        until=header.until,
        layouts=header.layouts,
        seconds=0.0,
        interrupted=True,
        toll_version=header.toll_version,
        command_line=header.command_line,
        sandbox=header.sandbox,
        fail_on=header.fail_on,
    )
    return with_orders(told)


def _replay(track: Track, item: RoundRecord) -> None:
    name = track.name
    if track.done:
        raise ValueError(f"goes on with {name[:80]!r}, which was done")
    if name in item.values:
        track.take(
            _row(item.values[name]),
            list(item.order[name]),
            item.layouts.get(name),
            {Two(a, b): ratio for a, b, ratio in item.ratios.get(name, ())},
            _row(item.means.get(name, ())),
        )
    track.failures |= item.failures.get(name, {})
    track.seconds += item.seconds.get(name, 0.0)
    if name in item.looks:
        track.look(last=item.looks[name] >= LAST_LOOK)
    track.done = name in item.done


def _row(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _damaged(path: Path, problem: str) -> TollError:
    return TollError(
        f"{path} {problem}: it is not a comparison that toll can read.",
        "ask whoever made it for a new copy, or compare again",
    )
