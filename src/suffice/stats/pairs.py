"""How often two categories of two columns were seen together, class by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, StatisticsError, listed
from ..lines import counted
from ..tables import vocabulary as vocabularies
from ..tables.batch import Batch
from ..tables.labels import positions, same
from ..tables.table import Matrix, Table, native
from .base import Statistics, are_weights, by_class, frozen, settle, spread
from .categories import CategoryStats

Array = NDArray[Any]

CELLS = 1 << 23  # of all pairs of columns together, 64 MiB: each pair has an equal share,
LEAST = 1 << 12  # but may always take as many as this
CELLS_OF_PAIR = 1 << 20  # of each pair that somebody named


@dataclass(frozen=True, slots=True, eq=False)
class PairStats(Statistics):
    """The weight of every two categories of pairs of columns, beside that of every single category.

    A row is counted for a pair if neither of the two cells is missing. All pairs together have at most 2^23 cells
    (64 MiB). A pair whose table is larger than its equal share of these, and than 2^12 cells, is left out, and stays
    so. Where the rest is still too much, columns are paired with those that are next to them.

    Parameters
    ----------
    single : CategoryStats
        How often each category was seen.
    pairs : array of int of shape (m, 2)
        The pairs of columns that are counted, by index, sorted; the smaller index comes first.
    count : array of shape (k, cells)
        The weight of every two categories, pair after pair, by the category of the first column and then of the second.
    every : bool, default=True
        Whether all pairs of columns are counted, but for those that are left out.

    Examples
    --------
    >>> import numpy as np
    >>> cats = np.array([["black", "green"], ["black", "blue"], ["white", "blue"], ["white", "blue"]])
    >>> s = PairStats.of(Batch.of(cats, ["x", "x", "x", "y"]))
    >>> s.of_pair(0, 1)[0]
    array([[1., 1.],
           [1., 0.]])
    """

    single: CategoryStats
    pairs: Array
    count: Array
    every: bool = True
    bounds: Array = field(init=False, repr=False)  # where the cells of each pair begin and end in `count`, (m + 1,)

    sums: ClassVar[tuple[str, ...]] = ("single", "count")

    def __post_init__(self) -> None:
        settle(self, "count")
        frozen(self.pairs)
        object.__setattr__(self, "bounds", frozen(_bounds(self.single, self.pairs)))

    def __repr__(self) -> str:
        return (
            f"PairStats({len(self.classes)} classes, {self.n_features} features, {len(self.pairs)} pairs, "
            f"{self.count.shape[1]} cells, weight {counted(self.weight.sum())})"
        )

    @property
    def classes(self) -> Array:  # type: ignore[override]
        """The sorted labels, (k,)."""
        return self.single.classes

    @property
    def weight(self) -> Array:  # type: ignore[override]
        """The total weight of each class, (k,)."""
        return self.single.weight

    @property
    def names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The names of the columns, if they have any."""
        return self.single.names

    @property
    def n_features(self) -> int:
        return self.single.n_features

    @property
    def categories(self) -> tuple[Array, ...]:
        """The sorted categories (v,) of each column."""
        return self.single.categories

    def category_kinds(self) -> dict[int, str]:
        return self.single.category_kinds()

    def of_pair(self, i: int, j: int) -> Array:
        """Return the weight of every two categories of two columns.

        Parameters
        ----------
        i, j : int
            The indices of the columns, in any order.

        Returns
        -------
        array of shape (k, v_i, v_j)
            By class, category of the first column and category of the second; KeyError where the pair is not counted.

        Examples
        --------
        >>> from suffice import PairStats
        >>> from suffice.tables.batch import Batch
        >>> cats = [["black", "green"], ["black", "blue"], ["white", "blue"], ["white", "blue"]]
        >>> PairStats.of(Batch.of(cats, ["x"] * 4)).of_pair(1, 0)  # by eyes (blue, green) and fur (black, white)
        array([[[1., 2.],
                [1., 0.]]])
        """
        first = slice(*np.searchsorted(self.pairs[:, 0], [min(i, j), min(i, j) + 1]))
        at = first.start + int(np.searchsorted(self.pairs[first, 1], max(i, j)))
        if at == first.stop or self.pairs[at, 1] != max(i, j):
            raise KeyError((i, j))
        table = self._table(at)
        return table if i < j else np.swapaxes(table, 1, 2)

    def tables(self) -> Iterator[Array]:
        """Return the weight of every two categories of each pair, in the order of `pairs`.

        Returns
        -------
        iterator of arrays of shape (k, v_i, v_j)
            By class, category of the first column and category of the second.

        Examples
        --------
        >>> from suffice import PairStats
        >>> from suffice.tables.batch import Batch
        >>> stats = PairStats.of(Batch.of([["a", 1, True], ["b", 1, True]], ["x", "x"]))
        >>> [table.shape for table in stats.tables()]
        [(1, 2, 1), (1, 2, 1), (1, 1, 1)]
        """
        return map(self._table, range(len(self.pairs)))

    def _table(self, at: int) -> Array:
        i, j = self.pairs[at]
        shape = len(self.classes), len(self.categories[i]), len(self.categories[j])
        return self.count[:, self.bounds[at] : self.bounds[at + 1]].reshape(shape)

    def _cells(self) -> tuple[Array, Array, Array]:
        """Return what the cells of `count` are of.

        Returns
        -------
        pair : array of int of shape (cells,)
            The index of the pair of each cell.
        first, second : arrays of int of shape (cells,)
            The indices of the categories of its two columns.
        """
        bounds = self.bounds
        pair = np.repeat(np.arange(len(self.pairs)), np.diff(bounds))
        within = np.arange(len(pair)) - bounds[pair]
        width = np.diff(self.single.bounds)[self.pairs[:, 1]][pair]
        return pair, *np.divmod(within, np.maximum(width, 1))

    def margins(self) -> Iterator[tuple[Array, Array, Array]]:
        """Yield the weight of every single category in each pair: those of the first columns, then of the second.

        Yields
        ------
        pair : array of int of shape (n,)
            The index of the pair.
        category : array of int of shape (n,)
            The index of the category among those of all columns.
        weight : array of shape (k, n)
            Its weight in the rows that have both cells.

        Examples
        --------
        >>> from suffice import PairStats
        >>> from suffice.tables.batch import Batch
        >>> stats = PairStats.of(Batch.of([["a", "c"], ["b", "c"], ["b", None]], ["x"] * 3))
        >>> for pair, category, weight in stats.margins():
        ...     print(pair, category, weight)
        [0 0] [0 1] [[1. 1.]]
        [0] [2] [[2.]]
        """
        pair, *codes = self._cells()
        start, width = self.single.bounds[self.pairs], np.diff(self.single.bounds)[self.pairs]
        for side, code in enumerate(codes):
            own, ends = width[:, side], np.cumsum(width[:, side])
            which, at = np.repeat(np.arange(len(own)), own), (ends - own)[pair] + code
            category = np.arange(len(which)) - (ends - own - start[:, side])[which]
            yield which, category, np.array([np.bincount(at, count, len(which)) for count in self.count])

    def indices(self, pairs: Any) -> Array:
        """Return the indices of pairs of columns among those that are counted.

        Parameters
        ----------
        pairs : array-like of int of shape (m, 2)
            The indices of the columns, the smaller one first.

        Returns
        -------
        array of int of shape (m,)
            -1 for pairs that are not counted.

        Examples
        --------
        >>> from suffice import PairStats
        >>> stats = PairStats.zeros(["x"], n_features=3, pairs=[(0, 1), (1, 2)])
        >>> stats.indices([(1, 2), (0, 2)])
        array([ 1, -1])
        """
        return _positions(np.reshape(pairs, (-1, 2)).astype(np.int64), self.pairs, self.n_features)

    def counts(self, pairs: Sequence[tuple[int, int]] | None) -> bool:
        """Return whether pairs of columns are counted, or too large to be.

        Parameters
        ----------
        pairs : sequence of pairs of int, or None
            The indices of the columns, the smaller one first; None for all pairs.

        Returns
        -------
        bool
            False where rows have to be read again to count them.

        Examples
        --------
        >>> from suffice import PairStats
        >>> stats = PairStats.zeros(["x"], n_features=3, pairs=[(0, 1), (1, 2)])
        >>> stats.counts([(0, 1)]), stats.counts([(0, 2)])
        (True, False)
        """
        if self.every or pairs is None:
            return self.every
        asked = _sorted(pairs, self.n_features)
        fits = _fits(self.single, asked, every=False)
        return bool((self.indices(asked[fits]) >= 0).all())

    def left_out(self) -> list[tuple[int, int]]:
        """Return the pairs that are not counted because their tables would be too large.

        Returns
        -------
        list of tuple of int
            Pairs of indices of columns; empty if only some pairs were asked for.

        Examples
        --------
        >>> from suffice import PairStats
        >>> from suffice.tables.batch import Batch
        >>> rows = [[f"row {i}", f"name {i}", i % 2] for i in range(3000)]
        >>> PairStats.of(Batch.of(rows, ["x"] * 3000)).left_out()  # nine million cells
        [(0, 1)]
        """
        if not self.every:
            return []
        every = _sorted(None, self.n_features)
        return [(i, j) for i, j in every[self.indices(every) < 0].tolist()]

    @classmethod
    def zeros(
        cls,
        classes: Any,
        n_features: int,
        names: tuple[str, ...] | None = None,
        pairs: Sequence[tuple[int, int]] | None = None,
    ) -> Self:
        """Return the statistic of no rows.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Labels, in any order; there may be none.
        n_features : int
            The number of columns.
        names : tuple of str, optional
            The names of the columns.
        pairs : sequence of pairs of int, optional
            The indices of the pairs of columns; all of them unless given.

        Returns
        -------
        PairStats
            The identity of addition.

        Examples
        --------
        >>> from suffice import PairStats
        >>> PairStats.zeros(["b", "a"], n_features=3)
        PairStats(2 classes, 3 features, 3 pairs, 0 cells, weight 0)
        """
        single = CategoryStats.zeros(classes, n_features, names)
        return cls(single, _sorted(pairs, n_features), np.zeros((len(single.classes), 0)), pairs is None)

    @classmethod
    def of(cls, batch: Batch, pairs: Sequence[tuple[int, int]] | None = None) -> Self:
        return by_class(batch, partial(cls._of_table, pairs))

    @classmethod
    def _of_table(
        cls,
        asked: Sequence[tuple[int, int]] | None,
        table: Table,
        classes: Array,
        code: Array,
        weight: Array | None,
    ) -> Self:
        single = CategoryStats._of_table(table, classes, code, weight)
        pairs = _sorted(asked, single.n_features)
        pairs = pairs[_fits(single, pairs, asked is None)]
        count = np.zeros((len(classes), int(_bounds(single, pairs)[-1])))
        if len(pairs):
            values, lo = _coded(table, single.categories)
            width = np.array([len(own) for own in single.categories], np.int64)
            kernels.active.pair_counts(values, code, weight, lo, width, pairs, count)
        return cls(single, pairs, count, asked is None)

    def with_declared(self, categories: Sequence[Array] = ()) -> Self:
        """Return the statistic with all categories that are declared, also those that no row has.

        Parameters
        ----------
        categories : sequence of arrays
            More categories of each column, in any order, beside those that types declare.

        Returns
        -------
        PairStats
            What probabilities are estimated from. Pairs whose tables become too large are left out.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import PairStats
        >>> from suffice.tables.batch import Batch
        >>> stats = PairStats.of(Batch.of([["a", "c"], ["b", "c"]], ["x", "x"]))
        >>> stats.with_declared([np.array([], object), np.array(["d"], object)]).of_pair(0, 1)
        array([[[1., 0.],
                [1., 0.]]])
        """
        single = self.single.with_declared(categories)
        if single is self.single:
            return self
        pairs = self.pairs[_fits(single, self.pairs, self.every)]
        return replace(self, single=single, pairs=pairs, count=self._over(single, pairs))

    def aligned(self, classes: Array) -> Self:
        if same(classes, self.classes):
            return self
        count = spread(self.count, positions(self.classes, classes), len(classes))
        return replace(self, single=self.single.aligned(classes), count=count)

    def _check_columns(self, other: Self) -> None:
        self.single._check_columns(other.single)

    def _pairs_with(self, other: Self, both: CategoryStats) -> Array:
        """The pairs (m, 2) of the columns of both that are counted wherever both of their columns are."""
        if self.names == other.names and np.array_equal(self.pairs, other.pairs):
            pairs = self.pairs
        else:
            known = [(_places(one.single, both), one) for one in (self, other)]
            asked = np.concatenate([place[one.pairs] for place, one in known])
            every, d = self.every and other.every, both.n_features
            pairs = _sorted(None if every else asked.tolist(), d)
            for place, one in known:
                counted = _sorted(place[one.pairs].tolist(), d)
                both_known = np.isin(pairs, place).all(axis=1)
                pairs = pairs[~both_known | (_positions(pairs, counted, d) >= 0)]
        return np.asarray(pairs[_fits(both, pairs, self.every and other.every)])

    def _over(self, single: CategoryStats, pairs: Array) -> Array:
        """The counts (k, cells) of pairs of the columns and categories of another statistic."""
        bounds = _bounds(single, pairs)
        alike = self.names == single.names and np.array_equal(self.pairs, pairs)
        if alike and all(map(vocabularies.same, self.categories, single.categories)):
            return self.count
        column = _places(self.single, single)
        place = [
            vocabularies.positions(own, single.categories[j])
            for own, j in zip(self.categories, column.tolist(), strict=True)
        ]
        n, start = np.array([len(own) for own in single.categories], np.int64), self.single.bounds
        new = column[self.pairs]
        at = _positions(np.sort(new, axis=1), pairs, single.n_features)
        which, a, b = self._cells()
        flat = np.concatenate([np.empty(0, np.intp), *place])
        a, b = flat[start[self.pairs[which, 0]] + a], flat[start[self.pairs[which, 1]] + b]
        turned = (new[:, 0] > new[:, 1])[which]
        a, b = np.where(turned, b, a), np.where(turned, a, b)
        cell = bounds[at[which]] + a * n[new.max(axis=1)[which]] + b
        kept = (at[which] >= 0) & (a >= 0) & (b >= 0)
        # Names that were apart may be one by now, so that some cells are added up.
        added = [np.bincount(cell[kept], own[kept], int(bounds[-1])) for own in self.count]
        return np.array(added).reshape(len(self.classes), -1)

    def _merged(self, other: Self) -> Self:
        single = self.single._merged(other.single)
        pairs = self._pairs_with(other, single)
        count = self._over(single, pairs) + other._over(single, pairs)
        return replace(self, single=single, pairs=pairs, count=count, every=self.every and other.every)

    def _without(self, other: Self) -> Self:
        both, single = self.single._together(other.single)[0], self.single._without(other.single)
        pairs = self._pairs_with(other, both)
        before = self._over(both, pairs)
        count = before - other._over(both, pairs)
        if (count < -1e-9 * np.maximum(before, 1.0)).any():
            raise StatisticsError(
                "cannot forget rows that were never learnt: the count of two categories together would be negative"
            )
        count[count <= 1e-12 * before] = 0.0
        count[single.weight == 0] = 0.0
        rest = replace(self, single=both, pairs=pairs, count=count, every=self.every and other.every)
        return replace(rest, single=single, count=rest._over(single, pairs))

    def is_finite(self) -> bool:
        return self.single.is_finite() and bool(np.isfinite(self.count).all())

    def to_arrays(self) -> dict[str, Array]:
        own = {"pairs": self.pairs, "pair_count": self.count, "every": np.array(self.every)}
        return self.single.to_arrays() | own

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        single = CategoryStats.from_arrays(classes, arrays)
        if not {"pairs", "pair_count", "every"} <= set(arrays):
            raise StatisticsError(f"these are not the arrays of counts of pairs: {sorted(arrays)}")
        try:
            pairs, count = np.array(arrays["pairs"], np.int64), np.array(arrays["pair_count"], np.float64)
            every = bool(arrays["every"])
        except (TypeError, ValueError) as error:
            raise StatisticsError(f"arrays of counts of pairs are invalid: {error}") from None
        d = single.n_features
        fits = pairs.ndim == 2 and pairs.shape[1] == 2 and ((pairs >= 0) & (pairs < d)).all()
        if not fits or (pairs[:, 0] >= pairs[:, 1]).any() or (np.diff(pairs @ [d, 1]) <= 0).any():
            raise StatisticsError(f"pairs of {d} columns are out of range, or not in order")
        bounds = _bounds(single, pairs)
        if count.shape != (len(classes), bounds[-1]) or not are_weights(count):
            raise StatisticsError(f"the counts of {len(pairs)} pairs do not fit them, or are invalid")
        found = cls(single, pairs, count, every)
        for _, category, weight in found.margins():
            if (weight > single.count[:, category] * (1 + 1e-9)).any():
                raise StatisticsError("two categories were seen together more often than one of them")
        return found


