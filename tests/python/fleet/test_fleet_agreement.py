"""A comparison over hosts: the mean, what one more host would show, who agrees, what was not timed."""

from __future__ import annotations

import math

import pytest

from tollbench.cli import fleet_running
from tollbench.compare.verdicts import Comparison, Comparisons, Verdict
from tollbench.fleet.agreement import FleetComparison, compared
from tollbench.fleet.fleets import FleetRun, HostRow, HostStatus
from tollbench.report import fleet_lines


def on_host(ratio: float | None, half: float = 0.01, verdict: Verdict = Verdict.INCONCLUSIVE) -> Comparisons:
    one = Comparison(
        benchmark="BM_x", a="old", b="new", ratio=ratio, level=0.95, verdict=verdict, launches=9, seconds=1.0,
        low=ratio and ratio * math.exp(-half), high=ratio and ratio * math.exp(half), reason="why",
        regression=False,
    )  # fmt: skip
    return Comparisons(
        comparisons=(one,), kind="command", sides=("old", "new"), level=0.95, threshold=0.01, seconds=1.0
    )


def over(*found: Comparisons, missing: int = 0):
    names = [f"host{number}" for number in range(len(found) + missing)]
    rows = tuple(HostRow(host=name, status=HostStatus.OK, file=f"{name}.jsonl") for name in names)
    fleet = FleetRun(run="", folder="runs/x", hosts=rows)
    (change,) = compared(fleet, dict(zip(names, found, strict=False)), 0.95, 0.01).benchmarks
    return change


def test_hosts_that_agree_give_one_answer():
    change = over(*(on_host(ratio) for ratio in (1.048, 1.05, 1.052, 1.05)))
    assert change.ratio == pytest.approx(1.05, rel=1e-3)
    assert (change.verdict, change.regression, change.agree) == (Verdict.SLOWER, True, True)
    assert change.predicted_low < change.low < 1.05 < change.high < change.predicted_high


def test_hosts_that_differ_are_said_to_and_one_more_may_show_anything():
    change = over(*(on_host(ratio, 0.005) for ratio in (0.9, 1.1, 1.2, 0.95)))
    assert change.agree is False
    assert change.between == pytest.approx(0.135, rel=0.2)
    assert (change.verdict, change.regression) == (Verdict.INCONCLUSIVE, False)
    assert change.predicted_low < 0.8


def test_a_difference_that_does_not_matter_is_none():
    assert over(*(on_host(ratio) for ratio in (1.0, 1.001, 0.999, 1.0))).verdict is Verdict.NO_DIFFERENCE


def test_hosts_that_differ_beyond_all_numbers_leave_it_inconclusive():
    """Of two hosts and ten thousand benchmarks t is 127,000: e to the power of so much is no number."""
    rows = [
        on_host(ratio).model_copy(
            update={
                "comparisons": tuple(named(on_host(ratio), f"BM_{n}").comparisons[0] for n in range(10_000))
            }
        )
        for ratio in (1.0, 1.1)
    ]
    hosts = tuple(HostRow(host=name, status=HostStatus.OK, file=f"{name}.jsonl") for name in ("one", "two"))
    fleet = FleetRun(run="", folder="runs/x", hosts=hosts)
    found = compared(fleet, dict(zip(("one", "two"), rows, strict=True)), 0.95, 0.01)
    change = found.benchmarks[0]
    assert change.ratio == pytest.approx(1.0488, rel=1e-3)
    assert (change.low, change.high, change.predicted_low, change.predicted_high) == (None,) * 4
    assert (change.verdict, change.regression) == (Verdict.INCONCLUSIVE, False)
    assert "differ by too much" in next(line for line in fleet_lines.comparison(found) if "all hosts" in line)
    assert FleetComparison.model_validate_json(found.model_dump_json(by_alias=True)) == found


def test_one_host_alone_has_no_answer_for_others():
    change = over(on_host(1.1), missing=2)
    assert (change.ratio, change.verdict) == (None, Verdict.INCONCLUSIVE)


def test_unchanged_code_on_all_hosts_is_unchanged_code():
    unchanged = on_host(None, verdict=Verdict.UNCHANGED_CODE)
    assert over(unchanged, unchanged).verdict is Verdict.UNCHANGED_CODE
    assert over(unchanged, on_host(1.1)).verdict is Verdict.INCONCLUSIVE


def test_a_host_of_unchanged_code_counts_as_no_change():
    """Without it, the mean would be that of the hosts where something changed."""
    changed = [on_host(ratio) for ratio in (1.10, 1.11, 1.09)]
    alone = over(*changed)
    beside = over(*changed, on_host(None, verdict=Verdict.UNCHANGED_CODE))
    assert alone.verdict is Verdict.SLOWER
    assert (beside.verdict, beside.known_on) == (Verdict.INCONCLUSIVE, 4)
    assert beside.ratio == pytest.approx(alone.ratio**0.75, rel=1e-3)
    assert beside.agree is None


def test_a_benchmark_that_failed_on_a_host_leaves_the_comparison_open():
    failed = over(*(on_host(1.05, verdict=Verdict.SLOWER),) * 2, on_host(None, verdict=Verdict.FAILED))
    assert (failed.known_on, failed.verdict) == (2, Verdict.SLOWER)
    assert fleet_running._open(failed)
    assert not fleet_running._open(over(*(on_host(1.0),) * 3))


