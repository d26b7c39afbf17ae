"""`toll compare` says of each benchmark whether the change touched the code that it runs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from compiled import REGISTERED_PROGRAM, compiled, google_benchmarks, nothing

from forked_toll import forked_toll
from tollbench.compare import untouched as looking
from tollbench.compare.stored import StoredComparison
from tollbench.compare.subject import Side, Standing
from tollbench.compare.untouched import MOST_REFUSALS, Untouched
from tollbench.counting.executed import Executed
from tollbench.counting.loaded import paired
from tollbench.counting.matching import Match
from tollbench.counting.paired_places import PlaceKind

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = """
#include <benchmark/benchmark.h>
#include <algorithm>
#include <numeric>
#include <vector>
static const int weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};
static void sum(benchmark::State& state) {
  std::vector<int> values(256, 3);
  for (auto _ : state) benchmark::DoNotOptimize(std::accumulate(values.begin(), values.end(), 0));
}
BENCHMARK(sum);
static void weighted(benchmark::State& state) {
  std::vector<int> values(256, 3);
  for (auto _ : state) {
    long total = 0;
    for (std::size_t i = 0; i < values.size(); i++) total += values[i] * weights[i % 8];
    benchmark::DoNotOptimize(total);
  }
}
BENCHMARK(weighted);
static void sorted(benchmark::State& state) {
  std::vector<int> values(64);
  for (auto _ : state) {
    for (int i = 0; i < 64; i++) values[i] = i * 7919 % 61;
    std::sort(values.begin(), values.end());
    benchmark::DoNotOptimize(values.data());
  }
}
BENCHMARK(sorted)->Arg(1)->Arg(2);
BENCHMARK_MAIN();
"""
ALL = {"sum", "weighted", "sorted/1", "sorted/2"}

pytestmark = [
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
    pytest.mark.skipif(
        not Path("/usr/include/benchmark/benchmark.h").exists(), reason="libbenchmark-dev is not installed"
    ),
]


def compared(*words: str, code: int | None = 0) -> dict[str, Any]:
    """What `toll compare` prints as JSON."""
    limits = ("--budget", "0.5s", "--threshold", "5")
    done = forked_toll(ROOT)("compare", *words, "--json", *limits, cwd=Path.cwd(), locks=False)
    assert code is None or done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def untouched(found: dict[str, Any]) -> set[str]:
    return {row["benchmark"] for row in found["comparisons"] if row["verdict"] == "unchanged_code"}


def built(folder: Path, text: str = BENCHMARKS, *, first: tuple[str, ...] = ()) -> str:
    return str(google_benchmarks(folder, "bench", text, first=first))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_what_only_moved_is_not_timed_and_is_fine(tmp_path: Path) -> None:
    a, b = built(tmp_path / "a"), built(tmp_path / "b", first=(nothing(tmp_path),))
    raw = tmp_path / "raw.jsonl"
    found = compared(a, b, "--raw", str(raw))
    assert untouched(found) == ALL
    assert {row["launches"] for row in found["comparisons"]} == {0}
    assert StoredComparison.read(raw).comparisons.model_dump(mode="json") == found


@pytest.mark.parametrize(
    ("old", "new", "touched", "named"),
    [
        ("2, 6}", "2, 7}", {"weighted"}, "weights (other content)"),
        ("i * 7919 % 61", "i * 7919 % 59", {"sorted/1", "sorted/2"}, "sorted(benchmark::State&)"),
        ("BENCHMARK(sum);", "BENCHMARK(sum)->Arg(4);", ALL - {"sum"}, "initial"),
    ],
)
def test_only_what_a_change_touched_is_timed(
    tmp_path: Path, old: str, new: str, touched: set[str], named: str
) -> None:
    a, b = (
        built(tmp_path / "a"),
        built(tmp_path / "b", BENCHMARKS.replace(old, new), first=(nothing(tmp_path),)),
    )
    found = compared(a, b, code=None)
    assert untouched(found) == ALL - touched - ({"sum"} if "sum" in old else set())
    timed = [row for row in found["comparisons"] if row["verdict"] != "unchanged_code"]
    assert {row["benchmark"] for row in timed} == touched
    assert all(row["launches"] > 0 and "changed: " in row["code"] for row in timed)
    assert all(named in row["code"] or named == "initial" for row in timed)


CHOOSES = """
static long small(long n) { return n + 1; }
static long large(long n) {
  long total = 0;
  for (long i = 0; i < n; i++) total += n ^ (i * 3);
  return total;
}
static long (*const impl[2])(long) = {small, large};
__attribute__((noinline)) static long insert(long n, long size) { return impl[size > (1L << 40)](n); }
static void grown(benchmark::State& state) {
  long size = 0;
  for (auto _ : state) benchmark::DoNotOptimize(insert(3, size++));
}
BENCHMARK(grown);
static void big(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(insert(3, 1L << 41));
}
BENCHMARK(big);
BENCHMARK_MAIN();"""


def test_what_a_longer_run_would_choose_by_its_address_counts(tmp_path: Path) -> None:
    """Another benchmark executes it at once, and all call the function that chooses."""
    text = BENCHMARKS.replace("BENCHMARK_MAIN();", CHOOSES)
    shared = text.replace("sum(benchmark::State& state) {", "sum(benchmark::State& state) {\n  insert(3, 1);")
    shared = shared.replace("static void", "static long insert(long, long);\nstatic void", 1)
    for old in ("weighted", "sorted"):  # all runs execute it, so that it was taken for what stands about them
        shared = shared.replace(
            f"{old}(benchmark::State& state) {{", f"{old}(benchmark::State& state) {{ insert(3, 1);"
        )
    a = built(tmp_path / "a", shared)
    b = built(tmp_path / "b", shared.replace("(i * 3)", "(i * 5)"))
    assert "grown" not in untouched(compared(a, b, "--filter", "grown|big", code=None))
    assert untouched(compared(a, b, code=None)) == set()


REGISTERS = """
struct Op { virtual long op(long n) = 0; };
struct Small : Op { long op(long n) override { return n + 1; } };
struct Large : Op { long op(long n) override { return n ^ (n * 3); } };
static Op* volatile ops[2];
struct Registered { Registered(int at, Op* op) { ops[at] = op; } };
static Registered small(0, new Small), large(1, new Large);
__attribute__((noinline)) static long insert(long n, long size) { return ops[size > (1L << 40)]->op(n); }
"""


def test_what_a_registry_of_the_program_chooses_for_another_benchmark_counts(tmp_path: Path) -> None:
    """Initialisers register it and a function that all benchmarks call calls it, as if it were a body."""
    chooses = CHOOSES[CHOOSES.index("static void grown") :]
    text = f"#include <benchmark/benchmark.h>\n{REGISTERS}{chooses}"
    a = built(tmp_path / "a", text)
    b = built(tmp_path / "b", text.replace("(n * 3)", "(n * 5)"))
    assert untouched(compared(a, b, code=None)) == set()


def test_a_function_that_ran_and_was_never_met_by_the_walk_is_no_proof(tmp_path: Path) -> None:
    a = compiled(tmp_path / "a", "p", REGISTERED_PROGRAM)
    b = compiled(tmp_path / "b", "p", REGISTERED_PROGRAM, first=[nothing(tmp_path)])
    pairing = paired(a, b, {})
    match = Match(pairing.images, pairing.bound)
    first, other = Side("a", (str(a),)), Side("b", (str(b),))
    runs = looking._Runs(Untouched([first, other], lambda _side, _name: ()), match, pairing, first, other)
    met = {(place.pair, place.a) for place in match.places if place.kind is PlaceKind.CODE}
    assert runs._not_walked(met) == ""
    rare = next(place for place in match.places if match.name(place) == "_Z4rarei")
    del match.places[rare], runs._met
    assert runs._not_walked(met) == "_Z4rarei"


@pytest.mark.parametrize("names", [("insert/8", "insert/1000000"), ("insert<8>/1/2", "insert<8>/2/4")])
def test_benchmarks_of_one_body_may_each_meet_what_another_one_chose(names: tuple[str, str]) -> None:
    assert looking._family(names[0]) == looking._family(names[1])
    assert looking._family("insert<8>/1") != looking._family("insert<9>/1")


SIZED = """
static void sized(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(insert(3, state.range(0)));
}
BENCHMARK(sized)->Arg(1)->Arg(1L << 41);
BENCHMARK_MAIN();"""


def test_where_all_have_one_body_what_either_chose_counts(tmp_path: Path) -> None:
    """One benchmark with two arguments: all runs execute its body, which is not about anything then."""
    sides = []
    for name, factor in (("a", "3"), ("b", "5")):
        text = f"#include <benchmark/benchmark.h>\n{CHOOSES.partition('static void grown')[0]}{SIZED}"
        sides.append(built(tmp_path / name, text.replace("(i * 3)", f"(i * {factor})")))
    assert untouched(compared(*sides, code=None)) == set()


@pytest.mark.parametrize(("name", "same"), [("x" * 300, False), ("\udcff", True)])
def test_a_name_in_a_binary_that_nobody_can_look_at_is_no_proof(
    tmp_path: Path, name: str, *, same: bool
) -> None:
    assert looking._same_file(tmp_path / f"{name}.c", tmp_path.parent / f"{name}.c") is same
    named = [(Path("/src/x.c"), Path("/builds/src/x.c")), (Path("/x.c"), Path("/a/x.c"))]
    assert looking._beside(named) == {("/src", "/builds/src")}


LEXED = """#include <fstream>
static void lexed(benchmark::State& state) {
  for (auto _ : state) {
    std::ifstream file("CORPUS");
    benchmark::DoNotOptimize(file.get());
  }
}
BENCHMARK(lexed);
BENCHMARK_MAIN();"""


@pytest.mark.parametrize("corpus", ["int a;", "long a;"])
def test_a_source_file_that_is_input_is_one(tmp_path: Path, corpus: str) -> None:
    """Its name looks like that of a file that somebody built in another folder."""
    sides = []
    for name, text in (("v1", "int a;"), ("v2", corpus)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "corpus.c").write_text(text)
        source = BENCHMARKS.replace(
            "BENCHMARK_MAIN();", LEXED.replace("CORPUS", str(tmp_path / name / "corpus.c"))
        )
        sides.append(built(tmp_path / f"of-{name}", source))
    found = compared(*sides, code=None)
    assert untouched(found) == (ALL | {"lexed"} if corpus == "int a;" else ALL)
    (row,) = [row for row in found["comparisons"] if row["benchmark"] == "lexed"]
    assert ("which differs" in row["code"]) == (corpus != "int a;"), row


def test_everything_is_timed_when_that_is_asked_for_and_rows_say_what_is_known(tmp_path: Path) -> None:
    a, b = built(tmp_path / "a"), built(tmp_path / "b", first=(nothing(tmp_path),))
    found = compared(a, b, "--measure-all", code=None)
    assert not untouched(found)
    assert all(row["launches"] and "same code" in row["code"] for row in found["comparisons"])


def test_other_arguments_and_other_input_are_a_change(tmp_path: Path) -> None:
    text = """
    #include <cstdio>
    #include <fstream>
    #include <string>
    int main() { std::string word; std::ifstream("input.txt") >> word; std::puts(word.c_str()); }
    """
    for side in "ab":
        compiled(tmp_path / side, "reads", text)
        (tmp_path / side / "input.txt").write_text("same")
    commands = [f"{tmp_path}/{side}/reads" for side in "ab"]
    assert untouched(compared(*commands)) == {"command"}
    found = compared(commands[0], f"{commands[1]} twice", code=None)
    assert "other arguments" in found["comparisons"][0]["code"]


def standing(sides: list[Side]) -> Standing:
    """Of the second of two commands."""
    looks = Untouched(sides, lambda _side, _name: (), reads_anything=True)
    return looks.standings({"command": (0, 1)})["command", 1]


READER = """
#include <cstdio>
#include <fstream>
#include <string>
#include <unistd.h>
int main(int, char** words) {
  char self[4096] = "";
  std::string place = readlink("/proc/self/exe", self, sizeof self - 1) > 0 ? self : "";
  std::string called = words[0], folder = called.substr(0, called.rfind('/'));
  place = place.substr(0, place.rfind('/'));
  std::string word;
  std::ifstream(NAME) >> word;
  std::puts(word.c_str());
}
"""


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ('called + ".dat"', "b-2/reader_new.dat"),
        ('folder + "/own.dat"', "b-2/own.dat"),
        ('folder + "/link/../behind.dat"', "elsewhere-2/behind.dat"),
        ('place + "/own.dat"', "real-2/own.dat"),
        ('std::string(BASE) + "/b-common.dat"', ""),
    ],
)
def test_what_the_sides_find_by_their_place_has_to_be_the_same(
    tmp_path: Path, name: str, changed: str
) -> None:
    """One folder's name begins with the other one's, and both are links or lead to one."""
    text = READER.replace("NAME", name).replace("BASE", f'"{tmp_path}"')
    sides = []
    for number, side, new in ((1, "b", "reader_old"), (2, "b-2", "reader_new")):
        real = tmp_path / f"real-{number}"
        program = new if "called +" in name else "reader"
        sides.append(Side(side, (f"{tmp_path}/{side}/{program}",), tmp_path))
        compiled(real, program, text)
        (tmp_path / f"elsewhere-{number}" / "in").mkdir(parents=True)
        (tmp_path / side).symlink_to(real)
        (real / "link").symlink_to(tmp_path / f"elsewhere-{number}" / "in")
        for file in (f"real-{number}/own", f"real-{number}/{program}", f"elsewhere-{number}/behind"):
            (tmp_path / f"{file}.dat").write_text("same")
    (tmp_path / "b-common.dat").write_text("one file for both")
    assert standing(sides).unchanged
    if changed:
        (tmp_path / changed).write_text("other")
        assert standing(sides).told.startswith("changed: it reads")


BESIDE_ITS_SOURCE = """
#include <cstdio>
#include <cstring>
int main() {
  const char* source = __FILE__;
  __asm__ volatile("" : "+r"(source));
  char name[4096];
  std::snprintf(name, sizeof name, "%.*s/corpus.txt", int(std::strrchr(source, '/') - source), source);
  return OPENS;
}
"""
OPENS = 'std::fopen(name, "r") == nullptr'


@pytest.mark.parametrize("opens", [OPENS, "std::puts(name) < 0"])
def test_what_lies_beside_equal_sources_in_two_folders_is_looked_at_where_files_are_opened(
    tmp_path: Path, opens: str
) -> None:
    programs = [compiled(tmp_path / side, "p", BESIDE_ITS_SOURCE.replace("OPENS", opens)) for side in "ab"]
    for side in "ab":
        (tmp_path / side / "corpus.txt").write_text("same")
    asked: list[str] = []

    def alone(_side: Side, name: str) -> tuple[str, ...]:
        asked.append(name)
        return ()

    def found() -> Standing:
        looks = Untouched([Side("", (str(program),)) for program in programs], alone)
        return looks.standings({"any": (0, 1)})["any", 1]

    assert found().unchanged
    (tmp_path / "b" / "corpus.txt").write_text("other")
    assert found().unchanged is (opens != OPENS)
    assert bool(asked) is (opens == OPENS)


@pytest.mark.parametrize("name", ["own (v1).dat", "own\\xff.dat"])
def test_a_file_of_any_name_has_to_be_the_same(tmp_path: Path, name: str) -> None:
    text = READER.replace("NAME", f'folder + "/{name}"')
    sides = [Side(side, (str(compiled(tmp_path / side, "reader", text)),)) for side in "ab"]
    files = [os.fsencode(tmp_path / side) + b"/" + _bytes(name) for side in "ab"]
    for file in files:
        Path(os.fsdecode(file)).write_text("same")
    for _ in range(2):  # a run is kept for the next comparison, or is not
        looks = Untouched(sides, lambda _side, _name: (), reads_anything=True, cache=tmp_path / "kept")
        assert looks.standings({"command": (0, 1)})["command", 1].unchanged
    Path(os.fsdecode(files[1])).write_text("other")
    assert standing(sides).told.startswith("changed: it reads")


def _bytes(name: str) -> bytes:
    return name.encode().replace(b"\\xff", b"\xff")


def test_what_refuses_for_one_reason_again_and_again_is_not_asked_on() -> None:
    asked: list[str] = []
    looks = Untouched([Side("a", ("never started",))], lambda _side, name: asked.append(name))
    told = looks.runs_of(list(map(str, range(2_000))), b"")
    assert set(told.values()) == {"this kind of side cannot be asked to run one benchmark briefly"}
    assert MOST_REFUSALS <= len(asked) <= MOST_REFUSALS + 8


def test_a_run_that_the_time_for_looking_cuts_short_says_so(tmp_path: Path) -> None:
    program = str(compiled(tmp_path, "p", "#include <unistd.h>\nint main() { pause(); }"))
    looks = Untouched([Side("a", (program,))], lambda _side, _name: (), looking_s=0.5)
    looks.standings({})
    assert looks.runs_of(["any"], b"") == {"any": "the time for that, 0.5 s for all benchmarks, was spent"}


def test_what_takes_long_comes_last_and_is_no_reason_to_leave_out_what_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "QUICK_LIMIT_S", 2.0)
    monkeypatch.setattr(looking, "RUN_LIMIT_S", 3.0)
    text = "#include <unistd.h>\nint main(int, char** words) { if (words[1][0] == 'l') pause(); }"
    program = str(compiled(tmp_path, "p", text))
    started: list[str] = []

    def alone(_side: Side, name: str) -> list[str]:
        started.append(name)
        return [name]

    names = ["long1", "long2", "long3", "long4", "short1", "short2"]
    told = Untouched([Side("a", (program,))], alone).runs_of(names, b"")
    assert [name for name, run in told.items() if isinstance(run, Executed)] == ["short1", "short2"]
    assert {run for run in told.values() if isinstance(run, str)} == {"did not end within 3 s"}
    assert started[: len(names)] == names
    assert all(name.startswith("long") for name in started[len(names) :])


# A benchmark that makes the function that it calls, of a number; another one beside it.
MAKES_CODE = """
#include <benchmark/benchmark.h>
#include <cstring>
#include <sys/mman.h>
static int number[] = {NUMBER};
static void made(benchmark::State& state) {
  unsigned char code[64] = {0xb8, 0, 0, 0, 0, 0xc3};  // mov eax, number; ret
  std::memcpy(code + 1, number, 4);
  void* place = code;
#ifdef MAPPED
  place = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(place, code, sizeof code);
#endif
  auto call = reinterpret_cast<int (*)()>(place);
  for (auto _ : state) benchmark::DoNotOptimize(call());
}
BENCHMARK(made);
static void other(benchmark::State& state) {
  int x = 1;
  for (auto _ : state) benchmark::DoNotOptimize(x += OTHER);
}
BENCHMARK(other);
BENCHMARK_MAIN();
"""


@pytest.mark.parametrize(
    ("options", "told"),
    [(("-DMAPPED",), "it makes code while it runs"), (("-z", "execstack"), "bench may run what it writes")],
    ids=["mapped", "on its stack"],
)
def test_made_code_is_never_called_unchanged(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    def program(side: str, number: int, other: int) -> str:
        (tmp_path / side).mkdir()
        text = MAKES_CODE.replace("NUMBER", str(number)).replace("OTHER", str(other))
        return str(google_benchmarks(tmp_path / side, "bench", text, *options))

    first = program("a", 5, 1)
    found = compared(first, program("b", 6, 1), code=None)
    assert "made" not in untouched(found)
    found = compared(first, program("c", 5, 2), code=None)
    rows = {row["benchmark"]: row for row in found["comparisons"]}
    assert not untouched(found)
    assert told in rows["made"]["code"]


def test_without_valgrind_the_rest_is_timed_and_the_row_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = tmp_path / "only"
    only.mkdir()
    (only / "sh").symlink_to("/bin/sh")
    a, b = built(tmp_path / "a"), built(tmp_path / "b", BENCHMARKS.replace("2, 6}", "2, 7}"))
    monkeypatch.setenv("PATH", str(only))
    found = compared(a, b, code=None)
    assert not untouched(found)
    assert all("valgrind is not installed" in row["code"] for row in found["comparisons"])


SHARED = 'extern "C" int answer(int x) { return x * 3; }\n'
CALLER = """
#include <cstdio>
#include <string>
#include <dlfcn.h>
extern "C" int answer(int);
int main(int count, char** words) {
#ifdef PLUGIN
  void* opened = dlopen((std::string(words[0]) + ".so").c_str(), RTLD_NOW);
  auto answer = reinterpret_cast<int (*)(int)>(dlsym(opened, "answer"));
#endif
  std::printf("%d\\n", answer(count));
}
"""


@pytest.mark.parametrize("plugin", [False, True])
@pytest.mark.parametrize(("shared", "told"), [(SHARED, ""), (SHARED.replace("3", "5"), "changed: ")])
def test_a_library_of_its_own_is_looked_into(tmp_path: Path, shared: str, told: str, plugin: bool) -> None:
    for side, text, first in (("a", SHARED, ()), ("b", shared, (nothing(tmp_path),))):
        folder = tmp_path / side
        folder.mkdir()
        library = compiled(folder, "caller.so", text, "-shared", "-fPIC", first=first)
        options = ["-DPLUGIN"] if plugin else ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", f"-L{folder}"]
        compiled(folder, "caller", CALLER, *options, *([] if plugin else ["-l:caller.so"]))
        assert library.exists()
    commands = [f"{tmp_path}/{side}/caller" for side in "ab"]
    found = compared(*commands, code=None)
    code = found["comparisons"][0]["code"]
    assert told in code if told else untouched(found) == {"command"}, code


def test_an_opened_library_that_may_write_its_code_is_no_proof(tmp_path: Path) -> None:
    writable = SHARED + 'asm(".section .own,\\"awx\\",@progbits\\n nop\\n .text");\n'
    for side, text in (("a", SHARED), ("b", writable)):
        compiled(tmp_path / side, "caller.so", text, "-shared", "-fPIC")
        compiled(tmp_path / side, "caller", CALLER, "-DPLUGIN")
    found = compared(*(f"{tmp_path}/{side}/caller" for side in "ab"), code=None)
    assert not untouched(found)
    assert "caller.so, which differs" in found["comparisons"][0]["code"]


def test_a_definition_that_nobody_asks_for_is_no_change(tmp_path: Path) -> None:
    text = '#include <cstdio>\nint main() { std::puts("done"); }\n'
    more = 'extern "C" int nobody_asks(int x) { return x; }\n'
    replaces = "#include <cstdlib>\nvoid* operator new(std::size_t size) { return std::malloc(size + 1); }\n"
    for side, content in (("a", text), ("b", text + more), ("c", text + replaces)):
        compiled(tmp_path / side, "program", content, "-rdynamic", "-Wl,--no-as-needed")
    a, b, c = (f"{tmp_path}/{side}/program" for side in "abc")
    assert untouched(compared(a, b)) == {"command"}
    assert "for other files" in compared(a, c, code=None)["comparisons"][0]["code"]
