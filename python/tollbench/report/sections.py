"""The page's sections as formatted text: what page.html.j2 sets, nothing measured or decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tollbench import numbers
from tollbench.analysis.results import Latency, Results, Row, WorkloadResult
from tollbench.report import environment_lines, grids, matrix, percentiles
from tollbench.report.anchors import Anchors, topic_of
from tollbench.report.answer_lines import answer, without_answer
from tollbench.report.cases import Group, Naming, by_setting, groups
from tollbench.report.claim_section import claim_section
from tollbench.report.footings import footings
from tollbench.report.interval_strip import interval_strip
from tollbench.report.problems import troubles
from tollbench.report.published_section import published_section
from tollbench.report.row_cells import SET_ASIDE, table
from tollbench.report.sentences import (
    below_table,
    few_rounds_sentence,
    floor_sentence,
    status_words,
)
from tollbench.report.showing import Column
from tollbench.report.slopes import heading, metrics, slopes
from tollbench.text import clean, commands, headline, humanise, instant, said, several

# A page of so many workloads begins unfolded, one of more with a line for each.
MOST_OPEN = 2

# Conditions that the page shows in another place.
_TOLD_ELSEWHERE = ("noise", "usable_cpus", "cpus", "virtualization", "meanwhile")
_SIZE = "_bytes"
_SHARE = "_share"
_LABELS = {  # where the field's own name does not read as a label
    "load_1min": "Load, 1 min",
    "pressure_cpu_avg10": "CPU pressure, 10 s",
    "aslr": "Address randomisation",
    "max_map_count": "Memory maps, at most",
    "threads_max": "Threads, at most",
    "os": "Operating system",
    "pids_limit": "Processes, at most",
    "steal_share": "Stolen CPU time",
    "page_bytes": "Page size",
    "perf_event_paranoid": "perf_event_paranoid",
}


def page(results: Results) -> dict[str, Any]:
    """Everything that the template names, in the order in which it stands on the page."""
    anchors = Anchors.of(results)
    measured = [row for workload in results.workloads for row in workload.rows if row.status == "ok"]
    total = sum(len(workload.rows) for workload in results.workloads)
    whole, apart = results.warnings_by_workload()
    workloads = [
        _workload(workload, anchors, results.run.level, apart[workload.workload])
        | {"open": len(results.workloads) <= MOST_OPEN}
        for workload in results.workloads
    ]
    return {
        "title": clean(results.run.name),
        "efficiency": any(row.efficiency for row in measured),
        "machine_name": said(results.machine.get("cpu")) or "Unknown machine",
        "figures": _figures(results, len(measured), total),
        "dateline": _dateline(results),
        "claims": claim_section(results, anchors),
        "stopped_by": clean(results.run.stopped_by or "") if results.run.finished_utc is None else "",
        "machine": facts(results.machine, skip=("cpu",)),
        "conditions": facts(results.conditions, skip=_TOLD_ELSEWHERE),
        "noise": _noise(results.conditions.get("noise")),
        "floor": _floor(results),
        "warnings": [commands(clean(warning)) for warning in whole],
        "problems": _problems(results, anchors),
        "problem_count": len(results.problems),
        "workloads": workloads,
        "topics": _topics(workloads, anchors),
        "case_count": total,
        "level": numbers.probability(results.run.level),
        "run": _run(results),
    }


def _topics(workloads: list[dict[str, Any]], anchors: Anchors) -> list[dict[str, Any]]:
    """Workloads by topic, for the page and its table of contents, in the run's order."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for workload in workloads:
        topics.setdefault(workload["topic"], []).append(workload)
    return [
        {
            "name": name,
            "id": anchors.topics[name],
            "count": several(len(those), "workload"),
            "workloads": those,
        }
        for name, those in topics.items()
    ]


def _dateline(results: Results) -> list[str]:
    run, machine = results.run, results.machine
    cpus = machine.get("cpus")
    return [
        item
        for item in (
            several(cpus, "CPU") if isinstance(cpus, int) else "",
            said(machine.get("os")),
            clean(run.started_utc)[:10],
            f"{clean(run.profile)} profile" if run.profile else "",
            f"toll {clean(run.toll_version)}",
        )
        if item
    ]


