"""Logistic models: ratios of likelihoods that are linear in the features, or in their squares and products too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .densities.scorer import Scorer, Wanted
from .errors import DataError
from .tables.table import Table
from .threads import reduce_ordered, single_threaded_blas

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Array = NDArray[Any]
_CACHED = 1 << 19  # cells of rows in a piece, which are read twice while they are in the cache
_SMALL = 1 << 19  # cells that one thread has read before another has started: one piece
_UNKNOWNS = 500  # whose Hessian is factored in each step
_NEARLY = 0.01  # of the variance of a column: what others leave unexplained of one that nearly follows from them
_PRODUCTS = 1 << 28  # of cells of rows, from which a Hessian is collected in each step
_OUT_OF_STEPS = 1  # SciPy's status; every other one is an end that we asked for, or that of the digits of the loss

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
    has_likelihoods = False

    @property
    def seen(self) -> Array:  # type: ignore[override]
        return np.ones(self.n_classes, bool)

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

    def parameters(self) -> dict[str, Any]:
        return {"coef": self.coef, "intercept": self.intercept, "prior": self.prior}

    @property
    def coef(self) -> Array:
        """The slopes of the log posteriors as scikit-learn has them: (k, p), or (1, p) of two classes."""
        return _as_scikit_learn(self.slope)

    @property
    def intercept(self) -> Array:
        """The intercepts beside `coef`, (k,) or (1,), with the prior in them."""
        return _as_scikit_learn(self.constant - self.slope @ self.center + np.log(self.prior))

    def of_classes(self, indices: Sequence[int]) -> Self:
        kept = list(indices)
        return replace(self, **{name: getattr(self, name)[kept] for name in ("classes", "prior", "slope", "constant")})

    def read(self, table: Table) -> Array:
        return expand(table.floats(), self.expansion)

    def _score(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        if not relative:
            raise DataError("a logistic model gives log-likelihood ratios, not log-likelihoods")
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


def _as_scikit_learn(of_classes: Array) -> Array:
    """What classes have, in scikit-learn's form: of two the difference, of more what sums to zero."""
    if len(of_classes) == 2:
        return of_classes[1:] - of_classes[:1]
    return np.asarray(of_classes - of_classes.mean(axis=0))


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
    index = d
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(d):
            np.multiply(X[:, i : i + 1], X[:, i:], out=out[:, index : index + d - i])
            index += d - i
    return out


class _Piece(NamedTuple):
    """Rows that stay in the cache."""

    rows: Any
    code: Array  # (n,)
    weight: Array  # (n,)
    posterior: Array  # (outputs, n), written anew by each loss


