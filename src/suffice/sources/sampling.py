"""Some rows of a source, chosen at random from all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..tables.arrow import to_arrow
from ..tables.batch import Batch
from ..tables.table import Matrix
from .base import LocalSource, Source
from .frames.arrays import ArraySource, array_source

Array = NDArray[Any]
_Chosen = list[tuple[Batch, Array]]  # batches, and the keys of their rows


def sample_rows(source: Source, n: int, seed: int, rate: Callable[[Batch], Array] | None = None) -> list[Batch]:
    """Choose rows at random, in one pass. Rows without weight are left out.

    Every row gets a random number that depends on its position alone, and those with the least numbers are taken: the
    same rows for any number of threads, where rows have an order.

    Parameters
    ----------
    source : Source
        The rows to choose from.
    n : int
        How many to choose; all of them where there are fewer.
    seed : int
        Another seed chooses other rows.
    rate : callable, optional
        From a batch to how readily each of its rows is chosen, of shape (n,): one of rate 2 twice as readily as one of
        rate 1, and one of rate 0 never.

    Returns
    -------
    list of Batch
        The chosen rows, in the order of the source.
    """

    def chosen(batch: Batch, start: int) -> _Chosen:
        positions = np.arange(start, start + len(batch), dtype=np.uint64)
        keys = _mixed(positions ^ _mixed(np.array([seed], np.uint64))).astype(np.float64)
        if batch.weight is None and rate is None:
            return _least([(batch, keys)], n)
        rates = np.ones(len(batch)) if rate is None else np.asarray(rate(batch), np.float64)
        kept = np.flatnonzero(rates if batch.weight is None else rates * (batch.weight > 0))
        return _least([(batch.rows(kept), keys[kept] / rates[kept])], n)

    def merged(a: _Chosen, b: _Chosen) -> _Chosen:
        return _least([*a, *b], n)

    def of_part(number: int, batches: Iterator[Batch]) -> _Chosen:
        parts: _Chosen = []
        start = number << 40  # more than any part has rows
        for batch in batches:
            parts, start = merged(parts, chosen(batch, start)), start + len(batch)
        return parts

    if (parted := source.parted()) is not None:
        found = parted.reduce_parts(of_part, merged)
    elif source.in_order:
        found = source.reduce(lambda batch: chosen(batch, batch.start), merged)
    else:  # a database gives its rows in any order, so any numbers of the batches will do
        numbers = count()
        found = source.reduce(lambda batch: chosen(batch, next(numbers) << 40), merged)
    return [batch for batch, _ in found]


def sampled(source: Source, n: int, seed: int) -> ArraySource:
    """Take rows into memory: all of them, or n of them chosen at random.

    Parameters
    ----------
    source : Source
        The rows to choose from.
    n : int
        The greatest number of rows.
    seed : int
        Another seed chooses other rows.

    Returns
    -------
    ArraySource
        The rows, in the order of the source.
    """
    if isinstance(source, LocalSource):
        found = source.array_source()
        if found.n_rows > n:
            rows = np.sort(np.random.default_rng(seed).choice(found.n_rows, n, replace=False))
            y, weight = (None if own is None else own[rows] for own in (found.y, found.weight))
            found = ArraySource(found.table[rows], y, weight, found.frame)
    else:
        found = _together(sample_rows(source, n, seed), source)
    found.n_jobs = source.n_jobs
    return found


def _together(batches: list[Batch], source: Source) -> ArraySource:
    """Return the rows of some batches as one table."""
    import pyarrow as pa

    batches = [batch for batch in batches if len(batch)]
    if not batches:
        raise DataError("there are no rows")
    if all(isinstance(batch.table, Matrix) for batch in batches):
        table: Any = np.concatenate([batch.table.floats() for batch in batches])
        frame = table if source.names is None else pa.table(dict(zip(source.names, table.T, strict=True)))
    else:
        tables = [batch.table for batch in batches]
        names = tables[0].names_of(range(source.n_features))
        parts = (pa.table(dict(zip(names, map(to_arrow, table.columns()), strict=True))) for table in tables)
        frame = pa.concat_tables(parts, promote_options="permissive")
    y = None if batches[0].y is None else np.concatenate([np.asarray(batch.y) for batch in batches])
    weights = [np.ones(len(batch)) if batch.weight is None else batch.weight for batch in batches]
    return array_source(frame, y, np.concatenate(weights))


def _least(parts: _Chosen, n: int) -> _Chosen:
    """The rows with the n least keys."""
    if sum(len(keys) for _, keys in parts) <= n:
        return parts
    every = np.concatenate([keys for _, keys in parts])
    limit = np.partition(every, n - 1)[n - 1]
    kept = [(batch, keys, np.flatnonzero(keys <= limit)) for batch, keys in parts]
    return [(batch.rows(rows), keys[rows]) for batch, keys, rows in kept if len(rows)]


def _mixed(numbers: Array) -> Array:
    """Numbers that look random, by the finaliser of SplitMix64."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
