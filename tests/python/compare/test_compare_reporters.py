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
known = ("slow", "silent", "twisted", "crash", "log", "has", "ends", "unlisted", "unheard")
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
chosen, values, pending = [], {}, ""
for word in given:
    if pending == "-p":
        values.update([word.split("=", 1)])
    elif not pending and word[0] != "-" and word.partition("=")[0] not in (*known, "b.jar"):
        chosen.append(word)
    pending = word if not pending and word.startswith("-") and word not in ("-lp", "-jar") else ""
if "log" in words:
    with open(words["log"], "a") as log:
        print(*chosen, file=log)
listed = {"a.B.sum": ["10", "20"], "a.B.sum2": None, "a.C.pair": ["1,2", "3"], "a.D.throws": ["1", "2"]}
listed = {name: of for name, of in listed.items() if name in words.get("has", "a.B.sum,a.B.sum2").split(",")}
listed = {name: of for name, of in listed.items() if any(re.search(one, name) for one in chosen or [""])}
if "-lp" in given:
    if "unheard" in words:
        sys.exit("lp is not a recognized option")
    print("" if "unlisted" in words else "a line of the jar's own\nBenchmarks: ")
    for method, of in [] if "unlisted" in words else [*listed.items()] * 2:  # as of a class with two modes
        print(method)
        if of:
            print('  param "n" = {' + ", ".join(of) + '}\n  param "a" = {x}')
    sys.exit()
assert after("-bm") == "avgt" and after("-f") == "1"
found = []
for method, of in listed.items():
    for value in of or [None]:
        if value and "n" in values and value not in values["n"].split(","):
            continue
        if method == "a.D.throws" and value == "2":
            if after("-foe") == "true" or "ends" in words:
                sys.exit("Benchmark had encountered error, and fail on error was requested")
            continue
        truth = {"10": 100.0, "20": 200.0, "1,2": 12.0, "3": 3.0, "1": 1.0, None: 5.0}[value]
        raw = [[ns(truth) for _ in range(int(after("-i")))]]
        one = {"benchmark": method, "primaryMetric": {"scoreUnit": "ns/op", "rawData": raw}}
        found.append({**one, "params": {"a": "x", "n": value}} if value else one)
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
    "jmh": (
        "META-INF/BenchmarkList",
        JMH,
        {"a.B.sum: a=x, n=10": 100.0, "a.B.sum: a=x, n=20": 200.0, "a.B.sum2": 5.0},
    ),
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


def jmh(folder: Path, *texts: str, pattern: str = "", rounds: int = 2) -> dict[str, Comparison]:
    """Of `java -jar b.jar` with words around it: where options of Java stand, the stand-in's own."""
    mark, body, _ = KINDS["jmh"]
    executable(folder / "java", HEAD.replace("MARK", mark) + body)
    (folder / "b.jar").write_bytes(b"PK..META-INF/BenchmarkList")
    sides = [WrittenSide(f"./java {text.replace('|', '-jar b.jar')}", base=folder) for text in texts]
    kind, found = resolve(sides)
    assert kind == "jmh"
    subject = subject_of(kind, found, MeasuringOptions(60.0, pattern=pattern))
    compared = compare(subject, ComparisonSettings(seed=5, most_rounds=rounds))
    return {item.benchmark: item for item in compared.comparisons}


def failed(found: dict[str, Comparison]) -> list[str]:
    return [name for name, item in found.items() if item.verdict is Verdict.FAILED]


def test_only_what_is_wanted_of_a_jar_is_tried(tmp_path: Path) -> None:
    words = f"log={tmp_path / 'log'} has=a.B.sum,a.B.sum2,a.C.pair | sum -e x"
    assert list(jmh(tmp_path, words, f"{words} -gc true", pattern="a=x, n=2|pair")) == ["a.B.sum: a=x, n=20"]
    assert (tmp_path / "log").read_text().splitlines()[0] == "sum"  # the side's own choice, for the list
    assert set((tmp_path / "log").read_text().splitlines()[1:]) == {"sum", r"^a\.B\.sum$"}


@pytest.mark.parametrize("ends", ["", " ends"])
def test_one_that_throws_costs_its_own_rows_alone(tmp_path: Path, ends: str) -> None:
    side = f"has=a.B.sum2,a.D.throws{ends} |"
    found = jmh(tmp_path, side, side)
    assert not failed({name: item for name, item in found.items() if "throws" not in name})
    thrown = "a.D.throws: a=x, n=2"
    assert sorted(found) == ["a.B.sum2", "a.D.throws: a=x, n=1", thrown]
    assert failed(found) == (["a.D.throws: a=x, n=1", thrown] if ends else [thrown])
    assert "gives no result for it, as benchmarks do that throw" in found[thrown].reason


@pytest.mark.parametrize("words", ["unlisted", "unheard"])
def test_a_jar_that_lists_nothing_is_tried_as_a_whole(tmp_path: Path, words: str) -> None:
    """Its list goes elsewhere, or JMH is older than the option."""
    found = jmh(tmp_path, f"{words} |", f"{words} |", pattern="n=2|sum2")
    assert list(found) == ["a.B.sum: a=x, n=20", "a.B.sum2"]
    assert not failed(found)


def test_a_comma_in_a_parameter_is_a_part_of_its_value(tmp_path: Path) -> None:
    found = jmh(tmp_path, "has=a.C.pair |", "has=a.C.pair slow=2 |", rounds=9)
    assert list(found) == ["a.C.pair: a=x, n=1,2", "a.C.pair: a=x, n=3"]
    assert [item.verdict for item in found.values()] == [Verdict.SLOWER] * 2
    assert found["a.C.pair: a=x, n=1,2"].a_ns == pytest.approx(12.0, rel=0.05)


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
