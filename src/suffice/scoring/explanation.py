"""Explanations as a tidy table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources import LocalSource
from ..tables.arrow import to_arrow
from ..tables.table import Sparse, Table
from .calibrated import SHARE

Array = NDArray[Any]

_ROUNDING = 1e-9  # of a share: less is none


Parts = Sequence[tuple[int, Array, Array, Array]]  # for a column the row, the name and the share of each part of a cell


def tidy_shares(
    shares: Array,
    source: LocalSource,
    names: tuple[str, ...] | None,
    parts: Parts = (),
    offset: float = 0.0,
) -> Any:
    """Shares (n, d) as an Arrow table with a line for each cell that has one, or for each of its parts; and one for the
    offset of a calibration."""
    import pyarrow as pa

    shares = shares.copy()
    for j, rows, _, own in parts:  # what is left is that of the cell as a whole
        left = shares[:, j] - np.bincount(rows, own, minlength=len(shares))
        shares[:, j] = np.where(np.abs(left) > _ROUNDING * (1 + np.abs(shares[:, j])), left, 0.0)
    row, column = np.nonzero(shares)
    share = shares[row, column]
    whole = np.isin(column, [j for j, *_ in parts])
    values = np.full(len(row), None, object)
    values[~whole] = cell_texts(source.batch(0, source.n_rows).table, row[~whole], column[~whole])
    for j, rows, texts, own in parts:
        kept = own != 0
        row, column = np.append(row, rows[kept]), np.append(column, np.full(kept.sum(), j))
        share, values = np.append(share, own[kept]), np.append(values, texts[kept])
    if offset:
        n, d = shares.shape
        row, column = np.append(row, np.arange(n)), np.append(column, np.full(n, d))
        share, values = np.append(share, np.full(n, offset)), np.append(values, np.full(n, None, object))
    order = np.lexsort((column, -np.abs(share), row))
    row, column, share, values = row[order], column[order], share[order], values[order]
    labels = pa.array(column) if names is None else pa.array([*names, SHARE], pa.string()).take(pa.array(column))
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
        if columns[j].kind == "other":  # dates and durations
            texts[cells] = [_text(value) for value in to_arrow(columns[j]).take(row[cells]).to_pylist()]
            continue
        distinct, code = columns[j].coded()
        needed, index = np.unique(code[row[cells]], return_inverse=True)
        known = [*distinct.tolist(), None]
        texts[cells] = np.array([_text(known[i]) for i in needed], object)[index]
    return texts


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return f"{value:g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
