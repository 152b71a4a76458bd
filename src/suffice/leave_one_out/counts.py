"""Leave-one-out of models of counts: a row changes only the counts of its own class, and what all classes share.

Complete rows need only the cells that count something, and tables may be sparse. Where cells are missing, or a class is
left without counts, the statistics without each row are laid side by side and estimated together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from ..densities.counts import gamma_posterior, log_shares, of_columns
from ..densities.linear import Counts, LinearDensity
from ..densities.multinomial import completed, log_mass, log_words
from ..stats import CountStats
from ..stats.base import faint
from ..tables.table import Sparse, Table
from .base import LeaveOneOut, left

Array = NDArray[Any]

_CELLS = 1 << 18  # of statistics side by side


@dataclass(frozen=True)
class CountedCells:
    """The cells of some rows that count something."""

    row: Array
    column: Array
    value: Array
    n_rows: int

    @classmethod
    def of(cls, x: Counts) -> CountedCells:
        if not isinstance(x.values, Sparse):
            row, column = np.nonzero(x.values)
            return cls(row, column, np.asarray(x.values[row, column], np.float64), len(x))
        matrix = x.values.matrix().astype(np.float64)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return cls(np.repeat(np.arange(len(x)), np.diff(matrix.indptr)), matrix.indices, matrix.data, len(x))

    def sum(self, values: Array) -> Array:
        """Sum values of the cells of each row, (n,)."""
        return np.bincount(self.row, values, minlength=self.n_rows)


@dataclass(frozen=True)
class Stack:
    """The statistics of m models, each without one row, and that row."""

    x: Array  # (m, 1, d) the rows, zero where missing
    missing: Array  # (m, 1, d)
    count: Array  # (m, k, d)
    observed: Array  # (m, k, d)
    weight: Array  # (m, k)

    @classmethod
    def of(cls, stats: CountStats, x: Array, missing: Array, code: Array, weight: Array) -> Stack:
        m, rows, x = len(x), np.arange(len(x)), x.astype(np.float64, copy=False)
        count, total = np.tile(stats.count, (m, 1, 1)), np.tile(stats.weight, (m, 1))
        observed = np.tile(np.broadcast_to(stats.observed, stats.count.shape), (m, 1, 1))
        count[rows, code] = left(count[rows, code], weight[:, None] * x)
        observed[rows, code] = left(observed[rows, code], weight[:, None] * ~missing)
        total[rows, code] = left(total[rows, code], weight)
        return cls(x[:, None], missing[:, None], count, observed, total)

    def sum(self, terms: Array) -> Array:
        """The sum over what a row observes, (m, k)."""
        return np.asarray(np.where(self.missing, 0.0, terms).sum(axis=-1))

    def sum_counted(self, terms: Array) -> Array:
        """The sum over the counts of a row, (m, k), of terms for every count; none of what is not counted."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(self.x > 0, self.x * terms, 0.0).sum(axis=-1))


