"""Features of columns as SQL expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import case, func
from sqlalchemy.sql.elements import ColumnElement

from ..errors import DataError
from ..tables.features import Feature
from .dialects import AsNumber, Cell, Infinity, Number
from .steps import Steps

Expression = ColumnElement[Any]

_MOST = 600.0  # the greatest exponent: some engines refuse to work out powers that overflow


def feature_cell(feature: Feature, steps: Steps, name: str) -> Expression:
    """The value of a feature of the column with this name: NULL, or NaN, where it is missing."""
    value: Expression = steps.bind("raw", AsNumber(Cell(name)))
    for step, *parameters in feature.steps:
        if step not in _EXPRESSIONS:
            raise DataError(
                f"column {name!r} cannot be prepared in SQL ({step}); convert it to numbers in the table and fit again"
            )
        value = steps.bind("derived", _EXPRESSIONS[step](value, *parameters))
    return value


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
