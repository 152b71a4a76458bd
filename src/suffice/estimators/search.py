"""Model search without refits: what `GridSearchCV` gives, from one pass over the rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from numbers import Number
from typing import Any, Self, cast

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.model_selection._validation import _insert_error_scores, _score, _warn_or_raise_about_fit_failures
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from ..batch import Batch
from ..errors import DataError
from ..reduction import Projection
from ..search import rounds, training_statistics
from ..sources.arrays import ArraySource, array_source
from ..stats import MomentStats, Statistics
from ..table import Table, contiguous
from .classifier import LLRClassifier
from .gaussian import GaussianClassifier
from .learner import Learner
from .reduction import Reduction, is_wide
from .scorers import HeldOutScorer, with_own_names
from .tables import given_labels

Array = NDArray[Any]
Collector = Callable[[Batch], Statistics]
Split = tuple[Array, Array]  # the places of training and of test rows
_MOMENTS = "moments"  # the statistic that Gaussian models and reductions share
_ROWS = ""  # for models that no statistic here leads to


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
        X : a table in memory, (n, d)
        y : the labels (n,), or the name of the column of X that holds them
        **params : `groups` for the splitter, and `sample_weight`; in a pipeline ``step__sample_weight``, the same for
            every step
        """
        scorer, refit_metric = self._get_scorers()
        routed = self._get_routed_params_for_fit(params)
        source = array_source(X, given_labels(y, self.estimator), _weight(self.estimator, routed.estimator.fit))
        source.n_jobs = self.n_jobs
        splitter = check_cv(self.cv, source.y, classifier=True)
        splits = list(splitter.split(source.frame, source.y, **routed.splitter.split))
        points = list(ParameterGrid(self.param_grid))
        work = _Work(self.estimator, points, source, splits, scorer, routed, self.return_train_score, self.error_score)
        if self.verbose > 0:
            print(f"Fitting {len(splits)} folds for each of {len(points)} candidates, from one pass")
        out = work.results()
        _warn_or_raise_about_fit_failures(out, self.error_score)
        if callable(self.scoring):
            _insert_error_scores(out, self.error_score)
        self.n_splits_, self.multimetric_ = len(splits), isinstance(out[0]["test_scores"], dict)
        self.scorer_ = scorer._scorers if isinstance(scorer, _MultimetricScorer) else scorer
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(out[0]["test_scores"])
            refit_metric = self.refit
        self.cv_results_ = self._format_results(points, len(splits), out)
        return self._choose(work, refit_metric)

    def _choose(self, work: _Work, refit_metric: Any) -> Self:
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

    def _get_scorers(self) -> tuple[Any, Any]:
        given = self.scoring
        self.scoring = with_own_names(given)
        try:
            scorers: tuple[Any, Any] = super()._get_scorers()
        finally:
            self.scoring = given
        return scorers


@dataclass(frozen=True)
class _Step:
    """A step of a path. A reduction makes two: all directions that some candidate wants, and the first n of them, so
    that candidates share what is costly."""

    kind: str  # "scale", "reduce", "cut" or "classify"
    estimator: Any  # not fitted
    key: str  # equal where steps are

    @classmethod
    def of(cls, estimator: Any) -> list[_Step]:
        if not isinstance(estimator, Reduction):
            kind = "scale" if isinstance(estimator, StandardScaler) else "classify"
            return [cls(kind, estimator, joblib.hash(estimator))]
        whole = clone(estimator).set_params(n_components=None)
        return [
            cls("reduce", estimator, joblib.hash(whole)),
            cls("cut", estimator, joblib.hash(estimator.n_components)),
        ]


@dataclass(frozen=True)
class _Candidate:
    """One point of the grid."""

    place: int
    estimator: Any  # with its parameters, not fitted
    root: str  # the statistic that its path starts from
    path: list[_Step]
    error: DataError | None = None  # for which it makes no sense

    def fitted(self, steps: tuple[Any, ...]) -> Any:
        """The estimator with fitted steps in place of its own."""
        if not isinstance(self.estimator, Pipeline):
            return steps[-1]
        pipeline, own = clone(self.estimator), iter(steps)
        pipeline.steps = [(name, step if _is_passed(step) else next(own)) for name, step in pipeline.steps]
        return pipeline


