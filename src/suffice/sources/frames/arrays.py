"""Tables in memory: NumPy, SciPy sparse, pandas, polars, Arrow. Reading copies no table as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, listed
from ...tables.batch import Batch, as_labels, as_matrix, as_weight, check_ndim
from ...tables.table import (
    ArrayColumn,
    CodedColumn,
    Column,
    Frame,
    Matrix,
    Rows,
    Sparse,
    Table,
    contiguous,
    without_missing,
)
from ..base import PIECE, LocalSource

Array = NDArray[Any]


class ArraySource(LocalSource):
    """A table in memory."""

    def __init__(self, table: Table, y: Any, weight: Any, frame: Any = None) -> None:
        self.table, self.names, self.frame = table, table.names, frame
        self.is_sparse = isinstance(table, Sparse)
        self.n_rows, self.n_features = len(table), table.n_features
        if self.n_features == 0:
            raise DataError(f"0 feature(s) (shape={(self.n_rows, 0)}) while a minimum of 1 is required.")
        for what, name in (("y", y), ("sample_weight", weight)):
            if isinstance(name, str):
                raise DataError(
                    f"{what}={name!r} names a column, but X has no named columns, nor has what a pipeline hands on; "
                    "pass the values themselves"
                )
        self.y = as_labels(as_column(y), self.n_rows)
        self.weight = as_weight(as_column(weight), self.n_rows)

    def step(self) -> int:
        if not isinstance(self.table, Sparse):
            return super().step()
        # Equal pieces, and few of them: what a piece adds up to is as wide as the vocabulary.
        pieces = max(-(-self.table.n_cells // (4 * PIECE)), -(-4 * self.n_rows // PIECE), 1)
        return max(-(-self.n_rows // pieces), 1)

    def batch(self, start: int, stop: int) -> Batch:
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        return Batch(self.table[start:stop], y, weight, start)

    def array_source(self) -> Self:
        return self

    def rows(self, places: Array) -> LocalSource:
        """Some of the rows as a source of their own; they are copied a piece at a time, if at all."""
        return _Selection(self, places)


class _Selection(LocalSource):
    """Some rows of a table in memory."""

    def __init__(self, whole: ArraySource, places: Array) -> None:
        self.whole, self.places = whole, places
        self.names, self.frame, self.n_jobs = whole.names, whole.frame, whole.n_jobs
        self.n_rows, self.n_features = len(places), whole.n_features

    def step(self) -> int:
        return 4 * super().step()  # others are worked on at the same time

    def batch(self, start: int, stop: int) -> Batch:
        rows = contiguous(self.places[start:stop])
        y = None if self.whole.y is None else self.whole.y[rows]
        weight = None if self.whole.weight is None else self.whole.weight[rows]
        return Batch(self.whole.table[rows], y, weight, start)


def array_source(X: Any, y: Any = None, weight: Any = None) -> ArraySource:
    """The source for whatever table X is; y and weight may name columns of it."""
    return ArraySource(*converted(X, y, weight))


Converted = tuple[Table, Any, Any, Any]  # features, labels and weights, and the features as they came


def converted(X: Any, y: Any = None, weight: Any = None) -> Converted:
    """Whatever table X is, as ours; y and weight may name columns of it."""
    if isinstance(X, Table):
        return X, y, weight, None
    if (name := library(X)) is not None:
        return _READERS[name][1](X, y, weight)
    matrix = as_matrix(X)
    return Matrix(matrix), y, weight, matrix


def _sparse(X: Any, y: Any, weight: Any) -> Converted:
    check_ndim(X.ndim)
    if X.dtype.kind == "c":
        raise DataError(f"Complex data not supported: X is {X.dtype}")
    rows = X.tocsr()
    data = rows.data if X.dtype in (np.float64, np.float32, np.int64, np.int32) else rows.data.astype(np.float64)
    indptr, indices, data = (a if a.strides[0] == a.itemsize else a.copy() for a in (rows.indptr, rows.indices, data))
    lengths = np.diff(indptr)
    if indptr[0] < 0 or lengths.min(initial=0) < 0 or indptr[-1] > min(len(indices), len(data)):
        raise DataError("the sparse matrix is damaged: its rows do not begin and end where it has cells")
    return Sparse(indptr, indices, data, X.shape[1]), y, weight, X


def _pandas(X: Any, y: Any, weight: Any) -> Converted:
    X, y, weight = _split(X, y, weight, list(X.columns), lambda kept: X[kept], lambda name: X[name])
    names = _names(list(X.columns))
    first = X.dtypes.iloc[0] if X.shape[1] else None
    if isinstance(first, np.dtype) and first.kind in "fiub" and (X.dtypes == first).all() and _is_one_block(X):
        return Matrix(X.to_numpy(copy=False), names), y, weight, X
    return Frame(tuple(pandas_column(X.iloc[:, j]) for j in range(X.shape[1])), names, len(X)), y, weight, X


def _is_one_block(frame: Any) -> bool:
    """Whether the values of a pandas frame lie in one array, so that a view of it costs nothing."""
    head = frame.iloc[:1]
    return bool(np.shares_memory(head.to_numpy(copy=False), head.iloc[:, 0].to_numpy(copy=False)))


def pandas_column(series: Any) -> Column:
    """A pandas column."""
    dtype, pandas = series.dtype, sys.modules["pandas"]
    if isinstance(dtype, pandas.CategoricalDtype):
        return CodedColumn(series.cat.codes.to_numpy(), np.array(dtype.categories.tolist(), object), str(dtype))
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


def arrow_frame(table: Any) -> Frame:
    """The columns of an Arrow table."""
    parts = tuple(arrow_column(column, str(column.type)) for column in table.columns)
    return Frame(parts, _names(table.schema.names), table.num_rows)


@dataclass(frozen=True, slots=True)
class ArrowColumn(Column):
    """A column of an Arrow table."""

    values: Any  # a chunked array
    kind: str
    dtype: str

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Rows) -> ArrowColumn:
        if not isinstance(rows, slice):
            return replace(self, values=self.values.take(rows))
        start, stop, _ = rows.indices(len(self))
        return replace(self, values=self.values.slice(start, stop - start))

    def floats(self) -> Array:
        import pyarrow as pa

        if self.kind in ("text", "other"):
            raise DataError(f"{self.dtype} is not numbers")
        values = self.values if self.values.type == pa.float64() else self.values.cast(pa.float64(), safe=False)
        return np.asarray(values.to_numpy())

    def coded(self) -> tuple[Array, Array]:
        import pyarrow as pa

        if self.kind == "other":
            raise DataError(f"{self.dtype} is neither numbers nor categories; convert it to text first")
        values = self.values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):  # of no chunks, or more than fit one
            values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        distinct = np.empty(len(values.dictionary), object)
        distinct[:] = values.dictionary.to_pylist()
        code = values.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        return without_missing(distinct, code)


def arrow_column(values: Any, dtype: str) -> ArrowColumn:
    import pyarrow as pa

    types, kind = pa.types, values.type
    if types.is_boolean(kind):
        return ArrowColumn(values, "boolean", dtype)
    if types.is_integer(kind):
        return ArrowColumn(values, "integer", dtype)
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return ArrowColumn(values, "float", dtype)
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return ArrowColumn(values, "text" if text or types.is_dictionary(kind) else "other", dtype)


def to_arrow(column: Column) -> Any:
    """Any column as an Arrow array, categories as what they stand for."""
    import pyarrow as pa

    if isinstance(column, CodedColumn):
        return pa.array(column.categories.tolist()).take(pa.array(column.code, mask=column.code < 0))
    if isinstance(column, ArrayColumn):
        return pa.array(column.values, from_pandas=True)
    values = column.values  # type: ignore[attr-defined]
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def arrow_type(column: Column) -> Any:
    """The type that `to_arrow` gives a column, and any of its rows that tell it."""
    import pyarrow as pa

    if isinstance(column, ArrayColumn) and column.values.dtype == object:
        return pa.infer_type(column.values, from_pandas=True)
    return to_arrow(column[:0]).type


_READERS: dict[str, tuple[tuple[str, ...], Callable[[Any, Any, Any], Converted]]] = {
    "pandas": (("DataFrame",), _pandas),
    "polars": (("DataFrame",), _polars),
    "pyarrow": (("Table", "RecordBatch"), _arrow),
    "scipy.sparse": (("sparray", "spmatrix"), _sparse),
}


def library(X: Any) -> str | None:
    """The library that a table is of; they are looked for only when somebody has imported them."""
    for name, (kinds, _) in _READERS.items():
        module = sys.modules.get(name)
        if module is not None and isinstance(X, tuple(getattr(module, kind) for kind in kinds)):
            return name
    return None


def _split(
    X: Any, y: Any, weight: Any, columns: list[Any], select: Callable[[list[Any]], Any], column: Callable[[str], Any]
) -> tuple[Any, Any, Any]:
    """Features, labels and weights of a table; the latter two may be names of columns."""
    features = feature_columns(columns, y, weight)
    y, weight = (column(name) if isinstance(name, str) else name for name in (y, weight))
    return X if len(features) == len(columns) else select(features), y, weight


def feature_columns(columns: list[Any], y: Any, weight: Any) -> list[Any]:
    """The columns that are neither labels nor weights, where these are names."""
    if len(set(columns)) < len(columns):
        repeated = sorted({str(name) for name in columns if columns.count(name) > 1})
        raise DataError(f"column names must be unique; {listed(repeated)} stand more than once")
    for what, name in (("labels", y), ("weights", weight)):
        if isinstance(name, str) and name not in columns:
            raise DataError(
                f"there is no column {name!r} to take the {what} from; the columns are {listed(columns, 10)}"
            )
    used = [name for name in (y, weight) if isinstance(name, str)]
    return [name for name in columns if name not in used]


def _names(columns: list[Any]) -> tuple[str, ...] | None:
    """Feature names, if every column has a string for one."""
    text = [isinstance(name, str) for name in columns]
    if any(text) and not all(text):
        raise TypeError("Feature names are only supported if all input features have string names")
    return tuple(columns) if columns and all(text) else None


def as_column(values: Any) -> Any:
    """A column of any library as a NumPy array; what is none is returned as it is."""
    if (polars := sys.modules.get("polars")) and isinstance(values, polars.Series):
        return from_arrow(values.to_arrow())
    if (pandas := sys.modules.get("pandas")) and isinstance(values, pandas.Series):
        if getattr(values.dtype, "storage", None) == "pyarrow":
            return from_arrow(_as_arrow(values))
        return values.to_numpy()
    if (pa := sys.modules.get("pyarrow")) and isinstance(values, (pa.Array, pa.ChunkedArray)):
        return from_arrow(values)
    return values


def from_arrow(values: Any) -> Array:
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
    places = values.indices.cast(pa.int64()).fill_null(len(words) - 1)
    return np.asarray(words[places.to_numpy(zero_copy_only=False)])
