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
from .rows import indices_of, names_of

Array = NDArray[Any]


@dataclass(frozen=True)
class GaussianBlock:
    """The Gaussian columns of a model."""

    density: Density
    indices: tuple[int, ...]  # of its columns in the table
    names: tuple[str, ...]  # of all columns of the table

    @classmethod
    def of(cls, estimator: Any, table: Table) -> GaussianBlock:
        """Return the block of a GaussianClassifier, or of the Gaussian columns of a MixedClassifier."""
        density = getattr(estimator, "density_", None)
        for part, columns in [] if density is None else density.blocks():
            if part.ellipses(()) is not None:
                return cls(part, columns, names_of(table))
        raise DataError(
            f"this {type(estimator).__name__} has no Gaussian columns; plot a GaussianClassifier, or a MixedClassifier "
            "of a table with numbers"
        )

    def chosen(self, columns: Sequence[Any] | None) -> list[int]:
        """Return the indices in the table of the chosen columns; None chooses all Gaussian ones."""
        indices = list(self.indices) if columns is None else indices_of(columns, self.names)
        if not indices:
            raise DataError("columns is empty; name at least one column")
        strange = [self.names[j] for j in indices if j not in self.indices]
        if strange:
            gaussian = listed([self.names[j] for j in self.indices], 10)
            raise DataError(f"column {listed(strange)} is not Gaussian in this model; choose among {gaussian}")
        return indices

    def moments(self, indices: Sequence[int]) -> tuple[Array, Array]:
        """Return means (k, m) and covariances (k, m, m), or scale matrices if predictive, of some columns."""
        ellipses = self.density.ellipses(self._own(indices))
        assert ellipses is not None
        return ellipses

    def marginal(self, index: int, x: Array) -> Array:
        """Return p(x | class) of one column at values (n,), of shape (n, k)."""
        rows = np.full((len(x), self.density.n_features), np.nan)
        rows[:, self._own([index])[0]] = x
        return np.exp(self.density.marginal(rows))

    def _own(self, indices: Sequence[int]) -> list[int]:
        return [self.indices.index(j) for j in indices]
