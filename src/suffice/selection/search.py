"""Grid search without refitting: the results of `GridSearchCV` from one pass over the rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator
from contextlib import closing
from itertools import islice
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import ColumnWarning, DataError, SingularWarning, listed
from ..estimators._sklearn import (
    OneOfNames,
    check_refit,
    checks_parameters,
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
from ..estimators.table_estimator import TableEstimator, given_labels
from ..progress import progress
from ..sources import as_source, in_memory
from ..sources.frames.arrays import ArraySource
from ..tables.labels import encode
from ..tables.table import contiguous
from ..threads import ahead, single_threaded_blas, thread_count
from .fold_statistics import rounds, training_statistics
from .folds import Split
from .offered import offered_if
from .parted import PartedWork
from .paths import GridPoint, State, is_ours, is_passed
from .printing import lines
from .scorers import SCORES, ResultScorer, with_own_names
from .tallies import NeedsRowsError
from .work import Work, grouped

Array = NDArray[Any]

# What GridSearchCV takes, the names of our scorers, and sets of names.
_SCORING = [*GridSearchCV._parameter_constraints["scoring"], OneOfNames(set(SCORES)), set]


def _of_best(name: str) -> Any:
    """Return a method that calls the best model; unlike scikit-learn's, it passes on a prior and a cost."""

    def call(self: Any, X: Any, **params: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X, **params)

    call.__name__ = name
    call.__doc__ = f"""Call `{name}` of the best model.

        Parameters
        ----------
        X : table of shape (n, d)
            The rows.
        **params : dict
            Further arguments of `{name}`, such as `prior` and `cost`.

        Returns
        -------
        array of shape (n,) or (n, k)
            The results.
        """
    return available_if(search_estimator_has(name))(call)


def _named_steps(estimator: Any) -> list[tuple[str, Any]]:
    return estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]


def _best(search: Any) -> Any:
    """Return the best model, or before `fit` the estimator."""
    return getattr(search, "best_estimator_", search.estimator)


def _check_ratios(search: Any) -> None:
    check_refit(search, "llr")
    last = _named_steps(_best(search))[-1][1]
    if not hasattr(last, "llr"):
        raise AttributeError(
            f"a {type(last).__name__} has no llr method; compute the llr with suffice.cross_val_llr or suffice.as_llr"
        )


def _check_save(search: Any) -> None:
    check_refit(search, "save")
    best = _best(search)
    if not hasattr(best, "save"):
        raise AttributeError(
            f"a {type(best).__name__} cannot be saved to a model file; joblib.dump(search.best_estimator_, path) "
            f"pickles it{_other_way(best)}"
        )


def _other_way(best: Any) -> str:
    """Return how to save the model that an estimator ends with."""
    last, place, what = best, "", "its model"
    if isinstance(best, Pipeline):
        last, place, what = best.steps[-1][1], "[-1]", "its last step, which takes rows that went through the others"
    for name, call in (("save", "save(path)"), ("to_model", "to_model().save(path)")):
        if hasattr(last, name):
            return f", and search.best_estimator_{place}.{call} saves {what}"
    return ""


