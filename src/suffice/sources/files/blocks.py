"""Formats of text, cut into blocks of whole rows: what they share, and JSON lines."""

from __future__ import annotations

import codecs
import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from zipfile import BadZipFile, ZipFile

import pyarrow as pa
import pyarrow.json

from ...errors import DataError
from .discovery import File
from .formats import Format, Piece, Request

BLOCK = 1 << 23  # bytes of text in a piece
HEAD = 1 << 18  # bytes of text that types are inferred from, in each file


class TextFormat(Format):
    """Lines of one file, cut into blocks that are parsed on several threads."""

    unit = "byte"

    def __init__(self, encoding: str | None = None) -> None:
        self.encoding = encoding  # None for UTF-8, or what a format makes of text that is not

    def schema(self, file: File, types: dict[str, Any]) -> Any:
        return self._schema(*self._head(file), types)

    def _head(self, file: File) -> tuple[bytes, bytes]:
        """Return the header row, and some whole rows after it, if there are any."""
        with opened(file, self.encoding) as (stream, _):
            head = more = read(stream, HEAD)
            while more and self._end(head) <= len(self._header(head)):  # wide tables have long rows
                head += (more := read(stream, len(head)))
        header = self._header(head)
        return header, head[len(header) : self._end(head) if more else None]

    def pieces(self, file: File, start: int, rows: int, request: Request) -> Iterator[Piece]:  # noqa: ARG002
        header, _ = self._head(file)
        with opened(file, self.encoding) as (stream, raw):
            position = max(start, len(header))
            skip(stream, position)
            content, before = b"", raw.tell() if start else 0
            while True:
                # As many bytes from each piece's start, so that a run that goes on finds the same pieces.
                more = read(stream, BLOCK - len(content) % BLOCK)
                content += more
                end = self._end(content) if more else len(content)
                if end or not more:
                    n_bytes, before = raw.tell() - before, raw.tell()
                    yield Piece(file, position, position + end, n_bytes, not more, content[:end])
                    position, content = position + end, content[end:]
                if not more:
                    return

    def tables(self, piece: Piece, rows: int, request: Request) -> Iterator[Any]:
        if not piece.content.strip():
            return
        columns = request.of([name for name in self._names(request) if name not in piece.file.keys])
        try:
            table = self._parsed(piece.content, columns, request)
        except pa.ArrowInvalid:  # integers that have met a fraction are numbers all the same
            wider = [
                column
                if column.name in request.exact or not pa.types.is_integer(column.type)
                else column.with_type(pa.float64())
                for column in columns
            ]
            table = self._parsed(piece.content, pa.schema(wider), request)
        for start in range(0, table.num_rows, rows):
            yield table.slice(start, rows)

    def parts(self, piece: Piece) -> list[Piece]:
        content, middle = piece.content, len(piece.content) // 2
        end = self._end(content[:middle]) or self._end(content[: content.find(b"\n", middle) + 1])
        if not 0 < end < len(content):
            return [piece]
        cut = piece.start + end
        return [replace(piece, stop=cut, content=content[:end]), replace(piece, start=cut, content=content[end:])]

    def position(self, piece: Piece, message: str) -> str:
        line, left = 1, piece.start
        with opened(piece.file, self.encoding) as (stream, _):
            while left and (block := stream.read(min(left, BLOCK))):
                left -= len(block)
                line += block.count(b"\n")
        if row := re.search(r"Row #(\d+)| in row (\d+)", message):  # counted from one, or from zero
            return f"line {line + (int(row[1]) - 1 if row[1] else int(row[2]))}"
        last = line + piece.content.rstrip(b"\r\n").count(b"\n")
        return f"line {line}" if last == line else f"lines {line} to {last}"

    @abstractmethod
    def _header(self, head: bytes) -> bytes:
        """Return the header row, if there is one."""

    @abstractmethod
    def _names(self, request: Request) -> Sequence[str]: ...

    @abstractmethod
    def _end(self, content: bytes) -> int:
        """Return where the last whole row ends; 0 if there is none."""

    @abstractmethod
    def _schema(self, header: bytes, content: bytes, types: dict[str, Any]) -> Any: ...

    @abstractmethod
    def _parsed(self, content: bytes, columns: Any, request: Request) -> Any: ...


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

    def _names(self, request: Request) -> Sequence[str]:
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

    def _parsed(self, content: bytes, columns: Any, request: Request) -> Any:  # noqa: ARG002
        return self._table(content, pa.json.ParseOptions(explicit_schema=columns, unexpected_field_behavior="ignore"))

    def _table(self, content: bytes, parse: Any) -> Any:
        options = pa.json.ReadOptions(use_threads=False, block_size=len(content))
        return pa.json.read_json(pa.BufferReader(content), options, parse)


_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zip": "zip"}


def compression_of(name: str) -> str | None:
    """How a file is compressed, from its name."""
    return _COMPRESSIONS.get(os.path.splitext(name)[1].lower())


@contextmanager
def opened(file: File, encoding: str | None = None) -> Iterator[tuple[Any, Any]]:
    """The text of a file in UTF-8, decompressed where its name says so, and the file itself."""
    kind = compression_of(file.location.name)
    recode = encoding is not None and codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig")
    with file.location.open() as raw, _decompressed(raw, kind, file) as stream:
        yield pa.transcoding_input_stream(stream, encoding, "utf-8") if recode else stream, raw


def _decompressed(raw: Any, kind: str | None, file: File) -> Any:
    """A context manager with the content of a file that is open."""
    if kind is None:
        return nullcontext(raw)
    if kind != "zip":
        return pa.CompressedInputStream(raw, kind)
    try:
        archive = ZipFile(raw)
        names = [member.filename for member in archive.infolist() if not member.is_dir()]
        members = [name for name in names if not os.path.basename(name).startswith(".")]  # .DS_Store, __MACOSX/._name
        if len(members) != 1:
            raise DataError(f"{file.path} is a ZIP archive of {len(members)} files, but only one can be read; unzip it")
        return pa.PythonFile(archive.open(members[0]), "r")
    except (BadZipFile, RuntimeError, NotImplementedError) as error:  # broken, with a password, by an unknown method
        raise DataError(f"{file.path} cannot be read: {error}; unzip it") from None


def read(stream: Any, n: int) -> bytes:
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
