"""Rows with their scores, written as they come: neither is ever held as a whole."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..atomic import replacing
from ..errors import DataError, as_type, listed, remedy
from ..export.outputs import check_kept, columns_of, plain_labels, refuse_taken
from ..sources import Run, Source, as_source, with_verbatim
from ..sources.base import ColumnsSource
from ..storage import without_credentials
from ..tables.arrow import arrow_type, to_arrow
from ..tables.batch import Batch
from ..tables.table import Sparse, Table
from .loop import reduce_scores, refuse_empty
from .results import Results

if TYPE_CHECKING:
    from .model import Model

Array = NDArray[Any]
Write = Callable[[Any], object]  # of an Arrow table

_ROWS = 1 << 16  # fewest rows that are written at a time, but the last


def parquet_file(path: str | os.PathLike[str]) -> Callable[[Source | None, Any], AbstractContextManager[Write]]:
    """Open a Parquet file for rows of a source, with the columns of a schema; it is there at the end, or not at all."""
    name = without_credentials(path)
    if os.path.splitext(name)[1].lower() not in (".parquet", ".pq"):
        raise DataError(f"{name}: scores are written as Parquet; give a file name that ends in .parquet")

    @contextmanager
    def opened(source: Source | None, schema: Any) -> Iterator[Write]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if source is not None and source.reads(path):
            raise DataError(f"{name} is one of the input files; write to another file")
        # Hardly a score is like another: to look for those that are takes four times as long as to write them.
        repetitive = [column.name for column in schema if not pa.types.is_floating(column.type)]
        with replacing(path) as temporary, pq.ParquetWriter(temporary, schema, use_dictionary=repetitive) as writer:
            yield writer.write_table

    return opened


@contextmanager
def csv_file(file: Any, schema: Any) -> Iterator[Write]:
    """Write tables as CSV into an open file. Only cells that need quotes have them, as files of other programs do."""
    import pyarrow as pa

    header = pa.Table.from_arrays([pa.array([name]) for name in schema.names], schema.names)
    file.write(_csv(header))
    yield lambda table: file.write(_csv(table))


def _csv(table: Any) -> bytes:
    """The lines of a table."""
    import pyarrow.compute as pc

    nothing = '""' if table.num_columns == 1 else ""  # a line that is empty is no row
    how: dict[str, Any] = {"null_handling": "replace", "null_replacement": nothing}
    lines = pc.binary_join_element_wise(*map(_cells, table.columns), _text(","), **how)
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _cells(column: Any) -> Any:
    """Cells as text, with quotes where they need them; an empty cell has them, since without it is a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = column.cast(pa.large_string())
    if pa.types.is_primitive(column.type):
        return cells
    quoted = pc.binary_join_element_wise(_text('"'), pc.replace_substring(cells, '"', '""'), _text('"'), _text(""))
    return pc.if_else(pc.match_substring_regex(cells, r'[",\r\n]|^$'), quoted, cells)


def _text(value: str) -> Any:
    import pyarrow as pa

    return pa.scalar(value, pa.large_string())


def write_scores(
    model: Model,
    X: Any,
    opened: Callable[[Source | None, Any], AbstractContextManager[Write]],
    prior: Any,
    cost: Any,
    keep: Any,
    outputs: Any,
    strict: bool = False,
    as_written: bool = False,
) -> int:
    """Write columns and results of every row, in the order of the rows; return how many there are.

    Parameters
    ----------
    opened : callable
        From a source and the schema of the results, where to write them.
    strict : bool
        Whether cells that cannot be read are an error, rather than missing values with a warning.
    as_written : bool
        Whether columns of CSV files that the model reads are repeated as text, too.
    """
    import pyarrow as pa

    density, results, kept = model.density, _Results(model, prior, cost, outputs), check_kept(keep)
    source, features = sources_of(model, X, kept or [], as_written)
    own = [features.indices[j] for j in density.columns_read]
    repeated = RepeatedColumns(source, own if kept is None else indices_of(kept, source))
    refuse_taken(results.schema.names, repeated.schema.names)
    schema = pa.schema([*repeated.schema, *results.schema])

    def written(batch: Batch, scores: Array) -> list[Any]:
        return [pa.Table.from_arrays([*repeated.of(batch.table), *results.columns(scores)], schema=schema)]

    with opened(source, schema) as write:
        sink = _Sink(write)
        how: dict[str, Any] = {
            "features": features,
            "relative": results.relative,
            "run": Run[Any](sink),
            "strict": strict,
            "takes_infinity": model.takes_infinity,
        }
        reduce_scores(source, results.scorer, written, operator.iadd, **how)
        sink.flush()
    results.case.warn()
    return sink.n_rows


