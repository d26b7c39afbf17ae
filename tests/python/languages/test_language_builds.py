"""Building programs of other languages: missing toolchains, broken sources, wrong answers, caching."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from talking import ROOT, Conversation, built, contenders, copy_sources, workload

from tollbench.building import known, languages
from tollbench.building.recipes import RECIPES, Job, Tool, go, rust
from tollbench.building.recipes.parts import first_error, heeded_here, shown
from tollbench.catalog import packages, toolchains
from tollbench.words import HOST, Program, Status

# One contender a source, and what makes its leaves answer one too much.
# Other functions, which count units, send ordinals too.
ERLANG_TIMED = "\nnode(Ordinal, 1, Parent) ->\n    Parent ! "
GO_TIMED = "func skynet(result chan<- uint64, ordinal, size uint64) {\n\tif size == 1 {\n\t\tresult <- "
LEAVES = {
    "go_goroutines": (f"{GO_TIMED}ordinal", f"{GO_TIMED}1 + ordinal"),
    "rust_rayon": ("return ordinal;", "return ordinal + 1;"),
    "java_virtual_threads": ("sum = ordinal;", "sum = ordinal + 1;"),
    "erlang_processes": (f"{ERLANG_TIMED}Ordinal;", f"{ERLANG_TIMED}Ordinal + 1;"),
    "haskell_forkio": ("putMVar result ordinal", "putMVar result (ordinal + 1)"),
}
SOURCES = {contender.name: contender.source.name for contender in contenders()}


def present(name: str) -> None:
    if built()[name].status is Status.SKIPPED:
        pytest.skip(built()[name].reason)


def build(root: Path, *names: str) -> dict[str, Program]:
    """The named contenders of a copy, built inside of it."""
    suite = workload(root)
    chosen = tuple(contender for contender in suite.contenders if contender.name in names)
    made = languages.programs([replace(suite, contenders=chosen)], HOST, build_dir=root / "build", root=root)
    return {name: program for (_, name), program in made.items()}


def source_of(root: Path, name: str) -> Path:
    return root / "suites/tasks/skynet" / SOURCES[name]


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A copy of a language's sources to be spoilt in two ways: what cargo builds for one serves the other."""
    return cache(lambda name: copy_sources(tmp_path_factory.mktemp(name) / "copy"))


@pytest.fixture
def built_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_PROFILE_RELEASE_LTO", "off")
    monkeypatch.setenv("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")


@pytest.mark.usefixtures("built_sooner")
@pytest.mark.parametrize("name", LEAVES)
def test_a_wrong_sum_is_never_timed(spoilt: Callable[[str], Path], name: str) -> None:
    present(name)
    root = spoilt(name)
    right, wrong = LEAVES[name]
    source, text = source_of(root, name), source_of(ROOT, name).read_text()
    assert text.count(right) == 1
    source.write_text(text.replace(right, wrong))
    program = build(root, name)[name]
    assert program.status is Status.OK, program.reason
    with Conversation(program, "tasks=1000", "threads=1") as talk:
        talk.hear("ready")
        talk.say({"type": "batch", "iterations": 1})
        told = talk.hear("error")
        assert told["kind"] == "wrong_answer"
        assert "500500 instead of 499500" in told["message"]
        assert talk.end() == (1, "")


# The first ordinal of the pass that counts, which nobody times.
COUNTED = {
    "go_goroutines": ("go countedSkynet(units, result, 0,", "go countedSkynet(units, result, 1,"),
    "rust_rayon": ("skynet::<Counted>(0,", "skynet::<Counted>(1,"),
}


