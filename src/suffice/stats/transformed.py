"""Moments of transformed cells: of x, log x or 1 / x, class by class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StatisticsError
from ..lines import counted
from ..tables.batch import Batch
from ..tables.table import Matrix, Table
from .base import Statistics, by_class
from .moments import MomentStats
from .support import Support

Array = NDArray[Any]

TRANSFORMS: dict[str, Callable[[Array], Array]] = {  # by number in arrays: append only
    "identity": np.positive,
    "log": np.log,
    "reciprocal": np.reciprocal,
}
_CELLS = 1 << 16  # transformed at a time, so that they stay in the cache
_MOST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, eq=False)
class TransformedStats(Statistics):
    """Weights, means and centred second moments of one or more functions of every column.

    A second moment that overflows is the largest float: what is estimated from wide ranges needs the means alone.

    Examples
    --------
    >>> from suffice.stats.support import POSITIVE
    >>> s = TransformedStats.of(Batch.of([[1.0], [4.0]], ["x", "x"]), ("identity", "reciprocal"), POSITIVE, "gamma")
    >>> s.mean  # of x and of 1 / x
    array([[[2.5  ],
            [0.625]]])
    """

    transforms: tuple[str, ...]
    moments: MomentStats  # of all columns by the first transform, then by the next

    @property
    def classes(self) -> Array:  # type: ignore[override]
        return self.moments.classes

    @property
    def weight(self) -> Array:  # type: ignore[override]
        return self.moments.weight

    def __repr__(self) -> str:
        size = f"{len(self.classes)} classes, {self.n_features} features, weight {counted(self.weight.sum())}"
        return f"TransformedStats({', '.join(self.transforms)}, {size})"

    @property
    def n_features(self) -> int:
        return self.moments.n_features // len(self.transforms)

    @property
    def mean(self) -> Array:
        """(k, t, d)"""
        return self.moments.mean.reshape(len(self.classes), len(self.transforms), -1)

    @property
    def scatter(self) -> Array:
        """The sum of squares about the means, (k, t, d)."""
        return self.moments.scatter.reshape(self.mean.shape)

    @property
    def observed(self) -> Array:
        """The weight of the rows that have each column, (k, d)."""
        return np.broadcast_to(self.moments.column_weight, self.moments.mean.shape)[:, : self.n_features]

    @classmethod
    def zeros(cls, classes: Any, n_features: int, transforms: tuple[str, ...] = ("identity",)) -> Self:
        """The identity of addition over a vocabulary."""
        return cls(transforms, MomentStats.zeros(classes, len(transforms) * n_features))

    @classmethod
    def of(cls, batch: Batch, transforms: tuple[str, ...], support: Support, family: str) -> Self:  # type: ignore[override]
        """The statistic of one batch of labelled rows, hard or soft. Missing cells are skipped, and cells outside the
        support are refused in the name of a family."""
        choices = _Choices(transforms, support, family)
        return by_class(batch, partial(cls._of_table, choices=choices), partial(cls._of_shares, choices=choices))

    @classmethod
    def _of_table(cls, table: Table, classes: Array, code: Array, weight: Array | None, choices: _Choices) -> Self:
        total = cls.zeros(classes, table.n_features, choices.transforms)
        for rows, Z in choices.transformed(table, weight):
            w = None if weight is None else weight[rows]
            part = MomentStats._of_table(Z, classes, code[rows], w, "diag", True)
            total = total._merged(cls(choices.transforms, part))
        if not total.is_finite():
            raise DataError("values are too large or too close to zero: their sums overflow; rescale them")
        return total

    @classmethod
    def _of_shares(
        cls, table: Table, classes: Array, share: Array, weight: Array | None, choices: _Choices
    ) -> Self | None:
        """The moments of softly labelled rows, all classes at once; None where this is not possible."""
        total = cls.zeros(classes, table.n_features, choices.transforms)
        for rows, Z in choices.transformed(table, weight):
            w = None if weight is None else weight[rows]
            part = MomentStats._of_shares(Z, classes, share[rows], w, "diag", True)
            if part is None:
                return None
            total = total._merged(cls(choices.transforms, part))
        return total if total.is_finite() else None

    def aligned(self, classes: Array) -> Self:
        return replace(self, moments=self.moments.aligned(classes))

    def _check_columns(self, other: Self) -> None:
        if self.transforms != other.transforms:
            raise StatisticsError(
                f"statistics of different families (of {', '.join(self.transforms)} and of "
                f"{', '.join(other.transforms)}) do not merge"
            )
        if self.n_features != other.n_features:
            raise StatisticsError(f"statistics of {self.n_features} and of {other.n_features} features do not merge")

    def faded(self, factor: float) -> Self:
        return replace(self, moments=_bounded(_unbounded(self.moments).faded(factor)))

    def _merged(self, other: Self) -> Self:
        return replace(self, moments=_bounded(_unbounded(self.moments)._merged(_unbounded(other.moments))))

    def _without(self, other: Self) -> Self:
        return replace(self, moments=_bounded(_unbounded(self.moments)._without(_unbounded(other.moments))))

    def is_finite(self) -> bool:
        return self.moments.is_finite()

    def is_faint_without(self, gone: Self, rest: Self, unweighted: Self) -> bool:
        return self.moments.is_faint_without(gone.moments, rest.moments, unweighted.moments)

    def to_arrays(self) -> dict[str, Array]:
        known = list(TRANSFORMS)
        return self.moments.to_arrays() | {"transforms": np.array([known.index(name) for name in self.transforms])}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        rest, known = dict(arrays), list(TRANSFORMS)
        places = np.asarray(rest.pop("transforms", ()))
        if places.ndim != 1 or places.dtype.kind != "i" or not np.isin(places, range(len(known))).all():
            raise StatisticsError(f"these are not the arrays of transformed moments: {sorted(arrays)}")
        moments = MomentStats.from_arrays(classes, rest)
        if not len(places) or moments.layout != "diag" or moments.n_features % len(places):
            raise StatisticsError(f"{len(places)} transforms do not fit {moments!r}")
        return cls(tuple(known[i] for i in places), moments)


@dataclass(frozen=True, slots=True)
class _Choices:
    """What is collected of a table."""

    transforms: tuple[str, ...]
    support: Support
    family: str

    def transformed(self, table: Table, weight: Array | None) -> Iterator[tuple[slice, Matrix]]:
        """Some rows at a time, and the functions of their cells; rows outside the support are an error."""
        step = max(256, _CELLS // (len(self.transforms) * table.n_features))
        for start in range(0, len(table), step):
            rows = slice(start, start + step)
            X, w = table[rows].floats().astype(np.float64, copy=False), None if weight is None else weight[rows]
            if not self.support.check(X, w):
                self.support.refuse(table, weight, self.family)
            yield rows, Matrix(transformed(X, self.transforms).reshape(len(X), -1))


def transformed(X: Array, transforms: tuple[str, ...]) -> Array:
    """The functions of each cell, (n, t, d); cells outside their domains are not looked at."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.stack([TRANSFORMS[name](X) for name in transforms], axis=1)


def _bounded(moments: MomentStats) -> MomentStats:
    fine = np.isfinite(moments.scatter)
    return moments if fine.all() else replace(moments, scatter=np.where(fine, moments.scatter, _MOST))


def _unbounded(moments: MomentStats) -> MomentStats:
    """With infinity again for what has overflowed, as arithmetic on the largest float would err."""
    over = moments.scatter >= _MOST
    return replace(moments, scatter=np.where(over, np.inf, moments.scatter)) if over.any() else moments
