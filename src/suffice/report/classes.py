"""Which classes a report shows one by one, if there are many, and how the others are summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scoring.evaluation import Evaluation
from .rows import ScoredRows

Array = NDArray[Any]

MANY = 20  # classes that are all shown
_SHOWN = 10  # of more


@dataclass(frozen=True)
class ClassGroups:
    """True classes and decisions as a confusion matrix shows them: each by itself, or together with others."""

    shown: list[int]  # classes that stand by themselves, in their order
    rows: list[str]
    columns: list[str]
    row_of: Array  # (k,) of each class
    column_of: Array  # (m,) of each decision

    @classmethod
    def of(cls, rows: ScoredRows, found: Evaluation, actions: Sequence[str], own: Sequence[int]) -> ClassGroups:
        """Return all classes, or those of many that are mistaken most often.

        Parameters
        ----------
        rows : ScoredRows
            The rows.
        found : Evaluation
            Their confusion matrix.
        actions : sequence of str
            The m decisions.
        own : sequence of int
            The decision that is right for each class, or -1.
        """
        k = rows.n_classes
        if k <= MANY:
            return cls(list(range(k)), rows.classes, list(actions), np.arange(k), np.arange(len(actions)))
        wrong, right = np.array(found.confusion), np.array(own)
        has_own = np.flatnonzero(right >= 0)
        wrong[has_own, right[has_own]] = 0.0
        mistakes = wrong.sum(axis=1)
        mistakes[has_own] += wrong.sum(axis=0)[right[has_own]]
        shown = np.sort(np.lexsort((-rows.by_class, -mistakes))[:_SHOWN])
        others = np.setdiff1d(np.arange(k), shown)
        kept = np.setdiff1d(np.arange(len(actions)), right[others])
        row_of, column_of = np.full(k, len(shown)), np.full(len(actions), len(kept))
        row_of[shown], column_of[kept] = np.arange(len(shown)), np.arange(len(kept))
        names = [rows.classes[c] for c in shown], [actions[j] for j in kept]
        summed = f"{len(others)} others"
        return cls(shown.tolist(), [*names[0], summed], [*names[1], summed], row_of, column_of)

    @property
    def are_all(self) -> bool:
        """Whether every class stands by itself."""
        return len(self.shown) == len(self.row_of)

    def summed(self, confusion: Any) -> Array:
        """Return a confusion matrix (k, m) of these rows and columns."""
        found = np.zeros((len(self.rows), len(self.columns)))
        np.add.at(found, (self.row_of[:, None], self.column_of), np.array(confusion))
        return found


def confusions(found: Evaluation, most: int) -> list[tuple[str, str, float, float]]:
    """Return the most frequent mistakes: the true class, the decision, how many, and their share in the class."""
    wrong = np.array(found.confusion)
    totals = wrong.sum(axis=1)
    decided = {label: j for j, label in enumerate(found.decisions)}
    for i, label in enumerate(found.classes):
        if label in decided:
            wrong[i, decided[label]] = 0.0
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [divmod(int(cell), wrong.shape[1]) for cell in order]
    return [
        (str(found.classes[i]), str(found.decisions[j]), float(wrong[i, j]), float(wrong[i, j] / totals[i]))
        for i, j in pairs
        if wrong[i, j] > 0
    ]
