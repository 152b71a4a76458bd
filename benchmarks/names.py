"""Changed import only: the classes of `suffice.sklearn` against those of scikit-learn, by the same names and calls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn import (
    covariance,
    decomposition,
    discriminant_analysis,
    linear_model,
    mixture,
    model_selection,
    naive_bayes,
)

from suffice import sklearn as ours

from .case import Call, Case, Goal, Prepare
from .gaussian import Data, blobs, fit, iris, predict

SIZE = 500_000, 32, 10  # rows, columns, classes


def changed_import(peers: Iterable[Prepare]) -> Prepare | None:
    """The call of the first peer whose name is in `suffice.sklearn`, with our class; None if there is no such peer."""
    for peer in peers:
        model = peer.args[0] if isinstance(peer, partial) and peer.args else None
        name, home = type(model).__name__, type(model).__module__
        if home.startswith("sklearn.") and name in ours.__all__:
            return partial(peer.func, getattr(ours, name)(**model.get_params()))  # type: ignore[union-attr]
    return None


def counts(n: int, d: int, k: int) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    return rng.poisson(rng.gamma(2.0, 1.0, (k, d))[y]).astype(np.float64), y


def booleans(n: int, d: int, k: int) -> Data:
    X, y = counts(n, d, k)
    return (X > 2).astype(np.float64), y


def categories(n: int, d: int, k: int) -> Data:
    X, y = counts(n, d, k)
    return np.minimum(X, 7).astype(np.int64), y


def transform(model: Any, data: Data) -> Call:
    return partial(model.fit(*data).transform, data[0])


def search(cls: Any, estimator: Any, data: Data) -> Call:
    return partial(cls(estimator, {"var_smoothing": [1e-9, 1e-6, 1e-3]}).fit, *data)


def cases(home: Any, name: str, load: Any, goals: dict[Any, Goal], **params: Any) -> list[Case]:
    """The calls of a class."""
    one, other = getattr(ours, name)(**params), getattr(home, name)(**params)
    return at_both_sizes(
        load, {f"{name} {way.__name__}": (partial(way, one), partial(way, other), goal) for way, goal in goals.items()}
    )


def at_both_sizes(load: Any, calls: dict[str, tuple[Prepare, Prepare, Goal]]) -> list[Case]:
    """Our calls against scikit-learn's, at the large size and at that of iris, where ours must not be slower."""
    large = f"{SIZE[0]:_} x {SIZE[1]}, {SIZE[2]} classes, changed import only".replace("_", " ")
    sizes = [(large, partial(load, *SIZE), None), ("iris, changed import only", SMALL.get(load, iris), Goal(1, 1))]
    return [
        Case(size, task, data, own, {"scikit-learn": peer}, goal or of_call, reference=None, memory=None)
        for size, data, goal in sizes
        for task, (own, peer, of_call) in calls.items()
    ]


def small_categories() -> Data:
    X, y = iris()
    return X.astype(np.int64), y


SMALL = {categories: small_categories}
MIXTURE = {"n_components": 3, "random_state": 0, "init_params": "random_from_data", "max_iter": 5, "tol": 0.0}

CASES = [
    *cases(naive_bayes, "GaussianNB", blobs, {fit: Goal(10, 20), predict: Goal(10, 20)}),
    *cases(naive_bayes, "MultinomialNB", counts, {fit: Goal(5, 8), predict: Goal(3, 5)}),
    *cases(naive_bayes, "ComplementNB", counts, {fit: Goal(5, 8), predict: Goal(3, 5)}),
    *cases(naive_bayes, "BernoulliNB", booleans, {fit: Goal(5, 8), predict: Goal(5, 8)}),
    *cases(naive_bayes, "CategoricalNB", categories, {fit: Goal(10, 20), predict: Goal(2, 5)}),
    *cases(discriminant_analysis, "LinearDiscriminantAnalysis", blobs, {fit: Goal(10, 30), predict: Goal(4, 6)}),
    *cases(discriminant_analysis, "QuadraticDiscriminantAnalysis", blobs, {fit: Goal(10, 20), predict: Goal(4, 8)}),
    *cases(decomposition, "PCA", blobs, {fit: Goal(1, 3), transform: Goal(1, 1)}),
    *cases(decomposition, "IncrementalPCA", blobs, {fit: Goal(10, 30), transform: Goal(1, 1)}),
    *cases(covariance, "EmpiricalCovariance", blobs, {fit: Goal(3, 5)}),
    *cases(covariance, "ShrunkCovariance", blobs, {fit: Goal(3, 5)}),
    *cases(covariance, "OAS", blobs, {fit: Goal(3, 5)}),
    *cases(covariance, "LedoitWolf", blobs, {fit: Goal(3, 5)}),
    *cases(mixture, "GaussianMixture", blobs, {fit: Goal(3, 5), predict: Goal(4, 8)}, **MIXTURE),
    *cases(linear_model, "LogisticRegression", blobs, {fit: Goal(1, 2), predict: Goal(4, 6)}, max_iter=1000),
    *at_both_sizes(
        blobs,
        {
            "GridSearchCV of GaussianNB": (
                partial(search, ours.GridSearchCV, ours.GaussianNB()),
                partial(search, model_selection.GridSearchCV, naive_bayes.GaussianNB()),
                Goal(3, 10),
            )
        },
    ),
]
