"""Expressions that build on each other, as a chain of queries in which each is worked out once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import Double, FromClause, Select, case, column, select
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import ColumnClause, ColumnElement
from sqlalchemy.sql.expression import quoted_name

from .dialects import LARGEST, Number


class Steps:
    """Named expressions over the cells of a table and over each other. Each stands in the first query of a chain in
    which all that it needs is there; a query passes on what later ones need, and nothing else.

    Parameters
    ----------
    takes_infinity : whether infinite numbers are missing values
    """

    def __init__(self, takes_infinity: bool = False) -> None:
        self._takes_infinity = takes_infinity
        self._queries: list[dict[str, ColumnElement[Any]]] = []
        self._index: dict[str, int] = {}  # of each name in the chain
        self._used: Counter[str] = Counter()

    def bind(
        self, name: str, expression: ColumnElement[Any], after: ColumnElement[Any] | None = None
    ) -> ColumnElement[Any]:
        """A column that holds the value of an expression, not before `after` is there."""
        needed = _names(expression) | (set() if after is None else _names(after))
        index = max((self._index[each] + 1 for each in needed), default=0)
        key = f"{name}_{self._used[name]}"
        self._used[name] += 1
        self._queries += [{} for _ in range(index + 1 - len(self._queries))]
        self._queries[index][key] = expression
        self._index[key] = index
        return column(key, Double())

    def number(self, expression: ColumnElement[Any]) -> ColumnElement[Any]:
        """A column that holds a number of the table."""
        number = self.bind("v", expression)
        if not self._takes_infinity:
            return number
        return self.bind("v", case((number.between(Number(-LARGEST), Number(LARGEST)), number)))

    def select(
        self, table: FromClause, outputs: dict[str, ColumnElement[Any]], dialect: Any, prefix: str
    ) -> Select[Any]:
        """The query of the outputs by name, over all that they need."""
        needed = set().union(*map(_names, outputs.values()))
        chain = []
        for own in reversed(self._queries):
            kept = {name: expression for name, expression in own.items() if name in needed}
            passed = sorted(needed - kept.keys(), key=_order)
            needed = set(passed).union(*map(_names, kept.values()))
            if kept:
                chain.append([*map(column, passed), *(each.label(name) for name, each in kept.items())])
        source = table
        for i, columns in enumerate(reversed(chain), 1):
            source = dialect.fenced(select(*columns).select_from(source), f"{prefix}_{i}")
        return select(*(each.label(quoted_name(name, True)) for name, each in outputs.items())).select_from(source)


def _names(expression: ColumnElement[Any]) -> set[str]:
    """The columns that an expression needs."""
    return {each.name for each in visitors.iterate(expression) if isinstance(each, ColumnClause)}


def _order(key: str) -> tuple[str, int]:
    name, _, number = key.rpartition("_")
    return name, int(number)
