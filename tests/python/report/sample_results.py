"""Synthetic results with all that a report must survive. `python sample_results.py FILE.html` renders them.

The numbers are drawn from a seeded generator: plausible, not measured.
"""

from __future__ import annotations

import bisect
import math
import random
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from tollbench.analysis.results import (
    Cdf,
    ClaimNumber,
    ClaimPart,
    ClaimVerdict,
    Detail,
    DetailEstimate,
    EnvironmentChange,
    EnvironmentRow,
    Floor,
    Grid,
    GridLevel,
    Histogram,
    Latency,
    Memory,
    Problem,
    PublishedValue,
    Results,
    Row,
    RunInfo,
    WorkloadResult,
)
from tollbench.estimates import Estimate
from tollbench.words import PERCENTILES

SCRIPT = "<script>window.attacked=1</script>"
IMAGE = "<img src=x onerror=window.attacked=2>"
BREAKOUT = "</script><script>window.attacked=3</script><!--"
SEPARATORS = "line\u2028and\u2029paragraph"
OVERRIDE = "evil\u202egpj.exe"
ESCAPE = "\x1b[31mred\x1b[0m\x07"
FORMULA = '=HYPERLINK("http://example.invalid","x")'
MARKDOWN = "a|b`c`[x](javascript:alert(1)) @octocat #12"
LONG = "a_contender_whose_name_goes_on_and_on_" * 4 + "to_the_end"
UNICODE = "zażółć_gęślą_jaźń_線程_🧵"
HOSTILE = (
    SCRIPT,
    IMAGE,
    BREAKOUT,
    SEPARATORS,
    OVERRIDE,
    ESCAPE,
    FORMULA,
    MARKDOWN,
    "{{ 7*7 }}",
    "{a|b}{value}",
)

SKYNET = (
    ("tbb_task_group", "oneTBB", "2021.8.0", 118.0, 0.012),
    ("boost_fiber_work_stealing", "Boost.Fiber", "1.74", 402.0, 0.02),
    ("boost_fiber_round_robin", "Boost.Fiber", "1.74", 408.0, 0.025),
    ("cppcoro_static_pool", "cppcoro", "1.0", 371.0, 0.015),
    ("boost_fiber_shared_work", "Boost.Fiber", "1.74", 1210.0, 0.05),
    ("std_async_deferred", "std", "libstdc++ 12", 96.4, 0.004),
    ("std_thread", "std", "libstdc++ 12", 11_800.0, 0.03),
)
ALIKE: dict[str, dict[str, Any]] = {  # rows whose rounds are like those beside them
    "cppcoro_static_pool": {"counts_as": 11.4, "layout_spread": 0.021},
    "std_thread": {"counts_as": 4.1, "within_run": "rounds beside each other are alike"},
}
WAKEUP = (
    ("atomic_flag", 1450.0),
    ("counting_semaphore", 1530.0),
    ("mutex", 2410.0),
    ("condition_variable", 5230.0),
    ("spinlock", 182.0),
)


def make_row(rng: random.Random, workload: str, name: str, value: float, spread: float, **more: Any) -> Row:
    launches = more.pop("launches", 16)
    centre = [value * rng.lognormvariate(0, spread) for _ in range(launches)]
    half = 2.0 * spread / launches**0.5
    intervals = more.pop("intervals", True)
    defaults: dict[str, Any] = {
        "contender": name,
        "environment": "host",
        "parameters": {"tasks": 100_000, "threads": 2},
        "language": "C++",
        "library": "std",
        "library_version": "libstdc++ 12",
        "status": "ok",
        "reason": "",
        "footing": {"threads": 2, "stack_bytes": 16384, "pinning": "none", "allocator": "glibc malloc"},
        "value": value,
        "low": value * (1 - half) if intervals else None,
        "high": value * (1 + half * 1.2) if intervals else None,
        "unit": "ns",
        "per": "task",
        "cpu_time": value * rng.uniform(1.0, 1.98),
        "voluntary_switches": value * 3e-6,
        "involuntary_switches": value * 2e-8,
        "faults": value * 4e-6,
        "memory": Memory(
            calls=round(rng.uniform(0, 4), 3),
            bytes=rng.uniform(20, 400),
            heap_peak_bytes=rng.randrange(10**5, 10**8),
            peak_bytes=rng.randrange(10**6, 10**9),
        ),
        "counters": {"reason": "perf events: permission denied"},
        "cold": value * 1.31,
        "launches": launches,
        "spread": spread,
        "launch_values": centre,
    }
    defaults["cpus_busy"] = defaults["cpu_time"] / value
    return Row(**(defaults | more))


