"""Convert Python values of database drivers to Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from types import NoneType
from typing import Any

import pyarrow as pa

from ...errors import DataError


def arrow_array(field: Any, values: Sequence[Any]) -> Any:
    """The values of a column as Arrow."""
    try:
        return _array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        if pa.types.is_floating(field.type) and all(value is None or isinstance(value, Number) for value in values):
            return pa.array([None if value is None else float(value) for value in values], field.type)
    bad = next(value for value in values if not _fits(value, field.type))
    if pa.types.is_boolean(field.type):
        raise DataError(
            f"column {field.name!r} holds {bad!r}, but is BOOLEAN, where only 0, 1 and NULL are allowed; "
            f"convert it in the query, as in CASE {field.name} WHEN {bad!r} THEN ... END"
        )
    raise DataError(
        f"column {field.name!r} holds {bad!r}, but is {field.type} in its first rows; convert the "
        f"whole column to one type in the query, as in CAST({field.name} AS ...)"
    )


def _array(values: Sequence[Any], kind: Any) -> Any:
    """Return values as Arrow, without changing any of them."""
    if pa.types.is_boolean(kind) and not {bool, NoneType}.issuperset(map(type, values)):
        values = [bool(value) if value in (0, 1) else value for value in values]
    array = pa.array(values, kind)
    # Arrow cuts fractions off without a word.
    is_plain = not pa.types.is_integer(kind) or {int, NoneType}.issuperset(map(type, values))
    if not is_plain and any(value is not None and value % 1 for value in values):
        raise ValueError("a fraction is not an integer")
    return array


def _fits(value: Any, kind: Any) -> bool:
    try:
        _array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def type_of(values: Sequence[Any]) -> Any:
    """Return the Arrow type of Python values; a mix of integers and floats is float."""
    present = [value for value in values if value is not None]
    if not present:
        return pa.float64()
    if all(isinstance(value, Number) for value in present) and not all(isinstance(v, bool) for v in present):
        whole = all(isinstance(value, int) for value in present)
        return pa.int64() if whole else pa.float64()
    try:
        return pa.array(present).type
    except (pa.ArrowException, TypeError, ValueError):
        return pa.string()  # the values that are no text are refused when they are read
