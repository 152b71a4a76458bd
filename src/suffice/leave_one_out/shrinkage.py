"""Shrinkage by exact leave-one-out: the value with the largest likelihood of the rows, each scored by the model of
all others."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..sources import LocalSource
from ..stats.base import FAINT
from ..tables.batch import Batch
from .base import ROWS, coded
from .gaussian import SAFE, Downdate, GaussianLeaveOneOut

Array = NDArray[Any]

SHRINKAGES = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 21)])
"""To choose from."""


@dataclass(frozen=True)
class ShrinkageScores:
    """The log-likelihoods of some rows under every shrinkage."""

    score: Array  # (s,) the weighted sum of log p(row | its class) by models without it, but for a constant
    floored: Array  # (s,) whether a covariance would reach its floor without some row
    rows: int  # that have a say

    def __add__(self, other: ShrinkageScores) -> ShrinkageScores:
        return ShrinkageScores(self.score + other.score, self.floored | other.floored, self.rows + other.rows)


def best_shrinkage(source: LocalSource, model: GaussianLeaveOneOut) -> float:
    """Return the shrinkage among SHRINKAGES with the largest likelihood; the smallest of several.

    Rows without which the class has (next to) no variance at all score the same for any shrinkage: they have no say.
    Nor have directions in which a class does not vary, such as constant columns and copies of others: the less
    shrinkage the better, they would say. A shrinkage that would not keep the others from the floor is not for choice.
    Columns that are shrunk in units of their standard deviation have that of all rows, whichever row is left out.
    """
    unit = model.unit if model.target == "variances" else np.ones(model.moments.n_features)
    model = replace(model, moments=model.moments.scaled(np.zeros_like(unit), unit))

    def score_rows(batch: Batch) -> ShrinkageScores:
        total = ShrinkageScores(np.zeros(len(SHRINKAGES)), np.zeros(len(SHRINKAGES), bool), 0)
        code, weight = coded(batch, model.moments.classes)
        for start in range(0, len(batch), ROWS):
            rows = slice(start, start + ROWS)
            X, w = batch.table[rows].floats() / unit, weight[rows]
            for scores, safe, own in _curves(model, X[w > 0], code[rows][w > 0], w[w > 0]):
                asked = safe[:, -1]  # what reaches the floor at the greatest shrinkage does so at every other
                score = own[asked] @ np.where(safe[asked], scores[asked], 0.0)
                total += ShrinkageScores(score, np.any(~safe[asked], axis=0), int(asked.sum()))
        return total

    found = source.reduce(score_rows, operator.add)
    if not found.rows:
        raise DataError(
            'shrinkage="loo" cannot be chosen: leaving out any row leaves its class without variance; give a number'
        )
    return float(SHRINKAGES[np.where(found.floored, -np.inf, found.score).argmax()])


def _curves(model: GaussianLeaveOneOut, X: Array, code: Array, w: Array) -> Iterator[tuple[Array, Array, Array]]:
    """For the rows that share a covariance: scores (m, s) by their own classes without them, but for a constant,
    whether these are above the floor, and the weights (m,)."""
    moments, tied = model.moments, model.density.structure.tied
    n = moments.weight[code]
    staying = n - w > FAINT * n  # whose class does not leave with them
    for g in [0] if tied else np.unique(code):
        rows = staying if tied else staying & (code == g)
        if rows.any():
            away = X[rows] - moments.mean[code[rows]]
            yield *_curve(model, int(g), away, n[rows], w[rows]), w[rows]


def _curve(model: GaussianLeaveOneOut, g: int, away: Array, n: Array, w: Array) -> tuple[Array, Array]:
    total = model.moments.total if model.density.structure.tied else model.moments.weight[g]
    downdate = Downdate.of(model, g, away, total - w, w * n / (n - w))
    square, unit, step, unshrunk = downdate.z**2, downdate.unit, downdate.step, downdate.diagonal
    varies = downdate.scatter > SAFE * model.floor * unit * total
    # What does not vary would pay log(1 / s) for every row. But where there are fewer rows than columns, each is far
    # from all others in some direction of its own: how far, it tells among all directions that do not vary without it.
    alone = 1 - step * (square[:, varies] / np.where(unshrunk > 0, unshrunk, 1.0)[:, varies]).sum(axis=1) < FAINT
    counts = (varies | alone[:, None]).astype(np.float64)
    scores, safe = np.empty((len(away), len(SHRINKAGES))), np.empty((len(away), len(SHRINKAGES)), bool)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for i, s in enumerate(SHRINKAGES):
            diagonal = downdate.shrunk(s)
            inverse = 1 / diagonal
            distance = np.einsum("ij,ij->i", square, inverse)
            share = 1 - (1 - s) * step * distance  # of the determinant that the rank-one part leaves
            log_det = np.einsum("ij,ij->i", np.log(diagonal), counts) + np.log(share)
            scores[:, i] = -0.5 * (log_det + (n / (n - w)) ** 2 * distance / share)
            safe[:, i] = (diagonal > 0).all(axis=1) & (share > SAFE * model.floor * (inverse @ (unit * varies)))
            safe[:, i] &= varies.any() if s else varies.all()
    return scores, safe
