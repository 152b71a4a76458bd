"""Grid search by scikit-learn's name: the models of all folds from statistics that are collected once."""

from __future__ import annotations

import time
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV as PlainSearchCV  # now: `patch` changes what the name stands for
from sklearn.model_selection import check_cv

from ..estimators._sklearn import checks_parameters, named_scorers, params_of_rows, score_of_fold
from ..selection.folds import Split
from ..selection.search import OnePassSearchCV
from .work import OURS, THEIRS, Generative, takes_arrays

Array = NDArray[Any]


class GridSearchCV(OnePassSearchCV):
    """Grid search with cross-validation.

    Parameters and attributes are those of `sklearn.model_selection.GridSearchCV`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    For a naive Bayes classifier or a discriminant analysis of this package on arrays, with folds that are parts of the
    rows, statistics are collected once for each fold, and no candidate is fitted to rows. All else is left to
    scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice.sklearn import GaussianNB, GridSearchCV
    >>> search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}).fit(*load_iris(return_X_y=True))
    >>> search.best_params_, search.backend_
    ({'var_smoothing': 1e-09}, 'suffice')
    """

    backend_: str

    @checks_parameters(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        self._folds = _Folds.of(self, X, y) if self._is_ours(X, y, params) else None
        try:
            self.backend_ = THEIRS if self._folds is None else OURS
            search = PlainSearchCV if self._folds is None else OnePassSearchCV
            return search.fit(self, X, y, **params)  # type: ignore[no-any-return]
        finally:
            del self._folds

    def _is_ours(self, X: Any, y: Any, params: dict[str, Any]) -> bool:
        """Whether the candidates are models of statistics, and the rows an array."""
        if not isinstance(self.estimator, Generative) or params or getattr(self, "_skl_callbacks", None):
            return False
        return isinstance(X, np.ndarray) and isinstance(y, np.ndarray) and takes_arrays(X, y)

    def _is_left_to_scikit_learn(self, points: list[dict[str, Any]]) -> bool:  # noqa: ARG002
        return False  # or `fit` would not have asked

    def _work(self, X: Any, y: Any, weight: Any, points: Any, scorer: Any, routed: Any) -> Any:  # noqa: ARG002
        folds = self._folds
        assert folds is not None
        folds.points, folds.scorer, folds.score_params = points, scorer, routed.scorer.score
        return folds


class _Folds:
    """A search whose folds are parts of the rows: their statistics are collected once, and summed without one."""

    points: list[dict[str, Any]]
    scorer: Any
    score_params: dict[str, Any]

    def __init__(self, search: GridSearchCV, X: Array, y: Array, splits: list[Split]) -> None:
        self.search, self.X, self.y, self.splits, self.n_splits = search, X, y, splits, len(splits)
        self.sides = ("test", "train") if search.return_train_score else ("test",)
        self._known: dict[str, list[Any] | None] = {}

    @classmethod
    def of(cls, search: GridSearchCV, X: Array, y: Array) -> _Folds | None:
        """None where some row is in no fold or in several, or a training set is not the rest."""
        if X.ndim != 2 or len(X) != len(y):
            return None
        splitter, n = check_cv(search.cv, y, classifier=True), len(X)
        try:
            splits = [(np.arange(n)[train], np.arange(n)[test]) for train, test in splitter.split(X, y)]
        except ValueError:  # scikit-learn says what is wrong
            return None
        tests = np.concatenate([test for _, test in splits]) if splits else np.empty(0, int)
        whole = len(tests) == n and np.array_equal(np.sort(tests), np.arange(n))
        rest = all(len(train) + len(test) == n and not np.intersect1d(train, test).size for train, test in splits)
        return cls(search, X, y, splits) if whole and rest and len(splits) > 1 else None

    def results(self) -> list[dict[str, Any]]:
        """The scores of each candidate and split, in the form of scikit-learn's searches."""
        return [self._evaluated(point, s) for point in self.points for s in range(self.n_splits)]

    def refitted(self, place: int) -> Any:
        """A candidate fitted to all rows."""
        return self._candidate(self.points[place]).fit(self.X, self.y)

    def _candidate(self, point: dict[str, Any]) -> Any:
        return clone(self.search.estimator).set_params(**clone(point, safe=False))

    def _evaluated(self, point: dict[str, Any], s: int) -> dict[str, Any]:
        candidate = self._candidate(point)  # a parameter that there is not ends the search
        start = time.perf_counter()
        places = dict(zip(("train", "test"), self.splits[s], strict=True))
        taken: dict[str, Any] = {"n_test_samples": len(places["test"]), "fit_error": None}
        try:
            estimator = self._fitted(candidate, s)
        except Exception as error:
            if self.search.error_score == "raise":
                raise
            several, score = named_scorers(self.scorer), self.search.error_score
            failed = dict.fromkeys(several, score) if several else score
            reason = f"{type(error).__name__}: {error}"
            spent = {"fit_time": time.perf_counter() - start, "score_time": 0.0, "fit_error": reason}
            return taken | spent | {f"{side}_scores": failed for side in self.sides}
        taken["fit_time"], start = time.perf_counter() - start, time.perf_counter()
        for side in self.sides:
            rows = places[side]
            params = params_of_rows(self.X, params=self.score_params, indices=rows)
            scores = score_of_fold(estimator, self.X[rows], self.y[rows], self.scorer, params, self.search.error_score)
            taken[f"{side}_scores"] = scores
        return taken | {"score_time": time.perf_counter() - start}

    def _fitted(self, estimator: Any, s: int) -> Any:
        """A candidate fitted to the rows of all folds but one."""
        estimator._validate_params()
        parts = self._statistics(estimator) if estimator._is_ours() else None
        if parts is None:
            train = self.splits[s][0]
            return estimator.fit(self.X[train], self.y[train])
        collected, known = parts
        vars(estimator).update({name: value for name, value in collected.items() if name not in vars(estimator)})
        return estimator._learn(reduce(add, known[:s] + known[s + 1 :]))

    def _statistics(self, estimator: Any) -> tuple[dict[str, Any], list[Any]] | None:
        """What a model knows of its columns, and the statistic of each fold; None where scikit-learn must fit it."""
        key = repr([getattr(estimator, name) for name in estimator._collects_by])
        if key not in self._known:
            own = clone(estimator)
            parts = [own._collected(self.X[test], self.y[test], None, reset=True) for _, test in self.splits]
            self._known[key] = None if any(part is None for part in parts) else [vars(own), parts]
        found = self._known[key]
        return None if found is None else (found[0], found[1])
