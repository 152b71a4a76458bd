"""How often each category of each column was seen, class by class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, StatisticsError
from ..lines import counted
from ..tables import vocabulary as vocabularies
from ..tables.batch import Batch
from ..tables.labels import positions, same
from ..tables.table import CodedColumn, Matrix, Table, native
from .base import (
    are_weights,
    by_class,
    frozen,
    names_from_arrays,
    names_to_arrays,
    settle,
    spread,
    vocabulary,
)
from .by_name import StatisticsByName

Array = NDArray[Any]

_LEVEL = "level_"  # before the names of arrays of declared categories
CELLS = 1 << 22  # of a table by value at most
DIRECT = 1 << 12  # integers within so wide a range are counted by their value, without a vocabulary
_FEW_ROWS = 1 << 13  # whose columns are counted together: more of them would leave the cache


@dataclass(frozen=True, slots=True, eq=False)
class CategoryStats(StatisticsByName):
    """The weight of every category in every class; missing values are not counted.

    Parameters
    ----------
    classes : array of shape (k,)
        The sorted labels.
    weight : array of shape (k,)
        The total weight of each class.
    categories : tuple of arrays
        The sorted categories (v,) of each column.
    count : array of shape (k, sum of v)
        The weight of each category, column after column.
    names : tuple of str, optional
        The names of the columns.
    levels : tuple of arrays, optional
        The sorted categories of each column that its type declares, as pandas categoricals do, whether a row has them
        or not.

    Examples
    --------
    >>> import numpy as np
    >>> s = CategoryStats.of(Batch.of(np.array([["red"], ["blue"], ["red"]]), ["x", "x", "y"]))
    >>> s.categories
    (array(['blue', 'red'], dtype=object),)
    >>> s.count
    array([[1., 1.],
           [0., 1.]])
    """

    classes: Array
    weight: Array
    categories: tuple[Array, ...]
    count: Array
    names: tuple[str, ...] | None = None
    levels: tuple[Array, ...] | None = None

    sums: ClassVar[tuple[str, ...]] = ("weight", "count")

    def __post_init__(self) -> None:
        settle(self, "weight", "count")
        for categories in (*self.categories, *(self.levels or ())):
            frozen(categories)

    def __repr__(self) -> str:
        return (
            f"CategoryStats({len(self.classes)} classes, {self.n_features} features, "
            f"{self.count.shape[1]} categories, weight {counted(self.weight.sum())})"
        )

    @property
    def n_features(self) -> int:
        return len(self.categories)

    @property
    def single(self) -> Self:
        """The statistic itself: that of columns one by one, as a PairStats has it, too."""
        return self

    def category_kinds(self) -> dict[int, str]:
        kinds = map(vocabularies.kind_of, self.categories)
        return {j: kind for j, kind in enumerate(kinds) if kind is not None}

    @property
    def bounds(self) -> Array:
        """Where each column's categories begin and end in `count`, (d + 1,)."""
        return np.cumsum([0, *(len(v) for v in self.categories)])

    @classmethod
    def zeros(cls, classes: Any, n_features: int, names: tuple[str, ...] | None = None) -> Self:
        """Return the statistic of no rows.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Labels, in any order; there may be none.
        n_features : int
            The number of columns.
        names : tuple of str, optional
            The names of the columns.

        Returns
        -------
        CategoryStats
            The identity of addition.

        Examples
        --------
        >>> from suffice import CategoryStats
        >>> from suffice.tables.batch import Batch
        >>> batch = Batch.of([["red"], ["blue"]], ["a", "b"])
        >>> CategoryStats.zeros(["b", "a"], n_features=1) + CategoryStats.of(batch)
        CategoryStats(2 classes, 1 features, 2 categories, weight 2)
        """
        classes = vocabulary(classes)
        k, none = len(classes), tuple(np.empty(0, object) for _ in range(n_features))
        return cls(classes, np.zeros(k), none, np.zeros((k, 0)), names)

    @classmethod
    def of(cls, batch: Batch) -> Self:
        return by_class(batch, cls._of_table, cls._of_shares)

    @classmethod
    def _of_table(cls, table: Table, classes: Array, code: Array, weight: Array | None) -> Self:
        k = len(classes)
        total = np.bincount(code, weight, minlength=k).astype(np.float64)
        return cls._counted(table, classes, total, _Labelled(kernels.active.category_counts, code, weight, k))

    @classmethod
    def _of_shares(cls, table: Table, classes: Array, share: Array, weight: Array | None) -> Self:
        total = share.sum(axis=0) if weight is None else weight @ share
        labels = _Labelled(kernels.active.soft_category_counts, share, weight, len(classes))
        return cls._counted(table, classes, total, labels)

    @classmethod
    def _counted(cls, table: Table, classes: Array, total: Array, labels: _Labelled) -> Self:
        integers = isinstance(table, Matrix) and table.values.dtype.kind in "iub"
        counted = _count_integers(table.values, labels) if integers and len(table) else None  # type: ignore[attr-defined]
        levels = None
        if counted is None:
            categories, count, levels = _count_columns(table, labels)
            counted = categories, count
        return cls(classes, total, *counted, table.names, levels)._trimmed()

    @classmethod
    def of_counts(
        cls, classes: Array, weight: Array, columns: Sequence[tuple[Array, Array]], names: tuple[str, ...] | None
    ) -> Self:
        """Return the statistic from distinct values and their weights.

        Parameters
        ----------
        classes : array of shape (k,)
            The sorted labels.
        weight : array of shape (k,)
            The total weight of each class.
        columns : sequence of pairs of arrays
            For each column its distinct values (v,), none of them missing, and their weights (k, v).
        names : tuple of str, optional
            The names of the columns.

        Returns
        -------
        CategoryStats
            The statistic of the rows behind them.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import CategoryStats
        >>> colour = np.array(["red", "blue"], object), np.array([[2.0, 1.0], [0.0, 4.0]])
        >>> stats = CategoryStats.of_counts(np.array(["x", "y"]), np.array([3.0, 4.0]), [colour], ("colour",))
        >>> stats.categories, stats.count
        ((array(['blue', 'red'], dtype=object),), array([[1., 2.],
               [4., 0.]]))
        """
        parts = [_categories(*column) for column in columns]
        return cls(
            classes, weight, tuple(part[0] for part in parts), np.concatenate([p[1] for p in parts], axis=1), names
        )

    def _trimmed(self) -> Self:
        """Return the statistic without categories that no row has."""
        kept = self.count.sum(axis=0) > 0
        if kept.all():
            return self
        columns = zip(self.categories, pairwise(self.bounds), strict=True)
        parts = tuple(v if kept[a:b].all() else v[kept[a:b]] for v, (a, b) in columns)
        return replace(self, categories=parts, count=self.count[:, kept])

    def with_declared(self, categories: Sequence[Array] = ()) -> Self:
        """Return the statistic with all categories that are declared, also those that no row has.

        Parameters
        ----------
        categories : sequence of arrays
            More categories of each column, in any order, beside those that types declare.

        Returns
        -------
        CategoryStats
            What probabilities are estimated from. Those categories are its `levels`.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import CategoryStats
        >>> from suffice.tables.batch import Batch
        >>> stats = CategoryStats.of(Batch.of([["red"], ["blue"]], ["x", "x"]))
        >>> stats = stats.with_declared([np.array(["green"], object)])
        >>> stats.categories, stats.count
        ((array(['blue', 'green', 'red'], dtype=object),), array([[1., 0., 1.]]))
        """
        levels = _union(self.levels, _levels(categories))
        if levels is None:
            return self
        wanted = tuple(map(vocabularies.union, self.categories, levels))
        return replace(self._over(wanted), levels=levels)

    def is_declared(self) -> Array:
        """Return which categories are declared, so that they stay when no row has them.

        Returns
        -------
        array of bool of shape (sum of v,)
            Column after column.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import CategoryStats
        >>> from suffice.tables.batch import Batch
        >>> stats = CategoryStats.of(Batch.of([["red"], ["blue"]], ["x", "x"]))
        >>> stats.with_declared([np.array(["green", "red"], object)]).is_declared()  # blue, green and red
        array([False,  True,  True])
        """
        if self.levels is None:
            return np.zeros(self.count.shape[1], bool)
        pairs = zip(self.categories, self.levels, strict=True)
        return np.concatenate([vocabularies.positions(own, levels) >= 0 for own, levels in pairs])

    def aligned(self, classes: Array) -> Self:
        if same(classes, self.classes):
            return self
        indices, k = positions(self.classes, classes), len(classes)
        return replace(
            self, classes=classes, weight=spread(self.weight, indices, k), count=spread(self.count, indices, k)
        )

    def _with_columns(self, names: tuple[str, ...], own: Mapping[str, int]) -> Self:
        bounds, none = self.bounds, np.empty(0, object)
        parts = [self.count[:, bounds[own[name]] : bounds[own[name] + 1]] for name in names if name in own]
        kept = tuple(self.categories[own[name]] if name in own else none for name in names)
        levels = self.levels and tuple(self.levels[own[name]] if name in own else none for name in names)
        return replace(self, categories=kept, count=np.concatenate(parts, axis=1), names=names, levels=levels)

    def _together(self, other: Self) -> tuple[Self, Self]:
        """Return both statistics, each over the columns and categories of both."""
        one, two = self._over_all_columns(other)
        both = (*one.categories, *two.categories)
        if both and all(categories.dtype.kind == "i" for categories in both):
            return one._with_whole_numbers_of(two)
        wanted = tuple(vocabularies.union(a, b) for a, b in zip(one.categories, two.categories, strict=True))
        return one._over(wanted), two._over(wanted)

    def _with_whole_numbers_of(self, other: Self) -> tuple[Self, Self]:
        """As `_together`, where all categories are whole numbers: all columns at once."""
        d, both = self.n_features, (self, other)
        column = np.concatenate([np.repeat(np.arange(d), np.diff(one.bounds)) for one in both])
        value = np.concatenate([*self.categories, *other.categories])
        order = np.lexsort((value, column))
        is_new = np.ones(len(order), bool)
        is_new[1:] = (column[order][1:] != column[order][:-1]) | (value[order][1:] != value[order][:-1])
        index, kept = np.empty(len(order), np.intp), order[is_new]
        index[order] = np.cumsum(is_new) - 1
        wanted = tuple(np.split(value[kept], np.searchsorted(column[kept], np.arange(1, d))))
        counts = [np.zeros((len(one.classes), len(kept))) for one in both]
        for one, count, own in zip(both, counts, np.split(index, [self.count.shape[1]]), strict=True):
            count[:, own] = one.count
        return replace(self, categories=wanted, count=counts[0]), replace(other, categories=wanted, count=counts[1])

    def _over(self, wanted: tuple[Array, ...]) -> Self:
        if all(map(vocabularies.same, self.categories, wanted)):
            return self
        starts = np.cumsum([0, *(len(v) for v in wanted)])
        count = np.zeros((len(self.classes), starts[-1]))
        for own, new, start, (a, b) in zip(self.categories, wanted, starts, pairwise(self.bounds), strict=False):
            # Names that were apart may be one by now: 1 and "1".
            _add_columns(count, start + vocabularies.positions(own, new), self.count[:, a:b])
        return replace(self, categories=wanted, count=count)

    def _merged(self, other: Self) -> Self:
        one, two = self._together(other)
        names = one.names if one.names is not None else two.names
        weight, count, levels = one.weight + two.weight, one.count + two.count, _union(one.levels, two.levels)
        return replace(one, weight=weight, count=count, names=names, levels=levels)

    def _without(self, other: Self) -> Self:
        one, two = self._together(other)
        count = one.count - two.count
        if (count < -1e-9 * np.maximum(one.count, 1.0)).any():
            raise StatisticsError(
                "cannot forget rows that were never learnt: the count of a category would be negative"
            )
        count[count <= 1e-12 * one.count] = 0.0
        weight = one.weight - two.weight
        weight[weight <= 1e-12 * one.weight] = 0.0
        room = weight + 1e-9 * np.maximum(one.weight, 1.0)
        if any((count[:, a:b].sum(axis=1) > room).any() for a, b in pairwise(one.bounds)):
            raise StatisticsError(
                "cannot forget rows that were never learnt: a column would have more categories than rows"
            )
        count[weight == 0] = 0.0
        return replace(one, weight=weight, count=count)._trimmed()

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.count).all() and np.isfinite(self.weight).all())

    def to_arrays(self) -> dict[str, Array]:
        arrays = {"weight": self.weight, "count": self.count, "n_features": np.array(self.n_features)}
        levels = {f"{_LEVEL}{name}": array for name, array in vocabularies.to_arrays(self.levels or ()).items()}
        return arrays | vocabularies.to_arrays(self.categories) | names_to_arrays(self.names) | levels

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        if not {"weight", "count", "n_features"} <= set(arrays):
            raise StatisticsError(f"these are not the arrays of category counts: {sorted(arrays)}")
        try:
            kept, names = vocabularies.from_arrays(arrays), names_from_arrays(arrays)
            weight, count = np.array(arrays["weight"], np.float64), np.array(arrays["count"], np.float64)
            levels = {name.removeprefix(_LEVEL): arrays[name] for name in arrays if name.startswith(_LEVEL)}
            declared = vocabularies.from_arrays(levels) if levels else None
            d = int(arrays["n_features"])
        except (KeyError, TypeError, ValueError) as error:
            raise StatisticsError(f"arrays of category counts are invalid: {error}") from None
        k, v = len(classes), sum(map(len, kept))
        fits = len(kept) == d and weight.shape == (k,) and count.shape == (k, v) and (names is None or len(names) == d)
        fits = fits and (declared is None or len(declared) == d)
        if not fits or not are_weights(weight, count):
            raise StatisticsError(f"arrays of {v} categories do not fit {k} classes with the rest, or are invalid")
        bounds = np.cumsum([0, *map(len, kept)])
        if any((count[:, a:b].sum(axis=1) > weight * (1 + 1e-9)).any() for a, b in pairwise(bounds)):
            raise StatisticsError("a column has more categories than rows")
        return cls(np.array(classes), weight, kept, count, names, declared)


