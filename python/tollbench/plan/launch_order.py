"""Random orders and layout seeds that follow from the run's seed alone: a resumed run draws the same."""

from __future__ import annotations

import random


def round_order(seed: int | str, round_number: int, count: int) -> list[int]:
    """Indices 0 .. count-1 in the random order of one round."""
    order = list(range(count))
    random.Random(f"order/{seed}/{round_number}").shuffle(order)
    return order


def code_layout(seed: int, round_number: int, layouts: int) -> int:
    """Which of its program's layouts a case has in round 1, 2, ...: each once before any comes again."""
    passes, place = divmod(round_number - 1, layouts)
    return 1 + round_order(f"code/{seed}", passes, layouts)[place]


def layout_seed(seed: int, purpose: str, round_number: int, case_key: str) -> int:
    """What varies the layout of one launch: below 2**31, so that any program can read it."""
    return random.Random(f"layout/{seed}/{purpose}/{round_number}/{case_key}").randrange(2**31)
