"""Files of tables: Parquet, Arrow, CSV and JSON lines, read piece by piece."""

from .given import Files, Progress, are_files, files, is_database, with_texts, with_verbatim
from .source import FileSource, file_source

__all__ = [
    "FileSource",
    "Files",
    "Progress",
    "are_files",
    "file_source",
    "files",
    "is_database",
    "with_texts",
    "with_verbatim",
]
