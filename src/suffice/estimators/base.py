"""What every generative classifier has: fit is collect, then estimate; the prior and the cost come last."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import decisions, modelfile
from ..batch import Batch
from ..collect import collect, refuse_nonfinite
from ..densities import Density
from ..errors import DataError, StatisticsError, listed
from ..labels import encode, position, union
from ..sources import Source
from ..sources.arrays import with_cells
from ..stats import Statistics
from .classifier import LLRClassifier, Prior, given_labels
from .tidy import tidy_shares

Array = NDArray[Any]


class GenerativeClassifier(LLRClassifier):
    """A classifier that models p(x | class) and leaves prior and cost to whoever decides."""

    prior: Prior
    statistics_: Statistics

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
        """The parameters that a density depends on."""

    @abstractmethod
    def _estimate(self, statistics: Any) -> Density:
        """The density from a statistic and the parameters."""

    # Learning.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled rows, in one pass.

        Parameters
        ----------
        X : anything tabular, (n, d)
        y : the labels (n,), or the name of the column of X that holds them
        sample_weight : (n,) not negative; a weight of k counts as k copies of the row
        """
        source = self._source(X, given_labels(y, self), sample_weight, new=True)
        statistics = collect(source, self._statistic(source, new=True))
        self._set_columns(source.names, source.n_features)
        return self._learn(statistics)._estimated()

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in place. The model equals one fitted on all rows so far.

        Parameters
        ----------
        classes : labels that may come later, to have them in `classes_` from the start; they need not be announced
        """
        first = not hasattr(self, "statistics_")
        source = self._source(X, given_labels(y, self), sample_weight, new=first, more=True)
        statistics = collect(source, self._statistic(source, new=first))
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
        source = self._source(X, given_labels(y, self), sample_weight, more=True)
        rest = self.statistics_ - collect(source, self._statistic(source, new=False))
        if rest.n_features != self.n_features_in_:
            new = set(source.names or ()) - set(self._names() or ())
            raise StatisticsError(f"cannot forget rows with column {listed(sorted(new))}, which was never learnt")
        return self._learn(rest)

    def fit_statistics(self, statistics: Any) -> Self:
        """The model from a statistic alone, for instance `statistics_` of another model."""
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
            one, two = (listed(names) if names else "columns without names" for names in (mine, theirs))
            raise StatisticsError(f"models of different columns do not merge: {one}; and {two}")
        merged: Self = clone(self)
        statistics = self.statistics_ + other.statistics_
        merged._set_columns(statistics.names if aligns else mine, statistics.n_features)
        return merged._learn(statistics)

    def __radd__(self, other: object) -> Self:
        """So that ``sum(models)`` works."""
        return self if other == 0 else NotImplemented

    def _learn(self, statistics: Statistics) -> Self:
        self.statistics_ = statistics
        return self

    def _estimated(self) -> Self:
        """Estimate the density now rather than at the first use, and return self."""
        self.density_  # noqa: B018
        return self

    # What was learnt.

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self._fitted().classes

    @property
    def prior_(self) -> Array:
        """The prior that decisions use unless told otherwise, (k,)."""
        return self._prior(None)

    @property
    def _scorer(self) -> Density:
        return self.density_

    @property
    def density_(self) -> Density:
        """p(x | class), estimated from `statistics_`."""
        statistics, choices = self._fitted(), self._choices()
        known: tuple[Statistics, Any, Density] | None = self.__dict__.get("_estimate_of")
        # Another thread may have learnt more in the meantime, or the user chosen something else.
        if known is None or known[0] is not statistics or known[1] != choices:
            known = self.__dict__["_estimate_of"] = statistics, choices, self._estimate(self._adopted(statistics))
        return known[2]

    # Scores: nothing of the prior is in them.

    def log_likelihood(self, X: Any) -> Array:
        """log p(x | class), (n, k), natural logarithm."""
        return self._table(X, lambda x, out: self.density_.score(x, all=out))

    def explain(self, X: Any, a: Any = None, b: Any = None, *, tidy: bool = False) -> Any:
        """The shares of the columns in `llr`, (n, d); they sum to it.

        With ``tidy=True`` an Arrow table of the columns row, column, value and llr, one line for each cell that has a
        share, the most telling cells of each row first.
        """
        i, j = self._with_rows(self._pair(a, b))

        def shares(x: Any, out: Array) -> bool:
            one, two = self.density_.explain(x, i), self.density_.explain(x, j)
            out[:] = decisions.difference(two, one)
            impossible = np.isneginf(one).any(axis=1) & np.isneginf(two).any(axis=1)
            out[impossible] = 0.0  # neither class can be: the ratio is zero, and nothing speaks for one of them
            return self.density_.is_complete(x)

        if not tidy:
            return self._table(X, shares, self.n_features_in_)
        source = self._local(X)  # once: to convert a table may take longer than to score it
        return tidy_shares(self._table(source, shares, self.n_features_in_), source, self._names())

    def typicality(self, X: Any) -> Array:
        """The probability, under each class, of a row no more likely than this one, (n, k): small for outliers."""

        def tail(x: Any, out: Array) -> bool:
            out[:] = self.density_.typicality(x)
            return self.density_.is_complete(x)

        return self._table(X, tail)

    def score_samples(self, X: Any, prior: Prior = None) -> Array:
        """log p(x) over all classes, (n,)."""
        log_prior = decisions.log(self._prior(prior))
        return self._column(X, lambda x, out: self.density_.score(x, log_prior, evidence=out))

    def estimate_prior(self, X: Any) -> Array:
        """The class proportions of unlabelled rows, (k,), by EM."""
        return decisions.estimate_prior(self.log_likelihood(X), np.full(len(self.classes_), 1 / len(self.classes_)))

    # What only generative models can do.

    def sample(self, n: int = 1, label: Any = None, random_state: Any = None) -> tuple[Array, Array]:
        """Draw n rows (n, d) and their labels (n,): of one class, or of all in the proportions of `prior_`."""
        if not isinstance(n, Integral) or n < 0:
            raise DataError(f"n={n!r} must be a whole number of rows")
        rng = np.random.default_rng(random_state)
        k = len(self.classes_)
        chosen = rng.choice(k, n, p=self.prior_) if label is None else np.full(n, position(label, self.classes_))
        self._with_rows(np.unique(chosen).tolist())
        return self.density_.write(self.density_.sample(chosen, rng)), self.classes_[chosen]

    def impute(self, X: Any, prior: Prior = None) -> Any:
        """X with every missing cell filled in given the rest of the row: numbers by their expectation, truths and
        categories by the most probable one. All other cells stay as they are, and X what it is: a frame of the same
        library, an array. A column takes a wider type only where its own does not hold what was filled in, as integers
        do not hold an expectation."""
        log_prior = decisions.log(np.where(self._fitted().weight > 0, self._prior(prior), 0.0))
        if not np.isfinite(log_prior).any():
            raise DataError("the prior allows only classes without rows, of which nothing is known")

        source = self._local(X)
        density, table = self.density_, source.batch(0, source.n_rows).table
        rows = density.read(table)
        filled = density.impute(rows, log_prior)
        if not density.is_complete(filled):  # infinity is not missing, and stays
            refuse_nonfinite(source)
        cells = density.missing(rows)
        if cells.any():
            cells = cells & ~density.missing(filled)  # nothing is known of a column that was never observed
        return with_cells(source.frame, cells, density.write(filled) if cells.any() else None)

    # Files.

    def save(self, path: Any) -> None:
        """Write the model, statistics and all, to a file that `suffice.load` reads."""
        params = self._saved_params()
        self._adopted(self._fitted())  # or it could not be loaded again
        modelfile.write(path, modelfile.ModelFile(type(self).__name__, params, self._names(), self._fitted()))

    def _saved_params(self) -> dict[str, Any]:
        """The parameters as a file can hold them."""
        return dict(self.get_params(deep=False))

    @classmethod
    def _from_file(cls, model: modelfile.ModelFile) -> Self:
        loaded = cls(**model.params)
        loaded._choices()  # or an error, where they make no sense
        loaded._set_columns(model.names, model.learnt.n_features)
        return loaded._learn(loaded._adopted(model.learnt))

    # Plumbing.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fitted(self) -> Statistics:
        self._check_fitted()
        return self.statistics_

    def _prior(self, prior: Prior) -> Array:
        weight = self._fitted().weight
        chosen = self.prior if prior is None else prior
        if chosen is None and not weight.any():
            raise DataError("this model has no rows left; learn some, or give a prior")
        return decisions.as_prior(chosen, self.classes_, weight / (weight.sum() or 1.0))

    def _is_impossible(self, log_prior: Array) -> bool:
        """Whether the prior allows only classes that had no rows; then nothing but the prior can decide."""
        return not np.isfinite(log_prior[self.statistics_.weight > 0]).any()

    def _with_rows(self, places: Sequence[int]) -> Sequence[int]:
        """The places again, or an error if one of these classes has no rows to know anything from."""
        empty = [c for c in places if self._fitted().weight[c] == 0]
        if empty:
            raise DataError(f"class {listed(self.classes_[empty])} has no rows yet: nothing is known of it")
        return places
