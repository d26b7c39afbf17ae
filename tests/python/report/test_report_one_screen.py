"""The screen that a run ends with: short, an answer for each workload, nothing that steers a terminal."""

from __future__ import annotations

import io
import re

import pytest
import sample_results as samples
from rich.cells import cell_len
from rich.console import Console

from tollbench.analysis.results import IMPRECISE, Results
from tollbench.report import one_screen


def screen(results: Results, width: int = 100, encoding: str = "utf-8", said_lines: int = 0) -> list[str]:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = Console(file=out, width=width)
    one_screen.render(results, console, "runs/today.html", "runs/today.toll", said_lines=said_lines)
    return raw.getvalue().decode(encoding).splitlines()


@pytest.fixture(scope="module")
def friendly() -> Results:
    return samples.friendly_results()


def about(lines: list[str], workload: str) -> str:
    """What stands below a workload's question, as one text."""
    start = next(at for at, line in enumerate(lines) if line.startswith(f"{workload}: "))
    told = []
    for line in lines[start + 1 :]:
        if not line.startswith("  "):
            break
        told.append(line.strip())
    return " ".join(told)


def test_each_workload_has_its_fastest_and_the_next_with_ratio_and_interval(friendly):
    lines = screen(friendly)
    assert all(any(line.startswith(one.workload) for line in lines) for one in friendly.workloads)
    told = about(lines, "tasks/skynet")
    rows = [row for row in friendly.workloads[0].rows if row.ratio is not None and not row.floor]
    first, second = sorted(rows, key=lambda row: row.ratio or 0.0)[:2]
    assert first.fastest
    assert told.startswith(f"{first.contender} ")
    assert f"then {second.contender} {second.ratio:.2f}" in told
    assert "[" in told


def test_what_was_published_stands_beside_today(friendly):
    """That of the fastest row that has one."""
    told = about(screen(friendly), "tasks/skynet")
    assert "2016, Go 1.6.1, GOMAXPROCS=8: 0.7 to 0.98 µs then, 0.2540 here" in told


def test_no_row_is_told_to_be_as_fast_as_itself(friendly):
    skynet = friendly.workloads[0]
    (entry, *_) = [one for one in skynet.published if one.today is not None]
    today = entry.today.model_copy(update={"value": 1.0, "low": 1.0, "high": 1.0})
    for statistic, told in (("ratio", False), ("value", True)):
        alone = entry.model_copy(update={"today": today, "statistic": statistic})
        one = skynet.model_copy(update={"published": [alone]})
        lines = screen(friendly.model_copy(update={"workloads": [one]}))
        assert (f"{entry.year}, " in about(lines, "tasks/skynet")) == told


def test_what_was_published_is_cut_to_the_line_or_left_out_before_an_answer_is(friendly):
    skynet = friendly.workloads[0]
    long = [
        entry.model_copy(update={"label": f"{entry.label}, on one of its four cores alone, as printed then"})
        for entry in skynet.published
    ]
    one = friendly.model_copy(update={"workloads": [skynet.model_copy(update={"published": long})]})
    told = about(screen(one, width=130), "tasks/skynet")
    assert re.search(r" · 2016, Go 1\.6\.1.*…: 0\.7 to 0\.98 µs then, 0\.2540 here$", told), told
    below = next(line for line in screen(one) if "0.2540 here" in line)
    assert re.match(r"  2016, Go 1\.6\.1.*…: 0\.7", below)
    crowded = screen(one, said_lines=one_screen.LINES)
    assert "0.2540 here" not in "".join(crowded)
    assert about(crowded, "tasks/skynet").startswith("std_async_deferred")


def test_rows_that_could_not_be_told_apart_are_tied(friendly):
    skynet = friendly.workloads[0]
    tied = [row.model_copy(update={"tie_groups": ["a"]}) for row in skynet.rows]
    changed = friendly.model_copy(update={"workloads": [skynet.model_copy(update={"rows": tied})]})
    assert ", tied" in about(screen(changed), "tasks/skynet")
    assert ", tied" not in about(screen(friendly), "tasks/skynet")


def test_claims_stand_there_with_what_decided_them(friendly):
    lines = screen(friendly)
    text = " ".join(line.strip() for line in lines)
    more = "./toll run '*' --profile standard --budget 1h"
    assert f"3 published claims: 1 holds here, 1 does not; 1 open: {more}" in text
    assert "does not hold here: stealing halves round robin" in text or "1.015× [1.000, 1.030]" in text
    assert "holds here: stealing beats sharing" in text or "3.01× [2.90, 3.10], at least 1.41× wanted" in text


def test_a_longer_run_names_no_longer_one(friendly):
    run = friendly.run.model_copy(update={"profile": "standard"})
    text = " ".join(line.strip() for line in screen(friendly.model_copy(update={"run": run})))
    assert "1 of 3 published claims holds here, 1 does not, 1 cannot be told in this run" in text
    assert "--profile standard" not in text


def test_where_there_is_room_claims_are_sentences(friendly):
    few = friendly.model_copy(update={"workloads": friendly.workloads[:2]})
    text = " ".join(line.strip() for line in screen(few))
    claim = "Tasks of one library take half of the time of another's."
    assert f"holds here: {claim} (3.01× [2.90, 3.10], at least 1.41× wanted)" in text


