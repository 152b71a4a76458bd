"""Rows by the pattern of their missing cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def patterns(missing: Array) -> Iterator[tuple[Array, Array]]:
    """Each distinct row (d,) of `missing` (n, d), and the indices of the rows that have it."""
    if not len(missing):
        return
    words = _words(missing[:, _any(missing)])  # other columns do not matter
    order = np.argsort(words, kind="stable")
    words = words[order]
    ends = np.flatnonzero(words[1:] != words[:-1]) + 1
    for rows in np.split(order, ends):
        yield missing[rows[0]], rows


def _any(missing: Array) -> Array:
    """Which columns have missing cells, (d,), from many rows at a time: short rows would be slow."""
    many = len(missing) // 64 * 64
    first = missing[:many].reshape(-1, 64 * missing.shape[1]).any(axis=0).reshape(64, -1).any(axis=0)
    return np.asarray(first | missing[many:].any(axis=0))


def _words(missing: Array) -> Array:
    """A word for each row, the same for the same cells; the shorter it is, the faster words are sorted."""
    if missing.shape[1] <= 16:
        words = np.zeros(len(missing), np.uint16)
        for column in missing.T:
            words = words << 1 | column
        return words
    bits = np.packbits(missing, axis=1)
    keys = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    keys[:, : bits.shape[1]] = bits
    return keys.view(np.uint64 if keys.shape[1] == 8 else f"V{keys.shape[1]}").reshape(-1)


def suspects(X: Array) -> Array:
    """The indices of the rows of X (n, d) that may hold NaN or infinity: all that do, and few others."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.flatnonzero(~np.isfinite(X @ np.ones(X.shape[1], X.dtype)))  # faster than to look at every cell
