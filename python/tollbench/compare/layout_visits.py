"""Which layout a round launches: all of them equally often, in an order drawn anew for each pass."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence


class LayoutVisits:
    """Counts what has been measured, by benchmark. Both sides of a pair have the layout of one number.

    Layouts of one number are as alike as two revisions allow (`tollbench.linking`), so that what they do to
    time cancels in part.
    """

    def __init__(self, layouts: int) -> None:
        self._layouts = layouts
        self._visits: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self._to_reverse: dict[tuple[str, int], list[int]] = {}  # orders that had no opposite yet

    def draw(self, names: Sequence[str], rng: random.Random) -> int | None:
        """One that the benchmarks of this round have been launched in least; None: there are no layouts."""
        if not self._layouts:
            return None
        visits = [sum(self._visits[name][number] for name in names) for number in range(self._layouts)]
        return rng.choice([number for number, count in enumerate(visits) if count == min(visits)])

    def order(self, names: Sequence[str], number: int | None, drawn: list[int]) -> list[int]:
        """Of sides: every second visit of a layout reverses the one before, so that coming first cancels.

        Benchmarks that share a launch may have been launched apart before: the order that most of them lack.
        A side that failed since is in no order any more.
        """
        if number is None:
            return drawn
        lacking = [
            tuple(side for side in before if side in drawn)
            for name in names
            if set(drawn) <= set(before := self._to_reverse.get((name, number), []))
        ]
        if not lacking:
            return drawn
        (most, _), *_ = Counter(lacking).most_common(1)
        return list(most[::-1])

    def visited(self, name: str, number: int, order: list[int]) -> None:
        """A round of this benchmark gave values, in this order of its sides."""
        self._visits[name][number] += 1
        before = self._to_reverse.setdefault((name, number), list(order))
        if [side for side in before if side in order] == order[::-1]:
            del self._to_reverse[name, number]
