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
    bits = np.packbits(missing[:, missing.any(axis=0)], axis=1)  # other columns do not matter
    width = 2 if bits.shape[1] <= 2 else -(-bits.shape[1] // 8) * 8  # whole words sort faster, and short ones fastest
    keys = np.zeros((len(bits), width), np.uint8)
    keys[:, : bits.shape[1]] = bits
    words = keys.view({2: np.uint16, 8: np.uint64}.get(width, f"V{width}")).reshape(-1)
    order = np.argsort(words, kind="stable")
    ends = np.flatnonzero(words[order][1:] != words[order][:-1]) + 1
    for rows in np.split(order, ends):
        yield missing[rows[0]], rows


def suspects(X: Array) -> Array:
    """The indices of the rows of X (n, d) that may hold NaN or infinity: all that do, and few others."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.flatnonzero(~np.isfinite(X @ np.ones(X.shape[1], X.dtype)))  # faster than to look at every cell
