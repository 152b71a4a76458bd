"""Pipelines as paths of steps, each of which maps a training statistic to another, without the rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..errors import DataError
from ..estimators._sklearn import returns_arrays
from ..estimators.classifier import LLRClassifier
from ..estimators.gaussian import GaussianClassifier
from ..estimators.learner import Learner
from ..estimators.reduction import Reduction, is_wide
from ..gaussian_choices import learns_from_missing
from ..projection import Projection
from ..sources import LocalSource, Source
from ..stats import CollectGaussian, CollectMoments, MomentStats, Statistics
from ..stats.scatter import HIGHER
from ..tables.batch import Batch
from ..tables.table import Table

Array = NDArray[Any]
Collecting = Callable[[Batch], Statistics]
_MOMENTS = "moments"  # the statistic that Gaussian models and reductions share
ROWS = ""  # for models that no statistic here leads to


class NotOursError(Exception):
    """A step of a pipeline cannot be learnt from statistics."""


@dataclass(frozen=True)
class PathStep:
    """A step of a path.

    A PCA or LDA makes two: all components that any candidate needs, and the first n of them, so that candidates share
    the costly part.
    """

    kind: str  # "scale", "reduce", "cut" or "classify"
    estimator: Any  # not fitted
    key: str  # equal where steps are

    @classmethod
    def of(cls, estimator: Any) -> list[PathStep]:
        if not isinstance(estimator, Reduction):
            kind = "scale" if isinstance(estimator, StandardScaler) else "classify"
            return [cls(kind, estimator, _key(estimator))]
        whole = clone(estimator).set_params(n_components=None)
        return [cls("reduce", estimator, _key(whole)), cls("cut", estimator, _key(estimator.n_components))]


@dataclass(frozen=True)
class GridPoint:
    """One point of the parameter grid."""

    place: int
    estimator: Any  # with its parameters, not fitted
    root: str  # the statistic that its path starts from
    path: list[PathStep]
    error: Exception | None = None  # for which it makes no sense

    def fitted(self, steps: tuple[Any, ...]) -> Any:
        """Return the estimator with its steps replaced by fitted ones."""
        if not isinstance(self.estimator, Pipeline):
            return steps[-1]
        pipeline, own = clone(self.estimator), iter(steps)
        pipeline.steps = [(name, step if is_passed(step) else next(own)) for name, step in pipeline.steps]
        return pipeline


@dataclass(frozen=True)
class State:
    """The state after some steps: the training statistic and the rows to score, both transformed."""

    statistic: Any
    names: tuple[str, ...] | None  # of the columns
    rows: tuple[Any, ...]  # of the test set, and of the training set where it is scored too
    steps: tuple[Any, ...] = ()  # fitted
    whole: Projection | None = None  # to cut from
    known: dict[str, State] = field(default_factory=dict)  # what some steps lead to, by their keys

    def after(self, steps: list[PathStep]) -> State:
        """Return the state after one more step; the steps differ only in the number of components."""
        if isinstance(self.statistic, DataError):
            raise self.statistic
        if (known := self.known.pop(steps[0].key, None)) is not None:
            return known
        return cast("State", getattr(self, f"_{steps[0].kind}")([step.estimator for step in steps]))

    def ahead(self, groups: list[list[PathStep]]) -> State:
        """Return the same state with costly work done in advance; errors are raised when the work is used."""
        known = {}
        for steps in groups:
            if steps[0].kind == "reduce":
                with suppress(Exception):
                    known[steps[0].key] = self.after(steps)
        done = len(known) == len(groups)
        return replace(self, known=known, statistic=None if done else self.statistic)  # which may be large

    def fitted(self, reduction: Reduction) -> State:
        """Return the state after a PCA or LDA that keeps its statistic, so that it can be used on its own."""
        moments = _linear(self.statistic)
        fitted = clone(reduction).fit_statistics(moments)
        fitted._set_columns(self.names, moments.n_features)
        return State(fitted.projection_.of_moments(moments), None, self.rows, (*self.steps, fitted))

    def _scale(self, estimators: list[Any]) -> State:
        fitted, moments = clone(estimators[0]), self.statistic
        moments = moments if moments.layout == "coquartic" else _linear(moments)
        center, scale = _fit_scaler(fitted, moments, self.names)
        rows = tuple(transformed(fitted, X) for X in self.rows)
        return State(moments.scaled(center, scale), None, rows, (*self.steps, fitted))

    def _reduce(self, estimators: list[Reduction]) -> State:
        moments = _linear(self.statistic)
        whole = estimators[0]._recipe.whole(moments, estimators[0]._validate())
        directions = whole.first(max(_kept(estimator, whole, moments.total) for estimator in estimators))
        reduction = clone(estimators[0])._of(directions, moments.classes, self.names)
        rows = tuple(reduction.transform(X) for X in self.rows)
        return State(directions.of_moments(moments), self.names, rows, self.steps, whole)

    def _cut(self, estimators: list[Reduction]) -> State:
        assert self.whole is not None
        reduction = estimators[0]
        directions = self.whole.first(reduction._recipe.kept(self.whole, reduction._validate(), self.statistic.total))
        fitted = clone(estimators[0])._of(directions, self.statistic.classes, self.names)
        n = len(directions.values)
        return State(self.statistic.first(n), None, tuple(X[:, :n] for X in self.rows), (*self.steps, fitted))

    def _classify(self, estimators: list[Any]) -> State:
        fitted = clone(estimators[0]).fit_statistics(self.statistic)
        fitted._set_columns(self.names, self.statistic.n_features)
        return State(None, None, self.rows, (*self.steps, fitted))


def transformed(step: Any, X: Any) -> Array:
    """Return rows transformed by a fitted step that is not the last."""
    if not isinstance(step, StandardScaler):
        return cast("Array", step.transform(X))
    return (_floats(X) - (step.mean_ if step.with_mean else 0.0)) / (step.scale_ if step.with_std else 1.0)


def _kept(estimator: Reduction, whole: Projection, weight: float) -> int:
    """Return how many components an estimator keeps; invalid numbers raise an error later, in its fit."""
    try:
        return estimator._recipe.kept(whole, estimator._validate(), weight)
    except DataError:
        return 1


def _linear(moments: MomentStats) -> MomentStats:
    """Return moments that a linear map can be applied to."""
    return moments.to_layout("full") if moments.layout in HIGHER else moments


def paths(estimators: list[Any], source: Source) -> tuple[list[GridPoint], dict[str, Root]]:
    """Return the candidates, and the statistics that their paths start from."""
    roots: dict[str, Root] = {}
    layouts, candidates = set(), []
    for place, estimator in enumerate(estimators):
        root, wrong, path = ROWS, None, []
        try:
            steps = _steps(estimator)
            if layout := _layout(steps, source):
                layouts.add(layout)
                root = _MOMENTS
            elif len(steps) == 1 and isinstance(steps[0], Learner) and not isinstance(steps[0], GaussianClassifier):
                collector = _collector(steps[0], source)
                root = _key(collector) if _is_ours(steps[0]) else ROWS
                roots |= {root: Root(collector, steps[0])} if root else {}
            path = [step for one in steps for step in PathStep.of(one)]
        except NotOursError:
            root, path = ROWS, []  # fitted to rows
        except Exception as error:
            wrong = error
        candidates.append(GridPoint(place, estimator, root, path, wrong))
    if layouts:
        higher = [layout for layout in reversed(HIGHER) if layout in layouts]
        richest = layouts.pop() if len(layouts) == 1 else higher[0] if higher else "full"
        every = [step for candidate in candidates if candidate.root == _MOMENTS for step in candidate.path]
        learns = all(step.kind == "classify" and learns_from_missing(step.estimator._params()) for step in every)
        roots[_MOMENTS] = Root((CollectGaussian if learns else CollectMoments)(richest))
    return candidates, roots


@dataclass(frozen=True)
class Root:
    """A statistic that paths start from."""

    collector: Collecting
    owner: Any = None  # the classifier that has chosen what to collect by a look at all rows

    def serves(self, training: LocalSource) -> bool:
        """Return whether the training rows alone would give the same collector."""
        return self.owner is None or _key(_collector(self.owner, training)) == _key(self.collector)


def _collector(learner: Learner, source: Source) -> Collecting:
    """Return the collector that a learner uses for a source."""
    return learner._collector(learner._infer(source))


def _key(thing: Any) -> str:
    """Return a key that is equal for equal objects; objects without comparable contents equal only themselves."""
    try:
        return str(joblib.hash(thing))
    except Exception:  # whatever a function or class of somebody's raises when it is pickled
        return f"{id(thing)}"


def _is_ours(step: Any) -> bool:
    """Return whether a step uses the recipe of its own class; a subclass may have another fit."""
    return "_recipe" in vars(type(step))


def _is_plain(step: Any, source: Source) -> bool:
    """Return whether a transformer is one whose formula can be applied to statistics."""
    if not returns_arrays(step):
        return False
    if isinstance(step, StandardScaler):
        return not source.is_sparse and {step.with_mean, step.with_std} <= {True, False}
    return _is_ours(step)


def _layout(steps: tuple[Any, ...], source: Source) -> str | None:
    """Return the layout of moments that these steps need, or None if moments are not enough."""
    *reductions, classifier = steps
    if not isinstance(classifier, GaussianClassifier) or not _is_ours(classifier):
        return None
    if not all(_is_plain(step, source) for step in reductions):
        return None
    layout = cast("CollectMoments", classifier._collector(None)).layout
    if classifier.shrinkage == "loo":
        return None  # chosen by rows
    if not reductions:
        return layout
    if layout != "quartic" and all(isinstance(step, StandardScaler) for step in reductions):
        return layout
    if layout in HIGHER:
        return None  # of projected rows they do not follow from those of the rows
    if is_wide(source):
        return None
    return "pooled" if layout == "pooled" else "full"


def is_ours(estimator: Any) -> bool:
    """Return whether an estimator consists of steps that can be learnt from statistics, or of our classifiers."""
    try:
        _steps(estimator)
    except NotOursError:
        return False
    return True


def _steps(estimator: Any) -> tuple[Any, ...]:
    """Return the steps of an estimator without passthrough; raise an error for a step that is somebody else's."""
    named = estimator.steps if isinstance(estimator, Pipeline) else [(type(estimator).__name__, estimator)]
    for place, (name, step) in enumerate(named):
        if place == len(named) - 1:
            fits = isinstance(step, LLRClassifier)
        else:
            fits = is_passed(step) or type(step) is StandardScaler or isinstance(step, Reduction)
        if not fits:
            raise NotOursError(f"step {name!r} is {step!r}")
    return tuple(step for _, step in named if not is_passed(step))


def is_passed(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _fit_scaler(scaler: Any, moments: MomentStats, names: tuple[str, ...] | None) -> tuple[Array, Array]:
    """Fit a StandardScaler to moments; return its means and scales, (d,) each."""
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
    if isinstance(X, Source):
        X = X.in_memory().array_source().table
    return X.floats() if isinstance(X, Table) else X
