"""Logistic regression against scikit-learn's with its fastest solver, the same penalty, tolerance and rows."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from sklearn.linear_model import LogisticRegression

from suffice import LogisticClassifier

from .case import Case, Goal
from .gaussian import Data, blobs, fit

CHOICES = {"C": 1.0, "tol": 1e-6, "max_iter": 1000}


@lru_cache(maxsize=1)
def correlated(n: int, d: int, k: int) -> Data:
    """Features that share what they say, on scales from a tenth to ten."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = (rng.standard_normal((n, d)) + 0.3 * rng.standard_normal((k, d))[y]) @ rng.standard_normal((d, d))
    return X * np.logspace(-1, 1, d), y


CASES = [
    Case(
        data=f"{kind}{n:_} x {d}, {k} classes".replace("_", " "),
        task="logistic fit",
        load=partial(load, n, d, k),
        ours=partial(fit, LogisticClassifier(**CHOICES)),
        peers={solver: partial(fit, LogisticRegression(**CHOICES, solver=solver))},
        ratio=Goal(1, 2),
        reference=None,
    )
    for kind, load, n, d, k, solver in (
        ("", blobs, 200_000, 20, 2, "lbfgs"),
        ("", blobs, 100_000, 50, 5, "lbfgs"),
        ("correlated, ", correlated, 20_000, 20, 2, "newton-cholesky"),  # lbfgs does not get there in 1000 steps
    )
]
