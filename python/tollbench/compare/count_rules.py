"""Rules of `--fail-on`: what a count may not do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tollbench.compare.verdicts import Comparisons, CountChange, CountVerdict, Verdict

_NUMBER = r"\d{1,30}(?:\.\d{0,30})?|\.\d{1,30}"
_WRITTEN = re.compile(rf"\s*([a-z]+)\s*(>=|<=|>|<)\s*([+−-]?)\s*({_NUMBER})\s*(%?)\s*")


@dataclass(frozen=True, slots=True)
class Rule:
    """`instructions>+1%`: with a sign the limit is of the change to the first side, else of the count."""

    text: str
    metric: str
    over: bool  # ">": what lies above the limit breaks the rule
    or_equal: bool
    limit: Fraction  # a share where it is relative; 1.1 % of 1,000 is 11, which no float says
    is_change: bool
    relative: bool

    def broken_by(self, found: CountChange) -> bool:
        """Whether a count surely breaks it: of one that scatters, the whole interval has to."""
        if found.metric != self.metric or found.a is None or found.b is None:
            return False
        before, after = Fraction(found.a), Fraction(found.b)
        low = high = after - before
        if not found.exact:
            if found.low is None or found.high is None:
                return False
            low, high = Fraction(found.low), Fraction(found.high)
        if not self.is_change:
            low, high = before + low, before + high
        limit = self.limit * before if self.relative else self.limit
        value = low if self.over else high
        if self.or_equal and value == limit:
            return True
        return value > limit if self.over else value < limit


def rule(text: str) -> Rule:
    """Raises ValueError, with what is wrong, for what is no rule."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise ValueError("is not a rule")
    metric, operator, sign, number, percent = match.groups()
    if percent and not sign:
        raise ValueError("has a percentage without a sign: of what?")
    factor = Fraction(-1 if sign in ("-", "−") else 1, 100 if percent else 1)
    return Rule(
        text,
        metric,
        over=operator.startswith(">"),
        or_equal=operator.endswith("="),
        limit=Fraction(number) * factor,
        is_change=bool(sign),
        relative=bool(percent),
    )


def held_against(found: Sequence[CountChange], rules: Sequence[Rule]) -> tuple[CountChange, ...]:
    """Each count with the first rule that it breaks. What could not be counted breaks none: it has failed."""
    return tuple(
        item.model_copy(update={"fails": next((each.text for each in rules if each.broken_by(item)), "")})
        for item in found
    )


def unjudged(found: Comparisons) -> bool:
    """Whether a rule is about something that could not be counted, or nothing at all was.

    Of a table without rules whose rows are timed, what could not be counted changes nothing.
    """
    counts = found.all_counts()
    failed = [count for count in counts if count.verdict is CountVerdict.FAILED]
    asked = {rule(text).metric for text in found.fail_on}
    only = all(item.verdict is Verdict.COUNTED for item in found.comparisons)
    return any(count.metric in asked for count in failed) or (only and len(failed) == len(counts))
