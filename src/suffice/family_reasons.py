"""Why a column gets a family: what its values look like.

Each function returns the reason as text, or None where the column is not of the family.
"""

from __future__ import annotations

from .tables.summary import FEW, ColumnSummary

COUNTED = 20  # integers with a mean of at most this may be counts: beyond, a Gaussian does as well


def why_bernoulli(column: ColumnSummary) -> str | None:
    if column.column.kind == "boolean":
        return column.dtype
    if not column.is_whole or column.n_different != 2:  # a constant 1 may stand for anything
        return None
    only = column.values.min() == 0 and column.values.max() == 1
    return f"{column.dtype}, only 0 and 1" if only else None


def why_text(column: ColumnSummary) -> str | None:
    return f"{column.dtype}, {column.is_prose}" if column.is_prose else None


def why_categorical(column: ColumnSummary) -> str | None:
    if not column.is_number:
        return column.dtype
    few = column.is_whole and column.n_different <= FEW
    return f"{column.dtype}, {column.n_different} different value{'s' * (column.n_different != 1)}" if few else None


def why_poisson(column: ColumnSummary) -> str | None:
    if not column.is_whole or column.values.min() < 0:
        return None
    mean = column.values.mean()
    counted = mean <= COUNTED and column.values.var() <= 3 * mean
    return f"{column.dtype}, small and spread like counts" if counted else None


def why_gaussian(column: ColumnSummary) -> str | None:
    if not column.is_number:
        return None
    if not column.is_whole:
        return column.dtype
    if column.values.min(initial=0.0) < 0:
        return f"{column.dtype}, negative values"
    return f"{column.dtype}, {'large' if column.values.mean() > COUNTED else 'spread wider than counts'}"
