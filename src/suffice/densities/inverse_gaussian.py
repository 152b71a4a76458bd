"""Inverse Gaussian densities: positive amounts with long tails, such as times until a drifting walk arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..stats.support import POSITIVE
from .independent import MOST
from .parameters import positive_table
from .transformed import NARROWEST, Moments, TransformedDensity

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class InverseGaussianDensity(TransformedDensity):
    """An inverse Gaussian distribution for every class and column: positive, strongly skewed amounts.

    p(x) = (shape / (2 π x³))^(1/2) exp(-shape (x - mean)² / (2 mean² x)), for x above 0.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    means : array of shape (k, d)
        The means, above zero.
    shapes : array of shape (k, d)
        The shapes, above zero. A variance is mean³ / shape.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> InverseGaussianDensity.from_parameters([1.0, 2.0], [1.0, 1.0]).log_likelihood([[2.0]]).round(4)
    array([[-2.2087, -1.9587]])
    """

    means: Array  # (k, d)
    shapes: Array  # (k, d)
    seen: Array  # (k,)

    family = "inverse_gaussian"
    support = POSITIVE
    transforms = ("identity", "reciprocal", "log")

    @classmethod
    def _fitted(cls, moments: Moments, alpha: float) -> tuple[tuple[Array, ...], Array]:  # noqa: ARG003  no prior
        """1 / shape = mean of 1 / x - 1 / mean."""
        mean = moments.mean[..., 0, :]
        spread = mean * moments.mean[..., 1, :] - 1.0  # the relative variance
        return (mean, mean / np.maximum(spread, NARROWEST)), spread < NARROWEST

    @classmethod
    def _of_moments(cls, mean: Array, spread: Array) -> tuple[Array, ...]:
        return mean, mean / spread

    @classmethod
    def from_parameters(cls, means: Any, shapes: Any) -> Self:
        """Make inverse Gaussian densities; their variances are means³ / shapes.

        Parameters
        ----------
        means, shapes : array (n_classes, n_features), or (n_classes,) of one feature
            Above zero.

        Returns
        -------
        InverseGaussianDensity
            The density of k classes.

        Examples
        --------
        >>> density = InverseGaussianDensity.from_parameters([1.0, 2.0], [1.0, 1.0])
        >>> np.exp(density.log_likelihood([[2.0]])).round(6)
        array([[0.109848, 0.141047]])
        """
        means, given = positive_table("means", means)
        shapes, also = positive_table("shapes", shapes, means.shape)
        return cls(means, shapes, given & also)

    @staticmethod
    def prepared(x: Array) -> tuple[Array, ...]:
        return x, np.log(x)

    @staticmethod
    def log_density(prepared: tuple[Array, ...], *parameters: Array) -> Array:
        (x, log_x), (mean, shape) = prepared, parameters
        apart = (x - mean) / mean
        distance = np.minimum(shape / mean * apart * ((x - mean) / x), MOST)
        return np.asarray(-0.5 * (distance + _LOG_2PI - np.log(shape) + 3 * log_x))

    @staticmethod
    def _mean_log_density(moments: Moments, *parameters: Array) -> Array:
        (x, one_over_x, log_x), (mean, shape) = np.moveaxis(moments.mean, 1, 0), parameters
        distance = shape / mean * (((x - mean) / mean) ** 2 * mean / x + mean * (one_over_x - 1.0 / x))
        return np.asarray(-0.5 * (distance + _LOG_2PI - np.log(shape) + 3 * log_x))

    @property
    def expectation(self) -> Array:
        return self.means

    def _draw(self, code: Array, rng: np.random.Generator) -> Array:
        # In units of the mean, where nothing over- or underflows.
        return rng.wald(1.0, (self.shapes / self.means)[code]) * self.means[code]
