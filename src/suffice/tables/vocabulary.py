"""The vocabulary of a categorical column: its distinct values, sorted.

Booleans, numbers and text are three kinds. Values of one kind keep it. Where kinds meet, in one column or between two,
everything becomes text by its own name, and 1, 1.0 and "1" are the same category, as are True and "True": files and
databases do not agree on such things, and people mean the same by them. So merging does not depend on the order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, instead_of_infinity
from .times import is_moment, moment_text, moment_word

Array = NDArray[Any]


def vocabulary(values: Array) -> tuple[Array, Array]:
    """Return sorted categories (v,) from values that are not missing, and the index of each value among them.

    >>> vocabulary(np.array(["b", "", "a", "b"], object))
    (array(['', 'a', 'b'], dtype=object), array([2, 0, 1, 2]))
    >>> vocabulary(np.array([10, 9.0, "x"], object))[0]
    array(['10', '9', 'x'], dtype=object)
    """
    if _are_exact(values):
        return np.unique(values.astype(np.int64, copy=False), return_inverse=True)
    items = _named(values)
    if _kind_of(items) is None:
        items = [text(item) for item in items]
    names = sorted(set(items))
    index = {name: i for i, name in enumerate(names)}
    return _array(names), np.array([index[item] for item in items], dtype=np.intp)


def _are_exact(values: Array) -> bool:
    """Whether values are integers that are exact as floats, too, and so need no look at each of them."""
    return values.dtype.kind == "i" and bool(len(values)) and bool(-(2**53) < values.min() <= values.max() < 2**53)


def _named(values: Array) -> list[Any]:
    items: list[Any] = list(values) if values.dtype.kind in "mM" else values.tolist()  # which makes numbers of some
    return items if set(map(type, items)) == {str} else [_name(item) for item in items]  # words name themselves


def _name(value: Any) -> Any:
    """Return a value as a category: whole numbers become integers."""
    value = value.item() if isinstance(value, np.generic) and not is_moment(value) else value
    if is_moment(value):
        return moment_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, float):
        return value
    if math.isinf(value):
        raise DataError(f"a category cannot be infinite; {instead_of_infinity()}")
    return int(value) if value.is_integer() else value


def _kind_of(items: list[Any]) -> type | None:
    """Return the kind of all items; None if they have several kinds, or another kind."""
    if set(map(type, items)) == {str}:
        return str
    kinds = {_kind(item) for item in items}
    return kinds.pop() if len(kinds) == 1 else None


def _kind(item: Any) -> type | None:
    if isinstance(item, bool | str):
        return bool if isinstance(item, bool) else str
    return float if isinstance(item, int | float) and abs(item) < 2**53 else None  # exact as a float, too


def text(item: object) -> str:
    """The name of a category.

    >>> text(1.0), text("1"), text(2.5), text(True)
    ('1', '1', '2.5', 'True')
    """
    return str(_name(item))


def _array(names: list[Any]) -> Array:
    """Names of one type as an array: of booleans, integers or floats, or else of objects."""
    if names and not isinstance(names[0], str):
        return np.array(names)
    array = np.empty(len(names), object)
    array[:] = names
    return array


def union(a: Array, b: Array) -> Array:
    """The vocabulary of both."""
    if same(a, b) or not len(b):
        return a
    if not len(a):
        return b
    if a.dtype.kind == b.dtype.kind == "i":
        return np.union1d(a, b)
    if a.dtype.kind == b.dtype.kind == "O":
        return _array(sorted({*a.tolist(), *b.tolist()}))
    both = np.empty(len(a) + len(b), object)
    both[:] = [*a.tolist(), *b.tolist()]
    return vocabulary(both)[0]


def kind_of(categories: Array) -> str | None:
    """What a vocabulary holds: text, numbers or Booleans; None where it is empty.

    >>> kind_of(np.array(["01", "x"], object)), kind_of(np.array([1, 2]))
    ('text', 'numbers')
    """
    return {"O": "text", "b": "Booleans"}.get(categories.dtype.kind, "numbers") if len(categories) else None


def same(a: Array, b: Array) -> bool:
    """Whether two vocabularies are the same."""
    return a is b or (a.dtype.kind == b.dtype.kind and len(a) == len(b) and bool((a == b).all()))


class CategoryIndex:
    """A lookup of the indices of values among categories.

    >>> CategoryIndex(np.array(["1", "2"], object)).of(np.array([1.0, 3.0]))
    array([ 0, -1])
    """

    def __init__(self, categories: Array) -> None:
        self._categories = categories

    @cached_property
    def _names(self) -> list[Any]:
        return list(self._categories.tolist())

    @cached_property
    def _kind(self) -> type | None:
        return _kind_of(self._names)

    def of(self, values: Array) -> Array:
        """Return the index of each value; -1 for unknown categories."""
        if _are_exact(values) and _are_exact(self._categories):
            place = np.searchsorted(self._categories, values).clip(max=len(self._categories) - 1)
            return np.where(self._categories[place] == values, place, -1)
        items = _named(values)
        if self._kind is not None and _kind_of(items) == self._kind:
            index = self._own
        else:
            items, index = [text(item) for item in items], self._by_text
        found = np.fromiter(map(index.get, items, repeat(-1)), np.intp, len(items))
        unknown = np.flatnonzero(found < 0)
        if len(unknown) and self._by_moment:  # which text files may write in another way
            found[unknown] = [self._by_moment.get(moment_word(items[i]), -1) for i in unknown]
        return found

    @cached_property
    def _by_moment(self) -> dict[str | None, int]:
        """The same for dates and times, in the form that `moment_text` gives them; empty for other categories."""
        index = {moment_word(name): i for i, name in reversed([*enumerate(self._names)])}
        return {} if None in index else index

    @cached_property
    def _own(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self._names)}

    @cached_property
    def _by_text(self) -> dict[Any, int]:
        return {text(name): i for i, name in enumerate(self._names)}


def positions(values: Array, categories: Array) -> Array:
    """Return the index of each value among the categories; -1 for unknown categories."""
    return CategoryIndex(categories).of(values)


def words_to_arrays(words: list[str]) -> tuple[Array, Array]:
    """Text as numbers: UTF-8, one word after the other, and where each ends."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(word) for word in encoded], dtype=np.int64)


