"""One statistic for each block of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import LIKE, DataError, FamilyError, StatisticsError, listed, remedy
from ..tables.batch import Batch
from ..tables.features import Feature, extended, features_from_arrays, features_to_arrays, sources
from ..tables.labels import SoftLabels, encode
from .base import Statistics, names_from_arrays, names_to_arrays, of_one_kind, settle, vocabulary

Array = NDArray[Any]
Collector = Callable[[Batch], Statistics]

_MOST = 1 << 20  # columns without names, of which some may be of no block: a file could say any number


@dataclass(frozen=True, slots=True, eq=False)
class BundleStats(Statistics):
    """Statistics of the same rows, each of some of the columns.

    Parameters
    ----------
    classes : array of shape (k,)
        The sorted labels.
    weight : array of shape (k,)
        The total weight of each class.
    parts : dict of str to Statistics
        The statistic of each block.
    columns : dict of str to tuple of int
        The indices of the columns of each block; features have the indices after those of the columns of the table.
    n_features : int
        The number of columns of the whole table, those of no block included.
    names : tuple of str, optional
        The names of these columns.
    features : tuple of Feature
        Columns that are derived from those of the table.

    Examples
    --------
    >>> from suffice.stats import CountStats, MomentStats
    >>> blocks = {"height": ((0,), MomentStats.of), "visits": ((1,), CountStats.of)}
    >>> BundleStats.of(Batch.of([[1.8, 2], [1.6, 0]], ["m", "f"]), blocks).parts["visits"].count
    array([[0.],
           [2.]])
    """

    classes: Array
    weight: Array
    parts: dict[str, Statistics]
    columns: dict[str, tuple[int, ...]]
    n_features: int = field()  # of the whole table; field() keeps the inherited property from being a default
    names: tuple[str, ...] | None = None
    features: tuple[Feature, ...] = ()

    sums: ClassVar[tuple[str, ...]] = ("weight", "parts")

    def __post_init__(self) -> None:
        settle(self, "weight")

    def __repr__(self) -> str:
        return f"BundleStats({', '.join(f'{name}: {part!r}' for name, part in self.parts.items())})"

    @classmethod
    def zeros(
        cls,
        classes: Any,
        blocks: Mapping[str, tuple[tuple[int, ...], Callable[[Any], Statistics]]],
        n_features: int,
        names: tuple[str, ...] | None = None,
    ) -> Self:
        """The statistic of no rows.

        Parameters
        ----------
        classes : array (k,)
            Labels, in any order.
        blocks : mapping
            For every block its columns, by index, and a function from classes to the statistic of no rows.
        n_features : int
            The number of columns of the whole table.
        names : tuple of str, optional
            The names of these columns.

        Returns
        -------
        BundleStats
            The identity of addition.

        Examples
        --------
        >>> from suffice.stats import MomentStats
        >>> blocks = {"gaussian": ((0, 2), lambda classes: MomentStats.zeros(classes, 2))}
        >>> BundleStats.zeros(["b", "a"], blocks, n_features=3)
        BundleStats(gaussian: MomentStats(diag, 2 classes, 2 features, weight 0))
        """
        classes = vocabulary(classes)
        parts = {name: zeros(classes) for name, (_, zeros) in blocks.items()}
        columns = {name: indices for name, (indices, _) in blocks.items()}
        return cls(classes, np.zeros(len(classes)), parts, columns, n_features, names)

    @classmethod
    def of(  # type: ignore[override]
        cls,
        batch: Batch,
        blocks: Mapping[str, tuple[tuple[int, ...], Collector]],
        features: tuple[Feature, ...] = (),
    ) -> Self:
        """Return the statistic of one batch of labelled rows.

        Parameters
        ----------
        batch : Batch
            Rows with labels, hard or soft, and weights where they have any.
        blocks : mapping
            For every block its columns, by index, and its collector: a function from a batch to a statistic.
        features : tuple of Feature
            Further columns, which are derived from those of the batch.

        Returns
        -------
        BundleStats
            What is kept of the rows.

        Examples
        --------
        >>> from suffice import BundleStats, CountStats, MomentStats
        >>> from suffice.tables.batch import Batch
        >>> blocks = {"height": ((0,), MomentStats.of), "visits": ((1,), CountStats.of)}
        >>> stats = BundleStats.of(Batch.of([[1.8, 2], [1.6, 0], [1.7, 1]], ["m", "f", "f"]), blocks)
        >>> stats.parts["height"].mean, stats.parts["visits"].count
        (array([[1.65],
               [1.8 ]]), array([[1.],
               [2.]]))
        """
        if batch.y is not None and not isinstance(batch.y, SoftLabels):
            batch = replace(batch, coded=encode(batch.y))  # once for all blocks
        table, parts = batch.table, {}
        whole = replace(batch, table=extended(table, features, strict=True))
        for name, (indices, collect) in blocks.items():
            try:
                parts[name] = collect(whole.take(indices))
            except FamilyError as error:
                own = sources(table.n_features, features)
                raise FamilyError(f"in the {name} columns: {error}", [own[indices[j]] for j in error.columns]) from None
            except DataError as error:
                raise DataError(f"in the {name} columns: {error}") from None
        first = next(iter(parts.values()))
        columns = {name: indices for name, (indices, _) in blocks.items()}
        return cls(first.classes, np.array(first.weight), parts, columns, table.n_features, table.names, features)

    @property
    def blocks(self) -> Mapping[str, tuple[int, ...]]:
        return self.columns

    def category_kinds(self) -> dict[int, str]:
        kinds = (
            (self.columns[name][j], kind)
            for name, part in self.parts.items()
            for j, kind in part.category_kinds().items()
        )
        return {j: kind for j, kind in kinds if j < self.n_features}  # features are not read from a table

    def aligned(self, classes: Array) -> Self:
        parts = {name: part.aligned(classes) for name, part in self.parts.items()}
        return replace(self, classes=classes, weight=np.array(next(iter(parts.values())).weight), parts=parts)

    def _check_columns(self, other: Self) -> None:
        self._check_n_features(other)
        if self.names is not None and other.names is not None and self.names != other.names:
            raise StatisticsError("statistics of columns with different names, or in another order, cannot be merged")
        mine, theirs = self._families(), other._families()
        if differing := [j for j in range(self.n_features) if mine.get(j) != theirs.get(j)]:
            names, (one, two) = self.names or other.names, (own.get(differing[0], "drop") for own in (mine, theirs))
            raise StatisticsError(
                f"column {listed([names[j] if names else j for j in differing])} has different families "
                f"({one} and {two}): the statistics cannot be merged; {remedy(*LIKE)}"
            )
        if self.features != other.features:
            prepared = sorted({feature.source for feature in set(self.features) ^ set(other.features)})
            names = self.names or other.names
            raise StatisticsError(
                f"column {listed([names[j] if names else j for j in prepared])} has other bins, or another transform, "
                f"in the two models, because these were found from different rows: the statistics cannot be merged; "
                + remedy(*LIKE)
            )
        for name, part in self.parts.items():
            alike = of_one_kind(part, other.parts[name])
            if alike is None:
                raise StatisticsError(f"the blocks {name!r} are of different families and cannot be merged")
            alike[0]._check_columns(alike[1])

    def _families(self) -> dict[int, str]:
        """Return the family of every column that has one."""
        own = {j: name for name, indices in self.columns.items() for j in indices if j < self.n_features}
        return own | {feature.source: feature.asked for feature in self.features}

    def _alike(self, other: Self) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """The parts of both by name, those of a block as statistics of one kind."""
        for name, part in self.parts.items():
            alike = of_one_kind(part, other.parts[name])
            assert alike is not None
            yield name, alike

    def _merged(self, other: Self) -> Self:
        parts = {name: one._merged(two) for name, (one, two) in self._alike(other)}
        return replace(self, weight=self.weight + other.weight, parts=parts, names=self.names or other.names)

    def _without(self, other: Self) -> Self:
        parts = {name: one._without(two) for name, (one, two) in self._alike(other)}
        return replace(self, weight=np.array(next(iter(parts.values())).weight), parts=parts)

    def is_finite(self) -> bool:
        return all(part.is_finite() for part in self.parts.values())

    def is_faint_without(self, gone: Self, rest: Self, unweighted: Self) -> bool:
        others = gone.parts, rest.parts, unweighted.parts
        return any(part.is_faint_without(*(own[name] for own in others)) for name, part in self.parts.items())

    def to_arrays(self) -> dict[str, Array]:
        arrays = {"n_features": np.array(self.n_features)} | names_to_arrays(self.names)
        arrays |= features_to_arrays(self.features)
        for name, part in self.parts.items():
            prefix = f"{name}.{type(part).__name__}"
            arrays[f"{prefix}.columns"] = np.array(self.columns[name], dtype=np.int64)
            arrays |= {f"{prefix}:{key}": array for key, array in part.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        parts, columns = {}, {}
        for key, array in arrays.items():
            if not key.endswith(".columns"):
                continue
            name, _, kind = key.removesuffix(".columns").rpartition(".")
            if kind not in Statistics.kinds or kind == cls.__name__:
                raise StatisticsError(f"a block of {kind!r} is not known")
            prefix = f"{name}.{kind}:"
            own = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
            parts[name] = Statistics.kinds[kind].from_arrays(classes, own)
            columns[name] = tuple(array.reshape(-1).tolist())
        whole = all(f"{key.rpartition(':')[0]}.columns" in arrays for key in arrays if ":" in key)
        if not parts or not whole or "n_features" not in arrays:
            raise StatisticsError(f"these are not the arrays of a bundle: {sorted(arrays)}")
        try:
            n_features, names = int(arrays["n_features"]), names_from_arrays(arrays)
            features = features_from_arrays(arrays, n_features)
        except (KeyError, TypeError, ValueError) as error:
            raise StatisticsError(f"arrays of a bundle are invalid: {error}") from None
        indices = [j for own in columns.values() for j in own]
        known = range(n_features + len(features))
        fits = len(set(indices)) == len(indices) and all(isinstance(j, int) and j in known for j in indices)
        fits = fits and (n_features <= _MOST if names is None else len(names) == n_features)
        if not fits or any(part.n_features != len(columns[name]) for name, part in parts.items()):
            raise StatisticsError("the blocks do not fit their columns")
        order = sorted(parts, key=lambda name: columns[name])
        weight = np.array(parts[order[0]].weight)
        named = {name: parts[name] for name in order}, {name: columns[name] for name in order}
        return cls(np.array(classes), weight, *named, n_features, names, features)
