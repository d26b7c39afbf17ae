"""JUnit XML: a regression is a failure, a side that failed an error, what is open is skipped."""

from __future__ import annotations

from xml.etree import ElementTree

from tollbench.compare.verdicts import Comparisons, Verdict
from tollbench.report.comparisons.comparison_lines import ComparisonLine, headline, lines
from tollbench.text import clean

_NOT_XML = {code: "\ufffd" for code in (*range(0x20), 0xFFFE, 0xFFFF) if code not in (0x09, 0x0A, 0x0D)}


def render(found: Comparisons) -> str:
    """One test suite."""
    shown = lines(found)
    suite = ElementTree.Element(
        "testsuite",
        name="toll compare",
        tests=str(len(shown)),
        failures=str(sum(line.item.regression for line in shown)),
        errors=str(sum(line.item.verdict is Verdict.FAILED for line in shown)),
        skipped=str(sum(line.item.verdict is Verdict.INCONCLUSIVE for line in shown)),
        time=f"{found.seconds:.3f}",
        timestamp=_text(clean(found.started_utc))[:19],
    )
    for line in shown:
        _case(suite, line)
    ElementTree.SubElement(suite, "system-out").text = _text(headline(found))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, line: ComparisonLine) -> None:
    item = line.item
    case = ElementTree.SubElement(
        suite, "testcase", classname=_text(line.b), name=_text(line.benchmark), time=f"{item.seconds:.3f}"
    )
    told = _text(f"{line.change} ({line.interval}); {line.reason}")
    if item.regression:
        ElementTree.SubElement(case, "failure", type="regression", message=told)
    elif item.verdict is Verdict.FAILED:
        ElementTree.SubElement(case, "error", type="failed", message=_text(line.reason))
    elif item.verdict is Verdict.INCONCLUSIVE:
        ElementTree.SubElement(case, "skipped", message=told)
    else:
        ElementTree.SubElement(case, "system-out").text = told


def _text(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return text.translate(_NOT_XML)
