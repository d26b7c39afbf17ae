"""Kinds whose launch writes a report: pyperf, pytest-benchmark, JMH, Folly, Seastar. A stand-in of each."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
from pathlib import Path

import pytest
from foreign_kinds import executable

from tollbench.compare import (
    Comparison,
    ComparisonSettings,
    MeasuringOptions,
    Verdict,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)
from tollbench.compare.adapters.pyperf import Pyperf
from tollbench.compare.subject import Side
from tollbench.interpreters import interpreter_with_path

HEAD = r"""#!/usr/bin/env -S python3 -ES
# MARK
import json, random, re, sys
# SEEDED
given = sys.argv[1:]
words = dict(word.partition("=")[::2] for word in given if not word.startswith("-"))
options = dict(word.lstrip("-").partition("=")[::2] for word in given if word.startswith("-"))
def after(*options):
    return next((given[given.index(option) + 1] for option in options if option in given), "")
def ns(truth):
    return truth * float(words.get("slow", 1)) * random.gauss(1.0, 0.004)
def written(path, found):
    if "silent" in words:
        return
    with open(path, "w") as file:
        file.write("twisted" if "twisted" in words else json.dumps(found))
if "crash" in words:
    sys.exit("no such table")
"""

PYPERF = r"""
assert options["processes"] == "1" and "quiet" in options
assert "LD_PRELOAD,GLIBC_TUNABLES,TOLL_PADDING" in options["inherit-environ"]
count = int(options["values"])
def benchmark(name, seconds, **more):
    values = [ns(seconds) for _ in range(count)]
    return {"metadata": {"name": name, **more}, "runs": [{"warmups": [[1, 1]]}, {"values": values}]}
found = [benchmark("sum list", 1e-7), benchmark("größe", 2e-3), benchmark("memory", 1e6, unit="byte")]
written(after("-o"), {"metadata": {"python": "3"}, "benchmarks": found})
"""

PYTEST = r"""
assert "benchmark-only" in options and "-p" not in given
assert after("-o") == "cache_dir=" + options["benchmark-json"].replace("report.json", "cache")
found = [{"fullname": "test_b.py::test_sum[größe]", "stats": {"median": ns(1e-7)}}]
print("1 passed")
written(options["benchmark-json"], {"benchmarks": found})
"""

JMH = r"""
assert after("-bm") == "avgt" and after("-f") == "1"
chosen = given[given.index("50ms") + 1] if "50ms" in given else ""
wanted = after("-p")
found = []
all_of_it = ("a.B.sum", {"n": "10"}, 100.0), ("a.B.sum", {"n": "20"}, 200.0), ("a.B.sum2", None, 5.0)
for method, parameters, truth in all_of_it:
    if not re.search(chosen, method) or (wanted and parameters and wanted != f"n={parameters['n']}"):
        continue
    raw = [[ns(truth) for _ in range(int(after("-i")))]]
    one = {"benchmark": method, "primaryMetric": {"scoreUnit": "ns/op", "rawData": raw}}
    found.append({**one, "params": parameters} if parameters else one)
print("# JMH version: 1.37")
written(after("-rff"), found)
"""

FOLLY = r"""
if any(word.startswith("--helpmatch") for word in given):
    print("-bm_max_secs (...)" if "old" in words else "-bm_max_trials (...)")
    print("-bm_mode (...)" if "newest" in words else "")
    sys.exit(1)
if "old" in words and "bm_max_trials" in options:
    sys.exit("ERROR: unknown command line flag 'bm_max_trials'")
if "newest" in words and options.get("bm_mode") != "best-of":
    sys.exit("it measures in a way of its own choice")
if "newest" not in words and "bm_mode" in options:
    sys.exit("ERROR: unknown command line flag 'bm_mode'")
names = {"sum(10)": 100e3, "%relative": 50e3, "-": 0}
chosen = options.get("bm_regex", "")
if "twisted" in words:
    print("I0101 no benchmark")
else:
    print("I0101 a line of a log")
    print(json.dumps({name: ns(ps) for name, ps in names.items() if re.search(chosen, name)}, indent=2))
