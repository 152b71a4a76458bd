"""Scorers of likelihoods, log-likelihood ratios and costs, for searches and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions, metrics
from ..errors import DataError, listed, not_known
from ..estimators.generative import GenerativeClassifier
from ..estimators.ratios import as_llr, innermost
from ..tables.labels import positions

Array = NDArray[Any]


class ResultScorer:
    """A scorer that uses only the results of a classifier, not the rows or the steps of a pipeline."""


@dataclass(frozen=True)
class HeldOutScorer(ResultScorer):
    """A scikit-learn scorer: a function of a fitted classifier, rows and labels. Greater is better."""

    name: str
    prior: Any = "uniform"
    cost: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return float(SCORES[self.name](self, *innermost(estimator, X), np.asarray(y)))

    def _neg_log_cost(self, estimator: Any, X: Any, y: Array) -> float:
        scores, classes = scores_of(estimator, X), estimator.classes_
        if not knows(classes, np.unique(y)):
            return -np.inf  # a class that the model does not know
        return -metrics.multiclass_log_cost(y, scores, self.prior)

    def _neg_dcf(self, estimator: Any, X: Any, y: Array) -> float:
        decided = decisions.decide(scores_of(estimator, X), estimator.classes_, self.prior, self.cost)
        return -metrics.multiclass_dcf(y, decided, self.prior, self.cost)

    def _neg_cllr(self, estimator: Any, X: Any, y: Array) -> float:
        if len(estimator.classes_) != 2:
            raise DataError(f"neg_cllr needs two classes, got {len(estimator.classes_)}; use neg_log_cost")
        return -metrics.cllr(y == estimator.classes_[1], decisions.log_likelihood_ratio(scores_of(estimator, X), 0, 1))

    def _mean_log_likelihood(self, estimator: Any, X: Any, y: Array) -> float:
        if not isinstance(estimator, GenerativeClassifier):
            raise DataError(f"a {type(estimator).__name__} has no log_likelihood; use neg_log_cost")
        code = positions(y, estimator.classes_)
        scores = estimator.log_likelihood(X)[np.arange(len(y)), code]
        return float(np.where(code < 0, -np.inf, scores).mean())


SCORES = {
    "mean_log_likelihood": HeldOutScorer._mean_log_likelihood,
    "neg_cllr": HeldOutScorer._neg_cllr,
    "neg_dcf": HeldOutScorer._neg_dcf,
    "neg_log_cost": HeldOutScorer._neg_log_cost,
}


def scorer(name: str, *, prior: Any = "uniform", cost: Any = None) -> HeldOutScorer:
    """Make a scorer for `OnePassSearchCV`, `GridSearchCV` or `cross_validate`.

    Parameters
    ----------
    name : {"neg_log_cost", "neg_dcf", "neg_cllr", "mean_log_likelihood"}
        The score: minus `metrics.multiclass_log_cost`, minus `metrics.multiclass_dcf` (both normalised), minus
        `metrics.cllr` (two classes), or the mean log-likelihood of the rows under their own classes, in nats.
    prior : array-like of shape (k,), dict or "uniform", default="uniform"
        The class probabilities of your application, in the order of the classes or by label.
    cost : array-like of shape (k, k) or dict, default=None
        For "neg_dcf": ``cost[i, j]`` is the cost of deciding i when the true class is j. None means that every error
        costs 1.

    Returns
    -------
    callable
        A function ``scorer(estimator, X, y)``; greater is better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from suffice import GaussianClassifier, scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_val_score(GaussianClassifier("tied"), X, y, scoring=scorer("neg_log_cost")).mean().round(3)
    np.float64(-0.042)
    """
    if name not in SCORES:
        raise DataError(f"name={name!r} {not_known(name, SCORES)}")
    return HeldOutScorer(name, prior, cost)


def with_own_names(scoring: Any) -> Any:
    """Replace the names of our scorers by the scorers."""
    if isinstance(scoring, str):
        return HeldOutScorer(scoring) if scoring in SCORES else scoring
    if isinstance(scoring, dict):
        return {name: with_own_names(one) for name, one in scoring.items()}
    if isinstance(scoring, list | tuple | set) and SCORES.keys() & set(scoring):
        return {name: with_own_names(name) for name in scoring}
    return scoring


def knows(classes: Array, present: Array) -> bool:
    """Return whether a model knows all classes that are present; raise an error if one of its own is absent."""
    if (positions(present, classes) < 0).any():
        return False
    absent = classes[positions(classes, present) < 0]
    if len(absent):
        raise DataError(f"a fold has no held-out rows of class {listed(absent)}; use stratified folds")
    return True


def scores_of(estimator: Any, X: Any) -> Array:
    """Return log p(x | class) of shape (n, k), up to a constant of each row."""
    if isinstance(estimator, GenerativeClassifier):
        return np.asarray(estimator.log_likelihood(X))
    ratios = as_llr(estimator, X)
    return decisions.from_ratio(ratios) if ratios.ndim == 1 else ratios