def broken_row(name: str, status: str, reason: str, **more: Any) -> Row:
    defaults: dict[str, Any] = {
        "contender": name,
        "environment": "host",
        "parameters": {"tasks": 100_000, "threads": 2},
        "language": "C++",
        "library": "",
        "library_version": "",
        "footing": {},
        "unit": "ns",
        "per": "task",
    }
    return Row(**(defaults | {"status": status, "reason": reason} | more))


def ranked(rows: list[Row]) -> list[Row]:
    """Rows by value with ratios, ties between neighbours whose intervals overlap, the fastest marked."""
    measured = sorted((row for row in rows if row.value is not None), key=lambda row: row.value or 0)
    best, letters, done = measured[0], "abcdefghijklmnopqrstuvwxyz", []
    groups: list[list[str]] = [[] for _ in measured]
    number = 0
    for index in range(len(measured) - 1):
        if (measured[index].high or 0) > (measured[index + 1].low or 9e99):
            groups[index].append(letters[number % 26])
            groups[index + 1].append(letters[number % 26])
            number += 1
    for row, ties in zip(measured, groups, strict=True):
        ratio = (row.value or 0) / (best.value or 1)
        known = row.low is not None and row is not best
        done.append(
            row.model_copy(
                update={
                    "ratio": ratio,
                    "ratio_low": ratio * 0.985 if known else None,
                    "ratio_high": ratio * 1.02 if known else None,
                    "fastest": row is best,
                    "tie_groups": ties,
                }
            )
        )
    return done + [row for row in rows if row.value is None]


def latency(rng: random.Random, name: str, median: float, parameters: dict[str, int | str]) -> Latency:
    samples = sorted(
        median * rng.lognormvariate(0, 0.18) * (1 if rng.random() > 0.004 else rng.uniform(5, 400))
        for _ in range(40_000)
    )
    steps = [i / 120 for i in range(1, 109)] + [1 - 0.1 * 0.88**k for k in range(1, 70)]
    points = [(samples[min(len(samples) - 1, int(p * len(samples)))], p) for p in steps]
    points.append((samples[-1], 1.0))

    def at(p: float) -> float:
        return samples[int(p * len(samples))]

    fields: dict[str, Any] = {
        "contender": name,
        "environment": "host",
        "parameters": parameters,
        "unit": "ns",
        "count": len(samples) * 16,
        "launches": 16,
        "p50": at(0.5),
        "p50_low": at(0.49),
        "p50_high": at(0.51),
        "p90": at(0.9),
        "p90_low": at(0.89),
        "p90_high": at(0.91),
        "p99": at(0.99),
        "p99_low": at(0.988),
        "p99_high": at(0.992),
        "p999": at(0.999),
        "p999_low": at(0.9975) if name != "mutex" else None,
        "p999_high": at(0.9995) if name != "mutex" else None,
        "p9999": at(0.9999) if name != "mutex" else None,
        "p9999_low": at(0.9997) if name != "mutex" else None,
        "p9999_high": at(0.99995) if name != "mutex" else None,
        "max": samples[-1],
        "launch_max": Estimate(value=samples[-1] * 0.6, low=samples[-1] * 0.4, high=samples[-1] * 0.9),
        "histogram": histogram(samples),
        "cdf": Cdf(value=[v for v, _ in points], p=[p for _, p in points]),
    }
    fields["ratios"] = {
        each.key: Estimate(value=1.2, low=1.1, high=1.3) for each in PERCENTILES if each.probability > 0.5
    }
    return Latency(**fields)


def histogram(samples: list[float], count: int = 48) -> Histogram:
    low, high = samples[0] * 0.999, samples[int(0.999 * len(samples))]
    edges = [low * (high / low) ** (index / count) for index in range(count + 1)]
    reached = [bisect.bisect_right(samples, edge) / len(samples) for edge in edges]
    share = [b - a for a, b in pairwise(reached)]
    return Histogram(edges=edges, share=share, below=reached[0], beyond=1.0 - reached[-1])


def grid(rng: random.Random, cpus: int, inside: float = 24.0, across: float = 92.0, **more: Any) -> Grid:
    """Two complexes, with the noise of a real machine."""
    half = cpus // 2
    values: list[list[float | None]] = [
        [
            None if a == b else (inside if (a < half) == (b < half) else across) * rng.lognormvariate(0, 0.03)
            for b in range(cpus)
        ]
        for a in range(cpus)
    ]
    groups = [list(range(half)), list(range(half, cpus))]
    defaults: dict[str, Any] = {
        "title": "load_store, median",
        "contender": "load_store",
        "environment": "host",
        "parameters": {"samples": 1000},
        "unit": "ns",
        "statistic": "p50",
        "launches": 8,
        "labels": [str(number) for number in range(cpus)],
        "values": values,
        "groups": groups,
        "levels": [GridLevel(groups=groups, inside=inside, across=across)],
        "sentence": f"two groups of {half}: {inside:.0f} ns inside, {across:.0f} ns across",
    }
    return Grid(**(defaults | more))


