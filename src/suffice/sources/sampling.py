"""Some rows of a source, chosen at random from all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.batch import Batch
from .base import Source

Array = NDArray[Any]
_Chosen = list[tuple[Batch, Array]]  # batches, and the keys of their rows


def sample_rows(source: Source, n: int, seed: int) -> list[Batch]:
    """Choose rows at random, in one pass.

    Every row gets a random number that depends on its position alone, and those with the least numbers are taken: the
    same rows for any number of threads and any size of batches.

    Parameters
    ----------
    source : Source
        The rows to choose from.
    n : int
        How many to choose; all of them where there are fewer.
    seed : int
        Another seed chooses other rows.

    Returns
    -------
    list of Batch
        The chosen rows, in the order of the source.
    """

    def of(batch: Batch) -> _Chosen:
        keys = _mixed(np.arange(batch.start, batch.start + len(batch), dtype=np.uint64) + np.uint64(seed << 40))
        return _least([(batch, keys)], n)

    chosen = source.reduce(of, lambda a, b: _least([*a, *b], n))
    return [batch for batch, _ in chosen]


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
