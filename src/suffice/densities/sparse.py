"""Words of many classes: counts that are kept sparse because a table of classes by features would be too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from ..errors import DataError
from ..stats import CountStats
from .base import LinearForm, seen_classes
from .counts import check_alpha, finite, left_over, one_alpha
from .linear import Counts, LinearDensity, Slopes
from .multinomial import log_mass, log_orders, log_orders_of
from .parameters import class_vector

Array = NDArray[Any]

_PART = 1 << 14  # counts that are looked at together


@dataclass(frozen=True, eq=False, repr=False)
class SparseCountDensity(LinearDensity):
    """What MultinomialDensity is, or BernoulliDensity where presence counts. Features that a class never had share one
    slope; the others are stored."""

    count: Any  # (k, d) csr, or csc where these are the counts of words
    weight: Array  # (k,) rows
    alpha: float
    presence: bool = False

    @classmethod
    def estimate(cls, stats: CountStats, alpha: float | Sequence[float] = 1.0) -> Self:
        """As MultinomialDensity.estimate, or as BernoulliDensity.estimate where presence was counted.

        Parameters
        ----------
        stats : CountStats
            Counts that are kept sparse.
        alpha : float
            The pseudo-count of every feature.

        Returns
        -------
        SparseCountDensity
            The density of the classes of the statistic.
        """
        seen, alpha = seen_classes(stats), one_alpha(alpha, "so many classes and features")
        if stats.presence and stats.missing is not None:
            raise DataError(
                f"missing cells are not supported for {len(stats.classes)} classes with {stats.n_features} features"
            )
        count = stats.count
        silent = (np.asarray(count.sum(axis=1)).reshape(-1) == 0) & seen
        if not alpha and not stats.presence and silent.any():  # a class without counts knows no words: those of all
            words = np.asarray(count.sum(axis=0)).reshape(1, -1)
            kind = type(count)
            count = count + kind(silent[:, None].astype(np.float64)) @ kind(words if words.any() else words + 1.0)
        return cls(count, stats.weight, alpha, stats.presence)

    @classmethod
    def from_parameters(cls, counts: Any, weights: Any, alpha: float, presence: bool = False) -> Self:
        """Make the density from the counts behind it: a table of probabilities would be too large.

        Parameters
        ----------
        counts : sparse array (n_classes, n_features)
            How often each feature was counted in each class.
        weights : array (n_classes,)
            The number of rows of each class; 0 for a class without rows.
        alpha : float
            The pseudo-count of every feature.
        presence : bool
            Whether only the presence of a feature counts, as in a Bernoulli density.

        Returns
        -------
        SparseCountDensity
            The density of k classes.
        """
        from scipy.sparse import csr_array

        count = csr_array(counts, dtype=np.float64)
        if not (np.isfinite(count.data) & (count.data >= 0)).all():
            raise DataError("counts must be finite and not negative")
        return cls(count, class_vector("weights", weights, count.shape[0]), check_alpha(alpha), bool(presence))

    def parameters(self) -> dict[str, Any]:
        """What the probabilities follow from, as `from_parameters` takes it.

        Returns
        -------
        dict
            "counts" (k, d), sparse; "weights" (k,); "alpha"; "presence".
        """
        return {"counts": self.count, "weights": self.weight, "alpha": self.alpha, "presence": self.presence}

    def linear(self) -> LinearForm:
        """Dense slopes would be too many: DataError."""
        raise DataError(f"slopes of {self.n_classes} classes and {self.n_features} features are too many for one table")

    @property
    def seen(self) -> Array:  # type: ignore[override]
        return self.weight > 0

    @property
    def n_features(self) -> int:
        return int(self.count.shape[1])

    def of_classes(self, indices: Sequence[int]) -> Self:
        kept = list(indices)
        return replace(self, count=self.count[kept], weight=self.weight[kept])

    @cached_property
    def _owner(self) -> Array:
        """The class of each stored count."""
        if self.count.format == "csc":
            return np.asarray(self.count.indices)
        return np.repeat(np.arange(self.n_classes, dtype=np.int32), np.diff(self.count.indptr))

    @cached_property
    def _totals(self) -> Array:
        """The sum of the counts of each class, (k,), a part at a time: there may be millions of features."""
        sums = (np.bincount(self._owner[i], self.count.data[i], minlength=self.n_classes) for i in self._parts())
        return np.asarray(sum(sums, np.zeros(self.n_classes)))

    @cached_property
    def _rounds(self) -> Array:
        """What the counts of a class are shares of, (k,)."""
        total = self._totals + self.alpha * self.n_features
        return np.asarray(self.weight + 2 * self.alpha if self.presence else np.where(total > 0, total, 1.0))

    @property
    def mean_length(self) -> Array:
        """The mean total of a row, (k,)."""
        return np.asarray(self._totals / np.where(self.weight > 0, self.weight, 1.0))

    def _stored(self, values: Array) -> Any:
        return type(self.count)((values, self.count.indices, self.count.indptr), shape=self.count.shape)

    def _misses(self) -> Array:
        """Rows without the feature, for each stored count."""
        return left_over(self.weight[self._owner], self.count.data) + self.alpha

    def _parts(self) -> list[slice]:
        return [slice(i, i + _PART) for i in range(0, self.count.nnz, _PART)]

    @property
    def by_class(self) -> Array:
        """The slope of the features that a class never had, (k,)."""
        never = np.log(self.alpha) if self.alpha else 0.0
        rest = log(self.weight + self.alpha) if self.presence else log(self._rounds)
        return np.where(self.seen, never - rest, 0.0) if self.alpha or not self.presence else np.zeros(self.n_classes)

    def slopes_of_counts(self) -> Array | None:
        """What the counts 0, 1, 2 and so on add to the slope of their class: a short table instead of a slope for every
        count. None where it would be no shorter, counts are not whole numbers, or slopes depend on more than counts."""
        data = self.count.data
        if self.presence or not self.alpha or not data.max(initial=0.0) < len(data):
            return None
        if not all((data[i] == np.rint(data[i])).all() for i in self._parts()):
            return None
        return np.asarray(np.log(np.arange(data.max(initial=0.0) + 1) + self.alpha) - np.log(self.alpha))

    @cached_property
    def slopes(self) -> Slopes:
        never, by_class = np.log(self.alpha) if self.alpha else 0.0, self.by_class
        own = self.count.data + self.alpha
        with np.errstate(divide="ignore"):
            np.log(own, out=own)
        if self.presence:  # where the feature never is absent, the constant has no part of it
            own -= np.where(self._misses() > 0, log(self._misses()), log(self._rounds)[self._owner])
            own -= by_class[self._owner]
        else:
            own -= never  # which is the slope of the class and log(total)
        return Slopes(self._stored(own), by_class)

    @cached_property
    def constant(self) -> Array:
        if not self.presence:
            return np.zeros(self.n_classes)
        misses = self._misses()
        own = finite(log(misses / self._rounds[self._owner]))
        others = self.n_features - np.bincount(self._owner, minlength=self.n_classes)
        never = log((self.weight + self.alpha) / np.where(self._rounds > 0, self._rounds, 1.0))
        return np.bincount(self._owner, own, minlength=self.n_classes) + np.where(self.seen, others * never, 0.0)

    @cached_property
    def violations(self) -> Slopes | None:
        if self.alpha:
            return None
        always = (self._misses() == 0) & self.presence
        return Slopes(self._stored(-1.0 - always), np.ones(self.n_classes))

    @cached_property
    def violated(self) -> Array:
        if not self.presence:
            return np.zeros(self.n_classes)
        return np.bincount(self._owner, self._misses() == 0, minlength=self.n_classes).astype(np.float64)

    def present(self, c: int) -> tuple[Array, Array]:
        part, violated = np.zeros(self.n_features), np.zeros(self.n_features)
        if self.presence:
            own = self.count[[c]].tocsr()
            misses = left_over(self.weight[c], own.data) + self.alpha
            part += log((self.weight[c] + self.alpha) / self._rounds[c])
            part[own.indices] = finite(log(misses / self._rounds[c]))
            violated[own.indices] = misses == 0
        return part, violated

    def _log_observed(self, missing: Array) -> Array | None:
        if self.presence:
            return None
        observed = (self.count @ (~missing).T.astype(np.float64)).T
        return log_mass((observed + self.alpha * (~missing).sum(axis=1, keepdims=True)) / self._rounds)

    def _shared(self, X: Counts) -> Array:
        return np.zeros(len(X)) if self.presence else log_orders(X)

    def _shared_of(self, stats: CountStats) -> float:
        return 0.0 if self.presence else log_orders_of(stats)

    def sample(self, code: Array, rng: np.random.Generator) -> Counts:  # noqa: ARG002
        raise DataError(f"sampling is not supported for {self.n_classes} classes with {self.n_features} features")

    def typicality(self, X: Counts) -> Array:  # noqa: ARG002
        raise DataError(f"typicality is not supported for {self.n_classes} classes with {self.n_features} features")

    def fill(self, X: Counts, posterior: Array) -> Counts:  # noqa: ARG002
        if X.missing is None:
            return X
        raise DataError(f"imputation is not supported for {self.n_classes} classes with {self.n_features} features")

    def draw(self, X: Counts, code: Array, rng: np.random.Generator) -> Counts:  # noqa: ARG002
        return self.fill(X, np.empty(0))

    def to_arrays(self) -> dict[str, Array]:
        count = self.count.tocsr()
        stored = {name: getattr(count, name) for name in ("data", "indices", "indptr")}
        rest = {"weight": self.weight, "alpha": np.array(self.alpha), "presence": np.array(self.presence)}
        return stored | rest | {"n_features": np.array(self.n_features)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        from scipy.sparse import csr_array

        parts = tuple(np.array(arrays[name]) for name in ("data", "indices", "indptr"))
        count = csr_array(parts, shape=(len(arrays["weight"]), int(arrays["n_features"])))
        count.check_format(full_check=True)  # an index out of range would be read outside the array
        return cls(count, np.array(arrays["weight"]), float(arrays["alpha"]), bool(arrays["presence"]))
