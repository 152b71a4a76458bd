"""Statistics from sums that an engine works out where the rows lie.

A collector becomes a plan of what to ask for, and the answers become the statistic.

Second moments are summed about the medians of the first rows, in one query. Where a class lies so far from these that
digits would be lost, it is asked for again, about its own mean. Whatever is odd, be it a cell, a weight, a label or an
overflow, is left to the rows themselves: reading them tells what is wrong, in the words of every other source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .errors import DatabaseError, DataError
from .sources import Source
from .sources.summing import SummingSource, Term, UnsummableError, ValueWeights
from .stats import (
    BundleStats,
    CategoryStats,
    CollectBooleans,
    CollectBundle,
    CollectCategories,
    CollectCounts,
    CollectGaussian,
    CollectMoments,
    CollectTogether,
    CountStats,
    MomentStats,
    Statistics,
)
from .stats.collectors import NO_LABELS
from .stats.scatter import HIGHER
from .tables.batch import Batch
from .tables.labels import encode, is_missing, same

Array = NDArray[Any]

_HEAD = 100  # rows whose medians are the centers
_KEPT = 1e4  # a sum of squares may be so many times what is left of it about the mean: four of sixteen digits go
_FAR = 8  # classes that may be asked for again, each a query of its own
_ROUNDING = 1e-12
_WEIGHT, _BAD_WEIGHT = Term("weight"), Term("bad_weight")


def aggregated(source: Source, of: Callable[[Batch], Any]) -> Any:
    """The statistic of every row from sums of the source's own, or None where the rows must be read."""
    engine = source.summing()
    if engine is None:
        return None
    together, of = (True, of.of) if isinstance(of, CollectTogether) else (False, of)
    try:
        plan = _planned(of, tuple(range(engine.n_features)), engine)
        if not engine.affords(len(plan.terms), len(plan.counted)):
            return None
        centers = _centers(engine, plan.centred)
        return plan.statistic(_Answers.to(engine, plan.terms, centers, together))
    except (_Unsuited, DataError) as error:
        if isinstance(error, DatabaseError) and not isinstance(error, UnsummableError):
            raise  # it ran out of time, say, and reading rows would only hide that
        return None


class _Unsuited(Exception):  # noqa: N818
    """The rows must be read."""


@dataclass(frozen=True)
class _Answers:
    """What the engine says, class by class."""

    source: SummingSource
    together: bool  # whether all rows are one class
    classes: Array  # (k,)
    centers: Array  # (d,)
    totals: dict[Term, Array]  # (k,) each

    @classmethod
    def to(
        cls, source: SummingSource, terms: Sequence[Term], centers: Array, together: bool, label: Any = None
    ) -> _Answers:
        asked = list(dict.fromkeys([_WEIGHT, _BAD_WEIGHT, *terms]))
        labels, totals = source.sums(asked, centers, label)
        if not len(totals):
            raise _Unsuited("there are no rows")
        classes, index = _classes(labels, len(totals), together)
        by_class = np.zeros((len(classes), len(asked)))
        np.add.at(by_class, index, totals)
        found = dict(zip(asked, by_class.T, strict=True))
        if not np.isfinite(by_class).all() or found[_BAD_WEIGHT].any():
            raise _Unsuited("a cell or a weight is not finite, or a weight is negative")
        return cls(source, together, classes, centers, found)

    @property
    def weight(self) -> Array:
        return self.totals[_WEIGHT].copy()

    def each(self, kind: str, columns: Sequence[int]) -> Array:
        """The totals of a term of one column, (k, d)."""
        return np.stack([self.totals[Term(kind, (j,))] for j in columns], axis=1)

    def of_class(self, c: int, terms: Sequence[Term], centers: Array) -> _Answers:
        """The same of one class, about other centers."""
        label = None if self.together else self.classes.tolist()[c]
        again = self.to(self.source, terms, centers, self.together, label)
        self._check(again.classes, again.weight, slice(c, c + 1))
        return again

    def counts(self, columns: Sequence[int]) -> list[tuple[Array, Array]]:
        """The values of each column (v,), none of them missing, and the weight of each in each class, (k, v)."""
        return [self._counted(counts) for counts in self.source.counts(columns)]

    def _counted(self, counts: ValueWeights) -> tuple[Array, Array]:
        classes, index = _classes(counts.labels, len(counts.weight), self.together)
        self._check(classes, np.bincount(index, counts.weight, minlength=len(classes)))
        values = np.array([None if is_missing(value) else value for value in counts.values], object)
        distinct, code = kernels.active.encode(values)
        count = np.zeros((len(classes), len(distinct)))
        np.add.at(count, (index, code), counts.weight)
        present = np.array([value is not None for value in distinct.tolist()], bool)
        return distinct[present], count[:, present]

    def _check(self, classes: Array, weight: Array, which: slice = slice(None)) -> None:
        """Refuse answers to another query that are of other rows."""
        known = same(classes, self.classes[which])
        if not (known and np.allclose(weight, self.weight[which], rtol=1e-9, atol=0)):
            raise _Unsuited("the rows have changed between queries")


