"""The contract of every sufficient statistic.

A statistic is an immutable value: arrays with a leading class axis, holding what the rows said and nothing that
anybody chose (no prior, no smoothing, no divisor).
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StatisticsError, listed
from ..tables.batch import Batch
from ..tables.labels import SoftLabels, encode, positions, union
from ..tables.table import Table
from ..tables.vocabulary import words_from_arrays, words_to_arrays

Array = NDArray[Any]


class Statistics(ABC):
    """Statistics add and subtract, and so do the rows behind them."""

    classes: Array  # (k,) sorted labels
    weight: Array  # (k,) total weight of each class
    names: tuple[str, ...] | None = None  # of the columns, where they are kept
    kinds: ClassVar[dict[str, type[Statistics]]] = {}  # all there are, by name: files name what they hold

    def __init_subclass__(cls) -> None:
        Statistics.kinds[cls.__name__] = cls

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    def category_kinds(self) -> dict[int, str]:
        """What the categories of columns are, text, numbers or truths, by the place of the column."""
        return {}

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

    def plus(self, *others: Self) -> Self:
        """The sum of this one and of others, which may take less than to add them one by one."""
        return reduce(operator.add, others, self)

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


_SOFT_ROWS = 4096  # of a soft-labelled batch, read once for each class while in the cache

S = TypeVar("S", bound=Statistics)


def by_class(batch: Batch, collect: Callable[[Table, Array, Array, Array | None], S]) -> S:
    """``collect(table, classes, code, weight)`` of a batch of labelled rows, hard or soft.

    A soft label is one weight per class: the same collector, class after class.
    """
    if batch.y is None:
        raise DataError("labels are needed to collect the statistics of classes")
    if not isinstance(batch.y, SoftLabels):
        return collect(batch.table, *(batch.coded or encode(batch.y)), batch.weight)
    total: S | None = None
    for start in range(0, max(len(batch), 1), _SOFT_ROWS):
        rows = slice(start, start + _SOFT_ROWS)
        table, soft = batch.table[rows], batch.y[rows]
        same_class = np.zeros(len(table), np.int32)
        for c in range(len(soft.classes)):
            w = np.ascontiguousarray(soft.responsibility[:, c], dtype=np.float64)
            w = w if batch.weight is None else w * batch.weight[rows]
            part = collect(table, soft.classes[c : c + 1], same_class, w)
            total = part if total is None else total + part
    assert total is not None
    return total


def feature_union(a: tuple[str, ...] | None, b: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The names of both, those of a first."""
    if a is None or b is None or a == b:
        return a if b is None else b
    return tuple(dict.fromkeys([*a, *b]))


def names_to_arrays(names: tuple[str, ...] | None) -> dict[str, Array]:
    """Names of columns as numbers, for `to_arrays`."""
    if names is None:
        return {}
    letters, ends = words_to_arrays(list(names))
    return {"names_letters": letters, "names_ends": ends}


def names_from_arrays(arrays: Mapping[str, Array]) -> tuple[str, ...] | None:
    """The inverse of `names_to_arrays`."""
    if not {"names_letters", "names_ends"} & set(arrays):
        return None
    if not {"names_letters", "names_ends"} <= set(arrays):
        raise StatisticsError("the names of the columns are not whole")
    return tuple(words_from_arrays(arrays["names_letters"], arrays["names_ends"]))


def spread(array: Array, places: Array, k: int) -> Array:
    """Move the entries of a leading class axis to their places among k."""
    out = np.zeros((k, *array.shape[1:]), dtype=array.dtype)
    out[places] = array
    return out


def frozen(array: Array) -> Array:
    """The array, read-only from now on."""
    array.flags.writeable = False
    return array
