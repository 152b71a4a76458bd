"""Dask frames and arrays: a statistic for each partition on its worker, and a tree that merges them there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..tables.batch import check_ndim
from ..tables.readers import is_label, is_of
from ..tables.table import Table
from .base import SPREAD, RowResults
from .cluster import ClusterSource, OfPart, Outcome, merged, part_outcome, part_source, tree, wanted_columns
from .frames.arrays import ArraySource, array_source

T = TypeVar("T")
Array = NDArray[Any]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask frame or array."""
    return is_of(X, "dask.dataframe", "DataFrame") or is_of(X, "dask.array", "Array")


def dask_source(X: Any, y: Any = None, weight: Any = None, names: tuple[str, ...] | None = None) -> ClusterSource:
    """The source for a Dask frame, or for an array."""
    return DaskArray(X, y, weight) if is_of(X, "dask.array", "Array") else DaskFrame(X, y, weight, names)


class DaskSource(ClusterSource):
    """Rows in partitions; labels and weights are columns of X, or series with the same partitions."""

    X: Any
    y: Any
    weight: Any

    def _outcome(self, of_part: OfPart[T], merge: Callable[[T, T], T]) -> Outcome[T]:
        from dask.delayed import delayed

        work, join = delayed(partial(_of_partition, of_part)), delayed(partial(merged, merge))
        columns = [self._beside("y", self.y), self._beside("sample_weight", self.weight)]
        leaves = [work(i, *parts) for i, parts in enumerate(zip(self._parts(), *columns, strict=True))]
        outcome: Outcome[T] = tree(leaves, join).compute()
        return outcome

    def in_memory(self) -> ArraySource:
        import dask

        return array_source(*dask.compute(self.X, self.y, self.weight))

    def _parts(self) -> list[Any]:
        return list(np.ravel(self.X.to_delayed()))

    def _beside(self, what: str, column: Any) -> list[Any]:
        """The labels or weights of every partition."""
        n = self.X.npartitions
        if column is None or isinstance(column, str | int | np.integer):  # a label
            return [column] * n
        if not (is_of(column, "dask.dataframe", "Series") or is_of(column, "dask.array", "Array")):
            raise DataError(
                f"X lies in {n} partitions, but {what} is a {type(column).__name__}; name a column of X, or pass a "
                "Dask series or array with the same partitions"
            )
        if column.npartitions != n:
            raise DataError(f"X has {n} partitions, but {what} has {column.npartitions}; repartition one of them")
        return list(np.ravel(column.to_delayed()))


def _of_partition(of_part: OfPart[T], number: int, X: Any, y: Any, weight: Any) -> Outcome[T]:
    return part_outcome(of_part, number, [(X, y, weight)])


class DaskFrame(DaskSource):
    """A Dask frame."""

    def __init__(self, X: Any, y: Any, weight: Any, names: tuple[str, ...] | None) -> None:
        columns = list(X.columns)
        features = wanted_columns(columns, y, weight, names)
        if not features:
            raise DataError(f"0 feature(s) (shape={(0, 0)}) while a minimum of 1 is required.")
        used = [*features, *(name for name in (y, weight) if is_label(name, columns))]
        self.X, self.y, self.weight = X if used == columns else X[used], y, weight
        self.features = self.X if features == used else self.X[features]
        self.frame = self.features._meta
        self.names, self.n_features = array_source(self.frame).names, len(features)

    def labels_alone(self) -> DaskFrame:
        return DaskFrame(self.X, self.y, None, self.names and self.names[:1])

    def head(self, n: int) -> Table:
        return array_source(self.features.head(n, npartitions=-1, compute=True)).table

    def spread(self, n: int) -> Table:
        count = self.features.npartitions
        chosen = np.unique(np.linspace(0, count - 1, SPREAD).round().astype(int)).tolist()
        if len(chosen) < 2:
            return self.head(n)
        each = -(-n // len(chosen))
        some = self.features.partitions[chosen].map_partitions(_every_so_many, each, meta=self.frame)
        return array_source(some.compute()).table

    def _map_parts(self, work: Callable[[ArraySource], Array], results: RowResults) -> Any:
        meta = _as_pandas(results.empty(0), self.frame.index, results)
        return self.features.map_partitions(_frame_of, work, results, meta=meta)


def _every_so_many(rows: Any, n: int) -> Any:
    """About n rows from all over a frame or an array."""
    step = max(1, len(rows) // n)
    return rows.iloc[::step] if hasattr(rows, "iloc") else rows[::step]


def _frame_of(X: Any, work: Callable[[ArraySource], Array], results: RowResults) -> Any:
    """The results for the rows of a partition."""
    return _as_pandas(work(part_source(X)) if len(X) else results.empty(0), X.index, results)


def _as_pandas(values: Array, index: Any, results: RowResults) -> Any:
    pandas, columns = sys.modules["pandas"], results.columns()
    if results.labels is None:
        return pandas.Series(values, index, name=columns[0])
    return pandas.DataFrame(values, index, columns)


class DaskArray(DaskSource):
    """A Dask array."""

    names = None

    def __init__(self, X: Any, y: Any, weight: Any) -> None:
        check_ndim(X.ndim)
        self.X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        self.y, self.weight = self._aligned(y), self._aligned(weight)
        self.n_features = X.shape[1]

    def _aligned(self, column: Any) -> Any:
        """Return labels or weights in the same chunks as the rows, if the lengths of these are known."""
        rows = self.X.chunks[0]
        if not is_of(column, "dask.array", "Array") or column.ndim != 1 or np.isnan([*rows, *column.chunks[0]]).any():
            return column
        if sum(rows) != len(column):
            lengths = f"X has {sum(rows)} rows, y has {len(column)}"
            raise DataError(f"Found input variables with inconsistent numbers of samples: {lengths}")
        return column.rechunk((rows,))

    def spread(self, n: int) -> Table:
        parts = self._parts()
        chosen = np.unique(np.linspace(0, len(parts) - 1, SPREAD).round().astype(int))
        each = -(-n // len(chosen))
        return array_source(np.concatenate([_every_so_many(parts[i].compute(), each) for i in chosen])).table

    def head(self, n: int) -> Table:
        """Return the first rows, from as many chunks as needed."""
        found: list[Any] = []
        for part in self._parts():
            found.append(part.compute())
            if sum(len(block) for block in found) >= n:
                break
        return array_source(np.concatenate(found)[:n]).table

    def _map_parts(self, work: Callable[[ArraySource], Array], results: RowResults) -> Any:
        meta = results.empty(0)
        shape = {"drop_axis": 1} if results.labels is None else {"chunks": (self.X.chunks[0], (len(results.labels),))}
        return self.X.map_blocks(_array_of, work, results, dtype=results.dtype, meta=meta, **shape)


def _array_of(X: Any, work: Callable[[ArraySource], Array], results: RowResults) -> Array:
    return work(part_source(X)) if X.shape[0] else results.empty(0)
