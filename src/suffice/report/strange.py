"""Rows to look at: the least typical ones, and the most surprising mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import Density
from ..errors import SufficeError
from ..scoring.explanation import cell_texts
from .rows import ReportRows

Array = NDArray[Any]

LEVEL = 0.01  # of outliers
_MOST = 20_000  # rows whose typicality is computed
_FEW = 8  # rows to show
_CELLS = 5  # columns to show of them


@dataclass(frozen=True)
class Strange:
    """A row that is worth a look."""

    row: int
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


def outliers_of(rows: ReportRows, prior: Array, columns: list[int]) -> Outliers | None:
    """Return the rows that are typical of no class, or None if the model cannot tell."""
    density = rows.model.density
    if not isinstance(density, Density):
        return None
    n = min(len(rows.table), _MOST)
    try:
        typical = np.concatenate(
            [density.typicality(density.read(rows.table[start : start + 4096])) for start in range(0, n, 4096)]
        )[:n].max(axis=1)
    except SufficeError:
        return None
    found = np.flatnonzero(~(typical >= LEVEL))
    least = found[np.argsort(typical[found], kind="stable")][:_FEW]
    return Outliers(n, len(found), _described(rows, least, prior, columns, typical))


def mistakes_of(rows: ReportRows, prior: Array, columns: list[int]) -> list[Strange]:
    """Return the wrong decisions that the model was most sure of."""
    posterior = rows.posterior(prior)
    decided = posterior.argmax(axis=1)
    wrong = np.flatnonzero(decided != rows.code)
    surest = wrong[np.argsort(-posterior[wrong, decided[wrong]], kind="stable")][:_FEW]
    return _described(rows, surest, prior, columns, None)


def _described(
    rows: ReportRows, which: Array, prior: Array, columns: list[int], typical: Array | None
) -> list[Strange]:
    posterior = rows.posterior(prior)[which]
    decided, shown = posterior.argmax(axis=1), columns[:_CELLS]
    found = []
    for i, row in enumerate(which.tolist()):
        cells = {}
        if shown:
            texts = cell_texts(rows.table[row : row + 1], np.zeros(len(shown), np.intp), np.array(shown))
            cells = {rows.names[j]: "missing" if text is None else text for j, text in zip(shown, texts, strict=True)}
        found.append(
            Strange(
                row,
                rows.classes[rows.code[row]],
                rows.classes[decided[i]],
                float(posterior[i, decided[i]]),
                None if typical is None else float(typical[row]),
                cells,
            )
        )
    return found
