"""The kernels in NumPy: short enough to be read as their definition.

Shapes: X (n, d) float32 or float64 with any strides; code (n,) int32 in [0, k); weight (n,) float64 or None for ones.
Rows are taken in blocks that fit the cache, and all sums are in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Moments = tuple[Array, Array, Array]


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(256, (1 << 17) // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


class _Groups:
    """The rows of a block, class by class."""

    def __init__(self, code: Array, weight: Array | None, k: int) -> None:
        from scipy.sparse import csr_array

        self.code = code
        self.order = np.argsort(code, kind="stable")
        sizes = np.bincount(code, minlength=k)
        self.ends = np.cumsum(sizes)
        ones = np.ones(len(code)) if weight is None else weight[self.order]
        starts = np.concatenate([[0], self.ends])
        self.membership = csr_array((ones, self.order, starts), shape=(k, len(code)))
        self.weight = self.sum(np.ones((len(code), 1)))[:, 0]

    def sum(self, x: Array) -> Array:
        """Weighted sums over the rows of each class, (k, d)."""
        return np.asarray(self.membership @ x)

    def centred(self, x: Array) -> tuple[Array, Array]:
        """Class means (k, d), and each row's deviation from the mean of its class."""
        mean = self.sum(x) / np.where(self.weight > 0, self.weight, 1.0)[:, None]
        return mean, x - mean[self.code]


def _merge(n: Array, mean: Array, n_new: Array, mean_new: Array) -> Array:
    """Chan's update of n and mean in place; returns delta * sqrt(n_a n_b / n), whose square goes to the scatter."""
    total = n + n_new
    share = np.divide(n_new, total, out=np.zeros_like(total), where=total > 0)
    delta = mean_new - mean
    step = delta * np.sqrt(n * share)[:, None]
    mean += delta * share[:, None]
    n[:] = total
    return np.asarray(step)


def diag_moments(X: Array, code: Array, weight: Array | None, k: int) -> Moments:
    """Weight (k,), mean (k, d) and centred sum of squares (k, d) of every class."""
    d = X.shape[1]
    n, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(len(X), d):
            groups = _Groups(code[rows], None if weight is None else weight[rows], k)
            mean_new, z = groups.centred(X[rows].astype(np.float64, copy=False))
            np.multiply(z, z, out=z)
            scatter += groups.sum(z)
            scatter += _merge(n, mean, groups.weight, mean_new) ** 2
    return n, mean, scatter


def full_moments(X: Array, code: Array, weight: Array | None, k: int, pooled: bool) -> Moments:
    """Weight (k,), mean (k, d) and scatter matrices (k, d, d), or their sum (d, d) where `pooled`."""
    d = X.shape[1]
    n, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((d, d) if pooled else (k, d, d))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(len(X), d):
            groups = _Groups(code[rows], None if weight is None else weight[rows], k)
            mean_new, z = groups.centred(X[rows].astype(np.float64, copy=False))
            if weight is not None:
                z *= np.sqrt(weight[rows])[:, None]
            step = _merge(n, mean, groups.weight, mean_new)
            if pooled:
                scatter += z.T @ z + step.T @ step
                continue
            z, start = z[groups.order], 0
            for c, end in enumerate(groups.ends):
                scatter[c] += z[start:end].T @ z[start:end] + np.outer(step[c], step[c])
                start = end
    return n, mean, scatter


def reduce_scores(scores: Array, rows: slice, all: Array | None, best: Array | None, evidence: Array | None) -> None:
    """Write scores (k, n) of some rows, their arg max and their log-sum-exp, where they are wanted."""
    if all is not None:
        all[rows] = scores.T
    if best is not None:
        top, place = scores[0].copy(), np.zeros(scores.shape[1], np.int64)
        for c in range(1, len(scores)):
            np.copyto(place, c, where=scores[c] > top)
            np.maximum(top, scores[c], out=top)
        best[rows] = place
    if evidence is not None:
        top = scores.max(axis=0)
        finite = np.where(np.isneginf(top), 0.0, top)
        with np.errstate(divide="ignore"):
            evidence[rows] = finite + np.log(np.exp(scores - finite).sum(axis=0))


_MAX = np.finfo(np.float64).max


def _minus(x: Array, row: Array) -> Array:
    """x - row. Narrow rows are taken 64 at a time, which spares NumPy most of its inner loops."""
    n, d = x.shape
    if n % 64 or d > 64 or not x.flags.c_contiguous:
        return np.asarray(x - row)
    return np.asarray((x.reshape(n // 64, 64 * d) - np.tile(row, 64)).reshape(n, d))


def _score(
    X: Array,
    raw: Callable[[Array], Array],
    constant: Array,
    all: Array | None,
    best: Array | None,
    evidence: Array | None,
) -> bool:
    """Reduce constant + raw(x) (k, n) block by block; returns whether X is finite."""
    finite = True
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(len(X), X.shape[1]):
            x = X[rows].astype(np.float64, copy=False)
            scores = raw(x)
            if not np.isfinite(scores.sum()):  # so are its terms, and what went into them, unless there was overflow
                finite &= bool(np.isfinite(x).all())
                # Finite stand-ins for sums that overflow, so that far outliers keep finite scores.
                np.nan_to_num(scores, copy=False, nan=-_MAX, posinf=_MAX, neginf=-_MAX)
            scores += constant[:, None]
            reduce_scores(scores, rows, all, best, evidence)
    return finite


def diag_scores(
    X: Array,
    mean: Array,
    scale: Array,
    constant: Array,
    all: Array | None,
    best: Array | None,
    evidence: Array | None,
) -> bool:
    """Scores constant - 1/2 sum_j (scale (x - mean))^2 to where they are wanted; returns whether X is finite."""

    def raw(x: Array) -> Array:
        q = np.empty((len(mean), len(x)))
        for c, (m, s) in enumerate(zip(mean, scale, strict=True)):
            z = _minus(x, m)
            z *= s
            np.einsum("ij,ij->i", z, z, out=q[c])
        q *= -0.5
        return q

    return _score(X, raw, constant, all, best, evidence)


def full_scores(
    X: Array,
    mean: Array,
    whitening: Array,
    constant: Array,
    all: Array | None,
    best: Array | None,
    evidence: Array | None,
) -> bool:
    """Scores constant - 1/2 |whitening (x - mean)|^2; whitening (k, d, d) is lower triangular."""

    def raw(x: Array) -> Array:
        q = np.empty((len(mean), len(x)))
        for c, (m, w) in enumerate(zip(mean, whitening, strict=True)):
            z = _minus(x, m) @ w.T
            np.einsum("ij,ij->i", z, z, out=q[c])
        q *= -0.5
        return q

    return _score(X, raw, constant, all, best, evidence)


def linear_scores(
    X: Array,
    center: Array,
    slope: Array,
    constant: Array,
    all: Array | None,
    best: Array | None,
    evidence: Array | None,
) -> bool:
    """Scores constant + slope (x - center); slope (k, d)."""
    if (np.abs(slope) @ np.abs(center)).max() > 1e6:  # digits would be lost without centring
        return _score(X, lambda x: np.asarray(slope @ _minus(x, center).T), constant, all, best, evidence)
    return _score(X, lambda x: np.asarray(slope @ x.T), constant - slope @ center, all, best, evidence)


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
