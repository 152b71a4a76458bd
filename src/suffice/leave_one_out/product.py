"""Leave-one-out of mixed models, block by block: the blocks share only the class of the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.features import Feature, extended
from ..tables.table import Table
from .base import LeaveOneOut

Array = NDArray[Any]


@dataclass(frozen=True)
class ProductLeaveOneOut(LeaveOneOut):
    """Blocks of columns that are independent given the class."""

    parts: dict[str, LeaveOneOut]  # by the name of the block
    columns: dict[str, tuple[int, ...]]
    features: tuple[Feature, ...] = ()

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        table = extended(table, self.features)
        blocks = [part.scores(table.take(self.columns[name]), code, weight) for name, part in self.parts.items()]
        total = np.asarray(sum(scores for scores, _ in blocks))
        # A row of weight zero may miss cells that no other row may miss.
        return total, np.any([wanting for _, wanting in blocks], axis=0) | np.isnan(total).any(axis=1)
