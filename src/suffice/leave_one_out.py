"""Exact held-out likelihoods: every row scored by the model of all other rows, without fitting any of them.

A row leaves a Gaussian model by a step of its class's mean and a rank-one step of a scatter matrix, whose inverse and
determinant follow in closed form. Where a variance would reach its floor, or a class its end, the model is estimated
anew from the statistic without the row.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .densities import GaussianDensity
from .densities.covariance import feature_variance
from .errors import SufficeWarning
from .stats import MomentStats

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))
_SAFE = 4.0  # times the floor: farther above it, no row can bring a variance down to it


@dataclass(frozen=True)
class GaussianLeaveOneOut:
    """The Gaussian model of all rows, ready to do without any one of them."""

    moments: MomentStats  # of all rows, in the layout of the structure
    covariance: str
    shrinkage: float = 0.0
    floor: float = 1e-9

    @cached_property
    def density(self) -> GaussianDensity:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SufficeWarning)
            return GaussianDensity.estimate(self.moments, self.covariance, self.shrinkage or None, self.floor)

    @cached_property
    def _unit(self) -> Array:
        """What each column's floor is relative to: a standard deviation, (d,)."""
        own = feature_variance(self.moments)
        return np.sqrt(np.full_like(own, own.mean()) if self.density.structure.shape == "spherical" else own)

    @cached_property
    def _is_far(self) -> bool:
        """Whether every covariance is far above its floor, which moves with every row that leaves."""
        known = self._inverse if self.density.structure.tied else self._inverse[self.density.seen]
        return bool((_SAFE * self.floor * known < 1).all())

    @cached_property
    def _inverse(self) -> Array:
        """The traces of the inverse covariances (g,), of columns brought to one scale: more than one over their least
        eigenvalues."""
        squares = (self.density.whitening * self._unit) ** 2
        return np.asarray(squares.reshape(len(squares), -1).sum(axis=1))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Eigenvalues (g, d) and vectors (g, d, d) of the scatter matrices."""
        scatter = self.moments.scatter
        values, vectors = np.linalg.eigh(scatter if scatter.ndim == 3 else scatter[None])
        return np.maximum(values, 0.0), vectors

    def scores(self, X: Array, code: Array, weight: Array) -> tuple[Array, Array]:
        """log p(x | class), (n, k), of each row by the model without it; and which rows (n,) want `score_anew`.

        Parameters
        ----------
        X : (n, d), all of them among the rows of the moments
        code : (n,) the class of each
        weight : (n,)
        """
        structure, out = self.density.structure, np.empty((len(X), len(self.moments.classes)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if structure.tied:
                safe = self._tied(X, code, weight, out)
            else:
                self.density.score(X, all=out)
                if structure.shape == "full" and not self.shrinkage:
                    safe = self._full(code, weight, out)
                else:
                    safe = np.empty(len(X), bool)
                    for c in np.unique(code):
                        rows = np.flatnonzero(code == c)
                        out[rows, c], safe[rows] = self._own(X[rows], int(c), weight[rows])
        return out, ~(safe & self._is_far)

    def _full(self, code: Array, w: Array, out: Array) -> Array:
        """Correct the scores of the own classes, which tell how far out the rows are: no more is needed."""
        density, n, own = self.density, self.moments.weight[code], (np.arange(len(code)), code)
        rest, distance = n - w, 2 * (density.constant[code] - out[own])
        left = 1.0 - w / rest * distance  # of the determinant
        log_det = density.log_det[code] + density.n_features * np.log(n / rest) + np.log(left)
        out[own] = -0.5 * (density.n_features * _LOG_2PI + log_det + n / rest * distance / left)
        inverse = self._inverse[code] * rest / n
        return np.asarray((_SAFE * self.floor * inverse < left) & (rest > 1e-9 * n))

    def _own(self, X: Array, c: int, w: Array) -> tuple[Array, Array]:
        """Scores (n,) of rows of class c by the class without them, and whether they may be trusted."""
        n = self.moments.weight[c]
        rest, away = n - w, X - self.moments.mean[c]
        spread = _Spread.of(self, c, away, rest, w * n / rest)
        distance, safe = spread.own((n / rest)[:, None])
        return -0.5 * (X.shape[1] * _LOG_2PI + spread.log_det() + distance), safe & (rest > 1e-9 * n)

    def _tied(self, X: Array, code: Array, w: Array, out: Array) -> Array:
        """Write the scores of all classes, which share what a row takes away."""
        own, mean = self.moments.weight[code], self.moments.mean
        rest = own - w
        spread = _Spread.of(self, 0, X - mean[code], self.moments.total - w, w * own / rest)
        distance, safe = spread.own((own / rest)[:, None])
        log_det = spread.log_det()
        for c in range(len(mean)):
            to_class = np.where(code == c, distance, spread.other(X - mean[c]))
            out[:, c] = -0.5 * (X.shape[1] * _LOG_2PI + log_det + to_class) if self.density.seen[c] else -np.inf
        return safe & (rest > 1e-9 * own)

    def score_anew(self, x: Array, c: int, w: float) -> Array:
        """The scores (k,) of one row of class c by a model that is estimated without it."""
        moments = self.moments
        one = MomentStats.of(Batch.of(x[None], moments.classes[[c]], [w]), moments.layout) if w else None
        out = np.empty((1, len(moments.classes)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SufficeWarning)
            rest = moments if one is None else moments - one
            GaussianDensity.estimate(rest, self.covariance, self.shrinkage or None, self.floor).score(x[None], all=out)
        return np.asarray(out[0])


@dataclass(frozen=True)
class _Spread:
    """Covariances of n models, each without one row: in some basis a diagonal (n, d), less a multiple of z z'."""

    basis: Array  # (d, d) rows are directions; (d,) where they are the columns, scaled
    log_basis: Array  # (n,) what the basis adds to the log determinants
    diagonal: Array  # (n, d) or (n, 1)
    step: Array  # (n,) of z z', zero where the diagonal has it already
    left: Array  # (n,) the share of the determinant that this step leaves
    z: Array  # (n, d) the row less the mean that it was part of, in the basis
    safe: Array  # (n,) whether no variance is near its floor

    @classmethod
    def of(cls, model: GaussianLeaveOneOut, g: int, away: Array, rest: Array, step: Array) -> _Spread:
        """Of covariance g, where scatter - step * away away' is left of the scatter, and `rest` of the weight."""
        density, s = model.density, model.shrinkage
        if density.structure.shape != "full":
            return cls._diagonal(model, g, away, rest, step)
        d, before = away.shape[1], model.moments.total if density.structure.tied else model.moments.weight[g]
        unit = model._unit
        if not s:
            basis, diagonal = density.whitening[g], (before / rest)[:, None]
            log_basis = np.full(len(away), density.log_det[g])
            inverse = model._inverse[g] * rest / before
            z = away @ basis.T
        else:
            values, vectors = (part[g] for part in model._eigen)
            even = (values.sum() - step * (away**2).sum(axis=1)) / (rest * d)
            diagonal = (1 - s) * values / rest[:, None] + s * even[:, None]
            basis, log_basis = vectors.T, np.zeros(len(away))
            inverse = (((vectors * unit[:, None]) ** 2).sum(axis=0) / diagonal).sum(axis=1)
            z = away @ basis.T
        step = (1 - s) * step / rest
        left = 1.0 - step * (z**2 / diagonal).sum(axis=1)
        safe = (diagonal > 0).all(axis=1) & (_SAFE * model.floor * inverse < left)
        return cls(basis, log_basis, diagonal, step, left, z, safe)

    @classmethod
    def _diagonal(cls, model: GaussianLeaveOneOut, g: int, away: Array, rest: Array, step: Array) -> _Spread:
        structure = model.density.structure
        scatter = model.moments.scatter.sum(axis=0) if structure.tied else model.moments.scatter[g]
        variance = (scatter - step[:, None] * away**2) / rest[:, None]
        even = variance.mean(axis=1, keepdims=True)
        s = 1.0 if structure.shape == "spherical" else model.shrinkage
        variance = (1 - s) * variance + s * even
        safe = np.asarray((variance > _SAFE * model.floor * model._unit**2).all(axis=1))
        zeros = np.zeros(len(away))
        return cls(np.ones(away.shape[1]), zeros, variance, zeros, zeros + 1, away, safe)

    def log_det(self) -> Array:
        wide = np.broadcast_to(self.diagonal, self.z.shape)
        return np.asarray(self.log_basis + np.log(wide).sum(axis=1) + np.log(self.left))

    def own(self, farther: Array) -> tuple[Array, Array]:
        """The distance (n,) of each row from the mean that it left, `farther` (n, 1) away than before; and safety."""
        return ((farther * self.z) ** 2 / self.diagonal).sum(axis=1) / self.left, self.safe

    def other(self, away: Array) -> Array:
        """The distance (n,) of each row from a mean that it was no part of."""
        z = away @ self.basis.T if self.basis.ndim == 2 else away
        across = (self.z * z / self.diagonal).sum(axis=1)
        return np.asarray((z**2 / self.diagonal).sum(axis=1) + self.step * across**2 / self.left)
