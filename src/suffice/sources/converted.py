"""The rows of a source with other columns in place of some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ..tables.batch import Batch
from ..tables.infinity import without_infinity
from ..tables.table import Table
from .base import LocalSource, Run, Source
from .frames.arrays import ArraySource

T = TypeVar("T")


class ConvertedSource(Source):
    """The rows of a source as a function converts them.

    Parameters
    ----------
    source : Source
        The rows.
    of : callable
        From some rows of the table to the same rows.
    """

    def __init__(self, source: Source, of: Callable[[Table], Table]) -> None:
        self.source, self.of = source, of
        self.names, self.n_features, self.n_rows, self.n_jobs = (
            source.names,
            source.n_features,
            source.n_rows,
            source.n_jobs,
        )
        self.in_order, self.decimal, self.checkpoint = source.in_order, source.decimal, source.checkpoint

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:
        of = self.of  # without this source, which a cluster could not send to its workers
        return self.source.reduce(lambda batch: map_batch(replace(batch, table=of(batch.table))), merge, run)

    def head(self, n: int) -> Table:
        return self.of(self.source.head(n))

    def spread(self, n: int) -> Table:
        return self.of(self.source.spread(n))

    def in_memory(self) -> LocalSource:
        local = self.source.in_memory()
        batch = local.batch(0, local.n_rows)
        return ArraySource(self.of(batch.table), batch.y, batch.weight)

    def job(self) -> dict[str, Any]:
        return self.source.job()


def with_missing_infinity(source: Source) -> ConvertedSource:
    """Return the rows of a source with missing values in place of infinite numbers."""
    return ConvertedSource(source, lambda table: without_infinity(table)[0])
