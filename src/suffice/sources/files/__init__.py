"""Files of tables: Parquet, Arrow, CSV and JSON lines, read piece by piece."""

from .source import Files, FileSource, Progress, are_files, file_source, files, is_database, with_texts

__all__ = ["FileSource", "Files", "Progress", "are_files", "file_source", "files", "is_database", "with_texts"]
