"""Copies of tables, of the same library, with other values in some cells.

A column keeps its type where that holds the new values, and takes the next wider one where it does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...tables import vocabulary as vocabularies
from ...tables.arrow import arrow_column, from_arrow
from ...tables.labels import is_missing
from ...tables.parsing import duration_of, written_like
from ...tables.readers import is_column, library, pandas_column
from ...tables.table import ArrayColumn, looked_at

Array = NDArray[Any]


def with_cells(frame: Any, cells: Array, values: Any, marks: Mapping[int, str] | None = None) -> Any:
    """Return a copy of a table, of the same library, with other values in some cells.

    Parameters
    ----------
    frame : what a source keeps as its `frame`: a table, or a single column of text
    cells : (n, d) bool, where the values are to be written
    values : (n, d) an array or an Arrow table
    marks : the decimal marks of columns of text that are read as numbers, which are written in the same way
    """
    columns, known = np.flatnonzero(cells.any(axis=0)).tolist(), marks or {}
    written = {j: _Cells(cells[:, j], _values(values, j)[cells[:, j]].tolist(), known.get(j)) for j in columns}
    if is_column(frame) or isinstance(frame, list | tuple) or getattr(frame, "ndim", 2) == 1:
        unchanged = frame.copy() if hasattr(frame, "copy") else frame
        return _COLUMN_WRITERS[library(frame)](frame, written[0]) if written else unchanged
    return _WRITERS[library(frame)](frame, written)


def with_whole(values: Any, columns: list[int]) -> Any:
    """Return values, (n, d) an array or an Arrow table, with the nearest whole numbers in some columns; of dates, the
    nearest days, and of durations, the seconds."""
    if isinstance(values, np.ndarray):
        if columns and values.dtype.kind == "f":
            values = values.copy()
            values[:, columns] = np.rint(values[:, columns])
        return values
    import pyarrow as pa
    import pyarrow.compute as pc

    for j in columns:
        own, name = values.column(j), values.column_names[j]
        if pa.types.is_timestamp(own.type):
            own = pc.round_temporal(own, unit="day").cast(pa.date32())
        elif pa.types.is_duration(own.type):
            own = own.cast(pa.duration("s"), safe=False)
        elif pa.types.is_floating(own.type):
            own = pc.round(own, round_mode="half_to_even")
            own = own if _is_beyond(own) else own.cast(pa.int64())
        values = values.set_column(j, name, own)
    return values


def of_type(values: Any, told: str) -> Any:
    """Return an Arrow column with Booleans, times of the day or whole seconds, if it is told that the column that it
    stands for held such."""
    import pyarrow as pa

    types, kind = pa.types, values.type
    if told.lower() in ("bool", "boolean") and not types.is_string(kind):
        return values.cast(pa.bool_())
    if told.startswith(("time32", "time64")) and types.is_duration(kind):  # such as 25:00, which is 1:00
        clock = pa.time32(kind.unit) if kind.unit in ("s", "ms") else pa.time64(kind.unit)
        return values.cast(pa.int64()).cast(pa.timestamp(kind.unit)).cast(clock)
    if told.startswith("timestamp[s") and types.is_timestamp(kind):
        return values.cast(pa.timestamp("s"), safe=False)
    return values


def _is_beyond(whole: Any) -> bool:
    """Whether some whole numbers are too large for integers."""
    import pyarrow.compute as pc

    largest = pc.max(pc.abs(whole)).as_py()
    return largest is not None and not largest < 1 << 53


def _values(table: Any, j: int) -> Array:
    return np.asarray(table[:, j] if isinstance(table, np.ndarray) else from_arrow(table.column(j)))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Values for some rows of a column."""

    rows: Array  # (n,) bool
    values: list[Any]
    mark: str | None = None  # the decimal mark of numbers in text

    def like(self, kind: str, items: Iterable[Any]) -> list[Any]:
        """Return the values in the type of the column, if it can hold them; as the other items are written, if they are
        numbers in text."""
        if kind == "text" and self.mark is not None:
            return list(map(written_like(items, self.mark), self.values))
        try:
            return [_like(value, kind) for value in self.values]
        except (KeyError, ValueError):
            return self.values

    def among(self, items: list[Any], kind: str) -> list[Any]:
        """Return the items of a column, with the new values at their indices."""
        items = list(items)
        for row, value in zip(np.flatnonzero(self.rows), self.like(kind, items), strict=True):
            items[row] = value
        return items


def _like(value: Any, kind: str) -> Any:
    if kind == "boolean":  # the more probable value
        return {"True": True, "False": False}[value] if isinstance(value, str) else value > 0.5
    if kind not in ("float", "integer"):
        return value
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str):  # numbers beside text are known by their names
        value = int(value) if value.lstrip("-").isdecimal() else float(value)
    return int(value) if kind == "integer" and float(value).is_integer() else value


