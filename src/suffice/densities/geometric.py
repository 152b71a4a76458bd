"""Geometric densities: how many failures come before the first success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..stats.support import WHOLE
from .base import LinearForm, refuse_zeros
from .counts import gamma_posterior
from .independent import MOST
from .parameters import positive_table, refuse
from .transformed import Moments, TransformedDensity

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class GeometricDensity(TransformedDensity):
    """A geometric distribution for every class and column: the failures before the first success.

    P(x) = p (1 - p)^x, for x = 0, 1, 2, …

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    probabilities : array of shape (k, d)
        The probabilities p of a success, above zero and at most one.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> GeometricDensity.from_parameters([0.5, 0.2]).log_likelihood([[2]]).round(4)
    array([[-2.0794, -2.0557]])
    """

    probabilities: Array  # (k, d)
    seen: Array  # (k,)

    family = "geometric"
    support = WHOLE
    transforms = ("identity",)
    pools = True  # by its prior

    @classmethod
    def _fitted(cls, moments: Moments, alpha: float) -> tuple[tuple[Array, ...], Array]:
        """p = 1 / (1 + mean), of the rows and of alpha rows at the mean of all rows, as of a Poisson."""
        events, rows = gamma_posterior(moments.mean[..., 0, :] * moments.weight, moments.weight, alpha)
        return (rows / (rows + events),), np.zeros(rows.shape, bool)

    @classmethod
    def _of_moments(cls, mean: Array, spread: Array) -> tuple[Array, ...]:  # noqa: ARG003
        return (1 / (1 + mean),)

    @classmethod
    def from_parameters(cls, probabilities: Any) -> Self:
        """Make geometric densities from the probabilities of a success.

        Parameters
        ----------
        probabilities : array (n_classes, n_features), or (n_classes,) of one feature
            Above zero, and one at most.

        Returns
        -------
        GeometricDensity
            The density of k classes.

        Examples
        --------
        >>> density = GeometricDensity.from_parameters([0.5, 0.2])
        >>> np.exp(density.log_likelihood([[2]])).round(6)
        array([[0.125, 0.128]])
        """
        p, given = positive_table("probabilities", probabilities)
        refuse("probabilities", p > 1, p, "probabilities must be from 0 to 1")
        return cls(p, given)

    @staticmethod
    def log_density(prepared: tuple[Array, ...], *parameters: Array) -> Array:
        (x,), (p,) = prepared, parameters
        failures = np.where(x > 0, np.where(p < 1, np.maximum(x * np.log1p(-p), -MOST), -np.inf), 0.0)
        return failures + np.log(p)

    @staticmethod
    def _mean_log_density(moments: Moments, *parameters: Array) -> Array:
        mean, (p,) = moments.mean[:, 0], parameters
        return np.where(mean > 0, mean * np.log1p(-p), 0.0) + np.log(p)

    def linear(self) -> LinearForm:
        refuse_zeros(bool((self.probabilities[self.seen] == 1).any()))
        slope = np.log1p(-np.where(self.seen[:, None], self.probabilities, 0.5))
        constant = np.where(self.seen, np.log(self.probabilities).sum(axis=1), -np.inf)
        return LinearForm(np.zeros(self.n_features), slope, constant)

    @property
    def expectation(self) -> Array:
        return (1 - self.probabilities) / self.probabilities

    def _draw(self, code: Array, rng: np.random.Generator) -> Array:
        return rng.geometric(self.probabilities[code]) - 1
