"""The one pass over the data: where sources and statistics meet (and, for sources that sum themselves, `pushdown`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .checkpoint import Checkpoint, described
from .errors import DataError, MissingLabelsError, instead_of_infinity, listed, remedy
from .pushdown import aggregated
from .sources import Source
from .sources.labelled import refuse_missing_labels
from .stats import Statistics
from .stats.collectors import for_table
from .tables.batch import Batch
from .tables.table import Table

S = TypeVar("S", bound=Statistics)
Array = NDArray[Any]

_CELLS = 1 << 20  # that are looked at together


def collect(source: Source, of: Callable[[Batch], S], resumes: bool = True, n_rows: int | None = None) -> S:
    """The statistic of every row of a source; its checkpoint is used unless that is for another pass.

    `n_rows` is how many rows there will be where this statistic is one of several that are added.
    """
    try:
        statistics = _reduced(source, of, resumes, source.n_rows if n_rows is None else n_rows)
    except MissingLabelsError:  # one batch saw some; all of them are worth reporting
        refuse_missing_labels(source)
    if not statistics.weight.any():
        raise DataError("all weights are zero: there is nothing to learn from")
    if not statistics.is_finite():
        refuse_nonfinite(source)
        with np.errstate(over="ignore"):
            weight = float(statistics.weight.sum())
        refuse_large(source, weight)
    return statistics


def _reduced(source: Source, of: Callable[[Batch], S], resumes: bool, n_rows: int | None) -> S:
    """The statistic of every row; with a checkpoint, of the rows that it does not hold yet and what it holds."""
    if source.checkpoint is None or not resumes:
        statistics: S | None = aggregated(source, of)
        if statistics is None:
            statistics = source.reduce(for_table(of, n_rows, source.n_features), operator.add)
        return statistics
    with Checkpoint[S].open(source.checkpoint, {"statistic": described(of), **source.job()}) as run:
        return source.reduce(of, operator.add, run)


def _in_pieces(batch: Batch) -> Iterator[Array]:
    """The values of a batch, a few rows at a time: a sparse one would be large as a whole."""
    step = max(1, _CELLS // batch.table.n_features)
    return (_numbers(batch.rows(slice(i, i + step)).table) for i in range(0, max(len(batch), 1), step))


def _numbers(table: Table) -> Array:
    """The values of the columns that hold numbers, and zeros for all others."""
    try:
        return table.floats()
    except DataError:
        out = np.zeros((len(table), table.n_features))
        for j in range(table.n_features):
            with suppress(DataError):
                out[:, [j]] = table.take([j]).floats()
        return out


def refuse_large(source: Source, weight: float) -> None:
    """Raise an error that names the columns whose sums overflow, given the total weight of the rows."""

    def largest(batch: Batch) -> np.ndarray:
        found = [np.abs(X).max(axis=0, initial=0.0) for X in _in_pieces(batch)]
        return np.asarray(np.max(found, axis=0), np.float64)

    found = source.reduce(largest, np.maximum)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = (~np.isfinite(weight * found**2), ~np.isfinite(weight * found**4))
    names = source.names or range(len(found))
    columns = [name for name, is_large in zip(names, next(filter(np.any, powers), powers[0]), strict=True) if is_large]
    raise DataError(
        f"the values{f' of column {listed(columns)}' * bool(columns)} or their weights are too large: sums of squares "
        "(with Ledoit-Wolf shrinkage or a quadratic expansion, of fourth powers) overflow; rescale them"
    )


def refuse_nonfinite(source: Source) -> None:
    """Raise an error that names the columns with infinity, or else those with NaN, and counts them, if there are any.

    Called only when a result shows that there must be some: looking first would be a pass of its own.
    """
    refuse_cells(source, np.isinf, "infinity", instead_of_infinity())
    refuse_cells(
        source,
        np.isnan,
        "NaN",
        "remove these rows, impute the values first, or use a model that accepts missing values, such as "
        + remedy(
            'MixedClassifier, or GaussianClassifier without missing="error", predictive=True, ddof=1 and '
            'shrinkage="loo" or "ledoit_wolf"',
            "--model mixed, or --model gaussian without --set missing=error, predictive=true, ddof=1 and shrinkage=loo "
            "or ledoit_wolf",
        ),
    )


def count_cells(source: Source, is_bad: Callable[[Array], Array]) -> list[int]:
    """Return how many rows have bad cells, followed by how many such cells each column has."""

    def count(batch: Batch) -> np.ndarray:
        bad = (is_bad(X) for X in _in_pieces(batch))
        return np.asarray(np.sum([[cells.any(axis=1).sum(), *cells.sum(axis=0)] for cells in bad], axis=0))

    counts: list[int] = source.reduce(count, operator.add).tolist()
    return counts


def refuse_cells(source: Source, is_bad: Callable[[Array], Array], what: str, instead: str) -> None:
    """Raise an error that names the columns with bad cells and counts them, if there are any."""

    rows, *cells = count_cells(source, is_bad)
    if rows:
        names = source.names or range(len(cells))
        found = [f"{name!r} ({n})" for name, n in zip(names, cells, strict=True) if n]
        more = f" and {len(found) - 8} more" if len(found) > 8 else ""
        raise DataError(
            f"X contains {what} in {rows} row{'s' if rows > 1 else ''}, "
            f"in columns {', '.join(found[:8])}{more}; {instead}"
        )
