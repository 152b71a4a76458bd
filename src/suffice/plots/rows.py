"""Rows as the plots need them: labels as class indices, columns by name."""

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
    """Return X in memory, with labels if given. Extra columns, which the model does not know, are ignored."""
    names = getattr(model, "feature_names_in_", None)
    return as_source(X, y, names=None if names is None else tuple(names)).in_memory()


def labelled(model: Any, X: Any, y: Any) -> tuple[LocalSource, Array]:
    """Return rows and their labels; y can be the name of a column of X."""
    source = local(model, X, y)
    labels = source.batch(0, source.n_rows).y
    if labels is None or isinstance(labels, SoftLabels):
        raise DataError("plots need y, with one label per row")
    encode(labels)  # refuses missing and continuous labels
    return source, labels


def has_classes(model: Any) -> bool:
    """Whether a model has classes with labels, unlike a mixture of rows without labels."""
    return hasattr(model, "classes_")


def refuse_labels(model: Any, y: Any) -> None:
    """Raise an error if labels are given for a model without classes."""
    if y is not None:
        raise DataError(f"a {type(model).__name__} has no classes to show y with; leave y out")


def component_names(k: int) -> Array:
    """Return what to call the components of a mixture without classes."""
    return np.array([f"component {j}" for j in range(k)])


def codes(labels: Array, classes: Array) -> Array:
    """Return the class index of each label, or raise an error that names unknown labels."""
    code = positions(labels, classes)
    if (code < 0).any():
        unknown = listed(sorted(set(labels[code < 0].tolist())))
        raise DataError(f"y contains {unknown}, which the model does not know; its classes are {listed(classes, 10)}")
    return code


def whole(source: LocalSource) -> Table:
    return source.batch(0, source.n_rows).table


def names_of(table: Table) -> tuple[str, ...]:
    """Return the names of all columns; columns without a name are named by their index."""
    return table.names_of(range(table.n_features))


def indices_of(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Return the indices of columns that are given by name or index."""
    known = {name: j for j, name in enumerate(names)}
    return [_index(column, known) for column in columns]


def _index(column: Any, known: dict[str, int]) -> int:
    if isinstance(column, str) and column in known:
        return known[column]
    if isinstance(column, Integral) and 0 <= int(column) < len(known):
        return int(column)
    raise DataError(f"there is no column {column!r}; the columns are {listed(known, 10)}")


def floats(table: Table, indices: Sequence[int]) -> Array:
    """Return some columns as numbers (n, m), with NaN for missing values."""
    return np.asarray(table.take(indices).floats(), dtype=np.float64)
