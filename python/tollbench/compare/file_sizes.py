"""How large the executables are that sides run: a verdict for each, with what grew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tollbench.compare.subject import Side, Two
from tollbench.compare.verdicts import CountChange, CountVerdict, FileChange, PartChange
from tollbench.counting.demangling import readable
from tollbench.counting.image import Unreadable
from tollbench.counting.sizes import Sizes, sizes

SIZE = "size"
MOST_SYMBOLS = 1000  # in the record
_NAMED = 4  # in the sentence


def file_changes(
    sides: Sequence[Side],
    labels: Sequence[str],
    wanted: Iterable[Two],
    stored: Mapping[str, int] | None = None,
) -> Iterator[FileChange]:
    """Of two sides each; `stored` are the parts of a where that is a baseline."""
    size_of = cache(lambda side: _of(sides[side]))
    for two in wanted:
        a, b = labels[two.a], labels[two.b]
        try:
            size = size_of(two.b)
            if stored is None:
                yield _change(a, b, size_of(two.a), size)
            elif stored:  # of symbols, nothing is stored
                yield _change(a, b, Sizes(stored, size.symbols, (), ""), size)
            else:
                yield FileChange(a=a, b=b, count=CountChange.missing(SIZE, f"{a} has no size"))
        except Unreadable as reason:
            yield FileChange(a=a, b=b, count=CountChange.missing(SIZE, str(reason)))


def parts_of(side: Side) -> dict[str, int]:
    """What a baseline keeps; empty where the side is no single file."""
    try:
        return dict(_of(side).parts)
    except Unreadable:
        return {}


def _of(side: Side) -> Sizes:
    if side.unusable:
        raise Unreadable(side.unusable)
    path = Path(side.command[0])
    if path == Path("/bin/sh") and side.command[1:2] == ("-c",):
        raise Unreadable(f"{side.label} is run by a shell: it names no single file")
    try:
        return sizes(path)
    except Unreadable as reason:
        raise Unreadable(f"{path.name} {reason}") from None


def _change(label_a: str, label_b: str, a: Sizes, b: Sizes) -> FileChange:
    parts = _differing("section", a.parts, b.parts)
    symbols = _differing("symbol", a.symbols, b.symbols)
    symbols.sort(key=lambda part: (-abs(part.b - part.a), part.name))
    told = [f"{part.name} {part.a:,} to {part.b:,} B" for part in parts]
    named = [f"{part.name} {part.a:,} to {part.b:,} B" for part in symbols[:_NAMED]]
    if named:
        more = f" and {len(symbols) - _NAMED} more" if len(symbols) > _NAMED else ""
        told.append(f"symbols: {', '.join(named)}{more}")
    difference = b.total - a.total
    verdict = CountVerdict.EQUAL if not difference else CountVerdict.MORE
    return FileChange(
        a=label_a,
        b=label_b,
        count=CountChange(
            metric=SIZE,
            per="file",
            a=float(a.total),
            b=float(b.total),
            exact=True,
            launches=0,
            verdict=CountVerdict.FEWER if difference < 0 else verdict,
            reason="; ".join(told) or "in memory, all sections",
        ),
        parts=(*parts, *symbols[:MOST_SYMBOLS]),
    )


def _differing(kind: str, a: Mapping[str, int], b: Mapping[str, int]) -> list[PartChange]:
    names = dict.fromkeys((*a, *b))
    return [
        PartChange(
            kind=kind, name=readable(name) if kind == "symbol" else name, a=a.get(name, 0), b=b.get(name, 0)
        )
        for name in names
        if a.get(name, 0) != b.get(name, 0)
    ]
