"""Which columns go to which family: inferred from their types, overridable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import (
    ColumnWarning,
    DataError,
    FamilyError,
    ParameterError,
    alike,
    as_family,
    listed,
    not_known,
    remedy,
    warn,
)
from .families import FAMILIES
from .tables.features import DERIVED, Feature, Steps, as_learnt, at, derived
from .tables.parsing import ORDERS, temporal
from .tables.recognition import (
    Recognition,
    are_whole,
    as_numbers,
    convertible,
    identifies_rows,
    lost,
    missing_code,
    reading,
    tells_nothing,
    unit,
)
from .tables.summary import ColumnSummary
from .tables.table import LOOK, Column, Table, looked_at
from .tables.tokens import holds_tokens

Array = NDArray[Any]

DROP = "drop"  # in place of a family, of columns that nothing is learnt from
_NUMBERS = ("number", "duration")  # steps that read a column as numbers which may be transformed like others
_PLAIN = ("float", "integer", "boolean")  # kinds of columns that hold numbers
_KINDS: dict[Any, str] = {float: "float", int: "integer", bool: "boolean", str: "text"}


@dataclass(frozen=True)
class Schema:
    """The family of every column, and why.

    Columns of many different strings of five words or more, and of lists of tokens, are text. Other strings and
    categories are categorical, floats Gaussian, booleans Bernoulli. Integers, and floats that are
    whole numbers with missing values among them, go by their values: zeros and ones are Bernoulli, at most 16 different
    values categorical, not negative with a mean of at most 20 and a variance of at most three times that Poisson, and
    the rest Gaussian. Objects are what their values are: text unless all are numbers. Numbers, Booleans and dates that
    are written as text are read as such. Columns from which nothing can be learnt are left out, and so are identifiers
    of rows.

    Some families are those of features (see `DERIVED`): "binned" is a category for each of a few bins, for instance.
    Give this schema to another model as its `families=`, and it has the same features: the same bins, say.

    Parameters
    ----------
    names : tuple of str
        The names of the columns.
    families : tuple of str
        The family of each column; "drop" where it is left out.
    reasons : tuple of str
        Why each column has its family.
    features : tuple of Feature
        Columns that are derived from those of the table, such as bins or parts of a date.
    warnings : tuple of str
        What `warn` says.
    whole : frozenset of str
        The columns whose numbers are whole, or that hold days without a time.
    others : dict of str to str
        The columns that a model was not given, and why.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from suffice import MixedClassifier
    >>> cats = pa.table({"kg": [3.1, 3.9, 4.2, 5.5], "tame": [True, False, True, False]})
    >>> MixedClassifier().fit(cats, ["f", "f", "m", "m"]).schema_
    column  family     because
    kg      gaussian   double
    tame    bernoulli  bool
    """

    names: tuple[str, ...]
    families: tuple[str, ...]
    reasons: tuple[str, ...]
    features: tuple[Feature, ...] = ()
    warnings: tuple[str, ...] = ()
    whole: frozenset[str] = frozenset()  # columns whose numbers are whole, or that hold days without a time
    others: Mapping[str, str] = field(default_factory=dict, hash=False)  # that a model was not given, and why

    @classmethod
    def of(
        cls,
        table: Table,
        families: Any = "auto",
        frame: Any = None,
        *,
        leaves_out: bool = True,
        is_sample: bool = False,
        decimal: str | None = None,
    ) -> Schema:
        """Infer the schema of a table from its rows, or from a sample.

        Parameters
        ----------
        table : Table
            The rows.
        families : "auto", str, Schema or dict, default="auto"
            What overrides the types: the family of every column, another schema, or a dictionary to a family from a
            column's name or position, from a type (a kind such as "integer" or int, or a library's own name such as
            "int64"), or from a function of the frame that returns names, like scikit-learn's make_column_selector.
        frame : table, default=None
            The table as it came, for such functions.
        leaves_out : bool, default=True
            Whether columns from which nothing can be learnt, or that identify rows, are left out.
        is_sample : bool, default=False
            Whether there are more rows, so that what is constant here may vary.
        decimal : str, default=None
            The decimal mark of the file that the rows come from, where it is known.

        Returns
        -------
        Schema
            The family of every column, and why.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from suffice.schema import Schema
        >>> from suffice.sources import as_table
        >>> cats = as_table(pa.table({"kg": [3.1, 4.2, 4.0], "fur": ["black", "white", "black"]}))
        >>> Schema.of(cats, {"kg": "lognormal"})
        column  family       because
        kg      lognormal    asked for
        fur     categorical  string
        """
        names = table.names or tuple(f"x{j}" for j in range(table.n_features))
        columns = [looked_at(column) for column in table.columns()]
        chosen = {j: _chosen(*own) for j, own in asked_for(families, names, columns, frame, decimal).items()}
        unfit = [name for j, name in enumerate(names) if j not in chosen and _is_unfit(columns[j])]
        if unfit:
            dtypes = listed(sorted({columns[names.index(name)].dtype for name in unfit}))
            raise DataError(
                f"column {listed(unfit)} holds neither numbers nor categories ({dtypes}); convert it, or "
                f"drop it: {as_family(unfit[0], 'drop')}"
            )
        known = families.by_name() if isinstance(families, Schema) else {}
        own = table.names or range(len(columns))
        found = []
        for j, column in enumerate(columns):
            try:
                found.append(chosen.get(j) or inferred(column, own[j], leaves_out, is_sample, decimal))
            except DataError as error:
                raise DataError(f"column {own[j]!r}: {error}") from None
        if all(each.family == DROP for each in found):  # rather all that were not to be dropped than none
            found = [chosen.get(j) or inferred(column, decimal=decimal) for j, column in enumerate(columns)]
        if all(each.family == DROP for each in found):
            raise DataError("every column is dropped: there is nothing to learn from")
        for j, column in enumerate(columns):
            is_open = j in chosen and names[j] not in known and not found[j].steps and found[j].family != DROP
            family = FAMILIES.get(found[j].family)  # None where it derives features
            if is_open and not (family and family.keeps_text):
                found[j] = found[j]._replace(steps=convertible(column, decimal))
        features = _features(found, names, columns, known)
        for feature in features:
            j = feature.source
            if j in chosen and not found[j].warning and (gone := lost(columns[j], feature.reads)):
                found[j] = found[j]._replace(warning=f"{gone}; these become missing values")
        warned = tuple(f"column {name!r} {each.warning}" for name, each in zip(own, found, strict=True) if each.warning)
        families, reasons = tuple(each.family for each in found), tuple(each.reason for each in found)
        return cls(names, families, reasons, features, warned, _whole(names, families, columns, features))

    def take(self, columns: Sequence[int]) -> Schema:
        """Return the schema of some of the columns.

        Parameters
        ----------
        columns : sequence of int
            The indices of the columns.

        Returns
        -------
        Schema
            Of these columns, in this order.

        Examples
        --------
        >>> from suffice.schema import Schema
        >>> Schema(("kg", "fur"), ("gaussian", "categorical"), ("double", "string")).take([1])
        column  family       because
        fur     categorical  string
        """
        names, families, reasons = (tuple(own[j] for j in columns) for own in (self.names, self.families, self.reasons))
        features = tuple(at(f, i) for i, j in enumerate(columns) for f in self.features if f.source == j)
        return replace(self, names=names, families=families, reasons=reasons, features=features)

    def changed(self, families: Mapping[str, str], table: Table) -> Schema:
        """Return the schema with other families for columns of some kinds or names.

        Parameters
        ----------
        families : dict of str to str
            Families by kind, such as {"float": "binned"}, or by name. Numbers in text, and durations, have the kind of
            numbers.
        table : Table
            The rows, from which bins and transforms are found.

        Returns
        -------
        Schema
            Columns that are left out stay so.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from suffice.schema import Schema
        >>> from suffice.sources import as_table
        >>> cats = as_table(pa.table({"kg": [3.1, 4.2, 4.0], "fur": ["black", "white", "black"]}))
        >>> Schema.of(cats).changed({"float": "gamma"}, cats).families
        ('gamma', 'categorical')
        """
        columns = [looked_at(column) for column in table.columns()]
        reads = {feature.source: feature.reads for feature in self.features}
        numbers = {j for j, own in reads.items() if own and own[0][0] in _NUMBERS}
        kinds = [as_numbers(one, reads[j]).kind if j in numbers else one.kind for j, one in enumerate(columns)]
        asked = {j: families.get(self.names[j], families.get(kind)) for j, kind in enumerate(kinds)}
        new = {j: family for j, family in asked.items() if family is not None and self.families[j] != DROP}
        own = tuple(new.get(j, family) for j, family in enumerate(self.families))
        kept = [feature for feature in self.features if feature.source not in new]
        found = [
            feature
            for j, family in new.items()
            for feature in derived(family, j, self.names[j], columns[j], reads.get(j, ()))
        ]
        features = tuple(sorted([*kept, *found], key=lambda feature: feature.source))
        return replace(self, families=own, features=features)

    def joined(self) -> Schema:
        """Return the schema with Boolean columns among the categories, where columns may depend on each other.

        Returns
        -------
        Schema
            Columns whose family somebody asked for keep it.

        Examples
        --------
        >>> from suffice.schema import Schema
        >>> Schema(("tame", "wild"), ("bernoulli", "bernoulli"), ("bool", "asked for")).joined().families
        ('categorical', 'bernoulli')
        """
        moves = [
            family == "bernoulli" and not reason.startswith("asked for") and not self.by_name().get(name)
            for name, family, reason in zip(self.names, self.families, self.reasons, strict=True)
        ]
        families = ("categorical" if move else family for move, family in zip(moves, self.families, strict=True))
        return replace(self, families=tuple(families))

    def demoted(self, error: FamilyError) -> tuple[Schema, list[str]]:
        """Return the schema with more general families for columns whose values do not fit theirs.

        Parameters
        ----------
        error : FamilyError
            What says which columns do not fit. It is raised again where somebody asked for their family.

        Returns
        -------
        schema : Schema
            The new schema.
        changes : list of str
            What has changed, for warnings.

        Examples
        --------
        >>> from suffice.errors import FamilyError
        >>> from suffice.schema import Schema
        >>> visits = Schema(("visits",), ("poisson",), ("int64, small and spread like counts",))
        >>> schema, changes = visits.demoted(FamilyError("negative values", [0]))
        >>> schema.families
        ('gaussian',)
        """
        asked = [j for j in error.columns if self.reasons[j].startswith("asked for")]
        if asked or not error.columns:
            raise error
        families, reasons, changes = list(self.families), list(self.reasons), []
        for j in error.columns:
            derived = any(feature.source == j for feature in self.features)
            general = "categorical" if derived else FAMILIES[families[j]].more_general
            if families[j] == general and not derived:
                raise error
            changes.append(
                f"column {self.names[j]!r} looks {families[j]} in a sample of the rows ({reasons[j]}), but other rows "
                f"do not fit: it is {general} now"
            )
            families[j], reasons[j] = general, f"not {families[j]}, as a sample of the rows suggests ({reasons[j]})"
        kept = tuple(feature for feature in self.features if feature.source not in error.columns)
        return replace(self, families=tuple(families), reasons=tuple(reasons), features=kept), changes

    def left_out(self) -> dict[str, str]:
        """Return why columns are left out that nobody asked to drop.

        Returns
        -------
        dict of str to str
            The reasons by the names of the columns.

        Examples
        --------
        >>> from suffice.schema import Schema
        >>> Schema(("kg", "id"), ("gaussian", "drop"), ("double", "a different value in every row")).left_out()
        {'id': 'a different value in every row'}
        """
        every = zip(self.names, self.families, self.reasons, strict=True)
        return {name: reason for name, family, reason in every if family == DROP and not reason.startswith("asked for")}

    def warn(self) -> None:
        """Warn of columns that are left out, and of cells that become missing.

        Examples
        --------
        >>> import warnings
        >>> from suffice.schema import Schema
        >>> schema = Schema(("kg",), ("gaussian",), ("double",), warnings=("column 'kg' holds -999",))
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     schema.warn()
        >>> [str(warning.message) for warning in caught]
        ["column 'kg' holds -999"]
        """
        for message in self.warnings:
            warn(message, ColumnWarning)

    def blocks(self) -> dict[str, tuple[int, ...]]:
        """Return the column indices of every family.

        They are in the order of their first columns, so that sums over blocks are the same for a model from a file.

        Returns
        -------
        dict of str to tuple of int
            The indices by family; those of features follow those of the columns.

        Examples
        --------
        >>> from suffice.schema import Schema
        >>> Schema(("kg", "fur", "cm"), ("gaussian", "categorical", "gaussian"), ("",) * 3).blocks()
        {'gaussian': (0, 2), 'categorical': (1,)}
        """
        derived = {feature.source for feature in self.features}
        families = [None if family == DROP or j in derived else family for j, family in enumerate(self.families)]
        families += [feature.family for feature in self.features]
        found = [family for family in dict.fromkeys(families) if family is not None]
        return {family: tuple(j for j, own in enumerate(families) if own == family) for family in found}

    def by_name(self) -> dict[str, tuple[Feature, ...]]:
        """Return the features of each column that has some.

        Returns
        -------
        dict of str to tuple of Feature
            What is derived from the column, such as bins or parts of a date, by its name.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from suffice.schema import Schema
        >>> from suffice.sources import as_table
        >>> schema = Schema.of(as_table(pa.table({"kg": [3.1, 4.2, 4.0, 5.5]})), {"kg": "binned"})
        >>> {name: [str(feature) for feature in found] for name, found in schema.by_name().items()}
        {'kg': ['3 bins']}
        """
        sources = {feature.source for feature in self.features}
        return {self.names[j]: tuple(f for f in self.features if f.source == j) for j in sorted(sources)}

    def _rows(self) -> list[tuple[str, ...]]:
        """The lines of the table, with a column of features where there are any."""
        rows = [("column", "family", "because"), *zip(self.names, self.families, self.reasons, strict=True)]
        rows += [(name, DROP, reason) for name, reason in self.others.items()]
        if not self.features:
            return [*rows]
        learnt = ["learnt as", *(as_learnt(self.features, j) or "-" for j in range(len(rows) - 1))]
        return [(name, family, each, reason) for (name, family, reason), each in zip(rows, learnt, strict=True)]

    def __str__(self) -> str:
        rows = self._rows()
        wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
        lines = ((*(f"{cell:<{n}}" for cell, n in zip(row[:-1], wide, strict=True)), row[-1]) for row in rows)
        return "\n".join("  ".join(line) for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><tr>{''.join(f'<th>{title}</th>' for title in head)}</tr>{body}</table>"


def _whole(
    names: tuple[str, ...], families: tuple[str, ...], columns: list[Column], features: tuple[Feature, ...]
) -> frozenset[str]:
    """The columns of numbers that are whole in the first rows."""
    reads = {feature.source: feature.reads for feature in features}
    others = (DROP, "bernoulli", "text")
    kept = (j for j, family in enumerate(families) if family not in others and not holds_tokens(columns[j]))
    return frozenset(names[j] for j in kept if are_whole(columns[j][:LOOK], reads.get(j, ())))


def _is_unfit(column: Column) -> bool:
    return column.kind == "other" and temporal(column) is None and not holds_tokens(column)


def _features(
    found: list[ColumnFamily], names: tuple[str, ...], columns: list[Column], known: dict[str, tuple[Feature, ...]]
) -> tuple[Feature, ...]:
    """Return the features of all columns: those that are known already, or else as the columns suggest."""
    features: list[Feature] = []
    for j, (each, name) in enumerate(zip(found, names, strict=True)):
        if name in known:
            features += [at(feature, j) for feature in known[name]]
        else:
            try:
                features += derived(each.family, j, name, columns[j], each.steps)
            except DataError as error:
                raise DataError(f"column {name!r} cannot be {each.family!r}: {error}") from None
    return tuple(features)


class ColumnFamily(NamedTuple):
    """What a column becomes."""

    family: str
    reason: str
    steps: Steps = ()  # that read it as numbers, where it does not hold any
    warning: str = ""


def _chosen(family: str, reason: str) -> ColumnFamily:
    """What a column becomes by the family that somebody chose; an order of day, month and year stands for a date."""
    return ColumnFamily("date", reason, (("date", family),)) if family in ORDERS else ColumnFamily(family, reason)


def inferred(
    column: Column,
    name: str | int = 0,
    leaves_out: bool = False,
    is_sample: bool = False,
    decimal: str | None = None,
) -> ColumnFamily:
    """Return what a column becomes by its type and values.

    Parameters
    ----------
    column : Column
        All of its values, or a sample.
    name : str or int
        Its name, or its index where it has none: then it is not taken for an identifier.
    leaves_out : bool
        Whether a column from which nothing can be learnt is left out.
    is_sample : bool
        Whether there are more rows, so that what is constant here may vary.
    decimal : str or None
        The decimal mark of the file that it comes from, where it is known.
    """
    summary = ColumnSummary(column)
    if holds_tokens(column):
        return ColumnFamily(*_suggested(summary))
    if leaves_out and not is_sample and (reason := tells_nothing(summary)):
        return ColumnFamily(DROP, reason, warning=f"is left out: {reason}" if isinstance(name, str) else "")
    read = reading(column, decimal)
    if read is not None:
        numbers = ColumnSummary(read.column)
        is_written = read.steps[0][0] == "number"
        if leaves_out and is_written and isinstance(name, str) and (reason := identifies_rows(numbers, name)):
            return _left_out(name, reason, "gaussian")
        family, reason = _suggested(numbers)
        why = read.reason if read.family or family == "gaussian" else f"{read.reason}, {reason.partition(', ')[2]}"
        keep = f"; these become missing values; use {as_family(name, 'categorical')} to keep the text"
        doubt = _doubtful(read, name, read.family or family)
        coded = "" if read.family else _doubt(family, numbers)
        told = read.lost and read.lost + keep, doubt, coded
        return ColumnFamily(read.family or family, why, read.steps, "; it ".join(filter(None, told)))
    if leaves_out and isinstance(name, str) and not summary.is_prose and (reason := identifies_rows(summary, name)):
        words = "text" if summary.has_words else "categorical"
        found = _left_out(name, reason, "gaussian" if column.kind == "integer" else words)
        return found._replace(warning="; it ".join(filter(None, (found.warning, _hint(column, name)))))
    family, reason = _suggested(summary)
    warning = _doubt(family, summary) if summary.is_number else _hint(column, name) if family == "categorical" else ""
    return ColumnFamily(family, reason, warning=warning)


def _hint(column: Column, name: str | int) -> str:
    """A warning of numbers that are text because of their unit."""
    if (found := unit(column)) is None:
        return ""
    before, after, word = found
    cut = f".str.removeprefix({before!r})" * bool(before) + f".str.removesuffix({after!r})" * bool(after)
    how = f", as X[{name!r}]{cut} does in pandas" if isinstance(name, str) else ""
    instead = f"remove {(before + after).strip()!r} from its cells{remedy(how, '')}"
    return f"seems to hold numbers with a unit, such as {word!r}; to learn it as numbers, {instead}"


def _doubtful(read: Recognition, name: str | int, family: str) -> str:
    """A warning of cells that can mean something else than what they are read as."""
    if not read.doubtful:
        return ""
    if family == "date":
        return (
            f"is read with the month first, but {read.doubtful} can also have the day first; use "
            f"{as_family(name, 'dmy')} if it does, and {as_family(name, 'mdy')} if it does not"
        )
    return (
        f"is read as durations, but {read.doubtful} can also be a code; use {as_family(name, 'categorical')} if it is, "
        f"and {as_family(name, family)} if it is not"
    )


def _left_out(name: str, reason: str, keep: str) -> ColumnFamily:
    return ColumnFamily(DROP, reason, warning=f"is left out: {reason}; use {as_family(name, keep)} to keep it")


def _doubt(family: str, numbers: ColumnSummary) -> str:
    """A warning of a number that seems to stand for missing values; a category is as good as a missing value."""
    code = None if family == "categorical" else missing_code(numbers)
    if code is None:
        return ""
    word = code.partition(" ")[0]
    instead = remedy(f"replace it by NaN, in files with suffice.files(path, na=[{word!r}])", f"give --na {word}")
    return f"holds {code}; if it stands for a missing value, {instead}"


def _suggested(summary: ColumnSummary) -> tuple[str, str]:
    reasons = ((family.name, family.infer(summary)) for family in FAMILIES.values())
    return next((name, reason) for name, reason in reasons if reason is not None)


def asked_for(
    families: Any, names: tuple[str, ...], columns: list[Column], frame: Any, decimal: str | None = None
) -> dict[int, tuple[str, str]]:
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
        elif (indices := _of_type(key, columns, decimal)) is not None and not (isinstance(key, str) and key in names):
            by_type |= {j: (family, f"asked for {_KINDS.get(key, key)}") for j in indices}
        else:
            by_name[_position(key, names, _labels(frame))] = (family, "asked for")
    return by_type | by_function | by_name


def _family(family: Any) -> str:
    known = [*FAMILIES, *DERIVED, *ORDERS, DROP]
    if not (isinstance(family, str) and family in known):
        raise ParameterError(f"the family {family!r} {not_known(family, known)}")
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


def _of_type(key: Any, columns: list[Column], decimal: str | None) -> list[int] | None:
    """Return the indices of the columns of a kind or dtype; None if the key is neither. Text and durations that are
    read as numbers are also of their kind."""
    kind = _KINDS.get(key, key) if isinstance(key, type | str) else str(key) if isinstance(key, np.dtype) else None
    hidden = kind in ("float", "integer")
    indices = [
        j
        for j, column in enumerate(columns)
        if kind in (column.kind, column.dtype)
        or (hidden and column.kind not in _PLAIN and _kind_read(column, decimal) == kind)
    ]
    return indices if indices or (isinstance(key, type) and key in _KINDS) or kind in _KINDS.values() else None


def _kind_read(column: Column, decimal: str | None) -> str | None:
    """The kind of the numbers that a column of text or of durations is read as; None if it is not."""
    found = reading(column, decimal)
    return found.column.kind if found is not None and found.steps[0][0] in _NUMBERS else None


def _position(key: Any, names: tuple[str, ...], labels: list[Any]) -> int:
    if key in labels:
        return labels.index(key)
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and -len(names) <= key < len(names):
        return int(key) % len(names)
    raise DataError(
        f"{remedy('families=', '--families')} names {key!r}, which is neither a column nor a type here; the columns "
        f"are {listed(names, 10)}{alike(str(key), names)}"
    )
