"""Densities of occurrences among a row's total: the words of a document, whatever its length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from ..errors import DataError
from ..stats import CountStats
from ..tables.missing import patterns
from .base import seen_classes
from .counts import CountDensity, draw_poisson, finite, known_log_factorials, of_columns
from .linear import SOME, Counts
from .parameters import blank, class_table, class_vector, distributions

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialDensity(CountDensity):
    """A probability for every feature, such as a word: each count is an independent draw.

    Where features are missing, the counts of the others are draws from these alone. Use `estimate` or `from_parameters`
    to make one.

    Parameters
    ----------
    one : array of shape (k, d)
        Log-probabilities of the features.
    zero : array of shape (k, d)
        Zeros.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.
    length : array of shape (k,)
        The mean total of a row, for samples.

    Examples
    --------
    >>> MultinomialDensity.from_parameters([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]])
    MultinomialDensity(2 classes, 3 features)
    """

    family = "multinomial"
    length: Array

    @classmethod
    def estimate(cls, stats: CountStats, alpha: float | Sequence[float] = 1.0) -> Self:
        """Estimate the probabilities of the features: (count + alpha) / the sum of this over all features.

        Parameters
        ----------
        stats : CountStats
            Sums of counts.
        alpha : float or sequence of floats, default=1.0
            The pseudo-count of every feature, or one for each (a Dirichlet prior); 0 for maximum likelihood.

        Returns
        -------
        MultinomialDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> words = CountStats(["ham", "spam"], [1, 1], [[4, 2, 0], [1, 2, 7]])
        >>> MultinomialDensity.estimate(words).parameters()["probabilities"].round(3)  # (4 + 1) / (6 + 3), ...
        array([[0.556, 0.333, 0.111],
               [0.154, 0.231, 0.615]])
        """
        one = log_words(whole_counts(stats), of_columns(alpha, stats.n_features))
        return cls(one, np.broadcast_to(0.0, one.shape), seen_classes(stats), mean_length(stats))

    @classmethod
    def from_parameters(cls, probabilities: Any, lengths: Any = 1.0) -> Self:
        """Make a multinomial density from the probabilities of the features, such as the words of a vocabulary.

        Parameters
        ----------
        probabilities : array (n_classes, n_features)
            From 0 to 1; those of a class sum to 1.
        lengths : array (n_classes,), or one number
            The mean total of a row, for `sample` and for imputing.

        Returns
        -------
        MultinomialDensity
            The density of k classes.

        Examples
        --------
        >>> density = MultinomialDensity.from_parameters([[0.5, 0.5], [0.9, 0.1]])
        >>> np.exp(density.log_likelihood([[2, 1]])).round(6)
        array([[0.375, 0.243]])
        """
        p, given = distributions("probabilities", probabilities)
        one = np.where(given[:, None], log(p), -np.log(p.shape[1]))
        return cls(one, np.broadcast_to(0.0, one.shape), given, class_vector("lengths", lengths, len(one), given))

    def of_one_class(self) -> dict[str, Any]:
        return {"p": np.exp(self.one[0])}

    def n_parameters(self) -> int:
        return self.n_classes * (self.n_features - 1)

    def parameters(self) -> dict[str, Any]:
        """Return the probabilities and the mean total of a row, as `from_parameters` takes them.

        Returns
        -------
        dict
            "probabilities" (k, d) and "lengths" (k,).

        Examples
        --------
        >>> MultinomialDensity.from_parameters([[0.5, 0.25, 0.25]], lengths=20).parameters()
        {'probabilities': array([[0.5 , 0.25, 0.25]]), 'lengths': array([20.])}
        """
        return {"probabilities": blank(np.exp(self.one), self.seen), "lengths": blank(self.length, self.seen)}

    def _shared(self, X: Counts) -> Array:
        return log_orders(X)

    def _shared_of(self, stats: CountStats) -> float:
        return log_orders_of(stats)

    def _log_observed(self, missing: Array) -> Array | None:
        return log_mass(~missing @ np.exp(self.one).T)

    @property
    def mean(self) -> Array:
        """Of rows with the mean total of their class: a missing count says nothing about the others, nor they of it."""
        return np.exp(self.one) * self.length[:, None]

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:
        """Draw rows whose totals are Poisson about the mean of the class.

        Parameters
        ----------
        code : array of int of shape (n,)
            The class of each row to draw.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        rows
            Counts.

        Examples
        --------
        >>> density = MultinomialDensity.from_parameters([[0.5, 0.3, 0.2]], lengths=20)
        >>> drawn = density.sample(np.zeros(10_000, np.int64), np.random.default_rng(0)).dense()
        >>> drawn.shape, drawn.mean(axis=0).round()
        ((10000, 3), array([10.,  6.,  4.]))
        """
        return Counts(rng.multinomial(draw_poisson(self.length[code], rng), np.exp(self.one)[code]))

    def typicality(self, X: Counts) -> Array:
        from scipy.special import ndtr

        total = X.totals()[:, None]
        scores, out = np.empty((2, len(X), self.n_classes))
        self.score(X, all=scores, relative=True)
        whole = [(np.zeros(self.n_features, bool), slice(None))]
        for missing, rows in whole if X.missing is None else patterns(X.missing):
            p = np.where(missing, 0.0, np.exp(self.one))
            mass = p.sum(axis=1, keepdims=True)
            p, one = p / np.where(mass > 0, mass, 1.0), finite(self.one) - log_mass(mass)
            mean = (p * one).sum(axis=1)
            deviation = np.sqrt(np.maximum((p * (one - mean[:, None]) ** 2).sum(axis=1), 0.0))
            deviation[deviation <= SOME * (1 + np.abs(mean))] = 0.0  # nothing but rounding: all words are alike
            excess, spread = scores[rows] - total[rows] * mean, np.sqrt(total[rows]) * deviation
            certain = np.where(excess < -SOME * (1 + total[rows]), 0.0, 1.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                out[rows] = np.where(spread > 0, ndtr(excess / spread), certain)
        return np.asarray(out)


@dataclass(frozen=True, eq=False, repr=False)
class ComplementDensity(MultinomialDensity):
    """Weights from the words of all other classes (Rennie et al., 2003). Scores, not probabilities."""

    @classmethod
    def estimate(cls, stats: CountStats, alpha: float | Sequence[float] = 1.0, normalize: bool = False) -> Self:
        """Minus the log share of each word among the other classes.

        Parameters
        ----------
        stats : CountStats
            Sums of counts.
        alpha : float or sequence of floats
            The pseudo-count of every feature, or one for each.
        normalize : bool
            Whether the weights of a class are divided by their sum.

        Returns
        -------
        ComplementDensity
            The weights of the classes of the statistic.
        """
        whole = whole_counts(stats)
        others = whole.sum(axis=0) - whole + of_columns(alpha, stats.n_features)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = log(others / others.sum(axis=1, keepdims=True))
            share = np.nan_to_num(share, nan=0.0, neginf=np.log(np.finfo(np.float64).tiny))
            weight = np.nan_to_num(share / share.sum(axis=1, keepdims=True)) if normalize else -share
        return cls(weight, np.zeros_like(weight), seen_classes(stats), mean_length(stats))

    @classmethod
    def from_parameters(cls, weights: Any) -> Self:  # type: ignore[override]
        """Make the scores of complement naive Bayes from the weights of the features.

        Parameters
        ----------
        weights : array (n_classes, n_features)
            What each count of a feature adds to the score of a class.

        Returns
        -------
        ComplementDensity
            The scores of k classes.
        """
        table, given = class_table("weights", weights)
        return cls(table, np.zeros_like(table), given, np.ones(len(table)))

    def parameters(self) -> dict[str, Any]:
        """Return the weights of the features, as `from_parameters` takes them.

        Returns
        -------
        dict
            "weights" (k, d).
        """
        return {"weights": blank(self.one, self.seen)}

    def _shared(self, X: Counts) -> Array:
        return np.zeros(len(X))

    def log_likelihood_of(self, stats: CountStats) -> float:  # noqa: ARG002
        raise DataError("complement weights are not probabilities: a log-likelihood is not defined")

    def _log_observed(self, missing: Array) -> Array | None:  # noqa: ARG002  weights need not sum to anything
        return None

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:  # noqa: ARG002
        raise DataError("complement weights are not probabilities: sampling is not defined")

    def typicality(self, X: Counts) -> Array:  # noqa: ARG002
        raise DataError("complement weights are not probabilities: typicality is not defined")

    def fill(self, X: Counts, posterior: Array) -> Counts:  # noqa: ARG002
        raise DataError("complement weights are not probabilities: imputation is not defined")


def log_orders(X: Counts) -> Array:
    """The logarithm of the number of orders in which the counts of each row can come, (n,)."""
    cells, totals = X.log_factorials().T
    return np.asarray(totals - cells)


def log_orders_of(stats: CountStats) -> float:
    """The sum of `log_orders` over the rows of a statistic, with their weights."""
    if stats.missing is not None:
        raise DataError(
            "where cells are missing, the log-likelihood of occurrences does not follow from sums; "
            "sum log_likelihood(X) over the rows"
        )
    cells, totals = known_log_factorials(stats).sum(axis=0)
    return float(totals - cells)


def log_mass(mass: Array) -> Array:
    """Logarithms of the probabilities of what is observed; zero where there is none, and so nothing to condition on."""
    return np.asarray(np.log(np.where(mass > 0, mass, 1.0)))


def log_words(whole: Array, alpha: Array | float) -> Array:
    """log p of every word in every class, (..., k, d)."""
    count = whole + alpha
    total = count.sum(axis=-1, keepdims=True)
    if not total.all():  # a class without counts knows no words: what all classes say, or else nothing
        count = np.where(total > 0, count, whole.sum(axis=-2, keepdims=True) + alpha)
        count = np.where(count.any(axis=-1, keepdims=True), count, 1.0)
        total = count.sum(axis=-1, keepdims=True)
    count /= total
    with np.errstate(divide="ignore"):
        return np.log(count, out=count)


def whole_counts(stats: CountStats) -> Any:
    """Counts (k, d) of all rows, if the cells that are missing were like those that are not."""
    if stats.missing is None or stats.is_sparse:
        return stats.count
    return completed(stats.count, stats.observed, stats.weight[:, None])


def completed(count: Array, observed: Array, weight: Array) -> Array:
    """Counts (..., k, d) of what was observed brought up to all of the weight (..., k, 1), at the rate of the same
    class, or of all of them where it never had the feature."""
    total = observed.sum(axis=-2, keepdims=True)
    pooled = count.sum(axis=-2, keepdims=True) / np.where(total > 0, total, 1.0)
    return np.asarray(np.where(observed > 0, count / np.where(observed > 0, observed, 1.0), pooled) * weight)


def mean_length(stats: CountStats) -> Array:
    """The mean total of a row, (k,)."""
    whole = whole_counts(stats)
    total = stats.totals if whole is stats.count else whole.sum(axis=1)
    return np.asarray(total / np.where(stats.weight > 0, stats.weight, 1.0))
