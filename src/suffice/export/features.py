"""Features of columns as SQL expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import case, func
from sqlalchemy.sql.elements import ColumnElement

from ..errors import DataError, remedy
from ..tables.features import Feature
from ..tables.parsing import boolean_words
from .dialects import AsNumber, AsText, Cell, Infinity, Number, Text
from .steps import Steps

Expression = ColumnElement[Any]

_MOST = 600.0  # the greatest exponent: some engines refuse to work out powers that overflow


def feature_cell(feature: Feature, steps: Steps, name: str) -> Expression:
    """The value of a feature of the column with this name: NULL, or NaN, where it is missing."""
    others, cell = [*feature.steps], Cell(name)
    is_boolean = bool(others) and others[0][0] == "truth"
    value = steps.bind("raw", _truth(cell, *others.pop(0)[1:]) if is_boolean else AsNumber(cell))
    for step, *parameters in others:
        if step not in _EXPRESSIONS:
            raise DataError(
                f"column {name!r}, which is read as a {step}, cannot be prepared in SQL. Read the rows and score them "
                f"here, {remedy('as in predict(suffice.sql(...))', 'with suffice predict')}; or convert the column to "
                "numbers in the table, and fit again"
            )
        value = steps.bind("derived", _EXPRESSIONS[step](value, *parameters))
    return value


def _truth(cell: Expression, no: str, yes: str) -> Expression:
    """One for the word that means yes, true and 1, zero for the other one, false and 0, in upper or lower case."""
    word, meant = func.lower(func.trim(AsText(cell))), boolean_words(no, yes)
    return case(*((word == Text(each), Number(number)) for each, number in meant.items()))


def _bin(x: Expression, edges: tuple[float, ...], *_: Any) -> Expression:
    ends = [(x <= Number(edge), Number(i)) for i, edge in enumerate(edges)]
    return case(*ends, (x <= Infinity(), Number(len(edges))))  # NaN is in no bin


def _log(x: Expression, low: float) -> Expression:
    return case((x <= Number(0.0), func.ln(Number(low))), (x < Infinity(), func.ln(x)), else_=x)


def _log_size(x: Expression) -> Expression:
    """log(1 + x) of a number that is not negative."""
    return func.ln(Number(1.0) + x)


def _signed_log(x: Expression, scale: float) -> Expression:
    z = x * Number(1 / scale)
    up, down = _log_size(z), Number(-1.0) * _log_size(Number(-1.0) * z)
    return case((x == Infinity("-"), x), (x < Number(0.0), down), (x < Infinity(), up), else_=x)


def _yeo_johnson(x: Expression, center: float, scale: float, power: float, *_: float) -> Expression:
    z = (x - Number(center)) * Number(1 / scale)
    up, down = _boxed(_log_size(z), power), Number(-1.0) * _boxed(_log_size(Number(-1.0) * z), 2.0 - power)
    return case((x == Infinity("-"), x), (x < Number(center), down), (x < Infinity(), up), else_=x)


def _boxed(log_value: Expression, power: float) -> Expression:
    if abs(power) <= 1e-9:
        return log_value
    raised = log_value * Number(power)
    held = case((raised > Number(_MOST), Number(_MOST)), else_=raised)
    return (func.exp(held) - Number(1.0)) * Number(1 / power)


_EXPRESSIONS: dict[str, Callable[..., Expression]] = {
    "bin": _bin,
    "log": _log,
    "signed_log": _signed_log,
    "yeo_johnson": _yeo_johnson,
    "is_zero": lambda x: case((x == Number(0.0), Number(1.0)), (x <= Infinity(), Number(0.0))),
    "not_zero": lambda x: case((x != Number(0.0), x)),
}
