"""`suffice impute`: fill in missing values."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .data import Data, reads_data
from .output import STANDARD, Output, is_csv, write_table, writes


@click.command(epilog="Example: suffice impute birds.safetensors test.csv -o complete.csv")
@options.model
@click.option("--target", "-t", help="A column with the classes of the rows, where they are known.")
@options.prior
@click.option(
    "--draws",
    type=click.IntRange(1),
    help="Draw the values at random, so many times (multiple imputation). Default: fill in the expected value.",
)
@click.option("--seed", type=int, help="The seed of the draws; the same seed draws the same values.")
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

    Numbers are filled in by their expectation, rounded where the training data held whole numbers; categories by the
    most probable one. Other columns and cells stay as they are, in CSV output as they are written. With several
    --draws, the column "draw" tells the tables apart.

    MODEL is a model file with a generative model, written by suffice fit.
    """
    import pyarrow as pa

    from ..scoring import load_model
    from ..sources import as_source, with_verbatim

    loaded = load_model(model)
    asked = options.prior_of(prior, loaded.classes)
    with data.opened() as rows:
        out.check(rows)
        others = {*(as_source(rows).names or ())}.difference(loaded.names or (), [target])
        copied = (loaded.names or ()) if is_csv(out, as_json) else ()
        given = as_source(with_verbatim(loaded._columns.as_learnt(rows, target), others, copied))
        source = given.in_memory()
        written = {name: source.frame.column(copy) for name, copy in given.copies.items()}
        whole = _with_numbers(loaded, source.frame.drop_columns(list(given.copies.values())), source.decimal)
        own = loaded._source(whole, target)
        own.decimal = source.decimal
        filled = loaded.impute(own, asked, draws=draws is not None, n_draws=draws, random_state=seed)
    tables = [_with(whole, table, written) for table in (filled if isinstance(filled, list) else [filled])]
    if len(tables) > 1:
        numbered = (table.add_column(0, "draw", pa.array([i] * len(table))) for i, table in enumerate(tables))
        tables = [pa.concat_tables(numbered, promote_options="permissive")]
    write_table(tables[0], out, as_json)


def _with_numbers(model: Any, whole: Any, decimal: str | None) -> Any:
    """The whole table, with numbers in columns of numbers that are text since a few cells say nothing. Numbers that are
    written as money or percentages stay as they are."""
    import pyarrow as pa

    from ..scoring.reading import Reading
    from ..tables.parsing import words_of

    source = model._source(whole)
    table, reading = source.batch(0, source.n_rows).table, Reading(model.density, source.names, decimal)
    readable = reading.with_numbers(table)
    for name, old, new in zip(source.names or (), table.columns(), readable.columns(), strict=True):
        if new is not old and all(_is_plain(word, decimal or ".") for word in words_of(old)[0]):
            cells = pa.array(new.floats(), from_pandas=True)
            whole = whole.set_column(whole.column_names.index(name), name, cells)
    reading.warn()
    return whole


def _is_plain(word: Any, decimal: str) -> bool:
    """Whether a word is a number as files write it, or none at all."""
    from math import isnan

    from ..tables.parsing import number_of

    try:
        float(str(word).replace(decimal, "."))
    except ValueError:
        return isnan(number_of(word, decimal))
    return True


def _with(whole: Any, filled: Any, written: dict[str, Any]) -> Any:
    """The whole table, with the columns of the model as they are filled in; other cells as they are written, where this
    is known."""
    import pyarrow.compute as pc

    for name in filled.column_names:
        j, cells = whole.column_names.index(name), filled.column(name)
        if name in written:
            old = whole.column(j).cast(cells.type)
            is_same = pc.fill_null(pc.equal(old, cells), False)
            cells = pc.if_else(is_same, written[name], cells.cast(written[name].type))
        whole = whole.set_column(j, name, cells)
    return whole
