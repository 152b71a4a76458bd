"""The parameters of columns of categories: pairs that depend on each other, and categories that are declared."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from .errors import DataError, listed
from .recipe import Choices, Names
from .tables.labels import is_missing
from .tables.vocabulary import positions


def checked_pairs(joint: Any) -> tuple[tuple[str | int, str | int], ...]:
    """Pairs of names or indices of columns, as a tuple that can be compared."""
    pairs = [tuple(pair) if isinstance(pair, list | tuple) else () for pair in _listed(joint)]
    for pair in pairs:
        columns = [c for c in pair if isinstance(c, str | Integral) and not isinstance(c, bool)]
        if len(columns) != 2 or len(pair) != 2 or pair[0] == pair[1]:
            raise DataError(
                f"joint={joint!r} must be a list of pairs of columns, such as [('fur', 'eyes')]; chain pairs to join "
                "more: [('fur', 'eyes'), ('eyes', 'tail')]"
            )
    return tuple((a if isinstance(a, str) else int(a), b if isinstance(b, str) else int(b)) for a, b in pairs)


def in_block(column: str | int, columns: tuple[int, ...]) -> str | int:
    """A column of a table by its name, or by its index among some columns."""
    if isinstance(column, str):
        return column
    if column not in columns:
        raise DataError(
            f"joint= names column {column}, which is not a column of categories; these are {listed(columns)}"
        )
    return columns.index(column)


def _listed(joint: Any) -> list[Any]:
    return [] if joint is None else list(joint) if isinstance(joint, list | tuple) else [joint]


def depends(choices: Choices) -> bool:
    """Return whether categories depend on each other given the class.

    Parameters
    ----------
    choices : mapping
        The parameters by name.

    Returns
    -------
    bool
        False where columns are independent.
    """
    return choices.get("structure") is not None or bool(choices.get("joint"))


def checked_categories(categories: Any) -> Any:
    """Categories as they are given for each column, as tuples that can be compared; by name, or in order."""
    if categories is None:
        return None
    if isinstance(categories, Mapping) and all(isinstance(name, str) for name in categories):
        return {name: tuple(_values(own)) for name, own in categories.items()}
    if isinstance(categories, list | tuple) and not any(isinstance(own, str) for own in categories):
        return tuple(None if own is None else tuple(_values(own)) for own in categories)
    raise DataError(
        f"categories={categories!r} must be a list with the categories of each column, or a dictionary by the names of "
        "columns, such as {'fur': ['black', 'white']}"
    )


def _values(own: Any) -> list[Any]:
    values = own.tolist() if isinstance(own, np.ndarray) else own
    if not isinstance(values, list | tuple):
        raise DataError(f"categories= needs a list of the categories of a column, not {own!r}")
    if any(map(is_missing, values)):
        raise DataError(f"categories= has a missing value in {own!r}; leave it out: cells may be missing in any column")
    return list(values)


def _declared_for(statistics: Any, categories: Any, names: Names) -> list[Any]:
    """The categories that are given for each column, as an array or None."""
    if isinstance(categories, dict):
        names = names or statistics.names or ()
        if unknown := [name for name in categories if name not in names]:
            raise DataError(
                f"categories= names {listed(unknown)}, which is no column of categories; these are {listed(names, 10)}"
            )
        categories = tuple(categories.get(name) for name in names)
    if categories is None:
        return [None] * statistics.n_features
    if len(categories) != statistics.n_features:
        raise DataError(f"categories= is for {len(categories)} columns, but there are {statistics.n_features}")
    # The None makes it an array of objects, whatever these are.
    return [None if own is None else np.array([*own, None], object)[:-1] for own in categories]


def with_declared(statistics: Any, choices: Choices, names: Names = None) -> tuple[Any, Any]:
    """The statistic with the categories that parameters and types declare, and pseudo-counts in their order."""
    declared, alpha = _declared_for(statistics, choices.get("categories"), names), choices["alpha"]
    statistics = statistics.with_declared(declared)
    if isinstance(alpha, tuple) and len(alpha) == len(declared):
        each = zip(alpha, declared, statistics.categories, strict=True)
        alpha = tuple(_in_order(j, *column) for j, column in enumerate(each))
    return statistics, alpha


def _in_order(j: int, alpha: Any, declared: Any, categories: Any) -> Any:
    """The pseudo-counts of the categories of a column, given in the order in which these are declared."""
    if not isinstance(alpha, tuple):
        return alpha
    if declared is None or len(declared) != len(alpha):
        known = "no categories" if declared is None else f"{len(declared)} categories"
        raise DataError(f"alpha has {len(alpha)} numbers for column {j}, for which categories= has {known}")
    place = positions(categories, declared)
    return np.where(place >= 0, np.array(alpha)[place], np.mean(alpha))  # a category that nobody declared
