"""The format of a file: as given, as its name says, or by its first bytes."""

from __future__ import annotations

import codecs

from ...errors import DataError
from .blocks import JsonFormat, opened, read
from .delimited import CsvFormat
from .dialect import SPACES, TextOptions
from .discovery import File, format_of
from .formats import ArrowFormat, Format, ParquetFormat

_BINARY: dict[str, Format] = {"parquet": ParquetFormat(), "arrow": ArrowFormat()}
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}
_ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; unzip it, or save it as CSV",
    b"\x1f\x8b": "compressed by gzip; give it a name that ends in .gz",
    b"BZh": "compressed by bzip2; give it a name that ends in .bz2",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard; give it a name that ends in .zst",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save it as CSV",
}
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SEPARATORS = {"csv": ",\t;|", "tsv": "\t,;|"}  # that a name allows, the most likely one first
_START = 1 << 12  # bytes that show the format


def recognised(file: File, given: str | None, options: TextOptions) -> Format:
    """Return how to read a file.

    Parameters
    ----------
    file : File
        The file.
    given : str or None
        The format that the user names.
    options : TextOptions
        What the user says of text files.
    """
    named = format_of(file.location.name)
    kind = given or named
    if kind in _BINARY:
        return _BINARY[kind]
    with opened(file) as (stream, _):
        start = read(stream, _START)
    if kind is None:
        kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
        if kind is not None:
            return _BINARY[kind]
    encoding = options.encoding or next((name for bom, name in _BOMS.items() if start.startswith(bom)), None)
    if encoding is None:
        _refuse_binary(file, start)
    if kind == "json" or (kind is None and start.lstrip(codecs.BOM_UTF8 + b" \t\r\n").startswith(b"{")):
        return JsonFormat(encoding)
    if given == "tsv":
        return CsvFormat.of(file, options, "\t", encoding)
    return CsvFormat.of(file, options, _SEPARATORS.get(named or "", _SEPARATORS["csv"] + SPACES), encoding)


def _refuse_binary(file: File, start: bytes) -> None:
    for magic, what in _ARCHIVES.items():
        if start.startswith(magic):
            raise DataError(f"{file.path} is {what}")
    if b"\0" in start:
        raise DataError(
            f"{file.path} is not a text file, or is UTF-16 without a byte order mark: check its format and its encoding"
        )
