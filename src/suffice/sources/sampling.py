"""Some rows of a source, chosen at random from all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..tables.arrow import to_arrow
from ..tables.batch import Batch
from ..tables.labels import SoftLabels, distinct_labels, is_missing
from ..tables.table import Matrix
from .base import LocalSource, Source
from .frames.arrays import ArraySource, array_source

Array = NDArray[Any]
_SHARE = 20  # a class gets at least 1 / 20 of the rows of a sample, or half of an even share


@dataclass(frozen=True)
class _Chosen:
    """Some of the rows that were read."""

    parts: list[tuple[Batch, Array, Array]]  # batches, and the keys and positions of their rows
    n_read: int = 0  # rows that were read
    n_rows: int = 0  # those that could be chosen
    weights: Counter[Any] | None = None  # of classes, in all rows, where each of them gets some rows

    def and_then(self, after: _Chosen, most: int) -> _Chosen:
        """Return what is chosen of these rows and of those that follow them."""
        moved = [(batch, keys, places + self.n_read) for batch, keys, places in after.parts]
        weights = None if self.weights is None or after.weights is None else self.weights + after.weights
        chosen = _Chosen([*self.parts, *moved], self.n_read + after.n_read, self.n_rows + after.n_rows, weights)
        return chosen.at_most(most)

    def at_most(self, n: int) -> _Chosen:
        """Return the rows with the n least keys, and of each class those that it should have."""
        if sum(len(keys) for _, keys, _ in self.parts) <= n:
            return self
        weights = None if self.weights is None or len(self.weights) > n else self.weights
        keys = np.concatenate([keys for _, keys, _ in self.parts])
        kept = keys <= np.partition(keys, n - 1)[n - 1]
        if weights:
            code = distinct_labels(np.concatenate([np.asarray(batch.y) for batch, _, _ in self.parts]))[1]
            kept[_of_rare_classes(code, kept, keys, n, len(weights))] = True
        stops = np.cumsum([len(keys) for _, keys, _ in self.parts])
        parts = [
            (batch.rows(rows), keys[rows], places[rows])
            for (batch, keys, places), own in zip(self.parts, np.split(kept, stops[:-1]), strict=True)
            if len(rows := np.flatnonzero(own))
        ]
        return _Chosen(parts, self.n_read, self.n_rows, weights)


def _of_rare_classes(code: Array, chosen: Array, keys: Array, n: int, n_classes: int) -> Array:
    """The rows that classes lack for their least share of n rows: those of least keys that are not chosen."""
    count = np.bincount(code[chosen], minlength=int(code.max(initial=-1)) + 1)
    lack = n // max(_SHARE, 2 * n_classes) - count
    rest = np.flatnonzero(~chosen & (lack > 0)[code])
    rest = rest[np.lexsort((keys[rest], code[rest]))]
    own = code[rest]
    return np.asarray(rest[np.arange(len(rest)) - np.searchsorted(own, own) < lack[own]])


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


def _chosen_rows(
    source: Source, n: int, seed: int, rate: Callable[[Batch], Array] | None = None, by_class: bool = False
) -> _Chosen:
    def chosen(batch: Batch, start: int) -> _Chosen:
        positions = np.arange(start, start + len(batch), dtype=np.uint64)
        keys, places = _mixed(positions ^ _mixed(np.array([seed], np.uint64))).astype(np.float64), np.arange(len(batch))
        part = batch, keys, places
        if batch.weight is not None or rate is not None:
            rates = np.ones(len(batch)) if rate is None else np.asarray(rate(batch), np.float64)
            kept = np.flatnonzero(rates if batch.weight is None else rates * (batch.weight > 0))
            part = batch.rows(kept), keys[kept] / rates[kept], kept
        weights = _class_weights(part[0]) if by_class else None
        return _Chosen([part], len(batch), len(part[0]), weights).at_most(n)

    def merged(a: _Chosen, b: _Chosen) -> _Chosen:
        return a.and_then(b, n)

    def of_part(number: int, batches: Iterator[Batch]) -> _Chosen:
        found = _Chosen([], weights=Counter() if by_class else None)
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


class SampledRows(NamedTuple):
    """Rows of a source in memory, in its order."""

    rows: ArraySource
    positions: Array  # (rows,) of each in the table, from 0; rows that the source leaves out are counted
    n_rows: int  # rows that could be chosen
    n_read: int  # rows of the table


def sampled(source: Source, n: int, seed: int, by_class: bool = True) -> SampledRows:
    """Take rows into memory: all of them, or n of those with weight, chosen at random.

    Parameters
    ----------
    source : Source
        The rows to choose from.
    n : int
        The greatest number of rows, but for those of rare classes.
    seed : int
        Another seed chooses other rows.
    by_class : bool, default=True
        Take more rows of a class that has few rows among them, if there are more. Then the rows of each class are
        weighted, so that they stand for all rows of their class.

    Returns
    -------
    SampledRows
        The rows, and where they stand in the table.
    """
    whole, where = source.whole_table()
    if where is None and isinstance(source, LocalSource):
        found, places, n_rows, weights = _some_of(source.array_source(), n, np.random.default_rng(seed), by_class)
        n_read = source.n_rows
    else:
        chosen = _chosen_rows(whole, n, seed, where, by_class)
        found, weights = _together([batch for batch, _, _ in chosen.parts], source), chosen.weights
        places = np.concatenate([own for _, _, own in chosen.parts])
        n_rows, n_read = chosen.n_rows, chosen.n_read
    if found.n_rows > n and weights:
        found = _weighted(found, weights)
    found.n_jobs = source.n_jobs
    return SampledRows(found, places, n_rows, n_read)


def _some_of(
    found: ArraySource, n: int, rng: np.random.Generator, by_class: bool
) -> tuple[ArraySource, Array, int, Counter[Any] | None]:
    """Return some rows of a table in memory, where they stand, how many there are to choose from, and the weights of
    the classes in all of these."""
    places = np.arange(found.n_rows)
    if found.n_rows > n and found.weight is not None:
        places = np.flatnonzero(found.weight)
        found = _rows_of(found, places)
    if found.n_rows <= n:
        return found, places, found.n_rows, None
    rows, weights = np.zeros(found.n_rows, bool), _class_weights(found) if by_class else None
    rows[rng.choice(len(rows), n, replace=False)] = True
    if weights and len(weights) <= n:
        code = distinct_labels(np.asarray(found.y))[1]
        rows[_of_rare_classes(code, rows, rng.random(len(rows)), n, len(weights))] = True
    return _rows_of(found, np.flatnonzero(rows)), places[rows], found.n_rows, weights


def _class_weights(rows: Batch | ArraySource) -> Counter[Any] | None:
    """The weights of the classes, by label; None where rows have no labels of their own."""
    if rows.y is None or isinstance(rows.y, SoftLabels):
        return None
    labels, code = distinct_labels(np.asarray(rows.y))
    weight = np.bincount(code, rows.weight, len(labels))
    return Counter({a: w for a, w in zip(labels.tolist(), weight.tolist(), strict=True) if not is_missing(a)})


def _weighted(found: ArraySource, weights: Counter[Any]) -> ArraySource:
    """Return a sample in which the rows of each class have the weights that all rows of this class have together."""
    labels, code = distinct_labels(np.asarray(found.y))
    weight = np.ones(found.n_rows) if found.weight is None else found.weight
    total = np.array([weights.get(label, 0.0) for label in labels.tolist()])
    factor = total / np.bincount(code, weight, len(labels))
    return ArraySource(found.table, found.y, weight * factor[code], found.frame)


def _rows_of(source: ArraySource, rows: Array) -> ArraySource:
    y, weight = (None if own is None else own[rows] for own in (source.y, source.weight))
    return ArraySource(source.table[rows], y, weight, source.frame)


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


def _mixed(numbers: Array) -> Array:
    """Numbers that look random, by the finaliser of SplitMix64."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
