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

    def draw(self, names: Sequence[str], rng: random.Random) -> int | None:
        """One that the benchmarks of this round have been launched in least; None: there are no layouts."""
        if not self._layouts:
            return None
        visits = [sum(self._visits[name][number] for name in names) for number in range(self._layouts)]
        return rng.choice([number for number, count in enumerate(visits) if count == min(visits)])

    def visited(self, name: str, number: int) -> None:
        """A round of this benchmark gave values."""
        self._visits[name][number] += 1
