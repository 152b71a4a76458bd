"""Terms as expressions of SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Double, case, func, literal
from sqlalchemy.sql.elements import ColumnElement

from ..summing import Term

Expression = ColumnElement[Any]

_LARGEST = literal(float(np.finfo(np.float64).max), Double)


def total(
    term: Term, number: Callable[[int], Expression], centers: Sequence[Expression], weight: Expression | None
) -> Expression:
    """The total of a term over some rows.

    Parameters
    ----------
    number : the values of a column, by its position
    centers : of all columns
    weight : of the rows; None means ones
    """
    x = [number(j) for j in term.columns]
    present = None if weight is None else func.nullif(weight, 0.0)  # rows of weight zero are absent
    match term.kind:
        case "weight":
            return func.count() if present is None else func.sum(present)
        case "bad_weight":
            odd = None if weight is None else weight.is_(None) | (weight < 0.0) | (weight > _LARGEST)
            return literal(0) if odd is None else _rows(odd)
        case "missing":
            return func.count() - func.count(x[0]) if present is None else func.sum(case((x[0].is_(None), present)))
        case "positive":
            return func.sum(case((x[0] > 0.0, 1.0 if present is None else present)))
        case "negative":
            return _rows(x[0] < 0.0)
        case "infinite":
            return _rows((x[0] < -_LARGEST) | (x[0] > _LARGEST))
        case "untrue":
            return _rows((x[0] != 0.0) & (x[0] != 1.0))
        case "deviation" | "product":
            terms = [value - centers[j] for value, j in zip(x, term.columns, strict=True)]
            product = terms[0] if len(terms) == 1 else terms[0] * terms[1]
            return func.sum(product if present is None else present * product)
    raise AssertionError(term)


def _rows(condition: Expression) -> Expression:
    return func.sum(case((condition, 1)))
