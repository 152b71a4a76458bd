"""Densities of counts whose scores are linear: for every class a constant, and a slope for every feature."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..stats import CountStats
from ..stats.counts import log_factorials, refuse_counts
from ..tables.table import Matrix, Sparse, Table, as_float
from .base import Density, LinearForm, refuse_zeros
from .scorer import Wanted

Array = NDArray[Any]

SOME = 1e-9  # more than this of what is impossible is some


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of counts."""

    values: Any  # (n, d) floats, or integers that were drawn, zero where missing; or a Sparse table
    missing: Array | None = None  # (n, d) bool; None where nothing is
    ones: bool = False  # whether every cell that is stored in a Sparse table is one: presence

    def __len__(self) -> int:
        return len(self.values)

    def dense(self) -> Array:
        return np.asarray(self.values.floats() if isinstance(self.values, Sparse) else self.values)

    def totals(self) -> Array:
        """The total of each row, (n,)."""
        values = self.values.matrix() if isinstance(self.values, Sparse) else self.values
        return np.asarray(values.sum(axis=1, dtype=np.float64)).reshape(-1)

    def log_factorials(self) -> Array:
        """For each row, the sum of log x! over its features, and log x! of its total, (n, 2)."""
        return log_factorials(self.values if isinstance(self.values, Sparse) else Matrix(np.asarray(self.values)))


class DenseCounts(Counts):
    """Counts of a dense table. Scores tell whether they are counts; else they are looked through when asked for."""

    ones = False
    table: Table
    presence: bool
    floats: Array  # (n, d) as they are in the table

    def __init__(self, table: Table, presence: bool) -> None:
        vars(self).update(table=table, presence=presence, floats=table.floats())

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def values(self) -> Array:
        X = self.floats
        X = (X > 0).astype(np.float64) if self.presence else X
        return X if self.missing is None else np.where(self.missing, 0.0, X)

    @cached_property
    def missing(self) -> Array | None:
        X = self.floats
        with np.errstate(invalid="ignore", over="ignore"):
            if np.isfinite(X.sum()) and (self.presence or X.min(initial=0.0) >= 0):
                return None
        if np.isinf(X).any() or (not self.presence and (X < 0).any()):
            refuse_counts(self.table, self.presence)
        return np.isnan(X) if np.isnan(X).any() else None

    def score(self, slopes: Array, constant: Array, *wanted: Array | None) -> bool:
        """Write constant (k,) + slopes (k, d) x where it is wanted; False if some cells are missing, or no counts."""
        whole = bool(kernels.active.count_scores(as_float(self.floats), slopes, constant, self.presence, *wanted))
        if whole:
            vars(self)["missing"] = None
        return whole


@dataclass(frozen=True)
class Slopes:
    """Finite slopes (k, d), dense; or sparse about one slope for each class."""

    table: Any  # (k, d): an array, or csr with what is to be added to the slope of the class
    by_class: Array | None = None  # (k,)

    def score_whole(self, X: Counts, constant: Array, *wanted: Array | None) -> bool:
        """The same as `score` of rows that nobody has looked at; False if they have to be looked at first."""
        if self.by_class is not None or not isinstance(X, DenseCounts):
            return False
        return X.score(np.ascontiguousarray(self.table), constant, *wanted)

    def score(self, X: Counts, constant: Array, *wanted: Array | None) -> None:
        """Write constant (k,) + slopes x where it is wanted, as the kernels do."""
        x = X.values
        if self.by_class is not None:
            scores = np.ascontiguousarray(self._sparse_product(x) + constant)
            kernels.active.reduce(scores, *wanted)
        elif isinstance(x, Sparse):
            data = None if X.ones else x.data
            kernels.active.sparse_scores(x.indptr, x.indices, data, self._by_feature_first, constant, *wanted)
        else:
            center = np.zeros(self.table.shape[1])
            kernels.active.linear_scores(as_float(x), center, np.ascontiguousarray(self.table), constant, *wanted)

    @cached_property
    def _by_feature_first(self) -> Array:
        """The slopes of all classes side by side, (d, k)."""
        return np.ascontiguousarray(self.table.T) if self.by_class is None else self.table.T.tocsr()

    def of_class(self, c: int) -> Array:
        """The slopes of one class, (d,)."""
        if self.by_class is None:
            return np.asarray(self.table[c])
        return np.asarray(self.table[[c]].toarray()[0] + self.by_class[c])

    def _sparse_product(self, x: Any) -> Array:
        rows = x.matrix() if isinstance(x, Sparse) else x
        total = np.asarray(rows.sum(axis=1, dtype=np.float64)).reshape(-1, 1)
        product = rows @ self._by_feature_first
        product = product.toarray() if hasattr(product, "toarray") else product
        return np.asarray(product + total * self.by_class)


