"""Leave-one-out of negative binomial models: one model is fitted for each different value that is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities.independent import Cells, row_sums
from ..densities.negative_binomial import NegativeBinomialDensity, fitted_histograms
from ..stats import CategoryStats
from ..stats.base import faint
from ..tables.table import Table
from .base import LeaveOneOut, left

Array = NDArray[Any]

_CELLS = 1 << 18  # of histograms side by side


@dataclass(frozen=True)
class NegativeBinomialLeaveOneOut(LeaveOneOut):
    """The negative binomial model of all rows, from which any one row can be left out."""

    statistics: CategoryStats
    density: NegativeBinomialDensity
    alpha: float
    # The parameters (2, k) without a row of a class, a value and a weight, by column; threads may share them.
    _known: list[dict[tuple[int, int, float], Array]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", [{} for _ in range(self.statistics.n_features)])

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        stats, X = self.statistics, self.density.read(table)
        cells, before = Cells.of(X, self.density.support), stats.weight[code]
        shares, prepared = np.empty((len(X), len(stats.classes), X.shape[1])), self.density.prepared(cells.x)
        little = faint(before, weight)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for j, (a, b) in enumerate(pairwise(stats.bounds)):
                column = Cells(*(part[:, [j]] for part in cells))
                mean, size = self._parameters(j, slice(a, b), column, code, weight)
                terms = self.density.log_density(tuple(part[:, [j]] for part in prepared), mean, size)
                shares[:, :, j] = column.shares(terms)
        out = row_sums(shares)
        out[:, stats.weight == 0] = -np.inf
        own = np.arange(len(X)), code
        out[own] = np.where(left(before, weight) > 0, out[own], -np.inf)
        return out, little

    def _parameters(self, j: int, indices: slice, column: Cells, code: Array, weight: Array) -> tuple[Array, Array]:
        """Means and sizes (n, k) of a column by the models without each row."""
        whole = np.stack([self.density.means[:, j], self.density.sizes[:, j]])
        found = np.tile(whole, (len(code), 1, 1))
        rows = np.flatnonzero((weight > 0) & ~column.missing[:, 0])
        if not len(rows):
            return found[:, 0], found[:, 1]
        values = np.asarray(self.statistics.categories[j], np.float64)
        index = np.searchsorted(values, column.x[rows, 0])
        leaving, which = np.unique(np.stack([code[rows], index, weight[rows]], axis=1), axis=0, return_inverse=True)
        keys = [(int(c), int(v), float(w)) for c, v, w in leaving]
        known = self._known[j]
        self._fit([key for key in keys if key not in known], values, self.statistics.count[:, indices], known)
        found[rows] = np.stack([known[key] for key in keys])[which.reshape(-1)]
        return found[:, 0], found[:, 1]

    def _fit(self, keys: list[tuple[int, int, float]], values: Array, count: Array, known: dict[Any, Array]) -> None:
        step = max(1, _CELLS // count.size)
        for start in range(0, len(keys), step):
            some = keys[start : start + step]
            c, v, w = (np.array(part) for part in zip(*some, strict=True))
            histograms, own = np.tile(count, (len(some), 1, 1)), (np.arange(len(some)), c, v)
            histograms[own] = left(histograms[own], w)
            fitted = np.stack(fitted_histograms(values, histograms, self.alpha), axis=1)
            known.update(zip(some, fitted, strict=True))
