"""Formats of text: CSV and JSON lines, cut into blocks of whole rows."""

from __future__ import annotations

import csv
import io
import os
import re
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from ...errors import DataError
from .discovery import File
from .formats import ArrowFormat, Format, ParquetFormat, Piece, Request

BLOCK = 1 << 23  # bytes of text in a piece
HEAD = 1 << 18  # bytes of text that types are inferred from, in each file


class TextFormat(Format):
    """Lines, cut into blocks that are parsed on several threads."""

    unit = "byte"

    def schema(self, file: File, types: dict[str, Any]) -> Any:
        return self._schema(*self._head(file), types)

    def _head(self, file: File) -> tuple[bytes, bytes]:
        """Return the header row, and some whole rows after it, if there are any."""
        with opened(file) as (stream, _):
            head = more = _read(stream, HEAD)
            while more and self._end(head) <= len(self._header(head)):  # wide tables have long rows
                head += (more := _read(stream, len(head)))
        header = self._header(head)
        return header, head[len(header) : self._end(head) if more else None]

    def pieces(self, file: File, start: int, rows: int, request: Request) -> Iterator[Piece]:  # noqa: ARG002
        header, _ = self._head(file)
        with opened(file) as (stream, raw):
            position = max(start, len(header))
            skip(stream, position)
            content, read = b"", raw.tell() if start else 0
            while True:
                # As many bytes from each piece's start, so that a run that goes on finds the same pieces.
                more = _read(stream, BLOCK - len(content) % BLOCK)
                content += more
                end = self._end(content) if more else len(content)
                if end or not more:
                    n_bytes, read = raw.tell() - read, raw.tell()
                    yield Piece(file, position, position + end, n_bytes, not more, (header, content[:end]))
                    position, content = position + end, content[end:]
                if not more:
                    return

    def tables(self, piece: Piece, rows: int, request: Request) -> Iterator[Any]:
        header, content = piece.content
        if not content.strip():
            return
        columns = request.of([name for name in self._names(header, request) if name not in piece.file.keys])
        try:
            table = self._parsed(header, content, columns)
        except pa.ArrowInvalid:  # integers that have met a fraction are numbers all the same
            wider = [
                column
                if column.name in request.exact or not pa.types.is_integer(column.type)
                else column.with_type(pa.float64())
                for column in columns
            ]
            table = self._parsed(header, content, pa.schema(wider))
        for start in range(0, table.num_rows, rows):
            yield table.slice(start, rows)

    def position(self, piece: Piece, message: str) -> str:
        line, left = 1, piece.start
        with opened(piece.file) as (stream, _):
            while left and (block := stream.read(min(left, BLOCK))):
                left -= len(block)
                line += block.count(b"\n")
        if row := re.search(r"Row #(\d+)| in row (\d+)", message):  # counted from one, or from zero
            return f"line {line + (int(row[1]) - 1 if row[1] else int(row[2]))}"
        return f"lines {line} to {line + piece.content[1].count(10) - 1}"

    @abstractmethod
    def _header(self, head: bytes) -> bytes:
        """Return the header row, if there is one."""

    @abstractmethod
    def _names(self, header: bytes, request: Request) -> list[str]: ...

    @abstractmethod
    def _end(self, content: bytes) -> int:
        """Return where the last whole row ends; 0 if there is none."""

    @abstractmethod
    def _schema(self, header: bytes, content: bytes, types: dict[str, Any]) -> Any: ...

    @abstractmethod
    def _parsed(self, header: bytes, content: bytes, columns: Any) -> Any: ...