def test_a_quick_run_of_everything_fits_whatever_it_says(friendly):
    """14 workloads, 66 claims of long names, many warnings."""
    workloads = [friendly.workloads[at % 2].model_copy(update={"workload": f"topic/number_{at}"})
                 for at in range(14)]  # fmt: skip
    claims = [
        samples.claims()[at % 3].model_copy(update={"name": f"a_claim_with_a_long_name_to_tell_{at}"})
        for at in range(66)
    ]
    warnings = [f"topic/number_{at}: it is so, `./toll doctor` says why." for at in range(14)]
    changes = {"workloads": workloads, "claims": claims, "warnings": warnings}
    said = 15
    lines = screen(friendly.model_copy(update=changes), said_lines=said)
    assert len(lines) + said <= one_screen.LINES
    assert all(cell_len(line) <= 100 for line in lines)
    text = " ".join(line.strip() for line in lines)
    assert "holds here: a claim with a long name" in text
    assert "more" in text


def test_at_most_three_warnings_stand_there_each_with_its_remedy(friendly):
    warnings = [f"Thing {at} went wrong, which is a pity. `./toll mend {at}` mends it." for at in range(5)]
    lines = screen(friendly.model_copy(update={"warnings": warnings, "workloads": [], "problems": []}))
    assert [line for line in lines if line.startswith("!")] == [
        "! Thing 0 went wrong, which is a pity: ./toll mend 0",
        "! Thing 1 went wrong, which is a pity: ./toll mend 1",
        "! Thing 2 went wrong, which is a pity: ./toll mend 2",
        "! 2 more warnings: ./toll report runs/today.toll",
    ]


@pytest.mark.parametrize(
    ("warning", "room", "line"),
    [
        ("All is `well`.", 80, "All is well"),
        ("It was slow; very slow, indeed (so slow). `./toll doctor` helps.", 60,
         "It was slow; very slow, indeed (so slow): ./toll doctor"),
        ("It was slow all of the day; very slow, indeed (so slow). `./toll doctor` helps.", 60,
         "It was slow all of the day; very slow, indeed: ./toll doctor"),
        ("Five of six ratios are too wide to tell (a, b); `./toll run x --profile thorough` helps.", 60,
         "Five of six ratios are too…: ./toll run x --profile thorough"),
        ("Differences under 6.0 % were out of reach in this run for programs like it. `./toll run`.", 70,
         "Differences under 6.0 % were out of reach in this run: ./toll run"),
        ("The run was interrupted, as somebody pressed Ctrl-C; toll run --resume a.toll goes on with it.", 60,
         "The run was interrupted: toll run --resume a.toll"),
        ("The run was interrupted; ./toll run --resume a.toll goes on with it.", 80,
         "The run was interrupted; ./toll run --resume a.toll goes on with it"),
        ("The run was interrupted; ./toll run --resume 'my runs/a.toll' goes on with it. Until then.", 62,
         "The run was interrupted: ./toll run --resume 'my runs/a.toll'"),
        ("The run was interrupted; ./toll run --resume '/Bob'\"'\"'s runs/a.toll' goes on with it.", 70,
         "The run was interrupted: ./toll run --resume '/Bob'\"'\"'s runs/a.toll'"),
        (
            "Rounds beside each other are alike (runs test, 1 row of 6: a_long_name_of_a_contender): spells.",
            60,
            "Rounds beside each other are alike",
        ),
        ("containers/allocate_throughput: Batches that others met are left out in some settings.", 60,
         "containers/allocate_throughput: Batches that others met are…"),
    ],
)  # fmt: skip
def test_a_warning_becomes_one_line_with_its_command(warning, room, line):
    assert one_screen.in_a_line(warning, room) == line


def test_what_ratios_of_many_workloads_lack_is_one_warning_and_the_last(friendly):
    lacking = [
        f"topic/{at}: 4 of 5 ratios {IMPRECISE} ±1.0 % (a, b); `./toll run topic/{at}`." for at in range(9)
    ]
    warnings = [*lacking[:5], "topic/5: Something else.", *lacking[5:]]
    named = [friendly.workloads[0].model_copy(update={"workload": f"topic/{at}"}) for at in range(9)]
    changes = {"warnings": warnings, "workloads": named, "problems": []}
    told = [line for line in screen(friendly.model_copy(update=changes)) if line.startswith("!")]
    assert told == [
        "! topic/5: Something else",
        "! Ratios of 9 workloads are not known to ±1.0 %: ./toll run WORKLOAD --profile thorough",
    ]
    single = friendly.model_copy(update=changes | {"warnings": lacking[:1]})
    assert "! 4 of 5 ratios are not known to ±1.0 % (a, b); ./toll run topic/0" in screen(single)


def test_what_a_program_says_of_ratios_is_its_own_warning(friendly):
    warnings = [f"topic/{at}: The program says that ratios {IMPRECISE} me." for at in range(2)]
    named = [friendly.workloads[0].model_copy(update={"workload": f"topic/{at}"}) for at in range(2)]
    changes = {"warnings": warnings, "workloads": named, "problems": []}
    told = [line for line in screen(friendly.model_copy(update=changes)) if line.startswith("!")]
    assert told == [f"! topic/{at}: The program says that ratios {IMPRECISE} me" for at in range(2)]


def test_what_failed_is_the_first_warning(friendly):
    first = next(line for line in screen(friendly) if line.startswith("!"))
    assert "without numbers" in first


def test_the_page_and_the_tables_are_named(friendly):
    assert screen(friendly)[-1] == ("page: runs/today.html; tables: ./toll report runs/today.toll [WORKLOAD]")


def test_a_run_file_cannot_steer_the_terminal():
    text = "\n".join(screen(samples.full_results()))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("results", [samples.empty_results(), samples.full_results()], ids=["empty", "full"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_is_shown_at_any_width_without_cutting_numbers(results, width):
    assert all(cell_len(line) <= width for line in screen(results, width))


def test_a_terminal_without_unicode_gets_plain_characters():
    "\n".join(screen(samples.full_results(), encoding="ascii")).encode("ascii")