def _levels(columns: Iterable[Array | None]) -> tuple[Array, ...] | None:
    """The sorted categories (v,) that each column declares; None where none does."""
    found = list(columns)
    if all(levels is None for levels in found):
        return None
    return tuple(np.empty(0, object) if own is None else vocabularies.vocabulary(own)[0] for own in found)


def _union(one: tuple[Array, ...] | None, two: tuple[Array, ...] | None) -> tuple[Array, ...] | None:
    """What two statistics of the same columns declare."""
    if one is None or two is None:
        return two if one is None else one
    return tuple(map(vocabularies.union, one, two))


def _add_columns(count: Array, indices: Array, more: Array) -> None:
    """Add columns at their indices, some of which may be equal."""
    np.add.at(count.T, indices, more.T)


class _Labelled(NamedTuple):
    """Labels of rows, hard or soft, and the kernel that counts their categories."""

    kernel: Callable[[Array, Array, Array | None, Array, Array, Array], int]
    label: Array  # (n,) codes, or (n, k) shares
    weight: Array | None
    k: int

    def add(self, values: Array, start: int, lo: Array, width: Array, table: Array) -> int:
        """Add rows from `start` on to a table; return how many fit."""
        weight = None if self.weight is None else self.weight[start:]
        return self.kernel(values[start:], self.label[start:], weight, lo, width, table)


