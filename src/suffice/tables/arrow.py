"""Columns and tables of Arrow, and columns of any kind as Arrow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError
from .table import ArrayColumn, CodedColumn, Column, Frame, Rows, column_names, without_missing
from .times import moments_coded

Array = NDArray[Any]

_COPIED = 1 << 26  # bytes of text that are copied to have its chunks in one array
_MOST = 2**31 - 1  # bytes of an Arrow array of strings whose offsets have 32 bits


def arrow_frame(table: Any) -> Frame:
    """The columns of an Arrow table."""
    parts = tuple(arrow_column(column, str(column.type)) for column in table.columns)
    return Frame(parts, column_names(table.schema.names), table.num_rows)


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
            return replace(self, values=_taken(self.values, rows))
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

        is_moment = pa.types.is_temporal(self.values.type) and not pa.types.is_interval(self.values.type)
        if self.kind == "other" and not is_moment:
            raise DataError(f"{self.dtype} is neither numbers nor categories; convert it to text first")
        if _are_strings(self.values):
            return _strings_coded(self.values)
        values = _in_one(in_microseconds(self.values) if is_moment else self.values)
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        if is_moment:
            codes = values.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
            return moments_coded(values.dictionary.to_pylist(), codes)
        distinct = np.empty(len(values.dictionary), object)
        distinct[:] = values.dictionary.to_pylist()
        code = values.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        return without_missing(distinct, code)

    @property
    def declares(self) -> bool:
        import pyarrow as pa

        # The categories of a polars Categorical are those of all columns that share them; an Enum has its own.
        return pa.types.is_dictionary(self.values.type) and not self.dtype.startswith("Categorical")

    def missing(self) -> Array:
        import pyarrow as pa

        if pa.types.is_dictionary(self.values.type):  # whose values can be missing, too
            return np.asarray(self.coded()[1] < 0)
        return np.asarray(self.values.is_null(nan_is_null=True))

    def bytes_per_row(self) -> float:
        return self.values.nbytes / max(len(self), 1) if self.kind in ("text", "other") else 0.0


def _taken(values: Any, rows: Array) -> Any:
    """Some rows of a chunked array. Arrow copies all chunks to take a few rows, so each chunk gives its own."""
    import pyarrow as pa

    outside = len(rows) > 0 and (rows[0] < 0 or rows[-1] >= len(values))  # which Arrow refuses
    if values.num_chunks < 2 or outside or (rows[1:] < rows[:-1]).any():
        return values.take(rows)
    starts = np.cumsum([0, *map(len, values.chunks)])
    bounds = np.searchsorted(rows, starts)
    own = [
        chunk.take(rows[a:b] - start)
        for chunk, start, (a, b) in zip(values.chunks, starts, pairwise(bounds.tolist()), strict=False)
        if a < b
    ]
    return pa.chunked_array(own, values.type)


def _in_one(values: Any) -> Any:
    """A chunked array as one array; strings of more bytes than their offsets can count get larger offsets."""
    import pyarrow as pa

    if pa.types.is_string(values.type) and values.nbytes > _MOST:
        values = values.cast(pa.large_string())
    values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # of no chunks, or more than fit one
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    return values


def _are_strings(values: Any) -> bool:
    """Whether an Arrow array holds strings that follow each other in memory."""
    import pyarrow as pa

    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _strings_coded(values: Any) -> tuple[Array, Array]:
    """The distinct strings of a chunked array, and the index of each row's among them, -1 where it is missing.

    Much text is encoded chunk by chunk, and then what is different in each of them: in one array, it would be copied.
    """
    import pyarrow as pa

    if values.num_chunks < 2 or values.nbytes <= _COPIED:
        whole = _in_one(values)
        first, code = _codes(whole)
        return _texts(whole, first), code
    found = [_codes(chunk) for chunk in values.chunks]
    texts = [chunk.take(first) for chunk, (first, _) in zip(values.chunks, found, strict=True)]
    whole = _in_one(pa.chunked_array(texts, values.type))
    first, code = _codes(whole)
    bounds = pairwise(np.cumsum([0, *map(len, texts)]).tolist())
    codes = [np.append(code[a:b], code.dtype.type(-1))[own] for (a, b), (_, own) in zip(bounds, found, strict=True)]
    return _texts(whole, first), np.concatenate(codes)


def _texts(values: Any, rows: Array) -> Array:
    """Some strings of an Arrow array."""
    texts = np.empty(len(rows), object)
    texts[:] = values.take(rows).to_pylist()
    return texts


def _codes(values: Any) -> tuple[Array, Array]:
    """The row where each string of an Arrow array appears first, and the index of each row's among these strings."""
    _, offsets, text = values.buffers()
    wide = np.dtype(np.int64 if str(values.type) == "large_string" else np.int32)
    starts = np.frombuffer(offsets or bytes(wide.itemsize), wide)[values.offset : values.offset + len(values) + 1]
    missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    first, code = kernels.active.encode_strings(np.frombuffer(text or b"", np.uint8), starts, missing)
    return first, code


