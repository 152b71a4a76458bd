"""The statistics of many training sets from one pass: every row is read once for all the splits that share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .collect import collect
from .errors import DataError
from .sources.arrays import ArraySource
from .stats import Statistics
from .threads import ahead, single_threaded_blas, thread_count

Array = NDArray[Any]
S = TypeVar("S", bound=Statistics)

_SPLITS = 32  # of a round at most: each of them has a statistic in memory
_GROUP = 6  # statistics that share the sum of all others


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


class TrainingStatistics(Generic[S]):
    """The statistics of the training rows of a round's splits, by additions alone, which lose no digits.

    What cannot be collected from some rows fails for the splits that train on them; it is kept as the error.
    """

    def __init__(self, source: ArraySource, part: Round, of: Callable[[Batch], S]) -> None:
        def statistic(rows: Array, n_jobs: int | None = 1) -> S | DataError | None:
            some = source.rows(rows)
            some.n_jobs = n_jobs
            try:
                return collect(some, of) if len(rows) else None
            except DataError as error:
                return error

        folds = part.left if len(part.left) > 1 else []
        with single_threaded_blas():
            self._left = list(ahead(statistic, folds, thread_count(source.n_jobs)))
        rest = statistic(part.shared, source.n_jobs)
        # A group of splits shares the sum of what none of them leaves out.
        starts = range(0, len(part.left), _GROUP)
        self._others = [_sum([rest, *self._left[:start], *self._left[start + _GROUP :]]) for start in starts]

    def without(self, split: int) -> S | DataError:
        """Of the rows that a split trains on."""
        start = split - split % _GROUP
        group = self._left[start : start + _GROUP]
        total = _sum([self._others[split // _GROUP], *group[: split - start], *group[split - start + 1 :]])
        return DataError("a split trains on no rows") if total is None else total

    def whole(self) -> S | DataError | None:
        """Of all rows of the round."""
        return _sum([self._others[0], *self._left[:_GROUP]])


def _sum(parts: list[S | DataError | None]) -> S | DataError | None:
    """What there is of them; the first error, where there is one."""
    failed = next((part for part in parts if isinstance(part, DataError)), None)
    some = [part for part in parts if not (part is None or isinstance(part, DataError))]
    return failed or (some[0].plus(*some[1:]) if some else None)
