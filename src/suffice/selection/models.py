"""Models to try, and how each of them scores held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from inspect import signature
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..collect import refuse_nonfinite
from ..densities import Density
from ..errors import DataError
from ..estimators.generative import GenerativeClassifier
from ..estimators.logistic import LogisticClassifier
from ..regression.design import Design
from ..regression.model import LogisticModel
from ..regression.path import LogisticPath
from ..schema import Schema
from ..scoring.calibrated import Calibration
from ..sources import Source
from ..sources.frames.arrays import ArraySource
from ..sources.sampling import sampled
from ..tables.features import with_features
from ..tables.labels import encode
from ..tables.table import Table, encoded, settled
from ..weighting import WeightedShares, Weighting
from .fold_statistics import Round, rounds, training_statistics
from .held_out import HeldOut, Trial

Array = NDArray[Any]

NUMBERS = {"float": "gaussian", "integer": "gaussian"}  # families if no number counts as a category or a count
POWERS = {"float": "yeo_johnson", "integer": "yeo_johnson"}
ROWS = 40_000  # to which a chosen logistic model is fitted at most
_MUCH = 1 << 26  # products of shares of columns; with more, only some rows show whether weights are worth it
_FEW_ROWS = 5000  # which are read once more for every split sooner than statistics are added, unless they have text


class UnfitError(DataError):
    """A candidate cannot learn from the training rows of some split."""


class Candidate(ABC):
    """A model to try."""

    name: str  # what to write in Python to get it

    @property
    def is_by_split(self) -> bool:
        """Whether the scores of some splits take less time than those of all."""
        return True

    @property
    def has_features(self) -> bool:
        """Whether features such as bins are among what it learns from rows as they come."""
        return False

    @abstractmethod
    def scores(self, trial: Trial, splits: range) -> Array:
        """Return scores (n, k) of the rows that some splits hold out, and 0 for others.

        They are log-likelihoods, up to a constant of each row.
        """

    @abstractmethod
    def fitted(self, source: Source) -> Any:
        """Return the model of all rows."""

    def held_out(self, trial: Trial, scores: Array, calibrate: bool) -> tuple[HeldOut, Array]:
        """Return what the scores (n, k) say of held-out rows, and their log posteriors (n, k)."""
        return HeldOut.of(trial, scores, calibrate)

    def calibration(self, found: HeldOut) -> Calibration | None:
        """Return the calibration of the model of all rows, if it has one."""
        return found.calibration()


class FoldSums:
    """The statistics of training rows that several candidates share, and their held-out rows as densities read them.

    Parameters
    ----------
    owner : GenerativeClassifier
        The candidate whose collector keeps the most.
    inferred : object
        What it has inferred from the rows.
    source : ArraySource
        The rows of the trial, labelled by the index of the class.
    """

    def __init__(self, owner: GenerativeClassifier, inferred: Any, source: ArraySource) -> None:
        self.owner, self.inferred, self.source = owner, inferred, source
        self._training: list[Any] = []  # the statistics of the training rows of the first splits
        self._further: Iterator[Any] | None = None  # those of others
        self._rows: dict[int, Any] = {}

    def scores(self, trial: Trial, splits: range, estimator: GenerativeClassifier) -> Array:
        """Return the scores (n, k) of the rows that some splits hold out, by a candidate."""
        held_out = self._held_out(trial, splits, estimator)

        def of_split(f: int) -> Array:
            density, rows = held_out(f)
            scores = np.empty((len(rows), len(trial.classes)))
            density.score(rows, all=scores, relative=True)
            return scores

        return trial.scores(of_split, splits)

    def shares(self, trial: Trial, estimator: GenerativeClassifier) -> Array:
        """Return the shares (n, k, d) of columns in the log-likelihoods of held-out rows, by a candidate."""
        held_out = self._held_out(trial, range(len(trial.splits)), estimator)
        shares = np.zeros((len(trial.code), len(trial.classes), self.source.n_features))
        for f, (_, test) in enumerate(trial.splits):
            density, rows = held_out(f)
            shares[test] = density.shares(rows)
        return shares

    def _held_out(
        self, trial: Trial, splits: range, estimator: GenerativeClassifier
    ) -> Callable[[int], tuple[Density, Any]]:
        """Return a function from a split to the density of its training rows and the rows that it holds out."""
        self._further = self._further or self._collect(trial)
        self._training += islice(self._further, max(0, splits.stop - len(self._training)))
        recipe, names = estimator._recipe, trial.source.names
        choices = {**estimator._validate(), "lenient": True}  # a few steps of EM are enough to compare models

        def of_split(f: int) -> tuple[Density, Any]:
            density = recipe.estimate(recipe.adopted(self._training[f], choices), choices, names)
            if f not in self._rows:
                self._rows[f] = density.read(self.source.table[trial.splits[f][1]])
            return density, self._rows[f]

        return of_split

    def _collect(self, trial: Trial) -> Iterator[Any]:
        collector = self.owner._collector(self.inferred)
        training, n = [train for train, _ in trial.splits], len(trial.code)
        is_quick = n <= _FEW_ROWS and (self.inferred is None or "text" not in self.inferred.families)
        for part in map(Round.alone, training) if is_quick else rounds(training, n):
            statistics = training_statistics(self.source, part, collector)
            for i in range(len(part.left)):
                statistic = statistics.without(i)
                if isinstance(statistic, DataError):
                    raise statistic
                yield statistic.aligned(np.arange(len(trial.classes)))


@dataclass(frozen=True, eq=False)
class StatisticCandidate(Candidate):
    """A generative model: held-out scores come from sums of statistics, and nothing is fitted again."""

    estimator: GenerativeClassifier
    sums: FoldSums
    view: View

    @property
    def name(self) -> str:  # type: ignore[override]
        return in_python(self.estimator)

    @property
    def has_features(self) -> bool:
        return bool(self.view.schema.features)

    def scores(self, trial: Trial, splits: range) -> Array:
        return self.sums.scores(trial, splits, self.estimator)

    def fitted(self, source: Source) -> Any:
        try:
            return clone(self.estimator)._fit_inferred(source, self.sums.inferred)
        except DataError:
            if not getattr(self.estimator, "predictive", False):
                raise
            # Rows that the choice has not seen may have missing values, which predictive models cannot learn from.
            plain = changed(self.estimator, predictive=False)
            return plain._fit_inferred(source, self.sums.inferred)


class WeightedCandidate(Candidate):
    """A generative model whose columns have weights, which are fitted to the rows that splits hold out.

    Parameters
    ----------
    base : StatisticCandidate
        The model without weights. Its families take them: see `Density.weighted`.
    """

    def __init__(self, base: StatisticCandidate) -> None:
        self.base, self.name = base, f"{base.name}  # columns weighted"
        self._known: Array | None = None  # the shares of columns
        self._fits: dict[int, Weighting] = {}  # by the part of the rows that each leaves out

    @property
    def has_features(self) -> bool:
        return self.base.has_features

    def scores(self, trial: Trial, splits: range) -> Array:
        """Return the scores (n, k) of rows that some splits hold out, with weights that were fitted to other rows."""
        part, some = trial.parts, np.isin(trial.fold, splits)
        scores = trial.no_scores()
        for p in np.unique(part[some]).tolist():
            own = some & (part == p)
            scores[own] = self._fit(trial, p)(self._shares(trial)[own])
        return scores

    def _shares(self, trial: Trial) -> Array:
        """The shares (n, k, d) of columns in the log-likelihoods of held-out rows."""
        if self._known is None:
            self._known = self.base.sums.shares(trial, self.base.estimator)
            self._known[~np.isfinite(self._known)] = 0.0  # of classes that a split lacks, which its prior rules out
        return self._known

    def _fit(self, trial: Trial, left_out: int) -> Weighting:
        """The weights of the rows that do not belong to a part, or of some of many; -1 means those of all rows."""
        if left_out not in self._fits:
            shares = self._shares(trial)
            is_much = left_out >= 0 and shares.size * shares.shape[2] > _MUCH
            used = trial.some_rows if is_much else np.arange(len(trial.code))
            used = used[trial.parts[used] != left_out]
            possible = np.isfinite(trial.log_prior[used, trial.code[used]])
            used = used[(trial.counted[used] > 0) & possible]
            own = trial.code[used], trial.counted[used], trial.log_prior[used]
            rows = WeightedShares(shares[used], *own)
            self._fits[left_out] = rows.fit(next(iter(self._fits.values()), None))
        return self._fits[left_out]

    def fitted(self, source: Source) -> Any:
        return self.base.fitted(source)

    def held_out(self, trial: Trial, scores: Array, calibrate: bool) -> tuple[HeldOut, Array]:  # noqa: ARG002
        return HeldOut(trial, scores, True), trial.posterior(scores)  # weights calibrate

    def calibration(self, found: HeldOut) -> Calibration:
        weighting, rows = self._fit(found.trial, -1), int(np.count_nonzero(found.trial.counted))
        return Calibration(1.0, weighting.offset, rows, weights=weighting.weights)


class LogisticFits:
    """Logistic regressions of the same columns with any penalty, each of which starts from the others.

    Parameters
    ----------
    trial : Trial
        The rows.
    view : View
        How columns are read.
    expansion : {"linear", "quadratic"}
        Whether products of numbers are features, too.
    n_jobs : int or None
        The number of threads.
    """

    def __init__(self, trial: Trial, view: View, expansion: str = "linear", n_jobs: int | None = None) -> None:
        self.trial, self.view, self.expansion, self.n_jobs = trial, view, expansion, n_jobs
        self._paths: dict[int | None, tuple[Design, LogisticPath]] = {}  # by split, and of all rows

    def estimator(self, penalty: float) -> LogisticClassifier:
        """Return the estimator that has such a penalty, not fitted."""
        return LogisticClassifier(
            C=1 / penalty, families=self.view.families, expansion=self.expansion, n_jobs=self.n_jobs
        )

    @property
    def is_by_split(self) -> bool:
        """Whether rows are held out by splits, since one at a time would take too long, or they belong together."""
        return not self.trial.exchangeable or self._path(None)[1].folds is not None

    def scores(self, splits: range, penalty: float) -> Array:
        """Return the scores (n, k) of the rows that some splits hold out."""
        trial = self.trial
        scores = trial.no_scores()
        if trial.exchangeable:
            used = np.flatnonzero(trial.weight)
            logit, log_prior = self._path(None)[1].held_out(penalty, splits).held_out, trial.log_prior[used]
            some = np.isin(trial.fold[used], splits)
            scores[used[some]] = (logit - np.where(np.isneginf(log_prior), 0.0, log_prior))[some]
            return scores
        for f in splits:
            test = trial.splits[f][1]
            model, own = self._model(f, penalty), np.empty((len(test), len(trial.classes)))
            model.score(model.read(self.view.source.table[test]), all=own, relative=True)
            scores[test] = own
        return scores

    def _rows(self, split: int | None) -> Array:
        rows = np.arange(len(self.trial.code)) if split is None else self.trial.splits[split][0]
        return np.asarray(rows[self.trial.weight[rows] > 0])

    def _path(self, split: int | None) -> tuple[Design, LogisticPath]:
        """Encode the rows that a split trains on, or all of them, to fit them with any penalty."""
        if split not in self._paths:
            trial, rows = self.trial, self._rows(split)
            code, weight = trial.code[rows], trial.weight[rows]
            if not np.bincount(code, minlength=len(trial.classes)).all():
                raise UnfitError("some training rows lack a class")
            table = self.view.source.table
            table = table if len(rows) == len(table) else table[rows]
            _, path = self._paths[split] = self._encoded(table, code, weight)
            if path.folds is not None:
                path.folds = trial.fold[rows]
        return self._paths[split]

    def _encoded(self, table: Table, code: Array, weight: Array) -> tuple[Design, LogisticPath]:
        schema, products = self.view.schema, self.expansion == "quadratic"
        design = Design.of(table, schema.families, weight, derived=schema.features, products=products)
        if not np.isfinite(design.rows.sum()):
            refuse_nonfinite(self.view.source)
            raise UnfitError("some values are too large; rescale the columns")
        n_classes = int(code.max()) + 1
        return design, LogisticPath(design.rows, code, weight, n_classes, n_jobs=self.n_jobs, roughly=True)

    def _model(self, split: int | None, penalty: float) -> LogisticModel:
        trial, rows = self.trial, self._rows(split)
        design, path = self._path(split)
        count = np.bincount(trial.code[rows], trial.weight[rows], len(trial.classes))
        return design.model(trial.classes, count / count.sum(), *path.fit(penalty))

    def fitted(self, source: Source, penalty: float) -> LogisticClassifier:
        """Return the model of all rows, or of `ROWS` of them; others would change that one more than exact steps do."""
        if not self.trial.is_sample:
            self._path(None)[1].refined(penalty)
        model = self._model(None, penalty)
        if self.trial.is_sample:
            some = sampled(source, ROWS, 0).rows
            weight = np.ones(some.n_rows) if some.weight is None else some.weight
            used = np.flatnonzero(weight)
            classes, code = encode(np.asarray(some.y)[used])
            table = with_features(encoded(some.table), self.view.schema.features)
            table, weight = table if len(used) == len(table) else table[used], weight[used]
            design, path = self._encoded(table, code, weight)
            start = design.start(model) if np.array_equal(classes, model.classes) else None
            prior = np.bincount(code, weight) / weight.sum()
            fit = path.refined if some.n_rows < ROWS else path.fit
            model = design.model(classes, prior, *fit(penalty, start))
        return LogisticClassifier._of(model, source.names, **self.estimator(penalty).get_params())


@dataclass(frozen=True, eq=False)
class LogisticCandidate(Candidate):
    """Logistic regression with a penalty."""

    fits: LogisticFits
    penalty: float  # 1 / C

    @property
    def name(self) -> str:  # type: ignore[override]
        return in_python(self.fits.estimator(self.penalty))

    @property
    def is_by_split(self) -> bool:
        return self.fits.is_by_split

    def scores(self, trial: Trial, splits: range) -> Array:  # noqa: ARG002 (the fits know it)
        return self.fits.scores(splits, self.penalty)

    def fitted(self, source: Source) -> Any:
        return self.fits.fitted(source, self.penalty)


def changed(estimator: Any, **params: Any) -> Any:
    """Return a copy of an estimator that is not fitted, with other parameters; `clone` would take much longer."""
    other = copy(estimator)
    for name, value in params.items():
        setattr(other, name, value)
    return other


@cache
def _defaults(estimator: Any) -> dict[str, Any]:
    return {name: each.default for name, each in sorted(signature(estimator).parameters.items())}


def in_python(estimator: Any) -> str:
    """What to write in Python to get an estimator."""
    kind: Any = type(estimator)
    own = {name: (getattr(estimator, name), default) for name, default in _defaults(kind).items()}
    shown = (f"{name}={value!r}" for name, (value, default) in own.items() if repr(value) != repr(default))
    return f"{type(estimator).__name__}({', '.join(one for one in shown if not one.startswith('n_jobs='))})"


@dataclass(frozen=True)
class View:
    """A way to read the columns."""

    families: Any  # to ask for
    schema: Schema
    source: ArraySource

    @classmethod
    def of(cls, trial: Trial, families: Any, own: Mapping[str, str] | None = None) -> View:
        """Return the columns as `families` has them, or with families of their own for some kinds of them."""
        key = None if own is None else tuple(own.items())
        if key not in trial.views:
            schema = trial.schema if own is None else trial.schema.changed(own, trial.source.table)
            own_columns = [j for j in schema.blocks().get("categorical", ()) if j < trial.source.n_features]
            table = settled(with_features(trial.source.table, schema.features), own_columns)
            source = ArraySource(table, trial.code, trial.source.weight)
            source.n_jobs = trial.source.n_jobs
            trial.views[key] = cls(families if own is None else own, schema, source)
        found: View = trial.views[key]
        return found

    def has(self, family: str) -> bool:
        """Whether a column has this family."""
        return family in self.schema.families
