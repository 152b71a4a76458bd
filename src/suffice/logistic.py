"""Logistic models: ratios of likelihoods that are linear in the features, or in their squares and products too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .errors import DataError, listed
from .scoring import Scorer, Wanted
from .table import Table

Array = NDArray[Any]

EXPANSIONS = ("linear", "quadratic")


@dataclass(frozen=True, eq=False)
class LogisticModel(Scorer):
    """log p(x | class) = slope (features(x) - center) + constant, up to a term of x alone that nobody knows."""

    classes: Array  # (k,) sorted
    prior: Array  # (k,) that the model was learnt under, taken out of the constant
    center: Array  # (p,)
    slope: Array  # (k, p)
    constant: Array  # (k,)
    expansion: str = "linear"

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Before the expansion."""
        p = len(self.center)
        return p if self.expansion == "linear" else (isqrt(9 + 8 * p) - 3) // 2

    def of_classes(self, places: Sequence[int]) -> Self:
        kept = list(places)
        return replace(self, **{name: getattr(self, name)[kept] for name in ("classes", "prior", "slope", "constant")})

    def read(self, table: Table) -> Array:
        return expand(table.floats(), self.expansion)

    def _score(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        if not relative:
            raise DataError("a logistic model knows ratios of likelihoods, not the likelihoods themselves")
        return bool(kernels.active.linear_scores(X, self.center, self.slope, self.constant + offset, *wanted))

    def to_arrays(self) -> dict[str, Array]:
        own = {name: getattr(self, name) for name in ("prior", "center", "slope", "constant")}
        return own | {"expansion": np.array(EXPANSIONS.index(self.expansion))}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        own = {name: np.array(arrays[name], np.float64) for name in ("prior", "center", "slope", "constant")}
        model = cls(classes, **own, expansion=EXPANSIONS[int(arrays["expansion"])])
        k, p = len(classes), n_expanded(model.n_features, model.expansion)
        shapes = {"prior": (k,), "center": (p,), "slope": (k, p), "constant": (k,)}
        if any(own[name].shape != shape or not np.isfinite(own[name]).all() for name, shape in shapes.items()):
            raise ValueError("the parameters of the logistic model do not fit together")
        return model


def check_expansion(expansion: Any) -> str:
    """An expansion, or an error."""
    if expansion not in EXPANSIONS:
        raise DataError(f"expansion={expansion!r} is not known; choose one of {listed(EXPANSIONS)}")
    return str(expansion)


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
    place = d
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(d):
            np.multiply(X[:, i : i + 1], X[:, i:], out=out[:, place : place + d - i])
            place += d - i
    return out
