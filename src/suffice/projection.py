"""Fewer columns: principal components and linear discriminants, from moments alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, SingularWarning
from .stats import MomentStats

Array = NDArray[Any]

_NOTHING = 1e-10  # of a correlation matrix's eigenvalues: less than this is a direction without variance


@dataclass(frozen=True, eq=False)
class Projection:
    """x -> (x - center) directions."""

    center: Array  # (d,)
    directions: Array  # (d, m)
    values: Array  # (m,) what each direction is worth, descending
    total: float  # the values of all directions, of those that were left out too

    def __call__(self, X: Array) -> Array:
        return np.asarray((X - self.center) @ self.directions)

    def first(self, m: int) -> Self:
        """The most worthy directions."""
        return replace(self, directions=self.directions[:, :m], values=self.values[:m])

    def then(self, other: Projection) -> Projection:
        """This projection followed by another, in one."""
        center = self.center + self.directions @ np.linalg.pinv(self.directions.T @ self.directions) @ other.center
        return Projection(center, self.directions @ other.directions, other.values, other.total)

    def of_moments(self, moments: MomentStats) -> MomentStats:
        """The moments of projected rows, from those of the rows."""
        return moments.projected(self.center, self.directions)


@dataclass(frozen=True, eq=False)
class LearntProjection(Projection):
    """A projection with the classes of its rows: all that is learnt of them where no statistic is kept."""

    classes: Array  # (k,) sorted; one where labels played no part

    @property
    def n_features(self) -> int:
        return len(self.center)

    def to_arrays(self) -> dict[str, Array]:
        own = {name: getattr(self, name) for name in ("center", "directions", "values")}
        return own | {"total": np.array(self.total)}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        own = {name: np.array(arrays[name], np.float64) for name in ("center", "directions", "values", "total")}
        d, m = len(own["center"]), len(own["values"])
        shapes = {"center": (d,), "directions": (d, m), "values": (m,), "total": ()}
        fits = all(own[name].shape == shape and np.isfinite(own[name]).all() for name, shape in shapes.items())
        if not (fits and (own["values"] >= 0).all()):
            raise DataError("the arrays of the projection do not fit together, or are bad")
        return cls(own["center"], own["directions"], own["values"], float(own["total"]), np.array(classes))


def principal_components(moments: MomentStats) -> Projection:
    """The eigenvectors of the covariance of all rows (divisor n), whatever their class; values are variances."""
    center, covariance = overall(moments)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values[::-1], 0.0)
    return Projection(center, _with_signs(vectors[:, ::-1]), values, float(values.sum()))


def wide_principal_components(X: Array, weight: Array | None = None) -> Projection:
    """The same from rows with more columns than there are rows: from their inner products, with no matrix of columns.

    There are no more components than rows; those that are left out have no variance.
    """
    w = np.ones(len(X)) if weight is None else weight
    center = w @ X / w.sum()
    rows = (X - center) * np.sqrt(w / w.sum())[:, None]
    values, vectors = np.linalg.eigh(rows @ rows.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    real = values > len(X) * np.finfo(float).eps * max(values[0], np.finfo(float).tiny)
    directions = rows.T @ (vectors[:, real] / np.sqrt(values[real]))
    return Projection(center, _with_signs(directions), values[real], float(values[real].sum()))


def discriminants(moments: MomentStats) -> Projection:
    """The directions, at most one fewer than classes, in which the classes lie farthest apart for their spread.

    They are scaled such that the covariance within classes (divisor n) becomes the identity; values are the generalised
    eigenvalues, variance between classes over variance within. Directions without variance within classes are left
    out, with a warning.
    """
    center, _ = overall(moments)
    seen = moments.weight > 0
    share = moments.weight[seen] / moments.total
    scatter = moments.scatter if moments.layout == "pooled" else moments.scatter.sum(axis=0)
    within = scatter / moments.total
    scale = np.sqrt(np.where(np.diag(within) > 0, np.diag(within), 1.0))
    values, vectors = np.linalg.eigh(within / np.outer(scale, scale))
    real = values > _NOTHING * max(values[-1], np.finfo(float).tiny)
    if not real.all():
        warnings.warn(
            f"the classes have no variance in {int((~real).sum())} of {len(real)} directions, which are left out; "
            "reduce the columns with PCA first, or drop those that others determine",
            SingularWarning,
            stacklevel=2,
        )
    whitening = vectors[:, real] / np.sqrt(values[real]) / scale[:, None]
    between = np.sqrt(share)[:, None] * ((moments.mean[seen] - center) @ whitening)
    _, spread, turn = np.linalg.svd(between, full_matrices=False)
    m = min(int(seen.sum()) - 1, len(spread))
    values = spread[:m] ** 2
    return Projection(center, _with_signs(whitening @ turn[:m].T), values, float(values.sum()))


def overall(moments: MomentStats) -> tuple[Array, Array]:
    """The mean (d,) and the covariance (d, d), divisor n, of all rows, from moments class by class."""
    n = moments.total
    center = moments.weight @ moments.mean / n
    apart = (moments.mean - center) * np.sqrt(moments.weight)[:, None]
    scatter = moments.scatter if moments.layout == "pooled" else moments.scatter.sum(axis=0)
    return center, (scatter + apart.T @ apart) / n


def _with_signs(directions: Array) -> Array:
    """Directions (d, m) such that the largest entry of each is positive: a sign is arbitrary, but should not vary."""
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return np.ascontiguousarray(directions * np.where(largest < 0, -1.0, 1.0))
