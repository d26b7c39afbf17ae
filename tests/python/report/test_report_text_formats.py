"""Terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv as reader
import io
import json as parser
import random
import re

import pytest
import sample_results as samples
from rich.cells import cell_len
from rich.console import Console

from tollbench.analysis.results import Results
from tollbench.report import console_writer, csv, html, json, markdown, terminal
from tollbench.report.cases import groups
from tollbench.report.sentences import alike_sentence


def printed(results: Results, width: int = 80, *, colour: bool = False, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = Console(
        file=out, width=width, force_terminal=colour or None, color_system="truecolor" if colour else None
    )
    terminal.render(results, console)
    return raw.getvalue().decode(encoding)


@pytest.fixture(scope="module")
def full() -> Results:
    return samples.full_results()


@pytest.fixture(scope="module")
def friendly() -> Results:
    return samples.friendly_results()


# ---- all


@pytest.mark.parametrize("render", [lambda found: printed(found, 120), markdown.render])
def test_intervals_of_rows_that_are_like_their_neighbours_bear_a_mark(full, render):
    text = render(full)
    marked = [line for line in text.splitlines() if "\u00a0≈" in line or "] ≈" in line]
    assert len(marked) == 2
    assert "cppcoro_static_pool" in marked[0].replace("\\", "")
    assert "An interval with ≈ is wider, or holds within this run's" in " ".join(text.split())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"counts_as": 5.0}, "is wider, as"),
        ({"within_run": "alike"}, "holds within this run's conditions alone, as"),
        ({"counts_as": 5.0, "within_run": "alike"}, "is wider, or holds"),
    ],
)
def test_an_interval_is_said_to_be_wider_only_where_its_rounds_count_for_fewer(friendly, changes, said):
    workload = friendly.workloads[0]
    plain = {"counts_as": None, "within_run": ""}
    others = [row.model_copy(update=plain) for row in workload.rows]
    marked = workload.model_copy(update={"rows": [others[0].model_copy(update=plain | changes), *others[1:]]})
    told = alike_sentence(marked)
    assert f"An interval with ≈ {said}" in told
    assert ("wider" in told) == ("counts_as" in changes)


@pytest.mark.parametrize("render", [lambda found: printed(found, 120), markdown.render])
def test_few_rounds_are_told_once_and_mark_no_row(friendly, render):
    plain, few = (
        {"counts_as": None, "within_run": ""},
        {"within_run": "12 rounds are few", "few_rounds": True},
    )

    def rendered(changes, rows):
        (first, *others) = friendly.workloads
        marked = [
            row.model_copy(update=plain | (changes if at < rows else {})) for at, row in enumerate(first.rows)
        ]
        return " ".join(render(friendly.model_copy(
            update={"workloads": [first.model_copy(update={"rows": marked}), *others]}
        )).split())  # fmt: skip

    text = rendered(few, 1)
    assert text.count("hold within this run's conditions alone: fewer than 50 rounds") == 1
    assert "≈" not in text
    assert "Intervals of 1 of" in text
    assert "fewer than 50 rounds" not in rendered({}, 1)


# ---- terminal


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_number_is_cut_at_any_width(friendly, width):
    lines = printed(friendly, width).splitlines()
    assert max(map(cell_len, lines)) <= width
    for number in ("11,800", "122.4×", "5,230", "230.5"):
        assert any(number in line.split() for line in lines), number
    assert "…" not in "\n".join(lines)


def test_a_piped_report_has_no_colour_no_frames_and_no_trailing_blanks(friendly):
    text = printed(friendly)
    assert "\x1b" not in text
    assert not re.search("[─-╿]", text)  # box drawing


def test_the_terminal_marks_the_fastest_and_the_tied(friendly):
    lines = printed(friendly, 120).splitlines()
    row = next(line for line in lines if line.startswith("boost_fiber_work_stealing"))
    assert row.split()[1:8] == ["402", "[398,", "407]", "4.17×", "[4.11,", "4.25]", "a"]
    assert any("share a letter could not be told apart" in line for line in lines)
    coloured = printed(friendly, 120, colour=True)
    assert re.search(r"\x1b\[1;32mstd_async_deferred", coloured)


def test_what_is_decided_stands_before_the_tables_and_what_is_open_behind_them(friendly):
    lines = printed(friendly, 120).splitlines()
    tables = [at for at, line in enumerate(lines) if line.startswith("boost_fiber_work_stealing")]
    decided = [at for at, line in enumerate(lines) if re.match("(holds|does not hold) here: ", line)]
    left_open = [at for at, line in enumerate(lines) if line.startswith("cannot be told in this run: ")]
    assert max(decided) < min(tables) <= max(tables) < min(left_open)
    assert sum("1 cannot be told in this run" in line for line in lines) == 1


def test_cpu_time_and_waits_of_single_operations_say_that_the_harness_is_in_them():
    rng = random.Random(1)
    for workload, said in ((samples.wakeup(rng), True), (samples.skynet(rng), False)):
        results = samples.make_results([workload])
        table = printed(results, 200).split("median")[0].splitlines()[-2:]
        assert (table[0].split() == ["harness", "harness"]) == said
        assert ("CPU" in printed(results, 200).split("median")[1].splitlines()[0]) != said
        assert ("CPU ns, harness included |" in markdown.render(results)) == said


def test_a_wide_terminal_shows_what_a_unit_costs(friendly):
    lines = printed(friendly, 160).splitlines()
    head = next(line for line in lines if line.startswith("ns per task"))
    row = next(line for line in lines if line.startswith("boost_fiber_work_stealing"))
    assert row[: head.index("created") + len("created")].split()[-1] == "362"
    assert row[: head.index("memory/unit") + len("memory/unit")].endswith(" 1.50 KiB")
    assert "created" not in next(line for line in lines if line.startswith("ns per increment"))


def test_details_are_columns_of_the_terminal_in_their_own_unit():
    lines = printed(samples.make_results([samples.contention(random.Random(11))]), 200).splitlines()
    heads = " ".join(lines[:12])
    assert all(title in heads for title in ("Smallest share", "Longest wait", "Hand-offs", "Kept"))
    mutex = next(line for line in lines if line.startswith("mutex") and " 2 " in line)
    assert re.search(r" 46.0 +23 +2,000 +80 KiB", mutex), mutex


def test_no_color_is_obeyed(friendly, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", printed(friendly, colour=True))


def test_the_terminal_says_what_is_missing_and_what_mends_it(friendly):
    text = " ".join(printed(friendly).split())
    assert "skipped: tasks/skynet folly_fibers" in text
    assert "`apt install libfolly-dev`" in text
    assert "Floor 1.2 %" in text
    assert "in a table of 7 rows" in " ".join(text.split())


def test_published_values_stand_in_columns_beside_todays(friendly):
    lines = printed(friendly, 80).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("Published 2016")) + 1
    head, go = (line.rstrip() for line in lines[start : start + 2])
    boost = lines[start + 2].rstrip()
    assert head.split() == ["µs", "per", "task", "then", "today,", "here", "interval"]
    assert go.split()[-6:] == ["0.7", "to", "0.98", "0.2540", "[0.2512,", "0.2571]"]
    assert boost.split()[-3:] == ["0.402", "[0.398,", "0.407]"]
    assert go.index("0.98") + 4 == boost.index("0.09") + 4
    assert go.index("[") == boost.index("[")


def test_published_values_that_were_not_measured_are_a_number_in_a_terminal(friendly):
    """Of 48 rows of a source a quick run has ten; the others were lines that say nothing."""
    text = printed(friendly, 80)
    assert "Haskell, stack-1.0.4" not in text
    assert "Published: 1 row was not measured in this run; the page lists them" in text


def test_published_values_that_were_not_measured_are_folded_in_markdown(friendly):
    text = markdown.render(friendly)
    head, _, folded = text.partition(
        "<details><summary>Published: 1 row was not measured in this run</summary>"
    )
    folded = folded.split("</details>", maxsplit=1)[0]
    assert folded.startswith("\n\n| year |")  # GitHub reads a table after an empty line alone
    assert folded.endswith("|\n\n")
    assert "Haskell, stack-1.0.4" in folded
    assert "Haskell, stack-1.0.4" not in head
    assert "Go 1.6.1" in head
    assert "Go 1.6.1" not in folded


def test_parameters_stand_in_columns_of_their_own_where_there_is_room():
    results = samples.make_results([samples.locks(random.Random(1))])
    rows = [line.split() for line in printed(results, 80).splitlines()]
    assert [words[2] for words in rows if words[:2] == ["ticket_lock", "(clang-19)"]] == ["1", "2"]
    assert [words[1] for words in rows if words[:1] == ["ticket_lock"] and words[1].isdigit()] == ["1", "2"]
    assert "\n  threads=1)" in printed(results, 50)


def test_twenty_five_long_names_stay_readable_at_80_columns():
    rng = random.Random(1)
    rows = [
        samples.make_row(
            rng, "", f"boost_fiber_work_{kind}_{stack}", 100.0 * (index + 1), 0.02,
            parameters={"tasks": 10_000 * (1 + 9 * (index % 2)), "threads": index % 3},
        )
        for index, (kind, stack) in enumerate([("stealing", "protected"), ("sharing", "pooled")] * 13)
    ]  # fmt: skip
    workload = samples.nothing().model_copy(update={"rows": samples.ranked(rows)})
    lines = printed(samples.make_results([workload]), 80).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("ns per request"))
    table = lines[start + 1 :]
    starts = [line for line in table if not line.startswith(" ")]
    assert len(starts) == 26
    assert len(table) <= 2 * len(starts)
    assert all(re.search(r"_ +1?0?\d,\d{3}  ", line) for line in starts)  # a name is cut after "_" only
    assert all(re.fullmatch(r"  \w+", line.rstrip()) for line in table if line not in starts)
    assert all(" [" in line for line in starts)  # the interval is never given up for the name


def test_ratios_stand_under_each_other_by_their_decimal_point(friendly):
    lines = printed(friendly, 80).splitlines()
    ratios = [
        re.search(r"([\d.,]+)×", line) for line in lines if re.match("std_(async|thread)|gorou|tbb", line)
    ]
    ends = {found.start() + len(found[1].partition(".")[0]) for found in ratios if found}
    assert len(ratios) >= 3
    assert len(ends) == 1


def test_the_interval_stays_at_80_columns_beside_large_numbers():
    rng = random.Random(1)
    rows = [
        samples.make_row(rng, "", "boost_fiber_work_stealing", value, 0.1, environment=environment,
                         parameters={"tasks": tasks, "threads": 2})
        for value, environment, tasks in (
            (2.7, "host", 100_000), (43_000.0, "tcmalloc", 10_000), (43_100.0, "host", 10_000),
        )
    ]  # fmt: skip
    workload = samples.nothing().model_copy(update={"rows": samples.ranked(rows)})
    lines = printed(samples.make_results([workload]), 80).splitlines()
    assert any("43,000" in line and re.search(r"\[\d\d,\d00, \d\d,\d00\]", line) for line in lines)


def test_a_column_without_any_number_is_left_out():
    rng = random.Random(1)
    rows = [samples.make_row(rng, "", name, 9.0, 0.1, intervals=False) for name in "ab"]
    workload = samples.nothing().model_copy(update={"rows": rows})
    head = printed(samples.make_results([workload]), 200)
    assert "95 % interval" not in head
    assert "of ratio" not in head
    assert "allocations" in head


@pytest.mark.parametrize(
    ("name", "width", "lines"),
    [
        ("short", 10, ["short"]),
        ("boost_fiber_work_stealing", 18, ["boost_fiber_work_", "  stealing"]),
        ("std_thread (tasks=10000, threads=2)", 16, ["std_thread", "  (tasks=10000,", "  threads=2)"]),
        ("unbreakable", 5, ["unbre", "  aka", "  ble"]),
        ("線程線程", 4, ["線程", "  線", "  程"]),
        ("", 8, [""]),
    ],
)
def test_names_are_cut_where_words_end(name, width, lines):
    assert console_writer.folded(name, width) == lines


def test_a_run_file_cannot_steer_the_terminal(full):
    for colour in (False, True):
        left = re.sub(r"\x1b\[[0-9;]*m", "", printed(full, colour=colour))
        assert "\x1b" not in left
        assert "\x07" not in left
        assert "\u202e" not in left
    assert "[31mred" in printed(full)


def test_a_terminal_without_unicode_gets_plain_characters(full):
    text = printed(full, encoding="ascii")
    assert "1.224x" in text
    assert "us per task" in text
    assert "0.7 to 0.98" in text


def test_an_empty_run_is_reported_in_every_format():
    empty = samples.empty_results()
    assert "Floor unknown: no canary was launched" in printed(empty)
    assert "--resume" not in printed(empty)  # a warning says it, which knows the file
    assert "--resume" not in html.render(empty)
    assert "Machine unknown" in markdown.render(empty)
    assert csv.render(empty).count("\n") == 1
    assert parser.loads(json.render(empty))["workloads"] == []


@pytest.fixture(scope="module")
def swept() -> Results:
    return samples.make_results([samples.waits(random.Random(5))])


HEADINGS = ["wait_us=0", "wait_us=8", "wait_us=1,000"]


def test_the_terminal_groups_rows_by_what_is_swept(swept):
    lines = printed(swept, 100).splitlines()
    first = [line.split()[0] for line in lines if line.strip()]
    start = first.index("wait_us=0")
    assert first[start : start + 10] == [
        "wait_us=0", "computation_only", "wait_us=8", "sleep", "std_mutex", "boost_asio",
        "wait_us=1,000", "sleep", "std_mutex", "boost_asio",
    ]  # fmt: skip
    assert [line.strip() for line in lines if line.startswith("wait_us")] == [*HEADINGS, *HEADINGS]
    told = " ".join(" ".join(lines).split())
    assert "Ratios and letters are within one wait_us; a row alone there has nothing" in told
    assert "sleep is a baseline beside the contenders: no ratio is to it." in told


def test_rows_are_compared_within_one_setting_of_all_that_is_swept():
    workload = samples.locks(random.Random(1)).model_copy(update={"swept": ["threads", "mode"]})
    text = " ".join(printed(samples.make_results([workload])).split())
    assert "Ratios and letters are within one setting of threads and mode." in text


def test_each_setting_has_its_fastest_and_its_letters(swept):
    lines = [line.split() for line in printed(swept, 100).splitlines()]
    ratios = [line[4] for line in lines if line[:1] == ["std_mutex"] and "×" in "".join(line)]
    assert ratios == ["1.00×", "1.00×"]
    workload = swept.workloads[0]
    lone = [row.model_copy(update={"tie_groups": [*row.tie_groups, "z"]}) if row.contender == "boost_asio"
            and row.parameters["wait_us"] == 8 else row for row in workload.rows]  # fmt: skip
    shared = [group.ties for group in groups(workload.model_copy(update={"rows": lone}))]
    assert shared[0] == [[]]
    assert [letters[1:] for letters in shared[1:]] == [[["a"], ["a"], []], [["a"], ["a"]]]


def test_where_every_setting_has_one_row_no_heading_stands():
    workload = samples.waits(random.Random(5))
    alone = [row for row in workload.rows if row.contender in ("std_mutex", "computation_only")]
    (group,) = groups(workload.model_copy(update={"rows": alone}))
    assert (group.setting, list(group.rows)) == ("", alone)


# ---- Markdown


def test_markdown_has_a_table_for_each_setting_and_names_its_fastest(swept):
    lines = markdown.render(swept).splitlines()
    headings = [line for line in lines if line.startswith("**`wait_us")]
    assert headings == [
        "**`wait_us=0`**", "**`wait_us=8`**: fastest is `std_mutex`",
        "**`wait_us=1,000`**: fastest is `std_mutex`",
        "**`wait_us=0`**", "**`wait_us=8`**", "**`wait_us=1,000`**",
    ]  # fmt: skip
    table = lines[lines.index(headings[2]) + 2 :]
    assert [line.split("`")[1] for line in table[2:5]] == ["sleep", "std_mutex", "boost_asio"]


def test_csv_stays_flat(swept):
    told = list(reader.DictReader(io.StringIO(csv.render(swept))))
    assert [row["contender"] for row in told] == [row.contender for row in swept.workloads[0].rows]
    assert [row["contender"] for row in told if row["fastest"] == "yes"] == ["std_mutex", "std_mutex"]


def test_markdown_holds_the_table(friendly):
    text = markdown.render(friendly)
    row = "| `boost_fiber_work_stealing` | 402 | [398, 407] | 4.17× | [4.11, 4.25] | a | 556 | 16 |"
    assert row + " 362 | 1.50 KiB |" in text
    assert "| launches | ns per unit created | memory per unit created |" in text
    assert text.count("per unit created") == 2  # not in tables where nobody counted units
    assert "| `std_async_deferred` | **96.40** |" in text
    assert "| `erlang_processes` | 871 |" in text
    assert "16 (2 failed)" in text


def test_every_markdown_table_is_rectangular(full):
    tables = re.findall(r"(?:^\|.*\|$\n?)+", markdown.render(full), re.MULTILINE)
    assert len(tables) > 6
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().splitlines()}
        assert len(widths) == 1, table


def test_names_are_inert_in_markdown(full):
    text = markdown.render(full).removeprefix(f"{markdown.MADE_BY}\n")
    outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)
    folds = r"<details><summary>Published: \d+ rows? w\w+ not measured in this run</summary>|</details>"
    outside = re.sub(folds, "", outside)  # toll's own
    assert "<" not in outside
    assert "@octocat" not in outside
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("name", "span"),
    [("plain", "`plain`"), ("a`b", "`` a`b ``"), ("a``b`", "``` a``b` ```"), ("a|b", "`a\\|b`"), ("", "` `")],
)
def test_code_spans_hold_anything(name, span):
    assert markdown.code(name) == span


@pytest.mark.parametrize(
    ("sentence", "safe"),
    [("see `apt install x`", "see `apt install x`"), ("*a* <b> [c]", "\\*a\\* &lt;b&gt; \\[c\\]"),
     ("ask @me about #12", "ask @\u200bme about \\#\u200b12"),
     ("http://a.org WWW.a.org", "http:\u200b//a.org WWW\u200b.a.org"), ("- not a list", "\\- not a list")],
)  # fmt: skip
def test_sentences_are_escaped(sentence, safe):
    assert markdown.prose(sentence) == safe


# ---- warnings and problems, in both


@pytest.fixture(scope="module")
def warned() -> Results:
    rng = random.Random(5)
    return samples.make_results(
        [samples.wakeup(rng), samples.locks(rng)],
        warnings=[
            "The machine changed its speed during the run.",
            "latency/wakeup: Few rounds; `./toll run latency/wakeup --profile standard` has the time.",
            "locks/contended: 3 of 10 ratios are not known to ±1.0 % (ticket_lock).",
        ],
    )


@pytest.mark.parametrize("render", [printed, markdown.render])
def test_what_holds_for_one_table_is_said_below_it_and_what_holds_for_the_run_above_all(warned, render):
    text = " ".join(render(warned).replace("\\", "").split())
    order = [
        "The machine changed its speed",
        "How long after one thread raises",
        "1.00×",
        "Few rounds; `./toll run latency/wakeup --profile standard` has the time.",
        "one by one",
        "What does one increment under",
        "3 of 10 ratios are not known to ±1.0 % (ticket",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "latency/wakeup: " not in text
    assert "locks/contended: " not in text


@pytest.fixture(scope="module")
def troubled() -> Results:
    workload = samples.waits(random.Random(5))
    cases = [(wait, mode) for wait in (8, 1_000) for mode in ("hot", "parked")]
    broken = [
        samples.broken_row(name, "skipped", "no folly", parameters={"wait_us": wait, "mode": mode})
        for wait, mode in cases
        for name in ("folly_fibers", "seastar")
        if name == "folly_fibers" or wait == 8
    ]
    measured = [
        samples.make_row(
            random.Random(1), "", "seastar", 9e5, 0.01, parameters={"wait_us": 1_000, "mode": "hot"}
        )
    ]
    rows = [row for row in workload.rows if row.status == "ok"]
    return samples.make_results([workload.model_copy(update={"rows": [*rows, *measured, *broken]})])


@pytest.mark.parametrize("render", [printed, markdown.render])
def test_a_reason_is_said_once_with_each_contender_once_and_the_parameters_it_holds_for(troubled, render):
    text = " ".join(render(troubled).replace("\\", "").replace("`", "").split())
    told = text[text.index("Skipped or failed") :]
    assert told.count("no folly") == 1
    named = "latency/waits folly_fibers (all 4 cases), latency/waits seastar (wait_us=8; mode=hot, parked)"
    assert named in told


def test_the_terminal_does_not_repeat_a_reason_below_its_table(troubled):
    text = " ".join(printed(troubled).split())
    above = text[: text.index("Skipped or failed")]
    assert above.count("no folly") == 1
    assert "folly_fibers (all 4 cases), seastar (wait_us=8; mode=hot, parked): skipped. no folly" in above


# ---- CSV


def rows_of(results: Results) -> list[dict[str, str]]:
    return list(reader.DictReader(io.StringIO(csv.render(results))))


def test_csv_holds_details_unrounded_with_their_interval():
    made = samples.make_results([samples.contention(random.Random(11)), samples.nothing()])
    rows = list(reader.DictReader(io.StringIO(csv.render(made))))
    first = next(row for row in rows if row["contender"] == "fetch_add")
    told = made.workloads[0].rows[0].details["smallest_share"]
    assert made.workloads[0].rows[0].contender == "fetch_add"
    ends = [float(first[f"detail_smallest_share{end}"]) for end in ("", "_low", "_high")]
    assert ends == [told.value, told.low, told.high]
    assert first["detail_kept_bytes"] == ""
    assert next(row for row in rows if row["contender"] == "asio")["detail_hand_offs"] == ""


@pytest.mark.parametrize("unit", ["B", "bytes"])
def test_a_detail_in_bytes_is_a_size(unit):
    made = samples.contention(random.Random(11))
    kept = made.details[3].model_copy(update={"unit": unit, "title": "kept at the end"})
    text = markdown.render(samples.make_results([made.model_copy(update={"details": [kept]})]))
    assert "| Kept at the end |" in text
    assert "| 80 KiB |" in text


def test_markdown_shows_details_with_their_interval():
    text = markdown.render(samples.make_results([samples.contention(random.Random(11))]))
    head = next(line for line in text.splitlines() if line.startswith("| contender"))
    assert head.endswith("| Smallest share, % | Longest wait, µs | Hand-offs, per batch | Kept |")
    row = next(line for line in text.splitlines() if line.startswith("| `mutex (threads=2)`"))
    assert "| 46.0 \\[45.5, 46.5\\] |" in row
    assert row.endswith("| 2,000 | 80 KiB |")


def test_csv_has_one_row_a_case_with_unrounded_numbers(full):
    rows = rows_of(full)
    assert len(rows) == sum(len(workload.rows) for workload in full.workloads)
    first = full.workloads[0].rows[1]
    assert float(rows[1]["created_value"]) == first.created_value
    assert float(rows[1]["memory_per_unit_bytes"]) == 1536.0
    assert float(rows[1]["value"]) == first.value
    assert float(rows[1]["ratio_low"]) == first.ratio_low
    assert parser.loads(rows[1]["parameters"]) == first.parameters
    assert parser.loads(rows[1]["footing"]) == first.footing
    spinlock = next(row for row in rows if row["contender"] == "spinlock")
    assert float(spinlock["p999"]) == full.workloads[1].latencies[-1].p999
    assert next(row for row in rows if row["contender"] == "folly_fibers")["value"] == ""


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1"])
def test_no_text_cell_is_a_formula(start):
    row = samples.broken_row(start, "failed", start)
    results = samples.make_results([samples.nothing().model_copy(update={"rows": [row]})])
    cells = rows_of(results)[0]
    assert cells["contender"] == "'" + start
    assert cells["reason"] == "'" + start


def test_no_cell_of_the_hostile_run_begins_as_a_formula(full):
    for row in rows_of(full):
        for name, cell in row.items():
            assert not cell.lstrip().startswith(("=", "+", "@")), (name, cell)
            assert not (cell.startswith("-") and not re.fullmatch(r"-[\d.e+-]+", cell)), (name, cell)


# ---- JSON


def test_json_is_the_contract(full):
    told = parser.loads(json.render(full))
    assert told["schema"] == "toll-report/1"
    assert list(told)[:6] == ["schema", "run", "machine", "conditions", "floor", "workloads"]
    assert Results.model_validate(told) == full


def test_the_bare_work_is_called_the_floor():
    workload = samples.skynet(random.Random(1))
    plain = samples.make_results([workload])
    rows = [row.model_copy(update={"floor": row.contender == "std_async_deferred"}) for row in workload.rows]
    marked = samples.make_results([workload.model_copy(update={"rows": rows})])
    sentence = "std_async_deferred is the floor: the bare work, no ratio is to it."
    assert sentence in printed(marked)
    assert sentence.replace("_", r"\_") in markdown.render(marked)
    assert "is the floor" not in printed(plain) + markdown.render(plain)
