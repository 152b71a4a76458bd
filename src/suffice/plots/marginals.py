"""The Gaussian part of a model, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import GaussianDensity, ProductDensity, StudentDensity
from ..errors import DataError, listed
from ..tables.table import Table
from .rows import names_of, places_of

Array = NDArray[Any]


@dataclass(frozen=True)
class GaussianBlock:
    """The Gaussian columns of a model."""

    density: GaussianDensity | StudentDensity
    places: tuple[int, ...]  # of its columns in the table
    names: tuple[str, ...]  # of all columns of the table

    @classmethod
    def of(cls, estimator: Any, table: Table) -> GaussianBlock:
        """Of a GaussianClassifier, or of the Gaussian columns of a MixedClassifier."""
        density, names = getattr(estimator, "density_", None), names_of(table)
        if isinstance(density, GaussianDensity | StudentDensity):
            return cls(density, tuple(range(density.n_features)), names)
        if isinstance(density, ProductDensity) and isinstance(part := density.parts.get("gaussian"), GaussianDensity):
            return cls(part, density.columns["gaussian"], names)
        raise DataError(
            f"this {type(estimator).__name__} has no Gaussian columns; plot a GaussianClassifier, or a MixedClassifier "
            "of a table with numbers"
        )

    def chosen(self, columns: Sequence[Any] | None) -> list[int]:
        """Places in the table of the columns asked for, all Gaussian ones by default."""
        places = list(self.places) if columns is None else places_of(columns, self.names)
        if not places:
            raise DataError("columns is empty; name one column or more")
        strange = [self.names[j] for j in places if j not in self.places]
        if strange:
            gaussian = listed([self.names[j] for j in self.places], 10)
            raise DataError(f"column {listed(strange)} is not Gaussian in this model; choose among {gaussian}")
        return places

    def moments(self, places: Sequence[int]) -> tuple[Array, Array]:
        """Means (k, m) and covariances (k, m, m), or scale matrices if predictive, of some columns of the table."""
        gaussian = self.density.gaussian if isinstance(self.density, StudentDensity) else self.density
        own, covariance = self._own(places), gaussian.covariance
        block = covariance[:, own][:, :, own] if covariance.ndim == 3 else covariance[:, own, None] * np.eye(len(own))
        return gaussian.mean[:, own], np.broadcast_to(block, (self.density.n_classes, len(own), len(own)))

    def marginal(self, place: int, x: Array) -> Array:
        """p(x | class) of one column at (n,) values, (n, k)."""
        rows = np.full((len(x), self.density.n_features), np.nan)
        rows[:, self._own([place])[0]] = x
        return np.exp(self.density.marginal(rows))

    def _own(self, places: Sequence[int]) -> list[int]:
        return [self.places.index(j) for j in places]
