"""`suffice sql`: print a model as SQL."""

from __future__ import annotations

import click

from ..errors import DataError
from . import options


@click.command(epilog="Example: suffice sql birds.safetensors birds --dialect duckdb --keep id --outputs decision")
@options.model
@click.argument("table")
@click.option(
    "--dialect",
    default="postgresql",
    show_default=True,
    help="postgresql, duckdb, sqlite, mysql, snowflake, bigquery or spark.",
)
@options.prior
@options.cost
@click.option("--keep", help="Columns of the table to repeat, separated by commas. Default: those of the model.")
@options.outputs
def sql(
    model: str,
    table: str,
    dialect: str,
    prior: str | None,
    cost: str | None,
    keep: str | None,
    outputs: str | None,
) -> None:
    """Print a model as SQL: one SELECT that scores a table.

    MODEL is a model file, written by suffice fit. TABLE is the table to score: a name, or schema.table.
    """
    from ..scoring import load_model

    loaded = load_model(model)
    case = options.application(prior, cost, loaded.classes)
    asked = {"keep": options.names(keep), "outputs": options.names(outputs)}
    try:
        print(loaded.to_sql(table.split("."), dialect, case.prior, case.cost, **asked))
    except ImportError as error:
        raise DataError(str(error)) from None
