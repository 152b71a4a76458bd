"""Principal components as a density: directions of most variance, and even noise around them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..projection import Projection
from ..sources import Source
from ..stats import MomentStats

Array = NDArray[Any]

_FLOOR = 1e-9  # of variances, relative to their mean


def is_lost(values: Array, noise: float, d: int) -> bool:
    """Whether some variance, along m of d directions or beside them, is lost in the rounding of the largest."""
    every = np.append(values, [noise] * (len(values) < d))
    return bool(every.min() <= d * np.finfo(np.float64).eps * every.max())  # also where there is no variance at all


def floored(values: Array, noise: float, d: int) -> tuple[Array, float]:
    """Variances along m of d directions, and beside them, not below a floor that keeps densities finite."""
    least = _FLOOR * float((values.sum() + (d - len(values)) * noise) / d or 1.0)
    return np.maximum(values, least), max(noise, least)


def precision(axes: Array, values: Array, noise: float) -> Array:
    """The inverse (d, d) of a covariance: variances (m,) along directions (d, m) of length one, noise beside them."""
    if len(values) == len(axes):
        return np.asarray((axes / values) @ axes.T)
    return np.asarray(np.eye(len(axes)) / noise + (axes * (1 / values - 1 / noise)) @ axes.T)


class ProbabilisticComponents:
    """What scikit-learn's PCA has beyond a projection, by maximum likelihood (Tipping and Bishop, 1999; divisor n)."""

    _fitted: Callable[[], MomentStats]
    _source: Callable[..., Source]

    @property
    @abstractmethod
    def projection_(self) -> Projection:
        """Centre and directions."""

    def _moments(self) -> MomentStats:
        try:
            return self._fitted()
        except DataError as error:  # scikit-learn asks for all attributes to show a model
            raise AttributeError(str(error)) from error

    @property
    def singular_values_(self) -> Array:
        """The singular values of the centred rows, (m,)."""
        return np.sqrt(self.projection_.values * self._moments().total)

    @property
    def noise_variance_(self) -> float:
        """The mean variance of the directions that are left out, of as many as there are rows or columns."""
        projection, moments = self.projection_, self._moments()
        left = min(moments.total, moments.n_features) - len(projection.values)
        return max(float(projection.total - projection.values.sum()), 0.0) / left if left > 0 else 0.0

    def _axes(self) -> Array:
        """The directions (d, m), of length one also where they are whitened."""
        directions = self.projection_.directions
        length = np.sqrt((directions**2).sum(axis=0))
        return np.asarray(directions / np.where(length > 0, length, 1.0))

    def get_covariance(self) -> Array:
        """Compute the covariance of the rows: that of the components, and noise in all other directions.

        Returns
        -------
        array of shape (d, d)
            The covariance matrix.

        Examples
        --------
        >>> from suffice import PCA
        >>> PCA(1).fit([[0.0, 0.0], [2.0, 2.0], [1.0, 0.0], [1.0, 2.0]]).get_covariance().round(3)
        array([[0.5, 0.5],
               [0.5, 1. ]])
        """
        axes, noise = self._axes(), self.noise_variance_
        return np.asarray((axes * (self.projection_.values - noise)) @ axes.T + noise * np.eye(len(axes)))

    def get_precision(self) -> Array:
        """Compute the inverse of `get_covariance`.

        If some variance is lost in the rounding of the largest, all are raised to at least 1e-9 of their mean, so that
        rows with constant columns have a density, too.

        Returns
        -------
        array of shape (d, d)
            The precision matrix.

        Examples
        --------
        >>> from suffice import PCA
        >>> PCA(1).fit([[1.0, 0.0], [3.0, 0.0], [2.0, 1.0], [2.0, -1.0], [5.0, 0.0]]).get_precision().round(2)
        array([[0.54, 0.  ],
               [0.  , 2.5 ]])
        """
        return precision(self._axes(), *self._variances())

    def score_samples(self, X: Any) -> Array:
        """Compute the log-density of rows.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows. They are read into memory.

        Returns
        -------
        array of shape (n,)
            Densities log p(x), in nats.

        Examples
        --------
        >>> from suffice import PCA
        >>> pca = PCA(1).fit([[1.0, 0.0], [3.0, 0.0], [2.0, 1.0], [2.0, -1.0], [5.0, 0.0]])
        >>> pca.score_samples([[2.0, 0.0], [2.0, 9.0]]).round(1)
        array([  -1.8, -103. ])
        """
        axes, (values, noise) = self._axes(), self._variances()
        source = self._source(X).in_memory()
        away = source.batch(0, source.n_rows).table.floats() - self.projection_.center
        along = away @ axes
        distance, log_det, rest = (along**2 / values).sum(axis=1), float(np.log(values).sum()), len(axes) - len(values)
        if rest:
            beside = away - along @ axes.T
            distance, log_det = distance + (beside**2).sum(axis=1) / noise, log_det + rest * np.log(noise)
        return np.asarray(-0.5 * (distance + log_det + len(axes) * np.log(2 * np.pi)))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Compute the mean log-density of rows.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : None
            Ignored.

        Returns
        -------
        float
            The mean of `score_samples`.

        Examples
        --------
        >>> from suffice import PCA
        >>> pca = PCA(1).fit([[1.0, 0.0], [3.0, 0.0], [2.0, 1.0], [2.0, -1.0], [5.0, 0.0]])
        >>> round(pca.score([[2.0, 0.0], [2.0, 9.0]]), 1)
        -52.4
        """
        return float(self.score_samples(X).mean())

    def _variances(self) -> tuple[Array, float]:
        """The variances along the components, (m,), and beside them; with a floor where rounding has lost some."""
        every = self.projection_.values, self.noise_variance_, len(self.projection_.center)
        return floored(*every) if is_lost(*every) else every[:2]
