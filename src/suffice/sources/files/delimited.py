"""CSV and its relatives: cells with a separator between them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import pyarrow as pa
import pyarrow.csv

from ...errors import DataError, as_type, listed, remedy
from ...tables.parsing import number_of
from . import blocks
from .blocks import TextFormat, compression_of
from .dialect import TextDialect, TextOptions, sniffed
from .discovery import File
from .formats import Piece, Request

_SAMPLE = 1 << 16  # bytes of text to look at
_KINDS = {"int64": "integer", "double": "number", "bool": "Boolean"}  # Arrow's types in messages
_CONVERSION = re.compile(r"column #(\d+): .*conversion error to (\w+)[^:]*: invalid value '(.*)'", re.DOTALL)
_ODD_WORDS = 20  # of a file that may stand for missing values among numbers, dates and Booleans
_SEP = re.compile(rb'(?:\xef\xbb\xbf)?[\r\n]*"?sep=([^"\r\n])"?\r?\n')  # the first line that Excel writes
_PLACES = 4  # of a large file, after its head, where types are inferred, too


class CsvFormat(TextFormat):
    """Rows of cells with a separator between them; quoted cells may hold anything."""

    guesses_types = True
    guesses_header = False  # whether the first row was found to hold values, not names

    def __init__(self, dialect: TextDialect, encoding: str | None = None) -> None:
        super().__init__(encoding)
        self.dialect = dialect
        self.recoded: str | None = None  # the encoding of text that turned out not to be UTF-8
        self.short = False  # whether there were rows with too few cells
        self.odd: dict[str, set[str]] = {}  # words among the numbers, dates or Booleans of columns: missing values
        self.written: set[str] = set()  # columns with some numbers that Arrow cannot read, such as 1,234 or $12.50
        mark = re.escape(dialect.delimiter)
        # Cells and what stands between them, up to quotes that begin a cell and are never closed.
        self._closed = re.compile(
            rf'(?:"[^"]*"(?:"[^"]*")*[^{mark}\n]*|[^"{mark}\n][^{mark}\n]*|[{mark}\n])*+'.encode()
        )

    @property
    def decimal(self) -> str:  # type: ignore[override]
        """The decimal mark."""
        return self.dialect.decimal

    @classmethod
    def of(cls, file: File, options: TextOptions, separators: str, encoding: str | None) -> CsvFormat:
        """Return the format of a file, from what the user says and from its first rows."""
        anyhow = cls(TextDialect(separators[0], (), True), encoding)  # rows end alike, whatever separates their cells
        header, content = anyhow._head(file)
        if b"\r" in header.rstrip() and not content:
            raise DataError(f"the lines of {file.path} end in CR alone, as those of old Macs; convert them to LF")
        rows = content[: anyhow._end(content[:_SAMPLE]) or len(anyhow._header(content))]
        if named := _SEP.match(header):
            header, options = header[named.end() :], replace(options, sep=options.sep or named[1].decode("latin-1"))
        sample = anyhow._decoded(header + rows)
        found = cls(sniffed(sample, options, separators), encoding)
        found.recoded = anyhow.recoded
        found.guesses_header = options.header is None and not found.dialect.header
        return found

    def guesses(self, file: File) -> Iterator[str]:
        if self.recoded:
            given = remedy('suffice.files(path, encoding="latin-2")', "--encoding latin-2")
            yield (
                f"{file.path} is not UTF-8 and is read as {self.recoded}; if letters look wrong, give its encoding, as "
                f"in {given}"
            )
        if self.short:
            yield f"some rows of {file.path} have fewer cells than there are columns; the others are missing values"
        for name, words in sorted(self.odd.items()):
            yield (
                f"column {name!r} of {file.path} holds {listed(sorted(words), _ODD_WORDS)} among other values: such "
                f"cells are read as missing values; to read the column as text, give {as_type(name)}"
            )
        if self.dialect.doubtful:
            name, cell = self.dialect.doubtful
            other = ".,".replace(self.decimal, "")
            options = [
                (f"suffice.files(path, decimal={mark!r})", f"--decimal {mark}") for mark in (other, self.decimal)
            ]
            thousands, decimals = (remedy(*each) for each in options)
            yield (
                f"column {name!r} of {file.path} holds {cell}, which is read as {number_of(cell, self.decimal):g}; if "
                f"{self.decimal!r} separates thousands in it, give {thousands}, and if it does not, {decimals}"
            )
        if self.dialect.titles:
            given = remedy("suffice.files(path, header=True)", "--header")
            n, of = self.dialect.titles, f"of {file.path}"
            lines = f"line {of} is a title" if n == 1 else f"{n} lines {of} are titles"
            yield (
                f"the first {lines}, and the names of its columns follow: {listed(self.dialect.names)}; if the first "
                f"line holds the names, give {given}"
            )
        if self.guesses_header:
            given = remedy("suffice.files(path, header=False) or header=True", "--no-header or --header")
            yield (
                f"the first row of {file.path} holds values, so that its columns are named x0 to "
                f"{self.dialect.names[-1]}; to say whether it is a header, give {given}"
            )

    def schema(self, file: File, types: dict[str, Any]) -> Any:
        header, content = self._head(file)
        return self._schema(header, content + self._elsewhere(file), types)

    def _elsewhere(self, file: File) -> bytes:
        """Rows from several positions of a large file, where they can be found without reading all before them."""
        is_seekable = self.encoding is None and compression_of(file.location.name) is None and file.location.is_local
        if not is_seekable or file.size < 2 * blocks.HEAD:
            return b""
        n, parts = blocks.HEAD // _PLACES, []
        with file.location.open() as raw:
            for place in range(1, _PLACES + 1):
                raw.seek(blocks.HEAD + (file.size - blocks.HEAD) * place // _PLACES - n)
                block = blocks.read(raw, n)
                rows = block[block.find(b"\n") + 1 : block.rfind(b"\n") + 1]
                if b'"' not in rows or self._are_whole(rows):  # or else it is not known which lines end a row
                    parts.append(rows)
        return b"".join(parts)

    def _are_whole(self, rows: bytes) -> bool:
        """Whether lines that have quotes are rows: as many cells as there are names, and no quotes left open."""
        plain = self.dialect.plain(rows).decode("latin-1")
        cells = csv.reader(io.StringIO(plain, newline=""), delimiter=self.dialect.delimiter)
        return plain.count('"') % 2 == 0 and all(len(row) == len(self.dialect.names) for row in cells if row)

    def tables(self, piece: Piece, rows: int, request: Request) -> Iterator[Any]:
        seen: set[tuple[str, str]] = set()
        while True:
            try:
                yield from super().tables(piece, rows, request)
            except pa.ArrowInvalid as error:
                if (found := _CONVERSION.search(str(error))) is None:
                    raise
                name, kind, cell = self.dialect.names[int(found[1])], found[2], found[3]
                are_many = (name, cell) in seen or len(set[str]().union(*self.odd.values(), [cell])) > _ODD_WORDS
                if are_many or name not in request.guessed:
                    raise self._explained(name, kind, cell, piece.content) from None
                if kind == "double" and not isnan(number_of(cell, self.decimal)):
                    self.written.add(name)
                    continue
                seen.add((name, cell))
                self.odd.setdefault(name, set()).add(cell)
            else:
                return

    def _explained(self, name: str, kind: str, cell: str, content: bytes) -> pa.ArrowInvalid:
        """The error of a cell that does not have the type of its column, with its row, its column and a remedy."""
        j = self.dialect.names.index(name)
        plain = self._decoded(self.dialect.plain(content))
        rows = csv.reader(io.StringIO(plain, newline=""), delimiter=self.dialect.delimiter)
        line = next((rows.line_num for row in rows if len(row) > j and row[j] == cell), 1)
        missing = remedy(f"suffice.files(path, na=[{cell!r}])", f"--na {cell!r}")
        return pa.ArrowInvalid(
            f"Row #{line}: column {name!r} holds {cell!r}, but values of type {_KINDS.get(kind, kind)} elsewhere; if "
            f"this is a missing value, give {missing}; to read the column as text, give {as_type(name)}"
        )

    def _header(self, head: bytes) -> bytes:
        named = _SEP.match(head)
        start = named.end() if named else len(head) - len(head.lstrip(b"\r\n"))
        if not self.dialect.header:
            return head[:start] if named else b""
        for _ in range(self.dialect.titles):
            start = self._next_row(head, head.find(b"\n", self._next_row(head, start)) + 1)
        end = head.find(b"\n", start)
        while end >= 0 and head.count(b'"', 0, end) % 2:
            end = head.find(b"\n", end + 1)
        return head if end < 0 else head[: end + 1]

    def _next_row(self, head: bytes, start: int) -> int:
        """Where the next row begins that has a cell with text."""
        blank = rb"(?:[ \t\r\"" + re.escape(self.dialect.delimiter.encode()) + rb"]*\n)*"
        found = re.compile(blank).match(head, start)
        return start if found is None else found.end()

    def _names(self, request: Request) -> Sequence[str]:
        return *self.dialect.names, *request.verbatim

    def _end(self, content: bytes) -> int:
        end = content.rfind(b"\n")
        odd = content.count(b'"', 0, end + 1) % 2  # a line that ends within quotes does not end a row
        while end >= 0 and odd:
            before = content.rfind(b"\n", 0, end)
            odd = (odd - content.count(b'"', before + 1, end + 1)) % 2
            end = before
        return end + 1

    def _schema(self, header: bytes, content: bytes, types: dict[str, Any]) -> Any:  # noqa: ARG002
        names = self.dialect.names
        if not content.strip():
            return pa.schema([(name, types.get(name, pa.null())) for name in names])
        known = {name: kind for name, kind in types.items() if name in names}
        # Rows that are broken are named when they are read; here they only must not hide the others.
        short = []

        def skip(row: Any) -> str:
            short.extend([row] * (row.actual_columns < row.expected_columns))
            return "skip"

        found = self._table(content, {"column_types": known}, skip).schema
        if short:
            found = self._table(self._filled(self.dialect.plain(content)), {"column_types": known}, skip).schema
        # Text that is not UTF-8 is decoded or named when it is read, too; bytes are nothing to learn from.
        texts = [column.name for column in found if pa.types.is_binary(column.type) and column.name not in known]
        return pa.schema([column.with_type(pa.string()) if column.name in texts else column for column in found])

    def _parsed(self, content: bytes, columns: Any, request: Request) -> Any:
        if content.count(b'"') % 2 and (match := self._closed.match(content)) and match.end() < len(content):
            line = content.count(b"\n", 0, match.end()) + 1
            raise pa.ArrowInvalid(f"Row #{line}: quotes are opened and never closed")
        # What is a missing value cannot be said by column, so that columns with words of their own, and cells as they
        # are written, need a table of their own.
        odd = {name: frozenset(words) for name, words in list(self.odd.items())}
        parts: dict[frozenset[str] | None, list[Any]] = {}
        for column in columns:
            words = None if column.name in request.verbatim else odd.get(column.name, frozenset())
            parts.setdefault(words, []).append(column)
        found: dict[str, Any] = {}
        for words, part in parts.items():
            how: dict[str, Any] = {}
            if words is None:
                how = {"null_values": [""], "quoted_strings_can_be_null": False}
            elif words:
                how = {"null_values": [*self.dialect.na, *words], "quoted_strings_can_be_null": True}
            types = {request.verbatim.get(column.name, column.name): column.type for column in part}
            texts = dict.fromkeys(self.written.intersection(types), pa.string())
            table = self._table(content, {"column_types": types | texts, "include_columns": list(types), **how})
            for column, cells in zip(part, table.columns, strict=True):
                found[column.name] = self._numbers(column.name, cells) if column.name in texts else cells
        return pa.table([found[name] for name in columns.names], columns.names)

    def _numbers(self, name: str, texts: Any) -> Any:
        """The numbers of cells as people write them; a word is the error that Arrow raises for it."""
        coded = texts.combine_chunks().dictionary_encode()
        words = coded.dictionary.to_pylist()
        values = [number_of(word, self.decimal) for word in words]
        for word, value in zip(words, values, strict=True):
            if isnan(value):
                column = f"column #{self.dialect.names.index(name)}"
                raise pa.ArrowInvalid(f"In CSV {column}: CSV conversion error to double: invalid value '{word}'")
        return pa.chunked_array([pa.array(values, pa.float64()).take(coded.indices)])

    def _decoded(self, content: bytes) -> str:
        """Text of rows: UTF-8 or, where they are not and the user does not name the encoding, Windows-1252."""
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            if self.encoding is not None:
                raise
        try:
            decoded, self.recoded = content.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            decoded, self.recoded = content.decode("latin-1"), "Latin-1"
        return decoded

    def _table(self, content: bytes, convert: dict[str, Any], invalid: Any = None) -> Any:
        plain = self.dialect.plain(content)
        try:
            return self._plain_table(plain, convert, invalid)
        except pa.ArrowInvalid as error:
            if self.encoding is None and "invalid UTF8" in str(error):
                return self._table(self._decoded(content).encode(), convert, invalid)
            width = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
            if width is None or int(width[2]) > int(width[1]):
                raise
            return self._plain_table(self._filled(plain), convert, invalid)

    def _filled(self, plain: bytes) -> bytes:
        """Rows with empty cells at the end of those that are too short, as pandas reads them."""
        mark, width, rows = self.dialect.delimiter.encode(), len(self.dialect.names), []
        lines = iter(plain.split(b"\n"))
        for line in lines:
            row = line
            while row.count(b'"') % 2 and (more := next(lines, None)) is not None:
                row += b"\n" + more
            cells = row.decode("latin-1").splitlines(keepends=True) if b'"' in row else ()
            count = len(next(csv.reader(cells, delimiter=mark.decode()))) if cells else row.count(mark) + 1
            if row.strip() and count < width:
                self.short = True
                row = row.rstrip(b"\r") + mark * (width - count)
            rows.append(row)
        return b"\n".join(rows)

    def _plain_table(self, plain: bytes, convert: dict[str, Any], invalid: Any) -> Any:
        dialect = self.dialect
        return pa.csv.read_csv(
            pa.BufferReader(plain),
            pa.csv.ReadOptions(use_threads=False, block_size=len(plain), column_names=dialect.names),
            pa.csv.ParseOptions(
                delimiter=dialect.delimiter, newlines_in_values=b'"' in plain, invalid_row_handler=invalid
            ),
            pa.csv.ConvertOptions(
                decimal_point=dialect.decimal,
                strings_can_be_null=True,
                **{"null_values": dialect.na, "quoted_strings_can_be_null": dialect.quotes_all, **convert},
            ),
        )
