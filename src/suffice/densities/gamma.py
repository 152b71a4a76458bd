"""Gamma densities: positive amounts, more or less skewed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..stats.support import POSITIVE
from .independent import MOST
from .parameters import positive_table
from .special import find_roots, log1p_less, log_less_digamma, stirling_rest
from .transformed import NARROWEST, Moments, TransformedDensity

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class GammaDensity(TransformedDensity):
    """A gamma distribution for every class and column: positive amounts, more or less skewed.

    p(x) = x^(shape - 1) exp(-x / scale) / (scale^shape Γ(shape)), for x above 0.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    shapes : array of shape (k, d)
        The shapes, above zero.
    scales : array of shape (k, d)
        The scales, above zero. A mean is shape times scale.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> GammaDensity.from_parameters([1.0, 2.0], [1.0, 1.0]).log_likelihood([[2.0]]).round(4)
    array([[-2.    , -1.3069]])
    """

    shapes: Array  # (k, d)
    scales: Array  # (k, d)
    seen: Array  # (k,)

    family = "gamma"
    support = POSITIVE
    transforms = ("identity", "log")

    @classmethod
    def _fitted(cls, moments: Moments, alpha: float) -> tuple[tuple[Array, ...], Array]:  # noqa: ARG003  no prior
        """log shape - ψ(shape) = log of the mean - mean of the log."""
        mean, mean_log = moments.mean[..., 0, :], moments.mean[..., 1, :]
        gap, least = np.log(mean) - mean_log, log_less_digamma(np.array(1 / NARROWEST))
        narrow = gap < least
        gap = np.maximum(gap, least)
        # 1 / (2 z) < log z - ψ(z) < 1 / z
        low, high = np.log(0.5 / gap) - 1e-9, 1e-9 - np.log(gap)
        shape = np.exp(find_roots(lambda log_z: log_less_digamma(np.exp(log_z)) - gap, low, high))
        return (shape, mean / shape), narrow

    @classmethod
    def _of_moments(cls, mean: Array, spread: Array) -> tuple[Array, ...]:
        return 1 / spread, mean * spread

    @classmethod
    def from_parameters(cls, shapes: Any, scales: Any) -> Self:
        """Make gamma densities; their means are shapes times scales.

        Parameters
        ----------
        shapes, scales : array (n_classes, n_features), or (n_classes,) of one feature
            Above zero.

        Returns
        -------
        GammaDensity
            The density of k classes.

        Examples
        --------
        >>> density = GammaDensity.from_parameters([1.0, 2.0], [1.0, 1.0])
        >>> np.exp(density.log_likelihood([[2.0]])).round(6)
        array([[0.135335, 0.270671]])
        """
        shapes, given = positive_table("shapes", shapes)
        scales, also = positive_table("scales", scales, shapes.shape)
        return cls(shapes, scales, given & also)

    @staticmethod
    def prepared(x: Array) -> tuple[Array, ...]:
        return x, np.log(x)

    @staticmethod
    def log_density(prepared: tuple[Array, ...], *parameters: Array) -> Array:
        (x, log_x), (shape, scale) = prepared, parameters
        mean = shape * scale
        at_mean = 0.5 * np.log(shape / (2 * np.pi)) - stirling_rest(shape)
        # About the mean, as for large shapes nothing else keeps the digits.
        u = np.minimum((x - mean) / mean, MOST)
        apart = np.where(np.abs(u) < 0.25, log1p_less(np.clip(u, -0.25, 0.25)), log_x - np.log(mean) - u)
        return np.asarray(np.maximum(shape * apart, -MOST) + at_mean - log_x)

    @staticmethod
    def _mean_log_density(moments: Moments, *parameters: Array) -> Array:
        x, log_x, (shape, scale) = moments.mean[:, 0], moments.mean[:, 1], parameters
        mean = shape * scale
        at_mean = 0.5 * np.log(shape / (2 * np.pi)) - stirling_rest(shape)
        return np.asarray(shape * (log_x - np.log(mean) - (x - mean) / mean) + at_mean - log_x)

    @property
    def expectation(self) -> Array:
        return self.shapes * self.scales

    def _draw(self, code: Array, rng: np.random.Generator) -> Array:
        return rng.standard_gamma(self.shapes[code]) * self.scales[code]
