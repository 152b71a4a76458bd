"""Densities that are estimated from moments of x, log x and 1 / x."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, SingularWarning, listed, warn
from ..stats import MomentStats, TransformedStats
from ..stats.transformed import transformed
from .base import seen_classes
from .independent import MOST, IndependentDensity

Array = NDArray[Any]
Names = tuple[str, ...] | None  # of the columns

NARROWEST = 1e-9  # the least variance that is estimated, relative to the squared mean


class Moments(NamedTuple):
    """Moments of t transforms of d columns in k classes, of one model or of many side by side."""

    weight: Array  # (..., k, d) of the rows that have the column
    mean: Array  # (..., k, t, d)
    scatter: Array  # (..., k, t, d)

    def pooled(self) -> Moments:
        """Of all classes together, as one class."""
        total = self.weight.sum(axis=-2, keepdims=True)
        share = (self.weight / np.where(total > 0, total, 1.0))[..., None, :]
        mean = (share * self.mean).sum(axis=-3, keepdims=True)
        with np.errstate(over="ignore"):
            between = self.weight[..., None, :] * (self.mean - mean) ** 2
            scatter = np.minimum((self.scatter + between).sum(axis=-3, keepdims=True), MOST)
        return Moments(total, mean, scatter)

    def completed(self, at_one: Array) -> Moments:
        """With what all classes say of a column, for those in which it was never observed. A column that nobody has
        holds one, of which the transforms are `at_one` (t, 1)."""
        never = self.weight == 0
        if not never.any():
            return self
        weight, mean, scatter = self.pooled()
        mean = np.where((weight == 0)[..., None, :], at_one, mean)
        weight, missing = np.where(weight == 0, 1.0, weight), never[..., None, :]
        return Moments(
            np.where(never, weight, self.weight),
            np.where(missing, mean, self.mean),
            np.where(missing, scatter, self.scatter),
        )


class TransformedDensity(IndependentDensity):
    """A density whose maximum likelihood estimate is a function of the moments of transformed cells."""

    transforms: ClassVar[tuple[str, ...]]
    pools = False  # whether the estimate of a class depends on other classes, also where it has rows of its own

    @classmethod
    def estimate(cls, stats: TransformedStats, alpha: float = 0.0, names: Names = None) -> Self:
        """Estimate by maximum likelihood.

        Parameters
        ----------
        stats : TransformedStats
            Of the transforms of this family.
        alpha : float
            Pseudo-counts, which only discrete families have.
        names : tuple of str, optional
            Of the columns, for warnings.

        Returns
        -------
        TransformedDensity
            The density of the classes of the statistic.

        Examples
        --------
        Hours between failures of the air conditioning of an aeroplane (Proschan, 1963):

        >>> from suffice import ExponentialDensity
        >>> from suffice.tables.batch import Batch
        >>> hours = np.array([3, 5, 7, 18, 43, 85, 91, 98, 100, 130, 230, 487.0])
        >>> rows, kind = Batch.of(hours[:, None], ["plane"] * 12), ExponentialDensity
        >>> kind.estimate(TransformedStats.of(rows, kind.transforms, kind.support, kind.family)).means.round(2)
        array([[108.08]])
        """
        seen = seen_classes(stats)
        moments = Moments(stats.observed, stats.mean, stats.scatter)
        parameters, narrow = cls.fitted(moments, alpha)
        narrow = narrow & seen[:, None] & (moments.weight > 0)
        if narrow.any():
            columns = [names[j] if names else int(j) for j in np.flatnonzero(narrow.any(axis=0))]
            warn(
                f"column {listed(columns)} hardly varies in class "
                f"{listed(stats.classes[narrow.any(axis=1)])}; its relative variance was raised to "
                f"{NARROWEST:g} in the {cls.family} density",
                SingularWarning,
            )
        return cls._of(parameters, seen)

    @classmethod
    def fitted(cls, moments: Moments, alpha: float) -> tuple[tuple[Array, ...], Array]:
        """Compute the parameters from moments, by maximum likelihood.

        Parameters
        ----------
        moments : Moments
            The weights, means and scatter of the transformed cells.
        alpha : float
            Pseudo-counts, which only discrete families have.

        Returns
        -------
        parameters : tuple of arrays of shape (..., k, d)
            The parameters, in the order of the fields.
        narrow : array of bool of shape (..., k, d)
            Where a relative variance was raised, because the cells hardly vary.

        Examples
        --------
        >>> from suffice import ExponentialDensity
        >>> hours = Moments(np.array([[12.0]]), np.array([[[108.0]]]), np.array([[[0.0]]]))
        >>> ExponentialDensity.fitted(hours, 0.0)
        ((array([[108.]]),), array([[False]]))
        """
        complete = moments.completed(transformed(np.ones((1, 1)), cls.transforms)[0])
        with np.errstate(over="ignore", under="ignore"):
            return cls._fitted(complete, alpha)

    @classmethod
    @abstractmethod
    def _fitted(cls, moments: Moments, alpha: float) -> tuple[tuple[Array, ...], Array]:
        """The parameters (..., k, d) of moments in which every column is observed."""

    def log_likelihood_of(self, stats: TransformedStats) -> float:
        self._check_statistic(stats)
        if stats.transforms != self.transforms:
            raise DataError(f"{self!r} is not estimated from {stats!r}")
        if (stats.weight > 0)[~self.seen].any():
            return -np.inf
        own = stats.observed > 0
        moments = Moments(np.where(own, stats.observed, 1.0), stats.mean, stats.scatter)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = self._mean_log_density(moments, *(getattr(self, name) for name in self._fields()))
        return float((stats.observed[own] * means[own]).sum())

    @staticmethod
    @abstractmethod
    def _mean_log_density(moments: Moments, *parameters: Array) -> Array:
        """The mean of log p over the rows of each class and column, (k, d)."""

    @classmethod
    def from_moments(cls, stats: MomentStats) -> Self:
        n = np.broadcast_to(stats.column_weight, stats.mean.shape)
        mean = np.where(n > 0, np.maximum(stats.mean, np.finfo(np.float64).tiny), 1.0)
        spread = stats.scatter / np.where(n > 0, n, 1.0) / mean / mean
        return cls._of(cls._of_moments(mean, np.maximum(spread, NARROWEST)), seen_classes(stats))

    @classmethod
    @abstractmethod
    def _of_moments(cls, mean: Array, spread: Array) -> tuple[Array, ...]:
        """The parameters with these means and relative variances, (k, d): the method of moments."""
