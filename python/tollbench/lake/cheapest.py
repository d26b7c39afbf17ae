"""The cheapest machine for a workload: each machine's time for a unit of work, at the price of its hour.

Prices are the user's. Times of machines are not compared, costs are: each is one machine's own.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tollbench.analysis.grouping import settings, swept_parameters
from tollbench.errors import TollError
from tollbench.estimates import Estimate
from tollbench.lake.lake_answers import CheapestMachine, LakeMachine, PricedRow
from tollbench.lake.lake_rows import (
    NEWEST_OF_EACH,
    Asked,
    LakeRow,
    StoredIdentity,
    checked_parameters,
    in_one_unit,
    option,
    read_rows,
    utc,
)
from tollbench.lake.opened_lake import OpenedLake
from tollbench.text import clean, shown

_NS: Final = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_NS_PER_HOUR: Final = 3.6e12
PER_UNITS: Final = 1e9  # a cost is that of a billion units of work
_MOST_BYTES: Final = 8 << 20
_SHORTEST_ID: Final = 6


@dataclass(frozen=True, slots=True)
class Prices:
    """What an hour of a machine costs, by a host's name, an identity or its beginning, or a product."""

    per_hour: Mapping[str, float]
    currency: str

    @classmethod
    def read(cls, path: Path) -> Prices:
        """CSV with the columns `machine` and `price_per_hour`, perhaps `currency`. Raises TollError."""
        found: dict[str, float] = {}
        currencies: set[str] = set()
        for line, row in _lines(path):
            name, text = (row.get("machine") or "").strip(), (row.get("price_per_hour") or "").strip()
            try:
                price = float(text)
            except ValueError:
                price = math.nan
            if not name or not 0.0 <= price < 1e9:
                raise TollError(
                    f"{path}, line {line}: no machine with a price of 0 or more",
                    "write: machine,price_per_hour",
                )
            if name in found and found[name] != price:
                raise TollError(f"{path}, line {line}: {shown(name)} has two prices", "leave one of them out")
            found[name] = price
            currencies.add(clean((row.get("currency") or "").strip()))
        if not found:
            raise TollError(f"{path} names no price", "write a line for each machine: NAME,PRICE")
        if len(currencies) > 1:
            raise TollError(
                f"{path} has prices in {', '.join(sorted(currencies))}", "give all in one currency"
            )
        return cls(found, currencies.pop())

    def of(self, machine: LakeMachine) -> float | None:
        """The price of its hour; a name that says more goes first."""
        for name in (machine.host, machine.machine):
            if name and name in self.per_hour:
                return self.per_hour[name]
        begun = [n for n in self.per_hour if len(n) >= _SHORTEST_ID and machine.machine.startswith(n)]
        if len(begun) == 1:
            return self.per_hour[begun[0]]
        return self.per_hour.get(machine.product) if machine.product else None


