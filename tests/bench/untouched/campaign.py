"""Does `toll compare` call unchanged what is unchanged, and nothing else? Of programs that are hard to judge.

    .venv/bin/python tests/bench/untouched/campaign.py [--programs NAME ...] [--moves] [--mutations]

Moves change where code lies and nothing that runs: all rows have to be `unchanged_code`. Mutations change
what named benchmarks run or read: none of those rows may be. Without --moves or --mutations both are done.
What is built is kept in --folder. Needs g++ and Debian's libbenchmark-dev; without clang++-19 and lld (ld.lld
in PATH) some is left out, and told. Exits 1 where a bar is missed: 29 of 30 moves wholly unchanged, without
those by which linkers sort and shuffle, and none slower or faster; no mutation called unchanged.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python")]

from catalogue import PROGRAMS  # noqa: E402
from compiling import Workshop  # noqa: E402
from judge import DIFFERENT, UNCHANGED, Judge, Judged, Prover, Row  # noqa: E402
from preparing import Case, Prepare, Prepared, all_of, moved, mutated  # noqa: E402

from tollbench.interpreters import toll_itself  # noqa: E402
from tollbench.launching.interrupt import Interrupt  # noqa: E402
from tollbench.stats.proportion import exact_share  # noqa: E402

WHOLLY_UNCHANGED = 29 / 30  # of the moves that a change of source makes; linkers' own are told beside it
BY_THE_LINKER = ("sorted_sections", "shuffled_functions")
Ask = Callable[[Path, Path], Judged]
Found = list[tuple[Case, Judged]]


def prepared(what: str, prepare: Prepare, options: argparse.Namespace) -> Prepared:
    """All programs' pairs, told while they are built."""
    chosen = [one for one in PROGRAMS if not options.programs or one.name in options.programs]
    workshop = Workshop(options.folder.resolve(), options.benchmark)
    whole = Prepared()
    for program, made in all_of(prepare, chosen, workshop, options.jobs, options.benchmark):
        whole.add(made)
        print(f"built {program.name:16} {len(made.cases):3} {what}", flush=True)
    for title, lines in (
        ("left out", whole.left_out),
        ("dropped, the compiler makes the same of it", whole.equivalent),
        ("BROKEN", whole.broken),
    ):
        print(f"{title}: {len(lines)}", *lines, sep="\n    ")
    return whole


def judged(cases: Sequence[Case], judge: Ask, jobs: int) -> Iterator[tuple[Case, Judged]]:
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(cases, pool.map(lambda case: judge(case.base, case.other), cases), strict=True)


def judge_moves(cases: Sequence[Case], judge: Ask, jobs: int) -> Found:
    """A line a comparison, and below it whoever was not proved."""
    found: Found = []
    for case, what in judged(cases, judge, jobs):
        found.append((case, what))
        counts = Counter(row.verdict for row in what.rows)
        told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in sorted(counts)) or what.trouble
        print(f"{case!s:40} {what.seconds:6.1f} s  {told}", flush=True)
        for row in what.rows:
            if row.verdict != UNCHANGED:
                print(f"    {row}")
    return found


def tell_moves(found: Found) -> bool:
    """By kind of move and in all; whether the bars are met."""
    for title in dict.fromkeys(case.title for case, _ in found):
        of_kind = [what for case, what in found if case.title == title]
        print(f"  {title:20} wholly {UNCHANGED}: {share(one.wholly_unchanged for one in of_kind)}")
    wholly = [what.wholly_unchanged for case, what in found if case.title not in BY_THE_LINKER]
    shuffled = [what.wholly_unchanged for case, what in found if case.title in BY_THE_LINKER]
    rows = [row for _, what in found for row in what.rows]
    different = sum(row.verdict in DIFFERENT for row in rows)
    print(f"moves: comparisons wholly {UNCHANGED}: {share(wholly)}; linkers' moves {share(shuffled)}")
    print(f"moves: rows {UNCHANGED}: {share(row.verdict == UNCHANGED for row in rows)}")
    print(f"moves: rows slower or faster: {different} of {len(rows)}")
    tell_times(found)
    return sum(wholly) >= WHOLLY_UNCHANGED * len(wholly) and not different


def judge_mutations(cases: Sequence[Case], judge: Ask, jobs: int) -> Found:
    """A line a mutation, and below it who should have been noticed, with what is needed to see why."""
    found: Found = []
    for case, what in judged(cases, judge, jobs):
        found.append((case, what))
        concerned, others = split(case, what)
        proved = sum(row.verdict == UNCHANGED for row in others)
        told = ", ".join(f"{row.benchmark} {row.verdict}" for row in concerned) or what.trouble or "MISSING"
        print(f"{case!s:70} {what.seconds:5.1f} s  {told}; others {proved}/{len(others)}", flush=True)
        for row in concerned:
            if row.verdict == UNCHANGED:
                print(f"    WRONG {row}\n    seen as {case.effect}: {what.command}")
    return found


