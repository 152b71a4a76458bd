"""JSON bodies: checked field by field, and read as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import from_json

from ..decisions import detection_cost
from ..errors import alike
from ..export.outputs import OUTPUTS
from ..scoring.inputs import Input
from ..tables.parsing import EXAMPLES, boolean_of, number_of
from ..tables.table import ArrayColumn, Frame, Table
from .errors import RefusedError
from .limits import Limits
from .models import Served

FIELDS = ("rows", "prior", "cost", "explain", "outputs")
PARAMETERS = ("prior", "cost", "outputs")  # of the query of bulk requests
_SHORT = {
    "prior": 'uniform, numbers such as 0.7,0.3, classes such as a=0.7,b=0.3, or JSON such as {"a": 0.7, "b": 0.3}',
    "cost": "JSON such as [[0, 1], [5, 0]] or, for two classes, miss=5,false-alarm=1",
}
_SHOWN = 60  # characters of a value or a name in a message


@dataclass(frozen=True)
class Asked:
    """A request for predictions."""

    rows: list[dict[str, Any]]
    prior: Any = None
    cost: Any = None
    explain: bool | tuple[Any, Any] = False
    outputs: tuple[str, ...] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it asks for nothing but what most requests ask for, so that it can be answered with others."""
        return self.prior is None and self.cost is None and not self.explain and self.outputs is None


