"""Differences between databases: how their rows are read as Arrow, and which sums they compute."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from sqlalchemy import (
    Boolean,
    Double,
    Engine,
    FromClause,
    Integer,
    Select,
    TableClause,
    Text,
    case,
    cast,
    column,
    func,
    inspect,
    literal_column,
    select,
    table,
    text,
    tuple_,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.sql.elements import ColumnElement

from ...errors import DatabaseError, DataError, listed
from ..summing import UnsummableError
from .queries import ROWS, everything
from .values import arrow_array, type_of

Expression = ColumnElement[Any]

_LOOK = 10_000  # rows that types are judged by where columns have none
_FETCHED = 1 << 17  # cells that are taken from a cursor at a time


@dataclass(frozen=True)
class SqlColumn:
    """A column of a query, and the type of Arrow that it is read as."""

    value: Expression
    type: Any


class Database:
    """Any database that SQLAlchemy supports. Rows are read; sums are not pushed down."""

    # How many sums it works out in the time in which one column is read and summed here, and in the time in which it
    # counts the values of one; as measured on one machine, see the benchmarks of databases.
    sums_per_column: ClassVar[float] = 0
    sums_per_count: ClassVar[float] = 3
    most_results = 0  # columns of a result at most
    is_parallel = False  # whether rows come so fast that several threads are worth while
    has_types = True  # whether cells are of the types of their columns
    listing = ""  # a query for the schemas and names of tables

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __str__(self) -> str:
        return self.engine.url.set(query={}).render_as_string(hide_password=True)  # a query may hold passwords, too

    # Reading.

    def cells(self, rows: FromClause) -> dict[str, SqlColumn]:
        """Return the columns of a query, with the types of its first rows."""
        with self._connected() as connection:
            found = connection.execute(everything(rows, _LOOK))
            names, values = list(found.keys()), found.all()
        columns = zip(*values, strict=True) if values else [()] * len(names)
        booleans = self._booleans(rows)
        return {
            name: SqlColumn(column(name), pa.bool_() if name in booleans else type_of(items))
            for name, items in zip(_unique(names), columns, strict=True)
        }

    def _booleans(self, rows: FromClause) -> set[str]:  # noqa: ARG002
        """Return the Boolean columns, which cannot be recognised by their values."""
        return set()

    def tables(self, statement: Select[Any], schema: Any, step: int) -> Generator[Any]:
        """The rows of a query as Arrow tables of about `step` rows, in order, none of them empty."""
        some = max(1, min(step, _FETCHED // len(schema)))
        waiting: list[Any] = []
        for rows in self._fetched(statement, some):
            columns = [arrow_array(*each) for each in zip(schema, zip(*rows, strict=True), strict=True)]
            waiting.append(pa.RecordBatch.from_arrays(columns, schema=schema))
            if sum(map(len, waiting)) >= step:
                yield pa.Table.from_batches(waiting)
                waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting)

    def _fetched(self, statement: Select[Any], some: int) -> Generator[Sequence[Any]]:
        """Some rows of a query at a time; the rest stays in the database."""
        with self._connected() as connection:
            streamed = connection.execution_options(stream_results=True, max_row_buffer=some)
            yield from streamed.execute(statement).partitions(some)

    def fetch(self, statement: Any) -> list[Any]:
        """All rows of a small result."""
        with self._connected() as connection:
            return list(connection.execute(statement).all())

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        with self._failing("cannot be reached; check the address, the user and the password"):
            connection = self.engine.connect()
        with self._failing(), connection:
            yield connection

    @contextmanager
    def _failing(self, what: str = "refuses the query; check it") -> Iterator[None]:
        """Turn errors of the database into DatabaseError, each in one line."""
        try:
            yield
        except (SQLAlchemyError, pa.ArrowException, self.engine.dialect.loaded_dbapi.Error) as error:
            why = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            # Every driver calls it so where numbers are too large, or text is no number.
            is_of_data = any(kind.__name__ == "DataError" for kind in type(why).__mro__)
            ours = UnsummableError if is_of_data else DatabaseError
            raise ours(f"{self} {what}: {' '.join(str(why).split())[:300]}") from error

    def files(self) -> list[str]:
        """Return the database files on this machine, if there are any."""
        return []

    # Summing.

    def number(self, cell: SqlColumn) -> Expression:
        """A column of numbers or booleans as floating-point numbers."""
        if pa.types.is_boolean(cell.type):
            return cast(cast(cell.value, Integer), Double)
        return cell.value if cell.type == pa.float64() else cast(cell.value, Double)

    def key(self, cell: SqlColumn) -> Expression:
        """Return a column to group by, such that values compare as they do in Python."""
        return cell.value

    def grouped(self, totals: Select[Any], keys: list[Expression], values: list[Expression]) -> list[list[Any]]:
        """For each of some columns the totals by keys and values, with the value at the end of each row."""
        statements = [totals.add_columns(value.label("suffice_value")).group_by(*keys, value) for value in values]
        return [self.fetch(statement) for statement in statements]


class PostgresDatabase(Database):
    """PostgreSQL: columns have types; rows are read through a server-side cursor, in binary if the driver can."""

    sums_per_column = 12
    most_results = 1600  # of 1664
    listing = (
        "SELECT nspname, relname FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n "
        "ON n.oid = relnamespace WHERE relkind IN ('r', 'p', 'v', 'm', 'f') "
        "AND nspname NOT IN ('information_schema', 'pg_catalog') ORDER BY 2"
    )
    types: ClassVar[dict[int, Any]] = {
        16: pa.bool_(),
        20: pa.int64(),
        21: pa.int16(),
        23: pa.int32(),
        700: pa.float32(),
        701: pa.float64(),
        1082: pa.date32(),
        1114: pa.timestamp("us"),
        1184: pa.timestamp("us", "UTC"),
    }

    def cells(self, rows: FromClause) -> dict[str, SqlColumn]:
        with self._connected() as connection:
            found = connection.execute(everything(rows, 0))
            codes = {each[0]: each[1] for each in found.cursor.description}
            names = _unique([each[0] for each in found.cursor.description])
            others = [code for code in codes.values() if code not in self.types and code != _DECIMAL]
            types = table("pg_type", column("oid"), column("typcategory"), schema="pg_catalog")
            categories = dict(connection.execute(select(types).where(types.c.oid.in_(others))).all()) if others else {}
        return {name: self._cell(column(name), codes[name], categories) for name in names}

    def _cell(self, value: Expression, code: int, categories: dict[int, str]) -> SqlColumn:
        if code in self.types:
            return SqlColumn(value, self.types[code])
        if code == _DECIMAL:
            return SqlColumn(cast(value, Double), pa.float64())
        # Text and enumerations; of the rest nothing is known but how it is written.
        is_text = categories.get(code) in ("S", "E")
        return SqlColumn(cast(value, Text), pa.string() if is_text else pa.binary())

    def _fetched(self, statement: Select[Any], some: int) -> Generator[Sequence[Any]]:
        if self.engine.dialect.driver != "psycopg":
            yield from super()._fetched(statement, some)
            return
        with self._connected() as connection:
            driver = connection.connection.driver_connection
            with driver.transaction(), driver.cursor(name=ROWS, binary=True) as cursor:
                cursor.execute(*_compiled(statement, self.engine))
                while rows := cursor.fetchmany(some):
                    yield rows

    def key(self, cell: SqlColumn) -> Expression:
        return cell.value.collate("C") if cell.type == pa.string() else cell.value

    def grouped(self, totals: Select[Any], keys: list[Expression], values: list[Expression]) -> list[list[Any]]:
        """Compute everything in one scan with grouping sets, which are not faster in other databases."""
        sets = func.grouping_sets(*(tuple_(*keys, value) for value in values))
        columns = [value.label(f"suffice_value_{j}") for j, value in enumerate(values)]
        absent = [func.grouping(value).label(f"suffice_absent_{j}") for j, value in enumerate(values)]
        rows = self.fetch(totals.add_columns(*columns, *absent).group_by(sets))
        n, d = len(keys) + 1, len(values)
        return [[(*row[:n], row[n + j]) for row in rows if not row[n + d + j]] for j in range(d)]


_DECIMAL = 1700


class SqliteDatabase(Database):
    """SQLite: cells have types, columns do not; the types of the first rows are used."""

    sums_per_column = 3
    has_types = False
    most_results = 1900  # of 2000
    listing = "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 2"

    def _booleans(self, rows: FromClause) -> set[str]:
        if not isinstance(rows, TableClause):
            return set()
        with self._connected() as connection:
            columns = inspect(connection).get_columns(rows.name, rows.schema)
        return {each["name"] for each in columns if isinstance(each["type"], Boolean)}

    def files(self) -> list[str]:
        return [path for _, _, path in self.fetch(text("PRAGMA database_list")) if path]

    def number(self, cell: SqlColumn) -> Expression:
        """Values that do not fit the type of the column become infinite, because a cast would make them zero."""
        value, kind = cell.value, func.typeof(cell.value)
        fits: Expression
        if pa.types.is_boolean(cell.type):
            fits = value.is_(None) | value.in_([0, 1])
        else:
            fits = kind.in_(["null", "integer"] if pa.types.is_integer(cell.type) else ["null", "integer", "real"])
        return case((fits, cast(value, Double)), else_=literal_column("9e999"))

    def key(self, cell: SqlColumn) -> Expression:
        return cell.value.collate("BINARY") if cell.type == pa.string() else cell.value


class DuckDatabase(Database):
    """DuckDB: it runs in this process and returns Arrow."""

    sums_per_column = 3.5
    most_results = 10_000
    is_parallel = True
    listing = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 2"

    def __init__(self, engine: Engine, connection: Any = None) -> None:
        super().__init__(engine)
        self._own = connection

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        if self._own is None:
            with super()._connected() as connection:
                yield connection.connection.dbapi_connection
        else:
            with self._failing():
                yield self._own

    def cells(self, rows: FromClause) -> dict[str, SqlColumn]:
        with self._connected() as connection:
            reader = self._run(connection, everything(rows, 0)).to_arrow_reader(1)
            schema = reader.schema
            reader.close()
        _unique(schema.names)
        return {each.name: self._cell(each.name, each.type) for each in schema}

    def _cell(self, name: str, kind: Any) -> SqlColumn:
        if pa.types.is_decimal(kind):
            return SqlColumn(cast(column(name), Double), pa.float64())
        return SqlColumn(column(name), kind)

    def tables(self, statement: Select[Any], schema: Any, step: int) -> Generator[Any]:  # noqa: ARG002
        with self._connected() as connection:
            reader = self._run(connection, statement).to_arrow_reader(step)
            try:
                for batch in reader:
                    if len(batch):
                        yield pa.Table.from_batches([batch])
            finally:
                reader.close()  # a connection has one result at a time

    def fetch(self, statement: Any) -> list[Any]:
        with self._connected() as connection:
            return list(self._run(connection, statement).fetchall())

    def files(self) -> list[str]:
        return [path for (path,) in self.fetch(text("SELECT path FROM duckdb_databases()")) if path]

    def _run(self, connection: Any, statement: Any) -> Any:
        query, values = _compiled(statement, self.engine)
        return connection.sql(query, params=values or None)


def _compiled(statement: Any, engine: Engine) -> tuple[str, Any]:
    """A query and its parameters as a driver takes them."""
    compiled = statement.compile(dialect=engine.dialect)
    state = compiled.construct_expanded_state(escape_names=False)
    processors = {**compiled._bind_processors, **state.processors}  # from the types of parameters to those of drivers
    values = {
        name: processors[name](value) if name in processors else value for name, value in state.parameters.items()
    }
    if state.positiontup is not None:
        return state.statement, [values[name] for name in state.positiontup]
    return state.statement, {compiled.escaped_bind_names.get(name, name): value for name, value in values.items()}


def _unique(names: list[str]) -> list[str]:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"column names must be unique, but {listed(repeated)} appears more than once in the query")
    return names
