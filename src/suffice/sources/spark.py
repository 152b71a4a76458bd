"""Spark frames: a statistic for each partition from its Arrow batches; one small row of each comes to the driver."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, listed
from ..tables.arrow import from_arrow
from ..tables.readers import is_of
from ..tables.table import Table
from .base import SPREAD, RowResults
from .cluster import FAN_IN, ClusterSource, OfPart, Outcome, merged, part_outcome, part_source, tree, wanted_columns
from .frames.arrays import ArraySource, array_source
from .summing import SummingSource, Term, TermTotals, ValueWeights

T = TypeVar("T")
Array = NDArray[Any]

# Features from which on a statistic may be large, so that executors merge those of neighbours before any goes to the
# driver. It takes a shuffle, which is longer than a driver needs for hundreds of small ones.
WIDE = 256


# TermTotals that Spark works out sooner than it hands the rows to Python: those of a diagonal statistic, three for each
# column. Beyond, planning them takes longer than the products of Python.
_SUMS_PER_COLUMN = 3

_INCOMPLETE = "incomplete"  # rows with a missing cell, of any weight: a term of our own
_LARGEST = "1.7976931348623157E308D"
_KINDS = {
    **dict.fromkeys(["double", "float", "decimal"], "float"),
    **dict.fromkeys(["byte", "short", "integer", "long"], "integer"),
    "boolean": "boolean",
    "string": "text",
}


def is_spark(X: Any) -> bool:
    """Whether X is a Spark frame, of a session in this process or of Spark Connect."""
    return is_of(X, "pyspark.sql.dataframe", "DataFrame")


class SparkSource(ClusterSource, SummingSource):
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
        self.types = {field.name: field.dataType.typeName() for field in X.schema.fields}
        self.kinds = [_KINDS.get(self.types[name], "other") for name in features]

    def _rows(self, *more: str | None) -> Any:
        """The features, and other columns."""
        names = dict.fromkeys([*self.names, *(name for name in more if name is not None)])
        return self.X.select(*(_quoted(name) for name in names))

    def labels_alone(self) -> SparkSource:
        return SparkSource(self.X, self.y, None, self.names[:1])

    def head(self, n: int) -> Table:
        return array_source(self._rows().limit(n).toArrow()).table

    def spread(self, n: int) -> Table:
        """The first rows, and some of every partition."""
        import pyarrow as pa

        rows = self._rows()
        with _arrow_alone():
            some = _mapped(rows, partial(_first_rows, n // SPREAD), rows.schema).toArrow()
        first = rows.limit(n).toArrow()
        return array_source(pa.concat_tables([first, some.cast(first.schema)])).table

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
                rows = rows.groupBy((rows["partition"] / FAN_IN).cast("long")).applyInArrow(of_neighbours, _ROW)
            found = _ordered(rows.toArrow())
        return tree([one for _, one in found], join) if found else None

    # Sums.

    def affords(self, n_sums: int, n_counts: int) -> bool:  # noqa: ARG002
        return n_sums <= _SUMS_PER_COLUMN * self.n_features

    def sums(self, terms: Sequence[Term], centers: Array, label: Any = None) -> TermTotals:
        lacking = [term.columns[0] for term in terms if term.kind == "missing"]
        if not lacking:
            return self._summed(terms, centers, label)
        # One count tells whether any cell is missing. If none is, there is nothing to sum for each column.
        plain = [i for i, term in enumerate(terms) if term.kind != "missing"]
        asked = [*(terms[i] for i in plain), Term(_INCOMPLETE, tuple(lacking))]
        labels, found = self._summed(asked, centers, label)
        if found[:, -1].any():
            return self._summed(terms, centers, label)
        totals = np.zeros((len(found), len(terms)))
        totals[:, plain] = found[:, :-1]
        return TermTotals(labels, totals)

    def _summed(self, terms: Sequence[Term], centers: Array, label: Any) -> TermTotals:
        from pyspark.sql import functions as F  # noqa: N812

        rows = self.X if label is None else self.X.where(self._keys()[0] == F.lit(label))
        numbers = [self._number(name) for name in self.names]
        deviations = [f"({x} - {_literal(center)})" for x, center in zip(numbers, centers, strict=True)]
        weight = None if self.weight is None else self._number(self.weight)
        totals = [_total(term, numbers, deviations, weight) for term in terms]
        found = self._grouped(rows, self._keys(), ["count(1)", *totals])
        kept = found.filter(found.column(found.num_columns - len(terms) - 1).to_numpy() > 0)
        parts = [_floats(column) for column in kept.columns[-len(terms) :]]
        return TermTotals(self._labels(kept), np.stack(parts, axis=1))

    def counts(self, columns: Sequence[int]) -> list[ValueWeights]:
        from pyspark.sql import functions as F  # noqa: N812

        total = "count(1)" if self.weight is None else f"sum({self._number(self.weight)})"
        counts = []
        for j in columns:
            keys = [*self._keys(), F.col(_quoted(self.names[j]))]
            found = self._grouped(self.X, keys, [total])
            weight = _floats(found.column(found.num_columns - 1))
            counts.append(ValueWeights(self._labels(found), found.column(len(keys) - 1).to_pylist(), weight))
        return counts

    def _grouped(self, rows: Any, keys: list[Any], totals: list[str]) -> Any:
        """An Arrow table of the keys and their totals."""
        from pyspark.sql import functions as F  # noqa: N812

        # As text: a call of the JVM for each part of many expressions takes longer than the sums.
        names = [f"c{i}" for i in range(len(keys) + len(totals))]
        with _arrow_alone():
            return rows.groupBy(*keys).agg(*map(F.expr, totals)).toDF(*names).toArrow()

    def _keys(self) -> list[Any]:
        from pyspark.sql import functions as F  # noqa: N812

        return [] if self.y is None else [F.col(_quoted(self.y))]

    def _labels(self, found: Any) -> Array | None:
        return None if self.y is None else from_arrow(found.column(0))

    def _number(self, name: str) -> str:
        return _quoted(name) if self.types[name] == "double" else f"CAST({_quoted(name)} AS double)"

    # Scores.

    def _map_parts(self, work: Callable[[ArraySource], Array], results: RowResults) -> Any:
        """Return the frame with the results as additional columns: Spark has no other way to keep rows and results
        together."""
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


def _total(term: Term, numbers: list[str], deviations: list[str], weight: str | None) -> str:
    """Return the total of a term over some rows, as a Spark expression."""
    x = numbers[term.columns[0]] if term.columns else ""
    present = "1.0D" if weight is None else f"nullif({weight}, 0.0D)"  # rows of weight zero are absent
    match term.kind:
        case "weight":
            return f"sum({present})"
        case "bad_weight":  # NaN is larger than any number here
            odd = f"{weight} IS NULL OR {weight} < 0.0D OR {weight} > {_LARGEST}"
            return "0" if weight is None else f"count_if({odd})"
        case "missing":
            return f"sum(CASE WHEN {x} IS NULL THEN {present} END)"
        case "positive":
            return f"sum(CASE WHEN {x} > 0.0D THEN {present} END)"
        case "negative":
            return f"count_if({x} < 0.0D)"
        case "infinite":
            return f"count_if(abs({x}) > {_LARGEST})"
        case "untrue":
            return f"count_if({x} NOT IN (0.0D, 1.0D))"
        case "deviation" | "product":
            factors = [deviations[j] for j in term.columns]
            return f"sum({' * '.join(factors if weight is None else [present, *factors])})"
        case "incomplete":
            return f"count(1) - count({', '.join(numbers[j] for j in term.columns)})"
    raise AssertionError(term)


def _literal(value: float) -> str:
    return f"({float(value)!r}D)"


def _floats(totals: Any) -> Array:
    """Totals as numbers, zero for an empty sum."""
    return np.asarray(totals.fill_null(0).to_numpy(), np.float64)


_ROW = "partition long, outcome binary"  # the number of a partition, and what it comes to


def _row(index: int, outcome: Any) -> Any:
    import pyarrow as pa

    return pa.record_batch({"partition": [index], "outcome": pa.array([pickle.dumps(outcome)], pa.binary())})


def _ordered(rows: Any) -> list[tuple[int, Any]]:
    """Return results in the order of the partitions."""
    indices, outcomes = (rows.column(name).to_pylist() for name in ("partition", "outcome"))
    return sorted(zip(indices, map(pickle.loads, outcomes), strict=True), key=lambda row: row[0])


def _first_rows(n: int, batches: Iterator[Any]) -> Iterator[Any]:
    """The first rows of a partition."""
    for batch in batches:
        yield batch.slice(0, n)
        n -= len(batch)
        if n <= 0:
            return


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
    """Ignore Spark's warnings about pandas versions: pandas is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
