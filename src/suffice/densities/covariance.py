"""Covariances from moments: structures, shrinkage, and the floor that keeps them regular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, SingularWarning, as_parameter, listed, remedy, warn
from ..kernels.reference import triangular_inverse
from ..stats import MomentStats
from ..stats.scatter import refuse_overflow
from . import shrinkage as _shrinkage

Array = NDArray[Any]
Names = Sequence[Any] | None

_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


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

    def layout(self, shrinkage: float | str | None, target: str = "variances") -> str:
        """The poorest layout of moments that this structure can be estimated from."""
        if shrinkage == "ledoit_wolf":
            return "quartic" if target == "identity" else "coquartic"
        return ("pooled" if self.tied else "full") if self.shape == "full" else "diag"


STRUCTURES = {
    "full": Structure("full", False),
    "diag": Structure("diag", False),
    "spherical": Structure("spherical", False),
    "tied": Structure("full", True),
    "tied_diag": Structure("diag", True),
    "tied_spherical": Structure("spherical", True),
}


class Shrinkage(NamedTuple):
    """How far covariances are pulled towards a multiple of diag(variance)."""

    intensity: float | str  # a number, "oas" or "ledoit_wolf"
    variance: Array  # (d,), ones for the identity


def shrinkage_towards(shrinkage: float | str | None, target: str, variance: Array) -> Shrinkage | None:
    """What to do with covariances of columns with these variances, for a target of shrinkage.TARGETS; None: nothing."""
    if shrinkage in (None, 0):
        return None
    assert shrinkage is not None
    return Shrinkage(shrinkage, np.ones_like(variance) if target == "identity" else variance)


def covariances(stats: MomentStats, kind: Structure, shrinkage: Shrinkage | None = None) -> Array:
    """Maximum likelihood covariances, shrunk: (g, d, d), or diagonals (g, d)."""
    if kind.shape != "full":
        stats = stats.to_layout("diag")
        if shrinkage is None:
            return variances(stats.scatter, stats.column_weight, kind)
        return variances(stats.scatter, stats.column_weight, kind, float(shrinkage.intensity), shrinkage.variance)
    if shrinkage is None or shrinkage.intensity != "ledoit_wolf":
        stats = stats.to_layout(kind.layout(None))
    covariance = _unshrunk(stats, kind)
    if shrinkage is None:
        return covariance
    given, variance = shrinkage
    if isinstance(given, str):
        found = _estimated(stats, kind, shrinkage, *_shrinkage.evenness(covariance, variance))
        return _shrinkage.shrunk(covariance, found, variance)
    return _shrinkage.shrunk(covariance, given, variance)


def estimated_shrinkage(stats: MomentStats, kind: Structure, shrinkage: Shrinkage) -> Array:
    """How far "oas" or "ledoit_wolf" pull full covariances, (g,)."""
    if (few := stats.few_rows(kind.tied)) is not None:
        each = zip(few, divisor(stats, kind), strict=True)
        found = [_shrinkage.evenness_of_rows(rows, n, shrinkage.variance) for rows, n in each]
        return _estimated(stats, kind, shrinkage, *np.array(found).T)
    return _estimated(stats, kind, shrinkage, *_shrinkage.evenness(_unshrunk(stats, kind), shrinkage.variance))


def _weight(stats: MomentStats, kind: Structure) -> Array:
    """The weights behind covariances, (g,)."""
    return np.array([stats.total]) if kind.tied else stats.weight


def divisor(stats: MomentStats, kind: Structure) -> Array:
    """What scatters are divided by, (g,)."""
    n = _weight(stats, kind)
    return np.where(n > 0, n, 1.0)


def _unshrunk(stats: MomentStats, kind: Structure) -> Array:
    """Full covariances of maximum likelihood, (g, d, d)."""
    scatter = stats.scatter
    if kind.tied:
        scatter = (scatter if stats.layout == "pooled" else scatter.sum(axis=0))[None]
    return np.asarray(scatter / divisor(stats, kind)[:, None, None])


# The functions of diagonals also take many statistics at once: arrays with leading axes before that of the classes.


def variances(
    scatter: Array, weight: Array, kind: Structure, shrinkage: float = 0.0, target: Array | float = 1.0
) -> Array:
    """Variances (..., g, d), shrunk towards a multiple of a target that is the same for all classes, from scatters
    (..., k, d) and the weights of their columns."""
    if kind.tied:
        scatter, weight = scatter.sum(axis=-2, keepdims=True), weight.sum(axis=-2, keepdims=True)
    variance = np.asarray(scatter / np.where(weight > 0, weight, 1.0))
    if kind.shape == "diag" and not shrinkage:
        return variance
    weight = np.broadcast_to(weight, scatter.shape)
    # Of the columns that were observed, and for one variance of all of them as often as they were.
    share = weight if kind.shape == "spherical" else (weight > 0).astype(np.float64)
    share = np.where(share.any(axis=-1, keepdims=True), share, 1.0)
    if kind.shape == "spherical":
        target = 1.0
    mean = (variance / target * share).sum(axis=-1, keepdims=True) / share.sum(axis=-1, keepdims=True)
    even = np.broadcast_to(mean * target, variance.shape)
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


def unbiased_factor(weight: Array, kind: Structure) -> Array:
    """What covariances of maximum likelihood are multiplied by to have R's divisors, (..., g, d) or (..., g, 1), given
    the weights (..., k, d) of the columns."""
    free = weight - (weight > 0)
    if kind.tied:
        weight, free = (each.sum(axis=-2, keepdims=True) for each in (weight, free))
    if kind.shape == "spherical":
        weight, free = (each.sum(axis=-1, keepdims=True) for each in (weight, free))
    return np.asarray(np.divide(weight, free, out=np.ones(weight.shape), where=free > 0))


def _estimated(stats: MomentStats, kind: Structure, shrinkage: Shrinkage, alpha: Array, mean: Array) -> Array:
    """How far "oas" or "ledoit_wolf" pull covariances of this evenness, (g,)."""
    n, d = _weight(stats, kind), stats.n_features
    if shrinkage.intensity == "oas":
        return _shrinkage.oas(alpha, d, n)
    assert stats.quartic is not None
    quartic = stats.quartic
    if stats.layout == "coquartic":
        quartic = np.einsum("kij,i,j->k", quartic, 1 / shrinkage.variance, 1 / shrinkage.variance)
    quartic = quartic.sum(keepdims=True) if kind.tied else quartic
    if ((quartic == 0) & (mean > 0)).any():
        raise DataError("the values are too small for Ledoit-Wolf: their fourth powers underflow; rescale the columns")
    return _shrinkage.ledoit_wolf(alpha, mean, d, n, quartic)


def feature_variance(stats: MomentStats, of: str = "within") -> Array:
    """The variance of each feature within classes, or in "total", (d,): the yardstick of the floor.

    A feature that never varies within a class is measured by its variance between them, and one that never varies at
    all says nothing: any positive number serves, and its own square keeps the scale.
    """
    scatter, weight = stats.variation.sum(axis=0), stats.column_weight
    if of == "total":
        total = weight.sum(axis=0)
        grand = (weight * stats.mean).sum(axis=0) / np.where(total > 0, total, 1.0)
        scatter = scatter + (weight * (stats.mean - grand) ** 2).sum(axis=0)
    return yardstick(scatter, stats.mean, weight)


def yardstick(scatter: Array, mean: Array, weight: Array) -> Array:
    """As `feature_variance`, (..., d), from the scatter within all classes (..., d), means (..., k, d) and weights."""
    total = weight.sum(axis=-2)
    total += total == 0
    within = scatter / total
    grand = (weight * mean).sum(axis=-2) / total
    rounding = 8 * _EPS * np.abs(grand)
    varies = np.sqrt(within) > rounding
    if varies.all():
        return np.asarray(within)
    between = (np.abs(mean - grand[..., None, :]) * np.sqrt(weight / total[..., None, :])).max(axis=-2)
    size = np.abs(grand)
    unit = np.select([varies, between > rounding, size > 1e-100], [np.sqrt(within), between, size], 1.0)
    return np.asarray(np.minimum(unit, 1e150) ** 2)


Floored = dict[int, Array]  # the columns that were floored, by the index of the covariance


FLOORED = "A variance floor was applied"
POOLED = "Variances were raised towards those within all classes there"


def warn_of_floor(kind: Structure, owners: Array, names: Sequence[Any], floored: Floored, done: str = FLOORED) -> None:
    """Warn of covariances that were floored, those of the classes `owners`; or of what else was done."""
    lines = []
    for g, columns in list(floored.items())[:5]:
        owner = "all classes" if kind.tied else f"class {listed([owners[g]])}"
        lines.append(f"{owner} in columns {listed([names[j] for j in np.flatnonzero(columns).tolist()], 8)}")
    more = f" and {len(floored) - 5} more classes" if len(floored) > 5 else ""
    reduced = "suffice reduce or" if kind.tied else "suffice reduce,"
    instead = remedy("PCA or shrinkage", f"{reduced} {as_parameter('shrinkage', 0.5)}")
    if not kind.tied:
        predictive = remedy("a predictive Gaussian model", f"--model gaussian with {as_parameter('predictive', True)}")
        instead += f", {as_parameter('covariance', 'tied')} or {predictive}"
    warn(
        f"almost no variance in some direction: {'; '.join(lines)}{more}. {done}; "
        f"remove columns that are constant or follow from others, or use {instead}",
        SingularWarning,
    )


def floored_diagonal(variance: Array, own: Array, floor: float) -> tuple[Array, Array, Array, Floored]:
    """Variances (g, d) not below the floor, 1 / standard deviation, log-determinants (g,), and what changed."""
    least = np.maximum(floor * own, _TINY)
    low = variance < least
    floored = {}
    if low.any():
        floored = {int(g): low[g] for g in np.flatnonzero(low.any(axis=1))}
        variance = np.where(low, least, variance)
    return variance, 1.0 / np.sqrt(variance), np.log(variance).sum(axis=1), floored


class PseudoRows(NamedTuple):
    """Rows that have no correlations, one for each direction in which a class does not vary."""

    weight: Array  # (g,) of the rows that covariances come from
    varies: Array  # (g, d) bool, columns that vary: others are left to the floor


def floored_full(
    covariance: Array, own: Array, floor: float, names: Names, pseudo: PseudoRows | None = None
) -> tuple[Array, Array, Array, Floored]:
    """As `floored_diagonal`, of matrices (g, d, d): lower triangular W with W covariance W' = I.

    With pseudo-rows, these are added where a matrix is singular, and the floor remains for what they leave.
    """
    unit = np.sqrt(own)
    whitening, log_det, trace = kernels.active.whiten(covariance, unit)
    floored = {}
    for g, inverse_trace in enumerate(trace.tolist()):
        if inverse_trace * floor <= 1.0:  # it is at least one over the least eigenvalue
            continue
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            matrix = covariance[g] / unit / unit[:, None]
        refuse_overflow(names, matrix)  # columns too far apart, or too close to zero
        values, vectors = np.linalg.eigh(matrix)
        root, below = _floored_root(values, vectors, floor)
        if below.any():
            floored[g] = below
        if pseudo is not None:
            n, varies = pseudo.weight[g], pseudo.varies[g]
            block, is_whole = np.ix_(varies, varies), bool(varies.all())
            if rows := _count_null(values if is_whole else np.linalg.eigvalsh(matrix[block]), floor, int(varies.sum())):
                if is_whole:
                    values = (n * values + rows) / (n + rows)
                else:
                    matrix[block] = (n * matrix[block] + rows * np.eye(len(block[0]))) / (n + rows)
                    values, vectors = np.linalg.eigh(matrix)
                root, _ = _floored_root(values, vectors, floor)
        inverse = triangular_inverse(np.asarray(np.linalg.qr(root.T, mode="r")).T)
        covariance[g] = (root @ root.T) * unit * unit[:, None]
        log_det[g] = 2 * (np.log(unit) - np.log(np.abs(np.diag(inverse)))).sum()
        whitening[g] = inverse / unit
    return covariance, whitening, log_det, floored


def null_directions(matrix: Array, floor: float, size: int | None = None) -> int:
    """The number of eigenvalues below the floor, of R'R for a matrix RR' of another size."""
    return _count_null(np.linalg.eigvalsh(matrix), floor, len(matrix) if size is None else size)


def _count_null(values: Array, floor: float, size: int) -> int:
    """The number of eigenvalues below the floor, the largest of which are these, in rising order."""
    return size - int((values >= _least(values, floor, size)).sum())


def _least(values: Array, floor: float, size: int) -> float:
    """The floor of all eigenvalues, the largest of which are these, in rising order."""
    return max(floor, size * _EPS * float(values[-1])) if len(values) else floor


def _floored_root(values: Array, vectors: Array, floor: float) -> tuple[Array, Array]:
    """A matrix whose square is the floored matrix with these eigenvectors, and the columns that are in the directions
    below the floor."""
    least = _least(values, floor, len(values))
    share = (vectors[:, values < least] ** 2).sum(axis=1)
    below = share >= 0.5 * share.max(initial=0.0) if share.any() else share > 0
    return vectors * np.sqrt(np.maximum(values, least)), below


def whitened(matrix: Array) -> tuple[Array, Array]:
    """Lower triangular W with W matrix W' = I, and log |matrix|, of one matrix or of each of some (..., d, d);
    LinAlgError where one is not positive definite."""
    unit = np.sqrt(np.einsum("...ii->...i", matrix))  # so that the scale of a column takes no digits from another
    inverse = triangular_inverse(np.linalg.cholesky(matrix / unit[..., None, :] / unit[..., :, None]))
    log_det = 2 * (np.log(unit) - np.log(np.einsum("...ii->...i", inverse))).sum(axis=-1)
    return inverse / unit[..., None, :], log_det
