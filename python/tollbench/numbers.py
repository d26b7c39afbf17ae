"""How numbers are written: as many digits as the interval supports, one unit a column.

Functions return plain text with ordinary characters; a missing number is `MISSING`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MISSING = "–"
FACTOR = 10.0  # of a ratio: from here on a percentage is no longer read: "+226910 %" are 2,270 times
_TIME_UNITS = (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0))
_TIME_SECONDS = {**dict(_TIME_UNITS), "us": 1e-6}
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit that a column is written in: shown = stored * factor."""

    unit: str
    factor: float = 1.0

    def of(self, value: float | None) -> float | None:
        """The value in this scale's unit."""
        return None if value is None else value * self.factor


def finite(values: Iterable[float | None]) -> list[float]:
    """The numbers that are there and can be drawn."""
    return [value for value in values if value is not None and math.isfinite(value)]


def time_scale(values: Iterable[float | None], unit: str) -> Scale:
    """One unit for a whole column of times stored in `unit`; other units stay as they are.

    The smallest value is at least 1 in it, unless the largest would then have seven digits.
    """
    if unit not in _TIME_SECONDS:
        return Scale(unit)
    present = [abs(value) for value in finite(values) if value]
    seconds = _TIME_SECONDS[unit]
    if not present:
        return Scale("µs" if unit == "us" else unit)
    low, high = min(present) * seconds, max(present) * seconds
    fitting = [index for index, (_, size) in enumerate(_TIME_UNITS) if low >= size * 0.9995]
    index = fitting[-1] if fitting else 0
    while index + 1 < len(_TIME_UNITS) and high / _TIME_UNITS[index][1] >= 1e6:
        index += 1
    name, size = _TIME_UNITS[index]
    return Scale(name, seconds / size)


def convert(value: float, unit: str, to: str) -> float | None:
    """A time in another unit, or None where the two cannot be converted."""
    if unit == to:
        return value
    if unit in _TIME_SECONDS and to in _TIME_SECONDS:
        return value * _TIME_SECONDS[unit] / _TIME_SECONDS[to]
    return None


def decimals(value: float, low: float | None, high: float | None, least: int = 2, most: int = 5) -> int:
    """Decimal places (negative: tens, hundreds) so that the last digit is one that the interval supports.

    The interval's half-width keeps one digit, two where it begins with 1 or 2. Between `least` and `most`
    significant digits; three where there is no interval. A whole number that never varied is a count: it
    stands in full.
    """
    if value == low == high and value.is_integer():
        return 0
    magnitude = _magnitude(value)
    if low is None or high is None:
        return 2 - magnitude
    half = (high - low) / 2
    if not math.isfinite(half) or half <= 0:
        return most - 1 - magnitude
    place = _magnitude(half)
    wanted = -place + (1 if half / 10.0**place < 3 else 0)
    return max(least - 1 - magnitude, min(most - 1 - magnitude, wanted))


def fixed(value: float | None, places: int) -> str:
    """A number rounded to `places` decimals (negative: to tens, hundreds), thousands grouped."""
    if value is None or not math.isfinite(value):
        return MISSING
    if places < 0:
        value = round(value, places)
    text = f"{value:,.{max(0, min(places, 9))}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def plain(value: float | None, digits: int = 3) -> str:
    """A number without an interval, to `digits` significant digits: 0.0123, 2.22, 1,230."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    places = digits - 1 - _magnitude(value)
    return fixed(value, max(0, places)) if abs(value) >= 1e-6 else f"{value:.{digits - 1}g}"


def quantity(value: float | None, low: float | None, high: float | None) -> str:
    """A measured value with the digits that its interval supports."""
    if value is None or not math.isfinite(value):
        return MISSING
    return fixed(value, decimals(value, low, high))


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """ "[121.0, 126.2]" with the value's own decimals; MISSING where there is no interval."""
    if value is None or not math.isfinite(value) or low is None or high is None:
        return MISSING
    places = decimals(value, low, high)
    return f"[{_end(low, places)}, {_end(high, places)}]"