@pytest.mark.usefixtures("built_sooner")
@pytest.mark.parametrize("name", COUNTED)
def test_a_wrong_sum_while_units_are_counted_is_told(
    spoilt: Callable[[str], Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    present(name)
    root = spoilt(name)
    source, text = source_of(root, name), source_of(ROOT, name).read_text()
    assert text.count(COUNTED[name][0]) == 1
    source.write_text(text.replace(*COUNTED[name]))
    program = build(root, name)[name]
    assert program.status is Status.OK, program.reason
    monkeypatch.setenv("TOLL_UNITS", "1")
    with Conversation(program, "tasks=1000", "threads=1") as talk:
        told = talk.hear("error")
        assert (told["kind"], told["message"]) == (
            "wrong_answer",
            "the sum is wrong while units are counted",
        )
        assert talk.end() == (1, "")


@pytest.mark.usefixtures("built_sooner")
@pytest.mark.parametrize("name", LEAVES)
def test_a_source_that_does_not_compile_is_a_row_with_its_first_error(
    spoilt: Callable[[str], Path], name: str
) -> None:
    present(name)
    root = spoilt(name)
    source, text = source_of(root, name), source_of(ROOT, name).read_text()
    right, wrong = LEAVES[name]
    misspelt = "rdinall".join(wrong.rsplit("rdinal", 1))
    source.write_text(text.replace(right, misspelt))
    program = build(root, name)[name]
    assert program.status is Status.BUILD_FAILED
    assert program.command == ()
    # javac names the symbol on a line of its own.
    assert ("cannot find symbol" if name.startswith("java") else "rdinall") in program.reason
    assert source.name in program.reason.split(":")[0] or name.startswith("rust")
    assert Path(program.reason.split("all of it: ")[1].rstrip(")")).is_file()
    # `toll list` knows it until it is built again.
    contender = next(c for c in workload(root).contenders if c.name == name)
    assert known.why_not(root / "build")(contender) == program.reason


def test_what_was_built_is_kept_until_a_source_changes(tmp_path: Path) -> None:
    present("erlang_processes")
    root = copy_sources(tmp_path)
    program = build(root, "erlang_processes")["erlang_processes"]
    executable, source = Path(program.command[0]), source_of(root, "erlang_processes")
    first = executable.stat().st_mtime_ns
    build(root, "erlang_processes")
    assert executable.stat().st_mtime_ns == first
    shared = root / "languages/erlang/toll.erl"
    shared.write_text(shared.read_text() + "\n")
    build(root, "erlang_processes")
    second = executable.stat().st_mtime_ns
    assert second > first
    # A source that no longer compiles leaves no program of yesterday behind.
    source.write_text("-module(skynet). nonsense")
    assert build(root, "erlang_processes")["erlang_processes"].status is Status.BUILD_FAILED
    assert not executable.exists()


def test_without_toolchains_every_row_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchains, "JDK_FOLDERS", ())
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(packages, "_apt_knows", lambda name: name != "temurin-25-jdk")
    monkeypatch.setenv("PATH", str(tmp_path))
    made = build(copy_sources(tmp_path / "copy"), *SOURCES)
    assert len(made) == len(SOURCES) >= 8
    for contender in contenders():
        program = made[contender.name]
        need = packages.table()[RECIPES[contender.language].need]
        assert program.status is Status.SKIPPED
        assert f"{need.name} not found" in program.reason
        assert "apt-get install -y " in program.reason
        assert contender.needs == (need.name,)
        assert need.group == "language"


def test_where_apt_has_no_package_the_other_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_apt_knows", lambda name: name == "erlang-base")
    needs = [packages.table()["jdk"], packages.table()["erlang"]]
    install, other = packages.command_for(needs).split(" && ", 1)
    assert install.endswith("apt-get install -y erlang-base")
    assert "/usr/lib/jvm" in other
    assert "{" not in other
    assert packages.by_offer(needs) == ([needs[1]], [needs[0]])


def test_an_old_toolchain_is_a_row_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text("#!/bin/sh\necho cargo 1.63.0\n")
    cargo.chmod(cargo.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{cargo.parent}:{os.environ['PATH']}")
    program = build(copy_sources(tmp_path / "copy"), "rust_rayon")["rust_rayon"]
    assert program.status is Status.SKIPPED
    assert program.reason.startswith("cargo 1.63.0 is older than 1.85; next: ")
    contender = next(one for one in contenders() if one.name == "rust_rayon")
    assert languages.why_not(contender, tmp_path) == program.reason  # before anything was built


def test_go_is_asked_for_its_version_as_it_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a GOTOOLCHAIN of the user's the row named a toolchain that did not build the program."""
    monkeypatch.setenv("GOTOOLCHAIN", "go1.99.1")
    go = fake_tool(tmp_path / "go", "go version go1.22-$GOTOOLCHAIN linux/amd64")
    assert RECIPES["Go"].tool(go).version == "go1.22-local"


def test_a_go_program_has_the_defaults_of_its_own_toolchain() -> None:
    """By the version in languages/go/go.mod it had those of 2022: no limit of a container was heeded."""
    present("go_goroutines")
    program = built()["go_goroutines"]
    told = subprocess.run(
        [shutil.which("go") or "", "version", "-m", program.command[0]],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "-trimpath" in told.stdout
    assert "DefaultGODEBUG" not in told.stdout


@pytest.mark.parametrize(
    ("version", "language"),
    [("go1.19", "1.19"), ("go1.20.14", "1.20"), ("go1.26.8", "1.26"), ("go1.27rc1", "1.27"), ("devel", "")],
)
def test_a_toolchain_is_told_its_own_language(tmp_path, version, language) -> None:
    recipe = RECIPES["Go"]
    job = Job(Tool(Path("/bin/go"), version), ROOT, ROOT / "x.go", tmp_path, tmp_path / "x")
    recipe.begin(job)
    command = recipe.steps(job)[0].command
    assert (f"-modfile={tmp_path}/go.mod" in command) is bool(language)
    assert not language or (tmp_path / "go.mod").read_text() == f"module toll\n\ngo {language}\n"


def test_two_nightly_builds_of_one_version_are_two_toolchains(tmp_path: Path) -> None:
    older, newer = (
        RECIPES["Rust"].tool(fake_tool(tmp_path / "cargo", f"cargo 1.93.0-nightly ({day})"))
        for day in ("a 2026-01-01", "b 2026-01-02")
    )
    assert older.version == newer.version == "Rust 1.93.0-nightly"
    assert older != newer


def fake_tool(path: Path, said: str) -> Path:
    path.write_text(f'#!/bin/sh\necho "{said}"\n')
    path.chmod(0o755)
    return path


def test_the_newest_kit_is_taken_and_an_old_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kit(name: str, version: str) -> None:
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
        (tmp_path / name / "bin/javac").write_text("#!/bin/sh\n")
        (tmp_path / name / "bin/javac").chmod(0o755)

    monkeypatch.setattr(toolchains, "JDK_FOLDERS", (str(tmp_path),))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert toolchains.newest_jdk() is None
    kit("eight", "1.8.0_402")
    kit("seventeen", "17.0.15")
    need = packages.table()["jdk"]
    assert toolchains.newest_jdk() == (tmp_path / "seventeen", "17.0.15")
    assert need.found() is None
    kit("a-twenty-five", "25")
    kit("b-twenty-one", "21.0.2")
    assert need.found() == str(tmp_path / "a-twenty-five/bin/javac")
    assert [toolchains.feature(version) for version in ("1.8.0_402", "17.0.15", "25", "")] == [8, 17, 25, 0]


@pytest.mark.parametrize(
    ("log", "error"),
    [
        ("# command-line-arguments\n./x.go:3:5: undefined: foo\n", "./x.go:3:5: undefined: foo"),
        ("warning: unused\n --> x.rs:1:2\nerror[E0425]: no `foo`\n", "error[E0425]: no `foo`"),
        ("x.erl:3:5: Warning: unused\nx.erl:4:2: bad '.'\n", "x.erl:4:2: bad '.'"),
        ("x.hs:3:5: error:\n    Variable not in scope: foo\n", "x.hs:3:5: error: Variable not in scope: foo"),
        ("x.hs:1:1: warning: [-Wtabs]\nx.hs:3:5: error: [GHC-1]\n    No\n", "x.hs:3:5: error: [GHC-1] No"),
        ("[ERROR] no route\n[ERROR] \n[ERROR] [Help 1] http://where\n", "[ERROR] no route"),
        ("Killed\n", "Killed"),
        ("", "the build said nothing"),
    ],
)  # fmt: skip
def test_the_first_error_of_a_log(log: str, error: str) -> None:
    assert first_error(log) == error


def test_a_build_that_leaves_no_program_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text("#!/bin/sh\necho cargo 1.99.0\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{cargo.parent}:{os.environ['PATH']}")
    program = build(copy_sources(tmp_path / "copy"), "rust_rayon")["rust_rayon"]
    assert program.status is Status.BUILD_FAILED
    assert program.reason.startswith("the build left no program: ")


def fake_cargo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes its RUSTFLAGS as the program, where cargo would: for a target in a folder of its name."""
    cargo = fake_tool(folder / "cargo", "cargo 1.99.0")
    script = (
        '[ "$1" = build ] || { echo cargo 1.99.0; exit; }\n'
        'while [ "$1" ]; do case $1 in --bin) bin=$2;; --target-dir) out=$2;; esac; shift; done\n'
        "for target in ${FAKE_TARGETS:-.}; do\n"
        'mkdir -p "$out/$target/release"; echo "$RUSTFLAGS" > "$out/$target/release/$bin"\n'
        'chmod +x "$out/$target/release/$bin"; done\n'
    )
    cargo.write_text(f"#!/bin/sh\n{script}")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_program_for_a_chosen_target_is_found_and_no_old_one(tmp_path, monkeypatch) -> None:
    """What cargo had built before for none was taken for the new one, under flags that it was not made by."""
    fake_cargo(tmp_path, monkeypatch)
    root = copy_sources(tmp_path / "copy")
    for targets, flags in (("", "-Cone"), ("x86_64-a", "-Ctwo"), ("x86_64-b", "-Cthree"), ("", "-Cfour")):
        monkeypatch.setenv("FAKE_TARGETS", targets)
        monkeypatch.setenv("RUSTFLAGS", flags)
        program = build(root, "rust_rayon")["rust_rayon"]
        assert program.status is Status.OK, program.reason
        assert Path(program.command[0]).read_text() == f"{flags}\n"
    monkeypatch.setenv("RUSTFLAGS", "-Cfive")
    monkeypatch.setenv("FAKE_TARGETS", "a b")
    program = build(root, "rust_rayon")["rust_rayon"]
    assert program.reason.startswith("the build left no program: one for each of several targets: ")


def test_rust_for_native_is_built_anew_on_another_processor(tmp_path, monkeypatch) -> None:
    """Cargo's own fingerprint holds the flags alone, so it is given folders of the processor's."""
    monkeypatch.delenv("CARGO_BUILD_BUILD_DIR", raising=False)
    monkeypatch.delenv("RUSTFLAGS", raising=False)
    recipe, plain = RECIPES["Rust"], rust_job(tmp_path)

    def folders(job: Job, mark: str) -> tuple[str, str]:
        monkeypatch.setattr(rust, "processor_mark", lambda: mark)
        step = recipe.steps(job)[0]
        at = step.command.index("--target-dir")
        return step.command[at + 1], step.environment["CARGO_BUILD_BUILD_DIR"]

    def differing(job: Job) -> list[bool]:
        return [one != other for one, other in zip(folders(job, "a"), folders(job, "b"), strict=True)]

    assert differing(plain) == [False, False]
    assert differing(replace(plain, tuned=True)) == [True, True]
    monkeypatch.setenv("RUSTFLAGS", "-C target-cpu=native")
    assert differing(plain) == [True, True]
    monkeypatch.setenv("CARGO_BUILD_BUILD_DIR", "/a/users/own")
    assert differing(plain) == [True, True]


@pytest.mark.parametrize(
    ("language", "stock", "tuned"),
    [
        (
            "Rust",
            "cargo build --release",
            "RUSTFLAGS=-Ctarget-cpu=native cargo build --profile tuned lto=fat codegen-units=1 panic=abort",
        ),
        ("Erlang", "erlc; erl +P 4000000", "erlc; erl +P 4000000"),
        ("Haskell", "ghc -O -threaded -rtsopts", "ghc -O2 -threaded -rtsopts '-with-rtsopts=-A64m -n4m'"),
    ],
)
def test_a_languages_flags_are_those_of_its_tools_unless_tuned(tmp_path, language, stock, tuned) -> None:
    """Told by what is run, and by the manifest: a profile that changes there changes what is told."""
    recipe = RECIPES[language]
    for manifest in (ROOT / "suites").glob("*/*/Cargo.toml"):
        source = manifest.with_name(f"x.{language}")
        job = Job(Tool(Path("/bin/tool"), "1"), ROOT, source, tmp_path, tmp_path / "x")
        assert recipe.flags(job) == stock
        assert recipe.flags(replace(job, tuned=True)) == tuned
    commands = [[*step.command, *step.environment.values()] for step in recipe.steps(job)]
    changed = [[*step.command, *step.environment.values()] for step in recipe.steps(replace(job, tuned=True))]
    assert (commands != changed) == (stock != tuned)


V1 = "fpu cx8 sse sse2"
V2 = f"{V1} cx16 lahf_lm pni popcnt sse4_1 sse4_2 ssse3"
V3 = f"{V2} abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"
V4 = f"{V3} avx512bw avx512cd avx512dq avx512f avx512vl"


@pytest.mark.parametrize(
    ("machine", "version", "features", "own"),
    [
        ("x86_64", "go1.26.8", V1, {"GOAMD64": "v1"}),
        ("x86_64", "go1.19", V2, {"GOAMD64": "v2"}),
        ("x86_64", "go1.19", V3, {"GOAMD64": "v3"}),
        ("x86_64", "go1.19", V4, {"GOAMD64": "v4"}),
        ("x86_64", "go1.19", V4.replace("movbe ", ""), {"GOAMD64": "v2"}),  # none is left out
        ("aarch64", "go1.23.1", "fp asimd", {"GOARM64": "v8.0"}),
        ("aarch64", "go1.26", "fp aes pmull sha1 sha2", {"GOARM64": "v8.0,crypto"}),
        ("aarch64", "go1.26", "fp aes pmull sha1 sha2 atomics", {"GOARM64": "v8.0,lse,crypto"}),
        ("aarch64", "go1.22.9", "fp atomics", {}),
        ("riscv64", "go1.26", "", {}),
    ],
)
def test_tuned_go_is_built_for_this_processor(tmp_path, monkeypatch, machine, version, features, own) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(go, "processor_features", lambda: frozenset(features.split()))
    for name in ("GOAMD64", "GOARM64"):
        monkeypatch.setenv(name, "a user's")
    recipe = RECIPES["Go"]
    job = Job(Tool(Path("/bin/go"), version), ROOT, ROOT / "x.go", tmp_path, tmp_path / "x")
    stock, tuned = (recipe.steps(one) for one in (job, replace(job, tuned=True)))
    assert tuned[0].environment == {**stock[0].environment, **own}
    assert tuned[0].command == stock[0].command
    told = " ".join([*(f"{name}={value}" for name, value in own.items()), recipe.flags(job)])
    assert recipe.flags(replace(job, tuned=True)) == told
    # A user's own gives way.
    assert set(heeded_here(recipe, stock)) - set(heeded_here(recipe, tuned)) == set(own)


@pytest.mark.parametrize("text", [None, "[profile", "\xff"])
def test_a_manifest_that_cannot_be_read_is_cargos_to_refuse(tmp_path, text) -> None:
    if text is not None:
        (tmp_path / "Cargo.toml").write_bytes(text.encode("latin-1"))
    job = Job(Tool(Path("/bin/cargo"), "1"), ROOT, tmp_path / "x.rs", tmp_path, tmp_path / "x")
    assert RECIPES["Rust"].flags(job) == "cargo build --release"


def test_variables_that_change_what_is_built_are_told_and_build_anew(tmp_path, monkeypatch) -> None:
    present("go_goroutines")
    monkeypatch.delenv("GOAMD64", raising=False)
    root = copy_sources(tmp_path)
    stock = build(root, "go_goroutines")["go_goroutines"].flags
    assert re.fullmatch(r"go build \(go.mod: go 1\.\d+\)", stock)
    executable = root / "build/languages/programs/tasks/skynet/skynet.go"
    first = executable.stat().st_mtime_ns
    monkeypatch.setenv("GODEBUG", "madvdontneed=1")
    assert build(root, "go_goroutines")["go_goroutines"].flags == f"GODEBUG=madvdontneed=1 {stock}"
    assert executable.stat().st_mtime_ns > first


def rust_job(folder: Path) -> Job:
    manifest = next((ROOT / "suites").glob("*/*/Cargo.toml"))
    return Job(Tool(Path("/bin/cargo"), "1"), ROOT, manifest.with_name("x.rs"), folder, folder / "x")


def test_manifests_share_what_they_depend_on_but_not_programs_of_one_name(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("CARGO_BUILD_BUILD_DIR", raising=False)
    recipe = RECIPES["Rust"]
    steps = [recipe.steps(rust_job(tmp_path / "made" / name / "x.rs"))[0] for name in ("fib", "skynet")]
    shared, targets = (
        {step.environment["CARGO_BUILD_BUILD_DIR"] for step in steps},
        {step.command[step.command.index("--target-dir") + 1] for step in steps},
    )
    assert shared == {str(tmp_path / "crates")}
    assert len(targets) == 2
    monkeypatch.setenv("CARGO_BUILD_BUILD_DIR", "/a/users/own")
    assert "CARGO_BUILD_BUILD_DIR" not in recipe.steps(rust_job(tmp_path / "made/fib/x.rs"))[0].environment


@pytest.mark.parametrize("name", ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"])
def test_the_users_own_rust_flags_give_way_to_those_of_a_tuned_build(tmp_path, monkeypatch, name) -> None:
    for other in ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "-Copt-level=0")
    recipe, job = RECIPES["Rust"], rust_job(tmp_path)
    assert heeded_here(recipe, recipe.steps(job)) == {name: "-Copt-level=0"}
    tuned = recipe.steps(replace(job, tuned=True))
    assert heeded_here(recipe, tuned) == {}
    assert tuned[0].environment[name] == "-Ctarget-cpu=native"


def test_of_cargos_variables_those_that_decide_code_are_told(tmp_path, monkeypatch) -> None:
    recipe, job = RECIPES["Rust"], rust_job(tmp_path)
    before = heeded_here(recipe, recipe.steps(job))
    for name in ("CARGO_BUILD_JOBS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_X_RUNNER"):
        monkeypatch.setenv(name, "2")
    assert heeded_here(recipe, recipe.steps(job)) == before
    deciding = (
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_TARGET_X_LINKER",
        "CARGO_PROFILE_RELEASE_LTO",
        "RUSTC_WRAPPER",
    )
    for name in deciding:
        monkeypatch.setenv(name, "2")
    assert heeded_here(recipe, recipe.steps(job)) == before | dict.fromkeys(deciding, "2")


@pytest.mark.parametrize(
    ("language", "name", "value", "told"),
    [
        ("Java", "JAVA_TOOL_OPTIONS", "-Xmx4g -XX:+UseZGC -XX:MaxRAMPercentage=50.5", None),
        ("Java", "JAVA_TOOL_OPTIONS", "-Dhttp.proxyPassword=abc -Xmx4g", "-Dhttp.proxyPassword=... -Xmx4g"),
        ("Java", "_JAVA_OPTIONS", "-javaagent:a.jar=key=abc -XX:OnError=abc", "... ..."),
        ("Java", "JDK_JAVA_OPTIONS", '-Da="abc -Xint" "-Dabc=abc', "..."),
        ("Java", "JDK_JAVA_OPTIONS", '-Da="abc -Xint"', "-Da=..."),
        ("Erlang", "ERL_FLAGS", "+S 4:4 +sbwt none -setcookie abc", "+S 4:4 +sbwt ... ... ..."),
        ("Erlang", "ERL_AFLAGS", "-setcookie 123", "... ..."),
        ("Go", "GOFLAGS", "-tags=a -race", None),
    ],
)
def test_what_may_be_a_password_is_not_told(tmp_path, monkeypatch, language, name, value, told) -> None:
    """Of the options that are set; run files and reports are handed on."""
    recipe = RECIPES[language]
    for other in [one for one in os.environ if one in recipe.heeded]:
        monkeypatch.delenv(other)
    monkeypatch.setenv(name, value)
    job = Job(Tool(Path("/bin/tool"), "JDK 25"), ROOT, ROOT / "x", tmp_path, tmp_path / "x")
    variables = heeded_here(recipe, recipe.steps(job))
    assert variables == {name: value}
    assert shown(recipe, variables).replace("'", "") == f"{name}={value if told is None else told}"


def test_a_value_that_is_not_told_builds_anew_when_it_changes(tmp_path, monkeypatch) -> None:
    present("java_virtual_threads")
    root = copy_sources(tmp_path)
    executable = root / "build/languages/programs/tasks/skynet/skynet.java"
    made = set()
    for value in ("-Dx=1", "-Dx=2", "-Dx=2"):
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", value)
        program = build(root, "java_virtual_threads")["java_virtual_threads"]
        assert program.flags.startswith("JAVA_TOOL_OPTIONS=-Dx=... javac")
        made.add(executable.stat().st_mtime_ns)
    assert len(made) == 2


@pytest.mark.parametrize(
    ("name", "asked"),
    [("go_gomaxprocs_default", "threads=2"), ("rust_tokio_current_thread", "threads=2")],
)
def test_a_row_that_is_named_by_its_threads_takes_no_others(name: str, asked: str) -> None:
    """They would be another row's once more, under a name that says something else."""
    present(name)
    with Conversation(built()[name], "tasks=10", asked) as talk:
        assert talk.hear("error")["kind"] == "unsupported"
        assert talk.end() == (1, "")
