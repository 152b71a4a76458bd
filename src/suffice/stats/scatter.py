"""Scatter matrices in every layout: sums of centred squares and products, added and cleaned of rounding errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, PrecisionWarning, StatisticsError, listed, warn

Array = NDArray[Any]

LAYOUTS = ("diag", "pooled", "full", "quartic", "coquartic")
"""What is kept of the second moments: variances alone, the scatter summed over classes, every class's scatter, or
that and the third and fourth moments that Ledoit and Wolf's shrinkage needs: of whole rows, or of each two columns,
which can be brought to other units. Each later one but "pooled" holds all that "diag" holds, and "full" holds
"pooled" too."""

HIGHER = ("quartic", "coquartic")
"""Those with third and fourth moments."""

_CACHED = 1 << 15  # numbers at a time, so that they stay in the cache
_EPS = float(np.finfo(np.float64).eps)
_LOST = 1e-10  # less than this share of what was there has few digits left


def shape_of(layout: str, k: int, d: int) -> tuple[int, ...]:
    """The shape of the scatters of k classes and d columns."""
    return {"diag": (k, d), "pooled": (d, d)}.get(layout, (k, d, d))


def all_finite(array: Array) -> bool:
    """Whether no number is NaN or infinite."""
    # A sum of squares is finite only if its terms are; most arrays need not be looked at twice. BLAS is not used, since
    # its threads would go on waiting for work.
    flat = array.ravel()
    return math.isfinite(np.einsum("i,i->", flat, flat)) or bool(np.isfinite(array).all())


def refuse_overflow(names: Sequence[Any] | None, *of_columns: Array) -> None:
    """Raise a DataError that names the columns (last axis) whose means, variances or covariances are not finite."""
    if all(map(all_finite, of_columns)):
        return
    bad = np.logical_or.reduce([~np.isfinite(array).all(axis=tuple(range(array.ndim - 1))) for array in of_columns])
    columns = [name for name, is_bad in zip(names or range(len(bad)), bad, strict=True) if is_bad]
    raise DataError(
        f"the mean or the variance of {listed(columns)} is not finite: the values or their weights are too large or "
        "too close to zero; rescale them"
    )


def diagonal(scatter: Array, layout: str) -> Array:
    """The sums of squares of the columns, (k, d), or (d,) in the pooled layout."""
    return scatter if layout == "diag" else np.einsum("...ii->...i", scatter)


def add_outer(scatter: Array, layout: str, left: Array, right: Array) -> None:
    """Add left right' class by class, in place, for vectors (k, d).

    No BLAS: its own threads would get in the way of those that merge.
    """
    if layout in ("diag", "pooled"):
        scatter += np.einsum("ki,ki->ki" if layout == "diag" else "ki,kj->ij", left, right)
        return
    for some in _blocks(*left.shape):
        scatter[some] += left[some][..., None] * right[some[0], None]


def total(scatters: Sequence[Array], layout: str, steps: Sequence[Array]) -> Array:
    """The sum of scatters and of the outer products of steps (k, d). Large ones are written once, a block at a time."""
    if layout in ("diag", "pooled"):
        scatter = np.asarray(sum(scatters[1:], start=scatters[0]))
        for step in steps:
            add_outer(scatter, layout, step, step)
        return scatter
    scatter = np.empty_like(scatters[0])
    for some in _blocks(*scatter.shape[:2]):
        block = sum((part[some] for part in scatters[1:]), start=scatters[0][some])
        for step in steps:
            block += step[some][..., None] * step[some[0], None]
        scatter[some] = block
    return scatter


def clean(scatter: Array, layout: str, n: Array, before: Array, rounding: Array, impossible: str) -> None:
    """Set entries that are only rounding errors of a subtraction to zero, in place; warn where digits may be lost.

    Parameters
    ----------
    scatter : array
        The difference.
    layout : str
        Its layout.
    n : array (k, d), or (k, 1) where no cell is missing
        The weight that is left of each column.
    before : array
        What was subtracted from, in the shape of the scatter.
    rounding : array (k, d)
        How far below zero rounding of the means may bring a sum of squares.
    impossible : str
        What the error says where a sum of squares is negative by more than that.
    """
    gone = n == 0
    if layout == "diag":
        scatter[np.broadcast_to(gone, scatter.shape)] = 0.0
    elif layout != "pooled":
        scatter[gone[:, 0]] = 0.0
    elif gone.all():
        scatter[:] = 0.0
    squares, earlier = diagonal(scatter, layout), diagonal(before, layout)
    below = rounding.sum(axis=0) if layout == "pooled" else rounding
    if (squares < -1e-6 * earlier - below).any():
        raise StatisticsError(impossible)
    several = (n > 1).any() if layout == "pooled" else n > 1  # one row has no variance: what is left is rounding
    noise = squares < np.where(several, 8 * _EPS, _LOST) * earlier
    lost = (squares < _LOST * earlier) & (earlier > 0) & several
    if lost.any():
        columns = np.flatnonzero(lost.reshape(-1, lost.shape[-1]).any(axis=0))
        warn(
            f"column {listed(columns)} has almost no variance left, and its digits may be lost to rounding; "
            "if it varies in the remaining rows, fit these again",
            PrecisionWarning,
        )
    if layout == "diag":
        scatter[noise] = 0.0
    else:
        scatter *= ~noise[..., :, None] & ~noise[..., None, :]


def _blocks(k: int, d: int) -> Iterator[tuple[slice, slice]]:
    """The classes and rows of k matrices (d, d), as many at a time as stay in the cache."""
    classes, rows = max(1, _CACHED // d**2), max(1, _CACHED // d)
    for c, i in product(range(0, k, classes), range(0, d, rows)):
        yield slice(c, c + classes), slice(i, i + rows)
