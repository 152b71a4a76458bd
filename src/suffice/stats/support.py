"""The supports of families, and errors about values outside of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, instead_of_infinity, listed
from ..tables.table import Table

Array = NDArray[Any]

_ROWS = 4096  # looked at together, to say what is wrong


@dataclass(frozen=True)
class Support:
    """The numbers for which a distribution has a density."""

    inside: Callable[[Array], Array]  # which numbers these are; NaN is none of them
    fault: str  # what the others are
    needs: str

    def check(self, X: Array, weight: Array | None) -> bool:
        """Whether all cells (n, d) of rows with any weight are inside or missing."""
        fine = self.inside(X) | np.isnan(X)
        return bool(fine.all() or (weight is not None and fine[weight > 0].all()))

    def refuse(self, table: Table, weight: Array | None, family: str) -> None:
        """Raise an error that names the columns with values outside the support, and counts the rows."""
        infinite, outside, n_rows = np.zeros(table.n_features, bool), np.zeros(table.n_features, bool), 0
        for start in range(0, len(table), _ROWS):
            rows = slice(start, start + _ROWS)
            X = table[rows].floats()
            wrong = ~(self.inside(X) | np.isnan(X))
            wrong &= True if weight is None else (weight[rows] > 0)[:, None]
            infinite |= (wrong & np.isinf(X)).any(axis=0)
            outside |= wrong.any(axis=0)
            n_rows += int(wrong.any(axis=1).sum())
        found = np.flatnonzero(infinite if infinite.any() else outside)
        names = [table.names[j] if table.names else int(j) for j in found]
        if infinite.any():
            raise DataError(f"column {listed(names)} holds infinity; {instead_of_infinity()}")
        raise DataError(
            f"column {listed(names)} holds values that are {self.fault} in {n_rows} row{'s' * (n_rows != 1)}; the "
            f"{family} family needs {self.needs}; choose another family, such as 'gaussian'"
        )


def _positive(x: Array) -> Array:
    return np.asarray((x > 0) & (x < np.inf))


def _not_negative(x: Array) -> Array:
    return np.asarray((x >= 0) & (x < np.inf))


def _whole(x: Array) -> Array:
    return np.asarray(_not_negative(x) & (np.floor(x) == x))


POSITIVE = Support(_positive, "not above 0", "positive numbers")
NOT_NEGATIVE = Support(_not_negative, "below 0", "numbers that are not negative")
WHOLE = Support(_whole, "not whole numbers from 0 on", "counts: 0, 1, 2 and so on")
