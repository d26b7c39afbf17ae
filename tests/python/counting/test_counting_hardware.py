"""Counts by the kernel. Machines may grant no hardware event: page faults go the whole way in its place."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiled import compiled, google_benchmarks
from counted_program import toll_program

from tollbench.compare import MeasuringOptions, WrittenSide, resolve, subject_of
from tollbench.compare.counters import Amount
from tollbench.compare.counting_sides import counter_for
from tollbench.counting import hardware
from tollbench.counting.hardware import Event, EventCount, refusal, why_refused
from tollbench.counting.preloaded import SOURCES, Preloaded
from tollbench.counting.preloaded import compiled as preloaded_in
from tollbench.interpreters import interpreter_with_path
from tollbench.launching.failure import LaunchFailed
from tollbench.words import CountBy

ROOT = Path(__file__).resolve().parents[3]
PAGE_FAULTS = Event(1, 2, 1000)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS
TOUCHES = """
#include <sys/mman.h>
#include <thread>
inline void touch(long pages) {
  char* block = static_cast<char*>(mmap(nullptr, pages << 12, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(block, pages << 12, MADV_NOHUGEPAGE);
  for (long at = 0; at < pages; at++) static_cast<volatile char*>(block)[at << 12] = 1;
  munmap(block, pages << 12);
}
"""
BENCHMARKS = (
    TOUCHES
    + """
#include <benchmark/benchmark.h>
static void pages(benchmark::State& state) {
  touch(500);  // once a run
  for (auto _ : state) touch(PAGES);
}
BENCHMARK(pages);
static void within_a_thread(benchmark::State& state) {
  for (auto _ : state) std::thread([] { touch(PAGES); }).join();
}
BENCHMARK(within_a_thread);
BENCHMARK_MAIN();
"""
)
COMMAND = (
    TOUCHES
    + """
#include <sys/wait.h>
#include <unistd.h>
int main() {
  if (fork() == 0) { touch(PAGES); _exit(0); }
  wait(nullptr);
  std::thread([] { touch(PAGES); }).join();
}
"""
)


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Preloaded:
    found = preloaded_in(SOURCES, tmp_path_factory.mktemp("cache"))
    if reason := refusal(PAGE_FAULTS, found.launcher):
        pytest.skip(reason)
    return found


def counter(
    path: Path,
    preloaded: Preloaded,
    monkeypatch: pytest.MonkeyPatch,
    by: CountBy = CountBy.HARDWARE,
    *,
    event: Event = PAGE_FAULTS,
):
    monkeypatch.setattr(hardware, "INSTRUCTIONS", event)
    kind, sides = resolve([WrittenSide(str(path)), WrittenSide(str(path))])
    found = counter_for(subject_of(kind, sides, MeasuringOptions(60.0)), preloaded.marks.parents[2], by)
    assert found is not None
    return found


def value(found: Any) -> float:
    assert isinstance(found, Amount), found
    assert found.by == "hardware"
    return float(found.value)


def benchmarks(folder: Path, pages: int) -> Path:
    return google_benchmarks(folder, f"touches{pages}", BENCHMARKS, f"-DPAGES={pages}")


def test_runs_are_counted_by_the_kernel_from_mark_to_mark(
    tmp_path: Path, preloaded: Preloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run touches once is in neither; what a thread touches is that of its process."""
    wanted = frozenset(("instructions",))
    for pages in (10, 11):
        found = counter(benchmarks(tmp_path, pages), preloaded, monkeypatch)
        assert value(found.read(0, "pages", wanted)["instructions"]) == pages
        within = value(found.read(0, "within_a_thread", wanted)["instructions"])
        assert pages <= within < pages + 10  # and what a thread's own stack takes


def test_a_command_is_counted_with_its_processes_and_threads(
    tmp_path: Path, preloaded: Preloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for pages in (1000, 3000):
        path = compiled(tmp_path, f"command{pages}", COMMAND, f"-DPAGES={pages}", "-static")
        amount = counter(path, preloaded, monkeypatch).read(0, "command", frozenset(("instructions",)))
        found.append(value(amount["instructions"]))
    assert found[0] > 2000
    assert abs(found[1] - found[0] - 4000) < 50


def test_a_failing_command_has_no_count(
    tmp_path: Path, preloaded: Preloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, told in (("return 3;", "exited with code 3"), ("__builtin_trap();", "crashed with SIGILL")):
        path = compiled(tmp_path, "p", f"int main() {{ {text} }}")
        found = counter(path, preloaded, monkeypatch).read(0, "command", frozenset(("instructions",)))
        assert told in str(found["instructions"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to somebody else")
def test_a_set_uid_program_is_not_counted(
    tmp_path: Path, preloaded: Preloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = compiled(tmp_path, "p", "int main() {}")
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    found = counter(path, preloaded, monkeypatch).read(0, "command", frozenset(("instructions",)))
    assert "is set-uid" in str(found["instructions"])


def test_a_count_that_was_taken_in_turns_is_none() -> None:
    assert EventCount(5, 100, 100).checked() == 5
    with pytest.raises(LaunchFailed, match="not counted by the hardware all the time"):
        EventCount(5, 100, 99).checked()
    with pytest.raises(LaunchFailed, match="not counted by the hardware at all"):
        EventCount(0, 0, 0).checked()


@pytest.mark.parametrize(
    ("number", "paranoid", "told"),
    [
        (errno.ENOENT, "2", "offers none [ENOENT]"),
        (errno.EACCES, "3\n", "perf_event_paranoid is 3 (sudo sysctl kernel.perf_event_paranoid=2) [EACCES]"),
        (errno.EPERM, "2\n", "a container or a sandbox refuses it"),
        (errno.ENOSYS, "2", "a sandbox hides it [ENOSYS]"),
        (errno.EMFILE, "2", "[EMFILE]"),
        (9999, "2", "[9999]"),
    ],
)
def test_why_the_hardware_does_not_count_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, paranoid: str, told: str
) -> None:
    (tmp_path / "paranoid").write_text(paranoid)
    monkeypatch.setattr(hardware, "_PARANOID", tmp_path / "paranoid")
    assert told in why_refused(number)


def test_an_event_that_does_not_count_is_refused(preloaded: Preloaded) -> None:
    assert "EINVAL" in refusal(Event(1, 999, 0), preloaded.launcher) or "ENOENT" in refusal(
        Event(1, 999, 0), preloaded.launcher
    )
    # A machine may grant what never counts: alignment faults of a program that makes none.
    assert "counts nothing here: 0 for work of 1" in refusal(Event(1, 7, 1), preloaded.launcher)
    assert "failed in a trial: launcher could not be started" in refusal(
        PAGE_FAULTS, Path("/nowhere/launcher")
    )


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_where_it_is_refused_valgrind_counts_and_the_row_says_why(
    tmp_path: Path, preloaded: Preloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = compiled(tmp_path, "p", "int main() {}")
    for by in (CountBy.AUTO, CountBy.HARDWARE):
        amount = counter(path, preloaded, monkeypatch, by, event=Event(1, 7, 1)).read(
            0, "command", frozenset(("instructions",))
        )["instructions"]
        if by is CountBy.HARDWARE:
            assert "cannot be counted by the hardware: the hardware's counter counts nothing" in str(amount)
        else:
            assert isinstance(amount, Amount)
            assert amount.by == "valgrind"
            assert "by Valgrind, as the hardware's counter counts nothing" in amount.note


# The first pages are touched before counting begins.
PAGES_EACH = (
    TOUCHES
    + r"""
void before() { touch(70); }
void run(long iterations) { for (long i = 0; i < iterations; i++) touch(7); }
"""
)


def test_passes_of_toll_programs_are_counted_by_the_kernel(
    tmp_path: Path, preloaded: Preloaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toll_program(tmp_path, "p", PAGES_EACH)
    monkeypatch.setattr(hardware, "INSTRUCTIONS", PAGE_FAULTS)
    kind, sides = resolve([WrittenSide(str(path)), WrittenSide(str(path))], "toll")
    subject = subject_of(kind, sides, MeasuringOptions(60.0))
    (name,) = subject.survey().common
    found = counter_for(subject, preloaded.marks.parents[2], CountBy.AUTO)
    assert found is not None
    assert value(found.read(0, name, frozenset(("instructions",)))["instructions"]) == 7


# Nobody else measures here, and other tests want the machine's own lock.
SCRIPT = """
import sys
from tollbench.cli import machine_use, main
from tollbench.counting import hardware
machine_use.LOCK_FILES = ()
hardware.INSTRUCTIONS = hardware.Event(1, 2, 1000)
sys.argv[0] = "toll"
sys.exit(main())
"""


def toll(folder: Path, preloaded: Preloaded, *words: str) -> tuple[int, dict[str, Any]]:
    cache = preloaded.marks.parents[2].parent
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(cache)}
    raw = folder / f"raw-{len(list(folder.glob('raw-*')))}.jsonl"
    command = interpreter_with_path("-c", SCRIPT, "compare", *words, "--json", "--raw", str(raw))
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_one_way_of_counting_is_never_compared_with_the_other(tmp_path: Path, preloaded: Preloaded) -> None:
    a, b = benchmarks(tmp_path, 10), benchmarks(tmp_path, 11)
    asked = ("--count", "instructions", "--filter", "^pages$")
    code, found = toll(tmp_path, preloaded, str(a), str(b), *asked, "--count-only")
    count = found["comparisons"][0]["counts"][0]
    assert (code, count["by"], count["a"], count["b"], count["verdict"]) == (0, "hardware", 10, 11, "more")
    assert any("processor's own counter" in note for note in found["count_notes"])
    code, _ = toll(tmp_path, preloaded, str(a), *asked, "--save-baseline", "kept.json")
    assert code == 0
    rule = ("--baseline", "kept.json", "--fail-on", "instructions>+0")
    code, found = toll(tmp_path, preloaded, str(a), *asked, *rule)
    assert (code, found["comparisons"][0]["counts"][0]["verdict"]) == (0, "equal")
    code, found = toll(tmp_path, preloaded, str(a), *asked, *rule, "--count-by", "valgrind")
    assert code == 2
    reason = found["comparisons"][0]["counts"][0]["reason"]
    assert "kept.json is counted by the hardware" in reason
    assert "by Valgrind: they are never compared" in reason
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["counts"]["pages"]["instructions"]["by"] == "hardware"
    del kept["counts"]["pages"]["instructions"]["by"]  # as files of earlier versions, by Valgrind
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    code, found = toll(tmp_path, preloaded, str(a), *asked, *rule)
    assert found["comparisons"][0]["counts"][0]["by"] == "valgrind"
