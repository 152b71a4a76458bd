"""Sums of counts, or how often a feature was present, class by class: words in documents, events, Booleans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, FamilyError, StatisticsError, listed
from ..lines import counted
from ..tables.batch import Batch
from ..tables.labels import positions, same
from ..tables.table import Sparse, Table, check_rows
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

_ROUNDING = 1e-12  # less of a weight than this is none

_CELLS = 1 << 16  # of a dense table that are counted at a time, so that they stay in the cache
DENSE = 1 << 24  # entries of a table of classes by features (128 MB) beyond which it is kept sparse


@dataclass(frozen=True, slots=True, eq=False)
class CountStats(StatisticsByName):
    """The weighted sum of every feature in every class, or the weight of the rows where it is present (above zero).

    Parameters
    ----------
    classes : array of shape (k,)
        The sorted labels.
    weight : array of shape (k,)
        The total weight of each class.
    count : array or sparse array of shape (k, d)
        The sums; sparse where a table would be too large.
    missing : array of shape (k, d), optional
        The weight of the rows where the feature is missing; None where none is.
    presence : bool, default=False
        Whether presence is counted.
    names : tuple of str, optional
        The names of the columns.
    log_factorials : array of shape (k, 2), optional
        The weighted sums of log x! over all cells, and over the totals of the rows, for the log-likelihood of the rows;
        None where presence is counted, and where they are not known.

    Examples
    --------
    >>> a = CountStats.of(Batch.of([[2, 0], [1, 5]], ["x", "y"]))
    >>> (a + CountStats.of(Batch.of([[1, 1]], ["x"]))).count
    array([[3., 1.],
           [1., 5.]])
    """

    classes: Array
    weight: Array
    count: Any
    missing: Array | None = None
    presence: bool = False
    names: tuple[str, ...] | None = None
    log_factorials: Array | None = None

    sums: ClassVar[tuple[str, ...]] = ("weight", "count", "missing", "log_factorials")

    def __post_init__(self) -> None:
        settle(self, "weight", "count", "missing", "log_factorials")
        for part in _csr_parts(self.count):
            frozen(part)

    def __repr__(self) -> str:
        what = "presence" if self.presence else "sum"
        size = f"{len(self.classes)} classes, {self.n_features} features, weight {counted(self.weight.sum())}"
        return f"CountStats({what}, {size})"

    @property
    def n_features(self) -> int:
        return int(self.count.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the counts are kept sparse."""
        return not isinstance(self.count, np.ndarray)

    @cached_property
    def totals(self) -> Array:
        """The sum of all counts of each class, (k,)."""
        with np.errstate(over="ignore"):
            return np.asarray(self.count.sum(axis=1)).reshape(-1)

    @property
    def observed(self) -> Array:
        """The weight of the rows where each feature is not missing, (k, d), or (k, 1) where none is missing."""
        weight = self.weight[:, None]
        if self.missing is None:
            return weight
        observed = weight - self.missing
        return np.where(observed <= _ROUNDING * weight, 0.0, observed)  # the two may be summed in different orders

    @classmethod
    def zeros(cls, classes: Any, n_features: int, presence: bool = False, names: tuple[str, ...] | None = None) -> Self:
        """Return the statistic of no rows.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Labels, in any order; there may be none.
        n_features : int
            The number of columns.
        presence : bool, default=False
            Whether presence is counted.
        names : tuple of str, optional
            The names of the columns.

        Returns
        -------
        CountStats
            The identity of addition.

        Examples
        --------
        >>> from suffice import CountStats
        >>> CountStats.zeros(["b", "a"], n_features=3)
        CountStats(sum, 2 classes, 3 features, weight 0)
        """
        classes = vocabulary(classes)
        k, logs = len(classes), None if presence else np.zeros((len(classes), 2))
        return cls(classes, np.zeros(k), _zeros(k, n_features), None, presence, names, logs)

    @classmethod
    def of(cls, batch: Batch, presence: bool = False) -> Self:
        """Return the statistic of one batch of labelled rows.

        Parameters
        ----------
        batch : Batch
            Rows with labels, hard or soft, and weights where they have any.
        presence : bool, default=False
            Count the rows where a feature is above zero, rather than its sum.

        Returns
        -------
        CountStats
            What is kept of the rows.

        Examples
        --------
        >>> from suffice import CountStats
        >>> from suffice.tables.batch import Batch
        >>> batch = Batch.of([[2, 0], [1, 5]], ["x", "x"])
        >>> CountStats.of(batch).count, CountStats.of(batch, presence=True).count
        (array([[3., 5.]]), array([[2., 1.]]))
        """
        return by_class(batch, partial(cls._of_table, presence=presence), partial(cls._of_shares, presence=presence))

    @classmethod
    def _of_shares(
        cls, table: Table, classes: Array, share: Array, weight: Array | None, presence: bool
    ) -> Self | None:
        """The counts of softly labelled rows, all classes at once; None where this is not possible."""
        k, d = len(classes), table.n_features
        if k * d > DENSE:
            return None
        own = share if weight is None else share * weight[:, None]
        counted = _soft_sparse(table, own, presence) if isinstance(table, Sparse) else _soft_dense(table, own, presence)
        if counted is None:  # the error is that of a class
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            logs = None if presence else _finite(own.T @ log_factorials(table))
        statistics = cls(classes, own.sum(axis=0), *counted, presence, table.names, logs)
        return statistics if statistics.is_finite() else None

    @classmethod
    def _of_table(cls, table: Table, classes: Array, code: Array, weight: Array | None, presence: bool) -> Self:
        k, d = len(classes), table.n_features
        total = np.bincount(code, weight, minlength=k).astype(np.float64)
        logs = None if presence else np.zeros((k, 2))
        if isinstance(table, Sparse):
            count, fine = _count_sparse(table, code, weight, presence, logs, k)
            missing = None
        else:
            count, missing = np.zeros((k, d)), np.zeros((k, d))
            fine = kernels.active.dense_counts(table.floats(), code, weight, presence, count, missing, logs)
        statistics = cls(classes, total, count, _some(missing), presence, table.names, _finite(logs))
        if not fine or not statistics.is_finite():
            refuse_counts(table, presence, weight)
        return statistics

    def aligned(self, classes: Array) -> Self:
        if same(classes, self.classes):
            return self
        at, k = positions(self.classes, classes), len(classes)
        return replace(
            self,
            classes=classes,
            weight=spread(self.weight, at, k),
            count=_spread_rows(self.count, at, k),
            missing=None if self.missing is None else spread(self.missing, at, k),
            log_factorials=None if self.log_factorials is None else spread(self.log_factorials, at, k),
        )

    def _with_columns(self, names: tuple[str, ...], own: Mapping[str, int]) -> Self:
        new = {name: j for j, name in enumerate(names)}
        at = np.array([new[name] for name in own])

        def moved(array: Any) -> Any:
            out = np.zeros((len(self.classes), len(names)))
            out[:, at] = array if isinstance(array, np.ndarray) else array.toarray()
            return out

        missing = None if self.missing is None else moved(self.missing)
        return replace(self, count=moved(self.count), missing=missing, names=names)

    def _check_columns(self, other: Self) -> None:
        StatisticsByName._check_columns(self, other)
        if self.presence != other.presence:
            raise StatisticsError(
                "sums of counts and counts of presence cannot be merged: they are of different models"
            )

    def _together(self, other: Self) -> tuple[Self, Self]:
        one, two = self._over_all_columns(other)
        if one.is_sparse != two.is_sparse:
            fits = one.count.shape[0] * one.count.shape[1] <= DENSE
            one, two = (replace(s, count=_as_dense(s.count) if fits else _as_sparse(s.count)) for s in (one, two))
        return one, two

    def _merged(self, other: Self) -> Self:
        one, two = self._together(other)
        names = one.names if one.names is not None else two.names
        missing = (
            one.missing if two.missing is None else two.missing if one.missing is None else one.missing + two.missing
        )
        count = one.count + two.count
        if one.is_sparse and count.shape[0] * count.shape[1] <= DENSE:
            count = _as_dense(count)
        logs = None if two.log_factorials is None else _plus(one.log_factorials, two.log_factorials)
        weight = one.weight + two.weight
        return replace(one, weight=weight, count=count, missing=missing, names=names, log_factorials=logs)

    def _without(self, other: Self) -> Self:
        one, two = self._together(other)
        # The absolute part is for what is left of larger counts, whose last digits are gone.
        if _largest(two.count - one.count * (1 + 1e-9)) > 1e-9:
            raise StatisticsError("cannot forget rows that were never learnt: a count would be negative without them")
        weight = one.weight - two.weight
        weight[weight <= _ROUNDING * one.weight] = 0.0
        count = (one.count - two.count) * (one.count * (1 - _ROUNDING) > two.count)
        missing = one.missing
        if missing is not None or two.missing is not None:
            none = np.zeros((len(weight), one.n_features))
            before, gone = (none if m is None else m for m in (missing, two.missing))
            if (gone > before * (1 + 1e-9) + 1e-9).any():
                raise StatisticsError("cannot forget rows that were never learnt: their missing cells do not match")
            missing = (before - gone) * (before * (1 - _ROUNDING) > gone)
        logs = None if two.log_factorials is None else _plus(one.log_factorials, -two.log_factorials)
        left = replace(one, weight=weight, count=count, missing=_some(missing), log_factorials=logs)
        room = left.observed + 1e-9 * np.maximum(one.weight, 1.0)[:, None]
        if not one.presence:
            total = np.asarray(one.count.sum(axis=1)).reshape(-1)
            room = np.where(weight > 0, np.inf, 1e-9 * np.maximum(total, 1.0))[:, None]
        if _exceeds(count, room):
            raise StatisticsError(
                "cannot forget rows that were never learnt: more cells would be present than there are rows"
            )
        return left if (weight > 0).all() else left._emptied(weight == 0)

    def _emptied(self, classes: Array) -> Self:
        """Return the statistic with rounding errors removed in some classes, (k,) bool."""
        kept = ~classes[:, None]
        missing = None if self.missing is None else _some(self.missing * kept)
        count = self.count * kept if not self.is_sparse else _pruned(_as_sparse(self.count.multiply(kept)))
        log_factorials = None if self.log_factorials is None else self.log_factorials * kept
        return replace(self, count=count, missing=missing, log_factorials=log_factorials)

    def is_finite(self) -> bool:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(self.totals.sum()) and np.isfinite(self.weight).all())

    def to_arrays(self) -> dict[str, Array]:
        arrays = {"weight": self.weight, "presence": np.array(self.presence)}
        if self.is_sparse:
            parts = {name: getattr(self.count, name) for name in ("data", "indices", "indptr")}
            arrays |= {"n_features": np.array(self.n_features)} | {f"count_{name}": a for name, a in parts.items()}
        else:
            arrays["count"] = self.count
        if self.missing is not None:
            arrays["missing"] = self.missing
        if self.log_factorials is not None:
            arrays["log_factorials"] = self.log_factorials
        return arrays | names_to_arrays(self.names)

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        if not {"weight", "presence"} <= set(arrays) or not {"count", "count_data"} & set(arrays):
            raise StatisticsError(f"these are not the arrays of counts: {sorted(arrays)}")
        k = len(classes)
        try:
            weight = np.array(arrays["weight"], np.float64)
            count = np.array(arrays["count"], np.float64) if "count" in arrays else _csr_from_arrays(k, arrays)
            missing = np.array(arrays["missing"], np.float64) if "missing" in arrays else None
            log_factorials = np.array(arrays["log_factorials"], np.float64) if "log_factorials" in arrays else None
            presence, names = bool(arrays["presence"]), names_from_arrays(arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise StatisticsError(f"arrays of counts are invalid: {error}") from None
        fits = weight.shape == (k,) and count.ndim == 2 and len(weight) == count.shape[0]
        fits = fits and (missing is None or missing.shape == count.shape)
        fits = fits and (names is None or len(names) == count.shape[1])
        values = count if isinstance(count, np.ndarray) else count.data
        parts = [weight, values] if missing is None else [weight, values, missing]
        fits = fits and (
            log_factorials is None or (log_factorials.shape == (k, 2) and np.isfinite(log_factorials).all())
        )
        if not fits or not are_weights(*parts):
            raise StatisticsError(f"arrays of counts do not fit {k} classes with the rest, or are invalid")
        room = weight[:, None] if missing is None else weight[:, None] - missing
        if (room < -1e-9 * weight[:, None]).any() or (presence and _exceeds(count, (1 + 1e-9) * room + 1e-9)):
            raise StatisticsError("more cells are missing or present than there are rows")
        return cls(np.array(classes), weight, count, missing, presence, names, log_factorials)


def _plus(one: Array | None, two: Array) -> Array | None:
    """The sums of log x! of the rows of both, if they are known."""
    with np.errstate(over="ignore"):
        return None if one is None else _finite(one + two)


def _finite(sums: Array | None) -> Array | None:
    return sums if sums is not None and np.isfinite(sums).all() else None


def log_factorials(table: Table) -> Array:
    """For each row, the sum of log x! over its cells, and log x! of its total, (n, 2)."""
    if isinstance(table, Sparse):
        stored = table.indptr, table.indices, table.data
        return np.asarray(kernels.active.sparse_log_factorials(*stored, table.n_features))
    return np.asarray(kernels.active.dense_log_factorials(table.floats()))


def _csr_parts(count: Any) -> tuple[Array, ...]:
    return () if isinstance(count, np.ndarray) else (count.data, count.indices, count.indptr)


def _csr_from_arrays(k: int, arrays: Mapping[str, Array]) -> Any:
    """Counts (k, d) that were kept sparse; ValueError where the arrays do not fit each other."""
    from scipy.sparse import csr_array

    data, indices, indptr = (np.array(arrays[f"count_{name}"]) for name in ("data", "indices", "indptr"))
    count = csr_array((data.astype(np.float64), indices, indptr), shape=(k, int(arrays["n_features"])))
    count.check_format(full_check=True)
    return _pruned(count)


def _pruned(count: Any) -> Any:
    """Counts without zeros that are stored, each cell once and in order."""
    if not isinstance(count, np.ndarray):
        count.sum_duplicates()
        count.eliminate_zeros()
    return count


def _largest(count: Any) -> float:
    """The largest count, or zero."""
    return float((count if isinstance(count, np.ndarray) else count.data).max(initial=0.0))


def _exceeds(count: Any, room: Array) -> bool:
    """Whether some count is above its upper limit, (k, d) or (k, 1)."""
    if isinstance(count, np.ndarray):
        return bool((count > room).any())
    owner = np.repeat(np.arange(count.shape[0]), np.diff(count.indptr))
    return bool((count.data > room[owner, count.indices if room.shape[1] > 1 else 0]).any())


def _zeros(k: int, d: int) -> Any:
    if k * d <= DENSE:
        return np.zeros((k, d))
    from scipy.sparse import csr_array

    return csr_array((k, d))


def _some(missing: Array | None) -> Array | None:
    return missing if missing is not None and missing.any() else None


def _as_dense(count: Any) -> Any:
    return count if isinstance(count, np.ndarray) else count.toarray()


def _as_sparse(count: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array(count)


def _spread_rows(count: Any, at: Array, k: int) -> Any:
    if isinstance(count, np.ndarray) and k * count.shape[1] <= DENSE:
        return spread(count, at, k)
    from scipy.sparse import csr_array

    count = csr_array(count)
    lengths = np.zeros(k, np.int64)
    lengths[at] = np.diff(count.indptr)
    order = np.argsort(at, kind="stable")  # classes are sorted in both vocabularies
    assert (order == np.arange(len(at))).all()
    return csr_array((count.data, count.indices, np.concatenate([[0], np.cumsum(lengths)])), shape=(k, count.shape[1]))


def _count_sparse(
    table: Sparse, code: Array, weight: Array | None, presence: bool, logs: Array | None, k: int
) -> tuple[Any, bool]:
    """Counts (k, d) of a sparse matrix, and whether its values can be counts; sums of log x! are added to `logs`."""
    at_once = k * table.n_features <= DENSE
    if presence or not at_once:
        table.check()
    else:
        check_rows(table.indptr, min(len(table.indices), len(table.data)))  # the kernel looks at the columns
    table = table.canonical() if presence else table
    if at_once:
        count = np.zeros((k, table.n_features))
        stored = table.indptr, table.indices, table.data
        fine = bool(kernels.active.sparse_counts(*stored, code, weight, presence, count, logs))
        if not fine:
            table.check()
        if not fine and presence and (negative := table.data < 0).any():  # what is negative is absent
            table = replace(table, data=np.where(negative, 0, table.data))
            return _count_sparse(table, code, weight, presence, logs, k)
        return count, fine
    from scipy.sparse import csr_array

    rows = table.matrix().astype(np.float64)
    if weight is not None and not weight.all():  # rows of weight zero are absent, whatever they hold
        kept = np.flatnonzero(weight)
        rows, code, weight = rows[kept], code[kept], weight[kept]
    fine = bool(np.isfinite(rows.data).all() and (presence or (rows.data >= 0).all()))
    if presence:
        rows.data = (rows.data > 0).astype(np.float64)
    order = np.argsort(code, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=k))])
    w = np.ones(len(code)) if weight is None else weight[order]
    members = csr_array((w, order, bounds), shape=(k, len(code)))
    if logs is not None and fine:
        logs += members @ kernels.active.sparse_log_factorials(rows.indptr, rows.indices, rows.data, table.n_features)
    return _pruned(members @ rows), fine


