"""What `toll run` says of its own future: before it measures, and while it does."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from statistics import median

from tollbench import numbers
from tollbench.measure.events import Expected, Shortage, TimePlanned
from tollbench.plan import Settings
from tollbench.text import several

_WIDTH = 100  # columns of a paragraph
_EACH = (
    4  # workloads that are all named; of more, the middle and the worst known one, unless all is asked for
)
_TO_SPARE = 1.25  # times what a forecast says, for a budget that shall be enough


def sentences(plan: TimePlanned, settings: Settings, *, each: bool, asked: bool) -> list[str]:
    """Paragraphs of few lines. `each`: name every workload; `asked`: somebody asked for a precision."""
    told = []
    if plan.short is not None:
        told.append(_what_is_short(plan, plan.short, settings))
    if plan.short is None or any(one.half_width is not None for one in plan.workloads):
        told.append(_what_the_time_buys(plan, each=each))
    if asked and plan.needed_s is not None:
        told.append(_what_precision_takes(plan.needed_s, settings))
    return [_filled(text) for text in told]


def _what_is_short(plan: TimePlanned, short: Shortage, settings: Settings) -> str:
    """Before measuring: what all of it would take, what is done instead, and which budget is enough."""
    left = max(0.0, plan.left_s)
    told = (
        f"the budget of {settings.budget_s:g} s is too small for all of this: after the pilots {left:.0f} s"
        f" are left, one launch of each takes about {numbers.duration(short.round_s)}, and intervals want"
        f" {several(short.rounds, 'launch', 'launches')} of each"
    )
    fits = "what fits is measured, the headline first, with fewer intervals"
    if short.waiting:
        fits = f"{several(short.waiting, 'case')} will have few launches, so that others have intervals"
    if short.without_turn:
        fits = f"{several(short.without_turn, 'case')} will have no turn; {fits}"
    return f"{told}; {fits}. {budget_option(short.needed_s)} is about what all of it takes"


def budget_option(seconds: float) -> str:
    """ "--budget 85s", "--budget 3m": as the command reads it, rounded up."""
    if seconds <= 120.0:
        return f"--budget {5 * math.ceil(seconds / 5.0)}s"
    return f"--budget {math.ceil(seconds / 60.0)}m"


def _what_the_time_buys(plan: TimePlanned, *, each: bool) -> str:
    known = sorted((one.half_width, one.workload) for one in plan.workloads if one.half_width is not None)
    time = "what is left to measure" if math.isinf(plan.left_s) else f"the next {plan.left_s:.0f} s"
    if not known:
        return f"no ratio will be known after {time}" if plan.after else f"{time} will hardly tell a ratio"
    names = [f"{workload} ±{numbers.percent(width)}" for width, workload in known]
    if not each and len(known) > _EACH:
        middle = numbers.percent(median(width for width, _ in known))
        names = [f"half of {len(names)} workloads within ±{middle}", f"the widest {names[-1]}"]
    listed = ", ".join(names)
    unknown = [one.workload for one in plan.workloads if one.half_width is None]
    rest = ""
    if unknown and (each or len(plan.workloads) <= _EACH):
        rest = f"; no ratios: {', '.join(unknown)}"
    elif unknown:
        rest = f"; no ratios of {several(len(unknown), 'workload')}"
    if plan.after:
        return f"expected of {time}, each workload's median ratio: {listed}{rest}"
    return f"a guess beforehand: {time} buy {_rounds(plan.workloads)}; median ratios about {listed}{rest}"


def _rounds(workloads: Sequence[Expected]) -> str:
    counts = [one.rounds for one in workloads]
    if min(counts) == max(counts):
        return f"about {counts[0]} rounds"
    return f"about {min(counts)} to {max(counts)} rounds each"


def _what_precision_takes(needed_s: float, settings: Settings) -> str:
    asked = f"{100.0 * settings.precision:.10g}%"  # as it is typed
    if math.isinf(needed_s):
        more = "--profile thorough" if settings.profile != "thorough" else "ask for less"
        return (
            f"--precision {asked} takes more than {settings.max_launches} launches of a case,"
            f" the most that this profile makes: {more}"
        )
    time = rough(needed_s)
    if not settings.budget_s or needed_s <= settings.budget_s:
        return f"--precision {asked} takes about {time} in all"
    return (
        f"--precision {asked} takes about {time} in all; the budget of {settings.budget_s:g} s ends before:"
        f" {budget_option(_TO_SPARE * needed_s)}"
    )


def rough(seconds: float) -> str:
    """ "45 s", "4 min", "1 h 30 min": no finer than a forecast is."""
    if seconds < 90.0:
        return f"{max(5, 5 * round(seconds / 5.0))} s"
    minutes = round(seconds / 60.0)
    if minutes < 90:
        return f"{minutes} min"
    hours, rest = divmod(10 * round(minutes / 10.0), 60)
    return f"{hours} h {rest:02d} min" if rest else f"{hours} h"


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
