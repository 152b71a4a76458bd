"""`suffice predict`: score rows of files or a database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from ..storage import locate
from .data import reading
from .options import Cost, Data, Keep, ModelPath, Outputs, Prior, Query, cost_of, names, prior_of


def predict(
    model: ModelPath,
    data: Data,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="The Parquet file to write. Default: print CSV.")
    ] = None,
    prior: Prior = None,
    cost: Cost = None,
    keep: Keep = None,
    outputs: Outputs = None,
    query: Query = None,
) -> None:
    """Score rows of files or a database, of any size: decisions, posteriors, log-likelihood ratios."""
    from ..scoring import load_model
    from ..scoring.writing import parquet_file, write_scores

    opened = _csv if out is None else parquet_file(out)
    loaded = load_model(model)
    case = prior_of(prior, loaded.classes), cost_of(cost, loaded.classes)
    with reading(data, query) as rows:
        n = write_scores(loaded, rows, opened, *case, names(keep), names(outputs))
    if out is not None:
        print(f"{n} rows, written to {locate(out)}")


@contextmanager
def _csv(_: Any, schema: Any) -> Iterator[Any]:
    """Write CSV to the standard output."""
    from pyarrow import csv

    sys.stdout.flush()
    with csv.CSVWriter(sys.stdout.buffer, schema) as writer:
        yield writer.write_table
