"""Criterion.rs executables: a stand-in for versions 0.3 to 0.8, and a real one where Rust is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from foreign_kinds import compared_as, executable, rows

from tollbench.compare import MeasuringOptions, Verdict
from tollbench.compare.adapters.criterion import Criterion, _written
from tollbench.compare.subject import Side
from tollbench.launching.failure import LaunchFailed

# Its bytes hold what tells a Criterion executable. Words of its own stand before the options.
FAKE = r"""#!/usr/bin/env -S python3 -ES
# This executable is a Criterion.rs benchmark.
import json, os, pathlib, random, re, sys
# SEEDED
known = ("version", "slow", "crash", "without", "twisted", "only", "log")
words = dict(word.partition("=")[::2] for word in sys.argv[1:] if word.partition("=")[0] in known)
given = sys.argv[1:]
old = words.get("version") == "0.3.0"
patterns = words.get("version") == "0.4"
print("Gnuplot not found, using plotters backend", file=sys.stderr)
if "--help" in given:
    print("Criterion Benchmark" + ("" if old or patterns else "\n    --exact"))
    sys.exit()
if "--bench" not in given:
    sys.exit("timed nothing: a test")
for option in ("--warm-up-time", "--measurement-time"):
    if old and option in given and "." in given[given.index(option) + 1]:
        sys.exit(f"error: Invalid value: The argument '{given[given.index(option) + 1]}' isn't a valid value")
filters = given[given.index("--") + 1 :] if "--" in given else []
for before, word in zip(["", *given], given):
    if word == "--":
        break
    is_value = before.startswith("--") and before not in ("--bench", "--list", "--noplot", "--exact")
    if not word.startswith("-") and word.partition("=")[0] not in known and not is_value:
        filters.append(word)
if len(filters) > 1:
    print("error: unexpected argument", file=sys.stderr)
    sys.exit(2)
chosen = "".join(filters)
if "log" in words:
    with open(words["log"], "a") as log:
        print(chosen, file=log)
def matches(name):
    if "--exact" in given:
        return name == chosen
    return chosen in name if old else re.search(chosen, name) is not None
titles = {}  # -> what is held against a filter
for name in words.get("only", "sum 1+1,group/sum 1+1 more,größe/7").split(","):
    title = name if len(name) <= 100 else name[:100] + "..."
    others = sum(other.partition(" #")[0] == title for other in titles)
    titles[f"{title} #{others + 1}" if others else title] = name
names = [title for title, name in titles.items() if matches(name)]
if "--list" in given:
    for name in names:
        print(f"{name}: bench{'' if old else 'mark'}\n")
    sys.exit()
home = pathlib.Path(os.environ["CRITERION_HOME"])
if old:
    home = pathlib.Path(os.environ["CARGO_TARGET_DIR"], "criterion")
for name in names:
    if words.get("crash") == name:
        sys.exit("thread 'main' panicked at 'index out of bounds'")
    if words.get("without") == name:
        continue
    folder = home / name.replace("/", "_") / "new"
    folder.mkdir(parents=True)
    iterations = [float(10 * n) for n in range(1, 11)]
    place = 1 + list(titles).index(name) if "only" in words else 1
    times = [100.0 * place * float(words.get("slow", 1)) * n * random.gauss(1.0, 0.004) for n in iterations]
    sample = [iterations, times] if old else {"sampling_mode": "Linear", "iters": iterations, "times": times}
    if words.get("twisted") == name:
        sample = {"iters": [0.0], "times": [1.0]}
    (folder / "sample.json").write_text(json.dumps(sample))
    (folder / "benchmark.json").write_text(json.dumps({"title": name, "full_id": titles[name]}))
