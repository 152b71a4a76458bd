"""Infinite cells as missing values, for models that take them so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import ArrayColumn, Column, Frame, Matrix, Table, looked_at

Array = NDArray[Any]


def without_infinity(table: Table, columns: Iterable[int] | None = None) -> tuple[Table, Array]:
    """Return the table with NaN in place of infinite cells, and how many cells of each column these are, (d,).

    Sparse tables, which have no missing values, stay as they are.

    Parameters
    ----------
    table : Table
        Some rows.
    columns : iterable of int, optional
        The columns to look at; all of them unless given.
    """
    n_cells = np.zeros(table.n_features, np.int64)
    if isinstance(table, Matrix) and table.whole.dtype.kind == "f":
        X = table.floats()
        infinite = np.isinf(X)
        if columns is not None:
            infinite &= np.isin(np.arange(X.shape[1]), list(columns))
        n_cells = infinite.sum(axis=0)
        return (Matrix(np.where(infinite, np.nan, X), table.names) if n_cells.any() else table), n_cells
    is_mixed = isinstance(table, Matrix) and table.whole.dtype == object
    if not (is_mixed or isinstance(table, Frame)):
        return table, n_cells
    parts = table.columns()
    for j in range(len(parts)) if columns is None else columns:
        if (own := _numbers(parts[j])) is not None and (infinite := np.isinf(own)).any():
            n_cells[j] = infinite.sum()
            parts[j] = ArrayColumn(np.where(infinite, np.nan, own), "float", "float64")
    # What was derived from such cells has to be found anew.
    return (Frame(tuple(parts), table.names, len(table)) if n_cells.any() else table), n_cells


def _numbers(column: Column) -> Array | None:
    """The numbers of a column; None where there are none, or all are finite by their type."""
    column = looked_at(column)
    return np.asarray(column.floats()) if column.kind == "float" else None


def infinite_cells(n_cells: Sequence[int], names: Sequence[Any]) -> str:
    """Return how many cells of which columns are infinite, for a warning.

    >>> infinite_cells([3, 0, 1], ["a", "b", "c"])
    "infinite numbers are read as missing values, in columns 'a' (3), 'c' (1)"
    """
    found = [f"{name!r} ({n})" for name, n in zip(names, n_cells, strict=True) if n]
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return f"infinite numbers are read as missing values, in columns {', '.join(found[:8])}{more}"
