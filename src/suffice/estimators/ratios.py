"""Ratios from any classifier that has posteriors."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import check_cv
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .. import decisions
from ..errors import DataError
from ..scoring.model import Prior
from ..sources.frames.arrays import array_source
from ..tables.labels import encode, position
from ._sklearn import safe_indexing

Array = NDArray[Any]


def as_llr(estimator: Any, X: Any, prior: Prior = None, a: Any = None, b: Any = None) -> Array:
    """Turn the posteriors of any fitted classifier into log-likelihood ratios, by taking the prior out of them.

    Parameters
    ----------
    estimator : classifier
        It has `predict_log_proba` or `predict_proba`.
    X : anything that the estimator takes
        The rows.
    prior : array-like, dict, "uniform" or None
        The class probabilities that the posteriors hold, usually the frequencies in training. None takes what the
        estimator says of them (`prior_`, `priors_`, `class_prior_` or `class_log_prior_`).
    a, b : label or None
        The two classes: b over a. With two classes in all, the default is the second over the first.

    Returns
    -------
    array of shape (n,) or (n, k)
        Log-likelihood ratios. With more than two classes, and without a and b, log-likelihoods up to a term of the row.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> clf = GaussianNB().fit([[0.0], [1.0], [4.0], [5.0], [6.0]], [0, 0, 1, 1, 1])
    >>> as_llr(clf, [[2.0]]).round(2)
    array([-2.74])
    """
    check_is_fitted(estimator)
    classes = np.asarray(estimator.classes_)
    scores = _log_posterior(estimator, X) - decisions.log(_held(estimator, prior, classes))
    if a is None and b is None:
        return decisions.log_likelihood_ratio(scores, 0, 1) if len(classes) == 2 else scores
    if a is None or b is None:
        raise DataError("give two classes as a and b; the ratio is that of b over a")
    return decisions.log_likelihood_ratio(scores, position(a, classes), position(b, classes))


def cross_val_llr(
    estimator: Any,
    X: Any,
    y: Any,
    cv: Any = 5,
    a: Any = None,
    b: Any = None,
    *,
    prior: Prior = None,
    groups: Any = None,
) -> Array:
    """Compute the log-likelihood ratio of every row by a model that has not seen it, pooled over folds.

    Use the result to calibrate and to evaluate.

    Parameters
    ----------
    estimator : classifier
        Any classifier with posteriors.
    X : table of shape (n, d)
        The rows.
    y : array-like of shape (n,) or str
        The labels, or the name of the column of X that holds them.
    cv : int or splitter
        The number of folds, or one of scikit-learn's splitters.
    a, b : label or None
        The two classes, as in `as_llr`.
    prior : array-like, dict, "uniform" or None
        The class probabilities that the posteriors hold. None takes what the estimator says of them, or else the
        frequencies of the classes that it was trained on.
    groups : array-like of shape (n,) or None
        For splitters that keep groups together.

    Returns
    -------
    array of shape (n,) or (n, k)
        As of `as_llr`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from suffice import GaussianClassifier, LLRCalibrator, metrics
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> llr = cross_val_llr(GaussianClassifier("diag"), X, y)
    >>> metrics.cllr(y, LLRCalibrator().held_out(llr, y)) < metrics.cllr(y, llr)
    True
    """
    if isinstance(y, str):
        source = array_source(X, y)
        X, y = source.frame, source.y
    labels = np.asarray(y)
    classes, _ = encode(labels)
    out: Array | None = None
    for train, test in folds(cv, X, labels, groups):
        fitted = clone(estimator).fit(safe_indexing(X, train), labels[train])
        if len(fitted.classes_) < len(classes):
            raise DataError("a class is missing in the training rows of a fold; use fewer folds, or stratified ones")
        held = prior
        if held is None and _told_prior(fitted) is None:
            if getattr(innermost(fitted)[0], "class_weight", None) is not None:
                raise DataError("class_weight changes the prior that the posteriors hold; give it as prior=")
            held = np.unique(labels[train], return_counts=True)[1] / len(train)
        llr = as_llr(fitted, safe_indexing(X, test), held, a, b)
        out = np.full((len(labels), *llr.shape[1:]), np.nan) if out is None else out
        out[test] = llr
    assert out is not None
    return out


def folds(cv: Any, X: Any, labels: Array, groups: Any = None) -> list[tuple[Array, Array]]:
    """Training and test rows of folds that test every row once, so that what they give can be pooled."""
    splits = list(check_cv(cv, labels, classifier=True).split(X, labels, groups))
    if (np.bincount(np.concatenate([test for _, test in splits]), minlength=len(labels)) != 1).any():
        raise DataError("the folds must test every row once; use a splitter such as StratifiedKFold")
    return splits


def _log_posterior(estimator: Any, X: Any) -> Array:
    if hasattr(estimator, "predict_log_proba"):
        with np.errstate(divide="ignore"):  # many take the logarithm of a zero
            return np.asarray(estimator.predict_log_proba(X), dtype=np.float64)
    if hasattr(estimator, "predict_proba"):
        return decisions.log(np.asarray(estimator.predict_proba(X), dtype=np.float64))
    raise DataError(
        f"a {type(estimator).__name__} has no posteriors; calibrate its decision_function with LLRCalibrator"
    )


def innermost(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """The classifier at the end of searches and pipelines, and rows, if there are some, as it sees them."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            X = X if X is None or len(estimator) == 1 else estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            return estimator, X


def _told_prior(estimator: Any) -> Array | None:
    """Return the prior in an estimator's posteriors, or None if it does not say."""
    return _prior_in(innermost(estimator)[0])


@singledispatch
def _prior_in(estimator: Any) -> Array | None:
    for name in ("prior_", "priors_", "class_prior_"):
        if getattr(estimator, name, None) is not None:
            return np.asarray(getattr(estimator, name))
    logs = getattr(estimator, "class_log_prior_", None)
    return None if logs is None else np.exp(logs)


@_prior_in.register
def _(estimator: ComplementNB) -> Array | None:  # keeps a prior that it does not use
    return np.full(len(estimator.classes_), 1 / len(estimator.classes_))


@_prior_in.register
def _(estimator: DummyClassifier) -> Array | None:
    return estimator.class_prior_ if estimator.strategy == "prior" else None


def _held(estimator: Any, prior: Prior, classes: Array) -> Array:
    """The prior that an estimator's posteriors hold."""
    prior = _told_prior(estimator) if prior is None else prior
    if prior is None:
        raise DataError(
            f"a {type(estimator).__name__} does not say which prior its posteriors hold; give it as prior=, "
            "usually the frequencies of the classes in training"
        )
    held = decisions.as_prior(prior, classes, np.empty(0))
    if not held.all():
        raise DataError("a class with prior 0 has no likelihood; give a prior without zeros")
    return held
