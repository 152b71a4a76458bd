"""Categories that depend on each other: a tree of columns given the class (tree-augmented naive Bayes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..decisions import log
from ..errors import ColumnWarning, DataError, remedy, warn
from ..stats.pairs import PairStats
from ..tables import vocabulary as vocabularies
from ..tables.table import Table
from .base import Density, chosen
from .categorical import MISSING, UNKNOWN, Alphas, CategoricalDensity, Codes, pseudo_counts
from .dependence import from_root, heaviest_trees, informations, weight_matrices
from .messages import TableTerms, as_shares, downwards, upwards
from .parameters import blank, distributions, numbers, probability_table
from .scorer import Edge, Wanted
from .typicality import drawn_typicality

Array = NDArray[Any]

_CELLS = 1 << 20  # numbers of a block of rows with missing cells
_SHOWN = 5  # pairs that a warning names


@dataclass(frozen=True, eq=False)
class TreeDensity(Density):
    """A tree of columns: p(x | class) is the product of p(x_j | x_parent, class) over all columns.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    single : CategoricalDensity
        The columns without their dependence: p(x_j | class).
    parent : array of int of shape (d,)
        The index of the parent of each column; -1 for a root.
    tables : tuple of arrays
        For each column log p(category | category of the parent), (k, v_parent, v); (k, 0, v) for a root.
    unseen : tuple of arrays
        For each column the score of an unknown category by that of the parent, (k, v_parent).
    information : array of shape (d,)
        What each column and its parent tell about each other, in nats.

    Examples
    --------
    >>> fur_and_eyes = TreeDensity.from_parameters(
    ...     categories=[["black", "white"], ["blue", "green"]],
    ...     probabilities=[[[0.5, 0.5]], [[0.4, 0.6]]],
    ...     parents=[-1, 0],
    ...     conditionals=[None, [[[0.1, 0.9], [0.7, 0.3]]]],
    ... )
    >>> np.exp(fur_and_eyes.log_likelihood([["white", "blue"], ["white", None]])).round(6)
    array([[0.35],
           [0.5 ]])
    """

    family = "categorical"
    single: CategoricalDensity
    parent: Array
    tables: tuple[Array, ...]
    unseen: tuple[Array, ...]
    information: Array

    def __repr__(self) -> str:
        size = f"{self.n_classes} classes, {self.n_features} features, {(self.parent >= 0).sum()} edges"
        return f"TreeDensity({size})"

    @property
    def seen(self) -> Array:  # type: ignore[override]
        """Which classes have rows, (k,)."""
        return self.single.seen

    @property
    def categories(self) -> tuple[Array, ...]:
        """The sorted categories (v,) of each column."""
        return self.single.categories

    @property
    def n_classes(self) -> int:
        return self.single.n_classes

    @property
    def n_features(self) -> int:
        return self.single.n_features

    @cached_property
    def width(self) -> list[int]:
        """The number of categories of each column."""
        return [len(own) for own in self.categories]

    def categories_of_columns(self) -> dict[int, Array]:
        return self.single.categories_of_columns()

    def unknown_cells(self, table: Table) -> Array:
        return self.single.unknown_cells(table)

    def edges(self, names: Sequence[Any] | None = None) -> list[Edge]:
        names = range(self.n_features) if names is None else names
        children = sorted(np.flatnonzero(self.parent >= 0).tolist(), key=lambda j: (-self.information[j], j))
        return [Edge(names[self.parent[j]], names[j], float(self.information[j])) for j in children]

    @classmethod
    def estimate(
        cls,
        stats: PairStats,
        alpha: Alphas = 1.0,
        unknown: str = "smooth",
        joint: Sequence[tuple[int, int]] = (),
        grows: bool = True,
        names: Sequence[Any] | None = None,
    ) -> Self:
        """Choose the tree in which columns tell most about each other, and estimate its tables.

        p(x | parent, class) = (count + a p(x | class)) / (count of the parent's category + a), where a is the sum of
        `alpha` over the categories of the column, and p(x | class) is what it would be without the tree. So the column
        is independent of a parent whose category the class never had.

        Parameters
        ----------
        stats : PairStats
            How often two categories were seen together.
        alpha : float or sequence, default=1.0
            The pseudo-count of every category; or for each column one number, or those of its sorted categories. 0 for
            maximum likelihood.
        unknown : {"smooth", "ignore", "error"}
            What an unknown category is worth: as much as one that the class never had; nothing; or an error.
        joint : sequence of pairs of int
            Columns that depend on each other in any case.
        grows : bool, default=True
            Whether other columns depend on each other as well.
        names : sequence, optional
            The names of the columns, for warnings.

        Returns
        -------
        TreeDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> from suffice.tables.batch import Batch
        >>> cats = [["black", "green"], ["black", "green"], ["white", "blue"], ["white", "blue"], ["white", "green"]]
        >>> stats = PairStats.of(Batch.of(np.array(cats), ["cat"] * 5))
        >>> tree = TreeDensity.estimate(stats, alpha=0)
        >>> tree.parent, np.exp(tree.tables[1][0]).round(3)  # blue and green eyes of black cats and of white ones
        (array([-1,  0]), array([[0.   , 1.   ],
               [0.667, 0.333]]))
        """
        single = CategoricalDensity.estimate(stats.single, alpha, unknown)
        _warn(stats, joint, grows, range(stats.n_features) if names is None else names)
        weight = informations(stats)
        matrix = weight_matrices(stats.pairs, weight[None], stats.n_features, joint, grows)
        parent = heaviest_trees(matrix)[0]
        edges = np.sort(np.stack([parent, np.arange(len(parent))], axis=1), axis=1)
        own = np.where(parent >= 0, np.append(weight, 0.0)[stats.indices(edges)], 0.0)
        return cls.of_tree(stats, single, alpha, parent, own)

    @classmethod
    def of_tree(
        cls,
        stats: PairStats,
        single: CategoricalDensity,
        alpha: Alphas,
        parent: Array,
        information: Array,
    ) -> Self:
        """Estimate the tables of a tree that is known.

        Parameters
        ----------
        stats : PairStats
            How often two categories were seen together.
        single : CategoricalDensity
            The columns without their dependence.
        alpha : float or sequence
            The pseudo-count of every category; or for each column one number, or those of its sorted categories.
        parent : array of int of shape (d,)
            The parent of each column, -1 for a root.
        information : array of shape (d,)
            What each column and its parent tell about each other.

        Returns
        -------
        TreeDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> from suffice.tables.batch import Batch
        >>> cats = [["black", "green"], ["black", "green"], ["white", "blue"], ["white", "blue"], ["white", "green"]]
        >>> stats = PairStats.of(Batch.of(np.array(cats), ["cat"] * 5))
        >>> single = CategoricalDensity.estimate(stats.single, alpha=0)
        >>> tree = TreeDensity.of_tree(stats, single, 0, np.array([1, -1]), np.zeros(2))
        >>> np.exp(tree.tables[0][0]).round(3)  # black and white fur of cats with blue eyes and with green ones
        array([[0.   , 1.   ],
               [0.667, 0.333]])
        """
        tables, unseen = [], []
        k, smooth, own = len(stats.classes), single.unknown == "smooth", pseudo_counts(alpha, stats.single)
        for j, (a, b) in enumerate(pairwise(single.bounds)):
            p, plain = int(parent[j]), np.exp(single.log_probability[:, None, a:b])
            count = stats.of_pair(p, j) if p >= 0 else np.zeros((k, 0, b - a))
            pseudo, total = own[j].sum(), count.sum(axis=2)
            tables.append(log(mixed(count, pseudo, plain, total[:, :, None])))
            share = mixed(0.0, pseudo, np.exp(single.unseen[:, j : j + 1]), total)
            unseen.append(log(share) if smooth else np.zeros_like(total))
        return cls(single, parent, tuple(tables), tuple(unseen), information)

    @classmethod
    def from_parameters(
        cls,
        categories: Any,
        probabilities: Any,
        parents: Any,
        conditionals: Any,
        unknown: str = "smooth",
        unknown_probabilities: Any = 0.0,
        unknown_conditionals: Any = None,
        information: Any = None,
    ) -> Self:
        """Make a density from the tables of a tree.

        Parameters
        ----------
        categories : list of arrays
            The categories of each column.
        probabilities : list of arrays (n_classes, n_categories)
            For each column the probabilities of its categories: those of a root, and what is taken where the category
            of the parent is unknown.
        parents : array of int of shape (n_features,)
            The index of the parent of each column; -1 for a root.
        conditionals : list of arrays (n_classes, n_categories of the parent, n_categories)
            For each column the probabilities of its categories by that of the parent; None for a root.
        unknown : {"smooth", "ignore", "error"}
            What an unknown category is worth: its probability below; nothing; or an error.
        unknown_probabilities : array (n_classes, n_features), or one number
            Of a category that is not listed, with unknown="smooth".
        unknown_conditionals : list of arrays (n_classes, n_categories of the parent), optional
            The same by the category of the parent; None for a root.
        information : array of shape (n_features,), optional
            What each column and its parent tell about each other, in nats.

        Returns
        -------
        TreeDensity
            The density of k classes.

        Examples
        --------
        >>> fur_and_eyes = TreeDensity.from_parameters(
        ...     categories=[["black", "white"], ["blue", "green"]],
        ...     probabilities=[[[0.5, 0.5]], [[0.4, 0.6]]],
        ...     parents=[-1, 0],
        ...     conditionals=[None, [[[0.1, 0.9], [0.7, 0.3]]]],
        ... )
        >>> np.exp(fur_and_eyes.log_likelihood([["white", "blue"]])).round(6)  # 0.5 0.7
        array([[0.35]])
        """
        single = CategoricalDensity.from_parameters(categories, probabilities, unknown, unknown_probabilities)
        k, d = single.n_classes, single.n_features
        parent = _checked_parents(parents, d)
        order = [vocabularies.vocabulary(_objects(own))[1].argsort() for own in categories]
        if len(conditionals) != d or (unknown_conditionals is not None and len(unknown_conditionals) != d):
            raise DataError(f"conditionals must have {d} entries, one for each column, and None for roots")
        width = [len(own) for own in single.categories]
        tables, unseen = [], []
        for j, p in enumerate(parent.tolist()):
            if p < 0:
                tables.append(np.zeros((k, 0, width[j])))
                unseen.append(np.zeros((k, 0)))
                continue
            name, shape = f"conditionals of column {j}", (k, width[p], width[j])
            table = numbers(name, conditionals[j])
            if table.shape != shape:
                raise DataError(f"{name} must have the shape {shape}, not {table.shape}")
            table = np.where(single.seen[:, None, None], table, 1 / max(width[j], 1))
            table = distributions(name, table.reshape(k * width[p], width[j]))[0].reshape(shape)
            tables.append(log(table[:, order[p]][:, :, order[j]]))
            given = 0.0 if unknown_conditionals is None else unknown_conditionals[j]
            share = np.where(single.seen[:, None], np.zeros(shape[:2]) + numbers(name, given), 0.0)
            share = probability_table(f"unknown_{name}", share, shape[:2])[0][:, order[p]]
            unseen.append(log(share) if unknown == "smooth" else np.zeros_like(share))
        told = np.zeros(d) if information is None else numbers("information", information)
        if told.shape != (d,) or not (np.isfinite(told).all() and (told >= 0).all()):
            raise DataError(f"information must be {d} numbers that are not negative, one for each column")
        return cls(single, parent, tuple(tables), tuple(unseen), told)

    def parameters(self) -> dict[str, Any]:
        """Return the tables of the tree, as `from_parameters` takes them.

        Returns
        -------
        dict
            What a CategoricalDensity has, and "parents" (d,), -1 for roots; "conditionals", a list of arrays
            (k, v_parent, v), None for roots; "unknown_conditionals", the same of unknown categories, (k, v_parent);
            "information" (d,).

        Examples
        --------
        >>> fur_and_eyes = TreeDensity.from_parameters(
        ...     categories=[["black", "white"], ["blue", "green"]],
        ...     probabilities=[[[0.5, 0.5]], [[0.4, 0.6]]],
        ...     parents=[-1, 0],
        ...     conditionals=[None, [[[0.25, 0.75], [0.5, 0.5]]]],
        ... )
        >>> fur_and_eyes.parameters()["parents"], fur_and_eyes.parameters()["conditionals"][1].round(6)
        (array([-1,  0]), array([[[0.25, 0.75],
                [0.5 , 0.5 ]]]))
        """
        shown = [
            None if p < 0 else blank(np.exp(own), self.seen) for p, own in zip(self.parent, self.tables, strict=True)
        ]
        rare = [
            None if p < 0 else blank(np.exp(own), self.seen) for p, own in zip(self.parent, self.unseen, strict=True)
        ]
        own = {"parents": self.parent, "conditionals": shown, "unknown_conditionals": rare}
        return self.single.parameters() | own | {"information": self.information}

    @property
    def shared_parameters(self) -> frozenset[str]:
        return frozenset(["parents", "information"])

    def of_one_class(self) -> dict[str, Any]:
        return {"edges": self.edges()} | self.single.of_one_class()

    def n_parameters(self) -> int:
        rows = [1 if p < 0 else self.width[p] for p in self.parent.tolist()]
        return self.n_classes * sum(n * max(v - 1, 0) for n, v in zip(rows, self.width, strict=True))

    def of_classes(self, indices: Sequence[int]) -> Self:
        kept = list(indices)
        tables, unseen = tuple(own[kept] for own in self.tables), tuple(own[kept] for own in self.unseen)
        return replace(self, single=self.single.of_classes(kept), tables=tables, unseen=unseen)

    def log_likelihood_of(self, stats: PairStats) -> float:
        self._check_statistic(stats)
        if not all(map(vocabularies.same, stats.categories, self.categories)):
            raise DataError("the statistic and the density have different categories")
        if (stats.weight > 0)[~self.seen].any():
            return -np.inf
        total, bounds = 0.0, self.single.bounds
        for j, p in enumerate(self.parent.tolist()):
            own = slice(bounds[j], bounds[j + 1])
            if p >= 0:
                count, scores = stats.of_pair(p, j), self.tables[j]
            else:
                count, scores = stats.single.count[:, own], self.single.log_probability[:, own]
            if not np.allclose(count.reshape(len(count), -1).sum(axis=1), stats.weight) and self.width[j]:
                return float(super().log_likelihood_of(stats))  # cells are missing: it takes the rows
            counted = count > 0
            total += float((count[counted] * scores[counted]).sum())
        return total

    # Reading.

    def read(self, table: Table) -> Codes:
        return self.single.read(table)

    def write(self, x: Codes) -> Array:
        return self.single.write(x)

    def missing(self, X: Codes) -> Array:
        return self.single.missing(X)

    def hide(self, X: Codes, hidden: Array) -> Codes:
        return self.single.hide(X, hidden)

    def _completed(self, X: Codes, by: Codes) -> Codes:
        return self.single._completed(X, by)

    def indices(self, x: Codes) -> Array:
        """Return the index of each cell's category among those of its column.

        Parameters
        ----------
        x : Codes
            The n rows, in the form of `read`.

        Returns
        -------
        array of int of shape (n, d)
            Indices; the number of categories for an unknown one, and -1 where it is missing or to be ignored.

        Examples
        --------
        >>> from suffice.sources import as_table
        >>> fur_and_eyes = TreeDensity.from_parameters(
        ...     categories=[["black", "white"], ["blue", "green"]],
        ...     probabilities=[[[0.5, 0.5]], [[0.4, 0.6]]],
        ...     parents=[-1, 0],
        ...     conditionals=[None, [[[0.1, 0.9], [0.7, 0.3]]]],
        ... )
        >>> fur_and_eyes.indices(fur_and_eyes.read(as_table([["white", "blue"], ["ginger", None]])))
        array([[ 1,  0],
               [ 2, -1]], dtype=int32)
        """
        found = self.single.indices(x)
        unknown = MISSING if self.single.unknown == "ignore" else np.array(self.width, np.int32)
        return np.where(found == UNKNOWN, unknown, found)

    # Scores.

    @cached_property
    def extended(self) -> list[Array]:
        """The tables with unknown categories last, (k, v_parent + 1, v + 1) each; (k, 1, v + 1) for a root."""
        out = []
        for j, (a, b) in enumerate(pairwise(self.single.bounds)):
            plain = np.concatenate([self.single.log_probability[:, a:b], self.single.unseen[:, j : j + 1]], axis=1)
            given = np.concatenate([self.tables[j], self.unseen[j][:, :, None]], axis=2)
            out.append(np.concatenate([given, plain[:, None]], axis=1))
        return out

    @cached_property
    def _table(self) -> Array:
        """What the kernel adds up for each two entries of a column and its parent, (rows, k), unknown ones first."""
        rows = [np.roll(own, (1, 1), axis=(1, 2)).reshape(self.n_classes, -1).T for own in self.extended]
        return np.ascontiguousarray(np.concatenate(rows) if rows else np.empty((0, self.n_classes)))

    @cached_property
    def _follow(self) -> Array | None:
        """The lowest categories (d,), if those of each column are whole numbers that follow each other."""
        own = [v for v in self.categories if len(v) and v.dtype.kind in "ib"]
        follow = len(own) == self.n_features and all(int(v[-1]) - int(v[0]) + 1 == len(v) for v in own)
        return np.array([int(v[0]) for v in own], np.int64) if follow else None

    def _score(self, X: Codes, offset: Array | float, wanted: Wanted, relative: bool) -> bool:  # noqa: ARG002
        constant = np.where(self.seen, 0.0, -np.inf) + offset
        if X.direct and self._follow is not None and self.single.unknown != "ignore":
            x, lo, holes = X.values, self._follow, np.empty(0, np.intp)
        else:
            x, lo = self.indices(X), np.zeros(self.n_features, np.int64)
            holes = np.flatnonzero((x < 0).any(axis=1))
        own = lo, np.array(self.width, np.int64), self.parent.astype(np.int64), self._table, constant
        if not len(holes):
            kernels.active.tree_scores(x, *own, *wanted)
            return True
        scores = np.empty((len(x), self.n_classes))
        kernels.active.tree_scores(x, *own, scores, None, None)
        for rows in self.blocks_of(holes):
            scores[rows] = upwards(self._terms(x[rows]))[0] + constant
        if wanted.all is not None:
            wanted.all[:] = scores
        if wanted.best is not None or wanted.evidence is not None:
            kernels.active.reduce(scores, None, wanted.best, wanted.evidence)
        return True

    def blocks_of(self, rows: Array) -> Iterator[Array]:
        """Cut rows into blocks, of as many as there is room for sums over missing cells.

        Parameters
        ----------
        rows : array of int of shape (n,)
            The indices of rows.

        Returns
        -------
        iterator of arrays of int
            Some of the indices at a time.

        Examples
        --------
        >>> fur = TreeDensity.from_parameters([["black", "white"]], [[[0.2, 0.8]]], parents=[-1], conditionals=[None])
        >>> [rows.tolist() for rows in fur.blocks_of(np.arange(3))]  # there is room for three rows
        [[0, 1, 2]]
        """
        step = max(1, _CELLS // (self.n_classes * max([1, *self.width])))
        return (rows[start : start + step] for start in range(0, len(rows), step))

    @cached_property
    def has_zeros(self) -> bool:
        return any(bool(np.isneginf(own).any()) for own in self.extended)

    def is_complete(self, X: Codes) -> bool:  # noqa: ARG002  missing cells are summed over
        return True

    def explain(self, X: Codes, c: int) -> Array:
        """Return what each column adds to the score of those before it, from the root on; nothing where it is missing.

        Parameters
        ----------
        X : Codes
            The n rows, in the form of `read`.
        c : int
            The index of the class.

        Returns
        -------
        array of shape (n, d)
            The shares of a row sum to its log p(x | class).

        Examples
        --------
        >>> from suffice.sources import as_table
        >>> fur_and_eyes = TreeDensity.from_parameters(
        ...     categories=[["black", "white"], ["blue", "green"]],
        ...     probabilities=[[[0.5, 0.5]], [[0.4, 0.6]]],
        ...     parents=[-1, 0],
        ...     conditionals=[None, [[[0.1, 0.9], [0.7, 0.3]]]],
        ... )
        >>> np.exp(fur_and_eyes.explain(fur_and_eyes.read(as_table([["white", "blue"]])), 0)).round(6)
        array([[0.5, 0.7]])
        """
        x, shares, one = self.indices(X), np.zeros(X.values.shape), self.of_classes([c])
        for rows in self.blocks_of(np.arange(len(x))):
            some, before = np.full_like(x[rows], MISSING), np.zeros(len(rows))
            for j in from_root(self.parent):
                some[:, j] = x[rows, j]
                total = upwards(one._terms(some))[0][:, 0]
                possible = ~np.isneginf(before)  # what is impossible already cannot become less likely
                shares[rows[possible], j] = (total[possible] - before[possible]) * (some[possible, j] >= 0)
                before = total
        return shares

    def typicality(self, X: Codes) -> Array:
        return drawn_typicality(self, X)

    def sample(self, code: Array, rng: np.random.Generator) -> Codes:
        x = np.full((len(code), self.n_features), MISSING, np.int32)
        return Codes(self._drawn(x, code, None, rng), direct=False)

    def draw(self, X: Codes, code: Array, rng: np.random.Generator) -> Codes:
        x = self.indices(X)
        for rows in self.blocks_of(np.arange(len(x))):
            x[rows] = self._drawn(x[rows], code[rows], upwards(self._terms(x[rows]))[1], rng)
        return self._completed(X, Codes(x, direct=False))

    def _drawn(self, x: Array, code: Array, below: list[Array] | None, rng: np.random.Generator) -> Array:
        """Draw missing cells (n, d), each given its parent and what is observed below it."""
        x = x.copy()
        for j in from_root(self.parent):
            rows, p = np.flatnonzero(x[:, j] == MISSING), int(self.parent[j])
            if not (len(rows) and self.width[j]):
                continue
            at = -1 if p < 0 else x[rows, p]
            likely = self.extended[j][code[rows], at, :-1]
            if below is not None:
                likely = likely + below[j][np.arange(len(rows)), code[rows]]
            x[rows, j] = chosen(as_shares(likely), rng)
        return x

    def fill(self, X: Codes, posterior: Array) -> Codes:
        x = self.indices(X)
        for rows in self.blocks_of(np.flatnonzero((x < 0).any(axis=1))):
            x[rows] = self._filled(x[rows], posterior[rows])
        return self._completed(X, Codes(x, direct=False))

    def _filled(self, x: Array, posterior: Array) -> Array:
        out, shares = x.copy(), downwards(self._terms(x))
        for j in range(self.n_features):
            if self.width[j]:
                rows = np.flatnonzero(x[:, j] == MISSING)
                out[rows, j] = np.einsum("nk,nkv->nv", posterior[rows], shares[j]).argmax(axis=1)
        return out

    def _terms(self, x: Array) -> TableTerms:
        return TableTerms(x, self.extended, self.parent, self.n_classes)

    def to_arrays(self) -> dict[str, Array]:
        own = {"parent": self.parent, "information": self.information}
        own |= {f"table_{j}": table for j, table in enumerate(self.tables)}
        own |= {f"rare_{j}": table for j, table in enumerate(self.unseen)}
        return own | self.single.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        single = CategoricalDensity.from_arrays(arrays)
        tables, unseen = (
            tuple(np.array(arrays[f"{name}_{j}"]) for j in range(single.n_features)) for name in ("table", "rare")
        )
        parent = np.array(arrays["parent"], np.intp)
        return cls(single, parent, tables, unseen, np.array(arrays["information"], np.float64))


def mixed(count: Any, pseudo: Any, plain: Array, total: Array) -> Array:
    """Return (count + pseudo plain) / (total + pseudo); `plain` where nothing was counted."""
    mass = total + pseudo
    return np.asarray(np.where(mass > 0, (count + pseudo * plain) / np.where(mass > 0, mass, 1.0), plain))


def _objects(values: Any) -> Array:
    out = np.empty(len(values), object)
    out[:] = list(values)
    return out


def _checked_parents(parents: Any, d: int) -> Array:
    parent = numbers("parents", parents)
    if parent.shape != (d,) or not np.isin(parent, np.arange(-1, d)).all():
        raise DataError(f"parents must be {d} indices of columns, with -1 for a root")
    parent = parent.astype(np.intp)
    if len(from_root(parent)) < d:
        raise DataError("parents have a circle: some columns depend on themselves")
    return parent


def _warn(stats: PairStats, joint: Sequence[tuple[int, int]], grows: bool, names: Sequence[Any]) -> None:
    """Warn of pairs whose tables would be too large."""
    known = stats.indices(list(joint)) >= 0
    out = stats.left_out() if grows else [pair for pair, is_known in zip(joint, known, strict=True) if not is_known]
    if out:
        shown = ", ".join(f"{names[i]!r} and {names[j]!r}" for i, j in out[:_SHOWN])
        more = f" and {len(out) - _SHOWN} more" if len(out) > _SHOWN else ""
        why = "have too many categories for a table of both"
        what = "group rare categories"
        if grows:
            why += ", or are too many,"
            what += (
                f", keep fewer columns, or name the pairs that matter with {remedy('joint=', '--set joint')} and leave "
                f"{remedy('structure', '--set structure')} out; all pairs "
                "share the room for tables, columns next to each other first"
            )
        warn(
            f"these pairs of columns {why} so that they are not joined in the tree: {shown}{more}; {what}",
            ColumnWarning,
        )