def _soft_sparse(table: Sparse, share: Array, presence: bool) -> tuple[Array, None] | None:
    """Counts (k, d) by shares (n, k); None where values cannot be counts."""
    X = table.canonical().matrix()
    if not (np.isfinite(X.data).all() and (presence or (X.data >= 0).all())):
        return None
    X.data = (X.data > 0).astype(np.float64) if presence else X.data.astype(np.float64)
    return np.ascontiguousarray((X.T @ share).T), None


def _soft_dense(table: Table, share: Array, presence: bool) -> tuple[Array, Array | None] | None:
    """Counts (k, d) by shares (n, k), and the weights of missing cells; None where values cannot be counts."""
    k, d = share.shape[1], table.n_features
    count, missing, step = np.zeros((k, d)), np.zeros((k, d)), max(256, _CELLS // d)
    for start in range(0, len(table), step):
        rows = slice(start, start + step)
        X = table[rows].floats().astype(np.float64, copy=False)
        gone = np.isnan(X)
        if gone.any():
            missing += share[rows].T @ gone.astype(np.float64)
            X = np.where(gone, 0.0, X)
        if not (np.isfinite(X).all() and (presence or (X >= 0).all())):
            return None
        count += share[rows].T @ ((X > 0).astype(np.float64) if presence else X)
    return count, _some(missing)


def refuse_counts(table: Table, presence: bool = False, weight: Array | None = None) -> None:
    """Raise an error that names the columns that hold something that cannot be a count."""
    if isinstance(table, Sparse):
        indices, data = table.stored()
        if weight is not None:
            kept = np.repeat(weight != 0, np.diff(table.indptr))
            indices, data = indices[kept], data[kept]
        negative, other = np.unique(indices[data < 0]), np.unique(indices[~np.isfinite(data)])
        what = "infinity or, in a sparse matrix, NaN"
    else:
        X = table.floats() if weight is None else table.floats()[weight != 0]
        negative, other = np.flatnonzero((X < 0).any(axis=0)), np.flatnonzero(np.isinf(X).any(axis=0))
        what = "infinity"
    columns, what = (negative, "negative values") if len(negative) and not presence else (other, what)
    if not len(columns):
        raise DataError("the counts are too large: their sums overflow; rescale them")
    found = listed([table.names[j] if table.names else int(j) for j in columns])
    raise FamilyError(  # scikit-learn looks for "Negative values in data"
        f"{'Negative values in data: ' if what == 'negative values' else ''}column {found} holds {what}, which cannot "
        "be counted; use a Gaussian model for numbers that are not counts",
        columns if what == "negative values" else (),
    )
