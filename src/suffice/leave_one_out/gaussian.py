"""Leave-one-out of Gaussian models: a row changes the mean of its class, and a scatter matrix by a rank-one
downdate.

The inverse and the determinant of the matrix follow in closed form. Where a variance would reach its floor, or a class
its end, variances are estimated side by side for each row, and a full covariance wants a model of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import GaussianDensity
from ..densities.covariance import feature_variance, neutral, unbiased_factor, variances, yardstick
from ..densities.degenerate import LARGE, pooled_variances, varying
from ..stats import MomentStats
from ..stats.base import FAINT, faint
from ..tables.table import Table
from .base import LeaveOneOut, left

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))
_EPS = float(np.finfo(np.float64).eps)
SAFE = 4.0  # times the floor: farther above it, no row can bring a variance down to it
_CELLS = 1 << 17  # of statistics side by side


@dataclass(frozen=True)
class GaussianLeaveOneOut(LeaveOneOut):
    """The Gaussian model of all rows, from which any one row can be left out."""

    moments: MomentStats  # of all rows, in the layout of the structure
    density: GaussianDensity
    shrinkage: float
    floor: float
    target: str  # of the shrinkage
    degenerate: str  # what becomes of columns in which a class does not vary
    ddof: int = 0  # 1 divides by n - 1

    @cached_property
    def unit(self) -> Array:
        """The standard deviation (d,) that the floor of each column is relative to."""
        own = feature_variance(self.moments)
        return np.sqrt(np.full_like(own, own.mean()) if self.density.structure.shape == "spherical" else own)

    @cached_property
    def _is_far(self) -> bool:
        """Whether every covariance is far above its floor, which changes with every row that is left out."""
        known = self._inverse if self.density.structure.tied else self._inverse[self.density.seen]
        return bool((SAFE * self.floor * known < 1).all()) and not self._is_near.any()

    @cached_property
    def _is_near(self) -> Array:
        """Which variances of classes may be degenerate without some row, (k, d)."""
        moments, kind = self.moments, self.density.structure
        if kind.tied or self.degenerate != "pooled":
            return np.zeros(moments.mean.shape, bool)
        return self._is_degenerate(moments.variation, moments.weight[:, None]) & self.density.seen[:, None]

    def _is_degenerate(self, scatter: Array, weight: Array) -> Array:
        """Which classes of these scatters (n, d) and weights (n, 1) hardly vary: to be looked at more closely."""
        structure = self.density.structure
        scatter = scatter.mean(axis=-1, keepdims=True) if structure.shape == "spherical" else scatter
        return np.asarray(scatter < SAFE * np.minimum(1.0, LARGE * weight) * self.unit**2)

    @cached_property
    def _inverse(self) -> Array:
        """The traces of the inverse covariances (g,), of columns brought to one scale: more than one over their least
        eigenvalues."""
        squares = (self.density.whitening * self.unit) ** 2
        return np.asarray(squares.reshape(len(squares), -1).sum(axis=1))

    @property
    def _moves_target(self) -> bool:
        """Whether what covariances are shrunk towards changes with every row that is left out, in all columns."""
        return self.target == "variances" and self.shrinkage > 0

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues (g, d) and vectors (g, d, d) of the scatter matrices."""
        scatter = self.moments.scatter
        values, vectors = np.linalg.eigh(scatter if scatter.ndim == 3 else scatter[None])
        return np.maximum(values, 0.0), vectors

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        X = table.floats().astype(np.float64, copy=False)
        structure, out = self.density.structure, np.empty((len(X), len(self.moments.classes)))
        full, diag = structure.shape == "full", structure.shape == "diag"
        if self.moments.observed is not None or (self._moves_target and diag) or (self.ddof and not full):
            return self._side_by_side(X, code, weight)
        if full and (self._moves_target or self.ddof):
            return out, np.ones(len(X), bool)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            wanting = ~(self._closed(X, code, weight, out) & self._is_far)
        if structure.shape != "full" and wanting.any():
            out[wanting], wanting[wanting] = self._side_by_side(X[wanting], code[wanting], weight[wanting])
        idle = weight == 0
        if idle.any():  # nobody has looked yet at what these rows hold
            holed = idle & np.isnan(X).any(axis=1)
            out[holed] = self.density.marginal(X[holed])
            out[idle & np.isinf(X).any(axis=1)] = np.nan
        return out, wanting

    def _closed(self, X: Array, code: Array, weight: Array, out: Array) -> Array:
        """Write the scores in closed form; return for which rows they can be trusted."""
        if self.density.structure.tied:
            return self._tied(X, code, weight, out)
        self.density.score(X, all=out)
        if self.density.structure.shape == "full" and not self.shrinkage:
            return self._full(X, code, weight, out)
        safe = np.empty(len(X), bool)
        for c in np.unique(code):
            rows = np.flatnonzero(code == c)
            out[rows, c], safe[rows] = self._own(X[rows], int(c), weight[rows])
        return safe & self._vary_without(X, code, weight)

    def _vary_without(self, X: Array, code: Array, w: Array) -> Array:
        """Whether the variances of the rows' own classes are not degenerate without them."""
        if self.degenerate != "pooled":
            return np.ones(len(X), bool)
        away, n = X - self.moments.mean[code], self.moments.weight[code]
        rest = self.moments.variation[code] - (w * n / (n - w))[:, None] * away**2
        return np.asarray(~self._is_degenerate(rest, (n - w)[:, None]).any(axis=1))

    @cached_property
    def _least_share(self) -> Array:
        """The share of the variances of each class, (k,), above which none of them is degenerate."""
        least = SAFE * np.minimum(1.0, LARGE * self.moments.weight[:, None]) * self.unit**2
        return np.asarray((least / self.moments.variation).max(axis=1))

    def _full(self, X: Array, code: Array, w: Array, out: Array) -> Array:
        """Correct the scores of the rows' own classes. The scores themselves give the distances that are needed."""
        density, n, own = self.density, self.moments.weight[code], (np.arange(len(code)), code)
        rest, distance = n - w, 2 * (density.constant[code] - out[own])
        share = 1.0 - w / rest * distance  # of the determinant that is left
        log_det = density.log_det[code] + density.n_features * np.log(n / rest) + np.log(share)
        out[own] = -0.5 * (density.n_features * _LOG_2PI + log_det + n / rest * distance / share)
        inverse = self._inverse[code] * rest / n
        safe = np.asarray((share > np.maximum(SAFE * self.floor * inverse, FAINT)) & (rest > FAINT * n))
        # No variance is left with a smaller share than the determinant.
        doubtful = np.flatnonzero(safe & ~(share > self._least_share[code]))
        safe[doubtful] = self._vary_without(X[doubtful], code[doubtful], w[doubtful])
        return safe

    def _own(self, X: Array, c: int, w: Array) -> tuple[Array, Array]:
        """Scores (n,) of rows of class c by the class without them, and whether they may be trusted."""
        n = self.moments.weight[c]
        rest, away = n - w, X - self.moments.mean[c]
        spread = _Spread.of(self, c, away, rest, w * n / rest)
        distance, safe = spread.own((n / rest)[:, None])
        return -0.5 * (X.shape[1] * _LOG_2PI + spread.log_det() + distance), safe & (rest > FAINT * n)

    def _tied(self, X: Array, code: Array, w: Array, out: Array) -> Array:
        """Write the scores of all classes, which share the covariance that a row changes."""
        own, mean = self.moments.weight[code], self.moments.mean
        rest = own - w
        spread = _Spread.of(self, 0, X - mean[code], self.moments.total - w, w * own / rest)
        distance, safe = spread.own((own / rest)[:, None])
        log_det = spread.log_det()
        for c in range(len(mean)):
            to_class = np.where(code == c, distance, spread.other(X - mean[c]))
            out[:, c] = -0.5 * (X.shape[1] * _LOG_2PI + log_det + to_class) if self.density.seen[c] else -np.inf
        return safe & (rest > FAINT * own)

    def _side_by_side(self, X: Array, code: Array, weight: Array) -> tuple[Array, Array]:
        """Scores (n, k) by variances that are estimated for each row, where some may be floored and some cells missing;
        and which rows leave too little."""
        step = max(1, _CELLS // self.moments.mean.size)
        parts = [slice(start, start + step) for start in range(0, len(X), step)]
        scores, little = zip(*(self._some_side_by_side(X[i], code[i], weight[i]) for i in parts), strict=True)
        return np.concatenate(scores), np.concatenate(little)

    def _some_side_by_side(self, X: Array, code: Array, weight: Array) -> tuple[Array, Array]:
        m, moments, kind = len(X), self.moments, self.density.structure
        own, missing = (np.arange(m), code), np.isnan(X)
        x, gone = np.where(missing, 0.0, X), weight[:, None] * ~missing
        n, mean, scatter = (
            np.tile(np.broadcast_to(a, moments.mean.shape), (m, 1, 1))
            for a in (moments.column_weight, moments.mean, moments.scatter)
        )
        rest = left(n[own], gone)
        ratio = np.divide(gone, rest, out=np.zeros_like(rest), where=rest > 0)
        moved = mean[own] + (mean[own] - x) * ratio
        blurred = np.abs(moved) <= 8 * _EPS * np.maximum(np.abs(mean[own]), np.abs(x)) * (1 + ratio)
        moved = np.where((rest == 0) | (blurred & (gone > 0)), 0.0, moved)
        spread = scatter[own] - (mean[own] - x) ** 2 * (1 + ratio) * gone
        spread = np.where((rest == 0) | (spread < 8 * _EPS * scatter[own]), 0.0, spread)
        little = (faint(n[own], gone) | (spread < FAINT * scatter[own])).any(axis=1)
        n[own], mean[own], scatter[own] = rest, moved, spread
        unit = yardstick(scatter.sum(axis=-2), mean, n)
        unit = np.broadcast_to(unit.mean(axis=-1, keepdims=True), unit.shape) if kind.shape == "spherical" else unit
        variance = variances(scatter, n, kind, self.shrinkage, unit[:, None] if self._moves_target else 1.0)
        known = mean
        mean, variance = neutral(mean, scatter, n, variance, kind)
        if not kind.tied and self.degenerate == "pooled":
            varies = varying(scatter.sum(axis=-2), n.sum(axis=-2), unit, kind)
            variance, _ = pooled_variances(variance, n, known, scatter, unit, varies, kind)
        variance = np.maximum(variance, np.maximum(self.floor * unit, np.finfo(np.float64).tiny)[:, None])
        if self.ddof:
            variance = variance * unbiased_factor(n, kind)
        terms = _LOG_2PI + np.log(variance) + (x[:, None] - mean) ** 2 / variance
        scores = -0.5 * np.where(missing[:, None], 0.0, terms).sum(axis=-1)
        total = np.tile(moments.weight, (m, 1))
        total[own] = left(total[own], weight)
        return np.where(total > 0, scores, -np.inf), np.asarray(little)


@dataclass(frozen=True)
class Downdate:
    """Covariances of n models, each without one row, before shrinkage: in some basis a diagonal, less step * z z'."""

    scatter: Array  # (d,) of all rows, along the basis
    diagonal: Array  # (n, d)
    step: Array  # (n,) zero where the diagonal has it already
    z: Array  # (n, d) the row less the mean that it was part of, in the basis
    even: Array  # (n,) the mean variance, which shrinkage pulls towards
    unit: Array  # (d,) the variances that floors are relative to, along the basis

    @classmethod
    def of(cls, model: GaussianLeaveOneOut, g: int, away: Array, rest: Array, step: Array) -> Downdate:
        """Of covariance g, where scatter - step * away away' is left of the scatter, and `rest` of the weight."""
        moments, structure = model.moments, model.density.structure
        if structure.shape == "full":
            values, vectors = (part[g] for part in model.eigen)
            z, unit = away @ vectors, ((vectors * model.unit[:, None]) ** 2).sum(axis=0)
            even = (values.sum() - step * (z**2).sum(axis=1)) / (rest * len(values))
            return cls(values, values / rest[:, None], step / rest, z, even, unit)
        scatter = moments.scatter.sum(axis=0) if structure.tied else moments.scatter[g]
        diagonal = (scatter - step[:, None] * away**2) / rest[:, None]
        return cls(scatter, diagonal, np.zeros(len(away)), away, diagonal.mean(axis=1), model.unit**2)

    def shrunk(self, s: float) -> Array:
        """Return the diagonal (n, d) after shrinkage; the step is (1 - s) times as long then."""
        return (1 - s) * self.diagonal + s * self.even[:, None]


@dataclass(frozen=True)
class _Spread:
    """Covariances of n models, each without one row: in some basis a diagonal (n, d), less a multiple of z z'."""

    basis: Array  # (d, d) rows are directions; (d,) where they are the columns, scaled
    log_basis: Array  # (n,) what the basis adds to the log determinants
    diagonal: Array  # (n, d) or (n, 1)
    step: Array  # (n,) of z z', zero where the diagonal has it already
    share: Array  # (n,) of the determinant that this step leaves
    z: Array  # (n, d) the row less the mean that it was part of, in the basis
    safe: Array  # (n,) whether no variance is near its floor

    @classmethod
    def of(cls, model: GaussianLeaveOneOut, g: int, away: Array, rest: Array, step: Array) -> _Spread:
        """Of covariance g, where scatter - step * away away' is left of the scatter, and `rest` of the weight."""
        density, s = model.density, model.shrinkage
        if density.structure.shape != "full":
            return cls._diagonal(model, g, away, rest, step)
        if not s:
            before = model.moments.total if density.structure.tied else model.moments.weight[g]
            basis, diagonal = density.whitening[g], (before / rest)[:, None]
            log_basis = np.full(len(away), density.log_det[g])
            inverse = model._inverse[g] * rest / before
            z, step = away @ basis.T, step / rest
        else:
            downdate = Downdate.of(model, g, away, rest, step)
            basis, diagonal = model.eigen[1][g].T, downdate.shrunk(s)
            log_basis, inverse = np.zeros(len(away)), (downdate.unit / diagonal).sum(axis=1)
            z, step = downdate.z, (1 - s) * downdate.step
        share = 1.0 - step * (z**2 / diagonal).sum(axis=1)
        safe = (diagonal > 0).all(axis=1) & (share > np.maximum(SAFE * model.floor * inverse, FAINT))
        return cls(basis, log_basis, diagonal, step, share, z, safe)

    @classmethod
    def _diagonal(cls, model: GaussianLeaveOneOut, g: int, away: Array, rest: Array, step: Array) -> _Spread:
        downdate = Downdate.of(model, g, away, rest, step)
        variance = downdate.shrunk(1.0 if model.density.structure.shape == "spherical" else model.shrinkage)
        kept = downdate.diagonal * rest[:, None] >= FAINT * downdate.scatter
        safe = np.all((variance > SAFE * model.floor * downdate.unit) & kept, axis=1)
        zeros = np.zeros(len(away))
        return cls(np.ones(away.shape[1]), zeros, variance, zeros, zeros + 1, away, safe)

    def log_det(self) -> Array:
        wide = np.broadcast_to(self.diagonal, self.z.shape)
        return np.asarray(self.log_basis + np.log(wide).sum(axis=1) + np.log(self.share))

    def own(self, farther: Array) -> tuple[Array, Array]:
        """The distance (n,) of each row from the mean that it left, `farther` (n, 1) away than before; and safety."""
        return ((farther * self.z) ** 2 / self.diagonal).sum(axis=1) / self.share, self.safe

    def other(self, away: Array) -> Array:
        """The distance (n,) of each row from a mean that it was no part of."""
        z = away @ self.basis.T if self.basis.ndim == 2 else away
        across = (self.z * z / self.diagonal).sum(axis=1)
        return np.asarray((z**2 / self.diagonal).sum(axis=1) + self.step * across**2 / self.share)