def cores(rng: random.Random, cpus: int = 16) -> WorkloadResult:
    """Times between CPUs: a grid a contender and statistic."""
    names = (("load_store", 40.0), ("compare_exchange", 55.0))
    parameters: dict[str, int | str] = {"samples": 1000}
    grids = [
        grid(rng, cpus, value * 0.6, value * 2.3 * tail, contender=name, title=f"{name}, {statistic}",
             statistic=key, sentence="" if key == "p99" else f"two groups of {cpus // 2}: as {name} sees it")
        for name, value in names
        for key, statistic, tail in (("p50", "median", 1.0), ("p99", "99th percentile", 30.0))
    ]  # fmt: skip
    return WorkloadResult(
        workload="latency/core_to_core",
        question="How long does it take until a write of one CPU is seen by another?",
        kind="samples",
        unit="ns",
        per="hand-off",
        rows=ranked([make_row(rng, "c", name, value, 0.02, per="hand-off", parameters=parameters)
                     for name, value in names]),
        latencies=[latency(rng, name, value, parameters) for name, value in names],
        grids=grids,
    )  # fmt: skip


ENVIRONMENTS = ("host", "gcc-11", "gcc-12", "clang-14", "clang-16", "clang-19", "clang-19-libc++",
                "gcc-12-O3", "gcc-12-native", "clang-19-native", "gcc-12-m32",
                "gcc-12-assertions")  # fmt: skip


def compilers(
    rng: random.Random, contenders: int = 6, environments: int = 12, groups: tuple[int, ...] = (100, 1000)
) -> WorkloadResult:
    """One workload in many environments: the comparison of compilers."""
    kinds = ("flat_map", "unordered_map", "map", "vector", "sorted_vector", "deque", "pool_map", "robin_map")
    rows = []
    for group in groups:
        for place, environment in enumerate(ENVIRONMENTS[:environments]):
            column = []
            for index in range(contenders):
                name = kinds[index % 8] + (f"_{index // 8}" if index >= 8 else "")
                value = 20.0 * 1.3**index * (1 + 0.07 * ((place * 5) % 7)) * (group / 100) ** 0.2
                parameters: dict[str, int | str] = {"group": group, "threads": 4}
                calls = 1 + 37 * index
                passes = [float(calls)] * 2 if index != 3 else [float(calls), calls + 2.0]
                memory = Memory(calls=calls / 1000, bytes=64.0, peak_bytes=5 << 20, calls_in_passes=passes,
                                exact_calls=calls if index != 3 else None)  # fmt: skip
                if environment.endswith("m32") and index == 2:
                    column.append(broken_row(name, "build_failed", "error: no 32-bit library",
                                             environment=environment, parameters=parameters))  # fmt: skip
                    continue
                column.append(make_row(rng, "c", name, value, 0.01, per="word", parameters=parameters,
                                       environment=environment, memory=memory))  # fmt: skip
            best = min(row.value for row in column if row.value is not None)
            rows += [row if row.value is None else row.model_copy(update={
                "environment_ratio": Estimate(value=row.value / best, low=row.value / best * 0.99,
                                              high=row.value / best * 1.01),
                "environment_fastest": row.value == best,
            }) for row in column]  # fmt: skip
    return WorkloadResult(
        workload="containers/count_words",
        question="What does it cost to count the words of a text?",
        kind="batch",
        unit="ns",
        per="word",
        rows=ranked(rows),
        swept=["group"],
        environments=list(ENVIRONMENTS[:environments]),
        environment_changes=[_change(rows, name) for name in ENVIRONMENTS[1:environments]],
    )


def _change(rows: list[Row], environment: str) -> EnvironmentChange:
    """Beside the first environment, as far as both have a value."""

    def estimate(ratio: float) -> Estimate:
        return Estimate(value=ratio, low=ratio * 0.98, high=ratio * 1.02)

    first = {(row.contender, row.parameters["group"]): row for row in rows if row.environment == "host"}
    told = [
        EnvironmentRow(
            contender=row.contender,
            environment=environment,
            parameters=row.parameters,
            ratio=estimate(row.value / before),
            rounds=20,
        )
        for row in rows
        if row.environment == environment and row.value is not None
        for before in [first[row.contender, row.parameters["group"]].value]
        if before is not None
    ]
    ratios = [one.ratio.value for one in told if one.ratio is not None]
    whole = estimate(math.prod(ratios) ** (1 / len(ratios)))
    return EnvironmentChange(
        environment=environment, against="host", ratio=whole, of_rows=len(told), rounds=20, rows=told
    )


