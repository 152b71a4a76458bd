"""Logistic models: ratios of likelihoods that are linear in the features, or in their squares and products too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..densities.categorical import CategoricalDensity
from ..densities.scorer import Scorer, Wanted
from ..errors import DataError
from ..tables.features import Feature
from ..tables.table import Table
from .encoding import EncodedRows, Encoding, write_products

Array = NDArray[Any]

EXPANSIONS = ("linear", "quadratic")
_CLEAR = 5.0  # a log-likelihood ratio that leaves little doubt


@dataclass(frozen=True, eq=False)
class LogisticModel(Scorer):
    """log p(x | class) = slope (features(x) - center) + constant, up to a term of x alone that nobody knows."""

    classes: Array  # (k,) sorted
    prior: Array  # (k,) that the model was learnt under, taken out of the constant
    center: Array  # (p,)
    slope: Array  # (k, p)
    constant: Array  # (k,)
    expansion: str = "linear"
    encoding: Encoding | None = None  # how a table becomes features, where it is not an array of numbers
    has_likelihoods = False

    @property
    def seen(self) -> Array:  # type: ignore[override]
        return np.ones(self.n_classes, bool)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Before the expansion, or the encoding."""
        if self.encoding is not None:
            return self.encoding.n_features
        p = len(self.center)
        return p if self.expansion == "linear" else (isqrt(9 + 8 * p) - 3) // 2

    @property
    def n_read(self) -> int:
        return len(self.center)

    @property
    def columns_read(self) -> Sequence[int]:
        return range(self.n_features) if self.encoding is None else self.encoding.columns_read

    def categories_of_columns(self) -> dict[int, Array]:
        if self.encoding is None:
            return {}
        found = zip(self.encoding.categorical, self.encoding.categories, strict=True)
        return {j: categories for j, categories in found if j < self.n_features}  # derived ones are not read

    def columns_of_booleans(self) -> frozenset[int]:
        return frozenset() if self.encoding is None else frozenset(self.encoding.truths)

    def families_of_columns(self) -> dict[int, str]:
        if self.encoding is None:
            return dict.fromkeys(range(self.n_features), "number")
        own = dict.fromkeys(self.encoding.numbers, "number") | dict.fromkeys(self.encoding.categorical, "categorical")
        own = {j: family for j, family in own.items() if j < self.n_features}
        return own | {feature.source: feature.asked for feature in self.features}

    @property
    def features(self) -> tuple[Feature, ...]:  # type: ignore[override]
        """Columns that are derived from those of the table."""
        return () if self.encoding is None else self.encoding.derived

    def usual_values(self) -> Array:
        """Return values for which the model says something else at each end, since it knows nothing of the rows.

        Returns
        -------
        array of shape (d, 3)
            A low, a middle and a high value; NaN for columns that hold no numbers.
        """
        columns = range(self.n_features) if self.encoding is None else self.encoding.numbers
        middle = self.center if self.encoding is None else self.encoding.fill
        found = np.full((self.n_features, 3), np.nan)
        for i, j in enumerate(columns):
            effect = np.ptp(self.slope[:, i])  # of a step of one on the log-likelihood ratios
            own = middle[i] + np.array([-1.0, 0.0, 1.0]) * (_CLEAR / effect if effect > 0 else 1.0)
            feature = self.features[j - self.n_features] if j >= self.n_features else None
            if feature is None:
                found[j] = own
            elif ("is_zero",) not in feature.steps:
                with np.errstate(over="ignore"):
                    found[feature.source] = feature.as_numbers(own, np.full(3, 0.5))
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, np.nan)

    def parameters(self) -> dict[str, Any]:
        return {"coef": self.coef, "intercept": self.intercept, "prior": self.prior}

    def labelled_parameters(self, names: Sequence[Any]) -> dict[str, Any]:
        return self.parameters() | {"columns": list(self.linear_names(names))}

    def linear_names(self, names: Sequence[Any]) -> tuple[str, ...]:
        """Return names for the features that have a slope.

        Parameters
        ----------
        names : sequence of str or int
            The names of the columns.

        Returns
        -------
        tuple of str
            One name for each slope.
        """
        if self.encoding is not None:
            return self.encoding.names(names)
        own = tuple(map(str, names))
        if self.expansion == "linear":
            return own
        return own + tuple(f"{one} {two}" for i, one in enumerate(own) for two in own[i:])

    @property
    def coef(self) -> Array:
        """The slopes of the log posteriors as scikit-learn has them: (k, p), or (1, p) of two classes."""
        return _as_scikit_learn(self.slope) if self.n_classes == 2 else self.slope

    @property
    def intercept(self) -> Array:
        """The intercepts beside `coef`, (k,) or (1,), with the prior in them."""
        return _as_scikit_learn(self.constant - self.slope @ self.center + np.log(self.prior))

    def of_classes(self, indices: Sequence[int]) -> Self:
        kept = list(indices)
        return replace(self, **{name: getattr(self, name)[kept] for name in ("classes", "prior", "slope", "constant")})

    def read(self, table: Table) -> Any:
        return expand(table.floats(), self.expansion) if self.encoding is None else self.encoding.read(table)

    def _score(self, X: Any, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        if not relative:
            raise DataError("a logistic model gives log-likelihood ratios, not log-likelihoods")
        constant, linear = self.constant + offset, kernels.active.linear_scores
        if not isinstance(X, EncodedRows):
            return bool(linear(X, self.center, self.slope, constant, *wanted))
        center, slope = self._of_numbers
        if X.codes is None:
            return bool(linear(X.numbers, center, slope, constant, *wanted))
        scores, finite = np.empty((len(X), self.n_classes)), True
        self._one_hot.score(X.codes, constant, all=scores)
        if len(center):
            of_numbers = np.empty_like(scores)
            finite = bool(linear(X.numbers, center, slope, np.zeros(self.n_classes), of_numbers, None, None))
            scores += of_numbers
        kernels.active.reduce(scores, *wanted)
        return finite

    @cached_property
    def _of_numbers(self) -> tuple[Array, Array]:
        """Center and slope of the features that are no categories."""
        q = 0 if self.encoding is None else self.encoding.n_numbers
        return self.center[:q], np.ascontiguousarray(self.slope[:, :q])

    @cached_property
    def _one_hot(self) -> CategoricalDensity:
        """What categories add to the scores."""
        assert self.encoding is not None
        return self.encoding.one_hot(self.slope)

    def to_arrays(self) -> dict[str, Array]:
        own = {name: getattr(self, name) for name in ("prior", "center", "slope", "constant")}
        encoding = {} if self.encoding is None else self.encoding.to_arrays()
        return own | {"expansion": np.array(EXPANSIONS.index(self.expansion))} | encoding

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        own = {name: np.array(arrays[name], np.float64) for name in ("prior", "center", "slope", "constant")}
        encoding = Encoding.from_arrays(arrays) if "n_features" in arrays else None
        model = cls(classes, **own, expansion=EXPANSIONS[int(arrays["expansion"])], encoding=encoding)
        k, p = len(classes), n_expanded(model.n_features, model.expansion) if encoding is None else encoding.n_encoded
        shapes = {"prior": (k,), "center": (p,), "slope": (k, p), "constant": (k,)}
        if any(own[name].shape != shape or not np.isfinite(own[name]).all() for name, shape in shapes.items()):
            raise ValueError("the parameters of the logistic model do not fit together")
        return model


def _as_scikit_learn(of_classes: Array) -> Array:
    """What classes have, in scikit-learn's form: of two the difference, of more what sums to zero."""
    if len(of_classes) == 2:
        return of_classes[1:] - of_classes[:1]
    return np.asarray(of_classes - of_classes.mean(axis=0))


def n_expanded(n_features: int, expansion: str) -> int:
    """How many features there are after an expansion."""
    return n_features if expansion == "linear" else n_features * (n_features + 3) // 2


def expand(X: Array, expansion: str) -> Array:
    """The features, and in a quadratic expansion the products of every two, squares included.

    >>> expand(np.array([[2.0, 3.0]]), "quadratic")
    array([[2., 3., 4., 6., 9.]])
    """
    if expansion == "linear":
        return X
    d = X.shape[1]
    out = np.empty((len(X), n_expanded(d, expansion)))
    out[:, :d] = X
    write_products(X, out[:, d:])
    return out
