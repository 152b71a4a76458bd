"""Logistic regression for several penalties, with the scores of rows that each fit has not seen.

A row is scored as if it had been left out: by one step of Newton's method from the solution of all rows to that without
the row, which needs no refit (approximate leave-one-out, Rad and Maleki 2020). Where the Hessian is too large for that,
or rows belong together, the rows of each fold are scored by a fit to the other folds, which starts from the solution of
all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..threads import ahead, single_threaded_blas, thread_count
from . import newton
from .newton import Solver
from .problem import LogisticProblem

Array = NDArray[Any]

FOLDS = 5  # where there are more unknowns
_PROBES = 48  # random directions for the leverages of many rows
_HIGH = 0.25  # leverage from which on it is computed exactly
_CELLS = 1 << 21  # of the leverages of some rows at a time
_FEW = 2  # rows for each column: a fit to fewer remembers them, and so does one that starts from it


class HeldOutFit(NamedTuple):
    """A fit to all rows, and the scores of each row by a fit without it."""

    penalty: float  # 1 / C
    slope: Array  # (outputs, p); of two classes there is one output, that of the second class
    intercept: Array  # (outputs,)
    held_out: Array  # (n, k) log posteriors up to a constant of each row


class LogisticPath:
    """Logistic regression of the same rows with any penalty, each fit starting from the nearest one that is known.

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
    folds : array of int of shape (n,), default=None
        The fold of each row, from 0: its held-out scores come from a fit to all other folds. None leaves out one row at
        a time, approximately, or deals five folds if there are too many unknowns for that.
    n_jobs : int or None
        Threads.
    roughly : bool, default=False
        Whether fits with many unknowns need not be exact, as to compare them; `refined` makes one exact.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [-1.0], [0.5], [0.0], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1, 1])
    >>> fit = LogisticPath(X, y, np.ones(6), 2).held_out(penalty=1.0)
    >>> fit.slope.round(2), fit.held_out[:, 1].round(1)
    (array([[0.88]]), array([-1.3, -0.4,  1. , -0.7,  0.3,  1.2]))
    """

    def __init__(
        self,
        rows: Any,
        code: Array,
        weight: Array,
        n_classes: int,
        *,
        folds: Array | None = None,
        n_jobs: int | None = None,
        roughly: bool = False,
    ) -> None:
        self.code, self.weight = code, weight
        rows, self._back = _row_space(rows)
        whole = LogisticProblem.of(rows, code, weight, n_classes, 0.0, thread_count(n_jobs))
        self._solver = Solver(whole, roughly)
        self._whole = whole if self._solver.cheap else whole.single()
        self._thetas = {np.inf: whole.start()}  # by penalty
        self._scores = dict[float, Array]()  # (n, k) of held-out rows, by penalty
        self._without: dict[int, dict[float, Array]] = {}  # by fold and penalty, fits to the others where rows are few
        self.folds = folds if folds is not None or self._solver.whole else _dealt(code, weight)

    def fit(self, penalty: float, start: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """Fit all rows.

        Parameters
        ----------
        penalty : float
            A factor of half the squared slopes, in units of one row: 1 / C.
        start : arrays of shape (k, p) and (k,), default=None
            Slopes and intercepts of each class that are close. None starts from the fit with the nearest penalty.

        Returns
        -------
        slope, intercept : arrays of shape (outputs, p) and (outputs,)
            Of two classes there is one output, that of the second class.
        """
        if penalty not in self._thetas:
            close = _nearest(self._thetas, penalty)
            if start is not None and start[0].shape[1] + 1 == close.shape[1]:  # not in the space of rows
                given = np.column_stack(start)
                close = given[1:] - given[:1] if len(close) == 1 else given
            with single_threaded_blas():
                self._thetas[penalty] = self._solver.solve(self._problem(penalty), close)
        theta = self._thetas[penalty]
        return self._back(theta[:, :-1]), theta[:, -1].copy()

    def refined(self, penalty: float, start: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """Fit all rows exactly, and from then on, also where fits were rough so far.

        Parameters
        ----------
        penalty, start
            As in `fit`.

        Returns
        -------
        slope, intercept : arrays of shape (outputs, p) and (outputs,)
            As `fit` returns them.
        """
        self.fit(penalty, start)
        if self._solver.roughly:
            self._solver.roughly = False
            with single_threaded_blas():
                self._thetas[penalty] = self._solver.solve(self._problem(penalty), self._thetas[penalty])
        return self.fit(penalty)

    def held_out(self, penalty: float, folds: Sequence[int] | None = None) -> HeldOutFit:
        """Fit all rows, and score every row by a fit without it.

        Parameters
        ----------
        penalty : float
            As in `fit`.
        folds : sequence of int, default=None
            The folds whose rows are scored, where rows have folds: others may have NaN. None means all.
        """
        slope, intercept = self.fit(penalty)
        return HeldOutFit(penalty, slope, intercept, self._held_out(penalty, folds))

    def _problem(self, penalty: float) -> LogisticProblem:
        return replace(self._whole, penalty=penalty / float(self.weight.sum()))

    def _held_out(self, penalty: float, folds: Sequence[int] | None) -> Array:
        """The scores (n, k) of held-out rows, by a fit that is known."""
        problem, theta = self._problem(penalty), self._thetas[penalty]
        with single_threaded_blas():
            if self.folds is None:
                if penalty not in self._scores:
                    self._scores[penalty] = _left_out(self._solver, problem, theta)
                return self._scores[penalty]
            scores = self._scores.setdefault(penalty, np.full((len(self.code), len(problem.prior)), np.nan))
            self._solver.at(problem, theta)
            for fold in range(int(self.folds.max()) + 1) if folds is None else folds:
                if np.isnan(scores[tested := self.folds == fold]).any():
                    scores[tested] = self._fold(problem, penalty, fold, tested)
        return scores

    def _fold(self, problem: LogisticProblem, penalty: float, fold: int, tested: Array) -> Array:
        """The scores (n, k) of the rows of a fold, by a fit to the others."""
        start, others = self._thetas[penalty], problem.reweighted(~tested)
        known = self._without.setdefault(fold, {np.inf: problem.start()})
        if is_few := problem.n_rows < _FEW * problem.n_columns:
            start = _nearest(known, penalty)
        own = self._solver.solve(others, start, fold=True, roughly=not is_few)
        if is_few:
            known[penalty] = own
        logit = problem.logits(own[:, :-1], own[:, -1])[tested]
        return np.column_stack([np.zeros(len(logit)), logit]) if problem.n_outputs == 1 else logit


def _nearest(thetas: dict[float, Array], penalty: float) -> Array:
    """The fit with the nearest penalty."""
    return thetas[min(thetas, key=lambda known: abs(np.log(known / penalty)))]


def _row_space(rows: Any) -> tuple[Any, Callable[[Array], Array]]:
    """Rows in as many columns as there are rows, where these take less room: penalised slopes lie in the span of the
    rows. And a function from slopes for these to slopes for the columns."""
    n = rows.shape[0]
    if rows.size <= n * n:  # of sparse rows, those cells that are stored
        return rows, lambda slope: slope
    gram = rows @ rows.T
    gram = gram if isinstance(gram, np.ndarray) else gram.toarray()
    gram[np.arange(n), np.arange(n)] += 1e-10 * max(np.trace(gram) / n, 1e-300)  # rows may repeat each other
    lower = np.linalg.cholesky(gram)
    return lower, lambda slope: np.asarray(np.linalg.solve(lower.T, slope.T).T @ rows)


def _dealt(code: Array, weight: Array) -> Array:
    """Folds with the same share of every class."""
    shuffled = np.random.default_rng(0).permutation(len(code))
    fold = np.empty(len(code), np.int64)
    fold[shuffled[np.lexsort((code[shuffled], weight[shuffled] == 0))]] = np.arange(len(code)) % FOLDS
    return fold


def _left_out(solver: Solver, problem: LogisticProblem, theta: Array) -> Array:
    """Approximate leave-one-out scores (n, k)."""
    from scipy.linalg.lapack import dtrtri, strtri

    solver.at(problem, theta)
    lower = solver.factor(problem).lower[0]
    half = np.tril((strtri if lower.dtype == np.float32 else dtrtri)(lower, lower=1)[0])
    n, k, m = problem.n_rows, problem.n_outputs, len(half)
    many = n * m * m > 16 * newton.CHEAP and n > 4 * m
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
    at = half.reshape(len(half), k, -1)
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
