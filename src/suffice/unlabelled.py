"""Densities of rows without labels, from the same statistics and the same table of families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .densities import BetaBinomialDensity, BinomialDensity, Density, MixtureDensity
from .densities.counts import as_trials, one_alpha
from .errors import DataError, listed, not_known, one_of
from .families import FAMILIES, Family
from .sources import as_table
from .starts import Sample, Search
from .stats import CountStats, MomentStats
from .tables.batch import Batch
from .tables.table import Sparse, Table

Array = NDArray[Any]
METHODS = ("ml", "moments")
_BINOMIAL = "binomial"  # not a family of classifiers: it needs the number of trials
_MIXTURE = "gaussian_mixture"  # nor is it one: its components are found step by step


@dataclass(frozen=True)
class FittedDensity:
    """A density of rows without labels, as `fit_density` returns it.

    Parameters
    ----------
    family : str
        The name of the family.
    density : Density
        The density, of a single class.
    parameters : dict
        The parameters by name.

    Examples
    --------
    >>> from suffice import fit_density
    >>> fit_density("gaussian", [1.0, 3.0])
    FittedDensity('gaussian', mean=[2.], covariance=[[1.]])
    """

    family: str
    density: Density  # of one class
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return f"FittedDensity({self.family!r}, {', '.join(f'{k}={_short(v)}' for k, v in self.parameters.items())})"

    def log_likelihood(self, x: Any) -> Array:
        """Return log p(x) of every row; the sum is the log-likelihood of the data set.

        Parameters
        ----------
        x : table of shape (n, d), or one column of shape (n,)
            The rows.

        Returns
        -------
        array of shape (n,)
            Natural logarithms; -inf for a row that is impossible.

        Examples
        --------
        >>> from suffice import fit_density
        >>> density = fit_density("exponential", [1.0, 3.0])
        >>> density.log_likelihood([0.0, 2.0, -1.0]).round(3)
        array([-0.693, -1.693,   -inf])
        """
        return self.density.log_likelihood(_rows(x))[:, 0]

    def sample(self, n: int = 1, random_state: Any = None) -> Array:
        """Return rows that are drawn from the density.

        Parameters
        ----------
        n : int, default=1
            The number of rows.
        random_state : int, numpy.random.Generator or None, default=None
            The seed, or the generator to draw with. None draws other rows at each call.

        Returns
        -------
        array of shape (n, d)
            The rows.

        Examples
        --------
        >>> from suffice import fit_density
        >>> fit_density("bernoulli", [1, 1, 1]).sample(2, random_state=0)
        array([[1],
               [1]])
        """
        if not isinstance(n, Integral) or n < 0:
            raise DataError(f"n={n!r} must be a whole number of rows")
        rng = np.random.default_rng(random_state)
        return np.asarray(self.density.write(self.density.sample(np.zeros(n, np.intp), rng)))


def fit_density(family: str, x: Any, *, weight: Any = None, method: str = "ml", **choices: Any) -> FittedDensity:
    """Estimate a density of rows without labels, by maximum likelihood unless you choose otherwise.

    Parameters
    ----------
    family : str
        "bernoulli", "binomial", "categorical", "text", "multinomial", "poisson", "gaussian", "gaussian_mixture",
        "exponential", "gamma", "lognormal", "inverse_gaussian", "geometric" or "negative_binomial".
    x : table of shape (n, d), or one column of shape (n,)
        The rows.
    weight : array-like of shape (n,), optional
        Weights of the rows, not negative.
    method : {"ml", "moments"}
        Maximum likelihood, or the method of moments, which matches means and variances. The families from
        "exponential" on have both.
    **choices
        ``alpha=0``: pseudo-counts of a discrete family. ``predictive=True``: integrate over the parameters of a
        binomial, multinomial or Poisson density instead of plugging them in; ``alpha`` is then 1 by default.
        ``trials=``: of the binomial; by default they are estimated by the method of moments. ``covariance="full"`` and
        ``shrinkage=None``: of the Gaussian. ``n_components=2``, ``covariance="full"``, ``n_init=3``, ``tol=1e-6``,
        ``max_iter=500``, ``random_state=None``: of the mixture; `MixtureModel` has more.

    Returns
    -------
    FittedDensity
        The density, with its parameters, `log_likelihood` and `sample`.

    Examples
    --------
    >>> from suffice import fit_density
    >>> tosses = fit_density("bernoulli", [1, 1, 1])
    >>> tosses.parameters["p"], tosses.log_likelihood([0])
    (array([1.]), array([-inf]))
    >>> fit_density("bernoulli", [1, 1, 1], alpha=1).parameters["p"]
    array([0.8])
    >>> fit_density("gamma", [1.0, 2.0, 4.0], method="moments").parameters["shape"].round(6)
    array([3.5])
    """
    known = [*FAMILIES, _BINOMIAL, _MIXTURE]
    if not isinstance(family, str) or family not in known:
        raise DataError(f"the family {family!r} {not_known(family, known)}")
    one_of("method", method, METHODS)
    table = _rows(x)
    if not len(table):
        raise DataError("there are no rows to estimate a density from")
    batch = Batch.of(table, np.zeros(len(table), np.int8), weight)
    _refuse_missing(batch)
    if family == _BINOMIAL:
        if method != "ml":
            raise DataError(f"{family!r} estimates its trials by moments; leave method out")
        density: Density = _binomial(batch, **_known(choices, family, {"trials", "alpha", "predictive"}))
    elif family == _MIXTURE:
        if method != "ml":
            raise DataError(f"{family!r} has no method of moments; leave method out")
        density = _mixture(batch, **_known(choices, family, _MIXTURE_CHOICES))
    else:
        density = _estimated(FAMILIES[family], batch, method, choices)
    return FittedDensity(family, density, density.of_one_class())


def _refuse_missing(batch: Batch) -> None:
    """Refuse columns without any value: what a family makes of no rows is no estimate."""
    table = batch.table
    if isinstance(table, Sparse):  # its cells are zeros where nothing is stored
        return
    counts = np.ones(len(table), bool) if batch.weight is None else batch.weight > 0
    if empty := [table.column_name(j) for j in np.flatnonzero(table.missing()[counts].all(axis=0)).tolist()]:
        raise DataError(f"all values of column {', '.join(empty)} are missing; leave the column out")


def _known(choices: Mapping[str, Any], family: str, names: set[str]) -> dict[str, Any]:
    """The choices, or an error where the family has no such ones."""
    if unknown := [name for name in choices if name not in names]:
        own = f"; its parameters are {listed(sorted(names))}" if names else ""
        raise DataError(f"{family!r} has no parameter {listed(unknown)}{own}")
    return dict(choices)


def _estimated(family: Family, batch: Batch, method: str, choices: Mapping[str, Any]) -> Density:
    given = _known(choices, family.name, set(family.defaults))
    chosen = family.chosen({"alpha": float(bool(given.get("predictive")))} | given)
    if chosen.get("complement"):
        raise DataError("complement weights compare classes: a density of rows without labels has none")
    if chosen.get("shrinkage") == "loo":
        raise DataError('shrinkage="loo" needs classes; give a number, "oas" or "ledoit_wolf"')
    statistics = family.collect(chosen)(batch)
    if not statistics.is_finite():
        raise DataError(
            "x contains infinity, or values too large to be squared; remove these rows or rescale the values"
        )
    if method == "ml":
        return family.estimate(family.adopted(statistics, chosen), chosen, batch.table.names)
    if family.by_moments is None:
        raise DataError(f'{family.name!r} has no method="moments" of its own; leave method out')
    if chosen.get("alpha"):
        raise DataError('method="moments" takes no pseudo-counts; leave alpha out')
    moments = MomentStats.of(batch, "diag", skip_missing=True)
    if not moments.is_finite():
        raise DataError("the values or their weights are too large: sums of squares overflow; rescale them")
    return family.by_moments(moments)


_MIXTURE_CHOICES = {"n_components", "covariance", "n_init", "tol", "max_iter", "random_state"}


def _mixture(
    batch: Batch,
    n_components: int = 2,
    covariance: str = "full",
    n_init: int = 3,
    tol: float = 1e-6,
    max_iter: int = 500,
    random_state: Any = None,
) -> MixtureDensity:
    family = FAMILIES["gaussian"]
    chosen = family.chosen({"covariance": covariance, "variance_floor": 1e-6, "degenerate": "floor"}) | {
        "floor_by": "total"
    }
    if not isinstance(n_components, Integral) or int(n_components) < 1:
        raise DataError(f"n_components={n_components!r} must be a positive whole number")
    collect = family.collect(chosen)
    if not collect(batch).is_finite():
        raise DataError("x contains NaN or infinity; remove these rows or impute the values first")

    def estimate(statistics: Any, start: Density | None = None) -> Density:
        return family.estimate(family.adopted(statistics, chosen), chosen | {"start": start}, batch.table.names)

    rng = np.random.default_rng(random_state)
    search = Search(Sample([batch], collect, estimate), rng, "k-means++", n_init, tol, max_iter)
    found = search.best(int(n_components))
    return MixtureDensity(found.density, np.zeros(len(found.weight), np.int64), found.weight, 1)


def _rows(x: Any) -> Table:
    """A table; one column becomes a table of one."""
    if not hasattr(x, "columns") and not hasattr(x, "tocsr") and not isinstance(x, Table):
        x = x.to_frame() if hasattr(x, "to_frame") else x
        if isinstance(x, np.ndarray) and x.ndim == 1:
            x = x.reshape(-1, 1)
        elif _is_column(x):
            values = [[value] for value in (x.tolist() if hasattr(x, "tolist") else x)]
            x = np.array(values, dtype=_dtype(x)).reshape(-1, 1)
    return as_table(x)


def _is_column(x: Any) -> bool:
    try:
        return np.ndim(x) == 1
    except ValueError:  # rows of different lengths
        return False


def _dtype(x: Any) -> Any:
    dtype = np.asarray(x).dtype
    return object if dtype.kind in "US" else dtype


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=4, threshold=8) if not isinstance(value, dict) else repr(value)


def _binomial(
    batch: Batch, trials: Any = None, alpha: float | None = None, predictive: bool = False
) -> BinomialDensity:
    stats = CountStats.of(batch)
    X = batch.X if batch.weight is None else batch.X[batch.weight > 0]
    most = np.fmax.reduce(X, axis=0, initial=1.0)  # that was ever counted
    trials = np.maximum(_trials_by_moments(batch), most) if trials is None else as_trials(trials, stats.n_features)
    if (most > trials).any():
        raise DataError("there are more successes than trials; give a larger number of trials")
    kind = BetaBinomialDensity if predictive else BinomialDensity
    prior = float(predictive) if alpha is None else one_alpha(alpha, f"the family {_BINOMIAL!r}")
    return kind.estimate(stats, trials, prior)


def _trials_by_moments(batch: Batch) -> Array:
    """mean = n p and variance = n p (1 - p), solved for n."""
    moments = MomentStats.of(batch, "diag", skip_missing=True)
    mean, variance = moments.mean[0], moments.scatter[0] / np.maximum(moments.column_weight[0], 1e-300)
    if (variance >= mean)[mean > 0].any():
        raise DataError(
            "the counts vary too much for a binomial: their variance is not below their mean; use a Poisson"
        )
    return np.asarray(np.rint(mean**2 / np.where(mean > 0, mean - variance, 1.0)))
