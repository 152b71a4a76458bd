"""Rows as plots need them: labels as codes, columns by name."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, listed
from ..sources import LocalSource, as_source
from ..tables.labels import SoftLabels, encode, positions
from ..tables.table import Table

Array = NDArray[Any]


def local(model: Any, X: Any, y: Any = None) -> LocalSource:
    """Rows that every classifier of ours scores, with their labels where they have any; of X that holds more columns,
    those of the model."""
    names = getattr(model, "feature_names_in_", None)
    return as_source(X, y, names=None if names is None else tuple(names)).in_memory()


def labelled(model: Any, X: Any, y: Any) -> tuple[LocalSource, Array]:
    """Rows and their labels; y may be the name of a column of X."""
    source = local(model, X, y)
    labels = source.batch(0, source.n_rows).y
    if labels is None or isinstance(labels, SoftLabels):
        raise DataError("plots need one label for each row, as y")
    encode(labels)  # refuses missing and continuous labels
    return source, labels


def codes(labels: Array, classes: Array) -> Array:
    """The place of each label in the classes of a model, or an error that names the labels it does not know."""
    code = positions(labels, classes)
    if (code < 0).any():
        unknown = listed(sorted(set(labels[code < 0].tolist())))
        raise DataError(f"y holds {unknown}, of which the model knows nothing; its classes are {listed(classes, 10)}")
    return code


def whole(source: LocalSource) -> Table:
    return source.batch(0, source.n_rows).table


def names_of(table: Table) -> tuple[str, ...]:
    """Names of all columns; those that have none are known by their position."""
    return table.names_of(range(table.n_features))


def places_of(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Where columns stand that are given by name or by position."""
    known = {name: j for j, name in enumerate(names)}
    return [_place(column, known) for column in columns]


def _place(column: Any, known: dict[str, int]) -> int:
    if isinstance(column, str) and column in known:
        return known[column]
    if isinstance(column, Integral) and 0 <= int(column) < len(known):
        return int(column)
    raise DataError(f"there is no column {column!r}; the columns are {listed(known, 10)}")


def floats(table: Table, places: Sequence[int]) -> Array:
    """Some columns as numbers, (n, m), NaN where they are missing."""
    return np.asarray(table.take(places).floats(), dtype=np.float64)