def test_a_host_without_an_interval_leaves_open_whether_hosts_agree():
    bare = on_host(1.02)
    (one,) = bare.comparisons
    bare = bare.model_copy(update={"comparisons": (one.model_copy(update={"low": None, "high": None}),)})
    assert over(bare, on_host(1.01)).agree is None


def test_the_answer_over_all_hosts_comes_first_and_each_host_below():
    change = over(on_host(1.05), on_host(1.06), on_host(None, verdict=Verdict.FAILED))
    fleet = FleetRun(run="", folder="runs/x", hosts=(HostRow(host="host0"),))
    found = compared(fleet, {"host0": on_host(1.05)}, 0.95, 0.01).model_copy(update={"benchmarks": (change,)})
    lines = list(fleet_lines.comparison(found))
    assert lines[0] == "BM_x: new against old"
    assert lines[1].startswith("  2 of 3 hosts: ")
    assert "one more such host" in lines[1]
    assert [line.split()[0] for line in lines[2:5]] == ["host0", "host1", "host2"]
    assert lines[4].endswith("failed: why")


def shared(kinds: dict[str, str], found: dict[str, Comparisons], machines: dict[str, str] | None = None):
    machines = machines or {}
    rows = tuple(
        HostRow(
            host=name, status=HostStatus.OK if name in found else HostStatus.LOST,
            file=f"{name}.jsonl" if name in found else "", machine=machines.get(name, "Made 1"),
        )
        for name in kinds
    )  # fmt: skip
    return compared(FleetRun(run="", folder="runs/x", hosts=rows), found, 0.95, 0.01, shared_by=kinds)


def named(found: Comparisons, name: str, **changes: object) -> Comparisons:
    (one,) = found.comparisons
    return found.model_copy(update={"comparisons": (one.model_copy(update={"benchmark": name, **changes}),)})


def test_of_equal_hosts_that_share_the_benchmarks_each_has_its_own_answer():
    slower = named(on_host(1.05, verdict=Verdict.SLOWER), "BM_a", regression=True)
    found = shared({"one": "", "two": ""}, {"one": slower, "two": named(on_host(1.0), "BM_b")})
    one, two = found.benchmarks
    assert (one.verdict, one.regression, one.ratio, one.predicted_low) == (Verdict.SLOWER, True, 1.05, None)
    assert (two.verdict, two.regression) == (Verdict.INCONCLUSIVE, False)
    assert not found.notes
    assert [line for line in fleet_lines.comparison(found) if "BM_a" in line] == [
        "BM_a: new against old: slower +5.0 % (+4.0 % to +6.1 %), on one"
    ]


def test_of_several_kinds_a_benchmark_has_the_mean_over_kinds():
    both = {"one": on_host(1.05), "two": on_host(1.06)}
    (change,) = shared({"one": "a", "two": "b"}, both).benchmarks
    assert change.known_on == 2
    assert change.predicted_low is not None
    (change,) = shared({"one": "a", "two": "b"}, {"one": on_host(1.05, verdict=Verdict.SLOWER)}).benchmarks
    assert change.verdict is Verdict.INCONCLUSIVE  # one kind says nothing about the other


def test_what_is_open_over_kinds_is_not_shown_as_its_one_hosts_answer():
    kinds = {"one": "a", "two": "b"}
    found = shared(kinds, {"one": on_host(1.1, verdict=Verdict.SLOWER)})
    text = "\n".join(fleet_lines.comparison(found))
    assert "inconclusive; the change is known of fewer than two" in text
    assert "one  slower" in text


def test_a_part_of_a_host_that_failed_is_open_also_where_it_left_a_file():
    kinds = {"one": "a", "two": "a"}
    rows = (
        HostRow(host="one", status=HostStatus.OK, file="one.jsonl"),
        HostRow(host="two", status=HostStatus.FAILED, file="two.jsonl", reason="no space"),
    )
    fleet = FleetRun(run="", folder="runs/x", hosts=rows)
    found = compared(fleet, {"one": on_host(1.0)}, 0.95, 0.01, shared_by=kinds)
    assert found.notes == ("two has no result, and its part of the benchmarks none on hosts of its kind",)


def test_equal_hosts_that_offer_other_benchmarks_leave_the_comparison_open():
    parts = {
        name: named(on_host(1.0, verdict=Verdict.NO_DIFFERENCE), f"BM_{name}").model_copy(
            update={"part_of": name}
        )
        for name in ("one", "two")
    }
    found = shared({"one": "", "two": ""}, parts)
    assert found.uneven
    assert found.notes[0].startswith("one and two do not offer the same benchmarks")
    same = {name: one.model_copy(update={"part_of": "x"}) for name, one in parts.items()}
    assert not shared({"one": "", "two": ""}, same).uneven


def test_parts_without_a_host_and_equal_hosts_that_are_none_are_told():
    found = shared(
        {"one": "a", "two": "a", "three": "a"}, {"one": on_host(1.0), "two": named(on_host(1.0), "BM_b")},
        {"two": "Made 2"},
    )  # fmt: skip
    assert not found.uneven
    assert found.notes == (
        "three has no result, and its part of the benchmarks none on hosts of its kind",
        "hosts of kind a are no equal machines (one: Made 1; two: Made 2)",
    )
