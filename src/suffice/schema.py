"""Which columns go to which family: inferred from their types, overridable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, as_family, listed, remedy
from .families import FAMILIES, FEW
from .tables.features import DERIVED, Feature, at, derived
from .tables.summary import ColumnSummary
from .tables.table import LOOK, Column, Table, looked_at

Array = NDArray[Any]

DROP = "drop"  # in place of a family, of columns that nothing is learnt from
MOSTLY = 0.9  # the share of different values from which on text tells rows apart
_KINDS: dict[Any, str] = {float: "float", int: "integer", bool: "boolean", str: "text"}


@dataclass(frozen=True)
class Schema:
    """The family of every column, and why.

    Text, categories and strings are categorical, floats Gaussian, booleans Bernoulli. Integers, and floats that are
    whole numbers with missing values among them, go by the first 10 000 rows: zeros and ones alone are
    Bernoulli, at most 16 different values categorical, not negative with a mean of at most 20 and a variance of at most
    three times that Poisson, and the rest Gaussian. Objects are what their first 10 000 values are: text unless all are
    numbers.

    Some families are those of features (see `DERIVED`): "binned" is a category for each of a few bins, for instance.
    Give this schema to another model as its `families=`, and it has the same features: the same bins, say.
    """

    names: tuple[str, ...]
    families: tuple[str, ...]
    reasons: tuple[str, ...]
    features: tuple[Feature, ...] = ()

    @classmethod
    def of(cls, table: Table, families: Any = "auto", frame: Any = None) -> Schema:
        """Infer the schema of a table from its first rows; `families` overrides what it says of some columns.

        Parameters
        ----------
        families : "auto", the family of every column, a schema, or a dictionary to a family from a column's name or
            position, from a type (a kind such as "integer" or int, or a library's own name such as "int64"), or from a
            function of the frame that returns names, like scikit-learn's make_column_selector
        """
        names = table.names or tuple(f"x{j}" for j in range(table.n_features))
        columns = [looked_at(column) for column in table.columns()]
        chosen = asked_for(families, names, columns, frame)
        unfit = [name for j, name in enumerate(names) if j not in chosen and columns[j].kind == "other"]
        if unfit:
            dtypes = listed(sorted({columns[names.index(name)].dtype for name in unfit}))
            raise DataError(
                f"column {listed(unfit)} holds neither numbers nor categories ({dtypes}); convert it, or "
                f"drop it: {as_family(unfit[0], 'drop')}"
            )
        found = [chosen.get(j) or inferred(column) for j, column in enumerate(columns)]
        if all(family == DROP for family, _ in found):
            raise DataError("every column is dropped: there is nothing to learn from")
        own = tuple(family for family, _ in found)
        features = _features(own, names, columns, families.by_name() if isinstance(families, Schema) else {})
        return cls(names, own, tuple(reason for _, reason in found), features)

    def blocks(self) -> dict[str, tuple[int, ...]]:
        """Return the column indices of every family, in the order of their first columns, so that sums over blocks
        are the same for a model from a file. The indices of features follow those of the columns."""
        derived = {feature.source for feature in self.features}
        families = [None if family == DROP or j in derived else family for j, family in enumerate(self.families)]
        families += [feature.family for feature in self.features]
        found = [family for family in dict.fromkeys(families) if family is not None]
        return {family: tuple(j for j, own in enumerate(families) if own == family) for family in found}

    def by_name(self) -> dict[str, tuple[Feature, ...]]:
        """Return the features of each column that has some."""
        sources = {feature.source for feature in self.features}
        return {self.names[j]: tuple(f for f in self.features if f.source == j) for j in sorted(sources)}

    def __str__(self) -> str:
        rows = [("column", "family", "because"), *zip(self.names, self.families, self.reasons, strict=True)]
        wide = [max(len(row[i]) for row in rows) for i in range(2)]
        return "\n".join(f"{name:<{wide[0]}}  {family:<{wide[1]}}  {reason}" for name, family, reason in rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = zip(self.names, self.families, self.reasons, strict=True)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><tr><th>column</th><th>family</th><th>because</th></tr>{body}</table>"


def _features(
    families: tuple[str, ...], names: tuple[str, ...], columns: list[Column], known: dict[str, tuple[Feature, ...]]
) -> tuple[Feature, ...]:
    """Return the features of all columns: those that are known already, or else as the columns suggest."""
    found: list[Feature] = []
    for j, (family, name) in enumerate(zip(families, names, strict=True)):
        if name in known:
            found += [at(feature, j) for feature in known[name]]
        elif family in DERIVED:
            try:
                found += derived(family, j, name, columns[j])
            except DataError as error:
                raise DataError(f"column {name!r} cannot be {family!r}: {error}") from None
    return tuple(found)


def inferred(column: Column) -> tuple[str, str]:
    """The family of a column by its type and first values, and the reason."""
    summary = ColumnSummary(column)
    reasons = ((family.name, family.infer(summary)) for family in FAMILIES.values())
    return next((name, reason) for name, reason in reasons if reason is not None)


def row_names(column: Column) -> str | None:
    """Return why a column looks like an identifier of rows, or None if it does not."""
    if column.kind == "integer" and len(column) > FEW:
        values = column.floats()
        first, last = values.min(), values.max()
        if first in (0, 1) and last - first == len(values) - 1 and len(np.unique(values)) == len(values):
            return f"it numbers the rows from {first:.0f} to {last:.0f}"
    if column.kind != "text":
        return None
    for part in (column[:LOOK], column):  # the first rows are enough to see of most columns that they do not
        code = part.coded()[1]
        code = code[code >= 0]
        different = len(np.unique(code))
        if len(code) <= FEW or different <= MOSTLY * len(code):
            return None
    return f"it has {different} different values in {len(code)} rows"


def number_like(column: Column) -> str | None:
    """Return why a text column looks like numbers with some invalid cells, or None if it does not."""
    if column.kind != "text" or column.dtype.startswith(("category", "dictionary")):  # categories are meant
        return None
    for part in (column[:LOOK], column):
        distinct, code = part.coded()
        cells = np.bincount(code[code >= 0], minlength=len(distinct))
        number = np.fromiter(map(_is_number, distinct.tolist()), bool, len(distinct))
        if number.sum() <= FEW or 2 * cells[number].sum() <= cells.sum():
            return None
    rest = f", all but {listed(distinct[~number])}" if not number.all() else ""
    return f"{cells[number].sum()} of {cells.sum()} cells look like numbers{rest}"


def _is_number(value: Any) -> bool:
    try:
        return isfinite(float(value))
    except (TypeError, ValueError):
        return False


def asked_for(families: Any, names: tuple[str, ...], columns: list[Column], frame: Any) -> dict[int, tuple[str, str]]:
    """Return the families that the user chose, by column index. Names take precedence over functions, and functions
    over types."""
    if isinstance(families, str):
        if families == "auto":
            return {}
        return dict.fromkeys(range(len(columns)), (_family(families), "asked for"))
    if isinstance(families, Schema):
        families = dict(zip(families.names, families.families, strict=True))
    if not isinstance(families, Mapping):
        raise DataError(
            f'{remedy("families=", "--families ")}{families!r} is not known; give "auto", the name of a '
            "family, or a dictionary of families by column"
        )
    by_type: dict[int, tuple[str, str]] = {}
    by_function: dict[int, tuple[str, str]] = {}
    by_name: dict[int, tuple[str, str]] = {}
    for key, value in families.items():
        family = _family(value)
        if isinstance(key, type) and issubclass(key, np.generic):
            key = np.dtype(key)
        if callable(key) and not isinstance(key, type):
            by_function |= dict.fromkeys(_selected(key, names, frame), (family, "asked for by a selector"))
        elif (indices := _of_type(key, columns)) is not None and not (isinstance(key, str) and key in names):
            by_type |= {j: (family, f"asked for {_KINDS.get(key, key)}") for j in indices}
        else:
            by_name[_position(key, names, _labels(frame))] = (family, "asked for")
    return by_type | by_function | by_name


def _family(family: Any) -> str:
    known = [*FAMILIES, *DERIVED, DROP]
    if not (isinstance(family, str) and family in known):
        raise DataError(f"the family {family!r} is not known; choose one of {listed(known, 20)}")
    return str(family)


def _selected(select: Callable[[Any], Any], names: tuple[str, ...], frame: Any) -> list[int]:
    if not hasattr(frame, "columns"):
        raise DataError(
            "families= has a selector, which needs a data frame, but X is not one; name the columns by index instead"
        )
    try:
        kept = select(frame)
    except (AttributeError, TypeError, ValueError) as error:
        raise DataError(f"a selector in families= cannot be applied to a {type(frame).__name__}: {error}") from error
    kept = [kept] if isinstance(kept, str) else kept.tolist() if hasattr(kept, "tolist") else list(kept)
    if kept and all(isinstance(each, bool) for each in kept):
        return [j for j, chosen in enumerate(kept) if chosen]
    return [_position(name, names, _labels(frame)) for name in kept]


def _labels(frame: Any) -> list[Any]:
    """Return the column labels of a pandas frame, which may be numbers."""
    return list(frame.columns) if hasattr(frame, "iloc") else []


def _of_type(key: Any, columns: list[Column]) -> list[int] | None:
    """Return the indices of the columns of a kind or dtype; None if the key is neither."""
    kind = _KINDS.get(key, key) if isinstance(key, type | str) else str(key) if isinstance(key, np.dtype) else None
    indices = [j for j, column in enumerate(columns) if kind in (column.kind, column.dtype)]
    return indices if indices or (isinstance(key, type) and key in _KINDS) or kind in _KINDS.values() else None


def _position(key: Any, names: tuple[str, ...], labels: list[Any]) -> int:
    if key in labels:
        return labels.index(key)
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and -len(names) <= key < len(names):
        return int(key) % len(names)
    raise DataError(
        f"{remedy('families=', '--families')} names {key!r}, which is neither a column nor a type here; the columns "
        f"are {listed(names, 10)}"
    )
