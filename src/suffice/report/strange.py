"""Rows to look at: the least typical ones, and the most surprising mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..densities import Density
from ..errors import SufficeError
from ..scoring.explanation import cell_texts
from .rows import DrawnRows

Array = NDArray[Any]

LEVEL = 0.01  # of outliers
_MOST = 20_000  # rows whose typicality is computed
_FEW = 8  # rows to show
_CELLS = 5  # columns to show of them
_LETTERS = 120  # of a cell


@dataclass(frozen=True)
class Strange:
    """A row that is worth a look."""

    row: int | None  # in the table; None: it has no order
    truth: str
    decision: str
    posterior: float  # of the decision
    typicality: float | None
    cells: dict[str, str]


@dataclass(frozen=True)
class Outliers:
    """How typical the rows are of any class."""

    n_rows: int  # that were looked at
    n_found: int  # that are below the level
    least: list[Strange]


def outliers_of(rows: DrawnRows, prior: Array, columns: list[int]) -> Outliers | None:
    """Return the rows that are typical of no class, or None if the model cannot tell."""
    density = rows.model.density
    if not isinstance(density, Density):
        return None
    n = min(len(rows.table), _MOST)
    looked_at = np.sort(np.random.default_rng(0).choice(len(rows.table), n, replace=False))
    parts = [rows.table[looked_at[start : start + 4096]] for start in range(0, n, 4096)]
    try:
        typical = np.concatenate([density.typicality(density.read(part)) for part in parts]).max(axis=1)
    except SufficeError:
        return None
    found = np.flatnonzero(~(typical >= LEVEL))
    least = found[np.argsort(typical[found], kind="stable")][:_FEW]
    return Outliers(n, len(found), _described(rows, looked_at[least], prior, columns, typical[least]))


def mistakes_of(rows: DrawnRows, prior: Array, columns: list[int]) -> list[Strange]:
    """Return the wrong decisions that the model was most sure of."""
    posterior = rows.posterior(prior)
    decided = posterior.argmax(axis=1)
    wrong = np.flatnonzero(decided != rows.code)
    surest = wrong[np.argsort(-posterior[wrong, decided[wrong]], kind="stable")][:_FEW]
    return _described(rows, surest, prior, columns, None)


def _described(rows: DrawnRows, which: Array, prior: Array, columns: list[int], typical: Array | None) -> list[Strange]:
    log_prior, scores = decisions.log(prior), rows.scores[which]
    posterior = np.exp(decisions.log_posterior(scores + log_prior, log_prior))
    decided, shown = posterior.argmax(axis=1), columns[:_CELLS]
    found = []
    for i, row in enumerate(which.tolist()):
        cells = {}
        if shown:
            texts = cell_texts(rows.table[row : row + 1], np.zeros(len(shown), np.intp), np.array(shown))
            cells = {rows.names[j]: _short(text) for j, text in zip(shown, texts, strict=True)}
        found.append(
            Strange(
                None if rows.number is None else int(rows.number[row]),
                rows.classes[rows.code[row]],
                rows.classes[decided[i]],
                float(posterior[i, decided[i]]),
                None if typical is None else float(typical[i]),
                cells,
            )
        )
    return found


def _short(text: str | None) -> str:
    if text is None:
        return "missing"
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}…"
