"""The automatic choice of a model: sensible candidates, calibrated and compared on held-out rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..collect import count_cells
from ..errors import BaselineWarning, ColumnWarning, DataError, SufficeWarning, alike, listed, remedy, warn
from ..estimators.classifier import LLRClassifier
from ..estimators.table_estimator import given_labels
from ..lines import numbered
from ..progress import progress
from ..schema import DROP, Schema
from ..scoring.choice import Choice, HeldOutResult
from ..scoring.notes import ColumnNotes
from ..sources import as_source
from ..sources.base import ColumnsSource, Source
from ..sources.converted import ConvertedSource
from ..sources.frames.arrays import ArraySource
from ..sources.labelled import check_classes, labelled
from ..sources.sampling import sampled
from ..tables.features import with_features
from ..tables.infinity import infinite_cells, without_infinity
from ..tables.labels import SoftLabels, encode
from ..tables.readers import library
from ..tables.table import Table, encoded, looked_at
from ..threads import single_threaded_blas
from .candidates import candidates
from .held_out import HeldOut, Trial, groups_of, splits_of
from .models import Candidate, UnfitError

Array = NDArray[Any]

_CHANCE = 2  # standard errors
_DIGITS = 9  # of losses
ROWS = 3_500  # on which candidates are compared at most; the chosen model is fitted to all rows


def fit(
    data: Any,
    target: Any,
    sample_weight: Any = None,
    *,
    families: Any = "auto",
    calibrate: bool = True,
    generative: bool = False,
    cv: Any = None,
    groups: Any = None,
    scoring: Any = "log_loss",
    time_limit: float | None = None,
    random_state: int = 0,
    skip_unlabelled: bool = False,
    n_jobs: int | None = None,
) -> LLRClassifier:
    """Choose a model for a table automatically, and fit it to all rows.

    Sensible models are compared by the log loss of their posteriors on held-out rows. Naive Bayes models count
    correlated evidence twice; so each candidate is also evaluated with calibrated scores, and keeps the calibration if
    held-out rows prefer it. The attribute `choice_` is the table of what was tried, with the class frequencies as the
    baseline; `choice_.summary` says it in words. Columns that identify rows, such as an id, are left out with a
    warning. A warning also tells if no model is better than the class frequencies.

    Parameters
    ----------
    data : table of shape (n, d)
        An array, a data frame, a path or any other table. Values can be missing; infinite numbers count as missing,
        with a warning, and so they do in rows that the model scores.
    target : str, int or array-like of shape (n,)
        The name of the column with the labels, which may be a number in pandas, or the labels.
    sample_weight : array-like of shape (n,) or str, default=None
        Row weights, not negative, or the name of their column. They count in the model and in its evaluation.
    families : dict, str or Schema, default="auto"
        The family of each column, as in `MixedClassifier`. "auto" tries the families that the types suggest, and all
        numbers as Gaussian.
    calibrate : bool, default=True
        Whether to try calibrated scores.
    generative : bool, default=False
        Whether to try only generative models that merge, stream and forget. They have `log_likelihood`, `sample` and
        `typicality`; a logistic model, which is often better on large tables, has none of these. Mixtures are left out,
        too.
    cv : int, splitter or iterable of (train, test), default=None
        The number of folds, or how to split the rows, as in scikit-learn: TimeSeriesSplit() for rows in the order of
        time. Each row is held out at most once. None means ten folds, and five for 400 rows or more. A splitter or
        pairs of rows need all rows in memory, and models are compared on all of them.
    groups : array-like of shape (n,) or str, default=None
        Rows of one group, such as one patient, are held out together: the group of each row, or the name of their
        column, which is then not learnt from.
    scoring : {"log_loss", "error"} or cost, default="log_loss"
        What is minimised on held-out rows. A cost, in the form that `predict` takes, chooses the model whose decisions
        cost least.
    time_limit : float, default=None
        Seconds after which no further candidate is tried. If that ends the search, a warning and `choice_.summary`
        say so.
    random_state : int, default=0
        Another number makes other folds.
    skip_unlabelled : bool, default=False
        Whether to leave out rows without a label, with a warning that counts them. Otherwise, they are an error.
    n_jobs : int, default=None
        The number of threads. None means all processors.

    Returns
    -------
    classifier
        The fitted model. It is one of suffice's estimators.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.datasets import load_iris
    >>> clf = suffice.fit(*load_iris(return_X_y=True))
    >>> best, baseline = clf.choice_.candidates[0], clf.choice_.baseline
    >>> round(best.log_loss, 2), round(baseline.log_loss, 2)
    (0.06, 1.1)
    >>> clf.choice_.beats_baseline
    True
    """
    whole = as_source(data, None if target is None else given_labels(target, fit), sample_weight, n_jobs)
    if skip_unlabelled:
        whole = labelled(whole)
    own: dict[str, str] = {}
    if isinstance(groups, str):
        _check_column(groups, whole.names or ())
        own = {groups: "it holds the groups"}
    every = not (cv is None or isinstance(cv, Integral))  # a splitter is about all rows
    if every:
        source = whole.in_memory().array_source()
    else:
        source, places, _, n_rows = sampled(whole, ROWS, random_state)
        if groups is not None and not own:
            groups = groups_of(groups, n_rows)[places]
    check_classes(whole, source.y)
    table, infinite = without_infinity(source.table)
    source = source.with_table(table) if infinite.any() else source
    if own:
        source, groups = _grouped(source, groups)
    trial, left_out = _trial(source, families, cv, groups, random_state)
    left_out |= own
    schema = replace(trial.schema, others=left_out)
    trial = replace(trial, schema=schema, is_sample=not every and source.n_rows >= ROWS)
    criterion = _Criterion.of(scoring, trial.classes)
    search = _Search(trial, criterion, calibrate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)  # of candidates
        search.run(candidates(trial, families, n_jobs, generative, calibrate, search), time_limit)
    best, choice = search.best, replace(search.choice(left_out), library=library(whole.frame))
    fitted = partial(_fitted, best.candidate, trial, bool(infinite.any()))
    try:
        model: LLRClassifier = fitted(_without(whole, left_out))
    except KeyboardInterrupt:
        some = source if trial.is_sample else sampled(source, ROWS, random_state).rows
        warn(
            f"interrupted: the chosen model is fitted only to {some.n_rows} rows on which models were compared",
            UserWarning,
        )
        model, choice = fitted(_without(some, left_out)), replace(choice, fitted_rows=some.n_rows)
    model._set_target(target)
    model.choice_ = choice
    model.column_notes_ = ColumnNotes.of(trial.schema, left_out, takes_infinity=True)
    if calibrate and best.held_out is not None and (calibration := best.candidate.calibration(best.held_out)):
        model.calibration_ = calibration.aligned(trial.classes, model.classes_)  # a sample may lack some
    if not choice.beats_baseline:
        warn(
            "on held-out rows, no model is better than the class frequencies by more than chance explains: the columns "
            "may say nothing about the target, or the rows may be too few" + remedy(". See choice_.summary", ""),
            BaselineWarning,
        )
    return model


def _without(source: Source, left_out: Collection[str]) -> Source:
    """Return a source without the columns that are left out."""
    if not left_out or source.names is None:
        return source
    names = tuple(name for name in source.names if name not in left_out)
    return ColumnsSource(source, [source.names.index(name) for name in names], names)


def _check_column(groups: str, names: Collection[str]) -> None:
    """Raise an error if there is no column of this name."""
    if groups not in names:
        known = f"the columns are {listed(names, 10)}{alike(groups, names)}"
        raise DataError(f"{remedy('groups=', '--groups ')}{groups!r}: there is no such column; {known}")


def _fitted(candidate: Candidate, trial: Trial, infinite: bool, whole: Source) -> Any:
    """Return the model of all rows. Infinite numbers are missing values, where rows hold some: `infinite` says whether
    those do that candidates were compared on."""
    found = [infinite]

    def finite(table: Table) -> Table:
        rows, n_cells = without_infinity(table)
        found.append(bool(n_cells.any()))
        return rows

    source = ConvertedSource(whole, finite)
    source.frame = whole.frame
    # No cell is looked at before the model has failed, unless its features would take infinity for a large number.
    looks = infinite or whole.checkpoint is not None or (trial.is_sample and candidate.has_features)
    tries = [source] if looks else [whole, source]
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            model = candidate.fitted(tries[0])
    except DataError:
        if len(tries) == 1 or not any(count_cells(whole, np.isinf)):
            raise
        model = candidate.fitted(source)
    if any(found):
        families = dict(zip(trial.schema.names, trial.schema.families, strict=True))
        names = whole.names or range(whole.n_features)
        _, *n_cells = count_cells(whole, np.isinf)
        read = [n * (families.get(str(name)) != DROP) for name, n in zip(names, n_cells, strict=True)]
        if any(read):
            warn(infinite_cells(read, names), ColumnWarning)
    return model


def _grouped(source: ArraySource, name: str) -> tuple[ArraySource, Array]:
    """Return the source without the column of the groups, and the group of each row, (n,)."""
    names = source.names or ()
    distinct, code = looked_at(source.table.columns()[names.index(name)]).coded()
    rest = source.table.take([j for j, other in enumerate(names) if other != name])
    return source.with_table(rest), np.array([*distinct.tolist(), None], object)[code]


def _trial(source: ArraySource, families: Any, cv: Any, groups: Any, random_state: int) -> tuple[Trial, dict[str, str]]:
    """Return the rows to compare candidates on, and the columns that are left out."""
    if source.n_rows == 0:
        raise DataError("the table has no rows")
    if source.y is None:
        raise DataError("target is missing: give the name of the column with the labels, or the labels")
    if isinstance(source.y, SoftLabels):
        raise DataError("the automatic choice does not support soft labels; give one label per row")
    classes, code = encode(source.y)
    source, schema, left_out = _telling(source, families)
    weight = np.ones(len(code)) if source.weight is None else source.weight
    if len(present := np.unique(code[weight > 0])) < 2:
        raise DataError(f"at least two classes are needed, but all rows are of class {listed(classes[present])}")
    splits, exchangeable = splits_of(cv, groups, code, weight, random_state)
    return Trial(source, schema, classes, code, weight, splits, exchangeable), left_out


@dataclass(frozen=True)
class _Criterion:
    """What a choice minimises on held-out rows."""

    name: str  # a field of HeldOutResult
    cost: Array | None = None  # (decisions, k)

    @classmethod
    def of(cls, scoring: Any, classes: Array) -> _Criterion:
        if isinstance(scoring, str):
            if scoring not in ("log_loss", "error"):
                raise DataError(f'scoring={scoring!r} is not known; give "log_loss", "error" or a cost')
            return cls(scoring)
        return cls("cost", decisions.as_cost(scoring, classes)[1])

    def losses(self, trial: Trial, log_posterior: Array) -> dict[str, Array]:
        """Return the losses of each row, (n,), by name."""
        found = {"log_loss": trial.log_loss(log_posterior), "error": log_posterior.argmax(axis=1) != trial.code}
        if self.cost is not None:
            decided = decisions.cheapest(np.exp(log_posterior), self.cost)
            found["cost"] = self.cost[decided, trial.code]
        return {name: np.asarray(loss, np.float64) for name, loss in found.items()}


@dataclass(frozen=True)
class _Tried:
    """A candidate with its losses on held-out rows."""

    name: str
    losses: dict[str, Array]  # (n,) each; NaN for rows that it was not tried on, since it was clearly worse on others
    value: float  # the mean of those that the choice minimises
    seconds: float | None = None
    candidate: Any = None
    held_out: HeldOut | None = None  # of the class frequencies, there are none of these


class _Search:
    """The candidates that were tried so far."""

    def __init__(self, trial: Trial, criterion: _Criterion, calibrate: bool) -> None:
        self.trial, self.criterion, self.calibrate = trial, criterion, calibrate
        self._tried: dict[str, _Tried] = {}  # by name
        self.failed: list[Exception] = []
        self.ended_by: str | None = None  # what ended the search before all models were tried, of `ENDS`

    def run(self, models: Generator[Candidate], time_limit: float | None) -> None:
        """Try candidates until there are no more, the time is over, or the user interrupts with Ctrl-C."""
        start = time.monotonic()
        try:
            with progress("Trying models", 1.0) as advance, single_threaded_blas(), closing(models):
                for model in models:
                    if self.tried and time_limit is not None and time.monotonic() - start > time_limit:
                        self.ended_by = "time_limit"
                        break
                    try:
                        found = self._try(model)
                    except (UnfitError, np.linalg.LinAlgError) as error:
                        self.failed.append(error)
                        continue
                    self._tried[found.name] = found
                    best = f"best so far: {self.best.name} ({self.best.value:.4g})"
                    advance(0.0, f"{numbered(len(self.tried), 'model')} tried; {best}")
        except KeyboardInterrupt:
            if not self.tried:
                raise
            self.ended_by = "interrupt"
        if self.ended_by is not None:
            why = "interrupted" if self.ended_by == "interrupt" else "the time limit ended the search"
            n = len(self.tried)
            which = f"the best of the {n} models that were" if n > 1 else "the only model that was"
            warn(f"{why}: {which} tried so far is fitted", UserWarning)

    def _try(self, model: Candidate) -> _Tried:
        """Try a candidate on all held-out rows, unless those of the first splits show that it is not the best."""
        start, trial = time.perf_counter(), self.trial
        splits, first = range(len(trial.splits)), range(len(trial.first.splits))
        races = bool(self._tried) and trial.exchangeable and model.is_by_split
        scores = model.scores(trial, first if races else splits)
        if races:
            found, losses = self._losses(model, trial.first, scores)
            apart = losses[self.criterion.name] - self.best.losses[self.criterion.name]
            if _is_more_than_chance(trial, apart):
                value, seconds = self.best.value + trial.mean(apart), time.perf_counter() - start
                return _Tried(model.name, losses, value, seconds, model, found)
            scores += model.scores(trial, splits[len(first) :])
        found, losses = self._losses(model, trial, scores)
        value = trial.mean(losses[self.criterion.name])
        return _Tried(model.name, losses, value, time.perf_counter() - start, model, found)

    def _losses(self, model: Candidate, trial: Trial, scores: Array) -> tuple[HeldOut, dict[str, Array]]:
        """Return what is held out, and the losses (n,) by name, with NaN for rows that are not."""
        found, log_posterior = model.held_out(trial, scores, self.calibrate)
        losses = self.criterion.losses(trial, log_posterior)
        return found, {name: np.where(trial.fold < 0, np.nan, loss) for name, loss in losses.items()}

    @property
    def tried(self) -> Collection[_Tried]:
        return self._tried.values()

    @property
    def best(self) -> _Tried:
        """The candidate with the least loss."""
        if not self.tried:
            raise self.failed[0]
        return _least(self.tried)

    def best_of(self, models: Collection[Candidate]) -> Any:
        """Return the best of some candidates, or the first if none of them could be tried."""
        some = [one for one in self.tried if one.candidate in models]
        return _least(some).candidate if some else next(iter(models))

    def ratio(self, models: Collection[Candidate]) -> float:
        """Return the loss of the best of some candidates, relative to that of the best of all."""
        own = min((one.value for one in self.tried if one.candidate in models), default=np.inf)
        return own / max(self.best.value, 1e-300)

    def is_worse(self, models: Collection[Candidate], others: Collection[Candidate] | None = None) -> bool:
        """Whether the best of some candidates is worse than the best of others, or of all, by more than chance
        explains."""
        found = [[one for one in self.tried if some is None or one.candidate in some] for some in (models, others)]
        if not all(found):
            return not found[0]
        one, other = (_least(some).losses[self.criterion.name] for some in found)
        return _is_more_than_chance(self.trial, one - other)

    def drop_unless_clear(self, models: Collection[Candidate]) -> None:
        """Forget those of some candidates that are better than all others, but not by more than chance explains."""
        others = [one for one in self.tried if one.candidate not in models]
        if not others:
            return
        best, name = _least(others), self.criterion.name
        for one in [one for one in self.tried if one.candidate in models]:
            apart = best.losses[name] - one.losses[name]
            if _least([best, one]) is one and not _is_more_than_chance(self.trial, apart):
                del self._tried[one.name]

    def choice(self, left_out: dict[str, str]) -> Choice:
        """Return the table of what was tried, best first."""
        trial, name = self.trial, self.criterion.name
        losses = self.criterion.losses(trial, trial.log_prior)
        baseline = _Tried("class frequencies", losses, trial.mean(losses[name]))
        others = [self._result(one) for one in self.tried if one is not self.best]
        tried = (self._result(self.best), *sorted(others, key=lambda one: one.worse))
        n, folds = int(np.count_nonzero(trial.counted)), len(trial.splits)
        return Choice(tried, self._result(baseline), folds, left_out, n, name, ended_by=self.ended_by)

    def _result(self, one: _Tried) -> HeldOutResult:
        mean, best = self.trial.mean, self.best.losses
        own: dict[str, Any] = {
            name: mean(losses) if one.losses is best else mean(best[name]) + mean(losses - best[name])
            for name, losses in one.losses.items()
        }
        apart = one.losses[self.criterion.name] - best[self.criterion.name]
        worse, uncertainty = mean(apart), self.trial.deviation_of_mean(apart)
        own |= {"worse": worse, "uncertainty": uncertainty}
        held_out = one.held_out
        folds = None if held_out is None or held_out.trial is self.trial else len(held_out.trial.splits)
        calibrated = held_out is not None and held_out.calibrated
        return HeldOutResult(one.name, **own, calibrated=calibrated, seconds=one.seconds, folds=folds)


def _least(tried: Collection[_Tried]) -> _Tried:
    """Return the one with the least loss; of those that differ by rounding alone, the first, which is the quickest."""
    return min(tried, key=lambda one: round(one.value, _DIGITS))


def _is_more_than_chance(trial: Trial, losses: Array) -> bool:
    """Whether the mean of differences of losses (n,) is above zero by more than chance explains."""
    return trial.mean(losses) > _CHANCE * trial.deviation_of_mean(losses)


def _telling(source: ArraySource, families: Any) -> tuple[ArraySource, Schema, dict[str, str]]:
    """Return the source without columns of which nothing can be learnt, its schema, and why these are left out."""
    table = encoded(source.table)
    schema = Schema.of(table, families, source.frame, decimal=source.decimal)
    schema.warn()
    left_out = schema.left_out() if source.names else {}
    kept = [j for j, name in enumerate(schema.names) if name not in left_out]
    schema, table = schema.take(kept), table.take(kept) if left_out else table
    return source.with_table(with_features(table, schema.features)), schema, left_out
