"""`suffice sample`: draw new rows from a model."""

from __future__ import annotations

import click

from . import options
from .output import STANDARD, Output, write_table, writes


@click.command(epilog="Example: suffice sample birds.safetensors -n 100 --class Gentoo --seed 1 -o gentoos.csv")
@options.model
@click.option("--rows", "-n", default=10, show_default=True, type=click.IntRange(0), help="The number of rows.")
@click.option("--class", "label", help="Draw from this class alone. Default: from all, in proportion to the prior.")
@click.option("--target", "-t", help="The name of the column for the classes. Default: as in training, or class.")
@click.option("--seed", type=int, help="The seed of the draws; the same seed draws the same rows.")
@writes("The file to write: .parquet, .csv or .jsonl. Default: print CSV.", STANDARD, "rows")
@options.lines
def sample(
    model: str, rows: int, label: str | None, target: str | None, seed: int | None, out: Output, as_json: bool
) -> None:
    """Draw new rows from a model.

    MODEL is a model file with a generative model, written by suffice fit.
    """
    import pyarrow as pa

    from ..errors import DataError
    from ..export.outputs import plain_labels
    from ..scoring import load_model

    loaded = load_model(model)
    drawn, labels = loaded.sample(rows, options.class_of(label, loaded.classes), seed)
    names = loaded.names or tuple(f"x{j}" for j in range(loaded.density.n_features))
    columns = list(drawn.columns) if isinstance(drawn, pa.Table) else [pa.array(column) for column in drawn.T]
    name = target or loaded.target or "class"
    if name in names:
        raise DataError(f"the model has a column {name!r} already; give another name for the classes with -t")
    write_table(pa.table([*columns, pa.array(plain_labels(labels))], names=[*names, name]), out, as_json)
