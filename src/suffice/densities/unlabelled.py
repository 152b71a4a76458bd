"""Densities of rows without labels, from the same statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, listed, one_of
from ..sources import as_table
from ..stats import CategoryStats, CollectHistogram, CollectTransformed, CountStats, MomentStats
from ..tables.batch import Batch
from ..tables.table import Table
from .base import Density
from .categorical import CategoricalDensity
from .counts import BernoulliDensity, BinomialDensity, PoissonDensity, as_trials, check_alpha
from .covariance import STRUCTURES
from .exponential import ExponentialDensity
from .gamma import GammaDensity
from .gaussian import GaussianDensity
from .geometric import GeometricDensity
from .independent import IndependentDensity
from .inverse_gaussian import InverseGaussianDensity
from .lognormal import LogNormalDensity
from .multinomial import MultinomialDensity
from .negative_binomial import NegativeBinomialDensity
from .predictive import BetaBinomialDensity, GammaPoissonDensity, PolyaDensity
from .transformed import TransformedDensity

Array = NDArray[Any]


@dataclass(frozen=True)
class FittedDensity:
    """A density of unlabelled rows."""

    family: str
    density: Density  # of one class
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return f"FittedDensity({self.family!r}, {', '.join(f'{k}={_short(v)}' for k, v in self.parameters.items())})"

    def log_likelihood(self, x: Any) -> Array:
        """log p(x) of every row, (n,); its sum is the log-likelihood of the data set."""
        return self.density.log_likelihood(_rows(x))[:, 0]

    def sample(self, n: int = 1, random_state: Any = None) -> Array:
        """n rows drawn from the density, (n, d)."""
        if not isinstance(n, Integral) or n < 0:
            raise DataError(f"n={n!r} must be a whole number of rows")
        rng = np.random.default_rng(random_state)
        return np.asarray(self.density.write(self.density.sample(np.zeros(n, np.intp), rng)))


def fit_density(family: str, x: Any, *, weight: Any = None, **choices: Any) -> FittedDensity:
    """Estimate a density of rows without labels, by maximum likelihood unless you choose otherwise.

    Parameters
    ----------
    family : str
        "bernoulli", "binomial", "categorical", "multinomial", "poisson", "gaussian", "exponential", "gamma",
        "lognormal", "inverse_gaussian", "geometric" or "negative_binomial".
    x : table of shape (n, d), or one column of shape (n,)
        The rows.
    weight : array-like of shape (n,), optional
        Weights of the rows, not negative.
    **choices
        ``alpha=0``: pseudo-counts of a discrete family. ``predictive=True``: integrate over the parameters of a
        binomial, multinomial or Poisson density instead of plugging them in; ``alpha`` is then 1 by default.
        ``trials=``: of the binomial; by default they are estimated by the method of moments. ``covariance="full"`` and
        ``shrinkage=None``: of the Gaussian. ``method="moments"``: match means and variances instead, for the families
        named after the Gaussian except the geometric.

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
    if not isinstance(family, str) or family not in _FAMILIES:
        raise DataError(f"the family {family!r} is not known; choose one of {listed(_FAMILIES, len(_FAMILIES))}")
    if "alpha" in choices:
        choices["alpha"] = check_alpha(choices["alpha"])
    known = list(signature(_FAMILIES[family]).parameters)[1:]
    if unknown := [name for name in choices if name not in known]:
        raise DataError(f"{family!r} has no parameter {listed(unknown)}; its parameters are {listed(known)}")
    table = _rows(x)
    if not len(table):
        raise DataError("there are no rows to estimate a density from")
    density, parameters = _FAMILIES[family](Batch.of(table, np.zeros(len(table), np.int8), weight), **choices)
    return FittedDensity(family, density, parameters)


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


def _bernoulli(batch: Batch, alpha: float = 0.0) -> tuple[Density, dict[str, Any]]:
    density = BernoulliDensity.estimate(CountStats.of(batch, presence=True), alpha)
    return density, {"p": density.mean[0]}


def _binomial(
    batch: Batch, trials: Any = None, alpha: float | None = None, predictive: bool = False
) -> tuple[Density, dict[str, Any]]:
    stats = CountStats.of(batch)
    X = batch.X if batch.weight is None else batch.X[batch.weight > 0]
    most = np.fmax.reduce(X, axis=0, initial=1.0)  # that was ever counted
    trials = np.maximum(_trials_by_moments(batch), most) if trials is None else as_trials(trials, stats.n_features)
    if (most > trials).any():
        raise DataError("there are more successes than trials; give a larger number of trials")
    kind = BetaBinomialDensity if predictive else BinomialDensity
    density = kind.estimate(stats, trials, _pseudo(alpha, predictive))
    return density, {"trials": density.trials, "p": np.exp(density.one[0])}


def _pseudo(alpha: float | None, predictive: bool) -> float:
    """Maximum likelihood unless told otherwise; a predictive needs a prior."""
    return float(predictive) if alpha is None else alpha


