"""Two programs side by side: what moved is the same, what does something else is not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from compiled import PROGRAM, REGISTERED_PROGRAM, compiled, differences, match, nothing

from tollbench.counting.image import Image, Unreadable
from tollbench.counting.matching import Match
from tollbench.counting.paired_places import PlaceKind

KINDS = {
    "as Debian does": (),
    "not optimised": ("-O0",),
    "without symbols": ("-s",),
    "without a table for calls": ("-fno-plt",),
    "at once": ("-Wl,-z,now",),
    "sections": ("-ffunction-sections", "-fdata-sections"),
}


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The program that changes are held against, compiled once; with `order`, that of `with_threads`."""

    @cache
    def made(text: str, *options: str, order: str = "") -> Path:
        folder = tmp_path_factory.mktemp("unchanged")
        first = [variables(folder, order)] if order else []
        return compiled(folder, "p", text, *options, first=first)

    return made


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_code_that_moved_is_the_same_code(tmp_path: Path, options: tuple[str, ...]) -> None:
    base = compiled(tmp_path / "a", "p", PROGRAM, *options)
    moved = compiled(tmp_path / "b", "p", PROGRAM, *options, first=[nothing(tmp_path)])
    assert base.read_bytes() != moved.read_bytes()
    assert differences(match(base, moved)) == {}


def test_another_folder_and_debugging_information_are_the_same_code(tmp_path: Path) -> None:
    text = PROGRAM.replace('"too much"', "__FILE__")
    base = compiled(tmp_path / "a", "p", text)
    other = compiled(tmp_path / "somewhere-else-entirely", "p", text, "-g")
    assert differences(match(base, other)) == {}


def test_the_name_of_another_source_file_is_another_text(tmp_path: Path) -> None:
    text = PROGRAM.replace('"too much"', "__FILE__")
    base = compiled(tmp_path, "p", text)
    other = compiled(tmp_path, "q", text)
    assert "refers to another text" in differences(match(base, other)).values()


MUTATIONS = {
    "a constant": ("return x * 7;", "return x * 9;"),
    "a case": ("return x << 2;", "return x << 3;"),
    "a call more": ("return x / 3;", "return x / 3 + std::rand();"),
    "a table": ("31, 31, 30, 31, 30, 31}", "31, 31, 30, 31, 30, 32}"),
    "the first entry of a table": ("{31, 28,", "{30, 28,"),
    "entries of a table of functions": ("{twice, thrice}", "{thrice, twice}"),
    "a virtual function": ("return x * x;", "return x * x + 1;"),
    "a text of equal length": ('"too much"', '"too many"'),
    "a text behind a jump table": ('"six"', '"sax"'),
    "the other of two variables": (
        "++first_counter + second_counter",
        "++second_counter + second_counter",
    ),
    "an initial value": ("first_counter = 0,", "first_counter = 5,"),
    "a value that an initialiser sets": ("made{3, 1, 4, 1, 5}", "made{3, 1, 4, 2, 5}"),
    "a thread-local value": ("per_thread = 7", "per_thread = 8"),
    "what is caught": ("catch (const std::runtime_error& error)", "catch (const std::logic_error& error)"),
    "a floating-point constant": ("1.0 / 3.0", "1.0 / 5.0"),
}


# A static program holds the C library, which takes seconds to read: it has those in each kind of section, and
# those that refer to what is in a library elsewhere.
IN_STATIC_PROGRAMS = (
    "a constant", "a call more", "a table", "an initial value", "a thread-local value", "what is caught",
)  # fmt: skip


@pytest.mark.parametrize(
    ("mutation", "options"),
    [
        *((name, options) for name in MUTATIONS for options in ((), ("-O0",), ("-s",))),
        *((name, ("-static-pie",)) for name in IN_STATIC_PROGRAMS),
    ],
    ids=str,
)
def test_what_does_something_else_is_never_the_same(
    tmp_path: Path, unchanged: Callable[..., Path], mutation: str, options: tuple[str, ...]
) -> None:
    text = "#include <cstdlib>\n" + PROGRAM
    changed = text.replace(*MUTATIONS[mutation])
    assert changed != text
    other = compiled(tmp_path / "b", "p", changed, *options, first=[nothing(tmp_path)])
    assert differences(match(unchanged(text, *options), other))