def named_pairs(joint: Any, names: tuple[str, ...] | None, n_features: int) -> list[tuple[int, int]]:
    """Return the indices of pairs of columns that are given by name or index.

    Parameters
    ----------
    joint : sequence of pairs
        Each of two columns.
    names : tuple of str or None
        The names of the columns.
    n_features : int
        The number of columns.

    Returns
    -------
    list of tuple of int
        The smaller index comes first; DataError where a column is not known, or where pairs form a circle.
    """
    part = list(range(n_features))  # columns that depend on each other have the same number
    found = []
    for a, b in joint:
        i, j = sorted((_index(a, names, n_features), _index(b, names, n_features)))
        if part[i] == part[j]:
            raise DataError(
                f"joint={list(joint)!r} has a circle: {a!r} and {b!r} are joined already; leave one pair out"
            )
        part = [part[i] if own == part[j] else own for own in part]
        found.append((i, j))
    return found


def _index(column: Any, names: tuple[str, ...] | None, n_features: int) -> int:
    if isinstance(column, str) and names is not None and column in names:
        return names.index(column)
    if not isinstance(column, str) and -n_features <= column < n_features:
        return int(column) % n_features
    known = range(n_features) if names is None else names
    raise DataError(f"joint= names {column!r}, which is not a column of categories; these are {listed(known, 10)}")