def ratio(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """ "1.00×", "1.012×", "12.3×": three digits, four where the interval supports them."""
    if value is None or not math.isfinite(value):
        return MISSING
    return fixed(value, _ratio_places(value, low, high)) + "×"


def ratio_interval(value: float | None, low: float | None, high: float | None) -> str:
    """The ratio's interval with the ratio's own decimals; an end beside 1 has more, until it does not read as
    1: whether 1 lies within is what readers look for."""
    if value is None or not math.isfinite(value) or low is None or high is None or low == high:
        return MISSING
    places = _ratio_places(value, low, high)
    return f"[{_beside_one(low, places)}, {_beside_one(high, places)}]"


def apart(*values: float) -> list[str]:
    """`plain`, with more digits where different ones would read alike."""
    different = len({*values})
    for digits in range(3, 10):
        texts = [plain(value, digits) for value in values]
        if len({_read(text) for text in texts}) >= different:
            return texts
    return [plain(value) for value in values]


def size_scale(values: Iterable[float | None]) -> Scale:
    """One binary unit for all sizes of a chart, stored in bytes, as `time_scale` has one for times: the
    smallest is at least 1 in it, unless the largest would then have seven digits."""
    present = [value for value in finite(values) if value > 0]
    low, high = min(present, default=1.0), max(present, default=1.0)
    index = 0
    while index + 1 < len(_BYTE_UNITS) and (low >= 1024 ** (index + 1) or high / 1024**index >= 1e6):
        index += 1
    return Scale(_BYTE_UNITS[index], 1.0 / 1024**index)


def count_scale(values: Iterable[float | None], per: str) -> Scale:
    """Rare events are counted per 1,000 or per million units of work: no column of leading zeros."""
    most = max((abs(value) for value in finite(values)), default=0.0)
    if most >= 0.1 or most == 0:
        return Scale(f"per {per}")
    return (
        Scale(f"per\u00a01,000 {plural(per)}", 1e3)
        if most >= 1e-4
        else Scale(f"per\u00a0million {plural(per)}", 1e6)
    )


def rate(scale: Scale) -> str:
    """What a count scale counts per where the unit of work is known: "", "per 1,000", "per million"."""
    return {1e3: "per\u00a01,000", 1e6: "per\u00a0million"}.get(scale.factor, "")


def plural(noun: str) -> str:
    """ "task" -> "tasks", "entry" -> "entries", "switch" -> "switches"."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def reported(value: float) -> str:
    """A number as its source wrote it: no digit added."""
    return f"{value:,.10g}" if math.isfinite(value) else MISSING


def size(value: float | None) -> str:
    """Bytes in the binary unit that fits: 512 B, 17.2 MiB."""
    if value is None or not math.isfinite(value):
        return MISSING
    index = 0
    while abs(value) >= 1024 and index + 1 < len(_BYTE_UNITS):
        value, index = value / 1024, index + 1
    text = plain(value)
    return f"{text.removesuffix('.00').removesuffix('.0')} {_BYTE_UNITS[index]}"


def percent(share: float | None, digits: int = 2, most_decimals: int = 9) -> str:
    """A share (0.0123) as a percentage with so many significant digits, as far as decimals allow: "1.2 %".

    Infinite: "any amount"; None or NaN: MISSING.
    """
    if share is None or math.isnan(share):
        return MISSING
    if math.isinf(share):
        return "any amount"
    value = 100.0 * share
    magnitude = _magnitude(
        float(f"{value:.{digits - 1}e}")
    )  # 9.97 is written with two digits before the point
    return f"{fixed(value, max(0, min(most_decimals, digits - 1 - magnitude)) if value else 0)} %"


def probability(share: float) -> str:
    """A level or a probability as a percentage that reads 100 % only where it is: 0.95, 0.995, 0.9999."""
    lacking = 100.0 * (1.0 - share)
    if not 0.0 < lacking < 1.0:
        return percent(share)
    return f"{fixed(100.0 * share, min(9, math.ceil(-math.log10(lacking) - 1e-9)))} %"


def difference(share: float) -> str:
    """How much two times differ, as a percentage: at most two decimals, as finer ones mean nothing."""
    return percent(share, most_decimals=2)


def duration(seconds: float | None) -> str:
    """Wall time as people say it: 0.42 s, 12 s, 2 min 51 s, 3 h 05 min."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 10:
        return f"{plain(seconds, 2)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def split(text: str) -> tuple[str, str]:
    """ "1,234.5" as ("1,234", ".5"), for columns that align on the decimal point."""
    whole, point, fraction = text.partition(".")
    return whole, point + fraction


def _ratio_places(value: float, low: float | None, high: float | None) -> int:
    places = decimals(value, low, high, least=3, most=4) if low != high else 2 - _magnitude(value)
    return max(0, places)


def _end(value: float, places: int) -> str:
    """An interval's end; one that rounding would turn into 0 keeps its first digit."""
    if math.isfinite(value) and value and abs(value) < 0.5 * 10.0**-places:
        places = -_magnitude(value)
    return fixed(value, places)


def _read(text: str) -> float | None:
    return None if text == MISSING else float(text.replace(",", ""))


def _beside_one(value: float, places: int) -> str:
    finer = (_end(value, more) for more in range(places, 10))
    return next((text for text in finer if value == 1.0 or _read(text) != 1.0), _end(value, places))


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0
