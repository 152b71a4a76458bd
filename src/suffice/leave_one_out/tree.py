"""Leave-one-out of trees of categories: without a row, counts change, and sometimes the tree as well."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from ..densities import TreeDensity
from ..densities.categorical import Alphas, pseudo_counts
from ..densities.dependence import entropy_terms, heaviest_trees, informations, weight_matrices
from ..densities.messages import TableTerms, upwards
from ..densities.tree import mixed
from ..errors import DataError, as_parameter, listed
from ..stats import PairStats
from ..stats.base import faint
from ..tables.table import Table
from .base import LeaveOneOut, left

Array = NDArray[Any]

_CELLS = 1 << 21  # weights of edges of a block of rows


@dataclass(frozen=True)
class TreeLeaveOneOut(LeaveOneOut):
    """The tree of all rows, from which any one row can be left out."""

    statistics: PairStats
    density: TreeDensity
    alpha: Alphas
    joint: tuple[tuple[int, int], ...]
    grows: bool

    def scores(self, table: Table, code: Array, weight: Array) -> tuple[Array, Array]:
        x = self.density.indices(self.density.read(table))
        before = self.statistics.weight[code]
        gone = self._gone(x, weight)
        policy, alone = self.density.single.unknown, faint(before, weight)
        if gone.any() and policy == "error":
            j = int(gone.any(axis=0).argmax())
            value = self.statistics.categories[j][x[gone[:, j].argmax(), j]]
            raise DataError(
                f"column {table.column_name(j)} holds {listed([value])} in only one row, so that it is an unknown "
                f"category when this row is left out; use {as_parameter('unknown', 'smooth', 'ignore')}"
            )
        if policy == "ignore":  # such a cell is summed over then, and the table with it is another one
            alone = alone | gone.any(axis=1)
        out = np.zeros((len(code), len(self.statistics.classes)))
        parents = self._trees(x, code, weight)
        rows = _Rows(self, x, gone, code, weight)
        holes = (rows.x < 0).any(axis=1)
        for j in range(x.shape[1]):  # the trees of rows may be different, but most edges are the same
            for p in np.unique(parents[~holes, j]).tolist():
                some = np.flatnonzero(~holes & (parents[:, j] == p))
                out[some] += rows.observed(j, p, some)
        for some in self.density.blocks_of(np.flatnonzero(holes)):
            trees, which = np.unique(parents[some], axis=0, return_inverse=True)
            for i, parent in enumerate(trees):
                own = some[which.reshape(-1) == i]
                out[own] = upwards(_Without(rows, own, self._of_tree(parent)))[0]
        out[:, self.statistics.weight == 0] = -np.inf
        own = np.arange(len(code)), code
        out[own] = np.where(left(before, weight) > 0, out[own], -np.inf)
        return out, alone

    def _gone(self, x: Array, weight: Array) -> Array:
        """Which cells (n, d) hold a category that no other row has, and that is not declared."""
        single = self.statistics.single
        fixed = np.append(single.is_declared(), True)
        sums, start = np.append(single.count.sum(axis=0), 0.0), single.bounds[:-1]
        known = (x >= 0) & (x < np.diff(single.bounds))
        index = np.where(known, start + x, -1)
        return np.asarray(known & ~fixed[index] & (left(sums[index], weight[:, None]) == 0))

    def _of_tree(self, parent: Array) -> TreeDensity:
        if np.array_equal(parent, self.density.parent):
            return self.density
        nothing = np.zeros(len(parent))
        return TreeDensity.of_tree(self.statistics, self.density.single, self.alpha, parent, nothing)

    @cached_property
    def _tables(self) -> list[tuple[Array, Array, Array, Array]]:
        """Of each pair its table (v, u, k), the margins (v, k) and (u, k), and the totals (k,)."""
        tables = [np.ascontiguousarray(own.transpose(1, 2, 0)) for own in self.statistics.tables()]
        return [(own, own.sum(axis=1), own.sum(axis=0), own.sum(axis=(0, 1))) for own in tables]

    @cached_property
    def pseudo(self) -> list[Array]:
        """The pseudo-counts (v,) of the categories of each column."""
        return pseudo_counts(self.alpha, self.statistics.single)

    @cached_property
    def bounds(self) -> Array:
        """Where the categories of each column begin and end, (d + 1,)."""
        return self.statistics.single.bounds

    @cached_property
    def _information(self) -> Array:
        return np.asarray(informations(self.statistics) * self.statistics.weight.sum())

    def _trees(self, x: Array, code: Array, weight: Array) -> Array:
        """The trees (n, d) that are chosen without each row."""
        n, d = x.shape
        if not self.grows:
            return np.tile(self.density.parent, (n, 1))
        step, parents = max(1, _CELLS // (d * d)), np.empty((n, d), np.intp)
        for start in range(0, n, step):
            rows = slice(start, start + step)
            told = self._without(x[rows], code[rows], weight[rows])
            parents[rows] = heaviest_trees(weight_matrices(self.statistics.pairs, told, d, self.joint, True))
        return parents

    @cached_property
    def tables(self) -> dict[tuple[int, int], Array]:
        """The table (v, u, k) of each two columns, in both orders."""
        every = zip(self.statistics.pairs.tolist(), self._tables, strict=True)
        one = {(i, j): own[0] for (i, j), own in every}
        return one | {(j, i): own.transpose(1, 0, 2) for (i, j), own in one.items()}

    def _without(self, x: Array, code: Array, weight: Array) -> Array:
        """What pairs of columns tell about each other without each row, (n, m)."""
        told = np.tile(self._information, (len(x), 1))
        width = self.density.width
        for e, ((i, j), own) in enumerate(zip(self.statistics.pairs.tolist(), self._tables, strict=True)):
            known = (x[:, i] >= 0) & (x[:, i] < width[i]) & (x[:, j] >= 0) & (x[:, j] < width[j])
            rows = np.flatnonzero(known)
            a, b, c, w = x[rows, i], x[rows, j], code[rows], weight[rows]
            cells = (own[0][a, b, c], own[1][a, c], own[2][b, c], own[3][c])
            change = [entropy_terms(left(cell, w)) - entropy_terms(cell) for cell in cells]
            told[rows, e] += change[0] - change[1] - change[2] + change[3]
        rest = left(self.statistics.weight.sum(), weight)[:, None]
        return np.asarray(np.maximum(told, 0.0) / np.where(rest > 0, rest, 1.0))


class _Rows:
    """Rows (n, d), each by the counts of all others."""

    def __init__(self, model: TreeLeaveOneOut, x: Array, gone: Array, code: Array, weight: Array) -> None:
        width = np.array(model.density.width)
        self.x = np.where(gone, width, x)
        self._model, self._gone = model, gone
        self._counted = (x >= 0) & (x < width)  # in the statistic
        self._own = np.zeros((len(x), model.density.n_classes))
        self._own[np.arange(len(x)), code] = weight

    def _known(self, j: int, rows: Array) -> Array:
        """Which cells hold a category that other rows have, too."""
        return np.asarray(self._counted[rows, j] & ~self._gone[rows, j])

    def _index(self, j: int, rows: Array) -> Array:
        return np.where(self._known(j, rows), self.x[rows, j], 0)

    def _plain(self, j: int, rows: Array) -> tuple[Array, Array]:
        """p(x_j | class), (m, k), and the pseudo-counts of the column, (m, 1)."""
        single, known = self._model.statistics.single, self._known(j, rows)[:, None]
        pseudo = self._model.pseudo[j]
        bounds = self._model.bounds
        count = single.count[:, bounds[j] : bounds[j + 1]].T
        if not len(count):
            return np.ones((len(rows), len(single.classes))), np.zeros((len(rows), 1))
        own = self._own[rows] * self._counted[rows, j][:, None]
        hits = np.where(known, left(count[self._index(j, rows)], own), 0.0)
        total = left(count.sum(axis=0), own)
        spare = pseudo.mean()
        alpha = np.where(known, pseudo[self._index(j, rows)][:, None], spare)
        prior = (pseudo.sum() - self._gone[rows, j] * spare)[:, None]
        mass = total + prior
        none = mass == 0  # not observed in this class: what all classes say
        hits = np.where(none, hits.sum(axis=1, keepdims=True), hits + alpha)
        mass = np.where(none, total.sum(axis=1, keepdims=True), mass)
        silent = mass == 0  # nobody has the column any more
        return np.where(silent, 1.0, hits / np.where(silent, 1.0, mass)), prior

    def observed(self, j: int, p: int, rows: Array) -> Array:
        """log p(x_j | x_p) of rows (m,) that have both, (m, k); p is -1 for a root."""
        plain, pseudo = self._plain(j, rows)
        if p < 0:
            return log(plain)
        table = self._model.tables[p, j]
        own = self._own[rows] * (self._counted[rows, p] & self._counted[rows, j])[:, None]
        a = self._index(p, rows)
        count = left(table[a, self._index(j, rows)], own) * self._known(j, rows)[:, None]
        total = left(table.sum(axis=1)[a], own)
        return log(np.where(self._known(p, rows)[:, None], mixed(count, pseudo, plain, total), plain))

    def by_parent(self, j: int, p: int, rows: Array) -> Array:
        """The same of rows without x_p, for each of its categories, (m, k, v_p)."""
        plain, pseudo = self._plain(j, rows)
        table = self._model.tables[p, j]
        count = table.transpose(1, 2, 0)[self._index(j, rows)] * self._known(j, rows)[:, None, None]
        return log(mixed(count, pseudo[:, :, None], plain[:, :, None], table.sum(axis=1).T))


class _Without(TableTerms):
    """Some of the rows, in a tree; the row does not change the tables of columns that it misses."""

    def __init__(self, rows: _Rows, which: Array, density: TreeDensity) -> None:
        super().__init__(rows.x[which], density.extended, density.parent, density.n_classes)
        self._rows, self._which = rows, which

    def observed(self, j: int, rows: Array) -> Array:
        return self._rows.observed(j, int(self.parent[j]), self._which[rows])

    def by_parent(self, j: int, rows: Array) -> Array:
        return self._rows.by_parent(j, int(self.parent[j]), self._which[rows])
