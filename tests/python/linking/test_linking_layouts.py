"""A user's build, linked again with its functions elsewhere: real compilers and linkers, tiny programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from wrapped_builds import NAMES, addresses, build, printed, section_of, sections, write_sources

from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.linking.layouts import linked, linked_alike
from tollbench.linking.programs import read_program
from tollbench.linking.relinking import Linkable, keyed_alike, linkable
from tollbench.linking.wrapped import WrappedBuild

GXX = "g++ -O1 main.cpp work.cpp -o bench"
CLANGS = [name for name in ("clang++-19", "clang++-16", "clang++") if shutil.which(name)]
CLANG = next(iter(CLANGS), None)
needs_clang = pytest.mark.skipif(CLANG is None, reason="Clang is not installed")


def finds_lld(compiler: str) -> bool:
    """Whether this Clang has an LLD: of its own version, in its own folder, or any in PATH."""
    asked = [compiler, "-print-prog-name=ld.lld"]
    return Path(
        subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    ).is_absolute()


WITH_LLD = next(filter(finds_lld, CLANGS), None)
needs_lld = pytest.mark.skipif(WITH_LLD is None, reason="no Clang here has an LLD (apt-get install lld-16)")
SEED = 7

Plain = tuple[WrappedBuild, Path]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    """Both sources in one command: their objects are gone when the build ends."""
    folder = tmp_path_factory.mktemp("plain")
    write_sources(folder)
    return build(folder, GXX), folder / "bench"


def made(folder: Path, command: str, program: str = "bench") -> Linkable:
    write_sources(folder)
    return linkable(build(folder, command, program), folder / program)


def refusal(folder: Path, command: str) -> str:
    with pytest.raises(LaunchFailed) as failed:
        made(folder, command)
    return failed.value.reason


def holds(program: Linkable, layouts: int = 3) -> list[dict[str, int]]:
    """Layouts that do what the program does, each with its functions elsewhere."""
    (paths,) = linked_alike([program], layouts, SEED)
    said = printed(program.executable)
    assert [printed(path) for path in paths] == [said] * layouts
    places = [addresses(program, path) for path in paths]
    orders = [sorted(NAMES, key=lambda name: place[section_of(name)]) for place in places]
    assert len({tuple(order) for order in [NAMES, *orders]}) == layouts + 1
    return places


def test_layouts_are_the_same_program_in_another_order(plain: Plain) -> None:
    build_, executable = plain
    before = executable.read_bytes()
    done: list[int] = []
    paths = linked(build_, executable, 4, SEED, on_link=done.append)
    assert done == [1, 2, 3, 4]
    assert [path.name for path in paths] == [f"bench.layout-0{number}" for number in (1, 2, 3, 4)]
    assert {path.parent for path in paths} == {executable.parent}
    assert executable.read_bytes() == before
    base = read_program(executable)
    assert base.functions
    for path in paths:
        assert os.access(path, os.X_OK)
        assert read_program(path).unlike(base) is None
        assert printed(path) == printed(executable)
    holds(linkable(build_, executable))


def test_the_same_seed_gives_the_same_files_and_another_seed_others(plain: Plain) -> None:
    def files(seed: int) -> list[bytes]:
        return [path.read_bytes() for path in linked(*plain, layouts=2, seed=seed)]

    first = files(SEED)
    assert files(SEED) == first
    assert first[0] != first[1]
    assert not set(files(SEED + 1)) & set(first)


def test_offsets_within_a_cache_line_are_drawn(plain: Plain) -> None:
    program = linkable(*plain)
    seen = {place[section_of("work_a")] % 64 for place in holds(program, 12)}
    assert seen == {0, 16, 32, 48} or len(seen) > 4  # -O1 aligns functions to less than 16


def test_code_that_two_revisions_share_keeps_its_address(tmp_path: Path) -> None:
    first, second = tmp_path / "0", tmp_path / "1"
    write_sources(first)
    write_sources(second, {"work_c": 40, "work_f": 0})
    # Besides, an object before all others with a function that the first revision does not have.
    (second / "new.cpp").write_text('extern "C" int added(int x) { volatile int y = x; return y * 3; }\n')
    more = GXX.replace("main.cpp", "new.cpp main.cpp -Wl,-u,added")
    revisions = [
        linkable(build(folder, command), folder / "bench")
        for folder, command in ((first, GXX), (second, more))
    ]
    before, after = linked_alike(revisions, 5, SEED)
    for one, other in zip(before, after, strict=True):
        places, later = addresses(revisions[0], one), addresses(revisions[1], other)
        assert section_of("added") in later.keys() - places.keys()
        assert {key: later[key] for key in places} == places
        sizes = {section.name: section.size for section in sections(revisions[0], one)}
        grown = {section.name: section.size for section in sections(revisions[1], other)}
        differing = [name for name in NAMES if sizes[section_of(name)] != grown[section_of(name)]]
        assert differing == ["work_c", "work_f"]


def test_a_name_that_one_side_alone_has_twice_tells_nothing_on_either(tmp_path: Path) -> None:
    """Of a static function there, and so its place on one side was not that on the other."""
    first, second = tmp_path / "0", tmp_path / "1"
    write_sources(first)
    write_sources(second)
    (first / "work.cpp").write_text((first / "work.cpp").read_text().replace("local(", "own("))
    revisions = [linkable(build(folder, GXX), folder / "bench") for folder in (first, second)]
    before, after = linked_alike(revisions, 4, SEED)
    keyed = keyed_alike(revisions)
    for one, other in zip(before, after, strict=True):
        places, later = addresses(keyed[0], one), addresses(keyed[1], other)
        shared = places.keys() & later.keys()
        assert any(key.startswith(".text._ZL5locali\0") for key in shared)
        assert {key: later[key] for key in shared} == {key: places[key] for key in shared}


def test_an_alignment_of_one_side_is_no_gift_to_the_other(tmp_path: Path) -> None:
    first, second = tmp_path / "0", tmp_path / "1"
    write_sources(first)
    write_sources(second)
    (second / "work.cpp").write_text(
        'extern "C" int work_c(int) __attribute__((aligned(64)));\n' + (second / "work.cpp").read_text()
    )
    revisions = [linkable(build(folder, GXX), folder / "bench") for folder in (first, second)]
    before, after = linked_alike(revisions, 12, SEED)
    name = section_of("work_c")
    assert {addresses(revisions[1], layout)[name] % 64 for layout in after} == {0}
    assert len({addresses(revisions[0], layout)[name] % 64 for layout in before}) > 2
    for one, other in zip(before, after, strict=True):
        places, later = addresses(revisions[0], one), addresses(revisions[1], other)
        assert all(later[key] == places[key] for key in places if key != name)


def test_a_disk_that_takes_no_more_is_a_sentence(plain: Plain, tmp_path: Path) -> None:
    program = linkable(*plain)
    gone = replace(program, scratch=tmp_path / "gone")
    with pytest.raises(LaunchFailed, match="gone takes no more of what linking needs") as failed:
        linked_alike([program, gone], 2, SEED)
    assert failed.value.side == 1


BUILDS = {
    "no-pie": GXX + " -no-pie",
    "static": GXX + " -static",
    "collected": GXX + " -ffunction-sections -Wl,--gc-sections",
    "stripped": GXX + " -s",
    "linked by GCC's plug-in": GXX.replace("-O1", "-O1 -flto -fno-inline -fno-ipa-cp"),
    "without sections of its own": GXX + " -fno-function-sections",
    "response files": "printf '%s\\n' -O1 main.cpp '\"work.cpp\"' > with.rsp; g++ @with.rsp -o bench",
    "objects and an archive": "g++ -O1 -c main.cpp work.cpp && ar rc libwork.a work.o && "
    "g++ main.o -L. -lwork -o bench && rm work.o",
    "objects removed": "g++ -O1 -c main.cpp work.cpp && g++ main.o work.o -o bench && rm main.o work.o",
    "a folder with a linker": f"mkdir own && ln -s $(command -v ld) own/ld && {GXX} -B own",
    "copied": f"mkdir out && {GXX} && mv bench out/bench && {GXX} -O0 && cp out/bench bench",
    "moved": f"{GXX}.new && {GXX} -no-pie && mv bench.new bench",
    "stripped later": f"{GXX} && strip bench",
    "odd names": "mkdir 'a [b]*? c' && cp *.cpp 'a [b]*? c' && cd 'a [b]*? c' && "
    'for f in main work; do g++ -O1 -c $f.cpp -o "$f ü[1]*?\'\\\\:(x).o"; done && '
    'ar rc "lib(w):[*].a" work*.o && g++ main*.o lib*.a -o ../bench',
}


@pytest.mark.parametrize("kind", BUILDS)
def test_builds_as_users_have_them(kind: str, tmp_path: Path) -> None:
    holds(made(tmp_path / "it's a [ch*ckout] é", BUILDS[kind]))


def test_a_program_in_c(tmp_path: Path) -> None:
    tmp_path.joinpath("main.c").write_text(
        "int f(int x) { return x + 2; }\nint main(int c, char **v) { return f(c) - 3; }"
    )
    program = linkable(build(tmp_path, "gcc -O0 main.c -o bench"), tmp_path / "bench")
    assert {block.key for block in program.blocks} >= {".text.f", ".text.main"}
    (paths,) = linked_alike([program], 2, SEED)
    assert [subprocess.run([path], check=False).returncode for path in paths] == [0, 0]


def test_make_with_its_own_flags(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c/Makefile").write_text(
        "CXXFLAGS = -O1 -g -Wall -Werror\nbench: main.o work.o\n\t$(CXX) $^ -o $@\n"
    )
    holds(made(tmp_path / "c", "make"))


@pytest.mark.skipif(not shutil.which("ninja"), reason="Ninja is not installed")
@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_cmake(generator: str, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(x CXX)\nadd_library(work STATIC work.cpp)\n"
        "add_executable(bench main.cpp)\ntarget_link_libraries(bench work)\n"
    )
    holds(made(folder, f"cmake -G '{generator}' -B build . && cmake --build build", "build/bench"))


@needs_clang
def test_clang_with_the_linker_of_gcc(tmp_path: Path) -> None:
    holds(made(tmp_path / "c", f"{CLANG} -Werror -O1 main.cpp work.cpp -o bench"))


@needs_lld
@pytest.mark.parametrize(
    "options",
    ["", "-flto -fno-inline", "-flto=thin -fno-inline", "-static", "-Wl,--gc-sections,--icf=all", "-no-pie"],
)
def test_clang_with_lld(options: str, tmp_path: Path) -> None:
    holds(made(tmp_path / "it's [c] é", f"{WITH_LLD} -O1 -fuse-ld=lld {options} main.cpp work.cpp -o bench"))


def test_a_build_that_does_not_use_the_wrapper(tmp_path: Path) -> None:
    reason = refusal(tmp_path / "c", f"unset COMPILER_PATH; {GXX}")
    assert "did not link bench through the wrapper" in reason
    assert "let the build command" in reason


def test_a_build_that_calls_the_linker_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("void _start(void) { for (;;) {} }\n")
    command = "gcc -c main.c && $(command -v ld) main.o -o bench"
    with pytest.raises(LaunchFailed, match="not by ld itself"):
        linkable(build(tmp_path, command), tmp_path / "bench")


def test_compilers_by_their_path(tmp_path: Path) -> None:
    holds(made(tmp_path / "c", GXX.replace("g++", shutil.which("g++") or "g++")))


def test_objects_of_an_earlier_build(tmp_path: Path) -> None:
    write_sources(tmp_path / "c")
    subprocess.run(["g++", "-c", "main.cpp", "work.cpp"], cwd=tmp_path / "c", check=True)
    assert "no function has a section of its own" in refusal(tmp_path / "c", "g++ main.o work.o -o bench")


def test_what_is_not_the_program_that_was_linked(tmp_path: Path) -> None:
    assert "no ELF executable" in refusal(tmp_path / "script", f"{GXX}.real; echo exec ./bench.real > bench")
    with pytest.raises(LaunchFailed, match="cannot be read: No such file"):
        made(tmp_path / "none", "true")
    edit = f"{GXX} -Wl,-rpath,/aaa; sed -i 's|/aaa|/bbb|' bench"
    assert "not what its link makes" in refusal(tmp_path / "edited", edit)


def test_a_link_that_cannot_be_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    lost = refusal(folder, "g++ -c main.cpp work.cpp; g++ main.o work.o -o bench; echo >> work.o")
    assert "work.o, which was linked into it, is gone or was changed" in lost
    failing = refusal(
        tmp_path / "d",
        "mkdir l; mv work.cpp l; cd l; g++ -shared -fPIC work.cpp -o libw.so; cd ..; "
        "g++ main.cpp -Ll -lw -o bench; rm -r l",
    )
    assert "its linker exited with code 1; its last words: " in failing
    assert "cannot find -lw" in failing


def test_linkers_that_place_nothing(tmp_path: Path) -> None:
    scripted = f"ld --verbose | sed '1,/=====/d;/=====/,$d' > own.x; {GXX} -no-pie -T own.x"
    reason = refusal(tmp_path / "c", scripted)
    assert "a linker script of its own" in reason
    if shutil.which("ld.gold"):
        gold = refusal(tmp_path / "d", f"{GXX} -fuse-ld=gold")
        assert "GNU gold" in gold
        assert "-fuse-ld=bfd" in gold
    if shutil.which("ld.mold"):
        mold = refusal(tmp_path / "e", f"{GXX} -fuse-ld=mold")
        assert "mold" in mold
        assert "-fuse-ld=lld" in mold


def test_a_linker_that_is_gone(tmp_path: Path) -> None:
    reason = refusal(tmp_path / "c", f"mkdir own; cp $(command -v ld) own/ld; {GXX} -B own; rm own/ld")
    assert "could not be started" in reason


def test_the_side_at_fault_and_its_last_words(plain: Plain, tmp_path: Path) -> None:
    good = linkable(*plain)
    bad = made(tmp_path / "c", "g++ -c main.cpp work.cpp; g++ main.o work.o -o bench")
    (tmp_path / "c/work.o").write_bytes(b"no object")
    with pytest.raises(
        LaunchFailed, match=r"cannot be linked in other layouts: its linker .*work\.o"
    ) as failed:
        linked_alike([good, bad], 2, SEED)
    assert failed.value.side == 1


def test_somebody_asks_to_stop(plain: Plain) -> None:
    program = linkable(*plain)
    with Interrupt() as interrupt:
        interrupt.request()
        with pytest.raises(Interrupted):
            linked_alike([program], 2, SEED, interrupt)


def test_a_program_of_few_functions_stands_in_few_layouts(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("void _start(void) { for (;;) {} }\n")
    command = "gcc -O2 -nostdlib -static main.c -o bench"
    program = linkable(build(tmp_path, command), tmp_path / "bench")
    with pytest.raises(LaunchFailed, match="too few functions to stand in 40 layouts"):
        linked_alike([program], 40, SEED)


def test_what_stays_as_it_was_linked_is_told(tmp_path: Path) -> None:
    command = (
        "g++ -O1 -shared -fPIC work.cpp -o libwork.so && "
        "g++ -O1 main.cpp -L. -lwork -Wl,-rpath,'$ORIGIN' ./libwork.so -o bench"
    )
    program = made(tmp_path / "c", command)
    assert program.libraries == ("./libwork.so",)
    (path,) = linked_alike([program], 1, SEED)[0]
    assert printed(path) == printed(program.executable)
    assert program.moved_whole == ()  # what the compiler brought is nobody's object


def test_objects_whose_functions_stay_beside_one_another_are_told(plain: Plain, tmp_path: Path) -> None:
    unseen = "env -u COMPILER_PATH g++ -O1 -c work.cpp; ar rc work.a work.o"
    command = f"g++ -O1 -c main.cpp; {unseen}; g++ main.o work.a -o bench"
    assert made(tmp_path / "c", command).moved_whole == ("work.a:work.o",)
    assert linkable(*plain).moved_whole == ()


def test_wrappers_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailed, match="without one"):
        WrappedBuild(tmp_path / "a:b", "bench")
    (tmp_path / "file").write_text("")
    with pytest.raises(LaunchFailed, match="cannot be written"):
        WrappedBuild(tmp_path / "file", "bench")
