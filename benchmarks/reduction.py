"""Principal components, discriminants and exact leave-one-out against scikit-learn, and against one predict."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import decomposition
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from suffice import LDA, PCA, GaussianClassifier

from .case import Call, Case, Goal
from .gaussian import Data, blobs, fit, predict

ROWS = 100_000  # that are left out one by one
FITS = 20  # of these, from which the time of all is extrapolated
FULL = GaussianClassifier("full")


def leave_one_out(data: Data) -> Call:
    return partial(FULL.leave_one_out, *data)


def some_fits(model: Any, data: Data) -> Call:
    """As cross_val_predict with LeaveOneOut does it, for the first rows alone."""
    X, y = data

    def call() -> None:
        for i in range(FITS):
            keep = np.arange(len(X)) != i
            clone(model).fit(X[keep], y[keep]).predict_log_proba(X[i : i + 1])

    return call


PCAS = {f"PCA {solver}": partial(fit, decomposition.PCA(svd_solver=solver)) for solver in ("covariance_eigh", "full")}
LDAS = {f"LDA {solver}": partial(fit, LinearDiscriminantAnalysis(solver=solver)) for solver in ("svd", "eigen")}
SCALE = FITS / ROWS  # the peers' times are for this share of the rows

CASES = [
    Case(
        "500 000 x 64",
        "PCA fit",
        partial(blobs, 500_000, 64, 10),
        partial(fit, PCA()),
        PCAS,
        Goal(1, 3),
        reference=None,
    ),
    Case(
        "500 000 x 64",
        "LDA fit",
        partial(blobs, 500_000, 64, 10),
        partial(fit, LDA()),
        LDAS,
        Goal(10, 30),
        reference=None,
    ),
    Case(
        "100 000 x 32, 10 classes",
        "leave one out, full",
        partial(blobs, ROWS, 32, 10),
        leave_one_out,
        {"our predict": partial(predict, FULL)},
        Goal(1 / 3, 1 / 1.5),
        reference=None,
    ),
    Case(
        "100 000 x 32, 10 classes",
        f"leave one out, peers {FITS} rows of {ROWS:_}".replace("_", " "),
        partial(blobs, ROWS, 32, 10),
        leave_one_out,
        {"QDA eigen": partial(some_fits, QuadraticDiscriminantAnalysis(solver="eigen"))},
        Goal(1000 * SCALE, 100_000 * SCALE),
        reference=None,
    ),
]
