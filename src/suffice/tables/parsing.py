"""Text, dates and durations as numbers."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrow import ArrowColumn
from .labels import is_missing
from .table import ArrayColumn, Column

Array = NDArray[Any]

DAY = 86_400_000_000  # microseconds
_SECONDS = (604_800, 86_400, 3600, 60, 1)  # of a week, a day, an hour, a minute and a second
_CENTURY = 69  # the first year of two digits that lies in the last century, as in POSIX
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

# Numbers as people write them: signs, currencies, percent, thousands; negative ones in parentheses.
_WRITTEN = re.compile(r"([(]?)([-+]?)[$€£¥₹]?([-+]?)([\d.,'_]+)(?:[eE]([-+]?\d+))?[$€£¥₹%]?([)]?)")
_PLAIN = {
    ".": re.compile(r"\d*\.?\d+|\d+\.|[1-9]\d{0,2}([,'_]\d{3})+(\.\d*)?"),
    ",": re.compile(r"\d*,?\d+|\d+,|[1-9]\d{0,2}([.'_]\d{3})+(,\d*)?"),
}
_SIMPLE = re.compile(r"-?\d+\.\d+")
_BLANKS = re.compile(r"\s+")  # which includes narrow and protected ones
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:\s\d{3})+(?!\d)")  # thousands with blanks between them
_PARTS = re.compile(r"\d\s+\d")  # of a phone number, say
_FORM = re.compile(
    r"[-+\u2212]?([^\d.,()+-]*)(\d(?:[^eE]*\d)?)([^\d.,()]*)"
)  # what stands before, in and after the digits
_LEADING_ZERO = re.compile(r"[-+]?0\d+")  # a code, such as a postal code, rather than a number

TRUTHS = {("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on")}

_CLOCK = r"(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*([AaPp][Mm])?)?"
_DATES = {
    "ymd": re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"),
    # The year may have two digits, unless it could be a part of a number such as 1.2.10.
    "mdy": re.compile(rf"(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}|(?:(?<=/)|(?<=\d\d\.\d\d\.))\d\d){_CLOCK}"),
}
_DATES["dmy"] = _DATES["mdy"]
_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_NAMED = re.compile(  # a day before or after the name of the month, or none
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?[-\s./]+)?({_MONTH})[-\s.,/]+"
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?[-\s.,/]+)?(\d{{4}}|\d\d),?{_CLOCK}",
    re.IGNORECASE,
)
_DURATION = re.compile(r"(?:(-?\d+) days?,? )?([-+]?)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?:\s*([AaPp])[Mm])?")
_DAYS = re.compile(r"(-?\d+) days?")  # as pandas and databases write whole days
_ISO_DURATION = re.compile(
    r"([-+]?)P(?=[-T\d])(?:(\d+)W)?(?:(-?\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
ORDERS = (*_DATES, "named")  # of year, month and day; "named" are those with names of months
# What is written in each way: with a decimal mark, or with an order of year, month and day.
EXAMPLES = {".": "1,234.5", ",": "1.234,5"}
EXAMPLES |= {"ymd": "2026-03-31", "mdy": "03/31/2026", "dmy": "31.03.2026", "named": "31 Mar 2026"}


@lru_cache(1 << 14)  # tables repeat their words, and are read more than once
def number_of(word: Any, decimal: str = ".") -> float:
    """Return the number that a text means, or NaN.

    >>> number_of("$90,000.00"), number_of("14.07%"), number_of("1 234,5", ","), number_of("(12)"), number_of("?")
    (90000.0, 14.07, 1234.5, -12.0, nan)
    >>> number_of("+49 30 882308")  # a phone number: its groups are no thousands
    nan
    """
    if not isinstance(word, str):
        return float(word) if isinstance(word, int | float | np.number | Decimal) else np.nan
    if word.isdecimal() or (decimal == "." and _SIMPLE.fullmatch(word)):  # most are, and this is quick
        return float(word)
    text = _GROUPS.sub(lambda groups: _BLANKS.sub("", groups[0]), word)
    found = None if _PARTS.search(text) else _WRITTEN.fullmatch(_BLANKS.sub("", text).replace("\u2212", "-"))
    if found is None:
        return np.nan
    opened, sign, other, digits, exponent, closed = found.groups()
    if bool(opened) != bool(closed) or (sign and other) or not _PLAIN[decimal].fullmatch(digits):
        return np.nan
    separators = ",'_" if decimal == "." else ".'_"
    value = float(digits.translate(dict.fromkeys(map(ord, separators))).replace(decimal, ".") + f"e{exponent or 0}")
    return -value if opened or "-" in (sign, other) else value


def written_like(words: Iterable[Any], decimal: str) -> Callable[[float], str]:
    """Return how numbers are written in a column of such words: with their decimals, thousands and unit.

    >>> written_like(["1.413,98 €", "950,00 €"], ",")(4130.600082), written_like(["$264.33"], ".")(-0.5)
    ('4.130,60 €', '-$0.50')
    """
    known = (word.strip() for word in words if isinstance(word, str) and not np.isnan(number_of(word, decimal)))
    found = [form.groups() for form in map(_FORM.fullmatch, known) if form is not None]
    if not found:
        return lambda x: str(x).replace(".", decimal)
    (prefix, suffix), _ = Counter((before, after) for before, _, after in found).most_common(1)[0]
    bodies = [body.partition(decimal) for _, body, _ in found]
    decimals = max(len(rest) for _, _, rest in bodies)
    groups = Counter(sign for whole, _, _ in bodies for sign in whole if not sign.isdigit())
    between = groups.most_common(1)[0][0] if groups else ""

    def write(x: float) -> str:
        whole, _, rest = f"{abs(x):,.{decimals}f}".partition(".")
        body = whole.replace(",", between) + (decimal + rest if rest else "")
        return f"{'-' if x < 0 else ''}{prefix}{body}{suffix}"

    return write


def decimal_of(words: Collection[Any]) -> str:
    """Return the decimal mark that numbers show: "." or ",", "?" where they can be read with both, or "" where they
    have no mark, or where a word is no number.

    >>> decimal_of(["1.5", "2"]), decimal_of(["1.329", "2.450,5"]), decimal_of(["950", "1.329"]), decimal_of(["950"])
    ('.', ',', ',', '')
    >>> decimal_of(["1.329", "2.450"]), decimal_of(["0.125", "2.450"]), decimal_of(["1329", "2.450"])
    ('?', '.', '.')
    """
    ways = [mark for mark in ".," if all(not np.isnan(number_of(word, mark)) for word in words)]
    marks = {mark for word in words for mark in str(word) if mark in ".,"}
    if not ways or not marks:
        return ""
    if len(ways) == 1 or len(marks) > 1:
        return ways[0] if len(ways) == 1 else "?"
    (mark,) = marks  # with groups of three digits after it, everywhere
    others = [sum(map(str.isdigit, str(word))) for word in words if mark not in str(word)]
    if not others:
        return "?"
    is_decimal = max(others) > 3  # or else there would be a mark in them, too
    return mark if is_decimal else ".,".replace(mark, "")


def is_code(word: Any) -> bool:
    """Whether a text of digits starts with a zero, as codes do, and numbers do not."""
    return isinstance(word, str) and _LEADING_ZERO.fullmatch(word.strip()) is not None


def boolean_word(word: Any) -> str:
    """Return a word as it is compared with others.

    >>> boolean_word(" Yes "), boolean_word(True)
    ('yes', 'true')
    """
    return str(word).strip().casefold()


@lru_cache(1 << 16)
def time_of(word: Any, order: str) -> float:
    """Return the days from the start of 1970 to a date and time that is written as text, or NaN.

    >>> time_of("1970-01-02 12:00", "ymd"), time_of("1/2/1970", "mdy"), time_of("1.2.1970", "dmy")
    (1.5, 1.0, 31.0)
    >>> time_of("1970-01-02", "dmy")  # the year comes first
    1.0
    >>> time_of("2-Jan-70", "named"), time_of("Friday, January 2, 1970 6:00 PM", "mdy"), time_of("Jan 1970", "named")
    (1.0, 1.75, 0.0)
    """
    fields = _fields(str(word).strip(), order)
    if fields is None:
        return np.nan
    year, month, day, hour, minute, second, fraction, half = fields
    clock = int(hour or 0) % 12 + 12 * (half.lower() == "pm") if half else int(hour or 0)
    century = 0 if len(year) > 2 else 1900 if int(year) >= _CENTURY else 2000
    try:
        days = dt.date(century + int(year), int(month), int(day)).toordinal() - dt.date(1970, 1, 1).toordinal()
    except ValueError:
        return np.nan
    seconds = clock * 3600 + int(minute or 0) * 60 + int(second or 0) + float(f"0.{fraction or 0}")
    return days + seconds / 86_400


def _fields(text: str, order: str) -> tuple[Any, ...] | None:
    """Year, month, day, hour, minute, second, fraction and half of the day, or None where a text is no date. A year
    that comes first and names of months leave no doubt in any order, but "ymd" is read by databases, too: no names."""
    for way in dict.fromkeys((order, "ymd")):
        if way in _DATES and (found := _DATES[way].fullmatch(text)) is not None:
            first, second, third, *clock = found.groups()
            own = dict(zip(way, (first, second, third), strict=True))
            return own["y"], own["m"], own["d"], *clock
    if order == "ymd" or (found := _NAMED.fullmatch(text)) is None:
        return None
    before, name, after, year, *clock = found.groups()
    day = before or after
    if (before and after) or (day is None and len(year) == 2):
        return None
    return year, _MONTHS.index(name[:3].lower()) + 1, day or 1, *clock


def duration_of(word: Any) -> float:
    """Return the seconds of a duration or a time of the day that is written as text, or NaN.

    >>> duration_of("0 days 00:13:56"), duration_of("-1 days +23:59:30"), duration_of("1 day, 0:00:01.5")
    (836.0, -30.0, 86401.5)
    >>> duration_of("13:05"), duration_of("1:05 pm")  # two numbers are hours and minutes
    (47100.0, 47100.0)
    >>> duration_of("386 days"), duration_of("P1DT2H"), duration_of("-PT0.5S")
    (33350400.0, 93600.0, -0.5)
    """
    text = str(word).strip()
    if (whole := _DAYS.fullmatch(text)) is not None:
        return float(whole[1]) * 86_400
    if (parts := _ISO_DURATION.fullmatch(text)) is not None:
        own = (float(part or 0) * seconds for part, seconds in zip(parts.groups()[1:], _SECONDS, strict=True))
        return sum(own) * (-1 if parts[1] == "-" else 1)
    found = _DURATION.fullmatch(text)
    if found is None:
        return np.nan
    days, sign, hours, minutes, seconds, half = found.groups()
    hour = int(hours) if half is None else int(hours) % 12 + 12 * (half in "Pp")
    clock = hour * 3600 + int(minutes) * 60 + float(seconds or 0)
    return int(days or 0) * 86_400 + (-clock if sign == "-" else clock)


def date_mark(word: Any) -> str:
    """Return what stands between day, month and year of a date that does not start with the year; "" of other words.

    >>> date_mark("31.03.2026"), date_mark("3/31/2026 12:00"), date_mark("2026-03-31")
    ('.', '/', '')
    """
    found = _DATES["dmy"].fullmatch(text := str(word).strip())
    return "" if found is None else text[found.end(1)]


def boolean_of(word: Any, no: str, yes: str) -> float:
    """Return one for `yes`, true and 1, zero for `no`, false and 0, in upper or lower case, and NaN for other words.

    >>> [boolean_of(word, "no", "yes") for word in ("YES", True, 0, "x")]
    [1.0, 1.0, 0.0, nan]
    """
    return boolean_words(no, yes).get(boolean_word(word), np.nan)


def boolean_words(no: str, yes: str) -> dict[str, float]:
    """Return what words mean where two of them mean no and yes; all are in lower case."""
    meant = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
    return meant | {boolean_word(no): 0.0, boolean_word(yes): 1.0}


def _seconds(word: Any) -> float:
    seconds = duration_of(word)
    return number_of(word) if np.isnan(seconds) else seconds


# What single words mean, by the step that reads columns of them.
WORDS: dict[str, Callable[..., float]] = {
    "number": number_of,
    "date": time_of,
    "truth": boolean_of,
    "duration": _seconds,
}


# Columns as numbers.


def numbers(column: Column, decimal: str = ".") -> Array:
    """The numbers that a column of text means, with NaN for what is none."""
    if column.kind in ("float", "integer", "boolean"):
        return np.asarray(column.floats(), np.float64)
    return _by_word(column, lambda word: number_of(word, decimal))


def booleans(column: Column, no: str, yes: str) -> Array:
    """One for `yes`, zero for `no`, in upper or lower case, and NaN for other words."""
    if column.kind in ("float", "integer", "boolean"):
        return np.asarray(column.floats(), np.float64)
    return _by_word(column, lambda word: boolean_of(word, no, yes))


def times(column: Column, order: str = "ymd") -> Array:
    """Days from the start of 1970, with NaN where they are missing; `order` is that of dates as text."""
    values = _microseconds(column)
    if values is None:
        return numbers(column) if column.kind != "text" else _by_word(column, lambda word: time_of(word, order))
    return values / DAY


def durations(column: Column) -> Array:
    """Seconds, of durations and times of the day, also as text; numbers are seconds already."""
    values = _microseconds(column)
    if values is not None:
        return values / 1e6
    return numbers(column) if column.kind != "text" else _by_word(column, _seconds)


def words_of(column: Column) -> tuple[list[Any], Array]:
    """The different words of a column, and how many cells have each."""
    distinct, code = column.coded()
    cells = np.bincount(code[code >= 0], minlength=len(distinct))
    used = np.flatnonzero(cells)  # of a part of the rows, fewer than are known
    return distinct[used].tolist(), cells[used]


def _by_word(column: Column, value: Callable[[Any], float]) -> Array:
    """A function of each different value of a column."""
    distinct, code = column.coded()
    found = np.fromiter(map(value, distinct.tolist()), np.float64, len(distinct))
    return np.append(found, np.nan)[code]


def temporal(column: Column) -> str | None:
    """Whether a column holds dates ("date"), durations or times of the day ("duration"), or neither."""
    if isinstance(column, ArrowColumn):
        import pyarrow as pa

        kind = column.values.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return "date"
        return "duration" if pa.types.is_duration(kind) or pa.types.is_time(kind) else None
    if isinstance(column, ArrayColumn):
        if column.values.dtype.kind in "mM":
            return "date" if column.values.dtype.kind == "M" else "duration"
        if column.values.dtype == object:
            kinds = {_temporal_kind(value) for value in column.values.tolist() if not is_missing(value)}
            return kinds.pop() if len(kinds) == 1 else None
    return None


def _temporal_kind(value: Any) -> str | None:
    if isinstance(value, dt.date | np.datetime64):  # which datetimes and those of pandas are
        return "date"
    return "duration" if isinstance(value, dt.timedelta | dt.time | np.timedelta64) else None


def _microseconds(column: Column) -> Array | None:
    """The microseconds of dates, durations and times of the day, (n,), with NaN where they are missing; None for
    other columns."""
    if temporal(column) is None:
        return None
    values: Any = _from_arrow(column) if isinstance(column, ArrowColumn) else column.values  # type: ignore[attr-defined]
    if values.dtype == object:
        none: Any = np.datetime64("NaT", "us") if temporal(column) == "date" else np.timedelta64("NaT", "us")
        values = np.array([none if is_missing(v) else _plain(v) for v in values.tolist()])
    kind = values.dtype.kind
    counted = values.astype(f"{kind}8[us]").astype(np.int64)
    return np.where(np.isnat(values), np.nan, counted)


def _plain(value: Any) -> Any:
    """A date, time or duration as NumPy has it, in local time."""
    if isinstance(value, dt.time):
        value = dt.datetime.combine(dt.date(1970, 1, 1), value) - dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)
    if isinstance(value, dt.datetime):
        return np.datetime64(value.replace(tzinfo=None), "us")
    return np.datetime64(value, "us") if isinstance(value, dt.date) else np.timedelta64(value, "us")


def _from_arrow(column: ArrowColumn) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    values, types = column.values, pa.types
    if types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.local_timestamp(values)
    if types.is_time(values.type):
        unit = values.type.unit
        whole = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64()).cast(pa.int64())
        values = whole.cast(pa.duration(unit))
    elif types.is_date(values.type):
        values = values.cast(pa.timestamp("ms"))
    return np.asarray(values.to_numpy())


# Parts of dates, from days.


def month(days: Array) -> Array:
    """From 1 to 12."""
    return _of_known(days, lambda known: known.astype("M8[D]").astype("M8[M]").astype(np.int64) % len(_MONTHS) + 1)


def weekday(days: Array) -> Array:
    """From 0, Monday, to 6."""
    return _of_known(days, lambda known: (known + 3) % 7)


def hour(days: Array) -> Array:
    """From 0 to 23."""
    clock = np.floor(np.round((days - np.floor(days)) * 86_400_000) / 3_600_000)
    return np.asarray(clock % 24)


def _of_known(days: Array, of: Callable[[Array], Array]) -> Array:
    missing = ~np.isfinite(days)
    whole = np.floor(np.where(missing, 0.0, np.round(days * 86_400_000) / 86_400_000)).astype(np.int64)
    return np.where(missing, np.nan, of(whole))


PARTS: dict[str, Callable[[Array], Array]] = {"month": month, "weekday": weekday, "hour": hour}
