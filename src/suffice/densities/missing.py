"""What the observed columns say, from the conditional distributions of the missing ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import patterns

Array = NDArray[Any]


def conditional_marginal(density: Any, X: Array) -> Array:
    """log p(observed | class), (n, k), from the conditionals of each pattern of missing cells."""
    out = np.full((len(X), density.n_classes), -np.inf)
    for missing, rows in patterns(np.isnan(X)):
        for c in np.flatnonzero(density.seen):
            out[rows, c] = density.conditional(X[rows], c, missing)[0]
    return out


def conditional_fill(density: Any, X: Array, posterior: Array) -> Array:
    """X with each NaN replaced by its expectation, from the conditionals of each pattern of missing cells."""
    filled = np.array(X, dtype=np.float64)
    for missing, rows in patterns(np.isnan(filled)):
        if not missing.any():
            continue
        expected = np.zeros((len(rows), int(missing.sum())))
        for c in np.flatnonzero(density.seen):
            expected += posterior[rows, c, None] * density.conditional(filled[rows], c, missing)[1]
        filled[np.ix_(rows, missing)] = expected
    return filled
