"""Formats of files: the pieces that a file can be read in, and the rows of a piece, a few at a time."""

from __future__ import annotations

import csv
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from zipfile import BadZipFile

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from ...errors import remedy
from ...threads import made_ahead
from .discovery import File

BUFFER = 1 << 18  # bytes read ahead of each column of a Parquet file
FAILURES = (
    pa.ArrowException,
    OSError,
    EOFError,
    UnicodeDecodeError,
    csv.Error,
    BadZipFile,
    zlib.error,
)  # what reading a damaged file may raise


def reason(file: File, error: Exception) -> str:
    """Why a file cannot be read, in a line without credentials."""
    why = re.sub(r"^(CSV parse error: )?Row #\d+: ", "", file.location.without_secrets(error))
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in why:
        encoding = remedy('suffice.files(path, encoding="latin-1")', "--encoding latin-1")
        return f"the text is not in the encoding that is expected ({why}); give its encoding, as in {encoding}"
    return why


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of a file that is read on its own: row groups, a record batch, or lines of text."""

    file: File
    start: int  # a row group, a record batch or a byte
    stop: int
    n_bytes: int  # of the file, about
    is_last: bool
    content: Any = None  # what the format needs to read it


class Format(ABC):
    """A format of files."""

    unit: str  # what pieces are counted in
    may_lack_columns = False  # whether a column that a file does not have is null there
    decimal: str | None = None  # the decimal mark of numbers that are text
    guesses_types = False  # whether cells are of the type that they look like

    @abstractmethod
    def schema(self, file: File, types: dict[str, Any]) -> Any:
        """Return names and types of the columns, none for an empty file; `types` are given."""

    @abstractmethod
    def pieces(self, file: File, start: int, rows: int, request: Request) -> Iterator[Piece]:
        """The pieces from `start` on, one or more, of about so many rows where the format leaves a choice."""

    @abstractmethod
    def tables(self, piece: Piece, rows: int, request: Request) -> Iterator[Any]:
        """The requested columns of the rows of a piece, so many rows at a time."""

    def parts(self, piece: Piece) -> list[Piece]:
        """Return smaller parts of a piece, to read one by one if it is damaged; one if it has no parts."""
        return [piece]

    def guesses(self, file: File) -> Iterator[str]:  # noqa: ARG002
        """What was guessed of a file and may be wrong, for warnings."""
        return iter(())

    def position(self, piece: Piece, message: str) -> str:  # noqa: ARG002
        """Return where in a file an error is, if its message says so."""
        last = piece.stop - 1
        return f"{self.unit} {piece.start}" if last <= piece.start else f"{self.unit}s {piece.start} to {last}"


@dataclass(frozen=True, slots=True)
class Request:
    """The columns and rows to read from every file."""

    schema: Any  # the columns that are read, with the types that all files agree on
    filter: Any = None  # an expression
    exact: frozenset[str] = frozenset()  # columns whose integers must stay integers: labels
    guessed: frozenset[str] = frozenset()  # columns of text files in which a word that is no value is a missing value
    threads: bool = True  # whether a reader may use threads of its own
    verbatim: Mapping[str, str] = field(default_factory=dict)  # columns whose cells of text stay as they are written,
    # and the columns of the file that they repeat

    def of(self, names: list[str]) -> Any:
        """The part of the schema that a file holds; partitions are not in it."""
        return pa.schema([column for column in self.schema if column.name in names])


class ParquetFormat(Format):
    """Row groups; large ones are decoded a few rows at a time."""

    unit = "row group"

    def schema(self, file: File, types: dict[str, Any]) -> Any:  # noqa: ARG002
        with file.location.open() as source:
            return pa.parquet.read_schema(source)

    def pieces(self, file: File, start: int, rows: int, request: Request) -> Iterator[Piece]:
        with file.location.open() as source:
            metadata = pa.parquet.read_metadata(source)
        n = metadata.num_row_groups
        kept = range(start, n) if request.filter is None else [i for i in _kept(file, request) if i >= start]
        groups: list[int] = []
        begin, count = start, 0
        for i in kept:
            groups.append(i)
            count += metadata.row_group(i).num_rows
            if count >= rows and i != kept[-1]:
                yield Piece(file, begin, i + 1, _share(file, begin, i + 1, n), False, (metadata, groups))
                begin, count, groups = i + 1, 0, []
        yield Piece(file, begin, n, _share(file, begin, n, n), True, (metadata, groups))

    def tables(self, piece: Piece, rows: int, request: Request) -> Iterator[Any]:
        metadata, groups = piece.content
        if not groups:
            return
        # Without a buffer the whole row group would be held in memory, and with `pre_buffer` as well. A store is asked
        # for few large parts instead: each request takes longer than to decode what it gives.
        location = piece.file.location
        buffers = {"buffer_size": BUFFER, "pre_buffer": False} if location.is_local else {"pre_buffer": True}
        with (
            location.open() as source,
            pa.parquet.ParquetFile(source, metadata=metadata, page_checksum_verification=True, **buffers) as file,
        ):
            names = request.of(file.schema_arrow.names).names
            batches = file.iter_batches(rows, groups, names, use_threads=request.threads)
            # A file may have but one row group.
            for batch in made_ahead(batches) if request.threads else batches:
                yield pa.Table.from_batches([batch])

    def parts(self, piece: Piece) -> list[Piece]:
        metadata, groups = piece.content
        return [replace(piece, start=i, stop=i + 1, content=(metadata, [i])) for i in groups]


def _kept(file: File, request: Request) -> list[int]:
    """The row groups in which, by their statistics, the filter may find rows."""
    from pyarrow.dataset import ParquetFileFormat  # it imports pandas
    from pyarrow.fs import LocalFileSystem

    fragment = ParquetFileFormat().make_fragment(
        file.location.path, filesystem=file.location.filesystem or LocalFileSystem()
    )
    columns = [column for column in fragment.physical_schema if column.name not in request.schema.names]
    whole = pa.schema([*request.schema, *columns])
    return [group.id for group in fragment.subset(request.filter, schema=whole).row_groups]


def _share(file: File, start: int, stop: int, n: int) -> int:
    """The bytes of some of n parts of a file, about."""
    return file.size * stop // n - file.size * start // n if n else file.size


class ArrowFormat(Format):
    """Arrow files, also called Feather: record batches. They are mapped into memory, and nothing is copied."""

    unit = "record batch"

    def schema(self, file: File, types: dict[str, Any]) -> Any:  # noqa: ARG002
        with _mapped(file) as mapped, pa.ipc.open_file(mapped) as reader:
            return reader.schema

    def pieces(self, file: File, start: int, rows: int, request: Request) -> Iterator[Piece]:  # noqa: ARG002
        with _mapped(file) as mapped, pa.ipc.open_file(mapped) as reader:
            n = reader.num_record_batches
        for i in range(start, n):
            yield Piece(file, i, i + 1, _share(file, i, i + 1, n), i == n - 1)
        if start >= n:
            yield Piece(file, n, n, _share(file, n, n, n), True)

    def tables(self, piece: Piece, rows: int, request: Request) -> Iterator[Any]:
        if piece.start == piece.stop:
            return
        with _mapped(piece.file) as mapped:
            names = pa.ipc.open_file(mapped).schema.names
            fields = [names.index(name) for name in request.of(names).names]
            options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=request.threads)
            table = pa.Table.from_batches([pa.ipc.open_file(mapped, options=options).get_batch(piece.start)])
            for start in range(0, table.num_rows, rows):
                yield table.slice(start, rows)


def _mapped(file: File) -> Any:
    """A file to read from: mapped into memory, unless it is an object in a store."""
    return pa.memory_map(file.location.path) if file.location.is_local else file.location.open()