def _count_columns(table: Table, labels: _Labelled) -> tuple[tuple[Array, ...], Array, tuple[Array, ...] | None]:
    """Categories (v,) of each column, their weights (k, sum of v), and the values that types declare, if some do."""
    columns = table.columns()
    coded = [_named(column.coded, table.column_name(j)) for j, column in enumerate(columns)]
    width = np.array([1 + len(distinct) for distinct, _ in coded])
    ends, count, parts = np.cumsum(width), np.zeros((int(width.sum()), labels.k)), []
    at_once = len(coded) if len(table) <= _FEW_ROWS else 1
    for j in range(0, len(coded), at_once):
        codes, own = np.stack([code for _, code in coded[j : j + at_once]], axis=1), width[j : j + at_once]
        labels.add(codes, 0, np.full(len(own), -1), own, count[ends[j] - width[j] : ends[j] + own[1:].sum()])
    for j, (column, (distinct, _)) in enumerate(zip(columns, coded, strict=True)):
        own = count[ends[j] - width[j] + 1 : ends[j]].T  # without missing values
        is_settled = isinstance(column, CodedColumn) and column.settled
        parts.append((distinct, own) if is_settled else _named(_categories, table.column_name(j), distinct, own))
    declared = (distinct if column.declares else None for column, (distinct, _) in zip(columns, coded, strict=True))
    return tuple(v for v, _ in parts), np.concatenate([own for _, own in parts], axis=1), _levels(declared)


