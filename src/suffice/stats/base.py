"""The contract of every sufficient statistic.

A statistic is an immutable value: arrays with a leading class axis. It holds sums over rows, and no choices: no
prior, no smoothing, no divisor.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StatisticsError, listed
from ..tables.batch import Batch
from ..tables.features import Feature
from ..tables.labels import SoftLabels, are_booleans, encode, positions, union
from ..tables.table import Table
from ..tables.vocabulary import words_from_arrays, words_to_arrays

Array = NDArray[Any]


FAINT = 1e-6  # less than this share of what was there has lost too many digits by subtraction


class Statistics(ABC):
    """The base class of statistics. Adding two statistics gives the statistic of the rows of both; subtracting
    removes rows."""

    classes: Array  # (k,) sorted labels
    weight: Array  # (k,) total weight of each class
    names: tuple[str, ...] | None = None  # of the columns, where they are kept
    kinds: ClassVar[dict[str, type[Statistics]]] = {}  # all there are, by name: files name what they hold
    sums: ClassVar[tuple[str, ...]]  # the fields that are in proportion to the weights of the rows
    widens: ClassVar[type[Statistics] | None] = None  # a poorer statistic that `widened` makes one of this kind

    def __init_subclass__(cls, is_kind: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if is_kind:  # rather than what some kinds have in common
            Statistics.kinds[cls.__name__] = cls

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """Columns that are derived from those of the table, and have blocks of their own."""
        return ()

    @property
    def blocks(self) -> Mapping[str, tuple[int, ...]] | None:
        """The indices of the columns of each block, by name; None for a statistic that is not made of blocks."""
        return None

    def category_kinds(self) -> dict[int, str]:
        """Return what the categories of each column are.

        Returns
        -------
        dict of int to str
            "text", "numbers" or "Booleans", or "words" of a column of text, by the index of the column.

        Examples
        --------
        >>> from suffice import CategoricalClassifier
        >>> clf = CategoricalClassifier().fit([["red", True], ["blue", False]], ["x", "y"])
        >>> clf.statistics_.category_kinds()
        {0: 'text', 1: 'Booleans'}
        """
        return {}

    @classmethod
    @abstractmethod
    def zeros(cls, classes: Any, *args: Any, **kwargs: Any) -> Self:
        """The statistic of no rows: the identity of addition.

        Parameters
        ----------
        classes : array (k,)
            Labels, in any order; there may be none.
        *args, **kwargs
            What else the statistic depends on: the number of columns, a layout.

        Returns
        -------
        Statistics
            The identity of addition.
        """

    @classmethod
    def expected(cls, statistics: Any, by: str) -> Self:
        """Return a statistic of this kind as it is, or raise an error.

        Parameters
        ----------
        statistics : Statistics
            Any statistic.
        by : str
            Who needs it, for the message.

        Returns
        -------
        Statistics
            The same object.

        Examples
        --------
        >>> from suffice import CountStats, MomentStats
        >>> moments = MomentStats.zeros(["a", "b"], n_features=2)
        >>> MomentStats.expected(moments, "an LDA") is moments
        True
        >>> CountStats.expected(moments, "a Poisson density")
        Traceback (most recent call last):
        suffice.errors.DataError: a Poisson density must be estimated from CountStats, not from MomentStats(...)
        """
        if not isinstance(statistics, cls):
            raise DataError(f"{by} must be estimated from {cls.__name__}, not from {statistics!r}")
        return statistics

    def plain(self) -> Statistics:
        """Return the statistic in the form that adds up with other kinds of statistics.

        Returns
        -------
        Statistics
            Of the same rows.

        Examples
        --------
        >>> from suffice.stats import WideMomentStats
        >>> wide = WideMomentStats.zeros(["a", "b"], n_features=100)
        >>> wide.plain()
        MomentStats(full, 2 classes, 100 features, weight 0)
        """
        return self

    @classmethod
    def widened(cls, poorer: Any) -> Self:
        """Return a poorer statistic as one of this kind.

        Parameters
        ----------
        poorer : Statistics
            Of the kind `widens`.

        Returns
        -------
        Statistics
            Of the same rows.

        Examples
        --------
        >>> from suffice.stats import MomentStats, PatternStats
        >>> PatternStats.widened(MomentStats.zeros(["a", "b"], n_features=3, layout="full"))
        PatternStats(full, 2 classes, 3 features, weight 0, 0 patterns of missing cells)
        """
        raise StatisticsError(f"{poorer!r} cannot be held by a {cls.__name__}")

    @classmethod
    @abstractmethod
    def of(cls, batch: Batch) -> Self:
        """The statistic of one batch of labelled rows.

        Parameters
        ----------
        batch : Batch
            Rows with labels, and weights where they have any.

        Returns
        -------
        Statistics
            What is kept of the rows.

        Examples
        --------
        >>> from suffice import CategoryStats
        >>> from suffice.tables.batch import Batch
        >>> stats = CategoryStats.of(Batch.of([["red"], ["blue"], ["red"]], ["x", "x", "y"]))
        >>> stats.categories, stats.count
        ((array(['blue', 'red'], dtype=object),), array([[1., 1.],
               [0., 1.]]))
        """

    @abstractmethod
    def aligned(self, classes: Array) -> Self:
        """The same statistic over more classes, empty for those it did not have.

        Parameters
        ----------
        classes : array (k,)
            Sorted labels, those of this statistic among them.

        Returns
        -------
        Statistics
            The statistic over these classes.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import MomentStats
        >>> moments = MomentStats.from_sums([2], [[4.0]], [[10.0]], classes=["b"])
        >>> moments.aligned(np.array(["a", "b"])).weight
        array([0., 2.])
        """

    @abstractmethod
    def _merged(self, other: Self) -> Self:
        """The sum; both have the same classes and columns."""

    @abstractmethod
    def _without(self, other: Self) -> Self:
        """The difference; both have the same classes and columns, and self is heavier."""

    @abstractmethod
    def _check_columns(self, other: Self) -> None:
        """Raise StatisticsError where the columns of the two differ."""

    def _check_n_features(self, other: Statistics) -> None:
        if self.n_features != other.n_features:
            raise StatisticsError(f"statistics of {self.n_features} and of {other.n_features} columns cannot be merged")

    @abstractmethod
    def is_finite(self) -> bool:
        """Whether no NaN or infinity came in with the rows.

        Returns
        -------
        bool
            False where the statistic is of no use.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> from suffice.tables.batch import Batch
        >>> MomentStats.of(Batch.of([[1.0], [float("nan")]], ["x", "x"])).is_finite()
        False
        """

    def is_faint_without(self, gone: Self, rest: Self, unweighted: Self) -> bool:  # noqa: ARG002
        """Whether so little is left after a subtraction that its digits may be lost.

        Parameters
        ----------
        gone : Statistics
            What was taken away, over the same classes.
        rest : Statistics
            What is left: ``self - gone``.
        unweighted : Statistics
            The statistic of all rows with weight one each.

        Returns
        -------
        bool
            True where the rest should be collected again from its rows.

        Examples
        --------
        >>> from suffice import CountStats
        >>> every, most, half = (CountStats(["x"], [n], [[n]]) for n in (1e9, 1e9 - 1, 5e8))
        >>> every.is_faint_without(most, every - most, every), every.is_faint_without(half, every - half, every)
        (True, False)
        """
        return bool(faint(self.weight, gone.weight).any())

    @abstractmethod
    def to_arrays(self) -> dict[str, Array]:
        """Return everything but the classes, by name.

        Returns
        -------
        dict of str to array
            To move the statistic across processes and into files.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> MomentStats.from_sums(2, [4.0], [10.0]).to_arrays()
        {'weight': array([2.]), 'mean': array([[2.]]), 'scatter_diag': array([[2.]])}
        """

    @classmethod
    @abstractmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        """Return the statistic of the arrays of `to_arrays`.

        Parameters
        ----------
        classes : array of shape (k,)
            The sorted labels.
        arrays : mapping of str to array
            What `to_arrays` returned.

        Returns
        -------
        Statistics
            The same statistic; StatisticsError where the arrays do not fit together.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import MomentStats
        >>> arrays = MomentStats.from_sums([2], [[4.0]], [[10.0]]).to_arrays()
        >>> MomentStats.from_arrays(np.array(["x"]), arrays)
        MomentStats(diag, 1 classes, 1 features, weight 2)
        """

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            alike = of_one_kind(self, other)
            return NotImplemented if alike is None else alike[0] + alike[1]
        self._check_columns(other)
        if len(self.classes) and len(other.classes) and are_booleans(self.classes) != are_booleans(other.classes):
            raise StatisticsError(
                f"classes {listed(self.classes)} and {listed(other.classes)} are of different types and cannot be "
                "merged"
            )
        classes = union(self.classes, other.classes)
        return self.aligned(classes)._merged(other.aligned(classes))

    def plus(self, *others: Self) -> Self:
        """Return the sum of this statistic and others; this may be faster than adding them one by one.

        Parameters
        ----------
        *others : Statistics
            Statistics of the same kind.

        Returns
        -------
        Statistics
            The statistic of all rows.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> one, two, three = (MomentStats.from_sums(1, [x], [x**2]) for x in (1.0, 2.0, 6.0))
        >>> one.plus(two, three).mean
        array([[3.]])
        """
        return reduce(operator.add, others, self)

    def faded(self, factor: float) -> Self:
        """Return the statistic of the same rows with smaller weights.

        Parameters
        ----------
        factor : float
            What each weight is multiplied by; above 0.

        Returns
        -------
        Statistics
            With the same means and shares.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> old, new = MomentStats.from_sums(2, [0.0], [8.0]), MomentStats.from_sums(2, [6.0], [26.0])
        >>> (old.faded(0.5) + new).mean  # the old rows count half
        array([[2.]])
        """
        return replace(self, **{name: _times(getattr(self, name), factor) for name in self.sums})  # type: ignore[type-var]

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            alike = of_one_kind(self, other)
            return NotImplemented if alike is None else alike[0] - alike[1]
        self._check_columns(other)
        unknown = other.classes[(positions(other.classes, self.classes) < 0) & (other.weight > 0)]
        if len(unknown):
            raise StatisticsError(f"cannot forget rows of class {listed(unknown)}: it was never learnt")
        other = other.aligned(union(self.classes, other.classes))
        mine = self.aligned(other.classes)
        short = other.weight > mine.weight * (1 + 1e-9)
        if short.any():
            raise StatisticsError(
                f"cannot forget more than was learnt: class {listed(other.classes[short])} has weight "
                f"{listed(mine.weight[short])}, and weight {listed(other.weight[short])} should be forgotten"
            )
        return mine._without(other)


def _times(sums: Any, factor: float) -> Any:
    if sums is None:
        return None
    if isinstance(sums, Statistics):
        return sums.faded(factor)
    if isinstance(sums, dict):
        return {name: _times(own, factor) for name, own in sums.items()}
    return sums * factor


def of_one_kind(one: Any, two: Any) -> tuple[Any, Any] | None:
    """Both statistics, or the poorer one as the richer kind; None where they cannot be added."""
    if type(one) is type(two):
        return one, two
    one, two = (each.plain() if isinstance(each, Statistics) else each for each in (one, two))
    if type(one) is type(two):
        return one, two
    if getattr(type(two), "widens", None) is type(one):
        return type(two).widened(one), two
    if getattr(type(one), "widens", None) is type(two):
        return one, type(one).widened(two)
    return None


_SOFT_ROWS = 4096  # of a soft-labelled batch, read once for each class while in the cache

S = TypeVar("S", bound=Statistics)


def by_class(
    batch: Batch,
    collect: Callable[[Table, Array, Array, Array | None], S],
    collect_soft: Callable[[Table, Array, Array, Array | None], S | None] = lambda *_: None,
) -> S:
    """``collect(table, classes, code, weight)`` of a batch of labelled rows, hard or soft.

    A soft label is one weight per class. ``collect_soft(table, classes, share, weight)`` takes all of them at once;
    where it returns None, the rows are collected class after class.
    """
    if batch.y is None:
        raise DataError("labels are needed to collect the statistics of classes")
    if not isinstance(batch.y, SoftLabels):
        return collect(batch.table, *(batch.coded or encode(batch.y)), batch.weight)
    classes, table, weight = batch.y.classes, batch.table, batch.weight
    share = np.ascontiguousarray(batch.y.responsibility, dtype=np.float64)
    if weight is not None and not weight.all():  # rows of weight zero are absent, whatever they hold
        kept = np.flatnonzero(weight)
        table, share, weight = table[kept], share[kept], weight[kept]
    found = collect_soft(table, classes, share, weight) if len(table) else None
    return _class_after_class(table, classes, share, weight, collect) if found is None else found


def _class_after_class(
    table: Table,
    classes: Array,
    share: Array,
    weight: Array | None,
    collect: Callable[[Table, Array, Array, Array | None], S],
) -> S:
    """The statistic of softly labelled rows from a collector of hard labels."""
    totals: list[S] = []
    for start in range(0, max(len(table), 1), _SOFT_ROWS):
        rows = slice(start, start + _SOFT_ROWS)
        some, same_class = table[rows], np.zeros(len(share[rows]), np.int32)
        own = share[rows] if weight is None else share[rows] * weight[rows, None]
        parts = [collect(some, classes[c : c + 1], same_class, w) for c, w in enumerate(own.T.copy())]
        totals = [a + b for a, b in zip(totals, parts, strict=True)] if totals else parts
    return totals[0].plus(*totals[1:])


def names_to_arrays(names: tuple[str, ...] | None) -> dict[str, Array]:
    """Names of columns as numbers, for `to_arrays`."""
    if names is None:
        return {}
    letters, ends = words_to_arrays(list(names))
    return {"names_letters": letters, "names_ends": ends}


def names_from_arrays(arrays: Mapping[str, Array]) -> tuple[str, ...] | None:
    """The inverse of `names_to_arrays`."""
    if not {"names_letters", "names_ends"} & set(arrays):
        return None
    if not {"names_letters", "names_ends"} <= set(arrays):
        raise StatisticsError("the names of the columns are incomplete")
    return tuple(words_from_arrays(arrays["names_letters"], arrays["names_ends"]))


def are_weights(*arrays: Array) -> bool:
    """Whether all numbers of a file can be weights or counts: finite, and not negative.

    >>> are_weights(np.ones(2), np.array([0.5, -1.0]))
    False
    """
    return all(bool(np.isfinite(array).all() and (array >= 0).all()) for array in arrays)


def spread(array: Array, indices: Array, k: int) -> Array:
    """Move the entries of a leading class axis to their indices among k classes."""
    out = np.zeros((k, *array.shape[1:]), dtype=array.dtype)
    out[indices] = array
    return out


def faint(before: Array, gone: Array) -> Array:
    """Return where so little is left, but not zero, that its digits are lost."""
    return np.asarray((before - gone < FAINT * before) & (before != gone))


def vocabulary(classes: Any) -> Array:
    """Sorted distinct labels."""
    return encode(np.asarray(classes))[0] if len(classes) else np.asarray(classes)


def settle(stats: Statistics, *names: str) -> None:
    """Make the classes and the fields of these names read-only arrays; users may have given lists."""
    if not isinstance(stats.classes, np.ndarray):
        classes = np.asarray(stats.classes)
        if not (classes[:-1] < classes[1:]).all():
            raise StatisticsError("classes must be distinct and sorted")
        object.__setattr__(stats, "classes", classes)
    for name in names:
        value = getattr(stats, name)
        if isinstance(value, list | tuple):
            value = np.array(value, np.float64)
            object.__setattr__(stats, name, value)
        if isinstance(value, np.ndarray):
            frozen(value)
    frozen(stats.classes)


def frozen(array: Array) -> Array:
    """The array, read-only from now on."""
    array.flags.writeable = False
    return array


def read_only(value: Any) -> Any:
    """An array, or the arrays of a tuple, as views through which nobody can write; anything else as it is. The arrays
    themselves may belong to somebody who goes on to write to them."""
    if isinstance(value, np.ndarray):
        return frozen(value.view()) if value.flags.writeable else value
    if type(value) is tuple:
        return tuple(map(read_only, value))
    return value
