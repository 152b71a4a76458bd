"""Rows as a model reads them, and what is said of cells that it cannot read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities.scorer import Scorer
from ..errors import ColumnWarning, DataError, listed, warn
from ..tables.features import Steps, read
from ..tables.infinity import infinite_cells, without_infinity
from ..tables.parsing import EXAMPLES, ORDERS, WORDS, date_mark, words_of
from ..tables.table import ArrayColumn, Frame, Table, looked_at

Array = NDArray[Any]

_WHAT = {"number": "numbers", "date": "dates", "truth": "Booleans", "duration": "durations"}
_WAYS = {"number": (".", ","), "date": ORDERS}  # in which words are written
_FEW = 3  # words that are shown
_SOME = 100  # words that are kept of a batch


class Reading:
    """Reads rows for a density, and counts the cells of text that say nothing where it needs a number or a date.

    Such cells are missing values. A column of numbers is a column of text as soon as one cell of a text file is not a
    number; for these, the density need not know how to read text.

    Parameters
    ----------
    density : Scorer
        What scores the rows.
    names : tuple of str or None
        The names of their columns.
    decimal : str or None
        The decimal mark of text, where the source knows it.
    takes_infinity : bool
        Whether infinite numbers are missing values.
    looks : bool
        Whether to look for them in all columns. Otherwise whoever scores the rows asks for `finite` ones where infinite
        numbers keep them from being scored: a look at every cell may take as long as its score.
    """

    def __init__(
        self,
        density: Scorer,
        names: tuple[str, ...] | None,
        decimal: str | None = None,
        takes_infinity: bool = False,
        looks: bool = False,
    ) -> None:
        self.density, self.names, self.decimal = density, names, decimal or "."
        self.takes_infinity, self.looks = takes_infinity, looks
        self.seen: list[tuple[int, int, int, dict[Any, int]]] = []  # appended to by many threads
        self.infinite: list[Array] = []  # how many cells of each column, likewise

    @cached_property
    def plain(self) -> dict[int, Steps]:
        """How text is read in the columns that held numbers or Booleans in training."""
        others: Sequence[int] = [*self.density.categories_of_columns(), *self.density.columns_of_text(), *self.derived]
        booleans = self.density.columns_of_booleans()
        return {
            j: (("truth", "false", "true"),) if j in booleans else (("number", self.decimal),)
            for j in set(self.density.columns_read).difference(others)
        }

    @cached_property
    def derived(self) -> dict[int, Steps]:
        """How text is read in the columns that held it in training."""
        return {feature.source: feature.reads for feature in self.density.features if feature.reads}

    def __call__(self, table: Table) -> Any:
        """Return rows in the form that the density scores."""
        return self.read(self.looked_through(table))

    def read(self, table: Table) -> Any:
        """Return rows that were looked through in the form that the density scores."""
        return self.density.read(self.readable(table))

    def looked_through(self, table: Table) -> Table:
        """Return rows with missing values in place of infinity, in the columns where scores would not show it."""
        if self.takes_infinity and (columns := self._looked_through):
            return self._finite(table, columns) or table
        return table

    @cached_property
    def _looked_through(self) -> Sequence[int]:
        """The columns in which infinity has to be looked for: features such as bins take it for a large number."""
        every = self.density.columns_read
        derived = {feature.source for feature in self.density.features}
        return every if self.looks else [j for j in every if j in derived]

    def finite(self, table: Table) -> Table | None:
        """Return rows with missing values in place of infinity; None where there is none, or where it is an error."""
        return self._finite(table, self.density.columns_read) if self.takes_infinity else None

    def _finite(self, table: Table, columns: Iterable[int]) -> Table | None:
        found, n_cells = without_infinity(table, columns)
        if not n_cells.any():
            return None
        self.infinite.append(n_cells)
        return found

    def readable(self, table: Table) -> Table:
        """Return rows with numbers in the columns that the density reads as numbers, also where the rows have text."""
        return self._readable(table, self.derived) if isinstance(table, Frame) else table

    def with_numbers(self, table: Table) -> Table:
        """Return rows with numbers in the columns that held numbers in training, also where the rows have text."""
        return self._readable(table, {}) if isinstance(table, Frame) else table

    def _readable(self, table: Frame, derived: dict[int, Steps]) -> Table:
        parts: list[Any] = list(table.parts)
        texts = [j for j, part in enumerate(parts) if part.kind == "text"]
        readers = self.plain | derived if texts else {}
        for j in (j for j in texts if j in readers):
            column = looked_at(parts[j])
            if column.kind != "text":
                continue
            x, known = read(column, readers[j]), ~column.missing()
            lost = np.flatnonzero(np.isnan(x) & known)
            words, cells = words_of(column[lost])
            most = Counter(dict(zip(words, cells.tolist(), strict=True))).most_common(_SOME)
            self.seen.append((j, len(lost), int(known.sum()), dict(most)))
            parts[j] = ArrayColumn(x, "float", "float64")
        is_same = all(one is other for one, other in zip(parts, table.parts, strict=True))
        return table if is_same else replace(table, parts=tuple(parts))

    def lost(self, table: Table, j: int) -> Array:
        """Return the rows of a table in which a column has words that say nothing, in their order."""
        column = table.columns()[j]
        if column.kind != "text":
            return np.empty(0, np.intp)
        return np.flatnonzero(np.isnan(read(column, (self.plain | self.derived)[j])) & ~column.missing())

    def messages(self) -> dict[int, str]:
        """What cannot be read in the rows so far: a message for each column."""
        found = {}
        for j in sorted({j for j, n, *_ in self.seen if n}):
            lost, cells = self._counts(j)
            total = sum((Counter(words) for i, *_, words in self.seen if i == j), Counter[Any]())
            words = sorted(total, key=lambda word: (-total[word], str(word)))
            some = f"{lost} of its {cells} cells {'is' if lost == 1 else 'are'} not"
            if self._is_other(j):
                some = f"none of its {cells} cells is one"
            wanted = _wanted((self.plain | self.derived)[j], words)
            found[j] = f"column {self._name(j)} must hold {wanted}, but {some} ({listed(words, _FEW)})"
        return found

    def _counts(self, j: int) -> tuple[int, int]:
        """How many cells of a column cannot be read, and of how many."""
        return sum(n for i, n, *_ in self.seen if i == j), sum(of for i, _, of, _ in self.seen if i == j)

    def _is_other(self, j: int) -> bool:
        """Whether a column is another one, since none of its cells can be read."""
        lost, cells = self._counts(j)
        return lost == cells > 1

    def _name(self, j: int) -> str:
        return repr(self.names[j] if self.names else j)

    def warn(self) -> None:
        """Warn of cells that could not be read; it is an error if none of the cells of a column could."""
        if self.infinite:
            n_cells = np.sum(self.infinite, axis=0).tolist()
            warn(infinite_cells(n_cells, self.names or range(len(n_cells))), ColumnWarning)
        for j, message in self.messages().items():
            if self._is_other(j):
                raise DataError(f"{message}; give the column that the model has learnt, or leave its cells empty")
            warn(f"{message}; such cells are read as missing values", ColumnWarning)


def _wanted(steps: Steps, words: Sequence[Any]) -> str:
    """What a column must hold, with an example where some of the words are written in another way.

    >>> _wanted((("date", "dmy"),), ["01/31/2024"]), _wanted((("date", "dmy"),), ["soon"])
    ('dates such as 31/03/2026', 'dates')
    """
    name, *how = steps[0]
    others = [way for way in _WAYS.get(name, ()) if way not in how]
    written = any(not np.isnan(WORDS[name](word, way)) for way in others for word in words[:_SOME])
    if not written:
        return _WHAT[name]
    example = EXAMPLES[how[0]]
    marks = (date_mark(word) for word in words) if name == "date" else ()
    mark = next(filter(None, marks), "")  # as these rows have it
    return f"{_WHAT[name]} such as {example.translate(dict.fromkeys(map(ord, './'), mark)) if mark else example}"
