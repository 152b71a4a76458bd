"""Spark frames: a statistic for each partition from its Arrow batches; one small row of each comes to the driver."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, listed
from ..table import Table
from .arrays import ArraySource, array_source
from .base import RowResults
from .partitions import FAN_IN, ClusterSource, OfPart, Outcome, merged, part_outcome, part_source, tree, wanted_columns

T = TypeVar("T")
Array = NDArray[Any]

# Features from which on a statistic may be large, so that executors merge those of neighbours before any goes to the
# driver. It takes a shuffle, which is longer than a driver needs for hundreds of small ones.
WIDE = 256


def is_spark(X: Any) -> bool:
    """Whether X is a Spark frame, of a session in this process or of Spark Connect."""
    module = sys.modules.get("pyspark.sql.dataframe")
    return module is not None and isinstance(X, module.DataFrame)


class SparkSource(ClusterSource):
    """Rows of a Spark frame."""

    names: tuple[str, ...]

    def __init__(self, X: Any, y: Any, weight: Any, names: tuple[str, ...] | None = None) -> None:
        for what, name in (("labels", y), ("weights", weight)):
            if not (name is None or isinstance(name, str)):
                raise DataError(
                    f"the {what} of a Spark frame are one of its columns: pass its name, not {type(name).__name__}"
                )
        features = wanted_columns(list(X.columns), y, weight, names)
        if not features:
            raise DataError(f"0 feature(s) (shape={(0, 0)}) while a minimum of 1 is required.")
        self.X, self.y, self.weight = X, y, weight
        self.names, self.n_features = tuple(features), len(features)

    def _rows(self, *more: str | None) -> Any:
        """The features, and other columns."""
        names = dict.fromkeys([*self.names, *(name for name in more if name is not None)])
        return self.X.select(*(_quoted(name) for name in names))

    def labels_alone(self) -> SparkSource:
        return SparkSource(self.X, self.y, None, self.names[:1])

    def head(self, n: int) -> Table:
        return array_source(self._rows().limit(n).toArrow()).table

    def in_memory(self) -> ArraySource:
        return array_source(self._rows(self.y, self.weight).toArrow(), self.y, self.weight)

    def _outcome(self, of_part: OfPart[T], merge: Callable[[T, T], T]) -> Outcome[T]:
        y, weight, join = self.y, self.weight, partial(merged, merge)

        def of_partition(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import TaskContext

            context = TaskContext.get()
            number = context.partitionId() if context else 0
            yield _row(number, part_outcome(of_part, number, ((batch, y, weight) for batch in batches)))

        def of_neighbours(rows: Any) -> Any:
            import pyarrow as pa

            ordered = _ordered(rows)
            return pa.Table.from_batches([_row(ordered[0][0], join(one for _, one in ordered))])

        with _arrow_alone():
            rows = _mapped(self._rows(self.y, self.weight), of_partition, _ROW)
            if self.n_features >= WIDE:
                rows = rows.groupBy((rows.place / FAN_IN).cast("long")).applyInArrow(of_neighbours, _ROW)
            found = _ordered(rows.toArrow())
        return tree([one for _, one in found], join) if found else None

    def map_rows(self, work: Callable[[ArraySource], Array], results: RowResults) -> Any:
        """The frame with the results as further columns: rows of Spark have no other way to stay together."""
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        columns, names = results.columns(), list(self.names)
        taken = [name for name in columns if name in self.X.columns]
        if taken:
            raise DataError(f"the results would be columns {listed(taken)}, which X has already; drop or rename them")
        kind = _arrow_type(np.dtype(results.dtype))
        added = [StructField(name, from_arrow_type(kind)) for name in columns]

        def scored(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                values = work(part_source(batch.select(names))) if batch.num_rows else results.empty(0)
                yield _with_columns(batch, values.reshape(-1, len(columns)), columns, kind)

        with _arrow_alone():
            return _mapped(self.X, scored, StructType([*self.X.schema.fields, *added]))


_ROW = "place long, outcome binary"  # the number of a partition, and what it comes to


def _row(place: int, outcome: Any) -> Any:
    import pyarrow as pa

    return pa.record_batch({"place": [place], "outcome": pa.array([pickle.dumps(outcome)], pa.binary())})


def _ordered(rows: Any) -> list[tuple[int, Any]]:
    """Outcomes in the order of partitions, whichever came first."""
    places, outcomes = (rows.column(name).to_pylist() for name in ("place", "outcome"))
    return sorted(zip(places, map(pickle.loads, outcomes), strict=True), key=lambda row: row[0])


def _with_columns(batch: Any, values: Array, columns: list[str], kind: Any) -> Any:
    import pyarrow as pa

    added = [pa.array(np.ascontiguousarray(column)).cast(kind) for column in values.T]
    return pa.RecordBatch.from_arrays([*batch.columns, *added], [*batch.schema.names, *columns])


def _arrow_type(dtype: Any) -> Any:
    import pyarrow as pa

    return {"f": pa.float64(), "i": pa.int64(), "u": pa.int64(), "b": pa.bool_()}.get(dtype.kind, pa.string())


def _mapped(frame: Any, work: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> Any:
    """The frame that `work` makes of the batches of each partition."""
    names = frame.columns

    def named(batches: Iterator[Any]) -> Iterator[Any]:
        return work(batch.rename_columns(names) for batch in batches)

    # Spark takes a dot in a name for a path here, and there is no way to quote it.
    return frame.toDF(*(f"c{j}" for j in range(len(names)))).mapInArrow(named, schema)


@contextmanager
def _arrow_alone() -> Iterator[None]:
    """Spark warns of versions of pandas, which plays no part here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