class _Sink:
    """The total of all rows so far: written, but for the last few."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self.n_rows = 0
        self.waiting: list[Any] = []

    def __iadd__(self, tables: list[Any]) -> _Sink:
        for table in tables:
            self.waiting.append(table)
            self.n_rows += len(table)
            if sum(map(len, self.waiting)) >= _ROWS:
                self.flush()
        return self

    def flush(self) -> None:
        import pyarrow as pa

        if self.waiting:
            self.write(pa.concat_tables(self.waiting))
            self.waiting.clear()


class RepeatedColumns:
    """Columns of the table, as they are."""

    def __init__(self, source: Source, indices: Sequence[int]) -> None:
        import pyarrow as pa

        # All rows of a table in memory, since its objects may be of any type; of what streams, the types are known.
        head = source.head(source.n_rows or 1)
        if isinstance(head, Sparse) and indices:
            raise DataError("the columns of a sparse table are too many to repeat; pass keep=[]")
        fields, names = [], head.names_of(indices)
        copies = {name: (source.names or ()).index(copy) for name, copy in source.copies.items()}
        self.indices = [copies.get(name, j) for name, j in zip(names, indices, strict=True)]
        for name, column in zip(names, self._columns(head), strict=True):
            with _named(name):
                fields.append((name, arrow_type(column)))
        self.schema = pa.schema(fields)

    def of(self, table: Table) -> Iterator[Any]:
        for column, field in zip(self._columns(table), self.schema, strict=True):
            with _named(field.name):
                values = to_arrow(column)
                yield values if values.type == field.type else values.cast(field.type)

    def _columns(self, table: Table) -> list[Any]:
        return table.take(self.indices).columns() if self.indices else []


@contextmanager
def _named(column: str) -> Iterator[None]:
    """Errors of a conversion to Arrow as ours, with the name of the column."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(
            f"column {column!r} has values of several types and cannot be repeated: {error}; leave it out of "
            f"{remedy('keep=', '--keep')}, or give it a type, as in {as_type(column)}"
        ) from None


class _Results(Results):
    """The results of rows, as columns of Arrow."""

    def __init__(self, model: Model, prior: Any, cost: Any, outputs: Any) -> None:
        import pyarrow as pa

        super().__init__(model, prior, cost, outputs)
        self.actions = pa.array(plain_labels(self.case.actions))
        kinds = {"decision": self.actions.type}
        self.schema = pa.schema(
            [
                (name, kinds.get(output, pa.float64()))
                for output in self.outputs
                for name in columns_of(output, model.classes)
            ]
        )

    def columns(self, scores: Array) -> list[Any]:
        """The columns of some rows, from their scores."""
        import pyarrow as pa

        found = self.of(scores)
        if "decision" in found:
            found["decision"] = self.actions.take(pa.array(found["decision"]))
        return [pa.array(values) for output in found for values in _by_column(found[output])]


def _by_column(values: Any) -> Iterable[Any]:
    return values.T if isinstance(values, np.ndarray) else [values]


def sources_of(model: Model, X: Any, kept: list[str], as_written: bool = False) -> tuple[Source, ColumnsSource]:
    """The rows, and their columns that the model reads; the others are there to be repeated."""
    known = model.names
    more = [name for name in kept if name not in (known or ())]
    rows = with_verbatim(model._columns.as_learnt(X), more, {*kept}.difference(more) if as_written else ())
    source = as_source(rows, n_jobs=model.n_jobs, names=None if known is None else (*known, *more))
    if source.is_lazy or not source.in_order:
        raise DataError(
            f"the rows of a {type(source).__name__} cannot be written from here; use predict or llr, "
            "which return columns of the same engine, and write those"
        )
    names = source.names
    if names is None:
        features = ColumnsSource(source, range(source.n_features), None)
    else:
        here = set(known or ()) <= set(names)  # or else the error tells what is missing
        own = known if known is not None and here else tuple(name for name in names if name not in more)
        features = ColumnsSource(source, indices_of(own, source), own)
    model._columns.check(features)
    refuse_empty(source)
    return source, features


def all_columns(model: Model, X: Any) -> list[str] | None:
    """Return the columns of a table, to be repeated beside results."""
    names = None if model.names is None else as_source(X).names
    return None if names is None else list(names)


def indices_of(columns: Sequence[str], source: Source) -> list[int]:
    """Where columns stand in a source."""
    names = source.names or ()
    lacking = [name for name in columns if name not in names]
    if lacking:
        raise DataError(
            f"{remedy('keep=', '--keep')} names {listed(lacking)}, but the table has "
            f"{listed(names, 10) or 'columns without names'}"
        )
    return [names.index(name) for name in columns]
