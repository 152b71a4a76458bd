"""How rows of text are written: separator, header, decimal mark and missing values, given or detected."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from ...errors import DataError
from ...tables.parsing import decimal_of

SPACES = " "  # the separator that stands for any number of spaces and tabs
_INDEX = "__index_level_"  # what pandas calls an index without a name in a file
_ROWS = 300  # to look at
_TITLES = 20  # rows to look for the header in
# Cells without quotes that are missing values: those of Arrow and pandas, and the question mark of the UCI repository.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null", "?",
)  # fmt: skip
# Cells that are missing values where all other cells of their columns are numbers; elsewhere they may be categories.
_MISSING_NUMBERS = {"-", "--", ".", "..", "*", "na", "N.A.", "n.a.", "None", "none", "missing", "Missing"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_DECIMALS = 6  # with which programs write numbers, at most
_QUOTED_NUMBER = re.compile(r'"[+-]?\d+[.,]?\d*"')
_RUNS = re.compile(rb'("[^"]*")|^[ \t]+|[ \t]+(?=\r?$)|([ \t]+)', re.MULTILINE)


@dataclass(frozen=True)
class TextOptions:
    """What the user says of text files; None for what is to be detected in each file."""

    sep: str | None = None
    encoding: str | None = None
    header: bool | None = None
    na: tuple[str, ...] = ()
    decimal: str | None = None

    def __post_init__(self) -> None:
        one = self.sep is None or (len(self.sep) == 1 and self.sep not in '"\r\n')
        if not one:
            raise DataError(
                f"the separator {self.sep!r} is not one character; give a character such as ';', or ' ' for any "
                "number of spaces and tabs"
            )
        if self.decimal not in (None, ".", ","):
            raise DataError(f"the decimal mark {self.decimal!r} is not known; give '.' or ','")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise DataError(
                f"the encoding {self.encoding!r} is not known; give one such as 'utf-8', 'latin-1' or 'utf-16'"
            ) from None


@dataclass(frozen=True)
class TextDialect:
    """How the rows of one file are written."""

    sep: str
    names: tuple[str, ...]  # of the columns
    header: bool  # whether the first row holds the names
    decimal: str = "."
    na: tuple[str, ...] = _MISSING
    padded: bool = False  # whether spaces follow the separators
    quotes_all: bool = False  # whether even numbers are quoted, so that quotes do not make a cell text
    doubtful: tuple[str, str] | None = None  # a column and a cell of it, where a guess of the decimal mark may be wrong
    titles: int = 0  # rows above the header that are no part of the table

    @property
    def delimiter(self) -> str:
        """What separates the cells of `plain` text."""
        return "\t" if self.sep == SPACES else self.sep

    def plain(self, content: bytes) -> bytes:
        """Rows with one character between their cells."""
        if self.sep == SPACES:
            if b'"' not in content:
                return b"\n".join(b"\t".join(line.split()) for line in content.split(b"\n"))
            return _RUNS.sub(lambda run: run[1] or (b"\t" if run[2] else b""), content)
        if self.padded:
            mark = re.escape(self.sep.encode())
            if b'"' not in content:
                return re.sub(rb"[ \t]*" + mark + rb" +", self.sep.encode(), content)
            return re.sub(rb'("[^"]*")|(' + mark + rb") +", lambda run: run[1] or run[2], content)
        return content


def sniffed(sample: str, options: TextOptions, separators: str) -> TextDialect:
    """Return the dialect of a file from its first rows.

    Parameters
    ----------
    sample : str
        Whole rows at the start of the file.
    options : TextOptions
        What is known.
    separators : str
        The separators that the name of the file allows, the most likely one first.
    """
    sep = options.sep or _separator(sample, separators)
    rows = list(islice(_rows(sample, sep), _ROWS))
    titles = _titles(rows) if options.header is None else 0
    rows = rows[titles:]
    cells = [cell for row in rows for cell in row[1:]]
    padded = sep not in " \t" and sum(cell.startswith(" ") for cell in cells) > len(cells) / 2
    rows = [[cell.strip() for cell in row] for row in rows]
    if not rows:
        return TextDialect(sep, (), True)
    header = options.header if options.header is not None else not _is_data(rows[0])
    body = rows[1:] if header else rows
    columns = [{*column} - {*_MISSING} for column in zip(*_whole(body), strict=True)]
    decimal, doubtful = (options.decimal, None) if options.decimal else _decimal(columns, sep)
    names = _names(rows[0], body) if header else tuple(f"x{j}" for j in range(max(map(len, rows))))
    missing = (*_MISSING, *_all_forms(options.na, decimal), *_missing_numbers(columns, decimal))
    doubt = None if doubtful is None else (names[doubtful], min(cell for cell in columns[doubtful] if decimal in cell))
    quoted = _QUOTED_NUMBER.search(sample) is not None
    return TextDialect(sep, names, header, decimal, missing, padded, quoted, doubt, titles)


def _rows(text: str, sep: str) -> Iterator[list[str]]:
    """The rows that are not empty, as lists of cells."""
    if sep == SPACES:
        text, sep = TextDialect(SPACES, (), True).plain(text.encode()).decode(), "\t"
    return (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sep) if any(map(str.strip, row)))


def _separator(sample: str, separators: str) -> str:
    """Return the separator by which rows have the same number of cells; the most cells where there are several."""
    widths: dict[str, list[int]] = {}
    for sep in separators:
        try:
            rows = list(islice(_rows(sample, sep), _ROWS))
        except csv.Error:
            continue
        widths[sep] = [len(row) for row in rows[_titles(rows) :]]
    able = {sep: _agreement(found) for sep, found in widths.items() if found and found[0] > 1}
    sure = [sep for sep, share in able.items() if share >= 0.9]
    if "," in sure and len([sep for sep in sure if sep != SPACES]) > 1 and not re.search(r"\D,|,\D", sample):
        sure.remove(",")  # between digits alone: the decimal mark of a file with another separator
    if sure in (["\t", SPACES], [SPACES]) and (len(sure) == 1 or re.search(r"\S {2,}\S", sample)):
        return SPACES
    if sure:
        return max((sep for sep in sure if sep != SPACES), key=lambda sep: widths[sep][0])
    likely = [sep for sep in able if sep != SPACES]
    return max(likely, key=able.__getitem__, default=separators[0])


def _titles(rows: list[list[str]]) -> int:
    """How many rows are titles: they have a cell or two, and after them come a header and rows of at least three cells.

    >>> _titles([["Sales of 2026", "", ""], ["id", "month", "sum"], ["1", "May", "5"]])
    1
    >>> _titles([["height"], ["ann", "5"], ["bob", "6"]])  # R writes row names without a name
    0
    """
    width = len(_whole(rows)[0]) if rows else 0
    for i, row in enumerate(rows[:_TITLES]):
        cells = [cell.strip() for cell in row]
        few = sum(map(bool, cells)) <= (1 if len(row) == width else 2)
        if width < 3 or not few or any("\n" in cell for cell in row):
            is_header = len(row) >= width - 1 and not _is_data(cells)
            return i if is_header and len(rows) > i + 1 else 0
    return 0


def _agreement(widths: list[int]) -> float:
    """The share of rows that have as many cells as the first one, or one more: R writes row names without a name."""
    body = Counter(widths[1:])
    return max(body[widths[0]], body[widths[0] + 1]) / max(len(widths) - 1, 1)


def _whole(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The rows of the most frequent length."""
    if not rows:
        return []
    width = Counter(map(len, rows)).most_common(1)[0][0]
    return [row for row in rows if len(row) == width]


