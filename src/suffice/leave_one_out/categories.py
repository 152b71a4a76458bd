"""Leave-one-out of categorical models: a row changes one count in every column, and may be the only row of a
category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from ..densities import CategoricalDensity
from ..densities.categorical import MISSING, UNKNOWN, Alphas, pseudo_counts
from ..errors import DataError, as_parameter, listed
from ..stats import CategoryStats
from ..stats.base import faint
from ..tables.table import Table
from .base import LeaveOneOut, left

Array = NDArray[Any]


class _Column(NamedTuple):
    """A column that was ever observed, or whose categories are declared."""

    j: int
    counts: Array  # (v, k)
    sums: Array  # (v,) over classes
    totals: Array  # (k,) over categories
    fixed: Array  # (v,) which categories are declared, and do not leave with their last row
    pseudo: Array  # (v,) pseudo-counts


@dataclass(frozen=True)
class CategoricalLeaveOneOut(LeaveOneOut):
    """The categorical model of all rows, from which any one row can be left out."""

    statistics: CategoryStats
    density: CategoricalDensity
    alpha: Alphas

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        x, own = self.density.read(table), (np.arange(len(code)), code)
        out, indices = np.empty((len(code), len(self.statistics.classes))), self.density.indices(x)
        self.density.score(x, all=out)
        before = self.statistics.weight[code]
        rest = left(before, weight)
        out[own], pooled = self._own(table, indices, code, weight)
        if pooled.any():
            out[pooled] = self._all(indices[pooled], code[pooled], weight[pooled])
        out[:, self.statistics.weight == 0] = -np.inf
        out[own] = np.where(rest > 0, out[own], -np.inf)
        return out, faint(before, weight)

    @cached_property
    def _columns(self) -> list[_Column]:
        stats, fixed = self.statistics, self.statistics.is_declared()
        pseudo = pseudo_counts(self.alpha, stats)
        parts = [(j, stats.count[:, a:b].T, fixed[a:b]) for j, (a, b) in enumerate(pairwise(stats.bounds))]
        return [
            _Column(j, count, count.sum(axis=1), count.sum(axis=0), own, pseudo[j])
            for j, count, own in parts
            if len(count)
        ]

    def _own(self, table: Table, indices: Array, code: Array, weight: Array) -> tuple[Array, Array]:
        """The scores of the own classes without the rows, (n,); and for which rows (n,) other classes change as well,
        since a category leaves with them, or a class takes what all classes say."""
        total, pooled = np.zeros(len(code)), (indices == UNKNOWN).any(axis=1)
        seen = self.statistics.weight > 0
        for j, count, sums, totals, fixed, pseudo in self._columns:
            rows = np.flatnonzero(indices[:, j] >= 0)
            index, c, w = indices[rows, j], code[rows], weight[rows]
            gone = (left(sums[index], w) == 0) & ~fixed[index]
            if self.density.unknown == "error" and gone.any():
                value = self.statistics.categories[j][index[gone.argmax()]]
                raise DataError(
                    f"column {table.column_name(j)} holds {listed([value])} in only one row, so that it is an "
                    f"unknown category when this row is left out; use {as_parameter('unknown', 'smooth', 'ignore')}"
                )
            mass = left(totals[c], w) + pseudo.sum()
            pooled[rows] |= gone | (mass == 0)
            if not pseudo.any() and not totals[seen].all():
                pooled[:] = True
            total[rows] += log((left(count[index, c], w) + pseudo[index]) / np.where(mass > 0, mass, 1.0))
        return total, pooled

    def _all(self, indices: Array, code: Array, weight: Array) -> Array:
        """The scores (n, k) of all classes without the rows."""
        out = np.zeros((len(code), len(self.statistics.classes)))
        for j, count, sums, totals, fixed, pseudo in self._columns:
            rows = np.flatnonzero(indices[:, j] != MISSING)
            index, c = indices[rows, j], code[rows]
            known = index != UNKNOWN
            own, w = (np.arange(len(rows)), c), weight[rows] * known
            shared = left(np.append(sums, 0.0)[np.maximum(index, -1)], w)
            hits, total = (
                np.append(count, np.zeros((1, len(totals))), axis=0)[np.maximum(index, -1)],
                np.tile(totals, (len(rows), 1)),
            )
            hits[own], total[own] = left(hits[own], w), left(total[own], w)
            unseen = (shared == 0) & ~np.append(fixed, False)[np.maximum(index, -1)]
            alpha = np.append(pseudo, pseudo.mean())[np.maximum(index, -1)]
            mass = total + (pseudo.sum() - alpha * (known & unseen))[:, None]
            none = mass == 0  # not observed in this class: what all classes say
            hits = np.where(none, shared[:, None], hits + alpha[:, None])
            mass = np.where(none, total.sum(axis=1, keepdims=True), mass)
            silent = mass == 0  # nobody has the column any more
            ignored = unseen[:, None] & (self.density.unknown == "ignore")
            out[rows] += np.where(silent | ignored, 0.0, log(hits / np.where(silent, 1.0, mass)))
        return out
