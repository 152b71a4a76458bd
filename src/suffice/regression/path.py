"""Logistic regression for several penalties, with the scores of rows that each fit has not seen.

A row is scored as if it had been left out: by one step of Newton's method from the solution of all rows to that without
the row, which needs no refit (approximate leave-one-out, Rad and Maleki 2020). Where the Hessian is too large for that,
or rows belong together, the rows of each fold are scored by a fit to the other folds, which starts from the solution of
all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..threads import ahead, single_threaded_blas, thread_count
from .problem import LogisticProblem

Array = NDArray[Any]

UNKNOWNS = 1500  # slopes and intercepts of all classes, whose Hessian is factored as a whole
FOLDS = 5  # where there are more unknowns
_BLOCK = 3000  # slopes of one class, whose part of the Hessian is factored
_WORK = 1 << 32  # products for a Hessian; with more, it is estimated from some of the rows
_CHEAP = 1 << 24  # products for a Hessian that is faster than an iteration of conjugate gradients
_TOL = 1e-6  # of the loss: what the last step may have improved
_STEPS = 50
_PROBES = 48  # random directions for the leverages of many rows
_HIGH = 0.1  # leverage from which on it is computed exactly
_CELLS = 1 << 21  # of the leverages of some rows at a time


class HeldOutFit(NamedTuple):
    """A fit to all rows, and the scores of each row by a fit without it."""

    penalty: float  # 1 / C
    slope: Array  # (outputs, p); of two classes there is one output, that of the second class
    intercept: Array  # (outputs,)
    held_out: Array  # (n, k) log posteriors up to a constant of each row


def held_out_path(
    rows: Any,
    code: Array,
    weight: Array,
    n_classes: int,
    penalties: Sequence[float],
    *,
    folds: Array | None = None,
    n_jobs: int | None = None,
) -> list[HeldOutFit]:
    """Fit logistic regression for several penalties, and score every row by a fit without it.

    Parameters
    ----------
    rows : array or compressed sparse rows of shape (n, p)
        The features, as a `Design` makes them.
    code : array of int of shape (n,)
        The index of the class of each row. Every class needs a row of positive weight.
    weight : array of shape (n,)
        Row weights. A weight of 2 counts as two copies, which are left out together.
    n_classes : int
        The number k of classes.
    penalties : sequence of float
        Factors of half the squared slopes, in units of one row: 1 / C.
    folds : array of int of shape (n,), default=None
        The fold of each row: its scores come from a fit to all other folds. None leaves out one row at a time,
        approximately, or deals five folds if there are too many unknowns for that.
    n_jobs : int or None
        Threads.

    Returns
    -------
    list of HeldOutFit
        One for each penalty, in the order given.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [-1.0], [0.5], [0.0], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1, 1])
    >>> fit, = held_out_path(X, y, np.ones(6), 2, [1.0])
    >>> fit.slope.round(2), fit.held_out[:, 1].round(1)
    (array([[1.21]]), array([-2.5, -1.1,  1.2, -1.1,  1. ,  2.3]))
    """
    with single_threaded_blas():
        rows, back = _row_space(rows)
        whole = LogisticProblem.of(rows, code, weight, n_classes, 0.0, thread_count(n_jobs))
        total, found = float(weight.sum()), {}
        solver, theta = _Solver(whole), whole.start()
        if folds is None and not solver.whole:
            folds = _dealt(code, weight)
        for penalty in sorted(set(penalties), reverse=True):
            problem = replace(whole, penalty=penalty / total)
            theta = solver.solve(problem, theta)
            held_out = _left_out(solver, problem, theta) if folds is None else _folded(solver, problem, theta, folds)
            slope, intercept = back(theta[:, :-1]), theta[:, -1].copy()
            found[penalty] = HeldOutFit(penalty, slope, intercept, held_out)
    return [found[penalty] for penalty in penalties]


def _row_space(rows: Any) -> tuple[Any, Callable[[Array], Array]]:
    """Rows with no more columns than rows: penalised slopes lie in the span of the rows. And slopes for the columns."""
    n, p = rows.shape
    if p <= n or n > _BLOCK:
        return rows, lambda slope: slope
    gram = rows @ rows.T
    value, vector = np.linalg.eigh(gram if isinstance(gram, np.ndarray) else gram.toarray())
    kept = value > n * np.finfo(float).eps * value[-1]
    root = np.sqrt(value[kept])
    return vector[:, kept] * root, lambda slope: np.asarray((slope / root) @ vector[:, kept].T @ rows)


def _dealt(code: Array, weight: Array) -> Array:
    """Folds with the same share of every class."""
    shuffled = np.random.default_rng(0).permutation(len(code))
    fold = np.empty(len(code), np.int64)
    fold[shuffled[np.lexsort((code[shuffled], weight[shuffled] == 0))]] = np.arange(len(code)) % FOLDS
    return fold


@dataclass
class _Factor:
    """A Cholesky factor of the Hessian, or of its blocks for each class, or its diagonal."""

    lower: Array  # (1, m, m) of all classes, or (outputs, p + 1, p + 1), or (outputs, p + 1)

    def solve(self, gradient: Array) -> Array:
        if self.lower.ndim == 2:
            return gradient / self.lower
        from scipy.linalg import cho_solve

        parts = zip(self.lower, gradient.reshape(len(self.lower), -1), strict=True)
        return np.stack([cho_solve((lower, True), part, check_finite=False) for lower, part in parts]).reshape(
            gradient.shape
        )


class _Solver:
    """Newton's method. The Hessian is collected at every step where that is cheap. Elsewhere the one of the last
    penalty, or of some of the rows, preconditions conjugate gradients."""

    def __init__(self, problem: LogisticProblem) -> None:
        k, p, n = problem.n_outputs, problem.n_columns + 1, problem.n_rows
        work = n * (k * p) ** 2
        self.whole, self.blocks = k * p <= UNKNOWNS and (k == 1 or work <= 2 * _WORK), p <= _BLOCK
        sampled = n // (20 * p)  # one of so many rows, at most
        self.stride = min(-(-n * k * p * p // _WORK), max(1, sampled)) if k == 1 or not self.whole else 1
        self.cheap = self.whole and work <= _CHEAP
        self.information: Array | None = None  # without the penalty

    def collect(self, problem: LogisticProblem) -> None:
        """Take the Hessian where the loss was last asked for."""
        p = problem.n_columns
        if not self.blocks:
            self.information = problem.diagonal()
        elif not self.whole:
            self.information = problem.class_information(self.stride)
        else:
            self.information = problem.information(stride=self.stride)
            if self.stride > 1:  # rare categories may not be among these rows
                exact = problem.diagonal()
                index = np.arange(p + 1)
                inner = self.information.reshape(p + 1, -1)
                own = inner[index, index]
                scale = np.sqrt(exact.ravel() / np.where(own > 0, own, 1.0))
                inner *= np.minimum(scale, 1.0)[:, None] * np.minimum(scale, 1.0)
                inner[index, index] = exact.ravel()

    def factor(self, problem: LogisticProblem) -> _Factor:
        """The factor for a penalty."""
        k, p = problem.n_outputs, problem.n_columns + 1
        assert self.information is not None
        ridge = np.full((k, p), problem.penalty)
        ridge[:, -1] = 0.0
        floor = 1e-10 * problem.penalty + 1e-14
        if not self.blocks:
            return _Factor(self.information + ridge + floor)
        m = k * p if self.whole else p
        matrices = np.array(self.information.reshape(-1, m, m))
        matrices[:, np.arange(m), np.arange(m)] += ridge.reshape(-1, m) + floor
        return _Factor(np.linalg.cholesky(matrices))

    def solve(self, problem: LogisticProblem, theta: Array, fold: bool = False) -> Array:
        """The slopes and intercepts of least loss, (outputs, p + 1), from a start.

        Of a fold, the Hessian of all rows is not replaced.
        """
        loss, gradient = _loss(problem, theta)
        factor = None
        for step in range(_STEPS):
            if self.information is None or (self.cheap and not fold):
                self.collect(problem)
                factor = None
            if factor is None:
                factor = self.factor(problem)
            exact = self.cheap and not fold
            change = factor.solve(gradient) if exact else _conjugate_gradients(problem, factor, gradient)
            gain = 0.5 * float((gradient * change).sum())
            size, last = 1.0, loss
            while True:
                loss, new = _loss(problem, theta - size * change)
                if loss <= last - 0.2 * size * gain or size < 1e-6:
                    break
                size *= 0.5
            theta, gradient = theta - size * change, new
            if (gain <= _TOL * last and size == 1.0) or size < 1e-6:
                break
            if not exact and not fold and step in (3, 8):  # far from where the Hessian was taken
                self.collect(problem)
                factor = None
        return theta


def _loss(problem: LogisticProblem, theta: Array) -> tuple[float, Array]:
    loss, by_slope, by_intercept = problem.loss(theta[:, :-1], theta[:, -1])
    return loss, np.column_stack([by_slope, by_intercept])


def _conjugate_gradients(problem: LogisticProblem, factor: _Factor, gradient: Array) -> Array:
    """Solve for the Newton step, roughly."""
    change, rest = np.zeros_like(gradient), gradient.copy()
    direction = toward = factor.solve(rest)
    size = first = float((rest * toward).sum())
    for _ in range(100):
        by_slope, by_intercept = problem.curvature(direction[:, :-1], direction[:, -1])
        curved = np.column_stack([by_slope, by_intercept])
        bent = float((direction * curved).sum())
        if bent <= 0:
            return change if change.any() else direction
        step = size / bent
        change += step * direction
        rest -= step * curved
        toward = factor.solve(rest)
        before, size = size, float((rest * toward).sum())
        if size <= 1e-3 * first:
            break
        direction = toward + size / before * direction
    return change


def _left_out(solver: _Solver, problem: LogisticProblem, theta: Array) -> Array:
    """Approximate leave-one-out scores (n, k)."""
    from scipy.linalg import solve_triangular

    solver.collect(problem)  # at the solution
    k = problem.n_outputs
    lower = solver.factor(problem).lower[0]
    half = solve_triangular(lower, np.eye(len(lower)), lower=True, check_finite=False)
    n, m = problem.n_rows, len(half)
    few = n * m * m > 16 * _CHEAP and n > 4 * m
    probes = np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, m)) @ half / np.sqrt(_PROBES) if few else half

    def of_piece(piece: Any) -> Array:
        out = []
        step = max(64, _CELLS // (k * len(probes)))
        for start in range(0, len(piece.code), step):
            part = slice(start, start + step)
            rows, code, weight, posterior = piece.rows[part], piece.code[part], piece.weight[part], piece.posterior
            chance, logit = posterior[:, part].T, rows @ theta[:, :-1].T + theta[:, -1]
            moved = _moved(rows, code, weight, chance, probes)
            if few and len(high := np.flatnonzero(np.abs(moved[1]) > _HIGH)):
                some = _moved(rows[high], code[high], weight[high], chance[high], half)
                moved[0][high] = some[0]
            logit = logit + moved[0]
            out.append(np.column_stack([np.zeros(len(logit)), logit]) if k == 1 else logit)
        return np.concatenate(out)

    return np.concatenate(list(ahead(of_piece, problem.pieces, problem.threads)))


def _moved(rows: Any, code: Array, weight: Array, chance: Array, half: Array) -> tuple[Array, Array]:
    """How the scores (n, outputs) of rows move when each is left out, and their leverages (n,)."""
    n, k = chance.shape
    p = rows.shape[1]
    at = half.reshape(len(half), k, p + 1)
    across = np.empty((n, k, len(half)))
    for a in range(k):
        across[:, a] = rows @ np.ascontiguousarray(at[:, a, :-1].T) + at[:, a, -1]
    if k == 1:
        spread = np.einsum("nr,nr->n", across[:, 0], across[:, 0])
        share = weight * chance[:, 0] * (1 - chance[:, 0]) * spread
        error = weight * (chance[:, 0] - (code == 1))
        return (error * spread / np.maximum(1 - share, 1e-9))[:, None], share
    spread = across @ across.transpose(0, 2, 1)
    curved = -chance[:, :, None] * chance[:, None]
    curved[:, np.arange(k), np.arange(k)] += chance
    share = weight[:, None, None] * (curved @ spread)
    error = chance.copy()
    error[np.arange(n), code] -= 1.0
    moved = np.linalg.solve(np.eye(k) - share, (weight[:, None] * error)[:, :, None])
    return (spread @ moved)[:, :, 0], np.trace(share, axis1=1, axis2=2)


def _folded(solver: _Solver, problem: LogisticProblem, theta: Array, folds: Array) -> Array:
    """The scores (n, k) of the rows of each fold, by a fit to the others."""
    solver.collect(problem)
    n, k = problem.n_rows, problem.n_outputs
    out = np.empty((n, max(k, 2)))
    out[:, 0] = 0.0
    for fold in np.unique(folds):
        tested = folds == fold
        own = solver.solve(problem.reweighted(~tested), theta, fold=True)
        out[tested, -k:] = problem.logits(own[:, :-1], own[:, -1])[tested]
    return out
