"""`suffice sql`: print a model as SQL."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import DataError
from .options import Cost, Keep, ModelPath, Outputs, Prior, cost_of, names, prior_of


def sql(
    model: ModelPath,
    table: Annotated[str, typer.Argument(help="The table to score: a name, or schema.table.", show_default=False)],
    dialect: Annotated[
        str, typer.Option(help="postgresql, duckdb, sqlite, mysql, snowflake, bigquery or spark.")
    ] = "postgresql",
    prior: Prior = None,
    cost: Cost = None,
    keep: Keep = None,
    outputs: Outputs = None,
) -> None:
    """Print a model as one SELECT that scores the rows of a table inside the database."""
    from ..scoring import load_model

    loaded = load_model(model)
    case = prior_of(prior, loaded.classes), cost_of(cost, loaded.classes)
    try:
        print(loaded.to_sql(table.split("."), dialect, *case, keep=names(keep), outputs=names(outputs)))
    except ImportError as error:
        raise DataError(str(error)) from None
