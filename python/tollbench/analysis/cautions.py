"""What a reader must know before trusting one workload's table: sentences that a report sets below it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Sequence

from tollbench import numbers
from tollbench.analysis.case_data import CaseData
from tollbench.analysis.comparison import SettingComparison
from tollbench.analysis.own_core import beside_others_all_the_same, shared_all_the_same
from tollbench.analysis.results import IMPRECISE, Row, about
from tollbench.analysis.spells import named, spells_told
from tollbench.home import COMMAND
from tollbench.stats import Interval, well_known
from tollbench.store import RunHeader
from tollbench.text import as_text
from tollbench.words import CODE_LAYOUTS, MOST_CODE_LAYOUTS, NOT_HALTED, Status

LAYOUT_WORTH_TELLING = 0.01  # standard deviation between layouts
SHARED_WORTH_TELLING = 0.05  # of the batches
# Of a row's batches, that are left out in one setting and count in others. Where nobody else was there it
# was up to 27 %, by what the machine does of its own.
APART_WORTH_TELLING = 1 / 3


def cautions(
    workload: str,
    comparisons: Sequence[SettingComparison],
    rows: Sequence[Row],
    swept: Sequence[str],
    header: RunHeader,
    following: Collection[int] = (),
) -> list[str]:
    """Each sentence is `about` the workload; `following` has positions of rows of which the runs test told.

    A check measures nothing: no word on its precision.
    """
    told = [] if header.profile == "check" else _imprecise(workload, comparisons, rows, header)
    unsteady = [
        f"{row.contender} ({min(counted):,.10g} to {max(counted):,.10g})"
        for row in rows
        if len(set(counted := row.memory.calls_in_passes)) > 1
    ]
    if unsteady:
        told.append(
            "Allocation calls an iteration differ from launch to launch, so they are no exact counts:"
            f" {named(unsteady)}."
        )
    told += [
        f"{row.contender}{_at(row, swept)}: {row.reason}"
        for row in rows
        if row.status == Status.OK and row.reason
    ]
    told += (
        _moved(rows)
        + _not_halted(rows)
        + _mixed(comparisons)
        + _shared(comparisons)
        + (_beside_others(comparisons) if header.profile != "check" else [])
        + spells_told(rows, following)
    )
    return [about(workload, sentence) for sentence in told]


def _moved(rows: Sequence[Row]) -> list[str]:
    """Rows whose value is a matter of where their code lies."""
    found = sorted(
        (row for row in rows if (row.layout_spread or 0.0) >= LAYOUT_WORTH_TELLING),
        key=lambda row: -(row.layout_spread or 0.0),
    )
    if not found:
        return []
    names = named([f"{row.contender} (±{numbers.percent(row.layout_spread or 0.0)})" for row in found])
    return [
        f"Where the linker puts its code moves {names}, by standard deviation from one layout to another."
        f" More launches do not narrow what that leaves open{_more_layouts(rows, '; more layouts do: ')}."
    ]


def _more_layouts(rows: Sequence[Row], before: str) -> str:
    """The option that brings them, where there can be more."""
    had = max((int(row.footing.get(CODE_LAYOUTS, 0)) for row in rows), default=0)
    return f"{before}`--layouts {MOST_CODE_LAYOUTS}`" if had < MOST_CODE_LAYOUTS else ""


def _not_halted(rows: Sequence[Row]) -> list[str]:
    """Rows that would have taken turns, had toll been allowed to halt them."""
    found = [row for row in rows if row.footing.get(NOT_HALTED)]
    if not found:
        return []
    names, reasons = named([row.contender for row in found]), {str(row.footing[NOT_HALTED]) for row in found}
    return [
        f"What works while nobody asks it had to be launched alone, before or after the others of its round"
        f" ({names}): it {', '.join(sorted(reasons))}. Ratios to such a row are of launches that follow each"
        " other, and scatter more than those of turns (of five locks by 1 to 4 % from launch to launch"
        " instead of 0.2 to 1.4 %). Let toll send SIGSTOP and SIGCONT to its programs."
    ]


def _mixed(comparisons: Sequence[SettingComparison]) -> list[str]:
    """Cases that were alone in some rounds and beside others in the rest.

    Another toll went on with the run, or those who took turns with them failed.
    """
    found = []
    for case in (case for comparison in comparisons for case in comparison.cases):
        beside = sum(launch.company > 0 for launch in case.launches)
        if 0 < beside < len(case.launches):
            found.append(f"{case.record.contender} ({beside} of {len(case.launches)})")
    if not found:
        return []
    return [
        f"Some launches took turns with others and some were alone (in turns: {named(found)}); a value is"
        " the median of both."
    ]


def _shared(comparisons: Sequence[SettingComparison]) -> list[str]:
    """Batches that a neighbour's work is in, where too few would be left without them."""
    cases = [case for comparison in comparisons for case in comparison.cases]
    share = shared_all_the_same(
        [case.by_round for case in cases], [case.record.environment for case in cases]
    )
    if share < SHARED_WORTH_TELLING:
        return []
    return [
        f"In {100 * share:.0f} % of the batches somebody else used the core too (its gauge was slow), too"
        " many to leave them out: all count, and values and ratios hold what a neighbour took."
    ]


