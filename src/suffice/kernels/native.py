"""The compiled kernels under the interface of `reference`: allocate, call, return."""

from __future__ import annotations

import numpy as np

from . import _native
from .reference import Array, Moments

instruction_sets = _native.instruction_sets
use = _native.use
diag_scores = _native.diag_scores
full_scores = _native.full_scores
linear_scores = _native.linear_scores


def diag_moments(X: Array, code: Array, weight: Array | None, k: int) -> Moments:
    d = X.shape[1]
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    _native.diag_moments(X, code, weight, *moments)
    return moments


def full_moments(X: Array, code: Array, weight: Array | None, k: int, pooled: bool) -> Moments:
    d = X.shape[1]
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((d, d) if pooled else (k, d, d))
    _native.full_moments(X, code, weight, pooled, *moments)
    return moments


def encode(y: Array) -> tuple[Array, Array]:
    y = np.ascontiguousarray(y)
    code = np.empty(len(y), np.int32)
    if y.dtype == object:
        items = _native.encode_objects(y, code)
        distinct = np.empty(len(items), object)
        distinct[:] = items
        return distinct, code
    width = max(y.itemsize, 1)
    first = _native.encode_items(y.view(np.uint8).reshape(len(y), width), code)
    return y[first], code
