"""Files of tables that may be far larger than memory, read piece by piece on several threads."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import DataError, UnreadableError, alike, listed
from ...storage import AnyPath, locate
from ...tables.arrow import ArrowColumn, arrow_frame, from_arrow
from ...tables.batch import Batch, checked_weight
from ...tables.readers import feature_columns
from ...tables.table import Frame
from ...threads import thread_count
from ..base import SPREAD, PartedSource, Run
from ..frames.arrays import ArraySource
from .dialect import without_index
from .discovery import found_files
from .given import Files, files

if TYPE_CHECKING:
    from .pieces import Reader

T = TypeVar("T")
_AS_WRITTEN = "\x1f"  # at the end of the name of a column that repeats the cells of another one


def file_source(X: Any, y: Any = None, weight: Any = None, names: tuple[str, ...] | None = None) -> FileSource:
    """The source for files; names are the columns that are wanted, unless X says which."""
    given = X if isinstance(X, Files) else files(X)
    return FileSource(replace(given, columns=given.columns or names), y, weight)


class FileSource(PartedSource):
    """Rows of files, in the order of their paths."""

    names: tuple[str, ...]

    def __init__(self, files: Files, y: str | None, weight: str | None) -> None:
        import pyarrow as pa

        from .agreement import agreed_columns, condition

        for what, name in (("labels", y), ("weights", weight)):
            if not (name is None or isinstance(name, str)):
                raise DataError(
                    f"the {what} of files are one of their columns: pass its name, not {type(name).__name__}"
                )
        self.files, self.y, self.weight, self.checkpoint = files, y, weight, files.checkpoint
        files.skipped.clear()
        found = found_files(files.paths, files.format is not None, files.filesystem)
        self.found, columns = agreed_columns(files, found, y, weight)
        self.lost = tuple(files.skipped)  # files of which nothing can be read
        try:
            _refuse_lacking((*files.types, *files.drop), columns.names)
            features = _features(columns.names, y, weight, files.columns, files.drop)
        except DataError as error:  # the names may be what was guessed
            guesses = (guess for file in self.found for guess in files.format_for(file).guesses(file))
            raise DataError("; ".join([str(error), *islice(guesses, 1)])) from None
        self.copies = {name: f"{name}{_AS_WRITTEN}" for name in features if self._is_copied(columns.field(name))}
        columns = pa.schema([*columns, *((copy, pa.string()) for copy in self.copies.values())])
        self.names = (*features, *self.copies.values())
        self.n_features = len(self.names)
        self.filter, self.filtered = condition(files.filter, columns)
        used = dict.fromkeys([*self.names, *(name for name in (y, weight) if name), *self.filtered])
        self.schema = columns.empty_table().select(list(used)).schema
        self.kinds = [(part.kind, part.dtype) for part in arrow_frame(columns.empty_table().select(self.names)).parts]

    def _is_copied(self, column: Any) -> bool:
        """Whether the cells of a column are also wanted as they are written. Numbers with a decimal comma are not: they
        would stand beside results with a point."""
        import pyarrow.types as types

        if column.name not in self.files.copied or any(column.name in file.keys for file in self.found):
            return False
        is_text = all(self.files.format_for(file).guesses_types for file in self.found)
        return is_text and not (self.decimal == "," and types.is_floating(column.type))

    @property
    def decimal(self) -> str | None:  # type: ignore[override]
        """The decimal mark of text files; None for others, whose columns have types."""
        marks = (self.files.format_for(file).decimal for file in self.found)
        return next((mark for mark in marks if mark is not None), None)

    def reads(self, path: AnyPath) -> bool:
        location = locate(path)
        return any(location.is_same_file(file.location) for file in self.found)

    def job(self) -> dict[str, Any]:
        return {
            "columns": [[column.name, str(column.type)] for column in self.schema],
            "features": list(self.names),
            "labels": self.y,
            "weights": self.weight,
            "filter": None if self.filter is None else str(self.filter),
            "text": asdict(self.files.text) | {"na": list(self.files.text.na)},
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
        for table in self._reader(threads=False).first(n):
            parts.append(table)
            if sum(map(len, parts)) >= n:
                break
        return arrow_frame(pa.concat_tables(parts, promote_options="permissive").slice(0, n).select(self.names))

    def spread(self, n: int) -> Frame:
        """Every so many rows of pieces all over the files: of row groups, or of blocks of text."""
        import pyarrow as pa

        reader = self._reader(threads=False)
        pieces = list(reader.pieces({}))
        chosen = np.unique(np.linspace(0, max(len(pieces) - 1, 0), SPREAD).round().astype(int))[: len(pieces)]
        parts = [self.schema.empty_table()]
        for i in chosen:
            try:
                whole = pa.concat_tables([parts[0], *reader.readable(pieces[i], n)], promote_options="permissive")
            except UnreadableError:
                if len(chosen) == 1:
                    raise
                continue  # the pass over all rows says what is wrong
            parts.append(whole.take(np.arange(0, len(whole), max(1, len(whole) * len(chosen) // n))))
        return arrow_frame(pa.concat_tables(parts, promote_options="permissive").select(self.names))

    def in_memory(self) -> ArraySource:
        import pyarrow as pa

        parts: list[Any] = self._reduce(lambda _, tables: list(tables), operator.iadd, Run())
        table = pa.concat_tables(parts, promote_options="permissive")
        features = table.select(self.names)
        y, weight = (None if name is None else table.column(name) for name in (self.y, self.weight))
        source = ArraySource(arrow_frame(features), y, weight, features)
        source.n_jobs, source.decimal = self.n_jobs, self.decimal
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
        from .pieces import FilePass

        threads = thread_count(self.n_jobs)
        return FilePass(self._reader(threads > 1), of, merge, run).total(threads, self.lost)

    def _reader(self, threads: bool) -> Reader:
        from .formats import Request
        from .pieces import Reader

        verbatim = {name: name for name in self.files.verbatim.difference(self.files.types, self.filtered)}
        verbatim |= {copy: name for name, copy in self.copies.items()}
        guessed = frozenset(self.names).difference(self.files.types)
        request = Request(self.schema, self.filter, frozenset([self.y or ""]), guessed, threads, verbatim)
        return Reader(self.files, self.found, request, self.n_features)


def _features(
    columns: list[str], y: str | None, weight: str | None, wanted: tuple[str, ...] | None, dropped: tuple[str, ...]
) -> Sequence[str]:
    features = without_index(feature_columns(columns, y, weight))
    if wanted is not None:
        _refuse_lacking(wanted, columns)
        features = [name for name in wanted if name not in (y, weight)]
    features = [name for name in features if name not in dropped]
    if not features:
        raise DataError(f"no column is left for features; the columns are {listed(without_index(columns), 10)}")
    return features


def _refuse_lacking(wanted: Iterable[str], columns: list[str]) -> None:
    lacking = [name for name in wanted if name not in columns]
    if lacking:
        known = f"their columns are {listed(without_index(columns), 10)}{alike(lacking[0], columns)}"
        raise DataError(f"the files have no column {listed(lacking)}; {known}")
