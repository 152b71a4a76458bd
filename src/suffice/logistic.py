"""Logistic models: ratios of likelihoods that are linear in the features, or in their squares and products too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .errors import DataError, listed
from .scoring import Scorer, Wanted
from .table import Table
from .threads import reduce_ordered

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Array = NDArray[Any]
_CACHED = 1 << 16  # cells of rows that are read twice while they are in the cache

EXPANSIONS = ("linear", "quadratic")


@dataclass(frozen=True, eq=False)
class LogisticModel(Scorer):
    """log p(x | class) = slope (features(x) - center) + constant, up to a term of x alone that nobody knows."""

    classes: Array  # (k,) sorted
    prior: Array  # (k,) that the model was learnt under, taken out of the constant
    center: Array  # (p,)
    slope: Array  # (k, p)
    constant: Array  # (k,)
    expansion: str = "linear"

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Before the expansion."""
        p = len(self.center)
        return p if self.expansion == "linear" else (isqrt(9 + 8 * p) - 3) // 2

    @property
    def n_read(self) -> int:
        return len(self.center)

    def of_classes(self, places: Sequence[int]) -> Self:
        kept = list(places)
        return replace(self, **{name: getattr(self, name)[kept] for name in ("classes", "prior", "slope", "constant")})

    def read(self, table: Table) -> Array:
        return expand(table.floats(), self.expansion)

    def _score(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        if not relative:
            raise DataError("a logistic model knows ratios of likelihoods, not the likelihoods themselves")
        return bool(kernels.active.linear_scores(X, self.center, self.slope, self.constant + offset, *wanted))

    def to_arrays(self) -> dict[str, Array]:
        own = {name: getattr(self, name) for name in ("prior", "center", "slope", "constant")}
        return own | {"expansion": np.array(EXPANSIONS.index(self.expansion))}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        own = {name: np.array(arrays[name], np.float64) for name in ("prior", "center", "slope", "constant")}
        model = cls(classes, **own, expansion=EXPANSIONS[int(arrays["expansion"])])
        k, p = len(classes), n_expanded(model.n_features, model.expansion)
        shapes = {"prior": (k,), "center": (p,), "slope": (k, p), "constant": (k,)}
        if any(own[name].shape != shape or not np.isfinite(own[name]).all() for name, shape in shapes.items()):
            raise ValueError("the parameters of the logistic model do not fit together")
        return model


def check_expansion(expansion: Any) -> str:
    """An expansion, or an error."""
    if expansion not in EXPANSIONS:
        raise DataError(f"expansion={expansion!r} is not known; choose one of {listed(EXPANSIONS)}")
    return str(expansion)


def n_expanded(n_features: int, expansion: str) -> int:
    """How many features there are after an expansion."""
    return n_features if expansion == "linear" else n_features * (n_features + 3) // 2


def expand(X: Array, expansion: str) -> Array:
    """The features, and in a quadratic expansion the products of every two, squares included.

    >>> expand(np.array([[2.0, 3.0]]), "quadratic")
    array([[2., 3., 4., 6., 9.]])
    """
    if expansion == "linear":
        return X
    d = X.shape[1]
    out = np.empty((len(X), n_expanded(d, expansion)))
    out[:, :d] = X
    place = d
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(d):
            np.multiply(X[:, i : i + 1], X[:, i:], out=out[:, place : place + d - i])
            place += d - i
    return out


@dataclass(frozen=True)
class LogisticProblem:
    """The mean loss of weighted rows and its gradient, with an L2 penalty on the slopes, piece by piece.

    Of two classes the first has no parameters: its slope and intercept are zero.
    """

    pieces: tuple[tuple[Any, Array, Array], ...]  # rows, codes and weights that stay in the cache
    n_classes: int
    n_columns: int
    penalty: float  # ½ penalty |slopes|² is added to the loss
    rarest: float  # the share of the rarest class in the weights, relative to an even one
    threads: int

    @classmethod
    def of(cls, rows: Any, code: Array, weight: Array, n_classes: int, penalty: float, threads: int) -> LogisticProblem:
        """Rows are an array or compressed sparse rows; the weights are brought to a sum of one."""
        step = max(1024, _CACHED // rows.shape[1])
        parts = (slice(start, start + step) for start in range(0, rows.shape[0], step))
        share = weight / weight.sum()
        pieces = tuple((rows[part], code[part], share[part]) for part in parts)
        rarest = n_classes * float(np.bincount(code, share).min())
        return cls(pieces, n_classes, rows.shape[1], penalty, rarest, threads)

    @property
    def n_outputs(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def loss(self, slope: Array, intercept: Array) -> tuple[float, Array, Array]:
        """The loss, and its gradients for slope (outputs, p) and intercept (outputs,)."""

        def of_piece(piece: tuple[Any, Array, Array]) -> tuple[float, Array, Array]:
            rows, code, weight = piece
            loss, error = (_two if self.n_outputs == 1 else _several)(rows @ slope.T + intercept, code)
            error *= weight[:, None]
            return float(weight @ loss), error.T @ rows, error.sum(axis=0)

        loss, by_slope, by_intercept = reduce_ordered(of_piece, _sums, self.pieces, self.threads)
        return loss + 0.5 * self.penalty * float((slope**2).sum()), by_slope + self.penalty * slope, by_intercept

    def solve(
        self, center: Array, covariance: Array, start: tuple[Array, Array], tol: float, max_iter: int
    ) -> tuple[Array, Array, OptimizeResult]:
        """Slope and intercept of least loss, by L-BFGS in coordinates where the loss is about as curved everywhere.

        Parameters
        ----------
        center, covariance : (p,) and (p, p), or variances (p,), of the rows within classes
        start : slope and intercept
        tol : the largest entry of the gradient, in these coordinates and for the rarest class, that ends the search
        """
        from scipy.optimize import minimize

        curvature = (1 - 1 / self.n_classes) / self.n_classes  # of undecided rows
        basis = _Basis.of(curvature * covariance, self.penalty)
        shape = self.n_outputs, self.n_columns

        def unpacked(theta: Array) -> tuple[Array, Array]:
            slope = basis.slope(theta[: -shape[0]].reshape(shape))
            return slope, theta[-shape[0] :] - slope @ center

        def objective(theta: Array) -> tuple[float, Array]:
            loss, by_slope, by_intercept = self.loss(*unpacked(theta))
            inner = basis.gradient(by_slope - by_intercept[:, None] * center)
            return loss / self.rarest, np.concatenate([inner.ravel(), by_intercept]) / self.rarest

        slope, intercept = start
        found = minimize(
            objective,
            np.concatenate([basis.inner(slope).ravel(), intercept + slope @ center]),
            jac=True,
            method="L-BFGS-B",
            options={"gtol": tol, "ftol": 64 * np.finfo(float).eps, "maxiter": max_iter, "maxls": 50},
        )
        return *unpacked(found.x), found


@dataclass(frozen=True)
class _Basis:
    """Coordinates v of slopes w = L'⁻¹ v, where L L' is about the Hessian; L is triangular, or diagonal (p,)."""

    factor: Array

    @classmethod
    def of(cls, hessian: Array, penalty: float) -> _Basis:
        if hessian.ndim == 1:
            return cls(np.sqrt(np.maximum(hessian + penalty, np.finfo(float).tiny)))
        ridge = penalty + 1e-12 * max(float(np.trace(hessian)) / len(hessian), np.finfo(float).tiny)
        return cls(np.linalg.cholesky(hessian + ridge * np.eye(len(hessian))))

    def inner(self, slope: Array) -> Array:
        return np.asarray(slope * self.factor if self.factor.ndim == 1 else slope @ self.factor)

    def slope(self, inner: Array) -> Array:
        return self._solved(inner, transposed=True)

    def gradient(self, by_slope: Array) -> Array:
        return self._solved(by_slope, transposed=False)

    def _solved(self, rows: Array, transposed: bool) -> Array:
        from scipy.linalg import solve_triangular

        if self.factor.ndim == 1:
            return np.asarray(rows / self.factor)
        return np.asarray(solve_triangular(self.factor, rows.T, lower=True, trans="T" if transposed else "N").T)


def _two(logit: Array, code: Array) -> tuple[Array, Array]:
    """The loss (n,) of each row and its derivative (n, 1), from the log odds (n, 1) of the second of two classes."""
    small = np.exp(-np.abs(logit[:, 0]))
    positive, target = logit[:, 0] > 0, code == 1
    loss = np.log1p(small) + np.where(positive == target, 0.0, np.abs(logit[:, 0]))
    error = np.where(positive, 1.0, small) / (1 + small) - target
    return loss, error[:, None]


def _several(logit: Array, code: Array) -> tuple[Array, Array]:
    """The loss (n,) of each row and its derivative (n, k)."""
    own = np.arange(len(code)), code
    logit -= logit.max(axis=1, keepdims=True)
    share = np.exp(logit)
    total = share.sum(axis=1)
    loss = np.log(total) - logit[own]
    share /= total[:, None]
    share[own] -= 1.0
    return loss, share


def _sums(one: tuple[float, Array, Array], two: tuple[float, Array, Array]) -> tuple[float, Array, Array]:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2]
