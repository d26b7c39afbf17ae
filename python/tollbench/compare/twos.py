"""Which sides are held against each other: the first with every other one, or in all pairs all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from tollbench.compare.subject import LookAtCode, Standing, Survey, Two
from tollbench.launching.failure import LaunchFailed

MOST_SIDES = 40  # of which all pairs are compared: 780 rows a benchmark
MOST_ROWS = 20_000  # of a table of all pairs


def sides_compared(
    survey: Survey, labels: Sequence[str], *, all_pairs: bool, only: Sequence[str] | None = None
) -> dict[str, list[int]]:
    """By benchmark (of `only`, where there are some) the sides to judge, as a raw file has them.

    Those that are compared with the first; of all pairs all that have it, also where the first is without.
    Raises LaunchFailed where these are more rows than a table has.
    """
    names = [*survey.common, *(_elsewhere(survey, labels) if all_pairs else ())]
    found = {
        name: [
            side
            for side, label in enumerate(labels)
            if (side or all_pairs)
            and side not in survey.unusable
            and label not in survey.missing.get(name, ())
        ]
        for name in names
        if only is None or name in only
    }
    if all_pairs and (rows := rows_of(found)) > MOST_ROWS:
        most = f"a table has {MOST_ROWS:,} at most: choose some with --filter"
        raise LaunchFailed(f"{len(found):,} benchmarks in all pairs of sides are {rows:,} rows; {most}")
    return found


def rows_of(sides_of: Mapping[str, Sequence[int]]) -> int:
    """How many pairs these sides make, all benchmarks together."""
    return sum(len(sides) * (len(sides) - 1) // 2 for sides in sides_of.values())


def _elsewhere(survey: Survey, labels: Sequence[str]) -> list[str]:
    """Benchmarks that the first side lacks, or shares with nobody, and two others have."""
    common = set(survey.common)
    return [
        name
        for name, lacking in survey.missing.items()
        if name not in common and len(labels) - len(survey.unusable) - len(lacking) > 1
    ]


def twos(sides: Sequence[int], *, all_pairs: bool) -> list[Two]:
    """Of sides as `sides_compared` has them; in all pairs the side that was named first is a."""
    if all_pairs:
        return [Two(*both) for both in combinations(sorted(sides), 2)]
    return [Two(0, side) for side in sides]


def every_two(sides: int, *, all_pairs: bool) -> list[Two]:
    """The same of so many sides, whatever they have."""
    return twos(range(0 if all_pairs else 1, sides), all_pairs=all_pairs)


def twos_of(sides_of: Mapping[str, Sequence[int]], *, all_pairs: bool) -> dict[str, list[Two]]:
    """The same for every benchmark."""
    return {name: twos(sides, all_pairs=all_pairs) for name, sides in sides_of.items()}


def left_out(unusable: Mapping[int, str], sides: int) -> dict[Two, str]:
    """Any two sides of which one could not be asked, with the reason."""
    return {
        two: unusable[two.a] if two.a in unusable else unusable[two.b]
        for two in (every_two(sides, all_pairs=True) if unusable else ())
        if two.a in unusable or two.b in unusable
    }


def standings_of(
    wanted: Mapping[str, Iterable[Two]], labels: Sequence[str], look_at_code: LookAtCode | None
) -> dict[tuple[str, Two], Standing]:
    """What is known of the code of two sides; nothing where nobody looks. Raises Interrupted.

    One looks at the first side and another. What both of two others have in common with the first they have
    in common; of two that differ from it, or may, nothing follows.
    """
    if look_at_code is None:
        return {}
    with_first = {name: [two.b for two in each if two.a == 0] for name, each in wanted.items()}
    with_first = {name: sides for name, sides in with_first.items() if sides}
    known = look_at_code(with_first) if with_first else {}
    found = {(name, Two(0, side)): standing for (name, side), standing in known.items()}
    for name, each in wanted.items():
        for two in each:
            standing = _by_the_first(known.get((name, two.a)), known.get((name, two.b)), labels[0])
            if two.a and standing is not None:
                found[name, two] = standing
    return found


def _by_the_first(a: Standing | None, b: Standing | None, first: str) -> Standing | None:
    if a is None or b is None:
        return None
    if a.unchanged:
        return b
    return a if b.unchanged else Standing(False, f"the code was not compared: only that of {first} was")
