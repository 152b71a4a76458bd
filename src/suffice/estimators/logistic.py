"""Logistic regression, the discriminative counterpart of the Gaussian models."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from .. import decisions, modelfile
from ..collect import collect, refuse_nonfinite
from ..densities import GaussianDensity
from ..errors import DataError, DecisionError, SufficeWarning, listed
from ..labels import SoftLabels, encode
from ..logistic import LogisticModel, check_expansion, expand
from ..sources import LocalSource, as_source
from ..stats import MomentStats
from ..table import Sparse
from ..threads import reduce_ordered, thread_count
from .classifier import LLRClassifier, Prior, given_labels

Array = NDArray[Any]
_WIDE, _MANY = 1000, 1000  # columns, rows
_CELLS = 1 << 17  # of rows and their scores, that fit the cache together
_FLAT = 1e-10  # of a variance: what rounding may leave of none


class LogisticClassifier(LLRClassifier):
    """Logistic regression whose scores are log-likelihood ratios: the training prior is taken out of them again.

    Parameters
    ----------
    C : float
        The inverse of the strength of the L2 penalty, as scikit-learn has it.
    prior : number, array, dict, "uniform" or None
        Class probabilities to learn for: rows are weighted such that the classes have these. Decisions take them, too,
        unless a call gives others. A number is the probability of the second of two classes; None takes the
        frequencies of the training rows, with no weighting.
    expansion : {"linear", "quadratic"}
        Features as they are, or with the products of every two of them: the form of a Gaussian model with a
        covariance for each class.
    tol, max_iter : float, int
        When the optimiser stops, as scikit-learn has it.
    n_jobs : int or None
        Threads, of learning from dense rows and of scoring.

    Attributes
    ----------
    classes_, prior_ : (k,)
    model_ : LogisticModel, the slopes and constants
    n_iter_ : (1,) the steps that the optimiser took

    Examples
    --------
    >>> from suffice import LogisticClassifier
    >>> clf = LogisticClassifier(prior=0.5).fit([[0.0], [1.0], [1.5], [2.0]], ["no", "no", "yes", "yes"])
    >>> clf.predict([[1.4]]).item(), clf.predict([[1.4]], prior={"no": 0.9, "yes": 0.1}).item()
    ('yes', 'no')
    """

    model_: LogisticModel

    def __init__(
        self,
        C: float = 1.0,
        prior: Prior = None,
        *,
        expansion: str = "linear",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.prior = prior
        self.expansion = expansion
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : anything tabular, (n, d)
        y : the labels (n,), or the name of the column of X that holds them
        sample_weight : (n,) not negative; a weight of k counts as k copies of the row
        """
        self._check_params()
        source = self._source(X, given_labels(y, self), sample_weight, new=True)
        if not isinstance(source, LocalSource):
            raise DataError(f"logistic regression needs the rows in memory; {type(source).__name__} streams them")
        batch = source.batch(0, source.n_rows)
        if isinstance(batch.y, SoftLabels):
            raise DataError("logistic regression takes labels, not soft ones")
        classes, code = encode(np.asarray(batch.y))
        weight = np.ones(len(code)) if batch.weight is None else batch.weight
        total = np.bincount(code, weight, minlength=len(classes))
        if len(classes) < 2 or not total.all():
            raise DataError(
                f"logistic regression needs rows of two classes or more, but y has 1 class: {listed(classes)}"
            )
        prior = decisions.as_prior(self.prior, classes, total / total.sum())
        if not prior.all():
            raise DecisionError("a class with prior 0 cannot be learnt; give a prior without zeros")
        weight = weight * (prior * total.sum() / total)[code]

        table, linear = batch.table, self.expansion == "linear"
        rows = table.matrix() if isinstance(table, Sparse) and linear else expand(table.floats(), self.expansion)
        if not np.isfinite(rows.sum()):
            refuse_nonfinite(source)
        self.model_ = self._optimum(rows, code, weight, classes, prior)
        self._set_columns(source.names, source.n_features)
        return self

    def _optimum(self, rows: Any, code: Array, weight: Array, classes: Array, prior: Array) -> LogisticModel:
        if isinstance(rows, np.ndarray) and rows.shape[1] <= _WIDE:
            loss = _Loss.of(rows, code, weight, prior, self.C, thread_count(self.n_jobs))
            slope, constant, steps = loss.least(self.tol, self.max_iter)
            self.n_iter_ = np.array([steps], np.int32)
        else:
            solver = LogisticRegression(C=self.C, tol=self.tol, max_iter=self.max_iter)
            solver.fit(rows, code, sample_weight=weight)
            self.n_iter_ = solver.n_iter_
            slope, constant = solver.coef_.astype(np.float64), solver.intercept_.astype(np.float64)
            if len(classes) == 2:
                slope, constant = np.concatenate([0 * slope, slope]), np.concatenate([[0.0], constant])
        center = np.asarray(rows.mean(axis=0), np.float64).reshape(-1)
        constant = constant + slope @ center - np.log(prior)
        return LogisticModel(classes, prior, center, slope, constant, self.expansion)

    def _check_params(self) -> None:
        check_expansion(self.expansion)
        for name in ("C", "tol", "max_iter"):
            value = getattr(self, name)
            whole = name == "max_iter"
            number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
            if not (number and value > 0):
                raise DataError(f"{name}={value!r} must be a {'whole ' * whole}number above zero")

    @classmethod
    def _of(cls, model: LogisticModel, names: tuple[str, ...] | None, **params: Any) -> Self:
        """The estimator of a model that was found elsewhere."""
        estimator = cls(**params)
        estimator._check_params()
        estimator.model_ = model
        estimator._set_columns(names, model.n_features)
        return estimator

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self._scorer.classes

    @property
    def prior_(self) -> Array:
        """The prior that the model was learnt for, and that decisions use unless told otherwise, (k,)."""
        return self._scorer.prior

    @property
    def _scorer(self) -> LogisticModel:
        self._check_fitted()
        return self.model_

    def _prior(self, prior: Prior) -> Array:
        return decisions.as_prior(prior, self.classes_, self.prior_)

    def save(self, path: Any) -> None:
        """Write the model to a file that `suffice.load` reads."""
        params = dict(self.get_params(deep=False))
        modelfile.write(path, modelfile.ModelFile(type(self).__name__, params, self._names(), self._scorer))

    @classmethod
    def _from_file(cls, model: modelfile.ModelFile) -> Self:
        if not isinstance(model.learnt, LogisticModel):
            raise DataError(f"a LogisticClassifier needs a LogisticModel, not {type(model.learnt).__name__}")
        return cls._of(model.learnt, model.names, **model.params)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class _Loss:
    """The penalised loss of scikit-learn's logistic regression, over its total weight.

    It is a function of intercepts at the centre of the rows and of slopes for whitened rows, brought to a curvature of
    about one: however the features are scaled and correlated, an optimiser needs few steps. Of two classes the second
    has parameters, of more all have.
    """

    rows: Array  # (n, d)
    code: Array  # (n,)
    weight: Array  # (n,), summing to one
    penalty: float
    center: Array  # (d,)
    root: Array  # (d, d) lower triangular, of the curvature of the slopes
    level: float  # the root of the curvature of the intercepts
    start: tuple[Array, Array]  # slopes (k, d) and intercepts (k,)
    threads: int

    @classmethod
    def of(cls, rows: Array, code: Array, weight: Array, prior: Array, C: float, threads: int) -> _Loss:
        moments = collect(as_source(rows, code, weight), partial(MomentStats.of, layout="pooled"))
        k, d = moments.mean.shape
        penalty, curvature = 1.0 / (C * moments.total), (1 - 1 / k) / k
        scatter = curvature * moments.scatter / moments.total + penalty * np.eye(d)
        return cls(
            rows,
            code,
            weight / moments.total,
            penalty,
            moments.weight @ moments.mean / moments.total,
            np.linalg.cholesky(scatter + np.diag(_FLAT * scatter.diagonal())),
            curvature**0.5,
            _start(moments, rows, code, weight, prior),
            threads,
        )

    def least(self, tol: float, max_iter: int) -> tuple[Array, Array, int]:
        """Slopes (k, d), intercepts (k,) and the number of steps."""
        found = minimize(
            self,
            self.parameters(*self.start),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxls": 50, "gtol": tol, "ftol": 64 * np.finfo(np.float64).eps},
        )
        if found.status == 1:  # neither flat nor stuck at the last digit
            warnings.warn(
                f"the optimum is not reached after max_iter={max_iter} steps; allow more, or a larger tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        return *self.model(found.x), found.nit

    def parameters(self, slope: Array, intercept: Array) -> Array:
        if len(slope) == 2:
            slope, intercept = slope[1:] - slope[:1], intercept[1:] - intercept[:1]
        return np.column_stack([self.level * (intercept + slope @ self.center), slope @ self.root]).ravel()

    def model(self, parameters: Array) -> tuple[Array, Array]:
        """Slopes and intercepts of every class."""
        own = parameters.reshape(-1, len(self.center) + 1)
        if len(own) == 1:
            own = np.concatenate([0 * own, own])
        slope = solve_triangular(self.root, own[:, 1:].T, lower=True, trans="T").T
        return slope, own[:, 0] / self.level - slope @ self.center

    def __call__(self, parameters: Array) -> tuple[float, Array]:
        """The loss and its gradient."""
        slope, intercept = self.model(parameters)
        n, d = self.rows.shape
        step = max(256, _CELLS // (d + len(slope)))
        pieces = [slice(first, first + step) for first in range(0, n, step)]
        loss, by_slope, by_intercept = reduce_ordered(
            lambda piece: self._part(piece, slope, intercept),
            lambda one, other: tuple(a + b for a, b in zip(one, other, strict=True)),
            pieces,
            self.threads,
        )
        by_slope = by_slope + self.penalty * slope - np.outer(by_intercept, self.center)
        gradient = np.column_stack([by_intercept / self.level, solve_triangular(self.root, by_slope.T, lower=True).T])
        own = gradient[len(gradient) == 2 :]
        return float(loss) + 0.5 * self.penalty * float(np.vdot(slope, slope)), own.ravel()

    def _part(self, piece: slice, slope: Array, intercept: Array) -> tuple[Any, ...]:
        rows, code, weight = self.rows[piece], self.code[piece], self.weight[piece]
        own = code, np.arange(len(code))
        z = slope @ rows.T + intercept[:, None]
        z -= z.max(axis=0)
        true = z[own]
        np.exp(z, out=z)
        total = z.sum(axis=0)
        loss = weight @ (np.log(total) - true)
        z *= weight / total
        z[own] -= weight
        return loss, z @ rows, z.sum(axis=1)


def _start(moments: MomentStats, rows: Array, code: Array, weight: Array, prior: Array) -> tuple[Array, Array]:
    """The slopes and intercepts of the tied Gaussian model of the same rows, which are often near the optimum, or those
    of the prior where these are worse or the rows too few."""
    nothing = np.zeros_like(moments.mean), np.log(prior)
    if len(rows) < _MANY:
        return nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)
        center, slope, constant = GaussianDensity.estimate(moments, "tied").linear()
    intercept = constant - slope @ center + np.log(prior)
    some = slice(None, None, max(1, len(rows) // _MANY))
    logit = rows[some] @ slope.T + intercept
    own = logit[np.arange(len(logit)), code[some]]
    loss = np.average(np.logaddexp.reduce(logit, axis=1) - own, weights=weight[some])
    return (slope, intercept) if loss < -prior @ np.log(prior) else nothing
