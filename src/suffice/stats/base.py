"""The contract of every sufficient statistic.

A statistic is an immutable value: arrays with a leading class axis, holding what the rows said and nothing that
anybody chose (no prior, no smoothing, no divisor).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..errors import StatisticsError, listed
from ..labels import positions, union

Array = NDArray[Any]


class Statistics(ABC):
    """Statistics add and subtract, and so do the rows behind them."""

    classes: Array  # (k,) sorted labels
    weight: Array  # (k,) total weight of each class

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @classmethod
    @abstractmethod
    def of(cls, batch: Batch) -> Self:
        """The statistic of one batch of labelled rows."""

    @abstractmethod
    def aligned(self, classes: Array) -> Self:
        """The same statistic over a larger vocabulary, empty for the classes it did not have."""

    @abstractmethod
    def _merged(self, other: Self) -> Self:
        """The sum; both have the same classes and columns."""

    @abstractmethod
    def _without(self, other: Self) -> Self:
        """The difference; both have the same classes and columns, and self is heavier."""

    @abstractmethod
    def _check_columns(self, other: Self) -> None:
        """Raise StatisticsError where the columns of the two differ."""

    @abstractmethod
    def is_finite(self) -> bool:
        """Whether no NaN or infinity came in with the rows."""

    @abstractmethod
    def to_arrays(self) -> dict[str, Array]:
        """Everything but the classes, by name."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        """The inverse of `to_arrays`."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_columns(other)
        classes = union(self.classes, other.classes)
        return self.aligned(classes)._merged(other.aligned(classes))

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_columns(other)
        unknown = other.classes[(positions(other.classes, self.classes) < 0) & (other.weight > 0)]
        if len(unknown):
            raise StatisticsError(f"cannot forget rows of {listed(unknown)}: no such class was ever learnt")
        other = other.aligned(union(self.classes, other.classes))
        mine = self.aligned(other.classes)
        short = other.weight > mine.weight * (1 + 1e-9)
        if short.any():
            raise StatisticsError(
                f"cannot forget more than was learnt: class {listed(other.classes[short])} has weight "
                f"{listed(mine.weight[short])} and {listed(other.weight[short])} should go"
            )
        return mine._without(other)


def spread(array: Array, places: Array, k: int) -> Array:
    """Move the entries of a leading class axis to their places among k."""
    out = np.zeros((k, *array.shape[1:]), dtype=array.dtype)
    out[places] = array
    return out


def frozen(array: Array) -> Array:
    """The array, read-only from now on."""
    array.flags.writeable = False
    return array