ZERO_IN_A_THREAD = """
#include <cstdio>
thread_local int one;
int main(int count, char**) { std::printf("%d\\n", one += count); }
"""
# As far from a variable as the guard of the stack is from the thread's begin.
BEHIND_IN_A_THREAD = """
#include <cstdio>
struct Many { long first[5]; long sixth; };
thread_local Many many = {{1, 2, 3, 4, 5}, 6};
int main() {
  long place, found;
  __asm__("movq many@gottpoff(%%rip), %0" : "=r"(place));
  __asm__ volatile("movq %%fs:0x28(%1), %0" : "=r"(found) : "r"(place));
  std::printf("%ld\\n", found);
}
"""


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (ZERO_IN_A_THREAD, "int one;", "int one = 7;"),  # from .tbss to .tdata
        (BEHIND_IN_A_THREAD, "5}, 6}", "5}, 7}"),
    ],
    ids=["zero", "behind"],
)
def test_initial_values_of_a_thread_count(tmp_path: Path, text: str, old: str, new: str) -> None:
    base = compiled(tmp_path / "a", "p", text)
    changed = compiled(tmp_path / "b", "p", text.replace(old, new))
    assert differences(match(base, base)) == {}
    assert differences(match(base, changed))


THREADS = """
#include <cstdio>
#include <string>
extern thread_local long one;
extern thread_local long list[3];
extern thread_local std::string text;
__attribute__((noinline)) long direct() { return ++one; }
__attribute__((noinline)) long summed(int count) {
  long sum = 0;
  for (long& number : list) sum += number;
  return sum + list[count];
}
__attribute__((noinline)) void handed(long* place) { __asm__ volatile("" :: "r"(place) : "memory"); }
int main(int count, char**) {
  handed(&one);
  handed(list + 1);
  std::printf("%ld %ld %zu\\n", direct(), summed(count), text.size());
}
"""
VARIABLES = {
    "one": "thread_local long one = 4;",
    "two": "thread_local long two = 4;",
    "list": "thread_local long list[3] = {1, 2, 3};",
    "text": "thread_local std::string text(40, 'x');",
    "empty": "thread_local long empty[5];",
}


