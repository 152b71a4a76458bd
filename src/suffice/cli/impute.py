"""`suffice impute`: fill in missing values."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .data import Data, reads_data
from .output import STANDARD, Output, write_table, writes


@click.command(epilog="Example: suffice impute birds.safetensors test.csv -o complete.csv")
@options.model
@click.option("--target", "-t", help="A column with the classes of the rows, where they are known.")
@options.prior
@click.option(
    "--draws",
    type=click.IntRange(1),
    help="Draw the values at random, so many times (multiple imputation). Default: fill in what is expected.",
)
@click.option("--seed", type=int, help="Draw the same values every time.")
@writes("The file to write: .parquet, .csv or .jsonl. Default: print CSV.", STANDARD, "rows")
@options.lines
@reads_data
def impute(
    model: str,
    data: Data,
    target: str | None,
    prior: str | None,
    draws: int | None,
    seed: int | None,
    out: Output,
    as_json: bool,
) -> None:
    """Fill in missing values, given the rest of the row.

    Numbers are filled in by their expectation, categories by the most probable one. Other columns and cells stay as
    they are. With several --draws, the column "draw" tells the tables apart.

    MODEL is a model file with a generative model, written by suffice fit. DATA are files, directories or globs of
    Parquet, Arrow, CSV or JSON lines; - for the standard input; or a database URL, with --query.
    """
    import pyarrow as pa

    from ..scoring import load_model
    from ..sources import as_source

    out.check()
    loaded = load_model(model)
    asked = options.prior_of(prior, loaded.classes)
    with data.opened() as rows:
        out.check(rows)
        source = as_source(loaded._columns.as_learnt(rows, target)).in_memory()
        whole = _with_numbers(loaded, source.frame, source.decimal)
        how: dict[str, Any] = {"y": target, "draws": draws is not None, "random_state": seed}
        filled = loaded.impute(whole, asked, n_draws=draws, **how)
    tables = [_with(whole, table) for table in (filled if isinstance(filled, list) else [filled])]
    if len(tables) > 1:
        numbered = (table.add_column(0, "draw", pa.array([i] * len(table))) for i, table in enumerate(tables))
        tables = [pa.concat_tables(numbered, promote_options="permissive")]
    write_table(tables[0], out, as_json)


def _with_numbers(model: Any, whole: Any, decimal: str | None) -> Any:
    """The whole table, with missing values for text that is no number in columns of numbers."""
    import pyarrow as pa

    from ..scoring.reading import Reading
    from ..tables.table import ArrayColumn

    source = model._source(whole)
    table, reading = source.batch(0, source.n_rows).table, Reading(model.density, source.names, decimal)
    readable = reading.with_numbers(table)
    if readable is table:
        return whole
    for name, old, new in zip(source.names, table.columns(), readable.columns(), strict=True):
        if new is not old and isinstance(new, ArrayColumn):
            cells = pa.array(new.values, from_pandas=True)
            whole = whole.set_column(whole.column_names.index(name), name, cells)
    reading.warn()
    return whole


def _with(whole: Any, filled: Any) -> Any:
    """The whole table, with the columns of the model as they are filled in."""
    for name in filled.column_names:
        whole = whole.set_column(whole.column_names.index(name), name, filled.column(name))
    return whole
