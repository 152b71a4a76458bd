"""Tables in memory: NumPy, SciPy sparse, pandas, polars, Arrow. Reading copies no table as a whole."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray

from ...errors import DataError
from ...tables.batch import Batch, as_labels, as_weight
from ...tables.readers import as_column, converted
from ...tables.table import Frame, Sparse, Table, contiguous, encoded
from ...threads import thread_count
from ..base import PIECE, TEXT_PIECE, LocalSource

Array = NDArray[Any]


class ArraySource(LocalSource):
    """A table in memory."""

    def __init__(self, table: Table, y: Any, weight: Any, frame: Any = None) -> None:
        self.table, self.names, self.frame = table, table.names, frame
        self.is_sparse = isinstance(table, Sparse)
        self.n_rows, self.n_features = len(table), table.n_features
        if self.n_features == 0:
            raise DataError(f"0 feature(s) (shape={(self.n_rows, 0)}) while a minimum of 1 is required.")
        for what, name in (("y", y), ("sample_weight", weight)):
            if isinstance(name, str):
                raise DataError(
                    f"{what}={name!r} is the name of a column, but X has no column names, and neither has the "
                    "output of a pipeline step; pass the values themselves"
                )
        self.y = as_labels(as_column(y), self.n_rows)
        self.weight = as_weight(as_column(weight), self.n_rows)

    def step(self) -> int:
        if isinstance(self.table, Frame) and self.table.parts:
            width = sum(part.bytes_per_row() for part in self.table.parts)
            return max(min(super().step(), int(TEXT_PIECE / max(width, 1.0))), 1)
        if not isinstance(self.table, Sparse):
            return super().step()
        # Equal pieces, and few of them: what a piece adds up to is as wide as the vocabulary.
        pieces = max(-(-self.table.n_cells // (4 * PIECE)), -(-4 * self.n_rows // PIECE), 1)
        return max(-(-self.n_rows // pieces), 1)

    def batch(self, start: int, stop: int) -> Batch:
        y = None if self.y is None else self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        return Batch(self.table[start:stop], y, weight, start)

    def array_source(self) -> Self:
        return self

    def encoded(self) -> ArraySource:
        return self.with_table(encoded(self.table, thread_count(self.n_jobs)))

    def with_table(self, table: Table) -> ArraySource:
        """The same rows with other columns."""
        source = ArraySource(table, self.y, self.weight, self.frame)
        source.n_jobs, source.decimal = self.n_jobs, self.decimal
        return source

    def rows(self, indices: Array) -> LocalSource:
        """Some of the rows as a source of their own; they are copied a piece at a time, if at all."""
        return _Selection(self, indices)


class _Selection(LocalSource):
    """Some rows of a table in memory."""

    def __init__(self, whole: ArraySource, indices: Array) -> None:
        self.whole, self.indices = whole, indices
        self.names, self.frame, self.n_jobs = whole.names, whole.frame, whole.n_jobs
        self.decimal = whole.decimal
        self.n_rows, self.n_features = len(indices), whole.n_features

    def step(self) -> int:
        return 4 * super().step()  # others are worked on at the same time

    def batch(self, start: int, stop: int) -> Batch:
        rows = contiguous(self.indices[start:stop])
        y = None if self.whole.y is None else self.whole.y[rows]
        weight = None if self.whole.weight is None else self.whole.weight[rows]
        return Batch(self.whole.table[rows], y, weight, start)


def array_source(X: Any, y: Any = None, weight: Any = None) -> ArraySource:
    """Return the source for a table in memory; y and weight may be names of its columns."""
    return ArraySource(*converted(X, y, weight))
