"""The kernels in NumPy: short enough to be read as their definition.

Shapes: X (n, d) float32 or float64 with any strides; code (n,) int32 in [0, k); weight (n,) float64 or None for ones.
Rows are taken in blocks that fit the cache, and all sums are in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Moments = tuple[Array, Array, Array]


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(256, (1 << 17) // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _grouped(code: Array, weight: Array | None, k: int) -> tuple[Array, Array, Array, Array]:
    """Row order by class, the weights in it, the classes present and where each begins."""
    order = np.argsort(code, kind="stable")
    if weight is not None:
        order = order[weight[code.argsort(kind="stable")] != 0.0]
    sizes = np.bincount(code[order], minlength=k)
    present = np.flatnonzero(sizes)
    begins = (np.cumsum(sizes) - sizes)[present]
    return order, np.ones(len(order)) if weight is None else weight[order], present, begins


def _merge(n: Array, mean: Array, present: Array, n_new: Array, mean_new: Array) -> Array:
    """Chan's update of n and mean in place; returns delta * sqrt(n_a n_b / n), whose square goes to the scatter."""
    total = n[present] + n_new
    delta = mean_new - mean[present]
    root = np.sqrt(n[present] * n_new / total)
    mean[present] += delta * (n_new / total)[:, None]
    n[present] = total
    return np.asarray(delta * root[:, None])


def diag_moments(X: Array, code: Array, weight: Array | None, k: int) -> Moments:
    """Weight (k,), mean (k, d) and centred sum of squares (k, d) of every class."""
    d = X.shape[1]
    n, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    for rows in _blocks(len(X), d):
        order, w, present, begins = _grouped(code[rows], None if weight is None else weight[rows], k)
        if not len(present):
            continue
        x = X[rows][order].astype(np.float64, copy=False)
        sizes = np.diff(begins, append=len(order))
        n_new = np.add.reduceat(w, begins)
        mean_new = np.add.reduceat(x if weight is None else x * w[:, None], begins) / n_new[:, None]
        z = x - np.repeat(mean_new, sizes, axis=0)
        z *= z if weight is None else z * w[:, None]
        scatter[present] += np.add.reduceat(z, begins)
        scatter[present] += _merge(n, mean, present, n_new, mean_new) ** 2
    return n, mean, scatter


def full_moments(X: Array, code: Array, weight: Array | None, k: int, pooled: bool) -> Moments:
    """Weight (k,), mean (k, d) and scatter matrices (k, d, d), or their sum (d, d) where `pooled`."""
    d = X.shape[1]
    n, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((d, d) if pooled else (k, d, d))
    for rows in _blocks(len(X), d):
        order, w, present, begins = _grouped(code[rows], None if weight is None else weight[rows], k)
        if not len(present):
            continue
        z = X[rows][order].astype(np.float64, copy=False)
        sizes = np.diff(begins, append=len(order))
        n_new = np.add.reduceat(w, begins)
        mean_new = np.add.reduceat(z if weight is None else z * w[:, None], begins) / n_new[:, None]
        z = z - np.repeat(mean_new, sizes, axis=0)
        if weight is not None:
            z *= np.sqrt(w)[:, None]
        shift = _merge(n, mean, present, n_new, mean_new)
        if pooled:
            scatter += z.T @ z + shift.T @ shift
        else:
            for c, first, size, s in zip(present, begins, sizes, shift, strict=True):
                zc = z[first : first + size]
                scatter[c] += zc.T @ zc + np.outer(s, s)
    return n, mean, scatter


def reduce_scores(scores: Array, rows: slice, all: Array | None, best: Array | None, evidence: Array | None) -> None:
    if all is not None:
        all[rows] = scores
    if best is not None:
        best[rows] = scores.argmax(axis=1)
    if evidence is not None:
        top = scores.max(axis=1)
        finite = np.where(np.isneginf(top), 0.0, top)
        with np.errstate(divide="ignore"):
            evidence[rows] = finite + np.log(np.exp(scores - finite[:, None]).sum(axis=1))


_MAX = np.finfo(np.float64).max


def _clamp(values: Array) -> Array:
    return np.nan_to_num(values, copy=False, nan=_MAX, posinf=_MAX, neginf=-_MAX)


def diag_scores(
    X: Array, mean: Array, scale: Array, constant: Array,
    all: Array | None, best: Array | None, evidence: Array | None,
) -> bool:
    """Scores constant - 1/2 sum_j (scale (x - mean))^2 to where they are wanted; returns whether X is finite."""
    finite = True
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(len(X), X.shape[1]):
            x = X[rows].astype(np.float64, copy=False)
            finite &= bool(np.isfinite(x).all())
            q = np.empty((len(x), len(mean)))
            z = np.empty_like(x)
            for c, (m, s) in enumerate(zip(mean, scale, strict=True)):
                np.subtract(x, m, out=z)
                np.multiply(z, s, out=z)
                np.einsum("ij,ij->i", z, z, out=q[:, c])
            reduce_scores(constant - 0.5 * _clamp(q), rows, all, best, evidence)
    return finite


def full_scores(
    X: Array, mean: Array, whitening: Array, constant: Array,
    all: Array | None, best: Array | None, evidence: Array | None,
) -> bool:
    """Scores constant - 1/2 |whitening (x - mean)|^2; whitening (k, d, d) is lower triangular."""
    finite = True
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(len(X), X.shape[1]):
            x = X[rows].astype(np.float64, copy=False)
            finite &= bool(np.isfinite(x).all())
            q = np.empty((len(x), len(mean)))
            for c, (m, w) in enumerate(zip(mean, whitening, strict=True)):
                z = (x - m) @ w.T
                np.einsum("ij,ij->i", z, z, out=q[:, c])
            reduce_scores(constant - 0.5 * _clamp(q), rows, all, best, evidence)
    return finite


def linear_scores(
    X: Array, center: Array, slope: Array, constant: Array,
    all: Array | None, best: Array | None, evidence: Array | None,
) -> bool:
    """Scores constant + slope (x - center); slope (k, d)."""
    finite = True
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(len(X), X.shape[1]):
            x = X[rows].astype(np.float64, copy=False)
            finite &= bool(np.isfinite(x).all())
            reduce_scores(constant + _clamp((x - center) @ slope.T), rows, all, best, evidence)
    return finite


def encode(y: Array) -> tuple[Array, Array]:
    """The distinct values of y in any order, and each row's index (int32) among them."""
    if y.dtype == object:
        items = y.tolist()
        index = {item: i for i, item in enumerate(dict.fromkeys(items))}
        distinct = np.empty(len(index), object)
        distinct[:] = list(index)
        return distinct, np.fromiter(map(index.__getitem__, items), np.int32, len(items))
    distinct, code = np.unique(y, return_inverse=True)
    return distinct, code.astype(np.int32)
