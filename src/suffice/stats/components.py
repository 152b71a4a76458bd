"""The statistic of classes that are mixtures: each class owns some components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import StatisticsError
from ..tables.batch import Batch
from ..tables.features import Feature
from ..tables.labels import positions
from .base import Statistics, settle, spread, vocabulary
from .bundle import Collector

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentStats(Statistics):
    """The statistic of the components of classes, as expectation-maximisation leaves it.

    The sum of two has the components of both: the density of a class is then the average of its two densities, by the
    weight of the rows behind them. Rows cannot be subtracted, since which component had them is not known any more.

    Parameters
    ----------
    classes : array of shape (k,)
        The sorted labels.
    weight : array of shape (k,)
        The total weight of each class.
    parts : Statistics
        The statistic of K components, whose labels are 0 to K - 1.
    owner : array of int of shape (K,)
        The index of the class of each component.

    Examples
    --------
    >>> from suffice.stats import MomentStats
    >>> parts = MomentStats.of(Batch.of([[1.0], [2.0], [5.0]], [0, 0, 1]))
    >>> ComponentStats.of_parts(["a"], parts, [0, 0]).weight
    array([3.])
    """

    classes: Array
    weight: Array
    parts: Statistics
    owner: Array

    sums: ClassVar[tuple[str, ...]] = ("weight", "parts")

    def __post_init__(self) -> None:
        settle(self, "weight", "owner")

    def __repr__(self) -> str:
        return f"ComponentStats({len(self.classes)} classes, {len(self.owner)} components, {self.parts!r})"

    @classmethod
    def of_parts(cls, classes: Any, parts: Statistics, owner: Any, weight: Any = None) -> Self:
        """Return the statistic of components.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Sorted labels.
        parts : Statistics
            The statistic of the K components.
        owner : array-like of int of shape (K,)
            The index of the class of each component, in ascending order.
        weight : array-like of shape (k,), optional
            The total weight of each class, where that of its components holds more: pseudo-rows.

        Returns
        -------
        ComponentStats
            The statistic of the classes.
        """
        labels, index = np.asarray(classes), np.asarray(owner, np.int64)
        in_order = index.shape == parts.weight.shape and (np.diff(index) >= 0).all()
        if not in_order or not np.isin(index, np.arange(len(labels))).all():
            raise StatisticsError("the owner of each component must be the index of a class, in ascending order")
        own = np.bincount(index, parts.weight, len(labels)) if weight is None else np.array(weight, np.float64)
        if own.shape != labels.shape or not (np.isfinite(own) & (own >= 0)).all():
            raise StatisticsError("the weight of each class must be a number that is not negative")
        return cls(labels, own, parts, index)

    @classmethod
    def zeros(cls, classes: Any, parts: Statistics) -> Self:
        """Return the statistic of no rows.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Labels, in any order.
        parts : Statistics
            The statistic of no components.

        Returns
        -------
        ComponentStats
            The identity of addition.
        """
        return cls.of_parts(vocabulary(classes), parts, np.zeros(0, np.int64))

    @classmethod
    def of(cls, batch: Batch, collect: Collector, classes: Any, owner: Any) -> Self:  # type: ignore[override]
        """Return the statistic of one batch of rows with responsibilities.

        Parameters
        ----------
        batch : Batch
            Rows whose soft labels are those of components.
        collect : callable
            From a batch to the statistic of its components.
        classes : array-like of shape (k,)
            Sorted labels.
        owner : array-like of int of shape (K,)
            The index of the class of each component.

        Returns
        -------
        ComponentStats
            What is kept of the rows.
        """
        return cls.of_parts(classes, collect(batch), owner)

    @property
    def n_features(self) -> int:
        return self.parts.n_features

    @property
    def names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The names of the columns, where they are kept."""
        return self.parts.names

    @property
    def features(self) -> tuple[Feature, ...]:
        return self.parts.features

    @property
    def blocks(self) -> Mapping[str, tuple[int, ...]] | None:
        return self.parts.blocks

    def category_kinds(self) -> dict[int, str]:
        return self.parts.category_kinds()

    def aligned(self, classes: Array) -> Self:
        index = positions(self.classes, classes)
        return self.of_parts(classes, self.parts, index[self.owner], spread(self.weight, index, len(classes)))

    def _check_columns(self, other: Self) -> None:
        if type(self.parts) is not type(other.parts):
            raise StatisticsError(f"{self.parts!r} and {other.parts!r} cannot be merged")
        self.parts._check_columns(other.parts)

    def _merged(self, other: Self) -> Self:
        owner = np.concatenate([self.owner, other.owner])
        order = np.argsort(owner, kind="stable")
        label = np.empty_like(order)
        label[order] = np.arange(len(order))
        mine, theirs = np.split(label, [len(self.owner)])  # both are sorted, as the owners are
        parts = relabelled(self.parts, mine) + relabelled(other.parts, theirs)
        return self.of_parts(self.classes, parts, owner[order], self.weight + other.weight)

    def _without(self, other: Self) -> Self:
        if not other.weight.any():
            return self
        raise StatisticsError("a mixture cannot forget rows: fit it again without them")

    def is_finite(self) -> bool:
        return self.parts.is_finite()

    def to_arrays(self) -> dict[str, Array]:
        kind = type(self.parts).__name__
        own = {"owner": self.owner, "weight": self.weight}
        return own | {f"{kind}:{name}": array for name, array in self.parts.to_arrays().items()}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        kinds = {name.partition(":")[0] for name in arrays if ":" in name}
        if (
            len(kinds) != 1
            or not {"owner", "weight"} <= arrays.keys()
            or not kinds <= Statistics.kinds.keys() - {cls.__name__}
        ):
            raise StatisticsError(f"these are not the arrays of components: {sorted(arrays)}")
        own = {name.partition(":")[2]: array for name, array in arrays.items() if ":" in name}
        owner = np.array(arrays["owner"], np.int64).reshape(-1)
        parts = Statistics.kinds[kinds.pop()].from_arrays(np.arange(len(owner)), own)
        return cls.of_parts(np.array(classes), parts, owner, arrays["weight"])


def relabelled(statistics: Statistics, classes: Array) -> Statistics:
    """The same statistic with other labels, which are sorted too."""
    return type(statistics).from_arrays(classes, statistics.to_arrays())