class OnePassSearchCV(GridSearchCV):
    """Search over parameters with cross-validation, with the results of `GridSearchCV` and without refitting.

    The statistics of every fold are collected in one pass. The statistic of a training set is the sum of those of its
    folds. PCA and LDA project statistics instead of rows, and models are estimated without reading a row again.
    Held-out rows are scored once for each distinct model. All of this holds for classifiers of suffice, also behind
    `StandardScaler`, `suffice.PCA` and `suffice.LDA` in a pipeline; every other estimator is fitted to the rows, as
    `GridSearchCV` does.

    Parameters
    ----------
    estimator : estimator
        Any estimator that `GridSearchCV` takes.
    param_grid : dict or list of dict
        Parameter names and the values to try, as in `GridSearchCV`.
    scoring : str, callable, list, tuple or dict, default=None
        As in `GridSearchCV`; also the names that `suffice.scorer` takes.
    n_jobs : int, default=None
        The number of threads that read the rows. None means all processors. Where scikit-learn does the work, as in
        `GridSearchCV`.
    refit : bool, str or callable, default=True
        As in `GridSearchCV`.
    cv : int, splitter or iterable, default=None
        As in `GridSearchCV`.
    verbose : int, default=0
        As in `GridSearchCV`.
    pre_dispatch : int or str, default="2*n_jobs"
        Not used; `GridSearchCV` has it.
    error_score : "raise" or float, default=np.nan
        As in `GridSearchCV`.
    return_train_score : bool, default=False
        As in `GridSearchCV`.

    Attributes
    ----------
    cv_results_ : dict of array
        The scores and times of each candidate, as in `GridSearchCV`.
    best_estimator_ : estimator
        The best candidate, fitted to all rows.
    best_params_ : dict
        The parameters of the best candidate.
    best_score_ : float
        The mean held-out score of the best candidate.
    best_index_ : int
        The index of the best candidate in `cv_results_`.
    scorer_ : callable or dict
        The scorers.
    n_splits_ : int
        The number of splits.
    refit_time_ : float
        The seconds it took to make the best estimator.

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
    _parameter_constraints: ClassVar[dict[str, Any]] = {**GridSearchCV._parameter_constraints, "scoring": _SCORING}

    @checks_parameters(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Run the search.

        Parameters
        ----------
        X : table of shape (n, d)
            The rows: an array, a data frame, a path or any other table. Rows in files and on clusters are evaluated
            where they are, if the folds and scores allow it.
        y : array-like of shape (n,) or str, default=None
            The labels, or the name of their column in `X`.
        **params : dict
            `groups` for the splitter and `sample_weight`, in a pipeline ``step__sample_weight``. If the steps have
            different weights, candidates are refitted to the rows, as `GridSearchCV` does.

        Returns
        -------
        self
            The fitted search.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianClassifier, OnePassSearchCV
        >>> search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["full", "spherical"]})
        >>> search.fit(*load_iris(return_X_y=True)).best_params_
        {'covariance': 'full'}
        """
        scorer, refit_metric = self._get_scorers()
        routed = self._get_routed_params_for_fit(params)
        named = [name for name, given in routed.splitter.split.items() if isinstance(given, str)]
        if named:
            raise DataError(f"{listed(named)} must be an array with one value per row, not the name of a column")
        points = list(ParameterGrid(self.param_grid))
        if self._is_left_to_scikit_learn(points):
            if isinstance(y, str):
                source = in_memory(as_source(X, y))
                X, y = source.frame, source.y
            super().fit(X, y, **params)
            return self
        weights = {name for name in routed.estimator.fit if name.endswith("sample_weight")}
        weight = next((routed.estimator.fit[name] for name in sorted(weights)), None)
        X = cast("Any", X).tocsr() if issparse(X) else X  # of which rows can be taken
        work = self._work(X, given_labels(y, self.estimator), weight, points, scorer, routed)
        if self.verbose > 0:
            n_fits = len(points) * work.n_splits
            print(f"Fitting {work.n_splits} folds for each of {len(points)} candidates, totalling {n_fits} fits")
        with warnings.catch_warnings():  # of the training rows of each fold; the best model tells of all rows
            warnings.simplefilter("ignore", SingularWarning)
            warnings.filterwarnings("ignore", "column .* must hold ", ColumnWarning)
            out = work.results()
        for line in lines(points, work.n_splits, out, self.verbose):
            print(line)
        warn_or_raise_about_fit_failures(out, self.error_score)
        if callable(self.scoring):
            insert_error_scores(out, self.error_score)
        self.n_splits_, self.multimetric_ = work.n_splits, isinstance(out[0]["test_scores"], dict)
        self.scorer_ = named_scorers(scorer) or scorer
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(out[0]["test_scores"])
            refit_metric = self.refit
        self.cv_results_ = self._format_results(points, work.n_splits, out)
        self._choose(work, refit_metric)
        if self.refit and isinstance(self.best_estimator_, TableEstimator):
            self.best_estimator_._set_target(y)
        return self

    def _is_left_to_scikit_learn(self, points: list[dict[str, Any]]) -> bool:
        """Whether somebody wants to be called back about every fit, or no candidate can be learnt from statistics."""
        if getattr(self, "_skl_callbacks", None):
            return True
        return not any(is_ours(clone(self.estimator).set_params(**clone(point, safe=False))) for point in points)

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
        for own in (routed.estimator.fit, routed.scorer.score):  # scikit-learn takes an array, not the name of a column
            own.update({name: source.weight for name, given in own.items() if isinstance(given, str)})
        splitter = check_cv(self.cv, source.y, classifier=True)
        rows = np.arange(source.n_rows)
        splits = [(rows[a], rows[b]) for a, b in splitter.split(source.frame, source.y, **routed.splitter.split)]
        if not splits:
            raise DataError(f"cv={self.cv!r} gives no splits")
        return _Work(splits, self.estimator, points, source, *args)

    def _choose(self, work: Work, refit_metric: Any) -> Self:
        """Keep the best candidate, as GridSearchCV does."""
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

    @offered_if(_check_ratios)
    def llr(self, X: Any, a: Any = None, b: Any = None) -> Any:
        """Compute the log-likelihood ratio log p(x | b) - log p(x | a) by the best model.

        Parameters
        ----------
        X : table of shape (n, d)
            The rows. Those of a pipeline go through its first steps.
        a, b : label or None
            The two classes. With two classes in all, the default is the second over the first.

        Returns
        -------
        array of shape (n,)
            Positive values speak for b; there is no prior in them.
        """
        check_is_fitted(self)
        *before, (_, best) = _named_steps(self.best_estimator_)
        for _, step in before:
            X = X if is_passed(step) else step.transform(X)
        return best.llr(X, a, b)

    @offered_if(_check_save)
    def save(self, path: Any) -> None:
        """Write the best model to a file that `suffice.load` and `suffice.load_model` read.

        Pipelines and models of other libraries have no such file; the error says how to keep them.

        Parameters
        ----------
        path : path
            The file to write. It is replaced as a whole, or left as it was.
        """
        check_is_fitted(self)
        self.best_estimator_.save(path)

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
                    result = {"fit_time": seconds} | self._evaluated(group[0], end, split)
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
        """Yield the states from which the candidates of each split start."""
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

    def _evaluated(self, candidate: GridPoint, end: State | Exception | None, split: Split) -> dict[str, Any]:
        """Return the scores of a candidate in a split."""
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

    def _fitted_to_rows(self, candidate: GridPoint, train: Array) -> Any:
        frame = self.source.frame
        params = params_of_rows(frame, params=self.fit_params, indices=train)
        return clone(candidate.estimator).fit(
            safe_indexing(frame, train), safe_indexing(self.source.y, train), **params
        )


def _asks_for_results_alone(scorer: Any) -> bool:
    """Return whether a scorer uses only `predict` and the like, not the rows or the steps of a pipeline."""
    several = named_scorers(scorer)
    if several:
        return all(map(_asks_for_results_alone, several.values()))
    return isinstance(scorer, ResultScorer) or is_own_score(scorer) or scorer_parts(scorer) is not None
