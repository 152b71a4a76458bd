"""The Gaussian part of a model, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import Density
from ..errors import DataError, listed
from ..tables.table import Table
from .rows import has_classes, indices_of, names_of

Array = NDArray[Any]


@dataclass(frozen=True)
class GaussianBlock:
    """The Gaussian columns of a model: K components, of which each class has one, or several if it is a mixture."""

    density: Density  # of the components
    owner: Array  # (K,) class of each component
    weights: Array  # (K,) share of each component in its class, or among all where there are no classes
    indices: tuple[int, ...]  # of its columns in the table
    names: tuple[str, ...]  # of all columns of the table

    @classmethod
    def of(cls, estimator: Any, table: Table | None) -> GaussianBlock:
        """Return the Gaussian columns of a model. Without a table, columns have the names of the model."""
        model: Any = estimator.to_model() if hasattr(estimator, "to_model") else None
        density = getattr(model, "density", None)
        if isinstance(density, Density):
            components, owner, weights = density.as_components()
            weights = weights if has_classes(estimator) else model.prior
            for part, columns in components.blocks():
                if part.ellipses(()) is not None and min(columns) < density.n_features:
                    own = model.names or tuple(f"x{j}" for j in range(density.n_features))
                    return cls(part, owner, weights, columns, own if table is None else names_of(table))
        raise DataError(
            f"this {type(estimator).__name__} has no Gaussian columns; plot a GaussianClassifier, or a mixed model or "
            "mixture of a table with numbers"
        )

    def chosen(self, columns: Sequence[Any] | None) -> list[int]:
        """Return the indices in the table of the chosen columns; None chooses all Gaussian ones."""
        own = [j for j in self.indices if j < len(self.names)]  # features, such as a logarithm, are not in the table
        indices = own if columns is None else indices_of(columns, self.names)
        if not indices:
            raise DataError("columns is empty; name at least one column")
        strange = [self.names[j] for j in indices if j not in own]
        if strange:
            gaussian = listed([self.names[j] for j in own], 10)
            raise DataError(f"column {listed(strange)} is not Gaussian in this model; choose among {gaussian}")
        return indices

    def moments(self, indices: Sequence[int]) -> tuple[Array, Array]:
        """Return means (K, m) and covariances (K, m, m), or scale matrices if predictive, of some columns."""
        ellipses = self.density.ellipses(self._own(indices))
        assert ellipses is not None
        return ellipses

    def marginal(self, index: int, x: Array) -> Array:
        """Return the share of each component in p(x | class) of one column at values (n,), of shape (K, n)."""
        rows = np.full((len(x), self.density.n_features), np.nan)
        rows[:, self._own([index])[0]] = x
        return np.asarray(self.weights[:, None] * np.exp(self.density.marginal(rows)).T)

    def _own(self, indices: Sequence[int]) -> list[int]:
        return [self.indices.index(j) for j in indices]
