"""Fewer columns: principal components and linear discriminants, from moments alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, SingularWarning, remedy, warn
from .recipe import Blocks, Choices, Features, Names, Recipe
from .stats import CollectMoments, CollectTogether, MomentStats
from .stats.bundle import Collector
from .stats.collectors import NO_LABELS
from .stats.scatter import refuse_overflow

Array = NDArray[Any]

LIKELIEST = "mle"  # as many components as are most likely
_NO_NOISE = 1e-15  # variance of noise, of that of the first component
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

    shared_parameters: ClassVar[frozenset[str]] = frozenset()  # as densities have them

    def labelled_parameters(self, names: Sequence[Any]) -> dict[str, Any]:  # noqa: ARG002  as densities have it
        """Return the components (m, d) and their variances (m,), as users see them."""
        return {
            "components": self.directions.T,
            "explained_variance": self.values,
            "explained_variance_ratio": self.values / (self.total or 1.0),
        }

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
            raise DataError("the arrays of the projection do not fit together, or are invalid")
        return cls(own["center"], own["directions"], own["values"], float(own["total"]), np.array(classes))


def principal_components(moments: MomentStats) -> Projection:
    """The eigenvectors of the covariance of all rows (divisor n), whatever their class; values are variances."""
    center, covariance = overall(moments)
    refuse_overflow(moments.names, center, covariance)
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
    if not scatter.any() and seen.sum() > 1:
        raise DataError(
            "no column varies within a class: each class has a single row, or equal ones. LDA compares the classes "
            "with the variance within them; give it more rows of each class"
        )
    within = scatter / moments.total
    refuse_overflow(moments.names, center, within)
    scale = np.sqrt(np.where(np.diag(within) > 0, np.diag(within), 1.0))
    with np.errstate(over="ignore"):
        correlation = within / scale / scale[:, None]  # the product of two small deviations may be zero
    refuse_overflow(moments.names, correlation)
    values, vectors = np.linalg.eigh(correlation)
    real = values > _NOTHING * max(values[-1], np.finfo(float).tiny)
    if not real.all():
        warn(
            f"the classes have no variance in {int((~real).sum())} of {len(real)} directions, which are left out; "
            f"{remedy('use PCA first', 'use --method pca first')}, or drop columns that follow from others",
            SingularWarning,
        )
    refuse_overflow(moments.names, (moments.mean[seen] - center) / scale)
    whitening = vectors[:, real] / np.sqrt(values[real]) / scale[:, None]
    between = np.sqrt(share)[:, None] * ((moments.mean[seen] - center) @ whitening)
    _, spread, turn = np.linalg.svd(between, full_matrices=False)
    m = min(int(seen.sum()) - 1, len(spread))
    values = spread[:m] ** 2
    return Projection(center, _with_signs(whitening @ turn[:m].T), values, float(values.sum()))


def likeliest_dimension(values: Array, weight: float) -> int:
    """How many components rows have, rather than noise: the number of the greatest evidence (Minka 2000).

    Parameters
    ----------
    values : array of shape (d,)
        The variances of all components, descending, in any unit.
    weight : float
        The weight of the rows.

    Returns
    -------
    int
        At least 1 and at most d - 1, unless d is 1.

    Examples
    --------
    >>> likeliest_dimension(np.array([9.0, 4.0, 1.1, 1.0, 0.9]), 100)
    2
    """
    from scipy.special import gammaln

    d = len(values)
    values = np.asarray(values, np.float64) / (values[0] or 1.0)
    m = np.arange(1, d)  # numbers of components
    tail = np.cumsum(values[::-1])[::-1]
    noise = np.maximum(tail[1:] / (d - m), _NO_NOISE)
    free = d - np.arange(d)
    uniform = np.cumsum(gammaln(free / 2) - np.log(np.pi) * free / 2 - np.log(2))[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = -weight / 2 * (np.cumsum(np.log(values))[:-1] + np.log(noise) * (d - m))
        later = np.triu(np.ones((d, d), bool), 1)
        apart = np.cumsum(np.log(values[:, None] - values, where=later, out=np.zeros((d, d))).sum(axis=1))[:-1]
        inverse = 1 / values
        within = np.log(inverse - inverse[:, None], where=later, out=np.zeros((d, d))).sum(axis=0)
        kept = np.tril(np.ones((d - 1, d), bool))
        around = np.log(1 / noise[:, None] - inverse, where=kept, out=np.zeros((d - 1, d))).sum(axis=1)
        pairs = d * m - m * (m + 1) / 2
        curved = apart + np.cumsum(within)[:-1] + (d - m) * around + np.log(weight) * pairs
    evidence = uniform + fit + np.log(2 * np.pi) * (pairs + m) / 2 - curved / 2 - np.log(weight) * m / 2
    evidence[~np.isfinite(evidence)] = -np.inf
    return int(evidence.argmax()) + 1 if d > 1 else 1


def overall(moments: MomentStats) -> tuple[Array, Array]:
    """The mean (d,) and the covariance (d, d), divisor n, of all rows, from moments class by class."""
    n = moments.total
    share = moments.weight / n  # of the weight: sums of large values with large weights would overflow
    center = share @ moments.mean
    apart = (moments.mean - center) * np.sqrt(share)[:, None]
    scatter = moments.scatter if moments.layout == "pooled" else moments.scatter.sum(axis=0)
    return center, scatter / n + apart.T @ apart


def _with_signs(directions: Array) -> Array:
    """Directions (d, m) such that the largest entry of each is positive: a sign is arbitrary, but should not vary."""
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return np.ascontiguousarray(directions * np.where(largest < 0, -1.0, 1.0))


class ProjectionRecipe(Recipe):
    """A projection from pooled moments: all directions, and then as many of them as are wanted."""

    def check_choices(self, choices: dict[str, Any]) -> None:
        n = choices["n_components"]
        whole = isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 1
        if n is not None and not whole:
            raise DataError(f"n_components={n!r} must be a whole number above zero, or None")

    def collector(self, choices: Choices, blocks: Blocks | None = None, features: Features = ()) -> Collector:  # noqa: ARG002
        return CollectMoments("pooled")

    def adopted(self, statistics: Any, choices: Choices) -> MomentStats:  # noqa: ARG002
        return MomentStats.expected(statistics, "PCA and LDA").to_layout("pooled")

    def estimate(self, statistics: MomentStats, choices: Choices, names: Names = None) -> Projection:  # noqa: ARG002
        whole = self.whole(statistics, choices)
        return whole.first(self.kept(whole, choices, statistics.total))

    @abstractmethod
    def whole(self, moments: MomentStats, choices: Choices) -> Projection:
        """All directions."""

    @abstractmethod
    def kept(self, projection: Projection, choices: Choices, weight: float) -> int:
        """How many directions of a whole projection of rows of some weight are kept."""

    @staticmethod
    def _at_most(projection: Projection, n: int | None, what: str) -> int:
        most = len(projection.values)
        if n is not None and n > most:
            raise DataError(f"n_components={n} is more than the {most} that {what}")
        return most if n is None else int(n)


class PrincipalRecipe(ProjectionRecipe):
    """Principal components of all rows, whatever their labels."""

    defaults: Choices = MappingProxyType({"n_components": None, "whiten": False})

    def check_choices(self, choices: dict[str, Any]) -> None:
        n = choices["n_components"]
        if isinstance(n, str | Real) and not isinstance(n, Integral) and not _is_share(n) and n != LIKELIEST:
            raise DataError(
                f"n_components={n!r} must be a whole number above zero, a share of the variance between 0 and 1, "
                f'"{LIKELIEST}" or None'
            )
        if not _is_share(n) and n != LIKELIEST:
            super().check_choices(choices)

    def collector(self, choices: Choices, blocks: Blocks | None = None, features: Features = ()) -> Collector:
        return CollectTogether(super().collector(choices, blocks, features))

    def adopted(self, statistics: Any, choices: Choices) -> MomentStats:
        moments = super().adopted(statistics, choices)
        if len(moments.classes) == 1 and moments.classes.dtype == np.int8:
            return moments
        center, covariance = overall(moments)
        one = NO_LABELS, np.array([moments.total]), center[None]
        return MomentStats(*one, covariance * moments.total, "pooled")

    def whole(self, moments: MomentStats, choices: Choices) -> Projection:
        return self.whitened(principal_components(moments), choices)

    def kept(self, projection: Projection, choices: Choices, weight: float) -> int:
        n = choices["n_components"]
        if n == LIKELIEST:
            if weight < (d := len(projection.center)):
                raise DataError(
                    f'n_components="{LIKELIEST}" needs as many rows as columns or more, but {weight:g} rows have {d} '
                    "columns; give a number or a share of the variance"
                )
            return likeliest_dimension(projection.values, weight)
        if _is_share(n):
            reached = np.cumsum(projection.values) / (projection.total or 1.0)
            return min(int(np.searchsorted(reached, float(n), side="right")) + 1, len(reached))
        if n is None:  # directions without variance are arbitrary
            enough = len(projection.values) * np.finfo(float).eps * projection.values[:1].sum()
            return max(1, int((projection.values > enough).sum()))
        return self._at_most(projection, n, "the rows have")

    def whitened(self, projection: Projection, choices: Choices) -> Projection:
        """The projection with components of variance one, if that was chosen."""
        if not choices["whiten"]:
            return projection
        some = projection.values > np.finfo(float).eps * projection.total
        scale = np.where(some, np.sqrt(np.where(some, projection.values, 1.0)), np.inf)
        return replace(projection, directions=projection.directions / scale)


class DiscriminantRecipe(ProjectionRecipe):
    """Linear discriminants of classes."""

    defaults: Choices = MappingProxyType({"n_components": None})

    def whole(self, moments: MomentStats, choices: Choices) -> Projection:  # noqa: ARG002
        return discriminants(moments)

    def kept(self, projection: Projection, choices: Choices, weight: float) -> int:  # noqa: ARG002
        if not len(projection.values):
            raise DataError(
                "LDA needs at least two classes, and columns that vary within classes; there is 1 class, or no "
                "column varies"
            )
        what = "these classes have: one fewer than classes, and not more than columns"
        return self._at_most(projection, choices["n_components"], what)


def _is_share(n: Any) -> bool:
    """Whether a number of components is a share of the variance."""
    return isinstance(n, Real) and not isinstance(n, Integral) and 0 < float(n) < 1
