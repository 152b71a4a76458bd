"""Blocks of columns that are independent given the class, each with a family of its own."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, EmptyClassWarning, instead_of_infinity, listed
from ..stats import BundleStats
from ..tables.features import (
    Feature,
    extended,
    features_from_arrays,
    features_to_arrays,
    restored,
    sources,
)
from ..tables.table import Table
from ..tables.vocabulary import words_from_arrays, words_to_arrays
from .base import Density, LinearForm, seen_classes
from .parameters import check_weights
from .scorer import Edge, Wanted
from .typicality import drawn_typicality

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class BlockRows:
    """Rows, block by block, each as its family reads it."""

    parts: dict[str, Any]
    n_rows: int
    within: Array | None = None  # (n,) from 0 to 1, where drawn rows lie within bins

    def __len__(self) -> int:
        return self.n_rows


@dataclass(frozen=True, eq=False)
class ProductDensity(Density):
    """The product of the densities of blocks of columns, which are independent given the class.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    parts : dict of str to Density
        The density of each block.
    columns : dict of str to tuple of int
        The indices of the columns of each block; features have the indices after those of the columns of the table.
    names : tuple of str
        The names of all columns of the table, those of no block included.
    features : tuple of Feature
        Columns that are derived from those of the table.

    Examples
    --------
    >>> from suffice.densities import BernoulliDensity, PoissonDensity
    >>> visits, member = PoissonDensity.from_parameters([2.0, 5.0]), BernoulliDensity.from_parameters([0.5, 0.9])
    >>> ProductDensity.from_parameters({"visits": visits, "member": member})
    ProductDensity(visits: PoissonDensity(2 classes, 1 features), member: BernoulliDensity(2 classes, 1 features))
    """

    parts: dict[str, Density]
    columns: dict[str, tuple[int, ...]]
    names: tuple[str, ...]
    features: tuple[Feature, ...] = ()

    @classmethod
    def estimate(
        cls,
        stats: BundleStats,
        families: Mapping[str, Callable[[Any], Density]],
        names: tuple[str, ...] | None = None,
    ) -> Self:
        """Estimate the density of every block from its own statistic.

        Parameters
        ----------
        stats : BundleStats
            One statistic for each block.
        families : mapping of str to callable
            For each block a function from its statistic to a density, such as ``PoissonDensity.estimate``.
        names : tuple of str, optional
            Names of all columns; those of the statistic by default.

        Returns
        -------
        ProductDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> from suffice import BernoulliDensity, CountStats, PoissonDensity
        >>> visits, member = CountStats(["a"], [4], [[10]]), CountStats(["a"], [4], [[3]], presence=True)
        >>> stats = BundleStats(["a"], [4], {"visits": visits, "member": member}, {"visits": (0,), "member": (1,)}, 2)
        >>> families = {"visits": PoissonDensity.estimate, "member": BernoulliDensity.estimate}
        >>> [part.mean.round(3) for part in ProductDensity.estimate(stats, families).parts.values()]
        [array([[2.5]]), array([[0.667]])]
        """
        seen_classes(stats)  # warns once, and not once for each block
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClassWarning)
            parts = {name: families[name](part) for name, part in stats.parts.items()}
        return cls(parts, stats.columns, names or stats.names or _numbered(stats.n_features), stats.features)

    @classmethod
    def from_parameters(
        cls,
        parts: Mapping[str, Density],
        columns: Mapping[str, Sequence[int]] | None = None,
        names: Sequence[str] | None = None,
        features: Sequence[Feature] = (),
    ) -> Self:
        """Make the product of densities of blocks of columns.

        Parameters
        ----------
        parts : mapping of str to Density
            The density of each block, by a name for the block.
        columns : mapping of str to sequence of int, optional
            The indices of the columns of each block; by default one block follows the other.
        names : sequence of str, optional
            The names of all columns, those of no block included; by default x0, x1 and so on.
        features : sequence of Feature, optional
            Columns that are derived from those of the table, which have the indices after these.

        Returns
        -------
        ProductDensity
            The density of k classes.

        Examples
        --------
        >>> from suffice.densities import BernoulliDensity, GaussianDensity
        >>> heights = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])
        >>> smokers = BernoulliDensity.from_parameters([0.25, 0.2])
        >>> people = ProductDensity.from_parameters({"height": heights, "smokes": smokers})
        >>> np.exp(people.log_likelihood([[174.0, 1]])).round(5)
        array([[0.01349, 0.0024 ]])
        """
        if not parts:
            raise DataError("parts is empty; give the density of at least one block")
        if columns is None:
            following = itertools.count()
            columns = {name: list(itertools.islice(following, part.n_features)) for name, part in parts.items()}
        own = {name: tuple(int(j) for j in columns.get(name, ())) for name in parts}
        indices = [j for block in own.values() for j in block]
        names = _numbered(max(indices, default=-1) + 1 - len(features)) if names is None else tuple(names)
        for name, part in parts.items():
            if len(own[name]) != part.n_features:
                raise DataError(f"block {name!r} has {part.n_features} features, but {len(own[name])} columns")
        n_columns = len(names) + len(features)
        if len(set(indices)) < len(indices) or not set(indices) <= set(range(n_columns)):
            raise DataError(f"the columns of the blocks must be distinct indices from 0 to {n_columns - 1}: {own}")
        if len({part.n_classes for part in parts.values()}) > 1:
            sizes = ", ".join(f"{name} {part.n_classes}" for name, part in parts.items())
            raise DataError(f"the blocks have different numbers of classes: {sizes}")
        return cls(dict(parts), own, names, tuple(features))

    def parameters(self) -> dict[str, Any]:
        """Return densities and columns of the blocks, as `from_parameters` takes them.

        Returns
        -------
        dict
            "parts", the density of each block, with parameters of its own; "columns", their indices; "names" and
            "features".

        Examples
        --------
        >>> from suffice import BernoulliDensity, PoissonDensity
        >>> visits, member = PoissonDensity.from_parameters([2.0]), BernoulliDensity.from_parameters([0.5])
        >>> both = ProductDensity.from_parameters({"visits": visits, "member": member}, names=["visits", "is_member"])
        >>> both.parameters()["columns"], both.parameters()["names"], both.parameters()["parts"]["visits"].parameters()
        ({'visits': (0,), 'member': (1,)}, ('visits', 'is_member'), {'rates': array([[2.]])})
        """
        named = {"names": self.names, "features": self.features}
        return {"parts": dict(self.parts), "columns": dict(self.columns), **named}

    def labelled_parameters(self, names: Sequence[Any]) -> dict[str, Any]:
        own = self._named(names)
        return {
            name: {"columns": own[name], **part.labelled_parameters(own[name])} for name, part in self.parts.items()
        }

    @property
    def shared_parameters(self) -> frozenset[str]:
        """The names of shared parameters, each after the name of its block and a space."""
        return frozenset(f"{name} {shared}" for name, part in self.parts.items() for shared in part.shared_parameters)

    def checked(self) -> Self:
        parts = {name: part.checked() for name, part in self.parts.items()}
        return self.from_parameters(parts, self.columns, self.names, self.features)

    def _named(self, names: Sequence[Any]) -> dict[str, list[Any]]:
        """The names of the columns of each block."""
        every = (*names, *(feature.name for feature in self.features))
        return {name: [every[j] for j in columns] for name, columns in self.columns.items()}

    @cached_property
    def _sources(self) -> dict[str, Array]:
        """The columns of the table that those of each block are, or are derived from."""
        every = sources(self.n_features, self.features)
        return {name: every[list(columns)] for name, columns in self.columns.items()}

    def blocks(self) -> list[tuple[Density, tuple[int, ...]]]:
        return [(part, self.columns[name]) for name, part in self.parts.items()]

    def __repr__(self) -> str:
        return f"ProductDensity({', '.join(f'{name}: {part!r}' for name, part in self.parts.items())})"

    @property
    def n_classes(self) -> int:
        return next(iter(self.parts.values())).n_classes

    @property
    def seen(self) -> Array:  # type: ignore[override]
        """Which classes had rows, (k,) bool."""
        return next(iter(self.parts.values())).seen

    @property
    def n_features(self) -> int:
        return len(self.names)

    def unknown_cells(self, table: Table) -> Array:
        cells, whole = np.zeros((len(table), table.n_features), bool), extended(table, self.features)
        for name, part in self.parts.items():
            for j, unknown in zip(
                self._sources[name], part.unknown_cells(whole.take(self.columns[name])).T, strict=True
            ):
                cells[:, j] |= unknown
        return cells

    def edges(self, names: Sequence[Any] | None = None) -> list[Edge]:
        names = range(self.n_features) if names is None else names
        every = [*names, *(feature.name for feature in self.features)]
        own = [part.edges([every[j] for j in self.columns[name]]) for name, part in self.parts.items()]
        return sorted((edge for edges in own for edge in edges), key=lambda edge: -edge.information)

    def categories_of_columns(self) -> dict[int, Array]:
        found = (
            (self.columns[name][j], categories)
            for name, part in self.parts.items()
            for j, categories in part.categories_of_columns().items()
        )
        return {j: categories for j, categories in found if j < self.n_features}  # features are not read from a table

    def columns_of_booleans(self) -> frozenset[int]:
        return frozenset(self.columns[name][j] for name, part in self.parts.items() for j in part.columns_of_booleans())

    def columns_of_text(self) -> frozenset[int]:
        return frozenset(self.columns[name][j] for name, part in self.parts.items() for j in part.columns_of_text())

    def families_of_columns(self) -> dict[int, str]:
        own = {j: name for name, columns in self.columns.items() for j in columns if j < self.n_features}
        return own | {feature.source: feature.asked for feature in self.features}

    @property
    def columns_read(self) -> Sequence[int]:
        return sorted({j for indices in self._sources.values() for j in indices.tolist()})

    @property
    def has_zeros(self) -> bool:
        return any(part.has_zeros for part in self.parts.values())

    def of_classes(self, indices: Sequence[int]) -> Self:
        return replace(self, parts={name: part.of_classes(indices) for name, part in self.parts.items()})

    def renamed(self, names: tuple[str, ...]) -> Self:
        return self if names == self.names else replace(self, names=names)

    @property
    def takes_weights(self) -> bool:
        return all(part.takes_weights for part in self.parts.values())

    def weighted(self, weights: Array) -> Self:
        check_weights(weights, self.n_features)
        return replace(
            self, parts={name: part.weighted(weights[self._sources[name]]) for name, part in self.parts.items()}
        )

    def n_parameters(self) -> int:
        return sum(part.n_parameters() for part in self.parts.values())

    def linear(self) -> LinearForm:
        """Return the scores as linear functions of the columns, block after block, where all blocks have them.

        Returns
        -------
        LinearForm
            Center (p,), slopes (k, p) and constants (k,).

        Examples
        --------
        >>> from suffice import BernoulliDensity, PoissonDensity
        >>> visits, member = PoissonDensity.from_parameters([2.0]), BernoulliDensity.from_parameters([0.8])
        >>> _, slopes, _ = ProductDensity.from_parameters({"visits": visits, "member": member}).linear()
        >>> np.exp(slopes).round(6)  # the rate, and the odds
        array([[2., 4.]])
        """
        center, slope, constant = zip(*(part.linear() for part in self.parts.values()), strict=True)
        return LinearForm(np.concatenate(center), np.concatenate(slope, axis=1), np.sum(constant, axis=0))

    def linear_rows(self, X: BlockRows) -> Array:
        return np.concatenate([part.linear_rows(X.parts[name]) for name, part in self.parts.items()], axis=1)

    def linear_names(self, names: Sequence[str]) -> tuple[str, ...]:
        own = self._named(names)
        return tuple(itertools.chain.from_iterable(part.linear_names(own[name]) for name, part in self.parts.items()))

    def log_likelihood_of(self, stats: BundleStats) -> float:
        self._check_statistic(stats)
        return sum(part.log_likelihood_of(stats.parts[name]) for name, part in self.parts.items())

    def read(self, table: Table) -> BlockRows:
        whole, parts = extended(table, self.features), {}
        for name, part in self.parts.items():
            try:
                parts[name] = part.read(whole.take(self.columns[name]))
            except DataError as error:
                raise DataError(f"in the {name} columns: {error}") from None
        return BlockRows(parts, len(table))

    def write(self, x: BlockRows) -> Any:
        """Return an Arrow table, with nulls in the columns of no block.

        Parameters
        ----------
        x : BlockRows
            The rows, in the form of `read`.

        Returns
        -------
        pyarrow.Table
            The rows.

        Examples
        --------
        >>> from suffice import BernoulliDensity, CategoricalDensity
        >>> from suffice.sources import as_table
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8]])
        >>> tame = BernoulliDensity.from_parameters([0.5])
        >>> cats = ProductDensity.from_parameters({"fur": fur, "tame": tame}, names=["fur", "tame"])
        >>> cats.write(cats.read(as_table([["black", True], [None, False]]))).to_pydict()
        {'fur': ['black', None], 'tame': [1.0, 0.0]}
        """
        import pyarrow as pa

        values: list[Any] = [pa.nulls(len(x))] * self.n_features
        derived: dict[int, Array] = {}
        for name, part in self.parts.items():
            block = part.write(x.parts[name])
            for i, j in enumerate(self.columns[name]):
                if j < self.n_features:
                    values[j] = pa.array(block[:, i].tolist() if block.dtype == object else block[:, i])
                else:
                    derived[j - self.n_features] = block[:, i]
        within = np.full(len(x), 0.5) if x.within is None else x.within
        for j in {self.features[i].source for i in derived}:
            own = [i for i in sorted(derived) if self.features[i].source == j]
            values[j] = pa.array(restored([self.features[i] for i in own], [derived[i] for i in own], within))
        return pa.table(values, names=list(self.names))

    def _score(self, X: BlockRows, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        total = np.empty((len(X), self.n_classes)) if wanted.all is None else wanted.all
        own = np.empty_like(total) if len(self.parts) > 1 else total
        for i, (name, part) in enumerate(self.parts.items()):
            out, constant = (total, offset) if i == 0 else (own, 0.0)
            if not part.score(X.parts[name], constant, all=out, relative=relative):
                self._refuse_infinity(name, X.parts[name])
            if i > 0:
                total += own
        if wanted.best is not None or wanted.evidence is not None:
            kernels.active.reduce(total, None, wanted.best, wanted.evidence)
        return True

    def _refuse_infinity(self, name: str, x: Array) -> None:
        found = np.flatnonzero(np.isinf(x).any(axis=0))
        columns = listed([self.names[self._sources[name][i]] for i in found])
        raise DataError(f"column {columns} holds infinity; {instead_of_infinity()}")

    def marginal(self, X: BlockRows) -> Array:
        return np.asarray(sum(part.marginal(X.parts[name]) for name, part in self.parts.items()))

    def is_complete(self, X: BlockRows) -> bool:  # noqa: ARG002  missing cells drop out, infinity is refused
        return True

    def explain(self, X: BlockRows, c: int) -> Array:
        shares = np.zeros((len(X), self.n_features))
        for name, part in self.parts.items():
            for j, share in zip(self._sources[name], part.explain(X.parts[name], c).T, strict=True):
                shares[:, j] += share  # features of one column add up
        return shares

    def shares(self, X: BlockRows) -> Array:
        shares = np.zeros((len(X), self.n_classes, self.n_features))
        for name, part in self.parts.items():
            for j, share in zip(self._sources[name], np.moveaxis(part.shares(X.parts[name]), 2, 0), strict=True):
                shares[:, :, j] += share
        return shares

    def explain_parts(self, X: BlockRows, a: int, b: int) -> list[tuple[int, Array, Array, Array]]:
        return [
            (int(self._sources[name][j]), row, word, share)
            for name, part in self.parts.items()
            for j, row, word, share in part.explain_parts(X.parts[name], a, b)
        ]

    def typicality(self, X: BlockRows) -> Array:
        return drawn_typicality(self, X)

    def missing(self, X: BlockRows) -> Array:
        missing = np.zeros((len(X), self.n_features), bool)
        missing[:, self.columns_read] = True
        for name, part in self.parts.items():
            for j, cells in zip(self._sources[name], part.missing(X.parts[name]).T, strict=True):
                missing[:, j] &= cells  # a column is missing where all of its features are
        return missing

    def hide(self, X: BlockRows, hidden: Array) -> BlockRows:
        own = {name: hidden[:, columns] for name, columns in self._sources.items()}
        return replace(X, parts={name: part.hide(X.parts[name], own[name]) for name, part in self.parts.items()})

    def sample(self, code: Array, rng: np.random.Generator) -> BlockRows:
        drawn = {name: part.sample(code, rng) for name, part in self.parts.items()}
        return BlockRows(drawn, len(code), rng.random(len(code)) if self.features else None)

    def fill(self, X: BlockRows, posterior: Array) -> BlockRows:
        return replace(X, parts={name: part.fill(X.parts[name], posterior) for name, part in self.parts.items()})

    def draw(self, X: BlockRows, code: Array, rng: np.random.Generator) -> BlockRows:
        drawn = {name: part.draw(X.parts[name], code, rng) for name, part in self.parts.items()}
        return BlockRows(drawn, len(code), rng.random(len(code)) if self.features else None)

    def to_arrays(self) -> dict[str, Array]:
        letters, ends = words_to_arrays(list(self.names))
        arrays = {"names_letters": letters, "names_ends": ends} | features_to_arrays(self.features)
        for name, part in self.parts.items():
            prefix = f"{name}.{type(part).__name__}"
            arrays[f"{prefix}.columns"] = np.array(self.columns[name], np.int64)
            arrays |= {f"{prefix}:{key}": array for key, array in part.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        parts, columns = {}, {}
        for key, indices in arrays.items():
            if key.endswith(".columns"):
                name, _, kind = key.removesuffix(".columns").rpartition(".")
                prefix = f"{name}.{kind}:"
                own = {k.removeprefix(prefix): array for k, array in arrays.items() if k.startswith(prefix)}
                parts[name], columns[name] = Density.kinds[kind].from_arrays(own), tuple(indices.tolist())
        names = tuple(words_from_arrays(arrays["names_letters"], arrays["names_ends"]))
        return cls(parts, columns, names, features_from_arrays(arrays, len(names)))


def _numbered(n: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(f"x{j}" for j in range(n))
