"""Rows as a model reads them, and what is said of cells that it cannot read."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..densities.scorer import Scorer
from ..errors import ColumnWarning, DataError, listed
from ..tables.features import Steps, read
from ..tables.table import ArrayColumn, Frame, Table

_WHAT = {"number": "numbers", "date": "dates", "truth": "Booleans", "duration": "numbers"}
_FEW = 3  # words that are shown


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
        The decimal mark, where the rows come from text files.
    """

    def __init__(self, density: Scorer, names: tuple[str, ...] | None, decimal: str | None = None) -> None:
        self.density, self.names = density, names
        derived = {feature.source: feature.reads for feature in density.features if feature.reads}
        numbers: dict[int, Steps] = {} if decimal is None else _plain(density, decimal)
        self.plain = {j: steps for j, steps in numbers.items() if j not in derived}
        self.readers = self.plain | derived
        self.seen: list[tuple[int, int, int, list[Any]]] = []  # appended to by many threads

    def __call__(self, table: Table) -> Any:
        """Return rows in the form that the density scores."""
        return self.density.read(self._readable(table, self.readers))

    def with_numbers(self, table: Table) -> Table:
        """Return rows with numbers in the columns that held numbers in training, also where the rows have text."""
        return self._readable(table, self.plain)

    def _readable(self, table: Table, readers: dict[int, Steps]) -> Table:
        if not readers or not isinstance(table, Frame):
            return table
        parts = list(table.parts)
        for j, steps in readers.items():
            column = parts[j]
            if column.kind != "text":
                continue
            x, known = read(column, steps), ~column.missing()
            lost = np.flatnonzero(np.isnan(x) & known)
            some = column[lost[:100]].coded()[0].tolist() if len(lost) else []
            self.seen.append((j, len(lost), int(known.sum()), sorted(some, key=str)[:_FEW]))
            parts[j] = ArrayColumn(x, "float", "float64")
        return replace(table, parts=tuple(parts))

    def messages(self) -> list[str]:
        """What cannot be read in the rows so far: a message for each column."""
        found = []
        for j in sorted({j for j, n, *_ in self.seen if n}):
            own = [(n, of, words) for i, n, of, words in self.seen if i == j]
            lost, cells = sum(n for n, *_ in own), sum(of for _, of, _ in own)
            words = sorted({word for *_, some in own for word in some}, key=str)
            what = _WHAT[self.readers[j][0][0]]
            some = f"{lost} of its {cells} cells {'is' if lost == 1 else 'are'} not"
            shown = listed(words[:_FEW])
            found.append(f"column {self._name(j)} must hold {what}, but {some} ({shown})")
        return found

    def _name(self, j: int) -> str:
        return repr(self.names[j] if self.names else j)

    def warn(self) -> None:
        """Warn of cells that could not be read."""
        for message in self.messages():
            warnings.warn(f"{message}; such cells are read as missing values", ColumnWarning, stacklevel=4)

    def refuse(self) -> None:
        """Raise an error if there are such cells."""
        if found := self.messages():
            raise DataError(f"{found[0]}; leave cells empty that are missing")


def _plain(density: Scorer, decimal: str) -> dict[int, Steps]:
    """How text is read in the columns that hold numbers or truths."""
    others: Sequence[int] = [*density.categories_of_columns(), *density.columns_of_text()]
    truths = density.columns_of_truths()
    return {
        j: (("truth", "false", "true"),) if j in truths else (("number", decimal),)
        for j in density.columns_read
        if j not in others
    }
