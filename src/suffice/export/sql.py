"""Scoring where the data are: a model as one SELECT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import TableClause, case, false, literal, null, table, true
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.expression import quoted_name

from ..errors import DataError, listed
from . import counts, independent, tree  # noqa: F401  register the scores of their families
from .dialects import Cell, Dot, Greatest, Infinity, Least, Number, Text, Total, checked, dialect_of
from .outputs import columns_of, plain_labels, refuse_taken
from .scores import IMPOSSIBLE, POSSIBLE, Scores, scores, share_of
from .steps import Steps

Array = NDArray[Any]
Expression = ColumnElement[Any]


def to_sql(
    scorers: tuple[Any, Any],
    classes: Array,
    names: Sequence[str],
    table: str | Sequence[str],
    dialect: str,
    prior: Array,
    cost: tuple[Array, Array] | None,
    calibration: Any,
    keep: Sequence[str],
    outputs: Sequence[str],
    takes_infinity: bool,
) -> str:
    """One SELECT that scores the rows of a table.

    Parameters
    ----------
    scorers : a density or a logistic model, and what gives the scores that are calibrated: the same, or the density
        with weights of columns
    classes : (k,)
    names : of the model's columns in the table
    table : its name, or the names of what it is in and its own
    prior : (k,)
    cost : decisions (m,) and their costs (m, k); None counts errors
    calibration : scale and offset (k,) of scores, or None
    keep : columns of the table to repeat
    outputs : some of `outputs.OUTPUTS`
    takes_infinity : whether infinite numbers are missing values
    """
    spoken, steps = dialect_of(dialect), Steps(takes_infinity)
    found = {name: steps.bind("keep", Cell(name)) for name in keep}
    density, evidence = scorers
    rows = _Rows(steps, scores(evidence, steps, names), prior, calibration)
    plain = cache(lambda: rows if evidence is density else _Rows(steps, scores(density, steps, names), prior, None))
    makers: dict[str, Callable[[], list[Expression]]] = {
        "decision": lambda: [rows.decision(classes, cost)],
        "posterior": lambda: rows.posterior,
        "llr": lambda: [rows.llr(0, c) for c in range(1, len(classes))],
        "log_likelihood": lambda: [plain().log_likelihood(c) for c in range(len(classes))],
    }
    for output in outputs:
        made = columns_of(output, classes)
        refuse_taken(made, found)
        found |= zip(made, makers[output](), strict=True)
    source, prefix = _source(table, spoken)
    return str(
        steps.select(source, found, spoken, prefix).compile(dialect=spoken, compile_kwargs={"literal_binds": True})
    )


def check_columns(columns: Any, names: tuple[str, ...] | None, n_features: int) -> list[str]:
    """The names of a model's columns in the table."""
    if columns is None:
        if names is None:
            raise DataError(f"this model knows its {n_features} columns by position only; name them with columns=")
        return list(names)
    if isinstance(columns, Mapping):
        unknown = [name for name in columns if name not in (names or ())]
        if unknown:
            raise DataError(f"columns= names {listed(unknown)}, but the model has {listed(names or (), 10)}")
        return [columns.get(name, name) for name in names or ()]
    given = [columns] if isinstance(columns, str) else list(columns)
    if len(given) != n_features:
        raise DataError(f"columns= has {len(given)} names, but the model has {n_features} columns")
    return given


class _Rows:
    """What can be said of the rows of a table; each of these is worked out only if it is asked for."""

    def __init__(self, steps: Steps, found: Scores, prior: Array, calibration: Any) -> None:
        self._steps, self._prior = steps, prior
        bad = steps.bind("bad", Total(*(case((each, Number(1.0)), else_=Number(0.0)) for each in found.refused)))
        fine = bad == Number(0.0)
        self.relative = [steps.bind("score", case((fine, each))) for each in found.relative]
        self._shared = steps.bind("shared", found.shared)
        with np.errstate(divide="ignore"):
            log_prior = np.maximum(np.log(prior), IMPOSSIBLE)
        self._calibrated = self.relative
        if calibration is not None:
            self._calibrated = [
                steps.bind("llr", _calibrated(each, calibration.scale, offset))
                for each, offset in zip(self.relative, calibration.offset, strict=True)
            ]
        self._joint = [each + Number(p) for each, p in zip(self._calibrated, log_prior, strict=True)]
        self._top = steps.bind("top", Greatest(*self._joint))
        self._possible = self._top > Number(POSSIBLE)

    def log_likelihood(self, c: int) -> Expression:
        return case((self.relative[c] < Number(POSSIBLE), Infinity("-")), else_=self.relative[c] + self._shared)

    def llr(self, a: int, b: int) -> Expression:
        one, two = self._calibrated[a], self._calibrated[b]
        return case(
            (Greatest(one, two) < Number(POSSIBLE), Number(0.0)),
            (one < Number(POSSIBLE), Infinity()),
            (two < Number(POSSIBLE), Infinity("-")),
            else_=two - one,
        )

    @cached_property
    def posterior(self) -> list[Expression]:
        """Where no class is possible the data say nothing, and the posterior is the prior."""
        shares = [self._steps.bind("share", share_of(joint, self._top)) for joint in self._joint]
        total = self._steps.bind("total", Total(*shares))
        return [
            case((self._possible, share / total), (self._top.is_not(None), Number(p)))
            for share, p in zip(shares, self._prior, strict=True)
        ]

    def decision(self, classes: Array, cost: tuple[Array, Array] | None) -> Expression:
        """A tie goes to the earlier decision."""
        if cost is None:
            likeliest = _label(classes, int(self._prior.argmax()))
            decided = [(each == self._top, _label(classes, c)) for c, each in enumerate(self._joint)]
            return case((self._top < Number(POSSIBLE), likeliest), *decided)
        actions, values = cost
        posterior = [self._steps.bind("posterior", each) for each in self.posterior]
        expected = [self._steps.bind("cost", Dot(row, posterior)) for row in values]
        least = self._steps.bind("least", Least(*expected))
        fine = self._top.is_not(None)
        return case(*((fine & (each == least), _label(actions, i)) for i, each in enumerate(expected)))


def _calibrated(score: Expression, scale: float, offset: float) -> Expression:
    """A calibrated score; what is impossible stays so."""
    mapped = score * Number(scale) + Number(offset)
    return case((score < Number(POSSIBLE), Number(IMPOSSIBLE)), else_=mapped)


def _label(labels: Array, i: int) -> Expression:
    """A label as a literal."""
    label = plain_labels(labels)[i]
    if label is None:
        return null()
    if isinstance(label, bool):
        return true() if label else false()
    if isinstance(label, int):
        return literal(label)
    if isinstance(label, float):
        return Number(label)
    return Text(label)


def _source(name: str | Sequence[str], dialect: Any) -> tuple[TableClause, str]:
    """The table, and a prefix for the names of queries that is not its name."""
    parts = [name] if isinstance(name, str) else list(name)
    if not all(parts) or not parts:
        raise DataError(f"table={name!r} must be a name, or the names of a schema and a table in it")
    path = ".".join(dialect.identifier_preparer.quote_identifier(checked(part)) for part in parts)
    prefix = "suffice"
    while parts[-1].casefold().startswith(prefix):
        prefix += "_"
    return table(quoted_name(path, False)), prefix
