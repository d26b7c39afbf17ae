"""Pages of files that a stranger made: nothing in them runs, and nothing is asked for.

Each page is read by an HTML parser; some are opened in a browser, without the page's own policy, which would
stop what escaping has let through. How many are tried is TOLL_FUZZ_EXAMPLES for each reader
(docs/security.md); where TOLL_FUZZ_PAGES names a file, the number of pages that were made is appended to it.
"""

from __future__ import annotations

import copy
import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Made, make_run, published
from playwright.sync_api import Browser
from stranger import VALUES, many

from tollbench import analysis
from tollbench.compare.stored import StoredComparison
from tollbench.errors import TollError
from tollbench.report import html
from tollbench.report.comparisons.comparison_formats import RENDERERS
from tollbench.store import RunFile
from tollbench.words import DeclaredDetail

MARKED = "window.attacked=1"
PAYLOADS = [
    f"<script>{MARKED}</script>",
    f'"><img src=x onerror={MARKED}>',
    f"'><svg onload={MARKED}>",
    f"</script><script>{MARKED}</script>",
    f"javascript:{MARKED}",
    f"\u2028{MARKED}\u2029//",
    "{{ 7*7 }}{% for x in y %}${7*7}",
    f"--><script>{MARKED}</script><!--",
    f"</style><script>{MARKED}</script>",
    f"</title></textarea><iframe srcdoc='<script>parent.{MARKED}</script>'>",
    f"`;{MARKED}//\\';{MARKED}//",
    "https://example.invalid/x.png\"><link rel=stylesheet href='https://example.invalid/x.css'>",
]
DATA_TYPES = {"text/plain"}
NO_TAGS = {"img", "iframe", "object", "embed", "base", "form", "link", "audio", "video", "frame", "applet"}
LEADING = {"href", "src", "action", "formaction", "xlink:href", "srcdoc", "srcset", "background", "poster"}
POLICY = re.compile(r"<meta http-equiv=\"?Content-Security-Policy\"?[^>]*>")
MADE: Counter[str] = Counter()


class Reader(HTMLParser):
    """What of a page could run or ask for something."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []  # without those that are data
        self.data: list[str | None] = []  # their ids
        self.found: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._in_script = tag == "script" and dict(attributes).get("type") not in DATA_TYPES
        if self._in_script:
            self.scripts.append("")
        elif tag == "script":
            self.data.append(dict(attributes).get("id"))
        if tag in NO_TAGS:
            self.found.append(f"<{tag} {attributes}>")
        for name, value in attributes:
            outside = name in LEADING and not re.match(r"#|https?://", value or "#")
            if name.startswith("on") or outside or "url(" in (value or "") * (name == "style"):
                self.found.append(f"<{tag} {name}={value!r}>")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


def check_inert(page: str, sound: Reader) -> None:
    """The page has the programs of the sound one and no others, and nothing that runs or leads out."""
    read = Reader()
    read.feed(page)
    assert read.found == []
    assert (read.scripts, read.data) == (sound.scripts, sound.data)
    style = "".join(re.findall(r"<style>(.*?)</style>", page, re.S))
    assert "<" not in style.replace("<=", "")
    assert MARKED not in style


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def page_of_run(path: Path) -> str:
    with RunFile.open(path) as opened:
        return html.render(analysis.results(opened))


def page_of_comparison(path: Path) -> str:
    return RENDERERS["html"](StoredComparison.read(path).comparisons)


def made(kind: str, page: Callable[[Path], str], path: Path) -> str | None:
    """None where the file is refused."""
    try:
        found = page(path)
    except TollError as error:
        told = (error.what, error.next_step)
    else:
        MADE[kind] += 1
        return found
    MADE[f"{kind}, refused"] += 1
    assert all(told)
    return None


@pytest.fixture(scope="module", autouse=True)
def _counted() -> Iterator[None]:
    yield
    if place := os.environ.get("TOLL_FUZZ_PAGES"):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps(MADE) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def run_file(folder: Path) -> bytes:
    path = folder / "sound.toll"
    make_run(
        path,
        [
            Made("quick", [10.0, 11.0, 12.0] * 3, footing={"pinned": "all"}, details=[{"share": 0.5}] * 9),
            Made("slow", [20.0, 21.0, 22.0] * 3, environment="elsewhere"),
            Made("broken", [], reason="it has no compiler"),
        ],
        canary=[1.0, 1.1] * 6,
        published=[published("Quick 1.0", "as printed")],
        details=[DeclaredDetail("share", "Smallest share", "share", "of the thread that got least")],
        machine={"cpu": "a processor", "caches": [{"level": 1, "kind": "data"}], "kernel": "Linux"},
        conditions={
            "governor": "powersave", "meanwhile": ["It slept."],
            "noise": [{"name": "load", "value": "3", "consequence": "c", "remedy": "r"}],
        },
    )  # fmt: skip
    return path.read_bytes()


Cell = tuple[str, str]


def texts_of(path: Path) -> list[Cell]:
    """Every column that holds text, in every table."""
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return [
            (table, column[1])
            for (table,) in tables
            for column in connection.execute(f'PRAGMA table_info("{table}")')
            if column[2] == "TEXT"
        ]


def with_text(value: Any, text: str) -> Any:
    """The same with this in place of each text within it, and before each key."""
    if isinstance(value, dict):
        return {key: with_text(each, text) for key, each in value.items()} | {text: text}
    if isinstance(value, list):
        return [with_text(each, text) for each in value]
    return text if isinstance(value, str) else value


def put(path: Path, cells: Sequence[Cell], text: str, *, inside: bool = True) -> None:
    """This text in these columns of each row; in those that hold JSON in its places, or `inside` False."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("PRAGMA synchronous = OFF")
    for table, column in cells:
        rows = connection.execute(f'SELECT rowid, "{column}" FROM "{table}"').fetchall()
        for number, (row, before) in enumerate(rows):
            try:
                held = json.loads(before)
                new = json.dumps(with_text(held, text)) if isinstance(held, dict | list) else text
            except (TypeError, ValueError, RecursionError):  # an edit of before
                new = text
            unique = new if not number or new != text else f"{text}{number}"
            try:
                connection.execute(
                    f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (unique if inside else text, row)
                )
            except sqlite3.Error:  # it has to differ from others, or is no text
                continue
    connection.close()


