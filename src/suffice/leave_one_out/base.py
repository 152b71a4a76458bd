"""What every family does: score rows by the model of all other rows, and say for which of them it cannot."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..collect import collect, refuse_nonfinite
from ..densities import Density
from ..errors import DataError, StatisticsError
from ..labels import encode, positions
from ..sources import LocalSource
from ..stats import BundleStats, MomentStats, Statistics
from ..table import Table

Array = NDArray[Any]
S = TypeVar("S", bound=Statistics)

FAINT = 1e-6  # less than this share of what was there has lost too many digits by subtraction
ROUNDING = 1e-12  # less than this share is nothing but rounding
ROWS = 4096  # left out at a time by each thread
_PASSES = 64  # over the data at most, for rows without which too few digits are left


class LeaveOneOut(ABC):
    """The model of all rows, ready to do without any one of them."""

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
        """Write the scores of a batch; return the rows that want more than a closed form."""
        whole, code, weight = out[batch.start : batch.start + len(batch)], *coded(batch, statistics.classes)
        alone: list[int] = []
        for start in range(0, len(batch), ROWS):
            rows = slice(start, start + ROWS)
            whole[rows], wanting = model.scores(batch.table[rows], code[rows], weight[rows])
            alone += (batch.start + start + np.flatnonzero(wanting)).tolist()
        return alone

    passes = _PASSES
    for i in source.reduce(score, operator.add):
        row = source.batch(i, i + 1)
        rest = statistics
        if row.weight is None or row.weight[0]:
            gone = of(row).aligned(statistics.classes)
            difference = _without(statistics, gone)
            if difference is None or (passes and _is_faint(statistics, gone, difference)):
                difference, passes = collect(_Without(source, i), of), max(passes - 1, 0)
            rest = difference
        density = estimate(rest)
        density.score(density.read(row.table), all=out[i : i + 1])
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
        raise DataError("without one of the rows there are none left to take the prior from; give a prior")
    return np.asarray(counts / rows)


def left(before: Array, gone: Array) -> Array:
    """What is left, with nothing for what cannot be told from rounding."""
    rest = before - gone
    return np.where(rest <= ROUNDING * before, 0.0, rest)


def faint(before: Array, gone: Array) -> Array:
    """Where so little is left, but not nothing, that its digits are gone."""
    return np.asarray((before - gone < FAINT * before) & (before != gone))


def _without(statistics: S, row: S) -> S | None:
    """The difference; None where rounding has left nothing that could be one."""
    try:
        return statistics - row
    except StatisticsError:
        return None


def _is_faint(before: Statistics, gone: Statistics, after: Statistics) -> bool:
    """Whether so little is left of a class or of a variance in it that its digits may be gone."""
    if isinstance(before, BundleStats) and isinstance(gone, BundleStats) and isinstance(after, BundleStats):
        return any(_is_faint(part, gone.parts[name], after.parts[name]) for name, part in before.parts.items())
    light = faint(before.weight, gone.weight)
    if not isinstance(before, MomentStats) or not isinstance(after, MomentStats):
        return bool(light.any())
    one, two = (
        m.scatter if m.layout == "diag" else np.einsum("...ii->...i", m.scatter).reshape(-1, m.n_features)
        for m in (before, after)
    )
    # One row that is left of two of equal weight has no variance that could be lost.
    several = light | (after.weight > gone.weight * (1 + FAINT))
    several = np.asarray(several.any()) if before.layout == "pooled" else several[:, None]
    return bool(light.any() or ((two < FAINT * one) & several).any())


class _Without(LocalSource):
    """The rows of a source but for one, whose weight is zero."""

    def __init__(self, source: LocalSource, i: int) -> None:
        self.source, self.i, self.n_rows, self.n_features = source, i, source.n_rows, source.n_features
        self.names, self.frame, self.n_jobs = source.names, source.frame, source.n_jobs

    def step(self) -> int:
        return self.source.step()

    def batch(self, start: int, stop: int) -> Batch:
        batch = self.source.batch(start, stop)
        if not start <= self.i < stop:
            return batch
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight.copy()
        weight[self.i - start] = 0.0
        return replace(batch, weight=weight)