def _is_data(first: list[str]) -> bool:
    """Whether the first row cannot be a header: it holds numbers that are no names.

    Numbers can be names if they count the columns, are years, or have equal steps, as wavelengths have.

    >>> [_is_data(row.split()) for row in ("5.1 3.5 1.4 0.2 setosa", "id 2019 2020", "0 1 2", "39 private 77516")]
    [True, False, False, True]
    """
    numbers = [float(cell) for cell in (cell.replace(",", ".") for cell in first) if _NUMBER.fullmatch(cell)]
    if not numbers:
        return False
    if len({*numbers}) < len(numbers):
        return True
    steps = [b - a for a, b in pairwise(numbers)]
    if len(steps) > 1 and max(steps) - min(steps) <= 1e-6 * max(map(abs, numbers)):
        return False
    if len(steps) > 8 and min(steps) > 0:
        return False
    return not all(x.is_integer() and (0 <= x <= len(first) or 1900 <= x <= 2100) for x in numbers)


def _names(header: list[str], body: list[list[str]]) -> tuple[str, ...]:
    """The names of the columns: none of them empty, and each once, as pandas names them."""
    whole = _whole(body)
    if whole and len(whole[0]) == len(header) + 1:  # row names, which are no feature, or a separator at the end of rows
        header = [f"{_INDEX}0__", *header] if any(row[-1] for row in whole) else [*header, ""]
    return numbered([name or f"Unnamed: {j}" for j, name in enumerate(header)])


def without_index(names: Iterable[str]) -> list[str]:
    """Names without those that stand for an index, or row names, without a name."""
    return [name for name in names if not name.startswith(_INDEX)]


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Return names with a number wherever one occurs again, as pandas does.

    >>> numbered(["a", "b", "a", "a", "a.1"])
    ('a', 'b', 'a.2', 'a.3', 'a.1')
    """
    taken, counts, found = {*names}, Counter[str](), []
    seen: set[str] = set()
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            counts[name] += 1
            new = f"{name}.{counts[name]}"
        seen.add(new)
        found.append(new)
    return tuple(found)


def _decimal(columns: list[set[str]], sep: str) -> tuple[str, int | None]:
    """Return the mark that more columns of numbers show, and a column that could as well hold thousands, as 1.234,
    where no other column tells."""
    shown = [decimal_of(column - _MISSING_NUMBERS) for column in columns]
    points, commas = shown.count("."), shown.count(",")
    if points or commas:
        return "," if commas > points else ".", None
    doubtful = {mark: j for j, own in enumerate(shown) if own == "?" for mark in ".," if mark in "".join(columns[j])}
    mark = "," if sep == ";" and "." not in doubtful else "."
    return mark, doubtful.get(mark)


def _all_forms(words: Iterable[str], decimal: str) -> Iterator[str]:
    """Words, and whole numbers also with zeros after the decimal mark.

    >>> list(_all_forms(["none", "-9999"], "."))[:4]
    ['none', '-9999', '-9999.0', '-9999.00']
    """
    for word in words:
        yield word
        if _WHOLE.fullmatch(word):
            yield from (word + decimal + "0" * n for n in range(1, _DECIMALS + 1))


def _missing_numbers(columns: list[set[str]], decimal: str) -> list[str]:
    """The marks of missing values that stand only between numbers."""
    known, refused = set[str](), set[str]()
    for column in columns:
        marks = column & _MISSING_NUMBERS
        rest = column - marks
        if marks and rest and all(_NUMBER.fullmatch(cell.replace(decimal, ".")) for cell in rest):
            known |= marks
        else:
            refused |= marks
    return sorted(known - refused)