def _figures(results: Results, measured: int, total: int) -> list[dict[str, str]]:
    """The four or five numbers by which a reader judges a run before reading it."""
    run, floor = results.run, results.floor
    missing = total - measured
    return [
        {
            "label": "Floor",
            "value": numbers.percent(floor.ratio - 1) if floor.ratio is not None else "unknown",
            "note": "the smallest difference of programs like the canary that could be found"
            if floor.ratio is not None
            else clean(floor.reason) or "too few canary launches",
        },
        {
            "label": "Measured",
            "value": f"{measured:,}" + (f" of {total:,}" if missing else ""),
            "note": f"cases in {several(len(results.workloads), 'workload')}",
            "link": "missing" if results.problems else "",
            "linked": f"{len(results.problems):,} skipped or failed",
        },
        {"label": "Launches", "value": f"{run.launches:,}", "note": "fresh processes, in random order"},
        {
            "label": "Intervals",
            "value": numbers.probability(run.level),
            "note": "confidence, of every interval below",
            "link": "floor" if few_rounds_sentence(results) else "",
            "linked": "those of values within this run's conditions",
        },
        {"label": "Took", "value": numbers.duration(run.seconds), "note": _share_in_programs(results)},
    ]


def _share_in_programs(results: Results) -> str:
    inside = results.run.seconds_in_programs
    return f"{numbers.duration(inside)} of it in programs" if inside is not None else "wall time"


