"""Sources whose engine computes sums over the rows of each class.

An engine that can group rows by their labels and sum expressions is a `SummingSource`. It knows nothing of statistics:
it is asked for totals of a few kinds of terms, and answers with one number for each class and term. Whoever asks turns
to `reduce` where a total is not finite, so an engine need not look for cells that make no sense; but a cell that is no
number must make the totals of its column infinite or NaN, and must not count as zero.

In SQL, for a column x with its center c, the weight w (1, where the source has none; NULL for a row of weight zero, so
that the row is absent from all sums) and a label, it is all of this form, the NULL of an empty sum being zero::

    SELECT label, sum(w), sum(w * (x - c)), sum(w * (x - c) * (y - d)), ... FROM rows GROUP BY label
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from ..errors import DatabaseError
from .base import Source

Array = NDArray[Any]

TERMS = {
    "weight": "sum of w",
    "bad_weight": "rows, of any weight, whose weight is missing, negative or not finite; zero without weights",
    "missing": "sum of w over the rows where x is missing",
    "deviation": "sum of w (x - center), where x is not missing",
    "product": "sum of w (x - center)(y - center), where neither is missing",
    "positive": "sum of w over the rows where x > 0",
    "negative": "rows, of any weight, where x < 0",
    "infinite": "rows, of any weight, where x is infinite or NaN",
    "untrue": "rows, of any weight, where x is neither 0 nor 1 nor missing",
}


class UnsummableError(DatabaseError):
    """A number is too large for the engine, or a cell is not a number, so that the rows must be read."""


class Term(NamedTuple):
    """What to sum: one of TERMS, and the indices of its columns."""

    kind: str
    columns: tuple[int, ...] = ()


class TermTotals(NamedTuple):
    """Totals of terms."""

    labels: (
        Array | None
    )  # (k,) in any order, a missing one for rows without; None, and k = 1, where the source has none
    totals: Array  # (k, terms) float64


class ValueWeights(NamedTuple):
    """The weight of each value of a column in each class."""

    labels: Array | None  # (m,) as of TermTotals
    values: list[Any]  # m, None where missing
    weight: Array  # (m,) float64


class SummingSource(Source):
    """Rows that an engine can sum by itself."""

    kinds: Sequence[str]  # of the feature columns: "float", "integer", "boolean", "text" or "other"
    has_types = True  # whether the engine sees to it that cells are of the types of their columns

    def summing(self) -> Self:
        return self

    @abstractmethod
    def affords(self, n_sums: int, n_counts: int) -> bool:
        """Whether the engine can compute so many sums and value counts, and is faster than reading the rows."""

    @abstractmethod
    def sums(self, terms: Sequence[Term], centers: Array, label: Any = None) -> TermTotals:
        """The totals of terms in each class, or in one.

        Parameters
        ----------
        terms : over columns of numbers and Booleans, which count as 0 and 1
        centers : (d,) float64, one for each feature
        label : of the one class that is asked for
        """

    @abstractmethod
    def counts(self, columns: Sequence[int]) -> list[ValueWeights]:
        """For each of some columns, the weight of each of its values in each class."""
