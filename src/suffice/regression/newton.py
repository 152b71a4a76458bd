"""Newton's method for logistic regression with several penalties, which share what they know of the curvature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .problem import LogisticProblem

Array = NDArray[Any]

UNKNOWNS = 400  # slopes and intercepts of three classes or more, whose Hessian is factored as a whole
OF_TWO = 1000  # the same for two classes, which share one output
BLOCK = 400  # slopes of one class, whose part of the Hessian is factored
WORK = 1 << 36  # products for a Hessian, at most
CHEAP = 1 << 24  # products for a Hessian that is faster than an iteration of conjugate gradients
_TOL = 1e-4  # of the loss of the prior alone: what the last step may have improved
_SAME = 0.05  # of the curvature
_STEPS = 50
_ERROR = 1e-2  # the squared error of a step, of what it was at first
_ROUGHLY = 10 * _TOL, 5 * _ERROR  # both, where many unknowns need not be known exactly
_PRODUCTS = 25  # of the Hessian in a step, from which on it is taken anew


@dataclass(frozen=True)
class Factor:
    """Cholesky factors of the Hessian, or of its block for each class; or its diagonal."""

    lower: list[Array]  # (m, m) of all classes, or (p + 1, p + 1) of each
    diagonal: Array | None = None  # (outputs, p + 1)

    def solve(self, gradient: Array) -> Array:
        """The inverse of the Hessian times a gradient (outputs, p + 1)."""
        if self.diagonal is not None:
            return np.asarray(gradient / self.diagonal)
        from scipy.linalg.lapack import dpotrs, spotrs

        solve = spotrs if self.lower[0].dtype == np.float32 else dpotrs
        parts = zip(self.lower, gradient.reshape(len(self.lower), -1), strict=True)
        return np.stack([solve(lower, part, lower=1)[0] for lower, part in parts]).reshape(gradient.shape)


class Solver:
    """Newton's method. The Hessian is collected at every step where that is cheap. Elsewhere the one of the last
    penalty, or its blocks for each class, or its diagonal, preconditions conjugate gradients; `roughly` makes fewer of
    these steps."""

    def __init__(self, problem: LogisticProblem, roughly: bool = False) -> None:
        k, p, n = problem.n_outputs, problem.n_columns + 1, problem.n_rows
        work = n * (k * p) ** 2
        self.whole = k * p <= (OF_TWO if k == 1 else UNKNOWNS) and work <= WORK
        self.blocks = p <= BLOCK and n * k * p * p <= WORK
        self.cheap = self.whole and work <= CHEAP
        self.roughly = roughly
        self.few = n > 50 * k * p and not self.cheap  # unknowns: one row has little influence
        self.curved: Array | None = None  # by the intercepts, where the Hessian was taken
        self.most = float(-problem.prior @ np.log(problem.prior))  # the loss of the prior
        self.information: Array | None = None  # without the penalty

    def collect(self, problem: LogisticProblem) -> None:
        """Take the Hessian where the loss was last asked for."""
        self.curved = problem.diagonal()[:, -1] if self.few else None
        if self.whole:
            self.information = problem.information()
        else:
            self.information = problem.class_information() if self.blocks else problem.diagonal()

    def at(self, problem: LogisticProblem, theta: Array) -> None:
        """Go to a solution: take the Hessian there, unless it is that of many rows and has hardly changed."""
        _loss(problem, theta)
        curved = problem.diagonal()[:, -1] if self.few else None
        if curved is None or self.curved is None or (np.abs(curved - self.curved) > _SAME * self.curved).any():
            self.collect(problem)

    def factor(self, problem: LogisticProblem) -> Factor:
        """The factor for a penalty."""
        from scipy.linalg.lapack import dpotrf, spotrf

        k, p = problem.n_outputs, problem.n_columns + 1
        assert self.information is not None
        ridge = np.full((k, p), problem.penalty)
        ridge[:, -1] = 0.0
        rounding = 10 * float(np.finfo(problem.dtype).eps)
        floor = 1e-10 * problem.penalty + rounding * float(self.information.max())
        if not (self.whole or self.blocks):
            return Factor([], self.information + ridge + floor)
        m, lower = k * p if self.whole else p, []
        for own, penalties in zip(self.information.reshape(-1, m, m), ridge.reshape(-1, m), strict=True):
            matrix = np.array(own, problem.dtype, order="F")  # as LAPACK has it: nothing is copied again
            matrix[np.arange(m), np.arange(m)] += penalties + floor
            lower.append((spotrf if matrix.dtype == np.float32 else dpotrf)(matrix, lower=1, overwrite_a=1)[0])
        return Factor(lower)

    def solve(self, problem: LogisticProblem, theta: Array, fold: bool = False, roughly: bool = True) -> Array:
        """The slopes and intercepts of least loss, (outputs, p + 1), from a start.

        For a fold, the Hessian of all rows is not replaced. `roughly` allows a rough end where that is enough.
        """
        loss, gradient = _loss(problem, theta)
        factor = None
        tolerance, error = _ROUGHLY if roughly and self.roughly and not self.cheap else (_TOL, _ERROR)
        for _ in range(_STEPS):
            if self.information is None or (self.cheap and not fold):
                self.collect(problem)
                factor = None
            if factor is None:
                factor = self.factor(problem)
            exact, n_products = self.cheap and not fold, 0
            if exact:
                change = factor.solve(gradient)
            else:
                change, n_products = _conjugate_gradients(problem, factor, gradient, error)
            gain = 0.5 * float((gradient * change).sum())
            size, last = 1.0, loss
            while True:
                loss, new = _loss(problem, theta - size * change)
                if loss <= last - 0.2 * size * gain or size < 1e-6:
                    break
                size *= 0.5
            theta, gradient = theta - size * change, new
            if (gain <= tolerance * self.most and size == 1.0) or size < 1e-6:
                break
            if n_products > _PRODUCTS and not fold:  # far from where the Hessian was taken
                self.collect(problem)
                factor = None
        return theta


def _loss(problem: LogisticProblem, theta: Array) -> tuple[float, Array]:
    loss, by_slope, by_intercept = problem.loss(theta[:, :-1], theta[:, -1])
    return loss, np.column_stack([by_slope, by_intercept])


def _conjugate_gradients(problem: LogisticProblem, factor: Factor, gradient: Array, error: float) -> tuple[Array, int]:
    """Solve for the Newton step, up to a squared error of what it was at first. Also returns how many products with the
    Hessian that took."""
    change, rest = np.zeros_like(gradient), gradient.copy()
    direction = toward = factor.solve(rest)
    size = first = float((rest * toward).sum())
    for n_products in range(1, 101):
        by_slope, by_intercept = problem.curvature(direction[:, :-1], direction[:, -1])
        curved = np.column_stack([by_slope, by_intercept])
        bent = float((direction * curved).sum())
        if bent <= 0:
            return change if change.any() else direction, n_products
        step = size / bent
        change += step * direction
        rest -= step * curved
        toward = factor.solve(rest)
        before, size = size, float((rest * toward).sum())
        if size <= error * first:
            break
        direction = toward + size / before * direction
    return change, n_products
