"""`suffice predict`: score rows of files or a database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import click

from ..storage import locate
from . import options
from .data import Data, reads_data


@click.command(epilog="Example: suffice predict birds.safetensors new.csv -o scores.parquet --prior uniform")
@options.model
@click.option("--out", "-o", help="The Parquet file to write. Default: print CSV.")
@options.prior
@options.cost
@options.keep
@options.outputs
@reads_data
def predict(
    model: str,
    data: Data,
    out: str | None,
    prior: str | None,
    cost: str | None,
    keep: str | None,
    outputs: str | None,
) -> None:
    """Score rows of files or a database.

    The output has decisions, posteriors and log-likelihood ratios. The data may be of any size.

    MODEL is a model file, written by suffice fit. DATA are files, directories or globs of Parquet, Arrow, CSV or
    JSON lines; or a database URL, with --query.
    """
    from ..scoring import load_model
    from ..scoring.writing import parquet_file, write_scores

    opened = _csv if out is None else parquet_file(out)
    loaded = load_model(model)
    case = options.prior_of(prior, loaded.classes), options.cost_of(cost, loaded.classes)
    with data.opened() as rows:
        n = write_scores(loaded, rows, opened, *case, options.names(keep), options.names(outputs))
    if out is not None:
        print(f"{n} rows, written to {locate(out)}")


@contextmanager
def _csv(_: Any, schema: Any) -> Iterator[Any]:
    """Write CSV to the standard output, with the header when the first rows are there."""
    from pyarrow import csv

    with ExitStack() as stack:
        writer = cache(lambda: stack.enter_context(csv.CSVWriter(sys.stdout.buffer, schema)))
        sys.stdout.flush()
        yield lambda table: writer().write_table(table)
