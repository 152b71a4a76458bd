"""Tables of results, in the library that the user works with."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def in_library(rows: Any, names: tuple[str, ...] | None, library: str | None) -> Any:
    """Return rows as a table of a library.

    Parameters
    ----------
    rows : array of shape (n, d) or pyarrow.Table
        The rows.
    names : tuple of str or None
        The names of the columns of an array.
    library : str or None
        "pandas", "polars" or "pyarrow"; for any other, rows stay as they are.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame, pyarrow.Table or array
        The rows.
    """
    if library not in ("pandas", "polars", "pyarrow") or (isinstance(rows, np.ndarray) and names is None):
        return rows
    if isinstance(rows, np.ndarray):
        import pyarrow as pa

        rows = pa.table(dict(zip(names or (), map(_arrow_column, rows.T), strict=True)))
    if library == "pandas":
        return rows.to_pandas()
    return sys.modules["polars"].from_arrow(rows) if library == "polars" else rows


def _arrow_column(values: Any) -> Any:
    import pyarrow as pa

    return pa.array(values.tolist()) if values.dtype == object else pa.array(np.ascontiguousarray(values))
