"""The loop over rows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..collect import refuse_nonfinite
from ..densities.scorer import Scorer
from ..errors import DataError
from ..sources import ClusterSource, LocalSource, RowResults, Source
from ..tables.batch import Batch
from ..tables.table import Table

Array = NDArray[Any]
_SCORES = 1 << 17  # scores held at a time by each thread, where they are not the result: in the cache
_CELLS = 1 << 22  # cells read at a time by each thread, where they have to be converted


def refuse_empty(source: Source) -> None:
    """Refuse a table in memory without rows; whether others have some shows when they are read."""
    if isinstance(source, LocalSource) and source.n_rows == 0:
        shape = (0, source.n_features)
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")


def row_by_row(
    source: Source,
    results: RowResults,
    write: Callable[[Batch, Array], bool],
    refuse: Callable[[Source], object],
) -> Any:
    """One row of results for each row of a source, lazily where the rows lie on a cluster; what `write(batch, out)` is
    not true for is refused."""
    if isinstance(source, ClusterSource):
        return source.map_rows(lambda part: row_by_row(part, results, write, refuse), results)
    if isinstance(source, LocalSource):
        whole = results.empty(source.n_rows)
        fine = source.reduce(lambda b: write(b, whole[b.start : b.start + len(b)]), operator.and_)
    else:
        whole, fine = _gathered(source, results, write)
    if not fine:
        refuse(source)
    return whole


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


def _gathered(source: Source, results: RowResults, write: Callable[[Batch, Array], bool]) -> tuple[Array, bool]:
    def part(batch: Batch) -> tuple[list[Array], bool]:
        out = results.empty(len(batch))
        return [out], write(batch, out)

    def merge(a: tuple[list[Array], bool], b: tuple[list[Array], bool]) -> tuple[list[Array], bool]:
        a[0].extend(b[0])
        return a[0], a[1] and b[1]

    parts, fine = source.reduce(part, merge)
    return np.concatenate(parts), fine
