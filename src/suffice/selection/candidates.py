"""The models that the automatic choice tries, and how each of them scores held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..errors import DataError
from ..estimators.gaussian import GaussianClassifier
from ..estimators.generative import GenerativeClassifier
from ..estimators.mixed import MixedClassifier
from ..schema import Schema
from ..sources import Source
from ..stats.wide import is_wide
from ..tables.table import looked_at
from .fold_statistics import rounds, training_statistics
from .held_out import Trial

Array = NDArray[Any]

ALPHAS = (0.1, 10.0)  # besides 1
NUMBERS = {"float": "gaussian", "integer": "gaussian"}  # families if no number counts as a category or a count
CURVED = {"float": "yeo_johnson", "integer": "yeo_johnson"}
BINNED = {"float": "binned", "integer": "binned"}
_ENTRIES = 1 << 26  # of the covariances of all classes and folds; with more, only diagonal ones are tried


class Candidate(ABC):
    """A model to try."""

    name: str  # what to write in Python to get it

    @abstractmethod
    def scores(self, trial: Trial) -> Array:
        """Return scores (n, k) of held-out rows: log-likelihoods, up to a constant of each row."""

    @abstractmethod
    def fitted(self, source: Source) -> Any:
        """Return the model of all rows."""


class FoldSums:
    """The statistics of training rows that several candidates share, and their held-out rows as densities read them.

    Parameters
    ----------
    owner : GenerativeClassifier
        The candidate whose collector keeps the most.
    inferred : object
        What it has inferred from the rows.
    """

    def __init__(self, owner: GenerativeClassifier, inferred: Any) -> None:
        self.owner, self.inferred = owner, inferred
        self._training: list[Any] = []  # the statistic of the training rows of each split
        self._rows: dict[int, Any] = {}

    def scores(self, trial: Trial, estimator: GenerativeClassifier) -> Array:
        """Return the scores (n, k) of held-out rows by a candidate."""
        if not self._training:
            self._training = list(self._collect(trial))
        recipe, choices, names = estimator._recipe, estimator._validate(), trial.source.names

        def of_split(f: int) -> Array:
            adopted = recipe.adopted(self._training[f], choices)
            density, test = recipe.estimate(adopted, choices, names), trial.splits[f][1]
            if f not in self._rows:
                self._rows[f] = density.read(trial.source.table[test])
            scores = np.empty((len(test), len(trial.classes)))
            density.score(self._rows[f], all=scores, relative=True)
            return scores

        return trial.scores(of_split)

    def _collect(self, trial: Trial) -> Iterator[Any]:
        collector = self.owner._collector(self.inferred)
        for part in rounds((train for train, _ in trial.splits), len(trial.code)):
            statistics = training_statistics(trial.source, part, collector)
            for i in range(len(part.left)):
                statistic = statistics.without(i)
                if isinstance(statistic, DataError):
                    raise statistic
                yield statistic.aligned(trial.classes)


@dataclass(frozen=True, eq=False)
class StatisticCandidate(Candidate):
    """A generative model: held-out scores come from sums of statistics, and nothing is fitted again."""

    estimator: GenerativeClassifier
    sums: FoldSums

    @property
    def name(self) -> str:  # type: ignore[override]
        return " ".join(repr(clone(self.estimator).set_params(n_jobs=None)).split())

    def scores(self, trial: Trial) -> Array:
        return self.sums.scores(trial, self.estimator)

    def fitted(self, source: Source) -> Any:
        return clone(self.estimator)._fit_inferred(source, self.sums.inferred)


def candidates(
    trial: Trial, families: Any, n_jobs: int | None, best_of: Callable[[Collection[Candidate]], Any]
) -> Iterator[Candidate]:
    """Yield the models to try, quick ones first; `best_of` tells the best of some that were tried."""
    source, k = trial.source, len(trial.classes) * len(trial.splits)
    columns = [looked_at(column) for column in source.table.columns()]
    numbers = [column for column in columns if column.kind in ("integer", "float", "boolean")]
    is_complete = not any(np.isnan(column.floats()).any() for column in numbers)
    is_narrow = k * source.n_features**2 <= _ENTRIES
    structures = ("diag", "tied", "full") if is_complete and is_narrow else ("tied_diag", "diag")
    gaussian = families == "auto" and is_complete and len(numbers) == len(columns)
    if gaussian:
        as_rows = is_wide(source.n_rows, source.n_features)  # statistics of such tables hold no matrix of columns
        sums = FoldSums(
            GaussianClassifier("full" if is_narrow or as_rows else "diag", predictive=True, n_jobs=n_jobs), None
        )
        for structure in (*structures, "tied") if as_rows and not is_narrow else structures:
            yield StatisticCandidate(GaussianClassifier(structure, predictive=True, n_jobs=n_jobs), sums)
    known = set()
    for view in ("auto", NUMBERS, CURVED, BINNED) if families == "auto" else (families,):
        schema = Schema.of(source.table, view, source.frame)
        if schema.families in known or (gaussian and set(schema.families) == {"gaussian"}):
            continue
        known.add(schema.families)
        own = structures if schema.families.count("gaussian") > 1 else structures[:1]
        sums = FoldSums(MixedClassifier(view, covariance=own[-1], n_jobs=n_jobs), schema)
        tried = [StatisticCandidate(MixedClassifier(view, covariance=each, n_jobs=n_jobs), sums) for each in own]
        yield from tried
        structure = best_of(tried).estimator.covariance
        for alpha in ALPHAS if set(schema.families) - {"gaussian", "drop"} else ():
            yield StatisticCandidate(MixedClassifier(view, alpha, structure, n_jobs=n_jobs), sums)
