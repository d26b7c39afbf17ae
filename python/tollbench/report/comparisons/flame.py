"""A tree of calls as boxes: as wide as the second side's instructions, coloured by the change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tollbench import numbers
from tollbench.compare.explanations import FlameNode
from tollbench.report.comparisons.why_lines import number, signed
from tollbench.text import clean

MOST_ROWS = 24
_NARROWEST = 0.15  # per cent of the width: less cannot be seen
_LEAST_CHANGE = 0.005  # of the whole: less is drawn as equal


@dataclass(frozen=True, slots=True)
class FlameBox:
    """One function in one stack; percentages of the drawing's width."""

    row: int
    left: float
    width: float
    name: str
    title: str
    kind: str  # more, fewer, same
    strength: int  # of the colour, per cent


@dataclass(frozen=True, slots=True)
class Flame:
    """The whole drawing."""

    boxes: tuple[FlameBox, ...]
    rows: int
    gone: tuple[str, ...]  # what the second side does not run any more


def flame(root: FlameNode | None) -> Flame | None:
    """None where there is nothing to draw."""
    if root is None or root.b <= 0 or not root.below:
        return None
    boxes = tuple(_boxes(root, root, 0, 0.0))
    gone = tuple(f"{clean(each.name)} ({signed(-each.a)})" for each in _gone(root))
    return Flame(boxes, max(box.row for box in boxes) + 1, gone)


def _boxes(root: FlameNode, node: FlameNode, row: int, left: float) -> Iterator[FlameBox]:
    width = 100.0 * node.b / root.b
    if width < _NARROWEST or row >= MOST_ROWS:
        return
    more = node.b - node.a
    kind, strength = "same", 0
    if abs(more) > _LEAST_CHANGE * root.b:
        kind = "more" if more > 0 else "fewer"
        strength = round(20 + 60 * min(1.0, abs(more) / max(node.a, node.b)))
    share = numbers.percent(node.b / root.b)
    title = f"{clean(node.name)}: {number(node.a)} to {number(node.b)} ({signed(more)}), {share} of all"
    yield FlameBox(row, round(left, 3), round(width, 3), clean(node.name), title, kind, strength)
    for each in sorted(node.below, key=lambda each: -each.b):
        yield from _boxes(root, each, row + 1, left)
        left += 100.0 * each.b / root.b


def _gone(node: FlameNode) -> Iterator[FlameNode]:
    for each in node.below:
        if each.b <= 0:
            yield each
        else:
            yield from _gone(each)
