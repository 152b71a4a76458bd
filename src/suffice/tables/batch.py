"""A batch of rows, validated once, here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .labels import SoftLabels
from .table import Matrix, Table

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a table: features, and labels and weights where there are any."""

    table: Table
    y: Array | SoftLabels | None = None  # (n,)
    weight: Array | None = None  # (n,) float64; None means ones
    start: int = 0  # the position of the first row in its source
    coded: tuple[Array, Array] | None = None  # classes (k,) and codes (n,) of y, where they are known already

    @classmethod
    def of(cls, X: Any, y: Any = None, weight: Any = None) -> Batch:
        """Validate arrays and lists."""
        table = X if isinstance(X, Table) else Matrix(as_matrix(X))
        return cls(table, as_labels(y, len(table)), as_weight(weight, len(table)))

    def __len__(self) -> int:
        return len(self.table)

    @property
    def X(self) -> Array:  # noqa: N802
        """The features as numbers, (n, d) float32 or float64 with any strides. A cast, where they are not float yet,
        is the only copy; finiteness is checked by whoever reads the values."""
        return self.table.floats()

    def rows(self, rows: slice | Array) -> Batch:
        """Some of the rows, as a batch of their own."""
        y = None if self.y is None else self.y[rows]
        return Batch(self.table[rows], y, None if self.weight is None else self.weight[rows])

    def take(self, indices: Sequence[int]) -> Batch:
        """The same rows with some of the features."""
        return replace(self, table=self.table.take(indices))


def as_matrix(table: Any) -> Array:
    """A two-dimensional array with at least one column, of the dtype it came with."""
    if isinstance(table, np.ma.MaskedArray):
        table = _unmasked(table)
    try:
        X: Array = np.asarray(table)
    except ValueError as error:
        raise DataError(f"X is not a table, its rows may differ in length: {error}") from None
    if X.ndim == 0 and X.dtype == object:
        what = f"X is a {type(table).__name__}, which is not a table"
        raise DataError(f"Expected 2D array, got 0D array instead: {what}; pass a data frame or an array")
    check_ndim(X.ndim)
    if X.dtype.kind in "US" and not isinstance(table, np.ndarray):  # NumPy makes text of numbers and of NaN, too
        X = np.array(table, dtype=object)
    if X.shape[1] == 0:
        raise DataError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.dtype.kind == "c":
        raise DataError(f"Complex data not supported: X is {X.dtype}")
    if X.dtype.kind not in "fiubOUSmM":
        raise DataError(f"X holds {X.dtype}, not numbers, text or dates; pass a data frame, or convert it")
    return X


def _unmasked(table: Any) -> Array:
    """Return an array with missing values for masked cells: NaN or NaT, or None if the dtype has neither."""
    kind = table.dtype.kind
    if not np.ma.is_masked(table) or kind not in "fiubOUSmM":
        return np.asarray(table.data)
    exact = kind in "fmM" or (kind in "iu" and -(2**53) < table.min() <= table.max() < 2**53)
    plain = np.array(table.data, (table.dtype if kind in "fmM" else np.float64) if exact else object)
    plain[np.ma.getmaskarray(table)] = "NaT" if kind in "mM" else np.nan if exact else None
    return plain


def check_ndim(ndim: int) -> None:
    """Raise an error if an array is not two-dimensional."""
    if ndim != 2:
        raise DataError(
            f"Expected 2D array, got {ndim}D array instead. Reshape your data: X.reshape(-1, 1) makes it one "
            "column, X.reshape(1, -1) one row"
        )


def as_labels(labels: Any, n: int) -> Array | SoftLabels | None:
    """One label, or one row of responsibilities, for each of n rows."""
    if labels is None:
        return None
    if isinstance(labels, SoftLabels):
        labels.check()
        y: Array | SoftLabels = labels
    else:
        y = np.asarray(labels)
        if y.ndim != 1:
            raise DataError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        if y.dtype.kind in "US" and isinstance(labels, list | tuple) and len({type(v) for v in labels}) > 1:
            y = np.array(labels, dtype=object)  # NumPy would have made text of everything
    if len(y) != n:
        raise DataError(f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(y)}")
    return y


def as_weight(weights: Any, n: int) -> Array | None:
    """One finite, non-negative weight for each of n rows, not all of them zero."""
    if weights is None:
        return None
    weight = checked_weight(weights, n)
    if n and not weight.any():
        raise DataError("all weights are zero: there is nothing to learn from")
    return weight


def checked_weight(weights: Any, n: int) -> Array:
    """One finite, non-negative weight for each of n rows."""
    try:
        weight: Array = np.require(weights, np.float64, ["C", "A", "E"])
    except (TypeError, ValueError) as error:
        raise DataError(f"weights must be numbers: {error}") from None
    if weight.ndim != 1:
        raise DataError(f"Sample weights must be 1D array, got an array of shape {weight.shape}")
    if len(weight) != n:
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError("weights must be finite and not negative")
    return weight
