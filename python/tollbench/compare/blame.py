"""Whose doing a change is: how much of it began in each function, and not in what it calls or is called by.

A call of f takes I(f) = s(f) + sum over g of k(f, g) I(g): what it takes itself, and for each g how many
calls of it. With means over both sides the difference of I(f) is that of s, plus the calls that were added
times what one takes, plus what each call takes more. Only the first two are f's own doing; the last is left
to g. Unrolled from the loop on, the parts add up to the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tollbench.counting.call_graphs import Body, CallGraph, Function, Part


@dataclass(frozen=True, slots=True)
class Doing:
    """Of one function, an iteration, by event."""

    function: Function
    amount: tuple[float, ...]


def doings(a: CallGraph, b: CallGraph) -> dict[Function, Doing]:
    """Of every function that either side runs, inlined ones by themselves."""
    found: dict[Function, list[float]] = {}
    events = len(a.events)
    inlined = a.inlined() | b.inlined()
    per_call = _per_call(a, b)
    for name in a.bodies.keys() & b.bodies.keys():
        one, other = a.bodies[name], b.bodies[name]
        if one.around != other.around:
            continue  # below
        entered = (one.entered + other.entered) / 2
        for inner in one.parts.keys() | other.parts.keys():
            left, right = one.parts.get(inner), other.parts.get(inner)
            own = _difference(_own(left, one, events), _own(right, other, events))
            _add(found, inner, own, entered)
            for callee in _callees(left) | _callees(right):
                more = _calls(right, callee) / other.entered - _calls(left, callee) / one.entered
                if callee not in per_call:
                    continue
                # A function that is inlined on one side only: calls that go and what stands there instead.
                moved = callee in inlined and not (callee in a.bodies and callee in b.bodies)
                _add(found, callee if moved else inner, per_call[callee], entered * more)
    for graph, of_the_other, sign in ((a, b, -1.0), (b, a, 1.0)):
        _around(found, graph, of_the_other, per_call, sign)
    return {name: Doing(name, tuple(amount)) for name, amount in found.items()}


def _around(
    found: dict[Function, list[float]],
    graph: CallGraph,
    other: CallGraph,
    per_call: Mapping[Function, Sequence[float]],
    sign: float,
) -> None:
    """What runs around the loop on one side only is nobody's call: all that it takes is its own doing.

    Where it is called on the other side, those calls are the doing of who makes them.
    """
    for name, body in graph.bodies.items():
        there = other.bodies.get(name)
        if not body.around or (there is not None and there.around):
            continue
        for inner, part in body.parts.items():
            _add(found, inner, part.own, sign)
            for callee, cost in part.calls.items():
                if callee in per_call:
                    _add(found, inner, per_call[callee], sign * cost[0])


def _per_call(a: CallGraph, b: CallGraph) -> Mapping[Function, Sequence[float]]:
    """What a call takes, the mean of the sides that make any."""
    found = {}
    for name in a.bodies.keys() | b.bodies.keys():
        bodies = [body for body in (a.bodies.get(name), b.bodies.get(name)) if body is not None]
        called = [body for body in bodies if not body.around]
        each = [[taken / body.entered for taken in body.taken] for body in called or bodies]
        found[name] = [sum(values) / len(values) for values in zip(*each, strict=True)]
    return found


def _own(part: Part | None, body: Body, events: int) -> list[float]:
    return [0.0] * events if part is None else [value / body.entered for value in part.own]


def _difference(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [b - a for a, b in zip(one, other, strict=True)]


def _callees(part: Part | None) -> set[Function]:
    return set() if part is None else set(part.calls)


def _calls(part: Part | None, callee: Function) -> float:
    return part.calls[callee][0] if part is not None and callee in part.calls else 0.0


def _add(into: dict[Function, list[float]], name: Function, amount: Sequence[float], times: float) -> None:
    known = into.setdefault(name, [0.0] * len(amount))
    for at, value in enumerate(amount):
        known[at] += times * value
