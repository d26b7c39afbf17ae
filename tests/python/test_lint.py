"""The project's own rules that no other tool holds."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

from package_imports import PACKAGE, cycles, imported, sources
from tollbench.interpreters import interpreter

ROOT = PACKAGE.parents[1]
MAX_FUNCTION_LINES = 80
MODULE_OF = {"iced-x86": "iced_x86", "pyelftools": "elftools"}  # of distributions with another name

# docs/architecture.md: the rooms of each rank, from the first that a number passes to the last.
RANKS: tuple[set[str], ...] = (
    {"errors", "words", "text", "numbers", "estimates", "interpreters", "home", "stats"},
    {"writing"},
    {"catalog", "store"},
    {"plan", "building", "launching"},
    {"analysis", "counting", "linking"},
    {"measure"},
    {"compare", "export"},
    {"history", "lake"},
    {"fleet"},
    {"report"},
    {"notebook"},
    {"cli"},
)
BASE = {"errors", "words", "text", "numbers", "estimates", "interpreters", "home"}
# What each room may import of toll besides itself and, from rank 1 on, BASE: what it needs, and no more.
MAY_IMPORT: dict[str, set[str]] = {
    "writing": set(),
    "catalog": {"writing"},
    "store": set(),
    "plan": {"catalog"},
    "building": {"catalog", "writing"},
    "launching": {"store", "writing"},
    "analysis": {"store", "stats"},
    "measure": {"plan", "store", "stats", "analysis", "launching"},
    "counting": {"launching", "writing"},
    "linking": {"launching"},
    "compare": {"writing", "stats", "analysis", "launching", "linking", "counting"},
    "history": {"writing", "stats", "compare", "launching", "analysis"},
    "lake": {"writing", "store", "stats", "analysis", "export"},
    "fleet": {"writing", "catalog", "store", "stats", "launching", "compare"},
    "report": {
        "fleet.fleets",
        "fleet.agreement",
        "analysis.results",
        "analysis.several_results",
        "compare.verdicts",
        "compare.trials",
        "compare.rebuilds",
        "compare.explanations",
        "history.bisections",
        "history.commit_range",
        "history.histories",
        "lake.lake_answers",
    },
    "export": {"writing", "store", "analysis"},
    "notebook": {"store", "analysis", "export"},
    "cli": {
        "writing",
        "catalog",
        "store",
        "plan",
        "building",
        "launching",
        "linking",
        "analysis",
        "measure",
        "compare",
        "history",
        "lake",
        "fleet",
    }
    | {"report", "export", ""},
    # tollbench/__init__.py and __main__.py only open the door to a room.
    "": {"notebook", "compare.stored"},
    "__main__": {"cli"},
}


def rank(room: str) -> int:
    return next(number for number, rooms in enumerate(RANKS) if room.split(".")[0] in rooms)


def tracked() -> list[Path]:
    """Files that git knows, or all files of a checkout without git; a link is the file that it leads to."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
        return [path for path in found if path.is_file() and not path.is_symlink()]
    own = ("python", "include", "src", "suites", "tests", "docs", "schemas", "cmake")
    found = [path for folder in own for path in (ROOT / folder).rglob("*")]
    return [path for path in found if path.is_file() and not path.is_symlink()]


def room_of(file: str) -> str:
    first = file.split("/")[0].removesuffix(".py")
    return "" if first == "__init__" else first


def may_import(room: str) -> set[str]:
    """Besides itself."""
    return set() if room in RANKS[0] else BASE | MAY_IMPORT[room]


def grants(entry: str, name: str) -> bool:
    """Whether an entry of MAY_IMPORT allows the import of a module, or of something in it.

    "analysis.results" allows what that module holds, and not the function of that name in analysis.
    """
    first = name.split(".")[0]
    if first not in MAY_IMPORT and first not in RANKS[0]:
        first = name = ""  # an attribute of toll itself, such as __version__
    return entry == first or name.startswith(entry + ".")


def violations(file: str, source: str) -> list[str]:
    room = room_of(file)
    if room not in MAY_IMPORT and room not in RANKS[0]:
        return [f"{file}: the room {room} is not in docs/architecture.md"]
    return [
        f"{file}:{line} imports tollbench.{name}, which {room or 'toll'} may not"
        for line, name in imported(file, ast.parse(source))
        if not (room and grants(room, name)) and not any(grants(may, name) for may in may_import(room))
    ]


