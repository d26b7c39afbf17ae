"""Go test binaries: a stand-in for everything that one may print, and a real one where Go is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from foreign_kinds import compared_as, executable, rows

from tollbench.compare import (
    MeasuringOptions,
    Side,
    Verdict,
)
from tollbench.compare.adapters.go_test import GoTest, allocates, failing_in, skipped_in

# Its bytes hold what tells a Go test binary. Sub-benchmarks, GOMAXPROCS behind names, one that is skipped.
FAKE = r"""#!/usr/bin/env -S python3 -ES
# test.benchtime
import os, random, re, sys
# SEEDED
NAMES = "BenchmarkSum,BenchmarkSub/x-2,BenchmarkSkip"
given = [word for at, word in enumerate(sys.argv[1:]) if sys.argv[at] != "-test.bench"]
words = dict(word.partition("=")[::2] for word in given if not word.startswith("-test"))
options = dict(word[6:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("-test"))
if "list" in options:
    tops = dict.fromkeys(name.split("/")[0] for name in words.get("only", NAMES).split(","))
    print("\n".join(name for name in tops if re.search(options["list"], name)))
    sys.exit()
pattern = [word for at, word in enumerate(sys.argv[1:]) if sys.argv[at] == "-test.bench"][-1]
if "log" in words:
    with open(words["log"], "a") as log:
        print(options["benchtime"], options["count"], os.environ.get("GODEBUG", ""), file=log)
suffixes = words.get("procs", "-2").split(",")
suffix = suffixes[0]
verbose = "v" in options
print("goos: linux\npkg: example")
failed = False
for name in words.get("only", NAMES).split(","):
    levels = zip(pattern.split("/"), name.split("/"))
    if pattern != "." and not all(re.search(want, level) for want, level in levels):
        continue
    if words.get("crash") == name and options["count"] != "1":
        sys.exit("panic: index out of range [recovered]")
    if verbose:
        print(name)
    if name == "BenchmarkSkip":
        print("    b_test.go:9: no /usr/share/dict/words\n--- SKIP: BenchmarkSkip")
        continue
    if words.get("broken") == name:
        print(f"--- FAIL: {name}\n    b_test.go:7: no test data")
        failed = True
        continue
    if words.get("panics") == name:
        sys.exit("panic: no test data")
    if "talks" in words and not verbose:
        print(f"{name}{suffix}         \tsome words")
        continue
    length = options["benchtime"]
    count = int(length[:-1]) if length.endswith("x") else 20000
    if "collects" in words and "gctrace=1" in os.environ.get("GODEBUG", ""):
        begun = [1, count] if count > 1 else [1]  # as Go does
        done = 0
        for number in begun:  # each collects twice while it prepares itself, and once as it is asked to
            own = done + 2 + number // int(words["collects"])
            for done in range(done + 1, own + 1):
                print(f"gc {done} @0.01s 2%: 0.1 ms clock, 4->4->0 MB, 2 P", file=sys.stderr)
            done += 1
            print(f"gc {done} @0.01s 2%: 0.1 ms clock, 4->4->0 MB, 2 P (forced)", file=sys.stderr)
    for suffix in [suffix for suffix in suffixes for _ in range(int(options["count"]))]:
        ns = float(words.get('ns', 100)) * float(words.get("slow", 1)) * random.gauss(1.0, 0.004)
        unit = "B/op" if words.get("custom") == name and options["count"] != "1" else "ns/op"
        print(f"{name}{suffix}         \t{count}\t      {ns:.3f} {unit}\t      {words.get('bytes', 16)} B/op")
print("FAIL" if failed else "PASS")
sys.exit(failed)
"""


compared = partial(compared_as, "go-test")


@pytest.fixture
def fake(tmp_path: Path) -> str:
    return executable(tmp_path / "b.test", FAKE)


@pytest.mark.parametrize("procs", ["-2", ""])
def test_a_slow_down_is_found_in_benchmarks_and_sub_benchmarks(fake: str, procs: str) -> None:
    found = rows(compared(f"{fake} procs={procs}", f"{fake} procs={procs} slow=1.05"))
    assert list(found) == ["BenchmarkSum", "BenchmarkSub/x-2"]  # what was skipped has no result
    for item in found.values():
        assert (item.verdict, item.regression) == (Verdict.SLOWER, True)
        assert item.ratio == pytest.approx(1.05, abs=0.01)
        assert item.a_ns == pytest.approx(100.0, rel=0.02)


@pytest.mark.parametrize(
    ("words", "iterations", "repetitions"),
    [
        ("bytes=0 collects=10000", 2**12, 7),  # 0.3 ms of 100 ns
        ("", 2**12, 7),  # no collection in 50 ms
        ("collects=500", 2**12, 7),  # many in each
        ("collects=20000", 84261, 3),  # 7 in 2^17 iterations, of 2^18 that take 26 ms
        ("collects=100000", 2**18, 3),  # 1 in 2^17, 5 in 2^19: 2.5 times as long
        ("collects=700000", 2**20, 1),  # 1 in 2^19
    ],
)
def test_where_go_collects_a_repetition_spans_several_collections(
    fake: str, tmp_path: Path, words: str, iterations: int, repetitions: int
) -> None:
    sides = [f"{fake} only=BenchmarkSum log={tmp_path}/{name} {words}" for name in "ab"]
    found = rows(compared(*sides, most_rounds=3))
    asked = [line.split(" ") for line in (tmp_path / "b").read_text().splitlines()]
    assert asked[-1] == [f"{iterations}x", str(repetitions), ""]
    traced = [line for line in (tmp_path / "a").read_text().splitlines() if "gctrace" in line]
    looks = [] if "bytes=0" in words else [2**18, 2**17]
    looks += [2**20, 2**19] if iterations in (2**18, 2**20) or not words else []
    assert traced == [f"{count}x 1 gctrace=1" for count in looks]
    told = f"Go collected no garbage in {2**19} iterations of "
    assert found["BenchmarkSum"].reason.count(told) == (0 if words else 2)  # of each side


@pytest.mark.parametrize(
    ("a", "b", "iterations", "without"),
    [
        # As many as the side with the rarer collections needs; each is looked at by its own speed.
        ("collects=2000", "collects=20000", 84261, None),
        ("collects=20000", "bytes=0", 84261, None),
        ("bytes=1000", "collects=20000", 84261, 0),
        ("collects=20000", "collects=20000 ns=5000", 2**14, 1),  # 0.1 s of b, which collects once in as long
        ("collects=20000 ns=5000", "collects=20000", 2**14, 0),  # and the same where it is named first
        ("bytes=0", "bytes=0 ns=5000", 2**12, None),  # 0.3 ms of the quickest one
        ("bytes=0 ns=5000", "bytes=0", 2**12, None),
        ("ns=1e8 collects=1", "ns=1e8 collects=1", 1, None),  # no two lengths to compare: nothing to say
        ("ns=3e7 collects=3", "ns=3e7 collects=3", 4, None),
    ],
)
def test_each_sides_collections_are_looked_at(
    fake: str, tmp_path: Path, a: str, b: str, iterations: int, without: int | None
) -> None:
    sides = [f"{fake} only=BenchmarkSum log={tmp_path}/log {words}" for words in (a, b)]
    reason = rows(compared(*sides, most_rounds=3))["BenchmarkSum"].reason
    asked = (tmp_path / "log").read_text().splitlines()[-1]
    assert asked.startswith(f"{iterations}x ")
    assert ("Go collected no garbage" in reason) == (without is not None)
    if without is not None:
        assert f"iterations of {sides[without]}: their time has none" in reason


def test_only_what_matches_is_compared(fake: str) -> None:
    assert list(rows(compared(fake, fake, pattern="x-", most_rounds=2))) == ["BenchmarkSub/x-2"]


@pytest.mark.parametrize("failing", ["", " broken=BenchmarkSum"])
@pytest.mark.parametrize(
    ("own", "found"), [("Sum$", ["BenchmarkSum"]), ("Sub|Skip", ["BenchmarkSub/x-2"]), (".", None)]
)
def test_a_side_may_choose_among_its_benchmarks(
    fake: str, own: str, found: list[str] | None, failing: str
) -> None:
    side = f"{fake}{failing} -test.bench '{own}'"
    everything = ["BenchmarkSum", "BenchmarkSub/x-2"]
    assert list(rows(compared(side, side, most_rounds=2))) == (everything if found is None else found)


def test_numbers_of_processors_are_no_repetitions(fake: str) -> None:
    item = rows(compared(fake, f"{fake} procs=,-4"))["BenchmarkSum"]
    assert item.verdict is Verdict.FAILED
    told = "ran BenchmarkSum with several numbers of processors (BenchmarkSum and BenchmarkSum-4)"
    assert told in item.reason


def test_what_a_benchmark_prints_does_not_hide_its_result(fake: str) -> None:
    found = rows(compared(f"{fake} talks", f"{fake} talks slow=1.05"))
    assert {item.verdict for item in found.values()} == {Verdict.SLOWER}


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("crash=BenchmarkSum", "exited with code 1; its last words: panic: index out of range"),
        ("custom=BenchmarkSum", "gave no result in ns/op for BenchmarkSum"),
    ],
)
def test_a_side_that_fails_costs_its_own_row(fake: str, word: str, reason: str) -> None:
    found = rows(compared(fake, f"{fake} {word}"))
    assert found["BenchmarkSum"].verdict is Verdict.FAILED
    assert reason in found["BenchmarkSum"].reason
    assert found["BenchmarkSub/x-2"].verdict is Verdict.NO_DIFFERENCE


@pytest.mark.parametrize("how", ["broken", "panics"])
def test_one_that_fails_before_it_is_timed_costs_its_own_row(fake: str, how: str) -> None:
    side = f"{fake} {how}=BenchmarkSum"
    found = rows(compared(side, side, most_rounds=6))
    assert list(found) == ["BenchmarkSum", "BenchmarkSub/x-2"]
    assert found["BenchmarkSum"].verdict is Verdict.FAILED
    assert "exited with code 1; its last words:" in found["BenchmarkSum"].reason
    assert found["BenchmarkSub/x-2"].verdict is not Verdict.FAILED
    assert list(rows(compared(side, side, pattern="x-", most_rounds=2))) == ["BenchmarkSub/x-2"]


def test_who_fails_is_told_from_who_was_skipped_and_from_groups() -> None:
    text = """BenchmarkGroup
BenchmarkGroup/good
BenchmarkGroup/good-2   1   50.0 ns/op
BenchmarkGroup/later
    --- SKIP: BenchmarkGroup/later
BenchmarkGroup/bad
    --- FAIL: BenchmarkGroup/bad
--- FAIL: BenchmarkGroup
"""
    assert failing_in(text, "BenchmarkGroup") == ["BenchmarkGroup/bad"]
    assert failing_in("panic: early", "BenchmarkEarly") == ["BenchmarkEarly"]


def test_without_a_benchmark_there_is_one_failed_row(fake: str) -> None:
    (item,) = compared(fake, f"{fake} only=None").comparisons
    assert (item.benchmark, item.verdict) == ("*", Verdict.FAILED)
    assert "offers no benchmark" in item.reason


def test_where_all_that_match_were_skipped_it_is_told_why(fake: str) -> None:
    (item,) = compared(fake, fake, pattern="Skip").comparisons
    assert (item.benchmark, item.verdict) == ("*", Verdict.FAILED)
    assert "skips BenchmarkSkip: b_test.go:9: no /usr/share/dict/words" in item.reason


def test_why_is_read_before_and_behind() -> None:
    text = """BenchmarkA
    b_test.go:1: no file
--- SKIP: BenchmarkA
BenchmarkB
--- SKIP: BenchmarkB
    b_test.go:2: no network
BenchmarkC
--- SKIP: BenchmarkC
BenchmarkD
"""
    found = {"BenchmarkA": "b_test.go:1: no file", "BenchmarkB": "b_test.go:2: no network", "BenchmarkC": ""}
    assert skipped_in(text) == found


def test_what_allocates_does_so_in_each_repetition() -> None:
    lines = "BenchmarkA-2 {} 61 ns/op {} B/op 0 allocs/op\n"
    other = "BenchmarkB-2 9 61 ns/op 16 B/op\n"
    # Go's runtime allocated 9 kB while a repetition that a neighbour cut short ran 100 times.
    cut_short = [lines.format(100, 93), lines.format(32768, 0), lines.format(32768, 0)]
    assert not allocates(other + "".join(cut_short), "BenchmarkA")
    assert allocates("".join(lines.format(100, 16) for _ in range(3)), "BenchmarkA")
    assert not allocates("BenchmarkA-2 100 61 ns/op\n", "BenchmarkA")


REAL = """package example
import ("fmt"; "testing")
var sink int
func work(b *testing.B, n int) { for i := 0; i < b.N; i++ { for j := 0; j < n; j++ { sink += j ^ i } } }
func BenchmarkSum(b *testing.B) { work(b, SIZE) }
var kept [][]byte
func BenchmarkAllocate(b *testing.B) {
	for len(kept) < 8000 { kept = append(kept, make([]byte, 1000)) }
	b.ResetTimer()
	for i := 0; i < b.N; i++ { kept[i % 100] = make([]byte, 1000) }
}
func BenchmarkSub(b *testing.B) { b.Run("with space/2-2", func(b *testing.B) { work(b, 1000) }) }
func BenchmarkTalk(b *testing.B) { fmt.Println("some words"); work(b, 1000) }
func TestNothing(t *testing.T) { t.Fatal("tests do not run") }
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed: toll setup --languages")
def test_a_real_test_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("old", "1000"), ("new", "3000")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "go.mod").write_text("module example\n\ngo 1.19\n")
        (folder / "b_test.go").write_text(REAL.replace("SIZE", size))
        subprocess.run(
            ["go", "test", "-c", "-vet=off", "-o", tmp_path / f"{name}.test", "."],
            cwd=folder,
            env={**os.environ, "GOFLAGS": "-mod=mod"},
            check=True,
        )
    sides = (f"{tmp_path}/old.test", f"{tmp_path}/new.test")
    found = rows(compared(*sides, most_rounds=10))
    names = ["BenchmarkSum", "BenchmarkAllocate", "BenchmarkSub/with_space/2-2", "BenchmarkTalk"]
    assert list(found) == names
    assert found["BenchmarkTalk"].verdict is not Verdict.FAILED, found["BenchmarkTalk"].reason
    # Rounds as users have them: where a neighbour lasts, forty were now and then too few for a threefold one.
    slower = rows(compared(*sides, pattern="Sum", most_rounds=400))["BenchmarkSum"]
    assert slower.verdict is Verdict.SLOWER, slower.reason
    assert slower.ratio == pytest.approx(3.0, rel=0.3)
    # Go collects again once as much is allocated as was alive, here 8 MB: a repetition has two such cycles.
    side = Side("a", (f"{tmp_path}/old.test",))
    adapter = GoTest([side, replace(side, label="b")], MeasuringOptions(60.0))
    assert adapter.survey().common == tuple(names)
    traced: list[str] = []
    look = GoTest._collections

    def looked(self: GoTest, side: Side, name: str, iterations: int) -> int:
        traced.append(name)
        return look(self, side, name, iterations)

    monkeypatch.setattr(GoTest, "_collections", looked)
    assert adapter.prepare("BenchmarkAllocate") == adapter.prepare("BenchmarkSum") == {}
    assert set(traced) == {"BenchmarkAllocate"}
    work = vars(adapter)["_work"]
    assert work["BenchmarkAllocate"][0] * 1000 > 2 * 8e6
    # This one has repetitions of 0.3 ms, by its speed alone: 1000 additions take over 50 ns.
    assert work["BenchmarkSum"][0] < 2**13