def _narrowest(items: list[Any], kind: str, build: Callable[[list[Any], Any], Any], types: tuple[Any, ...]) -> Any:
    """A column of the first type that holds the items: its own, integers, floats, text."""
    own, integer, number, word = types
    fractions = any(isinstance(item, float) and not is_missing(item) for item in items)
    attempts: list[tuple[Callable[[Any], Any], Any]] = [(lambda item: item, own)]
    if kind == "text":
        attempts.append((vocabularies.text, own))
    else:
        if kind == "integer":  # some libraries would cut a fraction off
            attempts = [] if fractions else [*attempts, (int, integer)]
        attempts.append((float, number))
    for convert, dtype in attempts:
        with suppress(TypeError, ValueError, OverflowError):
            return build([None if is_missing(item) else convert(item) for item in items], dtype)
    return build([None if is_missing(item) else vocabularies.text(item) for item in items], word)


def _array_with(X: Array, written: dict[int, _Cells]) -> Array:
    out = X.copy()
    for j, cells in written.items():
        values = np.empty(len(cells.values), object)
        values[:] = cells.like(looked_at(ArrayColumn.of(X[:, j])).kind, X[:, j].tolist())
        if X.dtype.kind in "mM":
            values[:] = [_moment(value, X.dtype.kind) for value in values]
        if out.dtype != object and any(isinstance(value, str) for value in values):
            out = out.astype(object)
        out[cells.rows, j] = values
    return out


def _moment(value: Any, kind: str) -> Any:
    """A category of dates or durations as NumPy has them."""
    if not isinstance(value, str):
        return value
    return np.datetime64(value) if kind == "M" else np.timedelta64(round(1e6 * duration_of(value)), "us")


def _items_with(X: Any, cells: _Cells) -> Any:
    items = cells.among(X, "text")
    return np.array(items, object) if isinstance(X, np.ndarray) else items


def _sparse_with(X: Any, written: dict[int, _Cells]) -> Any:
    out = X.tocsr(copy=True)
    out.sum_duplicates()
    for j, cells in written.items():
        out[np.flatnonzero(cells.rows), j] = cells.values
    return out.asformat(X.format)


def _pandas_with(X: Any, written: dict[int, _Cells]) -> Any:
    out = X.copy()
    for j, cells in written.items():
        out.isetitem(j, _series_with(X.iloc[:, j], cells))
    return out


def _series_with(series: Any, cells: _Cells) -> Any:
    pandas, dtype, kind = sys.modules["pandas"], series.dtype, looked_at(pandas_column(series)).kind
    if isinstance(dtype, pandas.CategoricalDtype):
        return _categories_with(series, cells)
    integer, number = ("int64", "float64") if isinstance(dtype, np.dtype) else ("Int64", "Float64")
    if isinstance(dtype, pandas.ArrowDtype):
        integer, number = "int64[pyarrow]", "double[pyarrow]"

    items = cells.among(series.tolist(), kind)

    def build(values: list[Any], dtype: Any) -> Any:
        return pandas.Series(items if dtype is object else values, series.index, dtype, series.name)

    return _narrowest(items, kind, build, (dtype, integer, number, object))


def _categories_with(series: Any, cells: _Cells) -> Any:
    """A pandas column of categories, which may become more."""
    own = np.empty(len(series.cat.categories), object)
    own[:] = series.cat.categories.tolist()
    values = np.empty(len(cells.values), object)
    values[:] = cells.values
    known = vocabularies.positions(values, own)
    series = series.cat.add_categories(list(dict.fromkeys(values[known < 0].tolist())))
    series.iloc[np.flatnonzero(cells.rows)] = [own[i] if i >= 0 else v for i, v in zip(known, values, strict=True)]
    return series


def _polars_with(X: Any, written: dict[int, _Cells]) -> Any:
    return X.with_columns([_polars_column_with(X.to_series(j), cells) for j, cells in written.items()])


def _polars_column_with(series: Any, cells: _Cells) -> Any:
    polars = sys.modules["polars"]

    def build(items: list[Any], dtype: Any) -> Any:
        try:
            if dtype == polars.Null:
                raise ValueError("nothing but null")
            return polars.Series(series.name, items, dtype=dtype, strict=True)
        except polars.exceptions.PolarsError as error:
            raise ValueError(str(error)) from None

    kind, types = arrow_column(series.to_arrow(), "").kind, (series.dtype, polars.Int64, polars.Float64, polars.String)
    return _narrowest(cells.among(series.to_list(), kind), kind, build, types)


def _arrow_with(X: Any, written: dict[int, _Cells]) -> Any:
    import pyarrow as pa

    columns, fields = list(X.columns), list(X.schema)
    for j, cells in written.items():
        columns[j] = _arrow_column_with(columns[j], cells)
        fields[j] = fields[j].with_type(columns[j].type)
    return type(X).from_arrays(columns, schema=pa.schema(fields, X.schema.metadata))


def _arrow_column_with(column: Any, cells: _Cells) -> Any:
    import pyarrow as pa

    kind = arrow_column(column, "").kind
    types = column.type, pa.int64(), pa.float64(), pa.string()
    return _narrowest(cells.among(column.to_pylist(), kind), kind, pa.array, types)


_WRITERS: dict[str | None, Callable[[Any, dict[int, _Cells]], Any]] = {
    None: _array_with,
    "pandas": _pandas_with,
    "polars": _polars_with,
    "pyarrow": _arrow_with,
    "scipy.sparse": _sparse_with,
}
_COLUMN_WRITERS: dict[str | None, Callable[[Any, _Cells], Any]] = {
    None: _items_with,
    "pandas": _series_with,
    "polars": _polars_column_with,
    "pyarrow": _arrow_column_with,
}
