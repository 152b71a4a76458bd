"""Categories, column by column, independent given the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..decisions import log
from ..errors import DataError, as_parameter, listed, one_of, remedy
from ..stats import CategoryStats
from ..stats.categories import CELLS, DIRECT
from ..tables import vocabulary as vocabularies
from ..tables.table import Column, Matrix, Table, native
from .base import Density, LinearForm, refuse_zeros, seen_classes
from .parameters import blank, check_weights, distributions, numbers, probability_table, times
from .scorer import Wanted
from .typicality import drawn_typicality

Array = NDArray[Any]

POLICIES = ("smooth", "ignore", "error")
"""What an unseen category is worth: as much as one that the class never had; nothing; or an error."""

Alphas = float | Sequence[float | Sequence[float]]

MISSING, UNKNOWN = -1, -2  # codes that are not indices of categories


@dataclass(frozen=True, slots=True)
class Codes:
    """Rows of categories."""

    values: Array  # (n, d): integers that are categories themselves, or indices in the vocabularies
    direct: bool  # whether they are the categories themselves

    def __len__(self) -> int:
        return len(self.values)


class _Lookup(NamedTuple):
    """For every column a row of scores for anything outside lo .. lo + width - 1, then one for each value inside."""

    lo: Array  # (d,)
    width: Array  # (d,)
    scores: Array  # (sum of width + 1, k)


def pseudo_counts(alpha: Alphas, stats: CategoryStats) -> list[Array]:
    """The pseudo-counts (v,) of the categories of each column. An unknown category has their mean."""
    d, widths = stats.n_features, np.diff(stats.bounds).tolist()
    if not isinstance(alpha, list | tuple | np.ndarray):
        return [np.full(n, alpha) for n in widths]
    given = cast("Sequence[Any]", alpha)
    if len(given) != d:
        raise DataError(f"alpha has {len(given)} numbers, but there are {d} columns")
    return [np.array(np.broadcast_to(own, (n,)), np.float64) for own, n in zip(given, widths, strict=True)]


@dataclass(frozen=True, eq=False)
class CategoricalDensity(Density):
    """A probability for every category of every column; columns are independent given the class.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    categories : tuple of arrays
        The sorted categories (v,) of each column.
    log_probability : array of shape (k, sum of v)
        Log-probabilities, column after column.
    unseen : array of shape (k, d)
        The score of an unknown category.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.
    unknown : {"smooth", "ignore", "error"}
        The policy for unknown categories.

    Examples
    --------
    >>> CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]])
    CategoricalDensity(2 classes, 1 features, 2 categories)
    """

    family = "categorical"
    categories: tuple[Array, ...]
    log_probability: Array
    unseen: Array
    seen: Array
    unknown: str = "smooth"

    def __repr__(self) -> str:
        size = f"{self.n_classes} classes, {self.n_features} features, {self.log_probability.shape[1]} categories"
        return f"CategoricalDensity({size})"

    def unknown_cells(self, table: Table) -> Array:
        lenient = replace(self, unknown="ignore")  # which does not refuse to read them
        return np.asarray(lenient.indices(lenient.read(table)) == UNKNOWN)

    def categories_of_columns(self) -> dict[int, Array]:
        return dict(enumerate(self.categories))

    @property
    def n_classes(self) -> int:
        return len(self.seen)

    @property
    def n_features(self) -> int:
        return len(self.categories)

    @classmethod
    def estimate(cls, stats: CategoryStats, alpha: Alphas = 1.0, unknown: str = "smooth") -> Self:
        """Estimate the probabilities of the categories: (count + alpha) / the sum of this over all categories.

        All categories are those that were declared, or seen in any class.

        Parameters
        ----------
        stats : CategoryStats
            How often each category was seen.
        alpha : float or sequence, default=1.0
            The pseudo-count of every category; or for each column one number, or those of its sorted categories. 0 for
            maximum likelihood.
        unknown : {"smooth", "ignore", "error"}
            What an unknown category is worth: as much as one that the class never had; nothing; or an error.

        Returns
        -------
        CategoricalDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> fur = np.array(["black", "orange"], object)
        >>> cats = CategoryStats(["female", "male"], [10, 4], (fur,), [[7, 3], [4, 0]])
        >>> CategoricalDensity.estimate(cats).parameters()["probabilities"][0].round(3)  # (7 + 1) / (10 + 2), ...
        array([[0.667, 0.333],
               [0.833, 0.167]])
        """
        one_of("unknown", unknown, POLICIES)
        widths = np.diff(stats.bounds)
        some = np.flatnonzero(widths)  # a column that was never observed says nothing
        starts, widths = stats.bounds[some], widths[some]
        pseudo = np.concatenate([np.empty(0), *pseudo_counts(alpha, stats)])
        count = stats.count + pseudo
        total = np.add.reduceat(count, starts, axis=1) if len(some) else count
        if (total == 0).any():  # a column that was not observed in this class: what all classes say
            count = np.where(np.repeat(total == 0, widths, axis=1), stats.count.sum(axis=0), count)
            total = np.add.reduceat(count, starts, axis=1)
        unseen = np.zeros((len(stats.classes), stats.n_features))
        if unknown == "smooth" and len(some):
            unseen[:, some] = log(np.add.reduceat(pseudo, starts) / widths / total)
        table = log(count / np.repeat(total, widths, axis=1))
        return cls(stats.categories, table, unseen, seen_classes(stats), unknown)

    @classmethod
    def from_parameters(
        cls, categories: Any, probabilities: Any, unknown: str = "smooth", unknown_probabilities: Any = 0.0
    ) -> Self:
        """Make a categorical density from the probabilities of the categories.

        Parameters
        ----------
        categories : list of arrays
            The categories of each column; a flat list of categories is that of one column.
        probabilities : list of arrays (n_classes, n_categories)
            One table for each column, or a single one where there is one column; the probabilities of a class sum
            to 1.
        unknown : {"smooth", "ignore", "error"}
            What an unknown category is worth: its probability below; nothing; or an error.
        unknown_probabilities : array (n_classes, n_features), or one number
            Of a category that is not listed, with unknown="smooth".

        Returns
        -------
        CategoricalDensity
            The density of k classes.

        Examples
        --------
        Cats, male and female:

        >>> cats = CategoricalDensity.from_parameters(
        ...     ["black", "orange", "white", "calico"], [[0.2, 0.4, 0.4, 0.0], [0.4, 0.0, 0.4, 0.2]]
        ... )
        >>> np.exp(cats.log_likelihood([["white"], ["calico"]])).round(6)
        array([[0.4, 0.4],
               [0. , 0.2]])
        """
        one_of("unknown", unknown, POLICIES)
        if not any(isinstance(own, list | tuple | np.ndarray) for own in categories):
            categories, probabilities = [categories], [probabilities]
        if len(categories) != len(probabilities):
            raise DataError(f"categories has {len(categories)} columns, but probabilities has {len(probabilities)}")
        columns: list[Array] = []
        tables: list[Array] = []
        given = np.array(True)
        for j, (values, table) in enumerate(zip(categories, probabilities, strict=True)):
            names = np.empty(len(values), object)
            names[:] = list(values)
            column, index = vocabularies.vocabulary(names)
            if len(column) < len(names):
                raise DataError(f"the categories of column {j} are not distinct")
            if len(column):  # a column that was never observed has none
                table, own = distributions(f"probabilities of column {j}", table)
                given = given & own
            shape = (tables[0].shape[0] if tables else len(table), len(column))
            if np.shape(table) != shape:
                raise DataError(
                    f"the probabilities of column {j} must have the shape (n_classes, n_categories) = {shape}, not "
                    f"{np.shape(table)}"
                )
            columns.append(column)
            tables.append(np.asarray(table)[:, np.argsort(index)])
        given = np.broadcast_to(given, len(tables[0]))
        log_probability = log(np.concatenate(tables, axis=1))
        unseen = np.zeros((len(given), len(columns)))
        if unknown == "smooth":
            share = unseen + numbers("unknown_probabilities", unknown_probabilities)
            unseen = log(probability_table("unknown_probabilities", share, unseen.shape)[0])
        return cls(tuple(columns), log_probability, unseen, given, unknown)

    def of_one_class(self) -> dict[str, Any]:
        parts = zip(self.categories, pairwise(self.bounds), strict=True)
        p = np.exp(self.log_probability[0])
        tables = [dict(zip(v.tolist(), p[a:b].tolist(), strict=True)) for v, (a, b) in parts]
        return {"p": tables[0] if len(tables) == 1 else tables}

    def n_parameters(self) -> int:
        return self.n_classes * sum(max(len(values) - 1, 0) for values in self.categories)

    def parameters(self) -> dict[str, Any]:
        """Return categories and their probabilities, as `from_parameters` takes them.

        Returns
        -------
        dict
            "categories", a list of arrays (v,), and "probabilities", a list of arrays (k, v), one for each column;
            "unknown", the policy; "unknown_probabilities" (k, d), of a category that is not listed.

        Examples
        --------
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.5, 0.5]]).parameters()
        >>> fur["categories"], fur["probabilities"], fur["unknown"]
        ([array(['black', 'white'], dtype=object)], [array([[0.5, 0.5]])], 'smooth')
        """
        p, bounds = blank(np.exp(self.log_probability), self.seen), pairwise(self.bounds)
        return {
            "categories": list(self.categories),
            "probabilities": [p[:, a:b] for a, b in bounds],
            "unknown": self.unknown,
            "unknown_probabilities": blank(np.exp(self.unseen), self.seen),
        }

    @property
    def bounds(self) -> Array:
        """Where each column's categories begin and end in `log_probability`, (d + 1,)."""
        return np.cumsum([0, *(len(v) for v in self.categories)])

    def of_classes(self, indices: Sequence[int]) -> Self:
        kept = list(indices)
        own = {name: getattr(self, name)[kept] for name in ("log_probability", "unseen", "seen")}
        return replace(self, **own)

    @property
    def takes_weights(self) -> bool:
        return True

    def weighted(self, weights: Array) -> Self:
        check_weights(weights, self.n_features)
        of_category = np.repeat(weights, np.diff(self.bounds))
        return replace(
            self, log_probability=times(self.log_probability, of_category), unseen=times(self.unseen, weights)
        )

    def linear(self) -> LinearForm:
        """Return the scores as linear functions of the one-hot encoding of the columns.

        Returns
        -------
        LinearForm
            Center (p,), slopes (k, p) and constants (k,), for the categories of the first column, then those of the
            second and so on; DataError where a probability is zero.

        Examples
        --------
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.4, 0.6]])
        >>> _, slopes, _ = fur.linear()
        >>> np.exp(slopes[1] - slopes[0]).round(6), fur.linear_names(["fur"])
        (array([2.  , 0.75]), ('fur_black', 'fur_white'))
        """
        refuse_zeros(bool(np.isneginf(self.log_probability).any()))
        p = self.log_probability.shape[1]
        return LinearForm(np.zeros(p), self.log_probability, np.where(self.seen, 0.0, -np.inf))

    def linear_rows(self, X: Codes) -> Array:
        indices, starts = self.indices(X), self.bounds[:-1]
        out = np.zeros((len(X), self.log_probability.shape[1]))
        row, column = np.nonzero(indices >= 0)
        out[row, (starts + indices)[row, column]] = 1.0
        return out

    def linear_names(self, names: Sequence[str]) -> tuple[str, ...]:
        columns = zip(names, self.categories, strict=True)
        return tuple(f"{name}_{category}" for name, categories in columns for category in categories.tolist())

    def log_likelihood_of(self, stats: CategoryStats) -> float:
        self._check_statistic(stats)
        if not all(map(vocabularies.same, stats.categories, self.categories)):
            raise DataError("the statistic and the density have different categories")
        if (stats.weight > 0)[~self.seen].any():
            return -np.inf
        counted = stats.count > 0  # so that 0 log 0 is 0
        return float((stats.count[counted] * self.log_probability[counted]).sum())

    # Reading.

    def read(self, table: Table) -> Codes:
        if isinstance(table, Matrix) and table.values.dtype.kind in self._direct_kinds:
            codes = Codes(native(table.values), direct=True)
        else:
            columns = [self._indices(j, column, table) for j, column in enumerate(table.columns())]
            codes = Codes(np.stack(columns, axis=1) if columns else np.empty((len(table), 0), np.int32), direct=False)
        if self.unknown == "error":
            self._refuse_unknown(table, self.indices(codes))
        return codes

    @cached_property
    def _direct_kinds(self) -> str:
        """Kinds of arrays whose values are categories without a look into the vocabularies: integers, or Booleans."""
        kinds = "".join({v.dtype.kind for v in self.categories})
        return "" if self._by_value is None else {"i": "iu", "b": "b"}.get(kinds, "")

    def _indices(self, j: int, column: Column, table: Table) -> Array:
        try:
            distinct, code = column.coded()
            if distinct is self.categories[j]:
                return code  # of which -1 is MISSING
            known = self._vocabularies[j].of(distinct)
        except DataError as error:
            raise DataError(f"column {table.column_name(j)}: {error}") from None
        indices = np.where(known < 0, UNKNOWN, known).astype(np.int32)
        return np.append(indices, np.int32(MISSING))[code]

    @cached_property
    def _vocabularies(self) -> tuple[vocabularies.CategoryIndex, ...]:
        return tuple(map(vocabularies.CategoryIndex, self.categories))

    def _refuse_unknown(self, table: Table, indices: Array) -> None:
        met = indices == UNKNOWN
        for j in np.flatnonzero(met.any(axis=0)):
            distinct, code = table.columns()[j].coded()
            value = distinct[code[met[:, j].argmax()]]
            raise DataError(
                f"column {table.column_name(int(j))} holds {listed([value])}, which was never seen in training; "
                f"use {as_parameter('unknown', 'smooth', 'ignore')}, or learn such rows first"
                + remedy("; unknown_cells shows all of them", "")
            )

    def indices(self, x: Codes) -> Array:
        """Return the index of each cell's category among those of its column.

        Parameters
        ----------
        x : Codes
            The n rows, in the form of `read`.

        Returns
        -------
        array of int of shape (n, d)
            Indices; MISSING for missing values, UNKNOWN for unknown categories.

        Examples
        --------
        >>> from suffice.sources import as_table
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8]])
        >>> fur.indices(fur.read(as_table([["white"], [None], ["green"]]))).ravel()
        array([ 1, -1, -2], dtype=int32)
        """
        if not x.direct:
            return x.values
        out = np.empty(x.values.shape, np.int32)
        for j, categories in enumerate(self.categories):
            values = x.values[:, j]
            follow = len(categories) and int(categories[-1]) - int(categories[0]) + 1 == len(categories)
            if follow and values.dtype.kind == "i":
                at = values - categories[0]
                out[:, j] = np.where((values >= categories[0]) & (values <= categories[-1]), at, UNKNOWN)
                continue
            at = np.searchsorted(categories, values)
            inside = at < len(categories)
            found = inside & (categories[np.where(inside, at, 0)] == values) if len(categories) else inside
            out[:, j] = np.where(found, at, UNKNOWN)
        return out

    def write(self, x: Codes) -> Array:
        indices = self.indices(x)
        kinds = {v.dtype for v in self.categories}
        whole = len(kinds) == 1 and (indices >= 0).all()
        out = np.empty(indices.shape, kinds.pop() if whole else object)
        for j, categories in enumerate(self.categories):
            names = categories if whole else np.array([*categories.tolist(), None], object)
            out[:, j] = names[np.maximum(indices[:, j], -1)]
        return out

    # Scores.

    @cached_property
    def _by_place(self) -> _Lookup:
        width = np.array([1 + len(v) for v in self.categories], np.int64)  # the first entry is that of MISSING
        parts = []
        for j, (a, b) in enumerate(pairwise(self.bounds)):
            parts += [self.unseen[:, j : j + 1].T, np.zeros((1, self.n_classes)), self.log_probability[:, a:b].T]
        scores = np.concatenate(parts) if parts else np.empty((0, self.n_classes))
        return _Lookup(np.full(len(width), MISSING, np.int64), width, np.ascontiguousarray(scores))

    @cached_property
    def _by_value(self) -> _Lookup | None:
        """Scores by the value of an integer; None where some column has other categories, or where one column, or all
        together, have too wide a range."""
        if not all(len(v) and v.dtype.kind in "ib" for v in self.categories):
            return None
        lo = np.array([int(v[0]) for v in self.categories], np.int64)
        width = np.array([int(v[-1]) - int(v[0]) + 1 for v in self.categories], np.int64)
        if width.max(initial=0) > DIRECT or width.sum() * self.n_classes > CELLS:
            return None
        scores = np.repeat(self.unseen.T, width + 1, axis=0)
        starts = np.cumsum(width + 1) - width
        for j, (a, b) in enumerate(pairwise(self.bounds)):
            scores[starts[j] + self.categories[j].astype(np.int64) - lo[j]] = self.log_probability[:, a:b].T
        return _Lookup(lo, width, np.ascontiguousarray(scores))

    def _score(self, X: Codes, offset: Array | float, wanted: Wanted, relative: bool) -> bool:  # noqa: ARG002  nothing is shared by all classes
        if X.direct and self._by_value is not None:
            lookup, values = self._by_value, X.values.view(np.uint8) if X.values.dtype.kind == "b" else X.values
        else:
            lookup, values = self._by_place, self.indices(X)
        constant = np.where(self.seen, 0.0, -np.inf) + offset
        kernels.active.category_scores(values, *lookup, constant, *wanted)
        return True

    @cached_property
    def has_zeros(self) -> bool:
        return bool(np.isneginf(self.log_probability).any() or np.isneginf(self.unseen).any())

    def is_complete(self, X: Codes) -> bool:  # noqa: ARG002  a missing cell drops out
        return True

    def explain(self, X: Codes, c: int) -> Array:
        indices, shares = self.indices(X), np.empty(X.values.shape)
        for j, (a, b) in enumerate(pairwise(self.bounds)):
            own = np.append(self.log_probability[c, a:b], [self.unseen[c, j], 0.0])  # at -2 and at -1
            shares[:, j] = own[indices[:, j]]
        return shares

    def typicality(self, X: Codes) -> Array:
        return drawn_typicality(self, X)

    def missing(self, X: Codes) -> Array:
        return np.asarray(self.indices(X) == MISSING)

    def hide(self, X: Codes, hidden: Array) -> Codes:
        return Codes(np.where(hidden, np.int32(MISSING), self.indices(X)), direct=False)

    def sample(self, code: Array, rng: np.random.Generator) -> Codes:
        out = np.full((len(code), self.n_features), MISSING, np.int32)
        for j, (a, b) in enumerate(pairwise(self.bounds)):
            if a < b:
                reached = np.cumsum(np.exp(self.log_probability[:, a:b]), axis=1)
                reached /= reached[:, -1:]
                where = rng.random(len(code))
                for c in np.unique(code):
                    rows = code == c
                    out[rows, j] = np.searchsorted(reached[c], where[rows], side="right")
        return Codes(out, direct=False)

    def fill(self, X: Codes, posterior: Array) -> Codes:
        indices = self.indices(X).copy()
        for j, (a, b) in enumerate(pairwise(self.bounds)):
            rows = indices[:, j] == MISSING
            if a < b and rows.any():
                indices[rows, j] = (posterior[rows] @ np.exp(self.log_probability[:, a:b])).argmax(axis=1)
        return Codes(indices, direct=False)

    def _completed(self, X: Codes, by: Codes) -> Codes:
        indices = self.indices(X)
        return Codes(np.where(indices == MISSING, by.values, indices), direct=False)

    def to_arrays(self) -> dict[str, Array]:
        own = {name: getattr(self, name) for name in ("log_probability", "unseen", "seen")}
        return own | {"unknown": np.array(POLICIES.index(self.unknown))} | vocabularies.to_arrays(self.categories)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        own = {name: np.array(arrays[name]) for name in ("log_probability", "unseen", "seen")}
        return cls(vocabularies.from_arrays(arrays), **own, unknown=POLICIES[int(arrays["unknown"])])