def _trials_by_moments(batch: Batch) -> Array:
    """mean = n p and variance = n p (1 - p), solved for n."""
    moments = MomentStats.of(batch, "diag", skip_missing=True)
    mean, variance = moments.mean[0], moments.scatter[0] / np.maximum(moments.column_weight[0], 1e-300)
    if (variance >= mean)[mean > 0].any():
        raise DataError(
            "the counts vary too much for a binomial: their variance is not below their mean; use a Poisson"
        )
    return np.asarray(np.rint(mean**2 / np.where(mean > 0, mean - variance, 1.0)))


def _poisson(batch: Batch, alpha: float | None = None, predictive: bool = False) -> tuple[Density, dict[str, Any]]:
    kind = GammaPoissonDensity if predictive else PoissonDensity
    density = kind.estimate(CountStats.of(batch), _pseudo(alpha, predictive))
    return density, {"rate": density.mean[0]}


def _multinomial(batch: Batch, alpha: float | None = None, predictive: bool = False) -> tuple[Density, dict[str, Any]]:
    kind = PolyaDensity if predictive else MultinomialDensity
    density = kind.estimate(CountStats.of(batch), _pseudo(alpha, predictive))
    return density, {"p": np.exp(density.one[0])}


def _categorical(batch: Batch, alpha: float = 0.0, unknown: str = "smooth") -> tuple[Density, dict[str, Any]]:
    density = CategoricalDensity.estimate(CategoryStats.of(batch), alpha, unknown)
    p, bounds = np.exp(density.log_probability[0]), density.bounds
    parts = zip(density.categories, pairwise(bounds), strict=True)
    tables = [dict(zip(v.tolist(), p[a:b].tolist(), strict=True)) for v, (a, b) in parts]
    return density, {"p": tables[0] if len(tables) == 1 else tables}


def _gaussian(
    batch: Batch, covariance: str = "full", shrinkage: float | str | None = None
) -> tuple[Density, dict[str, Any]]:
    shape = STRUCTURES[one_of("covariance", covariance, STRUCTURES)].shape
    named = shrinkage in ("oas", "ledoit_wolf") and shape == "full"
    number = isinstance(shrinkage, Real) and 0 <= float(shrinkage) <= 1
    if not (named or number or shrinkage is None):
        raise DataError(
            f'shrinkage={shrinkage!r} must be a number from 0 to 1 or, for covariance="full" and "tied", "oas" or '
            '"ledoit_wolf"'
        )
    layout = STRUCTURES[covariance].layout(shrinkage)
    moments = MomentStats.of(batch, layout)
    if not moments.is_finite():
        raise DataError("x contains NaN or infinity; remove these rows or impute the values first")
    density = GaussianDensity.estimate(moments, covariance, shrinkage, names=batch.table.names)
    return density, {"mean": density.mean[0], "covariance": density.covariance[0]}


METHODS = ("ml", "moments")


def _positive(kind: type[TransformedDensity], batch: Batch, method: str = "ml") -> tuple[Density, dict[str, Any]]:
    stats = CollectTransformed(kind.transforms, kind.support, kind.family)(batch)
    by_moments = one_of("method", method, METHODS) == "moments"
    return _named(_by_moments(kind, batch) if by_moments else kind.estimate(stats, names=batch.table.names))


def _geometric(batch: Batch, alpha: float = 0.0) -> tuple[Density, dict[str, Any]]:
    kind = GeometricDensity
    return _named(kind.estimate(CollectTransformed(kind.transforms, kind.support, kind.family)(batch), alpha))


def _negative_binomial(batch: Batch, alpha: float = 0.0, method: str = "ml") -> tuple[Density, dict[str, Any]]:
    kind = NegativeBinomialDensity
    stats = CollectHistogram(kind.family)(batch)
    by_moments = one_of("method", method, METHODS) == "moments"
    if by_moments and alpha:
        raise DataError('method="moments" takes no pseudo-counts; leave alpha out')
    return _named(_by_moments(kind, batch) if by_moments else kind.estimate(stats, alpha))


def _by_moments(kind: type[IndependentDensity], batch: Batch) -> IndependentDensity:
    moments = MomentStats.of(batch, "diag", skip_missing=True)
    if not moments.is_finite():
        raise DataError("the values or their weights are too large: sums of squares overflow; rescale them")
    return kind.from_moments(moments)


def _named(density: Density) -> tuple[Density, dict[str, Any]]:
    """A density and the parameters of its one class, each by a name for one."""
    singular = {"probabilities": "p"}
    return density, {singular.get(k, k.removesuffix("s")): v[0] for k, v in density.parameters().items()}


_FAMILIES: dict[str, Callable[..., tuple[Density, dict[str, Any]]]] = {
    "bernoulli": _bernoulli,
    "binomial": _binomial,
    "categorical": _categorical,
    "multinomial": _multinomial,
    "poisson": _poisson,
    "gaussian": _gaussian,
    "exponential": partial(_positive, ExponentialDensity),
    "gamma": partial(_positive, GammaDensity),
    "lognormal": partial(_positive, LogNormalDensity),
    "inverse_gaussian": partial(_positive, InverseGaussianDensity),
    "geometric": _geometric,
    "negative_binomial": _negative_binomial,
}
