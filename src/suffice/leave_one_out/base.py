"""The contract of leave-one-out: score each row by the model of all other rows, and report the rows for which a
closed form cannot be trusted."""

from __future__ import annotations

import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..collect import collect, refuse_nonfinite
from ..densities import Density
from ..errors import DataError, PrecisionWarning, StatisticsError, warn
from ..sources import LocalSource
from ..stats import Statistics
from ..tables.batch import Batch
from ..tables.labels import encode, positions
from ..tables.table import Table

Array = NDArray[Any]
S = TypeVar("S", bound=Statistics)

ROUNDING = 1e-12  # less than this share is nothing but rounding
ROWS = 4096  # left out at a time by each thread
_PASSES = 64  # over the data at most, for rows without which too few digits are left


class LeaveOneOut(ABC):
    """The model of all rows, from which any one row can be left out."""

    @abstractmethod
    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        """log p(x | class), (n, k), of each row by the model without it; and which rows (n,) want a model of their own,
        since no closed form can be trusted for them.

        Parameters
        ----------
        table : n rows, all of them among those of the statistic
        code : (n,) the class of each
        weight : (n,)
        """


def held_out_scores(
    source: LocalSource,
    of: Callable[[Batch], S],
    statistics: S,
    model: LeaveOneOut,
    estimate: Callable[[S], Density],
) -> Array:
    """The scores (n, k) of all rows of a source, whose statistic was collected by `of`."""
    out = np.empty((source.n_rows, len(statistics.classes)))

    def score(batch: Batch) -> list[int]:
        """Write the scores of a batch; return the rows for which a closed form is not enough."""
        whole, code, weight = out[batch.start : batch.start + len(batch)], *coded(batch, statistics.classes)
        alone: list[int] = []
        for start in range(0, len(batch), ROWS):
            rows = slice(start, start + ROWS)
            whole[rows], wanting = model.scores(batch.table[rows], code[rows], weight[rows])
            alone += (batch.start + start + np.flatnonzero(wanting)).tolist()
        return alone

    alone = source.reduce(score, operator.add)
    count = collect(_Reweighted(source, lambda _, w: np.sign(w)), of) if alone else statistics
    read = 0
    for i in alone:
        row = source.batch(i, i + 1)
        rest = statistics
        if row.weight is None or row.weight[0]:
            gone = of(row).aligned(statistics.classes)
            difference = _without(statistics, gone)
            blurred = difference is None or statistics.is_faint_without(gone, difference, count)
            if difference is None or (blurred and read < _PASSES):
                difference = collect(_Reweighted(source, partial(_but_one, i)), of)
            rest, read = difference, read + blurred
        density = estimate(rest)
        density.score(density.read(row.table), all=out[i : i + 1])
    if read > _PASSES:
        warn(
            f"leaving out any one of {read} rows leaves almost no weight or variance in its class. "
            f"For {_PASSES} of them, the model was fitted again without the row; the scores of the "
            "others may be inaccurate. Rescale the columns or the weights",
            PrecisionWarning,
        )
    if np.isnan(out).any():
        refuse_nonfinite(source)
        raise DataError("some values are too large to be scored; rescale the columns")
    return out


def coded(batch: Batch, classes: Array) -> tuple[Array, Array]:
    """Classes (n,) and weights (n,) of the rows of a batch."""
    labels, code = encode(np.asarray(batch.y))
    return positions(labels, classes)[code], np.ones(len(batch)) if batch.weight is None else batch.weight


def frequencies_without(code: Array, weight: Array, k: int) -> Array:
    """The frequencies (n, k) of the classes among all other rows."""
    total = np.bincount(code, weight, minlength=k)
    counts, own = np.tile(total, (len(code), 1)), (np.arange(len(code)), code)
    counts[own] = left(counts[own], weight)
    rows = counts.sum(axis=1, keepdims=True)
    if not rows.all():
        raise DataError("with one row left out, no rows remain to estimate the prior from; give a prior")
    return np.asarray(counts / rows)


def left(before: Array, gone: Array) -> Array:
    """Return a - b, with zero for differences that are only rounding."""
    rest = before - gone
    return np.where(rest <= ROUNDING * before, 0.0, rest)


def _but_one(i: int, rows: Array, weight: Array) -> Array:
    return np.where(rows == i, 0.0, weight)


def _without(statistics: S, row: S) -> S | None:
    """Return the difference, or None if rounding makes it invalid."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # is_faint_without sees to it
            return statistics - row
    except StatisticsError:
        return None


class _Reweighted(LocalSource):
    """The rows of a source with other weights, computed from the indices of the rows and their weights."""

    def __init__(self, source: LocalSource, weight: Callable[[Array, Array], Array]) -> None:
        self.source, self.weight, self.n_rows, self.n_features = source, weight, source.n_rows, source.n_features
        self.names, self.frame, self.n_jobs = source.names, source.frame, source.n_jobs

    def step(self) -> int:
        return self.source.step()

    def batch(self, start: int, stop: int) -> Batch:
        batch = self.source.batch(start, stop)
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        return replace(batch, weight=self.weight(np.arange(start, start + len(batch)), weight))
