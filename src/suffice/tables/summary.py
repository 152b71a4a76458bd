"""What the values of a column show: enough to choose a family for it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import ArrayColumn, Column
from .tokens import PATTERN, holds_tokens

Array = NDArray[Any]

FEW = 16  # integers with at most this many different values are categories
_FIRST = 1000  # rows that are looked at first: of most columns they tell what all rows would
_DIFFERENT = 0.5  # the share of different values from which on text of many words is prose
_MANY_WORDS = 5  # of prose, on average
_TOKEN = re.compile(PATTERN)
_LETTERS = re.compile(r"[^\W\d_]{2}")
CATEGORIES = ("category", "dictionary", "Categorical", "Enum")  # dtypes of columns that are meant to be categories
_RANGE = 1 << 16  # integers within so wide a range are counted by their value


@dataclass(frozen=True)
class ColumnSummary:
    """A column, summarised by all of its rows; what the first rows settle is not looked for in the others.

    Parameters
    ----------
    column : Column
        The column; objects have the kind of their values (see `looked_at`).
    """

    column: Column

    @property
    def is_number(self) -> bool:
        """Whether the column holds integers or floats."""
        return self.column.kind in ("integer", "float")

    @property
    def dtype(self) -> str:
        """The name of the type in the library of the table."""
        kind, dtype = self.column.kind, self.column.dtype
        return f"object of {kind}s" if dtype == "object" and kind != "text" else dtype

    @cached_property
    def _floats(self) -> Array:
        return np.asarray(self.column.floats())

    @cached_property
    def values(self) -> Array:
        """The numbers, without missing values."""
        x = self._floats
        return x[~np.isnan(x)] if len(x) and np.isnan(x.min()) else x

    @cached_property
    def _first(self) -> Array:
        first = self._floats[:_FIRST]
        return first[~np.isnan(first)]

    @cached_property
    def _n_first(self) -> int:
        """How many different values the first rows have."""
        return len(np.unique(self._first))

    @cached_property
    def is_whole(self) -> bool:
        """Whether all numbers are whole; pandas stores integers with missing values as floats."""
        if self.column.kind != "float":
            return self.column.kind == "integer"
        if not _are_whole(self._first):
            return False
        has_missing = 0 < len(self.values) < len(self._floats)
        return has_missing and _are_whole(self.values)

    @cached_property
    def n_different(self) -> int:
        """How many different values there are; for a column of many, those of the first rows."""
        if self.column.kind == "text":
            return n_codes(self.column.coded()[1])
        if self._n_first > FEW or not len(self.values):
            return self._n_first
        low, high = self.values.min(), self.values.max()
        if high - low < _RANGE and (self.column.kind in ("integer", "boolean") or self.is_whole):
            return int(np.count_nonzero(np.bincount((self.values - low).astype(np.intp))))
        return len(np.unique(self.values))

    @cached_property
    def is_constant(self) -> bool:
        """Whether no two values differ, missing ones apart."""
        if self.column.kind == "text":
            first = self.column[:_FIRST].coded()[1]
            return n_codes(first) < 2 and self.n_different < 2
        if len(self._first) and (self._first != self._first[0]).any():
            return False
        low, high = self.values.min(initial=np.inf), self.values.max(initial=-np.inf)
        return not len(self.values) or bool(low == high and np.isfinite(low))

    @cached_property
    def is_prose(self) -> str:
        """Why the column is text of many words; empty where it is not."""
        if holds_tokens(self.column):
            return "lists of tokens"
        n_values, (n_words, n_shared) = len(self._different_texts), self._words
        return f"{n_values} different values of {n_words:.0f} words" if n_words >= _MANY_WORDS and n_shared >= 1 else ""

    @property
    def has_words(self) -> bool:
        """Whether most values differ and can be cut into words."""
        return self._words[0] >= 2

    @cached_property
    def _words(self) -> tuple[float, float]:
        """The words of a different value on average, and those of them that some other values have, but not all.

        The parts of identifiers, such as web addresses, are in all values or in one alone. Numbers are not counted.
        """
        total, n_values, texts = 0, Counter[str](), self._different_texts
        for text in texts:
            words = _TOKEN.findall(text)
            total += len(words)
            n_values.update(set(words))
        shared = sum(n for word, n in n_values.items() if 1 < n < len(texts) and _LETTERS.search(word))
        return total / max(len(texts), 1), shared / max(len(texts), 1)

    @cached_property
    def _different_texts(self) -> list[str]:
        """The different values of text, of a sample; none where values occur again and again."""
        if self.column.kind != "text" or self.column.dtype.startswith(CATEGORIES):
            return []
        some = (
            self.column[:: max(1, len(self.column) // _FIRST)]
            if isinstance(self.column, ArrayColumn)
            else self.column[:_FIRST]
        )
        distinct, code = some.coded()
        known = n_codes(code)
        return [] if known <= FEW or known < _DIFFERENT * (code >= 0).sum() else list(map(str, distinct.tolist()))

    @cached_property
    def all_differ(self) -> bool:
        """Whether no two rows have the same value, and none is missing."""
        if self.column.kind == "text" or self._n_first < len(self._first) or len(self.values) < len(self._floats):
            return False
        return len(np.unique(self.values)) == len(self.values)


def _are_whole(x: Array) -> bool:
    return bool((x == np.rint(x)).all())


def n_codes(code: Array) -> int:
    """How many different categories rows (n,) have; -1 is none."""
    return int(np.count_nonzero(np.bincount(code + 1)[1:]))
