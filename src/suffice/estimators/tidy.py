"""Explanations as a tidy table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources import LocalSource
from ..table import Sparse, Table

Array = NDArray[Any]


def tidy_shares(shares: Array, source: LocalSource, names: tuple[str, ...] | None) -> Any:
    """Shares (n, d) as an Arrow table with a line for each cell that has one."""
    import pyarrow as pa

    row, column = np.nonzero(shares)
    share = shares[row, column]
    order = np.lexsort((column, -np.abs(share), row))
    row, column, share = row[order], column[order], share[order]
    values = cell_texts(source.batch(0, source.n_rows).table, row, column)
    labels = column if names is None else np.array(names, object)[column]
    return pa.table({"row": row, "column": pa.array(labels.tolist()), "value": values, "llr": share})


def cell_texts(table: Table, row: Array, column: Array) -> list[str | None]:
    """What stands in some cells, as text; None where nothing does."""
    if isinstance(table, Sparse):
        return [f"{value:g}" for value in np.asarray(table.matrix()[row, column]).reshape(-1).tolist()]
    texts: list[str | None] = [None] * len(row)
    columns = table.columns()
    for j in np.unique(column):
        distinct, code = columns[j].coded()
        words = [*map(_text, distinct.tolist()), None]
        for place in np.flatnonzero(column == j):
            texts[place] = words[code[row[place]]]
    return texts


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