def skynet_broken() -> list[Row]:
    return [
        broken_row(
            "folly_fibers",
            "skipped",
            "libfolly was not found; `apt install libfolly-dev` brings it where the release has it",
            library="Folly",
        ),
        broken_row(
            "seastar_async",
            "build_failed",
            "the compiler stopped at seastar_async.cpp:12; `./toll run "
            "--verbose` shows all of it\nseastar_async.cpp:12:10: fatal error: seastar/core/app.hh: No such "
            "file or directory\n   12 | #include <seastar/core/app.hh>\n      |          ^~~~~~~~~~~~~~~~~~",
            library="Seastar",
        ),
        broken_row(
            "libtask",
            "failed",
            "ended by signal 11 (segmentation fault) after 3 of 16 launches; its 4 KiB "
            "stacks may be too small",
            library="libtask",
            failed_launches=3,
        ),
        broken_row("hand_rolled", "wrong_answer", "answered 4999949999 where 4999950000 was expected"),
    ]


def skynet_published() -> list[PublishedValue]:
    return [
        PublishedValue(
            contender="goroutines",
            label="Go 1.6.1, GOMAXPROCS=8",
            low=0.70,
            high=0.98,
            unit="µs",
            per="task",
            machine="Intel Core i7-4770S, 4 cores",
            year=2016,
            source="https://www.boost.org/doc/libs/1_64_0/libs/fiber/doc/html/fiber/performance.html",
            today=Estimate(value=0.254, low=0.2512, high=0.2571),
            environment="host",
            parameters={"tasks": 100_000, "threads": 2},
        ),
        PublishedValue(
            contender="boost_fiber_work_stealing",
            label="fiber (16C/32T, work stealing, tcmalloc)",
            low=0.05,
            high=0.09,
            unit="µs",
            per="task",
            machine="Intel Core i7-4770S, 4 cores",
            year=2016,
            source="https://www.boost.org/doc/libs/1_64_0/libs/fiber/doc/html/fiber/performance.html",
            note="The table's headings promise 16 cores on a machine that has 4.",
            today=Estimate(value=0.402, low=0.398, high=0.407),
            environment="host",
            parameters={"tasks": 100_000, "threads": 2},
        ),
        PublishedValue(
            contender="",
            label="Haskell, stack-1.0.4",
            low=0.32,
            high=0.32,
            unit="µs",
            per="task",
            machine="Intel Core i7-4770S, 4 cores",
            year=2016,
            source="the same page",
        ),
    ]


def skynet(rng: random.Random) -> WorkloadResult:
    rows = [
        make_row(
            rng,
            "tasks/skynet",
            name,
            value,
            spread,
            library=library,
            library_version=version,
            footing={
                "threads": 1 if "robin" in name else 2,
                "stack_bytes": 16384 if "boost" in name else 8 << 20,
                "pinning": "none",
                "malloc": "glibc",
                "results": "future" if "async" in name else "join",
                "units_created": 111_111,
                "units_alive_peak": 100_000 if "boost" in name else 37,
            },
            efficiency=Estimate(value=3.1 / value, low=3.05 / value, high=3.2 / value),
            created_value=value * 0.9 if name != "std_async_deferred" else None,
            memory_per_unit_bytes=1536.0 if name != "std_async_deferred" else None,
            **ALIKE.get(name, {}),
        )
        for name, library, version, value, spread in SKYNET
    ]
    rows += [
        make_row(
            rng,
            "tasks/skynet",
            "goroutines",
            254.0,
            0.02,
            language="Go",
            library="go",
            library_version="1.19.8",
            memory=Memory(reason="a Go program does not pass through malloc"),
        ),
        make_row(
            rng,
            "tasks/skynet",
            "erlang_processes",
            871.0,
            0.03,
            language="Erlang",
            library="erts",
            library_version="13.1.5",
            memory=Memory(reason="a Go program does not pass through malloc"),
            failed_launches=2,
        ),
        make_row(
            rng,
            "tasks/skynet",
            "rayon_join",
            131.5,
            0.012,
            language="Rust",
            library="rayon",
            library_version="1.7",
            launches=2,
            intervals=False,
        ),
        *skynet_broken(),
    ]
    return WorkloadResult(
        workload="tasks/skynet",
        question="What does it cost to create, run and join one of 100,000 tasks?",
        kind="batch",
        unit="ns",
        per="task",
        rows=ranked(rows),
        published=skynet_published(),
    )


DETAILS = [
    Detail(
        name="smallest_share", title="Smallest share", unit="share", meaning="of the thread that got least"
    ),
    Detail(name="longest_wait_ns", title="Longest wait", unit="ns", meaning="until any thread got its turn"),
    Detail(name="hand_offs", title="Hand-offs", unit="per batch", meaning="how often the lock changed hands"),
    Detail(name="kept_bytes", title="Kept", unit="bytes", meaning="memory that stays after the last unlock"),
]
CONTENTION = (("mutex", 55.0, 0.46), ("fetch_add", 14.0, 0.49), ("ticket_lock", 260.0, 0.4999))


