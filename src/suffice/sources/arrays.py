"""Tables in memory: NumPy, SciPy sparse, pandas, polars, Arrow. A table is never copied as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch, as_float, as_labels, as_matrix, as_weight, check_ndim
from ..errors import DataError, listed
from .base import LocalSource

Array = NDArray[Any]
Rows = Callable[[int, int], Array]  # the rows from start up to stop as a float array


class ArraySource(LocalSource):
    """A table in memory, given by a function that cuts rows out of it."""

    def __init__(self, rows: Rows, shape: tuple[int, int], names: tuple[str, ...] | None, y: Any, weight: Any) -> None:
        self.n_rows, self.n_features = shape
        if self.n_features == 0:
            raise DataError(f"0 feature(s) (shape={shape}) while a minimum of 1 is required.")
        if isinstance(y, str):
            raise DataError(f"y={y!r} names a column, but X has no named columns; pass the labels themselves")
        self.names = names
        self.rows = rows
        self.y = as_labels(_column(y), self.n_rows)
        self.weight = as_weight(_column(weight), self.n_rows)

    def batch(self, start: int, stop: int) -> Batch:
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        return Batch(self.rows(start, stop), y, weight, start)


def array_source(X: Any, y: Any = None, weight: Any = None) -> ArraySource:
    """The source for whatever table X is; y may name one of its columns."""
    for module, kind, convert in _KINDS:
        if module in sys.modules and isinstance(X, kind(sys.modules[module])):
            return convert(X, y, weight)
    return _numpy(X, y, weight)


def _numpy(X: Any, y: Any, weight: Any) -> ArraySource:
    if isinstance(X, str | PathLike):
        raise DataError(f"X={X!r} is a path; files are not read yet: pass a table in memory")
    X = as_matrix(X)
    return ArraySource(lambda start, stop: as_float(X[start:stop]), X.shape, None, y, weight)


def _sparse(X: Any, y: Any, weight: Any) -> ArraySource:
    check_ndim(X.ndim)
    if X.dtype.kind == "c":
        raise DataError(f"Complex data not supported: X is {X.dtype}")
    X = X.tocsr()
    return ArraySource(lambda start, stop: as_float(X[start:stop].toarray()), X.shape, None, y, weight)


def _pandas(X: Any, y: Any, weight: Any) -> ArraySource:
    X, y = _split(X, y, list(X.columns), lambda kept, name: (X[kept], X[name]))
    names = _names(list(X.columns))
    dtypes = set(X.dtypes)
    if len(dtypes) == 1 and dtypes <= {np.dtype(np.float64), np.dtype(np.float32)} and _is_one_block(X):
        values = X.to_numpy(copy=False)
        return ArraySource(lambda start, stop: values[start:stop], X.shape, names, y, weight)
    _refuse_text({name: dtype for name, dtype in X.dtypes.items() if not _is_number(dtype)})

    def rows(start: int, stop: int) -> Array:
        piece = X.iloc[start:stop]
        try:
            return np.asarray(piece.to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):  # an object column; NumPy's own conversion knows what to do with it
            return np.column_stack([_numbers(name, piece[name].to_numpy()) for name in piece.columns])

    return ArraySource(rows, X.shape, names, y, weight)


def _is_one_block(frame: Any) -> bool:
    """Whether the values of a pandas frame lie in one array, so that a view of it costs nothing."""
    head = frame.iloc[:1]
    return bool(np.shares_memory(head.to_numpy(copy=False), head.iloc[:, 0].to_numpy(copy=False)))


def _numbers(name: Any, column: Array) -> Array:
    try:
        return as_float(column)
    except DataError as error:
        raise DataError(f"column {name!r} does not hold numbers alone: {error}") from None


def _is_number(dtype: Any) -> bool:
    # Object columns are tried value by value, as NumPy does it.
    return getattr(dtype, "kind", "") in ("f", "i", "u", "b") or dtype == np.dtype(object)


def _polars(X: Any, y: Any, weight: Any) -> ArraySource:
    return _arrow(X.to_arrow(), y, weight)


def _arrow(X: Any, y: Any, weight: Any) -> ArraySource:
    import pyarrow as pa

    X, y = _split(X, y, X.column_names, lambda kept, name: (X.select(kept), X.column(name)))

    def numeric(kind: Any) -> bool:
        types = pa.types
        return bool(
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        )

    _refuse_text({field.name: field.type for field in X.schema if not numeric(field.type)})

    def rows(start: int, stop: int) -> Array:
        out = np.empty((stop - start, X.num_columns), order="F")
        for j, column in enumerate(X.slice(start, stop - start).columns):
            out[:, j] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return out

    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    return ArraySource(rows, (X.num_rows, X.num_columns), _names(X.column_names), y, weight)


# Modules that are looked for only when somebody has imported them.
_KINDS: tuple[tuple[str, Callable[[Any], Any], Callable[[Any, Any, Any], ArraySource]], ...] = (
    ("pandas", lambda pandas: pandas.DataFrame, _pandas),
    ("polars", lambda polars: polars.DataFrame, _polars),
    ("pyarrow", lambda pyarrow: (pyarrow.Table, pyarrow.RecordBatch), _arrow),
    ("scipy.sparse", lambda sparse: (sparse.sparray, sparse.spmatrix), _sparse),
)


def _split(X: Any, y: Any, columns: list[Any], cut: Callable[[list[Any], Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Features and labels of a table; y may be a column's name."""
    if len(set(columns)) < len(columns):
        repeated = sorted({str(name) for name in columns if columns.count(name) > 1})
        raise DataError(f"column names must be unique; {listed(repeated)} stand more than once")
    if not isinstance(y, str):
        return X, y
    if y not in columns:
        raise DataError(f"there is no column {y!r} to take the labels from; the columns are {listed(columns, 10)}")
    return cut([name for name in columns if name != y], y)


def _names(columns: list[Any]) -> tuple[str, ...] | None:
    """Feature names, if every column has a string for one."""
    text = [isinstance(name, str) for name in columns]
    if any(text) and not all(text):
        raise TypeError("Feature names are only supported if all input features have string names")
    return tuple(columns) if columns and all(text) else None


def _refuse_text(columns: dict[Any, Any]) -> None:
    if columns:
        found = ", ".join(f"{name!r} ({kind})" for name, kind in columns.items())
        raise DataError(f"this model takes numbers, but these columns hold something else: {found}; leave them out")


def _column(values: Any) -> Any:
    """A column of any library as a NumPy array; what is none is returned as it is."""
    if (polars := sys.modules.get("polars")) and isinstance(values, polars.Series):
        return _from_arrow(values.to_arrow())
    if (pandas := sys.modules.get("pandas")) and isinstance(values, pandas.Series):
        if isinstance(values.dtype, pandas.StringDtype) and values.dtype.storage == "pyarrow":
            return _from_arrow(sys.modules["pyarrow"].array(values, from_pandas=True))
        return values.to_numpy()
    if (pa := sys.modules.get("pyarrow")) and isinstance(values, (pa.Array, pa.ChunkedArray)):
        return _from_arrow(values)
    return values


def _from_arrow(values: Any) -> Array:
    """An Arrow array or chunked array as NumPy; strings become a few shared objects, which encode fast."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    types = pa.types
    if types.is_string(values.type) or types.is_large_string(values.type) or types.is_string_view(values.type):
        values = values.dictionary_encode()
    if not types.is_dictionary(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    words = np.array([*values.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(words[values.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)])
