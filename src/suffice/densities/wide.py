"""Gaussian densities of more columns than rows: covariances that are a diagonal and a few directions.

With units D, a diagonal matrix, such a covariance is D (I + Q' E Q) D: the rows of Q are orthonormal, and E is what
each of these directions has in excess of one. Distances and determinants follow from Q, with no matrix of columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..kernels.reference import reduce_scores, score_blocks
from ..stats import MomentStats
from ..stats.base import frozen
from ..stats.scatter import refuse_overflow
from .base import LinearForm
from .covariance import (
    POOLED,
    Floored,
    Names,
    Shrinkage,
    Structure,
    divisor,
    estimated_shrinkage,
    warn_of_floor,
    whitened,
)
from .degenerate import varying
from .gaussian import GaussianDensity
from .scorer import Wanted

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))
_EPS = float(np.finfo(np.float64).eps)
_ARRAYS = ("mean", "scale", "directions", "owner", "excess", "seen")


class WideGaussianDensity(GaussianDensity):
    """Normal distributions whose covariances are a diagonal and a few directions.

    What needs a covariance as a matrix gets it, computed at the first use.

    Parameters
    ----------
    structure : Structure
        Full, tied or not.
    mean : array of shape (k, d)
        The means.
    scale : array of shape (g, d)
        1 / D, the units of the columns.
    directions : array of shape (r, d)
        Q of all covariances: orthonormal for each of them.
    owner : array of int of shape (r,)
        The index of the covariance of each direction.
    excess : array of shape (r,)
        E, above -1.
    seen : array of bool of shape (k,)
        Which classes had rows.
    """

    scale: Array
    directions: Array
    owner: Array
    excess: Array

    def __init__(
        self,
        structure: Structure,
        mean: Array,
        scale: Array,
        directions: Array,
        owner: Array,
        excess: Array,
        seen: Array,
    ) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):  # `checked` refuses what is not possible
            log_det = np.bincount(owner, np.log1p(excess), minlength=len(scale)) - 2 * np.log(scale).sum(axis=1)
        arrays = {"mean": mean, "scale": scale, "directions": directions, "owner": owner, "excess": excess}
        vars(self).update(structure=structure, log_det=log_det, seen=seen, **arrays)
        self.__post_init__()

    @cached_property
    def covariance(self) -> Array:
        """The covariances as matrices, (g, d, d)."""
        matrices = np.empty((len(self.scale), self.n_features, self.n_features))
        for g, scale in enumerate(self.scale):
            Q, excess = self._own_directions(g)
            np.dot((Q / scale).T * excess, Q / scale, out=matrices[g])
            matrices[g][np.diag_indices(self.n_features)] += 1 / scale**2
        return frozen(matrices)

    @cached_property
    def whitening(self) -> Array:
        """Lower triangular W with W covariance W' = I, (g, d, d)."""
        return frozen(np.stack([whitened(matrix)[0] for matrix in self.covariance]))

    def _scaled(self, factor: Array) -> Self:
        held = {name: getattr(self, name) for name in _ARRAYS}
        return type(self)(self.structure, **held | {"scale": self.scale / np.sqrt(factor)})

    @property
    def _size(self) -> int:
        return int(self.directions.size)

    def n_parameters(self) -> int:
        d = self.n_features
        return int(self.mean.size + len(self.scale) * (d * (d + 1) // 2))

    def _own_directions(self, g: int) -> tuple[Array, Array]:
        """The directions of a covariance, (r, d), and their excess, (r,)."""
        own = self.owner == g
        return self.directions[own], self.excess[own]

    def _whiten(self, away: Array, g: int = 0) -> Array:
        """Return vectors (n, d + r) as long as the Mahalanobis distances of those given (n, d)."""
        Q, excess = self._own_directions(g)
        u = away * self.scale[g]
        along = u @ Q.T
        # What is left beside the directions is subtracted here, not in the squares, which would cancel.
        u -= along @ Q
        return np.concatenate([u, along / np.sqrt(1 + excess)], axis=1)

    def _precision_times(self, away: Array, g: int) -> Array:
        """Return the products of vectors (n, d) and the inverse covariance."""
        Q, excess = self._own_directions(g)
        u = away * self.scale[g]
        along = u @ Q.T
        return np.asarray((u - along @ Q + along / (1 + excess) @ Q) * self.scale[g])

    @cached_property
    def _whitened(self) -> tuple[Array, Array]:
        center = self.mean[self.seen].mean(axis=0) if self.seen.any() else self.mean[0]
        return center, self._whiten(self.mean - center)

    def linear(self) -> LinearForm:
        if not self.structure.tied:
            return super().linear()  # an error
        center, means = self._whitened
        constant = np.where(self.seen, -0.5 * np.einsum("kd,kd->k", means, means), -np.inf)
        return LinearForm(center, self._precision_times(self.mean - center, 0), constant)

    def _score_whole(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        if self.structure.tied:
            return super()._score_whole(X, offset, wanted, relative)

        def raw(x: Array) -> Array:
            distances = np.empty((self.n_classes, len(x)))
            for c in range(self.n_classes):
                z = self._whiten(x - self.mean[c], c)
                np.einsum("ij,ij->i", z, z, out=distances[c])
            return -0.5 * distances

        return score_blocks(X, raw, self.constant + offset, reduce_scores, *wanted)

    def _log_likelihood_of_moments(self, stats: MomentStats) -> float:
        few = stats.few_rows(self.structure.tied)
        if few is None:
            return super()._log_likelihood_of_moments(stats)
        step = (stats.mean - self.mean) * np.sqrt(stats.weight)[:, None]
        n = np.array([stats.total]) if self.structure.tied else stats.weight
        steps = [step] if self.structure.tied else list(step[:, None])
        z = (self._whiten(np.concatenate(both), g) for g, both in enumerate(zip(few, steps, strict=True)))
        distance = sum(float(np.vdot(own, own)) for own in z)
        return float(-0.5 * (distance + (n * (self.n_features * _LOG_2PI + self.log_det)).sum()))

    def sample(self, code: Array, rng: np.random.Generator) -> Array:
        X = rng.standard_normal((len(code), self.n_features))
        for c in np.unique(code):
            rows, g = code == c, 0 if self.structure.tied else c
            Q, excess = self._own_directions(g)
            X[rows] += X[rows] @ Q.T * (np.sqrt(1 + excess) - 1) @ Q
            X[rows] /= self.scale[g]
        return X + self.mean[code]

    def quadratic_shares(self, X: Array, c: int) -> Array:
        away = X - self.mean[c]
        return np.asarray(away * self._precision_times(away, 0 if self.structure.tied else c))

    def _variances(self, c: int) -> Array:
        g = 0 if self.structure.tied else c
        Q, excess = self._own_directions(g)
        return np.asarray((1 + excess @ Q**2) / self.scale[g] ** 2)

    def of_classes(self, indices: Sequence[int]) -> Self:
        indices = list(indices)
        mean, seen = self.mean[indices], self.seen[indices]
        if self.structure.tied:
            own = self.scale, self.directions, self.owner, self.excess
        else:
            rows = [np.flatnonzero(self.owner == c) for c in indices]
            kept, owner = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(own) for own in rows])
            own = self.scale[indices], self.directions[kept], owner, self.excess[kept]
        return type(self)(self.structure, mean, *own, seen)

    def _of_features(self, kept: Array) -> GaussianDensity:
        roots = []
        for g in range(len(self.scale)):
            Q, excess = self._own_directions(g)
            basis, triangle = np.linalg.qr(Q[:, kept].T)
            values, turn = np.linalg.eigh((triangle * excess) @ triangle.T)
            roots.append(((basis @ turn).T, values))
        return _joined(self.structure, self.mean[:, kept], self.scale[:, kept], roots, self.seen)

    def to_arrays(self) -> dict[str, Array]:
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return arrays | {"tied": np.array(self.structure.tied)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        fields = {name: np.array(arrays[name]) for name in _ARRAYS}
        return cls(Structure("full", bool(arrays["tied"])), **fields)

    @classmethod
    def from_parameters(cls, means: Any, covariances: Any, structure: str | None = None) -> Self:
        return cast("Self", GaussianDensity.from_parameters(means, covariances, structure))

    def checked(self) -> Self:
        k, d = self.mean.shape
        shapes = (len(self.scale), d), (len(self.owner), d), (len(self.owner),), (k,)
        fits = shapes == (self.scale.shape, self.directions.shape, self.excess.shape, self.seen.shape)
        fits = fits and len(self.scale) == (1 if self.structure.tied else k) and bool(np.isfinite(self.log_det).all())
        if not fits or not ((self.scale > 0).all() and (self.excess > -1).all() and np.isfinite(self.mean).all()):
            raise DataError("the arrays of the covariances do not fit together, or are invalid")
        for g in range(len(self.scale)):
            Q, _ = self._own_directions(g)
            if not np.allclose(Q @ Q.T, np.eye(len(Q)), atol=1e-6):
                raise DataError("the directions of the covariances are not orthonormal")
        return self


class _Factored(NamedTuple):
    """A matrix in the units of the floor: diagonal^½ (I + Q' E Q) diagonal^½."""

    diagonal: Array  # (d,)
    directions: Array  # Q, (r, d)
    excess: Array  # E, (r,)
    below: Array  # (d,) bool, the columns that are in directions below the floor


def _joined(
    structure: Structure, mean: Array, scale: Array, roots: Sequence[tuple[Array, Array]], seen: Array
) -> WideGaussianDensity:
    """A density of covariances with these units, directions and excesses."""
    owner = np.repeat(np.arange(len(roots)), [len(excess) for _, excess in roots])
    directions = np.concatenate([directions for directions, _ in roots])
    return WideGaussianDensity(
        structure, mean, scale, directions, owner, np.concatenate([excess for _, excess in roots]), seen
    )


def _factored(rows: Array, diagonal: Array, factors: Array, floor: float) -> list[_Factored] | None:
    """The matrix diag(diagonal) + rows' rows times each of the factors, with no eigenvalue below the floor, as
    `covariance.floored_full` has it.

    None where the floor changes its directions: that takes the matrix itself.
    """
    d = len(diagonal)
    alone = np.einsum("ij,ij->j", rows, rows) <= (8 * _EPS) ** 2  # columns that have nothing to do with others
    rows = np.where(alone, 0.0, rows) if alone.any() else rows
    bare = ~alone & (diagonal <= _EPS * floor)
    bare &= not (alone | bare).all()  # where all of them are, none is another kind
    coupled = diagonal[~alone & ~bare]
    if len(coupled) and np.ptp(coupled) > 8 * _EPS * coupled.max():
        most = diagonal.max() + np.vdot(rows, rows)  # no eigenvalue is larger
        if (factors * diagonal.min() < np.maximum(floor, d * _EPS * factors * most)).any():
            return None
        _, values, vectors = np.linalg.svd(rows / np.sqrt(diagonal), full_matrices=False)
        return [_Factored(factor * diagonal, vectors, values**2, np.zeros(d, bool)) for factor in factors]
    even = float(coupled.mean()) if len(coupled) else 0.0
    if bare.any():
        return [
            _partly(factor * even, np.sqrt(factor) * rows, factor * diagonal, alone, bare, floor) for factor in factors
        ]
    _, values, vectors = np.linalg.svd(rows, full_matrices=False)
    values, vectors = values[: len(coupled)] ** 2, vectors[: len(coupled)]
    return [_evenly(factor * even, factor * values, vectors, factor * diagonal, alone, floor) for factor in factors]


def _least(eigenvalues: Array, floor: float) -> float:
    """The floor of all eigenvalues of a matrix, or 0 where all are above it, as `covariance.floored_full` has it."""
    with np.errstate(divide="ignore"):
        is_low = not (1 / np.maximum(eigenvalues, 0.0)).sum() * floor <= 1.0
    return max(floor, len(eigenvalues) * _EPS * float(eigenvalues.max())) if is_low else 0.0


def _evenly(even: float, values: Array, vectors: Array, diagonal: Array, alone: Array, floor: float) -> _Factored:
    """A matrix with eigenvalues above those of a multiple of the identity, but for some columns of their own."""
    d, rest = len(alone), int((~alone).sum()) - len(values)
    eigenvalues = np.concatenate([even + values, np.full(rest, even), diagonal[alone]])
    least = _least(eigenvalues, floor)
    base = max(even, least)
    kept = even + values > base
    share = np.where(alone, diagonal < least, 0.0)  # of each column in directions below the floor
    if even < least:
        share += np.where(alone, 0.0, 1.0 - (vectors[kept] ** 2).sum(axis=0))
    below = share >= 0.5 * share.max() if share.any() else np.zeros(d, bool)
    excess = (even + values[kept]) / base - 1
    return _Factored(np.where(alone, np.maximum(diagonal, least), base), vectors[kept], excess, below)


def _partly(even: float, rows: Array, diagonal: Array, alone: Array, bare: Array, floor: float) -> _Factored:
    """The same where some columns are bare: they have no share in the multiple of the identity."""
    d, full = len(alone), ~alone & ~bare
    # The rows, each cut into what it has in either kind of columns, span what the floor can turn.
    basis = np.zeros((2 * len(rows), d))
    for half, columns in enumerate((full, bare)):
        _, values, vectors = np.linalg.svd(rows[:, columns], full_matrices=False)
        real = vectors[values > len(rows) * _EPS * values.max()]
        basis[half * len(rows) : half * len(rows) + len(real), columns] = real
    basis = basis[basis.any(axis=1)]
    is_bare = (basis[:, bare] != 0).any(axis=1)
    along = rows @ basis.T
    values, turn = np.linalg.eigh(along.T @ along + np.diag(np.where(is_bare, 0.0, even)))
    rest = np.where(alone, diagonal, np.where(bare, 0.0, even))
    others = [
        np.full(int(full.sum() - (~is_bare).sum()), even),
        np.zeros(int(bare.sum() - is_bare.sum())),
        diagonal[alone],
    ]
    least = _least(np.concatenate([values, *others]), floor)
    base = np.maximum(rest, max(least, floor))
    scale = 1 / np.sqrt(np.where(is_bare, base[bare].max(), base[full].max()))
    matrix = (turn * np.maximum(values, least)) @ turn.T * scale * scale[:, None]
    excess, axes = np.linalg.eigh(matrix - np.eye(len(matrix)))
    low = values < least
    share = (rest < least).astype(np.float64)
    share -= np.where(share > 0, (basis**2).sum(axis=0), 0.0)
    share += ((turn[:, low].T @ basis) ** 2).sum(axis=0)
    below = share >= 0.5 * share.max() if (share > 1e-9).any() else np.zeros(d, bool)
    return _Factored(base, axes.T @ basis, excess, below)


def wide_density(
    stats: MomentStats,
    kind: Structure,
    mean: Array,
    parts: Sequence[tuple[Array, Array, Array]],
    own: Array,
    floor: float,
    names: Names,
) -> WideGaussianDensity | None:
    """The density with covariances factor (diag(diagonal) + rows' rows), one for each factor of each part.

    Parameters
    ----------
    stats : MomentStats
        What is known of the rows.
    kind : Structure
        Full, tied or not.
    mean : array of shape (k, d)
        The means.
    parts : sequence of (rows, diagonal, factors)
        Arrays (m, d), (d,) and (f,).
    own : array of shape (d,)
        The variance of each column that the floor is relative to.
    floor : float
        The least variance in any direction, relative to that.
    names : sequence of str, optional
        The names of the columns, for messages.

    Returns
    -------
    WideGaussianDensity or None
        None where it takes the matrices themselves.
    """
    seen, unit = stats.weight > 0, np.sqrt(own)
    scales: list[Array] = []
    roots: list[tuple[Array, Array]] = []
    floored: Floored = {}
    for rows, diagonal, factors in parts:
        if diagonal.any() and 4 * len(rows) > len(diagonal):  # Cholesky's factor takes less time
            return None
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rows, diagonal = rows / unit, diagonal / own
        refuse_overflow(names, mean[seen], rows, diagonal)
        found = _factored(rows, diagonal, factors, floor)
        if found is None:
            return None
        for factored in found:
            if factored.below.any() and (seen.any() if kind.tied else seen[len(roots)]):
                floored[len(roots)] = factored.below
            scales.append(1 / (unit * np.sqrt(factored.diagonal)))
            roots.append((factored.directions, factored.excess))
    if floored:
        warn_of_floor(kind, stats.classes, names or range(stats.n_features), floored)
    return _joined(kind, mean, np.stack(scales), roots, seen)


def shrunk_rows(
    stats: MomentStats, few: list[Array], kind: Structure, shrinkage: Shrinkage | None
) -> list[tuple[Array, Array, Array]]:
    """Rows and diagonals of the covariances of maximum likelihood, shrunk: what `wide_density` takes.

    `few` are `stats.few_rows(kind.tied)`.
    """
    n = divisor(stats, kind)
    if shrinkage is None:
        return [
            (rows / np.sqrt(size), np.zeros(stats.n_features), np.ones(1)) for rows, size in zip(few, n, strict=True)
        ]
    intensity, variance = shrinkage
    estimated = isinstance(intensity, str)
    each = estimated_shrinkage(stats, kind, shrinkage) if estimated else np.full(len(few), intensity)
    parts = []
    for rows, size, s in zip(few, n.tolist(), each.tolist(), strict=True):
        mean = float((np.einsum("ij,ij->j", rows, rows) / variance).mean()) / size
        parts.append((rows * np.sqrt((1 - s) / size), s * mean * variance, np.ones(1)))
    return parts


def regular_rows(
    stats: MomentStats, few: list[Array], kind: Structure, own: Array, floor: float, names: Names
) -> list[tuple[Array, Array, Array]]:
    """The same of maximum likelihood, with a pseudo-row of the variances `own` (d,) for each direction in which a
    class does not vary, as `covariance.floored_full` has it."""
    varies = varying(stats.variation.sum(axis=0), np.array([stats.total]), own, kind)
    weight = np.array([stats.total]) if kind.tied else stats.weight
    parts, pooled = [], {}
    for g, (rows, n) in enumerate(zip(few, weight.tolist(), strict=True)):
        scaled = rows[:, varies] / np.sqrt(own[varies] * (n or 1.0))
        values, turn = np.linalg.eigh(scaled @ scaled.T)
        kept = values >= max(floor, int(varies.sum()) * _EPS * values.max(initial=0.0))
        more = int(varies.sum() - kept.sum())
        if more and n:
            share = 1 - (((turn[:, kept].T @ scaled) ** 2) / values[kept, None]).sum(axis=0)
            pooled[g] = np.zeros(len(own), bool)
            pooled[g][varies] = share >= 0.5 * share.max()
        parts.append(
            (rows / np.sqrt(n + more or 1.0), np.where(varies, more / (n + more or 1.0) * own, 0.0), np.ones(1))
        )
    if pooled:
        warn_of_floor(kind, stats.classes, names or range(stats.n_features), pooled, POOLED)
    return parts