def variables(folder: Path, order: str) -> str:
    """A file of the variables in this order."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["#include <string>", *(VARIABLES[name] for name in order.split())]
    kept = "long use_all() { return two + empty[one]; }"
    (folder / "variables.cpp").write_text("\n".join([*lines, kept]))
    return str(folder / "variables.cpp")


def with_threads(folder: Path, text: str, order: str, *options: str) -> Path:
    """The variables in a file of their own, in this order."""
    return compiled(folder, "p", text, *options, first=[variables(folder, order)])


@pytest.mark.parametrize("options", [(), ("-O1",), ("-O3", "-march=x86-64-v3")], ids=str)
@pytest.mark.parametrize("order", ["two one list text empty", "list empty text two one"])
def test_thread_local_variables_may_lie_elsewhere(
    tmp_path: Path, order: str, options: tuple[str, ...]
) -> None:
    base = with_threads(tmp_path / "a", THREADS, "one two list text empty", *options)
    moved = with_threads(tmp_path / "b", THREADS, order, *options)
    assert differences(match(base, moved)) == {}


@pytest.mark.parametrize("options", [(), ("-O0",), ("-s",)], ids=str)
@pytest.mark.parametrize("order", ["one two list text empty", "list empty text two one"])
@pytest.mark.parametrize(
    "mutation",
    [
        ("return ++one;", "return ++two;"),
        ("handed(&one)", "handed(&two)"),
        ("handed(list + 1)", "handed(list + 2)"),
        ("list[count]", "list[count + 1]"),
        ("number : list) sum", "number : list) if (&number != list + 2) sum"),
        ("++one", "one"),
    ],
    ids=str,
)
def test_another_thread_local_variable_is_never_the_same(
    tmp_path: Path,
    unchanged: Callable[..., Path],
    mutation: tuple[str, str],
    order: str,
    options: tuple[str, ...],
) -> None:
    text = THREADS.replace("long one;", "long one, two;")
    base = unchanged(text, *options, order="one two list text empty")
    other = with_threads(tmp_path / "b", text.replace(*mutation), order, *options)
    assert differences(match(base, other))


def test_a_thread_local_variable_that_nobody_can_name_may_not_move(tmp_path: Path) -> None:
    by_hand = THREADS.replace(
        "return ++one;",
        'long pointer; __asm__("movq %%fs:0, %0" : "=r"(pointer)); return *(long*)(pointer - 0x18);',
    )
    base = with_threads(tmp_path / "a", by_hand, "one two list text empty")
    other = with_threads(tmp_path / "b", by_hand, "list empty text two one")
    found = differences(match(base, other))
    assert found


def test_the_function_at_fault_is_named(tmp_path: Path) -> None:
    base = compiled(tmp_path / "a", "p", PROGRAM)
    other = compiled(tmp_path / "b", "p", PROGRAM.replace("x ^ 5", "x ^ 6"))
    assert differences(match(base, other)) == {"_Z6chooseii": "other instructions"}


def test_a_walk_ends_when_there_is_no_more_time(unchanged: Callable[..., Path]) -> None:
    image = Image(unchanged(PROGRAM))
    assert Match([(image, image)], until=math.inf).same()
    with pytest.raises(Unreadable, match="more time than there is"):
        Match([(image, image)], until=time.monotonic())


def functions(found, *names: str) -> frozenset[tuple[int, int]]:
    """As a run that executed them would tell them."""
    return frozenset(
        (place.pair, place.a)
        for place in found.places
        if place.kind is PlaceKind.CODE and found.name(place) in names
    )


ONE, TWO, THREE = "_ZL3onei", "_ZL3twoi", "_ZL5threei"


@pytest.mark.parametrize(
    ("mutation", "changed"),
    [
        (("x + 2", "x + 5"), {TWO}),
        (("x * 3", "x * 5"), {ONE}),  # not executed with this input, but called directly
        (("x + 3", "x + 7"), {ONE, TWO, THREE}),  # no run executed `three`: any run might
    ],
)
def test_a_body_that_only_another_run_executes_does_not_count(
    tmp_path: Path, mutation: tuple[str, str], changed: set[str]
) -> None:
    base = compiled(tmp_path / "a", "p", REGISTERED_PROGRAM)
    other = compiled(tmp_path / "b", "p", REGISTERED_PROGRAM.replace(*mutation))
    found = match(base, other)
    runs = {name: functions(found, name) for name in (ONE, TWO)}
    common = functions(found, "_start", "main", "_GLOBAL__sub_I__Z4rarei")
    bodies = frozenset().union(*runs.values())
    reached = {name for name, run in runs.items() if found.differing(bodies - run, common)}
    assert reached == changed - {THREE}
    assert not found.same()


DISPATCHED = """
#include <cstdio>
#include <cstdlib>
using Body = int (*)(int);
static int plain(int x) { return x + 1; }
static int wide(int x) { return x + 2; }
static Body chosen() { return __builtin_cpu_supports("avx512f") ? wide : plain; }
int main(int count, char**) {
  __builtin_cpu_init();
  Body body = chosen();
  std::printf("%d\\n", body(count));
}
"""


def test_every_variant_for_a_processor_counts(tmp_path: Path) -> None:
    base = compiled(tmp_path / "a", "p", DISPATCHED)
    other = compiled(tmp_path / "b", "p", DISPATCHED.replace("x + 2", "x + 3"))
    found = match(base, other)
    others = functions(found, "_ZL4widei")
    assert others
    assert found.differing(others, functions(found, "_start", "main", "_ZL6chosenv"))


def test_an_initialiser_more_is_told(tmp_path: Path) -> None:
    base = compiled(tmp_path / "a", "p", PROGRAM)
    extra = tmp_path / "extra.cpp"
    extra.write_text("#include <cstdlib>\nstatic int drawn = std::rand();\nint* place() { return &drawn; }\n")
    other = compiled(tmp_path / "b", "p", PROGRAM, first=[str(extra)])
    assert "initialisers" in differences(match(base, other))


def test_a_call_of_another_library_function_leaves_other_functions_the_same(tmp_path: Path) -> None:
    base = compiled(tmp_path / "a", "p", REGISTERED_PROGRAM)
    text = REGISTERED_PROGRAM.replace("x + 3", "x + std::abs(std::rand())")
    other = compiled(tmp_path / "b", "p", text)
    assert differences(match(base, other)).keys() == {THREE}


WALKED = """
#include <cstdio>
static const int walked[5] = {1, 2, 3, 4, 5};
static const int behind[5] = {9, 8, 7, 6, 5};
__attribute__((noinline)) int all() {
  int sum = 0;
  for (const int& number : walked) sum = sum * 3 + number % (sum + 7);
  return sum;
}
int main(int count, char**) { std::printf("%d %d\\n", all(), behind[count]); }
"""


@pytest.mark.parametrize(
    ("mutation", "changed"),
    [
        (("behind[5] = {9, 8", "other[5] = {1, 2"), {"main"}),  # what stands behind is none of all()'s
        (("walked[5] = {1, 2, 3, 4, 5}", "walked[6] = {1, 2, 3, 4, 5, 6}"), {"_Z3allv"}),
    ],
)
def test_the_end_of_a_loop_is_no_use_of_what_stands_behind(
    tmp_path: Path, mutation: tuple[str, str], changed: set[str]
) -> None:
    base = compiled(tmp_path / "a", "p", WALKED)
    text = WALKED.replace(*mutation)
    text = text.replace("behind[count]", "other[count]") if "other[5]" in text else text
    found = differences(match(base, compiled(tmp_path / "b", "p", text)))
    assert found
    assert ("_Z3allv" in found) == ("_Z3allv" in changed)


# As compilers may fold the 1 of `table[i - 1]` into an address, and nothing else leads to the table.
FROM_BEFORE = """
#include <stdio.h>
#define TABLE(NAME) __attribute__((used)) static const int NAME
#define BIASED(NAME) ({ const int* at; __asm__("lea " #NAME "-4(%%rip), %0" : "=r"(at)); at; })
TABLE(days)[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
TABLE(steps)[5] __asm__("steps.0") = {3, 1, 4, 1, 5};
__attribute__((noinline)) int in_month(int month) { return BIASED(days)[month]; }
__attribute__((noinline)) int in_step(int step) { return BIASED(steps.0)[step]; }
int main(int count, char** words) { printf("%d\\n", in_month(count) + in_step(count)); }
"""
RENAMED, NUMBERED = ("days", "days_2"), ("steps.0", "steps.1")


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ([RENAMED, NUMBERED], set()),
        ([RENAMED, ("31, 28", "31, 29")], {"in_month"}),
        ([("[12] = {31", "[13] = {0, 31"), RENAMED], {"in_month"}),
        ([NUMBERED, ("4, 1", "4, 2")], {"in_step"}),
    ],
    ids=["names", "a number", "the size", "a variable of a function"],
)
def test_a_table_that_is_reached_from_before_its_begin_is_compared_whatever_its_name_is(
    tmp_path: Path, unchanged: Callable[..., Path], changes: list[tuple[str, str]], changed: set[str]
) -> None:
    text = FROM_BEFORE
    for change in changes:
        text = text.replace(*change)
    found = match(unchanged(FROM_BEFORE, "-x", "c"), compiled(tmp_path, "p", text, "-x", "c"))
    told = set()
    for place in found.places:
        data = [each for each in found.places[place].goes_on if each.kind is not PlaceKind.CODE]
        needs = [place, *data]
        if place.kind is PlaceKind.CODE and any(found.places[each].difference for each in needs):
            told.add(found.name(place))
    assert told == changed


# Both are reached by their addresses alone, and begin with a pointer to themselves.
LISTS = """
#include <cstdio>
struct Head { Head* next; Head* before; };
struct Cache { Head used; int capacity; int (*grown)(int); };
static int twice(int x) { return x * 2; }
static Cache cache = {{&cache.used, &cache.used}, 64, twice};
static Head others = {&others, &others};
__attribute__((noinline)) int full(Cache* each, Head* list) {
  __asm__ volatile("" : "+r"(each), "+r"(list) :: "memory");
  return each->grown(each->capacity) + (list->next == list);
}
int main() { std::printf("%d\\n", full(&cache, &others)); }
"""


DESTROYED = """
struct Last { ~Last() { std::puts("last"); } } last;
int main() {"""


@pytest.mark.parametrize("options", [(), ("-s",)], ids=str)
@pytest.mark.parametrize("mutation", [("64, twice", "128, twice"), ("x * 2", "x * 3")], ids=str)
def test_what_begins_with_its_own_address_is_compared(
    tmp_path: Path, unchanged: Callable[..., Path], mutation: tuple[str, str], options: tuple[str, ...]
) -> None:
    other = compiled(tmp_path, "p", LISTS.replace(*mutation), *options, first=[nothing(tmp_path)])
    assert differences(match(unchanged(LISTS, *options), other))


@pytest.mark.parametrize("options", [(), ("-s",)], ids=str)
def test_the_mark_of_a_file_is_no_variable(
    tmp_path: Path, unchanged: Callable[..., Path], options: tuple[str, ...]
) -> None:
    """__dso_handle holds its own address too."""
    registers = LISTS.replace("int main() {", DESTROYED)
    moved = compiled(tmp_path, "p", registers, *options, first=[nothing(tmp_path)])
    assert differences(match(unchanged(registers, *options), moved)) == {}


# Both tables have their own users, so that what stands before them is all that tells which one is meant.
EITHER = """
#include <stdio.h>
#define TABLE(NAME) __attribute__((used, aligned(64))) static const int NAME
TABLE(first)[3] = {1, 2, 3};
TABLE(days)[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
TABLE(leap)[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
__attribute__((noinline)) int in_month(int month) {
  const int* at;
  __asm__("lea days-4(%%rip), %0" : "=r"(at));
  return at[month];
}
__attribute__((noinline)) int either(const int* one, const int* other, int at) { return one[at] + other[at]; }
int main(int count, char** words) { printf("%d\\n", in_month(count) + either(days, leap, count) + first[1]); }
"""


def test_another_one_of_two_tables_that_are_reached_from_before_their_begins_is_a_change(
    tmp_path: Path, unchanged: Callable[..., Path]
) -> None:
    other = compiled(tmp_path, "p", EITHER.replace("lea days-4", "lea leap-4"), "-x", "c")
    assert differences(match(unchanged(EITHER, "-x", "c"), other))
    assert match(unchanged(EITHER, "-x", "c"), compiled(tmp_path / "b", "p", EITHER, "-x", "c")).same()


def test_what_the_dynamic_linker_calls_need_not_be_led_to(unchanged: Callable[..., Path]) -> None:
    """It asks each chooser at start, also for what only a function uses that nothing else reaches."""
    text = """
    #include <stdio.h>
    static int twice(int x) { return x * 2; }
    __attribute__((noinline)) static int asked(void) { __asm__ volatile(""); return 1; }
    static int (*choose(void))(int) { return asked() ? twice : 0; }
    int widest(int x) __attribute__((ifunc("choose")));
    int main(int count, char** words) { printf("%d\\n", widest(count)); }
    """
    program = unchanged(text, "-x", "c")
    found = match(program, program)
    image = Image(program)
    assert {"choose", "asked"} <= {image.function_name(start) for _, start in found.called_from_outside()}
