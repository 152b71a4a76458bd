"""Ratios from any classifier that has posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..errors import DataError
from ..labels import position
from .classifier import Prior

Array = NDArray[Any]


def as_llr(estimator: Any, X: Any, prior: Prior = None, a: Any = None, b: Any = None) -> Array:
    """Log-likelihood ratios from the posteriors of any fitted classifier, by taking the prior out of them.

    Parameters
    ----------
    estimator : a classifier with `predict_log_proba` or `predict_proba`
    prior : the class probabilities that the posteriors hold, usually the frequencies in training; None takes what the
        estimator says of them (`prior_`, `priors_`, `class_prior_` or `class_log_prior_`)
    a, b : the ratio is of class b over class a; of two classes, the second over the first

    Returns
    -------
    (n,) ratios; of more than two classes without a and b, log-likelihoods (n, k) up to a term of the row

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> clf = GaussianNB().fit([[0.0], [1.0], [4.0], [5.0], [6.0]], [0, 0, 1, 1, 1])
    >>> as_llr(clf, [[2.0]]).round(2)
    array([-1.71])
    """
    classes = np.asarray(estimator.classes_)
    scores = _log_posterior(estimator, X) - decisions.log(_held(estimator, prior, classes))
    if a is None and b is None:
        return decisions.log_likelihood_ratio(scores, 0, 1) if len(classes) == 2 else scores
    if a is None or b is None:
        raise DataError("name two classes: the ratio is of b over a")
    return decisions.log_likelihood_ratio(scores, position(a, classes), position(b, classes))


def _log_posterior(estimator: Any, X: Any) -> Array:
    if hasattr(estimator, "predict_log_proba"):
        with np.errstate(divide="ignore"):  # many take the logarithm of a zero
            return np.asarray(estimator.predict_log_proba(X), dtype=np.float64)
    if hasattr(estimator, "predict_proba"):
        return decisions.log(np.asarray(estimator.predict_proba(X), dtype=np.float64))
    raise DataError(
        f"a {type(estimator).__name__} has no posteriors; calibrate its decision_function with LLRCalibrator"
    )


def _held(estimator: Any, prior: Prior, classes: Array) -> Array:
    """The prior that an estimator's posteriors hold."""
    if prior is None:
        for name in ("prior_", "priors_", "class_prior_"):
            if getattr(estimator, name, None) is not None:
                prior = getattr(estimator, name)
                break
        else:
            if getattr(estimator, "class_log_prior_", None) is None:
                raise DataError(
                    f"a {type(estimator).__name__} does not say which prior its posteriors hold; give it as prior=, "
                    "usually the frequencies of the classes in training"
                )
            prior = np.exp(estimator.class_log_prior_)
    held = decisions.as_prior(prior, classes, np.empty(0))
    if not held.all():
        raise DataError("a class with prior 0 has no likelihood; give a prior without zeros")
    return held
