"""Convert tables of NumPy, SciPy, pandas, polars and Arrow to `Table`, without copying a whole table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, alike, listed
from .arrow import arrow_column, arrow_frame, from_arrow
from .batch import as_matrix, check_ndim
from .labels import is_missing
from .table import (
    RENAME,
    ArrayColumn,
    CodedColumn,
    Column,
    Frame,
    Matrix,
    Sparse,
    Table,
    check_rows,
    column_names,
    looked_at,
)
from .tokens import is_text

Array = NDArray[Any]

Converted = tuple[Table, Any, Any, Any]  # features, labels and weights, and the features as they came


def converted(X: Any, y: Any = None, weight: Any = None) -> Converted:
    """Return X as a `Table`; y and weight may be names of its columns."""
    if isinstance(X, Table):
        return X, y, weight, None
    if not is_column(X) and (name := library(X)) is not None:
        return _READERS[name][1](X, y, weight)
    if (text := _text_column(X)) is not None:
        column, label = text
        return Frame((column,), (label,) if isinstance(label, str) else None, len(column)), y, weight, X
    matrix = as_matrix(X)
    return Matrix(matrix), y, weight, matrix


def _text_column(X: Any) -> tuple[Column, Any] | None:
    """A column of text that is no table, and its name; None for anything else."""
    if isinstance(X, list | tuple):
        if not X or not isinstance(next((each for each in X if not is_missing(each)), ""), str | bytes):
            return None
        X = np.fromiter(X, object, len(X))
    if isinstance(X, np.ndarray):
        if X.ndim != 1 or not (X.dtype.kind in "US" or (X.dtype == object and len(X))):
            return None
        column: Column = ArrayColumn.of(X)
        name = None
        if X.dtype == object and looked_at(column).kind != "text":
            return None
    elif is_of(X, "pandas", "Series"):
        column, name = looked_at(pandas_column(X)), X.name
    elif is_of(X, "polars", "Series") or is_of(X, "pyarrow", "Array", "ChunkedArray"):
        values, name = (X.to_arrow(), X.name or None) if hasattr(X, "to_arrow") else (X, None)
        import pyarrow as pa

        values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        column = arrow_column(values, str(values.type))
    else:
        return None
    return (column, name) if is_text(column) or column.missing().all() else None


def as_documents(X: Any) -> Any:
    """Return lists of lists of strings, some of which may be missing, as one column of lists of tokens; anything else
    unchanged."""
    known = [row for row in X if not is_missing(row)] if isinstance(X, list | tuple) else []
    if not all(isinstance(row, list | tuple) for row in known) or not any(known):
        return X
    if not all(isinstance(token, str) for row in known for token in row):
        return X
    return np.fromiter((None if is_missing(row) else list(row) for row in X), object, len(X))


def _sparse(X: Any, y: Any, weight: Any) -> Converted:
    check_ndim(X.ndim)
    if X.dtype.kind == "c":
        raise DataError(f"Complex data not supported: X is {X.dtype}")
    rows = X.tocsr()
    data = rows.data if X.dtype in (np.float64, np.float32, np.int64, np.int32) else rows.data.astype(np.float64)
    indptr, indices, data = (np.require(a, requirements=["C", "A", "E"]) for a in (rows.indptr, rows.indices, data))
    check_rows(indptr, min(len(indices), len(data)))
    return Sparse(indptr, indices, data, X.shape[1]), y, weight, X


def _pandas(X: Any, y: Any, weight: Any) -> Converted:
    X, y, weight = _split(X, y, weight, list(X.columns), lambda kept: X[kept], lambda name: X[name])
    names = column_names(list(X.columns))
    first = X.dtypes.iloc[0] if X.shape[1] else None
    if isinstance(first, np.dtype) and first.kind in "fiub" and (X.dtypes == first).all() and _is_one_block(X):
        return Matrix(X.to_numpy(copy=False), names), y, weight, X
    return Frame(tuple(pandas_column(series) for _, series in X.items()), names, len(X)), y, weight, X


def _is_one_block(frame: Any) -> bool:
    """Whether the values of a pandas frame lie in one array, so that a view of it costs nothing."""
    head = frame.iloc[:1]
    return bool(np.shares_memory(head.to_numpy(copy=False), head.iloc[:, 0].to_numpy(copy=False)))


def pandas_column(series: Any) -> Column:
    """A pandas column."""
    dtype, pandas = series.dtype, sys.modules["pandas"]
    if isinstance(dtype, pandas.CategoricalDtype):
        categories = np.array(dtype.categories.tolist(), object)
        return CodedColumn(series.cat.codes.to_numpy(), categories, str(dtype), declared=True)
    nullable = not isinstance(dtype, np.dtype | pandas.SparseDtype) and getattr(dtype, "kind", "O") in "fiub"
    if nullable or isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        return arrow_column(_as_arrow(series), str(dtype))
    return replace(ArrayColumn.of(series.to_numpy(copy=False)), dtype=str(dtype))


def _as_arrow(series: Any) -> Any:
    """A pandas column as Arrow: backed by it, or nullable, so that no integer is rounded on its way."""
    import pyarrow as pa

    values = pa.array(series, from_pandas=True)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _polars(X: Any, y: Any, weight: Any) -> Converted:
    table, y, weight, _ = _arrow(X.to_arrow(), y, weight)
    return table, y, weight, X.select(table.names)


def _arrow(X: Any, y: Any, weight: Any) -> Converted:
    import pyarrow as pa

    X, y, weight = _split(X, y, weight, X.schema.names, X.select, X.column)
    return arrow_frame(pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X), y, weight, X


_READERS: dict[str, tuple[tuple[str, ...], Callable[[Any, Any, Any], Converted]]] = {
    "pandas": (("DataFrame",), _pandas),
    "polars": (("DataFrame",), _polars),
    "pyarrow": (("Table", "RecordBatch"), _arrow),
    "scipy.sparse": (("sparray", "spmatrix"), _sparse),
}


_COLUMNS = {"pandas": ("Series",), "polars": ("Series",), "pyarrow": ("Array", "ChunkedArray")}


def library(X: Any) -> str | None:
    """Return the library of a table or a column. Only libraries that are imported already are considered."""
    if type(X) is np.ndarray:
        return None
    kinds = {name: (*tables, *_COLUMNS.get(name, ())) for name, (tables, _) in _READERS.items()}
    return next((name for name, own in kinds.items() if is_of(X, name, *own)), None)


def is_column(X: Any) -> bool:
    """Whether X is a column of a library of tables."""
    return any(is_of(X, name, *kinds) for name, kinds in _COLUMNS.items())


def is_of(thing: Any, module: str, *kinds: str) -> bool:
    """Whether an object is an instance of classes of a module, without importing the module.

    Another thread may be importing the module right now, so that it has no such classes yet.

    >>> is_of(1.5, "polars", "DataFrame")
    False
    """
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(thing, tuple(getattr(loaded, kind, ()) for kind in kinds))


def _split(
    X: Any, y: Any, weight: Any, columns: list[Any], select: Callable[[list[Any]], Any], column: Callable[[Any], Any]
) -> tuple[Any, Any, Any]:
    """Features, labels and weights of a table; the latter two may be names of columns."""
    features = feature_columns(columns, y, weight)
    y, weight = (column(name) if is_label(name, columns) else name for name in (y, weight))
    return X if len(features) == len(columns) else select(features), y, weight


def feature_columns(columns: list[Any], y: Any, weight: Any) -> list[Any]:
    """The columns that are neither labels nor weights, where these are names."""
    if len(set(columns)) < len(columns):
        repeated = sorted({str(name) for name in columns if columns.count(name) > 1})
        raise DataError(f"column names must be unique, but {listed(repeated)} appears more than once")
    for what, name in (("labels", y), ("weights", weight)):
        if isinstance(name, str) and name not in columns:
            meant = f"; {RENAME}" if name in map(str, columns) else alike(name, map(str, columns))
            known = f"the columns are {listed(columns, 10)}"
            raise DataError(f"there is no column {name!r} to take the {what} from; {known}{meant}")
    used = [name for name in (y, weight) if is_label(name, columns)]
    return [name for name in columns if name not in used]


def is_label(name: Any, columns: list[Any]) -> bool:
    """Whether something is the label of a column, rather than its values; labels of pandas may be whole numbers."""
    is_whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
    return isinstance(name, str) or (is_whole and name in columns)


def as_column(values: Any) -> Any:
    """Return a column of any library as a NumPy array; other objects are returned unchanged."""
    if type(values) is np.ndarray:
        return values
    if is_of(values, "polars", "Series"):
        return from_arrow(values.to_arrow())
    if is_of(values, "pandas", "Series"):
        if getattr(values.dtype, "storage", None) == "pyarrow":
            return from_arrow(_as_arrow(values))
        return values.to_numpy()
    if is_of(values, "pyarrow", "Array", "ChunkedArray"):
        return from_arrow(values)
    return values