@dataclass(frozen=True)
class _State:
    """Where a path of steps has led so far: the training statistic and rows to score, in the coordinates there."""

    statistic: Any
    names: tuple[str, ...] | None  # of the columns
    rows: tuple[Any, ...]  # of the test set, and of the training set where it is scored too
    steps: tuple[Any, ...] = ()  # fitted
    whole: Projection | None = None  # to cut from

    def after(self, steps: list[_Step]) -> _State:
        """One step further; the steps are equal, but for the number of directions that are to be cut."""
        if isinstance(self.statistic, DataError):
            raise self.statistic
        return cast("_State", getattr(self, f"_{steps[0].kind}")([step.estimator for step in steps]))

    def fitted(self, reduction: Reduction) -> _State:
        """After a reduction that keeps its statistic, to be used on its own."""
        moments = _linear(self.statistic)
        fitted = clone(reduction).fit_statistics(moments)
        fitted._set_columns(self.names, moments.n_features)
        return _State(fitted.projection_.of_moments(moments), None, self.rows, (*self.steps, fitted))

    def _scale(self, estimators: list[Any]) -> _State:
        fitted, moments = clone(estimators[0]), _linear(self.statistic)
        center, scale = _fit_scaler(fitted, moments, self.names)
        rows = tuple((_floats(X) - center) / scale for X in self.rows)
        return _State(moments.scaled(center, scale), None, rows, (*self.steps, fitted))

    def _reduce(self, estimators: list[Reduction]) -> _State:
        moments = _linear(self.statistic)
        whole = estimators[0]._whole(moments)
        directions = whole.first(max(_kept(estimator, whole) for estimator in estimators))
        reduction = clone(estimators[0])._of(directions, self.names)
        rows = tuple(reduction.transform(X) for X in self.rows)
        return _State(directions.of_moments(moments), self.names, rows, self.steps, whole)

    def _cut(self, estimators: list[Reduction]) -> _State:
        assert self.whole is not None
        estimators[0]._choices()
        directions = self.whole.first(estimators[0]._kept(self.whole))
        fitted = clone(estimators[0])._of(directions, self.names)
        n = len(directions.values)
        return _State(self.statistic.first(n), None, tuple(X[:, :n] for X in self.rows), (*self.steps, fitted))

    def _classify(self, estimators: list[Any]) -> _State:
        fitted = clone(estimators[0]).fit_statistics(self.statistic)
        fitted._set_columns(self.names, self.statistic.n_features)
        return _State(None, None, self.rows, (*self.steps, fitted))


def _kept(estimator: Reduction, whole: Projection) -> int:
    """How many directions an estimator keeps; it will tell later if it cannot."""
    try:
        estimator._choices()
        return estimator._kept(whole)
    except DataError:
        return 1


def _linear(moments: MomentStats) -> MomentStats:
    """Moments that a linear map can be applied to."""
    return moments.to_layout("full") if moments.layout == "quartic" else moments


