"""Features of columns as SQL expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import case, func
from sqlalchemy.sql.elements import ColumnElement

from ..errors import DataError, remedy
from ..tables.features import Feature
from ..tables.parsing import EXAMPLES, boolean_words
from .days import Arithmetic, part_of
from .dialects import AsAmount, AsDays, AsNumber, AsText, Cell, Infinity, Number, Text
from .steps import Steps

Expression = ColumnElement[Any]

_MOST = 600.0  # the greatest exponent: some engines refuse to work out powers that overflow


def feature_cell(feature: Feature, steps: Steps, name: str) -> Expression:
    """The value of a feature of the column with this name: NULL, or NaN, where it is missing."""
    value: Expression = steps.number(_read(feature, name))
    for step, *parameters in feature.steps[len(feature.reads) :]:
        made = _part(value, steps, *parameters) if step == "part" else _EXPRESSIONS[step](value, *parameters)
        value = steps.bind("derived", made)
    return value


def _read(feature: Feature, name: str) -> Expression:
    """A cell as the number that it says, NULL where it says none."""
    (step, *parameters), *_ = (*feature.reads, ("",))
    if not step:
        return AsNumber(Cell(name))
    if step == "truth":
        return _boolean(Cell(name), *parameters)
    if (step, *parameters) in _SAID:
        return _SAID[step, *parameters](Cell(name))
    how = f", {EXAMPLES[parameters[0]]}" if parameters else ""
    raise DataError(
        f"column {name!r} cannot be read in SQL ({step}{how}). Read the rows and score them here, "
        f"{remedy('as in predict(suffice.sql(...))', 'with suffice predict')}; or convert the column to numbers in the "
        "table, and fit again"
    )


def _boolean(cell: Expression, no: str, yes: str) -> Expression:
    """One for the word that means yes, true and 1, zero for the other one, false and 0, in upper or lower case."""
    word, meant = func.lower(func.trim(AsText(cell))), boolean_words(no, yes)
    return case(*((word == Text(each), Number(number)) for each, number in meant.items()))


def _part(days: Expression, steps: Steps, part: str) -> Expression:
    made: Expression = part_of(part, days, Arithmetic(func.floor, Number, lambda each: steps.bind("part", each)))
    return made


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


_SAID: dict[tuple[str, ...], Callable[..., Expression]] = {("number", "."): AsAmount, ("date", "ymd"): AsDays}
_EXPRESSIONS: dict[str, Callable[..., Expression]] = {
    "bin": _bin,
    "log": _log,
    "signed_log": _signed_log,
    "yeo_johnson": _yeo_johnson,
    "is_zero": lambda x: case((x == Number(0.0), Number(1.0)), (x <= Infinity(), Number(0.0))),
    "not_zero": lambda x: case((x != Number(0.0), x)),
}