@dataclass(frozen=True)
class CountLeaveOneOut(LeaveOneOut):
    """A model of counts of all rows, from which any one row can be left out."""

    statistics: CountStats
    density: LinearDensity
    alpha: float | Sequence[float]
    changes_all = False  # whether the scores of all classes are those of `_complete`, and not of the own alone

    @abstractmethod
    def _complete(self, cells: CountedCells, code: Array, weight: Array, out: Array) -> Array:
        """Correct the scores (n, k) of complete rows under the whole model; return the rows for which that is not
        enough."""

    @abstractmethod
    def _side_by_side(self, stack: Stack) -> Array:
        """The scores (m, k) of rows by the models without them, but for what depends on no class."""

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        stats, x, own = self.statistics, self.density.read(table), (np.arange(len(code)), code)
        out, shared = np.empty((len(code), len(stats.classes))), self.density._shared(x)[:, None]
        leaving = weight > 0
        if not (self.changes_all and leaving.all()):
            self.density.score(x, all=out, relative=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            if stats.missing is None:
                corrected = out.copy()
                pooled = self._complete(CountedCells.of(x), code, weight, corrected) & leaving
                out[leaving] = corrected[leaving]
            else:
                pooled = leaving
            if not stats.is_sparse:
                self._pool(x, np.flatnonzero(pooled), code, weight, out)
                pooled = np.zeros(len(code), bool)
        before = stats.weight[code]
        rest = left(before, weight)
        out[:, stats.weight == 0] = -np.inf
        out[own] = np.where(rest > 0, out[own], -np.inf)
        return out + shared, pooled | faint(before, weight)

    def _pool(self, x: Counts, rows: Array, code: Array, weight: Array, out: Array) -> None:
        step = max(1, _CELLS // self.statistics.count.size)
        for start in range(0, len(rows), step):
            i = rows[start : start + step]
            values = x.values.matrix()[i].toarray() if isinstance(x.values, Sparse) else x.values[i]
            missing = np.zeros(values.shape, bool) if x.missing is None else x.missing[i]
            out[i] = self._side_by_side(Stack.of(self.statistics, values, missing, code[i], weight[i]))

    # What the complete forms look up.

    @cached_property
    def pseudo(self) -> Array:
        """The pseudo-counts of all features, (d,)."""
        return of_columns(self.alpha, self.statistics.n_features)

    @cached_property
    def totals(self) -> Array:
        """What every class counts in all, (k,)."""
        return np.asarray(self.statistics.count.sum(axis=1)).reshape(-1)

    def _counted(self, classes: Array | int, columns: Array) -> Array:
        """The counts of cells."""
        return np.asarray(self.statistics.count[classes, columns]).reshape(-1)

    def _rest(self, cells: CountedCells, code: Array, weight: Array) -> tuple[Array, Array, Array]:
        """What the own classes count without the rows, cell by cell and in all; and the totals of the rows, (n,)."""
        lengths = cells.sum(cells.value)
        counted = self._counted(code[cells.row], cells.column)
        return left(counted, weight[cells.row] * cells.value), left(self.totals[code], weight * lengths), lengths


@dataclass(frozen=True)
class BernoulliLeaveOneOut(CountLeaveOneOut):
    """Bernoulli: Booleans."""

    def _complete(self, cells: CountedCells, code: Array, weight: Array, out: Array) -> Array:
        before = self.statistics.weight[code]
        rest, present = left(before, weight), self.pseudo[cells.column]
        absent, impossible = self._absent(code, weight)
        hits, _, _ = self._rest(cells, code, weight)
        # What is present does not miss: its part in the sum over all features is taken back.
        counted = self._counted(code[cells.row], cells.column)
        misses = self._misses(before[cells.row], rest[cells.row], counted, present)
        possible = misses > 0
        absent = absent - cells.sum(np.log(np.where(possible, misses, 1.0))) + cells.sum(np.log(hits + present))
        impossible = impossible - cells.sum(~possible)
        own = np.where(impossible > 0.5, -np.inf, absent - self._log_rounds(rest))
        out[np.arange(len(code)), code] = own
        return np.zeros(len(code), bool)

    def _log_rounds(self, rest: Array) -> Array:
        """The logarithms of the rows (n,) and pseudo-counts, summed over all features."""
        if np.ndim(self.alpha):
            return np.asarray(np.log(rest[:, None] + 2 * self.pseudo).sum(axis=1))
        return np.asarray(len(self.pseudo) * np.log(rest + 2 * self.alpha))  # type: ignore[operator]

    @staticmethod
    def _misses(before: Array, rest: Array, counted: Array, pseudo: Array) -> Array:
        """Pseudo-counts and the rest of the rows that miss a feature that they count so often."""
        misses = rest - counted
        return np.asarray(np.where(np.abs(misses) <= 1e-12 * before, 0.0, misses) + pseudo)

    def _absent(self, code: Array, weight: Array) -> tuple[Array, Array]:
        """For rows that have no feature: the sum of log misses (n,), and how many of them are impossible."""
        stats, d = self.statistics, self.statistics.n_features
        pairs, which = np.unique(np.stack([code, weight], axis=1), axis=0, return_inverse=True)
        sums = np.empty((2, len(pairs)))
        step = max(1, _CELLS // d)
        classes = pairs[:, 0].astype(np.intp)
        for c in np.unique(classes):
            own = np.flatnonzero(classes == c)
            counted = stats.count[[c]].data if stats.is_sparse else stats.count[c]
            pseudo = np.append(self.pseudo[: len(counted)], self.pseudo[:1])  # all alike where counts are sparse
            others = d - len(counted)  # features that the class never had
            for start in range(0, len(own), step):
                some = own[start : start + step]
                before = stats.weight[c]
                rest = left(np.full(len(some), before), pairs[some, 1])
                misses = self._misses(before, rest[:, None], np.append(counted, 0.0), pseudo)
                possible, often = misses > 0, np.append(np.ones(len(counted)), others)
                sums[0, some] = np.log(np.where(possible, misses, 1.0)) @ often
                sums[1, some] = ~possible @ often
        return sums[0, which.reshape(-1)], sums[1, which.reshape(-1)]

    def _side_by_side(self, stack: Stack) -> Array:
        one, zero = log_shares(stack.count, stack.observed, self.pseudo)
        return stack.sum(np.where(stack.x > 0, one, zero))


@dataclass(frozen=True)
class MultinomialLeaveOneOut(CountLeaveOneOut):
    """Multinomial: occurrences of words."""

    def _complete(self, cells: CountedCells, code: Array, weight: Array, out: Array) -> Array:
        rest, total, lengths = self._rest(cells, code, weight)
        mass = total + self.pseudo.sum()
        own = cells.sum(cells.value * np.log(rest + self.pseudo[cells.column])) - lengths * np.log(
            np.where(mass > 0, mass, 1.0)
        )
        out[np.arange(len(code)), code] = own
        # A class without counts says what all classes say.
        silent = (self.totals == 0) & (self.statistics.weight > 0) & (not self.pseudo.any())
        return np.asarray((mass == 0) | silent.any())

    def _side_by_side(self, stack: Stack) -> Array:
        one = log_words(completed(stack.count, stack.observed, stack.weight[..., None]), self.pseudo)
        mass = stack.sum(np.exp(one))
        return np.asarray(stack.sum_counted(one) - stack.x.sum(axis=-1) * log_mass(mass))


@dataclass(frozen=True)
class PolyaLeaveOneOut(CountLeaveOneOut):
    """Dirichlet-multinomial: occurrences whose probabilities are integrated out."""

    def _complete(self, cells: CountedCells, code: Array, weight: Array, out: Array) -> Array:
        from scipy.special import gammaln

        rest, total, lengths = self._rest(cells, code, weight)
        posterior, mass = rest + self.pseudo[cells.column], total + self.pseudo.sum()
        words = cells.sum(gammaln(posterior + cells.value) - gammaln(posterior))
        out[np.arange(len(code)), code] = words + gammaln(mass) - gammaln(mass + lengths)
        return np.zeros(len(code), bool)

    def _side_by_side(self, stack: Stack) -> Array:
        from scipy.special import gammaln

        posterior = completed(stack.count, stack.observed, stack.weight[..., None]) + self.pseudo
        mass = stack.sum(posterior)
        mass = np.where(mass > 0, mass, 1.0)
        words = stack.sum(gammaln(posterior + stack.x) - gammaln(posterior))
        return np.asarray(words + gammaln(mass) - gammaln(mass + stack.x.sum(axis=-1)))


@dataclass(frozen=True)
class PoissonLeaveOneOut(CountLeaveOneOut):
    """Poisson: events. The prior is the mean of all rows, so that leaving out a row changes every class."""

    changes_all = True

    def _complete(self, cells: CountedCells, code: Array, weight: Array, out: Array) -> Array:
        alpha: Any = self.alpha
        if np.ndim(alpha):  # what a row leaves of the features that it does not count differs from one to the next, too
            return np.ones(len(code), bool)
        events, lengths = self.statistics.count.sum(axis=0), cells.sum(cells.value)
        total = left(np.full(len(code), self.statistics.weight.sum()), weight)
        gone = weight[cells.row] * cells.value
        rest = left(events[cells.column], gone)
        # Nothing counted is half an event in all rows, as it is in the estimate.
        unheard = (events == 0).sum() + cells.sum(rest == 0)
        unit = np.where(total > 0, total, 1.0)
        prior = np.where(rest > 0, rest, 0.5) / unit[cells.row]
        mean = (events.sum() - weight * lengths + 0.5 * unheard) / unit
        for c in range(len(self.statistics.classes)):
            mine = code == c
            own = left(self._counted(c, cells.column), gone * mine[cells.row]) + alpha * prior
            sums = self.totals[c] - weight * lengths * mine + alpha * mean
            rows = left(self.statistics.weight[c], weight * mine) + alpha
            out[:, c] = self._events(cells, own, rows, sums, lengths)
        return np.zeros(len(code), bool)

    def _events(self, cells: CountedCells, own: Array, rows: Array, sums: Array, lengths: Array) -> Array:
        """Scores (n,) for a class of so many events in each counted cell, (cells,), of so many `rows` (n,) and with so
        many events in all features, (n,)."""
        return np.asarray(cells.sum(cells.value * np.log(own)) - lengths * np.log(rows) - sums / rows)

    def _side_by_side(self, stack: Stack) -> Array:
        events, rows = gamma_posterior(stack.count, stack.observed, self.pseudo)
        rate = events / rows
        return stack.sum_counted(log(rate)) - stack.sum(rate)


@dataclass(frozen=True)
class GammaPoissonLeaveOneOut(PoissonLeaveOneOut):
    """Gamma-Poisson: events whose rates are integrated out."""

    def _events(self, cells: CountedCells, own: Array, rows: Array, sums: Array, lengths: Array) -> Array:
        from scipy.special import gammaln

        counted = cells.sum(gammaln(own + cells.value) - gammaln(own))
        return np.asarray(counted - lengths * np.log1p(rows) - sums * np.log1p(1 / rows))

    def _side_by_side(self, stack: Stack) -> Array:
        from scipy.special import gammaln

        events, rows = gamma_posterior(stack.count, stack.observed, self.pseudo)
        counted = gammaln(events + stack.x) - gammaln(events) - stack.x * np.log1p(rows)
        return stack.sum(counted - events * np.log1p(1 / rows))
