"""Learning through a statistic: fit is collect, then estimate; what adds and subtracts streams, merges and forgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import modelfile
from ..collect import collect
from ..errors import ModelFileError
from ..learning import forgotten, merged, warn_of_kinds
from ..recipe import Recipe
from ..scoring.choice import Choice
from ..scoring.columns import Columns
from ..scoring.rows import refuse_empty
from ..sources import Source, as_source
from ..stats import Statistics
from ..stats.bundle import Collector
from ..tables.labels import encode, union
from .table_estimator import TableEstimator, given_labels

Array = NDArray[Any]


class Learner(TableEstimator):
    """An estimator whose data enter through a statistic alone."""

    _recipe: ClassVar[Recipe]  # what is collected, and what is estimated from it
    statistics_: Statistics
    choice_: Choice  # of models that `suffice.fit` has chosen

    # What depends on the parameters and the rows: these hooks compute and return; they store nothing.

    def _params(self) -> dict[str, Any]:
        """The parameters that the recipe takes."""
        return {name: getattr(self, name) for name in self._recipe.defaults}

    def _validate(self) -> dict[str, Any]:
        """The parameters that an estimate depends on, or an error where they make no sense."""
        return self._recipe.chosen(self._params())

    def _settled(self) -> dict[str, Any]:
        """The same, with what was chosen by the rows."""
        return self._validate()

    def _infer(self, source: Source) -> Any:  # noqa: ARG002
        """What the parameters leave to the first rows of a source."""
        return None

    def _collector(self, inferred: Any) -> Collector:  # noqa: ARG002
        """The function from a batch to a statistic."""
        return self._recipe.collector(self._validate())

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
        """
        return self._fit_source(self._new_source(X, self._labels(y), sample_weight))

    def _fit_source(self, source: Source) -> Self:
        with self._learning() as learner:
            inferred = learner._infer(source)
            statistics = collect(source, learner._collector(inferred))
            learner._learn(statistics, source, inferred)._estimated()
        return self

    def _fit_known(self, source: Source, statistics: Any) -> Self:
        """As a fit leaves a new model, where the statistic of all rows is known already."""
        statistics = self._recipe.adopted(statistics, self._validate())
        return self._learn(statistics, source, self._infer(source))._estimated()

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in place. The model equals one fitted on all rows so far.

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

        Returns
        -------
        self
            The fitted estimator.
        """
        if not hasattr(self, "statistics_"):
            source = self._new_source(X, self._labels(y), sample_weight)
            with self._learning() as learner:
                inferred = learner._infer(source)
                statistics = _announced(collect(source, learner._collector(inferred)), classes)
                learner._learn(statistics, inferred=inferred)  # not as all rows there are: more may come
                learner._set_columns(source.names, source.n_features)
            return self
        source = self._more_source(X, self._labels(y), sample_weight)
        with self._learning() as learner:
            more = collect(source, learner._collector(learner._inferred()))
            warn_of_kinds(learner.statistics_, more)
            learner._learn(learner.statistics_ + _announced(more, classes))
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
            The weights that they were learnt with.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_fitted()
        source = self._more_source(X, self._labels(y), sample_weight)
        with self._learning() as learner:
            of = learner._collector(learner._inferred())
            learner._learn(forgotten(learner._fitted(), learner._names(), source, of))
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
        """
        with self._learning() as learner:
            learner._learn(learner._recipe.adopted(statistics, learner._validate()))
            learner._set_columns(learner.statistics_.names, learner.statistics_.n_features)
            learner._estimated()
        return self

    def __add__(self, other: Self) -> Self:
        """A model of the rows of both, with the settings of the left one."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = (self._fitted(), self._names()), (other._fitted(), other._names())
        statistics, names = merged(*mine, *theirs, self._recipe.merges_columns)
        both: Self = clone(self)
        both._learn(statistics)
        both._set_columns(names, statistics.n_features)
        return both

    def __radd__(self, other: object) -> Self:
        """So that ``sum(models)`` works."""
        return self if other == 0 else NotImplemented

    def _learn(self, statistics: Any, source: Source | None = None, inferred: Any = None) -> Self:  # noqa: ARG002
        """Keep a statistic; `source` has its rows, where all of them are at hand, and `inferred` is what `_infer` saw
        in them."""
        if source is not None:
            self._set_columns(source.names, source.n_features)
        elif not hasattr(self, "statistics_") or statistics.n_features != self.n_features_in_:
            self._set_columns(statistics.names, statistics.n_features)
        self.__dict__.pop("choice_", None)  # which was made by other rows
        self.statistics_ = statistics
        return self

    def _estimated(self) -> Self:
        """Estimate the model now rather than at the first use, and return self."""
        self._estimate()
        return self

    # What was learnt.

    def _estimate(self) -> Any:
        """What is estimated from `statistics_`, kept until these or the parameters change."""
        statistics, choices = self._fitted(), self._settled()
        known: tuple[Statistics, Any, Any] | None = self.__dict__.get("_estimate_of")
        # Another thread may have learnt more in the meantime, or the user chosen something else.
        if known is None or known[0] is not statistics or known[1] != choices:
            adopted = self._recipe.adopted(statistics, choices)
            known = statistics, choices, self._recipe.estimate(adopted, choices, self._names())
            self.__dict__["_estimate_of"] = known
        return known[2]

    def _inferred(self) -> Any:
        """What `_infer` saw in the rows that were learnt."""
        return None

    # Files.

    def save(self, path: Any) -> None:
        """Write the model, statistics and all, to a file that `suffice.load` and `suffice.load_model` read.

        Parameters
        ----------
        path : path
            The file to write. It is replaced as a whole, or left as it was.
        """
        choice = getattr(self, "choice_", None)
        held = type(self).__name__, self._saved_params(), self._names(), self._learnt()
        modelfile.write(path, modelfile.ModelFile(*held, choice=None if choice is None else choice.to_header()))

    def _learnt(self) -> modelfile.Learnt:
        """What a file holds, or an error where it could not be loaded again."""
        self._recipe.adopted(statistics := self._fitted(), self._validate())
        return statistics

    def _saved_params(self) -> dict[str, Any]:
        """The parameters as a file can hold them."""
        return dict(self.get_params(deep=False))

    @classmethod
    def _from_file(cls, model: modelfile.ModelFile) -> Self:
        loaded = cls(**model.params)
        loaded._resume(model.learnt, loaded._validate())
        loaded._set_columns(model.names, model.learnt.n_features)
        if model.choice is not None:
            loaded.choice_ = Choice.from_header(model.choice)
        return loaded

    def _resume(self, learnt: modelfile.Learnt, choices: dict[str, Any]) -> Self:
        """Take up what a file holds."""
        if not isinstance(learnt, Statistics):
            raise ModelFileError(f"a {type(self).__name__} cannot be made from a {type(learnt).__name__}")
        return self._learn(self._recipe.adopted(learnt, choices))

    # Plumbing.

    def _columns(self) -> Columns:
        statistics = self._fitted()
        return replace(super()._columns(), kinds=statistics.category_kinds(), classes=statistics.classes)

    def _more_source(self, X: Any, y: Any, weight: Any) -> Source:
        """Rows to learn or forget. They may have other columns where statistics align them by name."""
        columns, aligns = self._columns(), self._recipe.merges_columns
        source = as_source(columns.as_learnt(X, y), y, weight, self.n_jobs, None if aligns else columns.names)
        if not (aligns and source.names and columns.names):
            columns.check(source)
        refuse_empty(source)
        return source

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def _fitted(self) -> Statistics:
        self._check_fitted()
        return self.statistics_


def _announced(statistics: Statistics, classes: Any) -> Statistics:
    """A statistic over its own classes and over those that may come later."""
    if classes is None or not len(classes):
        return statistics
    return statistics.aligned(union(encode(np.asarray(classes))[0], statistics.classes))