"""


compared = partial(compared_as, "criterion")


@pytest.fixture
def fake(tmp_path: Path) -> str:
    return executable(tmp_path / "bench-1234", FAKE)


@pytest.mark.parametrize("version", ["0.3.0", "0.4", "0.8"])
def test_a_slow_down_is_found_in_every_version(fake: str, version: str) -> None:
    found = rows(compared(f"{fake} version={version}", f"{fake} version={version} slow=1.05"))
    assert sorted(found) == ["group/sum 1+1 more", "größe/7", "sum 1+1"]
    for item in found.values():
        assert (item.verdict, item.regression) == (Verdict.SLOWER, True)
        assert item.ratio == pytest.approx(1.05, abs=0.01)
        assert item.a_ns == pytest.approx(100.0, rel=0.02)


def test_sides_of_two_versions_are_measured_for_as_long(fake: str) -> None:
    """The oldest knows whole seconds alone: caches that are warmer on one side would be a difference."""
    sides = [Side(version, (fake, f"version={version}")) for version in ("0.8", "0.3.0", "0.4")]
    subject = Criterion(sides, MeasuringOptions(20.0))
    subject.survey()
    assert set(subject._times) == {"0.8", "0.3.0", "0.4"}
    assert {words[1] for words in subject._times.values()} == {"1"}
    younger = Criterion([sides[0], sides[2]], MeasuringOptions(20.0))
    younger.survey()
    assert {words[1] for words in younger._times.values()} == {"0.005"}


def test_only_what_matches_is_compared(fake: str) -> None:
    assert list(rows(compared(fake, fake, pattern="^group", most_rounds=2))) == ["group/sum 1+1 more"]


@pytest.mark.parametrize("version", ["0.3.0", "0.4", "0.8"])
def test_a_filter_among_a_sides_own_words_chooses(fake: str, version: str) -> None:
    """Criterion takes no second one beside it."""
    for own in ("sum", "--sample-size 20 sum"):
        side = f"{fake} version={version} {own}"
        found = rows(compared(side, f"{side} ", pattern="more", most_rounds=2))
        assert [item.verdict is Verdict.FAILED for item in found.values()] == [False], found
        assert list(found) == ["group/sum 1+1 more"]


@pytest.mark.parametrize("version", ["0.3.0", "0.4", "0.8"])
def test_what_is_listed_by_a_title_is_found_by_it(fake: str, version: str) -> None:
    """It is cut and numbered where the name is not: of 100 letters, or a name that another group has, too."""
    long = "group(1)/" + 95 * "x"
    side = f"{fake} version={version} 'only={long},{long}y,same,same'"
    found = rows(compared(side, side, most_rounds=2))
    cut = f"{long[:100]}..."
    assert list(found) == [cut, f"{cut} #2", "same", "same #2"]
    assert [round(item.a_ns or 0, -2) for item in found.values()] == [100, 200, 300, 400]


def test_two_benchmarks_of_one_title_are_refused(tmp_path: Path) -> None:
    for name in "ab":
        folder = tmp_path / name / "new"
        folder.mkdir(parents=True)
        (folder / "sample.json").write_text('{"iters": [1.0], "times": [5.0]}')
        (folder / "benchmark.json").write_text(json.dumps({"title": "x", "full_id": name}))
    with pytest.raises(LaunchFailed, match="several benchmarks called x"):
        _written(tmp_path)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("crash", "exited with code 1; its last words"),
        ("without", "ended well, but wrote no samples that Criterion would write"),
        ("twisted", "wrote samples that are not Criterion's"),
    ],
)
def test_a_side_that_fails_costs_its_own_row(fake: str, word: str, reason: str) -> None:
    found = rows(compared(fake, f"{fake} '{word}=sum 1+1'"))
    assert found["sum 1+1"].verdict is Verdict.FAILED
    assert reason in found["sum 1+1"].reason
    assert found["größe/7"].verdict is not Verdict.FAILED


CARGO = """[package]
name = "example"
version = "0.1.0"
edition = "2021"
[dev-dependencies]
criterion = { version = "VERSION", default-features = false }
[[bench]]
name = "b"
harness = false
[profile.bench]
opt-level = 1
[profile.bench.package."*"]  # Criterion and what it needs: nobody is timed in them, and they build sooner
opt-level = 0
"""

REAL = """use criterion::*;
fn work(n: u64) -> u64 { (0..n).fold(1u64, |a, b| black_box(a ^ (b * b))) }
fn all(c: &mut Criterion) {
    c.bench_function("sum 1+1", |b| b.iter(|| work(black_box(SIZE))));
    let mut group = c.benchmark_group("group");
    group.bench_with_input(BenchmarkId::new("task", 9), &9u64, |b, &n| b.iter(|| work(black_box(n))));
    group.finish();
}
criterion_group!(benches, all);
criterion_main!(benches);
"""


@pytest.mark.proof
@pytest.mark.slow
@pytest.mark.timeout(900)  # Criterion and what it needs have to be built
@pytest.mark.skipif(shutil.which("cargo") is None, reason="Rust is not installed: toll setup --languages")
def test_a_real_executable(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    (folder / "benches").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src/lib.rs").write_text("")
    (folder / "Cargo.toml").write_text(CARGO.replace("VERSION", os.environ.get("TOLL_CRITERION", "0.8")))
    for name, size in (("old", "1000"), ("new", "3000")):
        (folder / "benches/b.rs").write_text(REAL.replace("SIZE", size))
        built = subprocess.run(
            ["cargo", "bench", "--no-run", "--target-dir", "target", "--message-format=json"],
            cwd=folder,
            capture_output=True,
        )
        if b"failed to download" in built.stderr or b"failed to get" in built.stderr:
            pytest.skip("cargo cannot reach a registry with criterion")
        assert built.returncode == 0, built.stderr.decode()
        told = [json.loads(line) for line in built.stdout.splitlines()]
        (made,) = {
            each["executable"] for each in told if each.get("executable") and each["target"]["name"] == "b"
        }
        Path(made).rename(tmp_path / f"{name}_bench")
    found = rows(compared(f"{tmp_path}/old_bench", f"{tmp_path}/new_bench", most_rounds=40))
    assert list(found) == ["sum 1+1", "group/task/9"]
    assert found["sum 1+1"].verdict is Verdict.SLOWER
    assert found["sum 1+1"].ratio == pytest.approx(3.0, rel=0.3)
