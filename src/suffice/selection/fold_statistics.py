"""The statistics of many training sets from one pass: every row is read once for all splits that share it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..collect import collect
from ..errors import DataError
from ..sources import PartedSource
from ..sources.frames.arrays import ArraySource
from ..stats import Statistics
from ..tables.batch import Batch
from ..tables.table import contiguous
from ..threads import ahead, single_threaded_blas, thread_count
from .folds import Folds

Array = NDArray[Any]
S = TypeVar("S", bound=Statistics)

_SPLITS = 32  # of a round at most: each of them has a statistic in memory
_GROUP = 6  # statistics that share the sum of all others


@dataclass(frozen=True)
class Round:
    """Splits whose held-out rows are disjoint, so that one pass is enough for all of them."""

    left: list[Array]  # the rows that each split does not train on
    shared: Array  # the rows that all of them train on

    @classmethod
    def alone(cls, train: Array) -> Round:
        """Return the round of a single split."""
        return cls([np.empty(0, np.intp)], train)


def rounds(training: Iterable[Array], n: int) -> Iterator[Round]:
    """Return rounds of consecutive splits, given the indices of the training rows of each split.

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
            yield Round.alone(train)
        else:
            left.append(out)
            gone[out] = True
    if left:
        yield Round(left, np.flatnonzero(~gone))


def training_statistics(source: ArraySource, part: Round, of: Callable[[Batch], S]) -> AllButOne[S]:
    """Return the statistics of the training rows of the splits of a round.

    What cannot be collected from some rows fails for the splits that train on them; it is kept as the error.
    """

    def statistic(rows: Array, n_jobs: int | None = 1) -> S | DataError | None:
        some = source.rows(rows)
        some.n_jobs = n_jobs
        try:
            return collect(some, of, n_rows=source.n_rows) if len(rows) else None
        except DataError as error:
            return error

    folds = part.left if len(part.left) > 1 else []
    with single_threaded_blas():
        left = list(ahead(statistic, folds, thread_count(source.n_jobs)))
    return AllButOne(left, statistic(part.shared, source.n_jobs))


class AllButOne(Generic[S]):
    """Sums of a rest and of all parts but one, computed by additions only, which lose no digits."""

    def __init__(self, parts: list[S | DataError | None], rest: S | DataError | None = None) -> None:
        self._parts = parts
        # Parts of a group share the sum of all others.
        starts = range(0, max(len(parts), 1), _GROUP)
        self._others = [_sum([rest, *parts[:start], *parts[start + _GROUP :]]) for start in starts]

    def without(self, i: int) -> S | DataError:
        """Return the sum without one part."""
        start = i - i % _GROUP
        group = self._parts[start : start + _GROUP]
        total = _sum([self._others[i // _GROUP], *group[: i - start], *group[i - start + 1 :]])
        return DataError("a split trains on no rows") if total is None else total

    def whole(self) -> S | DataError | None:
        """Return the sum of all parts."""
        return _sum([self._others[0], *self._parts[:_GROUP]])


def _sum(parts: Sequence[S | DataError | None]) -> S | DataError | None:
    """Return the sum of statistics, or the first error among them."""
    failed = next((part for part in parts if isinstance(part, DataError)), None)
    some = [part for part in parts if not (part is None or isinstance(part, DataError))]
    return failed or (some[0].plus(*some[1:]) if some else None)


@dataclass(frozen=True)
class FoldStatistics:
    """The statistics of the folds, from one pass over partitioned data."""

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
                        found[name][f] = _sum([found[name][f], _tried(of, part)])
            return cls(found, count)

        total: FoldStatistics = source.reduce_parts(of_part, operator.add)
        return replace(total, statistics={n: _finite(source, collectors[n], s) for n, s in total.statistics.items()})

    def __add__(self, other: FoldStatistics) -> FoldStatistics:
        both = {n: list(map(_sum, zip(mine, other.statistics[n], strict=True))) for n, mine in self.statistics.items()}
        return FoldStatistics(both, self.count + other.count)

    def training(self, name: str) -> AllButOne[Any]:
        """Return the statistic of all folds but one."""
        return AllButOne(self.statistics[name])


def by_fold(fold: Array) -> Iterator[tuple[int, slice | Array]]:
    """Yield the rows of each fold that occurs."""
    for f in np.unique(fold).tolist():
        yield f, contiguous(np.flatnonzero(fold == f))


def _tried(of: Callable[[Batch], S], batch: Batch) -> S | DataError:
    try:
        return of(batch)
    except DataError as error:
        return error


def _finite(source: PartedSource, of: Callable[[Batch], Any], folds: list[Any]) -> list[Any]:
    """Return the statistics of folds, with an error instead of each that is not finite."""
    if all(one is None or isinstance(one, DataError) or one.is_finite() for one in folds):
        return folds
    error = DataError("some values are not finite")
    again = copy(source)
    again.checkpoint = None  # which is of runs that are gone on with
    try:
        collect(again, of)
    except DataError as found:  # which says where they are
        error = found
    return [one if one is None or isinstance(one, DataError) or one.is_finite() else error for one in folds]
