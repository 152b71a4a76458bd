"""Rows with missing values against the same rows without: the ratio says what missing values cost."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import GaussianClassifier

from .case import Call, Case, Goal

Array = NDArray[Any]
Data = tuple[Array, Array, Array]  # X (n, d), the same with missing values, and y (n,)

HOLED, SHARE = 5, 0.1  # columns with missing values, and how many of theirs are


@lru_cache(maxsize=1)
def tables(n: int = 200_000, d: int = 20, k: int = 2) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal((k, d))[y]
    missing = np.zeros((n, d), bool)
    missing[:, :HOLED] = rng.random((n, HOLED)) < SHARE
    return X, np.where(missing, np.nan, X), y


def fit(which: int, covariance: str, data: Data) -> Call:
    return partial(GaussianClassifier(covariance).fit, data[which], data[2])


def log_likelihood(which: int, covariance: str, data: Data) -> Call:
    """The scores of all rows by one model, whatever the rows that are scored."""
    return partial(GaussianClassifier(covariance).fit(data[1], data[2]).log_likelihood, data[which])


FIT, SCORES = Goal(1 / 40, 1 / 10), Goal(1 / 6, 1 / 3)
FASTEST = Goal(1 / 12, 1 / 6)  # complete rows are scored as fast as they are read

CASES = [
    Case(
        data=f"200 000 x 20, 2 classes, {SHARE:.0%} of {HOLED} columns missing",
        task=f"{covariance} {way.__name__}, missing values",
        load=tables,
        ours=partial(way, 1, covariance),
        peers={"complete rows": partial(way, 0, covariance)},
        ratio=goal,
        reference=None,
    )
    for covariance, scores in (("full", SCORES), ("tied", SCORES), ("diag", FASTEST))
    for way, goal in ((fit, FIT), (log_likelihood, scores))
]
