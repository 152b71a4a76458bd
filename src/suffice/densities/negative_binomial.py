"""Negative binomial densities: counts that vary more than those of a Poisson do."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..stats import CategoryStats, MomentStats
from ..stats.support import WHOLE
from .base import seen_classes
from .counts import draw_poisson, gamma_posterior
from .independent import MOST, IndependentDensity
from .parameters import class_table, numbers, positive_table, refuse
from .special import find_roots, log1p_less, stirling_rest, weighted_steps

Array = NDArray[Any]

_ROUNDING = 1e-12  # a variance that exceeds the mean by less than this share does not exceed it
_LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomialDensity(IndependentDensity):
    """A negative binomial distribution for every class and column: counts that vary more than a Poisson's.

    P(x) = Γ(x + size) / (Γ(size) x!) q^x (1 - q)^size with q = mean / (mean + size), for x = 0, 1, 2, …

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    means : array of shape (k, d)
        The means, from zero on.
    sizes : array of shape (k, d)
        The sizes, above zero. A variance is mean + mean² / size; with an infinite size it is a Poisson.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> NegativeBinomialDensity.from_parameters([3.0, 3.0], [2.0, float("inf")]).log_likelihood([[5]]).round(4)
    array([[-2.595 , -2.2944]])
    """

    means: Array  # (k, d)
    sizes: Array  # (k, d)
    seen: Array  # (k,)

    family = "negative_binomial"
    support = WHOLE

    @classmethod
    def estimate(cls, stats: CategoryStats, alpha: float = 0.0) -> Self:
        """Estimate by maximum likelihood, of the rows and of `alpha` rows that are spread as all rows are.

        Parameters
        ----------
        stats : CategoryStats
            How often each count was seen.
        alpha : float
            Pseudo-counts, in rows. The means are those of a Poisson with the same `alpha`.

        Returns
        -------
        NegativeBinomialDensity
            The density of the classes of the statistic.

        Examples
        --------
        Red mites on 150 leaves of apple trees, of which 70 have none and one has seven (Bliss and Fisher, 1953):

        >>> leaves = CategoryStats(["mites"], [150], (np.arange(8),), [[70, 38, 17, 10, 9, 3, 2, 1]])
        >>> density = NegativeBinomialDensity.estimate(leaves)
        >>> density.means.round(4), density.sizes.round(4)
        (array([[1.1467]]), array([[1.0246]]))
        """
        shape = len(stats.classes), stats.n_features
        mean, size = np.ones(shape), np.full(shape, np.inf)
        for j, (a, b) in enumerate(pairwise(stats.bounds)):
            if a < b:
                values = np.asarray(stats.categories[j], np.float64)
                mean[:, j], size[:, j] = fitted_histograms(values, stats.count[:, a:b], alpha)
        return cls(mean, size, seen_classes(stats))

    @classmethod
    def from_moments(cls, stats: MomentStats) -> Self:
        n = np.broadcast_to(stats.column_weight, stats.mean.shape)
        mean, variance = np.where(n > 0, stats.mean, 1.0), stats.scatter / np.where(n > 0, n, 1.0)
        more = variance - mean
        wide = more > _ROUNDING * mean
        return cls(mean, np.where(wide, mean**2 / np.where(wide, more, 1.0), np.inf), seen_classes(stats))

    @classmethod
    def from_parameters(cls, means: Any, sizes: Any) -> Self:
        """Make negative binomial densities; their variances are means + means² / sizes.

        Parameters
        ----------
        means, sizes : array (n_classes, n_features), or (n_classes,) of one feature
            The means are not negative; the sizes are above zero, or infinite for a Poisson.

        Returns
        -------
        NegativeBinomialDensity
            The density of k classes.

        Examples
        --------
        >>> density = NegativeBinomialDensity.from_parameters([2.0, 2.0], [1.0, np.inf])
        >>> np.exp(density.log_likelihood([[0]])).round(6)
        array([[0.333333, 0.135335]])
        """
        mean, given = class_table("means", means)
        refuse("means", mean < 0, mean, "means must not be negative")
        size = numbers("sizes", sizes)
        poisson = np.isposinf(size)
        size, also = positive_table("sizes", np.where(poisson, 1.0, size), mean.shape)
        return cls(mean, np.where(poisson.reshape(size.shape), np.inf, size), given & also)

    @staticmethod
    def prepared(x: Array) -> tuple[Array, ...]:
        log_x1 = np.log1p(x)
        return x, log_x1, stirling_rest(x + 1) + 0.5 * (log_x1 + _LOG_2PI) - 1

    @staticmethod
    def log_density(prepared: tuple[Array, ...], *parameters: Array) -> Array:
        (x, log_x1, rest), (mean, size) = prepared, parameters
        # By Stirling's formula for the Gamma functions, from which what is large has cancelled on paper; a Poisson is
        # the case of no dispersion.
        dispersion = 1 / size
        whole = 1 + dispersion * mean
        apart = (x - mean) / whole
        far = np.abs(dispersion * apart) > 0.5
        log_steps, near = np.log1p(dispersion * x), np.log1p(dispersion * np.where(far, 0.0, apart))
        log_apart = np.where(far, log_steps - np.log(whole), near)
        ratio = (mean - x - 1 - dispersion * mean) / (x + 1) / whole
        near = np.log1p(np.clip(ratio, -0.5, 0.5))
        log_ratio = np.where(np.abs(ratio) < 0.5, near, np.log(mean) - log_x1 + log_apart)
        of_size = np.where(dispersion > 0, log_apart / np.where(dispersion > 0, dispersion, 1.0), apart)
        of_size = of_size - 0.5 * log_steps + stirling_rest(x + size) - stirling_rest(size)
        of_x = np.where(x > 0, x * log_ratio, 0.0) - rest
        return np.where((mean > 0) | (x == 0), np.maximum(of_size + of_x, -MOST), -np.inf)

    def log_likelihood_of(self, stats: CategoryStats) -> float:
        self._check_statistic(stats)
        if (stats.weight > 0)[~self.seen].any():
            return -np.inf
        total = 0.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for j, (a, b) in enumerate(pairwise(stats.bounds)):
                prepared = self.prepared(np.asarray(stats.categories[j], np.float64))
                terms = self.log_density(prepared, self.means[:, [j]], self.sizes[:, [j]])
                total += float((stats.count[:, a:b] * np.where(stats.count[:, a:b] > 0, terms, 0.0)).sum())
        return total

    @property
    def expectation(self) -> Array:
        return self.means

    def _draw(self, code: Array, rng: np.random.Generator) -> Array:
        mean, size = self.means[code], self.sizes[code]
        r = np.where(np.isinf(size), 1.0, size)
        return draw_poisson(np.where(np.isinf(size), mean, rng.standard_gamma(r) * (mean / r)), rng)


def fitted_histograms(values: Array, count: Array, alpha: float) -> tuple[Array, Array]:
    """Means and sizes (..., k) of classes with so many rows (..., k, v) of each value (v,)."""
    rows, events = count.sum(axis=-1)[..., None], (count @ values)[..., None]
    mean = np.divide(*gamma_posterior(events, rows, alpha))[..., 0]
    pooled = count.sum(axis=-2, keepdims=True)
    total = pooled.sum(axis=-1, keepdims=True)
    share = pooled / np.where(total > 0, total, 1.0)
    never = (rows == 0) & (alpha == 0)  # not observed in this class: what all classes say
    return mean, _sizes(values, np.where(never, share, count + alpha * share))


def _sizes(values: Array, count: Array) -> Array:
    """The most likely sizes (...) of rows counted in histograms (..., v); infinite where they vary no more than those
    of a Poisson."""
    rows = count.sum(axis=-1, keepdims=True)
    share = count / np.where(rows > 0, rows, 1.0)
    mean = share @ values
    more = (share * (values - mean[..., None]) ** 2).sum(axis=-1) - mean
    wide = more > _ROUNDING * mean
    sizes = np.full(mean.shape, np.inf)
    if wide.any():
        sizes[wide] = _wide_sizes(values, share[wide], mean[wide], more[wide])
    return sizes


def _wide_sizes(values: Array, share: Array, mean: Array, more: Array) -> Array:
    """Sizes (m,) of histograms (m, v) with variances larger than their means: at the maximum, over the rows,
    Σ_{j < x} j / (1 + j / size) is size² (mean / size - log(1 + mean / size))."""

    def slope(log_size: Array) -> Array:
        size = np.exp(log_size)
        steps = (share * weighted_steps(values, size[:, None])).sum(axis=-1)
        return np.asarray(-log1p_less(mean / size) * size**2 - steps)

    start = np.log(mean) * 2 - np.log(more)  # the method of moments
    low, high = start.copy(), start.copy()
    for _ in range(200):  # the slope is negative for the largest sizes, and positive for the smallest
        too_high, too_low = slope(low) <= 0, slope(high) >= 0
        if not (too_high.any() or too_low.any()):
            break
        low, high = np.where(too_high, low - 2, low), np.where(too_low, high + 2, high)
    return np.exp(find_roots(slope, low, high))
