"""Learning through a statistic: fit is collect, then estimate; what adds and subtracts streams, merges and forgets."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import modelfile
from ..collect import collect
from ..errors import ColumnWarning, StatisticsError, listed
from ..scoring.choice import Choice
from ..sources import Source
from ..stats import Statistics
from ..tables.batch import Batch
from ..tables.labels import encode, union
from .table_estimator import TableEstimator, given_labels

Array = NDArray[Any]


class Learner(TableEstimator):
    """An estimator whose data enter through a statistic alone."""

    statistics_: Statistics
    choice_: Choice  # of models that `suffice.fit` has chosen

    # What a family provides.

    @abstractmethod
    def _statistic(self, source: Source, new: bool) -> Callable[[Batch], Any]:
        """The function from a batch to a statistic, after a check of the parameters; `new` where nothing that was
        learnt before should play a part."""

    @abstractmethod
    def _adopted(self, statistics: Any) -> Any:
        """A statistic from elsewhere as this model keeps it, or an error if it does not hold enough."""

    @abstractmethod
    def _choices(self) -> tuple[Any, ...]:
        """The parameters that an estimate depends on."""

    @abstractmethod
    def _estimate(self, statistics: Any) -> Any:
        """The model from a statistic and the parameters."""

    def _labels(self, y: Any) -> Any:
        """Labels as a source takes them, or an error where there must be some."""
        return given_labels(y, self)

    # Learning.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled rows, in one pass.

        Parameters
        ----------
        X : anything tabular, (n, d)
        y : the labels (n,), or the name of the column of X that holds them
        sample_weight : (n,) not negative, or the name of a column of X; a weight of k counts as k copies of the row
        """
        return self._fit_source(self._source(X, self._labels(y), sample_weight, new=True))

    def _fit_source(self, source: Source) -> Self:
        with self._unless_it_fails():
            statistics = collect(source, self._statistic(source, new=True))
            self._set_columns(source.names, source.n_features)
            return self._learn(statistics, source)._estimated()

    def _fit_known(self, source: Source, statistics: Any) -> Self:
        """As a fit leaves a new model, where the statistic of all rows is known already."""
        self._statistic(source, new=True)  # keeps what it sees of the columns
        self._set_columns(source.names, source.n_features)
        return self._learn(self._adopted(statistics), source)._estimated()

    @contextmanager
    def _unless_it_fails(self) -> Iterator[None]:
        """Let all that is inside change this model, or nothing: what was learnt before is not lost."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in place. The model equals one fitted on all rows so far.

        Parameters
        ----------
        classes : labels that may come later, to have them in `classes_` from the start; they need not be announced
        """
        first = not hasattr(self, "statistics_")
        source = self._source(X, self._labels(y), sample_weight, new=first, more=True)
        with self._unless_it_fails():
            statistics = collect(source, self._statistic(source, new=first))
            if not first:
                _warn_of_kinds(self.statistics_, statistics)
            if classes is not None and len(classes):
                statistics = statistics.aligned(union(encode(np.asarray(classes))[0], statistics.classes))
            statistics = statistics if first else self.statistics_ + statistics
            if first or statistics.n_features != self.n_features_in_:
                self._set_columns(source.names if first else statistics.names, statistics.n_features)
            return self._learn(statistics)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt before, in place. The model equals one that never saw them.

        Rows are not kept, so whether these were learnt can be checked only as far as the statistics tell.
        """
        self._check_fitted()
        source = self._source(X, self._labels(y), sample_weight, more=True)
        rest = self._fitted() - collect(source, self._statistic(source, new=False))
        if rest.n_features != self.n_features_in_:
            new = set(source.names or ()) - set(self._names() or ())
            raise StatisticsError(f"cannot forget rows with column {listed(sorted(new))}, which was never learnt")
        return self._learn(rest)

    def fit_statistics(self, statistics: Any) -> Self:
        """The model from a statistic alone, for instance `statistics_` of another model."""
        with self._unless_it_fails():
            statistics = self._adopted(statistics)
            self._set_columns(statistics.names, statistics.n_features)
            return self._learn(statistics)._estimated()

    def __add__(self, other: Self) -> Self:
        """A model of the rows of both, with the settings of the left one."""
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        mine, theirs = self._names(), other._names()
        aligns = self._merges_columns and mine is not None and theirs is not None
        if mine != theirs and not aligns:
            if mine is None or theirs is None:
                one, two = (listed(names) if names else "columns without names" for names in (mine, theirs))
                raise StatisticsError(f"models of different columns do not merge: {one}; and {two}")
            differ = sorted(set(mine) ^ set(theirs))
            why = f"only one of them has {listed(differ)}" if differ else "they stand in another order"
            raise StatisticsError(f"models of different columns do not merge: {why}")
        merged: Self = clone(self)
        _warn_of_kinds(self._fitted(), other._fitted())
        statistics = self._fitted() + other._fitted()
        merged._set_columns(statistics.names if aligns else mine, statistics.n_features)
        return merged._learn(statistics)

    def __radd__(self, other: object) -> Self:
        """So that ``sum(models)`` works."""
        return self if other == 0 else NotImplemented

    def _learn(self, statistics: Any, source: Source | None = None) -> Self:  # noqa: ARG002
        """Keep a statistic; `source` has its rows, where all of them are at hand."""
        self.__dict__.pop("choice_", None)  # which was made by other rows
        self.statistics_ = statistics
        return self

    def _estimated(self) -> Self:
        """Estimate the model now rather than at the first use, and return self."""
        self._model  # noqa: B018
        return self

    # What was learnt.

    @property
    def _model(self) -> Any:
        """What is estimated from `statistics_`."""
        statistics, choices = self._fitted(), self._choices()
        known: tuple[Statistics, Any, Any] | None = self.__dict__.get("_estimate_of")
        # Another thread may have learnt more in the meantime, or the user chosen something else.
        if known is None or known[0] is not statistics or known[1] != choices:
            known = self.__dict__["_estimate_of"] = statistics, choices, self._estimate(self._adopted(statistics))
        return known[2]

    # Files.

    def save(self, path: Any) -> None:
        """Write the model, statistics and all, to a file that `suffice.load` reads."""
        choice = getattr(self, "choice_", None)
        held = type(self).__name__, self._saved_params(), self._names(), self._learnt()
        modelfile.write(path, modelfile.ModelFile(*held, choice=choice))

    def _learnt(self) -> modelfile.Learnt:
        """What a file holds, or an error where it could not be loaded again."""
        self._adopted(statistics := self._fitted())
        return statistics

    def _saved_params(self) -> dict[str, Any]:
        """The parameters as a file can hold them."""
        return dict(self.get_params(deep=False))

    @classmethod
    def _from_file(cls, model: modelfile.ModelFile) -> Self:
        loaded = cls(**model.params)
        loaded._choices()  # or an error, where they make no sense
        loaded._set_columns(model.names, model.learnt.n_features)
        loaded._resume(model.learnt)
        if model.choice is not None:
            loaded.choice_ = model.choice
        return loaded

    def _resume(self, learnt: modelfile.Learnt) -> Self:
        """Take up what a file holds."""
        return self._learn(self._adopted(learnt))

    # Plumbing.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def _fitted(self) -> Statistics:
        self._check_fitted()
        return self.statistics_


def _warn_of_kinds(one: Statistics, two: Statistics) -> None:
    """Warn of named columns whose categories become text where both meet: 1 may have been "01" before it was read."""
    mine, theirs = ({s.names[j]: kind for j, kind in s.category_kinds().items() if s.names} for s in (one, two))
    for column in [column for column in mine if mine[column] != theirs.get(column, mine[column])]:
        warnings.warn(
            f"the categories of column {column!r} are {mine[column]} here and {theirs[column]} there: all become text, "
            "and 01 that was read as the number 1 is '1'; read both as one type, as in "
            f"suffice.files(path, types={{{column!r}: 'string'}})",
            ColumnWarning,
            stacklevel=3,
        )
