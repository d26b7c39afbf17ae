"""JUnit XML: a regression is a failure, a side that failed an error, what is open is skipped."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from tollbench.compare.verdicts import Comparison, Comparisons, CountChange, CountVerdict, FileChange, Verdict
from tollbench.report.comparisons import count_lines
from tollbench.report.comparisons.comparison_lines import ComparisonLine, headline, lines
from tollbench.report.comparisons.side_names import which_sides
from tollbench.text import clean

_NOT_XML = {code: "\ufffd" for code in (*range(0x20), 0xFFFE, 0xFFFF) if code not in (0x09, 0x0A, 0x0D)}


def render(found: Comparisons) -> str:
    """One test suite."""
    shown = lines(found)
    kinds = [*(_kind(line.item) for line in shown), *(_kind_of([file.count]) for file in found.files)]
    suite = ElementTree.Element(
        "testsuite",
        name="toll compare",
        tests=str(len(shown) + len(found.files)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
        time=f"{found.seconds:.3f}",
        timestamp=_text(clean(found.started_utc))[:19],
    )
    for line in shown:
        _case(suite, line)
    for file in found.files:
        _file_case(suite, file, which_sides(file.a, file.b, crosswise=found.crosswise))
    ElementTree.SubElement(suite, "system-out").text = _text(headline(found))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _kind(item: Comparison) -> str:
    """The element that tells a row's answer."""
    of_counts = _kind_of(item.counts)
    if item.regression or of_counts == "failure":
        return "failure"
    if item.verdict is Verdict.FAILED or of_counts == "error":
        return "error"
    return "skipped" if item.verdict is Verdict.INCONCLUSIVE else "system-out"


def _kind_of(counts: Sequence[CountChange]) -> str:
    if any(count.fails for count in counts):
        return "failure"
    nothing = counts and all(count.verdict is CountVerdict.FAILED for count in counts)
    return "error" if nothing else "system-out"


def _file_case(suite: ElementTree.Element, file: FileChange, sides: str) -> None:
    name = f"{count_lines.OF_FILE} {file.count.metric}"
    case = ElementTree.SubElement(suite, "testcase", classname=_text(sides), name=name, time="0.000")
    told = _text(count_lines.sentence([file.count]))
    match _kind_of([file.count]):
        case "failure":
            ElementTree.SubElement(case, "failure", type="count", message=told)
        case "error":
            ElementTree.SubElement(case, "error", type="failed", message=told)
        case _:
            ElementTree.SubElement(case, "system-out").text = told


def _case(suite: ElementTree.Element, line: ComparisonLine) -> None:
    item = line.item
    case = ElementTree.SubElement(
        suite, "testcase", classname=_text(line.b), name=_text(line.benchmark), time=f"{item.seconds:.3f}"
    )
    timed = "" if item.verdict is Verdict.COUNTED else f"{line.change} ({line.interval}); {line.reason}"
    counted = count_lines.sentence(item.counts)
    told = _text("; ".join(filter(None, [timed, counted])))
    match _kind(item):
        case "failure":
            kind = "regression" if item.regression else "count"
            ElementTree.SubElement(case, "failure", type=kind, message=told)
        case "error":
            why = line.reason if item.verdict is Verdict.FAILED else counted
            ElementTree.SubElement(case, "error", type="failed", message=_text(why))
        case "skipped":
            ElementTree.SubElement(case, "skipped", message=told)
        case _:
            ElementTree.SubElement(case, "system-out").text = told


def _text(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return text.translate(_NOT_XML)
