"""Metrics of log-likelihood ratios against the sort that they need, and what SciPy and scikit-learn offer."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from sklearn.metrics import roc_curve

from suffice import metrics

from .case import Call, Case, Goal

Data = tuple[NDArray[Any], NDArray[Any]]  # labels and scores, each (n,)

LOG_ODDS = np.linspace(-7, 7, 1000)


@lru_cache(maxsize=1)
def scores(n: int = 1_000_000) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    return y, rng.standard_normal(n) + 2 * y


def of_scores(metric: Any, data: Data) -> Call:
    return partial(metric, *data)


def costs(data: Data) -> Call:
    """Actual and minimum."""
    return partial(metrics.bayes_error_curve, *data, LOG_ODDS)


def sort(data: Data) -> Call:
    return partial(np.sort, data[1])


def isotonic(data: Data) -> Call:
    """A sort of the scores, and the best monotone calibration of labels that stand in their order already."""
    y, llr = data
    ordered = y[np.argsort(llr)]
    return lambda: (np.sort(llr), isotonic_regression(ordered))


SCORES = "1 000 000 scores"
ROC = {"roc_curve": partial(of_scores, roc_curve)}

CASES = [
    Case(SCORES, "DCF at 1 000 points", scores, costs, {"np.sort": sort, **ROC}, Goal(1 / 3, 1 / 1.5), reference=None),
    Case(
        SCORES,
        "min Cllr",
        scores,
        partial(of_scores, metrics.min_cllr),
        {"sort, isotonic": isotonic},
        Goal(1, 2),
        reference=None,
    ),
]