@dataclass(frozen=True)
class LogisticProblem:
    """The mean loss of weighted rows with an L2 penalty on the slopes, its gradient and curvature, piece by piece.

    Of two classes the first has no parameters: its slope and intercept are zero.
    """

    pieces: tuple[_Piece, ...]
    prior: Array  # (k,) the shares of the classes in the weights
    n_columns: int
    penalty: float  # ½ penalty |slopes|² is added to the loss
    threads: int

    @classmethod
    def of(cls, rows: Any, code: Array, weight: Array, n_classes: int, penalty: float, threads: int) -> LogisticProblem:
        """Rows are an array or compressed sparse rows; the weights are brought to a sum of one."""
        n, p = rows.shape
        step = n if n * p <= _SMALL else max(1024, _CACHED // p)
        parts = (slice(start, start + step) for start in range(0, n, step))
        share, outputs = weight / weight.sum(), 1 if n_classes == 2 else n_classes
        pieces = tuple(
            _Piece(rows[part], code[part], share[part], np.empty((outputs, len(code[part])))) for part in parts
        )
        return cls(pieces, np.bincount(code, share), p, penalty, threads)

    @property
    def n_outputs(self) -> int:
        return 1 if len(self.prior) == 2 else len(self.prior)

    def loss(self, slope: Array, intercept: Array) -> tuple[float, Array, Array]:
        """The loss, and its gradients for slope (outputs, p) and intercept (outputs,); keeps the posteriors."""

        def of_piece(piece: _Piece) -> tuple[float, Array, Array]:
            rows, code, weight, posterior = piece
            logit = slope @ rows.T + intercept[:, None]
            loss, error = (_two if self.n_outputs == 1 else _several)(logit, code, posterior)
            error *= weight
            return float(weight @ loss), error @ rows, error.sum(axis=1)

        loss, by_slope, by_intercept = reduce_ordered(of_piece, _sums, self.pieces, self.threads)
        return loss + 0.5 * self.penalty * float((slope**2).sum()), by_slope + self.penalty * slope, by_intercept

    def curvature(self, slope: Array, intercept: Array) -> tuple[Array, Array]:
        """The Hessian where the loss was last asked for, times a direction: how the gradients change along it."""

        def of_piece(piece: _Piece) -> tuple[float, Array, Array]:
            rows, _, weight, posterior = piece
            change = slope @ rows.T
            change += intercept[:, None]
            change -= change * posterior if self.n_outputs == 1 else np.einsum("kn,kn->n", change, posterior)
            change *= posterior
            change *= weight
            return 0.0, change @ rows, change.sum(axis=1)

        _, by_slope, by_intercept = reduce_ordered(of_piece, _sums, self.pieces, self.threads)
        return by_slope + self.penalty * slope, by_intercept

    def hessian(self, coordinates: _Coordinates) -> Array:
        """The Hessian of coordinates with a whitening, where the loss was last asked for."""

        def of_piece(piece: _Piece) -> Array:
            rows, _, weight, posterior = piece
            design = np.ones((len(weight), p + 1))
            np.matmul(rows - coordinates.center, whitening.T, out=design[:, :p])
            blocks = np.empty((k, p + 1, k, p + 1))
            for a in range(k):
                for b in range(a + 1):
                    curved = weight * posterior[a] * ((a == b) - posterior[b])
                    blocks[a, :, b] = blocks[b, :, a] = design.T @ (curved[:, None] * design)
            return blocks

        k, p, whitening = self.n_outputs, self.n_columns, cast(Array, coordinates.whitening)
        blocks = reduce_ordered(of_piece, np.add, self.pieces, self.threads)
        for a in range(k):
            blocks[a, :p, a, :p] += self.penalty * whitening @ whitening.T
        if k > 1:  # the loss does not change with all intercepts at once: without this the Hessian has no inverse
            blocks[:, p, :, p] += np.trace(blocks[:, p, :, p]) / k**2
        blocks *= coordinates.scale[:, :, None, None] * coordinates.scale
        return np.asarray(blocks.reshape(k * (p + 1), -1))

    def solve(self, center: Array, covariance: Array, tol: float, max_iter: int) -> tuple[Array, Array, OptimizeResult]:
        """Slope and intercept of least loss, by Newton's method inside a region of trust.

        Parameters
        ----------
        center, covariance : (p,) and (p, p), or variances (p,), of the rows
        tol : the largest entry of the gradient that ends the search
        """
        from scipy.optimize import minimize

        search = _Search(self, _Coordinates.of(self, center, covariance), tol)
        with single_threaded_blas():
            found = minimize(
                search.loss,
                search.start(),
                jac=True,
                **search.second_order(),
                callback=search.stop,
                options={"gtol": 0.0, "maxiter": max_iter},
            )
        found.success = found.status != _OUT_OF_STEPS
        return *search.coordinates.parameters(found.x), found


@dataclass(frozen=True)
class _Coordinates:
    """Coordinates (outputs, p + 1) of slopes and intercepts in which the loss is about as curved in every direction.

    While nothing but the prior is known, its Hessian is prior (1 - prior) covariance for each class, plus the penalty.
    """

    center: Array  # (p,)
    whitening: Array | None  # (p, p), where columns are not taken one by one
    scale: Array  # (outputs, p + 1), or (outputs, 1)
    collinear: bool = False  # whether some column nearly follows from others

    @classmethod
    def of(cls, problem: LogisticProblem, center: Array, covariance: Array) -> _Coordinates:
        from scipy.linalg import solve_triangular

        curved = (problem.prior * (1 - problem.prior))[-problem.n_outputs :, None]
        variance = covariance if covariance.ndim == 1 else np.diag(covariance)
        varies = variance > (1e-14 * center) ** 2  # by more than rounding
        floor = np.where(varies, 1e-12 * variance, 1 + center**2)
        if covariance.ndim == 1:
            scale = 1 / np.sqrt(np.column_stack([curved * (variance + floor) + problem.penalty, curved]))
            return cls(center, None, scale)
        factor = np.linalg.cholesky(covariance + np.diag(floor + problem.penalty / curved.mean()))
        collinear = bool((np.diag(factor) ** 2 < _NEARLY * variance)[varies].any())
        return cls(center, solve_triangular(factor, np.eye(len(factor)), lower=True), 1 / np.sqrt(curved), collinear)

    def parameters(self, theta: Array) -> tuple[Array, Array]:
        """Slope and intercept."""
        inner = theta.reshape(len(self.scale), -1) * self.scale
        slope = inner[:, :-1] if self.whitening is None else inner[:, :-1] @ self.whitening
        return slope, inner[:, -1] - slope @ self.center

    def gradient(self, by_slope: Array, by_intercept: Array) -> Array:
        """The gradient for theta, from those for slope and intercept."""
        outer = by_slope - by_intercept[:, None] * self.center
        inner = outer if self.whitening is None else outer @ self.whitening.T
        return np.asarray((self.scale * np.column_stack([inner, by_intercept])).ravel())


class _Search:
    """The loss as SciPy asks for it, and when to stop."""

    def __init__(self, problem: LogisticProblem, coordinates: _Coordinates, tol: float) -> None:
        self.problem, self.coordinates, self.tol = problem, coordinates, tol
        self.theta, self.value, self.change, self.gradient = np.empty(0), np.inf, np.inf, np.empty(0)

    def start(self) -> Array:
        """No slopes, and the log prior."""
        log_prior = np.log(self.problem.prior)
        theta = np.zeros((self.problem.n_outputs, self.problem.n_columns + 1))
        theta[:, -1] = (log_prior - log_prior[0])[-len(theta) :] / self.coordinates.scale[:, -1]
        return theta.ravel()

    def second_order(self) -> dict[str, Any]:
        """SciPy's method: with products of the Hessian, or with the whole of it, where it is small and columns that
        nearly follow from others would take many products."""
        n, unknowns = sum(len(piece.code) for piece in self.problem.pieces), len(self.start())
        if not self.coordinates.collinear or unknowns > _UNKNOWNS or n * unknowns**2 > _PRODUCTS:
            return {"method": "trust-ncg", "hessp": self.curvature}
        return {"method": "trust-exact", "hess": self.hessian}

    def loss(self, theta: Array) -> tuple[float, Array]:
        if not np.array_equal(theta, self.theta):
            loss, *gradients = self.problem.loss(*self.coordinates.parameters(theta))
            self.theta, self.change, self.value = theta.copy(), abs(loss - self.value), loss
            self.gradient = self.coordinates.gradient(*gradients)
        return self.value, self.gradient

    def curvature(self, theta: Array, direction: Array) -> Array:
        self.loss(theta)  # anew where the last step was taken back
        return self.coordinates.gradient(*self.problem.curvature(*self.coordinates.parameters(direction)))

    def hessian(self, theta: Array) -> Array:
        self.loss(theta)  # SciPy asks for it later
        return self.problem.hessian(self.coordinates)

    def stop(self, intermediate_result: OptimizeResult) -> None:
        """End the search where the gradient is small, or the loss too much the same to tell one point from the next."""
        loss = intermediate_result.fun
        if np.abs(self.gradient).max() <= self.tol or self.change <= 64 * np.finfo(float).eps * loss:
            raise StopIteration


def _two(logit: Array, code: Array, posterior: Array) -> tuple[Array, Array]:
    """The loss (n,) of each row and its derivative (1, n), from the log odds (1, n) of the second of two classes."""
    target = code == 1
    small = np.exp(-np.abs(logit))
    np.divide(np.where(logit > 0, 1.0, small), 1 + small, out=posterior)
    loss = np.log1p(small[0]) + np.maximum(np.where(target, -logit[0], logit[0]), 0.0)
    return loss, posterior - target


def _several(logit: Array, code: Array, posterior: Array) -> tuple[Array, Array]:
    """The loss (n,) of each row and its derivative (k, n)."""
    own = code, np.arange(len(code))
    logit -= logit.max(axis=0)
    np.exp(logit, out=posterior)
    total = posterior.sum(axis=0)
    posterior /= total
    error = posterior.copy()
    error[own] -= 1.0
    return np.log(total) - logit[own], error


def _sums(one: tuple[float, Array, Array], two: tuple[float, Array, Array]) -> tuple[float, Array, Array]:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2]