@pytest.fixture(scope="module")
def sound_run(folder: Path, run_file: bytes) -> Reader:
    return read(page_of_run(folder / "sound.toll"))


@pytest.fixture(scope="module")
def cells(folder: Path, run_file: bytes) -> list[Cell]:
    return texts_of(folder / "sound.toll")


def taken(folder: Path, run_file: bytes, cells: Sequence[Cell], text: str) -> tuple[list[Cell], Path]:
    """A file with the text in all columns that may hold any, found one by one; and these."""
    path = folder / "attack.toll"
    found: list[Cell] = []
    for cell in cells:
        path.write_bytes(run_file)
        put(path, [*found, cell], text)
        if made("runs, each text", page_of_run, path) is not None:
            found.append(cell)
    path.write_bytes(run_file)
    put(path, found, text)
    return found, path


HEADER = {
    "toll_compare": 1, "kind": "command", "sides": ["side a", "side b"], "level": 0.95, "threshold": 0.01,
    "toll_version": "1", "command_line": "toll compare", "sandbox": "", "fail_on": ["time"],
}  # fmt: skip
SURVEY = {
    "survey": {
        "sides_of": {"the benchmark": [1]}, "missing": {"another": ["side b"]},
        "code": [
            {"benchmark": "the benchmark", "side": 1, "unchanged": False, "timed": True, "told": "changed"}
        ],
    }
}  # fmt: skip
NAMES = ("side a", "side b", "the benchmark", "another")


def raw_records() -> list[dict[str, Any]]:
    """A comparison with every kind of record, and all that may be told of a row."""
    rounds = [
        {
            "measurement": 1, "round": number, "order": {"the benchmark": [0, 1]},
            "values": {"the benchmark": [100.0 + number % 3, 110.0 + number % 5]},
            "looks": {"the benchmark": 0.1 * number}, "done": ["the benchmark"] if number == 9 else [],
            "seconds": {"the benchmark": 0.5},
        }
        for number in range(10)
    ]  # fmt: skip
    return [copy.deepcopy(HEADER), copy.deepcopy(SURVEY), {"meanwhile": ["It slept."]}, *rounds]


COUNT = {
    "metric": "instructions", "per": "launch", "a": 5.0, "b": 6.0, "low": 1.0, "high": 1.0, "exact": True,
    "launches": 2, "verdict": "more", "reason": "by valgrind", "fails": "instructions", "by": "valgrind",
}  # fmt: skip
EXPLANATION = {
    "benchmark": "the benchmark", "a": "side a", "b": "side b", "per": "iteration", "sentence": "why",
    "code": "changed", "notes": ["a note"],
    "flame": {"name": "main", "a": 1.0, "b": 2.0, "below": [{"name": "f", "a": 1.0, "b": 2.0}]},
}  # fmt: skip


def with_found(path: Path) -> list[dict[str, Any]]:
    """The same with its last line, which has counts, files and explanations."""
    records = raw_records()
    path.write_text(lines(records))
    found = StoredComparison.read(path).comparisons.model_dump(mode="json")
    row = found["comparisons"][0]
    files = [{"b": "side b", "count": COUNT, "parts": [{"kind": "symbol", "name": "main", "a": 1, "b": 2}]}]
    more = {"raw": "a.jsonl", "machine": "a processor", "sandbox": "in a box", "count_notes": ["a note"]}
    found |= more | {"fail_on": ["time"], "files": files, "why": [EXPLANATION]}
    row |= {"counts": [COUNT], "code": "changed"}
    return [*records, {"found": found}]


