"""Gaussian densities with six covariance structures, all from one moment statistic."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, EmptyClassWarning, SingularWarning, listed
from ..stats import MomentStats
from . import shrinkage as _shrinkage
from .base import Density

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))
_BLOCK = 1 << 17  # elements of X whitened at a time
_LINEAR_LIMIT = 1e8  # squared distance between classes, in standard deviations, beyond which sums would cancel


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
                f"class {listed(stats.classes[~seen])} has no rows; it is never predicted until it has",
                EmptyClassWarning,
                stacklevel=2,
            )
        covariance = covariances(stats, kind, shrinkage)
        return cls._floored(stats, kind, stats.mean, covariance, floor, names)

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
            owners, names or tuple(range(stats.n_features)), seen if not kind.tied else np.array([True])
        )
        floored = _floored_full if kind.shape == "full" else _floored_diagonal
        covariance, whitening, log_det = floored(covariance, feature_variance(stats), floor, report)
        report.warn(kind)
        return cls(kind, mean, covariance, whitening, log_det, seen)

    def to_arrays(self) -> dict[str, Array]:
        arrays = {name: getattr(self, name) for name in ("mean", "covariance", "whitening", "log_det", "seen")}
        return arrays | {"structure": np.array(list(STRUCTURES.values()).index(self.structure))}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        structure = list(STRUCTURES.values())[int(arrays["structure"])]
        return cls(structure, **{name: np.array(array) for name, array in arrays.items() if name != "structure"})

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
        center = self.mean[self.seen].mean(axis=0)
        shift = self.mean - center
        means = shift @ self.whitening[0].T if self.structure.shape == "full" else shift * self.whitening[0]
        return center, np.ascontiguousarray(means)

    @cached_property
    def _linear(self) -> tuple[Array, Array, Array] | None:
        """Centre, slopes and constants of the linear scores of a tied structure, unless they would lose digits."""
        if not self.structure.tied:
            return None
        center, means = self._whitened
        constant = np.where(self.seen, -0.5 * np.einsum("kd,kd->k", means, means), -np.inf)
        if constant[self.seen].min(initial=0.0) < -_LINEAR_LIMIT:
            return None
        slope = means @ self.whitening[0] if self.structure.shape == "full" else means * self.whitening[0]
        return center, np.ascontiguousarray(slope), constant

    def score(
        self,
        X: Array,
        offset: Array | float = 0.0,
        *,
        all: Array | None = None,
        best: Array | None = None,
        evidence: Array | None = None,
        relative: bool = False,
    ) -> bool:
        wanted = all, best, evidence
        if relative and self._linear is not None:
            center, slope, constant = self._linear
            return bool(kernels.active.linear_scores(X, center, slope, constant + offset, *wanted))
        constant = self.constant + offset
        if self.structure.shape != "full":
            return bool(kernels.active.diag_scores(X, self.mean, self._scale, constant, *wanted))
        if not self.structure.tied:
            return bool(kernels.active.full_scores(X, self.mean, self.whitening, constant, *wanted))
        return self._score_whitened(X, constant, wanted)

    def _score_whitened(self, X: Array, constant: Array, wanted: tuple[Array | None, ...]) -> bool:
        center, means = self._whitened
        ones = np.ones_like(means)
        finite = True
        step = max(64, _BLOCK // self.n_features)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            with np.errstate(over="ignore", invalid="ignore"):
                z = (X[rows] - center) @ self.whitening[0].T
            parts = [None if a is None else a[rows] for a in wanted]
            if not kernels.active.diag_scores(z, means, ones, constant, *parts):
                finite &= bool(np.isfinite(X[rows]).all())
        return finite

    def quadratic(self, X: Array) -> Array:
        """Squared Mahalanobis distances to every class, (n, k)."""
        out = np.empty((len(X), self.n_classes))
        self.score(X, np.where(self.seen, -self.constant, np.inf), all=out)
        with np.errstate(over="ignore"):  # scores of far outliers are the last finite number
            return np.where(self.seen, -2.0 * out, np.inf)

    def factor(self, c: int) -> tuple[Array, Array]:
        """Covariance and whitening of class c, as (d, d) matrices."""
        g = 0 if self.structure.tied else c
        if self.structure.shape == "full":
            return self.covariance[g], self.whitening[g]
        return np.diag(self.covariance[g]), np.diag(self.whitening[g])

    def precision(self, c: int) -> Array:
        """The inverse covariance of class c, (d, d)."""
        whitening = self.factor(c)[1]
        return np.asarray(whitening.T @ whitening)

    def sample(self, c: int, n: int, rng: np.random.Generator) -> Array:
        from scipy.linalg import solve_triangular

        noise = rng.standard_normal((n, self.n_features))
        return np.asarray(self.mean[c] + solve_triangular(self.factor(c)[1], noise.T, lower=True).T)

    def quadratic_shares(self, X: Array, c: int) -> Array:
        """The features' shares in the squared Mahalanobis distance, (n, d)."""
        dev = X - self.mean[c]
        whitening = self.factor(c)[1]
        return np.asarray(dev * (dev @ whitening.T @ whitening))

    def explain(self, X: Array, c: int) -> Array:
        log_variance = np.log(np.diag(self.factor(c)[0]))
        entangled = (self.log_det[0 if self.structure.tied else c] - log_variance.sum()) / self.n_features
        return np.asarray(-0.5 * (self.quadratic_shares(X, c) + _LOG_2PI + log_variance + entangled))

    def typicality(self, X: Array) -> Array:
        from scipy.special import chdtrc

        return np.asarray(chdtrc(self.n_features, self.quadratic(X)))

    def conditional(self, X: Array, c: int, missing: Array) -> tuple[Array, Array]:
        quadratic, log_det, expected = self.conditional_parts(X, c, missing)
        return -0.5 * (quadratic + log_det + (~missing).sum() * _LOG_2PI), expected

    def conditional_parts(self, X: Array, c: int, missing: Array) -> tuple[Array, float, Array]:
        """Squared distance of the observed part (n,), log-determinant of its covariance, expectation of the rest."""
        covariance, seen = self.factor(c)[0], ~missing
        if not seen.any():
            return np.zeros(len(X)), 0.0, np.tile(self.mean[c, missing], (len(X), 1))
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
    if isinstance(shrinkage, str) and kind.shape != "full":
        raise DataError(f'shrinkage={shrinkage!r} needs covariance="full" or "tied"; give a number instead')
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
    variance = (stats.scatter.sum(axis=0)[None] if kind.tied else stats.scatter) / divisor[:, None]
    even = np.broadcast_to(variance.mean(axis=1, keepdims=True), variance.shape)
    if kind.shape == "spherical":
        return even
    return (1 - shrinkage) * variance + shrinkage * even if shrinks else variance  # type: ignore[operator]


