"""The pieces of files as Arrow tables, and one pass over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, TypeVar

import pyarrow as pa

from ...errors import CheckpointError, DataError, FormatWarning, SkippedWarning, UnreadableError, listed, warn
from ...threads import reduce_ordered
from .. import base
from ..base import Run
from .agreement import repeated
from .discovery import File
from .formats import FAILURES, Format, Piece, Request, reason
from .given import Files, Progress

T = TypeVar("T")
_FAILURES = 100  # damaged parts of a piece that are looked for one by one
PieceResult = tuple[T | None, int]  # of pieces: a result, None if they have no rows, and the rows of the last one


@dataclass(frozen=True)
class Reader:
    """Reads the pieces of files."""

    files: Files
    found: list[File]
    request: Request
    n_features: int  # by which files are cut into pieces

    def pieces(self, done: dict[str, Any]) -> Iterator[Piece]:
        """Yield the pieces that are not done yet; raise an error if a file that was counted has changed."""
        indices = {file.location.identity: file for file in self.found}
        gone = sorted(done.keys() - indices.keys())
        if gone:
            raise CheckpointError(
                f"the checkpoint counts {listed(gone)}, which is not among the files now; {_START_AGAIN}"
            )
        for index, file in indices.items():
            start, form = 0, self.files.format_for(file)
            if note := done.get(index):
                if [note["size"], note["changed"]] == [file.size, file.changed]:
                    start = note["stop"]
                elif note["rows"]:
                    raise CheckpointError(f"{file.path} has changed since it was counted; {_START_AGAIN}")
                else:  # nothing of it could be read then
                    note = done.pop(index) | {"whole": False}
            if (note and note["whole"]) or self._excludes(file):
                continue
            try:
                for piece in form.pieces(file, start, base.PIECE // self.n_features, self.request):
                    yield piece
                    start = piece.stop
            except FAILURES as error:
                self.files.leave_out(f"{file.path}, after {form.unit} {start}: {reason(file, error)}")

    def first(self, rows: int) -> Iterator[Any]:
        """Tables of some rows or fewer, one after the other; pieces that cannot be read are left out."""
        for piece in self.pieces({}):
            yield from self.readable(piece, rows)

    def readable(self, piece: Piece, rows: int) -> Iterator[Any]:
        """Tables of the rows of a piece that can be read."""
        some = False
        try:
            for table in self.tables(piece, rows):
                some = True
                yield table
        except UnreadableError:
            if not some:
                yield from self.undamaged(piece, rows, [])

    def _excludes(self, file: File) -> bool:
        """Whether the filter excludes all rows of a file by its path alone."""
        if self.request.filter is None:
            return False
        known = [column for column in self.request.schema if column.name in file.keys]
        keys = {column.name: repeated(file.keys[column.name], column.type, 1) for column in known}
        try:
            return len(pa.table(keys).filter(self.request.filter)) == 0
        except pa.ArrowInvalid:  # it asks for other columns
            return False

    def tables(self, piece: Piece, rows: int) -> Iterator[Any]:
        """The rows of a piece as Arrow tables of the agreed columns, none of them empty."""
        form = self.files.format_for(piece.file)
        try:
            for table in form.tables(piece, rows, self.request):
                whole = self._completed(table, piece.file)
                kept = whole if self.request.filter is None else whole.filter(self.request.filter)
                if len(kept):
                    yield kept
        except FAILURES as error:
            where = f"{piece.file.path}{_position(form, piece, str(error))}"
            raise UnreadableError(f"{where}: {reason(piece.file, error)}") from None

    def undamaged(self, piece: Piece, rows: int, failures: list[str]) -> Iterator[Any]:
        """The rows of a damaged piece that can be read: all but row groups and lines of text that are damaged. If there
        are very many of these, the rest is left out as a whole."""
        form = self.files.format_for(piece.file)
        for part in form.parts(piece):
            try:
                tables = list(self.tables(part, rows))
            except UnreadableError as error:
                if len(failures) < _FAILURES and len(form.parts(part)) > 1:
                    yield from self.undamaged(part, rows, failures)
                    continue
                self.files.leave_out(str(error))
                failures.append(str(error))
            else:
                yield from tables

    def _completed(self, table: Any, file: File) -> Any:
        """A table with the agreed types, and with the columns that its path names."""
        if table.schema.equals(self.request.schema):
            return table
        columns = []
        for column in self.request.schema:
            if column.name in file.keys:
                values = repeated(file.keys[column.name], column.type, len(table))
            elif column.name in table.schema.names:
                values = table.column(column.name)
                is_wider = pa.types.is_integer(column.type) and pa.types.is_floating(values.type)
                values = values if values.type == column.type or is_wider else values.cast(column.type)
            elif not self.files.format_for(file).may_lack_columns:
                raise DataError(
                    f"{file.path} has no column {column.name!r}; its columns are {listed(table.schema.names)}"
                )
            else:
                values = pa.nulls(len(table), column.type)
            columns.append(values)
        return pa.table(columns, self.request.schema.names)


class FilePass(Generic[T]):
    """One pass over the pieces of files, in order, starting where a run stopped.

    Parameters
    ----------
    reader : Reader
        The files.
    of : callable
        ``of(number, tables)`` is the result of a piece, from its number and its Arrow tables.
    merge : callable
        Merges the total so far and the next result.
    run : Run
        Where to start; it learns of every step.
    """

    def __init__(
        self, reader: Reader, of: Callable[[int, Iterator[Any]], T], merge: Callable[[T, T], T], run: Run[T]
    ) -> None:
        self.reader, self.files, self.of, self.merge, self.run = reader, reader.files, of, merge, run
        self.step = base.rows_read(reader.n_features)
        self.failed: dict[Piece, list[str]] = {}
        self.rows, self.bytes = (sum(note[key] for note in run.done.values()) for key in ("rows", "bytes"))
        self.size = sum(file.size for file in reader.found)

    def total(self, threads: int, lost: tuple[str, ...]) -> T:
        """Return the merged results of all pieces; `lost` are the files that cannot be read at all."""
        skipped = self.files.skipped
        skipped[:] = [*lost, *(one for note in self.run.done.values() for one in note["skipped"])]
        pieces = enumerate(self.reader.pieces(self.run.done))
        total, _ = reduce_ordered(self._result, self._both, pieces, threads, self._advance, (self.run.total, 0))
        if skipped:
            parts = "1 part of the files" if len(skipped) == 1 else f"{len(skipped)} parts of the files"
            left_out = f"could not be read and {'is' if len(skipped) == 1 else 'are'} left out"
            message = f"{parts} {left_out}: {listed(skipped, 3)}"
            warn(message, SkippedWarning)
        for file in self.reader.found:
            for guess in self.files.format_for(file).guesses(file):
                warn(guess, FormatWarning)
        if total is None or not self.rows:
            condition = self.reader.request.filter
            which = "no row" if condition is None else f"no row that passes {condition}"
            raise DataError(f"there is {which} in {self.files}")
        return total

    def _result(self, numbered: tuple[int, Piece]) -> PieceResult[T]:
        number, piece = numbered
        try:
            return self._counted(number, self.reader.tables(piece, self.step))
        except UnreadableError:
            failures = self.failed[piece] = []
            return self._counted(number, self.reader.undamaged(piece, self.step, failures))

    def _counted(self, number: int, tables: Iterator[Any]) -> PieceResult[T]:
        """The result of some tables, and how many rows they have."""
        n = 0

        def passed() -> Iterator[Any]:
            nonlocal n
            for table in tables:
                n += len(table)
                yield table

        passing = passed()
        first = next(passing, None)
        return None if first is None else self.of(number, chain([first], passing)), n

    def _both(self, a: PieceResult[T], b: PieceResult[T]) -> PieceResult[T]:
        if a[0] is None or b[0] is None:
            return (b if a[0] is None else a)[0], b[1]
        return self.merge(a[0], b[0]), b[1]

    def _advance(self, numbered: tuple[int, Piece], outcome: PieceResult[T]) -> None:
        """Record that a piece is done, and report the progress."""
        piece, (total, n) = numbered[1], outcome
        self.run.advance(total, *_note(piece, n, self.failed.get(piece, []), self.run.done))
        self.rows, self.bytes = self.rows + n, self.bytes + piece.n_bytes
        if self.files.progress is not None:
            progress = Progress(self.rows, min(self.bytes, self.size), self.size, piece.file.path)
            self.files.progress(progress)


def _position(form: Format, piece: Piece, message: str) -> str:
    """Where in a file a piece is, if the file can still be read at all."""
    try:
        return f", {form.position(piece, message)}"
    except FAILURES:
        return ""


def _note(piece: Piece, rows: int, failures: list[str], done: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path of a piece's file, and a note that the piece and the earlier ones of the file are done."""
    file, path = piece.file, piece.file.location.identity
    fresh = {"size": file.size, "changed": file.changed, "rows": 0, "bytes": 0, "skipped": []}
    note = done.get(path, fresh)
    return path, note | {
        "stop": piece.stop,
        "whole": piece.is_last,
        "rows": note["rows"] + rows,
        "bytes": note["bytes"] + piece.n_bytes,
        "skipped": note["skipped"] + failures,
    }


_START_AGAIN = "bring it back, or remove the checkpoint to start again"
