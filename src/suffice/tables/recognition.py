"""What the columns of real tables stand for: numbers, Booleans and dates as text, identifiers, and nothing at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import listed
from . import parsing
from .features import Steps, read
from .summary import CATEGORIES, FEW, ColumnSummary, n_codes
from .table import LOOK, ArrayColumn, Column

Array = NDArray[Any]

_WHAT = {"number": "numbers", "date": "dates", "duration": "durations"}  # that words are read as
SAME = "all values are the same"
MOSTLY = 0.9  # the share of different values from which on text identifies rows
_FIRST = 100  # rows that are looked at first
_SOME = 0.25  # of these: so many are read as something else where half of all rows are
_SAME_UNIT = 0.95  # of different words, from which on they are numbers with a unit
_ODD_WORDS = 5  # different words among numbers that may stand for missing values
_COLLISIONS = 20  # pairs of equal values that chance would make among values that all differ
_CODES = {sign * (10.0**digits - 1) for digits in range(2, 10) for sign in (1, -1)}  # 99, -99, 999, ...
# A number with letters before or after it; codes such as A17 and v1.2 have one letter before.
_WITH_UNIT = re.compile(r"([^\W\d_]{2,8}\.?\s*)?([-+]?\d[\d.,']*)(\s*(?:[^\W\d_]|[°/]){1,12})?")
_DAYS_OR_CODE = re.compile(r"P(?P<zero>0?)\d+[DW]")  # of ISO 8601; a number that starts with a zero is a code
_ORDINALS = ("st", "nd", "rd", "th")
_NAME = re.compile(
    r"(?:^|[\W_])(?:ids?|idx|index|key|uuid|guid|no|nr|num|number|row|rowid|pk)$|[a-z](?:ID|Id|Nr|No|Key)$|#$"
)


@dataclass(frozen=True)
class Recognition:
    """How a column that does not hold numbers is read as numbers."""

    steps: Steps  # one step
    column: Column  # the numbers
    reason: str
    family: str | None = None  # that it gets, unless its numbers tell
    lost: str = ""  # which cells become missing, if any do
    doubtful: str = ""  # a cell that could mean something else, as 3/4/2026 or P12D, where no cell tells


def reading(column: Column, decimal: str | None = None) -> Recognition | None:
    """Return how a column of text, dates or durations is read as numbers, or None if it is not; `decimal` is the
    decimal mark of the file that it comes from, where that is known."""
    kind = parsing.temporal(column)
    if kind is not None:
        steps: Steps = (("date", "ymd"),) if kind == "date" else (("duration",),)
        family, unit = ("date", "") if kind == "date" else (None, " in seconds")
        return Recognition(steps, as_numbers(column, steps), f"{column.dtype}{unit}", family)
    if column.kind != "text" or column.dtype.startswith(CATEGORIES):
        return None  # categories are meant
    numbers = partial(_some_numbers, decimal)
    tried: list[_Try] = [_booleans, _dates, numbers, _durations]
    if len(column) > _FIRST:  # these rows are enough to see of most text that it is nothing else
        words, cells = parsing.words_of(column[np.arange(0, len(column), len(column) // _FIRST)])
        tried = [_booleans] if any(set(map(parsing.boolean_word, words)) <= set(two) for two in parsing.TRUTHS) else []
        every: list[tuple[_Try, Any, Any]] = [
            (_dates, parsing.time_of, [(order,) for order in parsing.ORDERS]),
            (numbers, parsing.number_of, ".,"),
            (_durations, parsing.duration_of, [()]),
        ]
        for each, of, ways in every:
            if any(cells[_are_known(of, words, *how)].sum() >= _SOME * cells.sum() for how in ways):
                tried.append(each)
    if not tried:
        return None
    words, cells = parsing.words_of(column)
    return next((found for each in tried if (found := each(column, words, cells)) is not None), None)


_Try = Callable[[Column, list[Any], Array], Recognition | None]


def _booleans(column: Column, words: list[str], cells: Array) -> Recognition | None:
    if len(words) > FEW:
        return None
    meant = [parsing.boolean_word(word) for word in words]
    if tuple(sorted(set(meant))) not in parsing.TRUTHS:
        return None
    no, yes = (
        max((n, word) for n, word, own in zip(cells, words, meant, strict=True) if own == one)[1]
        for one in sorted(set(meant))
    )
    steps: Steps = (("truth", no, yes),)
    return Recognition(steps, as_numbers(column, steps), f"{column.dtype}, only {no} and {yes}", "bernoulli")


def _dates(column: Column, words: list[str], cells: Array) -> Recognition | None:
    order, is_date, doubtful = _order(words, cells)
    if not _are_enough(is_date, cells, len(words) > FEW):
        return None
    steps: Steps = (("date", order),)
    lost = _lost(words, cells, is_date, "dates")
    return Recognition(steps, as_numbers(column, steps), f"{column.dtype} of dates", "date", lost, doubtful)


def _order(words: list[Any], cells: Array) -> tuple[str, Array, str]:
    """The order of year, month and day by which most cells are dates, which words are, and one of them that has another
    meaning by an order that reads as many. Points stand between a day and a month, slashes after a month."""
    years_first = _are_known(parsing.time_of, words, "ymd")
    if years_first.all():  # and no order reads more
        return "ymd", years_first, ""
    found = {order: _are_known(parsing.time_of, words, order) for order in parsing.ORDERS}
    counts = {order: cells[known].sum() for order, known in found.items()}
    best = max(counts.values())
    able = [order for order in ("ymd", "named", "mdy", "dmy") if counts[order] == best]
    if able != ["mdy", "dmy"]:
        return able[0], found[able[0]], ""
    marks = {parsing.date_mark(word) for word in words} - {""}
    if marks == {"."}:
        return "dmy", found["dmy"], ""
    both = (words[i] for i in np.flatnonzero(found["mdy"]))
    other = (word for word in both if parsing.time_of(word, "mdy") != parsing.time_of(word, "dmy"))
    return "mdy", found["mdy"], next(other, "")


def _some_numbers(known: str | None, column: Column, words: list[Any], cells: Array) -> Recognition | None:
    decimal, is_number = _decimal(known, words, cells)
    if not _are_enough(is_number, cells, is_number.sum() > FEW) or any(map(parsing.is_code, words)):
        return None
    steps: Steps = (("number", decimal),)
    said = f"{column.dtype} of numbers"
    return Recognition(steps, as_numbers(column, steps), said, lost=_lost(words, cells, is_number, "numbers"))


def _durations(column: Column, words: list[Any], cells: Array) -> Recognition | None:
    are_durations = _are_known(parsing.duration_of, words)
    if not _are_enough(are_durations, cells, are_durations.sum() > FEW):
        return None
    read = [str(words[i]).strip() for i in np.flatnonzero(are_durations)]
    days = [found for word in read if (found := _DAYS_OR_CODE.fullmatch(word)) is not None]
    if any(found["zero"] for found in days):
        return None
    steps: Steps = (("duration",),)
    said = f"{column.dtype} of durations in seconds"
    lost, doubtful = _lost(words, cells, are_durations, "durations"), read[0] if len(days) == len(read) else ""
    return Recognition(steps, as_numbers(column, steps), said, lost=lost, doubtful=doubtful)


def _decimal(known: str | None, words: list[Any], cells: Array) -> tuple[str, Array]:
    """The decimal mark by which most cells are numbers, and which words are; where both marks read them, it is that of
    the file or, where nothing is known of a file, the one that the numbers show."""
    found = {mark: _are_known(parsing.number_of, words, mark) for mark in ".,"}
    points, commas = (cells[found[mark]].sum() for mark in ".,")
    if points == commas:
        shown = known or parsing.decimal_of([words[i] for i in np.flatnonzero(found["."] & found[","])])
        decimal = "," if shown == "," else "."
    else:
        decimal = "." if points > commas else ","
    return decimal, found[decimal]


def _are_enough(fine: Array, cells: Array, many: bool) -> bool:
    """Whether words are read as something else: nearly all of them, or all but a few that stand for missing values."""
    share = cells[fine].sum() / max(cells.sum(), 1)
    return bool(many and (share >= 0.95 or (share >= 0.5 and (~fine).sum() <= _ODD_WORDS)))


def lost(column: Column, steps: Steps) -> str:
    """Return which cells of a column of text become missing values where it is read by a step; "" if none do."""
    if column.kind != "text" or not steps or steps[0][0] not in _WHAT:
        return ""
    words, cells = parsing.words_of(column)
    name, *how = steps[0]
    return _lost(words, cells, _are_known(parsing.WORDS[name], words, *how), _WHAT[name])


def _lost(words: list[Any], cells: Array, fine: Array, what: str) -> str:
    if fine.all():
        return ""
    odd = [words[i] for i in np.flatnonzero(~fine)[np.argsort(-cells[~fine], kind="stable")]]
    gone = cells[~fine].sum()
    return (
        f"is read as {what}, but {gone} of its {cells.sum()} cells {'is' if gone == 1 else 'are'} not ({listed(odd)})"
    )


def as_numbers(column: Column, steps: Steps) -> Column:
    """The numbers of a column: integers where all of them are."""
    x = read(column, steps)
    whole = len(x) and not np.isnan(x).any() and bool((x == np.rint(x)).all()) and np.abs(x).max() < 1 << 53
    return ArrayColumn.of(x.astype(np.int64) if whole else x)


def are_whole(column: Column, steps: Steps) -> bool:
    """Whether the numbers that a column holds, or is read as, are whole; of dates, the days."""
    if column.kind == "integer":
        return True
    if column.kind != "float" and not steps:
        return False
    x = read(column, steps)
    x = x[np.isfinite(x)]
    return len(x) > 0 and bool((x == np.rint(x)).all())


def convertible(column: Column, decimal: str | None = None) -> Steps:
    """Return the step that reads a column as numbers for somebody who asks for a family of numbers; nothing for a
    column of numbers, or where no word is a number."""
    if column.kind in ("float", "integer", "boolean"):
        return ()
    found = reading(column, decimal)
    if found is not None:
        return found.steps
    if column.kind != "text":
        return ()
    words, cells = parsing.words_of(column)
    mark, are_numbers = _decimal(decimal, words, cells)
    ways: dict[Steps, Array] = {(("number", mark),): are_numbers}
    order, are_dates, _ = _order(words, cells)
    ways |= {(("date", order),): are_dates, (("duration",),): _are_known(parsing.duration_of, words)}
    most = max(ways, key=lambda steps: cells[ways[steps]].sum())
    return most if ways[most].any() else ()


def _are_known(of: Callable[..., float], words: list[Any], *how: str) -> Array:
    return ~np.isnan(np.fromiter((of(word, *how) for word in words), np.float64, len(words)))


def tells_nothing(summary: ColumnSummary) -> str | None:
    """Return why nothing can be learnt from a column, or None if something can."""
    if summary.column.kind == "other" or not summary.is_constant:
        return None
    missing = summary.column.missing()
    if missing.all():
        return "all values are missing"
    return SAME if len(missing) > FEW else None


def missing_code(summary: ColumnSummary) -> str | None:
    """Return which number of a column seems to stand for missing values, such as 999 or -9999, or None if none does:
    several cells have it, and it is further from all others than these are from each other."""
    values = summary.values
    for code in {values.min(initial=0.0), values.max(initial=0.0)} & _CODES:
        others = values[values != code]
        n = len(values) - len(others)
        first, last = others.min(initial=np.inf), others.max(initial=-np.inf)
        if n > 1 and max(code - last, first - code) > last - first > 0:
            return f"{code:.0f} in {n} of its {len(values)} cells, far from the others ({first:g} to {last:g})"
    return None


def unit(column: Column) -> tuple[str, str, str] | None:
    """Return what stands before and after the numbers of a column of text, and one of its words, where nearly all of
    many different words are numbers with the same unit; None of other columns.

    >>> unit(ArrayColumn.of(np.array([f"{i} kg" for i in range(50)])))
    ('', ' kg', '0 kg')
    """
    if column.kind != "text" or column.dtype.startswith(CATEGORIES):
        return None
    words, _ = parsing.words_of(column[: 10 * _FIRST])
    if len(words) <= FEW or not all(isinstance(word, str) for word in words):
        return None
    if all(_WITH_UNIT.fullmatch(word.strip()) is None for word in words[:FEW]):  # as most text
        return None
    found = [(parts, word) for word in words if (parts := _WITH_UNIT.fullmatch(word.strip())) is not None]
    units = Counter((parts[1] or "", parts[3] or "") for parts, _ in found)
    (before, after), n = units.most_common(1)[0]
    own = [(parts[2], word) for parts, word in found if ((parts[1] or ""), (parts[3] or "")) == (before, after)]
    numbers = [number for number, _ in own]
    is_number = any(_are_known(parsing.number_of, numbers, mark).mean() >= _SAME_UNIT for mark in ".,")
    # Whole numbers after a word number things: Room 12. So do ordinals.
    counts_things = before or after in _ORDINALS
    is_measured = not counts_things or sum("." in number or "," in number for number in numbers) > len(numbers) / 2
    if n < _SAME_UNIT * len(words) or not (before or after) or not is_number or not is_measured:
        return None
    return None if any(map(parsing.is_code, numbers)) else (before, after, own[0][1])


def identifies_rows(summary: ColumnSummary, name: str) -> str | None:
    """Return why a column looks like an identifier of rows, or None if it does not.

    Text does where nearly all values differ. Whole numbers do where all differ although they lie so close together that
    chance would make many of them equal, or where the column is also named like an identifier.
    """
    column = summary.column
    if column.kind == "text":
        for part in (column[:LOOK], column):  # the first rows are enough to see of most columns that they do not
            distinct, code = part.coded()
            known = int((code >= 0).sum())
            if known <= FEW or len(distinct) <= MOSTLY * known or (different := n_codes(code)) <= MOSTLY * known:
                return None
        return f"it has {different} different values in {known} rows"
    if column.kind != "integer" or len(column) <= FEW or not summary.all_differ:
        return None
    first, last, n = summary.values.min(), summary.values.max(), len(column)
    close = n * (n - 1) / 2 / (last - first + 1) >= _COLLISIONS
    if last - first == n - 1 and (close or first in (0, 1)):
        return f"it numbers the rows from {first:.0f} to {last:.0f}"
    if close:
        return f"it has {n} different whole numbers in {n} rows, all between {first:.0f} and {last:.0f}"
    return (
        f"it has {n} different whole numbers in {n} rows, and the name of an identifier" if _NAME.search(name) else None
    )
