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
        part = Wanted(*(None if out is None else np.empty((len(rows), *out.shape[1:]), out.dtype) for out in wanted))
        if pattern.all():  # it says nothing of the class
            scores = np.where(density.seen, 0.0, -np.inf) + offset
            kernels.active.reduce(np.tile(scores, (len(rows), 1)), *part)
        else:
            observed = np.take(np.take(x, rows, axis=0), np.flatnonzero(~pattern), axis=1)
            density.of_features(~pattern).score(observed, offset, **part._asdict(), relative=relative)
        for out, scored in zip(wanted, part, strict=True):
            if out is not None and scored is not None:
                out[own] = scored
    return True


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
