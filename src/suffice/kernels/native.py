"""The compiled kernels under the interface of `reference`: allocate, call, return."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import _native
from .reference import (  # noqa: F401
    Array,
    Moments,
    category_counts,
    category_scores,
    dense_counts,
    reduce,
    sparse_counts,
    sparse_scores,
)

instruction_sets = _native.instruction_sets
use = _native.use


def _check(X: Array, code: Array, weight: Array | None) -> None:
    if len(code) != len(X) or (weight is not None and len(weight) != len(X)):
        raise ValueError(f"{len(X)} rows, {len(code)} codes, {'no' if weight is None else len(weight)} weights")


def diag_moments(X: Array, code: Array, weight: Array | None, k: int) -> Moments:
    _check(X, code, weight)
    d = X.shape[1]
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    _native.diag_moments(X, code, weight, *moments)
    return moments


def full_moments(X: Array, code: Array, weight: Array | None, k: int, pooled: bool) -> Moments:
    _check(X, code, weight)
    d = X.shape[1]
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((d, d) if pooled else (k, d, d))
    _native.full_moments(X, code, weight, pooled, *moments)
    return moments


def _checked(score: Callable[..., bool]) -> Callable[..., bool]:
    """Refuse X whose columns are not those of the parameters; the outputs are slices made for X."""

    def checked(X: Array, center: Array, *rest: Array | None) -> bool:
        if X.shape[1] != center.shape[-1]:
            raise ValueError(f"{X.shape[1]} columns for parameters of {center.shape[-1]}")
        return score(X, center, *rest)

    return checked


diag_scores = _checked(_native.diag_scores)
full_scores = _checked(_native.full_scores)
linear_scores = _checked(_native.linear_scores)


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