def _named(work: Callable[..., tuple[Array, Array]], name: str, *values: Array) -> tuple[Array, Array]:
    """Call a function. An error names the column."""
    try:
        return work(*values)
    except DataError as error:
        raise DataError(f"column {name}: {error}") from None


def _categories(distinct: Array, count: Array) -> tuple[Array, Array]:
    """Categories (v,) of distinct values, and their weights (k, v) from those of the values."""
    counted = count.any(axis=0)  # what only rows of weight zero have need not be a category
    categories, index = vocabularies.vocabulary(distinct[counted])
    out = np.zeros((len(count), len(categories)))
    _add_columns(out, index, count[:, counted])
    return categories, out


def _count_integers(X: Array, labels: _Labelled) -> tuple[tuple[Array, ...], Array] | None:
    """Categories and counts of a matrix of integers, or None where they lie too far apart to be counted by value."""
    n, k, boolean = len(X), labels.k, X.dtype.kind == "b"
    values = X.view(np.uint8) if boolean else native(X)
    lo, width = np.zeros(X.shape[1], np.int64), np.zeros(X.shape[1], np.int64)
    table, start = np.zeros((0, k)), 0
    while start < n:
        # The first rows usually show all there is; a row that does not fit widens the table to what follows.
        following = values[start : start + 4096] if start == 0 else values[start:]
        least, most = following.min(axis=0), following.max(axis=0)
        if start:
            least, most = np.minimum(least, lo), np.maximum(most, lo + width - 1)
        spans = [int(b) - int(a) + 1 for a, b in zip(least, most, strict=True)]
        if (
            max(spans) > DIRECT
            or sum(spans) * k > CELLS
            or int(most.max()) >= 1 << 53
            or int(least.min()) <= -(1 << 53)
        ):
            return None
        table = _widened(table, lo, width, least.astype(np.int64), np.array(spans))
        lo, width = least.astype(np.int64), np.array(spans)
        start += labels.add(values, start, lo, width, table)
    parts = tuple(np.arange(a, a + v) for a, v in zip(lo, width, strict=True))
    return tuple(part.astype(bool) for part in parts) if boolean else parts, np.ascontiguousarray(table.T)


def _widened(table: Array, lo: Array, width: Array, new_lo: Array, new_width: Array) -> Array:
    """Counts (sum of width, k) over wider ranges."""
    out = np.zeros((int(new_width.sum()), table.shape[1]))
    starts, new_starts = np.cumsum(width) - width, np.cumsum(new_width) - new_width
    for j in np.flatnonzero(width):
        first = new_starts[j] + lo[j] - new_lo[j]
        out[first : first + width[j]] = table[starts[j] : starts[j] + width[j]]
    return out
