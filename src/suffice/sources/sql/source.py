"""Tables and queries of databases: the database computes sums, or rows are streamed from it, whichever is faster."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import DatabaseError, DataError
from ...tables.arrow import arrow_frame, from_arrow
from ...tables.batch import Batch
from ...tables.table import Frame
from ...threads import reduce_ordered, thread_count
from ..base import Run, rows_read
from ..cluster import part_source, wanted_columns
from ..frames.arrays import ArraySource, array_source
from ..summing import SummingSource, Term, TermTotals, ValueWeights

if TYPE_CHECKING:
    from .databases import Database, Expression

T = TypeVar("T")
Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Sql:
    """A query that is read as a table; see `sql`."""

    database: Database
    query: Any
    columns: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"suffice.sql({str(self.database)!r}, {self.query!r})"


def sql(database: Any, query: Any, columns: Sequence[str] | None = None) -> Sql:
    """Read a database in place of a table: pass the result to `fit`, `predict` and the like as X.

    If the statistic of a model is a few sums per column, the database computes them, and no row leaves it. Otherwise
    rows are streamed, so that memory does not depend on their number.

    Parameters
    ----------
    database : str, SQLAlchemy engine or DuckDB connection
        The database. Text is a URL of SQLAlchemy, such as "postgresql://user@host/name", "sqlite:///file.db" or
        "duckdb:///file.duckdb".
    query : str, tuple of str, or SQLAlchemy table or select
        The name of a table, "schema.table" or a tuple of the two; or a SELECT.
    columns : list of str, default=None
        The names of the feature columns. None means all except those of labels and weights.

    Returns
    -------
    Sql
        The table or query, to be passed as X.

    Examples
    --------
    >>> import duckdb
    >>> from suffice import GaussianClassifier, sql
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("CREATE TABLE visits AS SELECT i % 2 AS label, i / 10 AS age FROM range(100) r(i)")
    >>> clf = GaussianClassifier("diag").fit(sql(connection, "visits"), "label")
    >>> clf.means_.round(2)
    array([[4.9],
           [5. ]])
    >>> clf.predict(sql(connection, "SELECT age FROM visits WHERE age < 0.2")).tolist()
    [0, 0]
    """
    try:
        from .connecting import as_database
    except ImportError as error:
        raise DatabaseError(f"suffice.sql needs SQLAlchemy: pip install suffice[sql] ({error})") from error
    if isinstance(columns, str):
        raise DataError(f"columns={columns!r} must be a list of names")
    return Sql(as_database(database), query, None if columns is None else tuple(columns))


def is_sql(X: Any) -> bool:
    """Whether X is what `sql` returns."""
    return isinstance(X, Sql)


class SqlSource(SummingSource):
    """Rows of a query, in the order in which it gives them."""

    in_order = True
    names: tuple[str, ...]

    def __init__(self, X: Sql, y: Any, weight: Any, names: tuple[str, ...] | None = None) -> None:
        import pyarrow as pa

        from .queries import as_rows

        for what, name in (("labels", y), ("weights", weight)):
            if not (name is None or isinstance(name, str)):
                raise DataError(
                    f"the {what} of a query are one of its columns: pass its name, not {type(name).__name__}"
                )
        self.database, self.y, self.weight = X.database, y, weight
        self.has_types = X.database.has_types
        self.rows = as_rows(X.query, X.database)
        self.cells = X.database.cells(self.rows)
        wanted = wanted_columns(list(self.cells), y, weight, X.columns or names)
        features = [name for name in wanted if name not in (y, weight)]
        if not features:
            raise DataError(f"0 feature(s) (shape={(0, 0)}) while a minimum of 1 is required.")
        self.names, self.n_features = tuple(features), len(features)
        used = dict.fromkeys([*features, *(name for name in (y, weight) if name)])
        self.schema = pa.schema([(name, self.cells[name].type) for name in used])
        self.kinds = [part.kind for part in arrow_frame(self.schema.empty_table().select(self.names)).parts]

    def reads(self, path: str | os.PathLike[str]) -> bool:
        return os.path.exists(path) and any(
            os.path.exists(file) and os.path.samefile(path, file) for file in self.database.files()
        )

    # Reading.

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:
        threads = thread_count(self.n_jobs) if self.database.is_parallel else 1
        with closing(self._tables(rows_read(self.n_features))) as tables:
            first = next(tables, None)
            if first is None:
                shape = (0, self.n_features)
                raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
            work, start = (lambda table: map_batch(self._batch(table))), None if run is None else run.total
            return reduce_ordered(work, merge, chain([first], tables), threads, start=start)

    def head(self, n: int) -> Frame:
        import pyarrow as pa

        with closing(self._tables(n, n)) as tables:
            return arrow_frame(pa.concat_tables([self.schema.empty_table(), *tables]).select(self.names))

    def spread(self, n: int) -> Frame:
        """Every so many rows, which the database counts."""
        import pyarrow as pa
        from sqlalchemy import func, select

        try:
            ((count,),) = self.database.fetch(select(func.count()).select_from(self.rows))
            if count <= n:
                return self.head(n)
            cells = [self.cells[name].value.label(name) for name in self.schema.names]
            number = func.row_number().over().label("suffice_row")
            numbered = select(*cells, number).select_from(self.rows).subquery("suffice_rows")
            columns = [numbered.c[name] for name in self.schema.names]
            statement = select(*columns).where(numbered.c["suffice_row"] % (-(-count // n)) == 0)
            with closing(self.database.tables(statement, self.schema, n)) as tables:
                return arrow_frame(pa.concat_tables([self.schema.empty_table(), *tables]).select(self.names))
        except DatabaseError:  # not every database numbers rows
            return self.head(n)

    def in_memory(self) -> ArraySource:
        import pyarrow as pa

        with closing(self._tables(rows_read(1))) as tables:
            source = array_source(pa.concat_tables([self.schema.empty_table(), *tables]), self.y, self.weight)
        source.n_jobs = self.n_jobs
        return source

    def _batch(self, table: Any) -> Batch:
        return part_source(table, self.y, self.weight).batch(0, len(table))

    def _tables(self, step: int, limit: int | None = None) -> Generator[Any]:
        """All columns that are used, about `step` rows at a time."""
        from sqlalchemy import select

        statement = select(*(self.cells[name].value.label(name) for name in self.schema.names))
        return self.database.tables(statement.select_from(self.rows).limit(limit), self.schema, step)

    # Summing.

    def affords(self, n_sums: int, n_counts: int) -> bool:
        if not self._is_summable():
            return False
        cost = n_sums + self.database.sums_per_count * n_counts
        return n_sums <= self.database.most_results and cost <= self.database.sums_per_column * self.n_features

    def _is_summable(self) -> bool:
        """Whether weights are numbers, and labels have a type that every database compares with Python values."""
        wanted = {self.y: {"float", "integer", "boolean", "text"}, self.weight: {"float", "integer", "boolean"}}
        columns = {name: kinds for name, kinds in wanted.items() if name is not None}
        parts = arrow_frame(self.schema.empty_table().select(list(columns))).parts if columns else ()
        return all(part.kind in kinds for part, kinds in zip(parts, columns.values(), strict=True))

    def sums(self, terms: Sequence[Term], centers: Array, label: Any = None) -> TermTotals:
        from sqlalchemy import Double, bindparam, func, select

        from .totals import total

        about = [bindparam(f"center_{j}", float(center), Double) for j, center in enumerate(centers)]
        totals = [
            total(term, self._number, about, self._weights()).label(f"suffice_{i}") for i, term in enumerate(terms)
        ]
        keys = self._keys()
        statement = select(*keys, func.count().label("suffice_n"), *totals).select_from(self.rows).group_by(*keys)
        if label is not None:
            statement = statement.where(keys[0] == label)
        rows = [row for row in self.database.fetch(statement) if row[len(keys)]]
        numbers = [[0.0 if value is None else float(value) for value in row[len(keys) + 1 :]] for row in rows]
        return TermTotals(self._labels(rows), np.array(numbers, np.float64).reshape(len(rows), len(terms)))

    def counts(self, columns: Sequence[int]) -> list[ValueWeights]:
        from sqlalchemy import func, select

        weight, keys = self._weights(), self._keys()
        total = (func.count() if weight is None else func.sum(weight)).label("suffice_n")
        values = [self.database.key(self.cells[self.names[j]]) for j in columns]
        found = self.database.grouped(select(*keys, total).select_from(self.rows), keys, values)
        return [self._counts(self.names[j], rows) for j, rows in zip(columns, found, strict=True)]

    def _counts(self, name: str, rows: Sequence[Any]) -> ValueWeights:
        from .values import arrow_array

        values = arrow_array(self.schema.field(name), [row[-1] for row in rows]).to_pylist()
        return ValueWeights(self._labels(rows), values, np.array([row[-2] or 0.0 for row in rows], np.float64))

    def _number(self, column: int) -> Expression:
        return self.database.number(self.cells[self.names[column]])

    def _weights(self) -> Expression | None:
        return None if self.weight is None else self.database.number(self.cells[self.weight])

    def _keys(self) -> list[Expression]:
        """What rows are grouped by: their labels, if there are any."""
        return [] if self.y is None else [self.database.key(self.cells[self.y])]

    def _labels(self, rows: Sequence[Any]) -> Array | None:
        from .values import arrow_array

        if self.y is None:
            return None
        return from_arrow(arrow_array(self.schema.field(self.y), [row[0] for row in rows]))
