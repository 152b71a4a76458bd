"""Files of tables that may be far larger than memory, read piece by piece on several threads."""

from __future__ import annotations

import operator
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import CheckpointError, DataError, SkippedWarning, UnreadableError, listed
from ...tables.arrow import ArrowColumn, arrow_frame, from_arrow
from ...tables.batch import Batch, checked_weight
from ...tables.readers import feature_columns
from ...tables.table import Frame
from ...threads import reduce_ordered, thread_count
from .. import base
from ..base import PartedSource, Run
from ..frames.arrays import ArraySource
from .discovery import SUFFIXES, File, format_of, found_files

if TYPE_CHECKING:
    from .formats import Format, Piece, Wanted

T = TypeVar("T")
Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Progress:
    """How far a pass over files has come."""

    rows: int
    bytes: int  # of the files, about
    total_bytes: int
    file: str  # the last one that was read


@dataclass(frozen=True)
class Files:
    """Files as a table, in place of X; see `files`."""

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    filter: Any = None
    format: str | None = None
    types: dict[str, Any] = field(default_factory=dict)
    on_error: str = "raise"
    progress: Callable[[Progress], object] | None = None
    checkpoint: Path | None = None
    skipped: list[str] = field(default_factory=list)  # what the last pass could not read
    texts: frozenset[str] = frozenset()  # columns that a model knows as text, whatever they look like


