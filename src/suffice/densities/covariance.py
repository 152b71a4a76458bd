"""Covariances from moments: structures, shrinkage, and the floor that keeps them regular."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, SingularWarning, listed
from ..stats import MomentStats
from ..stats.scatter import refuse_overflow
from . import shrinkage as _shrinkage

Array = NDArray[Any]


class Structure(NamedTuple):
    """What is shared and what is free in the covariances."""

    shape: str  # "full", "diag" or "spherical"
    tied: bool  # whether all classes share one covariance

    @property
    def name(self) -> str:
        """The name in STRUCTURES."""
        if not self.tied:
            return self.shape
        return "tied" if self.shape == "full" else f"tied_{self.shape}"

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


def covariances(stats: MomentStats, kind: Structure, shrinkage: float | str | None = None) -> Array:
    """Maximum likelihood covariances, shrunk: (g, d, d), or diagonals (g, d)."""
    shrinks = shrinkage not in (None, 0)
    layout = kind.layout(shrinkage)
    stats = stats.to_layout(layout)
    if kind.shape == "full":
        covariance, n = _unshrunk(stats, kind)
        if not shrinks:
            return covariance
        return _shrinkage.shrunk(covariance, _intensity(shrinkage, covariance, n, stats, kind))
    return variances(stats.scatter, stats.column_weight, kind, float(shrinkage or 0.0))


def estimated_shrinkage(stats: MomentStats, kind: Structure, shrinkage: str) -> Array:
    """How far "oas" or "ledoit_wolf" pull full covariances, (g,)."""
    return _intensity(shrinkage, *_unshrunk(stats, kind), stats, kind)


def _unshrunk(stats: MomentStats, kind: Structure) -> tuple[Array, Array]:
    """Full covariances of maximum likelihood, (g, d, d), and the weights behind them, (g,)."""
    n, scatter = np.array([stats.total]) if kind.tied else stats.weight, stats.scatter
    if kind.tied:
        scatter = (scatter if stats.layout == "pooled" else scatter.sum(axis=0))[None]
    return np.asarray(scatter / np.where(n > 0, n, 1.0)[:, None, None]), n


# The functions of diagonals also take many statistics at once: arrays with leading axes before that of the classes.


def variances(scatter: Array, weight: Array, kind: Structure, shrinkage: float) -> Array:
    """Variances (..., g, d), shrunk, from scatters (..., k, d) and the weights of their columns."""
    if kind.tied:
        scatter, weight = scatter.sum(axis=-2, keepdims=True), weight.sum(axis=-2, keepdims=True)
    variance = np.asarray(scatter / np.where(weight > 0, weight, 1.0))
    if kind.shape == "diag" and not shrinkage:
        return variance
    weight = np.broadcast_to(weight, scatter.shape)
    # Of the columns that were observed, and for one variance of all of them as often as they were.
    share = weight if kind.shape == "spherical" else (weight > 0).astype(np.float64)
    share = np.where(share.any(axis=-1, keepdims=True), share, 1.0)
    mean = (variance * share).sum(axis=-1, keepdims=True) / share.sum(axis=-1, keepdims=True)
    even = np.broadcast_to(mean, variance.shape)
    if kind.shape == "spherical":
        return even
    return np.asarray((1 - shrinkage) * variance + shrinkage * even)


def neutral(mean: Array, scatter: Array, weight: Array, variance: Array, kind: Structure) -> tuple[Array, Array]:
    """Return means and variances; a class without values of a column gets those of all rows, which favour no class."""
    total = weight.sum(axis=-2, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    share = weight / total
    grand = (share * mean).sum(axis=-2, keepdims=True)
    overall = (share * (mean - grand) ** 2).sum(axis=-2, keepdims=True) + scatter.sum(axis=-2, keepdims=True) / total
    unknown = weight == 0
    own = kind.tied or kind.shape == "spherical"
    variance = variance if own else np.where(unknown, overall, variance)
    never = unknown.all(axis=-2, keepdims=True)  # any variance serves a column that nothing is known of
    return np.where(unknown, grand, mean), np.where(never, 1.0, variance)


def _intensity(
    shrinkage: float | str | None, covariance: Array, n: Array, stats: MomentStats, kind: Structure
) -> Array:
    if shrinkage == "oas":
        return _shrinkage.oas(covariance, n)
    if shrinkage == "ledoit_wolf":
        assert stats.quartic is not None
        quartic = stats.quartic.sum(keepdims=True) if kind.tied else stats.quartic
        if ((quartic == 0) & (np.einsum("gii->g", covariance) > 0)).any():
            raise DataError(
                "the values are too small for Ledoit-Wolf: their fourth powers underflow; rescale the columns"
            )
        return _shrinkage.ledoit_wolf(covariance, n, quartic)
    return np.full(len(n), shrinkage, dtype=np.float64)


def feature_variance(stats: MomentStats, of: str = "within") -> Array:
    """The variance of each feature within classes, or in "total", (d,): the yardstick of the floor.

    A feature that never varies within a class is measured by its variance between them, and one that never varies at
    all says nothing: any positive number serves, and its own square keeps the scale.
    """
    diagonal = {"diag": "kd->d", "pooled": "dd->d"}.get(stats.layout, "kdd->d")
    scatter, weight = np.einsum(diagonal, stats.scatter), stats.column_weight
    if of == "total":
        total = weight.sum(axis=0)
        grand = (weight * stats.mean).sum(axis=0) / np.where(total > 0, total, 1.0)
        scatter = scatter + (weight * (stats.mean - grand) ** 2).sum(axis=0)
    return yardstick(scatter, stats.mean, weight)


def yardstick(scatter: Array, mean: Array, weight: Array) -> Array:
    """As `feature_variance`, (..., d), from the scatter within all classes (..., d), means (..., k, d) and weights."""
    total = np.where(weight.any(axis=-2), weight.sum(axis=-2), 1.0)
    within = scatter / total
    grand = (weight * mean).sum(axis=-2) / total
    rounding = 8 * np.finfo(np.float64).eps * np.abs(grand)
    varies = (within > 0) & (np.sqrt(within) > rounding)
    if varies.all():
        return np.asarray(within)
    between = (np.abs(mean - grand[..., None, :]) * np.sqrt(weight / total[..., None, :])).max(axis=-2)
    size = np.abs(grand)
    unit = np.select([varies, between > rounding, size > 1e-100], [np.sqrt(within), between, size], 1.0)
    return np.asarray(np.minimum(unit, 1e150) ** 2)


class FloorReport:
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
            f"almost no variance in some direction: {'; '.join(lines)}{more}. A variance floor was applied; "
            f"remove columns that are constant or follow from others, or {remedy}",
            SingularWarning,
            stacklevel=5,
        )


def floored_diagonal(variance: Array, own: Array, floor: float, report: FloorReport) -> tuple[Array, Array, Array]:
    least = np.maximum(floor * own, np.finfo(np.float64).tiny)
    low = variance < least
    for g in np.flatnonzero(low.any(axis=1)):
        report.add(int(g), low[g])
    variance = np.where(low, least, variance)
    return variance, 1.0 / np.sqrt(variance), np.log(variance).sum(axis=1)


def floored_full(covariance: Array, own: Array, floor: float, report: FloorReport) -> tuple[Array, Array, Array]:
    unit = np.sqrt(own)
    whitening = np.empty_like(covariance)
    together = len(covariance) if len(unit) <= _SMALL else 1  # that are factored in one call: wide ones take memory
    for start in range(0, len(covariance), together):
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            matrices = covariance[start : start + together] / unit / unit[:, None]
        whitening[start : start + together], low = _inverse_factors(matrices, floor)
        for i in low:
            refuse_overflow(report.names, matrices[i])  # columns too far apart, or too close to zero
            root, below = _floored_root(matrices[i], floor)
            report.add(start + i, below)
            whitening[start + i] = triangular_inverse(np.asarray(np.linalg.qr(root.T, mode="r")).T)
            covariance[start + i] = (root @ root.T) * unit * unit[:, None]
    log_det = 2 * (np.log(unit).sum() - np.log(np.abs(np.einsum("gii->gi", whitening))).sum(axis=1))
    whitening /= unit
    return covariance, whitening, log_det


def _floored_root(matrix: Array, floor: float) -> tuple[Array, Array]:
    """A matrix whose square is the floored matrix, and the columns that are in the directions below the floor."""
    values, vectors = np.linalg.eigh(matrix)
    least = max(floor, len(values) * np.finfo(np.float64).eps * values[-1])
    share = (vectors[:, values < least] ** 2).sum(axis=1)
    below = share >= 0.5 * share.max(initial=0.0) if share.any() else share > 0
    return vectors * np.sqrt(np.maximum(values, least)), below


def _inverse_factors(matrices: Array, floor: float) -> tuple[Array, list[int]]:
    """The inverses of the Cholesky factors, and the indices of those where an eigenvalue may be below the floor."""
    try:
        inverses = triangular_inverse(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.empty_like(matrices), [0]
        each = [_inverse_factors(matrix[None], floor) for matrix in matrices]
        return np.concatenate([inverse for inverse, _ in each]), [i for i, (_, low) in enumerate(each) if low]
    # The sum of squares is the trace of the matrix's inverse, which is at least one over its least eigenvalue.
    traces = np.einsum("gij,gij->g", inverses, inverses)
    return inverses, np.flatnonzero(~(traces * floor <= 1.0)).tolist()


def whitened(matrix: Array) -> tuple[Array, Array]:
    """Lower triangular W with W matrix W' = I, and log |matrix|, of one matrix or of each of some (..., d, d);
    LinAlgError where one is not positive definite."""
    unit = np.sqrt(np.einsum("...ii->...i", matrix))  # so that the scale of a column takes no digits from another
    inverse = triangular_inverse(np.linalg.cholesky(matrix / unit[..., None, :] / unit[..., :, None]))
    log_det = 2 * (np.log(unit) - np.log(np.einsum("...ii->...i", inverse))).sum(axis=-1)
    return inverse / unit[..., None, :], log_det


_SMALL = 64  # columns up to which NumPy inverts as fast; to import SciPy takes longer than most commands


@cache
def _lower(d: int) -> Array:
    return np.tri(d)


def triangular_inverse(lower: Array) -> Array:
    """The inverse of a lower triangular matrix (d, d), or of each of some (g, d, d)."""
    if lower.shape[-1] <= _SMALL:
        return np.asarray(np.linalg.inv(lower) * _lower(lower.shape[-1]))
    from scipy.linalg.lapack import dtrtri

    if lower.ndim == 3:
        return np.stack([triangular_inverse(matrix) for matrix in lower])
    return np.asarray(dtrtri(lower, lower=1)[0])
