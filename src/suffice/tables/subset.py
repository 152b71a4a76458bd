"""Some columns of a table in memory, by name."""

from __future__ import annotations

from typing import Any

from .readers import is_column, library


def with_columns(X: Any, names: tuple[str, ...] | None, y: Any = None, weight: Any = None) -> Any:
    """Return a table in memory with only these columns and those of labels and weights; unchanged if it lacks one or
    has no others.

    Otherwise it is left as it is: scikit-learn refuses the same columns in another order, and so do we.
    """
    kind = library(X)
    if names is None or is_column(X) or kind not in ("pandas", "polars", "pyarrow"):
        return X
    columns = X.schema.names if kind == "pyarrow" else list(X.columns)
    wanted = [*names, *(name for name in (y, weight) if isinstance(name, str))]
    if not (set(wanted) < set(columns) and len(set(columns)) == len(columns)):
        return X
    return X[wanted] if kind == "pandas" else X.select(wanted)
