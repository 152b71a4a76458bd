"""Schemas of several files: common types of their columns, and filters that fit them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...errors import DataError, ParameterError, as_type, listed, remedy
from ...tables.readers import feature_columns
from .dialect import without_index
from .discovery import File
from .formats import FAILURES, reason
from .given import Files


def agreed_columns(files: Files, found: list[File], y: str | None, weight: str | None) -> tuple[list[File], Any]:
    """Return the readable files and their common columns, or raise an error that names a file with other columns.

    Where text looks like one type in some files and like another one in others, it stays text, as in a single file.
    """
    types = {name: type_of(kind) for name, kind in files.types.items()}
    guessed = dict.fromkeys(files.texts | files.verbatim, pa.string()) | types
    agreed: dict[str, Any] = {}
    kept: list[File] = []
    first: File | None = None
    typed: set[str] = set(types)  # columns whose types are not guessed
    for file in found:
        try:
            form = files.format_for(file)
            own = form.schema(file, guessed if form.guesses_types else types)
        except FAILURES as error:
            files.leave_out(f"{file.path} cannot be read: {reason(file, error)}")
            continue
        kept.append(file)
        if not len(own):  # nothing in it
            continue
        feature_columns(own.names, None, None)  # refuses names that occur twice
        first = first or file
        differ = without_index(sorted(agreed.keys() ^ {*own.names}))
        if agreed and differ and files.columns is None and not form.may_lack_columns:
            raise DataError(
                f"{file.path} has other columns than {first.path}: only one of them has {listed(differ)}; name the "
                f"columns that you want, as in {remedy('suffice.files(path, columns=[...])', '--columns a,b')}"
            )
        typed |= set() if form.guesses_types else set(own.names)
        for column in own:
            name, kind, known = column.name, column.type, agreed.get(column.name, column.type)
            try:
                agreed[name] = types.get(name) or common_type(known, kind)
            except TypeError:
                if name not in typed:
                    agreed[name] = pa.string()
                    continue
                if files.columns and name not in (*files.columns, y, weight):
                    continue  # nobody asks for it
                raise DataError(
                    f"column {name!r} is {kind} in {file.path}, but {known} in {first.path}; make them one type, "
                    f"or name one that both can be read as, as in {as_type(name)}"
                ) from None
    if first is None:
        why = f"; {listed(files.skipped)}" if files.skipped else ""
        raise DataError(f"there is nothing to read in {files}{why}")
    for name in kept[0].keys:
        agreed[name] = guessed.get(name) or partition_type([file.keys[name] for file in kept])
    return kept, pa.schema([(n, pa.float64() if pa.types.is_null(kind) else kind) for n, kind in agreed.items()])


def type_of(kind: Any) -> Any:
    """A type of Arrow, which may be given by its name."""
    try:
        return pa.type_for_alias(kind) if isinstance(kind, str) else kind
    except ValueError:
        raise ParameterError(
            f"{remedy('types=', '--type')} has {kind!r}, which is not the name of an Arrow type; choose one such as "
            "'string', 'int64', 'double', 'bool' or 'date32'"
        ) from None


def common_type(a: Any, b: Any) -> Any:
    """Return a type that holds the values of both, or raise TypeError."""
    types = pa.types
    if a == b or types.is_null(b):
        return a
    if types.is_null(a):
        return b
    texts = [types.is_string(t) or types.is_large_string(t) for t in map(_plain, (a, b))]
    if all(texts):
        return pa.large_string()
    if types.is_boolean(a) or types.is_boolean(b) or types.is_dictionary(a) or types.is_dictionary(b):
        raise TypeError
    both = pa.unify_schemas([pa.schema([("", a)]), pa.schema([("", b)])], promote_options="permissive")
    return both.field(0).type


def _plain(kind: Any) -> Any:
    """The type of the values of a dictionary."""
    return getattr(kind, "value_type", kind)


def partition_type(values: list[str | None]) -> Any:
    """Return the type of values in paths: numbers if all of them are."""
    try:
        [int(value) for value in values if value is not None]
    except ValueError:
        return pa.string()
    return pa.int64()


def repeated(value: str | None, kind: Any, n: int) -> Any:
    return pa.repeat(pa.scalar(value, pa.string()).cast(kind), n)


def condition(filter: Any, schema: Any) -> tuple[Any, list[str]]:
    """Return a filter as an expression, and the columns that it reads."""
    if filter is None:
        return None, []
    from pyarrow.compute import Expression
    from pyarrow.parquet import filters_to_expression

    empty = schema.empty_table()
    try:
        expression = filter if isinstance(filter, Expression) else filters_to_expression(filter)
        empty.filter(expression)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"filter={filter!r} does not fit the columns {listed(schema.names, 10)}: {error}") from None

    def is_needed(name: str) -> bool:
        try:
            empty.drop_columns([name]).filter(expression)
        except pa.ArrowInvalid:
            return True
        return False

    return expression, [name for name in schema.names if is_needed(name)]
