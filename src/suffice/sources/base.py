"""The contract of sources: rows that can be read any number of times."""

from __future__ import annotations

import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..tables.batch import Batch
from ..tables.table import Table
from ..threads import reduce_ordered, thread_count

if TYPE_CHECKING:
    from .frames.arrays import ArraySource
    from .summing import SummingSource

T = TypeVar("T")
Array = NDArray[Any]
Where = Callable[[Batch], Array]  # which rows of a batch to keep, (n,)
Score = Callable[[Batch, Array], bool]  # writes the results of a batch; False if some of its rows cannot be scored

# Elements of X in a piece of work: a millisecond of memory traffic, and the largest copy made where the
# rows must be converted. It does not depend on the number of threads, hence neither does any result.
PIECE = 1 << 21

TEXT_PIECE = 1 << 25  # bytes of text in a piece of work: the statistics of more and smaller pieces take longer to merge

SPREAD = 16  # places of a source that a sample is taken from

# Cells decoded at a time by each thread that reads: few enough to be still in the cache when they are used.
CELLS = 1 << 20


def rows_read(n_features: int) -> int:
    """Return how many rows to decode at a time. A statistic of them can be as large as the square of their width."""
    return max(CELLS // n_features, 4 * n_features)


class Run(Generic[T]):
    """The progress of a reduction: it starts from this state and records every step."""

    def __init__(self, total: T | None = None, done: dict[str, Any] | None = None) -> None:
        self.total = total  # of the pieces that are done
        self.done = done or {}  # the source's notes of these pieces, in the values that JSON has
        self._step: tuple[T | None, str, Any] | None = None

    def advance(self, total: T | None, key: str, note: Any) -> None:
        """Record a step: the new total, and notes of the pieces that it adds."""
        self._step = total, key, note
        self.settle()

    def settle(self) -> None:
        """Complete a step that an interrupt cut short: the total and its notes belong together."""
        if self._step is not None:
            self.total, key, note = self._step
            self.done[key] = note
            self._step = None


@dataclass(frozen=True, slots=True)
class RowResults:
    """The results of rows: one value for each row, or one for each of some labels."""

    name: str
    labels: Sequence[Any] | None = None
    dtype: Any = np.float64

    def empty(self, n: int) -> Array:
        """Return an empty array for n rows, (n,) or (n, labels)."""
        return np.empty(n if self.labels is None else (n, len(self.labels)), self.dtype)

    def columns(self) -> list[str]:
        """The names of the result columns, for tables that need names."""
        return [self.name] if self.labels is None else [f"{self.name}_{label}" for label in self.labels]


class Source(ABC):
    """Rows that can be read. A source knows nothing of statistics; its two methods are `reduce` and `map_rows`."""

    names: tuple[str, ...] | None  # of the feature columns, where they have names
    n_features: int
    n_rows: int | None = None  # None where only a pass over the rows would tell
    n_jobs: int | None = None
    frame: Any = None  # the table as it came, for selectors of columns
    in_order = False  # whether results are merged in the order of the rows, so that rows can be scored
    is_lazy = False  # whether `map_rows` returns a column or table of an engine, computed when it is asked for
    copies: Mapping[str, str] = MappingProxyType({})  # columns that are read, and those that repeat them as written
    decimal: str | None = None  # the decimal mark of text, where cells may be other than their column
    is_sparse = False  # whether only the cells that are not zero are stored
    checkpoint: str | os.PathLike[str] | None = None  # the file that an interrupted run resumes from

    @abstractmethod
    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:
        """Merge ``map_batch(batch)`` over batches that cover every row once; with a run, only rows that it has not
        read yet."""

    def map_rows(self, score: Score, results: RowResults, refuse: Callable[[Source], object]) -> Any:
        """Compute one row of results for each row, in the order of the rows.

        Parameters
        ----------
        score : callable
            ``score(batch, out)`` writes the results of a batch into `out`, and returns whether all could be computed.
        results : RowResults
            The name, the labels and the dtype of the results.
        refuse : callable
            ``refuse(source)`` raises the error that names the rows that could not be scored.

        Returns
        -------
        ndarray of shape (n,) or (n, labels), or a column or table of the engine where the source is lazy
        """
        if not self.in_order:
            return self.in_memory().map_rows(score, results, refuse)

        def part(batch: Batch) -> tuple[list[Array], bool]:
            out = results.empty(len(batch))
            return [out], score(batch, out)

        def merge(a: tuple[list[Array], bool], b: tuple[list[Array], bool]) -> tuple[list[Array], bool]:
            a[0].extend(b[0])
            return a[0], a[1] and b[1]

        parts, fine = self.reduce(part, merge)
        if not fine:
            refuse(self)
        return np.concatenate(parts)

    def head(self, n: int) -> Table:
        """The first rows, n or fewer."""
        return self.in_memory().head(n)

    def spread(self, n: int) -> Table:
        """Rows from all over the source, about n: all of them where they are in memory."""
        return self.head(n)

    def encoded(self) -> Source:
        """Return the same rows with the categories of text found once for several passes, where this pays."""
        return self

    def in_memory(self) -> LocalSource:
        """Return a source with all rows in memory."""
        raise DataError(
            f"this needs all rows in memory, but a {type(self).__name__} streams them; read them into "
            "a data frame first"
        )

    def here(self) -> Source:
        """Return the same rows in a fixed order, to be scored in this process."""
        return self if self.in_order else self.in_memory()

    def parted(self) -> PartedSource | None:
        """Return the same rows in parts that are the same in every pass, or None if there are no such parts."""
        return None

    def whole_table(self) -> tuple[Source, Where | None]:
        """Return the table that rows are numbered in, and which of its rows these are; None where they are all."""
        return self, None

    def summing(self) -> SummingSource | None:
        """Return the same rows as a source whose engine computes sums, or None if the rows have to be read."""
        return None

    def reads(self, path: str | os.PathLike[str]) -> bool:  # noqa: ARG002
        """Whether a file is one of the input files."""
        return False

    def job(self) -> dict[str, Any]:
        """What identifies a run, as JSON values: another job must not resume it."""
        return {}


class LocalSource(Source):
    """Rows in the memory of this process, taken by position on several threads."""

    n_rows: int
    in_order = True

    @abstractmethod
    def batch(self, start: int, stop: int) -> Batch:
        """The rows from `start` up to `stop`."""

    def step(self) -> int:
        """Return how many rows a piece has. A statistic can be as large as d rows for each class."""
        return max(PIECE // self.n_features, 8 * self.n_features)

    def head(self, n: int) -> Table:
        return self.batch(0, min(n, self.n_rows)).table

    def spread(self, n: int) -> Table:  # noqa: ARG002
        return self.batch(0, self.n_rows).table

    def in_memory(self) -> Self:
        return self

    def array_source(self) -> ArraySource:
        """The rows as one table, from which rows can be taken by their indices."""
        from .frames.arrays import ArraySource

        batch = self.batch(0, self.n_rows)
        source = ArraySource(batch.table, batch.y, batch.weight, self.frame)
        source.decimal = self.decimal
        return source

    def map_rows(self, score: Score, results: RowResults, refuse: Callable[[Source], object]) -> Array:
        whole = results.empty(self.n_rows)
        if not self.reduce(lambda batch: score(batch, whole[batch.start : batch.start + len(batch)]), operator.and_):
            refuse(self)
        return whole

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:
        pieces, start = self.pieces(), None if run is None else run.total
        threads = 1 if len(pieces) == 1 and self.n_jobs is None else thread_count(self.n_jobs)
        return reduce_ordered(lambda piece: map_batch(self.batch(*piece)), merge, pieces, threads, start=start)

    def pieces(self) -> list[tuple[int, int]]:
        """Where the batches of a pass start and stop."""
        step = self.step()
        return [(start, min(start + step, self.n_rows)) for start in range(0, max(self.n_rows, 1), step)]


class PartedSource(Source):
    """Rows in parts that are the same in every pass, with the same numbers and in the same order."""

    in_order = True

    def parted(self) -> Self:
        return self

    @abstractmethod
    def reduce_parts(self, of_part: Callable[[int, Iterator[Batch]], T], merge: Callable[[T, T], T]) -> T:
        """Merge ``of_part(number, batches)`` over the parts that have rows; numbers grow with the order of the parts,
        and the batches of a part come in the order of its rows."""

    def labels_alone(self) -> PartedSource:
        """The same rows in the same parts, for what asks for their labels alone: there may be fewer features."""
        return self


class ColumnsSource(Source):
    """Some of the columns of another source."""

    def __init__(self, whole: Source, indices: Sequence[int], names: tuple[str, ...] | None) -> None:
        self.whole, self.indices, self.names, self.n_features = whole, indices, names, len(indices)
        self.n_jobs, self.in_order, self.n_rows = whole.n_jobs, whole.in_order, whole.n_rows
        self.decimal = whole.decimal

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:
        return self.whole.reduce(lambda batch: map_batch(replace(batch, table=self.of(batch.table))), merge, run)

    def of(self, table: Table) -> Table:
        """These columns of some rows of the whole."""
        return table if list(self.indices) == list(range(table.n_features)) else table.take(self.indices)