def _intensity(
    shrinkage: float | str | None, covariance: Array, n: Array, stats: MomentStats, kind: Structure
) -> Array:
    if shrinkage == "oas":
        return _shrinkage.oas(covariance, n)
    if shrinkage == "ledoit_wolf":
        assert stats.quartic is not None
        quartic = stats.quartic.sum(keepdims=True) if kind.tied else stats.quartic
        return _shrinkage.ledoit_wolf(covariance, n, quartic)
    return np.full(len(n), shrinkage, dtype=np.float64)


def feature_variance(stats: MomentStats) -> Array:
    """The variance of each feature within classes, (d,): the yardstick of the floor.

    A feature that never varies within a class is measured by its variance between them, and one that never varies at
    all says nothing: any positive number serves, and its own square keeps the scale.
    """
    total = stats.total or 1.0
    diagonal = {"diag": "kd->d", "pooled": "dd->d"}.get(stats.layout, "kdd->d")
    within = np.einsum(diagonal, stats.scatter) / total
    if (within > 0).all():
        return np.asarray(within)
    grand = stats.weight @ stats.mean / total
    between = (((stats.mean - grand) * np.sqrt(stats.weight / total)[:, None]) ** 2).sum(axis=0)
    square = grand**2
    return np.select([within > 0, between > 0, square > 1e-200], [within, between, square], 1.0)


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
        remedy = "use shrinkage" if kind.tied else 'use shrinkage, covariance="tied", or predictive=True'
        warnings.warn(
            f"no variance of its own in some direction: {'; '.join(lines)}{more}. A floor was applied; "
            f"remove columns that are constant or copies of others, or {remedy}",
            SingularWarning,
            stacklevel=5,
        )


def _floored_diagonal(variance: Array, own: Array, floor: float, report: _FloorReport) -> tuple[Array, Array, Array]:
    if report_spherical := bool((variance == variance[:, :1]).all() and variance.shape[1] > 1):
        own = np.full_like(own, own.mean())
    least = np.maximum(floor * own, np.finfo(np.float64).tiny)
    low = variance < least
    for g in np.flatnonzero(low.any(axis=1)):
        report.add(int(g), low[g] | report_spherical)
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
            report.add(g, (vectors[:, values < floor] ** 2).sum(axis=1) > 0.1)
            matrix = (vectors * np.maximum(values, floor)) @ vectors.T
            inverse = _inverse_factor(matrix, 0.0)
            covariance[g] = matrix * unit * unit[:, None]
        assert inverse is not None
        log_det[g] = 2 * (np.log(unit).sum() - np.log(np.diag(inverse)).sum())
        np.divide(inverse, unit, out=whitening[g])
    return covariance, whitening, log_det


def _inverse_factor(matrix: Array, floor: float) -> Array | None:
    """The inverse of the Cholesky factor, or None where an eigenvalue may be below the floor."""
    from scipy.linalg.lapack import dtrtri

    try:
        inverse = dtrtri(np.linalg.cholesky(matrix), lower=1)[0]
    except np.linalg.LinAlgError:
        return None
    # The sum of squares is the trace of the matrix's inverse, which is at least one over its least eigenvalue.
    return np.asarray(inverse) if np.vdot(inverse, inverse) * floor <= 1.0 else None
