"""Gaussian densities from rows with missing cells: EM on the moments by pattern of missing cells, without the rows.

The E-step replaces what is missing by its regression on what is observed. All rows of a class that miss the same cells
have the same regression, so that their moments are enough: the cost follows the number of patterns, not of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConvergenceWarning, DataError, SufficeWarning, as_parameter, listed, remedy, warn
from ..stats import MomentStats, PatternStats
from .covariance import Structure, neutral, whitened

if TYPE_CHECKING:
    from .gaussian import GaussianDensity

Array = NDArray[Any]
EstimateGaussian = Callable[[MomentStats], "GaussianDensity"]

_LOG_2PI = float(np.log(2 * np.pi))
_TOLERANCE = 1e-9  # of means and covariances, in standard deviations
_ROUGHLY = 0.01  # the same where a rough estimate will do
_STEPS = 200
_FEW = 1  # rounds of two or three steps, of an estimate that is improved later
_SLOW = 0.3  # a rate of convergence above which steps are extrapolated


def completed(
    stats: PatternStats,
    kind: Structure,
    estimate: EstimateGaussian,
    names: Sequence[Any] | None,
    start: GaussianDensity | None = None,
    lenient: bool = False,
) -> MomentStats:
    """Moments as complete rows would have them: `estimate` of these is the estimate from the rows with missing cells.

    Parameters
    ----------
    stats : PatternStats
        Of all rows.
    kind : Structure
        Full or tied.
    estimate : callable
        The M-step: from moments to a density.
    names : sequence of str or None
        The names of the columns, for messages.
    start : GaussianDensity, optional
        A density to improve by two steps, rather than to find the best one.
    lenient : bool, default=False
        Whether a rough estimate will do, and a column may have no values at all.

    Returns
    -------
    MomentStats
        The expected moments at the maximum of the likelihood.
    """
    rows = IncompleteRows(stats, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)  # of estimates on the way
        if start is not None:
            return rows.expected(estimate(rows.expected(start)[0]))[0]
        density, tolerance = estimate(rows.start(names, lenient)), _ROUGHLY if lenient else _TOLERANCE
        for _ in range(_FEW if lenient else _STEPS):
            one = estimate(rows.expected(density)[0])
            moments, score = rows.expected(one)
            two = estimate(moments)
            change = _change(density, one), _change(one, two)
            rate = min(change[1] / change[0], 1 - 1e-6) if change[0] else 0.0
            if change[1] <= tolerance * (1 - rate):  # the steps to come add up to a multiple
                return moments
            density, before = two, density
            if rate > _SLOW and (further := _extrapolated(before, one, two)) is not None:
                moments, reached = rows.expected(further)
                if reached >= score:
                    density = estimate(moments)
    if lenient:
        return moments
    warn(
        f"the covariances have not converged after {_STEPS} steps: there are too few rows, or too many of their cells "
        f"are missing; use {remedy('shrinkage', as_parameter('shrinkage', 0.5))}, or "
        f"{as_parameter('covariance', 'tied', 'diag')}",
        ConvergenceWarning,
    )
    return moments


def _extrapolated(zero: GaussianDensity, one: GaussianDensity, two: GaussianDensity) -> GaussianDensity | None:
    """Where the steps from zero to one to two lead (Varadhan and Roland's SQUAREM); None where that is no density."""
    unit = _units(two)
    steps = [_parameters(b, unit) - _parameters(a, unit) for a, b in ((zero, one), (one, two))]
    bend = steps[1] - steps[0]
    length = np.sqrt(steps[0] @ steps[0] / max(bend @ bend, 1e-300))
    if not length > 1:
        return None

    def at(a: Array, b: Array, c: Array) -> Array:
        return np.asarray(a + 2 * length * (b - a) + length**2 * (c - 2 * b + a))

    covariance = at(zero.covariance, one.covariance, two.covariance)
    if not (np.einsum("gii->gi", covariance) > 0).all():
        return None
    try:
        whitening, log_det = whitened(covariance)
    except np.linalg.LinAlgError:
        return None
    mean = at(zero.mean, one.mean, two.mean)
    return replace(two, mean=mean, covariance=covariance, whitening=whitening, log_det=log_det)


def _parameters(density: GaussianDensity, unit: Array) -> Array:
    """Means and covariances in one vector, in standard deviations."""
    return np.concatenate([(density.mean / unit).ravel(), _scaled(density.covariance, unit).ravel()])


def _change(one: GaussianDensity, two: GaussianDensity) -> float:
    """The greatest change of a mean or a covariance, in standard deviations."""
    unit = _units(two)
    mean = np.abs(two.mean - one.mean) / unit
    covariance = _scaled(np.abs(two.covariance - one.covariance), unit)
    return float(max(mean.max(), covariance.max()))


def _units(density: GaussianDensity) -> Array:
    """Standard deviations, (g, d)."""
    return np.asarray(np.sqrt(np.einsum("gii->gi", density.covariance)))


def _scaled(matrix: Array, unit: Array) -> Array:
    """Matrices (..., d, d) of columns in other units (..., d)."""
    return np.asarray(matrix / unit[..., :, None] / unit[..., None, :])


@dataclass(frozen=True)
class _Groups:
    """Groups of rows that miss equally many cells, in the order of their covariances."""

    weight: Array  # (n,)
    mean: Array  # (n, d)
    scatter: Array  # (n, d, d)
    code: Array  # (n,) the class
    owner: Array  # (n,) the covariance
    missing: Array  # (n, m) the columns that are missing
    observed: Array  # (n, d) whether a column is not


@dataclass(frozen=True)
class IncompleteRows:
    """All rows behind a statistic: what the E-step does with them."""

    stats: PatternStats
    kind: Structure

    @cached_property
    def _kept(self) -> Array:
        """The groups that say something: rows that miss every cell do not, unless a class has no others."""
        stats = self.stats
        some = ~stats.missing.all(axis=1)
        known = stats.complete.weight > 0
        known[stats.code[some]] = True
        return np.flatnonzero(some | ~known[stats.code])

    @cached_property
    def _groups(self) -> list[_Groups]:
        missing, moments, found = self.stats.missing, self.stats.groups, []
        number = missing.sum(axis=1)[self._kept]
        for m in np.unique(number).tolist():
            own = self._kept[number == m]
            own = own[np.argsort(self.stats.code[own], kind="stable")]
            columns = np.nonzero(missing[own])[1].reshape(-1, m)
            code = self.stats.code[own]
            parts = moments.weight[own], moments.mean[own], moments.scatter[own]
            found.append(_Groups(*parts, code, 0 * code if self.kind.tied else code, columns, ~missing[own]))
        return found

    @cached_property
    def total(self) -> Array:
        """The weight of each class, (k,)."""
        total = self.stats.complete.weight.copy()
        np.add.at(total, self.stats.code[self._kept], self.stats.groups.weight[self._kept])
        return total

    def start(self, names: Sequence[Any] | None, lenient: bool = False) -> MomentStats:
        """Means and variances of each column over the rows that have it, and no correlations."""
        weight, mean, squares = self.stats.available()
        if not (has := weight.any(axis=0)).all() and not lenient:
            empty = [names[j] if names else j for j in np.flatnonzero(~has).tolist()]
            raise DataError(f"all values of column {listed(empty)} are missing; leave the column out")
        if self.kind.tied:
            squares, n = squares.sum(axis=0, keepdims=True), weight.sum(axis=0, keepdims=True)
            total = self.total.sum(keepdims=True)
        else:
            n, total = weight, self.total
        variance = squares / np.where(n > 0, n, 1.0)
        mean, variance = neutral(mean, squares, weight, variance, self.kind)
        return self._moments(mean, (total[:, None] * variance)[:, :, None] * np.eye(mean.shape[1]))

    def _moments(self, mean: Array, scatter: Array) -> MomentStats:
        of = self.stats.classes, self.total, mean
        return MomentStats(*of, scatter[0], "pooled") if self.kind.tied else MomentStats(*of, scatter, "full")

    def expected(self, density: GaussianDensity) -> tuple[MomentStats, float]:
        """The E-step: moments with what is missing replaced by its distribution given what is observed, and the
        log-likelihood of what is observed."""
        first, second, score = self._sums(density)
        step = first / np.where(self.total > 0, self.total, 1.0)[:, None]
        outer = first[:, :, None] * step[:, None, :]
        scatter = second - (outer.sum(axis=0, keepdims=True) if self.kind.tied else outer)
        unit = _units(density)
        scatter = (scatter + np.swapaxes(scatter, 1, 2)) / 2 * unit[:, :, None] * unit[:, None, :]
        return self._moments(density.mean + step * unit, scatter), score

    def log_likelihood(self, density: GaussianDensity) -> float:
        """The log-likelihood of the observed cells."""
        return self._sums(density)[2]

    def _sums(self, density: GaussianDensity) -> tuple[Array, Array, float]:
        """Sums of deviations from the mean (k, d) and of their products (g, d, d), in standard deviations, with the
        expectation of what is missing; and the log-likelihood of what is observed."""
        unit = _units(density)  # so that no column takes digits from another
        whitening = density.whitening * unit[:, None, :]
        precision = np.swapaxes(whitening, 1, 2) @ whitening
        log_unit = 2 * np.log(unit) + _LOG_2PI
        log_det = density.log_det - 2 * np.log(unit).sum(axis=1)  # of the correlations

        whole = self.stats.complete
        apart = (whole.mean - density.mean) / unit
        first = whole.weight[:, None] * apart
        outer, scatter, n = first[:, :, None] * apart[:, None, :], whole.scatter, whole.weight
        if self.kind.tied:
            outer, n = outer.sum(axis=0, keepdims=True), n.sum(keepdims=True)
            scatter = scatter if whole.layout == "pooled" else scatter.sum(axis=0)
        second = _scaled(scatter, unit) + outer
        score = n @ (log_unit.sum(axis=1) + log_det) + np.vdot(precision, second)

        for rows in self._groups:
            g, columns, n = rows.owner, rows.missing, rows.weight
            apart = np.where(rows.observed, (rows.mean - density.mean[rows.code]) / unit[g], 0.0)
            products = _scaled(rows.scatter, unit[g]) + (n[:, None] * apart)[:, :, None] * apart[:, None, :]
            own = np.arange(len(g))[:, None]
            inner = precision[g[:, None, None], columns[:, :, None], columns[:, None, :]]
            left = np.linalg.inv(inner)  # the covariance of the missing cells given the others
            slope = -left @ (precision[g[:, None], columns] * rows.observed[:, None, :])  # (n, m, d)
            both = slope @ products
            squares = both @ np.swapaxes(slope, 1, 2)
            score += n @ ((log_unit[g] * rows.observed).sum(axis=1) + log_det[g] + np.linalg.slogdet(inner)[1])
            score += np.einsum("nij,nij->", precision[g], products) - np.einsum("nij,nij->", inner, squares)
            products[own, columns] += both
            products[own, :, columns] += both
            products[own[:, :, None], columns[:, :, None], columns[:, None, :]] += squares + n[:, None, None] * left
            apart[own, columns] = np.einsum("nmd,nd->nm", slope, apart)
            _add(second, g, products)
            _add(first, rows.code, n[:, None] * apart)
        return first, second, -0.5 * float(score)


def _add(total: Array, index: Array, values: Array) -> None:
    """Add values (n, ...) to the entries of a total with these indices, which are sorted."""
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    total[index[starts]] += np.add.reduceat(values, starts, axis=0)
