"""Learning through a statistic: fit is collect, then estimate; what adds and subtracts streams, merges and forgets."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..collect import collect
from ..errors import DataError, FamilyError
from ..learning import forgotten, warn_of_kinds
from ..scoring.loop import refuse_empty
from ..sources import Source, as_source
from ..sources.converted import with_missing_infinity
from ..stats import Statistics
from ..tables.labels import encode, union
from ..tables.readers import library
from .estimated import Estimated
from .table_estimator import given_labels

Array = NDArray[Any]


class Learner(Estimated):
    """An estimator that learns by adding up a statistic, and forgets by subtracting."""

    def _labels(self, y: Any) -> Any:
        """Labels as a source takes them, or an error where there must be some."""
        return given_labels(y, self)

    # Learning.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled rows, in one pass.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            An array, a sparse matrix, a data frame, a path or glob, a Dask or Spark frame, a table of a database.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n,), str or None
            Weights that are not negative, or the name of a column of X; a weight of k counts as k copies of the row.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.predict([[1.5], [4.5]]).tolist()
        ['a', 'b']
        """
        return self._fit_source(self._new_source(X, self._labels(y), sample_weight))._set_target(y)

    def _fit_source(self, source: Source) -> Self:
        return self._fit_inferred(source, self._infer(source))

    def _fit_inferred(self, source: Source, inferred: Any) -> Self:
        """Learn from a source of which `_infer` has told what the parameters leave to its rows."""
        with self._learning() as learner:
            statistics, inferred = learner._collected(source, inferred)
            learner._learn(statistics, source, inferred)._estimated()
        return self

    def _collected(self, source: Source, inferred: Any) -> tuple[Statistics, Any]:
        """The statistic of a source, and what its rows leave of what was inferred from some of them."""
        while True:
            try:
                return collect(source, self._collector(inferred)), inferred
            except FamilyError as error:
                inferred = self._reconsidered(inferred, error)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        decay: float | None = None,
        half_life: float | None = None,
    ) -> Self:
        """Learn from more rows, in place. The model equals one fitted on all rows so far.

        For streams that change, `decay` or `half_life` makes older rows count less. The model then equals one fitted
        with these smaller weights.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        classes : array-like or None
            Labels that may come later, to have them in `classes_` from the start. They need not be announced.
        sample_weight : array-like of shape (n,), str or None
            Weights that are not negative, or the name of a column of X.
        decay : float or None
            The weight of every earlier row is multiplied by this number, above 0 and at most 1, before the new rows
            are added. None means 1.
        half_life : float or None
            The number of new rows (or their total weight) after which earlier rows count half: a decay of
            ``0.5 ** (n / half_life)`` for n new rows.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"])
        >>> _ = clf.partial_fit([[4.0], [6.0]], ["a", "a"], decay=0.5)
        >>> clf.statistics_.weight  # two new rows, and half of two earlier ones
        array([3., 1.])
        """
        _check_fading(decay, half_life)
        if not hasattr(self, "statistics_"):
            source = self._new_source(X, self._labels(y), sample_weight)
            with self._learning() as learner:
                inferred = learner._infer(source, more=True)
                statistics, inferred = learner._collected(source, inferred)
                statistics = _announced(statistics, classes)
                learner._learn(statistics, inferred=inferred)  # not as all rows there are: more may come
                learner._set_columns(source.names, source.n_features)
                learner._library = library(source.frame)
                learner._set_target(y)
                learner._check_more(classes is not None and len(classes) > 0)
            return self
        source = self._more_source(X, self._labels(y), sample_weight)
        with self._learning() as learner:
            more = collect(source, learner._collector(learner._inferred()))
            warn_of_kinds(learner.statistics_, more)
            factor = _faded_by(float(more.weight.sum()), decay, half_life)
            earlier = learner.statistics_ if factor == 1 else learner.statistics_.faded(factor)
            learner._learn(earlier + _announced(more, classes))
            learner._keep_calibration(self)
            learner._check_more(classes is not None and len(classes) > 0)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt before, in place. The model equals one that never saw them.

        Rows are not kept, so whether these were learnt can be checked only as far as the statistics tell.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n,), str or None
            The weights that they were learnt with, multiplied by what they have decayed since.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.forget([[5.0]], ["b"]).statistics_.weight
        array([2., 1.])
        """
        self._check_fitted()
        source = self._more_source(X, self._labels(y), sample_weight)
        with self._learning() as learner:
            of = learner._collector(learner._inferred())
            learner._learn(forgotten(learner._fitted(), learner._names(), source, of))
            learner._keep_calibration(self)
        return self

    def fit_statistics(self, statistics: Any) -> Self:
        """Make the model from a statistic alone, for instance `statistics_` of another model.

        Parameters
        ----------
        statistics : Statistics
            What is known of the rows.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> GaussianClassifier("tied").fit_statistics(clf.statistics_).predict([[4.5]]).item()
        'b'
        """
        with self._learning() as learner:
            learner._learn(learner._recipe.adopted(statistics, learner._validate()))
            learner._set_columns(learner.statistics_.names, learner.statistics_.n_features)
            learner._estimated()
        return self

    def __add__(self, other: Self) -> Self:
        """A model of the rows of both, with the settings of the left one."""
        return self._merged(other) if type(other) is type(self) else NotImplemented

    def __radd__(self, other: object) -> Self:
        """So that ``sum(models)`` works."""
        return self if other == 0 else NotImplemented

    # Plumbing.

    def _check_more(self, are_all: bool) -> None:
        """Raise an error where a parameter does not fit what was learnt; `are_all` tells that no more classes come."""

    def _more_source(self, X: Any, y: Any, weight: Any) -> Source:
        """Rows to learn or forget. They may have other columns where statistics align them by name."""
        columns, aligns = self._columns(), self._recipe.merges_columns
        source = as_source(columns.as_learnt(X, y), y, weight, self.n_jobs, None if aligns else columns.names)
        if not (aligns and source.names and columns.names):
            columns.check(source)
        refuse_empty(source)
        notes = getattr(self, "column_notes_", None)
        return with_missing_infinity(source) if notes is not None and notes.takes_infinity else source


def _announced(statistics: Statistics, classes: Any) -> Statistics:
    """A statistic over its own classes and over those that may come later."""
    if classes is None or not len(classes):
        return statistics
    return statistics.aligned(union(encode(np.asarray(classes))[0], statistics.classes))


def _check_fading(decay: Any, half_life: Any) -> None:
    if decay is not None and half_life is not None:
        raise DataError("decay and half_life say the same in two ways; give one of them")
    if decay is not None and not (isinstance(decay, Real) and 0 < float(decay) <= 1):
        raise DataError(f"decay={decay!r} must be above 0 and at most 1; to start anew, use fit")
    if half_life is not None and not (isinstance(half_life, Real) and float(half_life) > 0):
        raise DataError(f"half_life={half_life!r} must be a number of rows above 0")


def _faded_by(weight: float, decay: float | None, half_life: float | None) -> float:
    """The factor for the weights of earlier rows, when rows of this weight come."""
    if half_life is not None:
        return float(max(0.5 ** (weight / half_life), np.finfo(np.float64).tiny))
    return 1.0 if decay is None else float(decay)