def contention(rng: random.Random) -> WorkloadResult:
    """Locks over threads, with details: how fair each is."""
    rows = []
    for name, value, share in CONTENTION:
        for threads in (1, 2, 4, 8):
            told = {
                "smallest_share": (2 * share / threads, 0.01),
                "longest_wait_ns": (value * threads**2.2 * 90, 0.2),
                "hand_offs": (float(1000 * threads), 0.0),
            }
            if name != "fetch_add":
                told["kept_bytes"] = (40.0 * 1024 * threads, 0.0)
            details = {
                key: DetailEstimate(value=x, low=x * (1 - spread), high=x * (1 + spread))
                for key, (x, spread) in told.items()
            }
            parameters: dict[str, int | str] = {"threads": threads}
            cost = value * threads**0.6
            rows.append(make_row(rng, "latency/contention", name, cost, 0.02, per="increment",
                                 parameters=parameters, details=details))  # fmt: skip
    return WorkloadResult(
        workload="latency/contention",
        question="What does an increment cost that several threads fight for?",
        kind="batch",
        unit="ns",
        per="increment",
        rows=ranked(rows),
        details=DETAILS,
    )


def wakeup(rng: random.Random) -> WorkloadResult:
    parameters: dict[str, int | str] = {"pause_ns": 20_000}
    rows = [
        make_row(rng, "latency/wakeup", name, value, 0.04, per="wake-up", parameters=parameters)
        for name, value in WAKEUP
    ]
    return WorkloadResult(
        workload="latency/wakeup",
        kind="samples",
        unit="ns",
        per="wake-up",
        rows=ranked(rows),
        question="How long after one thread raises a signal does a thread that waits for it return?",
        latencies=[latency(rng, name, value, parameters) for name, value in WAKEUP],
        published=[wakeup_published(name, parameters) for name in ("p50", "p99")],
    )


def waits(rng: random.Random) -> WorkloadResult:
    """A workload that sweeps a parameter: each wait has a fastest of its own, one row is alone with its."""
    rows: list[Row] = []
    for wait, factor in ((8, 1.0), (1_000, 100.0)):
        made = [
            make_row(rng, "latency/waits", name, value * factor, 0.02, parameters={"wait_us": wait})
            for name, value in (("std_mutex", 9_000.0), ("boost_asio", 9_100.0), ("sleep", 8_100.0))
        ]
        if wait == 8:
            made.append(broken_row("folly_fibers", "skipped", "no folly", parameters={"wait_us": wait}))
        rows += ranked([row for row in made if row.contender != "sleep"])
        rows += [row.model_copy(update={"baseline": True, "ratio": 0.9})
                 for row in made if row.contender == "sleep"]  # fmt: skip
    rows.append(make_row(rng, "latency/waits", "computation_only", 240.0, 0.02, parameters={"wait_us": 0}))
    rows.sort(key=lambda row: (row.value is None, row.value or 0.0))
    return WorkloadResult(
        workload="latency/waits",
        kind="samples",
        unit="ns",
        per="task",
        rows=rows,
        question="What does a task cost that waits in the meantime?",
        latencies=[latency(rng, row.contender, row.value, row.parameters) for row in rows if row.value],
        swept=["wait_us"],
        settings=[{"wait_us": wait} for wait in (0, 8, 1_000)],
    )


def wakeup_published(statistic: str, parameters: dict[str, int | str]) -> PublishedValue:
    return PublishedValue(
        contender="spinlock",
        label=f"spinlock latency, {statistic}",
        low=200 if statistic == "p50" else 500,
        high=200 if statistic == "p50" else 500,
        unit="ns",
        per="wake-up",
        machine="AMD Ryzen 3800X (Zen 2, 8 cores, 16 threads), Windows 10",
        year=2021,
        source="a README",
        statistic=statistic,
        today=Estimate(value=182.0, low=180.0, high=184.0),
        environment="host",
        parameters=parameters,
    )


def locks(rng: random.Random) -> WorkloadResult:
    """Parameters and environments vary, and the values lie close together."""
    rows = [
        make_row(
            rng,
            "locks/contended",
            name,
            value * (1 + 0.05 * threads),
            0.01,
            per="increment",
            parameters={"threads": threads},
            environment=environment,
        )
        for name, value in (("std_mutex", 41.0), ("shared_mutex", 43.0), ("ticket_lock", 41.3))
        for threads in (1, 2)
        for environment in ("host", "clang-19")
    ]
    return WorkloadResult(
        workload="locks/contended",
        question="What does one increment under a contended lock cost?",
        kind="batch",
        unit="ns",
        per="increment",
        rows=ranked(rows),
    )