def _beside_others(comparisons: Sequence[SettingComparison]) -> list[str]:
    """The same of tables whose programs have several threads, and whether some settings left such batches out
    and others did not."""
    shares = [beside_others_all_the_same([case.by_round for case in one.cases]) for one in comparisons]
    tables = sum(share >= SHARED_WORTH_TELLING for share in shares)
    told = []
    if tables:
        of_tables = f" of {tables} of the {len(shares)} settings" if len(shares) > 1 else ""
        told.append(
            f"In up to {100 * max(shares):.0f} % of the batches{of_tables} others were in the way, and too"
            " few rounds that say enough would be left without these: all count, and values and ratios hold"
            " what others took."
        )
    left_out = [max(map(_left_out_beside_others, one.cases), default=0.0) for one in comparisons]
    whole = sum(
        any(
            value.own_core is None and (not value.others.size or bool(value.others.any()))
            for case in one.cases
            for value in case.values
        )
        for one in comparisons
    )
    if whole and max(left_out) >= APART_WORTH_TELLING:
        told.append(
            "Batches that others were in the way of are left out in some settings, and all count in"
            f" {whole} of {len(left_out)}, which may hold what others took: compare rows within a setting."
        )
    return told


def _left_out_beside_others(case: CaseData) -> float:
    census = any(value.others.size for value in case.values)
    return (case.left_out or 0.0) if census else 0.0


def _imprecise(
    workload: str, comparisons: Sequence[SettingComparison], rows: Sequence[Row], header: RunHeader
) -> list[str]:
    """Ratios without an interval, and those whose interval is wider than was asked for."""
    told = _rounds_missing(workload, comparisons, header)
    if any(comparison.too_few_layouts for comparison in comparisons):
        told.append(
            "Rounds of one layout of the code are so alike that they count for too few to compare the rows"
            f" with each other{_more_layouts(rows, ': ')}."
        )
    several = len({row.environment for row in rows}) > 1
    wide = [
        f"{row.contender} ({row.environment})" if several else row.contender
        for row in rows
        if row.ratio_low and row.ratio_high and not _well_known(row.ratio_low, row.ratio_high, header)
    ]
    ratios = [row.ratio for row in rows if row.ratio is not None and not row.fastest]
    moved = any((row.layout_spread or 0.0) >= LAYOUT_WORTH_TELLING for row in rows)
    more = _more_layouts(rows, ", with ") if moved else ""
    far = any(not 0.5 <= ratio <= 2.0 for ratio in ratios)
    if wide and header.precision > 0:
        told.append(
            f"{len(wide)} of {len(ratios)} ratios {IMPRECISE} ±{numbers.percent(header.precision)}"
            f"{', one of 4 to twice that, of 8 to three times' if far else ''}"
            f" ({named(wide)});"
            f" `{_longer(workload, header, 'thorough')}` measures until they are{more}."
        )
    return told


def _well_known(low: float, high: float, header: RunHeader) -> bool:
    return well_known(Interval(math.log(low), math.log(high), header.level), header.precision)


def _rounds_missing(workload: str, comparisons: Sequence[SettingComparison], header: RunHeader) -> list[str]:
    """One sentence a workload: its settings share their rounds, so the one that lacks most tells how many."""
    lacking = [comparison for comparison in comparisons if comparison.rounds_missing]
    if not lacking:
        return []
    worst = max(lacking, key=lambda comparison: comparison.rounds_missing)
    told = ", ".join(f"{name}={value}" for name, value in worst.setting)
    where = f" at {told}" if told else ""
    if len(lacking) > 1:
        others = "another setting" if len(lacking) == 2 else f"{len(lacking) - 1} other settings"
        where += f" (and in {others})"
    return [
        f"Too few launches to compare {len(worst.cases)} rows with each other{where};"
        f" {worst.rounds_missing} more rounds are needed, so {'its' if len(comparisons) == 1 else 'these'}"
        f" ratios have no interval: `{_longer(workload, header)}` has the time for them."
    ]


def _longer(workload: str, header: RunHeader, profile: str = "") -> str:
    """The command that measures this workload again for longer; by default in the next larger profile."""
    profile = profile or ("standard" if header.profile == "quick" else "thorough")
    return f"{COMMAND} run {shlex.quote(as_text(workload))} --profile {profile}"


def _at(row: Row, swept: Sequence[str]) -> str:
    """The setting of a row that is not the only one of its contender."""
    told = ", ".join(f"{name}={row.parameters[name]}" for name in swept if name in row.parameters)
    return f" at {told}" if told else ""