class CsvFormat(TextFormat):
    """Rows of values between commas, with a header; quoted values may hold anything."""

    guesses_types = True

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter
        mark = re.escape(delimiter)
        # Cells and what stands between them, up to quotes that begin a cell and are never closed.
        self._closed = re.compile(
            rf'(?:"[^"]*"(?:"[^"]*")*[^{mark}\n]*|[^"{mark}\n][^{mark}\n]*|[{mark}\n])*+'.encode()
        )

    def schema(self, file: File, types: dict[str, Any]) -> Any:
        found = super().schema(file, types)
        other = next((d for d in ",;\t|" if len(found) == 1 and d != self.delimiter and d in found.names[0]), None)
        if other is not None:
            raise DataError(
                f"the columns of {file.path} are separated by {other!r}, not by {self.delimiter!r}: write it with "
                'commas or, where tabs separate them, pass suffice.files(path, format="tsv")'
            )
        return found

    def _header(self, head: bytes) -> bytes:
        end = head.find(b"\n")
        while end >= 0 and head.count(b'"', 0, end) % 2:
            end = head.find(b"\n", end + 1)
        return head if end < 0 else head[: end + 1]

    def _names(self, header: bytes, request: Request | None = None) -> list[str]:  # noqa: ARG002
        return next(csv.reader(io.StringIO(header.decode("utf-8-sig")), delimiter=self.delimiter), [])

    def _end(self, content: bytes) -> int:
        end = content.rfind(b"\n")
        odd = content.count(b'"', 0, end + 1) % 2  # a line that ends within quotes does not end a row
        while end >= 0 and odd:
            before = content.rfind(b"\n", 0, end)
            odd = (odd - content.count(b'"', before + 1, end + 1)) % 2
            end = before
        return end + 1

    def _schema(self, header: bytes, content: bytes, types: dict[str, Any]) -> Any:
        names = self._names(header)
        if not content.strip():
            return pa.schema([(name, types.get(name, pa.null())) for name in names])
        known = {name: kind for name, kind in types.items() if name in names}
        # Rows that are broken are named when they are read; here they only must not hide the others.
        found = self._table(names, content, pa.csv.ConvertOptions(column_types=known), lambda _: "skip").schema
        # Text that is not UTF-8 is named when it is read, too; bytes are nothing to learn from.
        texts = [column.name for column in found if pa.types.is_binary(column.type) and column.name not in known]
        return pa.schema([column.with_type(pa.string()) if column.name in texts else column for column in found])

    def _parsed(self, header: bytes, content: bytes, columns: Any) -> Any:
        if content.count(b'"') % 2 and (match := self._closed.match(content)) and match.end() < len(content):
            line = content.count(b"\n", 0, match.end()) + 1
            raise pa.ArrowInvalid(f"Row #{line}: quotes are opened and never closed")
        types = {column.name: column.type for column in columns}
        options = pa.csv.ConvertOptions(column_types=types, include_columns=columns.names)
        return self._table(self._names(header), content, options)

    def _table(self, names: list[str], content: bytes, convert: Any, invalid: Any = None) -> Any:
        convert.strings_can_be_null, convert.quoted_strings_can_be_null = True, False
        return pa.csv.read_csv(
            pa.BufferReader(content),
            pa.csv.ReadOptions(use_threads=False, block_size=len(content), column_names=names),
            pa.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=b'"' in content, invalid_row_handler=invalid
            ),
            convert,
        )


class JsonFormat(TextFormat):
    """An object in each line. A column may be left out where it is null."""

    may_lack_columns = True

    def schema(self, file: File, types: dict[str, Any]) -> Any:
        if self._head(file)[1].lstrip().startswith(b"["):
            raise DataError(
                f"{file.path} is a JSON array, but JSON lines are needed: an object in each line, no brackets"
            )
        return super().schema(file, types)

    def _header(self, head: bytes) -> bytes:  # noqa: ARG002
        return b""

    def _names(self, header: bytes, request: Request) -> list[str]:  # noqa: ARG002
        return list(request.schema.names)

    def _end(self, content: bytes) -> int:
        return content.rfind(b"\n") + 1

    def _schema(self, header: bytes, content: bytes, types: dict[str, Any]) -> Any:  # noqa: ARG002
        if not content.strip():
            return pa.schema([])
        options = pa.json.ParseOptions(explicit_schema=pa.schema(types))
        try:
            table = self._table(content, options)
        except pa.ArrowInvalid as error:  # a row that is broken is named when it is read
            row = re.search(r" in row (\d+)", str(error))
            if row is None or row[1] == "0":
                raise
            table = self._table(b"\n".join(content.split(b"\n")[: int(row[1])]), options)
        return pa.schema(
            [
                column
                for column in table.schema
                if column.name not in types or table[column.name].null_count < len(table)
            ]
        )

    def _parsed(self, header: bytes, content: bytes, columns: Any) -> Any:  # noqa: ARG002
        return self._table(content, pa.json.ParseOptions(explicit_schema=columns, unexpected_field_behavior="ignore"))

    def _table(self, content: bytes, parse: Any) -> Any:
        options = pa.json.ReadOptions(use_threads=False, block_size=len(content))
        return pa.json.read_json(pa.BufferReader(content), options, parse)


_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@contextmanager
def opened(file: File) -> Iterator[tuple[Any, Any]]:
    """The bytes of a file, decompressed where its name says so, and the file itself."""
    kind = _COMPRESSIONS.get(os.path.splitext(file.location.name)[1].lower())
    with file.location.open() as raw:
        if kind is None:
            yield raw, raw
            return
        with pa.CompressedInputStream(raw, kind) as stream:
            yield stream, raw


def _read(stream: Any, n: int) -> bytes:
    """The next n bytes, fewer only at the end; a decompressing stream may give fewer at a time."""
    parts = []
    while n and (part := stream.read(n)):
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def skip(stream: Any, n: int) -> None:
    """Seek to the n-th byte; compressed files are read up to it."""
    if stream.seekable():
        stream.seek(n)
        return
    while n and (block := stream.read(min(n, BLOCK))):
        n -= len(block)


FORMATS: dict[str, Format] = {
    "parquet": ParquetFormat(),
    "arrow": ArrowFormat(),
    "csv": CsvFormat(","),
    "tsv": CsvFormat("\t"),
    "json": JsonFormat(),
}