def split(case: Case, what: Judged) -> tuple[list[Row], list[Row]]:
    """Rows that the mutation concerns, and all others."""
    assert case.mutation is not None
    concerned = [row for row in what.rows if case.mutation.concerns(row.benchmark)]
    return concerned, [row for row in what.rows if row not in concerned]


def tell_mutations(found: Found) -> bool:
    """Whether none was called unchanged."""
    rows = [(case, row) for case, what in found for row in split(case, what)[0]]
    wrong = [f"{case}: {row}" for case, row in rows if row.verdict == UNCHANGED]
    others = [row.verdict == UNCHANGED for case, what in found for row in split(case, what)[1]]
    unseen = [f"{case}: {what.trouble}" for case, what in found if not split(case, what)[0]]
    kinds = Counter(case.effect for case, _ in found)
    print(f"mutations: {len(found)}:", ", ".join(f"{count} with {kind}" for kind, count in kinds.items()))
    print(f"mutations: rows of mutated benchmarks called {UNCHANGED}: {share(_is(UNCHANGED, rows))}")
    for line in wrong:
        print(f"    WRONG {line}")
    print(f"mutations without a row of theirs: {len(unseen)}", *unseen, sep="\n    ")
    print(f"mutations: rows of other benchmarks {UNCHANGED}: {share(others)}")
    tell_times(found)
    return not wrong and not unseen


def _is(verdict: str, rows: Iterable[tuple[Case, Row]]) -> Iterator[bool]:
    return (row.verdict == verdict for _, row in rows)


def share(told: Iterable[bool]) -> str:
    """With the exact interval of 95 %."""
    each = list(told)
    if not each:
        return "none"
    found = exact_share(sum(each), len(each))
    return f"{sum(each)} of {len(each)} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"


def tell_times(found: Found) -> None:
    seconds = sorted(what.seconds for _, what in found)
    if seconds:
        print(f"seconds a comparison: median {median(seconds):.1f}, longest {seconds[-1]:.1f}")


def keep(path: Path, found: Found) -> None:
    """All that was found, for whoever wants another table."""
    rows = [
        {
            "program": case.program,
            "change": case.title,
            "kind": "move" if case.mutation is None else "mutation",
            "effect": case.effect,
            "benchmarks": case.mutation.benchmarks if case.mutation else (),
            "base": str(case.base),
            "other": str(case.other),
            "seconds": what.seconds,
            "trouble": what.trouble,
            "rows": [asdict(row) for row in what.rows],
        }
        for case, what in found
    ]
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def wanted(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [program.name for program in PROGRAMS]
    parser.add_argument("--programs", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--moves", action="store_true", help="only moves")
    parser.add_argument("--mutations", action="store_true", help="only mutations")
    parser.add_argument("--jobs", type=int, default=1, help="programs built, and pairs compared, at a time")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench/untouched", help="keeps builds")
    parser.add_argument("--benchmark", type=Path, help="another Google Benchmark: a folder with include, lib")
    parser.add_argument("--toll", default=shlex.join(toll_itself()), help="how toll is started")
    parser.add_argument("--budget", default="0.2s", help="for each benchmark that is timed")
    parser.add_argument("--total-budget", default="20s")
    parser.add_argument("--prove", action="store_true", help="only the proof, in this process; no times")
    parser.add_argument("--build-only", action="store_true", help="build and check all pairs, compare none")
    return parser.parse_args(arguments)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Two campaigns in one folder would compile each other's sources."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str]) -> int:
    options = wanted(arguments)
    options.benchmark = options.benchmark and options.benchmark.resolve()
    with alone_in(options.folder):
        return campaign(options)


def campaign(options: argparse.Namespace) -> int:
    """All that was asked for; 1 where a bar is missed."""
    asked = Judge(shlex.split(options.toll), options.budget, options.total_budget)
    judge = Prover(options.folder.resolve() / "executed", Interrupt()) if options.prove else asked
    both = options.moves == options.mutations
    met, every = True, Found()
    for what, chosen, prepare, compare, tell in (
        ("moves", options.moves, moved, judge_moves, tell_moves),
        ("mutations", options.mutations, mutated, judge_mutations, tell_mutations),
    ):
        if not (chosen or both):
            continue
        ready = prepared(what, prepare, options)
        met = met and not ready.broken
        if not options.build_only:
            found = compare(ready.cases, judge, options.jobs)
            met = tell(found) and met
            every += found
    keep(options.folder / "found.json", every)
    print("bars met" if met else "a bar is MISSED")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
