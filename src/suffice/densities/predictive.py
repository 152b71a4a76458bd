"""Posterior predictives of counts: the parameters integrated out instead of plugged in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, as_parameter
from ..stats import CountStats
from ..tables.table import Sparse
from .base import Density, LinearForm
from .counts import BinomialDensity, PoissonDensity, draw_poisson, gamma_posterior, left_over, of_columns
from .linear import Counts, LinearDensity
from .multinomial import MultinomialDensity, whole_counts
from .parameters import blank, class_vector, positive_table
from .scorer import Wanted

Array = NDArray[Any]


class PredictiveCounts(LinearDensity):
    """Scores that are not linear: a function of the count of each feature, and one of the row's total."""

    @abstractmethod
    def _cell(self, x: Array, j: Array | slice, c: int) -> Array:
        """The term of counts x of features j beyond that of zero counts, class by class."""

    @abstractmethod
    def _row(self, X: Counts, c: int) -> Array:
        """The term of a row beyond those of its cells, (n,), as if it observed every feature."""

    @abstractmethod
    def _absent(self, c: int) -> Array:
        """The term of each feature where it counts nothing, (d,): what a missing cell takes away."""

    def _score(self, X: Counts, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        columns = [self._class_scores(X, c) for c in range(self.n_classes)]
        scores = np.where(self.seen, np.stack(columns, axis=1), -np.inf) + offset
        if not relative:
            scores += self._shared(X)[:, None]
        kernels.active.reduce(np.ascontiguousarray(scores), *wanted)
        return True

    def _class_scores(self, X: Counts, c: int) -> Array:
        row = self._row(X, c)
        if isinstance(X.values, Sparse):
            matrix = X.values.matrix().astype(np.float64)
            matrix.sum_duplicates()
            matrix.data = self._cell(matrix.data, matrix.indices, c)
            with np.errstate(invalid="ignore"):
                return np.asarray(row + np.asarray(matrix.sum(axis=1)).reshape(-1))
        scores = row + self._cell(X.values, slice(None), c).sum(axis=1)
        return np.asarray(scores if X.missing is None else scores - X.missing @ self._absent(c))

    def log_likelihood_of(self, stats: CountStats) -> float:
        return Density.log_likelihood_of(self, stats)  # not a function of sums

    @property
    def has_zeros(self) -> bool:
        return True

    def linear(self) -> LinearForm:
        """Posterior predictives are not linear in x: DataError."""
        raise DataError(
            f"log p(x | class) is not linear in x for {self!r}; use the plug-in model, without "
            + as_parameter("predictive", True)
        )

    def explain(self, X: Counts, c: int) -> Array:
        observed = (~self.missing(X)).astype(np.float64)
        rest = self._row(X, c) - self._absent(c).sum() + self._shared(X)
        shares = self._cell(X.dense(), slice(None), c) + observed * self._absent(c)
        return np.asarray(shares + observed * (rest / np.maximum(observed.sum(axis=1), 1.0))[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class PolyaDensity(PredictiveCounts, MultinomialDensity):
    """The Dirichlet-multinomial: words that come in bursts."""

    posterior: Array  # (k, d) of the Dirichlet

    @classmethod
    def estimate(cls, stats: CountStats, alpha: float | Sequence[float] = 1.0) -> Self:
        """Estimate the posterior under a Dirichlet prior with `alpha` for every feature.

        Parameters
        ----------
        stats : CountStats
            Sums of counts.
        alpha : float or sequence of floats
            Of the prior, above zero, one number for all features or one for each.

        Returns
        -------
        PolyaDensity
            The density of the classes of the statistic.
        """
        check_predictive(alpha)
        plug_in = MultinomialDensity.estimate(stats, alpha)
        prior = of_columns(alpha, stats.n_features)
        return cls(plug_in.one, plug_in.zero, plug_in.seen, plug_in.length, whole_counts(stats) + prior)

    @classmethod
    def from_parameters(cls, concentrations: Any, lengths: Any = 1.0) -> Self:
        """Make a Dirichlet-multinomial density.

        Parameters
        ----------
        concentrations : array (n_classes, n_features)
            The parameters of the Dirichlet distribution of every class, above zero.
        lengths : array (n_classes,), or one number
            The mean total of a row, for `sample` and for imputing.

        Returns
        -------
        PolyaDensity
            The density of k classes.

        Examples
        --------
        >>> density = PolyaDensity.from_parameters([[1.0, 1.0]])
        >>> np.exp(density.log_likelihood([[2, 0], [1, 1]])).round(6)
        array([[0.333333],
               [0.333333]])
        """
        posterior, given = positive_table("concentrations", concentrations)
        plug_in = MultinomialDensity.from_parameters(posterior / posterior.sum(axis=1, keepdims=True), 1.0)
        length = class_vector("lengths", lengths, len(posterior), given)
        return cls(plug_in.one, plug_in.zero, given, length, posterior)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the Dirichlet and the mean total of a row, as `from_parameters` takes them.

        Returns
        -------
        dict
            "concentrations" (k, d) and "lengths" (k,).
        """
        return {"concentrations": blank(self.posterior, self.seen), "lengths": blank(self.length, self.seen)}

    def _cell(self, x: Array, j: Array | slice, c: int) -> Array:
        from scipy.special import gammaln

        prior = self.posterior[c, j]
        return np.asarray(gammaln(prior + x) - gammaln(prior))

    def _row(self, X: Counts, c: int) -> Array:
        from scipy.special import gammaln

        mass = self.posterior[c].sum() if X.missing is None else ~X.missing @ self.posterior[c]
        mass = np.where(mass > 0, mass, 1.0)  # nothing is observed, and nothing counted
        return np.asarray(gammaln(mass) - gammaln(mass + X.totals()))

    def _absent(self, c: int) -> Array:  # noqa: ARG002
        return np.zeros(self.n_features)

    def draw(self, X: Counts, code: Array, rng: np.random.Generator) -> Counts:  # noqa: ARG002
        raise DataError(
            "predictive multinomial models cannot draw missing counts; use " + as_parameter("predictive", False)
        )

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:
        share = rng.standard_gamma(self.posterior[code])
        for i in np.flatnonzero(share.sum(axis=1) == 0):  # all of them underflow: one word has it all
            own = self.posterior[code[i]]
            share[i, rng.choice(len(own), p=own / own.sum())] = 1.0
        share /= share.sum(axis=1, keepdims=True)
        return Counts(rng.multinomial(draw_poisson(self.length[code], rng), share))

    def typicality(self, X: Counts) -> Array:  # noqa: ARG002
        raise DataError(f"typicality is not defined for {as_parameter('predictive', True)}; use the plug-in model")


@dataclass(frozen=True, eq=False, repr=False)
class BetaBinomialDensity(PredictiveCounts, BinomialDensity):
    """The beta-binomial: successes whose probability is integrated out."""

    hits: Array  # (k, d) of the Beta posterior
    misses: Array  # (k, d)

    @classmethod
    def estimate(cls, stats: CountStats, trials: Any, alpha: float = 1.0) -> Self:
        """Estimate the posterior under a Beta prior with `alpha` for successes and for failures.

        Parameters
        ----------
        stats : CountStats
            Sums of successes.
        trials : int or array (n_features,)
            The number of trials of every row.
        alpha : float
            Of the prior, above zero.

        Returns
        -------
        BetaBinomialDensity
            The density of the classes of the statistic.
        """
        check_predictive(alpha)
        plug_in = BinomialDensity.estimate(stats, trials, alpha)
        rounds = np.broadcast_to(stats.observed * plug_in.trials, stats.count.shape)
        posterior = stats.count + alpha, left_over(rounds, stats.count) + alpha
        return cls(plug_in.one, plug_in.zero, plug_in.seen, plug_in.trials, *posterior)

    @classmethod
    def from_parameters(cls, trials: Any, a: Any, b: Any) -> Self:  # type: ignore[override]
        """Make a beta-binomial density: the probability of a success is Beta(a, b).

        Parameters
        ----------
        trials : int or array (n_features,)
            The number of trials of every row, the same in all classes.
        a, b : array (n_classes, n_features), or (n_classes,) of one feature
            The parameters of the Beta distribution, above zero.

        Returns
        -------
        BetaBinomialDensity
            The density of k classes.

        Examples
        --------
        >>> density = BetaBinomialDensity.from_parameters(3, [1.0], [1.0])
        >>> np.exp(density.log_likelihood([[0], [3]])).round(6)
        array([[0.25],
               [0.25]])
        """
        hits, given = positive_table("a", a)
        misses, also = positive_table("b", b, hits.shape)
        plug_in = BinomialDensity.from_parameters(trials, hits / (hits + misses))
        return cls(plug_in.one, plug_in.zero, given & also, plug_in.trials, hits, misses)

    def parameters(self) -> dict[str, Any]:
        """The number of trials and the parameters of the Beta, as `from_parameters` takes them.

        Returns
        -------
        dict
            "trials" (d,), "a" and "b" (k, d).
        """
        return {"trials": self.trials, "a": blank(self.hits, self.seen), "b": blank(self.misses, self.seen)}

    def _cell(self, x: Array, j: Array | slice, c: int) -> Array:
        from scipy.special import betaln

        hits, misses, trials = self.hits[c, j], self.misses[c, j], self.trials[j]
        return np.asarray(betaln(hits + x, misses + trials - x) - betaln(hits, misses + trials))

    def _row(self, X: Counts, c: int) -> Array:
        return np.full(len(X), self._absent(c).sum())

    def _absent(self, c: int) -> Array:
        from scipy.special import betaln

        return np.asarray(betaln(self.hits[c], self.misses[c] + self.trials) - betaln(self.hits[c], self.misses[c]))

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:
        return Counts(rng.binomial(self.trials.astype(np.int64), rng.beta(self.hits[code], self.misses[code])))


@dataclass(frozen=True, eq=False, repr=False)
class GammaPoissonDensity(PredictiveCounts, PoissonDensity):
    """The posterior predictive of a Poisson: a negative binomial whose parameters follow from the rows."""

    events: Array  # (k, d) of the Gamma posterior
    rows: Array  # (k, d)

    @classmethod
    def estimate(cls, stats: CountStats, alpha: float | Sequence[float] = 1.0) -> Self:
        """Estimate the posterior under a Gamma prior worth `alpha` rows at the mean of all rows.

        Parameters
        ----------
        stats : CountStats
            Sums of counts.
        alpha : float or sequence of floats
            How many rows the prior is worth, above zero, one number for all features or one for each.

        Returns
        -------
        GammaPoissonDensity
            The density of the classes of the statistic.
        """
        check_predictive(alpha)
        plug_in = PoissonDensity.estimate(stats, alpha)
        posterior = gamma_posterior(stats.count, stats.observed, of_columns(alpha, stats.n_features))
        return cls(plug_in.one, plug_in.zero, plug_in.seen, *posterior)

    @classmethod
    def from_parameters(cls, shapes: Any, rates: Any) -> Self:  # type: ignore[override]
        """Make a negative binomial density: the rate of a Poisson is Gamma(shape, rate).

        Parameters
        ----------
        shapes, rates : array (n_classes, n_features), or (n_classes,) of one feature
            The parameters of the Gamma distribution, above zero. A negative binomial of n failures with probability p
            has shape n and rate p / (1 - p).

        Returns
        -------
        GammaPoissonDensity
            The density of k classes.

        Examples
        --------
        >>> density = GammaPoissonDensity.from_parameters([1.0], [1.0])
        >>> np.exp(density.log_likelihood([[0], [1], [2]])).round(6)
        array([[0.5  ],
               [0.25 ],
               [0.125]])
        """
        events, given = positive_table("shapes", shapes)
        rows, also = positive_table("rates", rates, events.shape)
        plug_in = PoissonDensity.from_parameters(events / rows)
        return cls(plug_in.one, plug_in.zero, given & also, events, rows)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the Gamma, as `from_parameters` takes them.

        Returns
        -------
        dict
            "shapes" and "rates" (k, d).
        """
        return {"shapes": blank(self.events, self.seen), "rates": blank(self.rows, self.seen)}

    def _cell(self, x: Array, j: Array | slice, c: int) -> Array:
        from scipy.special import gammaln

        events, rows = self.events[c, j], self.rows[c, j]
        with np.errstate(invalid="ignore"):
            term = gammaln(events + x) - gammaln(events) - x * np.log1p(rows)
        return np.where(x > 0, term, 0.0)

    def _row(self, X: Counts, c: int) -> Array:
        return np.full(len(X), self._absent(c).sum())

    def _absent(self, c: int) -> Array:
        return np.asarray(-self.events[c] * np.log1p(1 / self.rows[c]))

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:
        rate = rng.standard_gamma(self.events[code]) / self.rows[code]
        return Counts(draw_poisson(rate, rng))


def check_predictive(alpha: float | Sequence[float]) -> None:
    """Refuse pseudo-counts with which there is no posterior of what was never counted."""
    if np.min(alpha) <= 0:
        raise DataError("a posterior predictive needs a prior: alpha must be above zero")
