"""Files of tables that may be far larger than memory, read piece by piece on several threads."""

from __future__ import annotations

import glob
import operator
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from ..batch import Batch, checked_weight
from ..errors import CheckpointError, DataError, SkippedWarning, UnreadableError, listed
from ..table import Frame
from ..threads import reduce_ordered, thread_count
from .arrays import ArraySource, arrow_frame, feature_columns, from_arrow
from .base import PIECE, Run, Source

if TYPE_CHECKING:
    from .formats import File, Format, Piece, Wanted

T = TypeVar("T")
Path = str | os.PathLike[str]

# Cells that are decoded at a time by each thread: they stay in the cache until the statistic has read them.
CELLS = 1 << 19
_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_COMPRESSED = (".gz", ".bz2", ".zst")  # of text
_NULL = "__HIVE_DEFAULT_PARTITION__"


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
    """Files of tables, to be passed to `fit`, `predict` and the like in place of X.

    They are read piece by piece, on several threads, so that memory does not depend on their size. A path or a glob
    passed as X is the same with the defaults.

    Parameters
    ----------
    path : a file, a directory, a glob such as "logs/2026-*/*.parquet" (`**` for any depth), or a list of these
        Parquet, Arrow (Feather), CSV with a header, and JSON lines; text may be compressed (.gz, .bz2, .zst). Parts of
        a path such as ``year=2026`` are columns, as Hive has them.
    columns : names of the feature columns; None takes all but those of labels and weights
    filter : which rows to take: a pyarrow expression, or a list of conditions such as ``("age", ">=", 18)``
        Row groups of Parquet files that by their statistics hold no such row are not read.
    format : "parquet", "arrow", "csv", "tsv" or "json", where the names of files do not end so
    types : dictionary from columns to types of Arrow, such as ``{"zip": "string"}``
        Other columns of text files are of the types that their first lines have.
    on_error : {"raise", "skip"}
        What to do with pieces that cannot be read: stop, or leave them out, list them in `skipped`, and warn.
    progress : called after every piece, with a `Progress` of rows, bytes and total_bytes
    checkpoint : path of a file that keeps what was learnt so far, so that a fit that was stopped can go on
        Called again, with the same files and more, it reads only what it has not read yet.

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
    if format is not None and format not in _SUFFIXES.values():
        raise DataError(f"format={format!r} is not known; choose one of {listed(sorted({*_SUFFIXES.values()}))}")
    if on_error not in ("raise", "skip"):
        raise DataError(f'on_error={on_error!r} is not known; choose "raise" or "skip"')
    if isinstance(columns, str):
        raise DataError(f"columns={columns!r} must be a list of names")
    names = None if columns is None else tuple(columns)
    texts = tuple(os.fspath(one) for one in paths)
    return Files(texts, names, filter, format, dict(types or {}), on_error, progress, checkpoint)


def are_files(X: Any) -> bool:
    """Whether X stands for files: what `files` returns, a path, or a list of paths."""
    if isinstance(X, Files | str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and bool(X) and all(map(_is_path, X))


def _is_path(one: Any) -> bool:
    """Whether an item of a list is a path; words of a text are none."""
    if isinstance(one, str):
        return _format(one) is not None or os.path.exists(one)
    return isinstance(one, os.PathLike)


def file_source(X: Any, y: Any = None, weight: Any = None, names: tuple[str, ...] | None = None) -> FileSource:
    """The source for files; names are the columns that are wanted, unless X says which."""
    given = X if isinstance(X, Files) else files(X)
    return FileSource(replace(given, columns=given.columns or names), y, weight)


class FileSource(Source):
    """Rows of files, in the order of their paths."""

    in_order = True
    names: tuple[str, ...]

    def __init__(self, files: Files, y: str | None, weight: str | None) -> None:
        for what, name in (("labels", y), ("weights", weight)):
            if not (name is None or isinstance(name, str)):
                raise DataError(
                    f"the {what} of files are one of their columns: pass its name, not {type(name).__name__}"
                )
        self.files, self.y, self.weight, self.checkpoint = files, y, weight, files.checkpoint
        files.skipped.clear()
        self.found, columns = self._agreed(_found(files.paths, files.format is not None))
        self.lost = tuple(files.skipped)  # files of which nothing can be read
        self.names = tuple(_features(columns.names, y, weight, files.columns))
        self.n_features = len(self.names)
        self.filter, filtered = _condition(files.filter, columns)
        used = dict.fromkeys([*self.names, *(name for name in (y, weight) if name), *filtered])
        self.schema = columns.empty_table().select(list(used)).schema

    def _agreed(self, found: list[File]) -> tuple[list[File], Any]:
        """The files that can be read, and the columns of all of them; a file that disagrees is named."""
        import pyarrow as pa

        types = {name: _type(kind) for name, kind in self.files.types.items()}
        agreed: dict[str, Any] = {}
        kept: list[File] = []
        first: File | None = None
        for file in found:
            form = self._format(file)
            try:
                own = form.schema(file, types)
            except _failures() as error:
                self._skip(f"{file.path} cannot be read: {error}")
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
                    agreed[name] = types.get(name) or _common(known, kind)
                except TypeError:
                    raise DataError(
                        f"column {name!r} is {kind} in {file.path}, but {known} in {first.path}; make them one type, "
                        f"or name one that both can be read as, as in suffice.files(path, types={{{name!r}: 'string'}})"
                    ) from None
        if first is None:
            why = f"; {listed(self.files.skipped)}" if self.files.skipped else ""
            raise DataError(f"there is nothing to read in {listed(self.files.paths)}{why}")
        for name in kept[0].keys:
            agreed[name] = types.get(name) or _partition([file.keys[name] for file in kept])
        return kept, pa.schema([(n, pa.float64() if pa.types.is_null(kind) else kind) for n, kind in agreed.items()])

    def _format(self, file: File) -> Format:
        from .formats import FORMATS

        return FORMATS[self.files.format or str(_format(file.path))]

    def _skip(self, message: str) -> None:
        """Note what cannot be read, or stop there."""
        if self.files.on_error == "raise":
            raise UnreadableError(f'{message}; mend it or, to leave it out, pass suffice.files(path, on_error="skip")')
        self.files.skipped.append(message)

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
        return self._reduce(lambda table: map_batch(self._batch(table)), merge, run or Run())

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

        parts: list[Any] = self._reduce(lambda table: [table], operator.iadd, Run())
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
        return Batch(arrow_frame(table.select(self.names)), y, weight)

    def _reduce(self, of: Callable[[Any], T], merge: Callable[[T, T], T], run: Run[T]) -> T:
        """Merge the results of Arrow tables in order, from where the run is."""
        threads = thread_count(self.n_jobs)
        wanted = self._wanted(threads > 1)
        step = max(CELLS // self.n_features, 4 * self.n_features)
        failed: dict[Piece, str] = {}

        def work(piece: Piece | None) -> tuple[T | None, int]:
            if piece is None:
                return run.total, 0
            total, n = None, 0
            try:
                for table in self._tables(piece, step, wanted):
                    part, n = of(table), n + len(table)
                    total = part if total is None else merge(total, part)
            except UnreadableError as error:
                self._skip(str(error))
                failed[piece] = str(error)
                return None, 0
            return total, n

        def both(a: tuple[T | None, int], b: tuple[T | None, int]) -> tuple[T | None, int]:
            if a[0] is None or b[0] is None:
                return (b if a[0] is None else a)[0], b[1]
            return merge(a[0], b[0]), b[1]

        def merged(piece: Piece | None, total: tuple[T | None, int]) -> None:
            if piece is None:
                return
            run.total = total[0]
            self._note(piece, total[1], failed.get(piece), run.done)
            run.advanced()
            if self.files.progress is not None:
                self.files.progress(self._progress(piece, run.done))

        self.files.skipped[:] = [*self.lost, *(lost for note in run.done.values() for lost in note["skipped"])]
        pieces = chain([None], self._pieces(run.done, wanted))
        total, _ = reduce_ordered(work, both, pieces, threads, merged)
        if self.files.skipped:
            parts = f"{len(self.files.skipped)} part{'s' if len(self.files.skipped) > 1 else ''}"
            message = f"{parts} of the files could not be read and are left out: {listed(self.files.skipped, 3)}"
            warnings.warn(message, SkippedWarning, stacklevel=2)
        if total is None:
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
            note = done.get(place)
            if note is not None and [note["size"], note["changed"]] != [file.size, file.changed]:
                if note["rows"]:
                    raise CheckpointError(f"{file.path} has changed since it was counted; {_START_AGAIN}")
                note = done.pop(place) and None  # nothing of it could be read then
            if (note is not None and note["whole"]) or self._excludes(file):
                continue
            start = 0 if note is None else note["stop"]
            form = self._format(file)
            try:
                for piece in form.pieces(file, start, PIECE // self.n_features, wanted):
                    yield piece
                    start = piece.stop
            except _failures() as error:
                self._skip(f"{file.path}, after {form.unit} {start}: {error}")

    def _excludes(self, file: File) -> bool:
        """Whether the filter needs no more than the path to refuse all rows of a file."""
        import pyarrow as pa

        if self.filter is None or not file.keys:
            return False
        keys = {name: _repeated(value, self.schema.field(name).type, 1) for name, value in file.keys.items()}
        try:
            return len(pa.table(keys).filter(self.filter)) == 0
        except pa.ArrowInvalid:  # it asks for other columns, too
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
            raise UnreadableError(f"{piece.file.path}, {form.position(piece, message)}: {message}") from error

    def _completed(self, table: Any, file: File) -> Any:
        """A table with the agreed types, and with the columns that its path names."""
        import pyarrow as pa

        columns = []
        for column in self.schema:
            if column.name in file.keys:
                values = _repeated(file.keys[column.name], column.type, len(table))
            elif column.name in table.schema.names:
                values = table.column(column.name)
                is_wider = pa.types.is_integer(column.type) and pa.types.is_floating(values.type)
                values = values if values.type == column.type or is_wider else values.cast(column.type)
            else:
                values = pa.nulls(len(table), column.type)
            columns.append(values)
        return pa.table(columns, self.schema.names)

    def _note(self, piece: Piece, rows: int, failure: str | None, done: dict[str, Any]) -> None:
        file, place = piece.file, os.path.abspath(piece.file.path)
        fresh = {"size": file.size, "changed": file.changed, "rows": 0, "bytes": 0, "skipped": []}
        note = done.setdefault(place, fresh)
        note |= {"stop": piece.stop, "whole": piece.is_last}
        note["rows"] += rows
        note["bytes"] += piece.n_bytes
        if failure is not None:
            note["skipped"].append(failure)

    def _progress(self, piece: Piece, done: dict[str, Any]) -> Progress:
        total = sum(file.size for file in self.found)
        read = sum(note["bytes"] for note in done.values())
        return Progress(sum(note["rows"] for note in done.values()), min(read, total), total, piece.file.path)


_START_AGAIN = "bring it back, or remove the checkpoint to start again"


def _failures() -> tuple[type[Exception], ...]:
    from .formats import FAILURES

    return FAILURES


def _found(paths: Sequence[str], any_name: bool) -> list[File]:
    """The files that paths, directories and globs stand for, each once."""
    from .formats import File

    plain = [os.path.dirname(os.path.abspath(path)) for path in paths if os.path.isfile(path)]
    common = os.path.commonpath(plain) if plain else ""
    found: dict[str, File] = {}
    for path in paths:
        for one, base in _matches(path, any_name, common):
            place, status = os.path.abspath(one), os.stat(one)
            if not any_name and _format(one) is None:
                raise DataError(
                    f"what {one} holds does not show in its name, which may end in {', '.join(_SUFFIXES)}; name "
                    'it, as in suffice.files(path, format="csv")'
                )
            found[place] = File(one, status.st_size, status.st_mtime_ns, _keys(os.path.relpath(place, base)))
    first, *others = found.values()
    for file in others:
        if file.keys.keys() != first.keys.keys():
            differ = sorted(file.keys.keys() ^ first.keys.keys())
            raise DataError(f"only one of {first.path} and {file.path} has {listed(differ)} in its path")
    return list(found.values())


def _matches(path: str, any_name: bool, common: str) -> Iterator[tuple[str, str]]:
    """The files that one path stands for, and the directory below which their paths name columns."""
    if os.path.isfile(path):
        yield path, common
        return
    magic = glob.has_magic(path) and not os.path.exists(path)
    tops = sorted(glob.glob(path, recursive=True)) if magic else [path] if os.path.exists(path) else []
    parts = os.path.abspath(path).split(os.sep)
    base = os.sep.join(parts[: next((i for i, part in enumerate(parts) if glob.has_magic(part)), 0)]) if magic else path
    count = 0
    for top in tops:
        for one in [top] if os.path.isfile(top) else _inside(top, any_name):
            count += 1
            yield one, base or os.sep
    if not count:
        what = "no file matches" if magic else "there is no table in" if tops else "there is no file or directory"
        raise FileNotFoundError(f"{what} {path!r}")


def _inside(directory: str, any_name: bool) -> Iterator[str]:
    """The files in a directory and below, but those whose names begin with a dot or an underscore."""
    for here, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if name[0] not in "._")
        for name in sorted(names):
            if name[0] not in "._" and (any_name or _format(name)):
                yield os.path.join(here, name)


def _keys(path: str) -> dict[str, str | None]:
    """The columns that directories name, as in ``year=2026/month=11/a.parquet``."""
    pairs = [part.split("=", 1) for part in path.split(os.sep)[:-1] if "=" in part]
    return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}


def _format(path: str) -> str | None:
    """The format that the name of a file tells."""
    stem, suffix = os.path.splitext(path.lower())
    if suffix not in _COMPRESSED:
        return _SUFFIXES.get(suffix)
    inner = _SUFFIXES.get(os.path.splitext(stem)[1])
    return inner if inner in ("csv", "tsv", "json") else None


def _features(columns: list[str], y: str | None, weight: str | None, wanted: tuple[str, ...] | None) -> Sequence[str]:
    features = feature_columns(columns, y, weight)
    if wanted is not None:
        lacking = [name for name in wanted if name not in columns]
        if lacking:
            raise DataError(f"the files have no column {listed(lacking)}; their columns are {listed(columns, 10)}")
        features = list(wanted)
    if not features:
        raise DataError(f"no column is left for features; the columns are {listed(columns, 10)}")
    return features


def _type(kind: Any) -> Any:
    """A type of Arrow, which may be given by its name."""
    import pyarrow as pa

    try:
        return pa.type_for_alias(kind) if isinstance(kind, str) else kind
    except ValueError:
        raise DataError(f"types= names {kind!r}, which Arrow does not know") from None


def _common(a: Any, b: Any) -> Any:
    """A type for the values of both, or TypeError."""
    import pyarrow as pa

    types = pa.types
    if a == b or types.is_null(b):
        return a
    if types.is_null(a):
        return b
    texts = [types.is_string(t) or types.is_large_string(t) for t in map(_plain, (a, b))]
    if all(texts):
        return pa.large_string()
    if types.is_boolean(a) or types.is_boolean(b) or types.is_dictionary(a) or types.is_dictionary(b):
        raise TypeError
    both = pa.unify_schemas([pa.schema([("", a)]), pa.schema([("", b)])], promote_options="permissive")
    return both.field(0).type


def _plain(kind: Any) -> Any:
    """The type of the values of a dictionary."""
    return getattr(kind, "value_type", kind)


def _partition(values: list[str | None]) -> Any:
    """The type of what paths say: numbers, where all are."""
    import pyarrow as pa

    try:
        [int(value) for value in values if value is not None]
    except ValueError:
        return pa.string()
    return pa.int64()


def _repeated(value: str | None, kind: Any, n: int) -> Any:
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, pa.string()).cast(kind), n)


def _condition(filter: Any, schema: Any) -> tuple[Any, list[str]]:
    """A filter as an expression, and the columns that it asks for."""
    import pyarrow as pa
    import pyarrow.parquet

    if filter is None:
        return None, []
    empty = schema.empty_table()
    try:
        expression = filter if isinstance(filter, pa.compute.Expression) else pa.parquet.filters_to_expression(filter)
        empty.filter(expression)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"filter={filter!r} does not fit the columns {listed(schema.names, 10)}: {error}") from None

    def is_needed(name: str) -> bool:
        try:
            empty.drop_columns([name]).filter(expression)
        except pa.ArrowInvalid:
            return True
        return False

    return expression, [name for name in schema.names if is_needed(name)]