def hostile(rng: random.Random) -> WorkloadResult:
    names = (*HOSTILE, LONG, UNICODE)
    rows = [
        make_row(rng, "attack", name, 100.0 * (index + 1), 0.02, library=name, footing={name: name})
        for index, name in enumerate(names)
    ]
    rows.append(broken_row(SCRIPT + "x", "failed", f"{BREAKOUT} {MARKDOWN}\n{SCRIPT}\n{ESCAPE}"))
    return WorkloadResult(
        workload=f"attack/{SCRIPT}",
        question=f"Is {IMAGE} inert? {BREAKOUT}",
        kind="samples",
        unit="ns",
        per=IMAGE,
        rows=ranked(rows),
        latencies=[latency(rng, name, 800.0, {"tasks": 100_000, "threads": 2}) for name in names[:3]],
        published=[
            PublishedValue(
                contender=SCRIPT,
                label=IMAGE,
                low=1,
                high=2,
                unit="ns",
                per=IMAGE,
                machine=SCRIPT,
                year=1999,
                source="javascript:window.attacked=4",
                note=BREAKOUT,
            )
        ],
    )


def many(rng: random.Random, count: int = 40) -> WorkloadResult:
    rows = [
        make_row(
            rng,
            "containers/find",
            f"{kind}_map_{index:02d}",
            8.0 * 1.09**index,
            0.02,
            per="look-up",
            library=kind,
        )
        for index, kind in zip(range(count), ("flat", "node", "btree", "robin") * count, strict=False)
    ]
    return WorkloadResult(
        workload="containers/find",
        question="What does finding one of a million keys cost?",
        kind="batch",
        unit="ns",
        per="look-up",
        rows=ranked(rows),
    )


def nothing() -> WorkloadResult:
    return WorkloadResult(
        workload="async/echo",
        question="How many requests a second does a socket server answer?",
        kind="batch",
        unit="ns",
        per="request",
        rows=[
            broken_row("asio", "skipped", "Boost.Asio was not found; apt install libboost-dev"),
            broken_row("uring", "planned", "not measured yet"),
        ],
    )


def problems(workloads: list[WorkloadResult]) -> list[Problem]:
    return [
        Problem(
            workload=w.workload,
            contender=r.contender,
            environment=r.environment,
            parameters=r.parameters,
            status=r.status,
            reason=r.reason,
        )
        for w in workloads
        for r in w.rows
        if r.status != "ok"
    ]


MACHINE: dict[str, Any] = {
    "cpu": "AMD EPYC 7B13",
    "architecture": "x86_64",
    "cpus": 2,
    "packages": 1,
    "cores": 1,
    "threads_per_core": 2,
    "numa_nodes": 1,
    "usable_cpus": [0, 1],
    "caches": [
        {"level": 1, "type": "Data", "bytes": 32768, "shared_by": 2, "instances": 1},
        {"level": 1, "type": "Instruction", "bytes": 32768, "shared_by": 2, "instances": 1},
        {"level": 2, "type": "Unified", "bytes": 524288, "shared_by": 2, "instances": 1},
        {"level": 3, "type": "Unified", "bytes": 33554432, "shared_by": 2, "instances": 1},
    ],
    "frequency_mhz": {"min": None, "max": None, "now": 2449.998},
    "memory_bytes": 8_330_010_624,
    "page_bytes": 4096,
    "kernel": "Linux 6.1.0-28-amd64",
    "os": "Debian GNU/Linux 12 (bookworm)",
    "libc": "glibc 2.36",
    "virtualization": "Google",
    "invariant_tsc": True,
    "compilers": [
        {"name": "g++", "version": "g++ (Debian 12.2.0-14) 12.2.0"},
        {"name": "clang++", "version": "Debian clang version 16.0.6 (15~deb12u1)"},
        {"name": "go", "version": "go version go1.19.8 linux/amd64"},
    ],
}
CONDITIONS: dict[str, Any] = {
    "governor": None,
    "turbo": None,
    "smt": True,
    "virtualization": "Google",
    "load_1min": 0.34,
    "cpus": 2,
    "steal_share": 0.0031,
    "pressure_cpu_avg10": 0.021,
    "clock_source": "kvm-clock",
    "transparent_huge_pages": "always",
    "aslr": 2,
    "perf_event_paranoid": 3,
    "isolated_cpus": "",
    "cpu_quota": None,
    "max_map_count": 65530,
    "threads_max": 63_704,
    "pids_limit": None,
    "usable_cpus": [0, 1],
    "noise": [
        {
            "name": "steal",
            "value": "0.3 % of CPU time since boot",
            "consequence": "the host gives this machine's "
            "CPUs to other guests: long tails and drift, recorded with each launch",
            "remedy": "use a machine with "
            "dedicated CPUs, or let --profile thorough run until the intervals are met",
        },
        {
            "name": "virtualization",
            "value": "Google",
            "consequence": "wake-ups between CPUs and page faults leave the "
            "guest and cost more than on bare metal",
            "remedy": "compare contenders on this machine only",
        },
    ],
}


