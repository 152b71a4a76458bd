"""Differences between SQL dialects: literals, types, names and a few functions, for SQLAlchemy's compiler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Double, Select
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import IdentifierPreparer
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.selectable import CTE

from ..errors import DataError, ParameterError, not_known, remedy

_NUMBER = "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$"
_AROUND = "$€£¥₹%,'_ \u00a0\u202f)"  # what amounts have beside their digits
_DAY = 86_400_000_000.0  # microseconds
LARGEST = float(np.nextafter(np.finfo(np.float64).max, 0.0))  # the last one stands for infinity where there is none
_BLOCK = 32  # terms of a sum, or arguments of a function, side by side: parsers and functions have limits


class Dialect(DefaultDialect):
    """One SQL dialect; the defaults are those of most databases.

    SQLAlchemy's own dialects are not needed for one SELECT of quoted names, and import their drivers' modules.
    """

    double = "DOUBLE"
    text = "VARCHAR"
    number = "{}"  # a literal with an exponent is a double
    infinity = "CAST('{}Infinity' AS DOUBLE)"
    greatest, least = "GREATEST", "LEAST"
    number_in = "TRY_CAST({0} AS DOUBLE)"  # of a text, NULL where it is none
    microseconds = "TIMESTAMPDIFF(MICROSECOND, CAST('1970-01-01' AS {1}), CAST({0} AS {1}))"  # since 1970, of a date
    time = "TIMESTAMP_NTZ"  # of the day, in no zone
    has_true = True  # whether Booleans are other than one and zero, so that no cast makes numbers of them
    paramstyle = "named"  # others double every percent sign
    div_is_floordiv = False  # everything that is divided here is a double
    supports_native_boolean = True

    def quoted(self, value: str) -> str:
        """A literal of text."""
        return "'" + value.replace("'", "''") + "'"

    def as_text(self, column: str) -> str:
        """A column as text that is compared letter by letter."""
        return f"CAST({column} AS {self.text})"

    def fenced(self, query: Select[Any], name: str) -> CTE:
        """A query to select from. Databases that would write its expressions out wherever they are used, and so work
        them out again and again, are kept from it."""
        return query.cte(name)


class _Backticks(IdentifierPreparer):
    def __init__(self, dialect: Any, **options: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`", **options)


class PostgreSQL(Dialect):
    name = "postgresql"
    double = "DOUBLE PRECISION"
    number = "float8 '{}'"  # others are decimals
    infinity = "float8 '{}Infinity'"
    number_in = f"CASE WHEN {{0}} ~ '{_NUMBER}' THEN CAST({{0}} AS DOUBLE PRECISION) END"
    microseconds = "EXTRACT(EPOCH FROM CAST({0} AS TIMESTAMP)) * 1000000"

    def quoted(self, value: str) -> str:
        if "\\" not in value:
            return super().quoted(value)
        escaped = value.replace("\\", "\\\\")  # in this form they mean the same under all settings
        return " E" + super().quoted(escaped)

    def fenced(self, query: Select[Any], name: str) -> CTE:
        return query.suffix_with("OFFSET 0").cte(name)


class DuckDB(Dialect):
    name = "duckdb"
    microseconds = "EPOCH_US(CAST({0} AS TIMESTAMP))"
    has_true = False


class SQLite(Dialect):
    name = "sqlite"
    double = "REAL"
    text = "TEXT"
    infinity = "({}9e999)"
    number_in = "CASE WHEN {0} GLOB '*[0-9]*' AND {0} NOT GLOB '*[^-+.0-9eE]*' THEN CAST({0} AS REAL) END"
    microseconds = "((strftime('%s', {0}) + strftime('%f', {0}) - strftime('%S', {0})) * 1e6)"
    greatest, least = "max", "min"
    has_true = False
    supports_native_boolean = False

    def as_text(self, column: str) -> str:
        return f"CAST({column} AS TEXT) COLLATE BINARY"

    def fenced(self, query: Select[Any], name: str) -> CTE:
        return query.cte(name).prefix_with("MATERIALIZED")


class MySQL(Dialect):
    name = "mysql"
    preparer: Any = _Backticks
    infinity = "({}1.7976931348623157e308)"  # there is none, and this comes nearest
    number_in = f"CASE WHEN {{0}} REGEXP '{_NUMBER}' THEN CAST({{0}} AS DOUBLE) END"
    time = "DATETIME(6)"
    has_true = False
    supports_native_boolean = False

    def quoted(self, value: str) -> str:
        return super().quoted(value.replace("\\", "\\\\"))

    def as_text(self, column: str) -> str:
        return f"CONVERT({column} USING utf8mb4) COLLATE utf8mb4_0900_bin"  # else 'a', 'A' and 'a ' are the same

    def fenced(self, query: Select[Any], name: str) -> CTE:
        return query.limit(2**63 - 1).cte(name)


class Snowflake(Dialect):
    name = "snowflake"
    double = "FLOAT"
    number = "CAST({} AS FLOAT)"
    infinity = "CAST('{}inf' AS FLOAT)"
    number_in = "TRY_CAST({0} AS FLOAT)"
    microseconds = "DATEDIFF(MICROSECOND, CAST('1970-01-01' AS {1}), CAST({0} AS {1}))"

    def quoted(self, value: str) -> str:
        return super().quoted(value.replace("\\", "\\\\"))


class _EscapedBackticks(_Backticks):
    def _escape_identifier(self, value: str) -> str:
        return value.replace("\\", "\\\\").replace("`", "\\`")


class BigQuery(Dialect):
    name = "bigquery"
    preparer: Any = _EscapedBackticks
    double = "FLOAT64"
    text = "STRING"
    infinity = "CAST('{}inf' AS FLOAT64)"
    number_in = "SAFE_CAST({0} AS FLOAT64)"
    microseconds = "DATETIME_DIFF(CAST({0} AS DATETIME), CAST('1970-01-01' AS DATETIME), MICROSECOND)"

    def quoted(self, value: str) -> str:
        return _backslashed(value)


class Spark(Dialect):
    name = "spark"
    preparer: Any = _Backticks
    text = "STRING"
    has_true = False

    def quoted(self, value: str) -> str:
        return _backslashed(value)


def _backslashed(value: str) -> str:
    for character, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(character, escaped)
    return f"'{value}'"


DIALECTS: dict[str, type[Any]] = {
    "postgresql": PostgreSQL,
    "duckdb": DuckDB,
    "sqlite": SQLite,
    "mysql": MySQL,
    "snowflake": Snowflake,
    "bigquery": BigQuery,
    "spark": Spark,
}


def dialect_of(name: Any) -> Any:
    """The dialect of this name, or an error."""
    if name not in DIALECTS:
        raise ParameterError(f"{remedy('dialect=', '--dialect ')}{name!r} {not_known(name, DIALECTS)}")
    return DIALECTS[name](paramstyle="named")


# Expressions.


class _Expression(ColumnElement[Any]):
    """An expression that each dialect writes in its own way, of other expressions."""

    inherit_cache = False
    type = Double()

    def __init__(self, *parts: ColumnElement[Any]) -> None:
        self.parts = parts

    def get_children(self, **_: Any) -> Iterable[ColumnElement[Any]]:
        return self.parts

    def written(self, compiler: Any) -> list[str]:
        return [compiler.process(part) for part in self.parts]


class Number(_Expression):
    """A double."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = float(value)