def asked(body: bytes, served: Served, limits: Limits) -> Asked:
    """Read the body of a request, or refuse it with the name of the field that is wrong."""
    try:
        found = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise RefusedError(400, f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise RefusedError(422, 'the body must be an object such as {"rows": [{"column": 1.5}]}')
    unknown = next((name for name in found if name not in FIELDS), None)
    if unknown is not None:
        raise RefusedError(422, f"{shown(unknown)} is not known; the fields are {', '.join(FIELDS)}", shown(unknown))
    rows = found.get("rows")
    if not isinstance(rows, list) or not rows:
        raise RefusedError(422, "rows must be a list of at least one object from columns to values", "rows")
    if len(rows) > limits.json_rows:
        raise RefusedError(
            413, f"{len(rows)} rows are too many for JSON; send {limits.json_rows} at most, or Arrow", "rows"
        )
    for i, row in enumerate(rows):
        _check_row(row, i, served)
    prior = _prior(found.get("prior"), served)
    cost = _cost(found.get("cost"), prior, served)
    return Asked(rows, prior, cost, _explain(found.get("explain"), served), _outputs(found.get("outputs"), served))


def _check_row(row: Any, i: int, served: Served) -> None:
    if not isinstance(row, dict):
        raise RefusedError(422, "a row must be an object from columns to values", f"rows[{i}]")
    columns = served.columns
    if row.keys() != served.required:
        for name in row:
            if name not in columns and name not in served.ignored:
                hint = alike(name[:_SHOWN], columns) if len(columns) < 1000 else ""
                raise RefusedError(422, f"the model has no column {shown(name)!r}{hint}", f"rows[{i}].{shown(name)}")
        for name in columns:
            if name in served.required and name not in row:
                raise RefusedError(
                    422,
                    f"column {shown(name)!r} is not in the row; give null for a missing value",
                    f"rows[{i}].{shown(name)}",
                )
    for name, value in row.items():
        column = columns.get(name)  # None: one that is ignored
        if value is None or column is None:
            continue
        if not (_ACCEPTS[column.kind](value) and column.understands(value)):
            raise RefusedError(422, f"{quoted(value)} is not {_wanted(column)}, nor null", f"rows[{i}].{shown(name)}")


def _is_number(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int and abs(value) < 1 << 1023


def _is_scalar(value: Any) -> bool:
    return type(value) in (str, bool) or _is_number(value)


def _says_number(value: Any) -> bool:
    return _is_number(number_of(value) if type(value) is str else value)


_ACCEPTS: dict[str, Callable[[Any], bool]] = {
    "number": _says_number,
    "boolean": lambda value: _is_scalar(value) and not math.isnan(_boolean(value)),
    "category": _is_scalar,
    "date": lambda value: type(value) is str,
    "numeral": lambda value: type(value) is str or _is_number(value),
    "duration": lambda value: type(value) is str or _is_number(value),
    "text": lambda value: type(value) is str,
}
WANTED = {
    "number": "a number, or text that says one",
    "boolean": "true or false",
    "category": "text, a number or a Boolean",
    "date": "a date as text",
    "numeral": "a number, or text that says one",
    "duration": "a duration or a time of the day as text, such as '13:05', or a number of seconds",
    "text": "text",
}


def _wanted(column: Input) -> str:
    """What a column takes, for somebody who gave something else."""
    if column.kind == "date":
        return f"a date as text, such as {EXAMPLES[column.step[1]]}"
    if column.step[:1] == ("truth",):
        return f"{' or '.join(map(quoted, column.step[1:]))}, true or false"
    return WANTED[column.kind]


def quoted(value: Any) -> str:
    """A value in a message, with quotes around text."""
    return f"'{shown(value)}'" if isinstance(value, str) else shown(value)


def shown(value: Any) -> str:
    """A value in a message, which may be as long as the request."""
    text = value if isinstance(value, str) else repr(value) if not isinstance(value, int) else str(value)[:400]
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _label(name: Any, served: Served, field: str) -> Any:
    """The class that a name or a label means."""
    try:
        return served.labels[name]
    except (KeyError, TypeError):
        known = ", ".join(map(quoted, served.class_names[:10]))
        meant = alike(str(name)[:_SHOWN], served.class_names) if len(served.class_names) < 1000 else ""
        told = f"{quoted(name)} is not a class; the classes are {known}{meant}"
        raise RefusedError(422, told, field) from None


def _numbers(values: Any, field: str) -> Any:
    """Numbers, each of which is one."""
    for name, value in enumerate(values) if isinstance(values, list) else values.items():
        if not _is_number(value):
            raise RefusedError(422, f"{quoted(value)} is not a number", f"{field}[{shown(name)}]")
    return values


def _prior(prior: Any, served: Served) -> Any:
    if prior is None:
        if served.model.prior is None:
            raise RefusedError(422, "this model has no prior of its own; give one", "prior")
        return None
    if prior == "uniform" or _is_number(prior):
        return prior
    if isinstance(prior, list):
        return _numbers(prior, "prior")
    if isinstance(prior, dict):
        return {_label(name, served, "prior"): value for name, value in _numbers(prior, "prior").items()}
    raise RefusedError(422, 'prior must be "uniform", a list, an object by class, or null', "prior")


def _cost(cost: Any, prior: Any, served: Served) -> Any:
    if cost is None:
        return None
    if isinstance(cost, dict) and cost and cost.keys() <= {"miss", "false-alarm"}:
        return _cost_of_errors(_numbers(cost, "cost"), prior, served)
    if isinstance(cost, list) and cost and all(isinstance(row, list) for row in cost):
        return [_numbers(row, f"cost[{i}]") for i, row in enumerate(cost)]
    if not isinstance(cost, dict) or not cost:
        raise RefusedError(422, _COSTS, "cost")
    found = {}
    for name, row in cost.items():
        field = f"cost[{shown(name)}]"
        if not isinstance(row, list | dict):
            raise RefusedError(422, f"the costs of a decision must be a list, or an object by class; {_COSTS}", field)
        numbers = _numbers(row, field)
        if isinstance(numbers, dict):
            numbers = {_label(label, served, field): value for label, value in numbers.items()}
        found[served.labels.get(name, name)] = numbers
    return found


_COSTS = 'cost must be a matrix, an object from decisions to rows of it, {"miss": 5, "false-alarm": 1}, or null'


def _cost_of_errors(cost: dict[str, float], prior: Any, served: Served) -> Any:
    """The costs of misses and false alarms of the class that the prior names or, if it names none or both, the second
    one."""
    own = served.model.classes.tolist()
    if len(own) != 2:
        raise RefusedError(422, f"misses and false alarms are of two classes, not of {len(own)}; give a matrix", "cost")
    named = list(prior) if isinstance(prior, dict) else []
    return detection_cost(cost.get("miss", 1), cost.get("false-alarm", 1), own.index(*named) if len(named) == 1 else 1)


def _explain(explain: Any, served: Served) -> bool | tuple[Any, Any]:
    if explain is None or explain is False:
        return False
    if not served.model.density.has_likelihoods:
        raise RefusedError(422, "this model is not generative, and cannot be explained by columns", "explain")
    if explain is True:
        return True
    if isinstance(explain, list) and len(explain) == 2:
        a, b = (_label(name, served, "explain") for name in explain)
        if a != b:
            return a, b
    raise RefusedError(422, "explain must be true, false, or a list of two classes", "explain")


def _outputs(outputs: Any, served: Served) -> tuple[str, ...] | None:
    if outputs is None:
        return None
    known = OUTPUTS if served.model.density.has_likelihoods else OUTPUTS[:-1]
    if not isinstance(outputs, list) or not outputs or any(each not in known for each in outputs):
        raise RefusedError(422, f"outputs must be a list of some of {', '.join(known)}", "outputs")
    return tuple(dict.fromkeys(outputs))


def asked_of_bulk(query: Mapping[str, str], served: Served) -> tuple[Any, Any, Any]:
    """Prior, cost and outputs of a bulk request, from the parameters of its query: JSON, or as on the command line."""
    unknown = next((name for name in query if name not in PARAMETERS), None)
    if unknown is not None:
        told = f"{shown(unknown)} is not known; the parameters are {', '.join(PARAMETERS)}"
        raise RefusedError(422, told, shown(unknown))
    found = {name: _parameter(name, query.get(name)) for name in _SHORT}
    outputs = query.get("outputs")
    names = None if outputs is None else [name.strip() for name in outputs.split(",")]
    prior = _prior(found["prior"], served)
    return prior, _cost(found["cost"], prior, served), _outputs(names, served)


def _parameter(name: str, text: str | None) -> Any:
    """The value of a parameter: JSON, numbers between commas, or name=number pairs, in the values that JSON has."""
    if text is None or text == "uniform":
        return text
    try:
        if text.lstrip().startswith(("{", "[", '"')) or not re.search("[,=]", text):
            return from_json(text, allow_inf_nan=False)
        parts = text.split(",")
        if "=" not in text:
            return [float(part) for part in parts]
        return {key.strip(): float(value) for key, _, value in (part.rpartition("=") for part in parts)}
    except ValueError as error:
        raise RefusedError(422, f"{name}={shown(text)} cannot be read: {error}; give {_SHORT[name]}", name) from None


def _boolean(word: str) -> float:
    return boolean_of(word, "false", "true")


def as_table(rows: Sequence[dict[str, Any]], served: Served) -> Table:
    """The rows as a table with the columns of the model in their order."""
    n, parts = len(rows), []
    nothing = ArrayColumn(np.full(n, np.nan), "float", "float64")
    for name, column in served.columns.items():
        if not column.is_read:
            parts.append(nothing)
        elif column.kind in ("number", "boolean"):
            number = number_of if column.kind == "number" else _boolean
            values = [number(value) if type(value) is str else value for value in (row[name] for row in rows)]
            parts.append(ArrayColumn(np.array(values, np.float64), "float", "float64"))
        else:
            cells = np.empty(n, object)
            cells[:] = [row[name] for row in rows]
            parts.append(ArrayColumn(cells, "text", "object"))
    return Frame(tuple(parts), served.model.names, n)