class _Work:
    """The search itself: split after split, and in each of them step after step for all candidates that share it."""

    def __init__(
        self,
        base: Any,
        points: list[dict[str, Any]],
        source: ArraySource,
        splits: list[Split],
        scorer: Any,
        routed: Any,
        with_train: bool,
        error_score: Any,
    ) -> None:
        self.source, self.splits, self.scorer, self.error_score = source, splits, scorer, error_score
        self.fit_params, self.score_params = routed.estimator.fit, routed.scorer.score
        self.sides = ("test", "train") if with_train else ("test",)
        self.is_simple = _asks_for_results_alone(scorer)
        estimators = [clone(base).set_params(**clone(point, safe=False)) for point in points]
        self.candidates, self.collectors = _paths(estimators, source)
        self.total: dict[str, Any] = {}  # the statistics of all rows, where a round of splits has given them

    def results(self) -> list[dict[str, Any]]:
        """What scikit-learn's searches note down of a fit: for each candidate, for each split."""
        n = len(self.splits)
        out: list[dict[str, Any]] = [{}] * (len(self.candidates) * n)
        for s, (split, start) in enumerate(zip(self.splits, self._starts(), strict=True)):
            for group, end, seconds in self._ends(start):
                result = {"fit_time": seconds} | self._judged(group[0], end, split)
                for candidate in group:
                    out[candidate.place * n + s] = dict(result)
        return out

    def _ends(self, start: dict[str, _State]) -> Iterator[tuple[list[_Candidate], _State | Exception | None, float]]:
        """The candidates of a split in groups that are one model, and where `_walk` leads them; None where no
        statistic leads anywhere."""
        for group in _grouped(self.candidates, lambda candidate: candidate.root):
            if group[0].root == _ROWS:
                yield from (([candidate], candidate.error, 0.0) for candidate in group)
            else:
                yield from self._walk(group, start[group[0].root])

    def refitted(self, place: int) -> Any:
        """A candidate fitted to all rows: from their statistic, where it is known."""
        candidate = self.candidates[place]
        if candidate.root not in self.total:
            return clone(candidate.estimator).fit(self.source.frame, self.source.y, **self.fit_params)
        state = _State(self.total[candidate.root], self.source.names, ())
        for step in candidate.path:
            if step.kind != "reduce":
                state = state.fitted(step.estimator) if step.kind == "cut" else state.after([step])
        return candidate.fitted(state.steps)

    def _starts(self) -> Iterator[dict[str, _State]]:
        """For each split, where paths begin."""
        splits, source = iter(self.splits), self.source
        for part in rounds((train for train, _ in self.splits), source.n_rows):
            statistics = {root: training_statistics(source, part, of) for root, of in self.collectors.items()}
            for train, test in islice(splits, len(part.left)):
                rows = tuple(source.table[contiguous({"test": test, "train": train}[side])] for side in self.sides)
                yield {root: _State(next(each), source.names, rows) for root, each in statistics.items()}
            if len(part.left) > 1:
                self.total = {root: next(each) for root, each in statistics.items()}

    def _walk(
        self, candidates: list[_Candidate], at: _State, depth: int = 0
    ) -> Iterator[tuple[list[_Candidate], _State | Exception, float]]:
        """Candidates that are one model, where their path ends or the error on the way, and the seconds of the last
        step. Depth first: only one state for each step is in memory."""
        for group in _grouped(candidates, lambda candidate: candidate.path[depth].key):
            start = time.perf_counter()
            try:
                after = at.after([candidate.path[depth] for candidate in group])
            except Exception as error:
                yield group, error, time.perf_counter() - start
                continue
            if depth == len(group[0].path) - 1:
                yield group, after, time.perf_counter() - start
            else:
                yield from self._walk(group, after, depth + 1)

    def _judged(self, candidate: _Candidate, end: _State | Exception | None, split: Split) -> dict[str, Any]:
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
            X = end.rows[i] if end is not None and self.is_simple else _safe_indexing(self.source.frame, rows)
            chosen = _check_method_params(self.source.frame, params=self.score_params, indices=rows)
            y = _safe_indexing(self.source.y, rows)
            taken[f"{side}_scores"] = _score(estimator, X, y, self.scorer, chosen, self.error_score)
        return taken | {"score_time": time.perf_counter() - start}

    def _fitted_to_rows(self, candidate: _Candidate, train: Array) -> Any:
        frame = self.source.frame
        params = _check_method_params(frame, params=self.fit_params, indices=train)
        return clone(candidate.estimator).fit(
            _safe_indexing(frame, train), _safe_indexing(self.source.y, train), **params
        )

    def _failed(self, error: Exception) -> dict[str, Any]:
        if self.error_score == "raise":
            raise error
        if not isinstance(self.error_score, Number):
            raise DataError(f'error_score={self.error_score!r} must be "raise" or a number')
        several = isinstance(self.scorer, _MultimetricScorer)
        scores = dict.fromkeys(self.scorer._scorers, self.error_score) if several else self.error_score
        reason = f"{type(error).__name__}: {error}"
        return {f"{side}_scores": scores for side in self.sides} | {"fit_error": reason, "score_time": 0.0}


def _grouped(candidates: list[_Candidate], key: Callable[[_Candidate], str]) -> Iterator[list[_Candidate]]:
    for _, group in groupby(sorted(candidates, key=key), key):
        yield list(group)


