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
_WORK = 1 << 36  # products for a Hessian, at most
_CHEAP = 1 << 24  # products for a Hessian that is faster than an iteration of conjugate gradients
_TOL = 1e-5  # of the loss of the prior alone: what the last step may have improved
_FOLD_TOL = 1e-4  # of a fold, whose start is close
_SAME = 0.05  # of the curvature
_STEPS = 50
_LITTLE = 1e-3  # of the log loss of held-out rows
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
    start: float | None = None,
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
    start : float or None
        The penalty to fit first. Its neighbours follow, for as long as they lower the log loss of held-out rows by more
        than a little; others are left out. None fits all penalties.
    n_jobs : int or None
        Threads.

    Returns
    -------
    list of HeldOutFit
        One for each penalty that was not left out, in the order given.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [-1.0], [0.5], [0.0], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1, 1])
    >>> fit, = held_out_path(X, y, np.ones(6), 2, [1.0])
    >>> fit.slope.round(2), fit.held_out[:, 1].round(1)
    (array([[0.88]]), array([-1.3, -0.4,  1. , -0.7,  0.3,  1.2]))
    """
    with single_threaded_blas():
        rows, back = _row_space(rows)
        whole = LogisticProblem.of(rows, code, weight, n_classes, 0.0, thread_count(n_jobs))
        total, found = float(weight.sum()), dict[float, HeldOutFit]()
        solver, thetas = _Solver(whole), {np.inf: whole.start()}
        if folds is None and not solver.whole:
            folds = _dealt(code, weight)

        def loss(penalty: float) -> float:
            """Fit, from the nearest fit that is known, and return the log loss of held-out rows."""
            problem = replace(whole, penalty=penalty / total)
            theta = solver.solve(problem, thetas[min(thetas, key=lambda known: abs(np.log(known / penalty)))])
            held_out = _left_out(solver, problem, theta) if folds is None else _folded(solver, problem, theta, folds)
            slope, intercept = back(theta[:, :-1]), theta[:, -1].copy()
            thetas[penalty], found[penalty] = theta, HeldOutFit(penalty, slope, intercept, held_out)
            return _log_loss(held_out, code, weight)

        ordered = sorted(set(penalties), reverse=True)
        if start is None:
            for penalty in ordered:
                loss(penalty)
        else:
            _walk(loss, ordered, ordered.index(start))
    return [found[penalty] for penalty in penalties if penalty in found]


def _walk(loss: Callable[[float], float], ordered: Sequence[float], start: int) -> None:
    """Go down from a start: to weaker penalties while they pay, or else to stronger ones."""
    least = loss(ordered[start])
    for step in (1, -1):
        at, moved = start + step, False
        while 0 <= at < len(ordered) and (value := loss(ordered[at])) < (1 - _LITTLE) * least:
            least, at, moved = value, at + step, True
        if moved:
            return


def _log_loss(logit: Array, code: Array, weight: Array) -> float:
    """The log loss of rows, none of which counts more than a probability of e^-20."""
    from scipy.special import logsumexp

    own = logsumexp(logit, axis=1) - logit[np.arange(len(code)), code]
    return float(weight @ np.minimum(own, 20.0))


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


@dataclass(frozen=True)
class _Factor:
    """Cholesky factors of the Hessian, or of its block for each class; or its diagonal."""

    lower: list[Array]  # (m, m) of all classes, or (p + 1, p + 1) of each
    diagonal: Array | None = None  # (outputs, p + 1)

    def solve(self, gradient: Array) -> Array:
        """The inverse of the Hessian times a gradient (outputs, p + 1)."""
        if self.diagonal is not None:
            return np.asarray(gradient / self.diagonal)
        from scipy.linalg.lapack import dpotrs

        parts = zip(self.lower, gradient.reshape(len(self.lower), -1), strict=True)
        return np.stack([dpotrs(lower, part, lower=1)[0] for lower, part in parts]).reshape(gradient.shape)


class _Solver:
    """Newton's method. The Hessian is collected at every step where that is cheap. Elsewhere the one of the last
    penalty, or its blocks for each class, or its diagonal, preconditions conjugate gradients."""

    def __init__(self, problem: LogisticProblem) -> None:
        k, p, n = problem.n_outputs, problem.n_columns + 1, problem.n_rows
        work = n * (k * p) ** 2
        self.whole = k * p <= UNKNOWNS and work <= (_WORK if k == 1 else _WORK // 8)
        self.blocks = p <= _BLOCK and n * k * p * p <= _WORK
        self.cheap = self.whole and work <= _CHEAP
        self.few = n > 50 * k * p and not self.cheap  # unknowns: one row has little influence
        self.curved: Array | None = None  # by the intercepts, where the Hessian was taken
        self.most = float(-problem.prior @ np.log(problem.prior))  # the loss of the prior
        self.information: Array | None = None  # without the penalty
        self.rounding = 1e-14 if self.cheap else 1e-8

    def collect(self, problem: LogisticProblem) -> None:
        """Take the Hessian where the loss was last asked for."""
        self.curved = problem.diagonal()[:, -1] if self.few else None
        if self.whole:
            self.information = problem.information(single=not self.cheap)
        else:
            self.information = problem.class_information() if self.blocks else problem.diagonal()

    def refresh(self, problem: LogisticProblem) -> None:
        """Take the Hessian anew, unless it is that of many rows and has hardly changed."""
        curved = problem.diagonal()[:, -1] if self.few else None
        if curved is None or self.curved is None or (np.abs(curved - self.curved) > _SAME * self.curved).any():
            self.collect(problem)

    def factor(self, problem: LogisticProblem) -> _Factor:
        """The factor for a penalty."""
        from scipy.linalg.lapack import dpotrf

        k, p = problem.n_outputs, problem.n_columns + 1
        assert self.information is not None
        ridge = np.full((k, p), problem.penalty)
        ridge[:, -1] = 0.0
        floor = 1e-10 * problem.penalty + self.rounding * float(self.information.max())
        if not (self.whole or self.blocks):
            return _Factor([], self.information + ridge + floor)
        m, lower = k * p if self.whole else p, []
        for own, penalties in zip(self.information.reshape(-1, m, m), ridge.reshape(-1, m), strict=True):
            matrix = np.array(own, order="F")  # as LAPACK has it: nothing is copied again
            matrix[np.arange(m), np.arange(m)] += penalties + floor
            lower.append(dpotrf(matrix, lower=1, overwrite_a=1)[0])
        return _Factor(lower)

    def solve(self, problem: LogisticProblem, theta: Array, fold: bool = False) -> Array:
        """The slopes and intercepts of least loss, (outputs, p + 1), from a start.

        For a fold, the Hessian of all rows is not replaced.
        """
        loss, gradient = _loss(problem, theta)
        factor, enough = None, _FOLD_TOL if fold else _TOL
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
            if (gain <= enough * self.most and size == 1.0) or size < 1e-6:
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
    from scipy.linalg.lapack import dtrtri

    solver.refresh(problem)  # at the solution
    lower = solver.factor(problem).lower[0]
    half = np.tril(dtrtri(lower, lower=1)[0]).astype(np.float64 if solver.cheap else np.float32)
    n, k, m = problem.n_rows, problem.n_outputs, len(half)
    many = n * m * m > 16 * _CHEAP and n > 4 * m
    probes = half
    if many:
        probes = np.random.default_rng(0).choice([-1, 1], (_PROBES, m)).astype(half.dtype) @ half / np.sqrt(_PROBES)
    step = max(64, _CELLS // (k * len(probes)))

    def of_piece(piece: Any) -> Array:
        out = []
        for start in range(0, len(piece.code), step):
            part = slice(start, start + step)
            rows, weight, chance = piece.rows[part], piece.weight[part], piece.posterior[:, part].T
            error = np.array(chance)
            error[:, -1] -= piece.code[part] == 1 if k == 1 else 0.0
            if k > 1:
                error[np.arange(len(error)), piece.code[part]] -= 1.0
            error *= weight[:, None]
            across = _across(rows, probes, k)
            if many:
                moved, leverage = _roughly_moved(across, weight, chance, error)
                if len(high := np.flatnonzero(leverage > _HIGH)):
                    moved[high] = _moved(_across(rows[high], half, k), weight[high], chance[high], error[high])
            else:
                moved = _moved(across, weight, chance, error)
            logit = rows @ theta[:, :-1].T + theta[:, -1] + moved
            out.append(np.column_stack([np.zeros(len(logit)), logit]) if k == 1 else logit)
        return np.concatenate(out)

    return np.concatenate(list(ahead(of_piece, problem.pieces, problem.threads)))


def _across(rows: Any, half: Array, k: int) -> Array:
    """Rows in the coordinates of half the inverse Hessian, (n, outputs, m)."""
    at, rows = half.reshape(len(half), k, -1), rows.astype(half.dtype, copy=False)
    out = np.empty((rows.shape[0], k, len(half)), half.dtype)
    for a in range(k):
        out[:, a] = rows @ np.ascontiguousarray(at[:, a, :-1].T) + at[:, a, -1]
    return out


def _moved(across: Array, weight: Array, chance: Array, error: Array) -> Array:
    """How the scores (n, outputs) of rows move when each is left out."""
    k = chance.shape[1]
    if k == 1:
        spread = np.einsum("nkr,nkr->nk", across, across)
        return np.asarray(error * spread / np.maximum(1 - weight[:, None] * chance * (1 - chance) * spread, 1e-9))
    spread = across @ across.transpose(0, 2, 1)
    curved = -chance[:, :, None] * chance[:, None]
    curved[:, np.arange(k), np.arange(k)] += chance
    rest = np.eye(k) - weight[:, None, None] * (curved @ spread)
    return np.asarray((spread @ np.linalg.solve(rest, error[:, :, None]))[:, :, 0])


def _roughly_moved(across: Array, weight: Array, chance: Array, error: Array) -> tuple[Array, Array]:
    """As `_moved`, by the first terms of a series in the leverages, which are small; and these, (n,)."""
    two = chance.shape[1] == 1

    def spread(own: Array) -> Array:
        return np.asarray(across @ (own[:, None] @ across).transpose(0, 2, 1))[:, :, 0]

    def curved(own: Array) -> Array:
        own = own * chance
        rest = own * chance if two else chance * own.sum(axis=1, keepdims=True)
        return np.asarray(weight[:, None] * (own - rest))

    length = np.einsum("nkr,nkr->nk", across, across)
    mean = (chance[:, None] @ across)[:, 0]
    leverage = weight * ((length * chance).sum(axis=1) - np.einsum("nr,nr->n", mean, mean))
    moved = term = spread(error)
    for _ in range(3):
        term = spread(curved(term))
        moved = moved + term
    return moved, leverage


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
