"""Collectors: functions from a batch to its statistic. They compare equal and can be pickled.

A source that holds the rows itself may see from the value how to work out the same sums in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError, FamilyError, as_family, as_parameter, instead_of_infinity, listed, remedy
from ..tables.batch import Batch
from ..tables.features import Feature
from ..tables.labels import SoftLabels
from ..tables.table import Matrix, Sparse, looked_at
from ..tables.tokens import Tokens, is_text
from .base import Statistics
from .bundle import BundleStats, Collector
from .categories import CategoryStats
from .counts import CountStats
from .moments import MomentStats
from .pairs import PairStats, named_pairs
from .patterns import PatternStats
from .support import WHOLE, Support
from .transformed import TransformedStats
from .wide import WideMomentStats, is_wide
from .words import WordStats


@dataclass(frozen=True)
class CollectMoments:
    """Moments of columns of numbers."""

    layout: str = "diag"

    def __call__(self, batch: Batch) -> MomentStats:
        return MomentStats.of(batch, self.layout)


_LOOK = 512  # rows that are searched for missing cells first, where there are more


@dataclass(frozen=True)
class CollectGaussian:
    """Moments of columns of numbers, of which some cells may be missing."""

    layout: str

    def __call__(self, batch: Batch) -> MomentStats | PatternStats:
        by_pattern = self.layout in ("full", "pooled")
        looks = by_pattern and len(batch) > _LOOK
        if looks and np.isnan(batch.rows(slice(_LOOK)).X).any():  # as there are more, most probably
            return self._by_pattern(batch)
        moments = MomentStats.of(batch, self.layout, skip_missing=True)
        if self.layout == "diag" or moments.is_finite():
            return moments
        if by_pattern:
            return self._by_pattern(batch)
        X = batch.X if batch.weight is None else batch.X[batch.weight > 0]
        missing = np.isnan(X).any(axis=0)
        if missing.any() and not np.isinf(X).any():
            raise DataError(
                f"column {_names(batch, missing)} has missing values, from which "
                f"{as_parameter('shrinkage', 'ledoit_wolf')} cannot be computed; use "
                f"{as_parameter('shrinkage', 'oas')} or a number, or impute them first"
            )
        return moments  # whoever collects reports what is wrong

    def _by_pattern(self, batch: Batch) -> MomentStats | PatternStats:
        found = PatternStats.of(batch, self.layout)
        return found if found.has_missing else found.complete


@dataclass(frozen=True)
class CollectGaussianBlock(CollectGaussian):
    """The same for the Gaussian columns of a table; errors about invalid cells name the column."""

    def __call__(self, batch: Batch) -> MomentStats | PatternStats:
        moments = super().__call__(batch)
        if moments.is_finite():
            return moments
        infinite = np.isinf(batch.X).any(axis=0)
        if infinite.any():
            raise DataError(f"column {_names(batch, infinite)} holds infinity; {instead_of_infinity()}")
        raise DataError("the values or their weights are too large: sums of squares overflow; rescale them")


@dataclass(frozen=True)
class CollectWide:
    """The moments of a table of many more columns than rows, by another collector where this is not possible."""

    of: CollectMoments | CollectGaussian

    def __call__(self, batch: Batch) -> MomentStats | PatternStats:
        if isinstance(batch.y, SoftLabels):
            return self.of(batch)
        moments = WideMomentStats.of(batch, self.of.layout)
        return moments if moments.is_finite() else self.of(batch)


def for_table(of: Any, n_rows: int | None, n_features: int) -> Any:
    """The collector that suits a table of this size."""
    can_be = type(of) in (CollectMoments, CollectGaussian) and of.layout not in ("diag", "coquartic")
    return CollectWide(of) if can_be and is_wide(n_rows, n_features) else of


@dataclass(frozen=True)
class CollectWords:
    """The words of columns of text, or how many documents have them."""

    tokens: Tokens | None
    presence: bool = False

    def __call__(self, batch: Batch) -> WordStats:
        return WordStats.of(batch, self.tokens, self.presence)


@dataclass(frozen=True)
class CollectCounts:
    """Sums of columns of counts, or how often they are above zero; with tokens, also of the words of text."""

    presence: bool = False
    tokens: Tokens | None = None

    def __call__(self, batch: Batch) -> CountStats | WordStats:
        plain = self.tokens is None or isinstance(batch.table, Sparse)
        columns = [] if plain else [looked_at(each) for each in batch.table.columns()]
        text = [is_text(each) for each in columns]
        others = (each for each, known in zip(columns, text, strict=True) if not known)
        if any(text) and all(each.missing().all() for each in others):  # a column without values is of any type
            return WordStats.of(batch, self.tokens, self.presence)
        try:
            return CountStats.of(batch, self.presence)
        except FamilyError as error:
            if not any(text):
                raise
            first = as_family(batch.table.names_of(np.flatnonzero(text).tolist())[0], "text")
            both = remedy(f"MixedClassifier({first})", f"--model mixed {first}")
            raise FamilyError(
                f"this model counts words or numbers, but not both, and there is text in column {_names(batch, text)}; "
                f"use {both}, or leave columns out",
                error.columns,
            ) from None

    def more_of(self, learnt: CountStats | WordStats) -> CollectCounts | CollectWords:
        """The collector of more rows: of text where text was learnt, even if all of theirs is missing."""
        return CollectWords(self.tokens, self.presence) if isinstance(learnt, WordStats) else self


@dataclass(frozen=True)
class CollectBooleans:
    """Presence of the Bernoulli columns of a table, which hold nothing but zeros and ones."""

    def __call__(self, batch: Batch) -> CountStats:
        X = batch.X
        with np.errstate(invalid="ignore"):
            other = ((X != 0) & (X != 1) & ~np.isnan(X)).any(axis=0)
        if other.any():
            raise FamilyError(
                f"column {_names(batch, other)} holds values other than 0 and 1; choose its family, as in "
                f"{as_family('column', 'categorical')}",
                np.flatnonzero(other),
            )
        return CountStats.of(batch, presence=True)


@dataclass(frozen=True)
class CollectCategories:
    """How often each category was seen."""

    def __call__(self, batch: Batch) -> CategoryStats:
        return CategoryStats.of(batch)


@dataclass(frozen=True)
class CollectPairs:
    """How often two categories were seen together, of all pairs of columns or of some."""

    joint: tuple[tuple[str | int, str | int], ...] | None = None

    def __call__(self, batch: Batch) -> PairStats:
        table = batch.table
        pairs = None if self.joint is None else named_pairs(self.joint, table.names, table.n_features)
        return PairStats.of(batch, pairs)


@dataclass(frozen=True)
class CollectTransformed:
    """Moments of functions of numeric columns; values outside the support of the family raise an error."""

    transforms: tuple[str, ...]
    support: Support
    family: str

    def __call__(self, batch: Batch) -> TransformedStats:
        return TransformedStats.of(batch, self.transforms, self.support, self.family)


_CELLS = 1 << 20  # of a histogram's rows read at a time
_EXACT = 1 << 53  # whole numbers from here on are no longer apart


@dataclass(frozen=True)
class CollectHistogram:
    """How often each count was seen in columns of whole numbers from 0 on."""

    family: str

    def __call__(self, batch: Batch) -> CategoryStats:
        step = max(1, _CELLS // batch.table.n_features)
        parts = [self._of_rows(batch, batch.rows(slice(i, i + step))) for i in range(0, max(len(batch), 1), step)]
        return parts[0].plus(*parts[1:])

    def _of_rows(self, whole: Batch, batch: Batch) -> CategoryStats:
        X = batch.X
        if batch.weight is not None and not batch.weight.all():  # cells without weight may be anything
            X = np.where(batch.weight[:, None] > 0, X, 0)
        if not WHOLE.check(X, None):
            WHOLE.refuse(whole.table, whole.weight, self.family)
        if (too_large := (X >= _EXACT).any(axis=0)).any():
            raise DataError(
                f"column {_names(batch, too_large)} holds counts of {_EXACT} or more, which are not exact; use another "
                "family"
            )
        X = X if np.isnan(X).any() else X.astype(np.int64)
        return CategoryStats.of(replace(batch, table=Matrix(X, batch.table.names)))


@dataclass(frozen=True)
class CollectBundle:
    """For each block, the indices of its columns and their collector."""

    blocks: Mapping[str, tuple[tuple[int, ...], Collector]]
    features: tuple[Feature, ...] = ()

    def __call__(self, batch: Batch) -> BundleStats:
        return BundleStats.of(batch, self.blocks, self.features)


NO_LABELS = np.zeros(1, np.int8)  # the class of all rows where labels play no part


@dataclass(frozen=True)
class CollectTogether:
    """The statistic of all rows as one class, whatever their labels."""

    of: Collector

    def __call__(self, batch: Batch) -> Statistics:
        return self.of(replace(batch, y=np.repeat(NO_LABELS, len(batch))))


def _names(batch: Batch, chosen: Any) -> str:
    names = batch.table.names
    return listed([names[j] if names else int(j) for j in np.flatnonzero(chosen)])
