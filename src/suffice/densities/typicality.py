"""Typicality where it has no closed form: how many of some draws are no more likely."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Density, patterns

Array = NDArray[Any]

_CELLS = 20_000_000  # drawn at most for each class
_DRAWS = 10_000


def drawn_typicality(density: Density, X: Any) -> Array:
    """The share of draws from each class that are no more likely than each row, (n, k).

    Rows with missing cells are compared with draws that miss the same.
    """
    scores, missing = density.marginal(X), density.missing(X)
    out = np.empty_like(scores)
    draws = int(np.clip(_CELLS // density.n_features, 200, _DRAWS))
    groups = list(patterns(missing)) if missing.any() else [(missing[:0].any(axis=0), slice(None))]
    for c in range(density.n_classes):
        alone = density.of_classes([c])
        drawn = alone.sample(np.zeros(draws, np.intp), np.random.default_rng(c))
        for pattern, rows in groups:
            hidden = density.hide(drawn, np.tile(pattern, (draws, 1))) if pattern.any() else drawn
            likely, own = np.sort(alone.marginal(hidden)[:, 0]), scores[rows, c]
            possible = np.isfinite(own)
            # Equal up to rounding is equal: the same row has the same typicality wherever it comes from.
            bound = np.where(possible, own + 1e-9 * (1 + np.abs(np.where(possible, own, 0.0))), -np.inf)
            out[rows, c] = np.where(possible, np.searchsorted(likely, bound, side="right"), 0)
    return out / draws
