"""The loss of logistic regression, and where it is least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..threads import reduce_ordered, single_threaded_blas

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Array = NDArray[Any]
_CACHED = 1 << 19  # cells of rows in a piece, which are read twice while they are in the cache
_SMALL = 1 << 19  # cells that one thread has read before another has started: one piece
_UNKNOWNS = 500  # whose Hessian is factored in each step
_NEARLY = 0.01  # of the variance of a column: what others leave unexplained of one that nearly follows from them
_ALL = 0.9  # of the variance that others leave unexplained of a column: so much is its floor where it follows from them
_PRODUCTS = 1 << 28  # of cells of rows, from which a Hessian is collected in each step
_SAMPLED = 50  # rows of a sample for each unknown, which tell the curvature of all rows
_SAMPLES = 8  # that all rows must make, for one to save work
_QUICK = 1 << 20  # products of cells and outputs; a step with fewer takes no longer than one with a sample
_FLOOR = 1e-8  # added to the curvature of a sample, in units of that of the prior: rounding may leave none
_LEAST = 1e-13  # the same of all rows, so that a direction without curvature leads nowhere
_ROUGHLY = 1e-3  # the gradient at which a sample has told about as much as it can
_STEPS = 10  # after which a search with a larger gradient needs other coordinates
_REMEMBERED = 30  # steps, from which L-BFGS-B tells the curvature
_FURTHER = 5  # steps from the end of a search, to see whether there is one
_NEAR = 1e-10  # the largest gradient from which they tell
_OUT_OF_STEPS = 1  # SciPy's status; every other one is an end that we asked for, or that of the digits of the loss


class _Piece(NamedTuple):
    """Rows that stay in the cache."""

    rows: Any
    code: Array  # (n,)
    weight: Array  # (n,)
    posterior: Array  # (outputs, n), written anew by each loss
    columns: Any  # the rows transposed, which takes SciPy as long as a product of sparse rows

    @classmethod
    def of(cls, rows: Any, code: Array, weight: Array, outputs: int) -> _Piece:
        return cls(rows, code, weight, np.empty((outputs, len(code)), weight.dtype), rows.T)

    def along(self, slope: Array, intercept: Array) -> Array:
        """What the rows score (outputs, n)."""
        slope, rows = slope.astype(self.rows.dtype), self.rows
        found = slope @ self.columns if isinstance(rows, np.ndarray) else np.ascontiguousarray((rows @ slope.T).T)
        found += intercept.astype(rows.dtype)[:, None]
        return np.asarray(found)

    def summed(self, factor: Array) -> Array:
        """The sum of the rows times factors (outputs, n)."""
        rows = self.rows
        return np.asarray(factor @ rows if isinstance(rows, np.ndarray) else (self.columns @ factor.T).T)


def dense(rows: Any) -> Array:
    """Rows as an array."""
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())


@dataclass(frozen=True)
class LogisticProblem:
    """The mean loss of weighted rows with an L2 penalty on the slopes, its gradient and curvature, piece by piece.

    An L1 penalty, which has no gradient at zero, is left to `solve`.

    Of two classes the first has no parameters: its slope and intercept are zero.
    """

    pieces: tuple[_Piece, ...]
    prior: Array  # (k,) the shares of the classes in the weights
    n_columns: int
    penalty: float  # ½ penalty |slopes|² is added to the loss
    threads: int
    lasso: float = 0.0  # lasso |slopes| is added, too
    has_intercept: bool = True  # or it stays zero

    @classmethod
    def of(
        cls, rows: Any, code: Array, weight: Array, n_classes: int, penalty: float, threads: int, **choices: Any
    ) -> LogisticProblem:
        """Rows are an array or compressed sparse rows; the weights are brought to a sum of one."""
        n, p = rows.shape
        cells = rows.size  # of sparse rows, those that are stored
        step = n if cells <= _SMALL else max(1024, _CACHED * n // cells)
        parts = (slice(start, start + step) for start in range(0, n, step))
        share, outputs = weight / weight.sum(), 1 if n_classes == 2 else n_classes
        pieces = tuple(_Piece.of(rows[part], code[part], share[part], outputs) for part in parts)
        return cls(pieces, np.bincount(code, share), p, penalty, threads, **choices)

    @property
    def n_outputs(self) -> int:
        return 1 if len(self.prior) == 2 else len(self.prior)

    @property
    def n_rows(self) -> int:
        return sum(len(piece.code) for piece in self.pieces)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.pieces[0].rows.dtype
        return dtype

    def single(self) -> LogisticProblem:
        """The same in float32: losses and gradients have six digits or so, and take half the time."""
        pieces = (
            _Piece.of(piece.rows.astype(np.float32), piece.code, piece.weight.astype(np.float32), self.n_outputs)
            for piece in self.pieces
        )
        return replace(self, pieces=tuple(pieces))

    def start(self) -> Array:
        """Slopes and intercepts (outputs, p + 1) while nothing but the prior is known."""
        theta, log_prior = np.zeros((self.n_outputs, self.n_columns + 1)), np.log(self.prior)
        if self.has_intercept:
            theta[:, -1] = (log_prior - log_prior[0])[-len(theta) :]
        return theta

    def reweighted(self, kept: Array) -> LogisticProblem:
        """The same with some rows only, which do not get more weight for it. It shares the posteriors."""
        starts = np.cumsum([0, *(len(piece.code) for piece in self.pieces)])
        parts = zip(self.pieces, pairwise(starts), strict=True)
        return replace(self, pieces=tuple(piece._replace(weight=piece.weight * kept[a:b]) for piece, (a, b) in parts))

    def sample(self, n: int) -> LogisticProblem:
        """The same of n rows, drawn with probabilities that are their weights; the penalty is that of so few rows."""
        within = np.cumsum(np.concatenate([piece.weight for piece in self.pieces], dtype=np.float64))
        shares = (np.arange(n) + np.random.default_rng(0).random(n)) / n
        drawn = np.searchsorted(within, shares * within[-1])
        starts = np.cumsum([0, *(len(piece.code) for piece in self.pieces)])
        parts = [drawn[slice(*np.searchsorted(drawn, ends))] - ends[0] for ends in pairwise(starts)]
        pairs = [*zip(self.pieces, parts, strict=True)]
        rows = np.concatenate([piece.rows[part] for piece, part in pairs])
        code = np.concatenate([piece.code[part] for piece, part in pairs])
        penalty = self.n_rows / n * self.penalty
        found = LogisticProblem.of(rows, code, np.ones(n), len(self.prior), penalty, self.threads)
        return replace(found, prior=self.prior, has_intercept=self.has_intercept)

    def _sample(self, coordinates: _Coordinates) -> LogisticProblem | None:
        """A sample that tells the curvature of all rows; None where it would save no work, or miss a rare class."""
        n = _SAMPLED * coordinates.scale.size
        is_slow = self.n_rows * coordinates.scale.size >= _QUICK
        is_worth = not self.lasso and is_slow and coordinates.is_small() and self.n_rows >= _SAMPLES * n
        return self.sample(n) if is_worth and n * self.prior.min() > self.n_columns else None

    def logits(self, slope: Array, intercept: Array) -> Array:
        """The scores (n, outputs) of all rows."""
        return np.concatenate([piece.rows @ slope.T + intercept for piece in self.pieces])

    def loss(self, slope: Array, intercept: Array) -> tuple[float, Array, Array]:
        """The loss, and its gradients for slope (outputs, p) and intercept (outputs,); keeps the posteriors."""

        def of_piece(piece: _Piece) -> tuple[float, Array, Array]:
            logit = piece.along(slope, intercept)
            loss, error = (_two if self.n_outputs == 1 else _several)(logit, piece.code, piece.posterior)
            error *= piece.weight
            return float(piece.weight @ loss), piece.summed(error), error.sum(axis=1)

        loss, by_slope, by_intercept = reduce_ordered(of_piece, _sums, self.pieces, self.threads)
        return loss + 0.5 * self.penalty * float((slope**2).sum()), by_slope + self.penalty * slope, by_intercept

    def curvature(self, slope: Array, intercept: Array) -> tuple[Array, Array]:
        """The Hessian where the loss was last asked for, times a direction: how the gradients change along it."""

        def of_piece(piece: _Piece) -> tuple[float, Array, Array]:
            change, posterior = piece.along(slope, intercept), piece.posterior
            change -= change * posterior if self.n_outputs == 1 else np.einsum("kn,kn->n", change, posterior)
            change *= posterior
            change *= piece.weight
            return 0.0, piece.summed(change), change.sum(axis=1)

        _, by_slope, by_intercept = reduce_ordered(of_piece, _sums, self.pieces, self.threads)
        return by_slope + self.penalty * slope, by_intercept

    def steps_on(
        self, center: Array, covariance: Array, tol: float, max_iter: int, found: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """How slope and intercept change in some steps from where `solve` has found the least loss.

        They hardly do, unless the loss is least at infinity: then each step adds about one to the log odds of some
        rows, however small the gradient is.
        """
        if tol > _NEAR:
            found = self.solve(center, covariance, _NEAR, max_iter, found)[:2]
        slope, intercept, _ = self.solve(center, covariance, 0.0, _FURTHER, found, sampled=False)
        return slope - found[0], intercept - found[1]

    def hessian(self, coordinates: _Coordinates) -> Array:
        """The Hessian of coordinates with a whitening, where the loss was last asked for."""
        k, p, whitening = self.n_outputs, self.n_columns, cast(Array, coordinates.whitening)
        blocks = self.information(lambda rows: np.matmul(rows - coordinates.center, whitening.T))
        for a in range(k):
            blocks[a, :p, a, :p] += self.penalty * whitening @ whitening.T
        blocks *= coordinates.scale[:, :, None, None] * coordinates.scale
        hessian = blocks.reshape(k * (p + 1), -1)
        rows = np.arange(len(hessian))
        hessian[rows, rows] += np.where(coordinates.scale.ravel() > 0, _LEAST, 1.0)
        return np.asarray(hessian)

    def information(self, features: Callable[[Any], Array] = dense) -> Array:
        """The Hessian of the loss without the penalty, where the loss was last asked for.

        Parameters
        ----------
        features : callable
            From some of the rows to an array of the same width.

        Returns
        -------
        array of shape (outputs, p + 1, outputs, p + 1)
            The last of p + 1 is the intercept.
        """
        k, p = self.n_outputs, self.n_columns
        step = max(256, 4 * _CACHED // (k * (p + 1)))

        def of_piece(piece: _Piece) -> Array:
            rows, weight, posterior = piece.rows, piece.weight, piece.posterior
            total = np.zeros((k, p + 1, k, p + 1))
            for start in range(0, len(weight), step):
                part = slice(start, start + step)
                design = np.ones((len(weight[part]), p + 1), rows.dtype)
                design[:, :p] = features(rows[part])
                root = np.sqrt(weight[part])
                chance = posterior[:, part]
                if k == 1:
                    design *= (root * np.sqrt(chance[0] * (1 - chance[0])))[:, None]
                    total[0, :, 0] += design.T @ design
                    continue
                design *= root[:, None]
                for a in range(k):
                    own = np.sqrt(chance[a])[:, None] * design
                    total[a, :, a] += own.T @ own
                both = (chance.T[:, :, None] * design[:, None]).reshape(len(design), -1)
                total -= (both.T @ both).reshape(total.shape)
            return total

        blocks = reduce_ordered(of_piece, np.add, self.pieces, self.threads)
        if k > 1:  # the loss does not change with all intercepts at once: without this the Hessian has no inverse
            blocks[:, p, :, p] += np.trace(blocks[:, p, :, p]) / k**2
        return np.asarray(blocks)

    def class_information(self) -> Array:
        """The blocks of `information` on its diagonal: of a class with itself, (outputs, p + 1, p + 1)."""
        k, p = self.n_outputs, self.n_columns
        step = max(64, _CACHED // (p + 1))

        def of_piece(piece: _Piece) -> Array:
            rows, weight, posterior = piece.rows, piece.weight, piece.posterior
            total = np.zeros((k, p + 1, p + 1))
            for start in range(0, len(weight), step):
                part = slice(start, start + step)
                design = np.ones((len(weight[part]), p + 1), rows.dtype)
                design[:, :p] = dense(rows[part])
                for a, chance in enumerate(posterior[:, part]):
                    own = np.sqrt(weight[part] * chance * (1 - chance))[:, None] * design
                    total[a] += own.T @ own
            return total

        return reduce_ordered(of_piece, np.add, self.pieces, self.threads)

    def diagonal(self) -> Array:
        """The diagonal of `information`, (outputs, p + 1)."""

        def of_piece(piece: _Piece) -> Array:
            curved = piece.weight * piece.posterior * (1 - piece.posterior)
            rows = piece.rows
            squares = rows**2 if isinstance(rows, np.ndarray) else rows.power(2)
            return np.column_stack([curved @ squares, curved.sum(axis=1)])

        return np.asarray(reduce_ordered(of_piece, np.add, self.pieces, self.threads))

    def solve(
        self,
        center: Array,
        covariance: Array,
        tol: float,
        max_iter: int,
        start: tuple[Array, Array] | None = None,
        sampled: bool = True,
    ) -> tuple[Array, Array, OptimizeResult]:
        """Slope and intercept of least loss, by Newton's method inside a region of trust; with an L1 penalty, by
        L-BFGS-B. Of many rows, a sample gives the start, and coordinates in which few steps are needed.

        Parameters
        ----------
        center, covariance : (p,) and (p, p), or variances (p,), of the rows
        tol : the largest entry of the gradient that ends the search
        start : slope and intercept to begin with
        sampled : whether to ask a sample; it does not know the curvature of what few rows tell
        """
        if not self.has_intercept:  # second moments, instead of central ones
            covariance = covariance + (np.outer(center, center) if covariance.ndim == 2 else center**2)
            center = np.zeros_like(center)
        if self.lasso and covariance.ndim == 2:
            covariance = np.diag(covariance)  # since every slope is penalised by itself
        coordinates = _Coordinates.of(self, center, covariance)
        search = _Search(self, coordinates, tol)
        with single_threaded_blas():
            if sampled and (sample := self._sample(coordinates)):
                start = start or sample.solve(center, covariance, _ROUGHLY, max_iter)[:2]
                sample.loss(*start)
                search.precondition(sample.hessian(coordinates))
            first = self.start()
            theta = search.theta(*(start or (first[:, :-1], first[:, -1])))
            found = search.lasso(theta, max_iter) if self.lasso else search.newton(theta, max_iter)
        found.success = found.status != _OUT_OF_STEPS
        slope, intercept = search.parameters(found.x)
        if self.n_outputs > 1 and not self.lasso:  # what all classes share tells nothing
            slope = slope - slope.mean(axis=0)
        return slope, intercept, found


@dataclass(frozen=True)
class _Coordinates:
    """Coordinates (outputs, p + 1) of slopes and intercepts in which the loss is about as curved in every direction.

    While nothing but the prior is known, its Hessian is prior (1 - prior) covariance for each class, plus the penalty.
    """

    center: Array  # (p,)
    whitening: Array | None  # (p, p), where columns are not taken one by one
    scale: Array  # (outputs, p + 1); zero for what stays zero: an intercept, and slopes that no row tells
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
            scale[:, -1] *= problem.has_intercept
            return cls(center, None, scale)
        factor = np.linalg.cholesky(covariance + np.diag(floor + problem.penalty / curved.mean()))
        collinear = bool((np.diag(factor) ** 2 < _NEARLY * variance)[varies].any())
        whitening = solve_triangular(factor, np.eye(len(factor)), lower=True)
        scale = np.repeat(1 / np.sqrt(curved), len(factor) + 1, axis=1)
        scale[:, -1] *= problem.has_intercept
        if not problem.penalty:  # which would hold the slope of a column that follows from others
            scale[:, :-1] *= whitening**2 @ floor < _ALL
        return cls(center, whitening, scale, collinear)

    def is_small(self) -> bool:
        """Whether a Hessian can be collected and factored."""
        return self.whitening is not None and self.scale.size <= _UNKNOWNS

    def theta(self, slope: Array, intercept: Array) -> Array:
        """The inverse of `parameters`."""
        from scipy.linalg import solve_triangular

        inner = np.column_stack([slope, intercept + slope @ self.center])
        if self.whitening is not None:
            inner[:, :-1] = solve_triangular(self.whitening, slope.T, trans="T", lower=True).T
        return np.asarray(np.divide(inner, self.scale, out=np.zeros_like(inner), where=self.scale > 0).ravel())

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
        self.last, self.value, self.change, self.gradient = np.empty(0), np.inf, np.inf, np.empty(0)
        self.steps, self.most, self.is_far = 0, 0, False  # steps taken, the most that may be, and whether to start anew
        self.root: Array | None = None  # of the inverse of a Hessian, for coordinates in which that is the identity

    def precondition(self, hessian: Array) -> None:
        """Search in coordinates in which this Hessian is the identity."""
        self.root = np.linalg.inv(np.linalg.cholesky(hessian + _FLOOR * np.eye(len(hessian))))

    def theta(self, slope: Array, intercept: Array) -> Array:
        """The inverse of `parameters`."""
        theta = self.coordinates.theta(slope, intercept)
        return theta if self.root is None else np.linalg.solve(self.root.T, theta)

    def parameters(self, theta: Array) -> tuple[Array, Array]:
        """Slope and intercept."""
        return self.coordinates.parameters(theta if self.root is None else theta @ self.root)

    def _inner(self, gradient: Array) -> Array:
        """The gradient for theta, from that for the theta of `coordinates`."""
        return gradient if self.root is None else self.root @ gradient

    def second_order(self) -> dict[str, Any]:
        """SciPy's method: with products of the Hessian, or with the whole of it, where it is small and columns that
        nearly follow from others would take many products."""
        products = self.problem.n_rows * self.coordinates.scale.size**2
        if not (self.coordinates.collinear and self.coordinates.is_small()) or products > _PRODUCTS:
            return {"method": "trust-ncg", "hessp": self.curvature}
        return {"method": "trust-exact", "hess": self.hessian}

    def loss(self, theta: Array) -> tuple[float, Array]:
        if not np.array_equal(theta, self.last):
            loss, *gradients = self.problem.loss(*self.parameters(theta))
            self.last, self.change, self.value = theta.copy(), abs(loss - self.value), loss
            self.gradient = self.coordinates.gradient(*gradients)
        return self.value, self._inner(self.gradient)

    def newton(self, theta: Array, max_iter: int) -> Any:
        """The least loss by Newton's method. After many steps, the Hessian gives new coordinates: of columns with heavy
        tails, the old ones tell so little that the region of trust would stay small."""
        from scipy.optimize import minimize

        self.most = max_iter if self.coordinates.is_small() else 0
        while True:
            self.is_far = False
            found: Any = minimize(
                self.loss,
                theta,
                jac=True,
                **self.second_order(),
                callback=self.stop,
                options={"gtol": 0.0, "maxiter": max_iter - self.steps},
            )
            if not self.is_far:
                found.nit = self.steps
                return found
            self.loss(found.x)  # anew where the last step was taken back
            slope, intercept = self.parameters(found.x)
            self.precondition(self.problem.hessian(self.coordinates))
            theta = self.theta(slope, intercept)

    def lasso(self, theta: Array, max_iter: int) -> Any:
        """The least loss with an L1 penalty: slopes are differences of two numbers that are not negative."""
        from scipy.optimize import Bounds, minimize

        cost = self.problem.lasso * self.coordinates.scale
        cost[:, -1] = 0.0
        cost = cost.ravel()
        slopes: Array = cost > 0
        bounds = Bounds(
            np.concatenate([np.where(slopes, 0.0, -np.inf), 0.0 * cost]),
            np.concatenate([np.full(len(cost), np.inf), np.where(slopes, np.inf, 0.0)]),
        )

        def loss(both: Array) -> tuple[float, Array]:
            plus, minus = np.split(both, 2)
            value, gradient = self.loss(plus - minus)
            return value + float(cost @ (plus + minus)), np.concatenate([gradient + cost, cost - gradient])

        start = np.clip(np.concatenate([theta, -theta]), bounds.lb, bounds.ub)
        steps = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": _REMEMBERED}
        ends = {"gtol": self.tol, "ftol": np.finfo(float).eps}
        options: Any = steps | ends
        found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        found.x = np.subtract(*np.split(found.x, 2))
        return found

    def curvature(self, theta: Array, direction: Array) -> Array:
        self.loss(theta)  # anew where the last step was taken back
        return self._inner(self.coordinates.gradient(*self.problem.curvature(*self.parameters(direction))))

    def hessian(self, theta: Array) -> Array:
        self.loss(theta)  # SciPy asks for it later
        hessian = self.problem.hessian(self.coordinates)
        return hessian if self.root is None else self.root @ hessian @ self.root.T

    def stop(self, intermediate_result: OptimizeResult) -> None:
        """End the search where the gradient is small, or the loss too much the same to tell one point from the next; or
        where many steps have not brought it near to such an end."""
        self.steps += 1
        loss, gradient = intermediate_result.fun, np.abs(self.gradient).max()
        if gradient <= self.tol or self.change <= 64 * np.finfo(float).eps * loss:
            raise StopIteration
        if self.steps % _STEPS == 0 and self.steps < self.most and gradient > _ROUGHLY:
            self.is_far = True
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
