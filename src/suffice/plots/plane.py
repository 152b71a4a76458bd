"""A grid over two columns of a model, the other columns held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, listed
from ..sources import LocalSource, as_source
from ..table import ArrayColumn, Column, Frame, Matrix, Table
from .rows import codes, floats, labelled, names_of, places_of, whole

Array = NDArray[Any]

_POINTS = 300  # along each axis


@dataclass(frozen=True, eq=False)
class Plane:
    """Two columns of a table: a grid over them, and the rows that lie there."""

    names: tuple[str, str]
    x: Array  # (g,)
    y: Array  # (g,)
    points: Array  # (n, 2) rows; none where no labels are given
    code: Array  # (n,) their classes

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of the grid's cells."""
        (left, right), (bottom, top) = (_outer(self.x), _outer(self.y))
        return left, right, bottom, top


def over(estimator: Any, X: Any, y: Any, columns: Sequence[Any] | None, at: Any) -> tuple[Plane, Any]:
    """A plane over two columns of X, and the rows (g * g, d) of its grid, x running faster.

    Parameters
    ----------
    y : labels, the name of their column, or None for no points
    columns : names or positions of two columns; None where X has no more than two
    at : where the other columns are held: a dictionary by column, "mean", or None where there are none. Columns that a
        dictionary does not hold are held at their mean.
    """
    source, labels = (as_source(X), None) if y is None else labelled(X, y)
    if not isinstance(source, LocalSource):
        raise DataError(f"plots need the rows in memory; {type(source).__name__} streams them")
    table = whole(source)
    names = names_of(table)
    places = list(range(len(names))) if columns is None else places_of(columns, names)
    if len(set(places)) != 2:
        raise DataError(
            f"regions are drawn over two columns, but there are {len(set(places))}: name two of them as "
            f'columns=[...] and say where the others are held, as in at="mean"; there are {listed(names, 10)}'
        )
    rest = [j for j in range(len(names)) if j not in places]
    if rest and at is None:
        raise DataError(
            f'column {listed([names[j] for j in rest])} has to be held somewhere: pass at="mean", or a dictionary by '
            "column as at={...}"
        )
    points = floats(table, places)
    grid = [_range(points[:, i], names[j]) for i, j in enumerate(places)]
    held = dict(zip(places, (axis.ravel() for axis in np.meshgrid(*grid)), strict=True)) | _held(
        estimator, table, rest, at
    )
    code = np.empty(0, np.intp) if labels is None else codes(labels, estimator.classes_)
    kept = points[: len(code)]
    plane = Plane((names[places[0]], names[places[1]]), grid[0], grid[1], kept, code)
    return plane, _rows(table, held)


def _range(values: Array, name: str) -> Array:
    seen = values[np.isfinite(values)]
    if not len(seen):
        raise DataError(f"column {name!r} holds no finite number")
    margin = 0.08 * float(np.ptp(seen)) or 1.0
    return np.linspace(float(seen.min()) - margin, float(seen.max()) + margin, _POINTS)


def _outer(grid: Array) -> tuple[float, float]:
    half = (grid[1] - grid[0]) / 2
    return float(grid[0] - half), float(grid[-1] + half)


def _held(estimator: Any, table: Table, rest: Sequence[int], at: Any) -> dict[int, Array]:
    """Values of the other columns, one for all rows of the grid."""
    names = names_of(table)
    if not rest:
        return {}
    if not isinstance(at, Mapping) and at != "mean":
        raise DataError(f'at={at!r} is not known; pass "mean", or a dictionary by column')
    given = dict(zip(places_of(list(at), names), at.values(), strict=True)) if isinstance(at, Mapping) else {}
    schema = getattr(estimator, "schema_", None)
    unnumbered = [
        j for j in rest if j not in given and schema is not None and schema.families[j] in ("categorical", "bernoulli")
    ]
    if unnumbered:
        raise DataError(
            f"column {listed([names[j] for j in unnumbered])} has no mean; say where it is held, as in "
            f"at={{{names[unnumbered[0]]!r}: ...}}"
        )
    value = {j: given[j] if j in given else np.nanmean(floats(table, [j])) for j in rest}
    return {j: np.full(_POINTS * _POINTS, value[j], np.array(value[j]).dtype) for j in rest}


def _rows(table: Table, held: dict[int, Array]) -> Any:
    """Rows as the model was given them: an array, or columns with their names."""
    values = [held[j] for j in range(table.n_features)]
    if isinstance(table, Matrix) and table.names is None and table.values.dtype != object:
        return np.column_stack(values)
    parts: tuple[Column, ...] = tuple(ArrayColumn.of(column) for column in values)
    return Frame(parts, table.names, len(values[0]))
