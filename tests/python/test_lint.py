"""The project's own rules that no other tool holds."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/tollbench"
MAX_FUNCTION_LINES = 80

# docs/architecture.md: what each stage may import of toll besides itself.
BASE = {"errors", "words", "text", "numbers"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "words": set(),
    "text": set(),
    "numbers": set(),
    "stats": set(),
    "catalog": BASE,
    "store": BASE,
    "plan": BASE | {"catalog"},
    "building": BASE | {"catalog"},
    "launching": BASE | {"stats", "store"},
    "analysis": BASE | {"store", "stats"},
    "measure": BASE | {"plan", "store", "stats", "analysis", "launching"},
    "compare": BASE | {"store", "stats", "analysis", "launching"},
    "report": BASE | {"analysis.results", "compare.verdicts", "compare.trials"},
    "export": BASE | {"store", "analysis"},
    "notebook": BASE | {"store", "analysis", "export"},
    "cli": BASE
    | {"catalog", "store", "plan", "building", "launching", "stats", "analysis", "measure"}
    | {"compare", "report", "export", ""},
    "__main__": {"cli"},
    "": {"errors", "notebook", "compare.stored"},  # tollbench/__init__.py
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def tracked() -> list[Path]:
    """Files that git knows, or all files of a checkout without git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    own = ("python", "include", "src", "suites", "tests", "docs", "schemas", "cmake")
    return [path for folder in own for path in (ROOT / folder).rglob("*") if path.is_file()]


def stage_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imported(path: Path, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, module below toll) of every import of toll, also inside functions; "" is toll itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [absolute(path, node) + "." + alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name == "tollbench" or name.startswith("tollbench."):
                yield node.lineno, name.removeprefix("tollbench").removeprefix(".")


def absolute(path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = ["tollbench", *path.relative_to(PACKAGE).parent.parts]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def allowed(stage: str, name: str) -> bool:
    first = name.split(".")[0]
    if first not in MAY_IMPORT:  # an attribute of toll itself, such as __version__
        first = name = ""
    if first == stage != "":
        return True
    # "analysis.results" allows what that module holds, and not the function of that name there.
    return any(first == may or name.startswith(may + ".") for may in MAY_IMPORT[stage] if may or not first)


def violations(path: Path, source: str) -> list[str]:
    stage = stage_of(path)
    if stage not in MAY_IMPORT:
        return [f"{path.name}: the stage {stage} is not in docs/architecture.md"]
    return [
        f"{path.relative_to(PACKAGE)}:{line} imports tollbench.{name}, which is not above {stage or 'toll'}"
        for line, name in imported(path, ast.parse(source))
        if not allowed(stage, name)
    ]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_stage_imports_only_from_stages_above_it(path: Path) -> None:
    assert violations(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("stats/order.py", "from tollbench.words import Case"),
        ("stats/order.py", "def f():\n    import tollbench.errors"),
        ("report/html.py", "from tollbench.store import RunFile"),
        ("report/html.py", "from tollbench.analysis import results as r"),
        ("plan/making.py", "from tollbench.measure import run"),
        ("catalog/suites.py", "from ..building import cmake"),
        ("store/runfile.py", "import tollbench"),
        ("brand_new/x.py", "import os"),
    ],
)
def test_the_order_is_held_against_each_kind_of_import(place: str, source: str) -> None:
    assert violations(PACKAGE / place, source)


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("report/html.py", "from tollbench.analysis.results import Results"),
        ("stats/order.py", "from tollbench.stats.paired import ratio\nimport numpy"),
        ("cli/run.py", "from toll import measure, __version__"),
    ],
)
def test_the_order_allows_what_it_should(place: str, source: str) -> None:
    assert violations(PACKAGE / place, source) == []


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


def test_the_readme_shows_a_contender_that_is_compiled() -> None:
    samples = re.findall(
        r"<!-- from (\S+) -->\n```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert samples, "README.md shows no sample: <!-- from FILE --> before a cpp block"
    for file, sample in samples:
        assert len(sample.strip().splitlines()) <= 15, f"the sample from {file} has more than 15 lines"
        assert sample.strip() == (ROOT / file).read_text(encoding="utf-8").strip(), (
            f"README.md drifted from {file}"
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
    done = subprocess.run([sys.executable, "-I", "-S", *script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
    source = "\n".join(path.read_text(encoding="utf-8") for path in modules())
    needed = {re.split(r"\W", text)[0] for text in project["dependencies"]}
    imported = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
    assert needed - set(imported.findall(source)) == set()


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
    """Several folders have one; which of them an import finds depends on the order of collection."""
    importing = re.compile(r"^\s*(from|import) conftest\b", re.MULTILINE)
    found = [
        str(path) for path in (ROOT / "tests").rglob("*.py") if importing.search(path.read_text("utf-8"))
    ]
    assert found == []
