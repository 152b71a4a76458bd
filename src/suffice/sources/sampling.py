"""Some rows of a source, chosen at random from all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Chosen:
    """Some of the rows that were read."""

    parts: list[tuple[Batch, Array, Array]]  # batches, and the keys and positions of their rows
    n_read: int = 0  # rows that were read
    n_rows: int = 0  # those that could be chosen

    def and_then(self, after: _Chosen, most: int) -> _Chosen:
        """Return what is chosen of these rows and of those that follow them."""
        moved = [(batch, keys, places + self.n_read) for batch, keys, places in after.parts]
        return _Chosen(_least([*self.parts, *moved], most), self.n_read + after.n_read, self.n_rows + after.n_rows)


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

    return [batch for batch, _, _ in _chosen_rows(source, n, seed, rate).parts]


def _chosen_rows(source: Source, n: int, seed: int, rate: Callable[[Batch], Array] | None = None) -> _Chosen:
    def chosen(batch: Batch, start: int) -> _Chosen:
        positions = np.arange(start, start + len(batch), dtype=np.uint64)
        keys, places = _mixed(positions ^ _mixed(np.array([seed], np.uint64))).astype(np.float64), np.arange(len(batch))
        if batch.weight is None and rate is None:
            return _Chosen(_least([(batch, keys, places)], n), len(batch), len(batch))
        rates = np.ones(len(batch)) if rate is None else np.asarray(rate(batch), np.float64)
        kept = np.flatnonzero(rates if batch.weight is None else rates * (batch.weight > 0))
        return _Chosen(_least([(batch.rows(kept), keys[kept] / rates[kept], kept)], n), len(batch), len(kept))

    def merged(a: _Chosen, b: _Chosen) -> _Chosen:
        return a.and_then(b, n)

    def of_part(number: int, batches: Iterator[Batch]) -> _Chosen:
        found = _Chosen([])
        start = number << 40  # more than any part has rows
        for batch in batches:
            found = merged(found, chosen(batch, start + found.n_read))
        return found

    if (parted := source.parted()) is not None:
        return parted.reduce_parts(of_part, merged)
    if source.in_order:
        return source.reduce(lambda batch: chosen(batch, batch.start), merged)
    numbers = count()  # a database gives its rows in any order, so any numbers of the batches will do
    return source.reduce(lambda batch: chosen(batch, next(numbers) << 40), merged)


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
    return numbered_sample(source, n, seed)[0]


def numbered_sample(source: Source, n: int, seed: int) -> tuple[ArraySource, Array, int]:
    """Take rows into memory, as `sampled` does, and tell where they stood.

    Parameters
    ----------
    source, n, seed
        As in `sampled`.

    Returns
    -------
    rows : ArraySource
        The rows, in the order of the source.
    positions : array of int of shape (rows,)
        The position of each in the table, from 0; rows that the source leaves out are counted.
    n_rows : int
        How many rows the source has.
    """
    whole, where = source.whole_table()
    if where is None and isinstance(source, LocalSource):
        found = source.array_source()
        n_rows, places = found.n_rows, np.arange(found.n_rows)
        if n_rows > n:
            places = np.sort(np.random.default_rng(seed).choice(n_rows, n, replace=False))
            y, weight = (None if own is None else own[places] for own in (found.y, found.weight))
            found = ArraySource(found.table[places], y, weight, found.frame)
    else:
        chosen = _chosen_rows(whole, n, seed, where)
        n_rows, found = chosen.n_rows, _together([batch for batch, _, _ in chosen.parts], source)
        places = np.concatenate([own for _, _, own in chosen.parts])
    found.n_jobs = source.n_jobs
    return found, places, n_rows


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


def _least(parts: list[tuple[Batch, Array, Array]], n: int) -> list[tuple[Batch, Array, Array]]:
    """The rows with the n least keys."""
    if sum(len(keys) for _, keys, _ in parts) <= n:
        return parts
    every = np.concatenate([keys for _, keys, _ in parts])
    limit = np.partition(every, n - 1)[n - 1]
    kept = [(batch, keys, places, np.flatnonzero(keys <= limit)) for batch, keys, places in parts]
    return [(batch.rows(rows), keys[rows], places[rows]) for batch, keys, places, rows in kept if len(rows)]


def _mixed(numbers: Array) -> Array:
    """Numbers that look random, by the finaliser of SplitMix64."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
