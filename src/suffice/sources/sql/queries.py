"""Tables and queries of users, as something to select from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import FromClause, Select, TextClause, literal_column, select, table, text

from ...errors import DatabaseError, listed

if TYPE_CHECKING:
    from .databases import Database

ROWS = "suffice_rows"  # what a query is called
_BEGINNINGS = ("select", "with", "values", "from")


def as_rows(query: Any, database: Database) -> FromClause:
    """A table or a query to select from."""
    if isinstance(query, str) and _is_query(query):
        # A colon would begin a parameter; a comment at the end would go on.
        query = text(query.rstrip().rstrip(";").replace(":", r"\:") + "\n")
    if isinstance(query, TextClause):
        return query.columns().subquery(ROWS)
    if isinstance(query, Select):
        return query.subquery(ROWS)
    if isinstance(query, FromClause):
        return query
    return _table(query, database)


def _is_query(query: str) -> bool:
    first, *rest = query.split(maxsplit=1) or [""]
    return bool(rest) and (first.strip("(*").lower() in _BEGINNINGS or first.startswith(("--", "/*")))


def _table(name: Any, database: Database) -> FromClause:
    """A table by its name; a dot may be a part of it, or stand between a schema and a table."""
    if isinstance(name, tuple) and 1 <= len(name) <= 2 and all(isinstance(part, str) for part in name):
        tried = [name]
    elif isinstance(name, str) and name:
        tried = [(name,), (*name.split(".", 1),)] if "." in name else [(name,)]
    else:
        raise DatabaseError(
            f"query={name!r} is neither the name of a table, nor a pair of a schema and a table, nor a query"
        )
    failures = []
    for *schema, own in tried:
        rows = table(own, schema=schema[0] if schema else None)
        try:
            database.fetch(everything(rows, 0))
            return rows
        except DatabaseError as error:
            failures.append(error)
    if not database.listing:  # it says itself what is wrong
        raise failures[-1]
    known = [tuple(row) for row in database.fetch(text(database.listing))]
    for parts, failure in zip(tried, failures, strict=True):
        if any(parts == index[-len(parts) :] for index in known):  # a broken view, or a table that must not be read
            raise failure
    there = f"; it has {listed([own for _, own in known], 10)}" if known else ""
    raise DatabaseError(f"there is no table {name!r} in {database}{there}") from failures[-1]


def everything(rows: FromClause, limit: int) -> Any:
    """Return a query for all columns of some rows, before their names are known."""
    star: Any = literal_column("*")
    return select(star).select_from(rows).limit(limit)
