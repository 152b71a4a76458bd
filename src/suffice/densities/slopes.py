"""Scores that are linear in counts: for every class a constant, and a slope for every feature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..table import Sparse

Array = NDArray[Any]
Counts = Any  # rows as a float array (n, d) without NaN, or a Sparse table


@dataclass(frozen=True)
class Slopes:
    """Finite slopes (k, d), dense; or sparse about a slope for each class and one for each feature."""

    table: Any  # (k, d): an array, or csr with what is to be added to the other two
    by_class: Array | None = None  # (k,)
    by_feature: Array | None = None  # (d,)

    def of_classes(self, places: list[int]) -> Slopes:
        own = None if self.by_class is None else self.by_class[places]
        return replace(self, table=self.table[places], by_class=own)

    def score(self, x: Counts, constant: Array, *wanted: Array | None) -> None:
        """Write constant (k,) + slopes x where it is wanted, as the kernels do."""
        if self.by_class is not None:
            scores = np.ascontiguousarray(self._sparse_product(x) + constant)
            kernels.active.reduce(scores, *wanted)
        elif isinstance(x, Sparse):
            kernels.active.sparse_scores(x.indptr, x.indices, x.data, self._by_feature_first, constant, *wanted)
        else:
            center = np.zeros(x.shape[1])
            kernels.active.linear_scores(x, center, np.ascontiguousarray(self.table), constant, *wanted)

    @cached_property
    def _by_feature_first(self) -> Array:
        """The slopes of all classes side by side, (d, k)."""
        return np.ascontiguousarray(self.table.T)

    def _sparse_product(self, x: Counts) -> Array:
        assert self.by_class is not None
        assert self.by_feature is not None
        rows = x.matrix() if isinstance(x, Sparse) else x
        total = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
        product = rows @ self.table.T
        product = product.toarray() if hasattr(product, "toarray") else product
        return np.asarray(product + total * self.by_class + np.asarray(rows @ self.by_feature).reshape(-1, 1))
