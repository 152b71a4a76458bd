"""Naive Bayes on whole tables: every block of columns has the family that fits it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import (
    BernoulliDensity,
    CategoricalDensity,
    Density,
    GaussianDensity,
    MultinomialDensity,
    PoissonDensity,
    ProductDensity,
)
from ..densities.base import seen_classes
from ..densities.categorical import POLICIES, UNKNOWN
from ..densities.counts import check_alpha
from ..errors import DataError, EmptyClassWarning, one_of
from ..leave_one_out import (
    BernoulliLeaveOneOut,
    CategoricalLeaveOneOut,
    GaussianLeaveOneOut,
    LeaveOneOut,
    MultinomialLeaveOneOut,
    PoissonLeaveOneOut,
    ProductLeaveOneOut,
)
from ..schema import Schema
from ..sources import Source
from ..stats import (
    BundleStats,
    CategoryStats,
    CollectBundle,
    CollectCategories,
    CollectCounts,
    CollectGaussian,
    CollectTruths,
    CountStats,
    MomentStats,
    Statistics,
)
from ..tables.batch import Batch
from ..tables.table import LOOK
from .classifier import Prior
from .gaussian import check_covariance, no_closed_form
from .generative import GenerativeClassifier

Array = NDArray[Any]


class MixedClassifier(GenerativeClassifier):
    """Numbers, categories, truths and counts side by side, independent given the class but for the Gaussian block.

    Parameters
    ----------
    families : "auto" or dict
        The family of every column: "gaussian", "bernoulli", "categorical", "poisson", "multinomial" (all such columns
        together are one vector of occurrences) or "drop". "auto" goes by the types (see `schema_`); a dictionary says
        otherwise for a column's name, a type such as int, "boolean" or "int64", or a selector such as scikit-learn's
        make_column_selector.
    alpha : float
        Pseudo-counts of the discrete families; 0 is maximum likelihood.
    covariance : {"diag", "full", "tied", "tied_diag", "spherical", "tied_spherical"}
        Of the Gaussian columns. "full" and "tied" refuse to learn from rows that miss some of them.
    unknown : {"smooth", "ignore", "error"}
        What a category is worth that was never seen in training.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    shrinkage, variance_floor : as of GaussianClassifier; shrinkage="loo" excepted
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import MixedClassifier
    >>> fur, kg = ["black", "calico", "white", "orange", "white", "orange"], [3.1, 2.9, None, 4.1, 4.5, 4.8]
    >>> cats = pd.DataFrame({"fur": fur, "kg": kg, "sex": list("fffmmm")})
    >>> clf = MixedClassifier().fit(cats, "sex")
    >>> clf.schema_
    column  family       because
    fur     categorical  str
    kg      gaussian     float64
    >>> clf.predict(pd.DataFrame({"fur": ["orange"], "kg": [4.0]})).tolist()
    ['m']
    """

    statistics_: BundleStats
    _inferred: Schema

    def __init__(
        self,
        families: Any = "auto",
        alpha: float = 1.0,
        covariance: str = "diag",
        unknown: str = "smooth",
        prior: Prior = None,
        *,
        shrinkage: float | str | None = None,
        variance_floor: float = 1e-9,
        n_jobs: int | None = None,
    ) -> None:
        self.families = families
        self.alpha = alpha
        self.covariance = covariance
        self.unknown = unknown
        self.prior = prior
        self.shrinkage = shrinkage
        self.variance_floor = variance_floor
        self.n_jobs = n_jobs

    def _statistic(self, source: Source, new: bool) -> Callable[[Batch], BundleStats]:
        self._choices()
        if new:
            self._inferred = Schema.of(source.head(LOOK), self.families, source.frame)
        columns = self._inferred.blocks() if new else self._bundle().columns
        blocks = {family: (places, self._collector(family)) for family, places in columns.items()}
        return CollectBundle(blocks)

    def _collector(self, family: str) -> Callable[[Batch], Statistics]:
        if family == "gaussian":
            return CollectGaussian(self._layout(), self.covariance)
        if family == "categorical":
            return CollectCategories()
        return CollectTruths() if family == "bernoulli" else CollectCounts()

    def _bundle(self) -> BundleStats:
        self._check_fitted()
        return self.statistics_

    def _layout(self) -> str:
        if self.shrinkage == "loo":
            raise DataError(
                'shrinkage="loo" is of GaussianClassifier alone; fit one to the numbers and give its shrinkage_'
            )
        return check_covariance(self.covariance, self.shrinkage, self.variance_floor)

    def _adopted(self, statistics: Any) -> BundleStats:
        if not isinstance(statistics, BundleStats):
            raise DataError(f"a MixedClassifier needs BundleStats, not {type(statistics).__name__}")
        for family, part in statistics.parts.items():
            if not _fits(family, part):
                raise DataError(f"a block of {family!r} columns cannot be estimated from {part!r}")
        gaussian = statistics.parts.get("gaussian")
        if not isinstance(gaussian, MomentStats):
            return statistics
        return replace(statistics, parts=statistics.parts | {"gaussian": gaussian.to_layout(self._layout())})

    def _choices(self) -> tuple[Any, ...]:
        choices = check_alpha(self.alpha), one_of("unknown", self.unknown, POLICIES), self._layout()
        return *choices, self.covariance, self.shrinkage, self.variance_floor

    def _estimate(self, statistics: BundleStats) -> ProductDensity:
        names = self.schema_.names
        seen_classes(statistics)  # warns once, and not once for each block
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClassWarning)
            parts = {
                family: self._part(family, part, tuple(names[j] for j in statistics.columns[family]))
                for family, part in statistics.parts.items()
            }
        return ProductDensity(parts, statistics.columns, names)

    def _part(self, family: str, stats: Any, names: tuple[str, ...]) -> Density:
        if family == "gaussian":
            return GaussianDensity.estimate(stats, self.covariance, self.shrinkage, self.variance_floor, names)
        if family == "categorical":
            return CategoricalDensity.estimate(stats, self.alpha, self.unknown)
        density: Density = _COUNTS[family].estimate(stats, self.alpha)
        return density

    def _leave_one_out(self) -> LeaveOneOut:
        if isinstance(self.shrinkage, str):
            raise no_closed_form(f"shrinkage={self.shrinkage!r}")
        statistics, densities = self._bundle(), self._model.parts
        parts: dict[str, LeaveOneOut] = {}
        for family, part in statistics.parts.items():
            if isinstance(part, MomentStats):
                choices = float(self.shrinkage or 0.0), self.variance_floor
                parts[family] = GaussianLeaveOneOut(part, densities[family], *choices)
            else:
                parts[family] = _LEAVE_ONE_OUT[family](part, densities[family], self.alpha)
        return ProductLeaveOneOut(parts, statistics.columns)

    @property
    def schema_(self) -> Schema:
        """The family of every column, and why; prints as a table."""
        statistics = self._bundle()
        known: Schema | None = getattr(self, "_inferred", None)
        names = self._names() or tuple(f"x{j}" for j in range(statistics.n_features))
        if known is not None and known.names == names and known.blocks() == statistics.columns:
            return known
        own = {j: family for family, places in statistics.columns.items() for j in places}
        families = tuple(own.get(j, "drop") for j in range(statistics.n_features))
        return Schema(names, families, ("as learnt",) * len(names))

    def _saved_params(self) -> dict[str, Any]:
        """What selectors and types have chosen is kept by name: functions are not saved."""
        schema = self.schema_
        places = range(len(schema.names)) if self._names() is None else schema.names
        families = dict(zip(places, schema.families, strict=True)) if isinstance(self.families, dict) else self.families
        return super()._saved_params() | {"families": families}

    def unknown_cells(self, X: Any) -> Array:
        """Which cells hold a category that was never seen in training, (n, d) bool."""
        statistics, source = self._bundle(), self._in_memory(X)
        table = source.batch(0, source.n_rows).table
        cells = np.zeros((len(table), table.n_features), bool)
        if isinstance(part := statistics.parts.get("categorical"), CategoryStats):
            density, columns = (
                CategoricalDensity.estimate(part, self.alpha, "ignore"),
                statistics.columns["categorical"],
            )
            cells[:, list(columns)] = density.places(density.read(table.take(columns))) == UNKNOWN
        return cells

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.covariance not in ("full", "tied")
        tags.input_tags.sparse = False
        return tags


_COUNTS: dict[str, Any] = {
    "bernoulli": BernoulliDensity,
    "poisson": PoissonDensity,
    "multinomial": MultinomialDensity,
}

_LEAVE_ONE_OUT: dict[str, Any] = {
    "categorical": CategoricalLeaveOneOut,
    "bernoulli": BernoulliLeaveOneOut,
    "poisson": PoissonLeaveOneOut,
    "multinomial": MultinomialLeaveOneOut,
}


def _fits(family: str, part: Statistics) -> bool:
    """Whether a statistic is what a family is estimated from."""
    if family in _COUNTS:
        return isinstance(part, CountStats) and part.presence == (family == "bernoulli")
    return isinstance(part, {"gaussian": MomentStats, "categorical": CategoryStats}.get(family, ()))
