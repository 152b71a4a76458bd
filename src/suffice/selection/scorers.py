"""Scorers for searches and cross-validation: what scikit-learn's scorers are, for likelihoods, ratios and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions, metrics
from ..errors import DataError, listed
from ..estimators.generative import GenerativeClassifier
from ..estimators.ratios import as_llr, innermost
from ..tables.labels import positions

Array = NDArray[Any]


class ResultScorer:
    """A scorer that asks a classifier for its results, and looks neither at rows nor at steps."""


@dataclass(frozen=True)
class HeldOutScorer(ResultScorer):
    """A function of a fitted classifier, rows and labels, as scikit-learn takes them; greater is better."""

    name: str
    prior: Any = "uniform"
    cost: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return float(SCORES[self.name](self, *innermost(estimator, X), np.asarray(y)))

    def _neg_log_cost(self, estimator: Any, X: Any, y: Array) -> float:
        scores, classes = scores_of(estimator, X), estimator.classes_
        if not knows(classes, np.unique(y)):
            return -np.inf  # a class that was thought impossible
        return -metrics.multiclass_log_cost(y, scores, self.prior)

    def _neg_dcf(self, estimator: Any, X: Any, y: Array) -> float:
        decided = decisions.decide(scores_of(estimator, X), estimator.classes_, self.prior, self.cost)
        return -metrics.multiclass_dcf(y, decided, self.prior, self.cost)

    def _neg_cllr(self, estimator: Any, X: Any, y: Array) -> float:
        if len(estimator.classes_) != 2:
            raise DataError(f"Cllr is of two classes, not of {len(estimator.classes_)}; use neg_log_cost")
        return -metrics.cllr(y == estimator.classes_[1], decisions.log_likelihood_ratio(scores_of(estimator, X), 0, 1))

    def _mean_log_likelihood(self, estimator: Any, X: Any, y: Array) -> float:
        if not isinstance(estimator, GenerativeClassifier):
            raise DataError(f"a {type(estimator).__name__} has no likelihoods; use neg_log_cost")
        places = positions(y, estimator.classes_)
        scores = estimator.log_likelihood(X)[np.arange(len(y)), places]
        return float(np.where(places < 0, -np.inf, scores).mean())


SCORES = {
    "mean_log_likelihood": HeldOutScorer._mean_log_likelihood,
    "neg_cllr": HeldOutScorer._neg_cllr,
    "neg_dcf": HeldOutScorer._neg_dcf,
    "neg_log_cost": HeldOutScorer._neg_log_cost,
}


def scorer(name: str, *, prior: Any = "uniform", cost: Any = None) -> HeldOutScorer:
    """A scorer for `OnePassSearchCV`, `GridSearchCV` or `cross_validate`; greater is better.

    Parameters
    ----------
    name : "neg_log_cost" and "neg_dcf" (`metrics.multiclass_log_cost` and `metrics.multiclass_dcf`, normalised, less
        than zero), "neg_cllr" for two classes, or "mean_log_likelihood" of rows under their own class
    prior : class probabilities of the application; an array in the order of the classes, a dictionary or "uniform"
    cost : ``cost[i, j]`` of deciding i when the truth is j, for "neg_dcf"

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
        raise DataError(f"there is no scorer {name!r}; choose one of {listed(SCORES)}")
    return HeldOutScorer(name, prior, cost)


def with_own_names(scoring: Any) -> Any:
    """What a search was given as scoring, with scorers in place of the names of ours."""
    if isinstance(scoring, str):
        return HeldOutScorer(scoring) if scoring in SCORES else scoring
    if isinstance(scoring, dict):
        return {name: with_own_names(one) for name, one in scoring.items()}
    if isinstance(scoring, list | tuple | set) and SCORES.keys() & set(scoring):
        return {name: with_own_names(name) for name in scoring}
    return scoring


def knows(classes: Array, present: Array) -> bool:
    """Whether a model of some classes knows all that are present; each of its own must be there to judge by."""
    if (positions(present, classes) < 0).any():
        return False
    absent = classes[positions(classes, present) < 0]
    if len(absent):
        raise DataError(f"there are no rows of class {listed(absent)} to judge by; use stratified folds")
    return True


def scores_of(estimator: Any, X: Any) -> Array:
    """log p(x | class), (n, k), or these up to a term of the row."""
    if isinstance(estimator, GenerativeClassifier):
        return np.asarray(estimator.log_likelihood(X))
    ratios = as_llr(estimator, X)
    return decisions.from_ratio(ratios) if ratios.ndim == 1 else ratios
