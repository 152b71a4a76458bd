"""Log-normal densities: positive amounts whose logarithm is Gaussian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..stats.support import POSITIVE
from .independent import MOST
from .parameters import class_table, positive_table
from .transformed import NARROWEST, Moments, TransformedDensity

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class LogNormalDensity(TransformedDensity):
    """A log-normal distribution for every class and column: the logarithm of x is Gaussian.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    log_means : array of shape (k, d)
        The means of log x.
    log_deviations : array of shape (k, d)
        The standard deviations of log x, above zero.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> LogNormalDensity.from_parameters([0.0, 1.0], [1.0, 1.0]).log_likelihood([[1.0]]).round(4)
    array([[-0.9189, -1.4189]])
    """

    log_means: Array  # (k, d)
    log_deviations: Array  # (k, d)
    seen: Array  # (k,)

    family = "lognormal"
    support = POSITIVE
    transforms = ("log",)

    @classmethod
    def _fitted(cls, moments: Moments, alpha: float) -> tuple[tuple[Array, ...], Array]:  # noqa: ARG003  no prior
        variance = moments.scatter[..., 0, :] / moments.weight
        return (moments.mean[..., 0, :], np.sqrt(np.maximum(variance, NARROWEST))), variance < NARROWEST

    @classmethod
    def _of_moments(cls, mean: Array, spread: Array) -> tuple[Array, ...]:
        variance = np.log1p(spread)
        return np.log(mean) - variance / 2, np.sqrt(variance)

    @classmethod
    def from_parameters(cls, log_means: Any, log_deviations: Any) -> Self:
        """Make log-normal densities from means and standard deviations of log x.

        Parameters
        ----------
        log_means, log_deviations : array (n_classes, n_features), or (n_classes,) of one feature
            The deviations are above zero.

        Returns
        -------
        LogNormalDensity
            The density of k classes.

        Examples
        --------
        >>> density = LogNormalDensity.from_parameters([0.0, 1.0], [1.0, 1.0])
        >>> np.exp(density.log_likelihood([[1.0]])).round(6)
        array([[0.398942, 0.241971]])
        """
        mu, given = class_table("log_means", log_means)
        sigma, also = positive_table("log_deviations", log_deviations, mu.shape)
        return cls(mu, sigma, given & also)

    @staticmethod
    def prepared(x: Array) -> tuple[Array, ...]:
        return (np.log(x),)

    @staticmethod
    def log_density(prepared: tuple[Array, ...], *parameters: Array) -> Array:
        (log_x,), (mu, sigma) = prepared, parameters
        z = (log_x - mu) / sigma
        return np.maximum(-0.5 * (z * z), -MOST) - np.log(sigma) - 0.5 * _LOG_2PI - log_x

    @staticmethod
    def _mean_log_density(moments: Moments, *parameters: Array) -> Array:
        log_x, (mu, sigma) = moments.mean[:, 0], parameters
        square = moments.scatter[:, 0] / moments.weight + (log_x - mu) ** 2
        return np.asarray(-0.5 * square / sigma**2 - np.log(sigma) - 0.5 * _LOG_2PI - log_x)

    @property
    def expectation(self) -> Array:
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(self.log_means + self.log_deviations**2 / 2), MOST)

    def _draw(self, code: Array, rng: np.random.Generator) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(rng.normal(self.log_means[code], self.log_deviations[code]))
