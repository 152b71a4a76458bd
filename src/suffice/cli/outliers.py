"""`suffice outliers`: rows that are typical of no class."""

from __future__ import annotations

import click

from . import options
from .data import Data, reads_data
from .output import STANDARD, Output, is_csv, write_table, writes

_FEW = 20  # rows that are shown to people


@click.command(epilog="Example: suffice outliers birds.safetensors test.csv --level 0.05 --keep island,sex")
@options.model
@click.option(
    "--level",
    default=0.01,
    show_default=True,
    help="Rows with a typicality below this level are outliers. It is also the share of ordinary rows that are "
    "reported. 1 lists all rows.",
)
@click.option("--keep", help="Columns to repeat in the output, separated by commas, such as an id.")
@writes("The file to write: .parquet, .csv or .jsonl. Default: print a table.", None, "outliers")
@options.lines
@reads_data
def outliers(model: str, data: Data, level: float, keep: str | None, out: Output | None, as_json: bool) -> None:
    """Find rows that are typical of no class.

    The typicality of a row is the share of a class that is no more likely than the row, for the class where this share
    is largest. The least typical rows come first; rows are counted from 0.

    MODEL is a model file with a generative model, written by suffice fit.
    """
    from ..lines import aligned
    from ..scoring import load_model
    from ..scoring.outliers import outliers

    loaded = load_model(model)
    with data.opened() as rows:
        found, n = outliers(loaded, rows, level, options.names(keep), is_csv(out or Output(STANDARD, False), as_json))
    if out is not None or as_json:
        write_table(found, out or Output(STANDARD, False), as_json)
        return
    few = found.slice(0, _FEW).to_pylist()
    cells = [
        [f"{value:.3g}" if isinstance(value, float) else "" if value is None else value for value in line.values()]
        for line in few
    ]
    if few:
        print(aligned([found.column_names, *cells]))
    more = f", of which {_FEW} are shown; -o writes all to a file" if len(found) > _FEW else ""
    have = "has" if len(found) == 1 else "have"
    print(f"{chr(10) * bool(few)}{len(found)} of {n} rows {have} a typicality below {level:g} under every class{more}")
