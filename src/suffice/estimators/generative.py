"""What every generative classifier has: likelihoods, and what only they allow. The prior and the cost come last."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import decisions
from ..collect import collect, refuse_nonfinite
from ..densities import Density
from ..errors import DataError, EmptyClassWarning, SingularWarning, listed
from ..leave_one_out import LeaveOneOut, coded, frequencies_without, held_out_scores
from ..scoring.explanation import tidy_shares
from ..sources import LocalSource
from ..sources.frames.filling import with_cells
from ..sources.frames.selection import with_columns
from ..tables.labels import position
from .classifier import LLRClassifier, Prior
from .learner import Learner

Array = NDArray[Any]


class GenerativeClassifier(LLRClassifier, Learner):
    """A classifier that models p(x | class) and leaves prior and cost to whoever decides."""

    prior: Prior

    @abstractmethod
    def _leave_one_out(self) -> LeaveOneOut:
        """What was learnt, ready to do without any one row; or an error where that has no closed form."""

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
    def density_(self) -> Density:
        """p(x | class), estimated from `statistics_`."""
        return cast("Density", self._model)

    @property
    def _scorer(self) -> Density:
        return self.density_

    # Scores: nothing of the prior is in them.

    def log_likelihood(self, X: Any) -> Any:
        """log p(x | class), (n, k), natural logarithm."""
        density = self.density_
        return self._table(X, "log_likelihood", lambda x, out: density.score(x, all=out))

    def explain(self, X: Any, a: Any = None, b: Any = None, *, tidy: bool = False) -> Any:
        """The shares of the columns in `llr`, (n, d); they sum to it.

        With ``tidy=True`` an Arrow table of the columns row, column, value and llr, one line for each cell that has a
        share, the most telling cells of each row first.
        """
        i, j = self._with_rows(self._pair(a, b))
        density, columns = self.density_, self._names() or range(self.n_features_in_)

        def shares(x: Any, out: Array) -> bool:
            one, two = density.explain(x, i), density.explain(x, j)
            out[:] = decisions.difference(two, one)
            impossible = np.isneginf(one).any(axis=1) & np.isneginf(two).any(axis=1)
            out[impossible] = 0.0  # neither class can be: the ratio is zero, and nothing speaks for one of them
            return density.is_complete(x)

        if not tidy:
            return self._table(X, "llr", shares, columns)
        source = self._in_memory(X)  # once: to convert a table may take longer than to score it
        return tidy_shares(self._table(source, "llr", shares, columns), source, self._names())

    def typicality(self, X: Any) -> Any:
        """The probability, under each class, of a row no more likely than this one, (n, k): small for outliers."""
        density = self.density_

        def tail(x: Any, out: Array) -> bool:
            out[:] = density.typicality(x)
            return density.is_complete(x)

        return self._table(X, "typicality", tail)

    def predict_open_set(
        self, X: Any, prior: Prior = None, cost: Any = None, *, level: float = 0.01, unknown: Any = None
    ) -> Array:
        """The Bayes decision as in `predict`, but `unknown` for rows that are typical of no class, (n,) objects.

        Parameters
        ----------
        level : the share of the rows of a class that may be taken for strangers; see `typicality`
        unknown : what to decide for a stranger
        """
        source = self._here(X)
        return decisions.open_set(self.predict(source, prior, cost), self.typicality(source), level, unknown)

    def score_samples(self, X: Any, prior: Prior = None) -> Any:
        """log p(x) over all classes, (n,)."""
        density, log_prior = self.density_, decisions.log(self._prior(prior))
        return self._column(X, "log_evidence", lambda x, out: density.score(x, log_prior, evidence=out))

    def estimate_prior(self, X: Any) -> Array:
        """The class proportions of unlabelled rows, (k,), by EM."""
        return decisions.estimate_prior(
            self.log_likelihood(self._here(X)), np.full(len(self.classes_), 1 / len(self.classes_))
        )

    # Held-out scores.

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """log p(x | class), (n, k), of every row by the model of all other rows: exact, and without fitting them.

        No prior is in it; see `leave_one_out_proba`. The model itself is not changed; classes are in sorted order.
        A class that has no rows but this one has log-likelihood -inf.
        """
        return self._held_out(X, y, sample_weight)[0]

    def leave_one_out_proba(self, X: Any, y: Any, sample_weight: Any = None, prior: Prior = None) -> Array:
        """P(class | x), (n, k), of every row by the model of all other rows, as their `predict_proba` would say.

        Parameters
        ----------
        prior : as of `predict_proba`. Where it is the frequencies of the training rows, a row does not count in that of
            its own class either: with it, held-out decisions would lean towards the truth.
        """
        scores, source, classes = self._held_out(X, y, sample_weight)
        chosen, k = self.prior if prior is None else prior, len(classes)
        if chosen is None:
            log_prior = decisions.log(frequencies_without(*coded(source.batch(0, source.n_rows), classes), k))
        else:
            given = decisions.as_prior(chosen, classes, np.full(k, 1 / k))
            log_prior = np.broadcast_to(decisions.log(given), scores.shape)
        return np.exp(decisions.log_posterior(scores + log_prior, log_prior))

    def _held_out(self, X: Any, y: Any, weight: Any) -> tuple[Array, LocalSource, Array]:
        """Held-out scores, the rows that they are of, and the classes."""
        X = with_columns(X, self._names(), y, weight)
        source = self._source(X, self._labels(y), weight, new=True).in_memory()
        model = clone(self)  # what this one has learnt plays no part, but for its columns
        of = model._statistic(source, new=True)
        statistics = collect(source, of)
        model._set_columns(source.names, source.n_features)
        with warnings.catch_warnings():
            for of_one in (SingularWarning, EmptyClassWarning):  # every model without a row would have its own
                warnings.simplefilter("ignore", of_one)
            ready = model._learn(statistics, source)._leave_one_out()
            return held_out_scores(source, of, statistics, ready, model._estimate), source, statistics.classes

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
        library, with the columns of this model, or an array. A column takes a wider type only where its own does not
        hold what was filled in, as integers do not hold an expectation."""
        log_prior = decisions.log(np.where(self._fitted().weight > 0, self._prior(prior), 0.0))
        if not np.isfinite(log_prior).any():
            raise DataError("the prior allows only classes without rows, of which nothing is known")

        source = self._in_memory(X)
        density, table = self.density_, source.batch(0, source.n_rows).table
        rows = density.read(table)
        filled = density.impute(rows, log_prior)
        if not density.is_complete(filled):  # infinity is not missing, and stays
            refuse_nonfinite(source)
        cells = density.missing(rows)
        if cells.any():
            cells = cells & ~density.missing(filled)  # nothing is known of a column that was never observed
        return with_cells(source.frame, cells, density.write(filled) if cells.any() else None)

    # Plumbing.

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

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