@pytest.mark.parametrize("file", sources())
def test_a_room_imports_only_from_rooms_above_it(file: str) -> None:
    assert violations(file, sources()[file]) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("stats/order.py", "from tollbench.words import Case"),
        ("stats/order.py", "def f():\n    import tollbench.errors"),
        ("text.py", "from tollbench.numbers import percent"),
        ("report/html.py", "from tollbench.store import RunFile"),
        ("report/html.py", "from tollbench.analysis import results as r"),
        ("plan/making.py", "from tollbench.measure import run"),
        ("launching/process.py", "from tollbench.stats import drift"),
        ("catalog/suites.py", "from ..building import cmake"),
        ("store/runfile.py", "import tollbench"),
        ("writing/whole.py", "from tollbench.store import RunFile"),
        ("store/runfile.py", "from tollbench import __version__"),
        ("brand_new/x.py", "import os"),
    ],
)
def test_the_order_is_held_against_each_kind_of_import(file: str, source: str) -> None:
    assert violations(file, source)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("report/html.py", "from tollbench.analysis.results import Results"),
        ("stats/order.py", "from tollbench.stats.paired import ratio\nimport numpy"),
        ("cli/run.py", "from tollbench import measure, __version__"),
        ("cli/run.py", "import tollbench"),
    ],
)
def test_the_order_allows_what_it_should(file: str, source: str) -> None:
    assert violations(file, source) == []


@pytest.mark.parametrize("room", [room for rooms in RANKS[1:] for room in sorted(rooms)])
def test_what_a_room_may_import_is_of_a_lower_rank(room: str) -> None:
    assert [may for may in may_import(room) - {""} if rank(may) >= rank(room)] == []


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_may_import_no_more_than_it_does(room: str) -> None:
    does = [
        name
        for file, source in sources().items()
        if room_of(file) == room
        for _, name in imported(file, ast.parse(source))
    ]
    assert [may for may in MAY_IMPORT[room] if not any(grants(may, name) for name in does)] == []


def with_runner() -> dict[str, str]:
    """The package, and what runs `toll test` as if it were a folder of it: these rules hold for it too."""
    own = re.compile(r"^(\s*(?:from|import)) toll_test\b", re.MULTILINE)
    runner = {
        f"toll_test/{path.name}": path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "tests/toll_test").glob("*.py"))
    }
    assert runner
    both = sources() | runner
    return {file: own.sub(r"\1 tollbench.toll_test", source) for file, source in both.items()}


def test_no_files_import_each_other_in_a_circle() -> None:
    assert cycles(with_runner()) == []


CIRCLES: list[dict[str, str]] = [
    {"a.py": "from tollbench.b import x", "b.py": "import tollbench.a"},
    {"a.py": "import tollbench.b", "b.py": "def f():\n    from tollbench.a import x"},
    {"a.py": "import tollbench.b", "b.py": "if TYPE_CHECKING:\n    from tollbench.a import X"},
    {"s/a.py": "from .b import x", "s/b.py": "from .c import x", "s/c.py": "from . import a"},
    {"s/__init__.py": "from tollbench.s.a import x", "s/a.py": "from tollbench.s import y"},
    {"s/__init__.py": "from tollbench.s.a import x", "s/a.py": "import tollbench.s"},
    # Importing s/a.py from outside runs s/__init__.py first, and with it s/b.py.
    {
        "o.py": "import tollbench.s.a",
        "s/__init__.py": "import tollbench.s.b",
        "s/a.py": "",
        "s/b.py": "from ..o import x",
    },
    {"__init__.py": "from tollbench.a import x", "a.py": "from tollbench import __version__"},
]


@pytest.mark.parametrize("files", CIRCLES)
def test_each_kind_of_circle_is_found(files: dict[str, str]) -> None:
    assert len(cycles(files)) == 1


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "import tollbench.b", "b.py": "import tollbench.c", "c.py": "import os"},
        {
            "s/__init__.py": "from tollbench.s.a import x",
            "s/a.py": "from tollbench.s.b import x",
            "s/b.py": "",
        },
        {"s/__init__.py": "from tollbench.s.a import x", "s/a.py": "from tollbench.s import b", "s/b.py": ""},
        {"o.py": "from tollbench.s import x", "s/__init__.py": "from tollbench.s.a import x", "s/a.py": ""},
    ],
)
def test_what_is_no_circle_is_not_called_one(files: dict[str, str]) -> None:
    assert cycles({**files, "__init__.py": ""}) == []


def test_a_circle_is_shown_with_its_lines_and_every_one_is() -> None:
    files = {
        "a.py": "\nimport tollbench.b",
        "b.py": "import tollbench.a",
        "c.py": "import tollbench.d",
        "d.py": "\n\nimport tollbench.c",
    }
    assert sorted(cycles(files)) == ["a.py:2 -> b.py:1 -> a.py", "c.py:1 -> d.py:3 -> c.py"]


