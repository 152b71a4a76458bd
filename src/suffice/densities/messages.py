"""Exact sums over missing cells in a tree: each column tells its parent how likely what lies below it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decisions import log
from .dependence import from_root

Array = NDArray[Any]


class Terms(ABC):
    """log p(x_j | x_parent) of rows of categories, for all classes."""

    x: Array  # (n, d) indices of categories; the number of categories for an unknown one, and -1 where it is missing
    n_classes: int
    parent: Array  # (d,), -1 for roots
    width: Sequence[int]  # the number of categories of each column

    @abstractmethod
    def observed(self, j: int, rows: Array) -> Array:
        """Of rows (m,) with neither of the two missing, (m, k); the column may be a root."""

    @abstractmethod
    def by_parent(self, j: int, rows: Array) -> Array:
        """Of rows without the parent, for each of its categories, (m, k, v_parent)."""

    @abstractmethod
    def by_own(self, j: int, rows: Array) -> Array:
        """Of rows without column j, for each of its categories, (m, k, v_j); the column may be a root."""

    @abstractmethod
    def table(self, j: int) -> Array:
        """Of each two categories, (k, v_parent, v_j)."""


class TableTerms(Terms):
    """Rows (n, d) by tables (k, v_parent + 1, v + 1), of which the last row and column are those of unknown categories;
    (k, 1, v + 1) for a root."""

    def __init__(self, x: Array, tables: Sequence[Array], parent: Array, n_classes: int) -> None:
        self.x, self.n_classes, self.parent, self._tables = x, n_classes, parent, tables
        self.width = [own.shape[2] - 1 for own in tables]

    def _above(self, j: int, rows: Array) -> Any:
        p = int(self.parent[j])
        return 0 if p < 0 else self.x[rows, p]

    def observed(self, j: int, rows: Array) -> Array:
        return np.asarray(self._tables[j].transpose(1, 2, 0)[self._above(j, rows), self.x[rows, j]])

    def by_parent(self, j: int, rows: Array) -> Array:
        return np.asarray(self._tables[j][:, :-1].transpose(2, 0, 1)[self.x[rows, j]])

    def by_own(self, j: int, rows: Array) -> Array:
        found = self._tables[j][:, :, :-1].transpose(1, 0, 2)[self._above(j, rows)]
        return np.asarray(found if found.ndim == 3 else found[None])

    def table(self, j: int) -> Array:
        return np.asarray(self._tables[j][:, :-1, :-1])


def upwards(terms: Terms) -> tuple[Array, list[Array]]:
    """Sum over what is missing, from the leaves of the tree to the root.

    Parameters
    ----------
    terms : Terms
        The n rows.

    Returns
    -------
    total : array of shape (n, k)
        log p(observed cells | class).
    below : list of arrays
        For each column, of the rows in which it is missing: log p(observed cells below | category), (m, k, v).
    """
    n, k, d = len(terms.x), terms.n_classes, len(terms.parent)
    here = terms.x >= 0
    rank = np.cumsum(~here, axis=0) - 1  # of each row among those that miss the column
    total = np.zeros((n, k))
    under = [np.zeros((n, k)) for _ in range(d)]  # the same of the rows that have the column, at its category
    below = [np.zeros((int((~here[:, j]).sum()), k, terms.width[j])) for j in range(d)]
    told = np.zeros((n, d), bool)  # whether anything is observed below a column: else it sums to one
    for j in reversed(from_root(terms.parent)):
        p, has, lacks = int(terms.parent[j]), here[:, j], ~here[:, j] & told[:, j]
        over = here[:, p] if p >= 0 else np.ones(n, bool)
        into = under[p] if p >= 0 else total
        if len(rows := np.flatnonzero(has & over)):
            into[rows] += terms.observed(j, rows) + under[j][rows]
        if len(rows := np.flatnonzero(lacks & over)):
            into[rows] += log_sum(terms.by_own(j, rows) + below[j][rank[rows, j]])
        if len(rows := np.flatnonzero(has & ~over)):
            below[p][rank[rows, p]] += terms.by_parent(j, rows) + under[j][rows][:, :, None]
        if len(rows := np.flatnonzero(lacks & ~over)):
            below[p][rank[rows, p]] += passed(below[j][rank[rows, j]], terms.table(j))
        if p >= 0:
            told[:, p] |= has | lacks
    return total, below


def log_sum(values: Array) -> Array:
    """Return the logarithms of the sums of exponentials over the last axis; -inf for a sum of nothing."""
    top = values.max(axis=-1, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    return np.asarray(log(np.exp(values - top).sum(axis=-1)) + top[..., 0])


def passed(below: Array, table: Array) -> Array:
    """Return log sum_x p(x | parent) exp(below_x) for each category of the parent.

    Parameters
    ----------
    below : array of shape (n, k, v)
        What is below each category of a column.
    table : array of shape (k, u, v)
        log p(category | category of the parent).

    Returns
    -------
    array of shape (n, k, u)
        What is below each category of the parent.
    """
    top = below.max(axis=2, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    sums = np.matmul(np.exp(below - top).swapaxes(0, 1), np.exp(table).swapaxes(1, 2))
    return np.asarray(log(sums.swapaxes(0, 1)) + top)


def downwards(terms: Terms) -> list[Array]:
    """Return how probable the categories of missing cells are, given the observed ones and the class.

    Parameters
    ----------
    terms : Terms
        The n rows.

    Returns
    -------
    list of arrays
        For each column, of the rows in which it is missing: p(category | observed cells, class), (m, k, v).
    """
    below, here = upwards(terms)[1], terms.x >= 0
    rank = np.cumsum(~here, axis=0) - 1
    shares = [np.empty_like(own) for own in below]
    for j in from_root(terms.parent):
        p, lacks = int(terms.parent[j]), ~here[:, j]
        over = here[:, p] if p >= 0 else np.ones(len(here), bool)
        if not terms.width[j]:
            continue
        if len(rows := np.flatnonzero(lacks & over)):
            at = rank[rows, j]
            shares[j][at] = as_shares(terms.by_own(j, rows) + below[j][at])
        if len(rows := np.flatnonzero(lacks & ~over)):
            at, table = rank[rows, j], terms.table(j)
            told = passed(below[j][at], table)
            above = shares[p][rank[rows, p]] * np.exp(np.where(np.isneginf(told), -np.inf, -told))
            mass = np.matmul(above.swapaxes(0, 1), np.exp(table)).swapaxes(0, 1)
            shares[j][at] = as_shares(log(mass) + below[j][at])
    return shares


def as_shares(likely: Array) -> Array:
    """Return logarithms as probabilities that sum to one over the last axis; all the same where nothing is possible."""
    top = likely.max(axis=-1, keepdims=True)
    share = np.exp(np.where(np.isneginf(top), 0.0, likely - np.where(np.isneginf(top), 0.0, top)))
    return np.asarray(share / share.sum(axis=-1, keepdims=True))
