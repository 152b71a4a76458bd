"""A grid over two columns of a model, with the other columns held at fixed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, listed
from ..families import FAMILIES
from ..schema import DROP
from ..sources import LocalSource
from ..tables.table import ArrayColumn, Column, Frame, Matrix, Table
from .rows import codes, floats, indices_of, labelled, local, names_of, whole

Array = NDArray[Any]

_POINTS = 300  # along each axis
_SAID = 6  # held columns that the caption names
_LETTERS = 72  # width of the caption


@dataclass(frozen=True, eq=False)
class Plane:
    """Two columns of a table: a grid over them, and the rows that lie there."""

    names: tuple[str, str]
    x: Array  # (g,)
    y: Array  # (g,)
    points: Array  # (n, 2) rows; empty without labels
    code: Array  # (n,) their classes
    held: dict[str, Any]  # fixed values of the other columns that the model uses

    @property
    def caption(self) -> str:
        """The fixed values of the other columns."""
        said = [f"{name} {_said(value)}" for name, value in islice(self.held.items(), _SAID)]
        more = [f"{len(self.held) - _SAID} more held"] if len(self.held) > _SAID else []
        unbroken = [part.replace(" ", "\N{NO-BREAK SPACE}") for part in said + more]
        return fill(", ".join(unbroken), _LETTERS).replace("\N{NO-BREAK SPACE}", " ")

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of the grid's cells."""
        (left, right), (bottom, top) = (_outer(self.x), _outer(self.y))
        return left, right, bottom, top


def over(estimator: Any, X: Any, y: Any, columns: Sequence[Any] | None, at: Any) -> tuple[Plane, Any]:
    """Return a plane over two columns of X, and the rows (g * g, d) of its grid, with x running faster.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier.
    X : table of shape (n, d)
        The rows; they set the range of the grid.
    y : array-like of shape (n,), str or None
        Labels, the name of their column, or None for no points.
    columns : list of str or int, or None
        Names or indices of two columns. None if X has only two.
    at : dict, "mean" or None
        Fixed values of the other columns. Columns that a dictionary does not name are held at their mean.
    """
    source, labels = (local(estimator, X), None) if y is None else labelled(estimator, X, y)
    table = whole(source)
    names = names_of(table)
    indices = list(range(len(names))) if columns is None else indices_of(columns, names)
    if len(set(indices)) != 2:
        raise DataError(
            f"this plot shows two columns, got {len(set(indices))}; choose two with columns=[...] and hold the others "
            f'at fixed values, as in at="mean"; the columns are {listed(names, 10)}'
        )
    rest = [j for j in range(len(names)) if j not in indices]
    if rest and at is None:
        raise DataError(
            f'column {listed([names[j] for j in rest])} must be held at a fixed value: pass at="mean", or a dictionary '
            "by column, at={...}"
        )
    points = floats(table, indices)
    grid = [_range(points[:, i], names[j]) for i, j in enumerate(indices)]
    cells = dict(zip(indices, (axis.ravel() for axis in np.meshgrid(*grid)), strict=True))
    held = _held(estimator, table, rest, at)
    # Columns that the model does not use can have any value.
    cells |= {j: np.full(_POINTS * _POINTS, held.get(j, np.nan)) for j in rest}
    code = np.empty(0, np.intp) if labels is None else codes(labels, estimator.classes_)
    shown = names[indices[0]], names[indices[1]]
    plane = Plane(shown, grid[0], grid[1], points[: len(code)], code, {names[j]: v for j, v in held.items()})
    return plane, _rows(estimator, source, [cells[j] for j in range(len(names))])


def _range(values: Array, name: str) -> Array:
    seen = _finite(values, name)
    margin = 0.08 * float(np.ptp(seen)) or 1.0
    return np.linspace(float(seen.min()) - margin, float(seen.max()) + margin, _POINTS)


def _finite(values: Array, name: str) -> Array:
    seen = values[np.isfinite(values)]
    if not len(seen):
        raise DataError(f"column {name!r} has no finite values")
    return seen


def _outer(grid: Array) -> tuple[float, float]:
    half = (grid[1] - grid[0]) / 2
    return float(grid[0] - half), float(grid[-1] + half)


def _held(estimator: Any, table: Table, rest: Sequence[int], at: Any) -> dict[int, Any]:
    """Return the fixed values of the other columns, without those that the model drops."""
    names = names_of(table)
    if not rest:
        return {}
    if not isinstance(at, Mapping) and at != "mean":
        raise DataError(f'at={at!r} is not known; pass "mean", or a dictionary by column')
    given = dict(zip(indices_of(list(at), names), at.values(), strict=True)) if isinstance(at, Mapping) else {}
    schema = getattr(estimator, "schema_", None)
    used = [j for j in rest if schema is None or schema.families[j] != DROP]
    own = {} if schema is None else {j: FAMILIES.get(schema.families[j]) for j in used}  # None: a feature of numbers
    unnumbered = [j for j, family in own.items() if j not in given and family is not None and not family.has_mean]
    if unnumbered:
        raise DataError(
            f"column {listed([names[j] for j in unnumbered])} has no mean; give a value, as in "
            f"at={{{names[unnumbered[0]]!r}: ...}}"
        )

    return {
        j: given[j] if j in given else float(_finite(floats(table, [j]), names[j]).mean())
        for j in rest
        if j in given or j in used
    }


def _said(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"= {value:.4g}" if isinstance(value, float) else f"= {value}"


def _rows(estimator: Any, source: LocalSource, columns: list[Array]) -> Any:
    """Return rows in the form that the model expects: an array, or columns with their names."""
    table = whole(source)
    if isinstance(table, Matrix) and table.names is None and table.values.dtype != object:
        return np.column_stack(columns)
    if table.names is not None and not hasattr(estimator, "llr"):  # a classifier of another library
        return type(source.frame)(dict(zip(table.names, columns, strict=True)))
    parts: tuple[Column, ...] = tuple(ArrayColumn.of(column) for column in columns)
    return Frame(parts, table.names, len(columns[0]))
