"""Where rows come from: arrays, frames, files, databases, Dask and Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tables.subset import with_columns
from ..tables.table import Table
from .base import LocalSource, PartedSource, RowResults, Run, Source
from .cluster import ClusterSource
from .dask import dask_source, is_dask
from .files import are_files, file_source, with_texts, with_verbatim
from .frames.arrays import ArraySource, array_source
from .spark import SparkSource, is_spark
from .sql.source import SqlSource, is_sql

__all__ = [
    "ClusterSource",
    "LocalSource",
    "PartedSource",
    "RowResults",
    "Run",
    "Source",
    "as_source",
    "as_table",
    "in_memory",
    "with_texts",
    "with_verbatim",
]

# What X may be besides a table in memory: how it is recognised, and the source for it. A recogniser imports nothing.
_ENGINES: list[tuple[Callable[[Any], bool], Callable[..., Source]]] = [
    (are_files, file_source),
    (is_dask, dask_source),
    (is_spark, SparkSource),
    (is_sql, SqlSource),
]


def as_source(
    X: Any, y: Any = None, weight: Any = None, n_jobs: int | None = None, names: tuple[str, ...] | None = None
) -> Source:
    """Return the source for anything tabular; a source is returned unchanged.

    Parameters
    ----------
    y, weight : labels and weights, or the names of columns that hold them
    names : the feature columns that are wanted of what may hold more
    """
    if isinstance(X, Source):
        return X
    engines = () if type(X) is np.ndarray else _ENGINES
    engine = next((source for recognises, source in engines if recognises(X)), None)
    if engine is None:
        found: Source = array_source(with_columns(X, names, y, weight), y, weight)
    else:
        found = engine(X, y, weight, names)
    found.n_jobs = n_jobs
    return found


def in_memory(X: Any, y: Any = None, weight: Any = None, n_jobs: int | None = None) -> ArraySource:
    """Return a source with all rows in memory, for code that needs them in any order."""
    source = as_source(X, y, weight, n_jobs).in_memory().array_source()
    source.n_jobs = n_jobs
    return source


def as_table(X: Any) -> Table:
    """Any table with its columns as they are, in memory."""
    return in_memory(X).table
