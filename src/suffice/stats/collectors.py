"""What to collect: functions from a batch to its statistic, as values.

A source that holds the rows itself may see from the value how to work out the same sums in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError, listed
from ..tables.batch import Batch
from .base import Statistics
from .bundle import BundleStats, Collector
from .categories import CategoryStats
from .counts import CountStats
from .moments import MomentStats


@dataclass(frozen=True)
class CollectMoments:
    """Moments of columns of numbers."""

    layout: str = "diag"

    def __call__(self, batch: Batch) -> MomentStats:
        return MomentStats.of(batch, self.layout)


@dataclass(frozen=True)
class CollectGaussian:
    """Moments of the Gaussian columns of a table; a cell that cannot be used is refused by the name of its column."""

    layout: str
    covariance: str  # what the user asked for, to say so

    def __call__(self, batch: Batch) -> MomentStats:
        moments = MomentStats.of(batch, self.layout, skip_missing=True)
        if moments.is_finite():
            return moments
        X = batch.X
        infinite, missing = np.isinf(X).any(axis=0), np.isnan(X).any(axis=0)
        found = _names(batch, infinite if infinite.any() else missing)
        if infinite.any():
            raise DataError(f"column {found} holds infinity; remove these rows or make the values missing")
        if missing.any():
            raise DataError(
                f"column {found} has missing values, from which covariance={self.covariance!r} cannot learn; use "
                'covariance="diag" or "tied_diag", or impute them first'
            )
        raise DataError("the values or their weights are too large: sums of squares overflow; rescale them")


@dataclass(frozen=True)
class CollectCounts:
    """Sums of columns of counts, or how often they are above zero."""

    presence: bool = False

    def __call__(self, batch: Batch) -> CountStats:
        return CountStats.of(batch, self.presence)


@dataclass(frozen=True)
class CollectTruths:
    """Presence of the Bernoulli columns of a table, which hold nothing but zeros and ones."""

    def __call__(self, batch: Batch) -> CountStats:
        X = batch.X
        with np.errstate(invalid="ignore"):
            other = ((X != 0) & (X != 1) & ~np.isnan(X)).any(axis=0)
        if other.any():
            raise DataError(
                f"column {_names(batch, other)} holds other values than 0 and 1; name its family, as in "
                'families={"column": "categorical"}'
            )
        return CountStats.of(batch, presence=True)


@dataclass(frozen=True)
class CollectCategories:
    """How often each category was seen."""

    def __call__(self, batch: Batch) -> CategoryStats:
        return CategoryStats.of(batch)


@dataclass(frozen=True)
class CollectBundle:
    """For each block its columns, by position, and what is collected of them."""

    blocks: Mapping[str, tuple[tuple[int, ...], Collector]]

    def __call__(self, batch: Batch) -> BundleStats:
        return BundleStats.of(batch, self.blocks)


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