class LinearDensity(Density):
    """log p(x | class) = constant + slopes x, and a term that all classes share; -inf where x does the impossible."""

    reads_sparse = True
    presence = False  # whether only the presence of a feature counts
    seen: Array  # (k,) whether the class had any rows; one that had none has log-likelihood -inf

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_classes} classes, {self.n_features} features)"

    @property
    def n_classes(self) -> int:
        return len(self.seen)

    def columns_of_booleans(self) -> frozenset[int]:
        return frozenset(range(self.n_features) if self.presence else ())

    # The linear form: finite slopes and constants, and the same for violations of what a class can do.

    @property
    @abstractmethod
    def slopes(self) -> Slopes:
        """What every count of a feature adds to the scores."""

    @property
    @abstractmethod
    def constant(self) -> Array:
        """Of a row that observes every feature and counts none, (k,)."""

    @property
    @abstractmethod
    def violations(self) -> Slopes | None:
        """How often each count does what a class cannot do; None where everything is possible."""

    @property
    @abstractmethod
    def violated(self) -> Array:
        """The violations of a row that counts nothing, (k,)."""

    @abstractmethod
    def present(self, c: int) -> tuple[Array, Array]:
        """Return what features that are observed and count nothing add to the scores of a class.

        Parameters
        ----------
        c : int
            The index of the class.

        Returns
        -------
        tuple of arrays
            Their parts in the constant of the class, (d,), and in its violations, (d,).

        Examples
        --------
        >>> from suffice import BernoulliDensity
        >>> part, _ = BernoulliDensity.from_parameters([[0.5, 0.1]]).present(0)
        >>> np.exp(part).round(6)  # both features are absent
        array([0.5, 0.9])
        """

    @property
    def has_zeros(self) -> bool:
        return self.violations is not None

    def linear(self) -> LinearForm:
        """Return the scores as linear functions of the counts, for rows without missing cells.

        Returns
        -------
        LinearForm
            Center (d,), slopes (k, d) and constants (k,); DataError where a probability is zero.

        Examples
        --------
        >>> from suffice import BernoulliDensity
        >>> _, slopes, constants = BernoulliDensity.from_parameters([[0.5, 0.8]]).linear()
        >>> np.exp(slopes).round(6), np.exp(constants).round(6)  # odds of presence, and that both are absent
        (array([[1., 4.]]), array([0.1]))
        """
        refuse_zeros(self.has_zeros)
        slopes = [self.slopes.of_class(c) for c in range(self.n_classes)]
        return LinearForm(np.zeros(self.n_features), np.stack(slopes), np.where(self.seen, self.constant, -np.inf))

    def log_likelihood_of(self, stats: CountStats) -> float:
        self._check_statistic(stats)
        total, observed = self._shared_of(stats), np.broadcast_to(stats.observed, stats.count.shape)
        if (stats.weight > 0)[~self.seen].any():
            return -np.inf
        for c in map(int, np.flatnonzero(stats.weight)):
            count = stats.count[[c]].toarray()[0] if stats.is_sparse else stats.count[c]
            present, violated = self.present(c)
            if self.violations is not None:
                violated = count * self.violations.of_class(c) + observed[c] * violated
            if (violated > SOME).any():
                return -np.inf
            total += float(count @ self.slopes.of_class(c) + observed[c] @ present)
        return total

    def read(self, table: Table) -> Counts:
        if isinstance(table, Sparse):
            return self._read_sparse(table)
        return DenseCounts(table, self.presence)

    def _read_sparse(self, table: Sparse) -> Counts:
        table.check()
        _, data = table.stored()
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(data.sum()) or np.isfinite(data).all()  # sums overflow before values do
        if not finite or (not self.presence and data.min(initial=0) < 0):
            refuse_counts(table, self.presence)
        if not self.presence:
            return Counts(table)
        table = table.canonical()
        _, data = table.stored()
        if data.min(initial=1) > 0:
            return Counts(replace(table, data=np.broadcast_to(1.0, len(table.data))), ones=True)
        own = table.matrix()
        return Counts(Sparse(own.indptr, own.indices, (own.data > 0).astype(np.float64), table.n_features))

    def write(self, x: Counts) -> Array:
        return x.dense()

    def _score(self, X: Counts, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        constant = np.where(self.seen, self.constant, -np.inf) + offset
        if self.violations is not None or not self.slopes.score_whole(X, constant, *wanted):
            if X.missing is None and self.violations is None:
                self.slopes.score(X, constant, *wanted)
            else:
                kernels.active.reduce(self._scores(X, constant), *wanted)
        if not relative:
            written = [out for out in (wanted.all, wanted.evidence) if out is not None]
            shared = self._shared(X) if written else 0.0
            for out in written:
                out += np.reshape(shared, (-1, 1)) if out.ndim == 2 else shared
        return True

    def _scores(self, X: Counts, constant: Array) -> Array:
        """Scores (n, k) of rows that miss cells or may be impossible."""
        scores, count = np.zeros((2, len(X), self.n_classes))
        self.slopes.score(X, constant, scores, None, None)
        if self.violations is not None:
            self.violations.score(X, self.violated, count, None, None)
        if X.missing is not None:
            for c in range(self.n_classes):
                present, violated = self.present(c)
                scores[:, c] -= X.missing @ present
                count[:, c] -= X.missing @ violated
            if (mass := self._log_observed(X.missing)) is not None:
                scores -= X.totals()[:, None] * mass
        if self.violations is not None:
            scores[count > SOME] = -np.inf
        return np.asarray(scores)

    def _log_observed(self, missing: Array) -> Array | None:  # noqa: ARG002
        """The log-probability that a count is one of an observed feature, (n, k), where counts compete: they are
        conditioned on it. None where every feature counts on its own."""
        return None

    def _shared(self, X: Counts) -> Array:
        """The part of log p(x | class) that depends on no class, (n,)."""
        return np.zeros(len(X))

    def _shared_of(self, stats: CountStats) -> float:  # noqa: ARG002
        """The sum of `_shared` over the rows of a statistic, with their weights."""
        return 0.0

    def missing(self, X: Counts) -> Array:
        return np.broadcast_to(False, (len(X), self.n_features)) if X.missing is None else X.missing

    def hide(self, X: Counts, hidden: Array) -> Counts:
        hidden = hidden | self.missing(X)
        return Counts(np.where(hidden, 0.0, X.dense()), hidden)

    def is_complete(self, X: Counts) -> bool:  # noqa: ARG002  a missing cell drops out
        return True

    def explain(self, X: Counts, c: int) -> Array:
        x, observed = X.dense(), 1.0 if X.missing is None else ~X.missing
        present, violated = self.present(c)
        shares = x * self.slopes.of_class(c) + observed * present
        if X.missing is not None and (mass := self._log_observed(X.missing)) is not None:
            shares -= x * mass[:, [c]]
        if self.violations is not None:
            count = x * self.violations.of_class(c) + observed * violated
            shares = np.where(count > SOME, -np.inf, shares)
        return np.asarray(shares + (self._shared(X) / self.n_features)[:, None])

    def _completed(self, X: Counts, by: Counts) -> Counts:
        return X if X.missing is None else Counts(np.where(X.missing, by.values, X.values))