"""

SEASTAR = r"""
assert "no-stdout" in options
chosen = after("--test")
medians = {"group.sum": 100.0, "group.sum2": 7.0}
found = {name: {"median": ns(median)} for name, median in medians.items() if re.search(chosen, name)}
written(after("--json-output"), {"results": found})
"""

# kind -> what tells it, its stand-in, benchmarks with their ns an operation
KINDS: dict[str, tuple[str, str, dict[str, float]]] = {
    "pyperf": ("import pyperf", PYPERF, {"sum list": 100.0, "größe": 2e6}),
    "pytest-benchmark": ("", PYTEST, {"test_b.py::test_sum[größe]": 100.0}),
    "jmh": ("META-INF/BenchmarkList", JMH, {"a.B.sum: n=10": 100.0, "a.B.sum: n=20": 200.0, "a.B.sum2": 5.0}),
    "folly": ("bm_min_usec", FOLLY, {"sum(10)": 100.0, "relative": 50.0}),
    "seastar": ("mad-columns", SEASTAR, {"group.sum": 100.0, "group.sum2": 7.0}),
}


def stand_in(folder: Path, kind: str) -> str:
    mark, body, _ = KINDS[kind]
    return executable(folder / "bench", HEAD.replace("MARK", mark) + body)


def compared(kind: str, *texts: str, folder: Path | None = None, rounds: int = 9) -> dict[str, Comparison]:
    asked = "auto" if KINDS[kind][0] else kind
    found_kind, sides = resolve([WrittenSide(text, folder=folder) for text in texts], asked)
    assert found_kind == kind
    subject = subject_of(kind, sides, MeasuringOptions(60.0))
    found = compare(subject, ComparisonSettings(seed=5, most_rounds=rounds, corrected=False))
    return {item.benchmark: item for item in found.comparisons}


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_down_is_found_in_every_benchmark(kind: str, tmp_path: Path) -> None:
    side = stand_in(tmp_path, kind)
    found = compared(kind, side, f"{side} slow=1.05")
    truth = KINDS[kind][2]
    assert {name: item.a_ns for name, item in found.items()} == pytest.approx(truth, rel=0.02)
    assert {item.verdict for item in found.values()} == {Verdict.SLOWER}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("word", ["crash", "silent", "twisted"])
def test_a_side_without_a_report_is_a_failed_row(kind: str, word: str, tmp_path: Path) -> None:
    if (kind, word) == ("folly", "silent"):
        pytest.skip("Folly's report is its standard output")
    side = stand_in(tmp_path, kind)
    (item,) = compared(kind, side, f"{side} {word}", rounds=2).values()
    assert item.verdict is Verdict.FAILED
    reason = (
        "exited with code 1; its last words: no such table" if word == "crash" else "reported nothing that"
    )
    assert reason in item.reason


@pytest.mark.parametrize(("older", "newer"), [("old", ""), ("newest", ""), ("newest", "newest")])
def test_a_folly_is_told_what_it_knows(tmp_path: Path, older: str, newer: str) -> None:
    """The first did not know a number of trials; the newest have several ways to measure."""
    side = stand_in(tmp_path, "folly")
    found = compared("folly", f"{side} {older}", f"{side} {newer} slow=1.05")
    assert {item.verdict for item in found.values()} == {Verdict.SLOWER}


def test_a_file_that_an_interpreter_runs_tells_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "b.jar").write_bytes(b"PK..META-INF/BenchmarkList")
    (tmp_path / "b.py").write_text("import pyperf\n")
    (tmp_path / "other.py").write_text("print(1)\n")
    names = {"java -jar b.jar": "jmh", "python3 -X dev b.py": "pyperf", "python3 other.py": "command"}
    if shutil.which("java") is None:
        del names["java -jar b.jar"]
    for text, kind in names.items():
        found, sides = resolve([WrittenSide(text, base=tmp_path)] * 2)
        assert (found, sides[0].folder) == (kind, tmp_path)


def test_a_file_that_an_interpreter_runs_is_looked_for_where_it_runs(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("print(1)\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.py").write_text("import pyperf\n")
    sides = [WrittenSide("python3 b.py", base=tmp_path, folder=tmp_path / "inner")] * 2
    assert resolve(sides)[0] == "pyperf"


@pytest.mark.parametrize(
    ("words", "more"), [("", ""), (" --inherit-environ=A,B", ",A,B"), (" --inherit-environ A", ",A")]
)
def test_processes_of_pyperf_have_the_variables_that_toll_sets(words: str, more: str) -> None:
    side = Side("x", tuple(f"python3 b.py{words}".split()))
    pyperf = Pyperf([side], MeasuringOptions(60.0))
    told = f"--inherit-environ=LD_PRELOAD,GLIBC_TUNABLES,TOLL_PADDING{more}"
    assert list(pyperf.told_besides(side)) == [told]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pyperf") is None, reason="pyperf is not installed")
def test_a_real_pyperf_script(tmp_path: Path) -> None:
    for name, size in (("old", 1000), ("new", 3000)):
        (tmp_path / f"{name}.py").write_text(
            f"import pyperf\npyperf.Runner().bench_func('sum list', sum, list(range({size})))\n"
        )
    sides = [shlex.join(interpreter_with_path(str(tmp_path / f"{name}.py"))) for name in ("old", "new")]
    found = compared("pyperf", *sides, rounds=7)
    assert found["sum list"].ratio == pytest.approx(3.0, rel=0.3)
