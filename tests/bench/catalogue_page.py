"""How large the page of the whole catalogue is, and how long a browser takes to open it.

    .venv/bin/python tests/bench/catalogue_page.py [--cpus 2] [--launches 12] [--opened 5] [--keep FILE.html]

Plans what `toll run '*' --profile standard` plans on so many CPUs, draws launches for every case, renders the
page, and opens it in headless Chromium, each time in a fresh profile: until the load event, and until the
first workload, opened at once, shows its table. Prints medians beside the bars (5 MB, 2 s); exits 1 where
one is missed. Needs the packages of the test lock and Debian's chromium.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("python", "tests/python/analysis", "tests/python/report", "tests/python/browser")
sys.path[:0] = [str(ROOT / place) for place in PLACES]

MEGABYTES, SECONDS = 5.0, 2.0
OPENED, CPUS, LAUNCHES = 5, 2, 12

# Runs before the page's own scripts. Two frames after the first workload's table can be sorted, what was
# opened has been laid out and painted.
_WATCH = """
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".fold").open = true;
  const look = () => requestAnimationFrame(() => {
    const table = document.querySelector("table.values");
    if (!table.offsetHeight || !table.querySelector("th button")) return look();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.usableMs = performance.now(); }));
  });
  look();
});
"""
_LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
_READY = f"() => window.usableMs > 0 && ({_LOADED})() > 0"


def opened(page: Path, times: int = OPENED) -> list[tuple[float, float]]:
    """Seconds from the navigation to the load event and to the first usable table, so often."""
    import screenshot

    found = []
    with screenshot.browser() as chromium:
        for _ in range(times):
            context = chromium.new_context(viewport={"width": 1280, "height": 900})
            context.add_init_script(_WATCH)
            tab = context.new_page()
            tab.goto(page.resolve().as_uri())
            tab.wait_for_function(_READY, timeout=120_000)
            loaded_ms, usable_ms = tab.evaluate(f"() => [({_LOADED})(), window.usableMs]")
            found.append((loaded_ms / 1e3, usable_ms / 1e3))
            context.close()
    return found


def figures(cpus: int, launches: int, times: int, keep: Path | None = None) -> Iterator[tuple[Any, ...]]:
    """(what, value, unit, bar) in the order in which they are known."""
    import catalogue_run

    from tollbench.report import html

    plan = catalogue_run.catalogue_plan(cpus)
    with tempfile.TemporaryDirectory() as folder:
        run = catalogue_run.make_catalogue_run(Path(folder) / "all.toll", plan, cpus, launches)
        yield "cases of the whole catalogue, all measured", float(len(plan.cases)), "", None
        began = time.perf_counter()
        results = catalogue_run.results_of(run)
        yield "analysis of them", time.perf_counter() - began, "s", None
        began = time.perf_counter()
        written = html.render(results).encode()
        yield "making their page", time.perf_counter() - began, "s", None
        yield "the page", len(written) / 1e6, "MB", MEGABYTES
        page = keep or Path(folder) / "all.html"
        page.write_bytes(written)
        seconds = opened(page, times)
    yield f"to its load event, median of {times}", statistics.median(one for one, _ in seconds), "s", SECONDS
    usable = [one for _, one in seconds]
    yield f"to its first usable table, median of {times}", statistics.median(usable), "s", SECONDS
    yield "the same, the longest", max(usable), "s", None


def main() -> int:
    """Prints the figures beside their bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpus", type=int, default=CPUS, help="of the machine that the run is planned for")
    parser.add_argument("--launches", type=int, default=LAUNCHES, help="of each case")
    parser.add_argument("--opened", type=int, default=OPENED, help="how often the page is opened")
    parser.add_argument("--keep", type=Path, help="write the page here")
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.2f} on {len(os.sched_getaffinity(0))} CPUs")
    missed = 0
    for what, value, unit, bar in figures(asked.cpus, asked.launches, asked.opened, asked.keep):
        verdict = "" if bar is None else f"{bar:g}  {'met' if value <= bar else 'MISSED'}"
        missed += bar is not None and value > bar
        print(f"{what:46} {value:9.4g} {unit:3} {verdict}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
