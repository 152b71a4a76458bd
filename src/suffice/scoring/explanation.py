"""Explanations as a tidy table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources import LocalSource
from ..tables.table import Sparse, Table

Array = NDArray[Any]


def tidy_shares(shares: Array, source: LocalSource, names: tuple[str, ...] | None) -> Any:
    """Shares (n, d) as an Arrow table with a line for each cell that has one."""
    import pyarrow as pa

    row, column = np.nonzero(shares)
    share = shares[row, column]
    order = np.lexsort((column, -np.abs(share), row))
    row, column, share = row[order], column[order], share[order]
    values = cell_texts(source.batch(0, source.n_rows).table, row, column)
    labels = pa.array(column) if names is None else pa.array(names, pa.string()).take(pa.array(column))
    return pa.table({"row": row, "column": labels, "value": pa.array(values, pa.string()), "llr": share})


def cell_texts(table: Table, row: Array, column: Array) -> Array:
    """What stands in some cells, as text; None where nothing does."""
    texts = np.empty(len(row), object)
    if isinstance(table, Sparse):
        texts[:] = [_text(value) for value in np.asarray(table.matrix()[row, column]).reshape(-1).tolist()]
        return texts
    order = np.argsort(column, kind="stable")
    used, starts = np.unique(column[order], return_index=True)
    columns = table.columns()
    for j, cells in zip(used, np.split(order, starts)[1:], strict=True):
        distinct, code = columns[j].coded()
        needed, index = np.unique(code[row[cells]], return_inverse=True)
        known = [*distinct.tolist(), None]
        texts[cells] = np.array([_text(known[i]) for i in needed], object)[index]
    return texts


def _text(value: Any) -> str | None:
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)
