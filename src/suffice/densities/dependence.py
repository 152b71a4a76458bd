"""Which columns depend on each other given the class: the tree of Chow and Liu (1968), for classes as Friedman, Geiger
and Goldszmidt (1997) have it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stats.pairs import PairStats

Array = NDArray[Any]

_DIGITS = 10  # of weights in nats: what differs by less is a tie, in whatever order rows were added up


def entropy_terms(weight: Array) -> Array:
    """Return w log w, with 0 for w = 0."""
    return np.asarray(weight * np.log(np.where(weight > 0, weight, 1.0)))


def informations(stats: PairStats) -> Array:
    """Return what two columns tell about each other given the class: the gain of a row in log-likelihood.

    Parameters
    ----------
    stats : PairStats
        How often two categories were seen together.

    Returns
    -------
    array of shape (m,)
        For each pair its conditional mutual information in nats, times the share of the rows in which neither of the
        two is missing.
    """
    pair, m = np.repeat(np.arange(len(stats.pairs)), np.diff(stats.bounds)), len(stats.pairs)
    told = np.zeros(m)
    for count in stats.count:
        told += np.bincount(pair, entropy_terms(count), m) + entropy_terms(np.bincount(pair, count, m))
    for of, _, margins in stats.margins():
        for margin in margins:
            told -= np.bincount(of, entropy_terms(margin), m)
    return np.asarray(np.maximum(told, 0.0) / (stats.weight.sum() or 1.0))


def weight_matrices(pairs: Array, weight: Array, d: int, joint: Any, grows: bool) -> Array:
    """Return the weights of the edges between d columns, from those of pairs.

    Parameters
    ----------
    pairs : array of shape (m, 2)
        Pairs of columns.
    weight : array of shape (n, m)
        Their weights, for n trees.
    d : int
        The number of columns.
    joint : sequence of pairs
        Edges that every tree has.
    grows : bool
        Whether trees have other edges as well.

    Returns
    -------
    array of shape (n, d, d)
        Symmetric; zero where no edge is possible.
    """
    out = np.zeros((len(weight), d, d))
    if grows:
        out[:, pairs[:, 0], pairs[:, 1]] = np.round(weight, _DIGITS)
    for i, j in joint:
        if (pairs == (i, j)).all(axis=1).any():
            out[:, i, j] = np.inf
    return out + np.swapaxes(out, 1, 2)


def heaviest_trees(weight: Array) -> Array:
    """Return the spanning trees of the greatest total weight (Prim's algorithm). The first column is the root, and an
    edge of weight zero is left out: so there may be several trees, each with its first column as the root.

    Parameters
    ----------
    weight : array of shape (n, d, d)
        Symmetric weights of edges between d columns, for n trees.

    Returns
    -------
    array of int of shape (n, d)
        The parent of each column; -1 for a root. Of equal weights, lower indices win.
    """
    n, d = weight.shape[:2]
    rows, parent = np.arange(n), np.full((n, d), -1)
    nearest, best, outside = np.full((n, d), -1), np.zeros((n, d)), np.ones((n, d), bool)
    for _ in range(d):
        new = np.where(outside, best, -1.0).argmax(axis=1)
        parent[rows, new] = nearest[rows, new]
        outside[rows, new] = False
        better = weight[rows, new] > best
        nearest, best = np.where(better, new[:, None], nearest), np.where(better, weight[rows, new], best)
    return parent


def from_root(parent: Array) -> list[int]:
    """Return the indices of columns, each after its parent (d,).

    >>> from_root(np.array([2, 0, -1]))
    [2, 0, 1]
    """
    order = [int(j) for j in np.flatnonzero(parent < 0)]
    for j in order:  # which grows meanwhile
        order += np.flatnonzero(parent == j).tolist()
    return order
