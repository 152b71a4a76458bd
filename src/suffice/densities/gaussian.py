"""Gaussian densities with six covariance structures, all from one moment statistic."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, EmptyClassWarning, SingularWarning, listed
from ..scoring import Wanted
from ..stats import MomentStats
from . import shrinkage as _shrinkage
from .base import Density, patterns
from .conditional import conditional_fill, conditional_marginal

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))
_BLOCK = 1 << 17  # elements of X whitened at a time
_LINEAR_LIMIT = 1e8  # squared distance between classes, in standard deviations, beyond which sums would cancel


_SHAPES = ("full", "diag", "spherical")  # by number in arrays: append only


class Structure(NamedTuple):
    """What is shared and what is free in the covariances."""

    shape: str  # "full", "diag" or "spherical"
    tied: bool  # whether all classes share one covariance

    def layout(self, shrinkage: float | str | None) -> str:
        """The poorest layout of moments that this structure can be estimated from."""
        if shrinkage == "ledoit_wolf":
            return "quartic"
        return ("pooled" if self.tied else "full") if self.shape == "full" else "diag"


STRUCTURES = {
    "full": Structure("full", False),
    "diag": Structure("diag", False),
    "spherical": Structure("spherical", False),
    "tied": Structure("full", True),
    "tied_diag": Structure("diag", True),
    "tied_spherical": Structure("spherical", True),
}


@dataclass(frozen=True, eq=False)
class GaussianDensity(Density):
    """N(x | mean, covariance) of every class; a structure that is tied has one covariance for all of them."""

    structure: Structure
    mean: Array  # (k, d)
    covariance: Array  # (g, d, d), or its diagonal (g, d); g is 1 if tied, else k
    whitening: Array  # (g, d, d) lower triangular W with W covariance W' = I; or 1 / standard deviation, (g, d)
    log_det: Array  # (g,) log |covariance|
    seen: Array  # (k,) whether the class had any rows; one that had none has log-likelihood -inf

    def __repr__(self) -> str:
        tied = "tied " if self.structure.tied else ""
        return f"GaussianDensity({tied}{self.structure.shape}, {self.n_classes} classes, {self.n_features} features)"

    @property
    def n_classes(self) -> int:
        return len(self.mean)

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[1])

    @classmethod
    def estimate(
        cls,
        stats: MomentStats,
        structure: str = "full",
        shrinkage: float | str | None = None,
        floor: float = 1e-9,
        names: tuple[str, ...] | None = None,
    ) -> GaussianDensity:
        """Maximum likelihood (divisor n), then shrinkage, then a floor relative to each feature's own variance."""
        kind = STRUCTURES[structure]
        seen = stats.weight > 0
        if not seen.all():
            warnings.warn(
                f"no rows of class {listed(stats.classes[~seen])}: never predicted until there are some",
                EmptyClassWarning,
                stacklevel=2,
            )
        covariance = covariances(stats, kind, shrinkage)
        mean = stats.mean
        if stats.observed is not None:
            mean, covariance = _neutral(stats, covariance, kind)
        return cls._floored(stats, kind, mean, covariance, floor, names)

    @classmethod
    def _floored(
        cls,
        stats: MomentStats,
        kind: Structure,
        mean: Array,
        covariance: Array,
        floor: float,
        names: tuple[str, ...] | None,
    ) -> GaussianDensity:
        seen = stats.weight > 0
        owners = np.array([None], object) if kind.tied else stats.classes
        report = _FloorReport(
            owners, names or tuple(range(stats.n_features)), seen if not kind.tied else np.array([seen.any()])
        )
        own = feature_variance(stats)
        if kind.shape == "spherical":
            own = np.full_like(own, own.mean())
        floored = _floored_full if kind.shape == "full" else _floored_diagonal
        covariance, whitening, log_det = floored(covariance, own, floor, report)
        report.warn(kind)
        return cls(kind, mean, covariance, whitening, log_det, seen)

    def to_arrays(self) -> dict[str, Array]:
        arrays = {name: getattr(self, name) for name in ("mean", "covariance", "whitening", "log_det", "seen")}
        return arrays | {"shape": np.array(_SHAPES.index(self.structure.shape)), "tied": np.array(self.structure.tied)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        fields = {name: np.array(array) for name, array in arrays.items()}
        structure = Structure(_SHAPES[int(fields.pop("shape"))], bool(fields.pop("tied")))
        return cls(structure, **fields)

    def of_classes(self, places: Sequence[int]) -> Self:
        places = list(places)  # a tuple would index several axes
        own = slice(None) if self.structure.tied else places
        rest = {name: getattr(self, name)[own] for name in ("covariance", "whitening", "log_det")}
        return replace(self, mean=self.mean[places], seen=self.seen[places], **rest)

    @cached_property
    def constant(self) -> Array:
        """log p of every class at its own mean, (k,); -inf where it had no rows."""
        value = -0.5 * (self.n_features * _LOG_2PI + self.log_det)
        return np.where(self.seen, value, -np.inf)

    @cached_property
    def _scale(self) -> Array:
        """1 / standard deviation of each class, (k, d), for the diagonal kernels."""
        return np.ascontiguousarray(np.broadcast_to(self.whitening, self.mean.shape))

    @cached_property
    def _whitened(self) -> tuple[Array, Array]:
        """A common centre (d,) and the class means whitened about it, (k, d), of a tied structure."""
        center = self.mean[self.seen].mean(axis=0) if self.seen.any() else self.mean[0]
        shift = self.mean - center
        means = shift @ self.whitening[0].T if self.structure.shape == "full" else shift * self.whitening[0]
        return center, np.ascontiguousarray(means)

    def linear(self) -> tuple[Array, Array, Array]:
        """Centre (d,), slopes (k, d) and constants (k,) of a tied structure: up to a term that all classes share,
        log p(x | class) is constant + slope (x - centre)."""
        center, means = self._whitened
        constant = np.where(self.seen, -0.5 * np.einsum("kd,kd->k", means, means), -np.inf)
        slope = means @ self.whitening[0] if self.structure.shape == "full" else means * self.whitening[0]
        return center, np.ascontiguousarray(slope), constant

    @cached_property
    def _linear(self) -> tuple[Array, Array, Array] | None:
        """The linear scores, unless the structure has none or they would lose digits."""
        if not self.structure.tied:
            return None
        scores = self.linear()
        return scores if scores[2][self.seen].min(initial=0.0) > -_LINEAR_LIMIT else None

    def _score(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        if relative and self._linear is not None:
            center, slope, constant = self._linear
            return bool(kernels.active.linear_scores(X, center, slope, constant + offset, *wanted))
        constant = self.constant + offset
        if self.structure.shape != "full":
            return bool(kernels.active.diag_scores(X, self.mean, self._scale, constant, *wanted))
        if not self.structure.tied:
            return bool(kernels.active.full_scores(X, self.mean, self.whitening, constant, *wanted))
        return self._score_whitened(X, constant, wanted)

    def _score_whitened(self, X: Array, constant: Array, wanted: Wanted) -> bool:
        center, means = self._whitened
        ones = np.ones_like(means)
        finite = True
        step = max(64, _BLOCK // self.n_features)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            with np.errstate(over="ignore", invalid="ignore"):
                z = (X[rows] - center) @ self.whitening[0].T
            if not kernels.active.diag_scores(z, means, ones, constant, *wanted.of_rows(rows)):
                finite &= bool(np.isfinite(X[rows]).all())
        return finite

    def quadratic(self, X: Array) -> Array:
        """Squared Mahalanobis distances to every class, (n, k)."""
        out = np.empty((len(X), self.n_classes))
        self.score(X, np.where(self.seen, -self.constant, np.inf), all=out)
        with np.errstate(over="ignore"):  # scores of far outliers are the last finite number
            return np.where(self.seen, -2.0 * out, np.inf)

    def _own(self, c: int) -> tuple[Array, Array]:
        """Covariance and whitening of class c: matrices (d, d), or diagonals (d,)."""
        g = 0 if self.structure.tied else c
        return self.covariance[g], self.whitening[g]

    def precision(self, c: int) -> Array:
        """The inverse covariance of class c, (d, d)."""
        whitening = self._own(c)[1]
        return np.asarray(whitening.T @ whitening if whitening.ndim == 2 else np.diag(whitening**2))

    def sample(self, code: Array, rng: np.random.Generator) -> Array:
        from scipy.linalg import solve_triangular

        X = rng.standard_normal((len(code), self.n_features))
        for c in np.unique(code):
            rows, whitening = code == c, self._own(c)[1]
            if whitening.ndim == 1:
                X[rows] /= whitening
            else:
                X[rows] = solve_triangular(whitening, X[rows].T, lower=True).T
        return X + self.mean[code]

    def quadratic_shares(self, X: Array, c: int) -> Array:
        """The features' shares in the squared Mahalanobis distance, (n, d)."""
        dev, whitening = X - self.mean[c], self._own(c)[1]
        return np.asarray(dev * (dev @ whitening.T @ whitening) if whitening.ndim == 2 else (dev * whitening) ** 2)

    def explain(self, X: Array, c: int) -> Array:
        """Shares of the features in log p(observed | c); none for what is missing."""
        if not np.isnan(X).any():
            return self._explain_whole(X, c)
        shares = np.zeros(X.shape)
        for missing, rows in patterns(np.isnan(X)):
            seen = np.ix_(rows, ~missing)
            if not missing.all():
                shares[seen] = self.of_features(~missing)._explain_whole(X[seen], c)
        return shares

    def _explain_whole(self, X: Array, c: int) -> Array:
        covariance = self._own(c)[0]
        log_variance = np.log(np.diag(covariance) if covariance.ndim == 2 else covariance)
        entangled = (self.log_det[0 if self.structure.tied else c] - log_variance.sum()) / self.n_features
        return np.asarray(-0.5 * (self.quadratic_shares(X, c) + _LOG_2PI + log_variance + entangled))

    def of_features(self, kept: Array) -> GaussianDensity:
        """The marginal density of some features, (d,) bool."""
        mean = self.mean[:, kept]
        if self.covariance.ndim == 2:
            rest = {name: getattr(self, name)[:, kept] for name in ("covariance", "whitening")}
            return replace(self, mean=mean, log_det=np.log(rest["covariance"]).sum(axis=1), **rest)
        covariance = np.stack([matrix[np.ix_(kept, kept)] for matrix in self.covariance])
        whitening = np.stack([_triangular_inverse(np.linalg.cholesky(matrix)) for matrix in covariance])
        log_det = -2 * np.log(np.einsum("gii->gi", whitening)).sum(axis=1)
        return replace(self, mean=mean, covariance=covariance, whitening=whitening, log_det=log_det)

    def typicality(self, X: Array) -> Array:
        from scipy.special import chdtrc

        return np.asarray(chdtrc(self.n_features, self.quadratic(X)))

    def marginal(self, X: Array) -> Array:
        return conditional_marginal(self, X)

    def fill(self, X: Array, posterior: Array) -> Array:
        return conditional_fill(self, X, posterior)

    def conditional(self, X: Array, c: int, missing: Array) -> tuple[Array, Array]:
        """For rows that all miss the columns `missing` (d,) bool: log p(observed | c), (n,), and
        E[missing | observed, c], (n, missing.sum())."""
        quadratic, log_det, expected = self.conditional_parts(X, c, missing)
        return -0.5 * (quadratic + log_det + (~missing).sum() * _LOG_2PI), expected

    def conditional_parts(self, X: Array, c: int, missing: Array) -> tuple[Array, float, Array]:
        """Squared distance of the observed part (n,), log-determinant of its covariance, expectation of the rest."""
        covariance, seen = self._own(c)[0], ~missing
        if covariance.ndim == 1 or not seen.any():
            shares = self.quadratic_shares(np.where(missing, self.mean[c], X), c)
            log_det = np.log(covariance[seen]).sum() if seen.any() else 0.0
            return shares.sum(axis=1), float(log_det), np.tile(self.mean[c, missing], (len(X), 1))
        deviation = np.sqrt(np.diag(covariance))
        correlation = covariance / deviation / deviation[:, None]
        dev = (X[:, seen] - self.mean[c, seen]) / deviation[seen]
        solved = np.linalg.solve(correlation[np.ix_(seen, seen)], dev.T).T
        log_det = np.linalg.slogdet(correlation[np.ix_(seen, seen)])[1] + 2 * np.log(deviation[seen]).sum()
        expected = self.mean[c, missing] + solved @ correlation[np.ix_(seen, missing)] * deviation[missing]
        return np.einsum("ij,ij->i", dev, solved), float(log_det), expected


def covariances(stats: MomentStats, kind: Structure, shrinkage: float | str | None = None) -> Array:
    """Maximum likelihood covariances, shrunk: (g, d, d), or diagonals (g, d)."""
    shrinks = shrinkage not in (None, 0)
    layout = kind.layout(shrinkage)
    stats = stats.to_layout(layout)
    n = np.array([stats.total]) if kind.tied else stats.weight
    divisor = np.where(n > 0, n, 1.0)
    if kind.shape == "full":
        scatter = stats.scatter
        if kind.tied:
            scatter = (scatter if stats.layout == "pooled" else scatter.sum(axis=0))[None]
        covariance = np.asarray(scatter / divisor[:, None, None])
        if not shrinks:
            return covariance
        return _shrinkage.shrunk(covariance, _intensity(shrinkage, covariance, n, stats, kind))
    scatter, weight = stats.scatter, np.broadcast_to(stats.column_weight, stats.scatter.shape)
    if kind.tied:
        scatter, weight = scatter.sum(axis=0)[None], weight.sum(axis=0)[None]
    variance = scatter / np.where(weight > 0, weight, 1.0)
    # Of the columns that were observed, and for one variance of all of them as often as they were.
    share = weight if kind.shape == "spherical" else (weight > 0).astype(np.float64)
    share = np.where(share.any(axis=1, keepdims=True), share, 1.0)
    mean = (variance * share).sum(axis=1, keepdims=True) / share.sum(axis=1, keepdims=True)
    even = np.broadcast_to(mean, variance.shape)
    if kind.shape == "spherical":
        return even
    return (1 - shrinkage) * variance + shrinkage * even if shrinks else variance  # type: ignore[operator]


def _neutral(stats: MomentStats, variance: Array, kind: Structure) -> tuple[Array, Array]:
    """Means and variances where a class that never had a column takes those of all rows, which speak for no class."""
    weight = np.broadcast_to(stats.column_weight, stats.mean.shape)
    total = np.where(weight.any(axis=0), weight.sum(axis=0), 1.0)
    share = weight / total
    grand = (share * stats.mean).sum(axis=0)
    overall = (share * (stats.mean - grand) ** 2).sum(axis=0) + stats.scatter.sum(axis=0) / total
    unknown = weight == 0
    mean = np.where(unknown, grand, stats.mean)
    return mean, variance if kind.tied or kind.shape == "spherical" else np.where(unknown, overall, variance)


def _intensity(
    shrinkage: float | str | None, covariance: Array, n: Array, stats: MomentStats, kind: Structure
) -> Array:
    if shrinkage == "oas":
        return _shrinkage.oas(covariance, n)
    if shrinkage == "ledoit_wolf":
        assert stats.quartic is not None
        quartic = stats.quartic.sum(keepdims=True) if kind.tied else stats.quartic
        if ((quartic == 0) & (np.einsum("gii->g", covariance) > 0)).any():
            raise DataError("the values are too small: their fourth powers vanish; rescale the columns for Ledoit-Wolf")
        return _shrinkage.ledoit_wolf(covariance, n, quartic)
    return np.full(len(n), shrinkage, dtype=np.float64)


def feature_variance(stats: MomentStats) -> Array:
    """The variance of each feature within classes, (d,): the yardstick of the floor.

    A feature that never varies within a class is measured by its variance between them, and one that never varies at
    all says nothing: any positive number serves, and its own square keeps the scale.
    """
    weight = stats.column_weight  # (k, d) or (k, 1)
    total = np.where(weight.any(axis=0), weight.sum(axis=0), 1.0)
    diagonal = {"diag": "kd->d", "pooled": "dd->d"}.get(stats.layout, "kdd->d")
    within = np.einsum(diagonal, stats.scatter) / total
    grand = (weight * stats.mean).sum(axis=0) / total
    rounding = 8 * np.finfo(np.float64).eps * np.abs(grand)
    varies = (within > 0) & (np.sqrt(within) > rounding)
    if varies.all():
        return np.asarray(within)
    between = (np.abs(stats.mean - grand) * np.sqrt(weight / total)).max(axis=0)
    size = np.abs(grand)
    unit = np.select([varies, between > rounding, size > 1e-100], [np.sqrt(within), between, size], 1.0)
    return np.asarray(np.minimum(unit, 1e150) ** 2)


class _FloorReport:
    """Which columns of which class were floored, for one warning."""

    def __init__(self, owners: Array, names: tuple[Any, ...], count: Array) -> None:
        self.owners, self.names, self.count = owners, names, count
        self.found: dict[int, Array] = {}

    def add(self, g: int, columns: Array) -> None:
        if self.count[g] and columns.any():
            self.found[g] = columns

    def warn(self, kind: Structure) -> None:
        if not self.found:
            return
        lines = []
        for g, columns in list(self.found.items())[:5]:
            owner = "all classes" if kind.tied else f"class {listed([self.owners[g]])}"
            lines.append(f"{owner} in columns {listed([self.names[j] for j in np.flatnonzero(columns)], 8)}")
        more = f" and {len(self.found) - 5} more classes" if len(self.found) > 5 else ""
        remedy = "use shrinkage" if kind.tied else 'use shrinkage or covariance="tied", or a predictive Gaussian model'
        warnings.warn(
            f"no variance of its own in some direction: {'; '.join(lines)}{more}. A floor was applied; "
            f"remove columns that are constant or copies of others, or {remedy}",
            SingularWarning,
            stacklevel=5,
        )


def _floored_diagonal(variance: Array, own: Array, floor: float, report: _FloorReport) -> tuple[Array, Array, Array]:
    least = np.maximum(floor * own, np.finfo(np.float64).tiny)
    low = variance < least
    for g in np.flatnonzero(low.any(axis=1)):
        report.add(int(g), low[g])
    variance = np.where(low, least, variance)
    return variance, 1.0 / np.sqrt(variance), np.log(variance).sum(axis=1)


def _floored_full(covariance: Array, own: Array, floor: float, report: _FloorReport) -> tuple[Array, Array, Array]:
    unit = np.sqrt(own)
    whitening = np.empty_like(covariance)
    log_det = np.empty(len(covariance))
    for g in range(len(covariance)):
        matrix = covariance[g] / unit / unit[:, None]
        inverse = _inverse_factor(matrix, floor)
        if inverse is None:
            values, vectors = np.linalg.eigh(matrix)
            least = max(floor, len(values) * np.finfo(np.float64).eps * values[-1])
            share = (vectors[:, values < least] ** 2).sum(axis=1)
            report.add(g, share >= 0.5 * share.max(initial=0.0) if share.any() else share > 0)
            root = vectors * np.sqrt(np.maximum(values, least))  # its square is the floored matrix
            inverse = _triangular_inverse(np.asarray(np.linalg.qr(root.T, mode="r")).T)
            covariance[g] = (root @ root.T) * unit * unit[:, None]
        log_det[g] = 2 * (np.log(unit).sum() - np.log(np.abs(np.diag(inverse))).sum())
        np.divide(inverse, unit, out=whitening[g])
    return covariance, whitening, log_det


def _inverse_factor(matrix: Array, floor: float) -> Array | None:
    """The inverse of the Cholesky factor, or None where an eigenvalue may be below the floor."""
    try:
        inverse = _triangular_inverse(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return None
    # The sum of squares is the trace of the matrix's inverse, which is at least one over its least eigenvalue.
    return inverse if np.vdot(inverse, inverse) * floor <= 1.0 else None


def _triangular_inverse(lower: Array) -> Array:
    from scipy.linalg.lapack import dtrtri

    return np.asarray(dtrtri(lower, lower=1)[0])
