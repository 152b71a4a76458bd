"""Exponential densities: waiting times, lifetimes and other amounts that begin at zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..stats.support import NOT_NEGATIVE
from .base import LinearForm
from .independent import LEAST, MOST
from .parameters import positive_table
from .transformed import NARROWEST, Moments, TransformedDensity

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialDensity(TransformedDensity):
    """An exponential distribution for every class and column: waiting times.

    p(x) = exp(-x / mean) / mean, for x from 0 on.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    means : array of shape (k, d)
        The means, above zero.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> ExponentialDensity.from_parameters([1.0, 2.0]).log_likelihood([[2.0]]).round(4)
    array([[-2.    , -1.6931]])
    """

    means: Array  # (k, d)
    seen: Array  # (k,)

    family = "exponential"
    support = NOT_NEGATIVE
    transforms = ("identity",)
    pools = True  # by its floor

    @classmethod
    def _fitted(cls, moments: Moments, alpha: float) -> tuple[tuple[Array, ...], Array]:  # noqa: ARG003  no prior
        mean = moments.mean[..., 0, :]
        floor = np.maximum(NARROWEST * moments.pooled().mean[..., 0, :], LEAST)
        return (np.maximum(mean, floor),), mean < floor

    @classmethod
    def _of_moments(cls, mean: Array, spread: Array) -> tuple[Array, ...]:  # noqa: ARG003
        return (mean,)

    @classmethod
    def from_parameters(cls, means: Any) -> Self:
        """Make exponential densities from their means.

        Parameters
        ----------
        means : array (n_classes, n_features), or (n_classes,) of one feature
            Above zero.

        Returns
        -------
        ExponentialDensity
            The density of k classes.

        Examples
        --------
        >>> density = ExponentialDensity.from_parameters([1.0, 2.0])
        >>> np.exp(density.log_likelihood([[2.0]])).round(6)
        array([[0.135335, 0.18394 ]])
        """
        return cls(*positive_table("means", means))

    @staticmethod
    def log_density(prepared: tuple[Array, ...], *parameters: Array) -> Array:
        (x,), (mean,) = prepared, parameters
        return np.maximum(-x / mean - np.log(mean), -MOST)

    @staticmethod
    def _mean_log_density(moments: Moments, *parameters: Array) -> Array:
        (mean,) = parameters
        return np.asarray(-moments.mean[:, 0] / mean - np.log(mean))

    def linear(self) -> LinearForm:
        constant = np.where(self.seen, -np.log(self.means).sum(axis=1), -np.inf)
        return LinearForm(np.zeros(self.n_features), -1 / self.means, constant)

    @property
    def expectation(self) -> Array:
        return self.means

    def _draw(self, code: Array, rng: np.random.Generator) -> Array:
        return rng.exponential(self.means[code])
