"""What a source is: anything tabular that can be reduced, again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from ..batch import Batch
from ..threads import reduce_ordered, thread_count

T = TypeVar("T")

# Elements of X in a piece of work: a millisecond of memory traffic, and the largest copy made where the
# rows must be converted. It does not depend on the number of threads, hence neither does any result.
PIECE = 1 << 21


class Source(ABC):
    """Rows from somewhere. It knows nothing of statistics; its one verb is `reduce`."""

    names: tuple[str, ...] | None  # of the feature columns, where they have names
    n_features: int

    @abstractmethod
    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T]) -> T:
        """Merge ``map_batch(batch)`` over batches that cover every row once."""


class LocalSource(Source):
    """Rows within reach of this process, taken by position on several threads."""

    n_rows: int
    frame: Any = None  # the table as it came, for selectors of columns
    n_jobs: int | None = None

    @abstractmethod
    def batch(self, start: int, stop: int) -> Batch:
        """The rows from `start` up to `stop`."""

    def step(self) -> int:
        """How many rows a piece has. A statistic may be as large as d rows."""
        return max(PIECE // self.n_features, self.n_features)

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T]) -> T:
        step = self.step()
        pieces = [(start, min(start + step, self.n_rows)) for start in range(0, max(self.n_rows, 1), step)]
        threads = thread_count(self.n_jobs)
        return reduce_ordered(lambda piece: map_batch(self.batch(*piece)), merge, pieces, threads)
