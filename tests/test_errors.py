"""Errors and warnings: what they are called, and which line they are about."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import GaussianClassifier, LogisticClassifier, MixedClassifier, OnePassSearchCV, fit_density

X = np.column_stack([np.arange(20.0), np.ones(20)])
Y = np.array(["a", "b"] * 10)
TABLE = pd.DataFrame({"id": [f"row {i}" for i in range(20)], "x": X[:, 0], "label": Y})


@pytest.mark.parametrize(
    "work",
    [
        lambda: GaussianClassifier().fit(X, Y),
        lambda: GaussianClassifier().partial_fit(X, Y, classes=["a", "b"]).predict(X),
        lambda: make_pipeline(StandardScaler(), GaussianClassifier()).fit(X, Y),
        lambda: OnePassSearchCV(GaussianClassifier(), {"shrinkage": [None, 0.0]}, cv=2).fit(X, Y),
        lambda: fit_density("gaussian", X),
        lambda: MixedClassifier().fit(TABLE, "label"),
        lambda: suffice.fit(TABLE, "label"),
        lambda: LogisticClassifier(C=1e9, max_iter=1).fit(X, Y),
    ],
)
def test_a_warning_is_about_the_line_of_the_user(work):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        work()
    assert {one.filename for one in told} == {__file__}
