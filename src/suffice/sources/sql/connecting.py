"""Connect to a database by a URL, an engine or a connection."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import Any

from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from ...errors import DatabaseError
from ...tables.readers import is_of
from .databases import Database, DuckDatabase, PostgresDatabase, SqliteDatabase

_KNOWN: dict[str, type[Database]] = {"postgresql": PostgresDatabase, "sqlite": SqliteDatabase, "duckdb": DuckDatabase}


def as_database(given: Any) -> Database:
    """Return the database of a URL, an SQLAlchemy engine or a DuckDB connection."""
    if is_of(given, "duckdb", "DuckDBPyConnection"):
        return DuckDatabase(_in_process(), given)
    engine = given if isinstance(given, Engine) else _engine(given)
    return _KNOWN.get(engine.dialect.name, Database)(engine)


@cache
def _in_process() -> Engine:
    """Return an engine that never connects, for the SQL dialect of DuckDB."""
    return _engine("duckdb://")


def _engine(given: Any) -> Engine:
    try:
        url = make_url(given)
    except ArgumentError:  # its words would repeat a password
        raise DatabaseError(
            "the database must be a URL, such as postgresql://user@host/name, sqlite:///file.db or "
            "duckdb:///file.duckdb, an SQLAlchemy engine or a DuckDB connection, not "
            f"{'text' if isinstance(given, str) else type(given).__name__}"
        ) from None
    except ValueError:  # of a port
        raise DatabaseError(_UNQUOTED) from None
    if isinstance(given, str) and url.password and "@" in f"{url.host}{url.database}":
        raise DatabaseError(_UNQUOTED)
    if url.drivername in ("postgresql", "postgres") and (find_spec("psycopg") or not find_spec("psycopg2")):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() in ("sqlite", "duckdb"):
        if url.host:
            raise DatabaseError(
                f"write three slashes before the name of a database file, as in {url.drivername}:///{url.host}"
            )
        _check_file(url.database or "")
    try:
        return create_engine(url, poolclass=NullPool)
    except NoSuchModuleError:
        more = "pip install suffice[sql]" if url.drivername == "duckdb" else "install the package that brings it"
        raise DatabaseError(f"SQLAlchemy has no dialect {url.drivername!r}; {more}") from None
    except ImportError as error:
        what = "suffice[postgresql]" if url.drivername == "postgresql+psycopg" else "it"
        raise DatabaseError(
            f"the driver of {url.drivername!r} is not installed ({error}); pip install {what}"
        ) from None


_UNQUOTED = (
    "the URL of the database is hard to read: write the port as a number, and quote the user and the password, as in "
    "urllib.parse.quote(password, safe=''), for they may hold an @ or a colon"
)


def _check_file(path: str) -> None:
    """Raise an error if a database file does not exist, because the driver would create it. A path with a colon is
    not a file."""
    if path and ":" not in os.path.splitdrive(path)[1] and not os.path.exists(path):
        raise DatabaseError(
            f"there is no file {path!r}; an absolute path has four slashes, as in sqlite:////data/file.db"
        )