def twice(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Of (name, place), the names that stand in several places."""
    places: dict[str, list[str]] = {}
    for name, place in named:
        places.setdefault(name, []).append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_files_have_one_name() -> None:
    files = [(PurePosixPath(file).name, file) for file in with_runner()]
    assert twice((name, file) for name, file in files if name != "__init__.py") == {}


def test_no_two_classes_have_one_name() -> None:
    classes = [
        (node.name, f"{file}:{node.lineno}")
        for file, source in with_runner().items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]
    assert twice(classes) == {}


def folders() -> list[str]:
    files = [path for path in tracked() if PACKAGE in path.parents and path.suffix != ".pyc"]
    return sorted({path.parent.relative_to(PACKAGE).as_posix() for path in files} - {"."})


def test_every_folder_is_in_the_architecture() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    names = {folder: re.escape(folder.split("/")[-1]) for folder in folders()}
    assert names
    missing = [folder for folder, name in names.items() if not re.search(rf"(?<!\w){name}/|`{name}`", text)]
    assert missing == []


def python_sources() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py"]


def test_functions_fit_on_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in python_sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert long == []


# Written in pieces, so that this file does not hold what it looks for.
PRIVATE = re.compile(
    "|".join(
        [
            "/" + "work/(main|shared)",
            r"\.\./" + "shared/(design|exemplars|seeds)",
            "files.python" + "hosted.org",
            r"pypi\.(org|python)",
            r"registry\.npm" + r"js\.org",
            "deb" + r"\.debian\.org",
            r"--index-url\s+http",
            "/" + "root/",
            "/" + r"home/\w+/",
        ]
    )
)


def test_no_file_names_this_machine_or_a_registry() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{number}: {match.group()}"
            for number, line in enumerate(text.splitlines(), 1)
            if (match := PRIVATE.search(line))
        ]
    assert found == []


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "docs/architecture.md",
        "docs/glossary.md",
        "docs/method.md",
        "docs/protocol.md",
        "schemas/list.schema.json",
        ".ci/run",
        "toll",
    ],
)
def test_what_a_newcomer_looks_for_is_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


def test_the_guide_shows_a_contender_that_is_compiled() -> None:
    samples = re.findall(
        r"<!-- from (\S+) -->\n```cpp\n(.*?)```", (ROOT / "docs/contender.md").read_text(), re.DOTALL
    )
    assert samples, "docs/contender.md shows no sample: <!-- from FILE --> before a cpp block"
    for file, sample in samples:
        assert len(sample.strip().splitlines()) <= 15, f"the sample from {file} has more than 15 lines"
        assert sample.strip() == (ROOT / file).read_text(encoding="utf-8").strip(), (
            f"docs/contender.md drifted from {file}"
        )


def test_links_in_the_documents_lead_somewhere() -> None:
    documents = [path for path in tracked() if path.suffix == ".md"]
    assert documents
    broken = [
        f"{path.relative_to(ROOT)} -> {target}"
        for path in documents
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert broken == []


def suites() -> list[Path]:
    return sorted(file.parent for file in (ROOT / "suites").glob("*/*/suite.toml"))


@pytest.mark.parametrize("suite", suites(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_suite_asks_a_question_and_knows_the_literature(suite: Path) -> None:
    content = tomllib.loads((suite / "suite.toml").read_text(encoding="utf-8"))
    assert content["question"].endswith("?")
    assert (suite / "published.toml").exists()
    assert (suite / "workload.hpp").exists()
    template = (suite / "contender.cpp.template").read_text(encoding="utf-8")
    assert "{{name}}" in template
    assert "{{Type}}" in template


def test_no_header_has_the_name_of_another() -> None:
    """But workload.hpp, which each workload has: `#include "lock.hpp"` otherwise reads as two things."""
    names = [path.name for path in tracked() if path.suffix == ".hpp" and path.name != "workload.hpp"]
    assert sorted(names) == sorted(set(names))


def test_what_cmake_reads_of_toll_needs_nothing_installed() -> None:
    """Configuring runs cmake/toll_suites.py with any Python; -I and -S hide what is installed in this one."""
    script = [str(ROOT / "cmake/toll_suites.py"), str(ROOT / "suites"), os.devnull]
    done = subprocess.run(interpreter("-S", *script), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def starts_python(path: Path) -> list[int]:
    """Lines that name an interpreter; tests/cpp, which can import nothing of toll, may do so with -I."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lists = [node.elts for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple) and node.elts]
    isolated = [words[0] for words in lists if len(words) > 1 and ast.unparse(words[1]) == "'-I'"]
    named = [
        words[0]
        for words in lists
        if isinstance(words[0], ast.Constant) and PYTHON_NAME.fullmatch(str(words[0].value))
    ]
    asked = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"
    ]
    fine = isolated if ROOT / "tests/cpp" in path.parents else []
    return [node.lineno for node in (*asked, *named) if node not in fine]


