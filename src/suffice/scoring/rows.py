"""Scores of the rows of a table, a few at a time, and errors that name rows without a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from ..collect import refuse_nonfinite
from ..densities.scorer import Scorer
from ..errors import DataError
from ..sources import Source
from ..tables.table import Table

Array = NDArray[Any]
_SCORES = 1 << 17  # scores held at a time by each thread, where they are not the result: in the cache
_CELLS = 1 << 22  # cells read at a time by each thread, where they have to be converted


def refuse_empty(source: Source) -> None:
    """Refuse a table in memory without rows; whether others have some shows when they are read."""
    if source.n_rows == 0:
        shape = (0, source.n_features)
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")


def in_steps(density: Scorer, table: Table, out: Array, work: Callable[[Any, Array], bool]) -> bool:
    """What `work(rows, out)` writes for the rows of a table, a few at a time; whether all could be scored."""
    step = max(1024, _SCORES // density.n_classes)  # scores of all classes may be as wide as the rows, or wider
    if not density.reads_sparse:
        step = min(step, max(1, _CELLS // density.n_read))
    rows = (slice(start, start + step) for start in range(0, len(table), step))
    finite = [work(density.read(table[part]), out[part]) for part in rows]  # every part is written
    return all(finite)


def refuse(source: Source) -> None:
    """Raise an error that names what could not be scored."""
    refuse_nonfinite(source)
    raise DataError("some values are too large to be scored; rescale the columns")