def in_microseconds(values: Any) -> Any:
    """Timestamps, times of the day and durations in the unit that Python has, too; dates as they are."""
    import pyarrow as pa

    types, kind = pa.types, values.type
    if getattr(kind, "unit", None) != "ns":
        return values
    if types.is_time(kind):
        return values.cast(pa.time64("us"), safe=False)
    other = pa.timestamp("us", kind.tz) if types.is_timestamp(kind) else pa.duration("us")
    return values.cast(other, safe=False)


def arrow_column(values: Any, dtype: str) -> ArrowColumn:
    import pyarrow as pa

    types, kind = pa.types, values.type
    if types.is_boolean(kind):
        return ArrowColumn(values, "boolean", dtype)
    if types.is_integer(kind):
        return ArrowColumn(values, "integer", dtype)
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return ArrowColumn(values, "float", dtype)
    if types.is_string_view(kind):
        values = _without_views(values)
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return ArrowColumn(values, "text" if text or types.is_dictionary(kind) else "other", dtype)


def _without_views(values: Any) -> Any:
    """String views as strings: Arrow can take no rows of views."""
    import pyarrow as pa

    try:
        return values.cast(pa.large_string())
    except pa.ArrowNotImplementedError:  # by older versions
        return pa.chunked_array([pa.array(values.to_pylist(), pa.large_string())])


def to_arrow(column: Column) -> Any:
    """Return any column as an Arrow array, with categories as values."""
    import pyarrow as pa

    if isinstance(column, CodedColumn):
        return pa.array(column.categories.tolist()).take(pa.array(column.code, mask=column.code < 0))
    if isinstance(column, ArrayColumn):
        return pa.array(column.values, from_pandas=True)
    values = column.values  # type: ignore[attr-defined]
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def arrow_type(column: Column) -> Any:
    """Return the type that `to_arrow` gives a column or its rows."""
    import pyarrow as pa

    if isinstance(column, ArrayColumn) and column.values.dtype == object:
        return pa.infer_type(column.values, from_pandas=True)
    return to_arrow(column[:0]).type


def from_arrow(values: Any) -> Array:
    """An Arrow array or chunked array as NumPy; strings become a few shared objects, which encode fast."""
    import pyarrow as pa

    if _are_strings(values):
        distinct, code = _strings_coded(values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values]))
        return np.concatenate([distinct, [None]])[code]
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_string_view(values.type):
        values = values.dictionary_encode()
    if not pa.types.is_dictionary(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    words = np.array([*values.dictionary.to_pylist(), None], dtype=object)
    indices = values.indices.cast(pa.int64()).fill_null(len(words) - 1)
    return np.asarray(words[indices.to_numpy(zero_copy_only=False)])