def _paths(estimators: list[Any], source: ArraySource) -> tuple[list[_Candidate], dict[str, Collector]]:
    """The candidates, and how to collect the statistics that their paths begin with."""
    collectors: dict[str, Collector] = {}
    layouts, candidates = set(), []
    for place, estimator in enumerate(estimators):
        steps = _steps(estimator)
        root, wrong = _ROWS, None
        try:
            if layout := _layout(steps, source):
                layouts.add(layout)
                root = _MOMENTS
            elif len(steps) == 1 and isinstance(steps[0], Learner) and not isinstance(steps[0], GaussianClassifier):
                collector = clone(steps[0])._statistic(source, new=True)
                root = joblib.hash(collector)
                collectors[root] = collector
        except DataError as error:
            wrong = error
        path = [step for one in steps for step in _Step.of(one)]
        candidates.append(_Candidate(place, estimator, root, path, wrong))
    if layouts:
        richest = layouts.pop() if len(layouts) == 1 else "quartic" if "quartic" in layouts else "full"
        collectors[_MOMENTS] = partial(MomentStats.of, layout=richest)
    return candidates, collectors


def _layout(steps: tuple[Any, ...], source: ArraySource) -> str | None:
    """The moments that these steps need, or None if moments do not lead to them."""
    *reductions, classifier = steps
    if not isinstance(classifier, GaussianClassifier):
        return None
    layout = classifier._layout()
    if not reductions:
        return layout
    if layout == "quartic":
        return None  # of projected rows they do not follow from those of the rows
    if all(isinstance(step, StandardScaler) for step in reductions):
        return layout
    if is_wide(source):
        return None
    return "pooled" if layout == "pooled" else "full"


def _steps(estimator: Any) -> tuple[Any, ...]:
    """The steps of an estimator that do something, or an error that names the one that this search cannot take."""
    named = estimator.steps if isinstance(estimator, Pipeline) else [(type(estimator).__name__, estimator)]
    for place, (name, step) in enumerate(named):
        if place == len(named) - 1:
            fits = isinstance(step, LLRClassifier)
        else:
            fits = _is_passed(step) or type(step) is StandardScaler or isinstance(step, Reduction)
        if not fits:
            raise DataError(
                f"OnePassSearchCV takes classifiers of suffice, behind StandardScaler and PCA and LDA of suffice; step "
                f"{name!r} is {step!r}. GridSearchCV takes any estimator"
            )
    return tuple(step for _, step in named if not _is_passed(step))


def _is_passed(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _weight(estimator: Any, fit_params: dict[str, Any]) -> Any:
    """The weights of the rows, the same for all steps."""
    if not fit_params:
        return None
    names = (
        [f"{name}__sample_weight" for name, step in estimator.steps if not _is_passed(step)]
        if isinstance(estimator, Pipeline)
        else ["sample_weight"]
    )
    given = [fit_params.get(name) for name in names]
    if set(fit_params) - set(names) or any(one is not given[0] for one in given):
        raise DataError(
            f"OnePassSearchCV passes on nothing but weights, the same for all steps: give {', '.join(names)}; it was "
            f"given {', '.join(fit_params)}"
        )
    return given[0]


def _asks_for_results_alone(scorer: Any) -> bool:
    """Whether a scorer calls predict and its kin, and does not look at the rows or the steps itself."""
    if isinstance(scorer, _MultimetricScorer):
        return all(map(_asks_for_results_alone, scorer._scorers.values()))
    return isinstance(scorer, _BaseScorer | _PassthroughScorer | HeldOutScorer)


def _fit_scaler(scaler: Any, moments: MomentStats, names: tuple[str, ...] | None) -> tuple[Array, Array]:
    """Fit a StandardScaler to moments; return what it subtracts and divides by, (d,) each."""
    n = moments.total
    mean = moments.weight @ moments.mean / n
    variance = (moments.variation.sum(axis=0) + moments.weight @ (moments.mean - mean) ** 2) / n
    eps = np.finfo(np.float64).eps
    constant = variance <= n * eps * variance + (n * mean * eps) ** 2  # as scikit-learn tells them
    scaler.n_samples_seen_, scaler.n_features_in_ = n, moments.n_features
    if names is not None:
        scaler.feature_names_in_ = np.array(names, dtype=object)
    some = scaler.with_mean or scaler.with_std
    scaler.mean_ = mean if some else None
    scaler.var_ = variance if scaler.with_std else None
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance)) if scaler.with_std else None
    center = mean if scaler.with_mean else np.zeros_like(mean)
    return center, scaler.scale_ if scaler.with_std else np.ones_like(mean)


def _floats(X: Any) -> Array:
    return X.floats() if isinstance(X, Table) else X
