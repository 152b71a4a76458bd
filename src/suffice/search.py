"""The statistics of many training sets from one pass: every row is read once for all the splits that share it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .collect import collect
from .errors import DataError
from .sources.arrays import ArraySource
from .stats import Statistics

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
