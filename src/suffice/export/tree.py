"""Scores of trees of categories as SQL expressions: sums over missing cells as `densities.messages` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import case, func

from ..densities import TreeDensity
from ..densities.dependence import from_root
from .dialects import Dot, Greatest, Number, Total
from .scores import IMPOSSIBLE, Expression, Scores, category_cells, finite, previous, scores, share_of
from .steps import Steps

Array = NDArray[Any]


@scores.register
def _(density: TreeDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    cells: list[tuple[Expression, list[Expression]] | None] = []
    refused: list[Expression] = []
    for name, categories in zip(names, density.categories, strict=True):
        if not len(categories):
            cells.append(None)  # never observed: it says nothing
            continue
        x, values, unusable = category_cells(steps, name, categories)
        refused += unusable
        if density.single.unknown == "error":
            refused.append(x.not_in(values))
        if density.single.unknown == "ignore":
            x = steps.bind("x", case((x.in_(values), x)))
        cells.append((x, values))
    relative: list[Expression] = []
    bound = sum(len(own[0]) + own.shape[2] for own in density.extended)
    for c in range(density.n_classes):
        relative.append(steps.bind("score", _of_class(density, steps, cells, c, previous(relative, bound))))
    return Scores(relative, Number(0.0), refused)


def _of_class(
    density: TreeDensity,
    steps: Steps,
    cells: Sequence[tuple[Expression, list[Expression]] | None],
    c: int,
    after: Expression | None,
) -> Expression:
    """log p(observed cells | class): from the leaves on, what lies below each category of a parent."""
    messages: dict[int, list[Expression]] = {}
    total: list[Expression] = [finite(0.0 if density.seen[c] else -np.inf)]
    for j in reversed(from_root(density.parent)):
        own = cells[j]
        if own is None:
            continue
        x, values = own
        children = [messages[i] for i in np.flatnonzero(density.parent == j).tolist()]
        below: list[Expression] = [Total(*each) for each in zip(*children, strict=True)]  # each category
        if children:
            at = steps.bind("b", case(*zip(values, below[:-1], strict=True), value=x, else_=below[-1]), after)
            top = steps.bind("top", Greatest(*below[:-1]), after)
            share = [steps.bind("e", share_of(each, top), after) for each in below[:-1]]
        found = []
        for row in density.extended[j][c]:
            known = zip(values, map(finite, row[:-1]), strict=True)
            observed: Expression = case(*known, value=x, else_=finite(row[-1]))
            missing: Expression = Number(0.0)
            if children:
                mass = steps.bind("n", Dot(np.exp(row[:-1]), share), after)
                missing = case((mass > Number(0.0), top + func.ln(mass)), else_=Number(IMPOSSIBLE))
                observed = observed + at
            found.append(steps.bind("m", case((x.is_(None), missing), else_=observed), after))
        if density.parent[j] < 0:
            total.append(found[0])
        else:
            messages[j] = found
    return Total(*total)
