"""Who explains what is compared, for `toll why` and `toll compare --why`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tollbench.cli.comparing_sides import ComparisonRequest
from tollbench.cli.console import say
from tollbench.compare import Comparison, Comparisons, Subject, Verdict, revisions
from tollbench.compare.adapters import adapters
from tollbench.compare.counting_sides import counter_for
from tollbench.compare.explaining import Explainer
from tollbench.compare.explanations import Explanation
from tollbench.compare.profiling import Explained
from tollbench.compare.source_diffs import FileHunk
from tollbench.compare.subject import LookAtCode, Standing, Two
from tollbench.compare.twos import standings_of
from tollbench.errors import TollError
from tollbench.home import cache_folder
from tollbench.launching.failure import Interrupted, LaunchFailed, lacking_room
from tollbench.report.comparisons.comparison_lines import change

MOST_EXPLAINED = 5  # rows of a comparison
_AS_COMMAND = (
    "with --kind command both sides are explained as whole processes: say in their arguments, or in their"
    " source, how many iterations they make"
)
_AS_COMMANDS = {
    # Valgrind 3.19 ends at the signals by which Go's scheduler interrupts itself.
    "go-test": "as whole processes both can be explained: GODEBUG=asyncpreemptoff=1 GOMAXPROCS=1"
    " toll why --kind command './old.test -test.run=NONE -test.bench=NAME -test.benchtime=1000x'"
    " './new.test ...'",
}


def explainer_for(
    subject: Subject,
    standings: Mapping[tuple[str, Two], Standing],
    hunks: Mapping[Two, Sequence[FileHunk]],
) -> Explainer:
    """Raises TollError for a kind of side that cannot be explained, LaunchFailed where nothing can be."""
    counter = counter_for(subject, cache_folder())
    if not isinstance(counter, Explained):
        known = adapters().get(subject.kind)
        raise TollError(
            f"single benchmarks of {known.name if known else subject.kind} cannot be explained",
            _AS_COMMANDS.get(subject.kind, _AS_COMMAND),
        )
    return Explainer(counter, subject.labels, lambda name, two: standings.get((name, two)), hunks)


def hunks_of(request: ComparisonRequest, wanted: Iterable[Two]) -> dict[Two, list[FileHunk]]:
    """What a revision changed against another; nothing where the sides are none."""
    if not request.build:
        return {}
    here = Path.cwd()
    found = revisions.revisions(here, request.sides)
    return {two: revisions.difference(here, found[two.a], found[two.b]) for two in wanted}


def with_reasons(
    found: Comparisons, subject: Subject, look_at_code: LookAtCode | None, request: ComparisonRequest
) -> Comparisons:
    """What was found, with explanations of rows that differ by more than the threshold, the worst first."""
    rows = [item for item in found.comparisons if _beyond(item, found.threshold)]
    rows = sorted(rows, key=lambda item: -abs(math.log(item.ratio or 1.0)))[:MOST_EXPLAINED]
    if not rows or found.interrupted:
        return found
    say(f"explaining {', '.join(item.benchmark for item in rows)}")
    made: list[Explanation] = []
    interrupted, no_room = False, ""
    try:
        standings = standings_of(_to_look_at(found, subject), subject.labels, look_at_code)
        hunks = hunks_of(request, {_two(item, subject) for item in rows})
        explainer = explainer_for(subject, standings, hunks)
        for item in rows:
            each = explainer.explain(item.benchmark, _two(item, subject))
            made.append(each.model_copy(update={"sentence": f"time {change(item.ratio)}; {each.sentence}"}))
    except LaunchFailed as failure:
        made = [_refused(item, failure.reason) for item in rows]
    except TollError as refusal:
        made = [_refused(item, f"{refusal.what}; {refusal.next_step}") for item in rows]
    except Interrupted as ended:
        interrupted, no_room = True, lacking_room(ended)
    return found.model_copy(update={"why": tuple(made), "interrupted": interrupted, "no_room": no_room})


def _to_look_at(found: Comparisons, subject: Subject) -> dict[str, list[Two]]:
    """All rows that both sides ran: what only other benchmarks execute is known by their runs.

    A side that was not built has no code, and the row that stands for all its benchmarks is none of them.
    """
    wanted: dict[str, list[Two]] = {}
    for item in found.comparisons:
        if item.verdict is not Verdict.FAILED:
            wanted.setdefault(item.benchmark, []).append(_two(item, subject))
    return wanted


def _two(item: Comparison, subject: Subject) -> Two:
    return Two(subject.labels.index(item.a), subject.labels.index(item.b))


def _beyond(item: Comparison, threshold: float) -> bool:
    if item.verdict not in (Verdict.SLOWER, Verdict.FASTER) or item.ratio is None:
        return False
    return abs(math.log(item.ratio)) > math.log1p(threshold)


def _refused(item: Comparison, reason: str) -> Explanation:
    return Explanation(
        benchmark=item.benchmark, a=item.a, b=item.b, per="", sentence=f"not explained: {reason}", failed=True
    )