def words_from_arrays(letters: Array, ends: Array) -> list[str]:
    """The inverse of `words_to_arrays`; ValueError where the arrays are damaged."""
    raw, stops = letters.astype(np.uint8).tobytes(), [0, *ends.tolist()]
    if stops != sorted(stops) or stops[-1] != len(raw):
        raise ValueError("words do not end where they should")
    return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(stops)]


def to_arrays(vocabularies: tuple[Array, ...]) -> dict[str, Array]:
    """Vocabularies as arrays of numbers."""
    arrays = {}
    for j, categories in enumerate(vocabularies):
        if categories.dtype == object:
            arrays[f"text_{j}"], arrays[f"ends_{j}"] = words_to_arrays(categories.tolist())
        else:
            arrays[f"categories_{j}"] = categories
    return arrays


def from_arrays(arrays: Mapping[str, Array]) -> tuple[Array, ...]:
    """The inverse of `to_arrays`; ValueError or KeyError where the arrays are damaged."""
    n = sum(name.startswith(("categories_", "text_")) for name in arrays)
    found = []
    for j in range(n):
        if f"categories_{j}" in arrays:
            categories = np.array(arrays[f"categories_{j}"])
        else:
            categories = _array(words_from_arrays(arrays[f"text_{j}"], arrays[f"ends_{j}"]))
        if categories.ndim != 1 or not (categories[:-1] < categories[1:]).all():
            raise ValueError(f"the categories of column {j} are not in order")
        found.append(categories)
    return tuple(found)
