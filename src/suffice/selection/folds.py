"""Folds of partitioned data: the counts of each class determine the fold of each row."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, warn
from ..sources import PartedSource
from ..sources.labelled import refuse_missing_labels
from ..tables.batch import Batch
from ..tables.labels import encode, missing_labels, positions, union

Array = NDArray[Any]
Split = tuple[Array, Array]  # the indices of training and of held-out rows


@dataclass(frozen=True)
class _Labels:
    """The labels of a partition."""

    number: int
    count: dict[Any, int]  # rows of each class, in the order in which the classes come
    missing: int


def _labels(number: int, batches: Iterator[Batch]) -> list[_Labels]:
    count: dict[Any, int] = {}
    missing = 0
    for batch in batches:
        y = np.asarray(batch.y)
        if n := int(missing_labels(y).sum()):
            missing += n
            continue
        classes, code = encode(y)
        first = np.unique(code, return_index=True)[1]
        rows, names = np.bincount(code, minlength=len(classes)), classes.tolist()
        for c in np.argsort(first).tolist():
            count[names[c]] = count.get(names[c], 0) + int(rows[c])
    return [_Labels(number, count, missing)]


@dataclass(frozen=True)
class Folds:
    """The folds that scikit-learn's KFold and StratifiedKFold make of the whole table, without shuffling."""

    n_folds: int
    classes: Array  # (k,) sorted
    before: dict[int, Array]  # by number of the part, rows of each class (k,) in the parts before
    after: dict[int, Array]  # the same with the part's own
    ends: Array  # (k, folds): how many rows of the class, or of any where not stratified, are in this fold or before
    stratified: bool

    @classmethod
    def of(cls, source: PartedSource, n_folds: int, stratified: bool) -> Folds:
        """Count the labels in one pass."""
        parts = source.reduce_parts(_labels, operator.add)
        if any(part.missing for part in parts):
            refuse_missing_labels(source)
        classes = reduce(union, (encode(_array(part.count))[0] for part in parts))
        count = np.zeros((len(parts), len(classes)), np.int64)
        for row, part in zip(count, parts, strict=True):
            row[positions(_array(part.count), classes)] = list(part.count.values())
        total = count.cumsum(axis=0)
        numbers = [part.number for part in parts]
        after = dict(zip(numbers, total, strict=True))
        before = dict(zip(numbers, total - count, strict=True))
        appearance = positions(_array(dict.fromkeys(label for part in parts for label in part.count)), classes)
        share = _shares(total[-1], appearance, n_folds, stratified)
        return cls(n_folds, classes, before, after, share.cumsum(axis=1), stratified)

    def of_part(self, number: int, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Array, Array]]:
        """Yield the batches of a partition, with the class index (n,) and the fold (n,) of each row."""
        seen = self.before.get(number)
        for batch in batches:
            own, code = encode(np.asarray(batch.y))
            place = positions(own, self.classes)
            if seen is None or (place < 0).any():
                raise _changed()
            code = place[code]
            yield batch, code, self._fold(code, seen)
            seen = seen + np.bincount(code, minlength=len(self.classes))
        if seen is None or (seen != self.after[number]).any():
            raise _changed()

    def _fold(self, code: Array, seen: Array) -> Array:
        if not self.stratified:
            return np.asarray(np.searchsorted(self.ends[0], seen.sum() + np.arange(len(code)), side="right"))
        fold = np.empty(len(code), np.intp)
        for c in np.unique(code).tolist():
            rows = np.flatnonzero(code == c)
            fold[rows] = np.searchsorted(self.ends[c], seen[c] + np.arange(len(rows)), side="right")
        return fold


def _shares(count: Array, appearance: Array, n_folds: int, stratified: bool) -> Array:
    """Return the number of rows of each class in each fold, (k, folds); if not stratified, (1, folds)."""
    n = int(count.sum())
    if n_folds > n:
        raise DataError(f"Cannot have number of splits n_splits={n_folds} greater than the number of samples: {n}")
    if not stratified:
        return _dealt(np.array([0, n]), n_folds)
    if (count < n_folds).all():
        raise DataError(f"n_splits={n_folds} cannot be greater than the number of members in each class.")
    if (count < n_folds).any():
        least = f"The least populated class in y has only {count.min()} members"
        warn(f"{least}, which is less than n_splits={n_folds}.", UserWarning)
    share = np.empty((len(count), n_folds), np.int64)
    share[appearance] = _dealt(np.concatenate([[0], count[appearance].cumsum()]), n_folds)
    return share


def _dealt(ends: Array, n_folds: int) -> Array:
    """Return how many rows between successive ends fall into each fold, if folds take rows in turns."""
    taken = (ends[:, None] - np.arange(n_folds) + n_folds - 1) // n_folds
    return np.diff(taken, axis=0)


def _array(labels: Any) -> Array:
    """Return labels as an array that does not turn numbers into text."""
    array = np.empty(len(labels), object)
    array[:] = list(labels)
    return array


def _changed() -> DataError:
    return DataError(
        "the rows are not those that were counted before, or lie in other partitions now; keep them as they are, as "
        "persist() of Dask and cache() or a table of Spark do"
    )
