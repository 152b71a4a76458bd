"""Where rows come from. Every source reduces; none knows what for."""

from __future__ import annotations

from typing import Any

from ..table import Table
from .arrays import array_source
from .base import LocalSource, Source

__all__ = ["LocalSource", "Source", "as_source", "as_table"]


def as_source(X: Any, y: Any = None, weight: Any = None, n_jobs: int | None = None) -> Source:
    """The source for anything tabular; a source is returned as it is."""
    if isinstance(X, Source):
        return X
    source = array_source(X, y, weight)
    source.n_jobs = n_jobs
    return source


def as_table(X: Any) -> Table:
    """Any table in memory with its columns as they are."""
    return array_source(X).table
