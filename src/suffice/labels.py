"""The class vocabulary: a sorted array of distinct labels, and the code of each row in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .errors import DataError, StatisticsError, listed

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class SoftLabels:
    """Class responsibilities instead of labels: row i belongs to class c with weight ``responsibility[i, c]``."""

    classes: Array  # (k,) sorted
    responsibility: Array  # (n, k) float64

    def __len__(self) -> int:
        return len(self.responsibility)

    def __getitem__(self, rows: slice) -> SoftLabels:
        return SoftLabels(self.classes, self.responsibility[rows])


def encode(y: Array) -> tuple[Array, Array]:
    """Sorted classes and int32 codes of a one-dimensional label array.

    >>> encode(np.array(["ham", "spam", "ham"]))
    (array(['ham', 'spam'], dtype='<U4'), array([0, 1, 0], dtype=int32))
    """
    if y.dtype.kind == "f":
        y = y + 0.0  # -0.0 is 0.0
    elif y.itemsize == 0:
        y = y.astype(y.dtype.kind + "1")
    try:
        distinct, code = kernels.active.encode(y)
    except TypeError as error:
        raise DataError(f"labels must be numbers, booleans or strings: {error}") from None
    classes, order = _sorted(distinct, code)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    np.take(rank, code, out=code, mode="clip")
    return classes, code


def _sorted(distinct: Array, code: Array) -> tuple[Array, Array]:
    """Classes in order, and the order itself; refuses missing, continuous and mixed labels."""
    missing = [i for i, label in enumerate(distinct.tolist()) if _is_missing(label)]
    if missing:
        count = int(np.isin(code, missing).sum())
        raise DataError(f"y has {count} missing labels (NaN or None); remove these rows")
    if distinct.dtype.kind == "f" and not (np.isfinite(distinct).all() and (distinct == np.rint(distinct)).all()):
        raise DataError(
            "Unknown label type: continuous. Labels name classes, but y holds fractions or infinities; "
            "use integers, strings or booleans"
        )
    if distinct.dtype.kind not in "biufUSO":
        raise DataError(f"labels must be numbers, booleans or strings, not {distinct.dtype}")
    if distinct.dtype != object:
        order = np.argsort(distinct, kind="stable")
        return distinct[order], order
    kinds = {_kind(label) for label in distinct.tolist()}
    if len(kinds) > 1 or kinds - {"str", "number"}:
        raise DataError(f"labels mix or hold unsupported types: {listed(sorted(kinds))}; use one of numbers or strings")
    order = np.array(sorted(range(len(distinct)), key=distinct.tolist().__getitem__), dtype=np.intp)
    classes = distinct[order]
    return (np.array(classes.tolist()) if kinds == {"number"} else classes), order


def _is_missing(label: object) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float) and label != label


def _kind(label: object) -> str:
    if isinstance(label, str):
        return "str"
    return "number" if isinstance(label, (bool, int, float, np.number, np.bool_)) else type(label).__name__


def same(a: Array, b: Array) -> bool:
    """Whether two vocabularies are the same."""
    return a is b or (a.shape == b.shape and bool((a == b).all()))


def union(a: Array, b: Array) -> Array:
    """The sorted vocabulary of both."""
    if same(a, b) or not len(b):
        return a
    if not len(a):
        return b
    if (a.dtype.kind in "USO") != (b.dtype.kind in "USO"):
        raise StatisticsError(f"classes {listed(a)} and {listed(b)} are of different types and cannot be merged")
    if object in (a.dtype, b.dtype):
        a, b = a.astype(object), b.astype(object)
    return encode(np.concatenate([a, b]))[0]


def positions(labels: Array, classes: Array) -> Array:
    """Where each label stands in `classes`; -1 where it does not."""
    place = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def position(label: object, classes: Array) -> int:
    """Where one label stands in `classes`, or an error that names them."""
    place = int(positions(np.array([label], dtype=object), classes)[0])
    if place < 0:
        raise DataError(f"{label!r} is not a class of this model; its classes are {listed(classes, 10)}")
    return place