def files(
    path: Path | Sequence[Path],
    columns: Sequence[str] | None = None,
    *,
    filter: Any = None,
    format: str | None = None,
    types: dict[str, Any] | None = None,
    on_error: str = "raise",
    progress: Callable[[Progress], object] | None = None,
    checkpoint: Path | None = None,
) -> Files:
    """Read files in place of a table: pass the result to `fit`, `predict` and the like as X.

    Files are read piece by piece on several threads, so that memory does not depend on their size. A path or a glob
    passed as X is the same with the default options.

    Parameters
    ----------
    path : str, path-like or list of these
        A file, a directory, or a glob such as "logs/2026-*/*.parquet" (`**` for any depth). Formats are Parquet, Arrow
        (Feather), CSV with a header, and JSON lines; text can be compressed (.gz, .bz2, .zst). Directories such as
        ``year=2026`` become columns, as in Hive.
    columns : list of str, default=None
        The names of the feature columns. None means all except those of labels and weights.
    filter : pyarrow expression or list of tuple, default=None
        The rows to read: an expression, or a list of conditions such as ``("age", ">=", 18)``. Row groups of Parquet
        files whose statistics rule out such rows are skipped.
    format : {"parquet", "arrow", "csv", "tsv", "json"}, default=None
        The format of the files. None means that their names tell it.
    types : dict, default=None
        Arrow types by column, such as ``{"zip": "string"}``. The types of other columns of text files come from the
        first lines.
    on_error : {"raise", "skip"}, default="raise"
        What to do with pieces that cannot be read: raise an error, or skip them, list them in `skipped`, and warn. A
        piece is a row group, or 8 MB of a text file.
    progress : callable, default=None
        A function that is called after every piece, with a `Progress` of rows, bytes and total_bytes.
    checkpoint : str or path-like, default=None
        A file that keeps the progress of a fit. The same call resumes an interrupted run, and later reads only files
        that are new.

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
        raise DataError(f"path={path!r} is no path and no list of paths")
    if any(is_database(one) for one in paths):  # not repeated, for it may hold a password
        raise DataError(
            'this is the URL of a database, and no file; name a table or a query of it, as in suffice.sql(url, "table")'
        )
    if elsewhere := [scheme for scheme in map(_scheme, paths) if scheme]:
        raise DataError(
            f"{elsewhere[0]}:// is not read here; give a path on this machine, where the files are mounted or copied, "
            "or read them with Dask or Spark"
        )
    if format is not None and format not in SUFFIXES.values():
        raise DataError(f"format={format!r} is not known; choose one of {listed(sorted({*SUFFIXES.values()}))}")
    if on_error not in ("raise", "skip"):
        raise DataError(f'on_error={on_error!r} is not known; choose "raise" or "skip"')
    if isinstance(columns, str):
        raise DataError(f"columns={columns!r} must be a list of names")
    names = None if columns is None else tuple(columns)
    texts = tuple(os.path.expanduser(os.fspath(one)) for one in paths)
    return Files(texts, names, filter, format, dict(types or {}), on_error, progress, checkpoint)


def are_files(X: Any) -> bool:
    """Whether X stands for files: what `files` returns, a path, or a list of paths."""
    if isinstance(X, Files | str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and bool(X) and all(map(_is_path, X))


def _is_path(one: Any) -> bool:
    """Whether an item of a list is a path; words of a text are none."""
    if isinstance(one, str):
        return format_of(one) is not None or os.path.exists(one)
    return isinstance(one, os.PathLike)


# Schemes of files that are elsewhere; all others are of databases.
_ELSEWHERE = {"s3", "s3a", "gs", "gcs", "az", "adl", "abfs", "abfss", "hdfs", "http", "https", "ftp", "sftp", "file"}


def is_database(path: Path) -> bool:
    """Whether a path is the URL of a database."""
    scheme = _scheme(path)
    return scheme is not None and scheme not in _ELSEWHERE


def _scheme(path: Path) -> str | None:
    """What a URL begins with, in small letters; None of a path, also of one that looks like a URL."""
    found = re.match(r"([a-z][a-z0-9_.+-]+)://", os.fspath(path), re.IGNORECASE)
    return None if found is None or os.path.exists(path) else found[1].lower()


def with_texts(X: Any, texts: Collection[str]) -> Any:
    """X, if it stands for files, with the columns that a model knows as text: 01 in a file of text is not 1 then."""
    if not texts or not are_files(X):
        return X
    return replace(X if isinstance(X, Files) else files(X), texts=frozenset(texts))


def file_source(X: Any, y: Any = None, weight: Any = None, names: tuple[str, ...] | None = None) -> FileSource:
    """The source for files; names are the columns that are wanted, unless X says which."""
    given = X if isinstance(X, Files) else files(X)
    return FileSource(replace(given, columns=given.columns or names), y, weight)


class FileSource(PartedSource):
    """Rows of files, in the order of their paths."""

    names: tuple[str, ...]

    def __init__(self, files: Files, y: str | None, weight: str | None) -> None:
        from .agreement import condition

        for what, name in (("labels", y), ("weights", weight)):
            if not (name is None or isinstance(name, str)):
                raise DataError(
                    f"the {what} of files are one of their columns: pass its name, not {type(name).__name__}"
                )
        self.files, self.y, self.weight, self.checkpoint = files, y, weight, files.checkpoint
        files.skipped.clear()
        self.found, columns = self._agreed(found_files(files.paths, files.format is not None))
        self.lost = tuple(files.skipped)  # files of which nothing can be read
        _refuse_lacking(files.types, columns.names)
        self.names = tuple(_features(columns.names, y, weight, files.columns))
        self.n_features = len(self.names)
        self.filter, self.filtered = condition(files.filter, columns)
        used = dict.fromkeys([*self.names, *(name for name in (y, weight) if name), *self.filtered])
        self.schema = columns.empty_table().select(list(used)).schema
        self.kinds = [(part.kind, part.dtype) for part in arrow_frame(columns.empty_table().select(self.names)).parts]

    def _agreed(self, found: list[File]) -> tuple[list[File], Any]:
        """The files that can be read, and the columns of all of them; a file that disagrees is named."""
        import pyarrow as pa

        from .agreement import common_type, partition_type, type_of

        types = {name: type_of(kind) for name, kind in self.files.types.items()}
        guessed = dict.fromkeys(self.files.texts, pa.string()) | types
        agreed: dict[str, Any] = {}
        kept: list[File] = []
        first: File | None = None
        for file in found:
            form = self._format(file)
            try:
                own = form.schema(file, guessed if form.guesses_types else types)
            except _failures() as error:
                self._skip(f"{file.path} cannot be read: {_why(error)}")
                continue
            kept.append(file)
            if not len(own):  # nothing in it
                continue
            feature_columns(own.names, None, None)  # refuses names that stand twice
            first = first or file
            differ = sorted(agreed.keys() ^ {*own.names})
            if agreed and differ and self.files.columns is None and not form.may_lack_columns:
                raise DataError(
                    f"{file.path} has other columns than {first.path}: only one of them has {listed(differ)}; name the "
                    "columns that are wanted, as in suffice.files(path, columns=[...])"
                )
            for column in own:
                name, kind, known = column.name, column.type, agreed.get(column.name, column.type)
                try:
                    agreed[name] = types.get(name) or common_type(known, kind)
                except TypeError:
                    if self.files.columns and name not in (*self.files.columns, self.y, self.weight):
                        continue  # nobody asks for it
                    raise DataError(
                        f"column {name!r} is {kind} in {file.path}, but {known} in {first.path}; make them one type, "
                        f"or name one that both can be read as, as in suffice.files(path, types={{{name!r}: 'string'}})"
                    ) from None
        if first is None:
            why = f"; {listed(self.files.skipped)}" if self.files.skipped else ""
            raise DataError(f"there is nothing to read in {listed(self.files.paths)}{why}")
        for name in kept[0].keys:
            agreed[name] = guessed.get(name) or partition_type([file.keys[name] for file in kept])
        return kept, pa.schema([(n, pa.float64() if pa.types.is_null(kind) else kind) for n, kind in agreed.items()])

    def _format(self, file: File) -> Format:
        from .formats import FORMATS

        return FORMATS[self.files.format or str(format_of(file.path))]

    def _skip(self, message: str) -> None:
        """Note what cannot be read, or stop there."""
        if self.files.on_error == "raise":
            raise UnreadableError(
                f"{message}; mend it or, to leave out the row group or the 8 MB of text around it, pass "
                'suffice.files(path, on_error="skip")'
            )
        self.files.skipped.append(message)

    def reads(self, path: Path) -> bool:
        return os.path.exists(path) and any(os.path.samefile(path, file.path) for file in self.found)

    def job(self) -> dict[str, Any]:
        return {
            "columns": [[column.name, str(column.type)] for column in self.schema],
            "features": list(self.names),
            "labels": self.y,
            "weights": self.weight,
            "filter": None if self.filter is None else str(self.filter),
        }

    # Reading.

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:
        return self._reduce(
            lambda _, tables: reduce(merge, map(map_batch, map(self._batch, tables))), merge, run or Run()
        )

    def labels_alone(self) -> FileSource:
        if self.files.on_error == "skip":
            return self  # what can be read of one column need not be all that can be read of others
        narrow = copy(self)  # of as many features as before, by which files are cut into pieces
        narrow.names, narrow.kinds, narrow.weight = self.names[:1], self.kinds[:1], None
        dropped = {*self.names[1:], self.weight} - {self.y, *self.filtered}
        narrow.schema = self.schema.empty_table().drop_columns([n for n in self.schema.names if n in dropped]).schema
        return narrow

    def reduce_parts(self, of_part: Callable[[int, Iterator[Batch]], T], merge: Callable[[T, T], T]) -> T:
        return self._reduce(lambda number, tables: of_part(number, map(self._batch, tables)), merge, Run())

    def head(self, n: int) -> Frame:
        import pyarrow as pa

        parts = [self.schema.empty_table()]
        for table in self._first_tables(n):
            parts.append(table)
            if sum(map(len, parts)) >= n:
                break
        return arrow_frame(pa.concat_tables(parts, promote_options="permissive").slice(0, n).select(self.names))

    def _first_tables(self, n: int) -> Iterator[Any]:
        """Tables of n rows or fewer, one after the other."""
        wanted = self._wanted(threads=False)
        for piece in self._pieces({}, wanted):
            try:
                yield from self._tables(piece, n, wanted)
            except UnreadableError as error:
                self._skip(str(error))

    def in_memory(self) -> ArraySource:
        import pyarrow as pa

        parts: list[Any] = self._reduce(lambda _, tables: list(tables), operator.iadd, Run())
        table = pa.concat_tables(parts, promote_options="permissive")
        features = table.select(self.names)
        y, weight = (None if name is None else table.column(name) for name in (self.y, self.weight))
        source = ArraySource(arrow_frame(features), y, weight, features)
        source.n_jobs = self.n_jobs
        return source

    def _batch(self, table: Any) -> Batch:
        y = None if self.y is None else from_arrow(table.column(self.y))
        weight = None
        if self.weight is not None:
            weight = checked_weight(from_arrow(table.column(self.weight)), len(table))
        # The features come first. Their kinds are not asked for again: there are many batches, and small ones.
        parts = tuple(ArrowColumn(table.column(j), *kind) for j, kind in enumerate(self.kinds))
        return Batch(Frame(parts, self.names, len(table)), y, weight)

    def _reduce(self, of: Callable[[int, Iterator[Any]], T], merge: Callable[[T, T], T], run: Run[T]) -> T:
        """Merge the results of pieces, each from its number and its Arrow tables, in order from where the run is."""
        threads = thread_count(self.n_jobs)
        wanted = self._wanted(threads > 1)
        step = base.rows_read(self.n_features)
        failed: dict[Piece, list[str]] = {}
        rows, read = (sum(note[key] for note in run.done.values()) for key in ("rows", "bytes"))
        size = sum(file.size for file in self.found)

        def work(numbered: tuple[int, Piece]) -> tuple[T | None, int]:
            number, piece = numbered

            def counted(tables: Iterator[Any]) -> tuple[T | None, int]:
                n = 0

                def passed() -> Iterator[Any]:
                    nonlocal n
                    for table in tables:
                        n += len(table)
                        yield table

                passing = passed()
                first = next(passing, None)
                return None if first is None else of(number, chain([first], passing)), n

            try:
                return counted(self._tables(piece, step, wanted))
            except UnreadableError:
                failed[piece] = []
                return counted(self._undamaged(piece, step, wanted, failed[piece]))

        def both(a: tuple[T | None, int], b: tuple[T | None, int]) -> tuple[T | None, int]:
            if a[0] is None or b[0] is None:
                return (b if a[0] is None else a)[0], b[1]
            return merge(a[0], b[0]), b[1]

        def merged(numbered: tuple[int, Piece], total: tuple[T | None, int]) -> None:
            nonlocal rows, read
            piece = numbered[1]
            result, n = total
            run.advance(result, *_note(piece, n, failed.get(piece, []), run.done))
            rows, read = rows + n, read + piece.n_bytes
            if self.files.progress is not None:
                self.files.progress(Progress(rows, min(read, size), size, piece.file.path))

        self.files.skipped[:] = [*self.lost, *(lost for note in run.done.values() for lost in note["skipped"])]
        pieces = enumerate(self._pieces(run.done, wanted))
        total, _ = reduce_ordered(work, both, pieces, threads, merged, (run.total, 0))
        if self.files.skipped:
            parts = f"{len(self.files.skipped)} part{'s' if len(self.files.skipped) > 1 else ''}"
            message = f"{parts} of the files could not be read and are left out: {listed(self.files.skipped, 3)}"
            warnings.warn(message, SkippedWarning, stacklevel=2)
        if total is None or not rows:
            which = "no row" if self.filter is None else f"no row that passes {self.filter}"
            raise DataError(f"there is {which} in {listed(self.files.paths)}")
        return total

    def _wanted(self, threads: bool) -> Wanted:
        from .formats import Wanted

        return Wanted(self.schema, self.filter, frozenset([self.y or ""]), threads)

    def _pieces(self, done: dict[str, Any], wanted: Wanted) -> Iterator[Piece]:
        """The pieces that are not done yet; an error where a file has changed that was counted."""
        places = {os.path.abspath(file.path): file for file in self.found}
        gone = sorted(done.keys() - places.keys())
        if gone:
            raise CheckpointError(f"{listed(gone)} was counted, but is not among the files now; {_START_AGAIN}")
        for place, file in places.items():
            start, form = 0, self._format(file)
            if note := done.get(place):
                if [note["size"], note["changed"]] == [file.size, file.changed]:
                    start = note["stop"]
                elif note["rows"]:
                    raise CheckpointError(f"{file.path} has changed since it was counted; {_START_AGAIN}")
                else:  # nothing of it could be read then
                    note = done.pop(place) | {"whole": False}
            if (note and note["whole"]) or self._excludes(file):
                continue
            try:
                for piece in form.pieces(file, start, base.PIECE // self.n_features, wanted):
                    yield piece
                    start = piece.stop
            except _failures() as error:
                self._skip(f"{file.path}, after {form.unit} {start}: {error}")

    def _excludes(self, file: File) -> bool:
        """Whether the filter needs no more than the path to refuse all rows of a file."""
        import pyarrow as pa

        from .agreement import repeated

        if self.filter is None:
            return False
        known = [column for column in self.schema if column.name in file.keys]
        keys = {column.name: repeated(file.keys[column.name], column.type, 1) for column in known}
        try:
            return len(pa.table(keys).filter(self.filter)) == 0
        except pa.ArrowInvalid:  # it asks for other columns
            return False

    def _tables(self, piece: Piece, rows: int, wanted: Wanted) -> Iterator[Any]:
        """The rows of a piece as Arrow tables of the agreed columns, none of them empty."""
        form = self._format(piece.file)
        try:
            for table in form.tables(piece, rows, wanted):
                whole = self._completed(table, piece.file)
                kept = whole if self.filter is None else whole.filter(self.filter)
                if len(kept):
                    yield kept
        except _failures() as error:
            message = str(error)
            raise UnreadableError(f"{piece.file.path}, {form.position(piece, message)}: {_why(error)}") from error

    def _undamaged(self, piece: Piece, rows: int, wanted: Wanted, failures: list[str]) -> Iterator[Any]:
        """The rows of a damaged piece that can be read, each of its parts as a whole or not at all."""
        for part in self._format(piece.file).parts(piece):
            try:
                tables = list(self._tables(part, rows, wanted))
            except UnreadableError as error:
                self._skip(str(error))
                failures.append(str(error))
            else:
                yield from tables

    def _completed(self, table: Any, file: File) -> Any:
        """A table with the agreed types, and with the columns that its path names."""
        import pyarrow as pa

        from .agreement import repeated

        if table.schema.equals(self.schema):
            return table
        columns = []
        for column in self.schema:
            if column.name in file.keys:
                values = repeated(file.keys[column.name], column.type, len(table))
            elif column.name in table.schema.names:
                values = table.column(column.name)
                is_wider = pa.types.is_integer(column.type) and pa.types.is_floating(values.type)
                values = values if values.type == column.type or is_wider else values.cast(column.type)
            elif not self._format(file).may_lack_columns:
                raise DataError(
                    f"{file.path} has no column {column.name!r}; its columns are {listed(table.schema.names)}"
                )
            else:
                values = pa.nulls(len(table), column.type)
            columns.append(values)
        return pa.table(columns, self.schema.names)


def _note(piece: Piece, rows: int, failures: list[str], done: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path of a piece's file, and a note that the piece is done, beside those of the file that came before."""
    file, path = piece.file, os.path.abspath(piece.file.path)
    fresh = {"size": file.size, "changed": file.changed, "rows": 0, "bytes": 0, "skipped": []}
    note = done.get(path, fresh)
    return path, note | {
        "stop": piece.stop,
        "whole": piece.is_last,
        "rows": note["rows"] + rows,
        "bytes": note["bytes"] + piece.n_bytes,
        "skipped": note["skipped"] + failures,
    }


_INDEX = "__index_level_"  # what pandas calls an index without a name in a file
_START_AGAIN = "bring it back, or remove the checkpoint to start again"


def _failures() -> tuple[type[Exception], ...]:
    from .formats import FAILURES

    return FAILURES


def _why(error: Exception) -> str:
    is_encoding = isinstance(error, UnicodeDecodeError) or "invalid UTF8" in str(error)
    return f"the text is not UTF-8, to which it must be converted ({error})" if is_encoding else str(error)


def _features(columns: list[str], y: str | None, weight: str | None, wanted: tuple[str, ...] | None) -> Sequence[str]:
    features = [name for name in feature_columns(columns, y, weight) if not name.startswith(_INDEX)]
    if wanted is not None:
        _refuse_lacking(wanted, columns)
        features = [name for name in wanted if name not in (y, weight)]
    if not features:
        raise DataError(f"no column is left for features; the columns are {listed(columns, 10)}")
    return features


def _refuse_lacking(wanted: Iterable[str], columns: list[str]) -> None:
    lacking = [name for name in wanted if name not in columns]
    if lacking:
        raise DataError(f"the files have no column {listed(lacking)}; their columns are {listed(columns, 10)}")
