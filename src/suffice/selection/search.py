"""Model search without refits: what `GridSearchCV` gives, from one pass over the rows."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from itertools import islice
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError, listed
from ..estimators._sklearn import (
    insert_error_scores,
    is_own_score,
    named_scorers,
    params_of_rows,
    safe_indexing,
    score_of_fold,
    scorer_parts,
    search_estimator_has,
    warn_or_raise_about_fit_failures,
)
from ..estimators.table_estimator import given_labels
from ..progress import progress
from ..sources import as_source, in_memory
from ..sources.frames.arrays import ArraySource
from ..tables.labels import encode
from ..tables.table import contiguous
from ..threads import ahead, single_threaded_blas, thread_count
from .fold_statistics import rounds, training_statistics
from .parted import PartedWork
from .paths import Candidate, State
from .scorers import ResultScorer, with_own_names
from .tallies import NeedsRowsError
from .work import Work, grouped

Array = NDArray[Any]
Split = tuple[Array, Array]  # the places of training and of test rows


def _of_best(name: str) -> Any:
    """A method of the best model, which scikit-learn's searches call without a prior or cost."""

    def call(self: Any, X: Any, **params: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X, **params)

    call.__name__, call.__doc__ = name, f"`{name}` of the best model, which may be given its `prior` and `cost`, too."
    return available_if(search_estimator_has(name))(call)


