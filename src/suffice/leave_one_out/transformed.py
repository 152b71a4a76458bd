"""Leave-one-out of models of moments of x, log x or 1 / x: a row changes the moments of its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities.independent import Cells, row_sums
from ..densities.transformed import Moments, TransformedDensity
from ..stats import TransformedStats
from ..stats.base import FAINT, faint
from ..stats.transformed import transformed
from ..tables.table import Table
from .base import LeaveOneOut, left

Array = NDArray[Any]

_EPS = float(np.finfo(np.float64).eps)
_CELLS = 1 << 17  # of statistics side by side


@dataclass(frozen=True)
class TransformedLeaveOneOut(LeaveOneOut):
    """The model of all rows, from which any one row can be left out."""

    statistics: TransformedStats
    density: TransformedDensity
    alpha: float = 0.0

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        X = self.density.read(table)
        out, little = np.empty((len(X), len(self.statistics.classes))), np.zeros(len(X), bool)
        self.density.score(X, all=out)
        step = max(1, _CELLS // self.statistics.moments.mean.size)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            little[rows] = self._without(X[rows], code[rows], weight[rows], out[rows])
        before = self.statistics.weight[code]
        own = np.arange(len(X)), code
        out[own] = np.where(left(before, weight) > 0, out[own], -np.inf)
        return out, little | faint(before, weight)

    def _without(self, X: Array, code: Array, weight: Array, out: Array) -> Array:
        """Correct the scores (n, k) of the model of all rows; return the rows for which too few digits are left."""
        stats, cells = self.statistics, Cells.of(X, self.density.support)
        gone = np.where(cells.missing, 0.0, weight[:, None])
        rest, little = self._rest(cells, code, gone)
        # What all classes say stands in for a class that does not have a column, and changes with every row.
        lacking = (stats.observed[stats.weight > 0] == 0).any()
        shared = (rest.weight == 0).any(axis=1) | lacking | self.density.pools
        leaving = weight > 0
        alone, together = np.flatnonzero(leaving & ~shared), np.flatnonzero(leaving & shared)
        if len(alone):
            one = Moments(*(part[alone][:, None] for part in rest))
            out[alone, code[alone]] = self._scores(one, cells, alone)[:, 0]
        if len(together):
            shape = (len(together), 1, 1)
            weights = np.tile(stats.observed, shape)
            means, scatters = (np.tile(part, (*shape, 1)) for part in (stats.mean, stats.scatter))
            for whole, part in zip((weights, means, scatters), rest, strict=True):
                whole[np.arange(len(together)), code[together]] = part[together]
            scored = self._scores(Moments(weights, means, scatters), cells, together)
            out[together] = np.where(stats.weight > 0, scored, -np.inf)
        return little & leaving

    def _rest(self, cells: Cells, code: Array, gone: Array) -> tuple[Moments, Array]:
        """The moments (n, d) and (n, t, d) of the own classes without the rows, and where digits are lost, (n,)."""
        stats = self.statistics
        n, mean, scatter = stats.observed[code], stats.mean[code], stats.scatter[code]
        z, gone_cells = transformed(cells.x, stats.transforms), gone[:, None, :]
        weight = left(n, gone)
        ratio = np.divide(gone, weight, out=np.zeros_like(weight), where=weight > 0)[:, None, :]
        with np.errstate(over="ignore", invalid="ignore"):
            moved = mean + (mean - z) * ratio
            spread = scatter - (mean - z) ** 2 * (1 + ratio) * gone_cells
            size = np.maximum(np.abs(mean), np.abs(z))
            moved = np.where(np.abs(moved) <= 8 * _EPS * size * (1 + ratio), 0.0, moved)
        spread = np.where(spread < 8 * _EPS * scatter, 0.0, spread)
        # Sums of positive numbers lose their digits where little is left; those of logarithms have no size to compare.
        positive = np.array([name != "log" for name in stats.transforms])[:, None]
        lost = np.where(positive, moved < FAINT * size, (spread < FAINT * scatter) & (scatter > 0)) & (gone_cells > 0)
        little = (lost.any(axis=1) & (weight > 0)) | faint(n, gone)
        return Moments(weight, moved, spread), np.asarray(little.any(axis=1))

    def _scores(self, moments: Moments, cells: Cells, rows: Array) -> Array:
        """Scores (n, k) of rows, each by a model of its own."""
        parameters, _ = self.density.fitted(moments, self.alpha)
        some = Cells(*(part[rows][:, None] for part in cells))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return row_sums(some.shares(self.density.log_density(self.density.prepared(some.x), *parameters)))
