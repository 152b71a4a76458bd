"""`suffice predict`: score rows of files or a database."""

from __future__ import annotations

import click

from ..storage import locate
from . import options
from .data import Data, reads_data
from .output import STANDARD, Output, is_csv, table_file, writes


@click.command(epilog="Example: suffice predict birds.safetensors new.csv -o scores.parquet --prior uniform")
@options.model
@writes("The file to write: .parquet, .csv or .jsonl. Default: print CSV.", STANDARD, "scores")
@options.prior
@options.cost
@options.keep
@options.outputs
@options.lines
@reads_data
def predict(
    model: str,
    data: Data,
    out: Output,
    prior: str | None,
    cost: str | None,
    keep: str | None,
    outputs: str | None,
    as_json: bool,
) -> None:
    """Score rows of files or a database.

    The output repeats the columns of the data, or those that --keep names, and adds decisions, posteriors and
    log-likelihood ratios. In CSV output, columns of CSV files are repeated as they are written. The data may be of any
    size.

    MODEL is a model file, written by suffice fit.
    """
    from ..scoring import load_model
    from ..scoring.writing import all_columns, write_scores

    opened = table_file(out, as_json)
    loaded = load_model(model)
    case = options.application(prior, cost, loaded.classes)
    with data.opened() as rows:
        kept, wanted = options.names(keep), options.names(outputs)
        kept = all_columns(loaded, rows) if kept is None else kept
        as_written = is_csv(out, as_json)
        n = write_scores(loaded, rows, opened, case.prior, case.cost, kept, wanted, as_written=as_written)
    if not out.is_standard:
        print(f"{n} rows, written to {locate(out.path)}")