def facts(values: Mapping[str, Any], skip: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """A free mapping as labelled lines; what is unknown is left out."""
    found = []
    for key, value in values.items():
        lines = _lines(key, value)
        if key not in skip and lines:
            bare = key.removesuffix(_SIZE).removesuffix(_SHARE).removesuffix("_mhz")
            label = _LABELS.get(key) or humanise(bare)
            found.append({"label": label, "lines": lines, "wide": len(max(lines, key=len)) > 34})
    return found


def _lines(key: str, value: Any) -> list[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if key.endswith(_SIZE):
            return [numbers.size(value)]
        if key.endswith(_SHARE) or key.startswith("pressure"):
            return [numbers.percent(value)]
    if key == "caches" and isinstance(value, list):
        return [_cache(cache) for cache in value if isinstance(cache, Mapping)]
    if key.endswith("_mhz") and isinstance(value, Mapping):
        return [
            ", ".join(
                f"{clean(name)} {numbers.plain(mhz, 4)} MHz"
                for name, mhz in value.items()
                if isinstance(mhz, int | float)
            )
        ]
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return [_named(item) for item in value]
    return [line] if (line := said(value)) else []


def _named(item: Any) -> str:
    """A {name, version} by its version where that says the name already."""
    if isinstance(item, Mapping) and set(item) == {"name", "version"}:
        name, version = clean(item["name"]), clean(item["version"])
        return version if name.casefold() in version.casefold() else f"{name}: {version}"
    return said(item)


def _cache(cache: Mapping[str, Any]) -> str:
    kind = {"Data": "d", "Instruction": "i"}.get(str(cache.get("type")), "")
    held = cache.get("bytes")
    shown = numbers.size(held) if isinstance(held, int | float) else numbers.MISSING
    instances = cache.get("instances")
    return f"L{said(cache.get('level'))}{kind} {shown}" + (
        f" × {instances}" if instances not in (None, 1) else ""
    )


def _noise(noise: Any) -> list[dict[str, Any]]:
    if not isinstance(noise, list):
        return []
    return [
        {
            "name": humanise(str(item.get("name", ""))),
            "value": said(item.get("value")),
            "consequence": said(item.get("consequence")),
            "remedy": commands(said(item.get("remedy"))),
        }
        for item in noise
        if isinstance(item, Mapping)
    ]


def _floor(results: Results) -> dict[str, Any]:
    floor = results.floor
    return {
        "sentence": floor_sentence(floor),
        "few_rounds": few_rounds_sentence(results),
        "drift": numbers.ratio(floor.drift) if floor.drift is not None else "",
        "chart": bool(floor.canary_ns and floor.canary_at_s),
        "count": len(floor.canary_ns),
    }


def _problems(results: Results, anchors: Anchors) -> list[dict[str, Any]]:
    """Problems with one reason stand together: the reason once, its contenders beside it."""
    links = {clean(name): anchor for name, anchor in anchors.workloads.items()}
    groups = []
    for trouble in troubles(results):
        first, rest = headline(trouble.reason)
        groups.append(
            {
                "status": status_words(trouble.status),
                "kind": trouble.status if trouble.status in SET_ASIDE else "failed",
                "reason": commands(first),
                "rest": rest,
                "cases": [
                    {
                        "workload": one.workload,
                        "contender": one.contender,
                        "where": one.where,
                        "anchor": links.get(one.workload, ""),
                    }
                    for one in trouble.affected
                ],
            }
        )
    return groups


def _workload(
    workload: WorkloadResult, anchors: Anchors, level: float, warnings: Sequence[str]
) -> dict[str, Any]:
    naming = Naming.of(workload)
    within = naming.within(workload)
    scale = numbers.time_scale((row.value for row in workload.rows), workload.unit)
    told = answer(workload)
    return {
        "id": anchors.workload(workload),
        "name": clean(workload.workload),
        "topic": topic_of(workload),
        "short": clean(workload.workload).rpartition("/")[2],
        "question": clean(workload.question),
        "shared": within.common(" = "),
        "per": clean(workload.per),
        "unit": scale.unit,
        "answer": told,
        "without_answer": "" if told else without_answer(workload),
        "strip": interval_strip(workload),
        "bests": [_best(group, within, scale) for group in groups(workload) if group.best],
        "measured": sum(row.status == "ok" for row in workload.rows),
        "total": len(workload.rows),
        "table": table(workload, naming, anchors, level),
        "slopes": [
            {
                "heading": heading(slope),
                "parameter": clean(slope.parameter),
                "settings": [chart.setting for chart in slope.charts],
                "lines": len(slope.charts[0].lines),
                "metrics": [one.chart.title for one in metrics(workload, level, slope) if one.chart],
            }
            for slope in slopes(workload, naming)
        ],
        "percentiles": _percentiles(workload, within, anchors),
        "asides": below_table(workload, within),
        "warnings": [commands(clean(warning)) for warning in warnings],
        "warned": several(len(warnings), "warning"),
        "published": published_section(workload, naming),
        "grids": [
            {
                "title": title,
                "unit": clean(grid.unit),
                "cpus": len(grid.labels),
                "sentence": clean(grid.sentence),
                "ends": grids.ends(grid),
            }
            for grid, title in zip(workload.grids, grids.titles(workload.grids), strict=True)
        ],
        "busy": shows_busy(workload),
        "matrices": _matrices(workload, naming, anchors),
        "environments": _environments(workload),
        "footings": footings(workload, naming, anchors),
    }


def _best(group: Group, naming: Naming, scale: numbers.Scale) -> dict[str, str]:
    """The fastest of one setting, and how far behind its slowest row is."""
    slowest = max(numbers.finite(row.ratio for row in group.rows), default=None)
    return {
        "setting": group.setting,
        "name": naming.label(group.best) + group.unseen if group.best else "",
        "value": _value(group.best, scale),
        "slowest": numbers.ratio(slowest) if slowest is not None else numbers.MISSING,
    }


def shows_busy(workload: WorkloadResult) -> bool:
    """Whether wall and CPU time tell different stories: not where each operation is timed alone, whose CPU
    time holds the harness, nor where CPU time is what counts: they differ by what neighbours took then."""
    busy = numbers.finite(row.cpus_busy for row in workload.rows)
    if any("timed_by" in row.footing for row in workload.rows):
        return False
    return workload.kind == "batch" and len(busy) > 1 and (max(busy) > 1.1 or min(busy) < 0.9)


def _matrices(workload: WorkloadResult, naming: Naming, anchors: Anchors) -> list[dict[str, Any]]:
    return [
        {
            "setting": found.setting,
            "unit": found.unit,
            "environments": [
                {"name": name, "fastest": matrix.time(best, found) if best else numbers.MISSING}
                for at, name in enumerate(found.environments)
                for best in [found.fastest(at)]
            ],
            "lines": [
                {
                    "label": line.label,
                    "calls": line.calls(),
                    "cells": [_matrix_cell(row, line, workload, found, anchors) for row in line.rows],
                }
                for line in found.lines
            ],
            "counted": any(line.calls() != numbers.MISSING for line in found.lines),
        }
        for found in matrix.matrices(workload, naming)
    ]


def _environments(workload: WorkloadResult) -> dict[str, Any]:
    return {
        "against": environment_lines.against(workload),
        "meaning": environment_lines.MEANING,
        "lines": [asdict(line) for line in environment_lines.environment_lines(workload)],
    }


def _matrix_cell(
    row: Row | None, line: matrix.MatrixLine, workload: WorkloadResult, found: matrix.Matrix, anchors: Anchors
) -> dict[str, Any]:
    if row is None:
        return {"kind": "none"}
    link = anchors.row(workload, row)
    if row.status != "ok" or row.value is None:
        return {"kind": "broken", "text": status_words(row.status), "link": link}
    marks = ["fastest"] if row.environment_fastest else []
    marks += ["own"] if row is line.best() else []
    return {"kind": "time", "text": matrix.time(row, found), "ratio": matrix.ratio(row),
            "marks": " ".join(marks), "link": link}  # fmt: skip


def _value(row: Any, scale: numbers.Scale) -> str:
    return f"{numbers.quantity(scale.of(row.value), scale.of(row.low), scale.of(row.high))} {scale.unit}"


def _percentiles(workload: WorkloadResult, naming: Naming, anchors: Anchors) -> dict[str, Any]:
    entries = workload.latencies
    if not entries:
        return {}
    shown = [column for column in percentiles.columns(entries) if column.page]
    return {
        "unit": percentiles.scale_of(entries).unit,
        "note": percentiles.note(entries),
        "titles": [column.title for column in shown],
        "histograms": any(entry.histogram for entry in entries),
        "groups": [
            {
                "setting": setting,
                "rows": [
                    _percentile_row(entry, shown)
                    | {
                        "anchor": anchors.row(workload, entry),
                        "name": clean(entry.contender),
                        "qualifiers": naming.qualifiers(entry),
                    }
                    for entry in members
                ],
            }
            for setting, members in by_setting(workload, entries)
        ],
    }


def _percentile_row(entry: Latency, shown: Sequence[Column[Latency]]) -> dict[str, Any]:
    return {
        "cells": [
            {
                "title": column.title,
                "value": column.text(entry),
                "raw": "" if (raw := column.value(entry)) is None else f"{raw:.7g}",
                "interval": column.interval(entry),
                # Of p99 alone: all of them would have no room in the page of the whole catalogue (5 MB).
                "ratio": column.below.with_unit(entry) if column.below and column.key == "p99" else "",
            }
            for column in shown
        ],
        "count": f"{entry.count:,}",
        "launches": f"{entry.launches:,}",
    }


def _run(results: Results) -> list[dict[str, str]]:
    run = results.run
    pairs = [
        ("Run", run.name),
        ("Command", run.command_line),
        ("toll", run.toll_version),
        ("Profile", run.profile),
        ("Asked precision", f"ratio's interval within {numbers.percent(run.precision)}"),
        ("Seed", run.seed),
        ("Started", instant(run.started_utc)),
        ("Finished", instant(run.finished_utc or "") or "not finished"),
        ("Stopped by", run.stopped_by or ""),
        ("Identity", run.uuid),
    ]
    return [{"label": label, "value": clean(value)} for label, value in pairs if value != ""]
