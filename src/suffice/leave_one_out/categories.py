"""A row leaves a categorical model by a count in every column, and may take a category with it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from ..densities import CategoricalDensity
from ..densities.categorical import MISSING, UNKNOWN
from ..errors import DataError, listed
from ..stats import CategoryStats
from ..table import Table
from .base import FAINT, LeaveOneOut, left

Array = NDArray[Any]


@dataclass(frozen=True)
class CategoricalLeaveOneOut(LeaveOneOut):
    """The categorical model of all rows, ready to do without any one of them."""

    statistics: CategoryStats
    density: CategoricalDensity
    alpha: float

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        stats, rows = self.statistics, np.arange(len(code))
        before = stats.weight[code]
        rest = left(before, weight)
        out = np.where(stats.weight > 0, np.zeros((len(code), 1)), -np.inf)
        out[rows, code] = np.where(rest > 0, 0.0, -np.inf)
        places = self.density.places(self.density.read(table))
        for j, (a, b) in enumerate(pairwise(stats.bounds)):
            if a < b:
                observed = np.flatnonzero(places[:, j] != MISSING)
                own = code[observed], weight[observed]
                gone, scores = self._column(stats.count[:, a:b], places[observed, j], *own)
                if self.density.unknown == "error" and gone.any():
                    value = stats.categories[j][places[observed[gone.argmax()], j]]
                    raise DataError(
                        f"column {table.column_name(j)} holds {listed([value])} in one row alone, and without it the "
                        'model has never seen it; use unknown="smooth" or "ignore"'
                    )
                out[observed] += scores
        return out, (rest > 0) & (rest < FAINT * before)

    def _column(self, count: Array, place: Array, code: Array, weight: Array) -> tuple[Array, Array]:
        """Which rows (n,) are the only ones with their category, and the scores (n, k) of these cells."""
        rows, known = np.arange(len(code)), place != UNKNOWN
        counts = np.append(count, np.zeros((len(count), 1)), axis=1).T  # the last row is that of UNKNOWN
        place = np.where(known, place, -1)
        pooled = left(counts.sum(axis=1)[place], weight * known)
        gone = known & (pooled == 0)
        mine, total = counts[place], np.tile(count.sum(axis=1), (len(code), 1))
        mine[rows, code] = left(mine[rows, code], weight * known)
        total[rows, code] = left(total[rows, code], weight * known)
        size = count.shape[1] - gone  # of the vocabulary that is left
        mass = total + self.alpha * size[:, None]
        none = mass == 0  # not observed in this class: what all classes say
        hits = np.where(none, pooled[:, None], mine + self.alpha)
        mass = np.where(none, total.sum(axis=1, keepdims=True), mass)
        unseen = gone | ~known
        hits[unseen] = self.alpha
        silent = mass == 0  # nobody has the column any more
        scores = log(hits / np.where(silent, 1.0, mass))
        scores[silent | (unseen[:, None] if self.density.unknown == "ignore" else False)] = 0.0
        return gone, scores
