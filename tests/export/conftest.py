"""Databases to score in, all with the same few verbs."""

import sqlite3
from itertools import count

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest
import sqlglot
from sqlglot import exp

TYPES = {"f": "DOUBLE PRECISION", "i": "BIGINT", "b": "BOOLEAN"}
LARGEST = np.finfo(float).max
_tables = count()


class Engine:
    """A database that runs the SQL of a dialect as it is."""

    mark = "?"

    def __init__(self, dialect, connection):
        self.dialect, self.connection = dialect, connection

    def load(self, frame, name=None):
        """A new table with the rows of a frame, in the order of a column "row id"; cells that are None are NULL."""
        name = f"t{next(_tables)}" if name is None else name
        frame = frame.assign(**{"row id": range(len(frame))})
        quoted = [_quoted(column) for column in frame]
        kinds = [frame[column].dropna().infer_objects().dtype.kind for column in frame]
        columns = ", ".join(f"{column} {TYPES.get(kind, 'TEXT')}" for column, kind in zip(quoted, kinds, strict=True))
        cursor = self.connection.cursor()
        cursor.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
        cells = [[_plain(cell, kind) for cell in frame[c]] for c, kind in zip(frame, kinds, strict=True)]
        marks = ", ".join([self.mark] * len(quoted))
        into = _quoted(name).replace("%", "%%") if self.mark == "%s" else _quoted(name)
        cursor.executemany(f"INSERT INTO {into} VALUES ({marks})", list(zip(*cells, strict=True)))
        return name

    def run(self, sql):
        """The rows of a query, as a frame in the order that they were loaded in."""
        cursor = self.connection.cursor()
        cursor.execute(sql)
        frame = pd.DataFrame(cursor.fetchall(), columns=[each[0] for each in cursor.description], dtype=object)
        return frame.sort_values("row id", ignore_index=True)

    def score(self, clf, frame, **options):
        """What the SQL of a classifier says of the rows of a frame."""
        return self.run(clf.to_sql(self.load(frame), self.dialect, keep="row id", **options))


class PostgreSQL(Engine):
    mark = "%s"


class Translated(Engine):
    """An engine that is not here: its SQL is read as such, written as DuckDB's, and run there."""

    def run(self, sql):
        (statement,) = sqlglot.parse(sql, read=self.dialect)
        return super().run(self.understood(statement).sql("duckdb"))

    def understood(self, statement):
        return statement


class MySQL(Translated):
    """It has no infinity, in place of which its dialect has the largest number, and compares text letter by letter only
    if it is told to, in words that no other engine has."""

    def load(self, frame, name=None):
        numbers = frame.select_dtypes("number").columns
        return super().load(frame.assign(**frame[numbers].clip(-LARGEST, LARGEST)), name)

    def run(self, sql):
        return super().run(sql).replace({-LARGEST: -np.inf, LARGEST: np.inf})

    def understood(self, statement):
        for collated in list(statement.find_all(exp.Collate)):
            collated.replace(exp.cast(collated.this.this, "text"))
        return statement


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _plain(cell, kind):
    """A cell as Python has it; NaN is a value of floats alone."""
    missing = cell is None or cell is pd.NA or (kind != "f" and cell != cell)
    return None if missing else cell.item() if isinstance(cell, np.generic) else cell


ENGINES = ("sqlite", "duckdb", "postgresql", "mysql", "snowflake", "bigquery", "spark")


@pytest.fixture(scope="session", params=ENGINES)
def engine(request):
    """Every database in turn."""
    if request.param == "postgresql":
        with psycopg.connect(request.getfixturevalue("postgresql_uri"), autocommit=True) as connection:
            yield PostgreSQL(request.param, connection)
    elif request.param == "sqlite":
        connection = sqlite3.connect(":memory:")
        yield Engine(request.param, connection)
        connection.close()
    else:
        with duckdb.connect() as connection:
            kind = {"duckdb": Engine, "mysql": MySQL}.get(request.param, Translated)
            yield kind(request.param, connection)