def _sorted(pairs: Sequence[Any] | None, d: int) -> Array:
    """Pairs of d columns as an array (m, 2), sorted and each once; all of them for None."""
    if pairs is None:
        return np.stack(np.triu_indices(d, 1), axis=1).astype(np.int64)
    return np.array(sorted({tuple(sorted(pair)) for pair in pairs}), np.int64).reshape(-1, 2)


def _positions(pairs: Array, among: Array, d: int) -> Array:
    """The index of each pair (m, 2) of d columns among others, which are sorted; -1 where it is none of them."""
    wanted, known = (own[:, 0] * d + own[:, 1] for own in (pairs, among))
    if not len(known):
        return np.full(len(wanted), -1)
    at = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    return np.where(known[at] == wanted, at, -1)


def _sizes(single: CategoryStats, pairs: Array) -> Array:
    width = np.array([len(own) for own in single.categories], np.int64)
    return np.asarray(width[pairs].prod(axis=1))


def _bounds(single: CategoryStats, pairs: Array) -> Array:
    return np.concatenate([[0], np.cumsum(_sizes(single, pairs))])


def _fits(single: CategoryStats, pairs: Array, every: bool) -> Array:
    """Which pairs (m,) have tables that are not too large. More rows never make them fit: so the order of merging
    does not matter."""
    k, d = max(len(single.classes), 1), single.n_features
    if not every:
        return np.asarray(_sizes(single, pairs) * k <= CELLS_OF_PAIR)
    whole = _sorted(None, d)
    most = max(CELLS // max(len(whole), 1), LEAST)
    cells = _sizes(single, whole) * k
    near = np.argsort(whole[:, 1] - whole[:, 0], kind="stable")
    reached = np.empty_like(cells)
    reached[near] = np.cumsum(np.minimum(cells, most)[near])  # also of those that are too large: these may grow
    return np.asarray(((cells <= most) & (reached <= CELLS))[_positions(pairs, whole, d)])


def _places(one: CategoryStats, among: CategoryStats) -> Array:
    """The index of each column of a statistic among those of another, (d,)."""
    if one.names is None or among.names is None or one.names == among.names:
        return np.arange(one.n_features)
    index = {name: j for j, name in enumerate(among.names)}
    return np.array([index[name] for name in one.names], np.intp)


def _coded(table: Table, categories: tuple[Array, ...]) -> tuple[Array, Array]:
    """Integers (n, d) and the lowest category of each column (d,): values as they are if these follow each other,
    and else the indices of categories, with -1 for anything else."""
    if isinstance(table, Matrix) and table.values.dtype.kind in "iub":
        follow = all(len(own) and int(own[-1]) - int(own[0]) + 1 == len(own) for own in categories)
        if follow:
            return native(table.values), np.array([int(own[0]) for own in categories], np.int64)
    out = np.empty((len(table), len(categories)), np.int32)
    for j, column in enumerate(table.columns()):
        distinct, code = column.coded()
        index = vocabularies.CategoryIndex(categories[j]).of(distinct)
        out[:, j] = np.append(index, -1)[code]
    return out, np.zeros(len(categories), np.int64)
