"""Tables as rows of numbers for logistic regression: numbers, marks of missing values, products, one-hot categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..densities.categorical import CategoricalDensity
from ..errors import DataError
from ..tables import vocabulary as vocabularies
from ..tables.features import Feature, extended, features_from_arrays, features_to_arrays, sources
from ..tables.labels import positions
from ..tables.table import Matrix, Table, looked_at

Array = NDArray[Any]

DROP, CATEGORICAL, TEXT = "drop", "categorical", "text"
_INDICES = ("numbers", "marked", "categorical", "truths")
_SPARSE = 4  # times as many features as stored cells: then sparse rows are faster than dense ones
_SMALL = 1 << 20  # cells of a table that is faster dense in any case
_FEW = 1e-12  # of the mean square of a column: a variance below this is rounding


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Rows as a logistic model reads them: the one-hot part stays a code for each column."""

    numbers: Array  # (n, numbers and marks)
    codes: Any  # of the categorical columns

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table become features: first the numbers, then a mark of missing values for each column
    that had some in training, then the products of every two numbers where they are wanted, then one feature for each
    category. Derived columns, such as bins, have the indices after those of the columns of the table.

    A missing number is replaced by the mean of the training rows. An unknown category, and a missing one where none was
    missing in training, has no effect.
    """

    n_features: int  # columns of the table
    numbers: tuple[int, ...]  # columns that are read as numbers
    fill: Array  # (numbers,) for missing values
    marked: tuple[int, ...]  # columns whose missing values have a feature of their own
    categorical: tuple[int, ...]  # columns that are one-hot
    categories: tuple[Array, ...]  # of each of these
    derived: tuple[Feature, ...] = ()
    truths: tuple[int, ...] = ()  # those of the numbers that are Booleans, which databases tell from numbers
    units: Array | None = None  # (2, numbers) mean and deviation of the numbers whose products are features, too

    @classmethod
    def of(
        cls,
        table: Table,
        families: Sequence[str],
        weight: Array,
        derived: tuple[Feature, ...] = (),
        products: bool = False,
    ) -> Self:
        """Learn the encoding of training rows.

        Parameters
        ----------
        table : Table
            The rows.
        families : sequence of str
            The family of each column, as a `Schema` has them: categorical columns become one-hot, text and "drop" are
            left out, and all others are numbers.
        weight : array of shape (n,)
            Row weights.
        derived : tuple of Feature
            Derived columns, which replace the columns that they are derived from.
        products : bool
            Whether the products of every two numbers are features, too.

        Returns
        -------
        Encoding
            Ready to encode other rows.
        """
        replaced = {feature.source for feature in derived}
        families = [DROP if j in replaced or family == TEXT else family for j, family in enumerate(families)]
        families += [feature.family for feature in derived]
        whole = extended(table, derived)
        categorical = tuple(j for j, family in enumerate(families) if family == CATEGORICAL)
        numbers = tuple(j for j, family in enumerate(families) if family not in (CATEGORICAL, DROP))
        marked, categories, fill = [], [], np.zeros(len(numbers))
        X = whole.take(numbers).floats() if numbers else np.empty((len(table), 0))
        for i, j in enumerate(numbers):
            known = ~np.isnan(X[:, i])
            share = weight * known
            if not known.all():
                marked.append(j)
            with np.errstate(invalid="ignore", over="ignore"):
                fill[i] = share @ np.where(known, X[:, i], 0.0) / share.sum() if share.any() else 0.0
        columns = [] if isinstance(whole, Matrix) and whole.whole.dtype.kind in "fiu" else whole.columns()
        truths = tuple(j for j in numbers if columns and looked_at(columns[j]).kind == "boolean")
        for j in categorical:
            try:
                distinct, code = (columns or whole.columns())[j].coded()
                used = np.unique(code)
                categories.append(vocabularies.vocabulary(distinct[used[used >= 0]])[0])
            except DataError as error:
                raise DataError(f"column {whole.column_name(j)}: {error}") from None
            if len(used) and used[0] < 0:
                marked.append(j)
        units = None
        if products:
            share = weight / weight.sum()
            filled = np.where(np.isnan(X), fill, X)
            with np.errstate(over="ignore", invalid="ignore"):
                deviation = np.sqrt(share @ (filled - share @ filled) ** 2)
            units = np.stack([share @ filled, np.where(deviation > 0, deviation, 1.0)])
        held = tuple(sorted(marked)), categorical, tuple(categories)
        return cls(table.n_features, numbers, fill, *held, derived, truths, units)

    @property
    def n_numbers(self) -> int:
        """Features that are no category: numbers, marks and products."""
        q = len(self.numbers)
        return q + len(self.marked) + (0 if self.units is None else q * (q + 1) // 2)

    @property
    def n_encoded(self) -> int:
        """How many features there are."""
        return self.n_numbers + sum(map(len, self.categories))

    @cached_property
    def columns_read(self) -> Sequence[int]:
        """The indices of the columns that are not left out."""
        source = sources(self.n_features, self.derived)
        return sorted({int(source[j]) for j in (*self.numbers, *self.categorical)})

    def names(self, columns: Sequence[Any]) -> tuple[str, ...]:
        """Names of the features, from the names of the columns."""
        columns = (*columns, *(feature.name for feature in self.derived))
        own = [columns[j] for j in self.categorical]
        numbers = [str(columns[j]) for j in self.numbers]
        marks = [f"{columns[j]}_missing" for j in self.marked]
        if self.units is not None:
            marks += [f"{one} {two}" for i, one in enumerate(numbers) for two in numbers[i:]]
        return (*numbers, *marks, *self.one_hot(np.zeros((1, self.n_encoded))).linear_names(own))

    def places(self, other: Encoding) -> Array:
        """The index (p,) of each feature among those of another encoding of the same columns; -1 if it has none."""
        q, start = len(self.numbers), other.n_numbers
        marks = np.array([q + other.marked.index(j) if j in other.marked else -1 for j in self.marked], np.intp)
        products = np.arange(q + len(other.marked), start)
        found = [np.arange(q), marks, products]
        for own, known in zip(self.categories, other.categories, strict=True):
            place = positions(own, known)
            found.append(np.where(place < 0, -1, place + start))
            start += len(known)
        return np.concatenate(found)

    def one_hot(self, slope: Array) -> CategoricalDensity:
        """The part of the scores that comes from categories, for slopes (k, p) of all features."""
        k = len(slope)
        unseen = np.zeros((k, len(self.categories)))
        return CategoricalDensity(self.categories, slope[:, self.n_numbers :], unseen, np.ones(k, bool), "ignore")

    def read(self, table: Table) -> EncodedRows:
        """Read rows. Infinite numbers stay infinite."""
        table = extended(table, self.derived)
        out = np.empty((len(table), self.n_numbers))
        q = len(self.numbers)
        if q:
            out[:, :q] = table.take(self.numbers).floats()
        codes = self._coder.read(table.take(self.categorical)) if self.categorical else None
        missing = {j: np.isnan(out[:, i]) for i, j in enumerate(self.numbers) if j in self.marked}
        if codes is not None:
            missing |= dict(zip(self.categorical, self._coder.missing(codes).T, strict=True))
        for i, j in enumerate(self.marked, q):
            out[:, i] = missing[j]
        X = out[:, :q]
        with np.errstate(invalid="ignore", over="ignore"):
            if np.isnan(X.sum()):
                np.copyto(X, self.fill, where=np.isnan(X))
        if self.units is not None:
            write_products((X - self.units[0]) / self.units[1], out[:, q + len(self.marked) :])
        return EncodedRows(out, codes)

    @cached_property
    def _coder(self) -> CategoricalDensity:
        return self.one_hot(np.zeros((1, self.n_encoded)))

    def rows(self, read: EncodedRows) -> Any:
        """The features of rows: an array (n, p), or compressed sparse rows where most of them are zero."""
        n, p = len(read), self.n_encoded
        if p <= _SPARSE * (self.n_numbers + len(self.categories)) or n * p <= _SMALL:
            if not self.categorical:
                return read.numbers
            out = np.zeros((n, p))
            out[:, : self.n_numbers] = read.numbers
            for indices, start in self._indices(read):
                known = np.flatnonzero(indices >= 0)
                out[known, indices[known] + start] = 1.0
            return out
        from scipy.sparse import csr_array

        width = self.n_numbers + len(self.categories)
        column, value = np.empty((n, width), np.int32), np.ones((n, width))
        column[:, : self.n_numbers], value[:, : self.n_numbers] = np.arange(self.n_numbers), read.numbers
        for i, (indices, start) in enumerate(self._indices(read), self.n_numbers):
            column[:, i] = np.maximum(indices, 0) + start
            value[:, i] = indices >= 0
        kept = value != 0
        ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return csr_array((value[kept], column[kept], ends), shape=(n, p))

    def _indices(self, read: EncodedRows) -> list[tuple[Array, int]]:
        """For each categorical column the index of each row's category, and where its features begin."""
        if not self.categorical:
            return []
        indices, starts = self._coder.indices(read.codes), self._coder.bounds[:-1] + self.n_numbers
        return [(indices[:, j], int(start)) for j, start in enumerate(starts)]

    def moments(self, read: EncodedRows, weight: Array) -> tuple[Array, Array]:
        """What standardises the features (p,): mean and deviation of numbers that vary, 0 and 1 of all others."""
        center, scale, q = np.zeros(self.n_encoded), np.ones(self.n_encoded), len(self.numbers)
        X, share = read.numbers[:, :q], weight / weight.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            center[:q] = share @ X
            variance = share @ (X - center[:q]) ** 2
        scale[:q] = np.sqrt(np.where(variance > _FEW**2 * center[:q] ** 2, variance, 1.0))
        return center, scale

    def to_arrays(self) -> dict[str, Array]:
        """The encoding as arrays of numbers."""
        own = {name: np.array(getattr(self, name), np.int64) for name in _INDICES}
        size = {"n_features": np.array(self.n_features), "fill": self.fill}
        units = {} if self.units is None else {"units": self.units}
        return own | size | units | vocabularies.to_arrays(self.categories) | features_to_arrays(self.derived)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The inverse of `to_arrays`; ValueError or KeyError where the arrays are damaged."""
        d = int(arrays["n_features"])
        own = {name: tuple(map(int, arrays[name])) for name in _INDICES}
        read = sorted(own["numbers"] + own["categorical"])
        categories, fill = vocabularies.from_arrays(arrays), np.array(arrays["fill"], np.float64)
        derived, units = features_from_arrays(arrays, d), arrays.get("units")
        every = set(range(d + len(derived)))
        fits = len(set(read)) == len(read) and set(read) <= every and {*own["marked"], *own["truths"]} <= set(read)
        lengths = len(fill) == len(own["numbers"]) and len(categories) == len(own["categorical"])
        if units is not None:
            units = np.array(units, np.float64)
            usable = units.shape == (2, len(fill)) and np.isfinite(units).all() and (units[1] > 0).all()
            lengths = lengths and bool(usable)
        if not (fits and lengths and np.isfinite(fill).all()):
            raise ValueError("the encoding of the logistic model does not fit its columns")
        return cls(d, fill=fill, categories=categories, derived=derived, units=units, **own)


def write_products(X: Array, out: Array) -> None:
    """Write the products of every two columns of X (n, d), squares included, to an array (n, d (d + 1) / 2)."""
    index, d = 0, X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(d):
            np.multiply(X[:, i : i + 1], X[:, i:], out=out[:, index : index + d - i])
            index += d - i
