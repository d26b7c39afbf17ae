"""`toll compare --count`: what is counted, what it may not do, and who counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tollbench.catalog.environments.probing import cache_folder
from tollbench.cli.console import progress, say
from tollbench.cli.places import ROOT
from tollbench.compare import Comparisons, Subject
from tollbench.compare.adapters import adapters
from tollbench.compare.count_rules import Rule, rule
from tollbench.compare.counters import counter_for
from tollbench.compare.counts import METRICS, Counts, failed, notes
from tollbench.compare.subject import Keep
from tollbench.compare.verdicts import Comparison, Verdict
from tollbench.errors import TollError
from tollbench.launching.failure import Interrupted, LaunchFailed

_EXAMPLE = "for example: --count instructions,allocations --fail-on 'instructions>+1%'"


@dataclass(frozen=True, slots=True)
class CountRequest:
    """What the command line asked for."""

    metrics: frozenset[str]
    only: bool  # nothing is timed
    rules: tuple[Rule, ...] = ()


def count_request(count: str, *, only: bool, fail_on: Sequence[str]) -> CountRequest | None:
    """None where nothing is to be counted. Raises TollError for what makes no sense."""
    rules = tuple(map(_rule, fail_on))
    metrics = {word.strip() for word in count.split(",") if word.strip()}
    if unknown := sorted(metrics - set(METRICS)):
        raise TollError(
            f"--count {unknown[0]}: nothing of that name is counted", f"one of {', '.join(METRICS)}"
        )
    metrics |= {each.metric for each in rules}
    if only and not metrics:
        metrics = set(METRICS)
    return CountRequest(frozenset(metrics), only, rules) if metrics else None


def _rule(text: str) -> Rule:
    try:
        found = rule(text)
    except ValueError as problem:
        raise TollError(f"--fail-on {text!r} {problem}", _EXAMPLE) from None
    if found.metric not in METRICS:
        raise TollError(f"--fail-on {text!r}: {found.metric} is not counted", f"one of {', '.join(METRICS)}")
    return found


def counted(found: Comparisons, subject: Subject, asked: CountRequest, keep: Keep) -> Comparisons:
    """What was found, with counts. An interrupt leaves the rows that it comes before without."""
    rows = [item for item in found.comparisons if item.verdict is not Verdict.FAILED]
    done: dict[tuple[str, str], Comparison] = {}
    interrupted = found.interrupted
    try:
        counter = counter_for(subject, ROOT / "src", cache_folder())
    except LaunchFailed as failure:
        done = _all_failed(rows, asked, failure.reason)
    else:
        if counter is None:
            known = adapters().get(subject.kind)
            done = _all_failed(rows, asked, f"is not counted yet: {known.name if known else subject.kind}")
        elif not interrupted:
            say(f"counting {', '.join(metric for metric in METRICS if metric in asked.metrics)}")
            with progress("counting") as bar:

                def tell(name: str) -> None:
                    bar.step(len(done), len(rows), name, None)

                counts = Counts(subject.labels, counter, asked.metrics, found.level, asked.rules, keep, tell)
                try:
                    for item in counts.added(rows):
                        done[item.benchmark, item.b] = item
                except Interrupted:
                    interrupted = True
    with_counts = tuple(done.get((item.benchmark, item.b), item) for item in found.comparisons)
    return found.model_copy(
        update={
            "comparisons": with_counts,
            "interrupted": interrupted,
            "fail_on": tuple(each.text for each in asked.rules),
            "count_notes": notes(asked.metrics),
        }
    )


def _all_failed(
    rows: Sequence[Comparison], asked: CountRequest, reason: str
) -> dict[tuple[str, str], Comparison]:
    counts = tuple(failed(metric, reason) for metric in METRICS if metric in asked.metrics)
    return {(item.benchmark, item.b): item.model_copy(update={"counts": counts}) for item in rows}
