"""Densities of Booleans and counts, feature by feature: Bernoulli, binomial and Poisson."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from ..errors import DataError
from ..stats import CountStats
from ..stats.base import frozen
from ..tables.table import Table
from .base import seen_classes
from .linear import Counts, LinearDensity, Slopes
from .parameters import blank, check_weights, class_table, probability_table, refuse, times
from .typicality import drawn_typicality

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class CountDensity(LinearDensity):
    """log p(x | class) = sum over observed features of zero + x one, or of (units - x) zero + x one where the rest
    counts, and a term that all classes share. -inf stands for what is impossible."""

    one: Array  # (k, d) for every count of a feature
    zero: Array  # (k, d) for a feature that is observed; where the rest counts, for every count that did not come
    seen: Array  # (k,)

    rest_counts = False

    @property
    def n_features(self) -> int:
        return int(self.one.shape[1])

    @property
    def units(self) -> Array | float:
        """How many counts a feature has room for, (d,), where the rest counts."""
        return 1.0

    def of_classes(self, indices: Sequence[int]) -> Self:
        own = [field.name for field in fields(self) if field.name != "trials"]
        return replace(self, **{name: getattr(self, name)[list(indices)] for name in own})

    @cached_property
    def slopes(self) -> Slopes:
        return Slopes(finite(self.one) - finite(self.zero) if self.rest_counts else finite(self.one))

    @cached_property
    def constant(self) -> Array:
        return frozen(np.asarray((self.units * finite(self.zero)).sum(axis=1)))

    @cached_property
    def violations(self) -> Slopes | None:
        impossible = np.isneginf(self.one).astype(np.float64)
        if self.rest_counts:
            impossible -= np.isneginf(self.zero)
        return Slopes(impossible) if impossible.any() else None

    @cached_property
    def violated(self) -> Array:
        return frozen(np.asarray((self.units * np.isneginf(self.zero)).sum(axis=1)))

    def present(self, c: int) -> tuple[Array, Array]:
        return self.units * finite(self.zero[c]), self.units * np.isneginf(self.zero[c])

    @property
    @abstractmethod
    def mean(self) -> Array:
        """The expected count of every feature in every class, (k, d)."""

    def typicality(self, X: Counts) -> Array:
        return drawn_typicality(self, X)

    def fill(self, X: Counts, posterior: Array) -> Counts:
        return X if X.missing is None else Counts(np.where(X.missing, posterior @ self.mean, X.values))

    def to_arrays(self) -> dict[str, Array]:
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        return cls(**{name: np.array(array) for name, array in arrays.items()})


@dataclass(frozen=True, eq=False, repr=False)
class BernoulliDensity(CountDensity):
    """A probability for every Boolean feature: p where it is present (above zero), 1 - p where it is absent.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    one : array of shape (k, d)
        Log-probabilities of presence.
    zero : array of shape (k, d)
        Log-probabilities of absence.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> BernoulliDensity.from_parameters([[0.5, 0.1], [0.9, 0.2]])
    BernoulliDensity(2 classes, 2 features)
    """

    family = "bernoulli"
    presence = rest_counts = True

    @classmethod
    def estimate(cls, stats: CountStats, alpha: float | Sequence[float] = 1.0) -> Self:
        """Estimate the probabilities that features are present: (present + alpha) / (rows + 2 alpha).

        Parameters
        ----------
        stats : CountStats
            Counts of presence.
        alpha : float or sequence of floats, default=1.0
            The pseudo-count of presence, and that of absence, one for all features or one for each; 0 for maximum
            likelihood.

        Returns
        -------
        BernoulliDensity
            The density of the classes of the statistic.

        Examples
        --------
        Laplace's rule of succession, for a sun that rose on 3 of 3 days:

        >>> sun = CountStats(["sun"], [3], [[3]], presence=True)
        >>> BernoulliDensity.estimate(sun).parameters(), BernoulliDensity.estimate(sun, alpha=0).parameters()
        ({'probabilities': array([[0.8]])}, {'probabilities': array([[1.]])})
        """
        one, zero = log_shares(stats.count, stats.observed, of_columns(alpha, stats.n_features))
        return cls(one, zero, seen_classes(stats))

    @classmethod
    def from_parameters(cls, probabilities: Any) -> Self:
        """Make a Bernoulli density from the probabilities that features are present.

        Parameters
        ----------
        probabilities : array (n_classes, n_features), or (n_classes,) of one feature
            From 0 to 1.

        Returns
        -------
        BernoulliDensity
            The density of k classes.

        Examples
        --------
        >>> coins = BernoulliDensity.from_parameters([0.5, 0.9])
        >>> np.exp(coins.log_likelihood([[1], [0]])).round(6)
        array([[0.5, 0.9],
               [0.5, 0.1]])
        """
        p, given = probability_table("probabilities", probabilities)
        return cls(log(p), log(1 - p), given)

    def parameters(self) -> dict[str, Any]:
        """Return the probabilities that features are present, as `from_parameters` takes them.

        Returns
        -------
        dict
            "probabilities" (k, d).

        Examples
        --------
        >>> BernoulliDensity.from_parameters([[0.5, 0.25]]).parameters()
        {'probabilities': array([[0.5 , 0.25]])}
        """
        return {"probabilities": blank(self.mean, self.seen)}

    @property
    def takes_weights(self) -> bool:
        return True

    def weighted(self, weights: Array) -> Self:
        check_weights(weights, self.n_features)
        return replace(self, one=times(self.one, weights), zero=times(self.zero, weights))

    @property
    def mean(self) -> Array:
        return np.exp(self.one)

    def fill(self, X: Counts, posterior: Array) -> Counts:
        likely = (posterior @ self.mean > 0.5).astype(np.float64)
        return X if X.missing is None else Counts(np.where(X.missing, likely, X.values))

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:
        drawn = rng.random((len(code), self.n_features)) < self.mean[code]
        return Counts(drawn.astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class BinomialDensity(CountDensity):
    """A probability of success for every feature, out of a known number of trials.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    one : array of shape (k, d)
        Log-probabilities of a success.
    zero : array of shape (k, d)
        Log-probabilities of a failure.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.
    trials : array of shape (d,)
        The number of trials.

    Examples
    --------
    >>> BinomialDensity.from_parameters(10, [0.5, 0.9])
    BinomialDensity(2 classes, 1 features)
    """

    family = "binomial"
    trials: Array
    rest_counts = True

    @classmethod
    def estimate(cls, stats: CountStats, trials: Any, alpha: float = 0.0) -> Self:
        """Estimate the probabilities of a success: (successes + alpha) / (rows trials + 2 alpha).

        Parameters
        ----------
        stats : CountStats
            Sums of successes.
        trials : int or array of shape (d,)
            The number of trials of every row.
        alpha : float, default=0.0
            The pseudo-count of successes, and that of failures; 0 for maximum likelihood.

        Returns
        -------
        BinomialDensity
            The density of the classes of the statistic.

        Examples
        --------
        Two rows of ten tosses, with 15 heads together:

        >>> BinomialDensity.estimate(CountStats(["coin"], [2], [[15]]), trials=10).parameters()
        {'trials': array([10.]), 'probabilities': array([[0.75]])}
        """
        trials = as_trials(trials, stats.n_features)
        rounds = np.broadcast_to(stats.observed * trials, stats.count.shape)
        if (stats.count > rounds * (1 + 1e-12)).any():
            raise DataError("there are more successes than trials; give a larger number of trials")
        one, zero = log_shares(stats.count, rounds, alpha)
        return cls(one, zero, seen_classes(stats), trials)

    @classmethod
    def from_parameters(cls, trials: Any, probabilities: Any) -> Self:
        """Make a binomial density from the trials and the probabilities of a success.

        Parameters
        ----------
        trials : int or array (n_features,)
            The number of trials of every row, the same in all classes.
        probabilities : array (n_classes, n_features), or (n_classes,) of one feature
            Of a success, from 0 to 1.

        Returns
        -------
        BinomialDensity
            The density of k classes.

        Examples
        --------
        >>> density = BinomialDensity.from_parameters(2, [0.5])
        >>> np.exp(density.log_likelihood([[1]])).round(6)
        array([[0.5]])
        """
        p, given = probability_table("probabilities", probabilities)
        return cls(log(p), log(1 - p), given, as_trials(trials, p.shape[1]))

    def of_one_class(self) -> dict[str, Any]:
        return {"trials": self.trials, "p": np.exp(self.one[0])}

    def n_parameters(self) -> int:
        return int(self.one.size)

    def parameters(self) -> dict[str, Any]:
        """Return the trials and the probabilities of a success, as `from_parameters` takes them.

        Returns
        -------
        dict
            "trials" (d,) and "probabilities" (k, d).

        Examples
        --------
        >>> BinomialDensity.from_parameters(10, [0.5]).parameters()
        {'trials': array([10.]), 'probabilities': array([[0.5]])}
        """
        return {"trials": self.trials, "probabilities": blank(np.exp(self.one), self.seen)}

    @property
    def shared_parameters(self) -> frozenset[str]:
        return frozenset(["trials"])

    @property
    def units(self) -> Array:
        return self.trials

    def read(self, table: Table) -> Counts:
        counts = super().read(table)
        if (counts.dense() > self.trials).any():
            raise DataError(f"there are rows with more successes than trials ({self.trials.tolist()})")
        return counts

    def _shared(self, X: Counts) -> Array:
        from scipy.special import gammaln

        x = X.dense()
        ways = gammaln(self.trials + 1) - gammaln(x + 1) - gammaln(self.trials - x + 1)
        return np.asarray((ways if X.missing is None else np.where(X.missing, 0.0, ways)).sum(axis=1))

    def _shared_of(self, stats: CountStats) -> float:  # noqa: ARG002
        raise DataError(
            "the log-likelihood of successes needs a sum that is not kept; sum log_likelihood(X) over the rows"
        )

    @property
    def mean(self) -> Array:
        return np.exp(self.one) * self.trials

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:
        return Counts(rng.binomial(self.trials.astype(np.int64), np.exp(self.one)[code]))


@dataclass(frozen=True, eq=False, repr=False)
class PoissonDensity(CountDensity):
    """A rate for every feature: counts of events.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    one : array of shape (k, d)
        The logarithms of the rates.
    zero : array of shape (k, d)
        The rates, negative.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> PoissonDensity.from_parameters([[1.0, 0.2], [3.0, 0.1]])
    PoissonDensity(2 classes, 2 features)
    """

    family = "poisson"

    @classmethod
    def estimate(cls, stats: CountStats, alpha: float | Sequence[float] = 1.0) -> Self:
        """Estimate the expected counts: (sum + alpha m) / (rows + alpha), where m is the mean of all rows.

        Parameters
        ----------
        stats : CountStats
            Sums of counts.
        alpha : float or sequence of floats, default=1.0
            How many rows the Gamma prior is worth, one number for all features or one for each; 0 for maximum
            likelihood.

        Returns
        -------
        PoissonDensity
            The density of the classes of the statistic.

        Examples
        --------
        Deaths by the kick of a horse, 122 in 200 years of Prussian corps (Bortkiewicz, 1898):

        >>> PoissonDensity.estimate(CountStats(["corps"], [200], [[122]]), alpha=0).parameters()
        {'rates': array([[0.61]])}
        """
        events, rows = gamma_posterior(stats.count, stats.observed, of_columns(alpha, stats.n_features))
        rate = events / rows
        return cls(log(rate), -rate, seen_classes(stats))

    @classmethod
    def from_parameters(cls, rates: Any) -> Self:
        """Make a Poisson density from rates.

        Parameters
        ----------
        rates : array (n_classes, n_features), or (n_classes,) of one feature
            The expected counts, not negative.

        Returns
        -------
        PoissonDensity
            The density of k classes.

        Examples
        --------
        >>> density = PoissonDensity.from_parameters([1.0, 2.0])
        >>> np.exp(density.log_likelihood([[0]])).round(6)
        array([[0.367879, 0.135335]])
        """
        rate, given = class_table("rates", rates)
        refuse("rates", rate < 0, rate, "rates must not be negative")
        return cls(log(rate), -rate, given)

    def of_one_class(self) -> dict[str, Any]:
        return {"rate": self.mean[0]}

    def parameters(self) -> dict[str, Any]:
        """Return the expected counts, as `from_parameters` takes them.

        Returns
        -------
        dict
            "rates" (k, d).

        Examples
        --------
        >>> PoissonDensity.from_parameters([[0.61, 2.0]]).parameters()
        {'rates': array([[0.61, 2.  ]])}
        """
        return {"rates": blank(self.mean, self.seen)}

    def _shared(self, X: Counts) -> Array:
        return -X.log_factorials()[:, 0]

    def _shared_of(self, stats: CountStats) -> float:
        return -float(known_log_factorials(stats)[:, 0].sum())

    @property
    def mean(self) -> Array:
        return -self.zero

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:
        return Counts(draw_poisson(self.mean[code], rng))


def known_log_factorials(stats: CountStats) -> Array:
    """The sums of log x! over the cells of each class, and over the totals of its rows, (k, 2); or an error."""
    if stats.log_factorials is None:
        raise DataError(
            "the log-likelihood of counts needs the sum of log x! over all rows, which is not known if a database or "
            "Spark has summed the counts, or if the file is from an older version; sum log_likelihood(X) over the rows"
        )
    return stats.log_factorials


def draw_poisson(rate: Array, rng: np.random.Generator) -> Array:
    """Counts of events that have these rates."""
    try:
        return rng.poisson(rate)
    except ValueError:
        raise DataError(
            f"cannot draw a count with a rate of {rate.max():.3g}: the largest rate is 9.2e18, since counts are 64-bit "
            "integers; fit the model to values in larger units"
        ) from None


def as_trials(trials: Any, d: int) -> Array:
    """The number of trials of every feature, (d,), or an error."""
    try:
        given = np.asarray(trials, np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.shape not in ((), (d,)):
        raise DataError(f"trials must be one number, or one for each of {d} features")
    if not (np.isfinite(given) & (given > 0) & (given == np.rint(given))).all():
        raise DataError(f"trials={trials!r} must be whole numbers above zero")
    return np.broadcast_to(given, (d,)).copy()


def check_alpha(alpha: Any) -> float:
    """A pseudo-count, or an error."""
    if not isinstance(alpha, Real) or isinstance(alpha, bool) or not 0 <= float(alpha) < float("inf"):
        raise DataError(f"alpha={alpha!r} must be a number that is not negative")
    return float(alpha)


def check_alphas(alpha: Any, of_one: Callable[[Any], Any] = check_alpha) -> Any:
    """A pseudo-count, or a tuple of what `of_one` makes of that of each column; or an error."""
    if not is_for_each(alpha):
        return check_alpha(alpha)
    if not len(alpha):
        raise DataError("alpha has no numbers; give one number, or one for each column")
    return tuple(map(of_one, alpha))


def is_for_each(alpha: Any) -> bool:
    """Whether there is a pseudo-count for each column."""
    return isinstance(alpha, list | tuple) or (isinstance(alpha, np.ndarray) and alpha.ndim > 0)


def of_columns(alpha: float | Sequence[float], n_features: int) -> Array:
    """The pseudo-counts of all columns, (d,)."""
    if np.ndim(alpha) and len(alpha) != n_features:  # type: ignore[arg-type]
        raise DataError(f"alpha has {len(alpha)} numbers, but there are {n_features} columns")  # type: ignore[arg-type]
    return np.broadcast_to(np.asarray(alpha, np.float64), (n_features,))


def one_alpha(alpha: Any, what: str) -> float:
    """The pseudo-count of all columns, or an error where each has its own."""
    if is_for_each(alpha):
        raise DataError(f"alpha must be one number for {what}, not one for each column")
    return check_alpha(alpha)


def finite(values: Array) -> Array:
    """The values, with zero for -inf."""
    return values if np.isfinite(values.sum()) else np.where(np.isneginf(values), 0.0, values)


def log_shares(count: Array, rounds: Array, alpha: Array | float) -> tuple[Array, Array]:
    """log p and log(1 - p), (..., k, d), of counts out of so many rounds, with pseudo-counts for both."""
    hits, total = count + alpha, rounds + 2 * alpha
    sure = np.min(alpha) > 1e-9 * rounds.max(initial=0.0)  # that rounding cannot make misses of hits
    misses = rounds - count + alpha if sure else left_over(rounds, count) + alpha
    never = total == 0  # not observed in this class: what all classes together say, or else nothing
    if never.any():
        pooled_hits, pooled = (a.sum(axis=-2, keepdims=True) for a in (count, np.broadcast_to(rounds, count.shape)))
        hits = np.where(never, np.where(pooled > 0, pooled_hits, 0.5), hits)
        misses = np.where(never, np.where(pooled > 0, left_over(pooled, pooled_hits), 0.5), misses)
        total = hits + misses
    log_total = np.log(total)
    with np.errstate(divide="ignore"):
        for share in (hits, misses):
            np.log(share, out=share)
            share -= log_total
    return hits, misses


def left_over(rounds: Array, count: Array) -> Array:
    """Rounds that did not count; none where only rounding is left, as the two may be summed in different orders."""
    rest = rounds - count
    return np.where(rest <= 1e-12 * rounds, 0.0, rest)


def gamma_posterior(count: Array, observed: Array, alpha: Array | float) -> tuple[Array, Array]:
    """Events and rows of the posterior of the rates, (..., k, d)."""
    rows = np.broadcast_to(observed, count.shape)
    total, events = rows.sum(axis=-2, keepdims=True), count.sum(axis=-2, keepdims=True)
    mean = events / np.where(total > 0, total, 1.0)
    # Nothing counted yet is not nothing ever: half an event in all rows; and where there are no rows any number serves.
    prior = np.where(events > 0, mean, 0.5 / np.where(total > 0, total, 0.5))
    never = (rows == 0) & (alpha == 0)
    own, exposure = count + alpha * prior, rows + alpha
    return np.where(never, np.where(total > 0, mean, 1.0), own), np.where(never, 1.0, exposure)
