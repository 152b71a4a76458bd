"""Some rows of a source, chosen at random from all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.batch import Batch
from .base import Source

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
