"""The data that commands read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..progress import progress
from ..storage import locate


def check_out(out: str, rows: Any = None) -> None:
    """Raise an error before any work is done if the output cannot be written, or would overwrite the input."""
    from ..sources import as_source

    location = locate(out)
    if location.is_local:
        path = Path(location.path)
        if not path.parent.is_dir():
            raise DataError(f"the directory {str(path.parent)!r} for the model does not exist")
        if path.is_dir():
            raise DataError(f"{path} is a directory; give the name of a file for the model")
    if rows is not None and as_source(rows).reads(out):
        raise DataError(f"{location} is an input file; write the model to another file")


@contextmanager
def reading(
    data: Sequence[str], query: str | None = None, columns: list[str] | None = None, bar: bool = True, **choices: Any
) -> Iterator[Any]:
    """Yield the table that DATA stands for, with a progress bar for files.

    Parameters
    ----------
    data : sequence of str
        Files, directories and globs, or the URL of a database.
    query : str, default=None
        A table of the database, or a SELECT.
    columns : list of str, default=None
        The columns to read. None means all.
    bar : bool, default=True
        Whether to show a progress bar for files: not where they are read many times.
    **choices : dict
        Further arguments of `suffice.files`.
    """
    from ..sources.files import Progress, files, is_database
    from ..sources.sql import sql

    if query is not None:
        if len(data) > 1:
            raise DataError("--query needs exactly one database URL")
        if "://" not in data[0]:
            raise DataError(f"--query needs the URL of a database, as in duckdb:///file.duckdb, not {data[0]}")
        yield sql(data[0], query, columns)
        return
    if any(map(is_database, data)):
        raise DataError("the URL of a database needs --query, with the name of a table or a SELECT")
    done = 0.0
    with progress("Reading", 1.0, None if bar else False) as advance:

        def read(now: Progress) -> None:
            nonlocal done
            share = now.bytes / (now.total_bytes or 1)
            advance(share - done)
            done = share

        yield files(list(data), columns=columns, progress=read, **choices)
