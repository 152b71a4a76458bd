"""Some rows of a source, as a source of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..tables.batch import Batch
from ..tables.table import Table
from .base import LocalSource, PartedSource, Run, Source, Where
from .frames.arrays import ArraySource

T = TypeVar("T")
Array = NDArray[Any]


class FilteredSource(Source):
    """The rows of a source that a function chooses.

    Parameters
    ----------
    source : Source
        All rows.
    where : callable
        From a batch to which of its rows to keep, of shape (n,).
    """

    def __init__(self, source: Source, where: Where) -> None:
        self.source, self.where = source, where
        self.names, self.n_features, self.n_jobs = source.names, source.n_features, source.n_jobs
        self.frame, self.in_order, self.decimal = source.frame, source.in_order, source.decimal

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:
        assert run is None  # there is no checkpoint
        return _only(self.source.reduce(lambda batch: [*map(map_batch, self._kept(batch))], _merging(merge)))

    def parted(self) -> PartedSource | None:
        parted = self.source.parted()
        return None if parted is None else _FilteredParts(parted, self.where)

    def whole_table(self) -> tuple[Source, Where]:
        return self.source, self.where

    def head(self, n: int) -> Table:
        return self.source.head(n)

    def spread(self, n: int) -> Table:
        return self.source.spread(n)

    def in_memory(self) -> LocalSource:
        local = self.source.in_memory()
        batch = local.batch(0, local.n_rows)
        kept = batch.rows(np.flatnonzero(self.where(batch)))
        return ArraySource(kept.table, kept.y, kept.weight)

    def _kept(self, batch: Batch) -> list[Batch]:
        """The rows of a batch that are kept, or no batch if there are none."""
        kept = np.flatnonzero(self.where(batch))
        return [replace(batch.rows(kept), start=batch.start)] if len(kept) else []


class _FilteredParts(FilteredSource, PartedSource):
    """The same of a source in parts."""

    def __init__(self, source: PartedSource, where: Where) -> None:
        super().__init__(source, where)
        self.parts = source

    def parted(self) -> _FilteredParts:
        return self

    def reduce_parts(self, of_part: Callable[[int, Iterator[Batch]], T], merge: Callable[[T, T], T]) -> T:
        def of(number: int, batches: Iterator[Batch]) -> list[T]:
            kept = [rows for batch in batches for rows in self._kept(batch)]
            return [of_part(number, iter(kept))] if kept else []

        return _only(self.parts.reduce_parts(of, _merging(merge)))


def _merging(merge: Callable[[T, T], T]) -> Callable[[list[T], list[T]], list[T]]:
    """The same for results that may be missing."""
    return lambda a, b: [merge(a[0], b[0])] if a and b else a or b


def _only(found: list[T]) -> T:
    if not found:
        raise DataError("there are no such rows to learn from")
    return found[0]