def _centers(source: SummingSource, columns: Sequence[int]) -> Array:
    """The medians of the first rows, for some columns; zero for others."""
    centers = np.zeros(source.n_features)
    if columns:
        X = source.head(_HEAD).take(columns).floats()
        for j, x in zip(columns, X.T, strict=True):
            if len(known := x[np.isfinite(x)]):
                centers[j] = np.sort(known)[len(known) // 2]
    return centers


def _classes(labels: Array | None, n: int, together: bool) -> tuple[Array, Array]:
    """Return the classes (k,), and the index of each of n labels among them."""
    if together:
        return NO_LABELS, np.zeros(n, np.intp)
    if labels is None:
        raise _Unsuited("there are no labels")
    return encode(labels)


# Plans.


@dataclass(frozen=True)
class _Plan(ABC):
    """What to ask for to know the statistic of some columns."""

    columns: tuple[int, ...]
    names: tuple[str, ...] | None  # of these columns
    kinds: tuple[str, ...]

    @property
    @abstractmethod
    def terms(self) -> list[Term]: ...

    @property
    def counted(self) -> tuple[int, ...]:
        """Columns whose values are counted."""
        return ()

    @property
    def centred(self) -> tuple[int, ...]:
        """Columns whose deviations are from a center."""
        return ()

    @abstractmethod
    def statistic(self, answers: _Answers) -> Statistics: ...

    def _each(self, kind: str) -> list[Term]:
        return [Term(kind, (j,)) for j in self.columns]


def _planned(of: Any, columns: tuple[int, ...], source: SummingSource) -> _Plan:
    names = None if source.names is None else tuple(source.names[j] for j in columns)
    kinds = tuple(source.kinds[j] for j in columns)
    own = columns, names, kinds
    if isinstance(of, CollectBundle) and not of.features:
        blocks = {name: _planned(collect, indices, source) for name, (indices, collect) in of.blocks.items()}
        return _BundlePlan(*own, blocks)
    if isinstance(of, CollectCategories) and "other" not in kinds:
        return _CategoryPlan(*own)
    if set(kinds) <= {"float", "integer", "boolean"}:
        if isinstance(of, CollectMoments | CollectGaussian) and of.layout not in HIGHER:
            return _MomentPlan(*own, of.layout, isinstance(of, CollectGaussian))
        if isinstance(of, CollectCounts):
            return _CountPlan(*own, of.presence, "infinite" if of.presence else "negative", source.has_types)
        if isinstance(of, CollectBooleans):
            return _CountPlan(*own, True, "untrue", source.has_types)
    raise _Unsuited("this statistic is not made of sums")


@dataclass(frozen=True)
class _MomentPlan(_Plan):
    layout: str
    skips_missing: bool

    @property
    def centred(self) -> tuple[int, ...]:
        return self.columns

    @property
    def terms(self) -> list[Term]:
        indices = range(len(self.columns))
        pairs = [(i, i) for i in indices] if self.layout == "diag" else [(i, j) for i in indices for j in indices[i:]]
        products = [Term("product", (self.columns[i], self.columns[j])) for i, j in pairs]
        return [*self._each("missing"), *self._each("deviation"), *products]

    def statistic(self, answers: _Answers) -> MomentStats:
        found = self._about(answers)
        left, before = found.variation, found.before
        if self.layout == "pooled":
            left = left.sum(axis=0, keepdims=True)
        far = np.flatnonzero((before > _KEPT * left).any(axis=1))
        if len(far) > _FAR:
            raise _Unsuited("classes lie far apart")
        for c in far.tolist():
            centers = answers.centers.copy()
            centers[list(self.columns)] = found.mean[c]
            found.replace(c, self._about(answers.of_class(c, self.terms, centers)))
        scatter = found.scatter.sum(axis=0) if self.layout == "pooled" else found.scatter
        observed = None if (found.observed == answers.weight[:, None]).all() else found.observed
        return MomentStats(answers.classes, answers.weight, found.mean, scatter, self.layout, observed=observed)

    def _about(self, answers: _Answers) -> _Moments:
        """Moments from the sums about a center."""
        weight = answers.weight[:, None]
        missing, first = answers.each("missing", self.columns), answers.each("deviation", self.columns)
        if missing.any() and not (self.skips_missing and self.layout == "diag"):
            raise _Unsuited("cells are missing")
        observed = np.where(missing >= weight * (1 - _ROUNDING), 0.0, weight - missing)
        shift = np.divide(first, observed, out=np.zeros_like(first), where=observed > 0)
        mean = np.where(observed > 0, answers.centers[list(self.columns)] + shift, 0.0)
        if self.layout == "diag":
            second = np.stack([answers.totals[Term("product", (j, j))] for j in self.columns], axis=1)
            return _Moments(observed, mean, second - first * shift, second)
        d = len(self.columns)
        second = np.empty((len(weight), d, d))
        for i, a in enumerate(self.columns):
            for j, b in enumerate(self.columns[i:], start=i):
                second[:, i, j] = second[:, j, i] = answers.totals[Term("product", (a, b))]
        scatter = second - np.einsum("ki,kj->kij", first, shift)
        return _Moments(observed, mean, (scatter + np.swapaxes(scatter, 1, 2)) / 2, np.einsum("kii->ki", second))


@dataclass
class _Moments:
    observed: Array  # (k, d)
    mean: Array  # (k, d)
    scatter: Array  # (k, d) or (k, d, d)
    before: Array  # (k, d) sums of squares about the centers

    @property
    def variation(self) -> Array:
        return self.scatter if self.scatter.ndim == 2 else np.einsum("kii->ki", self.scatter)

    def replace(self, c: int, one: _Moments) -> None:
        """Take the moments of a class from sums about its own mean, about which only rounding can make them small."""
        fine = one.variation[0] > 1e-8 * one.before[0]
        self.observed[c], self.mean[c] = one.observed[0], one.mean[0]
        self.scatter[c] = one.scatter[0] * (fine if self.scatter.ndim == 2 else np.outer(fine, fine))


@dataclass(frozen=True)
class _CountPlan(_Plan):
    presence: bool
    check: str  # the term that must be zero, where types do not see to it
    has_types: bool

    @property
    def terms(self) -> list[Term]:
        return [*self._each("missing"), *self._each("positive" if self.presence else "deviation"), *self._checks()]

    def _checks(self) -> Iterable[Term]:
        exempt = {"boolean", "integer"} if self.check == "infinite" else {"boolean"}
        if not self.has_types:
            exempt = set()
        return [term for term, kind in zip(self._each(self.check), self.kinds, strict=True) if kind not in exempt]

    def statistic(self, answers: _Answers) -> CountStats:
        if any(answers.totals[term].any() for term in self._checks()):
            raise _Unsuited("a cell is not a count")
        missing = answers.each("missing", self.columns)
        count = answers.each("positive" if self.presence else "deviation", self.columns)
        some = missing if missing.any() else None
        return CountStats(answers.classes, answers.weight, count, some, self.presence, self.names)


@dataclass(frozen=True)
class _CategoryPlan(_Plan):
    @property
    def terms(self) -> list[Term]:
        return []

    @property
    def counted(self) -> tuple[int, ...]:
        return self.columns

    def statistic(self, answers: _Answers) -> CategoryStats:
        return CategoryStats.of_counts(answers.classes, answers.weight, answers.counts(self.columns), self.names)


@dataclass(frozen=True)
class _BundlePlan(_Plan):
    blocks: dict[str, _Plan]

    @property
    def terms(self) -> list[Term]:
        return [term for block in self.blocks.values() for term in block.terms]

    @property
    def counted(self) -> tuple[int, ...]:
        return tuple(j for block in self.blocks.values() for j in block.counted)

    @property
    def centred(self) -> tuple[int, ...]:
        return tuple(j for block in self.blocks.values() for j in block.centred)

    def statistic(self, answers: _Answers) -> BundleStats:
        parts = {name: block.statistic(answers) for name, block in self.blocks.items()}
        columns = {name: block.columns for name, block in self.blocks.items()}
        return BundleStats(answers.classes, answers.weight, parts, columns, len(self.columns), self.names)