def floor(rng: random.Random, count: int = 160) -> Floor:
    values = [1000.0 * rng.lognormvariate(0, 0.006) * (1 + 0.00012 * index) for index in range(count)]
    values[60:66] = [value * 1.06 for value in values[60:66]]
    return Floor(
        ratio=1.0123,
        rows=7,
        rounds=16,
        level=0.998,
        launches=count,
        drift=1.021,
        canary_ns=values,
        canary_at_s=[index * 1.07 for index in range(count)],
    )


def run_info(**more: Any) -> RunInfo:
    defaults: dict[str, Any] = {
        "name": "2026-03-14-host",
        "uuid": "5f0c4a58-35ab-4d8e-9f3e-1d1f2d6c7a10",
        "toll_version": "0.1.0",
        "command_line": "./toll run --profile quick",
        "profile": "quick",
        "level": 0.95,
        "precision": 0.01,
        "seed": 42,
        "started_utc": "2026-03-14T09:26:53Z",
        "finished_utc": "2026-03-14T09:29:44Z",
        "stopped_by": "budget",
        "seconds": 171.2,
        "seconds_in_programs": 158.9,
        "launches": 912,
    }
    return RunInfo(**(defaults | more))


def make_results(workloads: list[WorkloadResult], **more: Any) -> Results:
    defaults: dict[str, Any] = {
        "run": run_info(),
        "machine": MACHINE,
        "conditions": CONDITIONS,
        "floor": floor(random.Random(3)),
        "workloads": workloads,
        "problems": problems(workloads),
    }
    return Results(**(defaults | more))


def claim(
    workload: str,
    name: str,
    verdict: str,
    sides: tuple[str, str],
    values: tuple[float | None, ...],
    **more: Any,
) -> ClaimVerdict:
    """A claim of one check about two rows of skynet or of wakeup, or about a row that is not there.

    `values` are left, right, the ratio, and the ends of its interval.
    """
    parameters: dict[str, int | str] = {"tasks": 100_000, "threads": 2} if workload == "tasks/skynet" else {}
    left, right = (
        ClaimNumber(workload=workload, contender=side, environment="host", parameters=parameters, value=value,
                    unit="ns" if value is not None else "")
        for side, value in zip(sides, values, strict=False)
    )  # fmt: skip
    _, _, ratio, low, high = values
    part = ClaimPart(verdict=verdict, left=left, right=right, relation="at_least", factor=2.0,
                     tolerance=2**0.5, at_least=2**0.5, at_most=None, ratio=ratio, low=low, high=high,
                     level=0.96 if low else None, reason=more.get("reason", ""))  # fmt: skip
    fields: dict[str, Any] = {
        "name": name, "claim": "Tasks of one library take half of the time of another's.",
        "document": "A document", "year": 2016, "place": "table 1.3", "workload": workload,
        "verdict": verdict, "left": left.value, "right": right.value, "ratio": ratio, "low": low,
        "high": high, "parts": [part],
    }  # fmt: skip
    return ClaimVerdict(**(fields | more))


NONE = (None, None, None, None, None)


def claims() -> list[ClaimVerdict]:
    """One of each verdict."""
    work, shared, robin = "boost_fiber_work_stealing", "boost_fiber_shared_work", "boost_fiber_round_robin"
    return [
        claim("tasks/skynet", "rows_of_another_run", "cannot_be_told", (work, "gone"), NONE,
              reason="gone was not measured in this run: `./toll run tasks/skynet/gone` measures it"),
        claim("tasks/skynet", "stealing_beats_sharing", "holds", (shared, work),
              (1210.0, 402.0, 3.01, 2.9, 3.1)),
        claim("tasks/skynet", "stealing_halves_round_robin", "does_not_hold", (robin, work),
              (408.0, 402.0, 1.015, 1.0, 1.03), note="they join their fibers"),
    ]  # fmt: skip


def hostile_claims() -> list[ClaimVerdict]:
    """Texts of a catalogue that somebody else wrote."""
    return [
        claim("tasks/skynet", f"hostile_{number}", "holds", (text, text), (1.0, 2.0, 0.5, 0.4, 0.6),
              claim=text, document=text, place=text, note=text, reason=text)
        for number, text in enumerate(HOSTILE)
    ]  # fmt: skip


