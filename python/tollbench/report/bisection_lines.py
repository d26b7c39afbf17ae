"""What `toll bisect` found, as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from tollbench import numbers
from tollbench.compare.verdicts import Comparison
from tollbench.history.bisections import Between, BisectionOutcome, FoundChange, SearchEnd
from tollbench.history.commit_range import Commit
from tollbench.text import clean, enumerated, several

_MOST_NAMED = 8
_EXPLAINED = 0.02  # of the change: as much elsewhere is not told


def lines(outcome: BisectionOutcome) -> list[str]:
    """The answer first, then what it rests on."""
    of_end = {
        SearchEnd.FOUND: _found,
        SearchEnd.NO_CHANGE: _no_change,
        SearchEnd.UNDECIDED: _undecided,
        SearchEnd.INTERRUPTED: _undecided,
    }
    answer = _several if outcome.searches else of_end[outcome.end]
    return [
        *answer(outcome),
        *_others(outcome.changes, exact=outcome.by_counts),
        *_lacking(outcome),
        *_left_out(outcome),
        _cost(outcome),
        *_raw(outcome),
    ]


def _found(outcome: BisectionOutcome) -> list[str]:
    told = []
    for number, (found, commits) in enumerate(zip(outcome.printed.found, outcome.suspects, strict=True)):
        told += _one(found, commits, outcome)
        told += [f"  why: {clean(command)}" for command in outcome.why[number : number + 1] if command]
    return [*told, *_explained(outcome)]


def _several(outcome: BisectionOutcome) -> list[str]:
    """Of searches in parts of the row: what was found, then what is open, then that there is nothing else."""
    told = [line for part in outcome.searches if part.end is SearchEnd.FOUND for line in _found(part)]
    if not told:
        told = [f"Undecided: {clean(outcome.reason)}."]
    elif outcome.end is SearchEnd.FOUND and outcome.reason:
        told.append(f"Nothing else: {clean(outcome.reason)}.")
    for part in outcome.searches:
        if part.end in (SearchEnd.UNDECIDED, SearchEnd.INTERRUPTED) and part.ends is not None:
            good, bad = part.ends
            told.append(f"Open, from {good.short} to {bad.short} ({several(part.commits, 'commit')}):")
            told += [f"  {line}" for line in _undecided(part)]
    return told


def _explained(outcome: BisectionOutcome) -> list[str]:
    """How much of the change from GOOD to BAD was found, where that is not all."""
    if outcome.explained is None or abs(outcome.explained - 1.0) < _EXPLAINED:
        return []
    whole = f"{_executes(outcome.changes[0])} from GOOD to BAD"
    share = numbers.percent(outcome.explained, 3, most_decimals=0)
    return [f"That is {share} of the whole: {clean(outcome.changes[0].benchmark)} {whole}."]


def _one(found: FoundChange, commits: Sequence[Commit], outcome: BisectionOutcome) -> list[str]:
    if outcome.by_counts:
        of = "One of these commits, of which only the last can be counted:"
        told = [_named(commits[0])] if len(commits) == 1 else [of, *_some(commits)]
        return [*told, f"  {clean(found.benchmark)} {_executes(found)} since then; counted, not timed"]
    chance = chance_of(found.probability or 0.0)
    if len(commits) == 1:
        since = _since(found, "then", outcome)
        change = f"{clean(found.benchmark)} {_changed(found)} {since}; probability {chance}"
        return [f"{_named(commits[0])}", f"  {change}"]
    return [
        f"One of {len(commits)} commits, of which only the last can be measured:",
        *_some(commits),
        f"  {clean(found.benchmark)} {_changed(found)} {_since(found, 'these', outcome)};"
        f" probability of all together {chance}",
    ]


def chance_of(probability: float) -> str:
    """Never certain: it is that of a change which the first comparison may have erred on."""
    return "above 99.9 %" if probability > 0.999 else numbers.percent(probability, 3, most_decimals=1)


def _since(found: FoundChange, then: str, outcome: BisectionOutcome) -> str:
    """Which two it was measured between."""
    if found.between is Between.COMMITS:
        return f"since {then}"
    return f"{_whole_way(outcome)} (in the time left it was not told apart from the one before it)"


def _whole_way(outcome: BisectionOutcome) -> str:
    """From one end of what was searched to the other, which in a part are not those of the command line."""
    if outcome.ends is None or not outcome.part:
        return "from GOOD to BAD"
    return f"from {outcome.ends[0].short} to {outcome.ends[1].short}"


def _no_change(outcome: BisectionOutcome) -> list[str]:
    return [f"No change: {clean(outcome.reason)}."]


def _undecided(outcome: BisectionOutcome) -> list[str]:
    told = [f"Undecided: {clean(outcome.reason)}."]
    if not outcome.suspects:
        return told
    count = sum(map(len, outcome.suspects))
    chance = chance_of(sum(found.probability or 0.0 for found in outcome.printed.found))
    change = outcome.printed.found[0]
    how = _executes if outcome.by_counts else _changed
    whole = how(outcome.changes[0] if outcome.changes else change)
    if outcome.by_counts:
        told.append(f"{clean(change.benchmark)} {whole} from GOOD to BAD. Known so far, or likely:")
    else:
        if any(found.probability is None for found in outcome.printed.found):
            return [
                *told,
                f"{clean(change.benchmark)} {whole} {_whole_way(outcome)}:",
                *_some(outcome.suspects[0]),
            ]
        told.append(
            f"{clean(change.benchmark)} {whole} {_whole_way(outcome)}. With a probability of {chance} it"
            f" came with {'this commit' if count == 1 else f'one of these {count} commits'}:"
        )
    for found, commits in zip(outcome.printed.found, outcome.suspects, strict=True):
        own = _executes(found) if outcome.by_counts else chance_of(found.probability or 0.0)
        if len(commits) == 1:
            told.append(f"  {_named(commits[0])} ({own})")
        else:
            told.append(f"  {several(len(commits), 'commit')}, {own}:")
            told += _some(commits)
    return told


def _named(commit: Commit) -> str:
    """Author and subject were made harmless where they were read."""
    return f"{commit.short} by {commit.author}: {commit.subject}"


def _some(commits: Sequence[Commit]) -> list[str]:
    """The first and the last ones of many."""
    if len(commits) <= _MOST_NAMED:
        return [f"  {_named(commit)}" for commit in commits]
    half = _MOST_NAMED // 2
    between = f"  ... {len(commits) - 2 * half:,} more"
    ends = (*commits[:half], *commits[-half:])
    shown = [f"  {_named(commit)}" for commit in ends]
    return [*shown[:half], between, *shown[half:]]


def _changed(change: FoundChange | Comparison) -> str:
    """ "is slower by 1.9 % to 2.4 %"."""
    if change.ratio is None:
        return "has changed"
    word = "slower" if change.ratio > 1.0 else "faster"
    if change.low is None or change.high is None:
        return f"is {word} by about {numbers.difference(abs(change.ratio - 1.0))}"
    ends = sorted((change.low - 1.0, change.high - 1.0), key=abs)
    if ends[0] * ends[1] < 0.0:
        span = f"({numbers.difference(change.low - 1.0)} to {numbers.difference(change.high - 1.0)})"
        return f"is {word} by about {numbers.difference(abs(change.ratio - 1.0))} {span}"
    least, most = (numbers.difference(abs(end)) for end in ends)
    return f"is {word} by {least} to {most}"


def _executes(change: FoundChange | Comparison) -> str:
    """ "executes 4.2 % more instructions"."""
    ratio = change.ratio or 1.0
    return (
        f"executes {numbers.difference(abs(ratio - 1.0))} {'more' if ratio > 1.0 else 'fewer'} instructions"
    )


def _others(changes: Sequence[Comparison], *, exact: bool) -> list[str]:
    """What else changed between GOOD and BAD."""
    others = changes[1:]
    if not others:
        return []
    how = _executes if exact else _changed
    told = [f"{clean(row.benchmark)} {how(row)}" for row in others[:_MOST_NAMED]]
    more = f"; {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    return [f"Changed too, and not searched (--filter chooses): {'; '.join(told)}{more}."]


def _lacking(outcome: BisectionOutcome) -> list[str]:
    """What GOOD or BAD does not have."""
    told = [f"{clean(row.benchmark)} is not in {enumerated(row.missing_in)}" for row in outcome.lacking]
    if not told:
        return []
    more = f"; {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    return [f"Not compared: {'; '.join(told[:_MOST_NAMED])}{more}."]


def _left_out(outcome: BisectionOutcome) -> list[str]:
    if not outcome.left_out:
        return []
    reasons = [clean(step.reason) for step in outcome.left_out[:2]]
    more = f"; and {len(outcome.left_out) - 2} more" if len(outcome.left_out) > 2 else ""
    return [f"Left out, as they could not be measured: {'; '.join(reasons)}{more}."]


def _cost(outcome: BisectionOutcome) -> str:
    looked = len({step.commit for step in outcome.path if step.rounds})
    parts = [
        f"{several(outcome.launches, 'launch', 'launches')}",
        f"{looked:,} of {several(outcome.commits, 'commit')} measured beside GOOD and BAD",
        numbers.duration(outcome.seconds),
    ]
    return f"{enumerated(parts[:2])}, in {parts[2]}." + "".join(f" {note}" for note in outcome.notes)


def _raw(outcome: BisectionOutcome) -> list[str]:
    if not outcome.raw:
        return []
    more = "; the same command with --resume and this file goes on" if outcome.goes_on else ""
    return [f"Every launch: {clean(outcome.raw)}{more}"]
