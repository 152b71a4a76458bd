"""First and second moments of numeric columns with missing cells, by class and pattern of missing cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, PrecisionWarning, StatisticsError, as_parameter
from ..lines import counted
from ..tables.batch import Batch
from ..tables.labels import SoftLabels, encode, positions, same
from ..tables.missing import patterns, suspects
from ..tables.table import Sparse
from .base import Statistics, settle
from .moments import MomentStats

Array = NDArray[Any]

_DENSIFIED = 1 << 20  # cells of a sparse table that are made dense at a time
_CELLS = 1 << 26  # of scatter matrices at most: 512 MB
_Groups = tuple[Array, Array, Array, Array, Array]  # the pattern and the class of each, and their moments
_GROUP = "group_"  # begins the names of their arrays


@dataclass(frozen=True, slots=True, eq=False)
class PatternStats(Statistics):
    """Moments of the rows without missing cells, and of groups of rows that miss the same cells.

    The likelihood of Gaussian rows depends on nothing else, so that no second pass over the rows is needed to maximise
    it. Collectors give this statistic only where cells are missing; it adds up with the MomentStats of complete rows.

    Parameters
    ----------
    complete : MomentStats
        Of the rows without missing cells, in the full or the pooled layout.
    missing : array of bool of shape (m, d)
        The cells that the rows of each group miss; at least one.
    code : array of int of shape (m,)
        The index of the class of each group.
    groups : MomentStats
        Of the groups, in the full layout: their labels are 0 to m - 1. Zero for missing cells.

    Examples
    --------
    >>> rows = Batch.of([[1.0, 2.0], [3.0, np.nan], [5.0, np.nan]], ["x", "x", "x"])
    >>> stats = PatternStats.of(rows, "full")
    >>> stats
    PatternStats(full, 1 classes, 2 features, weight 3, 1 patterns of missing cells)
    >>> stats.complete.mean, stats.groups.mean
    (array([[1., 2.]]), array([[4., 0.]]))
    """

    complete: MomentStats
    missing: Array
    code: Array
    groups: MomentStats

    sums: ClassVar[tuple[str, ...]] = ("complete", "groups")
    widens: ClassVar[type[Statistics]] = MomentStats

    def __post_init__(self) -> None:
        settle(self, "missing", "code")

    def __repr__(self) -> str:
        size = f"{len(self.classes)} classes, {self.n_features} features, weight {counted(self.weight.sum())}"
        return f"PatternStats({self.layout}, {size}, {len(np.unique(self.missing, axis=0))} patterns of missing cells)"

    @property
    def classes(self) -> Array:  # type: ignore[override]
        return self.complete.classes

    @property
    def weight(self) -> Array:  # type: ignore[override]
        return self.complete.weight + self._by_class(self.groups.weight)

    @property
    def n_features(self) -> int:
        return self.complete.n_features

    @property
    def layout(self) -> str:
        """The layout of the moments of the complete rows."""
        return self.complete.layout

    @property
    def has_missing(self) -> bool:
        """Whether any cells are missing."""
        return len(self.code) > 0

    def _by_class(self, values: Array) -> Array:
        """The sums over the groups of each class, (k, ...)."""
        total = np.zeros((len(self.classes), *values.shape[1:]))
        np.add.at(total, self.code, values)
        return total

    @classmethod
    def widened(cls, poorer: Any) -> Self:
        """The same statistic, without any groups.

        Parameters
        ----------
        poorer : MomentStats
            Of complete rows.

        Returns
        -------
        PatternStats
            Of the same rows.
        """
        d = poorer.n_features
        empty = MomentStats.zeros(np.arange(0), d, "full")
        return cls(poorer, np.zeros((0, d), bool), np.zeros(0, np.intp), empty)

    @classmethod
    def zeros(cls, classes: Any, n_features: int, layout: str = "full") -> Self:
        """Return the statistic of no rows.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Labels, in any order; there may be none.
        n_features : int
            The number of columns.
        layout : {"full", "pooled"}
            What is kept of the second moments.

        Returns
        -------
        PatternStats
            The identity of addition.
        """
        return cls.widened(MomentStats.zeros(classes, n_features, layout))

    @classmethod
    def of(cls, batch: Batch, layout: str = "full") -> Self:
        """Return the statistic of one batch of labelled rows.

        Parameters
        ----------
        batch : Batch
            Rows with labels, hard or soft, and weights where they have any.
        layout : {"full", "pooled"}
            What is kept of the second moments of complete rows.

        Returns
        -------
        PatternStats
            What is kept of the rows.
        """
        if batch.y is None:
            raise DataError("labels are needed to collect the statistics of classes")
        step = max(1, _DENSIFIED // batch.table.n_features)
        if isinstance(batch.table, Sparse) and len(batch) > step:
            parts = [cls.of(batch.rows(slice(i, i + step)), layout) for i in range(0, len(batch), step)]
            return parts[0].plus(*parts[1:])
        X = batch.X
        rows = suspects(X)
        missing = np.isnan(np.take(X, rows, axis=0))
        incomplete = missing.any(axis=1)
        rows, missing = rows[incomplete], missing[incomplete]
        filled = np.take(X, rows, axis=0)
        filled[missing] = 0.0  # cells that nobody looks at, and that add nothing
        whole = np.delete(np.arange(len(X)), rows)
        weight = None if batch.weight is None else batch.weight[rows]
        if isinstance(batch.y, SoftLabels):
            complete = MomentStats.of(batch.rows(whole), layout)
            share = batch.y.responsibility[rows]
            return cls._of_groups(complete, missing, partial(_soft_groups, filled, share, weight))
        classes, code = batch.coded or encode(batch.y)
        w = None if batch.weight is None else batch.weight[whole]
        complete = MomentStats._of_table(batch.table[whole], classes, code[whole], w, layout, False)
        return cls._of_groups(complete, missing, partial(_hard_groups, filled, code[rows], weight))

    @classmethod
    def _of_groups(cls, complete: MomentStats, missing: Array, collect: Callable[[Array, int], _Groups]) -> Self:
        """The statistic of complete rows and of others (n, d), whose groups ``collect(pattern, patterns)`` makes."""
        if not len(missing):
            return cls.widened(complete)
        found, which = [], np.empty(len(missing), np.int32)
        for p, (pattern, rows) in enumerate(patterns(missing)):
            found.append(pattern)
            which[rows] = p
        pattern, code, weight, mean, scatter = collect(which, len(found))
        distinct = np.array(found)[pattern]
        some = np.flatnonzero(weight > 0)  # rows of weight zero are absent
        some = some[np.argsort(keys(distinct[some], code[some]), kind="stable")]
        groups = MomentStats(np.arange(len(some)), weight[some], mean[some], scatter[some], "full")
        return cls(complete, distinct[some], code[some], groups)

    def aligned(self, classes: Array) -> Self:
        if same(classes, self.classes):
            return self
        code = positions(self.classes, classes)[self.code]
        return replace(self, complete=self.complete.aligned(classes), code=code)

    def _check_columns(self, other: Self) -> None:
        self.complete._check_columns(other.complete)

    def _paired(self, other: Self) -> tuple[Array, Array, MomentStats, MomentStats]:
        """The missing cells and codes of the groups of both, and their moments over these groups."""
        missing, code = np.concatenate([self.missing, other.missing]), np.concatenate([self.code, other.code])
        _, first, index = np.unique(keys(missing, code), return_index=True, return_inverse=True)
        refuse_many(len(first), self.n_features)
        index, all_ = index.reshape(-1), np.arange(len(first))
        mine, theirs = index[: len(self.code)], index[len(self.code) :]
        one, two = replace(self.groups, classes=mine), replace(other.groups, classes=theirs)
        return missing[first], code[first], one.aligned(all_), two.aligned(all_)

    def _merged(self, other: Self) -> Self:
        missing, code, mine, theirs = self._paired(other)
        return replace(
            self,
            complete=self.complete._merged(other.complete),
            missing=missing,
            code=code,
            groups=mine._merged(theirs),
        )

    def _without(self, other: Self) -> Self:
        missing, code, mine, theirs = self._paired(other)
        if (theirs.weight > mine.weight * (1 + 1e-9)).any() or (
            other.complete.weight > self.complete.weight * (1 + 1e-9)
        ).any():
            raise StatisticsError("cannot forget rows that were never learnt: their missing cells do not match")
        complete = self.complete._without(other.complete)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # few rows of many may well be equal
            rest = mine._without(theirs)
        left = np.flatnonzero(rest.weight > 0)
        arrays = rest.weight[left], rest.mean[left], rest.scatter[left]
        groups = MomentStats(np.arange(len(left)), *arrays, "full")
        return replace(self, complete=complete, missing=missing[left], code=code[left], groups=groups)

    def to_layout(self, layout: str) -> PatternStats | MomentStats:
        """Convert to a layout that keeps less: "full" to "pooled" or "diag".

        Parameters
        ----------
        layout : {"diag", "pooled", "full"}
            What is kept of the second moments.

        Returns
        -------
        PatternStats or MomentStats
            Moments of each column over the rows that have it, in the diag layout; StatisticsError where the moments do
            not hold what the layout needs.
        """
        if not self.has_missing:  # any more
            return self.complete.to_layout(layout)
        if layout == "diag":
            weight, mean, squares = self.available()
            if self.layout != "full":
                self.complete.to_layout("diag")  # an error
            return MomentStats(self.classes, self.weight, mean, squares, "diag", observed=weight)
        return replace(self, complete=self.complete.to_layout(layout))

    def available(self) -> tuple[Array, Array, Array]:
        """Return the moments of each column over the rows that have it.

        Returns
        -------
        tuple of arrays (k, d), (k, d) and (k, d), or (1, d) in the pooled layout
            Weights, means, and sums of squares about the means, in the pooled layout of all classes together.
        """
        whole, n = self.complete, self.groups.weight[:, None] * ~self.missing
        weight = whole.weight[:, None] + self._by_class(n)
        safe = np.where(weight > 0, weight, 1.0)
        base = np.where(whole.weight[:, None] > 0, whole.mean, 0.0)
        if not whole.weight.all():  # near what there is of a class, lest digits are lost
            base = np.where(whole.weight[:, None] > 0, base, self._by_class(n * self.groups.mean) / safe)
        shift = np.where(self.missing, 0.0, self.groups.mean - base[self.code])
        mean = np.where(weight > 0, base + self._by_class(n * shift) / safe, 0.0)
        apart = np.where(self.missing, 0.0, self.groups.mean - mean[self.code])
        squares = self._by_class(self.groups.variation + n * apart**2)
        squares += whole.weight[:, None] * (whole.mean - mean) ** 2
        if self.layout == "pooled":
            squares = squares.sum(axis=0, keepdims=True)
        return weight, mean, squares + whole.variation

    def is_finite(self) -> bool:
        return self.complete.is_finite() and self.groups.is_finite()

    def to_arrays(self) -> dict[str, Array]:
        groups = self.groups
        own: dict[str, Array] = {"missing": self.missing.astype(np.uint8), "code": self.code.astype(np.int64)}
        own |= {"weight": groups.weight, "mean": groups.mean, "scatter": groups.scatter}
        return self.complete.to_arrays() | {f"{_GROUP}{name}": array for name, array in own.items()}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        own = {name.removeprefix(_GROUP): np.array(array) for name, array in arrays.items() if name.startswith(_GROUP)}
        complete = MomentStats.from_arrays(classes, {n: a for n, a in arrays.items() if not n.startswith(_GROUP)})
        if set(own) != {"missing", "code", "weight", "mean", "scatter"} or complete.layout not in ("full", "pooled"):
            raise StatisticsError(f"these are not the arrays of moments by missing cells: {sorted(arrays)}")
        missing, code, d = own["missing"], own["code"], complete.n_features
        fits = missing.ndim == 2 and missing.dtype == np.uint8 and missing.shape[1] == d and (missing <= 1).all()
        fits = fits and missing.any(axis=1).all()
        fits = fits and code.shape == (len(missing),) and code.dtype == np.int64
        fits = fits and ((code >= 0) & (code < len(classes))).all()
        if fits:
            order = np.argsort(key := keys(missing != 0, code), kind="stable")
            fits = (order == np.arange(len(order))).all() and len(np.unique(key)) == len(key)
        if not fits:
            raise StatisticsError("the groups of rows with missing cells do not fit the classes or the columns")
        named = {"weight": own["weight"], "mean": own["mean"], "scatter_full": own["scatter"]}
        groups = MomentStats.from_arrays(np.arange(len(missing)), named)
        unseen = missing != 0
        if groups.mean[unseen].any() or groups.scatter[unseen].any():
            raise StatisticsError("the moments of missing cells must be zero")
        return cls(complete, unseen, code.astype(np.intp), groups)


def _hard_groups(X: Array, code: Array, weight: Array | None, pattern: Array, n_patterns: int) -> _Groups:
    """Moments of rows by class and pattern: each pair that occurs is a class to the kernel."""
    pair = pattern.astype(np.int64) + code * np.int64(n_patterns)
    pairs = np.flatnonzero(np.bincount(pair))
    refuse_many(len(pairs), X.shape[1])
    index = np.empty(pair.max() + 1, np.int32)
    index[pairs] = np.arange(len(pairs))
    moments = kernels.active.full_moments(X, index[pair], weight, len(pairs), False)
    return pairs % n_patterns, pairs // n_patterns, *moments


def _soft_groups(X: Array, share: Array, weight: Array | None, pattern: Array, n_patterns: int) -> _Groups:
    """The same of soft labels (n, k), class after class."""
    k = share.shape[1]
    refuse_many(k * n_patterns, X.shape[1])
    each = np.ascontiguousarray(share.T if weight is None else share.T * weight, np.float64)
    own = [kernels.active.full_moments(X, pattern, w, n_patterns, False) for w in each]
    n, mean, scatter = (np.concatenate(parts) for parts in zip(*own, strict=True))
    return np.tile(np.arange(n_patterns), k), np.repeat(np.arange(k), n_patterns), n, mean, scatter


def keys(missing: Array, code: Array) -> Array:
    """One key for each group (m,): groups of the same class that miss the same cells have the same one."""
    bits = np.packbits(missing, axis=1)
    last = np.asarray(code, ">u4").view(np.uint8).reshape(len(code), 4)
    both = np.ascontiguousarray(np.concatenate([bits, last], axis=1))
    return both.view(f"V{both.shape[1]}").reshape(-1)


def refuse_many(groups: int, d: int) -> None:
    """Raise an error where so many groups have a matrix each that memory may run out."""
    if groups * d**2 > _CELLS:
        raise DataError(
            f"cells are missing in {groups} different ways, which is too many to keep a matrix of {d} columns by "
            f"{d} for each; use {as_parameter('covariance', 'diag', 'tied_diag')}, or impute the values first"
        )


def class_weights(arrays: Mapping[str, Array]) -> Array:
    """Return the weight of each class, (k,), from the arrays of a statistic alone: of all rows, with or without missing
    cells."""
    weight = np.array(arrays["weight"], np.float64)
    if f"{_GROUP}weight" in arrays:
        np.add.at(weight, arrays[f"{_GROUP}code"], arrays[f"{_GROUP}weight"])
    return weight
