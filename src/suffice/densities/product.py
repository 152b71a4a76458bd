"""Blocks of columns that are independent given the class, each with a family of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, listed
from ..tables.table import Table
from ..tables.vocabulary import words_from_arrays, words_to_arrays
from .base import Density
from .categorical import CategoricalDensity
from .counts import BernoulliDensity, BinomialDensity, PoissonDensity
from .gaussian import GaussianDensity
from .multinomial import MultinomialDensity
from .predictive import BetaBinomialDensity, NegativeBinomialDensity, PolyaDensity
from .scorer import Wanted
from .sparse import HashedDensity
from .typicality import drawn_typicality

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Rows, block by block, each as its family reads it."""

    parts: dict[str, Any]
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows


@dataclass(frozen=True, eq=False)
class ProductDensity(Density):
    """The product of the densities of some blocks of columns."""

    parts: dict[str, Density]  # by the name of the block
    columns: dict[str, tuple[int, ...]]  # of each block, by position in the table
    names: tuple[str, ...]  # of all columns of the table, also of those that no block has

    def __repr__(self) -> str:
        return f"ProductDensity({', '.join(f'{name}: {part!r}' for name, part in self.parts.items())})"

    @property
    def n_classes(self) -> int:
        return next(iter(self.parts.values())).n_classes

    @property
    def n_features(self) -> int:
        return len(self.names)

    @property
    def places_read(self) -> Sequence[int]:
        return sorted(j for places in self.columns.values() for j in places)

    @property
    def has_zeros(self) -> bool:
        return any(part.has_zeros for part in self.parts.values())

    def of_classes(self, places: Sequence[int]) -> Self:
        return replace(self, parts={name: part.of_classes(places) for name, part in self.parts.items()})

    def read(self, table: Table) -> Blocks:
        parts = {}
        for name, part in self.parts.items():
            try:
                parts[name] = part.read(table.take(self.columns[name]))
            except DataError as error:
                raise DataError(f"in the {name} columns: {error}") from None
        return Blocks(parts, len(table))

    def write(self, x: Blocks) -> Any:
        """An Arrow table, with nulls in the columns that no block has."""
        import pyarrow as pa

        values: list[Any] = [pa.nulls(len(x))] * self.n_features
        for name, part in self.parts.items():
            block = part.write(x.parts[name])
            for i, j in enumerate(self.columns[name]):
                values[j] = pa.array(block[:, i].tolist() if block.dtype == object else block[:, i])
        return pa.table(values, names=list(self.names))

    def _score(self, X: Blocks, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        total, own = np.zeros((len(X), self.n_classes)), np.empty((len(X), self.n_classes))
        for name, part in self.parts.items():
            if not part.score(X.parts[name], all=own, relative=relative):
                self._score_incomplete(name, X.parts[name], own)
            total += own
        kernels.active.reduce(total + offset, *wanted)
        return True

    def _score_incomplete(self, name: str, x: Array, out: Array) -> None:
        """Score rows with missing cells by what they have; rows without are scored already."""
        if np.isinf(x).any():
            found = np.flatnonzero(np.isinf(x).any(axis=0))
            columns = listed([self.names[self.columns[name][i]] for i in found])
            raise DataError(f"column {columns} holds infinity; remove these rows or make the values missing")
        rows = np.isnan(x).any(axis=1)
        out[rows] = self.parts[name].marginal(x[rows])

    def marginal(self, X: Blocks) -> Array:
        return np.asarray(sum(part.marginal(X.parts[name]) for name, part in self.parts.items()))

    def is_complete(self, X: Blocks) -> bool:  # noqa: ARG002  missing cells drop out, infinity is refused
        return True

    def explain(self, X: Blocks, c: int) -> Array:
        shares = np.zeros((len(X), self.n_features))
        for name, part in self.parts.items():
            shares[:, list(self.columns[name])] = part.explain(X.parts[name], c)
        return shares

    def typicality(self, X: Blocks) -> Array:
        return drawn_typicality(self, X)

    def missing(self, X: Blocks) -> Array:
        missing = np.zeros((len(X), self.n_features), bool)
        for name, part in self.parts.items():
            missing[:, list(self.columns[name])] = part.missing(X.parts[name])
        return missing

    def hide(self, X: Blocks, hidden: Array) -> Blocks:
        own = {name: hidden[:, list(columns)] for name, columns in self.columns.items()}
        return replace(X, parts={name: part.hide(X.parts[name], own[name]) for name, part in self.parts.items()})

    def sample(self, code: Array, rng: np.random.Generator) -> Blocks:
        return Blocks({name: part.sample(code, rng) for name, part in self.parts.items()}, len(code))

    def fill(self, X: Blocks, posterior: Array) -> Blocks:
        return replace(X, parts={name: part.fill(X.parts[name], posterior) for name, part in self.parts.items()})

    def to_arrays(self) -> dict[str, Array]:
        letters, ends = words_to_arrays(list(self.names))
        arrays = {"names_letters": letters, "names_ends": ends}
        for name, part in self.parts.items():
            prefix = f"{name}.{type(part).__name__}"
            arrays[f"{prefix}.columns"] = np.array(self.columns[name], np.int64)
            arrays |= {f"{prefix}:{key}": array for key, array in part.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        parts, columns = {}, {}
        for key, places in arrays.items():
            if key.endswith(".columns"):
                name, _, kind = key.removesuffix(".columns").rpartition(".")
                prefix = f"{name}.{kind}:"
                own = {k.removeprefix(prefix): array for k, array in arrays.items() if k.startswith(prefix)}
                parts[name], columns[name] = _KINDS[kind].from_arrays(own), tuple(places.tolist())
        return cls(parts, columns, tuple(words_from_arrays(arrays["names_letters"], arrays["names_ends"])))


_KINDS: dict[str, type[Density]] = {
    kind.__name__: kind
    for kind in (
        BernoulliDensity,
        BetaBinomialDensity,
        BinomialDensity,
        CategoricalDensity,
        GaussianDensity,
        HashedDensity,
        MultinomialDensity,
        NegativeBinomialDensity,
        PoissonDensity,
        PolyaDensity,
    )
}
