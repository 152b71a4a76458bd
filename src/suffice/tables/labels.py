"""The class vocabulary: a sorted array of distinct labels, and the code of each row in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, MissingLabelsError, StatisticsError, listed, remedy

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class SoftLabels:
    """Class responsibilities instead of labels: row i belongs to class c with weight ``responsibility[i, c]``."""

    classes: Array  # (k,) sorted
    responsibility: Array  # (n, k) float64

    def check(self) -> None:
        """Raise an error if responsibilities do not fit the classes, or are negative or not finite."""
        shape = np.shape(self.responsibility)
        if len(shape) != 2 or shape[1] != len(self.classes):
            raise DataError(f"soft labels of shape {shape} do not fit {len(self.classes)} classes")
        if (
            not 0 <= np.min(self.responsibility, initial=0) <= np.max(self.responsibility, initial=0) < np.inf
        ):  # nor NaN
            raise DataError("soft labels must be finite and not negative")

    def __len__(self) -> int:
        return len(self.responsibility)

    def __getitem__(self, rows: slice | Array) -> SoftLabels:
        return SoftLabels(self.classes, self.responsibility[rows])


def encode(y: Array) -> tuple[Array, Array]:
    """Sorted classes and int32 codes of a one-dimensional label array.

    >>> encode(np.array(["ham", "spam", "ham"]))
    (array(['ham', 'spam'], dtype='<U4'), array([0, 1, 0], dtype=int32))
    """
    distinct, code = distinct_labels(y)
    missing = [i for i, label in enumerate(distinct.tolist()) if is_missing(label)]
    if missing:
        rows = np.flatnonzero(np.isin(code, missing))
        raise MissingLabelsError(missing_message(len(rows), rows.tolist()))
    classes, order = _sorted(distinct)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    np.take(rank, code, out=code, mode="clip")
    return classes, code


def distinct_labels(y: Array) -> tuple[Array, Array]:
    """The different labels, missing ones among them, in any order, and the int32 code of each row."""
    if y.dtype.kind == "f":
        y = (y if y.itemsize <= 8 else y.astype(np.float64)) + 0  # -0.0 is 0.0, and padding is no part of a number
    elif y.itemsize == 0:
        y = y.astype(y.dtype.kind + "1")
    elif y.dtype.kind not in "biuUSO":
        raise DataError(f"labels must be numbers, booleans or strings, not {y.dtype}")
    try:
        distinct, code = kernels.active.encode(y)
    except TypeError as error:
        raise DataError(f"labels must be numbers, booleans or strings: {error}") from None
    return distinct, code


def known_labels(y: Array, is_unknown: Callable[[Any], bool]) -> Array:
    """The sorted classes of labels, some of which say that the class is not known."""
    distinct, _ = distinct_labels(y)
    return encode(distinct[[not is_unknown(label) for label in distinct.tolist()]])[0]


def code_known(y: Array, classes: Array, is_unknown: Callable[[Any], bool]) -> Array:
    """The index of each label in `classes`, (n,); -1 for labels that say that the class is not known.

    >>> code_known(np.array(["b", None, "a"], object), np.array(["a", "b"]), is_missing)
    array([ 1, -1,  0])
    """
    distinct, code = distinct_labels(y)
    known = [not is_unknown(label) for label in distinct.tolist()]
    index = np.full(len(distinct), -1, np.intp)
    index[known] = [position(label, classes) for label in distinct[known].tolist()]
    return np.asarray(index[code])


def missing_message(count: int, rows: Sequence[int] = (), python: str = "") -> str:
    """What is wrong with labels of which so many are missing, in these rows among others; the end of the message says
    what else one can do in Python."""
    where = remedy("y", "the target column")
    said = f"{where} has {count} missing label{'s' if count > 1 else ''}{rows_shown(count, rows)}"
    return f"{said}; remove these rows" + remedy(python, ", or leave them out with --skip-unlabelled")


def rows_shown(count: int, rows: Sequence[int]) -> str:
    """Return the first of some rows, for a message.

    >>> rows_shown(7, [2, 17, 40, 41, 99, 250])
    ' (rows 2, 17, 40, 41, 99 and 2 more, counted from 0)'
    """
    if not rows:
        return ""
    first = ", ".join(map(str, rows[:5]))
    more = f" and {count - 5} more" if count > 5 else ""
    return f" (row{'s' if count > 1 else ''} {first}{more}, counted from 0)"


def missing_labels(y: Array) -> Array:
    """Which labels are missing, (n,)."""
    if y.dtype.kind not in "fO":
        return np.zeros(len(y), bool)
    return np.fromiter(map(is_missing, y.tolist()), bool, len(y))


def _sorted(distinct: Array) -> tuple[Array, Array]:
    """Classes in order, and the order itself; refuses continuous and mixed labels."""
    if distinct.dtype == object:
        kinds = {_kind(label) for label in distinct.tolist()}
        if len(kinds) > 1 or kinds - {"str", "number"}:
            found = listed(sorted(kinds))
            raise DataError(f"labels have mixed or unsupported types: {found}; use only numbers or only strings")
        distinct = _as_numbers(distinct) if kinds == {"number"} else distinct
    if distinct.dtype.kind == "f" and not (np.isfinite(distinct).all() and (distinct == np.rint(distinct)).all()):
        raise DataError(
            f"Unknown label type: continuous. Labels name classes, but {remedy('y', 'the target column')} holds "
            "fractions or infinities; "
            "use integers, strings or booleans, or make classes of the number, such as low and high"
        )
    order = np.argsort(distinct, kind="stable")
    return distinct[order], order


def _as_numbers(labels: Array) -> Array:
    """Return numbers in an object array as a numeric array, unless that would change one of them."""
    numbers = np.array(labels.tolist())
    return numbers if numbers.tolist() == labels.tolist() else labels


def is_missing(label: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating) and bool(label != label)


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
    if family(a) != family(b):
        raise StatisticsError(f"classes {listed(a)} and {listed(b)} are of different types and cannot be merged")
    if a.dtype != b.dtype and family(a) != "bytes":  # through objects, so that no number is rounded
        both = np.empty(len(a) + len(b), dtype=object)
        both[:] = [*a.tolist(), *b.tolist()]
        classes = encode(both)[0]
        return classes if object in (a.dtype, b.dtype) or family(a) == "number" else classes.astype(str)
    return encode(np.concatenate([a, b]))[0]


def family(classes: Array) -> str:
    """Return the common type of at least one class: "str", "bytes" or "number"."""
    if classes.dtype == object:
        return _kind(classes[0])
    return {"U": "str", "S": "bytes"}.get(classes.dtype.kind, "number")


def are_booleans(classes: Array) -> bool:
    """Whether labels are False and True, which equal 0 and 1 and are others all the same."""
    return classes.dtype.kind == "b"


def positions(labels: Array, classes: Array) -> Array:
    """Return the index of each label in `classes`; -1 if it is not one of them."""
    index = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def position(label: object, classes: Array) -> int:
    """Return the index of a label in `classes`, or raise an error that lists them."""
    one = np.empty(1, dtype=object)
    one[0] = label
    try:
        index = int(positions(one, classes)[0])
    except TypeError:  # a label that cannot be a dictionary's key is no class
        index = -1
    if index < 0:
        raise DataError(f"{label!r} is not a class of this model; its classes are {listed(classes, 10)}")
    return index


def label_named(name: Any, classes: Iterable[Any]) -> Any:
    """Return the class with a name, or the name itself if there is none. Capitals may differ if that leaves one class.

    >>> label_named("1", [0, 1]), label_named("true", [False, True]), label_named("Emu", ["Adelie"])
    (1, True, 'Emu')
    >>> label_named("B", ["a", "b", "B"]), label_named("A", ["a", "b", "B"]), label_named("c", ["C", "ç"])
    ('B', 'a', 'C')
    """
    written = {str(label): label for label in classes}
    alike = [label for text, label in written.items() if text.casefold() == str(name).casefold()]
    return written.get(name, alike[0] if len(alike) == 1 else name)
