"""What the tests of kinds of sides share that are not toll's own: a stand-in to be launched, and its rows."""

from __future__ import annotations

from pathlib import Path

from tollbench.compare import (
    Comparison,
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)


def executable(path: Path, text: str) -> str:
    """A script that can be launched by this path. Its line "# SEEDED" is where its noise is seeded."""
    noise = Path(__file__).with_name("fake_noise.py").read_text(encoding="utf-8")
    path.write_text(text.replace("# SEEDED\n", f"{noise}\nseed_by_launch()\n"), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def compared_as(kind: str, *texts: str, pattern: str = "", most_rounds: int = 12) -> Comparisons:
    """A comparison of sides that have to be taken for this kind."""
    found, sides = resolve([WrittenSide(text) for text in texts])
    assert found == kind
    subject = subject_of(kind, sides, MeasuringOptions(20.0, pattern=pattern))
    return compare(subject, ComparisonSettings(seed=5, most_rounds=most_rounds))


def rows(found: Comparisons) -> dict[str, Comparison]:
    """By benchmark."""
    return {item.benchmark: item for item in found.comparisons}
