"""The rows that commands read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..progress import progress


def check_out(out: Path, rows: Any = None) -> None:
    """Refuse, before any work is done, to write where nothing can be written, or over what is read."""
    from ..sources import as_source

    if not out.parent.is_dir():
        raise DataError(f"there is no directory {str(out.parent)!r} to write the model to")
    if out.is_dir():
        raise DataError(f"{out} is a directory; give the name of a file to write the model to")
    if rows is not None and as_source(rows).reads(out):
        raise DataError(f"the rows are read from {out}; write the model to another file")


@contextmanager
def reading(
    data: list[str], query: str | None = None, columns: list[str] | None = None, **choices: Any
) -> Iterator[Any]:
    """What DATA stands for, to be passed as X, with a bar that follows the reading of files.

    Parameters
    ----------
    data : files, directories and globs, or the URL of a database
    query : a table of the database, or a SELECT
    choices : as of `suffice.files`
    """
    from ..sources.files import Progress, files, is_database
    from ..sources.sql import sql

    if query is not None:
        if len(data) > 1:
            raise DataError("--query is put to one database: give its URL alone")
        if "://" not in data[0]:
            raise DataError(f"--query is put to a database, by its URL, as in duckdb:///file.duckdb, not to {data[0]}")
        yield sql(data[0], query, columns)
        return
    if any(map(is_database, data)):
        raise DataError("this is the URL of a database: name one of its tables, or give a SELECT, with --query")
    done = 0.0
    with progress("Reading", 1.0) as advance:

        def read(now: Progress) -> None:
            nonlocal done
            share = now.bytes / (now.total_bytes or 1)
            advance(share - done)
            done = share

        yield files(data, columns=columns, progress=read, **choices)
