"""The data that commands read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from inspect import cleandoc
from shlex import quote
from typing import Any

import click

from ..errors import ColumnWarning, DataError, warn
from ..progress import progress
from ..storage import locate, without_credentials
from .options import StoppedError, UsageError, claim_standard_input, names, pairs_of

_OPTIONS = (
    click.argument("paths", metavar="DATA...", nargs=-1, required=True),
    click.option("--query", "-q", help="For a database: the name of a table, or a SELECT."),
    click.option(
        "--format", help="parquet, arrow, csv, tsv or json. Default: by the names or the first bytes of files."
    ),
    click.option("--sep", help="The separator of text files: , ; | tab or space. Default: detected."),
    click.option("--encoding", help="The encoding of text files, such as latin-1. Default: detected."),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether text files start with a row of names. Default: detected. Without names, columns are x0, x1 ...",
    ),
    click.option("--na", multiple=True, help="A missing value of text files, as in --na none. Repeat it for more."),
    click.option("--decimal", help="The decimal mark of text files: . or , Default: detected."),
    click.option(
        "--type",
        "types",
        multiple=True,
        help="The type of a column of text files, as in zip=string. Repeat it for more.",
    ),
    click.option("--drop", help="Columns to leave out, separated by commas."),
    click.option("--skip", is_flag=True, help="Skip damaged lines and row groups of files instead of stopping."),
)
_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}


@dataclass(frozen=True)
class Data:
    """What DATA and the options that say how to read it stand for."""

    paths: tuple[str, ...]
    query: str | None
    drop: list[str]
    layout: dict[str, Any]  # of files: arguments of `suffice.files`

    @contextmanager
    def opened(self, columns: list[str] | None = None, bar: bool = True, **choices: Any) -> Iterator[Any]:
        """Yield the table, with a progress bar for files.

        Parameters
        ----------
        columns : list of str, default=None
            The columns to read. None means all.
        bar : bool, default=True
            Whether to show a progress bar for files: not where they are read many times.
        **choices : dict
            Further arguments of `suffice.files`.
        """
        if "-" in self.paths:
            claim_standard_input()
        try:
            if self.query is None:
                with self._files(columns, bar, choices) as rows:
                    yield rows
            else:
                yield self._sql(columns, choices)
        except KeyboardInterrupt:
            saved = choices.get("checkpoint")
            after = f"the same command resumes from {locate(saved)}" if saved else "no file was written or changed"
            raise StoppedError(f"interrupted; {after}") from None

    @contextmanager
    def _files(self, columns: list[str] | None, bar: bool, choices: dict[str, Any]) -> Iterator[Any]:
        from ..sources.files import Progress, files, is_database

        if "-" in self.paths and choices.get("checkpoint"):
            raise UsageError("--checkpoint is for files, not for the standard input")
        if any(map(is_database, self.paths)):
            raise UsageError("the URL of a database needs --query, with the name of a table or a SELECT")
        done = 0.0
        with progress("Reading", 1.0, None if bar else False) as advance:

            def read(now: Progress) -> None:
                nonlocal done
                share = now.bytes / (now.total_bytes or 1)
                advance(share - done)
                done = share

            given = self.layout | {name: value for name, value in choices.items() if value is not None}
            try:
                table = files(list(self.paths), columns=columns, drop=self.drop, progress=read, **given)
            except DataError as error:  # nothing is read yet: the options are wrong
                raise UsageError(str(error)) from None
            yield table

    def _sql(self, columns: list[str] | None, choices: dict[str, Any]) -> Any:
        from ..sources import as_source
        from ..sources.files import is_database
        from ..sources.sql import sql

        if len(self.paths) > 1:
            raise UsageError("--query needs exactly one database URL")
        (url,) = self.paths
        if "://" not in url:
            raise UsageError(f"--query needs the URL of a database, as in duckdb:///file.duckdb, not {url}")
        if not is_database(url):
            raise UsageError(f"--query needs the URL of a database, but {without_credentials(url)} is the URL of files")
        given = [_FLAGS.get(name, f"--{name}") for name, value in (self.layout | choices).items() if value is not None]
        if given:
            raise UsageError(f"{given[0]} is for files, not for --query")
        table = sql(url, self.query, columns)
        if not self.drop:
            return table
        known = columns or list(as_source(table).names or ())
        if lacking := [name for name in self.drop if name not in known]:
            raise DataError(f"--drop {lacking[0]}: the query has no such column")
        return sql(url, self.query, [name for name in known if name not in self.drop])


def telling(
    rows: Any, target: str | None, weight: str | None, families: Any, leaves_out: bool = True
) -> tuple[Any, dict[str, str]]:
    """Return rows without the columns that the automatic choice leaves out, and why these are left out. Columns with
    one value stay: they may vary in a model that this one is merged with.

    Parameters
    ----------
    rows : Files or Sql
        The rows.
    target, weight : str or None
        The columns with the labels and the weights.
    families : as of `Schema.of`
        Columns that it names stay.
    leaves_out : bool
        False keeps all columns, with a warning of those that the automatic choice leaves out.
    """
    from ..schema import Schema
    from ..sources import as_source
    from ..tables.recognition import SAME
    from ..tables.table import LOOK

    source = as_source(rows, target, weight)
    table = source.spread(LOOK)
    schema = Schema.of(table, families, is_sample=len(table) >= LOOK, decimal=source.decimal)
    left_out = {name: reason for name, reason in schema.left_out().items() if reason != SAME}
    if not leaves_out:
        for name, reason in left_out.items():
            told = f"column {name!r} is kept, but seems to say nothing of new rows: {reason}; --drop {quote(name)} "
            warn(f"{told}leaves it out", ColumnWarning)
        return rows, {}
    for name in left_out:
        (told,) = (each for each in schema.warnings if each.startswith(f"column {name!r} is left out: "))
        warn(told, ColumnWarning)
    if not left_out:
        return rows, {}
    return replace(rows, columns=tuple(name for name in schema.names if name not in left_out)), left_out


def note_left_out(fitted: Any, left_out: dict[str, str], data: Data) -> None:
    """Let a model know which columns of its data it was not given."""
    from ..scoring.notes import ColumnNotes

    notes = getattr(fitted, "column_notes_", ColumnNotes())
    fitted.column_notes_ = notes.without(left_out | dict.fromkeys(data.drop, "asked for"))


def labelled_rows(rows: Any, target: str, weight: str | None, skip_unlabelled: bool) -> Any:
    """Return rows to learn from, or raise an error if their labels are missing, or are no classes."""
    from ..sources import as_source
    from ..sources.labelled import check_classes, labelled

    source = as_source(rows, target, weight)
    source = labelled(source) if skip_unlabelled else source
    check_classes(source)
    return source


def read_as(model: Any, source: Any) -> Any:
    """Return rows to learn from with numbers where a model has learnt numbers, also where the rows have text, so that
    the two models can be merged; a warning tells of cells that become missing."""
    from ..scoring.reading import Reading
    from ..sources.converted import ConvertedSource
    from ..tables.table import LOOK

    reading = Reading(model.density, source.names, source.decimal)
    if source.names != model.names or reading.with_numbers(head := source.spread(LOOK)) is head:
        return source
    reading.warn()
    return ConvertedSource(source, Reading(model.density, source.names, source.decimal).with_numbers)


_DATA = (
    "DATA are files, directories or globs of Parquet, Arrow, CSV or JSON lines; - for the standard input; or a "
    "database URL, with --query."
)
_FLAGS = {"types": "--type", "on_error": "--skip", "header": "--header"}


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Add DATA and the options that say how to read it; the command gets them as one argument, `data`."""

    @wraps(command)
    def run(
        *,
        paths: tuple[str, ...],
        query: str | None,
        drop: str | None,
        sep: str | None,
        na: tuple[str, ...],
        types: tuple[str, ...],
        skip: bool,
        **rest: Any,
    ) -> None:
        layout = {name: rest.pop(name) for name in ("format", "encoding", "header", "decimal")}
        layout["sep"] = sep if sep is None else _SEPARATORS.get(sep.lower(), sep)
        layout["on_error"] = "skip" if skip else None
        layout |= {"na": list(na), "types": pairs_of(types, "--type", "zip=string")}
        given = {name: value for name, value in layout.items() if value not in (None, [], {})}
        command(data=Data(paths, query, names(drop) or [], given), **rest)

    run.__doc__ = f"{cleandoc(command.__doc__ or '')}\n\n{_DATA}"
    for option in reversed(_OPTIONS):
        run = option(run)
    return run
