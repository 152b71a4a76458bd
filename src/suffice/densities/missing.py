"""Rows of numbers with missing cells: what their observed cells say, pattern by pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..tables.missing import patterns, suspects
from .scorer import Wanted

Array = NDArray[Any]

_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


def score_incomplete(density: Any, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
    """Score the rows with missing cells by their observed cells, where all other rows are scored already.

    Returns False if a cell is infinite.
    """
    some = suspects(X)
    x = np.take(X, some, axis=0)
    if np.isinf(x).any():
        return False
    for pattern, rows in patterns(np.isnan(x)):
        if not pattern.any():
            continue
        own = some[rows]
        part = _room(len(rows), wanted)
        if pattern.all():  # it says nothing of the class
            scores = np.where(density.seen, 0.0, -np.inf) + offset
            kernels.active.reduce(np.tile(scores, (len(rows), 1)), *part)
        else:
            observed = np.take(np.take(x, rows, axis=0), np.flatnonzero(~pattern), axis=1)
            density.of_features(~pattern).score(observed, offset, **part._asdict(), relative=relative)
        _write(part, own, wanted)
    return True


def score_cells(mean: Array, scale: Array, seen: Array, X: Array, offset: Array | float, wanted: Wanted) -> bool:
    """As `score_incomplete`, for Gaussian columns that are independent given the class: what the observed cells say is
    a sum, whatever the pattern. Means and scales, 1 / standard deviation, have shape (k, d)."""
    some = suspects(X)
    x = np.take(X, some, axis=0)
    if np.isinf(x).any():
        return False
    known, scores = ~np.isnan(x), np.full((len(some), len(mean)), -np.inf)
    for c in np.flatnonzero(seen):
        with np.errstate(over="ignore"):
            away = np.where(known, (x - mean[c]) * scale[c], 0.0)
            distance = np.minimum(np.einsum("nd,nd->n", away, away), np.finfo(np.float64).max)
        scores[:, c] = known @ (np.log(scale[c]) - _HALF_LOG_2PI) - 0.5 * distance
    part = _room(len(some), wanted)
    kernels.active.reduce(scores + offset, *part)
    _write(part, some, wanted)
    return True


def _room(n: int, wanted: Wanted) -> Wanted:
    """Arrays for the results of n rows."""
    return Wanted(*(None if out is None else np.empty((n, *out.shape[1:]), out.dtype) for out in wanted))


def _write(part: Wanted, rows: Array, wanted: Wanted) -> None:
    for out, scored in zip(wanted, part, strict=True):
        if out is not None and scored is not None:
            out[rows] = scored


def by_pattern(density: Any, X: Array, of: Callable[[Any, Array], Array], out: Array) -> Array:
    """Write ``of(density, rows)`` to `out`, for rows that miss no columns of their density.

    `out` has shape (n, d), or another one with a first axis of n; rows whose cells are all missing stay as they are.
    """
    for pattern, rows in patterns(np.isnan(X)):
        if not pattern.all():
            own = density.of_features(~pattern) if pattern.any() else density
            cells: Any = np.ix_(rows, ~pattern)
            out[cells if out.shape == X.shape else rows] = of(own, X[cells])
    return out


def conditional_draw(density: Any, X: Array, code: Array, rng: np.random.Generator) -> Array:
    """X with each missing cell replaced by a draw from a class, given the observed cells of the row."""
    filled = np.array(X, dtype=np.float64)
    for pattern, rows in patterns(np.isnan(filled)):
        if pattern.any():
            for c in np.unique(code[rows]):
                own = rows[code[rows] == c]
                filled[np.ix_(own, pattern)] = density.draw_conditional(filled[own], c, pattern, rng)
    return filled


def conditional_fill(density: Any, X: Array, posterior: Array) -> Array:
    """X with each missing cell replaced by its expectation, given the observed cells of the row."""
    filled = np.array(X, dtype=np.float64)
    for pattern, rows in patterns(np.isnan(filled)):
        if not pattern.any():
            continue
        expected = np.zeros((len(rows), int(pattern.sum())))
        for c in np.flatnonzero(density.seen):
            expected += posterior[rows, c, None] * density.conditional(filled[rows], c, pattern)
        filled[np.ix_(rows, pattern)] = expected
    return filled