class OnePassSearchCV(GridSearchCV):
    """The best of many models by cross-validation: the same call as scikit-learn's GridSearchCV, the same results.

    The statistics of every fold are collected in one pass. Those of a training set are their sums, PCA and LDA inside
    the fold project statistics instead of rows, and a model is estimated without seeing a row again; held-out rows are
    scored once for each distinct model.

    Parameters
    ----------
    estimator : a classifier of this library, or a scikit-learn Pipeline of StandardScaler, PCA, LDA (ours) and one
    param_grid : as GridSearchCV takes it
    scoring : as GridSearchCV takes it; also the names of `suffice.scorer`
    refit, cv, return_train_score, error_score, verbose : as of GridSearchCV
    n_jobs : int or None
        Threads that read the rows.

    Attributes
    ----------
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, scorer_, n_splits_, refit_time_ : as of
        GridSearchCV

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from suffice import LDA, PCA, GaussianClassifier, OnePassSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"lda": ["passthrough", LDA()], "gaussianclassifier__covariance": ["full", "diag", "tied"]}
    >>> search = OnePassSearchCV(make_pipeline(PCA(), LDA(), GaussianClassifier()), grid).fit(X, y)
    >>> search.best_params_["gaussianclassifier__covariance"], search.best_score_.round(3)
    ('full', np.float64(0.98))
    """

    scoring: Any

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search.

        Parameters
        ----------
        X : anything tabular, (n, d); rows of files and clusters are judged where they lie, if folds and scores allow it
        y : the labels (n,), or the name of the column of X that holds them
        **params : `groups` for the splitter, and `sample_weight`; in a pipeline ``step__sample_weight``. Where not all
            steps have the same weights, candidates are fitted to the rows, as GridSearchCV does
        """
        scorer, refit_metric = self._get_scorers()
        routed = self._get_routed_params_for_fit(params)
        named = [name for name, given in routed.splitter.split.items() if isinstance(given, str)]
        if named:
            raise DataError(f"{listed(named)}= takes an array, one value for each row, and not the name of a column")
        if not (isinstance(self.error_score, Number) or self.error_score == "raise"):
            raise DataError(f'error_score={self.error_score!r} must be "raise" or a number')
        weights = {name for name in routed.estimator.fit if name.endswith("sample_weight")}
        weight = next((routed.estimator.fit[name] for name in sorted(weights)), None)
        points = list(ParameterGrid(self.param_grid))
        work = self._work(X, given_labels(y, self.estimator), weight, points, scorer, routed)
        if self.verbose > 0:
            print(f"Fitting {work.n_splits} folds for each of {len(points)} candidates, from one pass")
        out = work.results()
        warn_or_raise_about_fit_failures(out, self.error_score)
        if callable(self.scoring):
            insert_error_scores(out, self.error_score)
        self.n_splits_, self.multimetric_ = work.n_splits, isinstance(out[0]["test_scores"], dict)
        self.scorer_ = named_scorers(scorer) or scorer
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(out[0]["test_scores"])
            refit_metric = self.refit
        self.cv_results_ = self._format_results(points, work.n_splits, out)
        return self._choose(work, refit_metric)

    def _work(self, X: Any, y: Any, weight: Any, points: Any, scorer: Any, routed: Any) -> Work:
        args = routed, scorer, self.return_train_score, self.error_score
        given = as_source(X, y, weight, self.n_jobs)
        if (parted := given.parted()) is not None:
            try:
                return PartedWork(self.cv, self.estimator, points, parted, *args)
            except NeedsRowsError:
                if given.is_lazy:
                    raise
        source = in_memory(given)
        encode(np.asarray(source.y))  # refuses labels that are missing
        for own in (routed.estimator.fit, routed.scorer.score):  # a column by its name is not what others take
            own.update({name: source.weight for name, given in own.items() if isinstance(given, str)})
        splitter = check_cv(self.cv, source.y, classifier=True)
        rows = np.arange(source.n_rows)
        splits = [(rows[a], rows[b]) for a, b in splitter.split(source.frame, source.y, **routed.splitter.split)]
        if not splits:
            raise DataError(f"there is nothing to fit: cv={self.cv!r} gives no splits")
        return _Work(splits, self.estimator, points, source, *args)

    def _choose(self, work: Work, refit_metric: Any) -> Self:
        """Keep what is best, as GridSearchCV does."""
        results = self.cv_results_
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            self.best_params_ = results["params"][self.best_index_]
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
        if self.refit:
            start = time.perf_counter()
            self.best_estimator_ = work.refitted(self.best_index_)
            self.refit_time_ = time.perf_counter() - start
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    predict = _of_best("predict")
    predict_proba = _of_best("predict_proba")
    predict_log_proba = _of_best("predict_log_proba")

    def _get_scorers(self) -> tuple[Any, Any]:
        given = self.scoring
        self.scoring = with_own_names(given)
        try:
            scorers: tuple[Any, Any] = super()._get_scorers()
        finally:
            self.scoring = given
        return scorers


class _Work(Work):
    """A search over rows in memory."""

    source: ArraySource

    def __init__(self, splits: list[Split], base: Any, points: Any, source: ArraySource, *args: Any) -> None:
        super().__init__(base, points, source, *args)
        self.source, self.splits, self.n_splits = source, splits, len(splits)
        self.is_simple = _asks_for_results_alone(self.scorer)

    def results(self) -> list[dict[str, Any]]:
        n = self.n_splits
        out: list[dict[str, Any]] = [{}] * (len(self.candidates) * n)
        with progress("Searching", len(out)) as advance, closing(self._starts()) as starts:
            for s, (split, start) in enumerate(zip(self.splits, starts, strict=True)):
                for group, end, seconds in self._ends(start):
                    result = {"fit_time": seconds} | self._judged(group[0], end, split)
                    for candidate in group:
                        out[candidate.place * n + s] = dict(result)
                    advance(len(group))
        return out

    def refitted(self, place: int) -> Any:
        candidate = self.candidates[place]
        if candidate.root in self.total:
            return super().refitted(place)
        return clone(candidate.estimator).fit(self.source.frame, self.source.y, **self.fit_params)

    def _starts(self) -> Generator[dict[str, State], None, None]:
        """For each split, where paths begin."""
        splits, source = iter(self.splits), self.source
        scored_as_they_are = any(one.path and one.path[0].kind == "classify" for one in self.candidates)
        for part in rounds((train for train, _ in self.splits), source.n_rows):
            known = {name: training_statistics(source, part, root.collector) for name, root in self.roots.items()}

            def start(numbered: tuple[int, Split], known: dict[str, Any] = known) -> dict[str, State]:
                i, (train, test) = numbered
                places = [{"test": test, "train": train}[side] for side in self.sides]
                rows = tuple(source.table[contiguous(p)] if scored_as_they_are else source.rows(p) for p in places)
                serving = [name for name, root in self.roots.items() if root.serves(source.rows(train))]
                states = {name: State(known[name].without(i), source.names, rows) for name in serving}
                for name, state in states.items():
                    firsts = [one.path[0] for one in self.candidates if one.root == name]
                    states[name] = state.ahead(list(grouped(firsts, lambda step: step.key)))
                return states

            with single_threaded_blas():
                yield from ahead(start, enumerate(islice(splits, len(part.left))), thread_count(self.source.n_jobs))
            if len(part.left) > 1:
                self.total = {name: each.whole() for name, each in known.items()}

    def _judged(self, candidate: Candidate, end: State | Exception | None, split: Split) -> dict[str, Any]:
        """The scores of a candidate in a split."""
        train, test = split
        start = time.perf_counter()
        taken: dict[str, Any] = {"n_test_samples": len(test), "fit_error": None}
        places = {"test": test, "train": train}
        estimator: Any = None
        if end is None:
            try:
                estimator = self._fitted_to_rows(candidate, train)
            except Exception as error:
                end = error
            taken["fit_time"] = time.perf_counter() - start
        if isinstance(end, Exception):
            return taken | self._failed(end)
        start = time.perf_counter()
        if end is not None:
            estimator = end.steps[-1] if self.is_simple else candidate.fitted(end.steps)
        for i, side in enumerate(self.sides):
            rows = places[side]
            X = end.rows[i] if end is not None and self.is_simple else safe_indexing(self.source.frame, rows)
            chosen = params_of_rows(self.source.frame, params=self.score_params, indices=rows)
            y = safe_indexing(self.source.y, rows)
            taken[f"{side}_scores"] = score_of_fold(estimator, X, y, self.scorer, chosen, self.error_score)
        return taken | {"score_time": time.perf_counter() - start}

    def _fitted_to_rows(self, candidate: Candidate, train: Array) -> Any:
        frame = self.source.frame
        params = params_of_rows(frame, params=self.fit_params, indices=train)
        return clone(candidate.estimator).fit(
            safe_indexing(frame, train), safe_indexing(self.source.y, train), **params
        )


def _asks_for_results_alone(scorer: Any) -> bool:
    """Whether a scorer calls predict and its kin, and does not look at the rows or the steps itself."""
    several = named_scorers(scorer)
    if several:
        return all(map(_asks_for_results_alone, several.values()))
    return isinstance(scorer, ResultScorer) or is_own_score(scorer) or scorer_parts(scorer) is not None