class Text(_Expression):
    """A text, by value."""

    def __init__(self, value: str) -> None:
        super().__init__()
        self.value = checked(value)


class Infinity(_Expression):
    """Infinity, or minus infinity."""

    def __init__(self, sign: str = "") -> None:
        super().__init__()
        self.sign = sign


class Cell(_Expression):
    """A column of the table that is scored."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = checked(name)


class AsNumber(_Expression):
    """A cell as a double."""


class AsBoolean(_Expression):
    """A cell as a number; Booleans are one or zero."""


class AsAmount(_Expression):
    """A cell as the double that it says, also where it is text such as $1,234.50; NULL where it says none."""


class AsDays(_Expression):
    """A date, or a date and time, as days since 1970."""


class AsText(_Expression):
    """A cell as text."""


class Total(_Expression):
    """A sum."""


class Dot(_Expression):
    """The sum of expressions, each multiplied by a number."""

    def __init__(self, weights: Sequence[float], parts: Sequence[ColumnElement[Any]]) -> None:
        kept = [(float(w), part) for w, part in zip(weights, parts, strict=True) if w]
        super().__init__(*(part.self_group(against=operators.mul) for _, part in kept))
        self.weights = [w for w, _ in kept]


class Greatest(_Expression):
    """The greatest of some expressions, none of which is NULL, or all."""


class Least(_Expression):
    """The least of some expressions, none of which is NULL, or all."""


def checked(value: Any) -> str:
    """A text or a name that can stand in a statement, or an error."""
    if not isinstance(value, str):
        raise DataError(f"{value!r} is not a name; names must be text")
    halves = any("\ud800" <= character <= "\udfff" for character in value)  # of characters, as no encoding has them
    if halves or "\0" in value:
        raise DataError(f"{value!r} contains characters that SQL does not allow; rename it")
    return value


def _number(value: float, dialect: Any) -> str:
    digits = repr(value)
    literal = dialect.number.format(digits if "e" in digits else f"{digits}e0")
    return f"({literal})" if literal.startswith("-") else str(literal)


def _nested(parts: list[str], join: Any) -> str:
    """Parts joined in blocks, and these again: neither a deep tree nor a long list of arguments."""
    while len(parts) > 1:
        blocks = (parts[i : i + _BLOCK] for i in range(0, len(parts), _BLOCK))
        parts = [join(block) if len(block) > 1 else block[0] for block in blocks]
    return parts[0]


def _sum(parts: list[str]) -> str:
    return _nested(parts, lambda block: f"({' + '.join(block)})")


@compiles(Number)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return _number(element.value, compiler.dialect)


@compiles(Text)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return str(compiler.dialect.quoted(element.value))


@compiles(Infinity)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return str(compiler.dialect.infinity.format(element.sign))


@compiles(Cell)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return str(compiler.preparer.quote_identifier(element.name))


@compiles(AsNumber)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return f"CAST({element.written(compiler)[0]} AS {compiler.dialect.double})"


@compiles(AsBoolean)
def _(element: Any, compiler: Any, **_: Any) -> str:
    dialect, (cell,) = compiler.dialect, element.written(compiler)
    if not dialect.has_true:
        return f"CAST({cell} AS {dialect.double})"
    text = f"CAST({cell} AS {dialect.text})"
    one, zero = (_number(value, dialect) for value in (1.0, 0.0))
    return f"CASE {text} WHEN 'true' THEN {one} WHEN 'false' THEN {zero} ELSE CAST({text} AS {dialect.double}) END"


@compiles(AsAmount)
def _(element: Any, compiler: Any, **_: Any) -> str:
    dialect, text = compiler.dialect, compiler.dialect.as_text(element.written(compiler)[0])
    for character in _AROUND:
        text = f"REPLACE({text}, {dialect.quoted(character)}, '')"
    return str(dialect.number_in.format(f"REPLACE({text}, '(', '-')"))


@compiles(AsDays)
def _(element: Any, compiler: Any, **_: Any) -> str:
    dialect = compiler.dialect
    microseconds = dialect.microseconds.format(element.written(compiler)[0], dialect.time)
    return f"CAST({microseconds} AS {dialect.double}) / {_number(_DAY, dialect)}"


@compiles(AsText)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return str(compiler.dialect.as_text(element.written(compiler)[0]))


@compiles(Total)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return _sum(element.written(compiler) or [_number(0.0, compiler.dialect)])


@compiles(Dot)
def _(element: Any, compiler: Any, **_: Any) -> str:
    terms = zip(element.weights, element.written(compiler), strict=True)
    return _sum([f"{_number(w, compiler.dialect)} * {part}" for w, part in terms] or [_number(0.0, compiler.dialect)])


@compiles(Greatest)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return _nested(element.written(compiler), lambda block: f"{compiler.dialect.greatest}({', '.join(block)})")


@compiles(Least)
def _(element: Any, compiler: Any, **_: Any) -> str:
    return _nested(element.written(compiler), lambda block: f"{compiler.dialect.least}({', '.join(block)})")
