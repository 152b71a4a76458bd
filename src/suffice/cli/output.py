"""Where commands write: a file that is not there yet, or the standard output."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any

import click

from ..storage import locate
from .options import UsageError

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
Opened = Callable[[Any, Any], AbstractContextManager[Any]]  # of a source and the schema of what is written

STANDARD = "-"  # the standard output
_PARQUET, _CSV, _LINES = (".parquet", ".pq"), (".csv",), (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True)
class Output:
    """What `--out` and `--force` stand for."""

    path: str
    force: bool
    what: str = "model"  # in messages
    option: str = "-o"  # that names the file

    @property
    def is_standard(self) -> bool:
        """Whether it is the standard output."""
        return self.path == STANDARD

    def check(self, rows: Any = None) -> None:
        """Raise an error if the output cannot be written, or would overwrite a file, or one of the input files."""
        if self.is_standard:
            return
        location = locate(self.path)
        if location.is_local:
            path = Path(location.path)
            if not path.parent.is_dir():
                raise UsageError(f"the directory {str(path.parent)!r} for the {self.what} does not exist")
            if path.is_dir():
                raise UsageError(f"{path} is a directory; give the name of a file for the {self.what}")
        if rows is not None:
            from ..sources import as_source

            if as_source(rows).reads(self.path):
                raise UsageError(f"{location} is an input file; write the {self.what} to another file")
        elif not self.force and location.exists():
            raise UsageError(
                f"{location} exists already; give --force to overwrite it, or another name with {self.option}"
            )

    @contextmanager
    def file(self) -> Iterator[str]:
        """Yield the path of a file to write; for the standard output, it is printed at the end."""
        if not self.is_standard:
            yield self.path
            return
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "output")
            yield path
            sys.stdout.flush()
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()

    def done(self, said: str, facts: dict[str, Any] | None = None) -> None:
        """Tell what was written: to people, or as JSON, and never into the output itself."""
        to = sys.stderr if self.is_standard else sys.stdout
        if facts is None:
            print(said if self.is_standard else f"{said}\nWritten to {locate(self.path)}", file=to)
        else:
            written = {} if self.is_standard else {"written": str(locate(self.path))}
            print(as_json_text(facts | written), file=to)


def writes(help: str, default: str | None = None, what: str = "model", required: bool = False) -> Decorator:
    """Add `--out` and `--force`; the command gets them as one argument, `out`, or None where nothing is to be written.
    An output that cannot be written is an error before the command does any work.

    Parameters
    ----------
    help : str
        What is written.
    default : str, default=None
        The file to write if none is named.
    what : str, default="model"
        What is written, in a word.
    required : bool, default=False
        Whether a file must be named.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*, out: str | None, force: bool, **rest: Any) -> None:
            output = None if out is None else Output(out, force, what)
            if output is not None:
                output.check()  # before any work is done
            command(out=output, **rest)

        run = click.option("--force", is_flag=True, help="Overwrite the output if it exists.")(run)
        own: dict[str, Any] = {"required": required, "show_default": default != STANDARD}
        own |= {} if default is None else {"default": default}
        return click.option("--out", "-o", help=f"{help} - is the standard output.", **own)(run)

    return decorate


def table_file(out: Output, as_json: bool = False) -> Opened:
    """Return what opens an output for tables, in the format that its name ends in; CSV or JSON lines if it is standard.

    Parameters
    ----------
    out : Output
        Where to write.
    as_json : bool, default=False
        Whether to print JSON lines rather than CSV.

    Returns
    -------
    callable
        From a source and the schema of the tables to a context, whose value takes one table after another.
    """
    from ..scoring.writing import parquet_file

    ending = os.path.splitext(locate(out.path).name)[1].lower()
    if out.is_standard:
        return _printed(_json_lines if as_json else _csv_writer)
    if as_json:
        raise UsageError("--json prints; to write JSON lines to a file, give a name that ends in .jsonl instead")
    if ending in _PARQUET:
        return _checked(parquet_file(out.path), out)
    if ending not in (*_CSV, *_LINES):
        raise UsageError(f"{locate(out.path)}: give a file name that ends in .parquet, .csv or .jsonl")
    return _checked(_in_file(out.path, _csv_writer if ending in _CSV else _json_lines), out)


def is_csv(out: Output, as_json: bool = False) -> bool:
    """Return whether an output is CSV, in which columns of CSV files are repeated as they are written."""
    return not as_json if out.is_standard else locate(out.path).name.lower().endswith(_CSV)


def write_table(table: Any, out: Output, as_json: bool = False) -> None:
    """Write an Arrow table, and tell how many rows it has, unless it is printed."""
    with table_file(out, as_json)(None, table.schema) as write:
        write(table)
    if not out.is_standard:
        print(f"{len(table)} rows, written to {locate(out.path)}")


def as_json_text(value: Any) -> str:
    """Return JSON for people and programs; it has neither NaN nor infinity."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=False)


def _checked(opened: Opened, out: Output) -> Opened:
    @contextmanager
    def checked(source: Any, schema: Any) -> Iterator[Any]:
        out.check()
        if source is not None and source.reads(out.path):
            raise UsageError(f"{locate(out.path)} is one of the input files; write to another file")
        with opened(source, schema) as write:
            yield write

    return checked


def _printed(writer: Any) -> Opened:
    """Print tables, the header when the first rows are there."""

    @contextmanager
    def opened(_: Any, schema: Any) -> Iterator[Any]:
        with ExitStack() as stack:
            write = cache(lambda: stack.enter_context(writer(sys.stdout.buffer, schema)))
            sys.stdout.flush()
            yield lambda table: write()(table)
        sys.stdout.buffer.flush()

    return opened


def _in_file(path: str, writer: Any) -> Opened:
    from ..atomic import replacing

    @contextmanager
    def opened(_: Any, schema: Any) -> Iterator[Any]:
        with replacing(path) as temporary, open(temporary, "wb") as file, writer(file, schema) as write:
            yield write

    return opened


@contextmanager
def _csv_writer(file: Any, schema: Any) -> Iterator[Any]:
    from ..scoring.writing import csv_file

    with csv_file(file, schema) as write:
        yield lambda table: write(_in_seconds(table))


@contextmanager
def _json_lines(file: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
    def write(table: Any) -> None:
        for row in _in_seconds(table).to_pylist():
            file.write((json.dumps(_finite(row), ensure_ascii=False) + "\n").encode())

    yield write


def _in_seconds(table: Any) -> Any:
    """A table with durations as seconds, as models read them, for formats that have no durations."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for j, column in enumerate(table.schema):
        if pa.types.is_duration(column.type):
            parts = table.column(j).cast(pa.duration("us"), safe=False).cast(pa.int64())
            table = table.set_column(j, column.name, pc.divide(parts.cast(pa.float64(), safe=False), 1e6))
    return table


def _finite(value: Any) -> Any:
    """A value in those that JSON has: null instead of NaN and infinity."""
    return json.loads(json.dumps(value, default=_plain), parse_constant=lambda _: None)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
