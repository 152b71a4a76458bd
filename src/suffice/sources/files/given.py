"""Files that users pass as X."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...errors import DataError, UnreadableError, alike, listed, not_known, remedy
from ...storage import STORES, AnyPath, is_store, scheme_of, without_credentials, without_query
from .dialect import TextOptions
from .discovery import SUFFIXES, File, format_of

if TYPE_CHECKING:
    from .formats import Format

_DATABASES = {"postgresql", "postgres", "sqlite", "duckdb", "mysql", "mariadb", "oracle", "mssql"}
# Dialects of SQLAlchemy that are packages of their own, which may not be installed.
_MORE_DATABASES = {
    "awsathena", "bigquery", "clickhouse", "clickhousedb", "cockroachdb", "crate", "databricks", "db2", "drill",
    "druid", "exa", "firebird", "hana", "hive", "ibm_db_sa", "impala", "monetdb", "netezza", "presto",
    "redshift", "risingwave", "snowflake", "spark", "sybase", "teradatasql", "tidb", "trino", "vertica",
    "yugabytedb",
}  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """How far a pass over files has come."""

    rows: int
    bytes: int  # of the files, about
    total_bytes: int
    file: str  # the last one that was read


@dataclass(frozen=True)
class Files:
    """Files that are read as a table; see `files`."""

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    filter: Any = None
    format: str | None = None
    types: dict[str, Any] = field(default_factory=dict)
    text: TextOptions = field(default_factory=TextOptions)
    drop: tuple[str, ...] = ()
    on_error: str = "raise"
    progress: Callable[[Progress], object] | None = None
    checkpoint: AnyPath | None = None
    skipped: list[str] = field(default_factory=list)  # what the last pass could not read
    texts: frozenset[str] = frozenset()  # columns that a model knows as text, whatever they look like
    verbatim: frozenset[str] = frozenset()  # columns that nobody reads: repeated as they are written
    copied: frozenset[str] = frozenset()  # columns that are read, and repeated as they are written as well
    filesystem: Any = None  # of pyarrow or fsspec, that the paths are on
    _formats: dict[str, Format] = field(default_factory=dict, init=False, repr=False, compare=False)  # of files so far

    def __repr__(self) -> str:
        return f"Files({self})"  # the paths and the checkpoint may hold credentials

    def __str__(self) -> str:
        return listed([without_credentials(path) for path in self.paths])

    def format_for(self, file: File) -> Format:
        """How to read a file."""
        from .sniffing import recognised

        known = self._formats
        if file.path not in known:
            known[file.path] = recognised(file, self.format, self.text)
        return known[file.path]

    def leave_out(self, message: str) -> None:
        """Record a part that cannot be read, or raise an error."""
        if self.on_error == "raise":
            skip = remedy('suffice.files(path, on_error="skip")', "--skip")
            raise UnreadableError(f"{message}; repair it, or leave out damaged lines and row groups with {skip}")
        self.skipped.append(message)


def files(
    path: AnyPath | Sequence[AnyPath],
    columns: Sequence[str] | None = None,
    *,
    filter: Any = None,
    format: str | None = None,
    types: dict[str, Any] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    na: Sequence[str] = (),
    decimal: str | None = None,
    on_error: str = "raise",
    progress: Callable[[Progress], object] | None = None,
    checkpoint: AnyPath | None = None,
    filesystem: Any = None,
) -> Files:
    """Read files in place of a table: pass the result to `fit`, `predict` and the like as X.

    Files are read piece by piece on several threads, so that memory does not depend on their size. A path or a glob
    passed as X is the same with the default options.

    Parameters
    ----------
    path : str, path-like or list of these
        A file, a directory, or a glob such as "logs/2026-*/*.parquet" (`**` for any depth). Formats are Parquet, Arrow
        (Feather), CSV and other text with separators, and JSON lines; text can be compressed (.gz, .bz2, .zst,
        and .zip with one file in it).
        Directories such as ``year=2026`` become columns, as in Hive. "-" is the standard input. A URL such as
        ``"s3://bucket/logs/*.parquet"`` reads from an object store: ``s3://``, ``gs://``, ``abfs://``, ``hdfs://``, and
        all that fsspec supports.
    columns : list of str, default=None
        The names of the feature columns. None means all except those of labels and weights.
    filter : pyarrow expression or list of tuple, default=None
        The rows to read: an expression, or a list of conditions such as ``("age", ">=", 18)``. Row groups of Parquet
        files whose statistics rule out such rows are skipped.
    format : {"parquet", "arrow", "csv", "tsv", "json"}, default=None
        The format of the files. None means that their names tell it or, for other names, their first bytes.
    types : dict, default=None
        Arrow types by column, such as ``{"zip": "string"}``. The types of other columns of text files are inferred
        from some of their lines; words among numbers, dates or Booleans elsewhere are missing values, with a warning.
    drop : list of str, default=()
        The names of columns that are not features.
    sep : str, default=None
        The character between the cells of text files; " " stands for any number of spaces and tabs. None means to
        detect it in each file: a comma, a semicolon, a tab, ``|`` or, where the name does not end in .csv, spaces.
    encoding : str, default=None
        The encoding of text files, as Python names it. None means UTF-8, UTF-16 if the file starts with a byte order
        mark, and otherwise Windows-1252, with a warning.
    header : bool, default=None
        Whether the first row of CSV files holds the names of the columns. None means yes, unless it holds numbers that
        cannot be names. Without a header, columns are named x0, x1 and so on.
    na : list of str, default=()
        Cells of CSV files that are missing values, besides empty cells, ``?``, ``NA``, ``NaN``, ``NULL`` and the like;
        "-9999" is also -9999.0, -9999.00 and so on, with up to six zeros.
    decimal : {".", ","}, default=None
        The decimal mark of CSV files. None means to detect it in each file.
    on_error : {"raise", "skip"}, default="raise"
        What to do with row groups and lines of text that cannot be read: raise an error, or skip them, list them in
        `skipped`, and warn.
    progress : callable, default=None
        A function that is called after every piece, with a `Progress` of rows, bytes and total_bytes.
    checkpoint : str or path-like, default=None
        A file that keeps the progress of a fit. The same call resumes an interrupted run, and later reads only files
        that are new. It can be the URL of an object, too.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, default=None
        The file system that the paths are on. None means this machine, or the store that a URL names.

    Returns
    -------
    Files
        The files, to be passed as X.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from suffice import GaussianClassifier, files
    >>> for day in (1, 2):
    ...     rows = {"width": [1.0, 1.1, 2.0, 2.1], "height": [0.5, 0.4, 0.6, 0.7], "label": ["a", "a", "b", "b"]}
    ...     pq.write_table(pa.table(rows), f"day-{day}.parquet")
    >>> clf = GaussianClassifier("diag").fit("day-*.parquet", "label")
    >>> clf.statistics_.weight
    array([4., 4.])
    >>> GaussianClassifier("diag").fit(files("day-*.parquet", ["width"]), "label").means_.round(2)
    array([[1.05],
           [2.05]])
    """
    paths = (path,) if isinstance(path, str | os.PathLike) else tuple(path)
    if not paths or not all(isinstance(one, str | os.PathLike) for one in paths):
        raise DataError("path= must be a path or a list of paths, with at least one path in it")
    if filesystem is None and any(is_database(one) for one in paths):  # not repeated, for it may hold a password
        raise DataError(
            "this is the URL of a database, not of a file; read a table or a query with "
            + remedy('suffice.sql(url, "table")', "--query table")
        )
    if format is not None and format not in SUFFIXES.values():
        given = f"{remedy('format=', '--format ')}{format!r}"
        raise DataError(f"{given} {not_known(format, sorted({*SUFFIXES.values()}))}")
    if on_error not in ("raise", "skip"):
        raise DataError(f'on_error={on_error!r} is not known; choose "raise" or "skip"')
    if isinstance(columns, str):
        raise DataError(f"columns={columns!r} must be a list of names")
    names = None if columns is None else tuple(columns)
    texts = tuple(os.path.expanduser(os.fspath(one)) for one in paths)
    for name, value in (("drop", drop), ("na", na)):
        if isinstance(value, str):
            raise DataError(f"{name}={value!r} must be a list, as in {name}=[{value!r}]")
    text = TextOptions(sep, encoding, header, tuple(na), decimal)
    options = (filter, format, dict(types or {}), text, tuple(drop), on_error, progress, checkpoint)
    return Files(texts, names, *options, filesystem=filesystem)


def are_files(X: Any) -> bool:
    """Whether X is files: a result of `files`, a path, or a list of paths."""
    if isinstance(X, Files | str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and bool(X) and all(map(_is_path, X))


_LONGEST = 1 << 16  # characters of a path: a longer string is a document, which would take long to be searched


def _is_path(one: Any) -> bool:
    """Whether an item of a list is a path; other strings are not."""
    if isinstance(one, str):
        if len(one) > _LONGEST:
            return False
        return format_of(without_query(one)) is not None or os.path.exists(one) or scheme_of(one) is not None
    return isinstance(one, os.PathLike)


def is_database(path: AnyPath) -> bool:
    """Return whether a path is the URL of a database, or raise an error if its scheme is not known."""
    scheme = scheme_of(path)
    if scheme is None or is_store(scheme):
        return False
    from importlib.metadata import entry_points  # slow, and few commands need it

    installed = {entry.name.partition(".")[0] for entry in entry_points(group="sqlalchemy.dialects")}
    databases = _DATABASES | _MORE_DATABASES | installed
    if scheme.partition("+")[0] not in databases:
        raise DataError(
            f"the URL scheme {scheme}:// is not known; files have one of {listed(sorted(STORES), len(STORES))}, "
            f"databases one of {listed(sorted(_DATABASES), len(_DATABASES))}, or that of another SQLAlchemy dialect"
            f"{alike(scheme, sorted(databases | STORES))}"
        )
    return True


def with_texts(X: Any, texts: Collection[str]) -> Any:
    """Return files with the columns that the model knows as text, so that 01 in a CSV file is not read as 1."""
    return replace(_given(X), texts=frozenset(texts)) if texts and are_files(X) else X


def with_verbatim(X: Any, columns: Collection[str], copied: Collection[str] = ()) -> Any:
    """Return files with the columns that are only repeated, so that their cells stay as text files have them, and with
    those of which the source has a copy as they are written (see `Source.copies`)."""
    if not (columns or copied) or not are_files(X):
        return X
    return replace(_given(X), verbatim=frozenset(columns), copied=frozenset(copied))


def _given(X: Any) -> Files:
    return X if isinstance(X, Files) else files(X)
