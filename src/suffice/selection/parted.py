"""Searches over partitioned data: models are sent to the partitions, and sums come back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from ..errors import DataError, warn
from ..estimators._sklearn import named_scorers
from ..sources import PartedSource
from ..tables.batch import Batch
from ..tables.table import Table
from .fold_statistics import FoldStatistics, by_fold
from .folds import Folds
from .paths import GridPoint, State, transformed
from .tallies import NeedsRowsError, Sums, Tally, Truth, add_sums, tally
from .work import Work

Array = NDArray[Any]
SideSums = dict[tuple[int, str, str], Sums | Exception]  # by model, side and scorer


class PartedWork(Work):
    """A search in three passes: count the labels, collect the folds, evaluate the held-out rows."""

    def __init__(self, cv: Any, base: Any, points: Any, source: PartedSource, *args: Any) -> None:
        super().__init__(base, points, source, *args)
        self.source = source
        self.n_splits, self.stratified = _folds(cv)
        scorers = named_scorers(self.scorer) or {"score": self.scorer}
        self.tallies = {name: tally(one) for name, one in scorers.items()}
        for candidate in self.candidates:
            if candidate.error is None and candidate.root not in self.roots:
                raise NeedsRowsError(
                    f"{candidate.estimator!r} cannot be fitted from statistics, which partitioned data need; "
                    "leave it out, or pass the table in memory"
                )

    def results(self) -> list[dict[str, Any]]:
        folds = Folds.of(self.source.labels_alone(), self.n_splits, self.stratified)
        learnt = FoldStatistics.of(self.source, folds, {name: root.collector for name, root in self.roots.items()})
        ends = list(self._led(learnt))
        counts = {"test": learnt.count, "train": learnt.count.sum(axis=0) - learnt.count}
        Booleans = {side: [Truth.of(folds.classes, count) for count in counts[side]] for side in self.sides}
        models = [(s, end.steps) if isinstance(end, State) else None for s, _, end, _ in ends]
        began = time.perf_counter()
        evaluation = _Evaluation(folds, models, self.tallies, Booleans, "sample_weight" in self.score_params)
        found = self.source.reduce_parts(evaluation, _merged)
        score_time = (time.perf_counter() - began) / len(models)
        out: list[dict[str, Any]] = [{}] * (len(self.candidates) * self.n_splits)
        for m, (s, group, end, fit_time) in enumerate(ends):
            result: dict[str, Any] = {"fit_time": fit_time, "fit_error": None, "score_time": score_time}
            if isinstance(end, State):
                model = end.steps[-1]
                for side in self.sides:
                    result[f"{side}_scores"] = self._scores(model, found, m, Booleans[side][s], side)
            else:
                result |= self._failed(end)
            for candidate in group:
                out[candidate.place * self.n_splits + s] = result | {"n_test_samples": int(learnt.count[s].sum())}
        return out

    def _led(self, learnt: FoldStatistics) -> Iterator[tuple[int, list[GridPoint], State | Exception, float]]:
        """Yield for each split the candidates that share a model, the state of that model, and the seconds it took."""
        training = {name: learnt.training(name) for name in self.roots}
        self.total = {name: each.whole() for name, each in training.items()}
        for s in range(self.n_splits):
            start = {name: State(each.without(s), self.names, ()) for name, each in training.items()}
            for group, end, seconds in self._ends(start):
                assert end is not None  # all of them follow from statistics
                yield s, group, end, seconds

    def _scores(self, model: Any, found: SideSums, m: int, truth: Truth, side: str) -> Any:
        scores = {}
        for name, one in self.tallies.items():
            try:
                total = found[m, side, name]
                if isinstance(total, Exception):
                    raise total
                scores[name] = one.score(total, model, truth)
            except Exception as error:
                if self.error_score == "raise":
                    raise
                scores[name] = self.error_score
                warn(
                    "Scoring failed. The score on this train-test partition for these parameters will be set to "
                    f"{self.error_score}. Details: {type(error).__name__}: {error}",
                    UserWarning,
                )
        return scores if named_scorers(self.scorer) else scores["score"]


def _folds(cv: Any) -> tuple[int, bool]:
    """Return the number of folds and whether they are stratified; raise an error if they need all rows."""
    splitter = check_cv(cv, np.array([0, 1]), classifier=True)
    if type(splitter) not in (KFold, StratifiedKFold) or splitter.shuffle:
        raise NeedsRowsError(
            f"cv={cv!r} needs all rows at once, but the data are partitioned; use a number, KFold or StratifiedKFold "
            "without shuffle, or pass the table in memory"
        )
    return splitter.n_splits, isinstance(splitter, StratifiedKFold)


@dataclass(frozen=True)
class _Evaluation:
    """What is sent to the partitions: all models, each to evaluate its held-out rows."""

    folds: Folds
    models: list[tuple[int, tuple[Any, ...]] | None]  # the split and the fitted steps
    tallies: dict[str, Tally]
    Booleans: dict[str, list[Truth]]  # by side, for each split
    weighted: bool

    def __call__(self, number: int, batches: Iterator[Batch]) -> SideSums:
        found: SideSums = {}
        for batch, _, fold in self.folds.of_part(number, batches):
            for f, rows in by_fold(fold):
                found = _merged(found, self._batch(batch.rows(rows), f))
        return found

    def _batch(self, batch: Batch, fold: int) -> SideSums:
        found: SideSums = {}
        reached: dict[tuple[int, ...], Any] = {}
        for m, model in enumerate(self.models):
            side = "test" if model is not None and model[0] == fold else "train"
            if model is None or side not in self.Booleans:
                continue
            split, steps = model
            for name, one in self.tallies.items():
                try:
                    X = _reached(batch.table, steps[:-1], reached)
                    weight = batch.weight if self.weighted else None
                    said = one.of(steps[-1], X, np.asarray(batch.y), weight, self.Booleans[side][split])
                    found[m, side, name] = said
                except Exception as error:
                    found[m, side, name] = DataError(str(error))
        return found


def _reached(table: Table, steps: tuple[Any, ...], reached: dict[tuple[int, ...], Any]) -> Any:
    """Rows after some steps; models that share steps share the transformed rows."""
    if not steps:
        return table
    key = tuple(map(id, steps))
    if key not in reached:
        reached[key] = transformed(steps[-1], _reached(table, steps[:-1], reached))
    return reached[key]


def _merged(a: SideSums, b: SideSums) -> SideSums:
    both = dict(a)
    for key, sums in b.items():
        known = both.get(key, {})
        if not isinstance(known, Exception):
            both[key] = sums if isinstance(sums, Exception) else add_sums(known, sums)
    return both