def full_results() -> Results:
    """Every feature and every attack in one report."""
    rng = random.Random(7)
    return make_results(
        [
            skynet(rng),
            wakeup(rng),
            locks(rng),
            many(rng),
            contention(random.Random(11)),
            cores(random.Random(12)),
            compilers(random.Random(13)),
            nothing(),
            hostile(rng),
        ],
        warnings=[
            "Steal time: the host took 0.3 % of CPU time from this machine; tails may be its doing.",
            SCRIPT,
        ],
        claims=[*claims(), *hostile_claims()],
    )


def friendly_results() -> Results:
    """What an ordinary run looks like: nothing hostile. The one to look at."""
    rng = random.Random(7)
    return make_results(
        [
            skynet(rng),
            wakeup(rng),
            locks(rng),
            many(rng),
            contention(random.Random(11)),
            cores(random.Random(12)),
            compilers(random.Random(13)),
            nothing(),
        ],
        warnings=["The host took 0.3 % of CPU time from this machine (steal): tails may be its doing."],
        claims=claims(),
    )


def big_results(workloads: int = 50, rows: int = 10) -> Results:
    """Many workloads with curves: for the page's size and the time to make it."""
    rng = random.Random(11)
    made = []
    base = latency(rng, "x", 900.0, {"tasks": 1})
    for index in range(workloads):
        names = [(f"contender_{number}", 100.0 * 1.4**number) for number in range(rows)]
        made.append(
            WorkloadResult(
                workload=f"topic{index % 7}/workload_{index:02d}",
                question="What does it cost?",
                kind="samples",
                unit="ns",
                per="operation",
                rows=ranked(
                    [
                        make_row(rng, "", name, value, 0.02, launches=40, parameters={"tasks": 1})
                        for name, value in names
                    ]
                ),
                latencies=[base.model_copy(update={"contender": name}) for name, _ in names],
            )
        )
    return make_results(made)


_PLAIN, _SWEPT, _SINGLE = (5,) * 7, (3,) * 5, (8, 9, 9)  # rows; of the second, of each of three settings


def quick_results() -> Results:
    """As large as a quick run of everything: 106 rows in 15 workloads, and 65 claims."""
    rng = random.Random(15)
    question = "What does an operation cost that many threads do at once, and how long does one of them wait?"

    def rows(count: int, factor: float, **parameters: int | str) -> list[Row]:
        return ranked(
            [
                make_row(rng, "", f"a_contender_of_boost_fiber_{at}", factor * 1.5**at, 0.05,
                         parameters=dict(parameters))
                for at in range(count)
            ]
        )  # fmt: skip

    def made(name: str, found: list[Row], **more: Any) -> WorkloadResult:
        return WorkloadResult(
            workload=name, question=question, kind=more.pop("kind", "batch"), unit="ns", per="operation",
            rows=found, **more,
        )  # fmt: skip

    plain = [made(f"containers/plain_{at}", rows(n, 10.0, size=64)) for at, n in enumerate(_PLAIN)]
    swept = [
        made(
            f"frameworks/swept_{at}", [row for t in (1, 2, 4) for row in rows(n, 100.0 * t, threads=t)],
            swept=["threads"], settings=[{"threads": t} for t in (1, 2, 4)],
        )
        for at, n in enumerate(_SWEPT)
    ]  # fmt: skip
    single = [
        made(f"latency/single_{at}", found, kind="samples", published=skynet_published(),
             latencies=[latency(rng, row.contender, row.value or 1.0, row.parameters) for row in found])
        for at, found in enumerate(rows(n, 1000.0) for n in _SINGLE)
    ]  # fmt: skip
    first, second = plain[0].rows[:2]
    sides, values = (first.contender, second.contender), (10.0, 15.0, 0.667, 0.65, 0.68)
    verdicts = {"holds": 13, "does_not_hold": 4, "cannot_be_told": 48}
    return make_results(
        [*plain, *swept, *single],
        problems=[],
        warnings=["Differences under 7.4 % were out of reach in this run, and 1.0 % was asked for. A quieter"
                  " machine or more launches (`./toll run --profile thorough`) would resolve more."],
        claims=[
            claim("containers/plain_0", f"{verdict}_{at}", verdict, sides,
                  NONE if verdict == "cannot_be_told" else values)
            for verdict, count in verdicts.items() for at in range(count)
        ],
    )  # fmt: skip


def empty_results() -> Results:
    """An interrupted run that measured nothing."""
    return make_results(
        [],
        run=run_info(
            finished_utc=None, stopped_by="interrupt", seconds=None, seconds_in_programs=None, launches=0
        ),
        machine={},
        conditions={},
        floor=Floor(ratio=None, launches=0, reason="no canary was launched"),
    )


if __name__ == "__main__":
    from tollbench.report import html

    chosen = {"full": full_results, "friendly": friendly_results, "big": big_results, "empty": empty_results}
    Path(sys.argv[1]).write_text(html.render(chosen[sys.argv[2] if len(sys.argv) > 2 else "friendly"]()))
