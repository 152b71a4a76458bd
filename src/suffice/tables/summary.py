"""What the first rows of a column show: enough to choose a family for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import LOOK, Column

Array = NDArray[Any]


@dataclass(frozen=True)
class ColumnSummary:
    """A column, summarised by its first rows.

    Parameters
    ----------
    column : Column
        The column; objects have the kind of their first values (see `looked_at`).
    """

    column: Column

    @property
    def is_number(self) -> bool:
        """Whether the column holds integers or floats."""
        return self.column.kind in ("integer", "float")

    @property
    def dtype(self) -> str:
        """The name of the type in the library of the table."""
        kind, dtype = self.column.kind, self.column.dtype
        return f"object of {kind}s" if dtype == "object" and kind != "text" else dtype

    @cached_property
    def _floats(self) -> Array:
        return self.column[:LOOK].floats()

    @cached_property
    def values(self) -> Array:
        """The first numbers, without missing values."""
        return self._floats[~np.isnan(self._floats)]

    @cached_property
    def is_whole(self) -> bool:
        """Whether all numbers are whole; pandas stores integers with missing values as floats."""
        if self.column.kind != "float":
            return self.column.kind == "integer"
        has_missing = 0 < len(self.values) < len(self._floats)
        return has_missing and bool((self.values == np.rint(self.values)).all())

    @cached_property
    def n_different(self) -> int:
        """How many different numbers there are."""
        return len(np.unique(self.values))