PYTHON_NAME = re.compile(r"(/\S*/)?python3(\.\d+)?|/\S*/python")
STARTS_PYTHON = {  # and why
    "python/tollbench/interpreters.py": "it says how",
    "python/tollbench/fleet/on_host.py": "it is alone on a host, and says -I each time",
    "tests/python/cli/test_cli_hostile_folder.py": "it does what a user does",
    "tests/python/hostile_folder.py": "names of a stranger's programs",
    "tests/peers/run.py": "a script that imports from its own folder",
    "tests/python/roots/test_wheel_in_roots.py": "the interpreter of a fresh root",
}


def test_interpreters_are_started_in_one_way() -> None:
    """Which is tollbench/interpreters.py: `python -c` and `-m` import from the current folder."""
    found = {str(path.relative_to(ROOT)): starts_python(path) for path in python_sources()}
    assert {file: lines for file, lines in found.items() if lines and file not in STARTS_PYTHON} == {}
    assert [file for file in STARTS_PYTHON if not found[file]] == []


def test_cmake_and_the_start_script_isolate_interpreters() -> None:
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in tracked()
        if path.suffix == ".cmake" or path.name == "CMakeLists.txt"
    }
    commands = [
        match for text in texts.values() for match in re.findall(r"COMMAND (\S*[Pp]ython\S*) *(\S*)", text)
    ]
    assert commands
    assert [words for words in commands if words[1] != "-I"] == []
    script = (ROOT / "toll").read_text(encoding="utf-8")
    starts = re.findall(r'.*"\$(?:python_?|base|found|1)" -.*|.*__main__.py.*', script)
    assert len(starts) >= 5
    assert [line for line in starts if not re.search(r"\bisolated\b|\" -I ", line)] == []


def test_every_process_is_told_where_it_starts() -> None:
    """The current folder may be a stranger's, and a tool may do as a file there says."""
    starting = {"run", "Popen", "call", "check_call", "check_output"}
    silent = [
        f"{file}:{node.lineno}"
        for file, source in sources().items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "subprocess"
        and node.func.attr in starting
        and "cwd" not in {keyword.arg for keyword in node.keywords}
    ]
    # The linker's stand-in is started by a build, where that stands.
    assert [place for place in silent if not place.startswith("linking/recorder.py:")] == []


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_the_test_lock_holds_every_pin_of_the_other() -> None:
    """The start script relies on it: an environment made for `toll test` also serves the other verbs."""
    runtime, test = pins("requirements.lock"), pins("requirements-test.lock")
    assert runtime
    assert runtime.items() <= test.items()


def test_the_package_imports_every_dependency() -> None:
    """Whoever runs toll installs no library that only tests, or nobody, needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = "\n".join(sources().values())
    needed = {re.split(r"[^\w-]", text)[0] for text in project["dependencies"]}
    imported = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
    found = {MODULE_OF.get(name, name) for name in needed} - set(imported.findall(source))
    assert found == set()


def test_every_locked_package_has_a_hash() -> None:
    for name in ("requirements.lock", "requirements-test.lock"):
        blocks = re.split(r"\n(?=[\w.-]+==)", (ROOT / name).read_text(encoding="utf-8"))
        assert all("--hash=sha256:" in block for block in blocks if "==" in block)


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    package = re.search(r'__version__ = "(.*)"', (PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    cmake = re.search(
        r"project\(toll VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    )
    assert package
    assert cmake
    assert project == package.group(1) == cmake.group(1)
    assert f"## [{project}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_shell_scripts_can_be_parsed() -> None:
    for name, shell in (("toll", "sh"), (".ci/run", "bash"), ("tests/fresh_clone.sh", "bash")):
        done = subprocess.run([shell, "-n", str(ROOT / name)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_no_test_imports_a_conftest() -> None:
    """Where several folders have one, which of them an import finds depends on the order of collection."""
    importing = re.compile(r"^\s*(from|import) conftest\b", re.MULTILINE)
    found = [
        str(path) for path in (ROOT / "tests").rglob("*.py") if importing.search(path.read_text("utf-8"))
    ]
    assert found == []
