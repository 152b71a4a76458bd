"""The one loop over rows: read, score a few at a time, and refuse what cannot be scored."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..densities.scorer import Scorer
from ..errors import DataError, SufficeError
from ..sources import RowResults, Run, Source
from ..sources.base import ColumnsSource
from ..tables.batch import Batch
from ..tables.table import Table
from .reading import Reading

Array = NDArray[Any]
T = TypeVar("T")
_SCORES = 1 << 17  # scores held at a time by each thread, where they are not the result: in the cache
_CELLS = 1 << 22  # cells read at a time by each thread, where they have to be converted


def refuse_empty(source: Source) -> None:
    """Refuse a table in memory without rows; whether others have some shows when they are read."""
    if source.n_rows == 0:
        shape = (0, source.n_features)
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")


def in_steps(
    density: Scorer, read: Callable[[Table], Any], table: Table, out: Array, work: Callable[[Any, Array], bool]
) -> bool:
    """What `work(read(rows), out)` writes for the rows of a table, a few at a time; whether all could be scored."""
    step = max(1024, _SCORES // density.n_classes)  # scores of all classes may be as wide as the rows, or wider
    if not density.reads_sparse:
        step = min(step, max(1, _CELLS // density.n_read))
    if len(table) <= step:  # nothing has to be cut off
        return _worked(read, table, out, work)
    rows = (slice(start, start + step) for start in range(0, len(table), step))
    finite = [_worked(read, table[part], out[part], work) for part in rows]  # every part is written
    return all(finite)


def _worked(read: Callable[[Table], Any], table: Table, out: Array, work: Callable[[Any, Array], bool]) -> bool:
    """What `work(read(table), out)` writes; where this fails, and infinity is a missing value, again without it."""
    if not (isinstance(read, Reading) and read.takes_infinity):
        return work(read(table), out)
    table = read.looked_through(table)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of infinity
            if work(read.read(table), out):
                return True
    except DataError:
        if (finite := read.finite(table)) is None:
            raise
    else:
        if (finite := read.finite(table)) is None:
            return False
    return work(read.read(finite), out)


def refuse(source: Source) -> None:
    """Raise an error that names what could not be scored."""
    from ..collect import refuse_nonfinite  # here, since scoring needs nothing else of it

    refuse_nonfinite(source)
    raise DataError("some values are too large to be scored; rescale the columns")


def score_rows(
    source: Source,
    density: Scorer,
    work: Callable[[Any, Array], bool],
    results: RowResults,
    takes_infinity: bool = False,
    looks: bool = False,
) -> Any:
    """One row of results for each row of a source, in a table or column of its own kind.

    Parameters
    ----------
    source : Source
        The rows.
    density : Scorer
        Reads them.
    work : callable
        ``work(x, out)`` writes the results of some rows, and returns whether all of them could be scored.
    results : RowResults
        What the results are.
    takes_infinity, looks : bool
        As in `Reading`; to look is needed where work does not refuse infinity.
    """
    reading = Reading(density, source.names, source.decimal, takes_infinity, looks)
    found = source.map_rows(lambda batch, out: in_steps(density, reading, batch.table, out, work), results, refuse)
    reading.warn()
    return found


class _UnscorableError(SufficeError):
    """Some rows cannot be scored; another pass finds out which ones."""


def reduce_scores(
    source: Source,
    density: Scorer,
    of: Callable[[Batch, Array], T],
    merge: Callable[[T, T], T],
    *,
    features: ColumnsSource | None = None,
    relative: bool = True,
    run: Run[T] | None = None,
    strict: bool = False,
    takes_infinity: bool = False,
) -> T:
    """Merge ``of(batch, scores)`` over the batches of a source, in the order of its rows.

    Parameters
    ----------
    source, density : Source, Scorer
        The rows, and what scores them.
    of : callable
        From a batch and its scores (n, k).
    merge : callable
        Merges two results.
    features : ColumnsSource or None
        Those columns of the source that the density reads, where there are more.
    relative : bool
        Whether scores may leave out terms that all classes share.
    run : Run or None
        What results are merged into.
    strict : bool
        Whether cells that cannot be read are an error, rather than missing values with a warning.
    takes_infinity : bool
        As in `Reading`.
    """
    own = source if features is None else features

    def table_of(batch: Batch) -> Table:
        return batch.table if features is None else features.of(batch.table)

    reading = Reading(density, own.names, own.decimal, takes_infinity and not strict)

    def scored(batch: Batch) -> T:
        scores = np.empty((len(batch), density.n_classes))
        if not in_steps(
            density, reading, table_of(batch), scores, lambda x, out: density.score(x, all=out, relative=relative)
        ):
            raise _UnscorableError
        return of(batch, scores)

    try:
        found = source.reduce(scored, merge, run)
    except _UnscorableError:
        refuse(own)
        raise
    if strict:
        _refuse_words(source, reading, table_of)
    reading.warn()
    return found


def _refuse_words(source: Source, reading: Reading, table_of: Callable[[Batch], Table]) -> None:
    """Raise an error if some cells could not be read; it names the column and the first such row."""
    column, message = next(iter(reading.messages().items()), (None, ""))
    if column is None:
        return

    def of(batch: Batch) -> list[tuple[int, Array]]:
        return [(len(batch), reading.lost(table_of(batch), column))]

    parts = source.reduce(of, operator.add)
    starts = np.cumsum([0, *(n for n, _ in parts)])
    row = next(start + rows[0] for start, (_, rows) in zip(starts, parts, strict=False) if len(rows))
    raise DataError(f"{message}, first in row {row}, counted from 0; leave cells empty that are missing")
