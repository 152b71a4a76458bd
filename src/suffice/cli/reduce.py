"""`suffice reduce`: fewer columns, by PCA or LDA."""

from __future__ import annotations

from typing import Any

import click

from ..errors import ColumnWarning, DataError, alike, listed, warn
from . import options
from .data import Data, reads_data
from .options import UsageError
from .output import STANDARD, Output, write_table, writes


@click.command(epilog="Example: suffice reduce birds.csv -t species --columns bill_length_mm,bill_depth_mm -n 1")
@click.option("--target", "-t", help="The column with the labels, which LDA needs; it is repeated in the output.")
@click.option("--method", type=click.Choice(["pca", "lda"]), help="Default: lda with a target, pca without.")
@click.option(
    "--components", "-n", help="The number of components, or the share of variance to keep. Default: 2, or all of LDA."
)
@click.option("--columns", help="The columns to use, separated by commas. Default: all columns of numbers.")
@click.option("--keep", help="Columns to repeat in the output, separated by commas, such as an id.")
@click.option("--save", help="A file for the reduction itself, to be used for other rows.")
@click.option("--use", help="A file that --save wrote: reduce these rows in the same way.")
@options.skip_unlabelled
@writes("The file to write: .parquet, .csv or .jsonl. Default: print CSV.", STANDARD, "coordinates")
@options.lines
@reads_data
def reduce(
    data: Data,
    target: str | None,
    method: str | None,
    components: str | None,
    columns: str | None,
    keep: str | None,
    save: str | None,
    use: str | None,
    skip_unlabelled: bool,
    out: Output,
    as_json: bool,
) -> None:
    """Reduce columns of numbers to a few coordinates, by PCA or LDA.

    PCA keeps the directions of most variance, LDA those that separate the classes best. To see the directions, and
    how much variance each of them explains, use --save and then suffice inspect --parameters.
    """
    import pyarrow as pa

    from ..estimators import LDA, PCA, load
    from ..sources import as_source

    chosen = method or ("lda" if target else "pca")
    if use is not None and (save or method or components or columns):
        raise UsageError("--use reduces as another run did: leave out --method, --components, --columns and --save")
    if chosen == "lda" and target is None and use is None:
        raise UsageError("--method lda needs the labels: name their column with -t")
    saved = None if save is None else Output(save, out.force, "reduction", "--save")
    if saved is not None:
        saved.check()
    given = None if use is None else load(options.received(use))
    if not (given is None or hasattr(given, "projection_")):
        raise DataError(f"{use} holds a {type(given).__name__}, not a PCA or an LDA")
    with data.opened() as rows:
        out.check(rows)
        reduction: Any = given
        if reduction is None:
            kinds: dict[str, Any] = {"lda": LDA, "pca": PCA}
            reduction = kinds[chosen](_number(components, chosen))
            source = _numbers(as_source(rows, target), options.names(columns), options.names(keep), skip_unlabelled)
            reduction.fit(source) if chosen == "pca" else reduction.fit(source, source.whole.y)
        whole = as_source(rows).in_memory().frame
        found = reduction.transform(whole.select(list(reduction.feature_names_in_)))
    if saved is not None:
        with saved.file() as path:
            reduction.save(path)
    kept = list(dict.fromkeys([*(options.names(keep) or []), *([target] if target else [])]))
    if lacking := [name for name in kept if name not in whole.column_names]:
        raise DataError(
            f"there is no column {lacking[0]!r} to repeat; the columns are {listed(whole.column_names, 10)}"
        )
    names = reduction.get_feature_names_out().tolist()
    write_table(pa.table([*whole.select(kept).columns, *found.T], names=[*kept, *names]), out, as_json)


def _numbers(rows: Any, columns: list[str] | None, keep: list[str] | None, skip_unlabelled: bool) -> Any:
    """A source of the columns to reduce: those that are given, or all of numbers."""
    import numpy as np

    from ..schema import Schema
    from ..sources.base import ColumnsSource
    from ..sources.labelled import labelled
    from ..tables.summary import ColumnSummary
    from ..tables.table import looked_at

    source = (labelled(rows) if skip_unlabelled else rows).in_memory()
    names = source.names or tuple(f"x{j}" for j in range(source.n_features))
    if columns is None:
        whole = source.batch(0, source.n_rows).table
        schema = Schema.of(whole)
        numbers = [ColumnSummary(looked_at(column)).is_number for column in whole.columns()]
        given = {name: number for name, number in zip(names, numbers, strict=True) if name not in (keep or [])}
        columns = [name for name, number in given.items() if number and name not in schema.left_out()]
        why = {name: reason for name, reason in schema.left_out().items() if given.get(name)}
        for name, reason in why.items():
            warn(f"column {name!r} is left out: {reason}", ColumnWarning)
        texts = [name for name in schema.by_name() if not given.get(name, True)]
        if texts:
            what = "hold text or dates; to use one, convert it to numbers first"
            warn(f"columns are left out, since they {what}: {listed(texts, 10)}", ColumnWarning)
        if not columns:
            raise DataError("the table has no columns of numbers; PCA and LDA need some")
    if lacking := [name for name in columns if name not in names]:
        raise DataError(
            f"there is no column {lacking[0]!r}; the columns are {listed(names, 10)}{alike(lacking[0], names)}"
        )
    found = ColumnsSource(source, [names.index(name) for name in columns], tuple(columns))
    missing = np.asarray(found.of(source.batch(0, source.n_rows).table).missing())
    if missing.any():
        where = [columns[j] for j in np.flatnonzero(missing.any(axis=0))]
        raise DataError(
            f"{_counted(missing.any(axis=1).sum())} missing values, in column {listed(where)}; fill them in with "
            "suffice impute, or choose other columns with --columns"
        )
    return found


def _counted(n: int) -> str:
    return "1 row has" if n == 1 else f"{n} rows have"


def _number(text: str | None, method: str) -> int | float | None:
    if text is None:
        return 2 if method == "pca" else None
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"-n {text}: give a number of components, or a share of variance such as 0.95") from None
    return int(value) if value >= 1 and value.is_integer() else value
