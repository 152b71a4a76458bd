"""Scores of trees of categories as an ONNX graph: sums over missing cells as `densities.messages` has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import TreeDensity
from ..densities.dependence import from_root
from .graph import Value
from .onnx_scores import Cells, GraphScores, category_code, nothing_said, scores, unseen_classes

Array = NDArray[Any]


@scores.register
def _(density: TreeDensity, cells: Cells) -> GraphScores:
    messages: dict[
        int, Value
    ] = {}  # for each category of the parent what lies at and below a column, (n, k, v_parent + 1)
    total = nothing_said(cells) + unseen_classes(density.seen)
    for j in reversed(from_root(density.parent)):
        v = density.width[j]
        if not v:
            continue  # never observed: it says nothing
        code = category_code(cells[j], density.categories[j])
        if density.single.unknown == "ignore":
            code = code.equals(np.int64(v)).where(np.int64(v + 1), code)
        below = [messages[i] for i in np.flatnonzero(density.parent == j).tolist()]
        messages[j] = _told(density.extended[j], code, below)
        if density.parent[j] < 0:
            total = total + messages[j].squeezed(2)
    return GraphScores(total)


def _told(table: Array, code: Value, below: list[Value]) -> Value:
    """What a column tells its parent, (n, k, u), by a table (k, u, v + 1) with unknown categories last.

    `code` (n, 1) is v + 1 where it is missing; `below` is (n, k, v + 1) each."""
    k, u, v = table.shape[0], table.shape[1], table.shape[2] - 1
    entries = np.concatenate([table.transpose(2, 0, 1), np.zeros((1, k, u))])
    own = code.looked_up(entries).squeezed()
    if not below:
        return own
    every = below[0]
    for more in below[1:]:
        every = every + more
    here = code.equals(np.arange(v + 1)[None]).with_axis(1)
    observed = own + here.where(every, 0.0).sum(axis=2)
    known = every.columns(range(v), axis=2)
    top = known.max(axis=2)
    top = top.equals(-np.inf).where(0.0, top)
    shares = (known - top).exp().with_axis(2) @ np.exp(table[:, :, :-1]).transpose(0, 2, 1)  # (n, k, 1, u)
    summed = shares.squeezed(2).log() + top
    return code.equals(np.int64(v + 1)).with_axis(2).where(summed, observed)
