"""The statistics of many training sets from one pass: every row is read once for all the splits that share it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .collect import collect
from .errors import DataError
from .folds import Folds
from .sources import PartedSource
from .sources.arrays import ArraySource
from .stats import Statistics
from .table import contiguous

Array = NDArray[Any]
S = TypeVar("S", bound=Statistics)

_SPLITS = 32  # of a round at most: each of them has a statistic in memory


@dataclass(frozen=True)
class Round:
    """Splits whose left-out rows have nothing in common, so that one pass serves all of them."""

    left: list[Array]  # the rows that each split does not train on
    shared: Array  # the rows that all of them train on


def rounds(training: Iterable[Array], n: int) -> Iterator[Round]:
    """Rounds of consecutive splits, given the rows (positions among n) that each split trains on.

    k folds are one round, and k folds repeated r times are r of them. Splits that share left-out rows, or train on a
    row more than once, are rounds of their own.
    """
    left: list[Array] = []
    gone = np.zeros(n, bool)  # left out by a split of this round
    for train in training:
        times = np.bincount(train, minlength=n)
        out = np.flatnonzero(times == 0)
        alone = len(out) + len(train) != n
        if left and (alone or len(left) == _SPLITS or gone[out].any()):
            yield Round(left, np.flatnonzero(~gone))
            left, gone = [], np.zeros(n, bool)
        if alone:
            yield Round([np.empty(0, np.intp)], train)
        else:
            left.append(out)
            gone[out] = True
    if left:
        yield Round(left, np.flatnonzero(~gone))


def training_statistics(source: ArraySource, part: Round, of: Callable[[Batch], S]) -> Iterator[S | DataError]:
    """The statistic of each split's training rows, and then, if there are several splits, that of all rows.

    What cannot be collected from some rows fails for the splits that train on them, and is yielded as the error.
    """

    def statistic(rows: Array) -> S | DataError | None:
        try:
            return collect(source.rows(rows), of) if len(rows) else None
        except DataError as error:
            return error

    left = [statistic(rows) for rows in part.left] if len(part.left) > 1 else []
    total = None
    for total in _all_but_one(left, statistic(part.shared)):
        yield DataError("a split trains on no rows") if total is None else total
    if left and (whole := _add(total, left[-1])) is not None:
        yield whole


def _all_but_one(parts: list[S | DataError | None], rest: S | DataError | None) -> Iterator[S | DataError | None]:
    """The sum of the rest and of all parts but one, for each of them: by additions alone, which lose no digits."""
    if len(parts) < 2:
        yield rest
        return
    first, second = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    yield from _all_but_one(first, reduce(_add, second, rest))
    yield from _all_but_one(second, reduce(_add, first, rest))


def _add(a: S | DataError | None, b: S | DataError | None) -> S | DataError | None:
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, DataError) or isinstance(b, DataError):
        return a if isinstance(a, DataError) else b
    total: S = operator.add(a, b)
    return total


@dataclass(frozen=True)
class FoldStatistics:
    """What one pass over a table in parts gives for the folds."""

    statistics: dict[str, list[Any]]  # by collector, for each fold: a statistic, an error, or None without rows
    count: Array  # (folds, k) rows of each class

    @classmethod
    def of(cls, source: PartedSource, folds: Folds, collectors: dict[str, Callable[[Batch], Any]]) -> FoldStatistics:
        def of_part(number: int, batches: Iterator[Batch]) -> FoldStatistics:
            count = np.zeros((folds.n_folds, len(folds.classes)), np.int64)
            found: dict[str, list[Any]] = {name: [None] * folds.n_folds for name in collectors}
            for batch, code, fold in folds.of_part(number, batches):
                np.add.at(count, (fold, code), 1)
                for f, rows in by_fold(fold):
                    part = batch.rows(rows)
                    for name, of in collectors.items():
                        found[name][f] = _add(found[name][f], _tried(of, part))
            return cls(found, count)

        total: FoldStatistics = source.reduce_parts(of_part, operator.add)
        return replace(total, statistics={n: _finite(source, collectors[n], s) for n, s in total.statistics.items()})

    def __add__(self, other: FoldStatistics) -> FoldStatistics:
        both = {n: list(map(_add, mine, other.statistics[n])) for n, mine in self.statistics.items()}
        return FoldStatistics(both, self.count + other.count)

    def training(self, name: str) -> list[Any]:
        """The statistic of all folds but one, for each of them, and then that of all."""
        own = self.statistics[name]
        rest = list(_all_but_one(own, None))
        return [*rest, _add(rest[-1], own[-1])]


def by_fold(fold: Array) -> Iterator[tuple[int, slice | Array]]:
    """The rows of each fold that there is."""
    for f in np.unique(fold).tolist():
        yield f, contiguous(np.flatnonzero(fold == f))


def _tried(of: Callable[[Batch], S], batch: Batch) -> S | DataError:
    try:
        return of(batch)
    except DataError as error:
        return error


def _finite(source: PartedSource, of: Callable[[Batch], Any], folds: list[Any]) -> list[Any]:
    """What folds come to, with an error in place of each that is not finite."""
    if all(one is None or isinstance(one, DataError) or one.is_finite() for one in folds):
        return folds
    error = DataError("some values are not finite")
    try:
        collect(source, of)
    except DataError as found:  # which says where they are
        error = found
    return [one if one is None or isinstance(one, DataError) or one.is_finite() else error for one in folds]
