"""What scores rows for k classes: a density, or whatever else gives log-likelihoods up to a term of the row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from ..tables.table import Table

Array = NDArray[Any]


class Wanted(NamedTuple):
    """What a caller wants of the scores of n rows, written in place; the order is that of the kernels."""

    all: Array | None = None  # (n, k) the scores themselves
    best: Array | None = None  # (n,) int64 the arg max; a tie goes to the lower index
    evidence: Array | None = None  # (n,) the log-sum-exp

    def of_rows(self, rows: slice) -> Wanted:
        return Wanted(*(None if out is None else out[rows] for out in self))


class Scorer(ABC):
    """The parameters of k classes, with no prior in them."""

    seen: Array  # (k,) bool, which classes anything is known of: one without rows has log-likelihood -inf
    reads_sparse = False  # whether `read` leaves sparse rows sparse
    has_likelihoods = True  # whether scores are log-likelihoods, rather than these up to a term of the row

    def read(self, table: Table) -> Any:
        """Rows in the form that this family scores: numbers (n, d), codes of categories, or whatever it has."""
        return table.floats()

    def score(
        self,
        X: Any,
        offset: Array | float = 0.0,
        *,
        all: Array | None = None,
        best: Array | None = None,
        evidence: Array | None = None,
        relative: bool = False,
    ) -> bool:
        """Write log p(x | class) + offset where it is wanted, and return whether X could be scored: a family for which
        missing cells do not simply drop out returns False where there are some.

        Parameters
        ----------
        X : n rows in the form of `read`
        offset : (k,), for instance a log prior
        all : (n, k) the scores themselves
        best : (n,) int64 the arg max; a tie goes to the lower index
        evidence : (n,) the log-sum-exp
        relative : whether terms that all classes share may be left out of the scores
        """
        return self._score(X, offset, Wanted(all, best, evidence), relative)

    @abstractmethod
    def _score(self, X: Any, offset: Array | float, wanted: Wanted, relative: bool) -> bool: ...

    @property
    def has_zeros(self) -> bool:
        """Whether a row may have probability zero under every class."""
        return False

    @property
    @abstractmethod
    def n_classes(self) -> int: ...

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @property
    def n_read(self) -> int:
        """How many numbers `read` makes of a row."""
        return self.n_features

    @property
    def places_read(self) -> Sequence[int]:
        """The positions of the columns that play a part."""
        return range(self.n_features)

    def category_kinds(self) -> dict[int, str]:
        """What the categories of columns are, "text", "numbers" or "truths", by the index of the column."""
        return {}

    @abstractmethod
    def of_classes(self, places: Sequence[int]) -> Self:
        """The same of some classes alone."""