def _lines(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read(_MOST_BYTES)
    except OSError as error:
        raise TollError(
            f"{path} cannot be read: {error.strerror}", "name a CSV file: --prices FILE"
        ) from None
    except UnicodeDecodeError:
        raise TollError(f"{path} is no text in UTF-8", "save it as CSV in UTF-8") from None
    reader = csv.DictReader(text.splitlines())
    if not {"machine", "price_per_hour"} <= set(reader.fieldnames or ()):
        raise TollError(f"{path} lacks the columns machine and price_per_hour", "name them in its first line")
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise TollError(f"{path}, line {reader.line_num}: {error}", "save it as CSV") from None


def cheapest(opened: OpenedLake, asked: Asked, prices: Prices) -> CheapestMachine:
    """Of each machine the fastest contender, or the one asked for, each by its newest time, at its price.

    Raises TollError where the lake has no such row, in several settings, or with no machine that has a price.
    """
    read = read_rows(opened, asked.workload, "value > 0", NEWEST_OF_EACH)
    rows = [row for row in read if asked.matches(row.case.parameters)]
    if not rows:
        raise TollError(f"the lake has no such row of {asked.workload}", "what it has: toll lake runs")
    rows = in_one_unit(rows, max(rows, key=lambda row: row.started), opened.notes)
    rows = [row for row in rows if not row.role and row.case.environment == asked.environment]
    own = _own_parameters(rows)
    rows = [row for row in rows if asked.contender in ("", row.case.contender)]
    _check_setting(rows, own, asked)
    by_machine: dict[str, list[LakeRow]] = defaultdict(list)
    for row in rows:
        by_machine[row.machine.machine].append(row)
    best = {machine: _best(of_it) for machine, of_it in by_machine.items()}
    if not best:
        raise TollError(
            f"no machine measured {asked.contender or 'a contender'} of {asked.workload}"
            f" in {asked.environment}",
            "what the lake has: toll lake runs; another environment: --environment",
        )
    priced = [_priced(row, price) for row in best.values() if (price := prices.of(row.machine)) is not None]
    unpriced = [row.machine for row in best.values() if prices.of(row.machine) is None]
    if not priced:
        raise TollError(
            "the prices name none of the machines that were measured",
            f"name them by host or identity, for example {unpriced[0].host or unpriced[0].machine}",
        )
    priced.sort(key=lambda row: (row.cost.value, row.machine.machine))
    first = next(iter(best.values()))
    return CheapestMachine(
        notes=opened.notes,
        workload=asked.workload,
        setting=_shared(best.values()),
        contender=asked.contender,
        unit=first.unit,
        per=first.per,
        per_units=PER_UNITS,
        currency=prices.currency,
        rows=priced,
        overlapping=sum(_meet(priced[0].cost, row.cost) for row in priced[1:]),
        unpriced=unpriced,
    )


def _own_parameters(rows: Sequence[LakeRow]) -> set[str]:
    """Those that one contender has, and another one of the same run has not."""
    of_run: dict[str, list[set[str]]] = defaultdict(list)
    for row in rows:
        of_run[row.run].append(set(row.case.parameters))
    return {
        name for each in of_run.values() for one in each for name in one if any(name not in of for of in each)
    }


def _check_setting(rows: Sequence[LakeRow], own: set[str], asked: Asked) -> None:
    """Raises TollError where the rows are of several: their times answer different questions.

    What one run swept, and what one run measured with another value than another run: neither says anything
    of it, as each has but one. Not so a contender's own parameter: it is a part of what it does there.
    """
    cases = [
        StoredIdentity(row.case.contender, row.case.environment, row.case.parameters, {}) for row in rows
    ]
    in_a_run = (name for setting in {row.setting for row in rows} for name in _parsed(setting))
    over_runs = (name for name in swept_parameters(cases, keep_apart=False) if name not in own)
    names = tuple(dict.fromkeys([*over_runs, *in_a_run]))
    if len(found := settings(cases, names)) > 1:
        told = [" ".join(option(name, dict(setting)) for name in names) for setting in found]
        raise TollError(
            f"{asked.workload} was measured in several settings",
            f"choose one by --parameter: {'; '.join(told[:12])}",
        )


def _shared(rows: Iterable[LakeRow]) -> dict[str, int | str]:
    """Parameters that all of them have, with one value."""
    first, *others = (row.case.parameters.items() for row in rows)
    return {name: value for name, value in first if all((name, value) in other for other in others)}


def _parsed(setting: str) -> dict[str, int | str]:
    return checked_parameters(setting, "a setting")


def _best(rows: Sequence[LakeRow]) -> LakeRow:
    """The fastest one: as their run found it, within its rounds; of several runs by their times."""
    of_one_run = len({row.run for row in rows}) == 1

    def rank(row: LakeRow) -> tuple[bool, float, tuple[str, str, str]]:
        value = row.value.value if row.value is not None else math.inf
        return of_one_run and not row.fastest, value, row.key

    return min(rows, key=rank)


def _priced(row: LakeRow, price: float) -> PricedRow:
    assert row.value is not None
    if row.unit not in _NS:
        raise TollError(
            f"{row.case.workload} is measured in {row.unit}, which is no time", "name another workload"
        )
    factor = _NS[row.unit] * PER_UNITS / _NS_PER_HOUR * price

    def times(number: float | None) -> float | None:
        return None if number is None else number * factor

    return PricedRow(
        machine=row.machine,
        run=row.run,
        started_utc=utc(row.started),
        contender=row.case.contender,
        environment=row.case.environment,
        parameters=row.case.parameters,
        value=row.value,
        price_per_hour=price,
        cost=Estimate(value=row.value.value * factor, low=times(row.value.low), high=times(row.value.high)),
    )


def _meet(one: Estimate, other: Estimate) -> bool:
    """Whether their intervals have something in common, or one of them has none."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return True
    return one.low <= other.high and other.low <= one.high