def lines(records: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


Place = tuple[Any, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Where texts stand, that are no names of sides or benchmarks."""
    if isinstance(value, str) and value not in NAMES:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*at, key))


def put_at(records: list[dict[str, Any]], where: Sequence[Place], text: str) -> str:
    """Raw file with the text there, and with the names of sides and benchmarks after it."""
    changed: Any = copy.deepcopy(records)
    for place in where:
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = text
    written = lines(changed)
    for name in NAMES:
        written = written.replace(json.dumps(name), json.dumps(f"{text}{name}"))
    return written


@pytest.fixture(scope="module")
def comparison(folder: Path) -> list[dict[str, Any]]:
    return with_found(folder / "sound.jsonl")


@pytest.fixture(scope="module")
def sound_comparison(folder: Path, comparison: list[dict[str, Any]]) -> Reader:
    path = folder / "sound.jsonl"
    path.write_text(lines(comparison))
    return read(page_of_comparison(path))


def attacked(folder: Path, comparison: list[dict[str, Any]], text: str) -> tuple[list[Place], Path]:
    """A raw file with the text in all places that may hold any, found one by one; and these."""
    path = folder / "attack.jsonl"
    found: list[Place] = []
    for place in places(comparison):
        path.write_text(put_at(comparison, [*found, place], text))
        if made("comparisons, each text", page_of_comparison, path) is not None:
            found.append(place)
    path.write_text(put_at(comparison, found, text))
    return found, path


class Watched:
    """A browser in which whatever runs or is asked for is noted."""

    def __init__(self, chromium: Browser, folder: Path) -> None:
        self._context = chromium.new_context()
        self._place = folder / "opened.html"

    def open(self, page: str) -> list[str]:
        """What happened, besides drawing: nothing."""
        without_policy, policies = POLICY.subn("", page)
        assert policies == 1
        self._place.write_text(without_policy, encoding="utf-8", errors="surrogateescape")
        happened: list[str] = []
        tab = self._context.new_page()
        tab.on("console", lambda message: happened.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: happened.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: happened.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda request: happened.append(f"request: {request.url}"))
        tab.goto(self._place.as_uri())
        if "dataset.drawn" in page:
            tab.wait_for_selector("html[data-drawn=yes]", state="attached")
        for link in tab.locator("a[href]").all()[:200]:
            assert re.match(r"#|https?://", link.get_attribute("href") or "")
        tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        tab.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        if tab.evaluate("window.attacked") is not None:
            happened.append("it ran")
        tab.close()
        return [each for each in happened if each != f"request: {self._place.as_uri()}"]


@pytest.fixture(scope="module")
def watched(chromium: Browser, folder: Path) -> Watched:
    return Watched(chromium, folder)


def test_the_watch_sees_what_runs(watched: Watched, folder: Path, sound_run: Reader) -> None:
    """Else the tests below could not fail."""
    page = page_of_run(folder / "sound.toll")
    assert watched.open(page) == []
    check_inert(page, sound_run)
    for payload in PAYLOADS[:2]:
        broken = page.replace("<main", f"{payload}<main", 1).replace('"><img', "<img", 1)
        assert watched.open(broken) != []
        with pytest.raises(AssertionError):
            check_inert(broken, sound_run)


@pytest.mark.slow
@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_a_run_file_runs(
    payload: str, folder: Path, run_file: bytes, cells: list[Cell], sound_run: Reader, watched: Watched
) -> None:
    found, path = taken(folder, run_file, cells, payload)
    assert len(found) >= 20, "most columns hold any text"
    page = page_of_run(path)
    check_inert(page, sound_run)
    assert watched.open(page) == []
    MADE["runs, opened"] += 1


@pytest.mark.slow
@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_a_comparison_runs(
    payload: str, folder: Path, comparison: list[dict[str, Any]], sound_comparison: Reader, watched: Watched
) -> None:
    found, path = attacked(folder, comparison, payload)
    assert len(found) >= 20, "most places hold any text"
    page = page_of_comparison(path)
    check_inert(page, sound_comparison)
    assert watched.open(page) == []
    MADE["comparisons, opened"] += 1


STRANGE = st.one_of(
    st.sampled_from(PAYLOADS),
    st.sampled_from(PAYLOADS),
    st.sampled_from(VALUES).map(lambda each: each.decode("latin-1")),
    st.text(max_size=20),
)


@many
@given(data=st.data())
def test_pages_of_edited_run_files(
    folder: Path, run_file: bytes, cells: list[Cell], sound_run: Reader, data: st.DataObject
) -> None:
    path = folder / "edited.toll"
    path.write_bytes(run_file)
    for cell in data.draw(st.lists(st.sampled_from(cells), min_size=1, max_size=4)):
        text = data.draw(STRANGE)
        try:
            text.encode()
        except UnicodeEncodeError:
            continue
        put(path, [cell], text, inside=data.draw(st.booleans()))
    page = made("runs", page_of_run, path)
    if page is not None:
        check_inert(page, sound_run)


@many
@given(data=st.data())
def test_pages_of_edited_comparisons(
    folder: Path, comparison: list[dict[str, Any]], sound_comparison: Reader, data: st.DataObject
) -> None:
    known = list(places(comparison))
    where = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
    path = folder / "edited.jsonl"
    path.write_text(put_at(comparison, where, data.draw(STRANGE)))
    page = made("comparisons", page_of_comparison, path)
    if page is not None:
        check_inert(page, sound_comparison)
