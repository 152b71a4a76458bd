"""Tables and queries of databases."""

from .source import SqlSource, is_sql, sql

__all__ = ["SqlSource", "is_sql", "sql"]
