"""Which function comes first, and the sentence above them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tollbench import numbers
from tollbench.compare.counters import ITERATION, PROCESS, threads_of
from tollbench.compare.explanations import Amounts, FunctionChange
from tollbench.counting.call_graphs import Function
from tollbench.counting.demangling import short

EQUAL = 0.0005  # of the instructions: less is no change, such as a search that an address decides
EQUAL_OF_THREADS = 0.02  # they meet at another moment in each launch
MOST_FUNCTIONS = 12
_LEAST_SHARE = 0.005
_LONGEST_NAME = 60  # in a sentence, with arguments of templates
_ARGUMENTS = re.compile(r"<[^<>]*>")
_MORE_MISSES = 0.02  # of the estimated cycles
# An instruction; a branch that was predicted wrongly, or a miss of the first level; a miss of the last: the
# estimate of KCachegrind's manual ("Cycle Estimation").
_CYCLES = (
    {"Ir": 1.0}
    | dict.fromkeys(("Bcm", "Bim", "I1mr", "D1mr", "D1mw"), 10.0)
    | dict.fromkeys(("ILmr", "DLmr", "DLmw"), 100.0)
)
_OF_UNCHANGED = 0.5  # how much of what unchanged functions gain speaks against a changed one
_AROUND = 0.5  # of that, against one that runs before the loop alone


@dataclass(frozen=True, slots=True)
class Suspect:
    """A function, and what is known of it."""

    function: Function
    instructions: float  # its doing
    cycles: float  # its doing, estimated
    own: Amounts
    changed: bool | None
    in_loop: bool


def cycles(cost: Mapping[str, float]) -> float:
    """An estimate, from counts by callgrind's names."""
    return sum(weight * cost.get(event, 0.0) for event, weight in _CYCLES.items())


def equal(name: str, amounts: Amounts) -> bool:
    """Whether the instructions of the benchmark called `name` leave nothing to explain."""
    least = EQUAL if threads_of(name) == 1 else EQUAL_OF_THREADS
    return abs(amounts.more) <= least * max(amounts.a, amounts.b)


def ranked(suspects: Sequence[Suspect], total: Amounts, *, same: bool) -> list[Suspect]:
    """The likeliest first.

    A function counts by its share of the change. What functions with unchanged code gain, was brought about
    by others: by data, or by what they are called with. So a changed function counts with a part of that as
    well, even where it became cheaper itself, as a hash function may that makes others collide. `same`: the
    number of instructions is no difference, and estimated cycles stand for it.
    """
    if same:
        scale = sum(abs(each.cycles) for each in suspects) or 1.0
        shares = {each.function: abs(each.cycles) / scale for each in suspects}
    else:
        shares = {each.function: each.instructions / total.more for each in suspects}
    unexplained = sum(max(0.0, shares[each.function]) for each in suspects if not each.changed)
    of_others = _OF_UNCHANGED * (1.0 if same else min(1.0, unexplained))

    def score(each: Suspect) -> float:
        weight = max(each.own.a, each.own.b) / max(total.a, total.b, 1.0)
        more = of_others * (1.0 if each.in_loop else _AROUND) if each.changed else 0.0
        return shares[each.function] + more + 0.1 * more * weight

    def matters(each: Suspect) -> bool:
        gained = abs(each.own.more) > _LEAST_SHARE * abs(total.more) and not same
        return bool(each.changed) or gained or (abs(shares[each.function]) > _LEAST_SHARE and not same)

    ordered = sorted(
        (each for each in suspects if matters(each)), key=lambda each: (-score(each), each.function)
    )
    return ordered[:MOST_FUNCTIONS]


def sentence(
    name: str,
    per: str,
    totals: Mapping[str, Amounts],
    functions: Sequence[FunctionChange],
    *,
    unchanged: bool | None,
    code: str,
) -> str:
    """What is known, most important first; `code` is what the proof says."""
    told = totals["instructions"]
    an = "an iteration" if per == ITERATION else f"a {per}"
    if equal(name, told):
        parts = [
            f"instructions equal ({_number(told.b)} {an})",
            *_without_instructions(totals, functions, per, unchanged=unchanged, code=code),
        ]
    else:
        parts = [
            f"instructions {_change(told)} ({_number(told.a)} to {_number(told.b)} {an})",
            *_where(functions, code),
        ]
    calls = totals["system_calls"]
    if abs(calls.more) > 0.01:
        parts.append(
            f"system calls {_number(calls.a)} to {_number(calls.b)}: what it waits there is in no count"
        )
    if threads_of(name) > 1:
        parts.append(
            "threads run one after the other under Valgrind: waiting for locks and shared cache lines show in"
            " no count"
        )
    return "; ".join(parts)


def _where(functions: Sequence[FunctionChange], code: str) -> list[str]:
    if not functions:
        return []
    first = functions[0]
    parts = []
    if first.share is not None and first.share > 0:
        share = min(first.share, 1.0)
        parts.append(f"{numbers.percent(share)} of it in {first.called}, {_state(first)}")
    if not first.changed:
        changed = [each for each in functions if each.changed][:2]
        if changed:
            parts.append("changed: " + ", ".join(f"{each.called} ({each.code})" for each in changed))
        elif code:
            parts.append(code)
    return parts


def _state(function: FunctionChange) -> str:
    if function.changed is None:
        return "of which nobody knows whether it changed"
    return f"which changed ({function.code})" if function.changed else "whose own code is unchanged"


def _without_instructions(
    totals: Mapping[str, Amounts],
    functions: Sequence[FunctionChange],
    per: str,
    *,
    unchanged: bool | None,
    code: str,
) -> list[str]:
    if unchanged:
        return ["code unchanged: a difference in time is layout or the machine"]
    parts = []
    for metric, word, weight in (
        ("data_misses", "data misses of the first level", 10.0),
        ("memory_misses", "misses of the last level", 100.0),
        ("mispredicted", "mispredicted branches", 10.0),
    ):
        misses = totals[metric]
        if abs(misses.more) * weight > _MORE_MISSES * totals["instructions"].b:
            parts.append(f"but {word} {_number(misses.a)} to {_number(misses.b)} (simulated)")
    changed = [each for each in functions if each.changed][:3]
    if changed:
        parts.append("code changed: " + ", ".join(f"{each.called} ({each.code})" for each in changed))
    else:
        if not parts:
            where = "in its loop" if per == ITERATION else "among those that it ran"
            parts.append(f"no changed function was found {where}")
        if code:
            parts.append(code)
    if per == PROCESS:
        parts.append("what it waits for is in no count")
    return parts


def called(function: str) -> str:
    """A function as a sentence names it: without its parameters, and long lists of a template's arguments."""
    name = short(function)
    if len(name) > _LONGEST_NAME:
        while (closed := _ARGUMENTS.sub("\0", name)) != name:  # of templates, the innermost first
            name = closed
        name = name.replace("\0", "<...>")
    return name if name.endswith("operator()") or name.startswith("0x") else f"{name}()"


def _change(amounts: Amounts) -> str:
    sign = "+" if amounts.more > 0 else "−"
    return f"{sign}{numbers.percent(abs(amounts.more) / amounts.a)}" if amounts.a else f"{sign}any amount"


def _number(value: float) -> str:
    return numbers.fixed(value, 0 if value.is_integer() or abs(value) >= 1000 else 2)
