"""The Gaussian classifiers against scikit-learn's naive Bayes, linear and quadratic discriminant analysis."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from suffice import GaussianClassifier

from .case import Call, Case, Goal, Prepare

Data = tuple[NDArray[Any], NDArray[Any]]  # X (n, d) and y (n,)


@lru_cache(maxsize=1)
def blobs(n: int, d: int, k: int) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = rng.standard_normal((n, d))
    X += rng.standard_normal((k, d))[y]
    return X, y


def iris() -> Data:
    X, y = load_iris(return_X_y=True)
    return X, y


def fit(model: Any, data: Data) -> Call:
    return partial(model.fit, *data)


def fit_strings(dtype: type, model: Any, data: Data) -> Call:
    X, y = data
    return fit(model, (X, np.char.add("class ", y.astype(str)).astype(dtype)))


def predict(model: Any, data: Data) -> Call:
    X, y = data
    return partial(model.fit(X, y).predict, X)


def one_sum(data: Data) -> Call:
    """What reading X takes."""
    return data[0].sum


def one_product(data: Data) -> Call:
    """What one scatter matrix takes, and as many multiplications as one for each class."""
    X, _ = data
    return lambda: X.T @ X


def product_per_class(data: Data) -> Call:
    """What whitening every row for every class takes; a triangular factor could do with half of it."""
    X, y = data
    factor, whitened, k = np.eye(X.shape[1]), np.empty_like(X), len(np.unique(y))

    def call() -> None:
        for _ in range(k):
            np.matmul(X, factor, out=whitened)

    return call


NB = {"GaussianNB": GaussianNB()}
LDAS = {f"LDA {solver}": LinearDiscriminantAnalysis(solver=solver) for solver in ("svd", "lsqr", "eigen")}
QDAS = {f"QDA {solver}": QuadraticDiscriminantAnalysis(solver=solver) for solver in ("svd", "eigen")}
# Which solver has found the coefficients makes no difference to predict; these are quick to fit.
LDA_FITTED = {"LDA": LinearDiscriminantAnalysis(solver="lsqr")}
QDA_FITTED = {"QDA": QuadraticDiscriminantAnalysis(solver="eigen")}

Way = Callable[[Any, Data], Call]
# Our covariance, the call, the peers, the limit; at 500 000 x 32 the goals for the ratio and for the distance.
TASKS: list[tuple[str, Way, dict[str, Any], Prepare, Goal, Goal | None]] = [
    ("diag", fit, NB, one_sum, Goal(12, 25), Goal(float("inf"), 2)),
    ("tied", fit, LDAS, one_product, Goal(15, 30), None),
    ("full", fit, QDAS, one_product, Goal(4, 8), None),
    ("diag", predict, NB, one_sum, Goal(15, 30), None),
    ("full", predict, QDA_FITTED, product_per_class, Goal(4, 8), None),
    ("tied", predict, LDA_FITTED, one_sum, Goal(3, 6), None),
]


def cases(n: int, d: int, k: int, must: float | None = None) -> list[Case]:
    """Every task on n x d values of k classes; `must` replaces the ratio that the first size must reach."""
    return [
        Case(
            data=f"{n:_} x {d}, {k} classes".replace("_", " "),
            task=f"{covariance} {way.__name__}",
            load=partial(blobs, n, d, k),
            ours=partial(way, GaussianClassifier(covariance)),
            peers={name: partial(way, peer) for name, peer in peers.items()},
            ratio=ratio if must is None else Goal(must, ratio.aim),
            limit=limit,
            distance=distance,
        )
        for covariance, way, peers, limit, ratio, distance in TASKS
    ]


def string_cases() -> list[Case]:
    """Labels as strings; the time to hold against is our own with integers."""
    return [
        Case(
            data="500 000 x 32, 10 classes",
            task=f"diag fit, labels {name}",
            load=partial(blobs, 500_000, 32, 10),
            ours=partial(fit_strings, dtype, GaussianClassifier("diag")),
            peers={"integers": partial(fit, GaussianClassifier("diag"))},
            ratio=Goal(1 / 3, 1 / 1.5),
            limit=one_sum,
            reference=None,
        )
        for name, dtype in (("str", np.str_), ("object", np.object_))
    ]


def iris_cases() -> list[Case]:
    return [
        Case(
            data="iris, 150 x 4, 3 classes",
            task=f"{covariance} {way.__name__}",
            load=iris,
            ours=partial(way, GaussianClassifier(covariance)),
            peers={name: partial(way, peer) for name, peer in peers.items()},
            ratio=Goal(1, 2),
            reference=None,
            memory=None,
        )
        for covariance, way, peers, *_ in TASKS
    ]


CASES = [
    *cases(500_000, 32, 10),
    *string_cases(),
    *cases(1_000_000, 8, 2, must=1),
    *cases(200_000, 256, 10, must=1),
    *iris_cases(),
]
